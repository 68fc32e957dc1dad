/** The slowest that a client may send a request or take a response. */
export interface RateLimits {
  /** Bytes a second; 0 is no limit. */
  readonly minDataRate: number;
  /** Milliseconds that a client may be behind that rate. */
  readonly minDataRateGrace: number;
}

/** A transfer whose rate is measured. */
export interface RatedTransfer {
  /** Bytes that the client has sent, or taken, so far. */
  readonly transferred: number;
  /** The client fell behind the minimum rate for longer than the grace. Called once. */
  tooSlow(): void;
}

/** Milliseconds that fast bytes pay in advance at the most: a burst does not buy an hour of silence. */
const MOST_CREDIT_MS = 300_000;
/** Milliseconds of grace at the least: timers and busy turns are no slowness of the client. */
const LEAST_GRACE_MS = 100;
/** Milliseconds to which times are rounded up: timers of one length share a list. */
const TIMER_STEP_MS = 50;

/**
 * Holds one transfer to the minimum rate. Time counts only while the client is waited for, between `start` and `stop`: backpressure of
 * the gateway or of V2 is no fault of the client. The transfer begins with the grace as its credit, time spends it, and bytes earn it.
 */
export class MinimumRate {
  private readonly rate: number;
  private readonly transfer: RatedTransfer;
  private creditMs: number;
  private counted = 0;
  private since = 0;
  private timer: NodeJS.Timeout | undefined = undefined;

  constructor(limits: RateLimits, transfer: RatedTransfer) {
    this.rate = limits.minDataRate;
    this.creditMs = Math.max(limits.minDataRateGrace, LEAST_GRACE_MS);
    this.transfer = transfer;
  }

  /** Gives the client at least the time that so many bytes take at the minimum rate: how much of them it has taken cannot be seen. */
  allow(bytes: number): void {
    if (this.rate > 0) this.creditMs = Math.max(this.creditMs, (bytes / this.rate) * 1000);
  }

  /** The client is waited for from now on; nothing changes when it is already. */
  start(): void {
    if (this.rate === 0 || this.timer !== undefined) return;
    this.since = performance.now();
    this.timer = setTimeout(check, Math.ceil(this.creditMs / TIMER_STEP_MS) * TIMER_STEP_MS, this);
  }

  /** The client is not waited for: the gateway has not asked for more, or the transfer is over. */
  stop(): void {
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.settle();
  }

  /** The credit may be spent. */
  check(): void {
    this.timer = undefined;
    this.settle();
    if (this.creditMs <= 0) this.transfer.tooSlow();
    else this.start();
  }

  private settle(): void {
    const { transferred } = this.transfer;
    const earned = ((transferred - this.counted) / this.rate) * 1000;
    const spent = performance.now() - this.since;
    this.counted = transferred;
    this.creditMs = Math.min(this.creditMs + earned - spent, MOST_CREDIT_MS);
  }
}

function check(rate: MinimumRate): void {
  rate.check();
}
