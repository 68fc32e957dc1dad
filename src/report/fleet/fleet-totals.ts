import { NO_KEY } from '../../rewrite-log/entry.ts';
import { processId } from '../../rollout/replica.ts';
import type { SharedState } from '../../rollout/shared-state.ts';
import { SharedTexts } from '../../rollout/shared-texts.ts';
import { type ReplicaClock, repeat, StoreContact } from '../../rollout/store-contact.ts';
import { type LogGap, timeText } from '../log-gaps.ts';
import type { ReadTotals, ReportCoverage, ReportTotals } from '../report-totals.ts';
import { Tally, ClientTally } from '../tally/tally.ts';
import { counted } from '../../rules/words.ts';
import { isForgotten, mergeClient, mergeSpan, readShard } from './client-shard.ts';
import {
  atClock,
  CENSUS,
  clientKey,
  CLIENTS,
  countsOf,
  fleetTexts,
  type FleetRun,
  type FleetSums,
  mergeCensus,
  mergeSums,
  noSums,
  printCounts,
  printRuns,
  printWho,
  readCensus,
  readRuns,
  readSumsText,
  readWho,
  RUNS,
  SAID,
  SUMS,
  sumsOf,
  WHO,
} from './fleet-texts.ts';

interface FleetTotalsParts {
  readonly state: SharedState;
  readonly clock: ReplicaClock;
  /** Name of this replica, for people. */
  readonly name: string;
  /** Milliseconds after which a client that was not seen is dropped. */
  readonly keepMs: number;
  /** Called with the reason when counts can no longer be added, and with the milliseconds of the interruption when they can again. */
  readonly onLost: (reason: string) => void;
  readonly onFound: (aloneMs: number) => void;
  /** The counts since the last call of `take`. */
  readonly own: () => Tally;
  /** Returns these counts and begins new ones. */
  readonly take: () => Tally;
  /** A text about this replica for the others, which get it within seconds; absent if there is none. */
  readonly said?: (() => string) | undefined;
}

/** A text in which another replica describes itself. */
interface ReceivedText {
  readonly name: string;
  readonly text: string;
  /** Milliseconds since it was said. */
  readonly ageMs: number;
}

/** A silent replica that did not stop; `at` is the time of its last call, in milliseconds since 1970. */
export interface SilentReplica {
  readonly name: string;
  readonly at: number;
}

/** Milliseconds between two additions, and how many more for each replica. */
const INTERVAL_MS = 2000;
const INTERVAL_PER_REPLICA_MS = 20;

/** Milliseconds that one call to the store may take. */
const TIMEOUT_MS = 2000;

/** Milliseconds for the last additions of a process that stops. */
const LAST_MS = 2000;

/** Time without news after which a replica's counts are reported as missing. */
const SILENT_MS = 30_000;

/** Milliseconds for which a silent replica is reported. */
const REPORTED_MS = 3_600_000;

/** Age of counts from which their sentence mentions it. */
const OLD_MS = 10_000;

/** Maximum time that is reported for a replica that ended without adding its last counts. */
const ENDED_MS = 86_400_000;

/** Minimum time without any replica that is reported. */
const HOLE_MS = 3_600_000;

/**
 * The totals of all replicas that share a store. Each counts separately, and regularly adds its new counts to texts that only it sets,
 * outside any request; a report adds up all texts. The counts of an ended process are taken over by another one.
 */
export class FleetTotals implements ReportTotals {
  private readonly parts: FleetTotalsParts;
  private readonly contact: StoreContact;
  private readonly texts: SharedTexts;
  private readonly startedAt: number;
  /** Time at which the store lost texts. */
  private lostAt: number | undefined;
  /** Time at which the store became reachable again: until all replicas have called since, none counts as silent. */
  private foundAt = Number.NEGATIVE_INFINITY;
  private hasStopped = false;
  private working: Promise<void> | undefined;
  private end = (): void => {};

  constructor(parts: FleetTotalsParts) {
    this.parts = parts;
    const { clock, state, keepMs, name } = parts;
    this.startedAt = clock.time();
    this.contact = new StoreContact({
      ...parts,
      timeoutMs: TIMEOUT_MS,
      onFound: (aloneMs) => {
        this.foundAt = clock.time();
        parts.onFound(aloneMs);
      },
    });
    this.texts = new SharedTexts({
      state,
      topic: 'report',
      clock,
      contact: this.contact,
      sums: fleetTexts(clock.time, keepMs),
      newId: () => processId(name, clock),
      keepMs,
      silentMs: SILENT_MS,
      onRestore: () => this.restored(),
    });
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

  /** Adds this replica's counts, and reads the others'; resolves with the current exchange if there is one. Never rejects. */
  exchange(): Promise<void> {
    this.working ??= this.contact
      .attempt('report', () => this.exchangeNow())
      .then(() => {
        this.working = undefined;
      });
    return this.working;
  }

  /** Stops the exchange, after a last attempt of at most two seconds to add everything. */
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

  uses(): Pick<Tally, 'operations' | 'changes' | 'editedResponses'> {
    return fleetSums(this.tallyParts);
  }

  coverage(): ReportCoverage {
    const { clock, keepMs } = this.parts;
    const now = clock.time();
    const { others, first, damage } = this.fleet(now);
    return fleetCoverage({
      now,
      first: Math.max(now - keepMs, Math.min(this.startedAt, first)),
      startedAt: this.startedAt,
      others,
      lost: this.contact.lost,
      lostAt: this.lostAt,
      isComplete: this.texts.isComplete,
      damage,
    });
  }

  /** The texts in which the other running replicas describe themselves; empty while the store is unreachable. */
  get heard(): readonly ReceivedText[] {
    if (this.contact.lost !== undefined) return [];
    const names = new Map(
      this.fleet(this.parts.clock.time()).others.flatMap(({ id, name, hasStopped }) =>
        hasStopped ? [] : [[id, name] as const],
      ),
    );
    return this.texts.otherTexts(SAID).flatMap(({ owner, text, ageMs }) => {
      const name = names.get(owner);
      return name === undefined || text === '' || ageMs >= SILENT_MS ? [] : [{ name, text, ageMs }];
    });
  }

  /** Replicas that are stuck, gone or cut off from the store, and not replaced by another one with their name. */
  get silent(): readonly SilentReplica[] {
    const now = this.parts.clock.time();
    if (this.contact.lost !== undefined || !this.texts.isComplete || now - this.foundAt < SILENT_MS)
      return [];
    const { others } = this.fleet(now);
    const running = new Set([
      this.parts.name,
      ...others.filter((one) => isLive(one, now)).map(({ name }) => name),
    ]);
    const latest = new Map<string, SilentReplica>();
    for (const { name, at, hasStopped } of others.toSorted((one, other) => one.at - other.at)) {
      if (hasStopped) latest.delete(name);
      else if (!running.has(name) && now - at < REPORTED_MS) latest.set(name, { name, at });
    }
    return [...latest.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
  }

  private get tallyParts(): TallyParts {
    const now = this.parts.clock.time();
    return {
      texts: new Map(
        [...this.texts.keys].map((key) => [
          key,
          [...this.texts.ownTexts(key), ...this.texts.otherTexts(key).map(({ text }) => text)],
        ]),
      ),
      own: this.parts.own(),
      from: new Date(now - this.parts.keepMs).toISOString(),
      now: new Date(now).toISOString(),
    };
  }

  private async exchangeNow(): Promise<void> {
    do {
      // More only once all earlier counts are in the store: otherwise they would accumulate with a slow store.
      if (this.texts.isShared || this.hasStopped) this.takeOwn();
      this.texts.replace(WHO, this.who);
      if (this.parts.said !== undefined) this.texts.replace(SAID, this.hasStopped ? '' : this.parts.said());
      const leaves = this.hasStopped && this.parts.own().entries === 0;
      await this.texts.exchange({ leaves });
      if (leaves) return;
    } while (this.hasStopped);
  }

  private takeOwn(): void {
    const { clock, keepMs, own, take } = this.parts;
    if (own().entries === 0) return;
    this.texts.add(printCounts(countsOf(take()), new Date(clock.time() - keepMs).toISOString()));
  }

  private get who(): string {
    const { name, clock } = this.parts;
    const upMs = Math.max(0, clock.time() - this.startedAt);
    return printWho({ name, upMs, hasStopped: this.hasStopped, formerIds: this.texts.formerIds });
  }

  /** The list of ended processes records the clock at the time of writing. */
  private restored(): void {
    const now = this.parts.clock.time();
    this.lostAt = now;
    const [text] = this.texts.ownTexts(RUNS);
    const runs = text === undefined ? undefined : readRuns(text);
    if (runs !== undefined) this.texts.replace(RUNS, printRuns({ ...runs, clock: now }));
  }

  /** The other processes, on the clock of this one, and the time since which the first of them counted. */
  private fleet(now: number): {
    readonly others: readonly FleetRun[];
    readonly first: number;
    readonly damage: string | undefined;
  } {
    const others: FleetRun[] = [];
    let first = Number.POSITIVE_INFINITY;
    let damage: string | undefined;
    const unreadable = (key: string, owner: string): void => {
      damage ??= `the value ${key} of the process ${owner} cannot be read`;
    };
    for (const { owner, text, ageMs } of this.texts.otherTexts(WHO)) {
      const run = readWho(text, owner, now - ageMs);
      if (run === undefined) unreadable(WHO, owner);
      else others.push(run);
    }
    const ended = [
      ...this.texts.ownTexts(RUNS).map((text) => ({ owner: this.parts.name, text, at: undefined })),
      ...this.texts.otherTexts(RUNS).map(({ owner, text, ageMs }) => ({ owner, text, at: now - ageMs })),
    ];
    for (const { owner, text, at } of ended) {
      const known = readRuns(text);
      if (known === undefined) {
        unreadable(RUNS, owner);
        continue;
      }
      const { first: since, runs } = at === undefined ? known : atClock(known, at, now);
      first = Math.min(first, since);
      others.push(...runs);
    }
    for (const { owner, text } of this.texts.otherTexts(SUMS))
      if (readSumsText(text) === undefined) unreadable(SUMS, owner);
    const former = new Set([...others.flatMap(({ formerIds }) => formerIds), ...this.texts.formerIds]);
    const distinct = others.filter(({ id }) => !former.has(id));
    return { others: distinct, first: Math.min(first, ...distinct.map(({ since }) => since)), damage };
  }
}

/** What a replica knows about all that share its store. Times are milliseconds since 1970. */
interface FleetFacts {
  readonly now: number;
  /** Time since which replicas count. */
  readonly first: number;
  /** When this process started: its own counts are always complete. */
  readonly startedAt: number;
  /** The other processes, as last known. */
  readonly others: readonly FleetRun[];
  /** Time since which the store has been unreachable, and why. */
  readonly lost?: { readonly at: number; readonly reason: string } | undefined;
  /** Time at which the store lost texts. */
  readonly lostAt: number | undefined;
  /** False until all texts of others were read once. */
  readonly isComplete: boolean;
  /** Reason why a text cannot be read. */
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
      sentence: `Counts of this replica alone: the store has not been read since its start at ${timeText(facts.startedAt)}${reason}.`,
    };
  }
  if (lost !== undefined) {
    const latest = Math.max(0, ...others.map(({ at }) => at));
    const known =
      latest === 0 ? 'it knows no other replicas.' : `the counts of the others are from ${timeText(latest)}.`;
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
  const isOnly = base.replicas === 1 && ended === 0 && old === '';
  const who = isOnly ? '' : ` (${counted(base.replicas, 'replica')} running${stopped}${old})`;
  return { ...base, kind: 'fleet', oldestMs, sentence: `Counted since ${timeText(first)}${who}.` };
}

function isLive({ at, hasStopped }: FleetRun, now: number): boolean {
  return !hasStopped && now - at < SILENT_MS;
}

function gapsOf({ now, startedAt, others, lost, lostAt, isComplete, damage }: FleetFacts): readonly LogGap[] {
  const gaps: LogGap[] = [];
  const add = (log: string, kind: LogGap['kind'], from: number, until: number, sentence: string): void => {
    gaps.push({ log, kind, from: timeText(from), until: timeText(until), sentence });
  };
  if (damage !== undefined) add('store', 'silent', 0, now, `Counts in the store are not known: ${damage}.`);
  if (!isComplete)
    add(
      'store',
      'begins-late',
      startedAt,
      now,
      `The store has not been read since ${timeText(startedAt)}: the counts of other replicas are not known.`,
    );
  else if (lost !== undefined)
    add(
      'store',
      'ends-early',
      lost.at,
      now,
      `The store has been unreachable since ${timeText(lost.at)}: the counts of other replicas are not known.`,
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
  if (lostAt !== undefined)
    add(
      'store',
      'silent',
      lostAt - SILENT_MS,
      lostAt,
      `The store lost its data before ${timeText(lostAt)}. The replicas that run have set their counts again; the last ones of others may be missing.`,
    );
  for (const { from, until } of holesOf(
    [...others, { since: startedAt, at: now }].sort((one, other) => one.since - other.since),
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
  runs: readonly Pick<FleetRun, 'since' | 'at'>[],
): Generator<{ readonly from: number; readonly until: number }> {
  let covered: number | undefined;
  for (const { since, at } of runs) {
    if (covered !== undefined && since - covered >= HOLE_MS) yield { from: covered, until: since };
    covered = Math.max(covered ?? at, at);
  }
}

/** The parts of totals: only `own` still changes, and only grows. */
export interface TallyParts {
  /** Texts of all processes by key. */
  readonly texts: ReadonlyMap<string, readonly string[]>;
  /** Counts of this replica that are in no text yet. */
  readonly own: Tally;
  /** Clients last seen before this time, and earlier days, are dropped: RFC 3339. */
  readonly from: string;
  /** The time now, RFC 3339. */
  readonly now: string;
}

/**
 * Makes the totals of a fleet; awaits `pause` between steps. Reads clients from their texts one by one: thousands of them at once
 * would take tens of megabytes.
 */
export async function fleetTally(parts: TallyParts, pause: () => Promise<void>): Promise<ReadTotals> {
  const tally = new Tally();
  const gaps: LogGap[] = [];
  setSums(tally, fleetSums(parts), parts.from.slice(0, 10));
  for (const [key, texts] of parts.texts) {
    if (!key.startsWith(CENSUS)) continue;
    for (const text of texts) {
      const names = readCensus(text);
      if (names === undefined) gaps.push(unreadableGap(key, parts));
      else mergeCensus(tally.census.operations, names);
    }
    await pause();
  }
  mergeCensus(tally.census.operations, parts.own.census.operations);
  const { entries, v1, v2, since, until, days, census, omittedClients, unread } = tally;
  const sums = { entries, v1, v2, since, until, days, census, omittedClients, unread };
  return { tally: { ...sums, clients: clientsOf(parts, tally.days, gaps) }, gaps };
}

/** The clients, text by text; marks the days of each, and adds a gap for a text in another form. */
function* clientsOf(
  parts: TallyParts,
  days: Tally['days'],
  gaps: LogGap[],
): Generator<readonly [string, ClientTally], void, undefined> {
  const byNumber = new Map([...days.values()].map((day) => [day.number, day]));
  const own = countsOf(parts.own).clients;
  const keys = new Set([...[...parts.texts.keys()].filter((key) => key.startsWith(CLIENTS)), ...own.keys()]);
  let index = 0;
  for (const key of keys) {
    const merged = new Map<string, ClientTally>();
    const shards = (parts.texts.get(key) ?? []).map((text) => readShard(text));
    if (shards.includes(undefined)) gaps.push(unreadableGap(key, parts));
    for (const shard of [...shards, own.get(key)])
      for (const [hash, client] of shard ?? []) {
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
export function fleetClient(hash: string, { texts, own, from }: TallyParts): ClientTally | undefined {
  const known = [
    ...(texts.get(clientKey(hash)) ?? []).map((text) => readShard(text)?.get(hash)),
    own.clients.get(hash),
  ].filter((client) => client !== undefined && !isForgotten(client, from));
  if (known.length === 0) return undefined;
  const client = new ClientTally(0);
  for (const one of known) if (one !== undefined) mergeClient(client, one);
  return client;
}

export function fleetSums({ texts, own }: TallyParts): FleetSums {
  const sums = noSums();
  for (const text of texts.get(SUMS) ?? []) mergeSums(sums, readSumsText(text) ?? noSums());
  mergeSums(sums, sumsOf(own));
  return sums;
}

function unreadableGap(key: string, { from, now }: TallyParts): LogGap {
  const sentence = `The value ${key} in the store cannot be read.`;
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
  for (const [name, span] of sums.editedResponses) tally.editedResponses.set(name, span);
  tally.census.sampled = sums.sampled;
  tally.census.exchanges = sums.exchanges;
  tally.census.omitted = sums.omittedNames;
  mergeSpan(tally.unread, sums.unread);
}
