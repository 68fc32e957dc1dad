import { printScalar } from '../json/json-scalar.ts';
import { inverseValues } from './inverse-values.ts';
import { isInverse, isInvertible, resourceOf } from './inverse.ts';
import { BodyKnowledge } from './body-knowledge.ts';
import { operationContexts } from './operation-context.ts';
import { printPath } from './path-text.ts';
import type { Change, Operation, Policies, RuleBook } from './rule-book.ts';
import type { Path, RenameRule, RequestRule } from './rule.ts';

/** What a V1 client may notice of V2 although the rule book is sound: one sentence each, with the remedy. */
export function ruleBookWarnings({ changes, operations, policies }: RuleBook): readonly string[] {
  const contexts = operationContexts(
    changes.map((change) => ({ change })),
    operations,
  );
  const chains = contexts.flatMap((context) => {
    return lossyChains(
      context.changes.map(({ change }) => change),
      policies,
    );
  });
  return [
    ...new Set(chains),
    ...changes.flatMap((change) => withoutInverse(change)),
    ...changes.flatMap((change) => mapsOfSeveral(change)),
    ...operations.flatMap((operation) => unreadResource(operation, operations, changes)),
  ];
}

/** V1 returned what it stored; V2 never got these members, so that no response rule can bring them back. */
function withoutInverse({ id, request }: Change): readonly string[] {
  return request.flatMap((rule) => {
    if (rule.rule === 'only') {
      return `change "${id}": only has no inverse: responses lack what it removes from ${printPath(rule.in)}, where V1 had it`;
    }
    if (rule.rule !== 'strip' || rule.members.length === 0) return [];
    const names = rule.members.map((member) => printPath([...rule.in, member])).join(', ');
    return `change "${id}": strip has no inverse: responses lack ${names}, where V1 had ${rule.members.length === 1 ? 'it' : 'them'}`;
  });
}

/** An inverse cannot tell which of the V1 values the client sent. */
function mapsOfSeveral(change: Change): readonly string[] {
  if (!isInverse(change)) return [];
  return change.request.flatMap((rule) => {
    if (rule.rule !== 'map') return [];
    const undone = new Set(inverseValues(rule.values).map(({ from }) => printScalar(from)));
    const shared = new Set(
      rule.values.map(({ to }) => printScalar(to)).filter((value) => !undone.has(value)),
    );
    return [...shared].map((value) => {
      const sources = rule.values.filter(({ to }) => printScalar(to) === value);
      const names = sources.map(({ from }) => printScalar(from)).join(' and ');
      return `change "${change.id}": ${names} of ${printPath([...rule.in, rule.member])} both become ${value}, which has no inverse: responses keep ${value}; a response map can choose one`;
    });
  });
}

function unreadResource(
  operation: Operation,
  operations: readonly Operation[],
  changes: readonly Change[],
): readonly string[] {
  const { id } = operation;
  const isWritten = changes.some(
    (change) =>
      change.on !== 'every' &&
      change.on.includes(id) &&
      isInverse(change) &&
      change.request.some(isInvertible),
  );
  if (!isWritten) return [];
  const resource = resourceOf(operation);
  if (operations.some((other) => other.method === 'GET' && resourceOf(other) === resource)) return [];
  return [
    `operation "${id}" writes a resource that no operation reads back: reads of it are in V2's shape; declare GET ${resource}, for example`,
  ];
}

/** A rename whose new name the body may have had already, and where that name is now. */
interface GivenName {
  readonly change: string;
  readonly rule: RenameRule;
  at: Path;
}

/**
 * Renames into a name that a later rule takes: a member that a V1 body has by that name itself is replaced by the rename, and by
 * the later rule it is clear that the two were not meant to be one. A name that an earlier rule has freed is no loss.
 */
function lossyChains(changes: readonly Change[], policies: Policies): readonly string[] {
  const knowledge = new BodyKnowledge();
  const given: GivenName[] = [];
  const warnings: string[] = [];
  for (const { id, request, policies: own } of changes) {
    const { conflict, flat } = { ...policies, ...own };
    for (const rule of request) {
      for (const name of given) {
        const fate = fateOf(rule, name.at);
        if (fate !== undefined) warnings.push(lossWords(name, `change "${id}" ${fate}`));
      }
      follow(rule, given);
      if (rule.rule === 'rename' && conflict === 'v1') {
        const at = [...rule.in, rule.to];
        if (!knowledge.isEmptyAt(at) && !knowledge.isEmptyAt([...rule.in, rule.member]))
          given.push({ change: id, rule, at });
      }
      knowledge.apply(rule, id, flat === 'migrate');
    }
  }
  return warnings;
}

/** What a rule does to the member at `path`; undefined when it leaves the name to it. */
function fateOf(rule: RequestRule, path: Path): string | undefined {
  if (rule.rule === 'unwrap' || rule.rule === 'map') return undefined;
  const name = path.at(-1) ?? '';
  const isThere = rule.in.length === path.length - 1 && rule.in.every((part, at) => part === path[at]);
  if (!isThere) return undefined;
  switch (rule.rule) {
    case 'nest':
      return rule.members.includes(name)
        ? `then nests under ${printPath([...rule.in, rule.under])}`
        : undefined;
    case 'strip':
      return rule.members.includes(name) ? 'then strips' : undefined;
    case 'only':
      return rule.members.includes(name) ? undefined : 'then removes, as its only does not list it';
    case 'rename':
      if (rule.member === name) return `then renames to "${rule.to}"`;
      return rule.to === name ? `also gives to ${printPath([...rule.in, rule.member])}` : undefined;
  }
}

function lossWords({ change, rule }: GivenName, fate: string): string {
  const [from, to] = [printPath([...rule.in, rule.member]), printPath([...rule.in, rule.to])];
  const remedy = fate.includes(' nests ')
    ? `nest ${from} by its V1 name, and rename it there`
    : 'let each rule name the V1 member that it is for, those that free a name first';
  return `change "${change}": ${from} is renamed to ${to}, which ${fate}: a request that has ${to} as well loses it; ${remedy}`;
}

/** Lets the names move with the objects that they are in. */
function follow(rule: RequestRule, given: readonly GivenName[]): void {
  for (const name of given) {
    const { at } = name;
    if (rule.rule === 'unwrap') {
      if (at[0] === rule.member) name.at = at.slice(1);
      continue;
    }
    const { length } = rule.in;
    const next = at[length];
    if (next === undefined || !rule.in.every((part, step) => part === at[step])) continue;
    if (rule.rule === 'rename' && rule.member === next)
      name.at = [...rule.in, rule.to, ...at.slice(length + 1)];
    if (rule.rule === 'nest' && rule.members.includes(next))
      name.at = [...rule.in, rule.under, ...at.slice(length)];
  }
}
