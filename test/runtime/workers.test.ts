import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { certificate } from '../support/certificates.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';
import { exchange, rawClient } from '../support/raw-client.ts';
import { ok, type RawServer, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { PROGRAM } from '../support/product.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A gateway of many processes, as its users start it. */
interface Many {
  readonly port: number;
  readonly adminPort: number;
  readonly v2: RawServer;
  readonly said: readonly string[];
  entries(): readonly Entry[];
  /** The process ids of the workers. */
  workers(): Promise<readonly number[]>;
  signal(name: NodeJS.Signals): void;
  readonly exit: Promise<unknown[]>;
  admin(path: string): Promise<string>;
}

async function many(count: string, v2: RawServer, more: readonly string[] = []): Promise<Many> {
  const listeners = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
  const given = ['--workers', count, ...listeners, '--upstream', v2.origin];
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...given, ...more], {
    cwd: root,
    env: { ...process.env, ...PROGRAM_ENVIRONMENT, GATEWAY_LOG_FORMAT: 'text' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit');
  const workers = async (): Promise<readonly number[]> => {
    const listed = spawn('ps', ['-o', 'pid=', '--ppid', String(child.pid)]);
    let text = '';
    listed.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    await once(listed, 'close');
    return text.trim().split(/\s+/).filter(Boolean).map(Number);
  };
  onTestFinished(async () => {
    const left = await workers();
    child.kill('SIGKILL');
    // Processes that outlive the first one end by themselves; the test does not wait for them.
    for (const pid of left) tryKill(pid);
  });
  const said: string[] = [];
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const portOf = (name: string): number =>
    Number(new RegExp(`^ {2}${name} +https?://127\\.0\\.0\\.1:(\\d+)`, 'm').exec(said.join('\n'))?.[1] ?? 0);
  await Promise.race([until(() => portOf('admin') > 0), exit]);
  return {
    port: portOf('clients'),
    adminPort: portOf('admin'),
    v2,
    said,
    entries: () => lines.map((line) => JSON.parse(line) as Entry),
    workers,
    signal: (name) => void child.kill(name),
    exit,
    admin: async (path) =>
      (
        await exchange(
          portOf('admin'),
          `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
        )
      ).text,
  };
}

const ORDER = `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: 24\r\n\r\n{"data":{"name":"Acme"}}`;

test('workers share the port; log, metrics and report are those of one gateway; a client reads its own report from any', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await many('2', v2, ['--self-service', 'on']);
  expect(await gateway.workers()).toHaveLength(2);
  const responses = await Promise.all(Array.from({ length: 40 }, () => exchange(gateway.port, ORDER)));
  expect(responses.every(({ text }) => text.startsWith('HTTP/1.1 200 '))).toBe(true);
  await until(() => gateway.entries().length === 40);
  expect(new Set(gateway.entries().map(({ client }) => client)).size).toBe(1);
  const metrics = await gateway.admin('/metrics');
  const counted = [...metrics.matchAll(/^http_server_request_duration_seconds_count\{[^}]*\} (\d+)$/gm)];
  expect(counted.reduce((sum, [, value]) => sum + Number(value), 0)).toBe(40);
  const resident = Number(/^process_resident_memory_bytes (\S+)$/m.exec(metrics)?.[1]);
  expect(resident).toBeGreaterThan(150e6);
  expect(await gateway.admin('/report')).toMatch(/"v1":40\b/);
  expect(await gateway.admin('/readyz')).toMatch(/^HTTP\/1\.1 200 /);
  // Whichever worker is asked: the first process counts for all.
  const ask = `GET /api/v1/migration HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n`;
  const reports = await Promise.all(Array.from({ length: 5 }, () => exchange(gateway.port, ask)));
  for (const { text } of reports) expect(text).toMatch(/"v1":40\b/);
  const other = await exchange(gateway.port, ask.replace('Bearer k', 'Bearer other'));
  expect(other.text).toMatch(/^HTTP\/1\.1 404 /);
});

test('a worker that dies is started again, and the others serve on; without the first process it ends, even while it starts', async () => {
  const gateway = await many('2', await rawServer((socket) => socket.write(ok())));
  const [first = 0] = await gateway.workers();
  process.kill(first, 'SIGKILL');
  await until(() =>
    gateway.said.some((line) => / worker \d ended \(SIGKILL\); another one starts in 100 ms\.$/.test(line)),
  );
  expect((await exchange(gateway.port, ORDER)).text).toMatch(/^HTTP\/1\.1 200 /);
  let pids: readonly number[] = [];
  await until(async () => {
    pids = await gateway.workers();
    return pids.length === 2 && !pids.includes(first);
  });
  gateway.signal('SIGKILL');
  await until(() => !pids.some((pid) => tryKill(pid, 0)));
});

test('when the first process is killed, its workers end by themselves', async () => {
  const gateway = await many('2', await rawServer((socket) => socket.write(ok())));
  const pids = await gateway.workers();
  expect(pids).toHaveLength(2);
  gateway.signal('SIGKILL');
  await until(() => !pids.some((pid) => tryKill(pid, 0)));
});

test('SIGTERM drains them together: requests in flight end, and nothing is left running', async () => {
  const gateway = await many(
    '2',
    await rawServer((socket) => void setTimeout(() => socket.write(ok()), 400)),
  );
  const pids = await gateway.workers();
  const clients = Array.from({ length: 8 }, () => rawClient(gateway.port));
  for (const client of clients) client.write(ORDER);
  await until(() => gateway.v2.received.filter((text) => text !== '').length === 8);
  gateway.signal('SIGTERM');
  const responses = await Promise.all(clients.map((client) => client.end()));
  for (const { text } of responses)
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n/i);
  expect(await gateway.exit).toEqual([0, null]);
  expect(pids.filter((pid) => tryKill(pid, 0))).toEqual([]);
  expect(gateway.entries()).toHaveLength(8);
});

test('SIGHUP has every worker read the rule book again', async () => {
  const rules = join(temporaryFolder('rules'), 'rules.yaml');
  const shipped = readFileSync(join(root, 'config/rules.yaml'), 'utf8');
  writeFileSync(rules, shipped);
  const gateway = await many('2', await rawServer((socket) => socket.write(ok())), ['--rules', rules]);
  await exchange(gateway.port, ORDER);
  await until(() => gateway.entries().length === 1);
  const before = gateway.entries()[0]?.ruleBook ?? '';
  writeFileSync(rules, shipped.replace('2025-01-01', '2025-06-01'));
  gateway.signal('SIGHUP');
  await until(
    () => gateway.said.filter((line) => / worker \d: rule book \w+ is in force/.test(line)).length === 2,
  );
  await Promise.all(Array.from({ length: 20 }, () => exchange(gateway.port, ORDER)));
  await until(() => gateway.entries().length === 21);
  const after = new Set(
    gateway
      .entries()
      .slice(1)
      .map(({ ruleBook }) => ruleBook),
  );
  expect(after.size).toBe(1);
  expect(after).not.toContain(before);
});

test('SIGHUP has every worker read the certificates again, though the rule book has a fault', async () => {
  const folder = temporaryFolder('certificates');
  const rules = join(folder, 'rules.yaml');
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const put = (name: string): void => {
    const made = certificate({ name, hosts: ['localhost'] });
    writeFileSync(cert, made.cert);
    writeFileSync(key, made.key);
  };
  put('first');
  writeFileSync(rules, readFileSync(join(root, 'config/rules.yaml')));
  const files = ['--rules', rules, '--tls-cert', cert, '--tls-key', key];
  const gateway = await many('2', await rawServer((socket) => socket.write(ok())), files);
  const shown = async (): Promise<string> => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const name = String(socket.getPeerCertificate().subject.CN);
    socket.destroy();
    return name;
  };
  expect(await shown()).toBe('first');
  writeFileSync(rules, 'nonsense');
  put('second');
  gateway.signal('SIGHUP');
  // The system spreads connections over the workers: so many do not all reach the same one.
  await until(async () => {
    const names = await Promise.all(Array.from({ length: 16 }, shown));
    return names.every((name) => name === 'second');
  });
  expect(gateway.said.join('\n')).toMatch(/rule book \w+ stays in force\./);
});

test('an address that is not available ends the start', async () => {
  const [v2, other] = [await rawServer(() => {}), await rawServer(() => {})];
  const gateway = await many('2', v2, ['--listen', `127.0.0.1:${other.port}`]);
  expect(await gateway.exit).toEqual([2, null]);
  expect(gateway.said.join('\n')).toContain('EADDRINUSE');
});

function tryKill(pid: number, signal: NodeJS.Signals | 0 = 'SIGKILL'): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

test('with a V1 origin, workers share modes and windows without a store', async () => {
  const failing = 'HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}';
  let isBroken = false;
  const v1 = await rawServer((socket) => socket.write(ok('{"from":"v1"}')));
  const v2 = await rawServer((socket) => socket.write(isBroken ? failing : ok('{"from":"v2"}')));
  const flags = ['--v1-upstream', v1.origin, '--client-secret', 'a secret of sixteen', '--breaker', 'off'];
  const gateway = await many('2', v2, flags);
  const steer = async (body: string): Promise<string> =>
    (
      await exchange(
        gateway.adminPort,
        `POST /rollout HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    ).text;
  const send = async (count: number): Promise<readonly string[]> => {
    const responses = await Promise.all(Array.from({ length: count }, () => exchange(gateway.port, ORDER)));
    return responses.map(({ text }) => /"(v\d)"|HTTP\/1\.1 (500)/.exec(text)?.slice(1).find(Boolean) ?? text);
  };
  expect(await steer('{"mode":"observe"}')).toMatch(/^HTTP\/1\.1 200 /);
  // Each worker follows within a moment; the kernel spreads the connections.
  await until(async () => (await send(8)).every((origin) => origin === 'v1'));
  await steer('{"mode":"canary","share":100}');
  await until(async () => (await send(8)).every((origin) => origin === 'v2'));
  isBroken = true;
  await until(async () => (await send(8)).every((origin) => origin === 'v1'));
  const viewed = async (): Promise<RolloutView> =>
    JSON.parse((await gateway.admin('/rollout')).split('\r\n\r\n')[1] ?? '') as RolloutView;
  // The first process follows as well.
  await until(async () => (await viewed()).revision === 3);
  const view = await viewed();
  expect(view).toMatchObject({ revision: 3, default: { mode: 'observe', from: 'roll-back' } });
  expect(view.rollbacks).toHaveLength(1);
  // There is no other process to share a store with.
  expect(view).not.toHaveProperty('replica');
  expect(await gateway.admin('/metrics')).not.toMatch(/^gateway_(?:replicas|store_reachable) /m);
  await until(() => gateway.said.some((line) => line.includes('rolled back to observe by')));
  expect(gateway.said.filter((line) => line.includes('rolled back to observe by'))).toHaveLength(1);
  const received = (server: RawServer): number => server.received.join('').split('POST /api/').length - 1;
  await until(async () => {
    const metrics = await gateway.admin('/metrics');
    const of = (origin: string): number =>
      Number(
        new RegExp(`^gateway_rollout_requests_total\\{origin="${origin}"\\} (\\d+)$`, 'm').exec(metrics)?.[1],
      );
    return of('v1') === received(v1) && of('v2') === received(v2);
  });
});

test('workers divide a rate limit, and the rollout says so', async () => {
  const rules = join(temporaryFolder('rules'), 'rules.yaml');
  const shipped = readFileSync(join(root, 'config/rules.yaml'), 'utf8');
  writeFileSync(rules, `${shipped}\nshield: { requests: 9, per: 10m, wait: 2h, queue: 100 }\n`);
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await many('2', v2, ['--rules', rules]);
  const received = (): number => v2.received.join('').split('POST /api/').length - 1;
  await until(async () => {
    const view = JSON.parse((await gateway.admin('/rollout')).split('\r\n\r\n')[1] ?? '') as RolloutView;
    return view.rateLimit?.each === 5;
  });
  // A new connection each: the kernel spreads them over the workers.
  const clients = Array.from({ length: 40 }, () => rawClient(gateway.port));
  for (const client of clients) client.write(ORDER);
  await until(() => received() >= 10);
  await pause(1000);
  expect(received()).toBe(10);
});

test('a TLS session that one worker began is resumed by any of them, and behind a restart where there is a store', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const folder = temporaryFolder('tickets');
  const ca = certificate({ name: 'private CA' });
  const mine = certificate({ name: 'gateway', hosts: ['localhost'], issuer: ca });
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  writeFileSync(cert, mine.cert);
  writeFileSync(key, mine.key, { mode: 0o600 });
  const store = `file:${join(folder, 'rollout')}`;
  const flags = ['--tls-cert', cert, '--tls-key', key, '--store', store, '--drain', '1000'];
  let gateway = await many('2', v2, flags);
  let ticket: Buffer | undefined;
  /** One request on a new connection; true where it resumes the session of the first one. */
  const visit = async (): Promise<boolean> => {
    const socket = connect({ port: gateway.port, host: 'localhost', ca: ca.cert, session: ticket });
    onTestFinished(() => void socket.destroy());
    socket.on('session', (bytes) => (ticket ??= bytes));
    await once(socket, 'secureConnect');
    socket.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
    await once(socket, 'data');
    return socket.isSessionReused();
  };
  expect(await visit()).toBe(false);
  await until(() => ticket !== undefined);
  const later: boolean[] = [];
  // The kernel chooses the worker by the address: of twenty, all go to the same one once in a million runs.
  for (let count = 0; count < 20; count += 1) later.push(await visit());
  expect(later).toEqual(later.map(() => true));
  gateway.signal('SIGTERM');
  await gateway.exit;
  gateway = await many('2', v2, flags);
  expect(await visit()).toBe(true);
});
