import type { ReplicaClock } from './store-contact.ts';

/**
 * Runs something again and again: each time some milliseconds after the last one ended, a little more or less, so that replicas do
 * not march in step. The function that it returns ends this.
 */
export function repeat(
  clock: ReplicaClock,
  milliseconds: () => number,
  run: () => Promise<void>,
): () => void {
  let cancel = (): void => {};
  let hasEnded = false;
  const schedule = (): void => {
    if (hasEnded) return;
    cancel = clock.after(milliseconds() * (0.9 + clock.random() * 0.2), () => void run().then(schedule));
  };
  schedule();
  return () => {
    hasEnded = true;
    cancel();
  };
}
