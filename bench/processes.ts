import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/**
 * Microseconds of processor time that the threads of a process have used, without its descendants. The scheduler counts
 * nanoseconds, so that a short round of little load can be measured. A thread that ended counts as it was when last measured.
 */
export function threadsTime(pid: number): number {
  return scheduled(pid, 0);
}

/** Microseconds of processor time that the threads of a process and of its descendants have used, as {@link threadsTime} counts. */
export function treeTime(pid: number): number {
  return descendants(pid).reduce((total, [each]) => total + scheduled(each, 0), 0);
}

/** Microseconds for which they could have run and had to wait for a processor. */
export function treeWait(pid: number): number {
  return descendants(pid).reduce((total, [each]) => total + scheduled(each, 1), 0);
}

/** Resident bytes of a process and its descendants; memory that they share counts for each. */
export function treeMemory(pid: number): number {
  return descendants(pid).reduce((total, [, fields]) => total + PAGE_BYTES * Number(fields[RSS_FIELD]), 0);
}

/** The field `rss` behind the name, in pages. */
const RSS_FIELD = 21;
const PAGE_BYTES = 4096;

/** A process and its descendants, with the fields of `/proc/<pid>/stat` after the name (proc(5), from the state on). */
function descendants(pid: number): readonly (readonly [pid: number, fields: readonly string[]])[] {
  const all = new Map<number, readonly string[]>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = fieldsOf(name);
    if (fields !== undefined) all.set(Number(name), fields);
  }
  return [...all].filter(([each]) => isWithin(each, pid, all));
}

function isWithin(pid: number, root: number, all: ReadonlyMap<number, readonly string[]>): boolean {
  for (let at = pid; at > 1; at = Number(all.get(at)?.[1] ?? 0)) if (at === root) return true;
  return false;
}

/** Microseconds of a field of `schedstat`, of all threads of a process. */
function scheduled(pid: number, field: 0 | 1): number {
  const folder = `/proc/${pid}/task`;
  const name = `${pid} ${field}`;
  const threads = measured.get(name) ?? new Map<string, number>();
  measured.set(name, threads);
  for (const thread of namesIn(folder)) {
    const microseconds = scheduledThread(`${folder}/${thread}`, field);
    threads.set(thread, Math.max(microseconds, threads.get(thread) ?? 0));
  }
  return [...threads.values()].reduce((total, microseconds) => total + microseconds, 0);
}

/** What threads had used when they were last measured, by process and field. */
const measured = new Map<string, Map<string, number>>();

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process ended since it was listed.
    return [];
  }
}

function scheduledThread(thread: string, field: 0 | 1): number {
  try {
    return Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[field]) / 1000;
  } catch {
    // It ended since the folder was read.
    return 0;
  }
}

function fieldsOf(pid: string): readonly string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    // It ended since the folder was read.
    return undefined;
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

/** Open sockets of a process, listeners included. */
export function openSockets(pid: number): number {
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8')).join('\n');
  const inodes = new Set(tables.split('\n').map((line) => line.trim().split(/\s+/)[9]));
  return namesIn(`/proc/${pid}/fd`).filter((name) => inodes.has(inodeOf(pid, name))).length;
}

function inodeOf(pid: number, descriptor: string): string {
  try {
    return /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1] ?? '';
  } catch {
    // It was closed since the folder was read.
    return '';
  }
}
