import { setTimeout as pause } from 'node:timers/promises';
/**
 * Milliseconds after which something is taken to never happen. It is no expectation: a process starts in ten seconds on a loaded
 * machine, and a machine may stand still for a while. The limit of a test is longer, so that it is this one that says so.
 */
export const NEVER_MS = 60_000;

/** Waits until a condition holds; fails after a minute. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + NEVER_MS;
  let looks = 0;
  do {
    if (await condition()) return;
    // Most states are reached at once.
    await pause(Math.min(5, ++looks));
  } while (performance.now() < end);
  throw new Error('it never happened');
}
