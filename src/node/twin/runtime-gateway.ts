import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { devNull } from 'node:os';
import { createInterface } from 'node:readline';

/** A gateway in a process of its own. */
export interface RuntimeGateway {
  /** Such as `http://127.0.0.1:4711`. */
  readonly origin: string;
  stop(): Promise<void>;
}

/** Commands that run the gateway's program, by runtime; each is looked for on the path, but for the Node of this process. */
const COMMANDS: Readonly<Record<'node' | 'bun' | 'deno', readonly [command: string, ...args: string[]]>> = {
  node: [process.execPath],
  bun: ['bun'],
  deno: ['deno', 'run', '--allow-all', '--quiet'],
};

/** Time that a runtime has to start, in milliseconds: Deno and Bun read every module first. */
const START_MS = 30_000;

/**
 * Starts `serve` of `program`, the file of the CLI, on a runtime in front of a V2, with the rule book at `rules`; rejects with its
 * output if it does not start.
 */
export async function startRuntimeGateway(
  runtime: keyof typeof COMMANDS,
  program: string,
  upstream: string,
  rules: string,
): Promise<RuntimeGateway> {
  const [command, ...args] = COMMANDS[runtime];
  const flags = {
    listen: '127.0.0.1:0',
    'admin-listen': '127.0.0.1:0',
    upstream,
    rules,
    'log-file': devNull,
  };
  const settings = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(command, [...args, program, 'serve', ...settings], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DENO_NO_UPDATE_CHECK: '1',
      GATEWAY_LOG_FORMAT: 'text',
      GATEWAY_CLIENT_SECRET: randomBytes(16).toString('hex'),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const origin = await listening(child, /^ {2}clients +(http:\/\/\S+)$/);
  return { origin, stop: () => stop(child) };
}

async function listening(child: ChildProcess, ready: RegExp): Promise<string> {
  const said: string[] = [];
  const late = AbortSignal.timeout(START_MS);
  try {
    return await new Promise<string>((resolve, reject) => {
      if (child.stderr !== null) {
        createInterface({ input: child.stderr }).on('line', (line) => {
          said.push(line);
          const match = ready.exec(line);
          if (match !== null) resolve(match[1] ?? '');
        });
      }
      child.on('exit', () => reject(new Error(`${child.spawnfile} ended: ${said.join('\n')}`)));
      child.on('error', (error) => reject(new Error(`${child.spawnfile} does not start: ${error.message}`)));
      late.addEventListener('abort', () =>
        reject(new Error(`${child.spawnfile} did not start in time: ${said.join('\n')}`)),
      );
    });
  } catch (error) {
    await stop(child);
    throw error;
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
