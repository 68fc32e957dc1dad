import { type Conversion, inverseConversion } from '../../src/rules/kinds/convert.ts';

/** The inverse of a conversion that has one. */
export function restoring(conversion: Conversion): Conversion {
  const inverse = inverseConversion(conversion);
  if (typeof inverse === 'string') throw new Error(`${conversion.rule} has no inverse`);
  return inverse;
}
