import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { temporaryFolder } from './temporary-folder.ts';
import { bundleWorker, bundleWorkerWith, startWorkerd } from './workerd.ts';
import { PROGRAM } from './product.ts';

const root = new URL('../../', import.meta.url);
const tool = (path: string): string => fileURLToPath(new URL(path, root));

/** A gateway as its users run it, in a separate process. */
export interface RuntimeGateway {
  readonly port: number;
  readonly pid: number;
  /** Entries so far, from what was printed. */
  entries(): readonly Entry[];
}

/** A gateway that is a process of the program itself. */
export interface ProcessGateway extends RuntimeGateway {
  /** The process log so far. */
  said(): string;
  /** The exit code; null when a signal ended it. */
  readonly exit: Promise<number | null>;
}

/** The secret of every gateway here: the same client has the same name on each. */
export const CLIENT_SECRET = 'a secret of the tests';

/** Starts a gateway on a runtime, in front of a V2, with the rule book that ships or that in a file; it ends with the test. */
export type StartRuntime = (upstream: string, rules?: string) => Promise<RuntimeGateway>;

/** The runtimes that the gateway is for, Node first. */
export const runtimes = {
  node: (upstream: string, rules?: string) =>
    startMain(tool('node_modules/node/bin/node'), [], upstream, rules),
  bun: (upstream: string, rules?: string, more?: readonly string[]) =>
    startMain(tool('test/node_modules/bun/bin/bun.exe'), [], upstream, rules, more),
  deno: (upstream: string, rules?: string, more?: readonly string[]) =>
    startMain(tool('test/node_modules/deno/deno'), ['run', '--allow-all', '--quiet'], upstream, rules, more),
  workerd: startEdge,
} satisfies Readonly<Record<string, StartRuntime>>;

async function startMain(
  command: string,
  given: readonly string[],
  upstream: string,
  rules: string | undefined,
  more: readonly string[] = [],
): Promise<ProcessGateway> {
  const listen = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const settings = [...listen, '--upstream', upstream, ...more];
  const child = spawn(command, [...given, PROGRAM, 'serve', ...settings], {
    cwd: fileURLToPath(root),
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      DENO_DIR: temporaryFolder('deno'),
      DENO_NO_UPDATE_CHECK: '1',
      GATEWAY_CLIENT_SECRET: CLIENT_SECRET,
      GATEWAY_LOG_FORMAT: 'text',
      ...(rules === undefined ? {} : { GATEWAY_RULES: rules }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  const exit = once(child, 'close').then(([code]) => (typeof code === 'number' ? code : null));
  const lines: string[] = [];
  const said: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const port = await new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stderr }).on('line', (line) => {
      said.push(line);
      const match = /^ {2}clients +https?:\/\/127\.0\.0\.1:(\d+)$/.exec(line);
      if (match !== null) resolve(Number(match[1]));
    });
    child.on('exit', () => reject(new Error(`${command} ended:\n${said.join('\n')}`)));
    child.on('error', reject);
  });
  return { port, pid: child.pid ?? 0, entries: () => entriesOf(lines), said: () => said.join('\n'), exit };
}

async function startEdge(upstream: string, rules?: string): Promise<RuntimeGateway> {
  const file = rules === undefined ? await bundleShipped() : await bundleWorkerWith(rules);
  const variables = { GATEWAY_UPSTREAM: upstream, GATEWAY_CLIENT_SECRET: CLIENT_SECRET };
  const { port, pid, lines } = await startWorkerd(file, variables);
  return { port, pid, entries: () => entriesOf(lines) };
}

async function bundleShipped(): Promise<string> {
  const { file } = await bundleWorker(fileURLToPath(new URL('config/wrangler.jsonc', root)));
  return file;
}

function entriesOf(lines: readonly string[]): readonly Entry[] {
  return lines.filter((line) => line.startsWith('{"time"')).map((line) => JSON.parse(line) as Entry);
}
