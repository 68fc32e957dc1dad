import type { CircuitBreaker } from './circuit-breaker.ts';
import type { ResendBudget } from './resend-budget.ts';
import type { Upstream } from './upstream.ts';

/** One of the services behind the gateway. */
export interface Origin {
  readonly version: 'v1' | 'v2';
  readonly upstream: Upstream;
  /** Each origin fails on its own account. */
  readonly breaker: CircuitBreaker;
  readonly resends: ResendBudget;
  /** What stands before every target that is sent, without a trailing slash. */
  readonly path: string;
  /** Host with its port: what addresses in responses are compared with. Without it only paths are. */
  readonly host: string | undefined;
}
