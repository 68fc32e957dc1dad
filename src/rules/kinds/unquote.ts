import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  NUMBER,
  textOf,
} from './conversion.ts';
import { type QuoteConversion, words as wordsOfQuote } from './quote.ts';

/** How `unquote` converts a value. */
export const conversion: ConversionKind<QuoteConversion> = {
  converter: () => (json) => {
    const text = textOf(json);
    return text !== undefined && NUMBER.test(text) ? text : undefined;
  },
  inverse: () => ({ rule: 'quote' }),
  accepts: () => 'a string that is a number',
};

/** How messages and guides describe `unquote`. */
export const words: ConversionWords<QuoteConversion> = {
  ...wordsOfQuote,
  remarkOfAny: 'now a number, with the same digits',
  sample: () => '"7"',
};

/** The effect of `unquote` on a schema. */
export const schema: ConversionSchema<QuoteConversion> = {
  made: (_, { pattern, format }) => {
    const isWhole = typeof pattern === 'string' && WHOLE.test(pattern);
    return { type: isWhole || format === 'int32' || format === 'int64' ? 'integer' : 'number' };
  },
};

/** A pattern that only matches whole numbers, such as `^[0-9]+$`. */
const WHOLE = /^\^(?:-\?)?(?:\[[01]-9\]|\\d)(?:[*+]|\{\d+(?:,\d*)?\})?(?:(?:\[0-9\]|\\d)[*+])?\$$/;

/** How a rule book writes `unquote`. */
export const book: ConversionBook<QuoteConversion> = {
  description: 'Turns a string that is a number into that number.',
  read: () => ({ rule: 'unquote' }),
};
