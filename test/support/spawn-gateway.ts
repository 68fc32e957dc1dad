import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { PROGRAM_ENVIRONMENT } from './program-environment.ts';
import { PROGRAM } from './product.ts';
import { until } from './until.ts';

/** The real main in a separate process. */
export interface SpawnedGateway {
  readonly child: ChildProcess;
  readonly port: number;
  readonly adminPort: number;
  stdout(): string;
  stderr(): string;
  /** Resolves once it has ended and what it wrote has come, but for a pipe that the test holds up. */
  exit(): Promise<{ readonly code: number | null; readonly signal: string | null }>;
}

const main = fileURLToPath(new URL(`../../${PROGRAM}`, import.meta.url));
/** Overwrites released memory in the gateway's process as well. */
const OVERWRITTEN_MEMORY = new URL('overwritten-memory.ts', import.meta.url).href;

/** Runs a command of the CLI; stdin is empty. */
export function spawnMain(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
  stdio: StdioOptions = ['ignore', 'pipe', 'pipe'],
  nodeFlags: readonly string[] = [],
): ChildProcess {
  const child = spawn(process.execPath, [...nodeFlags, main, ...args], {
    env: { ...PROGRAM_ENVIRONMENT, GATEWAY_LOG_FORMAT: 'text', ...environment },
    stdio,
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

/** Starts `serve` on free ports, and waits until it says where it is. */
export async function spawnGateway(
  flags: Readonly<Record<string, string>>,
  stdio: StdioOptions = ['ignore', 'pipe', 'pipe'],
  environment: Readonly<Record<string, string>> = {},
): Promise<SpawnedGateway> {
  const all = { listen: '127.0.0.1:0', 'admin-listen': '127.0.0.1:0', ...flags };
  const child = spawnMain(
    ['serve', ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])],
    environment,
    stdio,
    ['--import', OVERWRITTEN_MEMORY],
  );
  const texts = { stdout: '', stderr: '' };
  child.stdout?.on('data', (chunk: Buffer) => {
    texts.stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    texts.stderr += chunk.toString();
  });
  await until(() => texts.stderr.includes('to see each request') || child.exitCode !== null);
  if (child.exitCode !== null) throw new Error(`it did not start: ${texts.stderr}`);
  return {
    child,
    port: Number(/clients +https?:\/\/[^:]+:(\d+)/.exec(texts.stderr)?.[1]),
    adminPort: Number(/admin +http:\/\/[^:]+:(\d+)/.exec(texts.stderr)?.[1]),
    stdout: () => texts.stdout,
    stderr: () => texts.stderr,
    exit: async () => {
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
      await Promise.all([child.stdout, child.stderr].map(ended));
      return { code: child.exitCode, signal: child.signalCode };
    },
  };
}

/** Waits for the end of a pipe; one that is held up has none. */
async function ended(pipe: Readable | null): Promise<void> {
  if (pipe === null || pipe.isPaused() || pipe.closed) return;
  await once(pipe, 'close');
}
