import { afterReads } from './fair-turns.ts';

/** A response whose head waits for a part of the body, so that both are one write. */
export interface HeldHead {
  /** Writes the head, unless that is done. */
  flushHeld(): void;
}

let held: HeldHead[] = [];

/** Flushes a head once all sockets that can be read in this turn of the event loop have been: nothing followed it. */
export function flushAfterReads(head: HeldHead): void {
  if (held.length === 0) afterReads(flushAll);
  held.push(head);
}

function flushAll(): void {
  const all = held;
  held = [];
  for (const head of all) head.flushHeld();
}
