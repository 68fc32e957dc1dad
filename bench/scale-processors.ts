import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Why processor time of several processes cannot be measured here: a sentence, or undefined when it can. */
export function processorsFault(): string | undefined {
  if (process.platform !== 'linux') return `it reads /proc, which ${process.platform} has not.`;
  const count = availableParallelism();
  return count >= 2 ? undefined : `it needs two processors, and this process may use ${count}.`;
}

/** Restricts this process, and the children that set no processors themselves, to processors such as `1` or `0,1`, while something runs. */
export async function onProcessors<Result>(list: string, run: () => Promise<Result>): Promise<Result> {
  const before = /^Cpus_allowed_list:\s+(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? list;
  move(list);
  try {
    return await run();
  } finally {
    move(before);
  }
}

function move(list: string): void {
  execFileSync('taskset', ['-a', '-c', '-p', list, String(process.pid)], { stdio: 'ignore' });
}
