import type * as zod from 'zod';
import { stringText } from '../../json/names.ts';
import type { Blocks } from './book.ts';
import type { NoInverse } from './kind.ts';

/** Converts the JSON text of a string or a scalar; undefined for a value that cannot be converted. */
export type Converter = (json: string) => string | undefined;

/** A kind of rules that convert the value of one member or parameter: their work on it. */
export interface ConversionKind<Own, Back = Own> {
  /** Returns the function that carries out a conversion, once for each plan. */
  converter(conversion: Own): Converter;
  /** The conversion that restores the value, or why there is none. */
  inverse(conversion: Own): Back | NoInverse;
  /** The values that a conversion accepts, as in "must be a number". */
  accepts(conversion: Own): string;
  /** True where a text without a type, such as that of a query, is read as a number. */
  isOfNumbers?(conversion: Own): boolean;
}

/** What people read of a conversion. */
export interface ConversionWords<Own> {
  /** The conversion of what is called `name`: `scale price by 100`. */
  say(conversion: Own, name: string): string;
  /** Why a value may not be the same again after the conversion and its inverse; undefined where it always is. */
  loss?(conversion: Own): string | undefined;
  /** What people do who change a client: `multiply the number by 100`. */
  remark(this: void, conversion: Own): string;
  /** What a guide says of the value in V2 where it does not know which of several rules applied: `the number is in another unit`. */
  readonly remarkOfAny: string;
  /** Why a conversion has no inverse: what goes on after "since". */
  readonly why?: string;
}

/** The keywords of a schema. */
export type Keywords = Readonly<Record<string, unknown>>;

/** What a conversion makes of the schema of a value. What it does not tell is left out: a looser schema refuses nobody. */
export interface ConversionSchema<Own> {
  /** The type of the values, and their lengths and pattern. */
  made(this: void, conversion: Own, keywords: Keywords): Keywords;
  /** Of a conversion without an inverse: what V1's clients may send, which no schema of V2 tells; any value when absent. */
  readonly taken?: Keywords;
  /** True where numbers stay numbers, in their order. */
  keepsOrder?(this: void, conversion: Own): boolean;
  /** True where multiples of a number become those of another. */
  readonly keepsSteps?: true;
}

/** The type that a schema has for values other than null. */
export function typeIn({ type }: Keywords): unknown {
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type;
}

/** How a rule book has a conversion, beside its member or parameter. */
export interface ConversionBook<Own> {
  /** What it does, for editors. */
  readonly description: string;
  /** The keys of the rule beside those of its place; none when absent. */
  keys?(this: void, blocks: Blocks): zod.core.$ZodShape;
  /** Reads the rule that has these keys. */
  read(this: void, source: object): Own;
  /** True if a parameter of a query, whose values have no types, can have it as well. */
  readonly isOfTexts?: true;
}

/** A number as RFC 8259 §6 writes it. */
export const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** True for the JSON text of a string. */
export function isString(json: string): boolean {
  return json.startsWith('"');
}

/** The text of a JSON string; undefined for another value. */
export function textOf(json: string): string | undefined {
  return isString(json) ? stringText(json.slice(1, -1)) : undefined;
}

/** The index in a spelled string of the unit that has the index `unit` once escapes are decoded. */
export function rawIndex(raw: string, unit: number): number {
  if (!raw.includes('\\')) return unit;
  let at = 0;
  for (let units = 0; units < unit; units += 1) at += raw[at] !== '\\' ? 1 : raw[at + 1] === 'u' ? 6 : 2;
  return at;
}
