import { printScalar } from '../json/names.ts';
import { BodyKnowledge, type StalePart } from './body-knowledge.ts';
import {
  type DeclaredChange,
  type DeclaredQueryRule,
  type DeclaredResponseRule,
  type DeclaredRule,
  type OperationContext,
  operationContexts,
} from './declared-change.ts';
import { InverseIndex, type InvertedRule, isInverse, resourceOf } from './inverse.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import type { Change, Operation, Policies } from './rule-book.ts';
import {
  type ExplicitResponseRule,
  type Path,
  printPath,
  type QueryRule,
  type RequestRule,
  type ResponseRuleName,
  type StatusPattern,
} from './rule.ts';
import { placedMembers } from './kinds/kinds.ts';
import { keepsMember, namedMembers } from './kinds/words.ts';
import type { ResponseConvertRule } from './kinds/convert.ts';

/**
 * Finds request rules that can never take effect because of earlier rules for the same bodies. In a change for listed operations,
 * every rule must take effect for each of them; in one on `every`, for some request.
 */
export function staleRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  policies: Policies,
): readonly SourceFault[] {
  const findings = new Map<DeclaredRule, Finding>();
  for (const context of operationContexts(changes, operations)) addFindings(context, policies, findings);
  return [...findings].flatMap(([declared, finding]) => faultsOf(declared, finding));
}

interface Finding {
  readonly declared: DeclaredChange;
  /** The number of contexts that the rule applies to. */
  applied: number;
  /** For each reason and part: the number of contexts in which it holds, and their operations. */
  readonly stale: Map<string, { readonly part: StalePart; times: number; readonly operations: string[] }>;
}

function addFindings(
  context: OperationContext<DeclaredChange>,
  policies: Policies,
  findings: Map<DeclaredRule, Finding>,
): void {
  const knowledge = new BodyKnowledge();
  const unseen = unseenParts(context.changes, policies);
  for (const declared of context.changes) {
    const { change } = declared;
    const { flat } = { ...policies, ...change.policies };
    for (const rule of declared.request) {
      const finding = findings.get(rule) ?? { declared, applied: 0, stale: new Map() };
      findings.set(rule, finding);
      finding.applied += 1;
      const parts = knowledge.apply(rule.rule, change.id, flat === 'migrate');
      for (const part of parts.length > 0 ? parts : (unseen.get(rule) ?? [])) {
        const key = `${part.part} ${part.reason}`;
        const entry = finding.stale.get(key) ?? { part, times: 0, operations: [] };
        finding.stale.set(key, entry);
        entry.times += 1;
        entry.operations.push(...context.operations);
      }
    }
  }
}

function faultsOf(rule: DeclaredRule, { declared, applied, stale }: Finding): readonly SourceFault[] {
  const { change } = declared;
  const faults: SourceFault[] = [];
  for (const { part, times, operations } of stale.values()) {
    const all = times === applied;
    if (change.on === 'every' && !all) continue;
    const path = part.part === 'inside' ? rule.inside : (rule.members[part.part] ?? rule.inside);
    const scope = all ? '' : ` for ${listOperations(operations)}`;
    const message = `change "${change.id}": ${subject(rule.rule, part)} has no effect${scope}: ${part.reason}`;
    faults.push({ path, message });
  }
  return faults;
}

function subject(rule: RequestRule, { part }: StalePart): string {
  if (part === 'inside' || rule.rule === 'unwrap') return `this ${rule.rule}`;
  if (rule.rule === 'map') {
    const value = part === 0 ? undefined : rule.values[part - 1];
    const of = `map of ${printPath([...rule.in, rule.member])}`;
    return value === undefined ? of : `${of} from ${printScalar(value.from)}`;
  }
  return `${rule.rule} of ${printPath([...rule.in, ...(namedMembers(rule)[part] ?? [])])}`;
}

function listOperations(operations: readonly string[]): string {
  const more = operations.length > 3 ? ` and ${operations.length - 3} more` : '';
  return operations.slice(0, 3).join(', ') + more;
}

/** Finds query rules that can never take effect, because an earlier one took their parameter or their value away. */
export function staleQueryRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  /** The parameter that names V2's release; undefined if none does. */
  release?: string,
): readonly SourceFault[] {
  const faults = new Map<string, SourceFault>();
  for (const context of operationContexts(changes, operations)) {
    const knowledge = new QueryKnowledge(release);
    for (const { change, query } of context.changes) {
      for (const declared of query) {
        for (const { part, reason } of knowledge.apply(declared.rule, change.id)) {
          // A change on every is stale only in the context where no other changes apply.
          if (change.on === 'every' && context.operations.length > 0) continue;
          const path = pathOf(declared, part);
          const message = `change "${change.id}": ${declared.rule.rule} of ${querySubject(declared.rule, part)} has no effect: ${reason}`;
          faults.set(`${path.join()} ${reason}`, { path, message });
        }
      }
    }
  }
  return [...faults.values()];
}

interface StaleQueryPart {
  /** The position of a parameter; of a value of a map, from 1 on. */
  readonly part: number;
  readonly reason: string;
}

/** What is certain of any query after some rules, whatever it was before them. */
class QueryKnowledge {
  /** The parameters that are gone: the sentence that says why. */
  private readonly gone = new Map<string, string>();
  /** By parameter: the values that are gone, and the change that replaced them. */
  private readonly replaced = new Map<string, Map<string, string>>();
  private readonly release: string | undefined;

  constructor(release: string | undefined) {
    this.release = release;
  }

  /** Returns the stale parts of `rule`, and records its effect. */
  apply(rule: QueryRule, change: string): readonly StaleQueryPart[] {
    const names = [
      ...('parameters' in rule ? rule.parameters : [rule.parameter]),
      'to' in rule ? rule.to : '',
    ];
    if (this.release !== undefined && names.includes(this.release))
      return [
        {
          part: 0,
          reason: `"${this.release}" names V2's release; set it with version, and remove this rule`,
        },
      ];
    if ('conversion' in rule) {
      this.replaced.delete(rule.parameter);
      return this.stale([rule.parameter]);
    }
    switch (rule.rule) {
      case 'rename': {
        const stale = this.stale([rule.parameter]);
        this.take(rule.parameter, `change "${change}" renames "${rule.parameter}" to "${rule.to}" already`);
        this.gone.delete(rule.to);
        this.replaced.delete(rule.to);
        return stale;
      }
      case 'strip': {
        const stale = this.stale(rule.parameters);
        for (const name of rule.parameters) this.take(name, `change "${change}" strips "${name}" already`);
        return stale;
      }
      case 'set':
      case 'default':
        // What is absent is what these rules are for.
        this.gone.delete(rule.parameter);
        this.replaced.delete(rule.parameter);
        return [];
      case 'map':
        // A list may have the values that an earlier map has replaced where they stand alone.
        if (rule.with !== undefined) this.replaced.delete(rule.parameter);
        return [...this.stale([rule.parameter]), ...(rule.with === undefined ? this.map(rule, change) : [])];
    }
  }

  private stale(parameters: readonly string[]): readonly StaleQueryPart[] {
    return parameters.flatMap((name, part) => {
      const reason =
        parameters.indexOf(name) < part ? `"${name}" is in the list already` : this.gone.get(name);
      return reason === undefined ? [] : [{ part, reason: `${reason}; remove one of the two` }];
    });
  }

  private take(parameter: string, reason: string): void {
    if (!this.gone.has(parameter)) this.gone.set(parameter, reason);
    this.replaced.delete(parameter);
  }

  private map(rule: Extract<QueryRule, { rule: 'map' }>, change: string): readonly StaleQueryPart[] {
    const known = this.replaced.get(rule.parameter) ?? new Map<string, string>();
    this.replaced.set(rule.parameter, known);
    const stale = rule.values.flatMap(({ from }, index) => {
      const by = known.get(from.text);
      if (by === undefined) return [];
      return [
        { part: index + 1, reason: `change "${by}" replaces that value already; remove one of the two` },
      ];
    });
    for (const { from } of rule.values) known.set(from.text, change);
    for (const { to } of rule.values) known.delete(to.text);
    return stale;
  }
}

function pathOf({ parts }: DeclaredQueryRule, part: number): SourceFault['path'] {
  return parts[part] ?? parts[0] ?? [];
}

function querySubject(rule: QueryRule, part: number): string {
  if (rule.rule === 'strip') return `the query parameter "${rule.parameters[part] ?? ''}"`;
  const name = `the query parameter "${rule.parameter}"`;
  const value = rule.rule === 'map' && part > 0 ? rule.values[part - 1] : undefined;
  return value === undefined ? name : `${name} from "${value.from.text}"`;
}

/**
 * Finds response rules that can never take effect: an earlier one does the same to the same responses, or `inverse` has taken away
 * the member that they name.
 */
export function staleResponseRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  resource?: Path,
): readonly SourceFault[] {
  const faults = new Map<DeclaredResponseRule, SourceFault>();
  for (const context of operationContexts(changes, operations)) addRepeated(context, faults);
  const all = changes.map(({ change }) => change);
  if (all.some(isInverse)) {
    const inverse = new InverseIndex(operations, all, resource);
    for (const declared of changes) addUndone(declared, operations, inverse, faults);
  }
  return [...faults.values()];
}

type Faults = Map<DeclaredResponseRule, SourceFault>;

function addRepeated(context: OperationContext<DeclaredChange>, faults: Faults): void {
  const applied = new Map<string, { readonly change: string; readonly status: readonly StatusPattern[] }[]>();
  for (const { change, response } of context.changes) {
    for (const declared of response) {
      const { rule } = declared;
      // What is converted twice is converted further.
      if (rule.rule === 'inverse' || 'conversion' in rule || 'elements' in rule) continue;
      const key = effectKey(rule);
      const earlier = applied.get(key) ?? [];
      applied.set(key, earlier);
      const covering = earlier.find(({ status }) => rule.status.every((one) => covers(status, one)));
      earlier.push({ change: change.id, status: rule.status });
      // A change on every is stale only in the context where no other changes apply.
      if (covering === undefined || (change.on === 'every' && context.operations.length > 0)) continue;
      const message = `change "${change.id}": this ${rule.rule} has no effect: change "${covering.change}" ${effectText(rule)} already; remove one of the two`;
      faults.set(declared, { path: declared.path, message });
    }
  }
}

/** The other rules apply to a response in V1's shape. */
function addUndone(
  { change, response }: DeclaredChange,
  operations: readonly Operation[],
  inverse: InverseIndex,
  faults: Faults,
): void {
  const explicit = response.filter(({ rule }) => rule.rule !== 'inverse' && rule.rule !== 'errors');
  if (explicit.length === 0) return;
  const { on } = change;
  const inverted = inverse.of(
    on === 'every' ? undefined : operations.find((operation) => on.includes(operation.id)),
  );
  for (const declared of explicit) {
    const undone = inverted.find(({ rule }) => isUndone(declared, rule));
    if (undone === undefined) continue;
    const message = `change "${change.id}": this ${declared.rule.rule} has no effect: the inverse of change "${undone.change}" ${effectText(undone.rule)} before it; name the member as V1 did, or remove the rule`;
    faults.set(declared, { path: declared.path, message });
  }
}

/** True if the rule names a member that is no longer there once `inverted` was applied. */
function isUndone({ rule }: DeclaredResponseRule, inverted: InvertedRule['rule']): boolean {
  if (rule.rule === 'inverse' || rule.rule === 'errors') return false;
  // A deprecations rule adds the objects that it names, a set and a default the member.
  if (rule.rule === 'deprecations' || rule.rule === 'set' || rule.rule === 'default') return false;
  const path = 'from' in rule ? [...rule.path, ...rule.from] : rule.path;
  if ('from' in inverted)
    return !keepsMember(inverted.rule) && beginsWith(path, [...inverted.path, ...inverted.from]);
  if (inverted.rule === 'join')
    return inverted.members.some(
      (member) => member !== inverted.to && beginsWith(path, [...inverted.path, member]),
    );
  if (inverted.rule === 'map' || inverted.rule === 'set' || inverted.rule === 'default') return false;
  if ('conversion' in inverted || !beginsWith(path, inverted.path)) return false;
  if (inverted.rule === 'strip') return inverted.only === undefined;
  const name = inverted.path.at(-1);
  if ('elements' in inverted || inverted.rule === 'list' || inverted.rule === 'first')
    return inverted.to !== name;
  if (inverted.rule === 'split') return !inverted.to.some((part) => part === name);
  if (inverted.rule !== 'unnest') return true;
  // Members that the nest does not list stay in the sub-object.
  const member = path[inverted.path.length];
  const members = member === undefined && 'members' in rule ? rule.members : [member];
  return members?.every((name) => name !== undefined && inverted.members?.includes(name) === true) ?? false;
}

function beginsWith(path: Path, start: Path): boolean {
  return start.every((name, at) => path[at] === name);
}

/** A key for the effect of the rule: of two rules with the same effect, the second does nothing. */
function effectKey(rule: Exclude<ExplicitResponseRule, ResponseConvertRule>): string {
  if (rule.rule === 'errors') return rule.rule;
  const { rule: word, path } = rule;
  if (rule.rule === 'set') return JSON.stringify([word, path, rule.json]);
  if ('as' in rule) return JSON.stringify([word, path, rule.as]);
  if ('from' in rule) return JSON.stringify([word, path, rule.from, ...(keepsMember(word) ? [rule.to] : [])]);
  if (!('members' in rule)) return JSON.stringify([word, path]);
  return JSON.stringify([word, path, word === 'join' ? rule.members : rule.members?.toSorted()]);
}

/** What is done to the member at the path of a rule, around its name. */
const EFFECTS: Readonly<Record<ResponseRuleName, readonly [before: string, after?: string]>> = {
  rename: ['renames '],
  unnest: ['unnests '],
  alias: ['adds '],
  flatten: ['flattens '],
  deprecations: ['lists them at '],
  errors: ['converts errors to V1'],
  map: ['maps '],
  set: ['gives ', ' a value'],
  default: ['gives ', ' a value'],
  strip: ['strips '],
  move: ['moves '],
  copy: ['copies '],
  list: ['makes ', ' a list'],
  first: ['takes the first of '],
  entries: ['makes ', ' a list'],
  unlist: ['makes one value of '],
  join: ['joins '],
  split: ['splits '],
  lookup: ['looks up '],
  scale: ['converts '],
  quote: ['converts '],
  unquote: ['converts '],
  prefix: ['converts '],
  unprefix: ['converts '],
  date: ['converts '],
};

function effectText(rule: ExplicitResponseRule): string {
  const [before, after = ''] = EFFECTS[rule.rule];
  if (rule.rule === 'errors') return before;
  if (rule.rule === 'join')
    return before + rule.members.map((member) => printPath([...rule.path, member])).join(' and ');
  const rest = 'from' in rule ? rule.from : [];
  const path = rule.rule === 'alias' ? [...rule.path.slice(0, -1), rule.as] : [...rule.path, ...rest];
  return before + printPath(path) + after;
}

function covers(patterns: readonly StatusPattern[], one: StatusPattern): boolean {
  return patterns.some((pattern) => pattern === one || pattern === `${String(one).slice(0, 1)}xx`);
}

/** Finds what `inverse` cannot undo because of other changes, and resources that are embedded although nothing of them is undone. */
export function staleInverse(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  source: RuleBookSource['operations'] = {},
): readonly SourceFault[] {
  return [
    ...changes.flatMap((declared, at) => hidden(declared, changes.slice(at + 1))),
    ...staleEmbeds(changes, operations, source),
  ];
}

/** A later change that is not undone leaves a member where the inverse of an earlier one does not look. */
function hidden(
  { change, response }: DeclaredChange,
  later: readonly DeclaredChange[],
): readonly SourceFault[] {
  const inverse = response.find(({ rule }) => rule.rule === 'inverse');
  if (inverse === undefined) return [];
  for (const { change: other } of later) {
    if (isInverse(other) || !concernSame(change, other)) continue;
    const moved = other.request.flatMap(movedFrom);
    const lost = change.request
      .flatMap(writtenTo)
      .find((path) => moved.some((from) => from.every((name, at) => path[at] === name)));
    if (lost === undefined) continue;
    const message = `change "${change.id}": inverse cannot find ${printPath(lost)}: change "${other.id}" moves it afterwards and is not undone; give "${other.id}" response: inverse as well`;
    return [{ path: inverse.path, message }];
  }
  return [];
}

function concernSame(one: Change, other: Change): boolean {
  if (one.on === 'every' || other.on === 'every') return true;
  const ids = new Set(one.on);
  return other.on.some((id) => ids.has(id));
}

/** The paths that a rule takes members away from. */
function movedFrom(rule: RequestRule): readonly Path[] {
  const placed = placedMembers(rule).map((path) => path.join('.'));
  if (placed.length === 0 || keepsMember(rule.rule)) return [];
  return namedMembers(rule)
    .filter((path) => !placed.includes(path.join('.')))
    .map((path) => [...rulePath(rule), ...path]);
}

/** The paths that the inverse of a rule looks for. */
function writtenTo(rule: RequestRule): readonly Path[] {
  const isOfValue = rule.rule === 'set' || rule.rule === 'default' || 'conversion' in rule;
  const paths = isOfValue ? namedMembers(rule) : placedMembers(rule);
  return paths.map((path) => [...rulePath(rule), ...path]);
}

function rulePath(rule: RequestRule): Path {
  return rule.rule === 'unwrap' ? [] : rule.in;
}

function staleEmbeds(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  source: NonNullable<RuleBookSource['operations']>,
): readonly SourceFault[] {
  const resources = new Map(operations.map((operation) => [operation.id, resourceOf(operation)]));
  const undone = new Set(
    changes.flatMap(({ change }) =>
      isInverse(change) && change.on !== 'every' ? change.on.map((id) => resources.get(id)) : [],
    ),
  );
  // What is embedded may embed in turn, and a change on every concerns all resources.
  const embedding = new Set(
    operations.flatMap(({ id, embeds }) => (embeds === undefined ? [] : resources.get(id))),
  );
  if (changes.some(({ change }) => isInverse(change) && change.on === 'every')) return [];
  return Object.entries(source).flatMap(([id, declared]) =>
    Object.entries(typeof declared === 'string' ? {} : (declared.embeds ?? {})).flatMap(([path, writer]) => {
      const resource = resources.get(writer);
      if (resource === undefined || undone.has(resource) || embedding.has(resource)) return [];
      const message = `operation "${id}": embeds has no effect: no change with response: inverse concerns the resource of "${writer}"; remove it`;
      return [{ path: ['operations', id, 'embeds', path], message }];
    }),
  );
}

/**
 * Finds rules before an unwrap that name members outside of the wrapper: V1 never read those, and the unwrap drops them. Such
 * rules belong after the unwrap, or must name the wrapper. Rules that create the wrapper are valid.
 */
function unseenParts(
  changes: readonly DeclaredChange[],
  policies: Policies,
): ReadonlyMap<DeclaredRule, readonly StalePart[]> {
  const unseen = new Map<DeclaredRule, readonly StalePart[]>();
  /** The next unwrap, and the members of the body that end up in its wrapper. */
  let nextUnwrap:
    | { readonly change: string; readonly wrapper: string; readonly feeding: Set<string> }
    | undefined;
  for (const { change, request } of changes.toReversed()) {
    const { siblings } = { ...policies, ...change.policies };
    for (const declared of request.toReversed()) {
      const { rule } = declared;
      if (rule.rule === 'unwrap') {
        const { member } = rule;
        nextUnwrap =
          siblings === 'drop'
            ? { change: change.id, wrapper: member, feeding: new Set([member]) }
            : undefined;
        continue;
      }
      if (nextUnwrap === undefined || rule.rule === 'only') continue;
      const { wrapper, feeding } = nextUnwrap;
      const parts = outside(rule, feeding).map((part) => {
        const name = printPath([wrapper, ...rule.in, ...(namedMembers(rule)[part] ?? [])]);
        const reason = `change "${nextUnwrap?.change ?? ''}" unwraps "${wrapper}" after it and drops the members beside it; name ${name}, or put the rule after that one`;
        return { part, reason };
      });
      if (parts.length > 0) unseen.set(declared, parts);
      addFeeding(rule, feeding);
    }
  }
  return unseen;
}

type InObject = Exclude<RequestRule, { rule: 'unwrap' }>;

/** The members of `rule` that are outside of everything in `feeding`, before and after the rule. */
function outside(rule: InObject, feeding: ReadonlySet<string>): readonly number[] {
  const [first] = rule.in;
  const names = namedMembers(rule).map(([name = '']) => name);
  // A body that is an array has no wrapper.
  if (first === '*') return [];
  if (first !== undefined) return feeding.has(first) ? [] : [0];
  if (placedMembers(rule).some(([name = '']) => feeding.has(name))) return [];
  return [...names.keys()].filter((at) => !feeding.has(names[at] ?? ''));
}

function addFeeding(rule: InObject, feeding: Set<string>): void {
  if (rule.in.length > 0 || !placedMembers(rule).some(([name = '']) => feeding.has(name))) return;
  for (const [name = ''] of namedMembers(rule)) feeding.add(name);
}
