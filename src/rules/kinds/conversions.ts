import type { ConversionBook, ConversionKind, ConversionSchema, ConversionWords } from './conversion.ts';
import * as date from './date.ts';
import type { DateConversion } from './date.ts';
import * as prefix from './prefix.ts';
import type { PrefixConversion } from './prefix.ts';
import * as quote from './quote.ts';
import type { QuoteConversion } from './quote.ts';
import * as scale from './scale.ts';
import type { ScaleConversion } from './scale.ts';
import * as unprefix from './unprefix.ts';
import * as unquote from './unquote.ts';

/* The list of all conversions of values. There are several tables, because a bundle contains whole tables: one that only migrates has neither the descriptions nor the forms of a rule book. */

/** A conversion of the value of one member. A closed union. */
export type Conversion = ScaleConversion | QuoteConversion | PrefixConversion | DateConversion;

export type ConversionName = Conversion['rule'];

type Table<Part> = Readonly<Record<ConversionName, Part>>;

/** How conversions convert values. */
export const CONVERSIONS: Table<ConversionKind<Conversion>> = {
  scale: scale.conversion,
  quote: quote.conversion,
  unquote: unquote.conversion,
  prefix: prefix.conversion,
  unprefix: unprefix.conversion,
  date: date.conversion,
};

/** How messages and guides describe conversions. */
export const CONVERSION_WORDS: Table<ConversionWords<Conversion>> = {
  scale: scale.words,
  quote: quote.words,
  unquote: unquote.words,
  prefix: prefix.words,
  unprefix: unprefix.words,
  date: date.words,
};

/** How a rule book writes conversions. */
export const CONVERSION_BOOKS: Table<ConversionBook<Conversion>> = {
  scale: scale.book,
  quote: quote.book,
  unquote: unquote.book,
  prefix: prefix.book,
  unprefix: unprefix.book,
  date: date.book,
};

export const CONVERSION_SCHEMAS: Table<ConversionSchema<Conversion>> = {
  scale: scale.schema,
  quote: quote.schema,
  unquote: unquote.schema,
  prefix: prefix.schema,
  unprefix: unprefix.schema,
  date: date.schema,
};
