import { randomBytes } from 'node:crypto';
import type { Settings } from '../settings/read-settings.ts';
import { type OriginSetting, originText } from '../settings/setting-kinds.ts';
import { settings as table } from '../settings/settings.ts';
import type { LifeCycle } from './life-cycle.ts';
import { loadInspectorPage } from './inspector-assets.ts';
import { type LogSink, openLogSink } from '../node/log/log-sink.ts';
import { type OpenRollout, openRollout } from '../node/rollout/open-rollout.ts';
import { mergedStats } from '../node/workers/merged-stats.ts';
import { openTraces, type Traces } from '../node/log/open-traces.ts';
import { createOperators } from '../node/admin/operators.ts';
import { ReferenceFault, type RunningReference, startReference } from '../node/reference/reference-server.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import { RuleBooks } from '../node/rule-books.ts';
import { type RunningGateway, startGateway } from '../node/start-gateway.ts';
import { WorkerFault, type WorkerPool } from '../node/workers/worker-pool.ts';
import { banner } from './banner.ts';
import { packageVersion } from './package-version.ts';
import { clientFiles, preflight } from './preflight.ts';
import { workerFront, type WorkerSide } from './worker-front.ts';

/** A gateway that serves, with the embedded V2 where there is no other. */
export interface Serving {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly life: LifeCycle;
  /** Where people are told things: stderr, without waiting for its reader. */
  readonly tell: (line: string) => void;
}

/** Bytes of log lines, and of lines for people, that wait for a slow reader. */
const LOG_QUEUE_BYTES = 8 * 1024 * 1024;
const NOTICE_QUEUE_BYTES = 256 * 1024;

/** Starts everything that the settings name, or finds every fault; nothing is left running then. */
export async function startServing(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
  worker?: WorkerSide,
): Promise<Serving | { readonly faults: readonly string[] }> {
  const people = openLogSink(2, { limit: NOTICE_QUEUE_BYTES, onNotice: () => {} });
  const tell = worker?.tell ?? ((line: string): void => people.write(`${line}\n`));
  const sound = await preflight(flags, environment);
  if ('faults' in sound) return sound;
  const { settings, rulesPath: path, ruleBook: first } = sound;
  const rollout = openRollout(settings, first.inForce.ruleBook, tell);
  if ('fault' in rollout) return { faults: [rollout.fault] };
  const sink = worker?.link ?? openSink(settings, tell);
  if ('fault' in sink) return { faults: [sink.fault] };
  const ruleBooks = new RuleBooks(
    first,
    async () => {
      const next = await loadRuleBook(path);
      const fault = 'faults' in next ? undefined : rollout.faultOf(next.inForce.ruleBook);
      return fault === undefined ? next : { faults: [fault] };
    },
    () => Date.now(),
  );
  let embedded: RunningReference | undefined;
  try {
    embedded = settings.get(table.upstream) === undefined ? await embed(settings, tell) : undefined;
    const clientSecret = settings.get(table.clientSecret) ?? randomBytes(32).toString('hex');
    const origin = originOf(settings, embedded);
    const traces =
      worker === undefined
        ? await openTraces(environment, packageVersion(), (trouble) => tell(`traces: ${trouble}.`))
        : undefined;
    const operators = createOperators({
      settings,
      ruleBooks,
      sink,
      origin: origin.origin,
      v1Origin: rollout.v1Origin?.origin,
      gatewayOrigin: () => running.origin,
      version: packageVersion(),
      page: once(loadInspectorPage),
      also: traces === undefined ? undefined : (entry) => traces.observe(entry),
      merge: (own) => mergedStats(own, front?.stats ?? [], front?.dropped ?? 0),
    });
    const front =
      worker === undefined
        ? workerFront({
            settings,
            flags,
            upstream: originText(origin),
            clientSecret,
            sink,
            observer: operators.observer,
            tell,
          })
        : undefined;
    const running: RunningGateway = await startGateway({
      settings,
      ruleBooks,
      origin,
      v1Origin: rollout.v1Origin,
      rollout: rollout.control,
      clientSecret,
      sink,
      upstreamTls: sound.upstreamTls,
      clientTls: sound.clientTls,
      observer: worker?.link ?? operators.observer,
      admin: operators.admin,
      front,
      isWorker: worker !== undefined,
      surprised: (error) =>
        tell(`bug: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
    });
    if (worker === undefined)
      tell(banner({ running, settings, ruleBooks, rulesPath: path, embedded: embedded?.origin }));
    const life = lifeOf({
      running,
      settings,
      ruleBooks,
      sink,
      people,
      tell,
      embedded,
      path,
      rollout,
      traces,
      front,
    });
    return { running, settings, ruleBooks, life, tell };
  } catch (error) {
    await embedded?.close();
    return { faults: [startFault(error)] };
  }
}

/** Does the work when its result is first asked for. */
function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | undefined;
  return () => (done ??= { result: work() }).result;
}

/** Reads the certificates for clients again; bad ones are refused, and the old ones stay. */
function renewTls(running: RunningGateway, settings: Settings, tell: (line: string) => void): void {
  const outcome = clientFiles(settings);
  if ('fault' in outcome) tell(`certificate refused: ${outcome.fault} The old one stays.`);
  else if (outcome.tls !== undefined) running.server.renew(outcome.tls);
}

function openSink(settings: Settings, tell: (line: string) => void): LogSink | { readonly fault: string } {
  const path = settings.get(table.logFile);
  try {
    return openLogSink(path ?? 1, {
      limit: LOG_QUEUE_BYTES,
      onNotice: (trouble) => tell(`log: ${trouble}.`),
    });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { fault: `--log-file cannot be opened for appending: ${path ?? 'stdout'} (${code}).` };
  }
}

function embed(settings: Settings, tell: (line: string) => void): Promise<RunningReference> {
  return startReference({
    db: settings.get(table.referenceDb),
    unknown: settings.get(table.referenceUnknown),
    rate: settings.get(table.referenceRate),
    report: (error) =>
      tell(`reference: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`),
  });
}

function originOf(settings: Settings, embedded: RunningReference | undefined): OriginSetting {
  const set = settings.get(table.upstream);
  if (set !== undefined) return set;
  return { origin: embedded?.origin ?? '', path: '' };
}

interface Parts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly sink: LogSink;
  readonly people: LogSink;
  readonly tell: (line: string) => void;
  readonly embedded: RunningReference | undefined;
  readonly path: string;
  readonly rollout: OpenRollout;
  readonly traces: Traces | undefined;
  readonly front: WorkerPool | undefined;
}

/** Milliseconds kept back from the drain time for writing the log's rest. */
const FLUSH_TIMEOUT_MS = 400;

function lifeOf({
  running,
  settings,
  ruleBooks,
  sink,
  people,
  tell,
  embedded,
  path,
  rollout,
  traces,
  front,
}: Parts): LifeCycle {
  return {
    watched: [path],
    drain: settings.get(table.drain),
    reload: async (why) => {
      const { changed, faults } = await ruleBooks.reload();
      for (const fault of faults) tell(`rule book refused: ${fault}`);
      if (faults.length > 0) tell(`rule book ${ruleBooks.current.ruleBook.hash} stays in force.`);
      else if (changed || why === 'SIGHUP') tell(`rule book ${ruleBooks.current.ruleBook.hash} is in force.`);
      renewTls(running, settings, tell);
      if (faults.length === 0) running.server.reload?.();
    },
    stop: async () => {
      tell('stopping: finishing what is in flight.');
      await running.stop();
      await rollout.close();
      await embedded?.close();
    },
    flush: async () => {
      const dropped = sink.dropped + (front?.dropped ?? 0);
      if (dropped > 0) tell(`log: ${dropped} lines were lost.`);
      await Promise.all([
        sink.flush(FLUSH_TIMEOUT_MS),
        people.flush(FLUSH_TIMEOUT_MS),
        traces?.close(FLUSH_TIMEOUT_MS),
      ]);
    },
  };
}

function startFault(error: unknown): string {
  if (error instanceof ReferenceFault || error instanceof WorkerFault) return error.message;
  if (error instanceof Error && 'code' in error && 'syscall' in error) {
    const where =
      'address' in error && 'port' in error ? ` on ${String(error.address)}:${String(error.port)}` : '';
    return `cannot listen${where} (${String(error.code)}); choose another address with --listen or --admin-listen.`;
  }
  throw error;
}
