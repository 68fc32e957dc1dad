import type { InForce } from '../gateway/in-force.ts';

/** What comes of reading the rule book: one that can be in force, or every fault it has. */
export type RuleBookOutcome = { readonly inForce: InForce } | { readonly faults: readonly string[] };

/** The rule book in force. A new one is checked, then swapped whole; a bad one is refused, and the old one stays. */
export class RuleBooks {
  current: InForce;
  /** Milliseconds since 1970 when the current one came into force. */
  since: number;
  /** Rule books that took the place of another, those that were refused, and seconds that the last reading took. */
  reloads = 0;
  refused = 0;
  reloadSeconds: number | undefined = undefined;
  private readonly load: () => RuleBookOutcome;
  private readonly time: () => number;

  constructor(first: InForce, load: () => RuleBookOutcome, time: () => number) {
    this.current = first;
    this.load = load;
    this.time = time;
    this.since = time();
  }

  /** Reads the rule book again; the faults of one that is refused. */
  reload(): { readonly changed: boolean; readonly faults: readonly string[] } {
    const began = this.time();
    const outcome = this.load();
    this.reloadSeconds = (this.time() - began) / 1000;
    if ('faults' in outcome) {
      this.refused += 1;
      return { changed: false, faults: outcome.faults };
    }
    const changed = outcome.inForce.ruleBook.hash !== this.current.ruleBook.hash;
    this.current = outcome.inForce;
    if (changed) {
      this.since = this.time();
      this.reloads += 1;
    }
    return { changed, faults: [] };
  }
}
