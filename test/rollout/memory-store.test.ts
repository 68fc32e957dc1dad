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
