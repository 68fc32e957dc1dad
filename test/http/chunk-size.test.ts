import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { hexValue, PlainChunkSize } from '../../src/http/chunk-size.ts';
import { fuzzRuns } from '../support/fuzz.ts';

/** The size and the next offset that a reader finds for the line at `at`. */
function read(text: string, at = 0): readonly number[] | undefined {
  const size = new PlainChunkSize();
  return size.read(Buffer.from(text, 'latin1'), at) ? [size.value, size.next] : undefined;
}

test('a hexadecimal digit has its value, and no other byte has one', () => {
  for (let code = 0; code < 256; code += 1) {
    const text = String.fromCharCode(code);
    expect(hexValue(code)).toBe(/[0-9A-Fa-f]/.test(text) ? Number.parseInt(text, 16) : -1);
  }
  expect(hexValue(undefined)).toBe(-1);
});

test.each([
  ['0\r\n', [0, 3]],
  ['1f\r\nx', [31, 4]],
  ['000A\r\n', [10, 6]],
  ['ffffffff\r\n', [0xffff_ffff, 10]],
  ['0ffffffff\r\n', undefined],
  ['\r\n', undefined],
  ['1', undefined],
  ['1\r', undefined],
  ['1\n', undefined],
  ['1 \r\n', undefined],
  [' 1\r\n', undefined],
  ['1;a=b\r\n', undefined],
  ['0x1\r\n', undefined],
  ['+1\r\n', undefined],
  ['g\r\n', undefined],
])('%j is read as %j', (text, expected) => {
  expect(read(text)).toEqual(expected);
});

test('a line is plain where a pattern says so, from any offset', () => {
  const part = fc.constantFrom('\r', '\n', '\r\n', '0', '7', 'aF', 'fFfF', ';', ' ', 'g', 'x');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), fc.nat(12), (parts, at) => {
      const text = parts.join('');
      const plain = /^([0-9A-Fa-f]{1,8})\r\n/.exec(text.slice(at));
      const expected =
        plain === null ? undefined : [Number.parseInt(plain[1] ?? '', 16), at + plain[0].length];
      expect(read(text, at)).toEqual(expected);
    }),
    { numRuns: fuzzRuns(20_000) },
  );
});

test('a line that is not plain leaves the earlier values unchanged', () => {
  const size = new PlainChunkSize();
  expect(size.read(Buffer.from('a\r\n'), 0)).toBe(true);
  expect(size.read(Buffer.from('ff;x\r\n'), 0)).toBe(false);
  expect([size.value, size.next]).toEqual([10, 3]);
});
