import type { CompiledRuleBook } from '../rewrite/compiled-rule-book.ts';

/** A rule book that can be in force, with its source text. */
export interface LoadedRuleBook {
  readonly rules: CompiledRuleBook;
  readonly text: string;
  /** Path of the package's own rule book, where it stands in for a default that is not there. */
  readonly shippedAt?: string;
}

/** Result of reading the rule book: one that can be in force, or all of its faults. */
export type RuleBookOutcome = LoadedRuleBook | { readonly faults: readonly string[] };

/** Outcome of a reload. */
export interface Reload {
  /** True where another one is in force now. */
  readonly changed: boolean;
  /** True where this one is good and the last one was refused. */
  readonly wasRefused: boolean;
  /** Those of a refused one. */
  readonly faults: readonly string[];
}

/** The rule book in force. A new one is checked, then swapped whole; a faulty one is refused, and the old one stays. */
export class RuleBooks {
  current: CompiledRuleBook;
  /** The text of the current one. */
  text: string;
  /** Milliseconds since 1970 when the current one came into force. */
  since: number;
  /** Number of rule books that replaced another, number of refused ones, and seconds that the last reading took. */
  reloads = 0;
  refused = 0;
  reloadSeconds: number | undefined = undefined;
  /** The rule book that was refused last, until a good one is read; `at` is milliseconds since 1970. */
  refusal: { readonly at: number; readonly faults: readonly string[] } | undefined = undefined;
  private readonly load: () => Promise<RuleBookOutcome>;
  private readonly time: () => number;
  private reading: Promise<unknown> = Promise.resolve();

  constructor(first: LoadedRuleBook, load: () => Promise<RuleBookOutcome>, time: () => number) {
    this.current = first.rules;
    this.text = first.text;
    this.load = load;
    this.time = time;
    this.since = time();
  }

  /** Reads the rule book again, after the readings in progress. */
  reload(): Promise<Reload> {
    const next = this.reading.then(() => this.swap());
    this.reading = next;
    return next;
  }

  private async swap(): Promise<Reload> {
    const began = this.time();
    const outcome = await this.load();
    this.reloadSeconds = (this.time() - began) / 1000;
    if ('faults' in outcome) {
      this.refused += 1;
      this.refusal = { at: this.time(), faults: outcome.faults };
      return { changed: false, wasRefused: false, faults: outcome.faults };
    }
    const wasRefused = this.refusal !== undefined;
    this.refusal = undefined;
    const changed = outcome.rules.ruleBook.hash !== this.current.ruleBook.hash;
    this.current = outcome.rules;
    this.text = outcome.text;
    if (changed) {
      this.since = this.time();
      this.reloads += 1;
    }
    return { changed, wasRefused, faults: [] };
  }
}
