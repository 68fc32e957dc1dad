import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { certificate } from '../test/support/certificates.ts';
import { freePort } from '../test/support/free-port.ts';
import { openSockets } from './processes.ts';

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));
const COMPILE_CACHE = fileURLToPath(new URL('../node_modules/.cache/compile', import.meta.url));
const PROBE = new URL('attack/turn-probe.ts', import.meta.url).href;
const START_MS = 60_000;
/** The heap that Node chooses in the container that ships, of 512 MiB: V8 takes memory from the system for as long as there is some. */
const HEAP = '--max-old-space-size=256';

/** A gateway as it ships, in a process of its own. */
export interface GatewayProcess {
  readonly child: ChildProcess;
  readonly port: number;
  readonly adminPort: number;
  readonly isAlive: boolean;
  /** Resident bytes now, and at the peak; the last known ones when it has ended. */
  memory(): number;
  peak(): number;
  /** Open sockets, listeners included. */
  sockets(): number;
  /** Watches its event loop; the function returns the processor time of the longest turn since, in milliseconds. */
  watchTurns(): () => number;
  stderr(): string;
  /** Ends it in order; resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Ends it without waiting for exchanges in flight. */
  kill(): Promise<void>;
}

/** Starts `serve` with flags on free ports, and waits until it is ready. Its log and its certificate are in `folder`. */
export async function startGateway(
  flags: Readonly<Record<string, string>>,
  folder: string,
  isTls: boolean,
  nodeFlags: readonly string[] = [HEAP],
): Promise<GatewayProcess> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const all = {
    listen: `127.0.0.1:${port}`,
    'admin-listen': `127.0.0.1:${adminPort}`,
    'log-file': join(folder, 'rewrite.log'),
    ...(isTls ? tlsFlags(folder) : {}),
    ...flags,
  };
  const { PATH = '' } = process.env;
  const child = spawn(
    process.execPath,
    [
      ...nodeFlags,
      '--import',
      PROBE,
      ...(process.env['PROF'] === undefined ? [] : ['--import', process.env['PROF']]),
      MAIN,
      'serve',
      ...Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]),
    ],
    { stdio: ['ignore', 'ignore', 'pipe', 'ipc'], env: { PATH, NODE_COMPILE_CACHE: COMPILE_CACHE } },
  );
  let text = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    if (text.length < 2 ** 20) text += chunk.toString();
  });
  let longest = 0;
  child.on('message', (milliseconds) => (longest = Math.max(longest, Number(milliseconds))));
  const memory = { resident: 0, peak: 0 };
  const read = (): typeof memory => readMemory(child, memory);
  const watch = setInterval(read, 200);
  child.on('exit', () => clearInterval(watch));
  await ready(child, adminPort, () => text);
  return {
    child,
    port,
    adminPort,
    get isAlive() {
      return child.exitCode === null && child.signalCode === null;
    },
    memory: () => read().resident,
    peak: () => read().peak,
    sockets: () => openSockets(child.pid ?? 0),
    watchTurns: () => {
      longest = 0;
      return () => longest;
    },
    stderr: () => text,
    stop: async () => {
      child.kill('SIGTERM');
      const [code] = (await once(child, 'exit')) as [number | null];
      return code;
    },
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

function readMemory(child: ChildProcess, last: { resident: number; peak: number }): typeof last {
  try {
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
    last.resident = kibibytes(status, 'VmRSS') || last.resident;
    last.peak = kibibytes(status, 'VmHWM') || last.peak;
  } catch {
    // It has ended.
  }
  return last;
}

function kibibytes(status: string, name: string): number {
  return 1024 * Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0);
}

function tlsFlags(folder: string): Readonly<Record<string, string>> {
  const { cert, key } = certificate({ name: 'gateway', hosts: ['localhost', '127.0.0.1'] });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key, { mode: 0o600 });
  return { 'tls-cert': join(folder, 'cert.pem'), 'tls-key': join(folder, 'key.pem') };
}

async function ready(child: ChildProcess, adminPort: number, text: () => string): Promise<void> {
  const end = performance.now() + START_MS;
  while (performance.now() < end) {
    if (child.exitCode !== null) break;
    const response = await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined);
    if (response?.ok === true) return;
    await delay(20);
  }
  child.kill('SIGKILL');
  throw new Error(`the gateway did not start: ${text()}`);
}
