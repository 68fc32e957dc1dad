import { MinimumRate, type RatedTransfer, type RateLimits } from './minimum-rate.ts';

/** Limits on how slowly a client may read a response. */
export interface ReaderLimits extends RateLimits {
  /** Maximum milliseconds without the client reading anything; 0 is no limit. */
  readonly bodyTimeout: number;
}

/** A response that a client reads. */
export interface SlowReader {
  /** Bytes that have left for the client. The number never decreases. */
  readonly bytesTaken: number;
  /** Ends the response: its client reads too slowly, or not at all. */
  reset(): void;
}

/** Milliseconds before a client's rate is measured: bytes that only fill the system's buffers say nothing about it. */
const PROBE_MS = 250;

/**
 * Ends a response whose client reads below the minimum rate, or nothing for the body time. It watches only while bytes are
 * buffered for the client, so that a slow V2 costs the client nothing, and also after the last part: a window of 0 must not hold
 * a slot for ever.
 */
export class SlowReaderGuard implements RatedTransfer {
  private readonly reader: SlowReader;
  private readonly limits: ReaderLimits;
  private rate: MinimumRate | undefined = undefined;
  private probe: NodeJS.Timeout | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  private takenBefore = 0;
  private takenAtCheck = 0;

  constructor(limits: ReaderLimits, reader: SlowReader) {
    this.limits = limits;
    this.reader = reader;
  }

  /** Bytes that the client has read since the guard first waited for it. */
  get transferred(): number {
    return this.reader.bytesTaken - this.takenBefore;
  }

  /** Starts waiting for the client; no effect while it waits. */
  wait(): void {
    this.probe ??= setTimeout(measure, PROBE_MS, this);
  }

  /** Stops waiting: nothing is buffered for the client. */
  stop(): void {
    clearTimeout(this.probe);
    this.probe = undefined;
    clearTimeout(this.idle);
    this.idle = undefined;
    this.rate?.stop();
  }

  tooSlow(): void {
    this.stop();
    this.reader.reset();
  }

  /** Starts to measure the client's rate. */
  measure(): void {
    const { limits, reader } = this;
    if (this.rate === undefined) {
      this.takenBefore = reader.bytesTaken;
      this.rate = new MinimumRate(limits, this);
    }
    this.rate.start();
    if (limits.bodyTimeout === 0) return;
    this.takenAtCheck = reader.bytesTaken;
    this.idle = setTimeout(checkProgress, limits.bodyTimeout, this);
  }

  /** The body time is over. */
  checkProgress(): void {
    const { bytesTaken } = this.reader;
    if (bytesTaken === this.takenAtCheck) {
      this.tooSlow();
      return;
    }
    this.takenAtCheck = bytesTaken;
    this.idle?.refresh();
  }
}

function measure(guard: SlowReaderGuard): void {
  guard.measure();
}

function checkProgress(guard: SlowReaderGuard): void {
  guard.checkProgress();
}
