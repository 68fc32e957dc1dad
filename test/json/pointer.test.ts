import fc from 'fast-check';
import { expect, test } from 'vitest';
import { generalPointer, pointerOf, pointerSteps } from '../../src/json/pointer.ts';
import { words } from '../support/rows.ts';

test('the pointers of RFC 6901 section 5', () => {
  expect([[], ['foo', 0], [''], ['a/b'], ['m~n'], ['~1'], ['k"l'], [' ']].map(pointerOf)).toEqual([
    '',
    ...words`/foo/0 / /a~1b /m~0n /~01 /k"l`,
    '/ ',
  ]);
});

test('the steps of a printed path are its names', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: fc.constantFrom('~', '/', '0', '1', 'a', '\ufeff') })), (path) => {
      expect(pointerSteps(pointerOf(path))).toEqual(path);
    }),
  );
});

test('indexes become *, names that hold digits stay', () => {
  expect(generalPointer('/a/0/b1/22/3c/4')).toBe('/a/*/b1/*/3c/*');
});
