/** @module-tag redis */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { RedisStore } from '../../../src/node/rollout/redis-store.ts';
import { certificate } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { playedRedis } from '../../support/played-redis.ts';
import { storeContract } from '../../rollout/store-contract.ts';
import { until } from '../../support/until.ts';

/** Opens a store that closes with the test. */
async function open(
  url: string,
  over: Partial<Parameters<typeof RedisStore.open>[0]> = {},
): Promise<RedisStore> {
  const store = await RedisStore.open({ url, password: undefined, ca: undefined, name: 'test', ...over });
  onTestFinished(() => store.close());
  return store;
}

storeContract(async () => {
  const server = await playedRedis();
  const stores: RedisStore[] = [];
  return {
    open: async () => {
      const store = await open(server.url);
      stores.push(store);
      return store;
    },
    pass: (milliseconds) => wait(milliseconds),
    close: async () => {
      await Promise.all(stores.map((store) => store.close()));
    },
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
  const sound = await open(url, { password: 'open sesame' });
  expect(await sound.compareAndSet('rollout', undefined, 'a')).toBe(true);
  const wrong = await open(url, { password: 'guess' });
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
