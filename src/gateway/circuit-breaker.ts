/** `closed` lets everything through, `open` nothing, `probing` one request to see whether the origin is back. */
export type BreakerState = 'closed' | 'open' | 'probing';

/** When the breaker opens, and for how long. */
export interface BreakerOptions {
  /** Requests that fail in a row and open it; 0 never does. */
  readonly failures: number;
  /** The longest time between two probes, in milliseconds. */
  readonly openMs: number;
  /** Milliseconds since some fixed point. */
  readonly now: () => number;
  /** Told of each change of state. */
  readonly onChange?: ((before: BreakerState, after: BreakerState) => void) | undefined;
}

/** Milliseconds between the first two probes; each following one comes after twice the time. */
const FIRST_GAP_MS = 100;

/**
 * Leaves an origin alone that stays away (transport contract §4). What counts is a request, however often it was sent, for which the
 * origin cannot be reached, goes away or does not respond in time; a response of any status is a success of the hop.
 */
export class CircuitBreaker {
  state: BreakerState = 'closed';
  private row = 0;
  /** When the first failure of the row came. */
  private rowSince = 0;
  private until = 0;
  private gap = 0;
  private probedAt = 0;
  private recoveries = 0;
  private readonly options: BreakerOptions;

  constructor(options: BreakerOptions) {
    this.options = options;
  }

  /**
   * True when a request may be sent; in `open` one is let through as a probe once the time is over, or when the upstream says by another
   * number of `recoveries` that it can connect again.
   */
  admit(recoveries = 0): boolean {
    if (this.state === 'closed') return true;
    const now = this.options.now();
    if (now < this.until && recoveries === this.recoveries) return false;
    this.turn('probing');
    this.recoveries = recoveries;
    this.probedAt = now;
    // A probe that never comes to an end must not keep the circuit open for ever.
    this.until = now + this.options.openMs;
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

  /**
   * A request failed that was sent at `sentAt`. Those that were under way when the row began count once with it: a restart that ends a
   * hundred of them is one event, and no origin that stays away. `recoveries` is what `admit` is asked with.
   */
  failed(sentAt = this.options.now(), recoveries = 0): void {
    const { failures, openMs, now } = this.options;
    if (failures === 0) return;
    if (this.state === 'closed') {
      if (this.row > 0 && sentAt < this.rowSince) return;
      if (this.row === 0) this.rowSince = now();
      this.row += 1;
      if (this.row < failures) return;
      this.recoveries = recoveries;
      this.gap = Math.min(FIRST_GAP_MS, openMs);
      // The first probe may follow at once.
      this.open(0);
      return;
    }
    // What was sent before the probe says nothing new.
    if (this.state === 'open' || sentAt < this.probedAt) return;
    this.open(this.gap);
    this.gap = Math.min(this.gap * 2, openMs);
  }

  private open(gap: number): void {
    this.until = this.options.now() + gap;
    this.turn('open');
  }

  private turn(state: BreakerState): void {
    const before = this.state;
    this.state = state;
    if (before !== state) this.options.onChange?.(before, state);
  }
}
