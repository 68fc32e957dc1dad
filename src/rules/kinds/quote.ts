import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  NUMBER,
  typeIn,
} from './conversion.ts';

/** Makes a string of the characters of a number (`quote`), or a number of such a string (`unquote`). */
export interface QuoteConversion {
  readonly rule: 'quote' | 'unquote';
}

/** How `quote` converts a value. */
export const conversion: ConversionKind<QuoteConversion> = {
  converter: () => (json) => (NUMBER.test(json) ? `"${json}"` : undefined),
  inverse: () => ({ rule: 'unquote' }),
  accepts: () => 'a number',
  isOfNumbers: () => true,
};

/** How messages and guides describe `quote`. */
export const words: ConversionWords<QuoteConversion> = {
  say: ({ rule }, name) => `${rule} ${name}`,
  remark: ({ rule }) =>
    rule === 'quote'
      ? 'write the number as a text, with the same characters'
      : 'write the text as a number, with the same digits',
  remarkOfAny: 'now a text, with the same characters',
  sample: () => '7',
};

/** The effect of `quote` on a schema. */
export const schema: ConversionSchema<QuoteConversion> = {
  made: (_, keywords) => ({
    type: 'string',
    ...(typeIn(keywords) === 'integer' ? { pattern: '^-?[0-9]+$' } : {}),
  }),
};

/** How a rule book writes `quote`. */
export const book: ConversionBook<QuoteConversion> = {
  description: 'Turns a number into a string of the same characters.',
  read: () => ({ rule: 'quote' }),
};
