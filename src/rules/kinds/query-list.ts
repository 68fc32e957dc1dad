import { type QueryPart, withName, withRawValue } from '../../http/target.ts';
import { type Book, formOf } from './book.ts';
import type { QueryKind } from './kind.ts';
import { spellings } from './map.ts';

/** Makes a parameter for each text in every query parameter `parameter` (`list`), or one text of all of them (`unlist`), called `to`. */
export interface QueryListRule {
  readonly rule: 'list' | 'unlist';
  readonly parameter: string;
  readonly to: string;
  readonly with: string;
}

/** The replacements of each of several parameters with one name, under another name; undefined if there can be none. */
type Regroup = (parts: readonly QueryPart[], name: string) => readonly (readonly QueryPart[])[] | undefined;

/** How `list` or `unlist` changes queries. Links of V2 are converted back to V1's form. */
export const query: QueryKind<QueryListRule> = {
  compile: ({ rule, parameter, to, with: separator }) => {
    const both = [splitting(separator), joining(separator)];
    const [there, back] = rule === 'list' ? both : both.toReversed();
    return {
      apply: (run) => {
        const named = run.named(parameter);
        if (named === undefined) return;
        const groups = there?.(
          named.map(({ part }) => part),
          to,
        );
        if (groups === undefined) run.record(named, 'value');
        else if (
          named.some(({ part }, at) => groups[at]?.length !== 1 || groups[at]?.[0]?.raw !== part.raw)
        ) {
          const isConflict = to !== parameter && run.drop(to, 'conflict');
          run.record(run.regroup(parameter, to, groups), isConflict ? 'conflict' : undefined);
        }
      },
      restoreAll: (parts) => {
        const own = parts.filter(({ name }) => name === to);
        const groups = back?.(own, parameter);
        return parts.flatMap((part) => groups?.[own.indexOf(part)] ?? [part]);
      },
    };
  },
  renames: ({ parameter, to }) => ({ from: parameter, to }),
};

/** Splits every text at its separators, in any spelling. */
function splitting(separator: string): Regroup {
  // Not proven linear: a fixed text, tried once at each position.
  const pattern = new RegExp(spellings(separator), 'i');
  return (parts, name) =>
    parts.map((part) => {
      const { raw } = part;
      const at = raw.indexOf('=');
      const named = withName(part, name);
      if (at === -1) return [named];
      return raw
        .slice(at + 1)
        .split(pattern)
        .map((value) => withRawValue(named, value));
    });
}

/** Joins all texts in the place of the first; not if a text contains the separator, which would add an element. */
function joining(separator: string): Regroup {
  // Not proven linear: a fixed text, tried once at each position.
  const pattern = new RegExp(spellings(separator), 'i');
  // Servers accept an unencoded comma or colon in a query, and people write them that way.
  const between = encodeURIComponent(separator).replaceAll('%2C', ',').replaceAll('%3A', ':');
  return (parts, name) => {
    const [first] = parts;
    const values = parts.map(({ raw }) => (raw.includes('=') ? raw.slice(raw.indexOf('=') + 1) : ''));
    const isMore = parts.length > 1 && values.some((value) => pattern.test(value));
    if (first === undefined || isMore) return undefined;
    const named = withName(first, name);
    const joined = parts.length === 1 ? named : withRawValue(named, values.join(between));
    return parts.map((_, at) => (at === 0 ? [joined] : []));
  };
}

/** How a rule book writes `list` or `unlist`. */
export function bookOf(
  word: QueryListRule['rule'],
): Required<Pick<Book<never, never, QueryListRule>, 'query'>> {
  return {
    query: {
      form: ({ strict, optional, parameter, text }) =>
        formOf(
          strict({
            [word]: parameter,
            with: text.describe('What separates the texts: a comma, for example.'),
            to: optional(parameter, 'Its name at V2; when absent, the same.'),
          }).describe(
            word === 'list'
              ? 'Makes a query parameter of each text in one: tags=a,b becomes tags=a&tags=b.'
              : 'Makes one query parameter of all with a name: tags=a&tags=b becomes tags=a,b.',
          ),
          (source, { path }) => {
            const { [word]: parameter, with: separator, to = parameter } = source;
            return [
              {
                rule: { rule: word, parameter: String(parameter), to: String(to), with: String(separator) },
                parts: [[...path, word]],
              },
            ];
          },
        ),
      looksFor: ({ parameter }) => [parameter],
      learn: ({ to }, names) => names.add(to),
    },
  };
}
