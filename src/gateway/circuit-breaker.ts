/** `closed` lets everything through, `open` nothing, `probing` one request to see whether the origin is back. */
export type BreakerState = 'closed' | 'open' | 'probing';

/** When the breaker opens, and for how long. */
export interface BreakerOptions {
  /** Failures in a row that open it; 0 never does. */
  readonly failures: number;
  /** Milliseconds until the origin is probed. */
  readonly openMs: number;
  /** Milliseconds since some fixed point. */
  readonly now: () => number;
  /** Told of each change of state. */
  readonly onChange?: ((before: BreakerState, after: BreakerState) => void) | undefined;
}

/**
 * Leaves an origin alone that fails again and again (transport contract §4). What counts is that it cannot be reached,
 * goes away or does not response in time; a response of any status is a success of the hop.
 */
export class CircuitBreaker {
  state: BreakerState = 'closed';
  private row = 0;
  private until = 0;
  private readonly options: BreakerOptions;

  constructor(options: BreakerOptions) {
    this.options = options;
  }

  /** True when a request may be sent; in `open` one is let through as a probe once the time is over. */
  admit(): boolean {
    if (this.state === 'closed') return true;
    if (this.options.now() < this.until) return false;
    this.turn('probing');
    // A probe that never comes to an end must not keep the circuit open for ever.
    this.until = this.options.now() + this.options.openMs;
    return true;
  }

  /** Seconds until a request may be let through, at least 1. */
  retryAfter(): number {
    return Math.max(1, Math.ceil((this.until - this.options.now()) / 1000));
  }

  succeeded(): void {
    this.row = 0;
    if (this.state !== 'closed') this.turn('closed');
  }

  failed(): void {
    this.row += 1;
    if (this.options.failures === 0) return;
    if (this.state === 'closed' && this.row < this.options.failures) return;
    this.until = this.options.now() + this.options.openMs;
    this.turn('open');
  }

  private turn(state: BreakerState): void {
    const before = this.state;
    this.state = state;
    if (before !== state) this.options.onChange?.(before, state);
  }
}
