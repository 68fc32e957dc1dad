import { isNotice } from '../../rewrite-log/answers.ts';
import { callName, isUnfit } from '../../rewrite-log/entry.ts';
import type { Ends } from '../../rules/rollout.ts';
import { addressOf, EditSummaries, ResponseChanges } from '../tally/outcomes.ts';
import { firstUse, recordUse, type Span } from '../tally/span.ts';
import type { TallyEntry } from '../tally/tally-entry.ts';
import { type FittedBook, fittingOperations } from '../text.ts';
import { isDecided } from './rehearse.ts';
import { CELLS_A_DAY, cellAt, type Zone } from './zone.ts';

/** Weeks in which a plan counts: the last ones of the log. */
export const WEEKS = 4;

/** Number of days that are kept. The last one may not be over; the rest of it is taken from the day four weeks earlier. */
export const KEPT_DAYS = 7 * WEEKS + 1;

const WORD_BITS = 32;
const WORDS_A_DAY = CELLS_A_DAY / WORD_BITS;
const WORDS_A_CLIENT = KEPT_DAYS * WORDS_A_DAY;

/** Clients whose bits are in one array: a single array would be copied whenever it grows. */
const CHUNK = 1024;

/** Maximum clients that are counted separately: their bits take 35 MB. Requests of further clients count as omitted. */
const MAX_CLIENTS = 100_000;

/** The notices that are no brownouts, by failure code. */
const NOTICES: ReadonlyMap<string, string> = new Map([
  ['sunset', 'the sunset'],
  ['newcomer', 'the end for newcomers'],
]);

/** What a log says about one client of V1. */
export interface ClientActivity {
  /** The keyed hash. */
  readonly client: string;
  requests: number;
  /** Time of its last request in milliseconds since 1970. */
  last: number;
  /** Times of its last request to an address that an operation fits or a service has, and of the last one to an address without either. */
  lastServed: number;
  lastMissed: number;
  /** Refusals that were notices of the end: by `brownout <id>`, `the sunset` and `the end for newcomers`. */
  notices: Map<string, Span> | undefined;
  /** Uses of the operations and changes that end before V1 does: by `operation <id>` and `change <id>`. */
  uses: Map<string, Span> | undefined;
  /** Index of its bits, and the latest day among them. */
  readonly row: number;
  day: number;
}

/**
 * Counts in a log when each client was active: a bit for each quarter of an hour of the last four weeks, by the clock of one zone.
 * Entries may come in any order. A client takes half a kilobyte, for a log of any length.
 */
export class PlanTally {
  readonly zone: Zone;
  readonly clients = new Map<string, ClientActivity>();
  /** Times of the first and the last entry of the log, of any kind, in milliseconds since 1970; infinite without entries. */
  since = Number.POSITIVE_INFINITY;
  until = Number.NEGATIVE_INFINITY;
  /** Requests without a key, and those of clients beyond the limit. */
  keyless = 0;
  readonly ofKeyless: Pick<ClientActivity, 'notices'> = { notices: undefined };
  omitted = 0;
  private readonly ends: Ends | undefined;
  private readonly operationOf: ReturnType<typeof fittingOperations>;
  private readonly chunks: Uint32Array[] = [];
  private readonly summaries = new EditSummaries();
  private readonly responses = new ResponseChanges();

  /** `ends` are the operations and changes whose use is counted as well; `book` has the operations that fit calls now. */
  constructor(zone: Zone, ends?: Ends, book?: FittedBook) {
    this.zone = zone;
    this.ends = ends;
    this.operationOf = book === undefined ? () => undefined : fittingOperations(book);
  }

  add(entry: TallyEntry): void {
    const time = Date.parse(entry.time);
    if (Number.isNaN(time)) return;
    if (time < this.since) this.since = time;
    if (time > this.until) this.until = time;
    if (!isDecided(entry)) return;
    if (entry.client === undefined) {
      this.keyless += 1;
      noteNotice(this.ofKeyless, entry);
      return;
    }
    const client = this.clientOf(entry.client);
    if (client === undefined) {
      this.omitted += 1;
      return;
    }
    client.requests += 1;
    if (time > client.last) client.last = time;
    this.noteAddress(client, entry, time);
    this.mark(client, cellAt(time, this.zone));
    noteNotice(client, entry);
    if (this.ends !== undefined) this.noteUses(client, entry, this.ends);
  }

  /** Whether a client was active from one cell up to another. */
  isActive({ row, day: latest }: ClientActivity, from: number, until: number): boolean {
    const words = this.chunks[Math.floor(row / CHUNK)];
    if (words === undefined) return false;
    const base = (row % CHUNK) * WORDS_A_CLIENT;
    let cell = from;
    while (cell < until) {
      const day = Math.floor(cell / CELLS_A_DAY);
      const bit = cell % WORD_BITS;
      const length = Math.min(WORD_BITS - bit, until - cell);
      const word = words[base + wordOf(cell)] ?? 0;
      const isKept = day <= latest && day > latest - KEPT_DAYS;
      if (isKept && ((word >>> bit) & (2 ** length - 1)) !== 0) return true;
      cell += length;
    }
    return false;
  }

  private clientOf(hash: string): ClientActivity | undefined {
    const known = this.clients.get(hash);
    const row = this.clients.size;
    if (known !== undefined || row >= MAX_CLIENTS) return known;
    if (row % CHUNK === 0) this.chunks.push(new Uint32Array(CHUNK * WORDS_A_CLIENT));
    const client = {
      client: hash,
      requests: 0,
      last: Number.NEGATIVE_INFINITY,
      lastServed: Number.NEGATIVE_INFINITY,
      lastMissed: Number.NEGATIVE_INFINITY,
      notices: undefined,
      uses: undefined,
      row,
      day: Number.NEGATIVE_INFINITY,
    };
    this.clients.set(hash, client);
    return client;
  }

  private noteAddress(client: ClientActivity, entry: TallyEntry, time: number): void {
    const call = callName(entry.operation, entry.method, entry.path);
    const address = isUnfit(call) && this.operationOf(call) === undefined ? addressOf(entry) : 'served';
    if (address === 'served') client.lastServed = Math.max(client.lastServed, time);
    else if (address === 'missing') client.lastMissed = Math.max(client.lastMissed, time);
  }

  private mark(client: ClientActivity, cell: number): void {
    const words = this.chunks[Math.floor(client.row / CHUNK)];
    const day = Math.floor(cell / CELLS_A_DAY);
    if (words === undefined || day <= client.day - KEPT_DAYS || cell < 0) return;
    const base = (client.row % CHUNK) * WORDS_A_CLIENT;
    // A later day overwrites one that is no longer counted.
    for (let next = Math.max(client.day, day - KEPT_DAYS) + 1; next <= day; next += 1) {
      const first = base + wordOf(next * CELLS_A_DAY);
      words.fill(0, first, first + WORDS_A_DAY);
    }
    client.day = Math.max(client.day, day);
    const at = base + wordOf(cell);
    words[at] = (words[at] ?? 0) | (1 << (cell % WORD_BITS));
  }

  private noteUses(client: ClientActivity, entry: TallyEntry, { operations, changes }: Ends): void {
    const { operation = '', time } = entry;
    if (Object.hasOwn(operations, operation))
      client.uses = withUse(client.uses, `operation ${operation}`, time);
    const edited = this.summaries.of(entry.edits).changes.map(({ change }) => change);
    for (const change of new Set([...edited, ...this.responses.changesOf(entry)]))
      if (Object.hasOwn(changes, change)) client.uses = withUse(client.uses, `change ${change}`, time);
  }
}

/** The index of a cell's word among those of a client, whose days reuse the words in turn. */
function wordOf(cell: number): number {
  const inTurn = cell % (KEPT_DAYS * CELLS_A_DAY);
  return Math.floor(inTurn / WORD_BITS);
}

function noteNotice(
  client: Pick<ClientActivity, 'notices'>,
  { verdict, failure = '', note, time }: TallyEntry,
): void {
  if (verdict !== 'refused' || !isNotice(failure)) return;
  const brownout = note === undefined ? 'a brownout' : `brownout ${note}`;
  client.notices = withUse(client.notices, NOTICES.get(failure) ?? brownout, time);
}

/** The uses with one more. */
function withUse(before: Map<string, Span> | undefined, use: string, time: string): Map<string, Span> {
  const uses = before ?? new Map<string, Span>();
  const known = uses.get(use);
  if (known === undefined) uses.set(use, firstUse(time));
  else recordUse(known, time);
  return uses;
}
