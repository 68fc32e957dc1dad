import { Guide } from '../report/guide/guide.ts';
import type { Ring } from '../rewrite-log/ring.ts';

/** Entries processed without a pause. */
const ENTRIES_PER_STEP = 100;

/**
 * Collects the guide of the client whose hash is or begins with `client`, from the entries still in the ring; awaits `pause`
 * between steps of a fraction of a millisecond for each client but one, and of a few milliseconds where all are its own.
 */
export async function clientGuide(client: string, ring: Ring, pause: () => Promise<void>): Promise<Guide> {
  const guide = new Guide(client);
  for (let seq = ring.oldest; seq > 0 && seq <= ring.latest; seq += 1) {
    const entry = ring.at(seq);
    if (entry !== undefined) guide.add(entry);
    if (seq % ENTRIES_PER_STEP === 0) await pause();
  }
  return guide;
}
