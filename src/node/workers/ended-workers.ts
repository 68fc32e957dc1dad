import { type EarlyEnds, summedEarlyEnds } from '../../rewrite-log/metrics/stat-families.ts';
import { mergedRollouts, type WorkerRollout } from './merged-rollout.ts';
import type { WorkerStats } from './worker-messages.ts';

/** Sums of what workers counted that have ended: counts of a gateway never fall. */
export class EndedWorkers {
  /** Lines of the log that the first process did not take in time. */
  dropped = 0;
  cpuSeconds = 0;
  earlyEnds: EarlyEnds = summedEarlyEnds([]);
  rollout: WorkerRollout = mergedRollouts([]);

  /** Adds what a worker last reported. */
  add({ dropped, process, earlyEnds, rollout }: WorkerStats): void {
    this.dropped += dropped;
    this.cpuSeconds += process.cpuSeconds;
    this.earlyEnds = summedEarlyEnds([this.earlyEnds, earlyEnds]);
    this.rollout = mergedRollouts([this.rollout, rollout]);
  }
}
