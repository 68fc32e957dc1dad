import { type ConversionBook, type ConversionKind, NUMBER, textOf } from './conversion.ts';
import type { QuoteConversion } from './quote.ts';

/** Its work on a value. */
export const conversion: ConversionKind<QuoteConversion> = {
  converter: () => (json) => {
    const text = textOf(json);
    return text !== undefined && NUMBER.test(text) ? text : undefined;
  },
  inverse: () => ({ rule: 'quote' }),
  accepts: () => 'a string that is a number',
};

export { words } from './quote.ts';

/** How a rule book has it. */
export const book: ConversionBook<QuoteConversion> = {
  description: 'Turns a string that is a number into that number.',
  read: () => ({ rule: 'unquote' }),
};
