import type * as zod from 'zod';
import { stringText } from '../../json/names.ts';
import type { Blocks } from './book.ts';
import type { NoInverse } from './kind.ts';

/** Converts the JSON text of a string or a scalar; undefined for a value that cannot be converted. */
export type Converter = (json: string) => string | undefined;

/** A kind of rule that converts the value of one member or parameter. */
export interface ConversionKind<Own, Back = Own> {
  /** Returns the function that carries out a conversion, once for each plan. */
  converter(conversion: Own): Converter;
  /** The conversion that restores the value, or why there is none. */
  inverse(conversion: Own): Back | NoInverse;
  /** The values that a conversion accepts, as in "must be a number". */
  accepts(conversion: Own): string;
  /** True if a text without a type, such as that of a query, is read as a number. */
  isOfNumbers?(conversion: Own): boolean;
}

/** How messages and guides describe a conversion. */
export interface ConversionWords<Own> {
  /** The conversion of the member `name`: `scale price by 100`. */
  say(conversion: Own, name: string): string;
  /** Why a value may differ after the conversion and its inverse; undefined if it never does. */
  loss?(conversion: Own): string | undefined;
  /** The instruction for changing a client: `multiply the number by 100`. */
  remark(this: void, conversion: Own): string;
  /** The JSON text of a value that the conversion accepts, for an example. */
  sample(this: void, conversion: Own): string;
  /** How a guide describes the value in V2 if it does not know which of several rules applied: `the number is in another unit`. */
  readonly remarkOfAny: string;
  /** Why a conversion has no inverse: the words after "since". */
  readonly why?: string;
}

/** The keywords of a schema. */
export type Keywords = Readonly<Record<string, unknown>>;

/** The effect of a conversion on the schema of a value. Unknown keywords are left out: a looser schema refuses no value. */
export interface ConversionSchema<Own> {
  /** The type of the values, and their lengths and pattern. */
  made(this: void, conversion: Own, keywords: Keywords): Keywords;
  /** For a conversion without an inverse: the values that V1's clients may send, which V2's schema does not show; any value if absent. */
  readonly taken?: Keywords;
  /** True if numbers stay numbers, in the same order. */
  keepsOrder?(this: void, conversion: Own): boolean;
  /** True if multiples of a number stay multiples of one. */
  readonly keepsSteps?: true;
}

/** The type that a schema has for values other than null. */
export function typeIn({ type }: Keywords): unknown {
  return Array.isArray(type) ? type.find((one) => one !== 'null') : type;
}

/** How a rule book writes a conversion, in addition to its member or parameter. */
export interface ConversionBook<Own> {
  /** Its description, for editors. */
  readonly description: string;
  /** The keys of the rule in addition to those of its place; none if absent. */
  keys?(this: void, blocks: Blocks): zod.core.$ZodShape;
  /** Reads a rule with these keys. */
  read(this: void, source: object): Own;
  /** True if it can also be used for query parameters, whose values have no types. */
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

/** Converts an index in a decoded string to one in its spelling. */
export function rawIndex(raw: string, unit: number): number {
  if (!raw.includes('\\')) return unit;
  let at = 0;
  for (let units = 0; units < unit; units += 1) at += raw[at] !== '\\' ? 1 : raw[at + 1] === 'u' ? 6 : 2;
  return at;
}
