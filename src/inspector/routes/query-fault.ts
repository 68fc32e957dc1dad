import { readDecimal } from '../../http/decimal.ts';

/** The values that a query parameter takes: one of these words, or what a test accepts, described in words. */
type Accepted = readonly string[] | { readonly accepts: (value: string) => boolean; readonly words: string };

/** A whole number. */
export const WHOLE_NUMBER: Accepted = {
  accepts: (value) => readDecimal(value) !== undefined,
  words: 'a whole number',
};

const MAX_SHOWN = 60;

/** Names the first query parameter whose value a route does not take, in a sentence; undefined when there is none. */
export function queryFault(
  query: Readonly<Record<string, string>>,
  parameters: Readonly<Record<string, Accepted>>,
): string | undefined {
  for (const [name, accepted] of Object.entries(parameters)) {
    const value = query[name];
    if (value === undefined) continue;
    const isWords = 'length' in accepted;
    if (isWords ? accepted.includes(value) : accepted.accepts(value)) continue;
    const words = isWords ? `one of ${accepted.join(', ')}` : accepted.words;
    return `The query parameter ${name} takes ${words}, not "${value.slice(0, MAX_SHOWN)}".`;
  }
  return undefined;
}
