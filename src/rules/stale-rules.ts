import { BodyKnowledge, isSure } from './body-knowledge.ts';
import {
  type DeclaredChange,
  type DeclaredResponseRule,
  type DeclaredRule,
  type OperationContext,
  operationContexts,
} from './declared-change.ts';
import { InverseIndex, type InvertedRule, isInverse, resourceOf, whyNoInverse } from './inverse.ts';
import type { StalePart } from './kinds/book.ts';
import { readPaths, requestBookOf, responseBookOf } from './kinds/books.ts';
import { kindOf, placedMembers } from './kinds/kinds.ts';
import { beginsWith } from './kinds/paths.ts';
import { inOrder } from './kinds/wrap.ts';
import { keepsMember, namedMembers } from './kinds/words.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RuleBookSource } from './rule-book-source.ts';
import type { Change, Operation, Policies } from './rule-book.ts';
import {
  type ExplicitResponseRule,
  type Path,
  printPath,
  type RequestRule,
  type StatusPattern,
} from './rule.ts';

/**
 * Finds request rules that can never take effect because of earlier rules for the same bodies. Every rule of a change for listed
 * operations must take effect for each of them; a rule on `every`, for some request.
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
  /** The number of contexts in which the rule applies. */
  applied: number;
  /** For each reason and part: the number of contexts in which it is stale, and their operations. */
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
  if (part === 'inside') return `this ${rule.rule}`;
  const own = requestBookOf(rule).subject?.(rule, part);
  return own ?? `${rule.rule} of ${printPath([...rulePath(rule), ...(namedMembers(rule)[part] ?? [])])}`;
}

function listOperations(operations: readonly string[]): string {
  const more = operations.length > 3 ? ` and ${operations.length - 3} more` : '';
  return operations.slice(0, 3).join(', ') + more;
}

/**
 * Finds response rules that can never take effect: an earlier one does the same to the same responses, or `inverse` has removed the
 * member that they name.
 */
export function staleResponseRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  resource?: Path,
): readonly SourceFault[] {
  const faults = new Map<DeclaredResponseRule, SourceFault>();
  const taken = new Map<DeclaredResponseRule, Taken>();
  for (const context of operationContexts(changes, operations)) {
    addRepeated(context, faults);
    addTaken(context, taken);
  }
  for (const [declared, { change, applied, reasons }] of taken) {
    const [first] = reasons;
    if (first === undefined || faults.has(declared)) continue;
    const scope =
      reasons.length === applied ? '' : ` for ${listOperations(reasons.flatMap((one) => one.operations))}`;
    const message = `change "${change.id}": this ${declared.rule.rule} has no effect${scope}: ${first.reason}`;
    faults.set(declared, { path: declared.path, message });
  }
  const all = changes.map(({ change }) => change);
  if (all.some(isInverse)) {
    const inverse = new InverseIndex(operations, all, resource);
    for (const declared of changes) addUndone(declared, operations, inverse, faults);
  }
  return [...faults.values()];
}

type Faults = Map<DeclaredResponseRule, SourceFault>;

function addRepeated(context: OperationContext<DeclaredChange>, faults: Faults): void {
  const applied = new Map<string, { readonly change: string; readonly rule: ExplicitResponseRule }[]>();
  for (const { change, response } of context.changes) {
    for (const declared of response) {
      const { rule } = declared;
      if (rule.rule === 'inverse') continue;
      const { isRepeatable, same, isFurther, takes } = responseBookOf(rule);
      // Converting a value twice converts it further. Members that are gone are known.
      if (isRepeatable?.(rule) === true || ('path' in rule && takes !== undefined && isSure(rule))) continue;
      const key = JSON.stringify([rule.rule, 'path' in rule ? rule.path : [], ...(same?.(rule) ?? [])]);
      const earlier = applied.get(key) ?? [];
      applied.set(key, earlier);
      const covering = earlier.find(
        (one) =>
          rule.status.every((status) => covers(one.rule.status, status)) &&
          isFurther?.(rule, one.rule) !== true,
      );
      earlier.push({ change: change.id, rule });
      // A rule on every is stale only if it has no effect on requests to which no other change applies.
      if (covering === undefined || (change.on === 'every' && context.operations.length > 0)) continue;
      const message = `change "${change.id}": this ${rule.rule} has no effect: change "${covering.change}" ${effectText(rule)} already; remove one of the two`;
      faults.set(declared, { path: declared.path, message });
    }
  }
}

/** In how many contexts a rule applies, and why it has no effect in some of them. */
interface Taken {
  readonly change: Change;
  applied: number;
  readonly reasons: { readonly reason: string; readonly operations: readonly string[] }[];
}

/** Finds rules about members that an earlier rule for the same responses has removed or moved. */
function addTaken(
  { changes, operations }: OperationContext<DeclaredChange>,
  taken: Map<DeclaredResponseRule, Taken>,
): void {
  const rules = inOrder(
    changes.flatMap(({ change, response }) =>
      response.map((declared) => ({ change, declared, ...declared })),
    ),
  );
  const statuses = new Map(rules.map(({ declared: { rule } }) => [rule.status.join(), rule.status]));
  for (const judged of statuses.values()) {
    const knowledge = new BodyKnowledge();
    for (const { change, declared } of rules) {
      const { rule } = declared;
      // An inverse comes before all of them, and rules for errors are about no member.
      if (!('path' in rule) || !rule.status.some((status) => isAmong(status, judged))) continue;
      // A rule for only some of the statuses, or for any depth, may give members, and takes none for certain.
      if (rule.path[0] === '**' || !judged.every((status) => covers(rule.status, status))) {
        knowledge.forget([]);
        continue;
      }
      const reason = knowledge.applyBack(rule, change.id);
      // A rule on every is stale only if it has no effect on requests to which no other change applies.
      if (rule.status.join() !== judged.join() || (change.on === 'every' && operations.length > 0)) continue;
      const found = taken.get(declared) ?? { change, applied: 0, reasons: [] };
      taken.set(declared, found);
      found.applied += 1;
      if (reason !== undefined) found.reasons.push({ reason, operations });
    }
  }
}

/** True if responses with the status `one` may have one of the others. */
function isAmong(one: StatusPattern, others: readonly StatusPattern[]): boolean {
  return covers(others, one) || others.some((other) => covers([one], other));
}

/** Reports rules about members that `inverse` has removed: the explicit rules apply to a response in V1's shape. */
function addUndone(
  { change, response }: DeclaredChange,
  operations: readonly Operation[],
  inverse: InverseIndex,
  faults: Faults,
): void {
  const explicit = response.filter(({ rule }) => rule.rule !== 'inverse');
  if (explicit.length === 0) return;
  const { on } = change;
  const inverted = inverse.of(
    on === 'every' ? undefined : operations.find((operation) => on.includes(operation.id)),
  );
  for (const declared of explicit) {
    const at = inverted.findIndex(({ rule }) => isUndone(declared, rule));
    const undone = inverted[at];
    if (undone === undefined || inverted.slice(at + 1).some(({ rule }) => isGiven(declared, rule))) continue;
    const message = `change "${change.id}": this ${declared.rule.rule} has no effect: the inverse of change "${undone.change}" ${effectText(undone.rule)} before it; name the member as V1 did, or remove the rule`;
    faults.set(declared, { path: declared.path, message });
  }
}

/** True if the rule names a member that `inverted` has removed. */
function isUndone({ rule }: DeclaredResponseRule, inverted: InvertedRule['rule']): boolean {
  if (rule.rule === 'inverse' || responseBookOf(rule).adds === true) return false;
  const path = 'path' in rule ? [...rule.path, ...('from' in rule ? rule.from : [])] : [];
  const isThere = 'from' in inverted || 'members' in inverted || beginsWith(path, inverted.path);
  const members = 'members' in rule ? rule.members : undefined;
  return isThere && responseBookOf(inverted).takes?.(inverted, path, members) === true;
}

/** True if `inverted` gives another member the name or the place of the one that the rule names. */
function isGiven({ rule }: DeclaredResponseRule, inverted: InvertedRule['rule']): boolean {
  if (!('path' in rule && 'path' in inverted && 'to' in inverted)) return false;
  const { path, to } = inverted;
  const place = typeof to === 'string' ? [...path.slice(0, -1), to] : [...path, ...to];
  return beginsWith([...rule.path, ...('from' in rule ? rule.from : [])], place);
}

function effectText(rule: ExplicitResponseRule): string {
  const [before, after = ''] = responseBookOf(rule).effect;
  return before + readPaths(rule).map(printPath).join(' and ') + after;
}

function covers(patterns: readonly StatusPattern[], one: StatusPattern): boolean {
  return patterns.some((pattern) => pattern === one || pattern === `${String(one).slice(0, 1)}xx`);
}

/** Finds changes that `inverse` cannot undo because of other changes, and embedded resources with nothing to undo. */
export function staleInverse(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  source: RuleBookSource['operations'] = {},
): readonly SourceFault[] {
  return [
    ...changes.flatMap((declared, at) => hiddenFaults(declared, changes.slice(at + 1))),
    ...staleEmbeds(changes, operations, source),
  ];
}

/** Reports a change whose inverse cannot find a member, because a later change moves it and is not undone. */
function hiddenFaults(
  { change, response }: DeclaredChange,
  later: readonly DeclaredChange[],
): readonly SourceFault[] {
  const inverse = response.find(({ rule }) => rule.rule === 'inverse');
  if (inverse === undefined) return [];
  for (const { change: other } of later) {
    if (isInverse(other) || !concernSameOperations(change, other)) continue;
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

function concernSameOperations(one: Change, other: Change): boolean {
  if (one.on === 'every' || other.on === 'every') return true;
  const ids = new Set(one.on);
  return other.on.some((id) => ids.has(id));
}

/** The paths from which a rule removes members. */
function movedFrom(rule: RequestRule): readonly Path[] {
  const placed = placedMembers(rule).map((path) => path.join('.'));
  if (placed.length === 0 || keepsMember(rule.rule)) return [];
  return namedMembers(rule)
    .filter((path) => !placed.includes(path.join('.')))
    .map((path) => [...rulePath(rule), ...path]);
}

/** The paths where the inverse of a rule looks for members, or for changed values. */
function writtenTo(rule: RequestRule): readonly Path[] {
  if (whyNoInverse(rule) !== undefined) return [];
  const placed = placedMembers(rule);
  return (placed.length > 0 ? placed : namedMembers(rule)).map((path) => [...rulePath(rule), ...path]);
}

function rulePath(rule: RequestRule): Path {
  return 'in' in rule ? rule.in : [];
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
  // An embedded resource may embed others, and a change on every concerns all resources.
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
 * Finds rules before an unwrap that name members outside the wrapper: V1 never read those, and the unwrap drops them. Such rules must
 * come after the unwrap, or name the wrapper. Rules that create the wrapper are valid.
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
      const unwrapped = kindOf(rule).unwraps?.(rule);
      if (unwrapped !== undefined) {
        nextUnwrap =
          siblings === 'drop'
            ? { change: change.id, wrapper: unwrapped, feeding: new Set([unwrapped]) }
            : undefined;
        continue;
      }
      if (nextUnwrap === undefined || requestBookOf(rule).keepsNamed === true) continue;
      const { wrapper, feeding } = nextUnwrap;
      const parts = outside(rule, feeding).map((part) => {
        const name = printPath([wrapper, ...rulePath(rule), ...(namedMembers(rule)[part] ?? [])]);
        const reason = `change "${nextUnwrap?.change ?? ''}" unwraps "${wrapper}" after it and drops the members beside it; name ${name}, or put the rule after that one`;
        return { part, reason };
      });
      if (parts.length > 0) unseen.set(declared, parts);
      addFeeding(rule, feeding);
    }
  }
  return unseen;
}

/** The members of `rule` outside everything in `feeding`, before and after the rule. */
function outside(rule: RequestRule, feeding: ReadonlySet<string>): readonly number[] {
  const [first] = rulePath(rule);
  const names = namedMembers(rule).map(([name = '']) => name);
  // A body that is an array has no wrapper, and `**` also applies to it.
  if (first === '*' || first === '**') return [];
  if (first !== undefined) return feeding.has(first) ? [] : [0];
  if (placedMembers(rule).some(([name = '']) => feeding.has(name))) return [];
  return [...names.keys()].filter((at) => !feeding.has(names[at] ?? ''));
}

function addFeeding(rule: RequestRule, feeding: Set<string>): void {
  if (rulePath(rule).length > 0 || !placedMembers(rule).some(([name = '']) => feeding.has(name))) return;
  for (const [name = ''] of namedMembers(rule)) feeding.add(name);
}
