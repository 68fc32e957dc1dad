import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { decodeText, inFormOf, readText } from '../../src/node/files.ts';
import { loadRuleBook } from '../../src/node/rule-books.ts';

const folder = mkdtempSync(join(tmpdir(), 'text-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const LATIN_1 = Buffer.from('# a\nversion: caf\xe9\n', 'latin1');

function wide(text: string, order: 'le' | 'be'): Buffer {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

test('a text is the same in UTF-8 and in UTF-16, each with its mark', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (given) => {
      const text = given.toWellFormed().replaceAll('\0', '');
      fc.pre(!text.startsWith('\uFEFF') && !text.startsWith('\u001f'));
      for (const bytes of [
        Buffer.from(text),
        Buffer.from(`\uFEFF${text}`),
        wide(text, 'le'),
        wide(text, 'be'),
      ])
        expect(decodeText(bytes)).toBe(text);
    }),
  );
});

test.each([
  [
    'Latin-1',
    LATIN_1,
    /^it is not UTF-8 \(byte 0xE9 in line 2; Latin-1 or Windows-1252 has such bytes\): save it as UTF-8$/,
  ],
  ['a cut character', Buffer.from('é').subarray(0, 1), /byte 0xC3 in line 1/],
  [
    'UTF-16 without its mark, with é',
    Buffer.from('{"é":1}', 'utf16le'),
    /NUL characters, like UTF-16 without a byte order mark/,
  ],
  [
    'UTF-16 without its mark',
    Buffer.from('{}', 'utf16le'),
    /NUL characters, like UTF-16 without a byte order mark/,
  ],
  [
    'half a character of UTF-16',
    Buffer.from([0xff, 0xfe, 0x00, 0xd8]),
    /it is not UTF-16LE: save it as UTF-8/,
  ],
  ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x41, 0, 0, 0]), /it is UTF-32/],
  ['gzip', gzipSync('{}'), /compressed with gzip/],
])('%s is refused by name', (_, bytes, why) => {
  expect(() => decodeText(bytes)).toThrow(why);
});

test('a rule book is read by its mark, and refused with the place of the fault', async () => {
  const [path, other] = [join(folder, 'wide.yaml'), join(folder, 'latin.yaml')];
  writeFileSync(path, wide(readText('config/rules.yaml'), 'le'));
  writeFileSync(other, LATIN_1);
  const [shipped, read] = [await loadRuleBook('config/rules.yaml'), await loadRuleBook(path)];
  if ('faults' in shipped || 'faults' in read) throw new Error('it was not read');
  expect(read.rules.ruleBook.hash).toBe(shipped.rules.ruleBook.hash);
  expect(await loadRuleBook(other)).toEqual({
    faults: [expect.stringMatching(/latin\.yaml: it is not UTF-8 \(byte 0xE9 in line 2;/)],
  });
});

test.each([
  ['line feeds', Buffer.from('a\nb'), Buffer.from('a\nc\n')],
  ['CR LF', Buffer.from('a\r\nb\r\n'), Buffer.from('a\r\nc\r\n')],
  ['both', Buffer.from('a\r\nb\n'), Buffer.from('a\nc\n')],
  ['no line end', Buffer.from('a'), Buffer.from('a\nc\n')],
  ['a byte order mark', Buffer.from('\uFEFFa\r\n'), Buffer.from('\uFEFFa\r\nc\r\n')],
  ['UTF-16', wide('a\r\n', 'le'), wide('a\r\nc\r\n', 'le')],
  ['UTF-16, the other way round', wide('a\n', 'be'), wide('a\nc\n', 'be')],
])('a new text has the form of a file with %s', (name, before, after) => {
  const path = join(folder, name);
  writeFileSync(path, before);
  expect(Buffer.from(inFormOf(path, 'a\nc\n'))).toEqual(after);
  expect(decodeText(inFormOf(path, 'a\r\nc\n')).replaceAll('\r', '')).toBe('a\nc\n');
});

test('a text for a new file is written unchanged', () => {
  expect(Buffer.from(inFormOf(join(folder, 'none'), 'a\r\nb\n')).toString()).toBe('a\r\nb\n');
});
