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
  /** How many of them the client's system has not acknowledged; undefined where that is not known. */
  unacknowledged(): Promise<number | undefined>;
  /** Ends the response: its client reads too slowly, or not at all. */
  reset(): void;
}

/** Milliseconds before a client's rate is measured: bytes that only fill the system's buffers say nothing about it. */
const PROBE_MS = 250;
/** Bytes that the system of a client acknowledges though the client has read nothing yet. */
const RECEIVE_BUFFER_BYTES = 256 * 1024;

/**
 * Ends a response whose client reads below the minimum rate, or nothing for the body time. It watches only while bytes are
 * buffered for the client, so that a slow V2 costs the client nothing, and also after the last part: a window of 0 must not hold
 * a slot forever. The system takes megabytes at a time, and then nothing until a third of them is acknowledged: before a client
 * is too slow, what it has acknowledged is looked at.
 */
export class SlowReaderGuard implements RatedTransfer {
  private readonly reader: SlowReader;
  private readonly limits: ReaderLimits;
  private rate: MinimumRate | undefined = undefined;
  private probe: NodeJS.Timeout | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  /** Bytes that had left when the guard first measured. */
  private takenBefore = 0;
  /** Acknowledged bytes when the guard first measured, and when it looked last; undefined where they are not known. */
  private acknowledgedBefore: number | undefined = undefined;
  private acknowledged: number | undefined = undefined;
  private progressAtCheck = 0;

  constructor(limits: ReaderLimits, reader: SlowReader) {
    this.limits = limits;
    this.reader = reader;
  }

  /** Bytes that the client has read, as far as is known: since the guard first measured, or on the whole connection. */
  get transferred(): number {
    const { acknowledged = 0, acknowledgedBefore = acknowledged } = this;
    return Math.max(
      this.reader.bytesTaken - this.takenBefore,
      acknowledged - acknowledgedBefore,
      acknowledged - RECEIVE_BUFFER_BYTES,
    );
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
    void this.look().then(() => {
      if (this.isWaiting && this.rate?.recount() === false) this.end();
    });
  }

  /** Starts to measure the client's rate. */
  measure(): void {
    const { limits, reader } = this;
    if (this.rate === undefined) {
      this.takenBefore = reader.bytesTaken;
      this.rate = new MinimumRate(limits, this);
    }
    this.rate.start();
    if (limits.bodyTimeout > 0) this.idle = setTimeout(checkProgress, limits.bodyTimeout, this);
    void this.look().then(() => {
      this.progressAtCheck = this.progress;
    });
  }

  /** The body time is over. */
  checkProgress(): void {
    void this.look().then(() => {
      if (!this.isWaiting) return;
      const { progress } = this;
      if (progress === this.progressAtCheck) this.end();
      this.progressAtCheck = progress;
      this.idle?.refresh();
    });
  }

  private get isWaiting(): boolean {
    return this.probe !== undefined;
  }

  private get progress(): number {
    return this.acknowledged ?? this.reader.bytesTaken;
  }

  /** Looks at what the client has acknowledged. */
  private async look(): Promise<void> {
    const unacknowledged = await this.reader.unacknowledged();
    if (unacknowledged === undefined) return;
    this.acknowledged = Math.max(this.acknowledged ?? 0, this.reader.bytesTaken - unacknowledged);
    this.acknowledgedBefore ??= this.acknowledged;
  }

  private end(): void {
    this.stop();
    this.reader.reset();
  }
}

function measure(guard: SlowReaderGuard): void {
  guard.measure();
}

function checkProgress(guard: SlowReaderGuard): void {
  guard.checkProgress();
}
