import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  findLenientEnd,
  readLenientChunkSize,
  readLenientHead,
  readLenientTrailers,
} from '../../src/http/lenient-response.ts';

/** The fields of a head with these lines, `name|value|…`; undefined where it is refused. */
function fieldsOf(lines: string): string | undefined {
  return readLenientHead(`HTTP/1.1 200 OK\n${lines}\n\n`)?.fields.join('|');
}

test.each([
  ['HTTP/1.1 200 OK', 200, 'OK'],
  ['HTTP/1.0\t 200\t OK \r', 200, 'OK'],
  ['HTTP/1.1 999', 999, ''],
  ['HTTP/2.0 403.14 No list', 403, 'No list'],
  ['HTTP/1.1 200 a\x00\x7fb', 200, 'a  b'],
])('status line %j', (line, status, reason) => {
  expect(readLenientHead(`${line}\n\n`)?.line).toEqual({ status, reason, isKept: !line.includes('1.0') });
});

test.each([
  'HTTP/1.1 099 X',
  'HTTP/1.1 1000 X',
  'HTTP/1.1 20 X',
  'HTTP/1.1 200X',
  'HTTP/1.1 200 a\rb',
  'HTTP/2 200 OK',
  'HTTP/0.9 200 OK',
  'http/1.1 200 OK',
  'ICY 200 OK',
])('status line %j is refused', (line) => {
  expect(readLenientHead(`${line}\n\n`)).toBeUndefined();
});

describe('fields', () => {
  test.each([
    ['A: 1\r\nB:2\nC : \t3\t', 'A|1|B|2|C|3'],
    ['A: 1\n\t 2 \n 3', 'A|1 2 3'],
    ['A:\n 1', 'A| 1'],
    ['A: x\x01\x7f\xff', 'A|x\x01\x7f\xff'],
    ['HTTP/1.1 200 OK\nA\nA(b): 1\n\xe9: 2\nB: 3', 'B|3'],
    ['content-length: 5\nContent-Length: 005, 5', 'content-length|5'],
    ['Content-Length: 5\nA: 1\nTransfer-Encoding: CHUNKED', 'A|1|Transfer-Encoding|chunked'],
    ['Transfer-Encoding: chunked\nTransfer-Encoding: ,chunked , identity', 'Transfer-Encoding|chunked'],
    ['Transfer-Encoding: identity\nContent-Length : 1', 'Content-Length|1'],
  ])('%j', (lines, fields) => {
    expect(fieldsOf(lines)).toBe(fields);
  });

  test.each([
    ' A: 1',
    'A: 1\n\x00',
    'A: x\x00',
    'A: x\ry',
    'A B: 1',
    'A B',
    ': 1',
    'Content-Length: 5\nContent-Length: 6',
    'Content-Length: 5, 6',
    'Content-Length: 5,',
    'Content-Length:',
    'Content-Length: +5',
    'Content-Length: 0x5',
    'Content-Length: 5 5',
    'Content-Length: 5\n 6',
    'Content-Length:\n 5',
    'Content-Length: 5\nContent-Length: 6\nTransfer-Encoding: chunked',
    'Content-Length: 1000000000000000',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: chunked\nTransfer-Encoding: gzip',
    'Transfer-Encoding: chunked;q=1',
    'Transfer-Encoding:\n chunked',
    'Transfer-Encoding:',
    'Transfer-Encoding: xchunked',
  ])('%j is refused', (lines) => {
    expect(fieldsOf(lines)).toBeUndefined();
  });
});

test('trailers frame nothing', () => {
  expect(readLenientTrailers('A: 1\ncontent-length: 5\nTransfer-Encoding: chunked\nB: 2\n\n')).toEqual([
    'A',
    '1',
    'B',
    '2',
  ]);
});

test.each([
  ['5', 5],
  ['1A  \t', 26],
  ['0000000000000000000000005', 5],
  ['000', 0],
  ['5 ; a = "b', 5],
  ['5;', 5],
  ['', undefined],
  [' 5', undefined],
  ['5 5', undefined],
  ['5,', undefined],
  ['+5', undefined],
  ['0x5', undefined],
  ['1000000000000', undefined],
  ['5;a\r', undefined],
  ['5;\x00', undefined],
])('chunk size %j is %j', (line, size) => {
  expect(readLenientChunkSize(line)).toBe(size);
});

test('a section ends at its first empty line', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('\r', '\n', 'a', ':') }), fc.nat(8), (text, from) => {
      const match = /\n\r?\n/.exec(text.slice(from));
      const end = match === null ? -1 : from + match.index + match[0].length;
      expect(findLenientEnd(Buffer.from(text), from)).toBe(end);
    }),
  );
});
