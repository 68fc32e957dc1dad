/** The lowest rate at which a client may send a request or read a response. */
export interface RateLimits {
  /** Bytes per second; 0 is no limit. */
  readonly minDataRate: number;
  /** Milliseconds that a client may be behind that rate. */
  readonly minDataRateGrace: number;
}

/** A transfer whose rate is measured. */
export interface RatedTransfer {
  /** Bytes that the client has sent, or read, so far. */
  readonly transferred: number;
  /** The client fell behind the minimum rate for longer than the grace: the transfer is to end, or to be recounted. */
  tooSlow(): void;
}

/** Maximum credit in milliseconds that fast bytes earn: a burst does not buy an hour of silence. */
const MAX_CREDIT_MS = 300_000;
/** Minimum grace in milliseconds: late timers and busy turns are not the client's fault. */
const MIN_GRACE_MS = 100;
/** Milliseconds to which times are rounded up: timers of one length share a list. */
const TIMER_STEP_MS = 50;

/**
 * Holds one transfer to the minimum rate. Time counts only while the gateway waits for the client, between `start` and `stop`:
 * backpressure of the gateway or of V2 is not the client's fault. The transfer begins with the grace as its credit, time spends
 * it, and bytes earn it.
 */
export class MinimumRate {
  private readonly rate: number;
  private readonly transfer: RatedTransfer;
  private creditMs: number;
  private counted = 0;
  private since = 0;
  private timer: NodeJS.Timeout | undefined = undefined;
  private reading: NodeJS.Immediate | undefined = undefined;

  constructor(limits: RateLimits, transfer: RatedTransfer) {
    this.rate = limits.minDataRate;
    this.creditMs = Math.max(limits.minDataRateGrace, MIN_GRACE_MS);
    this.transfer = transfer;
  }

  /** Starts the clock; no effect while it runs. */
  start(): void {
    if (this.rate === 0 || this.isRunning) return;
    this.since = performance.now();
    this.timer = setTimeout(check, Math.ceil(this.creditMs / TIMER_STEP_MS) * TIMER_STEP_MS, this);
  }

  /** Stops the clock: the gateway does not read at the moment, or the transfer is over. */
  stop(): void {
    if (!this.isRunning) return;
    clearTimeout(this.timer);
    clearImmediate(this.reading);
    this.timer = undefined;
    this.reading = undefined;
    this.settle();
  }

  /** Checks whether the credit is spent, once the bytes that have already arrived are read: a process that stood still is late. */
  check(): void {
    this.timer = undefined;
    this.reading = setImmediate(judge, this);
  }

  /** Ends the transfer if its credit is spent. */
  judge(): void {
    this.reading = undefined;
    this.settle();
    if (this.creditMs <= 0) this.transfer.tooSlow();
    else this.start();
  }

  /** Goes on with a transfer that was too slow, if it is known by now to have moved enough bytes; false otherwise. */
  recount(): boolean {
    this.earn();
    if (this.creditMs <= 0) return false;
    this.start();
    return true;
  }

  private get isRunning(): boolean {
    return this.timer !== undefined || this.reading !== undefined;
  }

  private settle(): void {
    this.creditMs -= performance.now() - this.since;
    this.earn();
  }

  private earn(): void {
    const { transferred } = this.transfer;
    const earned = ((transferred - this.counted) / this.rate) * 1000;
    this.counted = transferred;
    this.creditMs = Math.min(this.creditMs + earned, MAX_CREDIT_MS);
  }
}

function check(rate: MinimumRate): void {
  rate.check();
}

function judge(rate: MinimumRate): void {
  rate.judge();
}
