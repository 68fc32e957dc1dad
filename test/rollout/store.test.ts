import { MemoryRecords } from '../support/memory-records.ts';
import { recordContract } from './record-contract.ts';

recordContract(async () => {
  const records = new MemoryRecords();
  return {
    open: async () => records,
    lose: async () => records.lose(),
    close: async () => {},
  };
});
