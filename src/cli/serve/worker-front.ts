import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../../settings/read-settings.ts';
import { memoryShares } from '../../settings/memory-shares.ts';
import { workerDrainTime } from '../../settings/drain-times.ts';
import { settings as table } from '../../settings/settings.ts';
import { memoryLimit } from '../../node/memory-limit.ts';
import type { WriteProcessLine } from '../../node/log/process-log.ts';
import { WorkerPool, type WorkerPoolParts } from '../../node/workers/worker-pool.ts';
import type { Observer } from '../../rewrite-log/attributes/observer.ts';

/** The parts that the first process provides to its workers. */
export interface WorkerFrontParts {
  readonly settings: Settings;
  /** Values from the command line. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Scheme, host, port and path of V2. */
  readonly upstream: string;
  /** File or address of V2's description; undefined when there is none. */
  readonly v2Openapi: string | undefined;
  readonly clientSecret: string;
  /** See `WorkerPoolParts`. */
  readonly record: WorkerPoolParts['record'];
  readonly observer: Observer;
  /** See `WorkerPoolParts`. */
  readonly ownReport: WorkerPoolParts['ownReport'];
  /** See `WorkerPoolParts`. */
  readonly store: WorkerPoolParts['store'];
  /** See `WorkerPoolParts`. */
  readonly onLost: WorkerPoolParts['onLost'];
  readonly log: WriteProcessLine;
}

/** Returns the number of processes that the settings configure. */
export function workersOf(settings: Settings): number {
  const workers = settings.get(table.workers);
  return workers === 'auto' ? availableParallelism() : workers;
}

/** Creates the worker processes that clients connect to; undefined where one process is enough. */
export async function workerFront(parts: WorkerFrontParts): Promise<WorkerPool | undefined> {
  const { settings, flags, record, observer, log } = parts;
  const count = workersOf(settings);
  if (count === 1) return undefined;
  const { fork } = await import('node:child_process');
  const given = Object.fromEntries(
    Object.entries(flags).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  return new WorkerPool({
    count,
    fork: () =>
      fork(workerPath(), { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    flags: {
      ...given,
      upstream: parts.upstream,
      ...(parts.v2Openapi === undefined ? {} : { 'v2-openapi': parts.v2Openapi }),
      'client-secret': parts.clientSecret,
      // A container's limit applies to all processes together.
      'buffer-bytes': String(
        settings.get(table.bufferBytes) ?? memoryShares(memoryLimit(), count).bufferBytes,
      ),
      workers: '1',
      drain: String(workerDrainTime(settings.get(table.drain))),
      capture: settings.get(table.capture),
      'structure-rate': String(Math.ceil(settings.get(table.structureRate) / count)),
      'capture-body-limit': String(settings.get(table.captureBodyLimit)),
    },
    record,
    observe: (entry, captured) => observer.observe(entry, captured),
    ownReport: parts.ownReport,
    store: parts.store,
    onLost: parts.onLost,
    log,
  });
}

/** Path of the worker's entry module, in the sources or in the build output. */
function workerPath(): string {
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../worker.ts' : '../worker.js', import.meta.url),
  );
}
