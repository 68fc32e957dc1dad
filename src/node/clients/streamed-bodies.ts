/** A body that is sent on while it comes, on a connection to V2 that nobody else can use meanwhile. */
export interface StreamedBody {
  /** Bytes so far. */
  readonly bytes: number;
  /** True while the client is waited for, and not V2. */
  readonly isAwaited: boolean;
  /** Its client is too slow. */
  tooSlow(): void;
}

/** Milliseconds over which the rate of a body is measured. */
const LOOK_MS = 2500;
/** Bytes a second that a body has when there are too many of them. */
const FAIR_RATE_BYTES = 16 * 1024;

/**
 * Keeps connections to V2 for requests that make use of them. While more than a share of the connections is taken by bodies that
 * stream, the slowest of those that come in at less than 16 KiB a second are ended: 128 clients that send a byte now and then would
 * have all other requests wait.
 */
export class StreamedBodies {
  private readonly limit: number;
  private readonly all = new Map<StreamedBody, { bytes: number; at: number }>();
  private timer: NodeJS.Timeout | undefined = undefined;

  /** `limit` is how many bodies may stream at any rate. */
  constructor(limit: number) {
    this.limit = limit;
  }

  add(body: StreamedBody): void {
    this.all.set(body, { bytes: body.bytes, at: performance.now() });
    if (this.all.size > this.limit) this.timer ??= setInterval(look, LOOK_MS, this);
  }

  delete(body: StreamedBody): void {
    this.all.delete(body);
    if (this.all.size > this.limit) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Ends the slowest, until there are not too many. */
  look(): void {
    const now = performance.now();
    const slow: { readonly body: StreamedBody; readonly rate: number }[] = [];
    for (const [body, since] of this.all) {
      const seconds = (now - since.at) / 1000;
      if (seconds * 1000 < LOOK_MS - 100) continue;
      const rate = (body.bytes - since.bytes) / seconds;
      if (body.isAwaited && rate < FAIR_RATE_BYTES) slow.push({ body, rate });
      since.bytes = body.bytes;
      since.at = now;
    }
    slow.sort((left, right) => left.rate - right.rate);
    for (const { body } of slow.slice(0, Math.max(0, this.all.size - this.limit))) body.tooSlow();
  }
}

function look(bodies: StreamedBodies): void {
  bodies.look();
}
