import { FILTER_FIELDS, type FilterField, FIXED_VALUES, isFilterField } from './filter-field.ts';
import { words } from './filter.ts';

/** Current values for completion: operations, changes, recent clients, and so on. */
export type KnownValues = Readonly<Partial<Record<FilterField, readonly string[]>>>;

/** One completion: `insert` replaces the text from `start` to `end`. */
export interface Completion {
  readonly insert: string;
  readonly start: number;
  readonly end: number;
  /** Short description for users. */
  readonly help: string;
}

/** Values that never change. */
const FIXED: KnownValues = {
  ...FIXED_VALUES,
  status: ['2xx', '3xx', '4xx', '5xx', '422', '429', 'incomplete'],
  route: ['v1', 'v2', 'none'],
  failure: ['*', '-'],
  cause: ['*', '-'],
  method: ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'],
  version: ['absent', 'invalid', 'future', 'client', 'pin'],
  note: ['already-flat', 'conflict', 'sibling', 'duplicate'],
  ms: ['>100', '>1000'],
  edits: ['0', '>0'],
};

/** Proposes completions of the word at `cursor`: fields first, then values of the field. */
export function completeFilter(text: string, cursor: number, known: KnownValues): readonly Completion[] {
  const word = words(text).find(({ start, end }) => start <= cursor && cursor <= end) ?? {
    text: '',
    start: cursor,
    end: cursor,
  };
  const sign = word.text.startsWith('-') ? '-' : '';
  const typed = word.text.slice(sign.length, Math.max(sign.length, cursor - word.start)).toLowerCase();
  const propose = (insert: string, help: string): Completion => ({
    insert: sign + insert,
    start: word.start,
    end: word.end,
    help,
  });
  const colon = typed.indexOf(':');
  if (colon === -1) {
    return Object.entries(FILTER_FIELDS)
      .filter(([field]) => field.startsWith(typed))
      .map(([field, help]) => propose(`${field}:`, help));
  }
  const field = typed.slice(0, colon);
  if (!isFilterField(field)) return [];
  const before = typed.slice(colon + 1, typed.lastIndexOf(',') + 1);
  const prefix = typed.slice(colon + 1 + before.length);
  return [...new Set([...(known[field] ?? []), ...(FIXED[field] ?? [])])]
    .filter((value) => value.toLowerCase().startsWith(prefix))
    .map((value) => propose(`${field}:${before}${printable(value)} `, FILTER_FIELDS[field]));
}

function printable(value: string): string {
  return /[\s",]/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value;
}
