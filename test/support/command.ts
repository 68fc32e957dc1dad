import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { PROGRAM_ENVIRONMENT } from './program-environment.ts';
import type { CommandRun } from './command-runs.ts';
import { NEVER_MS } from './until.ts';
import { PROGRAM } from './product.ts';

const root = new URL('../../', import.meta.url).pathname;

/** A command of the program in a separate process, as a user starts it. */
export interface RunningCommand {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Waits until stderr or stdout has something that matches; rejects when the process ends before. */
  until(pattern: RegExp, milliseconds?: number): Promise<RegExpExecArray>;
  /** Sends a signal and waits for the exit code; null when a signal ended it. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
  /** Waits for the exit code. */
  readonly exit: Promise<number | null>;
}

/** Runs a command in a separate process until it ends, with `input` on stdin. */
export async function endedCommand(...given: Parameters<typeof command>): Promise<CommandRun> {
  const running = command(...given);
  const code = await running.exit;
  return { code: code ?? -1, out: running.stdout(), err: running.stderr() };
}

/** Starts `node src/cli/main.ts` with the arguments, and `input` or nothing on stdin; it is ended with the test at the latest. */
export function command(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  input?: string,
): RunningCommand {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: root,
    env: { ...PROGRAM_ENVIRONMENT, NO_COLOR: '1', GATEWAY_LOG_FORMAT: 'text', ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  // A process that reads nothing may end first.
  child.stdin.on('error', () => {}).end(input);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const exit = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  const stop = (signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> => {
    child.kill(signal);
    return exit;
  };
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL');
  });
  return { child, stdout: () => out, stderr: () => err, until, stop, exit };

  async function until(pattern: RegExp, milliseconds = NEVER_MS): Promise<RegExpExecArray> {
    const end = Date.now() + milliseconds;
    for (;;) {
      const match = pattern.exec(err) ?? pattern.exec(out);
      if (match !== null) return match;
      if (child.exitCode !== null || Date.now() > end) {
        throw new Error(`nothing matched ${String(pattern)}; stderr: ${err}; stdout: ${out}`);
      }
      await pause(20);
    }
  }
}
