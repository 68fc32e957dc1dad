/** `closed` admits every request, `open` none, `probing` a few that test whether the origin has recovered. */
export type BreakerState = 'closed' | 'open' | 'probing';

/** Thresholds and clock of a circuit breaker. */
export interface BreakerOptions {
  /** Consecutive failed requests that open the circuit; 0 never opens it. */
  readonly failures: number;
  /** Maximum time between two probes, in milliseconds. */
  readonly openMs: number;
  /** Monotonic clock, in milliseconds. */
  readonly now: () => number;
  /** Called on each change of state. */
  readonly onChange?: ((before: BreakerState, after: BreakerState) => void) | undefined;
}

/** Milliseconds between the first two probes; each later interval is twice as long. */
const FIRST_PROBE_INTERVAL_MS = 100;
/** Probes without an outcome that are sent at these intervals: the request may be slow, and not the origin. */
const PROBES_IN_FLIGHT = 5;
/** Milliseconds between further ones, at least: an origin that hangs must not collect a probe at each interval. */
const PROBE_WAIT_MS = 5000;

/**
 * Stops sending to an origin that stays down. Counts a request once, however often it was sent, when the
 * origin is unreachable, closes the connection or does not respond in time; a response of any status is a success of the hop.
 */
export class CircuitBreaker {
  state: BreakerState = 'closed';
  private failureCount = 0;
  /** Time of the first of the consecutive failures. */
  private firstFailureAt = 0;
  private openUntil = 0;
  private probeIntervalMs = 0;
  /** Number of probes in flight. */
  private probes = 0;
  /** Times of the first and the last probe since one failed. */
  private probedAt = 0;
  private lastProbeAt = 0;
  private recoveries = 0;
  /** True while only the upstream tests whether the origin has recovered: each request is answered at once. */
  private isAwaited = false;
  private readonly options: BreakerOptions;

  constructor(options: BreakerOptions) {
    this.options = options;
  }

  /**
   * Returns true when a request may be sent. An `open` circuit admits one as a probe once its wait is over, or when the upstream
   * reports by a changed number of `recoveries` that it can connect again; it is `probing` then, and `probeOver` has to be called.
   */
  admit(recoveries = 0): boolean {
    if (this.state === 'closed') return true;
    if (this.isAwaited && recoveries !== this.recoveries) {
      this.succeeded();
      return true;
    }
    const now = this.options.now();
    if (now < this.nextProbeAt && recoveries === this.recoveries) return false;
    if (this.state === 'open') this.probedAt = now;
    this.changeState('probing');
    this.recoveries = recoveries;
    this.lastProbeAt = now;
    this.probes += 1;
    return true;
  }

  /** A probe is over, with or without an outcome: its client may have disconnected. */
  probeOver(): void {
    if (this.probes > 0) this.probes -= 1;
  }

  /** Seconds until a request may be admitted, at least 1; during a probe, whose outcome admits all, 1. */
  retryAfter(): number {
    if (this.state === 'probing') return 1;
    return Math.max(1, Math.ceil((this.openUntil - this.options.now()) / 1000));
  }

  succeeded(): void {
    this.failureCount = 0;
    this.isAwaited = false;
    if (this.state === 'closed') return;
    this.probes = 0;
    this.changeState('closed');
  }

  /**
   * Counts a failed request that was sent at `sentAt`. Requests that were in flight at the first failure count once with it: a
   * restart that ends a hundred of them is one event, not an origin that stays down. `recoveries` is the number passed to
   * `admit`.
   */
  failed(sentAt = this.options.now(), recoveries = 0): void {
    const { failures, openMs, now } = this.options;
    if (failures === 0) return;
    if (this.state === 'closed') {
      if (this.failureCount > 0 && sentAt < this.firstFailureAt) return;
      if (this.failureCount === 0) this.firstFailureAt = now();
      this.failureCount += 1;
      if (this.failureCount < failures) return;
      this.recoveries = recoveries;
      this.probeIntervalMs = Math.min(FIRST_PROBE_INTERVAL_MS, openMs);
      // The first probe may be sent at once.
      this.open(0);
      return;
    }
    // Requests sent before the probe carry no new information.
    if (this.state === 'open' || sentAt < this.probedAt) return;
    this.open(this.probeIntervalMs);
    this.probeIntervalMs = Math.min(this.probeIntervalMs * 2, openMs);
  }

  /**
   * Opens the circuit for an origin that accepts no connections, however few requests found that out. The upstream connects by itself:
   * the circuit closes for all requests once it reports another number of `recoveries`.
   */
  away(recoveries = 0): void {
    const { failures, openMs } = this.options;
    if (failures === 0) return;
    this.isAwaited = true;
    this.recoveries = recoveries;
    this.probeIntervalMs = Math.min(FIRST_PROBE_INTERVAL_MS, openMs);
    if (this.state !== 'open') this.open(this.probeIntervalMs);
  }

  private get nextProbeAt(): number {
    if (this.state === 'open') return this.openUntil;
    const isFull = this.probes >= PROBES_IN_FLIGHT;
    const wait = isFull ? Math.max(PROBE_WAIT_MS, this.options.openMs) : this.probeIntervalMs;
    return this.lastProbeAt + wait;
  }

  private open(waitMs: number): void {
    this.openUntil = this.options.now() + waitMs;
    this.changeState('open');
  }

  private changeState(state: BreakerState): void {
    const before = this.state;
    this.state = state;
    if (before !== state) this.options.onChange?.(before, state);
  }
}
