/** The interfaces used here that Workers add to the web standards. */
interface Platform {
  /** An identity stream with a declared length: without it workerd sends a chunked body. */
  readonly FixedLengthStream?: new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;
  /** A write ends when its bytes were read, so that the writer may use their memory again. */
  readonly IdentityTransformStream?: new () => TransformStream<Uint8Array, Uint8Array>;
}

const platform: typeof globalThis & Platform = globalThis;

/** True if a stream of the platform reads into the memory that it is given, and a write ends when its bytes were read. */
const reusesMemory = platform.IdentityTransformStream !== undefined;

/** Creates an identity stream for exactly `length` bytes, or for any number of them. */
export function identityStream(length: number | undefined): TransformStream<Uint8Array, Uint8Array> {
  const { IdentityTransformStream, FixedLengthStream } = platform;
  if (IdentityTransformStream === undefined || FixedLengthStream === undefined) return new TransformStream();
  return length === undefined ? new IdentityTransformStream() : new FixedLengthStream(length);
}

/** The same bytes for the platform, which does not accept views of shared memory. */
export function ownBytes(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, length } = bytes;
  return buffer instanceof ArrayBuffer ? new Uint8Array(buffer, byteOffset, length) : new Uint8Array(bytes);
}

/**
 * Length in bytes up to which a body is read here: workerd delivers that many in one part. A longer body that nothing inspects is
 * forwarded as the platform's stream: in parts, 100 KB took three times the processor time.
 */
export const READ_BYTES = 4096;

/** Maximum bytes that are read at a time. */
const MOST_BYTES = 64 * 1024;

/** Bytes that are read at a time from a body of unknown length, since most bodies are short. */
const PART_BYTES = 16 * 1024;

/** Reads a body in parts, of a declared length or to its end; a timer limits how long each part may take. */
export class PartReader {
  /** Bytes read so far. */
  bytes = 0;
  private readonly length: number | undefined;
  private readonly read: () => Promise<Uint8Array | undefined>;
  private readonly stop: () => Promise<void>;
  private readonly timer: PhaseTimer;
  private readonly timeout: number;

  /** With `lends`, each part is valid until the next one is asked for: all are read into one buffer. */
  constructor(
    stream: ReadableStream<Uint8Array>,
    length: number | undefined,
    lends: boolean,
    timer: PhaseTimer,
    timeout: number,
  ) {
    this.length = length;
    this.timer = timer;
    this.timeout = timeout;
    if (!reusesMemory || (length !== undefined && length <= READ_BYTES)) {
      const reader = stream.getReader();
      this.read = async () => (await reader.read()).value;
      this.stop = () => reader.cancel();
      return;
    }
    const reader = stream.getReader({ mode: 'byob' });
    const size = length === undefined ? PART_BYTES : Math.min(length, MOST_BYTES);
    let buffer = new ArrayBuffer(size);
    this.read = async () => {
      const { value, done } = await reader.read(new Uint8Array(buffer));
      if (value !== undefined) buffer = lends ? value.buffer : new ArrayBuffer(size);
      return done ? undefined : value;
    };
    this.stop = () => reader.cancel();
  }

  /** True once the declared length was read. The platform itself ends or breaks a body of another length. */
  get isWhole(): boolean {
    return this.bytes === this.length;
  }

  /** The next part; undefined at the end. */
  async next(): Promise<Uint8Array | undefined> {
    if (this.isWhole) return undefined;
    this.timer.start(this.timeout);
    let part: Uint8Array | undefined;
    try {
      part = await this.read();
      this.bytes += part?.length ?? 0;
      return part;
    } finally {
      if (part === undefined || this.isWhole) this.timer.stop();
      else this.timer.pause();
    }
  }

  /** Discards the rest. */
  cancel(): void {
    // Rejects if the body has already ended or failed; then there is nothing to discard.
    this.stop().catch(() => {});
  }
}

/**
 * Limits the time of one phase after another with a single timer of the platform: a timer for each part of a body cost more than the
 * part. The clock of an isolate stands still while it works, so a phase begins at the event that led to it.
 */
export class PhaseTimer {
  private readonly onLate: () => void;
  private timer: ReturnType<typeof setTimeout> | undefined = undefined;
  private firesAt = 0;
  private due = Infinity;

  /** `onLate` is called when a phase takes longer than its time. */
  constructor(onLate: () => void) {
    this.onLate = onLate;
  }

  /** Begins a phase of so many milliseconds, in place of the one before; 0 is no limit. */
  start(milliseconds: number): void {
    if (milliseconds === 0) {
      this.due = Infinity;
      return;
    }
    const now = performance.now();
    this.due = now + milliseconds;
    if (this.timer !== undefined && this.firesAt <= this.due) return;
    this.stop();
    this.due = now + milliseconds;
    this.arm(now, milliseconds);
  }

  /** Ends the phase; another one may follow at little cost. */
  pause(): void {
    this.due = Infinity;
  }

  /** Ends the phase and cancels the timer. */
  stop(): void {
    this.due = Infinity;
    if (this.timer === undefined) return;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private arm(now: number, milliseconds: number): void {
    this.firesAt = now + milliseconds;
    this.timer = setTimeout(() => this.fire(), milliseconds);
  }

  private fire(): void {
    this.timer = undefined;
    if (this.due === Infinity) return;
    const now = performance.now();
    // A timer of the platform may fire a little early.
    if (this.due - now > 1) {
      this.arm(now, this.due - now);
      return;
    }
    this.due = Infinity;
    this.onLate();
  }
}
