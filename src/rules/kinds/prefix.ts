import { spelledText } from '../../json/names.ts';
import {
  type ConversionBook,
  type ConversionKind,
  type ConversionSchema,
  type ConversionWords,
  isString,
} from './conversion.ts';

/** Prepends a text to a string (`prefix`), or removes it (`unprefix`). */
export interface PrefixConversion {
  readonly rule: 'prefix' | 'unprefix';
  readonly with: string;
}

/** How `prefix` converts a value. */
export const conversion: ConversionKind<PrefixConversion> = {
  converter: (own) => {
    const start = spelledText(own.with);
    return (json) => (isString(json) ? `"${start}${json.slice(1)}` : undefined);
  },
  inverse: (own) => ({ ...own, rule: 'unprefix' }),
  accepts: () => 'a string',
};

/** How messages and guides describe `prefix`. */
export const words: ConversionWords<PrefixConversion> = {
  say: (own, name) => `prefix ${name} with ${own.with}`,
  remark: (own) => `put ${own.with} in front of the text`,
  remarkOfAny: 'the text begins differently',
  sample: () => '"7"',
};

/** The effect of `prefix` on a schema. */
export const schema: ConversionSchema<PrefixConversion> = {
  made: (own, { minLength, maxLength, pattern }) => {
    // Lengths count code points (JSON Schema Validation §6.3.1).
    const length = Array.from(own.with).length * (own.rule === 'prefix' ? 1 : -1);
    const behind = typeof pattern === 'string' ? patternBehind(pattern, own) : undefined;
    const least = typeof minLength === 'number' ? Math.max(0, minLength + length) : 0;
    const most = typeof maxLength === 'number' ? Math.max(0, maxLength + length) : undefined;
    return {
      type: 'string',
      ...(least > 0 ? { minLength: least } : {}),
      ...(most === undefined ? {} : { maxLength: most }),
      ...(behind === undefined ? {} : { pattern: behind }),
    };
  },
};

/** The pattern with the text in front, or without it; undefined if unknown. */
function patternBehind(pattern: string, { rule, with: text }: PrefixConversion): string | undefined {
  // An alternative may have another beginning.
  if (!pattern.startsWith('^') || pattern.includes('|')) return undefined;
  const rest = pattern.slice(1);
  const escaped = text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  if (rule === 'prefix') return `^${escaped}${rest}`;
  const start = [text, escaped].find((one) => rest.startsWith(one));
  if (start === undefined) return undefined;
  const behind = rest.slice(start.length);
  // A quantifier would apply to the last character of the prefix.
  return /^[*+?{]/.test(behind) ? undefined : `^${behind}`;
}

/** How a rule book writes `prefix`. */
export const book: ConversionBook<PrefixConversion> = {
  description: 'Puts a text in front of a string.',
  keys: ({ text }) => ({ with: text }),
  read: (source: Pick<PrefixConversion, 'with'>) => ({ rule: 'prefix', with: source.with }),
  isOfTexts: true,
};
