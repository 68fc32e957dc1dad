import { once } from 'node:events';
import { openSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { endedCommand } from '../support/command.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const WRAPPED = '{"data":{"name":"A"}}';
const post = `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${WRAPPED.length}\r\n\r\n${WRAPPED}`;

const folder = (): string => temporaryFolder('gateway');

describe('start', () => {
  test('a port in use: exit 2, and the sentence names the setting', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const other = await rawServer(() => {});
    const listeners = ['--listen', `127.0.0.1:${other.port}`, '--admin-listen', '127.0.0.1:0'];
    const { code, err } = await endedCommand(['serve', ...listeners, '--upstream', v2.origin]);
    expect([code, err]).toEqual([
      2,
      expect.stringMatching(
        /cannot listen: 127\.0\.0\.1:\d+ is in use by another program \(EADDRINUSE\); choose another address with --listen\.\n$/,
      ),
    ]);
  });
});

describe('stop', () => {
  test('SIGTERM under load: no request that was accepted is lost, and the exit code is 0', async () => {
    const v2 = await rawServer((socket) => {
      setTimeout(() => socket.write(ok()), 20);
    });
    const gateway = await spawnGateway({ upstream: v2.origin });
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    let stopping = false;
    let served = 0;
    let closing = 0;
    const lost: string[] = [];
    const client = async (): Promise<void> => {
      for (;;) {
        const outcome = await sendRequest(agent, gateway.port);
        if (outcome === 'ECONNREFUSED' && stopping) return;
        if (outcome === '200') served += 1;
        else if (outcome === '200 close') closing += 1;
        else lost.push(outcome);
        if (lost.length > 0) return;
      }
    };
    const clients = Array.from({ length: 20 }, () => client());
    await until(() => served > 200);
    stopping = true;
    gateway.child.kill('SIGTERM');
    const { code } = await gateway.exit();
    await Promise.all(clients);
    expect(lost).toEqual([]);
    expect(closing).toBeGreaterThan(0);
    expect(code).toBe(0);
  });

  test('while it drains: not ready, live, and requests in flight are finished', async () => {
    let release = (): void => {};
    const v2 = await rawServer((socket) => {
      release = () => void socket.write(ok('"late"'));
    });
    const gateway = await spawnGateway({ upstream: v2.origin });
    const response = exchange(gateway.port, GET);
    await until(() => v2.received.length > 0);
    gateway.child.kill('SIGTERM');
    await until(() => gateway.stderr().includes('stopping'));
    expect(
      statusOf(await exchange(gateway.adminPort, 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')),
    ).toBe(503);
    expect(
      statusOf(await exchange(gateway.adminPort, 'GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')),
    ).toBe(200);
    release();
    const { text } = await response;
    expect(text).toMatch(/connection: close\r\n[^]*"late"$/i);
    expect((await gateway.exit()).code).toBe(0);
    expect(gateway.stdout()).toMatch(/"status":200/);
  });

  test('requests that do not finish within the drain time are cut, and V2 is not waited for', async () => {
    const v2 = await rawServer(() => {});
    const gateway = await spawnGateway({ upstream: v2.origin, drain: '1500' });
    const client = rawClient(gateway.port);
    client.write(GET);
    await until(() => v2.received.length > 0);
    gateway.child.kill('SIGTERM');
    // It ends by itself: at the drain time it would be killed, and V2 has 60 s for a response.
    expect((await gateway.exit()).code).toBe(0);
    expect((await client.end()).closed).toBe(true);
    expect(gateway.stdout()).toMatch(/"status":0/);
    expect(gateway.stderr()).toContain(
      'the drain time is over; 1 unfinished request ended with its connection.',
    );
  });

  test.each(['1', '2'])(
    'a second signal exits at once, and a response that the close would end is reset; workers: %s',
    async (workers) => {
      const v2 = await rawServer(
        (socket) => void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n'),
      );
      const gateway = await spawnGateway({ upstream: v2.origin, workers });
      const client = rawClient(gateway.port);
      client.write(GET.replace('1.1', '1.0'));
      await client.until(/part$/);
      gateway.child.kill('SIGINT');
      await until(() => gateway.stderr().includes('stopping'));
      gateway.child.kill('SIGINT');
      expect((await gateway.exit()).code).toBe(1);
      expect((await client.end()).reset).toBe(true);
    },
  );
});

const ONE_RULE = `version: 2025-01-01
operations: {}
changes:
  - id: body-wrapper
    summary: Parameters are no longer wrapped.
    on: every
    request:
      - unwrap: data
`;

test('a process that was suspended reads the bytes that came in time before it reports a timeout', async () => {
  const v2 = await rawServer((socket) => void setTimeout(() => socket.write(ok()), 1000));
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'upstream-headers-timeout': '2000',
    'client-headers-timeout': '2000',
    'client-body-timeout': '2000',
  });
  const [response, body, bodyBehind, head] = [0, 1, 2, 3].map(() => rawClient(gateway.port));
  const half = 'x'.repeat(10_000);
  const post = `POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 20000\r\n\r\n${half}`;
  body?.write(post);
  bodyBehind?.write(`\r\n${post}`);
  head?.write(GET.slice(0, 20));
  response?.write(GET);
  await until(() => v2.received.some((text) => text.includes('GET')));
  await pause(300);
  gateway.child.kill('SIGSTOP');
  body?.write(half);
  bodyBehind?.write(half);
  head?.write(GET.slice(20));
  await pause(3000);
  gateway.child.kill('SIGCONT');
  for (const client of [response, body, bodyBehind, head]) {
    await client?.until(/\r\n\r\n/);
    expect(client?.text()).toMatch(/^HTTP\/1\.1 200 /);
  }
});

describe('a new rule book', () => {
  test('comes into force by SIGHUP and by a changed file; a bad one, or one with an open question, is refused', async () => {
    const rules = join(folder(), 'rules.yaml');
    writeFileSync(rules, ONE_RULE);
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, rules });
    await exchange(gateway.port, post);
    writeFileSync(rules, ONE_RULE.replace('unwrap: data', 'unwrap: wrong'));
    gateway.child.kill('SIGHUP');
    await until(() => gateway.stderr().includes('is in force.'));
    await exchange(gateway.port, post);
    expect(v2.received.join('')).toMatch(/\{"name":"A"\}[^]*\{"data":\{"name":"A"\}\}/);
    writeFileSync(rules, 'changes: nonsense');
    await until(() => gateway.stderr().includes('stays in force.'));
    expect(gateway.stderr()).toMatch(/rule book refused: .*rules\.yaml:1:\d+ /);
    await exchange(gateway.port, post);
    await until(() => gateway.stdout().split('\n').length === 4);
    const hashes = [...gateway.stdout().matchAll(/"ruleBook":"(\w+)"/g)].map(([, hash]) => hash);
    expect(new Set(hashes).size).toBe(2);
    expect(hashes[1]).toBe(hashes[2]);
    writeFileSync(rules, `${ONE_RULE}\n# TODO: which ones?\n`);
    await until(() => gateway.stderr().includes('TODO: which ones?'));
    expect(gateway.stderr()).toMatch(
      /has 1 open question: answer each and delete its line, or start with --force\.[^]*stays in force\./,
    );
  });

  test('that changes a mode is a change of modes in the log and in the list of changes', async () => {
    const rules = join(folder(), 'rules.yaml');
    writeFileSync(rules, `${ONE_RULE}modes: { default: observe }\n`);
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, 'v1-upstream': v2.origin, rules });
    writeFileSync(rules, `${ONE_RULE}modes: { default: migrate }\n`);
    gateway.child.kill('SIGHUP');
    const words = 'modes: everything observe → migrate, by the rule book';
    await until(() => gateway.stderr().includes(`rollout: ${words}.`));
    const view = await exchange(
      gateway.adminPort,
      'GET /rollout HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
    );
    expect(view.text).toMatch(/Rule book changed: modes: everything observe /);
  });

  test('that was refused and is corrected is reported, though the same one stays in force', async () => {
    const rules = join(folder(), 'rules.yaml');
    writeFileSync(rules, ONE_RULE);
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, rules });
    const stale = async (): Promise<string | undefined> => {
      const metrics = await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`);
      return /^gateway_rule_book_stale (.+)$/m.exec(await metrics.text())?.[1];
    };
    expect(await stale()).toBe('0');
    writeFileSync(rules, 'changes: nonsense');
    await until(() => gateway.stderr().includes('stays in force.'));
    expect(await stale()).toBe('1');
    writeFileSync(rules, ONE_RULE);
    await until(() => gateway.stderr().includes('is in force.'));
    expect(await stale()).toBe('0');
    expect(gateway.stderr()).toMatch(/rule book (\w+) stays in force\.\n[^]*rule book \1 is in force\./);
  });

  test('requests in flight finish on the old one', async () => {
    const rules = join(folder(), 'rules.yaml');
    writeFileSync(rules, ONE_RULE);
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, rules });
    const client = rawClient(gateway.port);
    client.write(post.slice(0, -5));
    await pause(100);
    writeFileSync(rules, ONE_RULE.replace('unwrap: data', 'unwrap: wrong'));
    gateway.child.kill('SIGHUP');
    await until(() => gateway.stderr().includes('is in force.'));
    client.write(post.slice(-5));
    await client.until(/200 OK/);
    expect(v2.received[0]).toMatch(/\r\n\r\n\{"name":"A"\}$/);
  });
});

describe('the log is never in the way', () => {
  test('a full disk costs lines, which are counted, and no request', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, drain: '3000' }, [
      'ignore',
      openSync('/dev/full', 'w'),
      'pipe',
    ]);
    for (let count = 0; count < 5; count += 1) expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
    await until(() => gateway.stderr().includes('ENOSPC'));
    expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
    gateway.child.kill('SIGTERM');
    // It ends by itself: at the drain time it would be killed.
    expect((await gateway.exit()).code).toBe(0);
    expect(gateway.stderr()).toMatch(/log: [\d,]+ lines were lost/);
  });

  test('a reader that is gone', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin });
    gateway.child.stdout?.destroy();
    for (let count = 0; count < 20; count += 1) expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
    await until(() => gateway.stderr().includes('the reader of the log is gone'));
    gateway.child.kill('SIGTERM');
    expect((await gateway.exit()).code).toBe(0);
  });

  test('a reader that is stuck holds up neither requests nor the exit', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, drain: '4000' });
    gateway.child.stdout?.pause();
    const client = rawClient(gateway.port);
    const many = 1500;
    client.write(GET.repeat(many));
    await until(() => (client.text().match(/HTTP\/1\.1 200/g) ?? []).length === many);
    client.socket.destroy();
    gateway.child.kill('SIGTERM');
    // It ends by itself: at the drain time it would be killed.
    expect((await gateway.exit()).code).toBe(0);
  });

  test('a file is appended to', async () => {
    const file = join(folder(), 'log.ndjson');
    writeFileSync(file, 'before\n');
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, 'log-file': file });
    await exchange(gateway.port, GET);
    await until(() => readFileSync(file, 'utf8').includes('"status":200'));
    expect(readFileSync(file, 'utf8')).toMatch(/^before\n\{/);
    expect(gateway.stdout()).toBe('');
  });
});

test('SIGUSR1 opens no debugger, through which any user of the machine could run code', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({ upstream: v2.origin });
  gateway.child.kill('SIGUSR1');
  expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
  expect(gateway.stderr()).not.toMatch(/debugger/i);
  const socket = connect(9229, '127.0.0.1');
  const opened = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'error').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  expect(opened).toBe(false);
});

/** One request as a client with kept connections makes it; retries nothing. */
function sendRequest(agent: Agent, port: number): Promise<string> {
  return new Promise((resolve) => {
    const outgoing = request({ agent, port, host: '127.0.0.1', path: '/api/v2/x' }, (response) => {
      response.resume();
      response.on('end', () =>
        resolve(`${response.statusCode}${response.headers.connection === 'close' ? ' close' : ''}`),
      );
      response.on('error', (error) => resolve(`broken: ${error.message}`));
    });
    outgoing.on('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    outgoing.end();
  });
}
