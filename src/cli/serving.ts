// Longer than other files: the order in which everything starts and stops is one story.
import { randomBytes } from 'node:crypto';
import type { Entry } from '../rewrite-log/entry.ts';
import { encodedLine } from '../rewrite-log/encoded-entry.ts';
import { logWriter } from '../rewrite-log/log-writer.ts';
import type { Settings } from '../settings/read-settings.ts';
import { type OriginSetting, originText } from '../settings/setting-kinds.ts';
import { settings as table } from '../settings/settings.ts';
import type { LifeCycle } from './life-cycle.ts';
import { loadInspectorPage } from './inspector-assets.ts';
import { allocateYoung } from '../node/allocate-young.ts';
import { type LogQueue, openLogSink } from '../node/log/log-sink.ts';
import { type OpenRollout, openRollout } from '../node/rollout/open-rollout.ts';
import { mergedRollout } from '../node/workers/merged-rollout.ts';
import { mergedStats } from '../node/workers/merged-stats.ts';
import { openTraces, type Traces } from '../node/log/open-traces.ts';
import { createOperators } from '../node/admin/operators.ts';
import { ReferenceFault } from '../node/reference/reference-fault.ts';
import type { RunningReference } from '../node/reference/reference-server.ts';
import { loadRuleBook } from '../node/rule-book-file.ts';
import { RuleBooks } from '../node/rule-books.ts';
import { type RunningGateway, startGateway } from '../node/start-gateway.ts';
import { noticeLine } from '../gateway/notice.ts';
import { LimitedLines } from '../node/log/limited-lines.ts';
import type { ProcessEvent, ProcessLevel, WriteProcessLine } from '../node/log/process-log.ts';
import type { TlsTexts } from '../node/tls-files.ts';
import type { WorkerLink } from '../node/workers/worker-link.ts';
import { WorkerFault, type WorkerPool } from '../node/workers/worker-pool.ts';
import { startedLine } from './banner.ts';
import { packageVersion } from './package-version.ts';
import { clientFiles, preflight, upstreamFiles } from './preflight.ts';
import type { ProcessLog } from './process-log.ts';
import { rowWriter } from './row-writer.ts';
import { terminalOf } from './terminal.ts';
import type { V2Description } from './v2-description.ts';
import { workerFront, workersOf } from './worker-front.ts';
import { counted } from '../report/number-text.ts';

/** A serving gateway, with the embedded V2 when no other is configured. */
export interface Serving {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly life: LifeCycle;
}

/** Maximum bytes of rewrite log lines that are queued for a slow reader. */
const LOG_QUEUE_BYTES = 8 * 1024 * 1024;

/**
 * Starts everything that the settings configure. On failure, returns every fault and leaves nothing running. `worker` is set in
 * one of several worker processes.
 */
export async function startServing(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
  log: ProcessLog,
  worker?: WorkerLink,
): Promise<Serving | { readonly faults: readonly string[] }> {
  allocateYoung();
  const limited = new LimitedLines(log.write);
  const onUnexpectedError = (error: unknown): void => reportBug(limited, error);
  const checked = await preflight(flags, environment);
  if ('faults' in checked) return checked;
  const { settings, rulesPath: path, ruleBook: first } = checked;
  const rollout = await openRollout(settings, first.rules.ruleBook, log.write, {
    processes: workersOf(settings),
    store: worker?.store,
  });
  if ('fault' in rollout) return { faults: [rollout.fault] };
  const rewriteLog = worker ?? openRewriteLog(settings, log.write);
  if ('fault' in rewriteLog) {
    await rollout.close();
    return { faults: [rewriteLog.fault] };
  }
  const ruleBooks = new RuleBooks(
    first,
    async () => {
      const next = await loadRuleBook(path);
      const fault = 'faults' in next ? undefined : rollout.faultOf(next.rules.ruleBook);
      return fault === undefined ? next : { faults: [fault] };
    },
    () => Date.now(),
  );
  let embedded: RunningReference | undefined;
  try {
    embedded = settings.get(table.upstream) === undefined ? await embed(settings, log.write) : undefined;
    const clientSecret = settings.get(table.clientSecret) ?? randomBytes(32).toString('hex');
    const origin = originOf(settings, embedded);
    const description = await openDescription(settings, embedded, log.write);
    if (description !== undefined && 'fault' in description) {
      await Promise.all([rollout.close(), embedded?.close()]);
      return { faults: [description.fault] };
    }
    const traces =
      worker === undefined
        ? await openTraces(environment, packageVersion(), (trouble) =>
            log.write({ level: 'warn', event: 'trace-trouble', message: `traces: ${trouble}.` }),
          )
        : undefined;
    const operators = await createOperators({
      settings,
      ruleBooks,
      sink: rewriteLog,
      origin: origin.origin,
      v1Origin: rollout.v1Origin?.origin,
      replica: rollout.replica,
      records: rollout.records,
      log: log.write,
      gatewayOrigin: () => running.origin,
      version: packageVersion(),
      page: once(loadInspectorPage),
      onEntry: traces === undefined ? undefined : (entry) => traces.observe(entry),
      isSampled: traces?.isSampled,
      merge: (own) => mergedStats(own, front),
      mergeRollout: (own) => mergedRollout(own, () => front?.rollouts ?? []),
    });
    const front =
      worker === undefined
        ? await workerFront({
            settings,
            flags,
            upstream: originText(origin),
            v2Openapi: descriptionSource(settings, embedded),
            clientSecret,
            record: (entry) => rewriteLog.record(entry),
            observer: operators.observer,
            ownReport: operators.ownReport,
            store: rollout.store,
            log: log.write,
          })
        : undefined;
    const running: RunningGateway = await startGateway({
      settings,
      ruleBooks,
      origin,
      v1Origin: rollout.v1Origin,
      rollout: rollout.control,
      replica: rollout.replica,
      v2Schemas: description && (() => description.schemas),
      clientSecret,
      record: (entry) => rewriteLog.record(entry),
      upstreamTls: checked.upstreamTls,
      clientTls: checked.clientTls,
      observer: worker ?? operators.observer,
      admin: operators.admin,
      ownReport: worker?.ownReport ?? operators.ownReport,
      front,
      isWorker: worker !== undefined,
      onNotice: (notice) => {
        const { key, ...line } = noticeLine(notice);
        limited.add(key, line);
      },
      onUnexpectedError,
    });
    if (worker === undefined)
      log.write(
        startedLine({
          running,
          settings,
          ruleBooks,
          rulesPath: path,
          embedded: embedded?.origin,
          columns: terminalOf(process.stderr).columns,
        }),
      );
    const endSharing = operators.share();
    const life = lifeOf({
      running,
      settings,
      ruleBooks,
      rewriteLog,
      log,
      onUnexpectedError,
      embedded,
      path,
      rollout,
      traces,
      front,
      description,
      endSharing,
    });
    return { running, settings, ruleBooks, life };
  } catch (error) {
    await Promise.all([rollout.close(), embedded?.close()]);
    return { faults: [startFault(error)] };
  }
}

/** Computes the result on the first call and caches it. */
function once<Result>(work: () => Result): () => Result {
  let done: { readonly result: Result } | undefined;
  return () => (done ??= { result: work() }).result;
}

/** Reloads the TLS certificates for clients and for V2; invalid ones are refused, and the current ones stay in use. */
function reloadTls(running: RunningGateway, settings: Settings, log: WriteProcessLine): void {
  const reload = (outcome: ReturnType<typeof clientFiles>, renew: (tls: TlsTexts) => void): void => {
    if ('fault' in outcome)
      log({
        level: 'error',
        event: 'certificate-refused',
        message: `certificate refused: ${outcome.fault} The current one stays in use.`,
      });
    else if (outcome.tls !== undefined) renew(outcome.tls);
  };
  reload(clientFiles(settings), (tls) => running.server.renew(tls));
  reload(upstreamFiles(settings), (tls) => running.renewUpstream(tls));
}

/** Where entries are logged: in this process, or by way of the first one. */
interface RewriteLog extends LogQueue {
  record(entry: Entry): void;
}

function openRewriteLog(settings: Settings, log: WriteProcessLine): RewriteLog | { readonly fault: string } {
  const path = settings.get(table.logFile);
  try {
    const sink = openLogSink(path ?? 1, {
      limit: LOG_QUEUE_BYTES,
      onNotice: (trouble) => log({ level: 'warn', event: 'log-trouble', message: `log: ${trouble}.` }),
    });
    const isTerminal = path === undefined && process.stdout.isTTY;
    const writeRow = rowWriter(sink, () => terminalOf(process.stdout));
    return {
      record: logWriter(
        settings.get(table.rewriteLogLevel),
        isTerminal ? writeRow : (entry) => sink.writeEncoded(encodedLine(entry)),
      ),
      get dropped() {
        return sink.dropped;
      },
      flush: (milliseconds) => sink.flush(milliseconds),
      reopen: () => sink.reopen(),
    };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { fault: `--log-file cannot be opened for appending: ${path ?? 'stdout'} (${code}).` };
  }
}

/** Reopens the log file, because it may have been renamed. */
function reopenLog(rewriteLog: RewriteLog, log: WriteProcessLine): void {
  try {
    if (rewriteLog.reopen())
      log({ level: 'info', event: 'log-reopened', message: 'log: the log file was reopened.' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const message = `log: the log file cannot be reopened (${code}); lines go to the old one.`;
    log({ level: 'error', event: 'log-trouble', message });
  }
}

/** Reports an unexpected error. Repetitions are only counted, so that an attacker cannot fill the log. */
function reportBug(limited: LimitedLines, error: unknown): void {
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  limited.add(`bug ${message}`, {
    level: 'error',
    event: 'unexpected-error',
    message: `bug: ${message}`,
    fields: { stack },
  });
}

async function embed(settings: Settings, log: WriteProcessLine): Promise<RunningReference> {
  const { startReference } = await import('../node/reference/reference-server.ts');
  return startReference({
    db: settings.get(table.referenceDb),
    unknown: settings.get(table.referenceUnknown),
    rate: settings.get(table.referenceRate),
    releases: settings.get(table.referenceRelease),
    readOnlyKeys: settings.get(table.referenceReadOnly),
    failingKeys: settings.get(table.referenceFailing),
    report: (error) =>
      log({
        level: 'error',
        event: 'reference-error',
        message: `reference: ${error instanceof Error ? error.message : String(error)}`,
        fields: { stack: error instanceof Error ? error.stack : undefined },
      }),
  });
}

function originOf(settings: Settings, embedded: RunningReference | undefined): OriginSetting {
  const set = settings.get(table.upstream);
  if (set !== undefined) return set;
  return { origin: embedded?.origin ?? '', path: '' };
}

/** V2's description, for bodies that V1 gets instead of V2; the embedded reference has its own. */
async function openDescription(
  settings: Settings,
  embedded: RunningReference | undefined,
  log: WriteProcessLine,
): Promise<V2Description | { readonly fault: string } | undefined> {
  if (settings.get(table.v1Upstream) === undefined) return undefined;
  const source = descriptionSource(settings, embedded);
  if (source === undefined) return undefined;
  const description = await import('./v2-description.ts');
  return description.V2Description.open(source, log);
}

function descriptionSource(settings: Settings, embedded: RunningReference | undefined): string | undefined {
  return settings.get(table.v2Openapi) ?? (embedded && `${embedded.origin}/api/v2/openapi.json`);
}

interface Parts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly rewriteLog: RewriteLog;
  readonly log: ProcessLog;
  readonly onUnexpectedError: (error: unknown) => void;
  readonly embedded: RunningReference | undefined;
  readonly path: string;
  readonly rollout: OpenRollout;
  readonly traces: Traces | undefined;
  readonly front: WorkerPool | undefined;
  readonly description: V2Description | undefined;
  /** Adds the last counts to those of all replicas. */
  readonly endSharing: () => Promise<void>;
}

/** Milliseconds of the drain time that are reserved for flushing the log. */
const FLUSH_TIMEOUT_MS = 400;

function lifeOf({
  running,
  settings,
  ruleBooks,
  rewriteLog,
  log,
  onUnexpectedError,
  embedded,
  path,
  rollout,
  traces,
  front,
  description,
  endSharing,
}: Parts): LifeCycle {
  const reloadCertificates = (): void => reloadTls(running, settings, log.write);
  return {
    watched: [path],
    drain: settings.get(table.drain),
    onUnexpectedError,
    reload: async (why) => {
      // First, because the log rotator may be about to compress the old file.
      if (why === 'SIGHUP') reopenLog(rewriteLog, log.write);
      const { changed, wasRefused, faults } = await ruleBooks.reload();
      const { hash } = ruleBooks.current.ruleBook;
      const logReload = (level: ProcessLevel, event: ProcessEvent, message: string): void =>
        log.write({ level, event, message, fields: { ruleBook: hash } });
      for (const fault of faults) logReload('error', 'rule-book-refused', `rule book refused: ${fault}`);
      if (faults.length > 0) logReload('error', 'rule-book-refused', `rule book ${hash} stays in force.`);
      else if (changed || wasRefused || why === 'SIGHUP')
        logReload('info', 'rule-book-in-force', `rule book ${hash} is in force.`);
      reloadCertificates();
      if (why === 'SIGHUP') await description?.reload();
      running.server.reload?.(faults.length === 0 ? 'all' : 'certificates');
    },
    reloadCertificates,
    cut: () => running.server.cut(),
    stop: async () => {
      log.write({
        level: 'info',
        event: 'draining',
        message: 'stopping: finishing requests in flight.',
        fields: { inFlight: running.gateway.inFlight },
      });
      await running.stop();
      const { unfinished = 0 } = running.server;
      if (unfinished > 0) {
        log.write({
          level: 'warn',
          event: 'drain-ended',
          message: `stopping: the drain time is over; requests that were not finished, and ended with their connections: ${unfinished}.`,
          fields: { inFlight: unfinished },
        });
      }
      description?.close();
      await endSharing();
      await rollout.close();
      await embedded?.close();
    },
    flush: async () => {
      const dropped = rewriteLog.dropped + (front?.dropped ?? 0);
      if (dropped > 0) {
        const message = `log: ${counted(dropped, 'line')} ${dropped === 1 ? 'was' : 'were'} lost.`;
        log.write({ level: 'warn', event: 'log-trouble', message, fields: { dropped } });
      }
      log.write({ level: 'info', event: 'stopped', message: 'stopped.' });
      await Promise.all([
        rewriteLog.flush(FLUSH_TIMEOUT_MS),
        log.flush(FLUSH_TIMEOUT_MS),
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
