/** Refusals that say nothing about an origin: V1's retirement, the gateway's own limits, and invalid framing by the client. */
const NEUTRAL_FAILURES: ReadonlySet<string> = new Set([
  'brownout',
  'sunset',
  'overloaded',
  'buffer-full',
  'client-timeout',
  'bad-framing',
]);

/** Statuses that tell on an origin by themselves: nobody expects them of a service that works. */
const OWN_FAILURES = ['4xx', '5xx'] as const;

/**
 * Statuses that clients also earn: by their key, their rate, their address, or a resource that has moved. They tell on V2 where it
 * answers them more often than V1, the control group.
 */
const SHARED_FAILURES = ['3xx', '401', '403', '404', '429'] as const;

/** Failures that are counted apart, each against V1's share of the same; `4xx` are the others of their class. */
export const FAILURES = [...OWN_FAILURES, ...SHARED_FAILURES] as const;

/** What an exchange says about its origin. */
export type CanaryOutcome = 'success' | (typeof FAILURES)[number];

/** Whether V1's share of this failure decides if V2's counts at all. */
export function isShared(failure: (typeof FAILURES)[number]): boolean {
  return SHARED_FAILURES.some((shared) => shared === failure);
}

/**
 * Outcome of a finished exchange, for comparing migrated traffic with V1's: by its status, and the code of its failure, if any.
 * Undefined when it says nothing about the origin. 304 is a success: it answers a condition of the client (RFC 9110 §15.4.5).
 */
export function canaryOutcome(status: number, failure: string | undefined): CanaryOutcome | undefined {
  if (failure === 'upstream-broken') return '5xx';
  if (status === 0 || (failure !== undefined && NEUTRAL_FAILURES.has(failure))) return undefined;
  if (status < 300 || status === 304) return 'success';
  if (status < 400) return '3xx';
  if (status >= 500) return '5xx';
  return SHARED_FAILURES.find((shared) => shared === String(status)) ?? '4xx';
}
