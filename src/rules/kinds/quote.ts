import { type ConversionBook, type ConversionKind, type ConversionWords, NUMBER } from './conversion.ts';

/** Makes a string of the characters of a number (`quote`), or the number that a string is (`unquote`). */
export interface QuoteConversion {
  readonly rule: 'quote' | 'unquote';
}

/** Its work on a value. */
export const conversion: ConversionKind<QuoteConversion> = {
  converter: () => (json) => (NUMBER.test(json) ? `"${json}"` : undefined),
  inverse: () => ({ rule: 'unquote' }),
  accepts: () => 'a number',
  isOfNumbers: () => true,
};

/** What people read of it. */
export const words: ConversionWords<QuoteConversion> = {
  say: ({ rule }, name) => `${rule} ${name}`,
};

/** How a rule book has it. */
export const book: ConversionBook<QuoteConversion> = {
  description: 'Turns a number into a string of the same characters.',
  read: () => ({ rule: 'quote' }),
};
