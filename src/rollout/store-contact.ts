/** Milliseconds after which a replica without the store judges canaries by its own requests. */
const JUDGE_ALONE_MS = 3000;

/** Milliseconds for which a store has to stay reachable until its next loss is another trouble. */
const STEADY_MS = 300_000;

/** Clock, timers and chance of a replica. */
export interface ReplicaClock {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Runs something after some milliseconds; the returned function cancels this. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
  /** From 0 up to 1. */
  readonly random: () => number;
}

interface StoreContactParts {
  readonly clock: ReplicaClock;
  /** Milliseconds that one call to the store may take. */
  readonly timeoutMs: number;
  /** Called with the reason when the store becomes unreachable. */
  readonly onLost: (reason: string) => void;
  /** Called when the store is reachable again, with the milliseconds for which it was not. */
  readonly onFound: (aloneMs: number) => void;
}

/** Uses of a store: one may fail while the other works, as on a full disk. */
type StoreUse = 'rollout' | 'counts' | 'report';

/** Several losses of the store within some minutes: the time of the first, in milliseconds since 1970, and the reason of the last. */
export interface StoreLosses {
  readonly since: number;
  readonly times: number;
  readonly reason: string;
}

/** Whether a replica reaches the store, and since when it does not. */
export class StoreContact {
  private readonly parts: StoreContactParts;
  private readonly failing = new Set<StoreUse>();
  private lostSince: { readonly at: number; readonly reason: string } | undefined;
  private losses: StoreLosses | undefined;
  private foundAt = Number.NEGATIVE_INFINITY;
  private wasReached = false;

  constructor(parts: StoreContactParts) {
    this.parts = parts;
  }

  /** Time since which the store has been unreachable, in milliseconds since 1970, and why; undefined while it is reachable. */
  get lost(): { readonly at: number; readonly reason: string } | undefined {
    return this.lostSince;
  }

  /** The losses of a store that comes and goes; undefined if it was lost once only, or has been reachable for some minutes. */
  get unsteady(): StoreLosses | undefined {
    const { losses, isSteady } = this;
    return losses !== undefined && losses.times > 1 && !isSteady ? losses : undefined;
  }

  private get isSteady(): boolean {
    return this.lostSince === undefined && this.parts.clock.time() - this.foundAt >= STEADY_MS;
  }

  /** True once the store was reached, and while it is reachable. */
  get isTogether(): boolean {
    return this.wasReached && this.lostSince === undefined;
  }

  /**
   * True while canaries are evaluated by the counts of all replicas: otherwise a replica that lost one call would decide for the whole
   * fleet by its own few requests.
   */
  get hasSums(): boolean {
    const { lostSince } = this;
    if (lostSince === undefined) return this.wasReached;
    return this.wasReached && this.parts.clock.time() - lostSince.at < JUDGE_ALONE_MS;
  }

  /** Runs a function that calls the store; resolves to false if the store is unreachable. Never rejects. */
  async attempt(use: StoreUse, run: () => Promise<void>): Promise<boolean> {
    try {
      await run();
    } catch (error) {
      this.failing.add(use);
      this.lose(error instanceof Error ? error.message : String(error));
      return false;
    }
    this.failing.delete(use);
    if (this.failing.size === 0) this.find();
    return true;
  }

  /** Rejects when the store does not respond in time; its late response is dropped. */
  limited<Value>(response: Promise<Value>): Promise<Value> {
    const { clock, timeoutMs } = this.parts;
    return new Promise((resolve, reject) => {
      const cancel = clock.after(timeoutMs, () => reject(new Error(`no response within ${timeoutMs} ms`)));
      response.then(resolve, reject).finally(cancel);
    });
  }

  private lose(reason: string): void {
    if (this.lostSince !== undefined) return;
    const at = this.parts.clock.time();
    const { since, times } = (this.isSteady ? undefined : this.losses) ?? { since: at, times: 0 };
    this.losses = { since, times: times + 1, reason };
    this.lostSince = { at, reason };
    this.parts.onLost(reason);
  }

  private find(): void {
    const since = this.lostSince?.at;
    this.wasReached = true;
    this.lostSince = undefined;
    if (since !== undefined) this.foundAt = this.parts.clock.time();
    if (since !== undefined) this.parts.onFound(Math.max(0, this.parts.clock.time() - since));
  }
}

/**
 * Runs a function repeatedly, each time about so many milliseconds after its last run ended, so that replicas do not run in step. The
 * returned function stops that.
 */
export function repeat(
  clock: ReplicaClock,
  milliseconds: number | (() => number),
  run: () => Promise<void>,
): () => void {
  let cancel = (): void => {};
  let hasEnded = false;
  const schedule = (): void => {
    if (hasEnded) return;
    const wait = typeof milliseconds === 'number' ? milliseconds : milliseconds();
    cancel = clock.after(wait * (0.9 + clock.random() * 0.2), () => void run().then(schedule));
  };
  schedule();
  return () => {
    hasEnded = true;
    cancel();
  };
}
