import { afterReads } from '../../after-reads.ts';
import { Slots } from '../../../gateway/limits.ts';

/** A body that is forwarded while it arrives, on a connection to V2 that no other request can use meanwhile. */
export interface StreamedBody {
  /** Bytes so far. */
  readonly bytes: number;
  /** True while the exchange waits for the client, not for V2. */
  readonly isWaitingForClient: boolean;
  /** Ends the body: its client is too slow. */
  tooSlow(): void;
}

/** Milliseconds over which the rate of a body is measured. */
const CHECK_MS = 2500;
/** Minimum bytes per second of a body while there are too many of them. */
const FAIR_RATE_BYTES = 16 * 1024;

/**
 * Keeps connections to V2 for requests that make use of them. While streamed bodies hold more than a share of the connections,
 * the slowest of those below 16 KiB per second are ended: 128 clients that send a byte now and then would block all other
 * requests.
 */
export class StreamedBodies {
  private readonly limit: number;
  private readonly all = new Slots<{ readonly body: StreamedBody; bytes: number; at: number }>();
  private timer: NodeJS.Timeout | undefined = undefined;

  /** `limit` is the number of bodies that may always stream. */
  constructor(limit: number) {
    this.limit = limit;
  }

  /** Adds a body; returns its slot, for `remove`. */
  add(body: StreamedBody): number {
    const slot = this.all.add({ body, bytes: body.bytes, at: performance.now() });
    if (this.all.size > this.limit) this.timer ??= setInterval(endSlowest, CHECK_MS, this);
    return slot;
  }

  /** Removes the body in a slot. */
  remove(slot: number): void {
    this.all.remove(slot);
    if (this.all.size > this.limit) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Ends the slowest bodies until no more than the limit are left. */
  endSlowest(): void {
    const now = performance.now();
    const slow: { readonly body: StreamedBody; readonly rate: number }[] = [];
    for (const since of this.all) {
      const { body } = since;
      const seconds = (now - since.at) / 1000;
      if (seconds * 1000 < CHECK_MS - 100) continue;
      const rate = (body.bytes - since.bytes) / seconds;
      if (body.isWaitingForClient && rate < FAIR_RATE_BYTES) slow.push({ body, rate });
      since.bytes = body.bytes;
      since.at = now;
    }
    slow.sort((left, right) => left.rate - right.rate);
    for (const { body } of slow.slice(0, Math.max(0, this.all.size - this.limit))) body.tooSlow();
  }
}

function endSlowest(bodies: StreamedBodies): void {
  // After the process stood still, what came in time is read first.
  afterReads(() => bodies.endSlowest());
}
