import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { endianness } from 'node:os';
import { addressBits } from '../../http/forwarding.ts';

/** The minimum rate at which a client must send a request or read a response. */
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
  /** Called when the client is behind the minimum rate for longer than the grace: ends the transfer (an upload with a 408), or recounts it. */
  tooSlow(): void;
}

/** Maximum credit in milliseconds for fast bytes: a burst must not allow an hour of silence. */
const MAX_CREDIT_MS = 300_000;
/** Minimum grace in milliseconds: late timers and busy turns are not the client's fault. */
const MIN_GRACE_MS = 100;
/** Milliseconds to which times are rounded up: timers of one length share a list. */
const TIMER_STEP_MS = 50;

/**
 * Enforces the minimum rate of one transfer. Time counts only while the gateway waits for the client, between `start` and `stop`:
 * backpressure from the gateway or V2 is not the client's fault. The transfer begins with the grace as its credit; time spends it, and
 * bytes earn more.
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
    this.timer = setTimeout(
      MinimumRate.check,
      Math.ceil(this.creditMs / TIMER_STEP_MS) * TIMER_STEP_MS,
      this,
    );
  }

  /** Stops the clock, because the gateway pauses or the transfer is over. */
  stop(): void {
    if (!this.isRunning) return;
    clearTimeout(this.timer);
    clearImmediate(this.reading);
    this.timer = undefined;
    this.reading = undefined;
    this.settle();
  }

  /** Checks the credit once the bytes that have already arrived are read: after a stall the timer fires before that. */
  private check(): void {
    this.timer = undefined;
    this.reading = setImmediate(MinimumRate.judge, this);
  }

  /** Ends the transfer if its credit is spent. */
  private judge(): void {
    this.reading = undefined;
    this.settle();
    if (this.creditMs <= 0) this.transfer.tooSlow();
    else this.start();
  }

  /** Continues a transfer that seemed too slow if it has in fact moved enough bytes; false otherwise. */
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

  private static check(this: void, rate: MinimumRate): void {
    rate.check();
  }

  private static judge(this: void, rate: MinimumRate): void {
    rate.judge();
  }
}

/** Limits on how slowly a client may read a response. */
export interface ReaderLimits extends RateLimits {
  /** Maximum milliseconds in which the client reads nothing; 0 is no limit. */
  readonly bodyTimeout: number;
}

/** A response that a client reads. */
export interface SlowReader {
  /** Bytes sent to the client so far; never decreases. */
  readonly bytesFlushed: number;
  /** How many of them the peer has not acknowledged; undefined if unknown. */
  unacknowledged(): Promise<number | undefined>;
  /** Ends the response, because the peer reads too slowly or not at all. */
  reset(): void;
}

/** Milliseconds before a client's rate is measured: bytes that only fill the kernel's buffers say nothing about it. */
const PROBE_MS = 250;
/** Bytes that a client's kernel acknowledges before the client has read anything. */
const RECEIVE_BUFFER_BYTES = 256 * 1024;

/**
 * Ends a response whose client reads below the minimum rate, or nothing for the body timeout. It watches only while bytes are
 * buffered for the client, so that a slow V2 costs the client nothing, and also after the last part: a window of 0 must not hold
 * a slot forever. The kernel takes megabytes at a time, and then nothing until a third of them is acknowledged, so before it ends a
 * response it checks how many bytes the client has acknowledged.
 */
export class SlowReaderGuard implements RatedTransfer {
  private readonly reader: SlowReader;
  private readonly limits: ReaderLimits;
  private rate: MinimumRate | undefined = undefined;
  private probe: NodeJS.Timeout | undefined = undefined;
  private idle: NodeJS.Timeout | undefined = undefined;
  /** Bytes sent when the guard first measured. */
  private flushedBefore = 0;
  /** Acknowledged bytes at the first and the last check; undefined if unknown. */
  private acknowledgedBefore: number | undefined = undefined;
  private acknowledged: number | undefined = undefined;
  private progressAtCheck = 0;

  constructor(limits: ReaderLimits, reader: SlowReader) {
    this.limits = limits;
    this.reader = reader;
  }

  /** Bytes that the client has certainly read, since the guard first measured or on the whole connection. */
  get transferred(): number {
    const { acknowledged = 0, acknowledgedBefore = acknowledged } = this;
    return Math.max(
      this.reader.bytesFlushed - this.flushedBefore,
      acknowledged - acknowledgedBefore,
      acknowledged - RECEIVE_BUFFER_BYTES,
    );
  }

  /** Starts waiting for the client; no effect while it waits. */
  wait(): void {
    this.probe ??= setTimeout(SlowReaderGuard.measure, PROBE_MS, this);
  }

  /** Stops waiting, because nothing is buffered for the client. */
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
  private measure(): void {
    const { limits, reader } = this;
    if (this.rate === undefined) {
      this.flushedBefore = reader.bytesFlushed;
      this.rate = new MinimumRate(limits, this);
    }
    this.rate.start();
    if (limits.bodyTimeout > 0)
      this.idle = setTimeout(SlowReaderGuard.checkProgress, limits.bodyTimeout, this);
    void this.look().then(() => {
      this.progressAtCheck = this.progress;
    });
  }

  /** Ends the response if the client has read nothing within the body timeout. */
  private checkProgress(): void {
    void this.look().then(() => {
      if (!this.isWaiting) return;
      const { progress } = this;
      if (progress === this.progressAtCheck) this.end();
      this.progressAtCheck = progress;
      this.idle?.refresh();
    });
  }

  /** True while it waits for the client. */
  get isWaiting(): boolean {
    return this.probe !== undefined;
  }

  private get progress(): number {
    return this.acknowledged ?? this.reader.bytesFlushed;
  }

  /** Updates the acknowledged bytes. */
  private async look(): Promise<void> {
    const unacknowledged = await this.reader.unacknowledged();
    if (unacknowledged === undefined) return;
    this.acknowledged = Math.max(this.acknowledged ?? 0, this.reader.bytesFlushed - unacknowledged);
    this.acknowledgedBefore ??= this.acknowledged;
  }

  private end(): void {
    this.stop();
    this.reader.reset();
  }

  private static measure(this: void, guard: SlowReaderGuard): void {
    guard.measure();
  }

  private static checkProgress(this: void, guard: SlowReaderGuard): void {
    guard.checkProgress();
  }
}

/** Linux's tables of connections: for IPv4, and for IPv6 with the IPv4 clients of a listener on both. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
/** The tables have addresses as words of four bytes, in the processor's byte order. */
const IS_REVERSED = endianness() === 'LE';
/** A line of a table: local port, remote address and port, state, and the bytes to send. */
const LINE = /:([0-9A-F]{4}) ([0-9A-F]+:[0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/;

/** The current reading of both tables, which all callers share: bytes to send by local port and peer. */
let reading: Promise<ReadonlyMap<string, number>> | undefined;

/**
 * Returns the bytes of a connection that the kernel has taken and the peer has not acknowledged, even under TLS; undefined if the kernel
 * does not report them. Reading the tables takes about a microsecond for each connection of the machine in another thread, and the same
 * in this one, shared by all concurrent callers.
 */
export async function unacknowledgedBytes(socket: Socket): Promise<number | undefined> {
  const { localPort, remoteAddress, remotePort } = socket;
  if (localPort === undefined || remoteAddress === undefined || remotePort === undefined) return undefined;
  reading ??= readTables();
  const tables = await reading;
  for (const address of tableForms(remoteAddress)) {
    const bytes = tables.get(`${hex(localPort, 4)} ${address}:${hex(remotePort, 4)}`);
    if (bytes !== undefined) return bytes;
  }
  return undefined;
}

async function readTables(): Promise<ReadonlyMap<string, number>> {
  const texts = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  reading = undefined;
  const connections = new Map<string, number>();
  for (const line of texts.join('\n').split('\n')) {
    const [, port, peer, bytes] = LINE.exec(line) ?? [];
    if (bytes !== undefined) connections.set(`${port} ${peer}`, Number.parseInt(bytes, 16));
  }
  return connections;
}

/** The spellings of an address in the tables. */
function tableForms(address: string): readonly string[] {
  const bits = addressBits(address);
  if (bits === undefined) return [];
  const words = hex(bits, 32).match(/.{8}/g) ?? [];
  const spelled = words.map((word) => (IS_REVERSED ? (word.match(/../g) ?? []).toReversed().join('') : word));
  const isIpv4 = bits >> 32n === 0xff_ffn;
  return isIpv4 ? [spelled[3] ?? '', spelled.join('')] : [spelled.join('')];
}

function hex(value: number | bigint, digits: number): string {
  return value.toString(16).toUpperCase().padStart(digits, '0');
}
