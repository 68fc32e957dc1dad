import { median } from '../statistics.ts';

/** Ratios below this are noise whatever the rounds say: the same commit in two folders differs by as much. */
const LEAST_NOISE = 0.02;
/** The chance with which an interval misses the median. */
const MISS = 0.05;

/** One figure of the same rounds: twice of the commit, and once of the sources as they are. */
export interface Rounds {
  readonly before: readonly number[];
  readonly again: readonly number[];
  readonly now: readonly number[];
}

/** How a figure has changed. */
export interface Drift {
  /** The median of the ratios of all rounds, and the interval in which it is with 95 % confidence. */
  readonly ratio: number;
  readonly least: number;
  readonly most: number;
  /** How far the commit is from itself in the same rounds. */
  readonly noise: number;
  readonly verdict: 'slower' | 'faster' | 'same';
}

/** Judges whether a figure became larger or smaller, beyond what the commit differs from itself. */
export function driftOf({ before, again, now }: Rounds): Drift {
  const ratios = now.map(
    (value, k) => value / Math.sqrt((before[k] ?? Number.NaN) * (again[k] ?? Number.NaN)),
  );
  const ordered = ratios.toSorted((a, b) => a - b);
  const cut = ranksToCut(ratios.length);
  const least = ordered[cut] ?? Number.NaN;
  const most = ordered[ordered.length - 1 - cut] ?? Number.NaN;
  const noise = Math.abs(median(again.map((value, k) => value / (before[k] ?? Number.NaN))) - 1);
  const allowed = Math.max(noise, LEAST_NOISE);
  return { ratio: median(ratios), least, most, noise, verdict: verdict() };

  function verdict(): Drift['verdict'] {
    if (least > 1 + allowed) return 'slower';
    return most < 1 - allowed ? 'faster' : 'same';
  }
}

/** The number of values to leave out at each end, so that the rest holds the median as often as wanted (sign test). */
function ranksToCut(count: number): number {
  let chance = 0.5 ** count;
  let below = chance;
  let cut = 0;
  while (2 * (below + (chance * (count - cut)) / (cut + 1)) <= MISS) {
    chance *= (count - cut) / (cut + 1);
    below += chance;
    cut += 1;
  }
  return cut;
}
