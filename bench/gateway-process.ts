import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { threadsTime } from './processes.ts';

/** A gateway as it ships, in a process of its own, with its usage as the system reports it. */
export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly port: number;
  /** Resident bytes. */
  memory(): number;
  /** The most resident bytes since the start. */
  peak(): number;
  /** Open sockets, listeners included. */
  sockets(): number;
  /** Microseconds of processor time since the start. */
  processor(): number;
  stderr(): string;
  stop(): Promise<number | null>;
}

/** Starts `serve` with flags, on a Node with flags of its own; `processors`, such as `0`, are those that it is kept to. */
export async function startGatewayProcess(
  flags: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = [],
  processors?: string,
): Promise<GatewayProcess> {
  const main = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
  const settings = { listen: '127.0.0.1:0', 'admin-listen': '127.0.0.1:0', 'log-format': 'text', ...flags };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const given = [...nodeFlags, main, 'serve', ...args];
  const [file, all] =
    processors === undefined
      ? [process.execPath, given]
      : ['taskset', ['-c', processors, process.execPath, ...given]];
  const child = spawn(file, all, { stdio: ['ignore', 'ignore', 'pipe'] });
  let text = '';
  const port = await new Promise<number>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const match = /clients +https?:\/\/[^:]+:(\d+)/.exec(text);
      if (match !== null) resolve(Number(match[1]));
    });
    child.on('exit', () => reject(new Error(text)));
  });
  const status = (name: string): number =>
    1024 *
    Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]);
  return {
    child,
    port,
    memory: () => status('VmRSS'),
    peak: () => status('VmHWM'),
    sockets: () => openSockets(child.pid ?? 0),
    processor: () => threadsTime(child.pid ?? 0),
    stderr: () => text,
    stop: () =>
      new Promise((resolve) => {
        child.on('exit', (code) => resolve(code));
        child.kill('SIGTERM');
      }),
  };
}

function openSockets(pid: number): number {
  const tables = ['tcp', 'tcp6'].map((name) => readFileSync(`/proc/${pid}/net/${name}`, 'utf8')).join('\n');
  const inodes = new Set(tables.split('\n').map((line) => line.trim().split(/\s+/)[9]));
  const mine = readdirSync(`/proc/${pid}/fd`).filter((name) => inodes.has(inodeOf(pid, name)));
  return mine.length;
}

function inodeOf(pid: number, descriptor: string): string {
  try {
    return /socket:\[(\d+)\]/.exec(readlinkSync(`/proc/${pid}/fd/${descriptor}`))?.[1] ?? '';
  } catch {
    // It was closed since the folder was read.
    return '';
  }
}
