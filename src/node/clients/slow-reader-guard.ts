import { MinimumRate, type RatedTransfer, type RateLimits } from './minimum-rate.ts';

/** How long a client may take to read a response. */
export interface ReaderLimits extends RateLimits {
  /** Milliseconds for which a client may take nothing; 0 is no limit. */
  readonly bodyTimeout: number;
}

/** A response that a client reads. */
export interface SlowReader {
  /** Bytes that have left for the client. They never become fewer. */
  readonly bytesTaken: number;
  /** Ends the response: its client reads too slowly, or not at all. */
  reset(): void;
}

/** Milliseconds for which a client is waited for before its rate is measured: what the system's buffers take says nothing about it. */
const PROBE_MS = 250;

/**
 * Ends a response whose client takes less than the minimum rate, or nothing for the body time. It watches only while bytes wait for the
 * client, so that a slow V2 costs the client nothing, also behind the last part: a window of 0 must not hold a place for ever.
 */
export class SlowReaderGuard implements RatedTransfer {
  private readonly reader: SlowReader;
  private readonly limits: ReaderLimits;
  private rate: MinimumRate | undefined = undefined;
  private probe: NodeJS.Timeout | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  /** Bytes that wait, where nobody can see how many of them were taken. */
  private unseenBytes = 0;
  private takenBefore = 0;
  private takenAtLook = 0;

  constructor(limits: ReaderLimits, reader: SlowReader) {
    this.limits = limits;
    this.reader = reader;
  }

  /** Bytes that the client has taken since it was first waited for. */
  get transferred(): number {
    return this.reader.bytesTaken - this.takenBefore;
  }

  /** The client is waited for from now on. With `bytes` it gets the time that they take at the minimum rate. */
  wait(bytes = 0): void {
    this.unseenBytes = bytes;
    this.probe ??= setTimeout(measure, PROBE_MS, this);
  }

  /** Nothing waits for the client. */
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

  /** The client is waited for in earnest. */
  measure(): void {
    const { limits, reader } = this;
    if (this.rate === undefined) {
      this.takenBefore = reader.bytesTaken;
      this.rate = new MinimumRate(limits, this);
    }
    this.rate.allow(this.unseenBytes);
    this.rate.start();
    if (limits.bodyTimeout === 0) return;
    this.takenAtLook = reader.bytesTaken;
    this.idle = setTimeout(look, limits.bodyTimeout, this);
  }

  /** The body time is over. */
  look(): void {
    const { bytesTaken } = this.reader;
    if (bytesTaken === this.takenAtLook) {
      this.tooSlow();
      return;
    }
    this.takenAtLook = bytesTaken;
    this.idle?.refresh();
  }
}

function measure(guard: SlowReaderGuard): void {
  guard.measure();
}

function look(guard: SlowReaderGuard): void {
  guard.look();
}
