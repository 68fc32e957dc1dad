import type { GatewayStats, ProcessStats } from '../../rewrite-log/stat-families.ts';
import type { WorkerStats } from './worker-messages.ts';

/** Merges the stats of a gateway and of its workers; `dropped` lines were lost on their way from the workers. */
export function mergedStats(
  own: GatewayStats,
  workers: readonly WorkerStats[],
  dropped: number,
): GatewayStats {
  if (workers.length === 0) return own;
  const breakers = [own.breaker, ...workers.map(({ breaker }) => breaker)];
  return {
    ...own,
    inFlight: own.inFlight + sum(workers.map(({ inFlight }) => inFlight)),
    droppedLogLines: own.droppedLogLines + dropped,
    bufferedBytes: own.bufferedBytes + sum(workers.map(({ bufferedBytes }) => bufferedBytes)),
    breaker:
      breakers.find((state) => state === 'open') ?? breakers.find((state) => state === 'probing') ?? 'closed',
    process: mergedProcesses([
      ...(own.process === undefined ? [] : [own.process]),
      ...workers.map(({ process }) => process),
    ]),
  };
}

function mergedProcesses(all: readonly ProcessStats[]): ProcessStats {
  return {
    cpuSeconds: sum(all.map(({ cpuSeconds }) => cpuSeconds)),
    residentBytes: sum(all.map(({ residentBytes }) => residentBytes)),
    // All processes are in one container.
    limitBytes: all[0]?.limitBytes,
    heapBytes: sum(all.map(({ heapBytes }) => heapBytes)),
    startSeconds: Math.min(...all.map(({ startSeconds }) => startSeconds)),
    openFiles: sum(all.map(({ openFiles }) => openFiles ?? 0)),
    maxFiles: Math.min(...all.map(({ maxFiles }) => maxFiles ?? Number.POSITIVE_INFINITY)),
    // The slowest event loop delays its own clients, however punctual the others are.
    loopDelaySeconds: Math.max(...all.map(({ loopDelaySeconds }) => loopDelaySeconds ?? 0)),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
