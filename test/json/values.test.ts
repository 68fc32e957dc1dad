import { expect, it } from 'vitest';
import { isJsonObject, memberOf } from '../../src/json/values.ts';

it.each([
  [{}, true],
  [{ a: 1 }, true],
  [[], false],
  [null, false],
  [undefined, false],
  ['{}', false],
  [1, false],
])('tells whether %j is a JSON object', (value, expected) => {
  expect(isJsonObject(value)).toBe(expected);
});

it.each([
  [{ a: 1 }, 'a', 1],
  [{ a: null }, 'a', null],
  [{}, 'a', undefined],
  [{}, 'toString', undefined],
  [null, 'a', undefined],
  ['text', 'length', undefined],
])('finds of %j the own member %s', (value, name, expected) => {
  expect(memberOf(value, name)).toBe(expected);
});
