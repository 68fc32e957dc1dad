/** @module-tag redis */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { RedisStore } from '../../../src/node/rollout/redis-store.ts';
import { stateCall } from '../../support/state-call.ts';
import { certificate } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { playedRedis } from '../../support/played-redis.ts';
import { stateContract } from '../../rollout/state-contract.ts';
import { until } from '../../support/until.ts';

/** Opens a store that closes with the test. */
async function open(
  url: string,
  over: Partial<Parameters<typeof RedisStore.open>[0]> = {},
): Promise<RedisStore> {
  const own = { url, password: () => undefined, ca: undefined, name: 'test', onForeign: () => {} };
  const store = await RedisStore.open({ ...own, ...over });
  onTestFinished(() => store.close());
  return store;
}

stateContract(async () => {
  const server = await playedRedis();
  return {
    open: () => open(server.url),
    pass: (milliseconds) => wait(milliseconds),
    close: async () => {},
  };
});

test('gateways with another name share nothing', async () => {
  const { url } = await playedRedis();
  const [one, other] = [await open(url), await open(url, { name: 'other' })];
  await one.compareAndSet('rollout', undefined, 'a');
  expect(await other.read('rollout')).toBe(undefined);
});

test('a server with a password needs it, and a wrong one is reported', async () => {
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

test('a node that stays the wrong one is asked less and less often', async () => {
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

/** A call that sets a text. */
const SETTING = stateCall({ number: 1, put: [{ key: 'a', text: '1' }] });

test('states under different names are separate, and expire when nothing changes them', async () => {
  const { url } = await playedRedis();
  const [one, other] = [await open(url), await open(url, { name: 'other' })];
  const { life } = await one.exchange({ ...SETTING, keepMs: 1500 });
  await one.exchange({ ...SETTING, life, keepMs: 1500 });
  expect((await other.exchange({ ...SETTING, owner: 'p1' })).texts).toEqual([]);
  expect((await one.exchange({ ...SETTING, owner: 'p1', keepMs: 1500 })).texts).toHaveLength(1);
  await wait(2000);
  const after = await one.exchange({ ...SETTING, owner: 'p2' });
  expect([after.life === life, after.texts, after.owners.length]).toEqual([false, [], 1]);
});

// Attack: another user of the shared server writes under the gateway's keys.
test.each([
  ['a revision that is no number', 'HSET REVISIONS x abc'],
  ['a text without an owner', 'HSET REVISIONS x "1 1"'],
  ['a revision that is still to come', 'HSET REVISIONS "p9 x" "99999999999999 1"'],
  ['revisions that are a text', 'SET REVISIONS text'],
  ['texts that are a list', 'DEL TEXTS\r\nRPUSH TEXTS a'],
  ['a process without a number', 'HSET PROCESSES x abc'],
  ['processes that are a text', 'SET PROCESSES text'],
])('%s is reported once, and texts are shared again', async (_, written) => {
  const server = await playedRedis();
  const told: string[] = [];
  const store = await open(server.url, { onForeign: (sentence) => told.push(sentence) });
  const { life } = await store.exchange(SETTING);
  await store.exchange({ ...SETTING, life });
  const texts = ['revisions', 'texts', 'processes'].reduce(
    (text, name) => text.replaceAll(name.toUpperCase(), `{test}:state:1:t:${name}`),
    written,
  );
  await command(server.port, texts);
  const news = await store.exchange({ ...SETTING, owner: 'p1' });
  // A process that finds another life sets all its texts again.
  await store.exchange({ ...SETTING, life: news.life, number: 2, put: [{ key: 'a', text: '2' }] });
  expect((await store.exchange({ ...SETTING, owner: 'p1' })).texts).toMatchObject([{ key: 'a', text: '2' }]);
  expect(told).toEqual([expect.stringContaining('{test}:state:1:t:revisions in the store ')]);
});

test.each([
  ['the last revision', 'HSET REVISIONS =last 9223372036854775807'],
  ['the texts', 'DEL TEXTS'],
  ['the revisions', 'DEL REVISIONS'],
])('a server that lost %s begins another life', async (_, written) => {
  const server = await playedRedis();
  const store = await open(server.url);
  const { life } = await store.exchange(SETTING);
  await store.exchange({ ...SETTING, life });
  await command(
    server.port,
    written.replace('REVISIONS', '{test}:state:1:t:revisions').replace('TEXTS', '{test}:state:1:t:texts'),
  );
  // The reply in which it is found may still have the old one.
  await store.exchange({ ...SETTING, owner: 'p1' });
  expect((await store.exchange({ ...SETTING, owner: 'p1' })).life).not.toBe(life);
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
