import { readdirSync, readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { ProcessStats } from '../../rewrite-log/stat-families.ts';

/** Watches the process; each call gives the figures of the moment, and the loop's delay since the call before. */
export function watchProcess(): () => ProcessStats {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  const startSeconds = Date.now() / 1000 - process.uptime();
  const maxFiles = openFilesLimit();
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const loopDelaySeconds = delay.count === 0 ? 0 : delay.percentile(99) / 1e9;
    delay.reset();
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      heapBytes: heapUsed,
      startSeconds,
      openFiles: openFiles(),
      maxFiles,
      loopDelaySeconds,
    };
  };
}

/** Only Linux tells, under /proc. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}

function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? undefined : Number(limit);
  } catch {
    return undefined;
  }
}
