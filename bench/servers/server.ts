import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** A real server that can stand for V2, and the way in which people restart it. */
export interface Server {
  readonly name: string;
  /** The package that is not there; undefined when it can be started. */
  missing(): string | undefined;
  /** Starts it on a port of 127.0.0.1, with a folder of its own, and waits until it responds. */
  start(port: number, folder: string): Promise<RunningServer>;
}

/** A server that serves. */
export interface RunningServer {
  /** Restarts it in its own way, and waits until it responds again. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** A program with its arguments. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts a server that is restarted by ending it, after `downMs` without one, and starting it again. */
export async function startEnded(
  command: Command,
  port: number,
  signal: NodeJS.Signals,
  downMs: number,
): Promise<RunningServer> {
  let child = launch(command);
  await responds(port, child);
  return {
    restart: async () => {
      await end(child, signal);
      await delay(downMs);
      child = launch(command);
      await responds(port, child);
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

/** Starts a server that replaces its own workers when it gets a signal; `replaceMs` is the time that it takes. */
export async function startReplaced(
  command: Command,
  port: number,
  signal: NodeJS.Signals,
  replaceMs: number,
): Promise<RunningServer> {
  const child = launch(command);
  await responds(port, child);
  return {
    restart: async () => {
      child.kill(signal);
      await delay(replaceMs);
      await responds(port, child);
    },
    stop: () => end(child, 'SIGTERM'),
  };
}

function launch({ file, args, cwd, env }: Command): ChildProcess {
  return spawn(file, args, {
    stdio: 'ignore',
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const late = setTimeout(() => child.kill('SIGKILL'), 5000);
  child.kill(signal);
  await once(child, 'exit');
  clearTimeout(late);
}

const START_MS = 15_000;

async function responds(port: number, child: ChildProcess): Promise<void> {
  const limit = performance.now() + START_MS;
  while (performance.now() < limit && child.exitCode === null) {
    const response = await fetch(`http://127.0.0.1:${port}/api/v2/things`).catch(() => undefined);
    if (response?.ok === true) return;
    await delay(20);
  }
  child.kill('SIGKILL');
  throw new Error('the server does not respond');
}
