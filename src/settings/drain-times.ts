/** Milliseconds of the drain time reserved for closing and for the log, so that the process exits in time. */
const RESERVE_MS = 1000;

/** Returns the part of the drain time that connections have, in milliseconds: the rest is for closing and for the log. */
export function connectionDrainTime(drain: number): number {
  return Math.max(0, drain - Math.min(RESERVE_MS, drain / 5));
}

/** Returns the drain time of a worker process, in milliseconds: workers finish before the first process stops waiting for them. */
export function workerDrainTime(drain: number): number {
  return Math.floor(drain * 0.9);
}
