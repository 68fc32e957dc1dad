import { expect, test } from 'vitest';
import { hasByteOrderMark } from '../../src/json/document.ts';

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
