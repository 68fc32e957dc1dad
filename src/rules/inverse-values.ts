import { printScalar } from '../json/json-scalar.ts';
import type { MappedValue } from './rule.ts';

/**
 * Returns the values of a map in the other direction. A value that several values lead to has no inverse, and is left out: it stays
 * as it is.
 */
export function inverseValues(values: readonly MappedValue[]): readonly MappedValue[] {
  const times = new Map<string, number>();
  for (const { to } of values) times.set(printScalar(to), (times.get(printScalar(to)) ?? 0) + 1);
  return values
    .filter(({ to }) => times.get(printScalar(to)) === 1)
    .map(({ from, to }) => ({ from: to, to: from }));
}
