import {
  type GatewayStats,
  type ProcessStats,
  summedEarlyEnds,
} from '../../rewrite-log/metrics/stat-families.ts';
import type { EndedWorkers } from './ended-workers.ts';
import type { WorkerStats } from './worker-messages.ts';

/** The workers of a gateway: the last stats of those that run, and the sums of those that have ended. */
export interface PoolStats {
  readonly stats: readonly WorkerStats[];
  readonly ended: Pick<EndedWorkers, 'cpuSeconds' | 'earlyEnds'>;
  /** Lines of the log that were lost on their way from the workers. */
  readonly dropped: number;
}

/** Merges the stats of a gateway and of its workers, if it has any. */
export function mergedStats(own: GatewayStats, pool: PoolStats | undefined): GatewayStats {
  if (pool === undefined) return own;
  const { stats: workers, ended, dropped } = pool;
  const breakers = [own.breaker, ...workers.map(({ breaker }) => breaker)];
  return {
    ...own,
    inFlight: own.inFlight + sum(workers.map(({ inFlight }) => inFlight)),
    earlyEnds: summedEarlyEnds([
      own.earlyEnds,
      ended.earlyEnds,
      ...workers.map(({ earlyEnds }) => earlyEnds),
    ]),
    droppedLogLines: own.droppedLogLines + dropped,
    bufferedBytes: own.bufferedBytes + sum(workers.map(({ bufferedBytes }) => bufferedBytes)),
    breaker:
      breakers.find((state) => state === 'open') ?? breakers.find((state) => state === 'probing') ?? 'closed',
    process: mergedProcesses(
      [...(own.process === undefined ? [] : [own.process]), ...workers.map(({ process }) => process)],
      ended.cpuSeconds,
    ),
  };
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
    // The limit is that of each process: those of the one that is nearest to it.
    openFiles: fullest?.openFiles,
    maxFiles: fullest?.maxFiles,
    // The slowest event loop delays its own clients, however punctual the others are.
    loopDelaySeconds: Math.max(...all.map(({ loopDelaySeconds }) => loopDelaySeconds ?? 0)),
  };
}

function shareOfFiles({ openFiles = 0, maxFiles = Number.POSITIVE_INFINITY }: ProcessStats): number {
  return openFiles / maxFiles;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
