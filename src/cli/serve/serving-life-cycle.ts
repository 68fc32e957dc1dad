import type { Settings } from '../../settings/read-settings.ts';
import { settings as table } from '../../settings/settings.ts';
import type { OpenRollout } from '../../node/rollout/open-rollout.ts';
import type { Traces } from '../../node/log/traces.ts';
import type { RunningReference } from '../../node/reference/reference-server.ts';
import type { RunningGateway } from '../../node/start-gateway.ts';
import type { CertificatesInUse } from '../../node/tls-files.ts';
import type { WorkerPool } from '../../node/workers/worker-pool.ts';
import { counted } from '../../report/text/number-text.ts';
import type { LifeCycle } from '../life-cycle.ts';
import { type RewriteLog, reopenLog } from './open-rewrite-log.ts';
import type { ProcessLog } from '../process-log.ts';
import type { ServingFiles } from './serving-files.ts';
import type { V2Description } from './v2-description.ts';

/** Everything that reloads and stops with a serving gateway. */
export interface ServingParts {
  readonly running: RunningGateway;
  readonly settings: Settings;
  readonly rewriteLog: RewriteLog;
  readonly log: ProcessLog;
  readonly onUnexpectedError: (error: unknown) => void;
  readonly embedded: RunningReference | undefined;
  readonly files: ServingFiles;
  readonly certificates: CertificatesInUse;
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
  const { running, settings, log, files, certificates, rewriteLog } = parts;
  const warnOfEnds = (): void => {
    for (const line of certificates.dueLines(Date.now())) log.write(line);
  };
  warnOfEnds();
  setInterval(warnOfEnds, CERTIFICATE_CHECK_MS).unref();
  return {
    watched: files.watched,
    drain: settings.get(table.drain),
    onUnexpectedError: parts.onUnexpectedError,
    onHangup: () => {
      // First, because the log rotator may be about to compress the old file.
      reopenLog(rewriteLog, log.write);
      return files.reload();
    },
    reloadFile: (what) => files.reloadFile(what),
    cut: () => running.server.cut(),
    stop: () => stop(parts),
    flush: () => flush(parts),
  };
}

/** Milliseconds between two looks at the ends of certificates. */
const CERTIFICATE_CHECK_MS = 3_600_000;

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
