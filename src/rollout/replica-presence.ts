import { type SharedWindow, WINDOW_PARTS, type WindowAddition } from './store.ts';
import type { WindowSource } from './window-exchange.ts';

const WINDOW_MS = 60_000;
/** Milliseconds between two signs of life. */
const SIGN_MS = WINDOW_MS / WINDOW_PARTS;
/** Complete parts whose mean is the number: a sign may fall into the part beside its own. */
const MEAN_PARTS = 3;

/** Counts processes, or gateways: each adds one to a shared window at intervals of one part. */
export class ReplicaPresence implements WindowSource {
  private readonly time: () => number;
  private readonly key: 'replicas' | 'gateways';
  private readonly isCounted: boolean;
  private nextAt = 0;
  private known: number | undefined;

  /** `time` is a clock in milliseconds; one that is not counted only reads. */
  constructor(time: () => number, key: 'replicas' | 'gateways', isCounted: boolean) {
    this.time = time;
    this.key = key;
    this.isCounted = isCounted;
  }

  /** The number when it was last known; undefined before. */
  get count(): number | undefined {
    return this.known;
  }

  additions(all: boolean): readonly WindowAddition[] {
    const now = this.time();
    const isDue = now >= this.nextAt || this.nextAt - now > SIGN_MS;
    if (isDue) this.nextAt = now + SIGN_MS;
    return isDue || all
      ? [{ key: this.key, windowMs: WINDOW_MS, add: [isDue && this.isCounted ? 1 : 0] }]
      : [];
  }

  /**
   * The current part is not complete: it only counts where it is larger than the mean. Neither is a part after an empty one, in
   * which the store came into reach: until the next one is over, what was known holds.
   */
  merge(_key: string, { part, parts }: SharedWindow): void {
    const countOf = (wanted: number): number =>
      parts.find((candidate) => candidate.part === wanted)?.counts[0] ?? 0;
    const begun = Array.from({ length: MEAN_PARTS }, (_, index) => part - 1 - index).filter(
      (one) => countOf(one) > 0,
    );
    const whole = begun.filter((one) => countOf(one - 1) > 0).map(countOf);
    const mean = whole.reduce((sum, count) => sum + count, 0) / Math.max(1, whole.length);
    const held = whole.length > 0 ? [] : [this.known ?? 0, ...begun.map(countOf)];
    this.known = Math.max(this.isCounted ? 1 : 0, Math.round(mean), countOf(part), ...held);
  }
}
