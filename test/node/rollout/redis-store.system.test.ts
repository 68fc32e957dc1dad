/** @module-tag redis */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { RedisStore } from '../../../src/node/rollout/redis-store.ts';
import { certificate } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { playedRedis } from '../../support/played-redis.ts';
import { recordContract } from '../../rollout/record-contract.ts';
import { storeContract } from '../../rollout/store-contract.ts';
import { until } from '../../support/until.ts';

/** Opens a store that closes with the test. */
async function open(
  url: string,
  over: Partial<Parameters<typeof RedisStore.open>[0]> = {},
): Promise<RedisStore> {
  const own = { url, password: () => undefined, ca: undefined, name: 'test', onStranger: () => {} };
  const store = await RedisStore.open({ ...own, ...over });
  onTestFinished(() => store.close());
  return store;
}

storeContract(async () => {
  const server = await playedRedis();
  return {
    open: () => open(server.url),
    pass: (milliseconds) => wait(milliseconds),
    close: async () => {},
  };
});

test('gateways of another name share nothing', async () => {
  const { url } = await playedRedis();
  const [one, other] = [await open(url), await open(url, { name: 'other' })];
  await one.compareAndSet('rollout', undefined, 'a');
  expect(await other.read('rollout')).toBe(undefined);
});

test('a password is needed where the server has one, and a wrong one is told', async () => {
  const { url } = await playedRedis(['--requirepass', 'open sesame']);
  const sound = await open(url, { password: () => 'open sesame' });
  expect(await sound.compareAndSet('rollout', undefined, 'a')).toBe(true);
  const wrong = await open(url, { password: () => 'guess' });
  await expect(wrong.read('rollout')).rejects.toThrow(/WRONGPASS/);
  const none = await open(url);
  await expect(none.read('rollout')).rejects.toThrow(/NOAUTH/);
});

test('without a server, calls fail at once and say why; a server that comes later is found', async () => {
  const server = await playedRedis();
  await server.kill();
  const store = await open(server.url);
  await expect(store.read('rollout')).rejects.toThrow(/ECONNREFUSED/);
  await server.restart();
  await until(() =>
    store.read('rollout').then(
      () => true,
      () => false,
    ),
  );
  expect(await store.compareAndSet('rollout', undefined, 'a')).toBe(true);
});

test('after a restart of the server, calls of subscriptions come again', async () => {
  const server = await playedRedis();
  const [one, other] = [await open(server.url), await open(server.url)];
  let calls = 0;
  one.subscribe('rollout', () => {
    calls += 1;
  });
  await server.kill();
  await server.restart();
  await until(async () => {
    const text = await other.read('rollout').catch(() => undefined);
    await other.compareAndSet('rollout', text, `${text ?? ''}x`).catch(() => false);
    return calls > 0;
  });
  expect(calls).toBeGreaterThan(0);
});

test('over TLS the certificate is checked against the authority that is named', async () => {
  const folder = temporaryFolder('redis-tls');
  const authority = certificate({ name: 'Test CA' });
  const { cert, key } = certificate({ name: 'redis', hosts: ['127.0.0.1'], issuer: authority });
  const [certFile, keyFile, caFile] = [
    join(folder, 'cert.pem'),
    join(folder, 'key.pem'),
    join(folder, 'ca.pem'),
  ];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key);
  writeFileSync(caFile, authority.cert);
  const port = await freePort();
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile, '--tls-ca-cert-file', caFile];
  await playedRedis(['--tls-port', String(port), ...files, '--tls-auth-clients', 'no']);
  const url = `rediss://127.0.0.1:${port}`;
  const sound = await open(url, { ca: authority.cert });
  expect(await sound.compareAndSet('rollout', undefined, 'a')).toBe(true);
  expect(await sound.read('rollout')).toBe('a');
  const stranger = await open(url, { ca: certificate({ name: 'Another CA' }).cert });
  await expect(stranger.read('rollout')).rejects.toThrow(/certificate|signature/);
});

/** A Redis that responds to every command on keys with one error. */
const WRONG_NODES = [
  "READONLY You can't write against a read only replica.",
  // Redis 6, for a command of a script.
  "ERR Error running script (call to f_1): @user_script:8: @user_script: 8: -READONLY You can't write against a read only replica.",
  "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  'LOADING Redis is loading the dataset in memory',
  'CLUSTERDOWN Hash slot not served',
  'MOVED 3999 127.0.0.1:6381',
];

test.for(WRONG_NODES)('a server that replies "%s" is left, and its address resolved again', async (reply) => {
  const server = await playedRedis();
  const node = await namedNode((socket) => respondAlways(socket, reply));
  const store = await open(node.url);
  let calls = 0;
  store.subscribe('rollout', () => {
    calls += 1;
  });
  await expect(store.compareAndSet('rollout', undefined, 'a')).rejects.toThrow(reply.split(' ')[0]);
  node.leadTo((socket) => forward(socket, server.port));
  await expect.poll(() => store.compareAndSet('rollout', undefined, 'a').catch(() => false)).toBe(true);
  // The subscription is on the new server, too.
  await expect
    .poll(async () => {
      const text = await store.read('rollout');
      await store.compareAndSet('rollout', text, `${text}x`);
      return calls;
    })
    .toBeGreaterThan(0);
});

test('a real server that becomes a replica is left for the one that has its name now', async () => {
  const [before, after] = [await playedRedis(), await playedRedis()];
  const node = await namedNode((socket) => forward(socket, before.port));
  const store = await open(node.url);
  expect(await store.compareAndSet('rollout', undefined, 'a')).toBe(true);
  await command(before.port, `REPLICAOF 127.0.0.1 ${after.port}`);
  node.leadTo((socket) => forward(socket, after.port));
  const set = async (): Promise<boolean> => {
    const text = await store.read('rollout').catch(() => undefined);
    return store.compareAndSet('rollout', text, 'b').catch(() => false);
  };
  await expect.poll(set).toBe(true);
  expect(await command(after.port, 'GET {test}:rollout')).toContain('b');
});

test('a wrong node that stays is asked less and less often', async () => {
  let connections = 0;
  const node = await namedNode((socket) => {
    connections += 1;
    respondAlways(socket, 'LOADING Redis is loading the dataset in memory');
  });
  const store = await open(node.url);
  const until = performance.now() + 1000;
  while (performance.now() < until) {
    await store.read('rollout').catch(() => {});
    await wait(5);
  }
  // Two at a time, after 25, 50, 100, 200, 400 ms at least.
  expect(connections).toBeLessThanOrEqual(2 * 7);
});

test('the user of the address logs in with the password beside it', async () => {
  const { url, port } = await playedRedis('--user gateway on >open-sesame ~* &* +@all'.split(' '));
  const place = url.replace('//', '//gateway@');
  const store = await open(place, { password: () => 'open-sesame' });
  expect(await store.compareAndSet('rollout', undefined, 'a')).toBe(true);
  const clients = await command(port, 'CLIENT LIST');
  expect(clients.match(/user=gateway/g)).toHaveLength(2);
  const wrong = await open(place, { password: () => 'guess' });
  await expect(wrong.read('rollout')).rejects.toThrow(/WRONGPASS/);
});

test('a renewed password is the one of the next connection', async () => {
  const server = await playedRedis(['--requirepass', 'first']);
  let password = 'first';
  const store = await open(server.url, { password: () => password });
  expect(await store.compareAndSet('rollout', undefined, 'a')).toBe(true);
  password = 'second';
  await command(server.port, 'CONFIG SET requirepass second', 'first');
  await command(server.port, 'CLIENT KILL TYPE normal', 'second');
  await expect.poll(() => store.read('rollout').catch(() => undefined)).toBe('a');
});

recordContract(async () => {
  const server = await playedRedis();
  return {
    open: async () => (await open(server.url)).records(60_000),
    lose: async () => {
      await server.kill();
      await server.restart();
    },
    close: async () => {},
  };
});

test('records of another name are apart, and expire together when nothing changes them', async () => {
  const { url } = await playedRedis();
  const [one, other] = [await open(url), await open(url, { name: 'other' })];
  await one.records(60_000).replace('', [{ key: 'a', text: '1', revision: 0 }]);
  expect(await other.records(60_000).changes(0, 10)).toEqual({ life: '', records: [] });
  await other.records(1).replace('', [{ key: 'a', text: '1', revision: 0 }]);
  await expect.poll(() => other.records(1).changes(0, 10)).toEqual({ life: '', records: [] });
});

// Attack: whoever can write to the shared server writes under the gateway's keys.
test.each([
  ['a field that is no part', 'HSET KEY x 1'],
  ['a field without a number', 'HSET KEY :0 1'],
  ['a number that is no integer', 'HSET KEY NOW:0 abc'],
  ['a number that is a fraction', 'HSET KEY NOW:0 1.5'],
  ['a number that overflows', 'HSET KEY NOW:0 9223372036854775807'],
  ['an index without bound', 'HSET KEY NOW:50000000 1'],
  ['a part that never ends', 'HSET KEY 99999999999999:0 1'],
  ['a part with another name', 'HSET KEY 0NOW:0 1'],
  ['a text', 'SET KEY text'],
  ['a list', 'RPUSH KEY a'],
])('%s in a window is told once and passed over', async (_, written) => {
  const server = await playedRedis();
  const told: string[] = [];
  const store = await open(server.url, { onStranger: (sentence) => told.push(sentence) });
  const windowMs = 12 * 3_600_000;
  const now = String((await store.count([{ key: 'w', windowMs, add: [0, 0] }]))[0]?.part);
  await command(server.port, written.replace('KEY', '{test}:window:w').replace('NOW', now));
  const count = (add: readonly number[]): ReturnType<RedisStore['count']> =>
    store.count([
      { key: 'other', windowMs, add },
      { key: 'w', windowMs, add },
    ]);
  const expected = { part: Number(now), parts: [{ part: Number(now), counts: [2, 3] }] };
  expect(await count([2, 3])).toEqual([expected, expected]);
  await count([1, 0]);
  expect((await count([0, 0]))[1]?.parts.map(({ counts }) => counts)).toEqual([[3, 3]]);
  expect(told).toEqual([expect.stringMatching(/^\{test\}:window:w in the store .+ and it is passed over/)]);
});

test.each([
  ['a revision that is no number', 'HSET REVISIONS x abc'],
  ['a revision that is still to come', 'HSET REVISIONS x 99999999999999'],
  ['a last revision that is no number', 'HSET REVISIONS =last abc'],
  ['a last revision that overflows', 'HSET REVISIONS =last 9223372036854775807'],
  ['revisions that are a text', 'SET REVISIONS text'],
  ['texts that are a list', 'DEL TEXTS\r\nRPUSH TEXTS a'],
])('%s among records is told once, and records are shared again', async (_, written) => {
  const server = await playedRedis();
  const told: string[] = [];
  const store = await open(server.url, { onStranger: (sentence) => told.push(sentence) });
  const records = store.records(60_000);
  await records.replace('', [{ key: 'a', text: '1', revision: 0 }]);
  const texts = written
    .replaceAll('REVISIONS', '{test}:report:1:revisions')
    .replaceAll('TEXTS', '{test}:report:1:texts');
  await command(server.port, texts);
  const { life, records: left } = await records.changes(0, 10);
  // A replica that finds another life adds all its records again.
  const revision = left.find(({ key }) => key === 'a')?.revision ?? 0;
  expect(await records.replace(life, [{ key: 'a', text: '2', revision }])).toBeDefined();
  expect((await records.changes(0, 10)).records).toMatchObject([{ key: 'a', text: '2' }]);
  expect(told).toEqual([expect.stringContaining('{test}:report:1:revisions in the store ')]);
});

/** A name of Redis, as a service or a virtual address has it: connections go where it leads when they are made. */
async function namedNode(first: (socket: Socket) => void) {
  let serve = first;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    serve(socket);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve);
  });
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${port}`,
    leadTo: (next: (socket: Socket) => void): void => {
      serve = next;
    },
  };
}

function forward(socket: Socket, port: number): void {
  const other = connect(port, '127.0.0.1');
  other.on('error', () => socket.destroy());
  socket.on('close', () => other.destroy());
  socket.pipe(other).pipe(socket);
}

/** Speaks enough of RESP3 for a client to connect and subscribe. */
function respondAlways(socket: Socket, reply: string): void {
  socket.on('data', (bytes) => {
    // Each command is an array of texts: `*2`, `$3`, `GET`, `$1`, `a`.
    for (const [, name = '', channel = ''] of bytes
      .toString('latin1')
      .matchAll(/\*\d+\r\n\$\d+\r\n(\w+)(?:\r\n\$\d+\r\n([^\r]*))?/g)) {
      if (name === 'HELLO') socket.write('%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n');
      else if (name === 'PING') socket.write('+PONG\r\n');
      else if (name === 'SUBSCRIBE')
        socket.write(`>3\r\n$9\r\nsubscribe\r\n$${channel.length}\r\n${channel}\r\n:1\r\n`);
      else socket.write(`-${reply}\r\n`);
    }
  });
}

/** Sends one inline command to a real server, and resolves to what it replies. */
function command(port: number, text: string, password?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    socket.on('end', () => resolve(received)).on('error', reject);
    socket.end(`${password === undefined ? '' : `AUTH ${password}\r\n`}${text}\r\nQUIT\r\n`);
  });
}
