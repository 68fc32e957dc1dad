import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findHeadEnd, rawHeadersOf, readFieldLines, writeFieldLines } from '../../src/http/raw-headers.ts';
import { CODE_POINT } from '../support/code-point.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
const value = fc.stringMatching(/^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]{0,30}[!-~\x80-\xff])?)?$/);
const fields = fc.array(fc.tuple(name, value), { maxLength: 12 }).map((pairs) => pairs.flat());

const read = (text: string, from = 0): readonly string[] | undefined =>
  readFieldLines(text, from, Buffer.from(text, 'latin1'))?.fields;

describe('field lines', () => {
  test('written fields are read back, after any bytes', () => {
    fc.assert(
      fc.property(fields, fc.string({ unit: CODE_POINT }), (list, before) => {
        const text = writeFieldLines(list);
        expect(text).toBeDefined();
        expect(read(before + text, before.length)).toEqual(list);
      }),
      { numRuns: fuzzRuns(200) },
    );
  });

  test('lines of written fields are read back, with the same facts as lines that were received', () => {
    fc.assert(
      fc.property(fields, (list) => {
        const made = rawHeadersOf(list);
        const { text, kinds } = made;
        expect(text).toBe(writeFieldLines(list));
        expect(made.fields).toEqual(list);
        const again = readFieldLines(text, 0, Buffer.from(text, 'latin1'));
        expect(again?.kinds).toEqual(kinds);
        expect(made.filter((kind) => kind === 'other')).toBe(again?.filter((kind) => kind === 'other'));
        expect(
          kinds.map((_, at) => [made.name(at), made.value(at), made.bytes(at), made.plainOffset(at)]),
        ).toEqual(
          kinds.map((_, at) => [again?.name(at), again?.value(at), again?.bytes(at), again?.plainOffset(at)]),
        );
      }),
      { numRuns: fuzzRuns(500) },
    );
  });

  test('white space around a value is not part of it', () => {
    expect(read('A: \t b\t c \t\r\nB:\r\nC: \r\n')).toEqual(['A', 'b\t c', 'B', '', 'C', '']);
  });

  test('a line is read as one line or not at all, exactly as by one strict pattern', () => {
    const single = 'aA:- \t\r\n\0\x7f\x80\xff('.split('');
    const byte = fc.constantFrom(...single, '\r\n', ': ', 'x: y\r\n');
    const strict = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), (bytes) => {
        const text = bytes.join('');
        expect(read(text) !== undefined).toBe(strict.test(text));
      }),
      { numRuns: fuzzRuns(5000) },
    );
  });

  test('bytes before and after the text are not read', () => {
    const bytes = Buffer.from('X: y\r\nA: b\r\nC: d\r\n');
    expect(readFieldLines('A: b\r\n', 0, bytes, 6)?.fields).toEqual(['A', 'b']);
    expect(readFieldLines('A: b', 0, bytes, 6)).toBeUndefined();
    expect(readFieldLines('A:', 0, bytes, 6)).toBeUndefined();
  });

  test('fields are written in the same way with and without the lines that they were read from', () => {
    const line = fc.tuple(
      name,
      fc.constantFrom(': ', ':', ':\t', ': \t', ':  '),
      value,
      fc.constantFrom('', ' '),
    );
    const lines = fc.array(line, { maxLength: 8 }).map((all) => all.map((parts) => `${parts.join('')}\r\n`));
    type Change = 'keep' | 'remove' | 'replace' | 'insert' | 'twice' | 'forge';
    const change = fc.constantFrom<Change>(
      'keep',
      'keep',
      'keep',
      'remove',
      'replace',
      'insert',
      'twice',
      'forge',
    );
    let copied = 0;
    let refused = 0;
    fc.assert(
      fc.property(lines, fc.array(change, { minLength: 8, maxLength: 8 }), (texts, changes) => {
        const start = 'GET / HTTP/1.1\r\n';
        const text = start + texts.join('');
        const received = readFieldLines(text, start.length, Buffer.from(text, 'latin1'));
        const changed = changes.flatMap((how, index) => {
          const field = received?.fields.slice(index * 2, index * 2 + 2) ?? [];
          const [first = 'X', second = ''] = field;
          const of: Record<Change, readonly string[]> = {
            keep: field,
            remove: [],
            replace: [first, 'other'],
            insert: ['X-New', 'v', ...field],
            twice: [...field, ...field],
            forge: [first, `${second}\r\nForged: 1`],
          };
          return of[how];
        });
        const written = writeFieldLines(changed, received);
        expect(written).toBe(writeFieldLines(changed));
        if (written === undefined) refused += 1;
        else if (written !== '') copied += 1;
      }),
      { numRuns: fuzzRuns(5000) },
    );
    expect(Math.min(copied, refused)).toBeGreaterThan(fuzzRuns(500));
  });

  test.each([
    ['A', 'b\r\nC: d'],
    ['A', 'b\n'],
    ['A', 'b\0'],
    ['A', '\u010dc'],
    ['A B', 'c'],
    ['A:', 'b'],
    ['', 'b'],
  ])('%j: %j is not written', (...field) => {
    expect(writeFieldLines(field)).toBeUndefined();
  });
});

test('the end of a head is where a plain search finds it, from any offset', () => {
  const part = fc.constantFrom('\r', '\n', 'a', 'bc', '\r\n', '\n\n', '\r\r', '\r\n\r\n', 'Host: a\r\n');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), fc.nat(12), (parts, from) => {
      const text = parts.join('');
      expect(findHeadEnd(Buffer.from(text), from)).toBe(text.indexOf('\r\n\r\n', from));
    }),
    { numRuns: fuzzRuns(20_000) },
  );
});
