import type { Scope } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';

/** Client and operation of a V1 request. */
export interface RolloutSubject {
  /** Client hash; undefined without an API key. */
  readonly client: string | undefined;
  /** Operation id; undefined for a request that the rule book does not name. */
  readonly operation: string | undefined;
}

/** True when the scope includes the request. A list of clients never includes a request without a key. */
export function isInScope(
  { clients, except, operations }: Scope,
  { client, operation }: RolloutSubject,
): boolean {
  if (clients !== undefined && (client === undefined || !clients.includes(client))) return false;
  if (except !== undefined && client !== undefined && except.includes(client)) return false;
  return operations === undefined || (operation !== undefined && operations.includes(operation));
}

/** Returns the dated release that the rule book pins for the request, instead of its own; undefined without one. */
export function pinnedRelease(
  { rollout }: Pick<RuleBook, 'rollout'>,
  subject: RolloutSubject,
): string | undefined {
  return rollout?.pins.find((pin) => isInScope(pin, subject))?.version;
}
