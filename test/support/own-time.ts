import { onTestFinished } from 'vitest';

/** Milliseconds between two looks at the clock. */
const TICK_MS = 5;
/** Milliseconds that one look may count: the rest of a longer pause is the machine's, which had no turn for this process. */
const MOST_MS = 20;

/**
 * Measures time as the timers of this process see it: returns the milliseconds since the call, without those in which the process
 * had no turn. A limit of time that is kept by this process is late by these.
 */
export function ownTime(): () => number {
  let total = 0;
  let last = performance.now();
  const look = (): number => {
    const now = performance.now();
    total += Math.min(now - last, MOST_MS);
    last = now;
    return total;
  };
  const timer = setInterval(look, TICK_MS);
  onTestFinished(() => clearInterval(timer));
  return look;
}
