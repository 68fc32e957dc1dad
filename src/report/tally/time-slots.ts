import { MarkedNumbers } from '../text/marked-numbers.ts';

/** Slots of eleven years. */
const MAX_SLOTS = 640_000;

/** Length of a slot in milliseconds: ten minutes. */
export const SLOT_MS = 600_000;

/** Slots without any entry: from the first empty one up to the next full one, as numbers of slots since 1970. */
export interface Silence {
  readonly from: number;
  readonly until: number;
}

/** The slots of time in which something was seen, in any order. */
export class TimeSlots {
  private readonly marked = new MarkedNumbers(MAX_SLOTS);

  /** Marks the slot of a time in milliseconds since 1970. */
  add(time: number): void {
    this.marked.add(Math.floor(time / SLOT_MS));
  }

  /** The marked slots, as numbers of slots since 1970, in order. */
  seen(): Generator<number, void, undefined> {
    return this.marked.values();
  }

  /** Runs of slots without an entry between the first and the last marked one, in order. */
  *silences(): Generator<Silence, void, undefined> {
    let before: number | undefined;
    for (const slot of this.seen()) {
      if (before !== undefined && slot > before + 1) yield { from: before + 1, until: slot };
      before = slot;
    }
  }
}
