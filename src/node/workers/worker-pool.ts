import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { OwnReportOutcome, OwnReportType } from '../../report/own-report.ts';
import type { Entry } from '../../rewrite-log/entry.ts';
import {
  type EarlyEnds,
  type GatewayStats,
  type ProcessStats,
  sharedContact,
  summedEarlyEnds,
} from '../../rewrite-log/metric-families.ts';
import type { Observer } from '../../rewrite-log/observer.ts';
import type { SharedState } from '../../rollout/shared-state.ts';
import { ROLLOUT_KEY } from '../../rollout/stored-rollout.ts';
import type { ListenAddress } from '../../settings/setting-kinds.ts';
import { type ClientListener, type ReloadedFile, requireFree } from '../clients/listen.ts';
import type { WriteProcessLine } from '../log/process-log.ts';
import type { TlsTexts } from '../files.ts';
import {
  carryOutStoreCall,
  EntryReader,
  type FromWorker,
  isFromWorker,
  mergedRollouts,
  sum,
  type ToWorker,
  type WorkerReport,
  type WorkerRollout,
  type WorkerStats,
} from './worker-messages.ts';

export interface WorkerPoolParts {
  readonly count: number;
  /** Starts a process with a channel to it. */
  readonly fork: () => ChildProcess;
  /** Settings for every worker, as flags. */
  readonly flags: Readonly<Record<string, string>>;
  /** Logs an entry. */
  readonly record: (entry: Entry) => void;
  readonly observe: Observer['observe'];
  /** Makes the report of the client with a hash, for a worker. */
  readonly ownReport: (client: string, type: OwnReportType) => Promise<OwnReportOutcome>;
  /** The store that all processes share, if any. */
  readonly store: SharedState | undefined;
  /** Called when a worker ends unexpectedly; its counts since `from` (milliseconds since 1970) may be lost. */
  readonly onLost?: ((number: number, from: number, how: string) => void) | undefined;
  readonly log: WriteProcessLine;
}

/** A worker that cannot start; the message says why. */
export class WorkerFault extends Error {
  override readonly name = 'WorkerFault';
}

/** Milliseconds before an ended worker starts again, doubling from the first value to the second. */
const BACK_OFF_MS = [100, 10_000] as const;
/** Milliseconds after which a worker's end counts as its first again. */
const SETTLED_MS = 60_000;

/** Milliseconds between two checks of the workers, which report about as often. */
const CHECK_MS = 1000;
/**
 * Checks in a row without a message from a worker until it no longer counts as ready, and until it is replaced: meanwhile, the kernel
 * still gives it new connections. They count checks instead of time, so that a pause of the whole machine does not count as silence. A
 * starting worker may take long on a busy machine.
 */
const UNREADY_CHECKS = 3;
const HUNG_CHECKS = 8;
const START_CHECKS = 60;

const BUSY = { kind: 'busy' } as const;

interface Worker {
  readonly number: number;
  readonly child: ChildProcess;
  readonly since: number;
  readonly reader: EntryReader;
  up: boolean;
  /** Time of its last message, in milliseconds since 1970. */
  heard: number;
  /** Checks since its last message. */
  silent: number;
  stats: WorkerStats | undefined;
}

/** Processes that share the clients' port (`SO_REUSEPORT`): the kernel spreads connections over them. */
export class WorkerPool implements ClientListener {
  readonly ended = new EndedWorkers();
  private readonly parts: WorkerPoolParts;
  private readonly workers = new Map<number, Worker>();
  private readonly ends = new Map<number, number>();
  private address: ListenAddress = { host: '127.0.0.1', port: 0 };
  private stopping = false;
  private checks: NodeJS.Timeout | undefined;
  /** A secret that has replaced that of the flags. */
  private clientSecret: string | undefined = undefined;
  private unsubscribe = (): void => {};
  /** Only with TLS. */
  private ticketKeys: Uint8Array | undefined = undefined;

  constructor(parts: WorkerPoolParts) {
    this.parts = parts;
  }

  get draining(): boolean {
    return (
      this.stopping || ![...this.workers.values()].some(({ up, silent }) => up && silent < UNREADY_CHECKS)
    );
  }

  /** Each worker's last reported state. */
  get stats(): readonly WorkerStats[] {
    return [...this.workers.values()].flatMap(({ stats }) => (stats === undefined ? [] : [stats]));
  }

  /** Log lines since the start that were lost between workers and this process. */
  get dropped(): number {
    return this.stats.reduce((sum, { dropped }) => sum + dropped, this.ended.dropped);
  }

  /** The last of them, in milliseconds since 1970. */
  get droppedAt(): number | undefined {
    return latest([this.ended.droppedAt, ...this.stats.map(({ droppedAt }) => droppedAt)]);
  }

  /** The workers' rollout counts since the start. */
  get rollouts(): readonly WorkerRollout[] {
    return [this.ended.rollout, ...this.stats.map(({ rollout }) => rollout)];
  }

  /** The process ids of the workers. */
  get pids(): readonly number[] {
    return [...this.workers.values()].flatMap(({ child }) => (child.pid === undefined ? [] : [child.pid]));
  }

  /** Starts the first worker, which chooses the port if it is 0, and then the others on the same port. If one cannot start, none is left. */
  async listen(address: ListenAddress): Promise<string> {
    this.address = address;
    await requireFree(address);
    this.checks = setInterval(() => this.check(), CHECK_MS).unref();
    this.unsubscribe =
      this.parts.store?.subscribe(ROLLOUT_KEY, () =>
        this.broadcast({ kind: 'store-changed', key: ROLLOUT_KEY }),
      ) ?? this.unsubscribe;
    try {
      const origin = await this.start(1);
      this.address = { host: address.host, port: Number(new URL(origin).port) };
      const others = Array.from({ length: this.parts.count - 1 }, (_, index) => this.start(index + 2));
      await Promise.all(others);
      return origin;
    } catch (error) {
      await this.drain(0);
      throw error;
    }
  }

  async drain(milliseconds: number): Promise<void> {
    this.stopping = true;
    this.unsubscribe();
    clearInterval(this.checks);
    const ended = [...this.workers.values()].map(({ child }) => once(child, 'exit'));
    this.broadcast({ kind: 'stop' });
    const deadline = setTimeout(() => this.kill(), milliseconds);
    await Promise.allSettled(ended);
    clearTimeout(deadline);
  }

  destroyAll(): void {
    this.stopping = true;
    this.broadcast({ kind: 'destroy-all' });
  }

  /** Ends workers that hang; their end starts others. */
  private check(): void {
    for (const worker of this.workers.values()) {
      worker.silent += 1;
      if (worker.silent >= limitOf(worker)) worker.child.kill('SIGKILL');
    }
  }

  private kill(): void {
    for (const { child } of this.workers.values()) child.kill('SIGKILL');
  }

  renew(tls: TlsTexts): void {
    this.broadcast({ kind: 'renew', use: 'clients', tls });
  }

  renewUpstream(tls: TlsTexts): void {
    this.broadcast({ kind: 'renew', use: 'v2', tls });
  }

  renewClientSecret(secret: string): void {
    this.clientSecret = secret;
    this.broadcast({ kind: 'client-secret', secret });
  }

  reload(what: ReloadedFile): void {
    this.broadcast({ kind: 'reload', what });
  }

  useTicketKeys(keys: Uint8Array): void {
    this.ticketKeys = keys;
    this.broadcast({ kind: 'ticket-keys', keys });
  }

  private start(number: number): Promise<string> {
    const child = this.parts.fork();
    const worker: Worker = {
      number,
      child,
      since: Date.now(),
      reader: new EntryReader(),
      up: false,
      heard: Date.now(),
      silent: 0,
      stats: undefined,
    };
    this.workers.set(number, worker);
    const { host, port } = this.address;
    const listen = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const renewed = this.clientSecret === undefined ? {} : { 'client-secret': this.clientSecret };
    send(child, { kind: 'start', flags: { ...this.parts.flags, ...renewed, listen } });
    return new Promise((resolve, reject) => {
      child.on('message', (message) => {
        if (isFromWorker(message)) this.handle(worker, message, resolve, reject);
      });
      const end = (reason: string): void => {
        const isHung = worker.silent >= limitOf(worker);
        const how = isHung ? `it hung: it sent no message for ${worker.silent} s` : reason;
        reject(new WorkerFault(`A worker ended while it started (${how}).`));
        this.handleEnd(worker, how);
      };
      child.on('exit', (code, signal) => end(signal ?? `exit code ${code}`));
      // A process that the kernel refuses, such as beyond a limit on their number, never exits.
      child.on('error', ({ message }) => {
        if (child.pid === undefined) end(message);
      });
    });
  }

  private handle(
    worker: Worker,
    message: FromWorker,
    listening: (origin: string) => void,
    failed: (error: Error) => void,
  ): void {
    worker.heard = Date.now();
    worker.silent = 0;
    switch (message.kind) {
      case 'listening':
        worker.up = true;
        if (this.ticketKeys !== undefined) send(worker.child, { kind: 'ticket-keys', keys: this.ticketKeys });
        listening(message.origin);
        return;
      case 'faults':
        failed(new WorkerFault(message.faults.join('\n')));
        return;
      case 'seen':
        this.take(worker.reader.read(message), message);
        return;
      case 'process-line':
        this.parts.log({
          ...message.line,
          message: `worker ${worker.number}: ${message.line.message}`,
          fields: { ...message.line.fields, worker: worker.number },
        });
        return;
      case 'stats':
        worker.stats = message.stats;
        return;
      case 'own-report':
        void this.report(worker, message);
        return;
      case 'store-call':
        void this.callStore(worker, message);
        return;
    }
  }

  private take(entries: readonly Entry[], { captured, unobserved }: WorkerReport): void {
    const isOnlyLogged = new Set(unobserved);
    for (const [index, entry] of entries.entries()) {
      this.parts.record(entry);
      if (!isOnlyLogged.has(index)) this.parts.observe(entry, captured.get(index));
    }
  }

  private async report(
    { child }: Worker,
    { id, client, type }: Extract<FromWorker, { kind: 'own-report' }>,
  ): Promise<void> {
    const outcome = await this.parts.ownReport(client, type).catch(() => BUSY);
    send(child, { kind: 'own-report', id, outcome });
  }

  private async callStore(
    { child }: Worker,
    { id, call }: Extract<FromWorker, { kind: 'store-call' }>,
  ): Promise<void> {
    const { store } = this.parts;
    const outcome =
      store === undefined ? { fault: 'there is no store' } : await carryOutStoreCall(store, call);
    send(child, { kind: 'store-outcome', id, outcome });
  }

  private handleEnd(worker: Worker, how: string): void {
    this.workers.delete(worker.number);
    if (worker.stats !== undefined) this.ended.add(worker.stats);
    // A first start that fails makes `listen` reject, because the settings would be the same each time.
    if (this.stopping || (!worker.up && !this.ends.has(worker.number))) return;
    if (worker.up) this.parts.onLost?.(worker.number, worker.heard, how);
    const before = Date.now() - worker.since > SETTLED_MS ? 0 : (this.ends.get(worker.number) ?? 0);
    this.ends.set(worker.number, before + 1);
    const delay = Math.min(BACK_OFF_MS[1], BACK_OFF_MS[0] * 2 ** before);
    this.logEnd(`worker ${worker.number} ended (${how}); another one starts in ${delay} ms.`);
    setTimeout(() => {
      if (this.stopping) return;
      this.start(worker.number).catch((error: unknown) =>
        this.logEnd(`worker ${worker.number}: ${error instanceof Error ? error.message : String(error)}`),
      );
    }, delay).unref();
  }

  private logEnd(message: string): void {
    this.parts.log({ level: 'error', event: 'worker-ended', message });
  }

  private broadcast(message: ToWorker): void {
    for (const { child } of this.workers.values()) send(child, message);
  }
}

function limitOf({ up }: Worker): number {
  return up ? HUNG_CHECKS : START_CHECKS;
}

/** Ignores a closed channel, which the worker's exit reports. */
function send(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message, () => {});
}

/** The counts of workers that have ended, because a gateway's counts must never fall. */
class EndedWorkers {
  /** Log lines that the first process did not take in time. */
  dropped = 0;
  droppedAt: number | undefined = undefined;
  cpuSeconds = 0;
  earlyEnds: EarlyEnds = summedEarlyEnds([]);
  rollout: WorkerRollout = mergedRollouts([]);

  /** Adds a worker's last report. */
  add({ dropped, droppedAt, process, earlyEnds, rollout }: WorkerStats): void {
    this.dropped += dropped;
    this.droppedAt = latest([this.droppedAt, droppedAt]);
    this.cpuSeconds += process.cpuSeconds;
    this.earlyEnds = summedEarlyEnds([this.earlyEnds, earlyEnds]);
    this.rollout = mergedRollouts([this.rollout, rollout]);
  }
}

/** A gateway's workers: the last stats of running ones, and the sums of ended ones. */
interface PoolStats {
  readonly stats: readonly WorkerStats[];
  readonly ended: Pick<EndedWorkers, 'cpuSeconds' | 'earlyEnds'>;
  /** Log lines lost between workers and this process. */
  readonly dropped: number;
  readonly droppedAt?: number | undefined;
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.max(...known);
}

/** Merges the stats of a gateway and of its workers, if it has any. */
export function mergedStats(own: GatewayStats, pool: PoolStats | undefined): GatewayStats {
  if (pool === undefined) return own;
  const { stats: workers, ended, dropped, droppedAt } = pool;
  return {
    ...own,
    inFlight: own.inFlight + sum(workers.map(({ inFlight }) => inFlight)),
    earlyEnds: summedEarlyEnds([
      own.earlyEnds,
      ended.earlyEnds,
      ...workers.map(({ earlyEnds }) => earlyEnds),
    ]),
    droppedLogLines: own.droppedLogLines + dropped,
    lastDroppedLine: latest([own.lastDroppedLine, droppedAt]),
    bufferedBytes: own.bufferedBytes + sum(workers.map(({ bufferedBytes }) => bufferedBytes)),
    breaker: worstBreaker([own.breaker, ...workers.map(({ breaker }) => breaker)]) ?? 'closed',
    v1Breaker: worstBreaker([own.v1Breaker, ...workers.map(({ v1Breaker }) => v1Breaker)]),
    v2Contact: sharedContact([own, ...workers].map(({ v2Contact }) => v2Contact)),
    v1Contact: sharedContact([own, ...workers].map(({ v1Contact }) => v1Contact)),
    process: mergedProcesses(
      [...(own.process === undefined ? [] : [own.process]), ...workers.map(({ process }) => process)],
      ended.cpuSeconds,
    ),
  };
}

/** Returns the worst state of several circuits to one service. */
function worstBreaker(states: readonly GatewayStats['v1Breaker'][]): GatewayStats['v1Breaker'] {
  return (['open', 'probing', 'closed'] as const).find((state) => states.includes(state));
}

function mergedProcesses(all: readonly ProcessStats[], endedCpuSeconds: number): ProcessStats {
  const [fullest] = all.toSorted((one, other) => shareOfFiles(other) - shareOfFiles(one));
  return {
    cpuSeconds: endedCpuSeconds + sum(all.map(({ cpuSeconds }) => cpuSeconds)),
    residentBytes: sum(all.map(({ residentBytes }) => residentBytes)),
    // All processes are in one container.
    limitBytes: all[0]?.limitBytes,
    heapBytes: sum(all.map(({ heapBytes }) => heapBytes)),
    startSeconds: Math.min(...all.map(({ startSeconds }) => startSeconds)),
    // The limit is per process, so these are from the one that is nearest to it.
    openFiles: fullest?.openFiles,
    maxFiles: fullest?.maxFiles,
    // The slowest event loop delays its own clients, even if the others are fast.
    loopDelaySeconds: Math.max(...all.map(({ loopDelaySeconds }) => loopDelaySeconds ?? 0)),
  };
}

function shareOfFiles({ openFiles = 0, maxFiles = Number.POSITIVE_INFINITY }: ProcessStats): number {
  return openFiles / maxFiles;
}
