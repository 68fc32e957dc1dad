import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { isWritableTarget, readDecimal } from '../../src/http/header-list.ts';

test('reads what a digit pattern accepts, as the number that it is, and nothing else', () => {
  const likely = fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-. eE_x０')), maxLength: 17 });
  fc.assert(
    fc.property(fc.oneof(likely, fc.string(), fc.nat().map(String)), (text) => {
      expect(readDecimal(text)).toBe(/^[0-9]{1,15}$/.test(text) ? Number(text) : undefined);
    }),
  );
});

test.each([
  ['0', 0],
  ['007', 7],
  ['999999999999999', 999_999_999_999_999],
  ['1000000000000000', undefined],
  ['', undefined],
  ['1\n', undefined],
])('%j', (text, expected) => {
  expect(readDecimal(text)).toBe(expected);
});

test('is what a pattern of visible ASCII and bytes beyond it accepts', () => {
  const likely = fc.string({
    unit: fc.constantFrom('!', '~', '/', 'a', ' ', '\u007f', '\n', 'é'),
    maxLength: 5,
  });
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (text) => {
      expect(isWritableTarget(text)).toBe(/^[!-~\x80-\xff]+$/.test(text) && !text.endsWith('\n'));
    }),
  );
});
