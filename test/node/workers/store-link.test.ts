import { expect, test } from 'vitest';
import { carryOutStoreCall, StoreLink } from '../../../src/node/workers/worker-messages.ts';
import { MemoryStore } from '../../../src/rollout/memory-store.ts';
import type { Store } from '../../../src/rollout/store.ts';
import { storeContract } from '../../rollout/store-contract.ts';

/** A worker's link to a store of the first process; messages are copied, as a channel does. */
function linkTo(store: Store): StoreLink {
  const link: StoreLink = new StoreLink((id, call) => {
    void carryOutStoreCall(store, structuredClone(call)).then((outcome) =>
      link.settle(id, structuredClone(outcome)),
    );
  });
  store.subscribe('state', () => link.changed('state'));
  return link;
}

storeContract(async () => {
  let time = 1_800_000_000_000;
  const store = new MemoryStore(() => time);
  return {
    open: async () => linkTo(store),
    pass: async (milliseconds) => {
      time += milliseconds;
    },
    close: () => store.close(),
  };
});

test('a worker learns why the store of the first process is out of reach', async () => {
  const link = linkTo({
    read: () => Promise.reject(new Error('connect ECONNREFUSED')),
    compareAndSet: () => Promise.reject(new Error('x')),
    count: () => Promise.reject(new Error('x')),
    subscribe: () => () => {},
    close: () => Promise.resolve(),
  });
  await expect(link.read('state')).rejects.toThrow('connect ECONNREFUSED');
});
