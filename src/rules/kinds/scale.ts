import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  NUMBER,
  typeIn,
} from './conversion.ts';

/** Multiplies a number by a factor. */
export interface ScaleConversion {
  readonly rule: 'scale';
  /** The factor: the text of a decimal above zero, or of a fraction of two, such as `1/60`. */
  readonly by: string;
  /** Minimum number of decimals if the number becomes smaller: those of the larger unit. */
  readonly digits: number;
}

/** How `scale` converts a value. */
export const conversion: ConversionKind<ScaleConversion> = {
  converter: ({ by, digits }) => {
    const [times = '', per = '1'] = by.split('/');
    const [factor = ONE, divisor = ONE] = [times, per].map(readDecimal);
    const decimals = Number(times) < Number(per) ? digits : 0;
    return (json) => scale(json, factor, divisor, decimals);
  },
  inverse: ({ by, ...own }) => {
    const [factor, divisor = '1'] = by.split('/');
    return { ...own, by: `${divisor}/${factor}` };
  },
  accepts: () => 'a number',
  isOfNumbers: () => true,
};

/** How messages and guides describe `scale`. */
export const words: ConversionWords<ScaleConversion> = {
  say: ({ by }, name) => `scale ${name} by ${plainFactor(by)}`,
  loss: ({ by }) =>
    [plainFactor(by), inverseOf(by)].some((text) => text?.includes('/'))
      ? `a quotient that no decimal can hold is rounded to ${ROUNDED} further digits`
      : undefined,
  remark: ({ by }) => {
    const [times, per = '1'] = plainFactor(by).split('/');
    return times === '1' && per !== '1'
      ? `divide the number by ${per}`
      : `multiply the number by ${times}${per === '1' ? '' : ` and divide it by ${per}`}`;
  },
  remarkOfAny: 'the number is in another unit',
  sample: ({ by }) => (factorOf(by) < 1 ? '1050' : '10.5'),
};

/** The effect of `scale` on a schema. */
export const schema: ConversionSchema<ScaleConversion> = {
  made: ({ by }, keywords) => {
    const isWhole = typeIn(keywords) === 'integer' && Number.isInteger(factorOf(by));
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
      .union([z.number(), z.string()], { error: 'a number or a fraction' })
      .refine(
        (value) => inverseOf(String(value)) !== undefined,
        'is not a valid factor: write a decimal above zero, such as 100 or 0.01, or a fraction of two, such as 1/60',
      )
      .describe('A decimal above zero, such as 100 or 0.01, or a fraction of two, such as 1/60.'),
    digits: optional(
      z.int().min(0).max(30),
      "Minimum number of decimals in the larger unit, which is V1's if by is more than 1.",
    ),
  }),
  read: ({ by, digits = 0 }: { readonly by: number | string; readonly digits?: number }) => {
    return { rule: 'scale', by: String(by), digits };
  },
  isOfTexts: true,
};

/** A decimal: `coefficient` times ten to the power of `exponent`. */
interface Decimal {
  readonly coefficient: bigint;
  readonly exponent: number;
  /** A minus sign, or nothing. */
  readonly sign?: string | undefined;
}

/** Maximum characters of a number, and maximum exponent, that can be converted. */
const MAX_NUMBER_CHARACTERS = 1024;
const MAX_EXPONENT = 999_999;

/** A number with an exponent keeps it if it would otherwise have more digits than this. */
const MAX_PLAIN_DIGITS = 40;

/** Maximum characters of a factor, which keep its inverse short. */
const MAX_FACTOR_CHARACTERS = 20;

/** Decimals in which a quotient of such factors ends, if it ends: 2 to the power of 66 has 20 digits. */
const MAX_QUOTIENT_DIGITS = 66;

/** The further decimals of a quotient that does not end. */
const ROUNDED = 12;

/** What rounding takes from a quotient that does not end. */
const CUT = 10n ** BigInt(MAX_QUOTIENT_DIGITS - ROUNDED);

const ONE: Decimal = { coefficient: 1n, exponent: 0 };

/** The factor that undoes `by`, as the shortest text; undefined if `by` is no decimal above zero and no fraction of two. */
export function inverseOf(by: string): string | undefined {
  const [times = '', per = '1', ...more] = by.split('/');
  if (more.length > 0 || ![times, per].every(isFactor)) return undefined;
  if (per === '1') return inverseFactor(times) ?? `1/${times}`;
  return times === '1' ? per : `${per}/${times}`;
}

/** A factor as a decimal if it is one, and else as a fraction. */
function plainFactor(by: string): string {
  return inverseOf(inverseOf(by) ?? '') ?? by;
}

function factorOf(by: string): number {
  const [times, per = 1] = by.split('/').map(Number);
  return Number(times) / per;
}

function isFactor(text: string): boolean {
  const factor = text.length > MAX_FACTOR_CHARACTERS ? undefined : readDecimal(text);
  return factor !== undefined && factor.sign === '' && factor.coefficient > 0n;
}

/** The decimal that undoes `by`; undefined if none does, or if `by` is no decimal above zero. */
export function inverseFactor(by: string): string | undefined {
  const factor = isFactor(by) ? readDecimal(by) : undefined;
  if (factor === undefined) return undefined;
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

function readDecimal(text: string): Decimal | undefined {
  const found = text.length > MAX_NUMBER_CHARACTERS ? null : NUMBER.exec(text);
  if (found === null) return undefined;
  const [, sign, whole = '', rest = '', power = '0'] = found;
  if (Math.abs(Number(power)) > MAX_EXPONENT) return undefined;
  const coefficient = BigInt(whole + rest);
  return { coefficient, exponent: Number(power) - rest.length, sign };
}

/** The number times `factor` by `divisor`: exact if a decimal can be. */
function scale(json: string, factor: Decimal, divisor: Decimal, digits: number): string | undefined {
  const number = readDecimal(json);
  if (number === undefined) return undefined;
  const { sign = '' } = number;
  const { coefficient: per } = divisor;
  let coefficient = number.coefficient * factor.coefficient;
  let exponent = number.exponent + factor.exponent - divisor.exponent;
  for (let left = MAX_QUOTIENT_DIGITS; coefficient % per !== 0n && left > 0; left -= 1) {
    coefficient *= 10n;
    exponent -= 1;
  }
  if (coefficient % per !== 0n) {
    coefficient = coefficient / CUT + per / 2n;
    exponent += MAX_QUOTIENT_DIGITS - ROUNDED;
  }
  const product = { coefficient: coefficient / per, exponent };
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
