import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { until } from './until.ts';

/**
 * Makes a memory cgroup (v1 or v2) that goes with the test; returns the file that a process writes its id to. Undefined where none can
 * be had: it takes root.
 */
export function memoryGroup(limitBytes: number): string | undefined {
  const isFirst = existsSync('/sys/fs/cgroup/memory/memory.limit_in_bytes');
  const folder = `/sys/fs/cgroup/${isFirst ? 'memory/' : ''}gateway-test-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/${isFirst ? 'memory.limit_in_bytes' : 'memory.max'}`, String(limitBytes));
  } catch {
    return undefined;
  }
  // A group can go once the last of its processes has.
  onTestFinished(() => until(() => isRemoved(folder)));
  return `${folder}/cgroup.procs`;
}

function isRemoved(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return !existsSync(folder);
  }
}
