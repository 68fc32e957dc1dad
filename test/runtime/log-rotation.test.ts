/** @module-tag logrotate */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { ok, rawServer } from '../support/raw-server.ts';
import { spawnGateway, type SpawnedGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const SHIPPED = readFileSync(new URL('../../deploy/logrotate/capture-gateway', import.meta.url), 'utf8');
const ROTATIONS = 4;

/** The content of the files after a load with rotations. */
interface Rotated {
  /** Requests that got a response. */
  readonly sent: number;
  /** Numbers of requests, in the order of the files and lines. */
  readonly logged: readonly number[];
  readonly torn: readonly string[];
  readonly files: readonly string[];
}

/** The configuration that ships, for a file and a process of the test. */
function shipped(file: string, pid: number, signal = `kill -HUP ${pid}`): string {
  return SHIPPED.replace('/var/log/capture-gateway/*.ndjson', file).replace(/systemctl kill .*/, signal);
}

/** Loads a gateway while the real logrotate rotates its log. */
async function rotate(configuration: (file: string, pid: number) => string): Promise<Rotated> {
  const folder = temporaryFolder('rotation');
  const file = join(folder, 'rewrite.ndjson');
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({ upstream: v2.origin, 'log-file': file });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const config = join(folder, 'logrotate.conf');
  writeFileSync(config, configuration(file, gateway.child.pid ?? 0), { mode: 0o644 });
  const load = startLoad(gateway);
  for (let rotation = 1; rotation <= ROTATIONS; rotation += 1) {
    const before = load.sent();
    await until(() => load.sent() > before + 200);
    execFileSync('logrotate', ['--force', '--state', join(folder, 'state'), config]);
    if (!configuration(file, 0).includes('copytruncate'))
      await until(() => gateway.stderr().split('was reopened').length > rotation);
  }
  const before = load.sent();
  await until(() => load.sent() > before + 200);
  const sent = await load.stop();
  gateway.child.kill('SIGTERM');
  expect((await gateway.exit()).code).toBe(0);
  return { sent, ...read(folder) };
}

function read(folder: string): Omit<Rotated, 'sent'> {
  const files = readdirSync(folder)
    .filter((name) => name.startsWith('rewrite'))
    .toSorted()
    .toReversed();
  const logged: number[] = [];
  const torn: string[] = [];
  for (const name of files) {
    const bytes = readFileSync(join(folder, name));
    const text = (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
    for (const line of text.split('\n').filter((each) => each !== '')) {
      const number = numberOf(line);
      if (number === undefined) torn.push(line);
      else logged.push(number);
    }
  }
  return { logged, torn, files };
}

function numberOf(line: string): number | undefined {
  try {
    return Number((JSON.parse(line) as { path: string }).path.slice('/api/v2/'.length));
  } catch {
    return undefined;
  }
}

function startLoad({ port }: SpawnedGateway): { sent(): number; stop(): Promise<number> } {
  const agent = new Agent({ keepAlive: true });
  let sent = 0;
  const load = new AbortController();
  const client = async (): Promise<void> => {
    while (!load.signal.aborted) {
      sent += 1;
      await sendRequest(agent, port, sent);
      await delay(1);
    }
  };
  const clients = Array.from({ length: 8 }, client);
  return {
    sent: () => sent,
    stop: async () => {
      load.abort();
      await Promise.all(clients);
      agent.destroy();
      return sent;
    },
  };
}

function sendRequest(agent: Agent, port: number, number: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, port, host: '127.0.0.1', path: `/api/v2/${number}` }, (response) => {
      response.resume();
      response.on('end', resolve);
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

test.each([
  ['as shipped: create, SIGHUP, delaycompress', (file: string, pid: number) => shipped(file, pid)],
  [
    'with compress at once, a second behind the signal',
    (file: string, pid: number) =>
      shipped(file, pid, `kill -HUP ${pid}; sleep 1`).replace('    delaycompress\n', ''),
  ],
])(
  'rotation %s: no line is lost, doubled or torn',
  async (_, configuration) => {
    const { sent, logged, torn, files } = await rotate(configuration);
    expect(torn).toEqual([]);
    expect(logged.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: sent }, (_, index) => index + 1),
    );
    expect(files).toHaveLength(ROTATIONS + 1);
    expect(files.filter((name) => name.endsWith('.gz')).length).toBeGreaterThanOrEqual(ROTATIONS - 1);
  },
  30_000,
);

test('rotation with copytruncate continues at the start of the file; it loses lines written after the copy', async () => {
  const { sent, logged, torn } = await rotate(
    (file) => `${file} {\n  rotate 9\n  copytruncate\n  nocompress\n}\n`,
  );
  // A limit of copytruncate with any writer: one batch per rotation may be lost or cut. Nothing more, and nothing twice.
  console.log(`copytruncate: ${sent - logged.length} of ${sent} lines lost, ${torn.length} torn`);
  expect(torn.length).toBeLessThanOrEqual(2 * ROTATIONS);
  expect(torn.join('')).not.toContain('\0');
  expect(new Set(logged).size).toBe(logged.length);
  expect(logged.length).toBeGreaterThan(sent * 0.8);
});

test('a log file that cannot be reopened is reported, and the old one stays in use', async () => {
  const folder = temporaryFolder('rotation');
  const file = join(folder, 'a', 'log.ndjson');
  execFileSync('mkdir', [join(folder, 'a')]);
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({ upstream: v2.origin, 'log-file': file });
  execFileSync('mv', [join(folder, 'a'), join(folder, 'b')]);
  gateway.child.kill('SIGHUP');
  await until(() => gateway.stderr().includes('cannot be reopened: no such file or directory (ENOENT)'));
  await sendRequest(new Agent(), gateway.port, 1);
  const written = (): string => readFileSync(join(folder, 'b', 'log.ndjson'), 'utf8');
  await until(() => written() !== '');
  expect(written()).toContain('/api/v2/1');
});
