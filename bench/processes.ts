import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Microseconds of processor time that the threads of a process and of its descendants have used. The scheduler counts nanoseconds, so
 * that a short round of little load can be measured. A thread that ended counts as it was when last measured.
 */
export function processorTime(pid: number): number {
  const threads = measured.get(pid) ?? new Map<string, number>();
  measured.set(pid, threads);
  for (const each of withDescendants(pid)) {
    for (const thread of namesIn(`/proc/${each}/task`)) {
      const nanoseconds = Number(textOf(`/proc/${each}/task/${thread}/schedstat`).split(' ')[0]);
      threads.set(thread, Math.max(nanoseconds, threads.get(thread) ?? 0));
    }
  }
  return [...threads.values()].reduce((sum, nanoseconds) => sum + nanoseconds, 0) / 1000;
}

/** What threads had used when they were last measured, by the process that was asked for. */
const measured = new Map<number, Map<string, number>>();

/** Resident bytes of a process and its descendants now (`VmRSS`) or at the peak; memory that they share counts for each. */
export function residentBytes(pid: number, field: 'VmRSS' | 'VmHWM'): number {
  const kibibytes = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm');
  return withDescendants(pid).reduce(
    (sum, each) => sum + 1024 * Number(kibibytes.exec(textOf(`/proc/${each}/status`))?.[1] ?? 0),
    0,
  );
}

/** Open sockets of a process, listeners and those to its parent included. */
export function openSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return namesIn(folder).filter((name) =>
    unlessGone(() => readlinkSync(`${folder}/${name}`), '').startsWith('socket:'),
  ).length;
}

function withDescendants(pid: number): readonly number[] {
  const folder = `/proc/${pid}/task`;
  const children = namesIn(folder).flatMap(
    (thread) => textOf(`${folder}/${thread}/children`).match(/\d+/g) ?? [],
  );
  return [pid, ...children.flatMap((child) => withDescendants(Number(child)))];
}

function namesIn(folder: string): readonly string[] {
  return unlessGone(() => readdirSync(folder), []);
}

function textOf(file: string): string {
  return unlessGone(() => readFileSync(file, 'utf8'), '');
}

/** A process, a thread or a descriptor may end between the listing and the reading. */
function unlessGone<Value>(read: () => Value, gone: Value): Value {
  try {
    return read();
  } catch {
    return gone;
  }
}

/** Why processor time of several processes cannot be measured here: a sentence, or undefined when it can. */
export function processorsFault(): string | undefined {
  if (process.platform !== 'linux') return `it reads /proc, which ${process.platform} has not.`;
  const count = availableParallelism();
  return count >= 2 ? undefined : `it needs two processors, and this process may use ${count}.`;
}

/** Restricts this process, and the children that set no processors themselves, to processors such as `1` or `0,1`, while something runs. */
export async function onProcessors<Result>(list: string, run: () => Promise<Result>): Promise<Result> {
  const before = /^Cpus_allowed_list:\s+(\S+)$/m.exec(textOf('/proc/self/status'))?.[1] ?? list;
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
