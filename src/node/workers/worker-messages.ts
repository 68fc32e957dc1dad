import type { RolloutCounts } from '../../inspector/rollout-admin.ts';
import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import { entryLine, putListsBack, type SharedList } from '../../rewrite-log/entry-line.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import type { EarlyEnds, ProcessStats, ServiceContact } from '../../rewrite-log/metric-families.ts';
import type { CapturedExchange, CaptureLevel, Observer } from '../../rewrite-log/observer.ts';
import type { RolloutView } from '../../rollout/rollout-tally.ts';
import { ComparisonTally } from '../../rollout/comparison-tally.ts';
import type { SharedState, StateCall, StateNews } from '../../rollout/shared-state.ts';
import type { ReloadedFile } from '../clients/listen.ts';
import type { ProcessLine } from '../log/process-log.ts';
import type { CertificateUse, TlsTexts } from '../files.ts';
import type { LogQueue } from '../log/log-sink.ts';

/** Messages from the first process to a worker. */
export type ToWorker =
  /** The first message: the settings as flags, which take precedence over the shared environment. */
  | { readonly kind: 'start'; readonly flags: Readonly<Record<string, string>> }
  /** Read a file again. */
  | { readonly kind: 'reload'; readonly what: ReloadedFile }
  /** Use these certificates, which the first process has checked: a worker could read one file of a pair before the other is renewed. */
  | { readonly kind: 'renew'; readonly use: CertificateUse; readonly tls: TlsTexts }
  /** Hash API keys with this secret. */
  | { readonly kind: 'client-secret'; readonly secret: string }
  /** Encrypt TLS session tickets with these 48 bytes: a client may return to another worker. */
  | { readonly kind: 'ticket-keys'; readonly keys: Uint8Array }
  /** Finish requests in flight, then exit. */
  | { readonly kind: 'stop' }
  /** Close all connections, and exit at once. */
  | { readonly kind: 'destroy-all' }
  /** The report that the worker asked for. */
  | { readonly kind: 'own-report'; readonly id: number; readonly outcome: OwnReportOutcome }
  /** The outcome of a store call. */
  | { readonly kind: 'store-outcome'; readonly id: number; readonly outcome: StoreOutcome }
  /** A key's text in the store may have changed. */
  | { readonly kind: 'store-changed'; readonly key: string };

/** A worker's exchanges, gathered over some milliseconds, for the first process to log and observe. */
export interface WorkerReport extends EntryBatch {
  /** Content of sampled exchanges, by index of entry. */
  readonly captured: ReadonlyMap<number, CapturedExchange>;
  /** Indexes of entries that are only logged. */
  readonly unobserved: readonly number[];
}

/** State of a worker. */
export interface WorkerStats {
  readonly inFlight: number;
  readonly bufferedBytes: number;
  readonly breaker: 'closed' | 'open' | 'probing';
  readonly v1Breaker?: 'closed' | 'open' | 'probing' | undefined;
  readonly v2Contact?: ServiceContact | undefined;
  readonly v1Contact?: ServiceContact | undefined;
  readonly process: ProcessStats;
  /** Log lines since the start that the first process did not take in time. */
  readonly dropped: number;
  /** The last of them, in milliseconds since 1970. */
  readonly droppedAt?: number | undefined;
  readonly earlyEnds: EarlyEnds;
  readonly rollout: WorkerRollout;
}

/** Messages from a worker to the first process. */
export type FromWorker =
  | { readonly kind: 'listening'; readonly origin: string }
  /** The worker cannot start, and exits. */
  | { readonly kind: 'faults'; readonly faults: readonly string[] }
  | ({ readonly kind: 'seen' } & WorkerReport)
  /** A line of the process log. */
  | { readonly kind: 'process-line'; readonly line: ProcessLine }
  | { readonly kind: 'stats'; readonly stats: WorkerStats }
  /** A client asks for its own report, which only the first process has. */
  | {
      readonly kind: 'own-report';
      readonly id: number;
      readonly client: string;
      readonly type: OwnReportType;
    }
  /** A call to the first process's store. */
  | { readonly kind: 'store-call'; readonly id: number; readonly call: StoreCall };

/** True for any object on the channel: only the two processes write to it. */
export function isFromWorker(message: unknown): message is FromWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/** True for any object on the channel: only the two processes write to it. */
export function isToWorker(message: unknown): message is ToWorker {
  return typeof message === 'object' && message !== null && 'kind' in message;
}

/** A worker's rollout counts since its start. */
export interface WorkerRollout {
  readonly requests: { readonly v1: number; readonly v2: number };
  readonly shadows: RolloutView['shadows'];
}

/** Merges the counts of one gateway's processes; calls `workers` each time. */
export function mergedRollout(own: RolloutCounts, workers: () => readonly WorkerRollout[]): RolloutCounts {
  const all = (): WorkerRollout =>
    mergedRollouts([{ requests: own.requests, shadows: own.comparisons.list }, ...workers()]);
  return {
    get requests() {
      return all().requests;
    },
    comparisons: {
      get list() {
        return all().shadows;
      },
    },
    // The first process counts these from the entries of all workers.
    bodyChecks: own.bodyChecks,
  };
}

/** Adds up the counts of several workers. */
export function mergedRollouts(all: readonly WorkerRollout[]): WorkerRollout {
  const shadows = new ComparisonTally();
  for (const worker of all) shadows.merge(worker.shadows);
  return {
    requests: {
      v1: sum(all.map(({ requests }) => requests.v1)),
      v2: sum(all.map(({ requests }) => requests.v2)),
    },
    shadows: shadows.list,
  };
}

/** Adds up numbers. */
export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

/**
 * Entries on their way to another process. Entries of similar requests share their lists of edits, the longest part, so each list is sent
 * once. The rest is JSON text, which takes a quarter of the time of a structured clone of objects with fifty members.
 */
export interface EntryBatch {
  /** A JSON array of entries, with indexes in place of their lists. */
  readonly entries: string;
  /** New lists; the first one has the index `from`, and earlier lists with indexes from there on are forgotten. */
  readonly lists: readonly SharedList[];
  readonly from: number;
}

/** Maximum items of all remembered lists; beyond, both sides forget them. */
const MAX_ITEMS = 20_000;

/** Writes batches for one {@link EntryReader}, which reads all of them in order. */
export class EntryWriter {
  /** Number of entries in the current batch. */
  count = 0;
  private text = '';
  private lists: SharedList[] = [];
  private from = 0;
  private readonly indexes = new Map<SharedList, number>();
  private items = 0;

  get size(): number {
    return this.text.length;
  }

  /** Adds an entry to the batch, and returns its index. */
  add(entry: Entry): number {
    this.text += `${this.count === 0 ? '[' : ','}${entryLine(entry, this.indexOf)}`;
    this.count += 1;
    return this.count - 1;
  }

  /** Ends the batch, and begins the next one. */
  take(): EntryBatch {
    const { text, lists, from, indexes } = this;
    this.text = '';
    this.count = 0;
    this.lists = [];
    if (this.items > MAX_ITEMS) {
      indexes.clear();
      this.items = 0;
    }
    this.from = indexes.size;
    return { entries: text === '' ? '[]' : `${text}]`, lists, from };
  }

  private readonly indexOf = (list: SharedList): string => {
    const known = this.indexes.get(list);
    if (known !== undefined) return String(known);
    const index = this.indexes.size;
    this.indexes.set(list, index);
    this.lists.push(list);
    this.items += list.length;
    return String(index);
  };
}

/** Reads one writer's batches. Its entries share lists as the original ones did, so that caches by list work. */
export class EntryReader {
  private readonly lists: SharedList[] = [];

  read({ entries, lists, from }: EntryBatch): readonly Entry[] {
    this.lists.splice(from, Number.POSITIVE_INFINITY, ...lists);
    const all: readonly Entry[] = JSON.parse(entries);
    for (const entry of all) putListsBack(entry, this.lists);
    return all;
  }
}

/** The calls of a store that reach the first process. */
type RemoteStore = Pick<SharedState, 'read' | 'compareAndSet' | 'exchange'>;

/** A worker's call to the first process's store. */
type StoreCall = {
  readonly [Method in keyof RemoteStore]: {
    readonly method: Method;
    readonly args: Parameters<RemoteStore[Method]>;
  };
}[keyof RemoteStore];

/** The result of a store call, or its error. */
type StoreOutcome = { readonly value: unknown } | { readonly fault: string };

/** True for any object: only the first process writes to the channel. */
function isNews(value: unknown): value is StateNews {
  return typeof value === 'object' && value !== null && 'life' in value;
}

/** Carries out a call for a worker. Never rejects. */
export async function carryOutStoreCall(store: RemoteStore, call: StoreCall): Promise<StoreOutcome> {
  try {
    switch (call.method) {
      case 'read':
        return { value: await store.read(...call.args) };
      case 'compareAndSet':
        return { value: await store.compareAndSet(...call.args) };
      case 'exchange':
        return { value: await store.exchange(...call.args) };
    }
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}

/** A worker's access to the first process's store. */
export class StoreLink implements SharedState {
  private readonly send: (id: number, call: StoreCall) => void;
  private readonly pending = new Map<number, (outcome: StoreOutcome) => void>();
  private readonly subscribers = new Map<() => void, string>();
  private lastId = 0;

  /** `send` sends a call to the first process, whose reply has the same id. */
  constructor(send: (id: number, call: StoreCall) => void) {
    this.send = send;
  }

  async read(key: string): Promise<string | undefined> {
    const text = await this.call({ method: 'read', args: [key] });
    return typeof text === 'string' ? text : undefined;
  }

  async compareAndSet(...args: Parameters<SharedState['compareAndSet']>): Promise<boolean> {
    return (await this.call({ method: 'compareAndSet', args })) === true;
  }

  async exchange(call: StateCall): Promise<StateNews> {
    const news = await this.call({ method: 'exchange', args: [call] });
    if (!isNews(news)) throw new Error('the first process sent no news');
    return news;
  }

  subscribe(key: string, changed: () => void): () => void {
    const call = (): void => changed();
    this.subscribers.set(call, key);
    return () => void this.subscribers.delete(call);
  }

  async close(): Promise<void> {
    this.subscribers.clear();
  }

  /** Ends a call with its outcome. */
  settle(id: number, outcome: StoreOutcome): void {
    const done = this.pending.get(id);
    this.pending.delete(id);
    done?.(outcome);
  }

  /** Tells a key's subscribers that its text may have changed. */
  changed(key: string): void {
    for (const [call, subscribed] of this.subscribers) if (subscribed === key) call();
  }

  private async call(call: StoreCall): Promise<unknown> {
    this.lastId += 1;
    const id = this.lastId;
    const outcome = await new Promise<StoreOutcome>((resolve) => {
      this.pending.set(id, resolve);
      this.send(id, call);
    });
    if ('fault' in outcome) throw new Error(outcome.fault);
    return outcome.value;
  }
}

/** Parts of the process that a link needs. */
interface WorkerLinkParts {
  /** Sends over the channel, and calls back once it is written. */
  readonly send: (message: FromWorker, done: () => void) => void;
  /** The parts of an exchange to send with its entry. */
  readonly wanted: () => CaptureLevel;
  readonly bodyLimit: number;
  /** See `Observer.isSampled`. */
  readonly isSampled?: Observer['isSampled'];
  /** Asks the first process for a client's report. */
  readonly ownReport: (client: string, type: OwnReportType) => Promise<OwnReportOutcome>;
  /** The first process's store. */
  readonly store: SharedState;
}

/** Milliseconds over which entries are gathered. */
const GATHER_MS = 20;
/** Characters of gathered entries that are sent at once. */
const BATCH_BYTES = 64 * 1024;
/** Maximum characters of entries that wait for the first process. */
const QUEUE_BYTES = 8 * 1024 * 1024;

/**
 * A worker's log and observer. It sends entries to the first process, which alone writes the log and serves operators. Each entry is sent
 * once, at a fifth of the size of its line.
 */
export class WorkerLink implements LogQueue, Observer {
  dropped = 0;
  droppedAt: number | undefined = undefined;
  readonly bodyLimit: number;
  readonly isSampled: Observer['isSampled'];
  readonly ownReport: WorkerLinkParts['ownReport'];
  readonly store: SharedState;
  private readonly parts: WorkerLinkParts;
  private readonly writer = new EntryWriter();
  private captured = new Map<number, CapturedExchange>();
  private unobserved: number[] = [];
  /** The last logged entry, to be observed next. */
  private logged: Entry | undefined = undefined;
  private timer: NodeJS.Timeout | undefined = undefined;
  /** Characters that are sent and not yet received by the first process. */
  private underWay = 0;

  constructor(parts: WorkerLinkParts) {
    this.parts = parts;
    this.bodyLimit = parts.bodyLimit;
    this.isSampled = parts.isSampled;
    this.ownReport = parts.ownReport;
    this.store = parts.store;
  }

  /** Sends an entry to be logged. */
  record(entry: Entry): void {
    // If the first process does not keep up, messages to it must not pile up without limit.
    if (this.writer.size + this.underWay > QUEUE_BYTES) {
      this.dropped += 1;
      this.droppedAt = Date.now();
      return;
    }
    this.unobserved.push(this.writer.add(entry));
    this.logged = entry;
    this.timer ??= setTimeout(sendNow, GATHER_MS, this);
  }

  begin(): CaptureLevel {
    return this.parts.wanted();
  }

  /** Marks the last logged entry to be observed; ignores one that was dropped. */
  observe(entry: Entry, captured?: CapturedExchange): void {
    if (entry !== this.logged) return;
    const index = this.unobserved.pop();
    // A copy: `captured` is borrowed, and sent later.
    if (index !== undefined && captured !== undefined) this.captured.set(index, structuredClone(captured));
    if (this.writer.size >= BATCH_BYTES) this.send(noop);
  }

  /** No effect: the file belongs to the first process. */
  reopen(): boolean {
    return false;
  }

  flush(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const deadline = setTimeout(resolve, milliseconds);
      this.send(() => {
        clearTimeout(deadline);
        resolve();
      });
    });
  }

  /** Sends the gathered entries, and calls back once the first process has them. */
  send(done: () => void): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { captured, unobserved } = this;
    const { size } = this.writer;
    this.captured = new Map();
    this.unobserved = [];
    this.logged = undefined;
    this.underWay += size;
    this.parts.send({ kind: 'seen', captured, unobserved, ...this.writer.take() }, () => {
      this.underWay -= size;
      done();
    });
  }
}

function sendNow(link: WorkerLink): void {
  link.send(noop);
}

function noop(): void {}

/** Maximum time to wait for the first process, in milliseconds. */
const TIMEOUT_MS = 10_000;

/** A worker's requests to the first process for clients' own reports. */
export class ReportRequests {
  private readonly send: (message: FromWorker) => void;
  private readonly pending = new Map<number, (outcome: OwnReportOutcome) => void>();
  private lastId = 0;

  constructor(send: (message: FromWorker) => void) {
    this.send = send;
  }

  /** Asks for the report of the client with this hash; `busy` if the first process does not respond in time. */
  of(client: string, type: OwnReportType): Promise<OwnReportOutcome> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.settle(id, { kind: 'busy' }), TIMEOUT_MS);
      this.pending.set(id, (outcome) => {
        clearTimeout(timer);
        resolve(outcome);
      });
      this.send({ kind: 'own-report', id, client, type });
    });
  }

  /** Ends a request with its outcome. */
  settle(id: number, outcome: OwnReportOutcome): void {
    const done = this.pending.get(id);
    this.pending.delete(id);
    done?.(outcome);
  }
}
