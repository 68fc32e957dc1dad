/**
 * `npm run bench -- footprint`: from the start of the process to the first served request, resident memory idle, with
 * 1,000 connections that have sent nothing, and once each has sent a request, and the installed and bundled sizes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { median } from './statistics.ts';
import { freePort } from '../test/support/free-port.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const tool = (path: string): string => join(root, 'node_modules', path);
const ROUNDS = 5;
const CONNECTIONS = 1000;

/** The started program and its arguments. */
const starts: readonly (readonly [name: string, command: string, given: readonly string[]])[] = [
  ['node, as built', tool('node/bin/node'), ['dist/cli/main.js']],
  ['node, as source', tool('node/bin/node'), ['src/cli/main.ts']],
  ['bun', tool('bun/bin/bun.exe'), ['dist/cli/main.js']],
  ['deno', tool('deno/deno'), ['run', '--allow-all', '--quiet', 'dist/cli/main.js']],
];

/** Prints the table. */
export async function benchFootprint(): Promise<void> {
  execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'config/build.ts'], { cwd: root });
  const v2 = createServer((incoming, outgoing) => {
    incoming.resume();
    outgoing.end('{"data":{}}');
  });
  v2.listen(0, '127.0.0.1');
  await once(v2, 'listening');
  const upstream = `http://127.0.0.1:${portOf(v2.address())}`;
  console.log(`cold start to the first response, resident memory (medians of ${ROUNDS})\n`);
  console.log(
    `${'runtime'.padEnd(18)}${'start'.padStart(10)}${'idle'.padStart(12)}${'1,000 conn.'.padStart(14)}${'each served'.padStart(14)}`,
  );
  for (const [name, command, given] of starts) {
    const found: Measured[] = [];
    for (let round = 0; round < ROUNDS; round += 1) found.push(await measure(command, given, upstream));
    const of = (pick: (one: Measured) => number): number => median(found.map((one) => pick(one)));
    console.log(
      `${name.padEnd(18)}${`${of(({ start }) => start).toFixed(0)} ms`.padStart(10)}${`${of(({ idle }) => idle).toFixed(0)} MiB`.padStart(12)}${`${of(({ silent }) => silent).toFixed(0)} MiB`.padStart(14)}${`${of(({ loaded }) => loaded).toFixed(0)} MiB`.padStart(14)}`,
    );
  }
  v2.close();
  v2.closeAllConnections();
  sizes();
}

interface Measured {
  /** Milliseconds from the start of the process to the first response of V2 through it. */
  readonly start: number;
  /** MiB of memory after it, with the connections open, and once a request was served on each: code is compiled by then. */
  readonly idle: number;
  readonly silent: number;
  readonly loaded: number;
}

async function measure(command: string, given: readonly string[], upstream: string): Promise<Measured> {
  const port = await freePort();
  const settings = ['--listen', `127.0.0.1:${port}`, '--admin-listen', '127.0.0.1:0', '--upstream', upstream];
  const began = performance.now();
  const child = spawn(command, [...given, 'serve', ...settings, '--log-file', '/dev/null'], {
    cwd: root,
    stdio: 'ignore',
  });
  const sockets: Socket[] = [];
  try {
    sockets.push(await firstResponse(port));
    const start = performance.now() - began;
    const idle = resident(child.pid);
    while (sockets.length <= CONNECTIONS)
      sockets.push(...(await Promise.all(Array.from({ length: 50 }, () => connection(port)))));
    // Its response says that the connections before it are accepted.
    sockets.push(await servedConnection(port));
    const silent = resident(child.pid);
    for (const socket of sockets) await served(socket);
    return { start, idle, silent, loaded: resident(child.pid) };
  } finally {
    for (const socket of sockets) socket.destroy();
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}

async function firstResponse(port: number): Promise<Socket> {
  for (;;) {
    try {
      return await servedConnection(port);
    } catch {
      await new Promise((resolve) => {
        setTimeout(resolve, 2);
      });
    }
  }
}

/** A connection on which one V1 order was served, and that stays open. */
async function servedConnection(port: number): Promise<Socket> {
  const socket = await connection(port);
  await served(socket);
  return socket;
}

async function connection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Has one V1 order served. */
function served(socket: Socket): Promise<void> {
  const body = '{"data":{"name":"Acme"}}';
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('data', () => resolve());
    socket.write(
      `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
}

function portOf(address: ReturnType<ReturnType<typeof createServer>['address']>): number {
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** MiB. */
function resident(pid: number | undefined): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

function sizes(): void {
  const folder = mkdtempSync(join(tmpdir(), 'footprint-'));
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    cpSync(join(root, name), join(folder, name));
  execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts'], { cwd: folder, stdio: 'ignore' });
  const modules = join(folder, 'node_modules');
  const lock = JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')) as { packages: object };
  console.log(
    `\nproduction install  ${Object.keys(lock.packages).length} packages, ${(bytesOf(modules) / 1e6).toFixed(1)} MB`,
  );
  console.log(`dist                ${(bytesOf(join(root, 'dist')) / 1e6).toFixed(1)} MB`);
  const bundled = [
    'deploy',
    '--dry-run',
    '--env',
    '',
    '--outdir',
    folder,
    '--config',
    'config/wrangler.jsonc',
  ];
  execFileSync(process.execPath, [tool('wrangler/bin/wrangler.js'), ...bundled], {
    cwd: root,
    stdio: 'ignore',
  });
  const bundle = readFileSync(join(folder, 'main.js'));
  console.log(
    `edge bundle         ${(bundle.length / 1024).toFixed(1)} KiB, ${(gzipSync(bundle).length / 1024).toFixed(1)} KiB gzipped`,
  );
}

function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}
