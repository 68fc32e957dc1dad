import type { InForce } from '../gateway/in-force.ts';

/** What comes of reading the rule book: one that can be in force, or every fault it has. */
export type RuleBookOutcome = { readonly inForce: InForce } | { readonly faults: readonly string[] };

/** The rule book in force. A new one is checked, then swapped whole; a bad one is refused, and the old one stays. */
export class RuleBooks {
  current: InForce;
  /** Milliseconds since 1970 when the current one came into force. */
  since: number;
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
    const outcome = this.load();
    if ('faults' in outcome) return { changed: false, faults: outcome.faults };
    const changed = outcome.inForce.ruleBook.hash !== this.current.ruleBook.hash;
    this.current = outcome.inForce;
    if (changed) this.since = this.time();
    return { changed, faults: [] };
  }
}
