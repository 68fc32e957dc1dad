/** Refusals that say nothing about an origin: V1's retirement, the gateway's own limits, and invalid framing by the client. */
const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'overloaded',
  'buffer-full',
  'client-timeout',
  'bad-framing',
]);

/** Statuses that are about the client's key, its rate or its address, with either origin. */
const CLIENT_STATUSES: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/**
 * Whether a finished exchange failed, for comparing migrated traffic with V1's: its status, and the code of its failure, if any.
 * Undefined when it says nothing about the origin. A request that V2 refuses and V1 would not has failed, so other 4xx statuses
 * count: the shares are compared.
 */
export function hasFailedForCanary(status: number, failure: string | undefined): boolean | undefined {
  if (failure === 'upstream-broken') return true;
  if (status === 0 || (failure !== undefined && NEUTRAL_FAILURES.has(failure))) return undefined;
  return status >= 400 && !CLIENT_STATUSES.has(status);
}
