import type { DurableObjectStorage } from 'cloudflare:workers';
import type { Entry } from '../rewrite-log/entry.ts';
import type { BodyCheckCount } from '../rollout/body-checks.ts';
import { RolloutTally, type RolloutTotals, type ShadowView } from '../rollout/rollout-tally.ts';
import type { SharedState } from '../rollout/shared-state.ts';

/** The bindings of a deployment: settings as variables and secrets, and destinations for entries beside the log. */
export interface EdgeBindings {
  /** Receives every entry, when bound. */
  readonly REWRITE_LOG_QUEUE?: {
    send(entry: Entry, options: { readonly contentType: 'json' }): Promise<unknown>;
  };
  /** Receives a data point for every entry, when bound. */
  readonly REWRITE_LOG_ANALYTICS?: { writeDataPoint(point: DataPoint): void };
  /** The object that all isolates share, when bound; without it, each isolate follows the rule book and counts alone. */
  readonly ROLLOUT?: RolloutNamespace;
  /** Holds a copy of the rollout, when bound: for isolates that start while the object does not respond. */
  readonly ROLLOUT_COPY?: CopyNamespace;
}

/** A namespace of Durable Objects. */
export interface RolloutNamespace {
  idFromName(name: string): unknown;
  get(id: unknown): RemoteStore & RemoteTotals;
}

/** The methods of `RolloutObject` for isolates. */
export type RemoteStore = Pick<SharedState, 'read' | 'compareAndSet' | 'exchange'>;

/** The methods of `RolloutObject` for isolates besides a store: the totals of all of them, by the hash of the rule book. */
export interface RemoteTotals {
  addTotals(ruleBook: string, totals: RolloutTotals): Promise<void>;
  /** Undefined when nothing was added. */
  totals(ruleBook: string): Promise<SharedTotals | undefined>;
}

/** A namespace of Workers KV. */
export interface CopyNamespace {
  get(key: string): Promise<string | null>;
  put(key: string, text: string): Promise<void>;
}

/** A row of Analytics Engine. */
export interface DataPoint {
  readonly indexes: readonly string[];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/** The variables and secrets among the bindings: the worker's equivalent of environment variables. */
export function environmentOf(bindings: object): Record<string, string> {
  const texts = Object.entries(bindings).filter(
    (pair): pair is [string, string] => typeof pair[1] === 'string',
  );
  return Object.fromEntries(texts);
}

/** Converts an entry to a data point: sampled by client, with the columns that the retirement queries use. */
export function dataPoint(entry: Entry): DataPoint {
  const changes = [...new Set(entry.edits.map(({ change }) => change))].join(',');
  return {
    indexes: [entry.client ?? '-'],
    blobs: [
      entry.route,
      entry.verdict,
      entry.operation ?? '',
      entry.failure ?? '',
      changes,
      entry.apiVersion?.why ?? '',
      entry.ruleBook,
      entry.method,
    ],
    doubles: [
      entry.status,
      entry.totalMs,
      entry.upstreamMs ?? 0,
      entry.bytesIn,
      entry.bytesOut,
      entry.responseBytes,
    ],
  };
}

/** Totals under one rule book, with the time at which counting began (RFC 3339). */
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
 * The totals of all isolates, in memory and in rows of the storage. Each rule book has its own, because other rules make other
 * bodies. The most recently used rule book stays longest.
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
    ...shadows.map((shadow) => ({
      name: `${shadow.verified === true ? 'verify' : 'shadow'}/${shadow.operation ?? ''}`,
      row: { shadow },
    })),
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
