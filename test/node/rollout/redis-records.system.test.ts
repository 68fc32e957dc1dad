/** @module-tag redis */
import { expect, onTestFinished, test } from 'vitest';
import { RedisStore } from '../../../src/node/rollout/redis-store.ts';
import { recordContract } from '../../rollout/record-contract.ts';
import { playedRedis } from '../../support/played-redis.ts';

async function open(url: string, name = 'test'): Promise<RedisStore> {
  const store = await RedisStore.open({ url, password: () => undefined, ca: undefined, name });
  onTestFinished(() => store.close());
  return store;
}

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
  const [one, other] = [await open(url), await open(url, 'other')];
  await one.records(60_000).replace('', [{ key: 'a', text: '1', revision: 0 }]);
  expect(await other.records(60_000).changes(0, 10)).toEqual({ life: '', records: [] });
  await other.records(1).replace('', [{ key: 'a', text: '1', revision: 0 }]);
  await expect.poll(() => other.records(1).changes(0, 10)).toEqual({ life: '', records: [] });
});
