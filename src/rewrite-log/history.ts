import { type Answer, isRefusedByGateway } from './answers.ts';
import {
  AS_V2_SENT_IT,
  askedService,
  beganAt,
  sentTo,
  statusFrom,
  isNotable,
  isOfClients,
  isOutage,
  type Entry,
} from './entry.ts';
import { PackedEntries, type PackedEntry, quoted, unpacked } from './entry-line.ts';
import { Notices } from './notices.ts';
import { type ServiceOutage, ServiceOutages } from './service-outages.ts';

/** Requests that each service responded to or failed to, and those of them that failed, as `AnswerJudge` decides. */
export type OriginFailures = Readonly<
  Record<
    'v1' | 'v2',
    Readonly<OriginCounts> & {
      readonly inARow: Readonly<InARow>;
      readonly past?: PastRequests;
      readonly outage?: Readonly<ServiceOutage>;
    }
  >
>;

/** Requests of a service that no operation asks any more; `last` is the end of the last of them: milliseconds since 1970. */
export interface PastRequests {
  readonly last: number;
  /** Its last failures; absent if it had not failed for some minutes. */
  readonly spell?: Readonly<Spell>;
}

/**
 * Whether a service is asked for a call now: an operation, or `-` for V1 requests that the rule book does not name. With `at` (milliseconds
 * since 1970), also whether the mode is still the one of that time: what failed before its last change is not the present. With `clients`
 * (`clientOf`), whether V1 has not ended for one of them.
 */
export type IsAsked = (
  service: 'v1' | 'v2',
  call: string,
  at?: number,
  clients?: readonly string[],
) => boolean;

/** Requests for a service, those that failed, and of these the refusals (3xx, 4xx), and those that its open circuit kept from it. */
interface OriginCounts {
  requests: number;
  failed: number;
  refused: number;
  kept: number;
}

/**
 * The latest requests for a service that all failed, or all did not. Times are milliseconds since 1970: failures last from the start of the
 * first to the end of the last, and a service responds well from the end of the first.
 * Refusals that count as failed do not count here: a service that refuses does respond.
 */
export interface InARow {
  failed: boolean;
  requests: number;
  since: number;
  last: number;
}

/** Requests since the start: from V1 clients by the service that got them, from V2 clients, and refused or failed ones by the side that did so. */
export interface RequestSums {
  all: number;
  /** Of V1 clients, sent to V2. */
  migrated: number;
  /** Of V1 clients, sent to V1. */
  onV1: number;
  /** Of V2 clients. */
  passed: number;
  /** Under neither prefix, sent to V2: health checks, browsers, crawlers. */
  outside: number;
  /** Responses of V2 and of V1 with a status from 400 to 499, apart from those that failed. */
  refusedByV2: number;
  refusedByV1: number;
  /** Never forwarded, for a reason of the gateway that is not a failure. */
  refusedByGateway: number;
  /** Refused as the operator wants it: brownouts, the end of V1, new clients. */
  onPurpose: number;
  /** As `AnswerJudge` decides. */
  failed: number;
  /**
   * Dry runs of requests to V1 under the latest rule book, which has this hash; `refusedByBoth` are those of `refused` that V1 refused
   * as well.
   */
  would: Record<'rewritten' | 'unchanged' | 'refused' | 'refusedByBoth', number> & {
    readonly ruleBook: string;
  };
}

/** What the requests of the last hour came to. */
export interface LastHour {
  readonly failed: number;
  /** The end of the last that failed since the start: milliseconds since 1970; absent if none did. */
  readonly lastFailed?: number;
  /** Responses that went to V1 clients as V2 sent them, although a response rule applies. */
  readonly asV2SentIt: number;
}

/** The counts of {@link LastHour} for one minute. */
interface Minute extends Record<'failed' | 'asV2SentIt', number> {
  readonly start: number;
}

/** The requests of ten seconds: the last two minutes are the sum of these. */
interface Slice {
  readonly start: number;
  readonly origins: Record<'v1' | 'v2', CallCounts>;
}

/** Requests of a service by call; undefined for those that are not V1's, which go there in every mode. */
type CallCounts = Map<string | undefined, OriginCounts & { last: number }>;

/** The requests in a row by call, each with its own `since`. */
interface Row extends InARow {
  readonly calls: Map<string | undefined, { requests: number; readonly since: number }>;
}

/**
 * Requests of a service since the first that failed, until none failed for some minutes. Times are milliseconds since 1970 of the start of
 * the first that failed, and of the end of the last that did.
 */
interface Spell {
  requests: number;
  failed: number;
  since: number;
  lastFailed: number;
  /** Requests up to the last that failed. */
  upToLast: number;
  /** Those that failed without a response. */
  unanswered: number;
}

/** Milliseconds without a failure after which the next one begins another spell. */
const SPELL_PAUSE_MS = 120_000;

const MINUTE_MS = 60_000;
const SLICE_MS = 10_000;

/** Slices of two minutes, and the one that has begun. */
const SLICES = 13;

const NO_DRY_RUNS = { rewritten: 0, unchanged: 0, refused: 0, refusedByBoth: 0 };

/** What the requests since the start came to, of the last hour by minute. Memory is fixed. */
export class History {
  private readonly ringOfMinutes: Minute[];
  private readonly sinceStart: RequestSums = {
    all: 0,
    migrated: 0,
    onV1: 0,
    passed: 0,
    outside: 0,
    refusedByV2: 0,
    refusedByV1: 0,
    refusedByGateway: 0,
    onPurpose: 0,
    failed: 0,
    would: { ruleBook: '', ...NO_DRY_RUNS },
  };
  private readonly inARow: Record<'v1' | 'v2', Row> = {
    v1: { failed: false, requests: 0, since: 0, last: 0, calls: new Map() },
    v2: { failed: false, requests: 0, since: 0, last: 0, calls: new Map() },
  };
  /** Each slice is at the place of its start modulo the length. */
  private readonly ringOfSlices = Array.from({ length: SLICES }, (): Slice => emptySlice(0));
  private readonly spells: Partial<Record<'v1' | 'v2', Spell>> = {};
  readonly outages = new ServiceOutages();
  readonly notices = new Notices();
  private readonly responded: Partial<Record<'v1' | 'v2', number>> = {};
  private second = 0;
  private countInSecond = 0;
  private countInLastSecond = 0;
  private lastFailed: number | undefined;

  constructor(minutes = 60) {
    // Each is replaced before anything is counted in it.
    this.ringOfMinutes = Array.from<Minute>({ length: minutes }).fill(emptyMinute(-1));
  }

  /** Counts an exchange that ended at `time` (milliseconds since 1970), unless a client read its own report. */
  add(entry: Entry, time: number, answer: Answer): void {
    const { verdict } = entry;
    if (verdict === 'served') return;
    this.advanceTo(Math.floor(time / 1000));
    this.countInSecond += 1;
    const minute = this.minute(Math.floor(time / MINUTE_MS) * MINUTE_MS);
    const from = statusFrom(entry);
    const isFault = entry.status >= 400 && entry.status < 500 && answer !== 'failed';
    if (answer === 'failed' && isOfClients(entry)) {
      minute.failed += 1;
      this.lastFailed = time;
    }
    if (sentTo(entry) === 'v2' && AS_V2_SENT_IT.includes(entry.responseNote ?? '')) minute.asV2SentIt += 1;
    if (from === 'v1' || from === 'v2') this.responded[from] = time;
    // The other service got a copy of this read.
    if (entry.comparison !== undefined && entry.comparison.verdict !== 'unknown')
      this.responded[entry.origin === 'v1' ? 'v2' : 'v1'] = time;
    const asked = askedService(entry);
    if (asked !== undefined) {
      const call = entry.route === 'migrate' ? (entry.operation ?? '-') : undefined;
      const failed = answer === 'failed';
      addCall(this.slice(time).origins[asked], call, entry, failed, time);
      const began = beganAt(entry, time);
      if (failed) this.spells[asked] = spellAfter(this.spells[asked], entry, began, time);
      else if (this.spells[asked] !== undefined) this.spells[asked].requests += 1;
      this.outages.add(entry, failed, time, began);
      const row = this.inARow[asked];
      if (failed && isRefusal(entry)) row.last = time;
      else addToRow(row, call, failed, began, time);
    }
    this.notices.add(entry, answer);
    this.sumUp(entry, isFault ? from : undefined, answer);
  }

  /** The outcomes of requests since the start. */
  get sums(): Readonly<RequestSums> {
    return this.sinceStart;
  }

  private sumUp(entry: Entry, refusedBy: ReturnType<typeof statusFrom>, answer: Answer): void {
    // Webhooks come from V2, not from a client.
    if (entry.route === 'webhook') return;
    const sums = this.sinceStart;
    sums.all += 1;
    if (entry.route === 'pass') sums.passed += 1;
    else if (entry.route === 'other') sums.outside += 1;
    else if (sentTo(entry) === 'v2') sums.migrated += 1;
    else if (sentTo(entry) === 'v1') sums.onV1 += 1;
    // Each request counts once: a failed one is not also refused or answered.
    if (answer === 'failed' && isOfClients(entry)) sums.failed += 1;
    else if (answer === 'on-purpose') sums.onPurpose += 1;
    else if (isRefusedByGateway(entry, answer)) sums.refusedByGateway += 1;
    else if (refusedBy === 'v2') sums.refusedByV2 += 1;
    else if (refusedBy === 'v1') sums.refusedByV1 += 1;
    if (entry.would === undefined) return;
    const { ruleBook } = entry;
    if (ruleBook !== sums.would.ruleBook) sums.would = { ruleBook, ...NO_DRY_RUNS };
    sums.would[entry.would.verdict] += 1;
    if (entry.would.verdict === 'refused' && refusedBy === 'v1') sums.would.refusedByBoth += 1;
  }

  /** When each service responded last, also to a copy of a read: milliseconds since 1970. */
  get lastResponses(): Readonly<Partial<Record<'v1' | 'v2', number>>> {
    return this.responded;
  }

  /** Number of exchanges in the last whole second before `time`. */
  perSecond(time: number): number {
    this.advanceTo(Math.floor(time / 1000));
    return this.countInLastSecond;
  }

  /** The failures of the services in the last `minutes` up to `time`; what is over is apart. */
  recentFailures(time: number, minutes: number, isAsked: IsAsked = () => true): OriginFailures {
    const recent = this.ringOfSlices.filter(
      ({ start }) => start > time - minutes * MINUTE_MS && start <= time,
    );
    const failuresOf = (name: 'v1' | 'v2'): OriginFailures['v1'] => {
      const isNow = (call: string | undefined, at: number): boolean =>
        call === undefined || isAsked(name, call, at);
      const sum = { requests: 0, failed: 0, refused: 0, kept: 0 };
      let last: number | undefined;
      for (const [call, counts] of recent.flatMap(({ origins }) => [...origins[name]])) {
        if (!isNow(call, counts.last)) {
          last = Math.max(last ?? 0, counts.last);
          continue;
        }
        sum.requests += counts.requests;
        sum.failed += counts.failed;
        sum.refused += counts.refused;
        sum.kept += counts.kept;
      }
      const spell = this.spells[name];
      const isSpellPart =
        last !== undefined && spell !== undefined && last - spell.lastFailed < SPELL_PAUSE_MS;
      const inARow = rowOf(this.inARow[name], isNow);
      const outage = this.outages.last[name];
      return {
        ...sum,
        inARow,
        ...(last === undefined ? {} : { past: { ...(isSpellPart ? { spell: { ...spell } } : {}), last } }),
        ...(outage === undefined ? {} : { outage: { ...outage } }),
      };
    };
    return { v1: failuresOf('v1'), v2: failuresOf('v2') };
  }

  /** The requests of the minutes up to `time`. */
  lastHour(time: number): LastHour {
    let [failed, asV2SentIt] = [0, 0];
    const first = (Math.floor(time / MINUTE_MS) - this.ringOfMinutes.length + 1) * MINUTE_MS;
    for (const minute of this.ringOfMinutes) {
      if (minute.start < first || minute.start > time) continue;
      failed += minute.failed;
      asV2SentIt += minute.asV2SentIt;
    }
    const { lastFailed } = this;
    return { failed, asV2SentIt, ...(lastFailed && { lastFailed }) };
  }

  private advanceTo(second: number): void {
    if (second === this.second) return;
    this.countInLastSecond = second === this.second + 1 ? this.countInSecond : 0;
    this.second = second;
    this.countInSecond = 0;
  }

  private slice(time: number): Slice {
    const start = Math.floor(time / SLICE_MS) * SLICE_MS;
    const at = (start / SLICE_MS) % this.ringOfSlices.length;
    const known = this.ringOfSlices[at];
    return known?.start === start ? known : (this.ringOfSlices[at] = emptySlice(start));
  }

  private minute(start: number): Minute {
    const at = (start / MINUTE_MS) % this.ringOfMinutes.length;
    const known = this.ringOfMinutes[at];
    return known?.start === start ? known : (this.ringOfMinutes[at] = emptyMinute(start));
  }
}

function spellAfter(known: Spell | undefined, { failure = '' }: Entry, began: number, time: number): Spell {
  const spell =
    known === undefined || time - known.lastFailed >= SPELL_PAUSE_MS
      ? { requests: 0, failed: 0, unanswered: 0, since: began }
      : known;
  const requests = spell.requests + 1;
  return {
    requests,
    failed: spell.failed + 1,
    since: spell.since,
    lastFailed: time,
    upToLast: requests,
    unanswered: spell.unanswered + Number(isOutage(failure)),
  };
}

function addCall(
  calls: CallCounts,
  call: string | undefined,
  entry: Entry,
  failed: boolean,
  time: number,
): void {
  const counts = calls.get(call) ?? { requests: 0, failed: 0, refused: 0, kept: 0, last: 0 };
  calls.set(call, counts);
  counts.requests += 1;
  counts.last = time;
  if (!failed) return;
  counts.failed += 1;
  if (isRefusal(entry)) counts.refused += 1;
  if (entry.failure === 'circuit-open') counts.kept += 1;
}

function addToRow(row: Row, call: string | undefined, failed: boolean, began: number, time: number): void {
  const since = failed ? began : time;
  if (row.failed !== failed || row.requests === 0) {
    row.since = since;
    row.requests = 0;
    row.calls.clear();
  }
  row.failed = failed;
  row.requests += 1;
  row.last = time;
  const known = row.calls.get(call);
  if (known === undefined) row.calls.set(call, { requests: 1, since });
  else known.requests += 1;
}

/** The row without the calls for which the service is not asked any more. */
function rowOf(
  { failed, last, calls }: Row,
  isNow: (call: string | undefined, at: number) => boolean,
): InARow {
  const now = [...calls].flatMap(([call, counts]) => (isNow(call, last) ? [counts] : []));
  if (now.length === 0) return { failed: false, requests: 0, since: 0, last };
  return {
    failed,
    requests: now.reduce((sum, { requests }) => sum + requests, 0),
    since: Math.min(...now.map(({ since }) => since)),
    last,
  };
}

function isRefusal({ status, incomplete }: Entry): boolean {
  return status < 500 && incomplete !== true;
}

function emptySlice(start: number): Slice {
  return { start, origins: { v1: new Map(), v2: new Map() } };
}

function emptyMinute(start: number): Minute {
  return { start, failed: 0, asV2SentIt: 0 };
}

/** Additional share of the capacity, for failures that newer entries have replaced. */
const NOTABLE_SHARE = 0.25;

/** An operator must not miss the exchange, and it failed its client (`Answer`). */
const NOTABLE = 1;
const FAILED = 2;

/**
 * Recent entries, numbered from 1; readers continue from the last number they read. Beyond the capacity new entries replace the oldest;
 * those of exchanges that failed stay longer, up to a quarter of the capacity. Each read parses the entry from its text, in a few
 * microseconds.
 */
export class Ring {
  readonly capacity: number;
  private readonly entries: PackedEntries;
  /** The bits `NOTABLE` and `FAILED` of each slot. */
  private readonly signs: Uint8Array;
  /** Older entries to be noted by number, oldest first. */
  private readonly failures = new Map<number, { readonly entry: PackedEntry; readonly sign: number }>();
  private readonly maxFailures: number;
  private lastSeq = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.entries = new PackedEntries(capacity);
    this.signs = new Uint8Array(capacity);
    this.maxFailures = Math.floor(capacity * NOTABLE_SHARE);
  }

  /** Number of the newest entry; 0 before the first. */
  get latest(): number {
    return this.lastSeq;
  }

  /** The number from which on all entries are stored; 0 when empty. */
  get oldest(): number {
    return this.lastSeq === 0 ? 0 : Math.max(1, this.lastSeq - this.capacity + 1);
  }

  /** True once an entry was replaced: until then, the first one is stored. */
  get isCut(): boolean {
    return this.oldest > 1;
  }

  /** Number of the oldest stored entry; those before `oldest` are failures only. */
  get oldestFailure(): number {
    const [first = this.oldest] = this.failures.keys();
    return first;
  }

  /** Adds an entry, replacing the oldest when full; returns its number. `answer` is what its exchange was to the client. */
  add(entry: Entry, answer?: Answer): number {
    this.lastSeq += 1;
    const slot = this.lastSeq % this.capacity;
    const sign = this.signs[slot] ?? 0;
    if ((sign & NOTABLE) !== 0) this.keepFailure(this.lastSeq - this.capacity, this.entries.at(slot), sign);
    this.entries.put(slot, entry);
    this.signs[slot] = (isNotable(entry) ? NOTABLE : 0) | (answer === 'failed' ? FAILED : 0);
    return this.lastSeq;
  }

  /** Whether the exchange of a stored entry failed its client. */
  hasFailed(seq: number): boolean {
    const sign = seq < this.oldest ? this.failures.get(seq)?.sign : this.signs[seq % this.capacity];
    return ((sign ?? 0) & FAILED) !== 0;
  }

  /** Returns the entry numbered `seq`, unless it was replaced or does not exist yet. */
  at(seq: number): Entry | undefined {
    const packed = this.packedAt(seq);
    return packed && unpacked(packed);
  }

  /** Returns the entries of a request with a number beyond `after`, newest first. */
  withRequestId(requestId: string, after = 0): readonly { readonly seq: number; readonly entry: Entry }[] {
    const found: { seq: number; entry: Entry }[] = [];
    const sign = `"requestId":${quoted(requestId)}`;
    for (const seq of this.numbersBefore(this.lastSeq + 1)) {
      if (seq <= after) break;
      const packed = this.packedAt(seq);
      if (packed?.text.includes(sign) !== true) continue;
      const entry = unpacked(packed);
      if (entry.requestId === requestId) found.push({ seq, entry });
    }
    return found;
  }

  /** Yields the numbers of the stored entries older than `before`, newest first. */
  *numbersBefore(before: number): Generator<number> {
    const { oldest } = this;
    for (let seq = Math.min(before - 1, this.lastSeq); seq >= oldest && seq > 0; seq -= 1) yield seq;
    // Those that new entries have replaced since the start were yielded above.
    for (const seq of [...this.failures.keys()].reverse()) if (seq < before && seq < oldest) yield seq;
  }

  private packedAt(seq: number): PackedEntry | undefined {
    if (seq < 1 || seq > this.lastSeq) return undefined;
    return seq < this.oldest ? this.failures.get(seq)?.entry : this.entries.at(seq % this.capacity);
  }

  private keepFailure(seq: number, entry: PackedEntry | undefined, sign: number): void {
    if (entry !== undefined) this.failures.set(seq, { entry, sign });
    const [first] = this.failures.keys();
    if (this.failures.size > this.maxFailures && first !== undefined) this.failures.delete(first);
  }
}
