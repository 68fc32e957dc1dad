import { printScalar } from '../json/json-scalar.ts';
import { inverseValues } from './inverse-values.ts';
import { isInverse, isInvertible, resourceOf } from './inverse.ts';
import { printPath } from './path-text.ts';
import type { Change, Operation, RuleBook } from './rule-book.ts';

/** What a V1 client may notice of V2 although the rule book is sound: one sentence each, with the remedy. */
export function ruleBookWarnings({ changes, operations }: RuleBook): readonly string[] {
  return [
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
