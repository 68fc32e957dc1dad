import type { EntryFacts } from '../../rewrite-log/exchange-entry.ts';
import type { RoutedMode } from '../../rollout/modes.ts';
import type { Sender } from '../../rollout/scope.ts';

/** What was found out about a V1 request before it starts, where the rule book has something for some requests only. */
export interface V1Routing {
  readonly sender: Sender;
  readonly routed: RoutedMode;
}

/** Refusals that say nothing of an origin: V1's end, the gateway's own limits, and what a client sent wrongly framed. */
const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'overloaded',
  'buffer-full',
  'client-timeout',
  'bad-framing',
]);

/** Statuses that are about the client's key, its rate or its address, whichever origin responds. */
const CLIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/**
 * Whether an exchange that is over failed, for comparing migrated traffic with V1's; undefined when it says nothing. A
 * request that V2 refuses where V1 would not has failed, so other statuses of 4xx count: what is compared are the shares.
 */
export function isFailed({ failure }: EntryFacts, status: number): boolean | undefined {
  if (failure === 'upstream-broken') return true;
  if (status === 0 || (failure !== undefined && NEUTRAL_FAILURES.has(failure))) return undefined;
  return status >= 400 && !CLIENT_STATUSES.has(status);
}
