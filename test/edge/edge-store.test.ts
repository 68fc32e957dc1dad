/** @module-tag wrangler */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Store, WindowAddition } from '../../src/rollout/store.ts';
import { storeContract } from '../rollout/store-contract.ts';
import { type EdgeFleet, edgeFleet } from '../support/edge-fleet.ts';
import type { StoreCall } from '../support/edge-store-worker.ts';
import { isOnDisk } from '../support/on-disk.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { bundleWorker } from '../support/workerd.ts';

let file = '';
let fleet: EdgeFleet;
let objects = 0;

beforeAll(async () => {
  const config = join(temporaryFolder('store-worker'), 'wrangler.json');
  const main = fileURLToPath(new URL('../support/edge-store-worker.ts', import.meta.url));
  writeFileSync(config, JSON.stringify({ name: 'store', main, compatibility_date: '2026-10-20' }));
  ({ file } = await bundleWorker(config));
  fleet = await edgeFleet({ file, isolates: 2 });
});
afterAll(() => fleet.stop());

describe('the Durable Object keeps the contract of a store, in workerd', () => {
  storeContract(async () => {
    const left = [...fleet.ports];
    objects += 1;
    const name = `object-${objects}`;
    return {
      open: async () => remoteStore(left.shift() ?? 0, name),
      pass: wait,
      close: async () => {},
    };
  });
});

test('texts and the windows of canaries outlive the process', async () => {
  const disk = temporaryFolder('objects');
  const windowMs = 600_000;
  const first = await edgeFleet({ file, isolates: 1, disk });
  onTestFinished(() => first.stop());
  const store = remoteStore(first.ports[0] ?? 0, 'a');
  expect(await store.compareAndSet('rollout', undefined, 'kept')).toBe(true);
  await store.count([
    { key: 'canary/a', windowMs, add: [1, 2, 3, 4] },
    { key: 'shield/b', windowMs, add: [5] },
  ]);
  await until(() => isOnDisk(disk, 'canary/a'));
  await first.stop();
  const second = await edgeFleet({ file, isolates: 1, disk });
  onTestFinished(() => second.stop());
  const later = remoteStore(second.ports[0] ?? 0, 'a');
  expect(await later.read('rollout')).toBe('kept');
  const [canary, shield] = await later.count([
    { key: 'canary/a', windowMs, add: [0, 0, 0, 0] },
    { key: 'shield/b', windowMs, add: [0] },
  ]);
  expect(canary?.parts.map(({ counts }) => counts)).toEqual([[1, 2, 3, 4]]);
  expect(shield?.parts).toEqual([]);
});

test('clients beyond the memory of the object are counted by each isolate alone, until others are over', async () => {
  const store = remoteStore(fleet.ports[0] ?? 0, 'many-clients');
  const windowMs = 8000;
  const one = { key: 'shield/8000/late', windowMs, add: [1, 0] };
  const sumOf = async (): Promise<number | undefined> => {
    const [counts] = await store.count([one]);
    return counts?.parts.at(-1)?.counts[0];
  };
  const batchOf = (batch: number): WindowAddition[] =>
    Array.from({ length: 5000 }, (_, number) => ({
      key: `shield/8000/${batch}-${number}`,
      windowMs,
      add: [1, 0],
    }));
  // All at once: a slow machine must not take longer than a window lasts.
  await Promise.all(Array.from({ length: 10 }, (_, batch) => store.count(batchOf(batch))));
  expect([await sumOf(), await sumOf()]).toEqual([1, 1]);
  const [canary] = await store.count([{ key: 'canary/a', windowMs: 600_000, add: [0, 0, 1, 0] }]);
  expect(canary?.parts[0]?.counts).toEqual([0, 0, 1, 0]);
  await until(async () => (await sumOf()) === 2);
});

/** The store of an isolate, called over HTTP. */
function remoteStore(port: number, name: string): Store {
  const ask = async (call: StoreCall): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/${name}`, {
      method: 'POST',
      body: JSON.stringify(call),
    });
    const { value } = (await response.json()) as { readonly value?: unknown };
    return value;
  };
  return {
    read: async (key) => (await ask({ do: 'read', given: [key] })) as string | undefined,
    compareAndSet: async (...given) => (await ask({ do: 'compareAndSet', given })) as boolean,
    count: async (...given) => (await ask({ do: 'count', given })) as Awaited<ReturnType<Store['count']>>,
    subscribe: (key, changed) => {
      let seen = 0;
      const begun = ask({ do: 'subscribe', given: [key] });
      // An isolate learns of changes from the responses that requests bring.
      const timer = setInterval(() => {
        void begun
          .then(() => ask({ do: 'read', given: [key] }))
          .then(() => ask({ do: 'calls' }))
          .then((calls) => {
            for (; seen < Number(calls); seen += 1) changed();
          });
      }, 50);
      return () => {
        clearInterval(timer);
        void ask({ do: 'unsubscribe' });
      };
    },
    close: async () => {},
  };
}
