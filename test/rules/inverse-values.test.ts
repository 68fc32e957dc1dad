import { expect, test } from 'vitest';
import { readScalar } from '../../src/json/document.ts';
import { inverseValues } from '../../src/rules/inverse.ts';

const values = (...pairs: readonly (readonly [string, string])[]): Parameters<typeof inverseValues>[0] =>
  pairs.map(([from, to]) => ({ from: readScalar(from), to: readScalar(to) }));

test('each value leads back, a number as it was written; those that several values lead to do not', () => {
  const map = values(['day', 'light'], ['10.50', '1'], ['noon', 'high'], ['zenith', 'high'], ['x', '"1"']);
  expect(inverseValues(map)).toEqual(values(['light', 'day'], ['1', '10.50'], ['"1"', 'x']));
});
