import {
  type ConversionBook,
  type ConversionKind,
  type ConversionWords,
  rawIndex,
  textOf,
} from './conversion.ts';
import type { PrefixConversion } from './prefix.ts';

/** How `unprefix` converts a value. */
export const conversion: ConversionKind<PrefixConversion> = {
  converter:
    ({ with: prefix }) =>
    (json) => {
      const text = textOf(json);
      if (text === undefined || !text.startsWith(prefix)) return undefined;
      return `"${json.slice(1 + rawIndex(json.slice(1, -1), prefix.length))}`;
    },
  inverse: (own) => ({ ...own, rule: 'prefix' }),
  accepts: (own) => `a string that begins with ${own.with}`,
};

/** How messages and guides describe `unprefix`. */
export const words: ConversionWords<PrefixConversion> = {
  say: (own, name) => `take the prefix ${own.with} from ${name}`,
  remark: (own) => `remove ${own.with} from the start of the text`,
  remarkOfAny: 'the text begins differently',
  sample: (own) => JSON.stringify(`${own.with}7`),
};

export { schema } from './prefix.ts';

/** How a rule book writes `unprefix`. */
export const book: ConversionBook<PrefixConversion> = {
  description: 'Removes a text from the front of a string.',
  keys: ({ text }) => ({ with: text }),
  read: (source: Pick<PrefixConversion, 'with'>) => ({ rule: 'unprefix', with: source.with }),
  isOfTexts: true,
};
