import { decodeQueryText, valuesInQuery, withValueInQuery } from '../http/target.ts';
import { type EditRecord, METHOD_OVERRIDE } from '../rewrite/records.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** The query parameter that some frameworks take for the method of a POST, beside the header fields. */
const PARAMETER = '_method';

/** The methods that a POST may stand for. A service that takes another name at all has no operation of it. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'PUT', 'PATCH', 'DELETE']);

/** A POST, as rules and V2 see it. */
export interface OverriddenMethod {
  /** The method that rules go by. */
  readonly method: string;
  /** True when V2 takes that method from the request, by a field or a parameter that it still gets. */
  readonly isOverridden: boolean;
  /** True when V2 gets neither. */
  readonly isDropped: boolean;
  readonly query: string;
  readonly edits: readonly EditRecord[];
}

/**
 * Reads the method that a POST asks for: `X-HTTP-Method-Override`, `X-HTTP-Method`, `X-Method-Override` in `named`, joined with commas, and
 * `_method` in the query. A service that honours it would carry out an operation that the rules did not see, so the rules go by the same
 * method, or the override is hidden from V2. `ambiguous` when two names differ, because the gateway cannot know which one V2 takes.
 */
export function overriddenMethod(
  named: string | undefined,
  query: string,
  mode: RuleBook['override'],
): OverriddenMethod | 'ambiguous' | undefined {
  const ofQuery = query.length > PARAMETER.length ? parametersIn(query) : [];
  if (named === undefined && ofQuery.length === 0) return undefined;
  if (mode === 'drop') {
    const edits: EditRecord[] = [];
    if (named !== undefined) edits.push({ change: METHOD_OVERRIDE, rule: 'strip', note: METHOD_OVERRIDE });
    if (ofQuery.length > 0)
      edits.push({ change: METHOD_OVERRIDE, rule: 'strip', from: `?${PARAMETER}`, note: METHOD_OVERRIDE });
    return { method: 'POST', isOverridden: false, isDropped: true, query: withoutMethod(query), edits };
  }
  const names = new Set([...(named?.split(',') ?? []), ...ofQuery].map((name) => name.trim().toUpperCase()));
  const [only = '', second] = names;
  if (second !== undefined) return 'ambiguous';
  const isOverridden = METHODS.has(only);
  return { method: isOverridden ? only : 'POST', isOverridden, isDropped: false, query, edits: [] };
}

/** Returns a raw query without the parameter that names a method, every other character as it came. */
export function withoutMethod(query: string): string {
  return withValueInQuery(query, PARAMETER, undefined);
}

function parametersIn(query: string): readonly string[] {
  // Most queries have no such name in any spelling.
  return decodeQueryText(query).includes(PARAMETER) ? valuesInQuery(query, PARAMETER) : [];
}
