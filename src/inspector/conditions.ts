import type { Condition, ConditionFacts, ConditionLevel } from './condition.ts';
import type { OperationTrouble } from '../rewrite-log/health/trouble.ts';
import { gatewayConditions } from './gateway-conditions.ts';
import { operationCondition, outageCondition, troublesByCause } from './operation-conditions.ts';
import { serviceCondition } from './service-conditions.ts';

const ORDER: readonly ConditionLevel[] = ['bad', 'note', 'unknown', 'good'];

/**
 * The conditions of V2, V1, the operations, and the gateway itself, worst first: of operations the one that fails for most clients first.
 * Of one level, what is over comes last, and of that what failed the most requests first.
 */
export function conditionsOf(facts: ConditionFacts): readonly Condition[] {
  return [...failureConditions(facts), ...gatewayConditions(facts)].toSorted(
    (one, other) =>
      ORDER.indexOf(one.level) - ORDER.indexOf(other.level) ||
      Number(isOver(one)) - Number(isOver(other)) ||
      (isOver(one) ? (other.past ?? 0) - (one.past ?? 0) : 0),
  );
}

/**
 * The conditions of the services and of operations. One fault is told once: by operation if it is a fault of one operation, or if V2 only
 * refuses; by service if several operations fail. The other conditions about that fault are marked as repeated.
 */
function failureConditions(facts: ConditionFacts): readonly Condition[] {
  const { stats, rollout } = facts;
  const isClosed = stats.breaker === 'closed';
  const v2 = serviceCondition('v2', stats.breaker, facts);
  const v1 =
    rollout?.v1Origin === undefined ? [] : [serviceCondition('v1', stats.v1Breaker ?? 'closed', facts)];
  const { outage, own } = troublesByCause(facts);
  const lasting = own.filter((one) => !isOver(one));
  const reported = lasting.length === 0 ? own : lasting;
  const isOfOperations =
    isClosed &&
    outage.every(isOver) &&
    // Trouble that is over does not explain why V2 fails now.
    (lasting.length > 0 || v2.level !== 'bad') &&
    (reported.length === 1 || (reported.length > 1 && reported.every(({ isRefusal }) => isRefusal)));
  const isOutageTold = outage.length > 0 && isClosed && v2.level !== 'bad';
  const operations = [
    ...own
      .filter((one) => one.isRefusal || isOfOperations || v2.level !== 'bad' || isOver(one))
      .toSorted((one, other) => clientsHit(other) - clientsHit(one) || other.failed - one.failed)
      .map((trouble) => operationCondition(trouble, facts)),
    ...(isOutageTold ? [outageCondition(outage, facts)] : []),
  ];
  if (isOfOperations) return [...operations, ...[v2, ...v1].map(repeated)];
  // What V2 failed lately is part of the whole outage.
  if (isOutageTold && isOver(v2)) return [...operations, repeated(v2), ...v1];
  return [v2, ...v1, ...operations];
}

function isOver({ until }: { readonly until?: unknown }): boolean {
  return until !== undefined;
}

function clientsHit({ hit }: OperationTrouble): number {
  return hit.length;
}

function repeated(condition: Condition): Condition {
  if (condition.level !== 'bad' && condition.level !== 'note') return condition;
  const { left: _left, ...rest } = condition;
  return { ...rest, level: 'note', isRepeated: true };
}
