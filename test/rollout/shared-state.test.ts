import { MemoryState } from '../../src/rollout/shared-state.ts';
import { stateContract } from './state-contract.ts';

stateContract(async () => {
  let time = 1_800_000_000_000;
  const state = new MemoryState(() => time);
  return {
    open: async () => state,
    pass: async (milliseconds) => {
      time += milliseconds;
    },
    close: () => state.close(),
  };
});
