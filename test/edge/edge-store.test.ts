/** @module-tag wrangler */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { SharedState } from '../../src/rollout/shared-state.ts';
import { stateCall } from '../support/state-call.ts';
import { stateContract } from '../rollout/state-contract.ts';
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

describe('the Durable Object keeps the contract of a shared state, in workerd', () => {
  stateContract(async () => {
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

test('texts, and the texts that isolates set, outlive the process', async () => {
  const disk = temporaryFolder('objects');
  const first = await edgeFleet({ file, isolates: 1, disk });
  onTestFinished(() => first.stop());
  const store = remoteStore(first.ports[0] ?? 0, 'a');
  const call = stateCall({ owner: 'one', number: 1, put: [{ key: 'canary', text: 'kept' }] });
  expect(await store.compareAndSet('rollout', undefined, 'kept')).toBe(true);
  const { life } = await store.exchange(call);
  await store.exchange({ ...call, life });
  await store.exchange({ ...call, life, owner: 'two', put: [{ key: 'canary', text: 'two' }], leaves: true });
  await until(() => isOnDisk(disk, 'ended/two'));
  await first.stop();
  const second = await edgeFleet({ file, isolates: 1, disk });
  onTestFinished(() => second.stop());
  const later = remoteStore(second.ports[0] ?? 0, 'a');
  expect(await later.read('rollout')).toBe('kept');
  const news = await later.exchange({ ...call, life, owner: 'three', number: 0, put: [] });
  expect(news.life).toBe(life);
  expect(news.texts.map(({ owner, text }) => [owner, text])).toEqual([
    ['one', 'kept'],
    ['two', 'two'],
  ]);
  expect(news.owners.map(({ id }) => id).sort()).toEqual(['one', 'three']);
  expect(await later.exchange({ ...call, life, owner: 'two' })).toMatchObject({ isOver: true, number: 1 });
});

/** The store of an isolate, called over HTTP. */
function remoteStore(port: number, name: string): SharedState {
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
    exchange: async (...given) =>
      (await ask({ do: 'exchange', given })) as Awaited<ReturnType<SharedState['exchange']>>,
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
