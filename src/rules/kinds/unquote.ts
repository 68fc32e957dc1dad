import { type ConversionKind, NUMBER, textOf } from './conversion.ts';
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
