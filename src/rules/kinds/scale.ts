import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  NUMBER,
  typeIn,
} from './conversion.ts';

/** Multiplies a number by a decimal with a finite inverse. */
export interface ScaleConversion {
  readonly rule: 'scale';
  /** The decimal text of the factor. */
  readonly by: string;
  /** Minimum number of decimals if the number becomes smaller: those of the larger unit. */
  readonly digits: number;
}

/** How `scale` converts a value. Its factor has an inverse: `inverseFactor` checks that before there is a rule. */
export const conversion: ConversionKind<ScaleConversion> = {
  converter: ({ by, digits }) => {
    const factor = readDecimal(by) ?? { coefficient: 1n, exponent: 0 };
    const decimals = isBelowOne(factor) ? digits : 0;
    return (json) => scale(json, factor, decimals);
  },
  inverse: (own) => ({ ...own, by: inverseFactor(own.by) ?? '1' }),
  accepts: () => 'a number',
  isOfNumbers: () => true,
};

/** How messages and guides describe `scale`. */
export const words: ConversionWords<ScaleConversion> = {
  say: ({ by }, name) => `scale ${name} by ${by}`,
  remark: ({ by }) => `multiply the number by ${by}`,
  remarkOfAny: 'the number is in another unit',
  sample: ({ by }) => (Number(by) < 1 ? '1050' : '10.5'),
};

/** The effect of `scale` on a schema. */
export const schema: ConversionSchema<ScaleConversion> = {
  made: ({ by }, keywords) => {
    const isWhole = typeIn(keywords) === 'integer' && Number.isInteger(Number(by));
    return { type: isWhole ? 'integer' : 'number' };
  },
  // Every factor is above zero.
  keepsOrder: () => true,
  keepsSteps: true,
};

/** How a rule book writes `scale`. */
export const book: ConversionBook<ScaleConversion> = {
  description: 'Multiplies a number exactly.',
  keys: ({ z, optional }) => ({
    by: z
      .number()
      .refine(
        (value) => inverseFactor(String(value)) !== undefined,
        'is not a valid factor: write a decimal above zero with a finite inverse, such as 100, 0.01 or 2.5',
      )
      .describe('A decimal with a finite inverse, such as 100 or 0.01.'),
    digits: optional(
      z.int().min(0).max(30),
      "Minimum number of decimals in the larger unit, which is V1's if by is more than 1.",
    ),
  }),
  read: ({ by, digits = 0 }: { readonly by: number; readonly digits?: number }) => {
    return { rule: 'scale', by: String(by), digits };
  },
  isOfTexts: true,
};

/** A decimal: `coefficient` times ten to the power of `exponent`. */
interface Decimal {
  readonly coefficient: bigint;
  readonly exponent: number;
}

/** Maximum characters of a number, and maximum exponent, that can be converted. */
const MAX_NUMBER_CHARACTERS = 1024;
const MAX_EXPONENT_DIGITS = 6;

/** A number with an exponent keeps it if it would otherwise have more digits than this. */
const MAX_PLAIN_DIGITS = 40;

/** Maximum digits of a factor, which keep its inverse short. */
const MAX_FACTOR_CHARACTERS = 20;

/** The factor that undoes `by`, as decimal text; undefined if no decimal does, or if `by` is not a decimal above zero. */
export function inverseFactor(by: string): string | undefined {
  const factor = by.length > MAX_FACTOR_CHARACTERS ? undefined : readDecimal(by);
  if (factor === undefined || factor.isNegative || factor.coefficient === 0n) return undefined;
  let { coefficient, exponent } = factor;
  while (coefficient % 10n === 0n) {
    coefficient /= 10n;
    exponent += 1;
  }
  let inverse = 1n;
  exponent = -exponent;
  // 1/2 is 5/10, and 1/5 is 2/10: any other factor has an infinite inverse.
  for (const [prime, other] of [
    [2n, 5n],
    [5n, 2n],
  ] as const) {
    while (coefficient % prime === 0n) {
      coefficient /= prime;
      inverse *= other;
      exponent -= 1;
    }
  }
  return coefficient === 1n ? printDecimal({ coefficient: inverse, exponent }, '', 0) : undefined;
}

function readDecimal(text: string): (Decimal & { readonly isNegative: boolean }) | undefined {
  const found = text.length > MAX_NUMBER_CHARACTERS ? null : NUMBER.exec(text);
  if (found === null) return undefined;
  const [, sign, whole = '', rest = '', power = '0'] = found;
  if (power.replace(/^[+-]/, '').length > MAX_EXPONENT_DIGITS) return undefined;
  const coefficient = BigInt(whole + rest);
  return { coefficient, exponent: Number(power) - rest.length, isNegative: sign === '-' };
}

function isBelowOne({ coefficient, exponent }: Decimal): boolean {
  return coefficient.toString().length + exponent <= 0;
}

function scale(json: string, factor: Decimal, digits: number): string | undefined {
  const number = readDecimal(json);
  if (number === undefined) return undefined;
  const product = {
    coefficient: number.coefficient * factor.coefficient,
    exponent: number.exponent + factor.exponent,
  };
  const sign = number.isNegative ? '-' : '';
  const hasExponent = /[eE]/.test(json);
  return hasExponent && plainDigits(product) > MAX_PLAIN_DIGITS
    ? printExponent(product, sign)
    : printDecimal(product, sign, digits);
}

function plainDigits({ coefficient, exponent }: Decimal): number {
  return coefficient === 0n ? 1 : coefficient.toString().length + Math.abs(exponent);
}

/** The shortest text without an exponent that has at least `digits` decimals. */
function printDecimal({ coefficient, exponent }: Decimal, sign: string, digits: number): string {
  const text = coefficient.toString();
  const whole =
    exponent < 0 ? text.padStart(1 - exponent, '0') : coefficient === 0n ? '0' : text + '0'.repeat(exponent);
  const end = whole.length + Math.min(exponent, 0);
  let rest = whole.slice(end);
  while (rest.endsWith('0')) rest = rest.slice(0, -1);
  rest = rest.padEnd(digits, '0');
  return `${sign}${whole.slice(0, end)}${rest === '' ? '' : `.${rest}`}`;
}

function printExponent({ coefficient, exponent }: Decimal, sign: string): string {
  let digits = coefficient.toString();
  let power = exponent;
  while (digits.endsWith('0')) {
    digits = digits.slice(0, -1);
    power += 1;
  }
  return `${sign}${digits}E${power}`;
}
