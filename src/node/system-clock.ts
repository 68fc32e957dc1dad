import type { ReplicaClock } from '../rollout/store-contact.ts';

/** Clock, timers and chance of this machine. */
export const SYSTEM_CLOCK: ReplicaClock = {
  time: Date.now,
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};
