import { spelledText, stringText } from '../../json/names.ts';
import {
  type CompiledDate,
  compiledDate,
  convertDate,
  type DateForm,
  dateLoss,
  isNumeric,
} from './date-format.ts';

/** Multiplies a number by a decimal with a finite inverse. */
export interface ScaleConversion {
  readonly rule: 'scale';
  /** The decimal text of the factor. */
  readonly by: string;
  /** Minimum number of decimals when the number becomes smaller: those of the larger unit. */
  readonly digits: number;
}

/** Makes a string of the characters of a number (`quote`), or the number that a string is (`unquote`). */
export interface QuoteConversion {
  readonly rule: 'quote' | 'unquote';
}

/** Puts a text in front of a string (`prefix`), or takes it away (`unprefix`). */
export interface PrefixConversion {
  readonly rule: 'prefix' | 'unprefix';
  readonly with: string;
}

/** Writes a date in another form. */
export interface DateConversion {
  readonly rule: 'date';
  readonly from: string;
  readonly to: string;
  /** How both are read and written. */
  readonly forms: Readonly<
    Record<
      'from' | 'to',
      {
        readonly reads: string;
        readonly writes: readonly (
          | { readonly letter: string; readonly count: number }
          | { readonly text: string }
        )[];
      }
    >
  >;
  /** The time zone of a form that has none in its text. */
  readonly zone: string;
  /** The time of a date without one, in seconds of the day. */
  readonly at: number;
}

/** What is done to the value of one member. A closed union. */
export type Conversion = ScaleConversion | QuoteConversion | PrefixConversion | DateConversion;

/** The name of a conversion. */
type ConversionName = Conversion['rule'];

const CONVERSIONS: Readonly<Record<ConversionName, true>> = {
  scale: true,
  quote: true,
  unquote: true,
  prefix: true,
  unprefix: true,
  date: true,
};

/** The names of all conversions. */
export const CONVERSION_NAMES: readonly string[] = /* @__PURE__ */ Object.keys(CONVERSIONS);

/** True for the name of a conversion. */
export function isConversionName(text: string): text is ConversionName {
  return Object.hasOwn(CONVERSIONS, text);
}

/** Converts the JSON text of a string or a scalar; undefined for a value that cannot be converted. */
export type Converter = (json: string) => string | undefined;

/** A decimal: `coefficient` times ten to the power of `exponent`. */
interface Decimal {
  readonly coefficient: bigint;
  readonly exponent: number;
}

/** A number as RFC 8259 §6 writes it. */
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Longer numbers, and larger exponents, cannot be converted. */
const MAX_NUMBER_CHARACTERS = 1024;
const MAX_EXPONENT_DIGITS = 6;

/** A number with an exponent keeps one if it would otherwise have more digits than this. */
const MAX_PLAIN_DIGITS = 40;

/** Maximum digits of a factor, which keep its inverse short. */
const MAX_FACTOR_CHARACTERS = 20;

/** Returns the function that carries out a conversion. */
export function converterOf(conversion: Conversion): Converter {
  switch (conversion.rule) {
    case 'scale': {
      const factor = readDecimal(conversion.by) ?? { coefficient: 1n, exponent: 0 };
      const digits = isBelowOne(factor) ? conversion.digits : 0;
      return (json) => scale(json, factor, digits);
    }
    case 'quote':
      return (json) => (NUMBER.test(json) ? `"${json}"` : undefined);
    case 'unquote':
      return (json) => {
        const text = textOf(json);
        return text !== undefined && NUMBER.test(text) ? text : undefined;
      };
    case 'prefix': {
      const start = spelledText(conversion.with);
      return (json) => (isString(json) ? `"${start}${json.slice(1)}` : undefined);
    }
    case 'unprefix':
      return (json) => withoutPrefix(json, conversion.with);
    case 'date': {
      const { zone, at, forms } = conversion;
      const from = formOf(conversion.from, forms.from, zone, at);
      const to = formOf(conversion.to, forms.to, zone, at);
      return (json) => convertDateJson(json, from, to);
    }
  }
}

/** Returns the function that carries out a conversion on texts without a type, such as those of a query or a form. */
export function textConverterOf(conversion: Conversion): (text: string) => string | undefined {
  const convert = converterOf(conversion);
  const isOfNumbers =
    conversion.rule === 'scale' ||
    conversion.rule === 'quote' ||
    (conversion.rule === 'date' && isNumeric(conversion.from));
  return (text) => {
    if (isOfNumbers && !NUMBER.test(text)) return undefined;
    const converted = convert(isOfNumbers ? text : JSON.stringify(text));
    return converted !== undefined && isString(converted) ? textOf(converted) : converted;
  };
}

/** The conversion of dates between two forms without faults. */
export function dateConversion(from: string, to: string, zone = 'UTC', at = 0): DateConversion {
  return { rule: 'date', from, to, forms: { from: compiledDate(from), to: compiledDate(to) }, zone, at };
}

/** The conversion in the other direction. */
export function inverseConversion(conversion: Conversion): Conversion {
  switch (conversion.rule) {
    case 'scale':
      return { ...conversion, by: inverseFactor(conversion.by) ?? '1' };
    case 'quote':
      return { rule: 'unquote' };
    case 'unquote':
      return { rule: 'quote' };
    case 'prefix':
      return { rule: 'unprefix', with: conversion.with };
    case 'unprefix':
      return { rule: 'prefix', with: conversion.with };
    case 'date':
      return {
        ...conversion,
        from: conversion.to,
        to: conversion.from,
        forms: { from: conversion.forms.to, to: conversion.forms.from },
      };
  }
}

/** Why a value may not be the same again after the conversion and its inverse; undefined where it always is. */
export function lossOf(conversion: Conversion): string | undefined {
  if (conversion.rule !== 'date') return undefined;
  const { from, to } = conversion;
  const loss = dateLoss(from, to);
  if (loss === undefined) return undefined;
  return loss === 'zone'
    ? `${to} keeps the time, but not the zone that it was written in`
    : `${to} has less of a date than ${from}`;
}

/** The values that a conversion accepts, as in "must be a number". */
export function expectedBy(conversion: Conversion): string {
  switch (conversion.rule) {
    case 'scale':
    case 'quote':
      return 'a number';
    case 'unquote':
      return 'a string that is a number';
    case 'prefix':
      return 'a string';
    case 'unprefix':
      return `a string that begins with ${conversion.with}`;
    case 'date':
      return `a date in the form ${conversion.from}`;
  }
}

/** A conversion in words, as in `scale by 100`. */
export function conversionWords(conversion: Conversion, name: string): string {
  switch (conversion.rule) {
    case 'scale':
      return `scale ${name} by ${conversion.by}`;
    case 'quote':
    case 'unquote':
      return `${conversion.rule} ${name}`;
    case 'prefix':
      return `prefix ${name} with ${conversion.with}`;
    case 'unprefix':
      return `take the prefix ${conversion.with} from ${name}`;
    case 'date':
      return `write the date ${name}, ${conversion.from}, as ${conversion.to}`;
  }
}

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
  // 1/2 is 5/10, and 1/5 is 2/10: any other factor has an inverse without an end.
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

/** Joins JSON strings with a text between them; undefined if one is not a string. */
export function joinStrings(values: readonly string[], separator: string): string | undefined {
  if (!values.every(isString)) return undefined;
  return `"${values.map((json) => json.slice(1, -1)).join(spelledText(separator))}"`;
}

/** Splits a JSON string into `count` strings at the first or the last separators; undefined if it has too few. */
export function splitString(
  json: string,
  separator: string,
  count: number,
  at: 'first' | 'last',
): readonly string[] | undefined {
  const text = textOf(json);
  if (text === undefined) return undefined;
  const raw = json.slice(1, -1);
  const places: number[] = [];
  let place = at === 'first' ? 0 : text.length;
  while (places.length < count - 1) {
    if (at === 'last' && place < separator.length) return undefined;
    const found =
      at === 'first' ? text.indexOf(separator, place) : text.lastIndexOf(separator, place - separator.length);
    if (found === -1) return undefined;
    places.push(found);
    place = at === 'first' ? found + separator.length : found;
  }
  if (at === 'last') places.reverse();
  const parts: string[] = [];
  let start = 0;
  for (const found of places) {
    parts.push(`"${raw.slice(start, rawIndex(raw, found))}"`);
    start = rawIndex(raw, found + separator.length);
  }
  return [...parts, `"${raw.slice(start)}"`];
}

function isString(json: string): boolean {
  return json.startsWith('"');
}

function textOf(json: string): string | undefined {
  return isString(json) ? stringText(json.slice(1, -1)) : undefined;
}

/** The index in a spelled string of the unit that has the index `unit` once escapes are decoded. */
function rawIndex(raw: string, unit: number): number {
  if (!raw.includes('\\')) return unit;
  let at = 0;
  for (let units = 0; units < unit; units += 1) at += raw[at] !== '\\' ? 1 : raw[at + 1] === 'u' ? 6 : 2;
  return at;
}

function withoutPrefix(json: string, prefix: string): string | undefined {
  const text = textOf(json);
  if (text === undefined || !text.startsWith(prefix)) return undefined;
  return `"${json.slice(1 + rawIndex(json.slice(1, -1), prefix.length))}`;
}

function formOf(format: string, { reads, writes }: CompiledDate, zone: string, at: number): DateForm {
  // Not proven linear: each part of a form reads at most thirty characters, and none goes on with the next.
  return { format, zone, at, reads: new RegExp(reads, 'i'), writes };
}

function convertDateJson(json: string, from: DateForm, to: DateForm): string | undefined {
  // A service that reads the number reads its digits from a string as well.
  const text = isNumeric(from.format) && !isString(json) ? json : textOf(json);
  const converted = text === undefined ? undefined : convertDate(text, from, to);
  if (converted === undefined) return undefined;
  return isNumeric(to.format) ? converted : `"${spelledText(converted)}"`;
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
