import { badRequest, conflictNote, filled } from '../../edits/header-run.ts';
import { isFieldValue } from '../../http/header-list.ts';
import { queryParts, valueOf } from '../../http/target.ts';
import { type Book, formOf } from './book.ts';
import type { HeaderKind } from './kind.ts';

/** Moves the value of the query parameter `parameter` to the field `to`, in place of the braces of `as`. */
export interface HeaderQueryRule {
  readonly rule: 'query';
  readonly parameter: string;
  readonly to: string;
  readonly as: string;
}

/** Moves a credential out of the query, because third-party logs would keep it there. */
export const header: HeaderKind<HeaderQueryRule> = {
  apply: ({ parameter, to, as }, run) => {
    if (run.query === '') return undefined;
    const parts = queryParts(run.query.slice(1));
    const [first, second] = parts.filter(({ name }) => name === parameter);
    if (first === undefined) return undefined;
    const name = `The query parameter ${parameter}`;
    if (second !== undefined) return badRequest(`${name} occurs twice.`);
    const value = valueOf(first) ?? '';
    if (value === '' || value !== value.trim() || !isFieldValue(value))
      return badRequest(`${name} has no value that a header field can carry.`);
    const settled = run.settle(to, name);
    if (typeof settled !== 'boolean') return settled;
    const left = parts.filter((part) => part !== first);
    run.query = left.length === 0 ? '' : `?${left.map(({ raw }) => raw).join('&')}`;
    run.add(to, filled(as, value));
    run.record(to, { from: `?${parameter}`, to, ...conflictNote(settled) });
    return undefined;
  },
  moves: ({ parameter, to, as }) => [{ from: { query: parameter }, to, as }],
};

/** How a rule book writes `query`: among the rules for header fields. */
export const book: Book<never, never, never, HeaderQueryRule> = {
  headers: {
    form: ({ strict, parameter, field, template }) =>
      formOf(
        strict({ query: parameter, to: field.describe('The header field.'), as: template }).describe(
          'Moves a credential from the query to a header field.',
        ),
        (source, { path }) => [
          {
            rule: { rule: 'query', parameter: source.query, to: source.to, as: source.as ?? '{}' },
            parts: [[...path, 'query']],
          },
        ],
      ),
    isOfRequests: true,
    hasConflict: true,
    looksFor: () => [],
    learn: ({ to }, names) => names.add(to),
  },
};
