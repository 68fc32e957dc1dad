import { repeat } from '../../rollout/replica.ts';
import { type RecordStore, type ReplicaClock, StoreContact } from '../../rollout/store.ts';
import { type LogGap, timeText } from '../log-gaps.ts';
import type { ReadTotals, ReportCoverage, ReportTotals } from '../report-totals.ts';
import { Tally, ClientTally } from '../tally/tally.ts';
import { counted, NO_KEY } from '../text.ts';
import { isForgotten, mergeClient, mergeSpan, readShard } from './client-shard.ts';
import {
  type BatchOwner,
  changesOf,
  clientKey,
  countsOf,
  type FleetBatch,
  FleetCopy,
  type FleetCounts,
  type FleetSums,
  mergeCensus,
  mergeSums,
  noCounts,
  noSums,
  readCensus,
  readReplicas,
  type ReplicaFigures,
  replicaKey,
  type ReplicaRecord,
  sumsOf,
  takeBatch,
} from './fleet-batch.ts';

/** Parts of the totals of a fleet. */
interface FleetTotalsParts {
  readonly records: RecordStore;
  readonly clock: ReplicaClock;
  /** Name of this replica, for people. */
  readonly name: string;
  /** Id of this process, new at each start. */
  readonly id: string;
  /** Milliseconds after which a client that is not seen is forgotten. */
  readonly keepMs: number;
  /** Called with the reason when counts can no longer be added, and with the milliseconds in between when they can again. */
  readonly onLost: (reason: string) => void;
  readonly onFound: (aloneMs: number) => void;
  /** The counts since the last call of `take`. */
  readonly own: () => Tally;
  /** Returns these counts and begins new ones. */
  readonly take: () => Tally;
}

/** Milliseconds between two additions, and how many more for each replica. */
const INTERVAL_MS = 2000;
const INTERVAL_PER_REPLICA_MS = 20;

/** Milliseconds that one call to the store may take. */
const TIMEOUT_MS = 2000;

/** Records of one call. */
const PAGE = 32;

/** Characters a second that a replica writes, and reads. */
const WRITE_RATE = 256 * 1024;
const READ_RATE = 2 * 1024 * 1024;

/** Attempts to add a batch while others change the same records, and the most milliseconds between two. */
const MAX_ATTEMPTS = 12;
const MAX_BACK_OFF_MS = 400;

/** Milliseconds for the last additions of a process that stops. */
const LAST_MS = 2000;

/** Time without news after which a replica's counts are reported as missing. */
const SILENT_MS = 30_000;

/** Age of counts from which the sentence about them says it. */
const OLD_MS = 10_000;

/** Time without news after which a replica counts as ended without adding its last counts. */
const ENDED_MS = 86_400_000;

/** Least time without any replica that is reported. */
const HOLE_MS = 3_600_000;

/**
 * The totals of all replicas that share a store. Each counts by itself, and now and then adds its new counts to shared records, outside
 * of any request. Only a replica that knows a record's latest revision replaces it, and each batch has a number, so it is added exactly
 * once. A restarted process continues from the records.
 */
export class FleetTotals implements ReportTotals {
  private readonly parts: FleetTotalsParts;
  private readonly contact: StoreContact;
  private readonly copy = new FleetCopy();
  private readonly startedAt: number;
  /** Counts that are taken, and in no batch yet. */
  private pending: FleetCounts = noCounts();
  private batch: FleetBatch | undefined;
  private takenAt: number;
  /** Number of the last batch that was added, and the time up to which the counts are complete. */
  private added = { number: 0, at: 0 };
  private lost: ReplicaFigures['lost'];
  private isComplete = false;
  private hasStopped = false;
  private working: Promise<void> | undefined;
  private end = (): void => {};

  constructor(parts: FleetTotalsParts) {
    this.parts = parts;
    const { clock } = parts;
    this.startedAt = clock.time();
    this.takenAt = this.startedAt;
    this.added = { number: 0, at: this.startedAt };
    this.contact = new StoreContact({ ...parts, timeoutMs: TIMEOUT_MS });
  }

  /** Begins to exchange counts. */
  start(): void {
    const { clock } = this.parts;
    void this.exchange();
    this.end = repeat(
      clock,
      () => Math.max(INTERVAL_MS, (this.coverage().replicas ?? 1) * INTERVAL_PER_REPLICA_MS),
      () => this.exchange(),
    );
  }

  /** Reads what others added, then adds this replica's counts; resolves with an exchange that is under way. Never rejects. */
  exchange(): Promise<void> {
    this.working ??= this.contact
      .attempt('report', async () => {
        await this.catchUp();
        await this.publish();
      })
      .then(() => {
        this.working = undefined;
      });
    return this.working;
  }

  /** Ends the exchange, after a last attempt of at most two seconds to add everything. */
  async close(): Promise<void> {
    this.end();
    const last = async (): Promise<void> => {
      await this.working;
      this.hasStopped = true;
      await this.exchange();
    };
    await new Promise<void>((resolve) => {
      const cancel = this.parts.clock.after(LAST_MS, resolve);
      void last().then(() => {
        cancel();
        resolve();
      });
    });
  }

  tally(pause: () => Promise<void>): Promise<ReadTotals> {
    return fleetTally(this.tallyParts, pause);
  }

  client(hash: string): ClientTally | undefined {
    return fleetClient(hash, this.tallyParts);
  }

  uses(): Pick<Tally, 'operations' | 'changes' | 'rules'> {
    return fleetSums(this.tallyParts);
  }

  coverage(): ReportCoverage {
    const { clock, keepMs } = this.parts;
    const now = clock.time();
    const records = this.replicaRecords;
    const damage = records.find((record) => typeof record === 'string');
    return fleetCoverage({
      now,
      first: Math.max(
        now - keepMs,
        Math.min(
          this.startedAt,
          ...records.map((record) => (typeof record === 'string' ? now : record.first)),
        ),
      ),
      own: this.lost === undefined ? { since: this.startedAt } : { since: this.startedAt, lost: this.lost },
      others: this.others,
      lost: this.contact.lost,
      isComplete: this.isComplete,
      damage,
    });
  }

  private get tallyParts(): TallyParts {
    const { batch, pending } = this;
    const now = this.parts.clock.time();
    // A batch may be among the records although its response was lost.
    const isAmong = batch !== undefined && this.ownBatch >= batch.number;
    const counts = batch === undefined || isAmong ? [pending] : [batch, pending];
    return {
      texts: this.copy.texts,
      counts: counts.map((one) => ({ ...one, clients: new Map(one.clients), census: new Map(one.census) })),
      own: this.parts.own(),
      from: new Date(now - this.parts.keepMs).toISOString(),
      now: new Date(now).toISOString(),
    };
  }

  private async catchUp(): Promise<void> {
    for (;;) {
      const page = await this.contact.limited(this.parts.records.changes(this.copy.revision, PAGE));
      if (!this.copy.take(page)) {
        // No copy may have the latest additions.
        this.lost = { from: this.lost?.from ?? this.added.at, until: this.parts.clock.time() };
        continue;
      }
      if (page.records.length < PAGE) break;
      await this.rest(page.records, READ_RATE);
    }
    this.isComplete = true;
  }

  private async publish(): Promise<void> {
    if (this.batch !== undefined && this.ownBatch >= this.batch.number) this.finish(this.batch);
    do {
      if (this.batch === undefined && isEmpty(this.pending)) this.takeOwn();
      await this.flush();
    } while (this.hasStopped && this.parts.own().entries > 0);
  }

  private takeOwn(): void {
    this.takenAt = this.parts.clock.time();
    this.pending = countsOf(this.parts.take());
  }

  private async flush(): Promise<void> {
    do {
      this.batch ??= this.nextBatch();
      const changes = await this.add(this.batch);
      this.finish(this.batch);
      if (!this.hasStopped) await this.rest(changes, WRITE_RATE);
    } while (!isEmpty(this.pending) || this.copy.lost.length > 0);
  }

  /** Adds a batch once, however often others change the same records; returns the texts it wrote. */
  private async add(batch: FleetBatch): Promise<readonly { readonly text: string }[]> {
    const { records, clock, keepMs } = this.parts;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const now = clock.time();
      const changes = changesOf(batch, this.owner, this.copy, { now, from: now - keepMs });
      const replaced = await this.contact.limited(records.replace(this.copy.life, changes));
      if (replaced !== undefined) {
        this.copy.note(changes, replaced);
        return changes;
      }
      await this.wait(clock.random() * Math.min(MAX_BACK_OFF_MS, 10 * 2 ** attempt));
      await this.catchUp();
      // The response of an earlier attempt was lost.
      if (this.ownBatch >= batch.number) return changes;
    }
    throw new Error('other replicas change the same records all the time');
  }

  private get owner(): BatchOwner {
    const { id, name } = this.parts;
    const isLast = isEmpty(this.pending) && this.parts.own().entries === 0;
    return { id, name, since: this.startedAt, hasStopped: this.hasStopped && isLast, lost: this.lost };
  }

  private nextBatch(): FleetBatch {
    const { pending, copy, added } = this;
    const taken = takeBatch(pending, copy);
    return { ...taken, number: added.number + 1, at: isEmpty(pending) ? this.takenAt : added.at };
  }

  private finish({ number, at }: FleetBatch): void {
    this.added = { number, at };
    this.batch = undefined;
  }

  /** Number of this process's last batch in the records. */
  private get ownBatch(): number {
    const text = this.copy.textOf(replicaKey(this.parts.id));
    return (text === undefined ? undefined : readReplicas(text))?.replicas.get(this.parts.id)?.batch ?? 0;
  }

  private get others(): readonly ReplicaFigures[] {
    return this.replicaRecords.flatMap((record) =>
      typeof record === 'string'
        ? []
        : [...record.replicas].flatMap(([id, figures]) => (id === this.parts.id ? [] : [figures])),
    );
  }

  /** Records of replicas; for one that nobody can read, a sentence. */
  private get replicaRecords(): readonly (ReplicaRecord | string)[] {
    return [...this.copy.texts].flatMap(([key, text]) =>
      key.startsWith('replicas/') ? [readReplicas(text) ?? `the record ${key} cannot be read`] : [],
    );
  }

  private rest(written: readonly { readonly text: string }[], rate: number): Promise<void> {
    const characters = written.reduce((sum, { text }) => sum + text.length, 0);
    return this.wait((characters / rate) * 1000);
  }

  private wait(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      this.parts.clock.after(milliseconds, resolve);
    });
  }
}

function isEmpty({ clients, census, sums }: FleetCounts): boolean {
  return clients.size === 0 && census.size === 0 && sums === undefined;
}

/** What a replica knows about all that share its store. Times are milliseconds since 1970. */
interface FleetFacts {
  readonly now: number;
  /** Time since which replicas count. */
  readonly first: number;
  /** This process: its own counts are always complete. */
  readonly own: Pick<ReplicaFigures, 'since' | 'lost'>;
  /** The other processes, as they were last known. */
  readonly others: readonly ReplicaFigures[];
  /** Since when the store has been out of reach, and why. */
  readonly lost?: { readonly at: number; readonly reason: string } | undefined;
  /** False until all records were read once. */
  readonly isComplete: boolean;
  /** Reason why a record cannot be read. */
  readonly damage?: string | undefined;
}

/** Says which replicas the totals cover, and what is missing. */
function fleetCoverage(facts: FleetFacts): ReportCoverage {
  const { now, first, others, lost, isComplete } = facts;
  const live = others.filter((one) => isLive(one, now));
  const base = { since: first, gaps: gapsOf(facts), replicas: live.length + 1 };
  const oldestMs = Math.max(0, ...live.map(({ at }) => now - at));
  if (!isComplete) {
    const reason = lost === undefined ? '' : ` (${lost.reason})`;
    return {
      ...base,
      kind: 'alone',
      oldestMs,
      sentence: `Counts of this replica alone: the store has not been read since its start at ${timeText(facts.own.since)}${reason}.`,
    };
  }
  if (lost !== undefined) {
    const latest = Math.max(0, ...others.map(({ at }) => at));
    const known =
      latest === 0 ? 'it knows no others.' : `the counts of the others are from ${timeText(latest)}.`;
    return {
      ...base,
      kind: 'alone',
      oldestMs: latest === 0 ? 0 : Math.max(0, now - latest),
      sentence: `This replica has been alone since ${timeText(lost.at)} (${lost.reason}); ${known}`,
    };
  }
  const ended = others.length - live.length;
  const stopped = ended === 0 ? '' : `, ${ended} stopped`;
  const old = oldestMs < OLD_MS ? '' : `; the counts of one are ${Math.ceil(oldestMs / 1000)} s old`;
  return {
    ...base,
    kind: 'fleet',
    oldestMs,
    sentence: `Counted since ${timeText(first)} (${counted(base.replicas, 'replica')} running${stopped}${old}).`,
  };
}

function isLive({ at, hasStopped }: ReplicaFigures, now: number): boolean {
  return !hasStopped && now - at < SILENT_MS;
}

function gapsOf({ now, own, others, lost, isComplete, damage }: FleetFacts): readonly LogGap[] {
  const gaps: LogGap[] = [];
  const add = (log: string, kind: LogGap['kind'], from: number, until: number, sentence: string): void => {
    gaps.push({ log, kind, from: timeText(from), until: timeText(until), sentence });
  };
  if (damage !== undefined) add('store', 'silent', 0, now, `Counts in the store are not known: ${damage}.`);
  if (!isComplete)
    add(
      'store',
      'begins-late',
      own.since,
      now,
      `The store has not been read since ${timeText(own.since)}: the counts of other replicas are not known.`,
    );
  else if (lost !== undefined)
    add(
      'store',
      'ends-early',
      lost.at,
      now,
      `The store has been out of reach since ${timeText(lost.at)}: the counts of other replicas are not known.`,
    );
  for (const one of others) {
    const { name, at, hasStopped } = one;
    if (!hasStopped && now - at >= SILENT_MS) {
      const until = Math.min(now, at + ENDED_MS);
      const how =
        now - at < ENDED_MS
          ? `has added nothing since ${timeText(at)}`
          : `ended after ${timeText(at)} without adding its last counts`;
      add(name, 'ends-early', at, until, `Replica ${name} ${how}.`);
    }
  }
  for (const { name, lost: part } of [{ name: 'this one', ...own }, ...others])
    if (part !== undefined)
      add(
        name,
        'silent',
        part.from,
        part.until,
        `The store lost counts of replica ${name} between ${timeText(part.from)} and ${timeText(part.until)}.`,
      );
  for (const { from, until } of holesOf(
    [...others, { since: own.since, at: now }].sort((one, other) => one.since - other.since),
  ))
    add(
      'store',
      'silent',
      from,
      until,
      `No replica counted between ${timeText(from)} and ${timeText(until)}.`,
    );
  return gaps;
}

function* holesOf(
  runs: readonly Pick<ReplicaFigures, 'since' | 'at'>[],
): Generator<{ readonly from: number; readonly until: number }> {
  let covered: number | undefined;
  for (const { since, at } of runs) {
    if (covered !== undefined && since - covered >= HOLE_MS) yield { from: covered, until: since };
    covered = Math.max(covered ?? at, at);
  }
}

/** The parts of totals: none of them changes any more except `own`, which only grows. */
interface TallyParts {
  /** Texts of records by key. */
  readonly texts: ReadonlyMap<string, string>;
  /** Counts of this replica that no record has yet. */
  readonly counts: readonly FleetCounts[];
  readonly own: Tally;
  /** Clients last seen before this time, and days before it, are forgotten: RFC 3339. */
  readonly from: string;
  /** The time now, RFC 3339. */
  readonly now: string;
}

/**
 * Makes the totals of a fleet; awaits `pause` between steps. Reads clients from their records one by one: thousands of them at once
 * would take tens of megabytes.
 */
async function fleetTally(parts: TallyParts, pause: () => Promise<void>): Promise<ReadTotals> {
  const tally = new Tally();
  const gaps: LogGap[] = [];
  setSums(tally, fleetSums(parts), parts.from.slice(0, 10));
  for (const [key, text] of parts.texts) {
    if (!key.startsWith('census/')) continue;
    const names = readCensus(text);
    if (names === undefined) gaps.push(unreadableGap(key, parts));
    else mergeCensus(tally.census.operations, names);
    await pause();
  }
  for (const { census } of parts.counts)
    for (const names of census.values()) mergeCensus(tally.census.operations, names);
  mergeCensus(tally.census.operations, parts.own.census.operations);
  const { entries, v1, v2, since, until, days, census, omittedClients, unread } = tally;
  const sums = { entries, v1, v2, since, until, days, census, omittedClients, unread };
  return { tally: { ...sums, clients: clientsOf(parts, tally.days, gaps) }, gaps };
}

/** The clients, record by record; marks the days of each, and adds a gap for a record that nobody can read. */
function* clientsOf(
  parts: TallyParts,
  days: Tally['days'],
  gaps: LogGap[],
): Generator<readonly [string, ClientTally], void, undefined> {
  const byNumber = new Map([...days.values()].map((day) => [day.number, day]));
  const own = countsOf(parts.own);
  const counts = [...parts.counts, own];
  const keys = new Set([
    ...[...parts.texts.keys()].filter((key) => key.startsWith('clients/')),
    ...counts.flatMap(({ clients }) => [...clients.keys()]),
  ]);
  let index = 0;
  for (const key of keys) {
    const text = parts.texts.get(key) ?? '[]';
    const merged = readShard(text) ?? new Map<string, ClientTally>();
    if (merged.size === 0 && text !== '[]') gaps.push(unreadableGap(key, parts));
    for (const { clients } of counts)
      for (const [hash, client] of clients.get(key) ?? []) {
        const into = merged.get(hash) ?? new ClientTally(0);
        merged.set(hash, into);
        mergeClient(into, client);
      }
    for (const [hash, client] of merged) {
      if (isForgotten(client, parts.from)) continue;
      if (hash !== NO_KEY) {
        for (const day of client.days.all()) byNumber.get(day)?.clients.add(index);
        for (const day of client.rewrittenDays.all()) byNumber.get(day)?.rewritten.add(index);
        index += 1;
      }
      yield [hash, client];
    }
  }
}

/** The counts of one client in a fleet; undefined when it was not seen. */
function fleetClient(hash: string, { texts, counts, own, from }: TallyParts): ClientTally | undefined {
  const key = clientKey(hash);
  const text = texts.get(key);
  const known = [
    text === undefined ? undefined : readShard(text)?.get(hash),
    ...counts.map(({ clients }) => clients.get(key)?.get(hash)),
    own.clients.get(hash),
  ].filter((client) => client !== undefined && !isForgotten(client, from));
  if (known.length === 0) return undefined;
  const client = new ClientTally(0);
  for (const one of known) if (one !== undefined) mergeClient(client, one);
  return client;
}

/** The sums of a fleet. */
function fleetSums({ texts, counts, own }: TallyParts): FleetSums {
  const sums = noSums();
  for (const [key, text] of texts) {
    const record = key.startsWith('replicas/') ? readReplicas(text) : undefined;
    if (record !== undefined) mergeSums(sums, record.sums);
  }
  for (const part of counts) if (part.sums !== undefined) mergeSums(sums, part.sums);
  mergeSums(sums, sumsOf(own));
  return sums;
}

function unreadableGap(key: string, { from, now }: TallyParts): LogGap {
  const sentence = `The record ${key} of the store cannot be read.`;
  return { log: 'store', kind: 'silent', from, until: now, sentence };
}

function setSums(tally: Tally, sums: FleetSums, first: string): void {
  tally.entries = sums.entries;
  tally.since = sums.since;
  tally.until = sums.until;
  for (const [name, { v1, v2, refused, omitted }] of sums.days) {
    if (name < first) continue;
    const day = tally.dayOf(name);
    day.v1 = v1;
    day.v2 = v2;
    day.refused = refused;
    tally.v1 += v1;
    tally.v2 += v2;
    tally.omittedClients += omitted;
  }
  for (const [name, span] of sums.operations) tally.operations.set(name, span);
  for (const [name, span] of sums.changes) tally.changes.set(name, span);
  for (const [name, span] of sums.rules) tally.rules.set(name, span);
  tally.census.sampled = sums.sampled;
  tally.census.exchanges = sums.exchanges;
  tally.census.omitted = sums.omittedNames;
  mergeSpan(tally.unread, sums.unread);
}
