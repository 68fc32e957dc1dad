import type { CircuitBreaker } from './circuit-breaker.ts';
import type { RetryBudget } from './retry-budget.ts';
import type { Upstream } from './upstream.ts';

/** A service behind the gateway. */
export interface Origin {
  readonly version: 'v1' | 'v2';
  readonly upstream: Upstream;
  /** Each origin has its own breaker. */
  readonly breaker: CircuitBreaker;
  readonly retryBudget: RetryBudget;
  /** The prefix of every target that is sent, without a trailing slash. */
  readonly path: string;
  /** Hosts with their ports, for recognising the origin's addresses in responses. Without any only paths are compared. */
  readonly hosts: readonly string[];
}
