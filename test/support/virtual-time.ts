import type { ReplicaClock } from '../../src/rollout/store-contact.ts';

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** Time that passes only on demand: many replicas live through minutes in a moment. */
export class VirtualTime {
  now = 1_800_000_000_000;
  private readonly timers = new Set<Timer>();
  private seed = 1;

  /** A clock that is so many milliseconds ahead. */
  clock(skewMs = 0): ReplicaClock {
    return {
      time: () => this.now + skewMs,
      after: (milliseconds, run) => this.after(milliseconds, run),
      random: () => this.random(),
    };
  }

  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.now + milliseconds, run };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  /** Resolves after so many milliseconds of this time. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(milliseconds, resolve);
    });
  }

  /** Lets time pass: runs each timer in order, and everything that follows from it. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.now + milliseconds;
    await settled();
    for (;;) {
      let next: Timer | undefined;
      for (const timer of this.timers) if (next === undefined || timer.at < next.at) next = timer;
      if (next === undefined || next.at > end) break;
      this.timers.delete(next);
      this.now = Math.max(this.now, next.at);
      next.run();
      await settled();
    }
    this.now = end;
  }

  /** The same numbers in each run. */
  private random(): number {
    this.seed = (this.seed * 48_271) % 2_147_483_647;
    return this.seed / 2_147_483_647;
  }
}

/** Lets all promises settle that wait for nothing but each other. */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
