import { type Bounds, boundsOfMedian, median } from '../statistics.ts';

/** Ratios below this are noise whatever the rounds say: the same commit in two folders differs by as much. */
const LEAST_NOISE = 0.02;

/** One figure of the same rounds: twice of the commit, and once of the sources as they are. */
export interface Rounds {
  readonly before: readonly number[];
  readonly again: readonly number[];
  readonly now: readonly number[];
}

/** How a figure has changed. */
export interface Drift extends Bounds {
  /** The median of the ratios of all rounds. */
  readonly ratio: number;
  /** How far the commit is from itself in the same rounds. */
  readonly noise: number;
  readonly verdict: 'slower' | 'faster' | 'same';
}

/** Judges whether a figure became larger or smaller, beyond what the commit differs from itself. */
export function driftOf({ before, again, now }: Rounds): Drift {
  const ratios = now.map(
    (value, k) => value / Math.sqrt((before[k] ?? Number.NaN) * (again[k] ?? Number.NaN)),
  );
  const { least, most } = boundsOfMedian(ratios);
  const noise = Math.abs(median(again.map((value, k) => value / (before[k] ?? Number.NaN))) - 1);
  const allowed = Math.max(noise, LEAST_NOISE);
  return { ratio: median(ratios), least, most, noise, verdict: verdict() };

  function verdict(): Drift['verdict'] {
    if (least > 1 + allowed) return 'slower';
    return most < 1 - allowed ? 'faster' : 'same';
  }
}
