import type { RecordStore } from '../../rollout/record-store.ts';
import { repeat } from '../../rollout/repeat.ts';
import { type ReplicaClock, StoreContact } from '../../rollout/store-contact.ts';
import type { ClientTally } from '../tally/client-tally.ts';
import {
  type BatchOwner,
  changesOf,
  countsOf,
  type FleetBatch,
  type FleetCounts,
  noCounts,
  takeBatch,
} from './fleet-batch.ts';
import { FleetCopy } from './fleet-copy.ts';
import { fleetCoverage } from './fleet-coverage.ts';
import { fleetClient, fleetSums, fleetTally, type TallyParts } from './fleet-tally.ts';
import { replicaKey } from './record-keys.ts';
import { readReplicas, type ReplicaFigures, type ReplicaRecord } from './replica-record.ts';
import type { ReadTotals, ReportCoverage, ReportTotals } from '../report-totals.ts';
import type { Tally } from '../tally/tally.ts';

/** Parts of the totals of a fleet. */
export interface FleetTotalsParts {
  readonly records: RecordStore;
  readonly clock: ReplicaClock;
  /** Name of this replica, for people. */
  readonly name: string;
  /** Id of this process: another one after each start. */
  readonly id: string;
  /** Milliseconds after which a client that is not seen is forgotten. */
  readonly keepMs: number;
  /** Called when counts can no longer be added, with the reason, and when they can again, with the milliseconds in between. */
  readonly onLost: (reason: string) => void;
  readonly onFound: (aloneMs: number) => void;
  /** The counts since the last call of `take`. */
  readonly own: () => Tally;
  /** Returns these counts, and begins new ones. */
  readonly take: () => Tally;
}

/** Milliseconds between two additions; longer where many replicas share the store. */
const INTERVAL_MS = 2000;
const INTERVAL_PER_REPLICA_MS = 20;
/** Milliseconds that one call of the store may take. */
const TIMEOUT_MS = 2000;
/** Records of one call. */
const PAGE = 32;
/** Characters a second that a replica writes, and reads. */
const WRITE_RATE = 256 * 1024;
const READ_RATE = 2 * 1024 * 1024;
/** Attempts to add one batch while others change the same records, and the longest time between two, in milliseconds. */
const MAX_ATTEMPTS = 12;
const MAX_BACK_OFF_MS = 400;
/** Milliseconds for the last additions of a process that stops. */
const LAST_MS = 2000;

/**
 * The totals of all replicas that share a store. Each counts by itself, and adds what is new to records of all, now and then and
 * beside the requests: a record is only replaced by who knows it, and each batch has a number, so that it is added exactly once. A
 * process that starts again goes on where the records are.
 */
export class FleetTotals implements ReportTotals {
  private readonly parts: FleetTotalsParts;
  private readonly contact: StoreContact;
  private readonly copy = new FleetCopy();
  private readonly startedAt: number;
  /** Taken, and in no batch yet. */
  private pending: FleetCounts = noCounts();
  private batch: FleetBatch | undefined;
  private takenAt: number;
  /** Number of the last batch that was added, and the time up to which everything is. */
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

  /** Reads what others added, and adds what this replica counted; while that is under way, resolves with it. Never rejects. */
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
        // What was added just before may be in no copy.
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

  /** Adds a batch once, however often others change the same records; returns what was written. */
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

  /** Number of the last batch of this process in the records. */
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
