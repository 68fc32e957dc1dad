import type { DurableObjectStorage } from 'cloudflare:workers';
import type { BodyCheckCount } from '../rollout/body-check-tally.ts';
import { RolloutTally, type RolloutTotals } from '../rollout/rollout-tally.ts';
import type { ShadowView } from '../rollout/rollout-view.ts';

/** Totals under one rule book, with the time since which they are counted (RFC 3339). */
export interface SharedTotals extends RolloutTotals {
  readonly since: string;
}

interface Book {
  readonly since: string;
  readonly tally: RolloutTally;
  /** Names of the rows that differ from those in the storage. */
  readonly changed: Set<string>;
}

/** What a row holds: the requests of a rule book, the comparisons of an operation, or the checks of a client and operation. */
type Row =
  | Pick<SharedTotals, 'since' | 'requests'>
  | { readonly shadow: ShadowView }
  | { readonly bodyCheck: BodyCheckCount };

/** Rule books with totals: the one in force, and the one before it while a deployment is under way. */
const MAX_BOOKS = 2;

const ROWS = 'totals/';

/** Name of the row with the requests of a rule book. */
const REQUESTS = 'requests';

/**
 * The totals of all isolates, in memory and in rows of the storage: each rule book has its own, as other rules make other bodies.
 * The rule book that was added to last stays longest.
 */
export class TotalsTable {
  private readonly storage: DurableObjectStorage;
  private readonly books = new Map<string, Book>();

  constructor(storage: DurableObjectStorage) {
    this.storage = storage;
  }

  /** Takes the totals of the storage; before anything is added. */
  async restore(): Promise<void> {
    const rows = await this.storage.list({ prefix: ROWS });
    const named = [...rows].map(([key, row]) => {
      const [ruleBook = '', name = ''] = key.slice(ROWS.length).split(' ');
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by `keep`, as structured clone
      return { ruleBook, name, row: row as Row };
    });
    const begun = named.flatMap(({ ruleBook, row }) =>
      'since' in row ? [{ ruleBook, since: row.since }] : [],
    );
    for (const { ruleBook, since } of begun.toSorted((one, other) => (one.since < other.since ? -1 : 1)))
      this.books.set(ruleBook, { since, tally: new RolloutTally(ruleBook), changed: new Set() });
    for (const { ruleBook, row } of named) this.books.get(ruleBook)?.tally.merge(totalsOf(row));
  }

  /** Adds to the totals of the rule book with this hash at `now` (milliseconds since 1970). */
  add(ruleBook: string, totals: RolloutTotals, now: number): void {
    const book = this.books.get(ruleBook) ?? {
      since: new Date(now).toISOString(),
      tally: new RolloutTally(ruleBook),
      changed: new Set(),
    };
    this.books.delete(ruleBook);
    this.books.set(ruleBook, book);
    book.tally.merge(totals);
    for (const { name } of rowsOf({ ...totals, since: book.since })) book.changed.add(name);
    // A client beyond the limit of the tally is counted among those without a key.
    for (const { operation } of totals.bodyChecks) book.changed.add(bodyCheckName(operation));
  }

  /** Returns the totals of the rule book with this hash; undefined when nothing was added to them. */
  of(ruleBook: string): SharedTotals | undefined {
    const book = this.books.get(ruleBook);
    return book && { since: book.since, ...book.tally.totals };
  }

  /** Writes what has changed since the last call, and removes the rule books that are too many. */
  async keep(): Promise<void> {
    const [oldest] = this.books.keys();
    if (this.books.size > MAX_BOOKS && oldest !== undefined) {
      this.books.delete(oldest);
      const rows = await this.storage.list({ prefix: `${ROWS}${oldest} ` });
      for (const key of rows.keys()) void this.storage.delete(key);
    }
    const writes: Promise<void>[] = [];
    for (const [ruleBook, { since, tally, changed }] of this.books) {
      if (changed.size === 0) continue;
      for (const { name, row } of rowsOf({ since, ...tally.totals }))
        if (changed.has(name)) writes.push(this.storage.put(`${ROWS}${ruleBook} ${name}`, row));
      changed.clear();
    }
    await Promise.all(writes);
  }
}

function rowsOf({ since, requests, shadows, bodyChecks }: SharedTotals): readonly {
  readonly name: string;
  readonly row: Row;
}[] {
  return [
    { name: REQUESTS, row: { since, requests } },
    ...shadows.map((shadow) => ({ name: `shadow/${shadow.operation ?? ''}`, row: { shadow } })),
    ...bodyChecks.map((bodyCheck) => ({
      name: bodyCheckName(bodyCheck.operation, bodyCheck.client),
      row: { bodyCheck },
    })),
  ];
}

function bodyCheckName(operation = '', client = ''): string {
  return `body/${client}/${operation}`;
}

function totalsOf(row: Row): RolloutTotals {
  return {
    requests: 'requests' in row ? row.requests : { v1: 0, v2: 0 },
    shadows: 'shadow' in row ? [row.shadow] : [],
    bodyChecks: 'bodyCheck' in row ? [row.bodyCheck] : [],
  };
}
