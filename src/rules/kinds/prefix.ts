import { spelledText } from '../../json/names.ts';
import { type ConversionBook, type ConversionKind, type ConversionWords, isString } from './conversion.ts';

/** Puts a text in front of a string (`prefix`), or takes it away (`unprefix`). */
export interface PrefixConversion {
  readonly rule: 'prefix' | 'unprefix';
  readonly with: string;
}

/** Its work on a value. */
export const conversion: ConversionKind<PrefixConversion> = {
  converter: (own) => {
    const start = spelledText(own.with);
    return (json) => (isString(json) ? `"${start}${json.slice(1)}` : undefined);
  },
  inverse: (own) => ({ ...own, rule: 'unprefix' }),
  accepts: () => 'a string',
};

/** What people read of it. */
export const words: ConversionWords<PrefixConversion> = {
  say: (own, name) => `prefix ${name} with ${own.with}`,
};

/** How a rule book has it. */
export const book: ConversionBook<PrefixConversion> = {
  description: 'Puts a text in front of a string.',
  keys: ({ text }) => ({ with: text }),
  read: (source: Pick<PrefixConversion, 'with'>) => ({ rule: 'prefix', with: source.with }),
  isOfTexts: true,
};
