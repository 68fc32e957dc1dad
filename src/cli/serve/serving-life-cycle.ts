import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import type { OpenRollout } from '../../node/rollout/open-rollout.ts';
import type { Traces } from '../../node/log/traces.ts';
import type { RunningReference } from '../../node/reference/reference-server.ts';
import type { RuleBooks } from '../../node/rule-books.ts';
import type { RunningGateway } from '../../node/start-gateway.ts';
import type { ProcessEvent, ProcessLevel, WriteProcessLine } from '../../node/log/process-log.ts';
import type { TlsTexts } from '../../node/tls-files.ts';
import type { WorkerPool } from '../../node/workers/worker-pool.ts';
import { counted } from '../../report/text/number-text.ts';
import type { LifeCycle } from '../life-cycle.ts';
import { type RewriteLog, reopenLog } from './open-rewrite-log.ts';
import { clientFiles, upstreamFiles } from './preflight.ts';
import type { ProcessLog } from '../process-log.ts';
import type { V2Description } from './v2-description.ts';

/** Everything that reloads and stops with a serving gateway. */
export interface ServingParts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly ruleBooks: RuleBooks;
  readonly rewriteLog: RewriteLog;
  readonly log: ProcessLog;
  readonly onUnexpectedError: (error: unknown) => void;
  readonly embedded: RunningReference | undefined;
  readonly rulesPath: string;
  readonly rollout: OpenRollout;
  readonly traces: Traces | undefined;
  readonly front: WorkerPool | undefined;
  readonly description: V2Description | undefined;
  /** Adds the last counts to those of all replicas. */
  readonly endSharing: () => Promise<void>;
}

/** Milliseconds of the drain time that are reserved for flushing each log. */
const FLUSH_TIMEOUT_MS = 300;

/** Returns how a serving gateway reloads, stops and flushes its logs. */
export function servingLifeCycle(parts: ServingParts): LifeCycle {
  const { running, settings, log } = parts;
  return {
    watched: [parts.rulesPath],
    drain: settings.get(table.drain),
    onUnexpectedError: parts.onUnexpectedError,
    reload: (why) => reload(parts, why),
    reloadCertificates: () => reloadTls(running, settings, log.write),
    cut: () => running.server.cut(),
    stop: () => stop(parts),
    flush: () => flush(parts),
  };
}

async function reload(parts: ServingParts, why: 'SIGHUP' | 'changed'): Promise<void> {
  const { running, settings, ruleBooks, rewriteLog, log, description } = parts;
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
  reloadTls(running, settings, log.write);
  if (why === 'SIGHUP') await description?.reload();
  running.server.reload?.(faults.length === 0 ? 'all' : 'certificates');
}

async function stop(parts: ServingParts): Promise<void> {
  const { running, log, description, endSharing, rollout, embedded } = parts;
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
}

async function flush({ rewriteLog, front, log, traces }: ServingParts): Promise<void> {
  await Promise.all([rewriteLog.flush(FLUSH_TIMEOUT_MS), traces?.close(FLUSH_TIMEOUT_MS)]);
  const dropped = rewriteLog.dropped + (front?.dropped ?? 0);
  if (dropped > 0) {
    const message = `log: ${counted(dropped, 'line')} ${dropped === 1 ? 'was' : 'were'} lost.`;
    log.write({ level: 'warn', event: 'log-trouble', message, fields: { dropped } });
  }
  log.write({ level: 'info', event: 'stopped', message: 'stopped.' });
  await log.flush(FLUSH_TIMEOUT_MS);
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
