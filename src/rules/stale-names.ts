import { type DeclaredChange, operationContexts } from './declared-change.ts';
import type { DeclaredNames, NameFacts, NamesBook, StaleName } from './kinds/book.ts';
import { bookOf } from './kinds/books.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { Operation } from './rule-book.ts';
import type { HeaderRule, QueryRule } from './rule.ts';

/** Finds query rules that can never take effect, because an earlier rule removed their parameter or their value. */
export function staleQueryRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  /** The parameter that names V2's release; undefined if none does. */
  release?: string,
): readonly SourceFault[] {
  const faults = new Map<string, SourceFault>();
  for (const context of operationContexts(changes, operations)) {
    const names = new KnownNames((name) => name);
    for (const { change, query } of context.changes)
      for (const declared of query) {
        const stale = names.apply(declared, change.id, bookOf(declared.rule).query, release);
        // A rule on every is stale only if it has no effect on requests to which no other change applies.
        if (change.on !== 'every' || context.operations.length === 0)
          addFaults(declared, change.id, stale, faults);
      }
  }
  return [...faults.values()];
}

/**
 * Finds header rules that can never take effect: on the field that names V2's release, or after a rule that removes their field or value.
 * A rule of a change `on: every` is stale only if it has no effect on requests to which no other change applies; a rule for operations,
 * if it has no effect on any one of them.
 */
export function staleHeaderRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  releaseField: string | undefined,
): readonly SourceFault[] {
  const ruled = changes.filter(({ headers, responseHeaders }) => headers.length + responseHeaders.length > 0);
  if (ruled.length === 0) return [];
  const faults = new Map<string, SourceFault>();
  const seen = new Set<string>();
  for (const operation of [undefined, ...operations]) {
    const applied = ruled.filter(
      ({ change: { on } }) => on === 'every' || (operation !== undefined && on.includes(operation.id)),
    );
    // Ten thousand operations with the same changes are checked once.
    const key = applied.map(({ change }) => change.id).join(' ');
    if (seen.has(key)) continue;
    seen.add(key);
    for (const side of ['headers', 'responseHeaders'] as const) {
      const names = new KnownNames((name) => name.toLowerCase());
      for (const { change, [side]: rules } of applied)
        for (const declared of rules) {
          // A rule for some statuses has no certain effect.
          const isCertain = declared.status === undefined;
          const stale = names.apply(
            declared,
            change.id,
            bookOf(declared.rule).headers,
            releaseField,
            isCertain,
          );
          if (change.on !== 'every' || operation === undefined) addFaults(declared, change.id, stale, faults);
        }
    }
  }
  return [...faults.values()];
}

function addFaults(
  { rule, parts }: DeclaredNames<QueryRule | HeaderRule>,
  change: string,
  stale: readonly StaleName[],
  faults: Map<string, SourceFault>,
): void {
  for (const { part, reason } of stale) {
    const path = parts[part] ?? parts[0] ?? [];
    const message = `change "${change}": ${rule.rule} of ${subjectOf(rule, part)} has no effect: ${reason}`;
    faults.set(`${path.join()} ${reason}`, { path, message });
  }
}

function subjectOf(rule: QueryRule | HeaderRule, part: number): string {
  if ('fields' in rule) return `the header field "${rule.fields[part] ?? ''}"`;
  if ('field' in rule) return `the header field "${rule.field}"`;
  if ('parameters' in rule) return `the query parameter "${rule.parameters[part] ?? ''}"`;
  const name = `the query parameter "${rule.parameter}"`;
  const value = 'values' in rule && part > 0 ? rule.values[part - 1] : undefined;
  return value === undefined ? name : `${name} from "${value.from.text}"`;
}

/** The facts that hold for all queries or header sections after some rules. */
class KnownNames implements NameFacts {
  private readonly plain: (name: string) => string;
  /** The removed names, each with the sentence that says why. */
  private readonly gone = new Map<string, string>();
  /** The names that are certainly present, and the change that ensures that. */
  private readonly present = new Map<string, string>();
  /** By name: the values that cannot occur any more, and the change that replaced them. */
  private readonly replaced = new Map<string, Map<string, string>>();
  /** The change of the current rule. */
  private of = '';

  /** `plain` returns the same spelling for all spellings of a name. */
  constructor(plain: (name: string) => string) {
    this.plain = plain;
  }

  /** Returns the stale parts of a rule, and records its effect if that is certain. */
  apply<Rule extends QueryRule | HeaderRule>(
    { rule }: DeclaredNames<Rule>,
    change: string,
    book: NamesBook<Rule> | undefined,
    release: string | undefined,
    isCertain = true,
  ): readonly StaleName[] {
    const named = namesOf(rule).find((name) => this.plain(name) === release);
    if (named !== undefined)
      return [
        { part: 0, reason: `"${named}" names V2's release; set version instead, and remove this rule` },
      ];
    const names = book?.looksFor(rule) ?? [];
    const plain = names.map(this.plain);
    const stale = plain.flatMap((name, part): readonly StaleName[] => {
      const isAgain = plain.indexOf(name) < part;
      const reason = isAgain ? `"${names[part] ?? ''}" is in the list already` : this.gone.get(name);
      return reason === undefined ? [] : [{ part, reason: `${reason}; remove one of the two` }];
    });
    const all = [...stale, ...(book?.stale?.(rule, this) ?? [])];
    this.of = change;
    if (isCertain) book?.learn?.(rule, this);
    return all;
  }

  take(name: string, does: string): void {
    const plain = this.plain(name);
    if (!this.gone.has(plain)) this.gone.set(plain, `change "${this.of}" ${does} already`);
    this.present.delete(plain);
    this.replaced.delete(plain);
  }

  add(name: string): void {
    this.gone.delete(this.plain(name));
    this.replaced.delete(this.plain(name));
  }

  set(name: string): void {
    this.add(name);
    this.present.set(this.plain(name), this.of);
  }

  setBy(name: string): string | undefined {
    return this.present.get(this.plain(name));
  }

  change(name: string): void {
    this.replaced.delete(this.plain(name));
  }

  replace(name: string, from: readonly string[], to: readonly string[]): void {
    const known = this.replaced.get(this.plain(name)) ?? new Map<string, string>();
    this.replaced.set(this.plain(name), known);
    for (const value of from) known.set(value, this.of);
    for (const value of to) known.delete(value);
  }

  replacedBy(name: string, value: string): string | undefined {
    return this.replaced.get(this.plain(name))?.get(value);
  }
}

/** All names that a rule reads or writes. */
function namesOf(rule: QueryRule | HeaderRule): readonly string[] {
  const to = 'to' in rule ? [rule.to] : [];
  if ('fields' in rule) return rule.fields;
  if ('parameters' in rule) return rule.parameters;
  if ('field' in rule) return [rule.field, ...to];
  // Excluding the parameter of a rule for fields.
  return 'as' in rule ? to : [rule.parameter, ...to];
}
