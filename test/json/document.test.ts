import { expect, test } from 'vitest';
import { hasByteOrderMark, JsonDocument, JsonWalker } from '../../src/json/document.ts';
import { applyEdits } from '../../src/json/edit.ts';

test.each([
  [[0xef, 0xbb, 0xbf, 0x7b], true],
  [[0xef, 0xbb, 0xbf], true],
  [[0x20, 0xbb, 0xbf, 0x7b], false],
  [[0xef, 0xbc, 0xbf, 0x7b], false],
  [[0xef, 0xbb, 0xbe, 0x7b], false],
  [[0xef, 0xbb], false],
])('%j begins with a byte order mark: %s', (bytes, hasMark) => {
  expect(hasByteOrderMark(Uint8Array.from(bytes))).toBe(hasMark);
});

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function read(text: string): JsonDocument {
  const document = JsonDocument.read(encoder.encode(text));
  if (!(document instanceof JsonDocument)) throw new Error(document.message);
  return document;
}

test('members are found by their decoded name, and repeated ones are all found', () => {
  const document = read('{"d\\u0061ta": 1.0, "x": {}, "data": [2, {"data": 3}]}');
  const found = document.find(document.root, 'data');
  expect(found.map((node) => decoder.decode(document.valueOf(node)))).toEqual(['1.0', '[2, {"data": 3}]']);
  expect(found.map((node) => document.kindOf(node))).toEqual(['scalar', 'array']);
  expect([...document.childrenOf(document.root)].map((node) => document.nameOf(node))).toEqual([
    'data',
    'x',
    'data',
  ]);
});

test('empty containers and scalars have no children', () => {
  for (const text of ['{ }', '[\n]', '1', '"{}"']) expect([...read(text).childrenOf(0)]).toEqual([]);
  const nested = read('[[], {}, "s"]');
  expect(
    [...nested.childrenOf(0)].map((node) => [nested.kindOf(node), [...nested.childrenOf(node)].length]),
  ).toEqual([
    ['array', 0],
    ['object', 0],
    ['string', 0],
  ]);
});

test('a fault has byte offset, line and column', () => {
  expect(JsonDocument.read(encoder.encode('{"a":1,\n "é" 2}'))).toMatchObject({
    code: 'colon',
    offset: 14,
    line: 2,
    column: 6,
  });
  expect(JsonDocument.read(encoder.encode('[[1]]'), 1)).toMatchObject({ code: 'depth', offset: 1 });
});

test('edits are carried out in order, and everything else is kept', () => {
  const edit = (notation: string): string => {
    const edits = notation.split(' ').map((word) => {
      const [, start = '', end = '', insert = ''] = /^(\d+)-(\d+)=(.*)$/.exec(word) ?? [];
      return { start: Number(start), end: Number(end), insert: encoder.encode(insert) };
    });
    return decoder.decode(applyEdits(encoder.encode('0123456789'), edits));
  };
  expect(edit('1-3=X')).toBe('0X3456789');
  expect(edit('0-0=a 2-2=b 10-10=c')).toBe('a01b23456789c');
  expect(edit('0-10=')).toBe('');
  expect(edit('3-4=long-insert 4-6=')).toBe('012long-insert6789');
});

test('a walker distinguishes a text with too many values from one that is not JSON', () => {
  const walker = new JsonWalker(undefined, 3);
  const visited = (text: string): number | 'too many' | 'not JSON' => {
    let values = 0;
    const enter = (): boolean => {
      values += 1;
      return true;
    };
    if (walker.walk(encoder.encode(text), { enter })) return values;
    return walker.hasTooMany ? 'too many' : 'not JSON';
  };
  expect(['[1,2]', '[1,2,3]', '[1,', '[1]', ''].map(visited)).toEqual([
    3,
    'too many',
    'not JSON',
    2,
    'not JSON',
  ]);
});
