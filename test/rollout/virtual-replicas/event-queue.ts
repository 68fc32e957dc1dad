import type { ReplicaClock } from '../../../src/rollout/store-contact.ts';

interface Event {
  readonly at: number;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Virtual time in whole milliseconds, for a million events: a minute of a thousand replicas passes in seconds. */
export class EventQueue {
  /** Milliseconds since 1970. */
  now = 1_800_000_000_000;
  private readonly events = new Map<number, Event[]>();
  private seed: number;

  /** The same seed gives the same run. */
  constructor(seed: number) {
    this.seed = seed;
  }

  /** A clock that is so many milliseconds ahead. */
  clock(skewMs: number): ReplicaClock {
    return {
      time: () => this.now + skewMs,
      after: (milliseconds, run) => this.after(milliseconds, run),
      random: () => this.random(),
    };
  }

  /** Runs something in the given milliseconds, one at least; the function that it returns cancels this. */
  after(milliseconds: number, run: () => void): () => void {
    const event: Event = { at: this.now + Math.max(1, Math.round(milliseconds)), run, isCancelled: false };
    const events = this.events.get(event.at);
    if (events === undefined) this.events.set(event.at, [event]);
    else events.push(event);
    return () => {
      event.isCancelled = true;
    };
  }

  /** Resolves after the given milliseconds. */
  wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(milliseconds, resolve);
    });
  }

  /** Lets time pass until `done` is true, which is asked each millisecond, but no longer than `milliseconds`; returns how much passed. */
  async pass(milliseconds: number, done: () => boolean = () => false): Promise<number> {
    const start = this.now;
    await settled();
    while (this.now < start + milliseconds && !done()) {
      this.now += 1;
      const events = this.events.get(this.now);
      if (events === undefined) continue;
      this.events.delete(this.now);
      for (const { isCancelled, run } of events) if (!isCancelled) run();
      await settled();
    }
    return this.now - start;
  }

  /** A number from 0 up to 1. */
  random(): number {
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
