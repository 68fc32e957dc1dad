import { expect, test } from 'vitest';
import { MemoryStore } from '../../src/rollout/memory-store.ts';
import { storeContract } from './store-contract.ts';

storeContract(async () => {
  let time = 1_800_000_000_000;
  const store = new MemoryStore(() => time);
  return {
    open: async () => store,
    pass: async (milliseconds) => {
      time += milliseconds;
    },
    close: () => store.close(),
  };
});

test('windows that are over are forgotten, however many names there were', async () => {
  let time = 1_800_000_000_000;
  const store = new MemoryStore(() => time);
  for (let k = 0; k < 5000; k += 1) {
    time += 10;
    await store.count([{ key: `w${k}`, windowMs: 1200, add: [1] }]);
  }
  expect(store.size).toBeLessThan(1500);
});
