import { decodeQueryText, valuesInQuery, withValueInQuery } from '../http/target.ts';
import { type EditRecord, METHOD_OVERRIDE } from '../rewrite/records.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** The query parameter that some frameworks use as the method of a POST, like the header fields. */
const PARAMETER = '_method';

/** The methods that can override a POST. Any other method has no operation at the service. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'PUT', 'PATCH', 'DELETE']);

/** A POST, as rules and V2 treat it. */
export interface OverriddenMethod {
  /** The method that selects the rules. */
  readonly method: string;
  /** True if V2 takes that method from a field or a parameter of the request, which it still gets. */
  readonly isOverridden: boolean;
  /** True if V2 gets neither the fields nor the parameter. */
  readonly isDropped: boolean;
  readonly query: string;
  readonly edits: readonly EditRecord[];
}

/**
 * Reads the method that a POST asks for: `X-HTTP-Method-Override`, `X-HTTP-Method`, `X-Method-Override` in `named`, joined with commas,
 * and `_method` in the query. A service that honours the override would carry out another operation than the rules assume, so the rules
 * use the same method, or the override is removed. `ambiguous` if two methods are named, because the gateway cannot know which one V2
 * uses.
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

/** Returns a raw query without the parameter that names a method; all other characters stay. */
export function withoutMethod(query: string): string {
  return withValueInQuery(query, PARAMETER, undefined);
}

function parametersIn(query: string): readonly string[] {
  // Most queries do not contain the name in any spelling.
  return decodeQueryText(query).includes(PARAMETER) ? valuesInQuery(query, PARAMETER) : [];
}
