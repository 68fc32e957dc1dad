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

/**
 * Ends a response whose client takes less than the minimum rate, or nothing for the body time. It watches only while bytes wait for the
 * client, so that a slow V2 costs the client nothing, also behind the last part: a window of 0 must not hold a place for ever.
 */
export class SlowReaderGuard implements RatedTransfer {
  private readonly reader: SlowReader;
  private readonly limits: ReaderLimits;
  private rate: MinimumRate | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  private takenBefore = 0;
  private takenAtLook = 0;

  constructor(limits: ReaderLimits, reader: SlowReader) {
    this.limits = limits;
    this.reader = reader;
  }

  /** Bytes that the client has taken since it was first waited for: what the system buffered before says nothing about it. */
  get transferred(): number {
    return this.reader.bytesTaken - this.takenBefore;
  }

  /** The client is waited for from now on. With `bytes` it gets the time that they take at the minimum rate. */
  wait(bytes = 0): void {
    if (this.rate === undefined) {
      this.takenBefore = this.reader.bytesTaken;
      this.rate = new MinimumRate(this.limits, this);
    }
    this.rate.allow(bytes);
    this.rate.start();
    if (this.limits.bodyTimeout === 0 || this.idle !== undefined) return;
    this.takenAtLook = this.reader.bytesTaken;
    this.idle = setTimeout(look, this.limits.bodyTimeout, this);
  }

  /** Nothing waits for the client. */
  stop(): void {
    this.rate?.stop();
    clearTimeout(this.idle);
    this.idle = undefined;
  }

  tooSlow(): void {
    this.stop();
    this.reader.reset();
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

function look(guard: SlowReaderGuard): void {
  guard.look();
}
