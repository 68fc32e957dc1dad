import { readdirSync } from 'node:fs';
import type { ProcessStats } from '../../rewrite-log/metrics/stat-families.ts';
import { openFilesLimit } from '../connection-limits.ts';
import { memoryLimit } from '../memory-limit.ts';
import { watchLoopDelay } from './loop-delay.ts';

/** Watches the process; each call returns the current figures. */
export function watchProcess(): () => ProcessStats {
  const loopDelay = watchLoopDelay();
  const startSeconds = Date.now() / 1000 - process.uptime();
  const maxFiles = openFilesLimit();
  const limitBytes = memoryLimit();
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      limitBytes,
      heapBytes: heapUsed,
      startSeconds,
      openFiles: openFiles(),
      maxFiles,
      loopDelaySeconds: loopDelay(),
    };
  };
}

/** Only Linux provides this, under /proc. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
