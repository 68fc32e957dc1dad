import { MemoryRecords } from '../support/memory-records.ts';
import { recordContract } from './record-contract.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MemoryStore, WindowTable, windowSums } from '../../src/rollout/store.ts';
import { storeContract } from './store-contract.ts';

recordContract(async () => {
  const records = new MemoryRecords();
  return {
    open: async () => records,
    lose: async () => records.lose(),
    close: async () => {},
  };
});

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

test('the sum is what was added within the window, give or take one part', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ wait: fc.nat(400), add: fc.nat(9) }), { minLength: 1, maxLength: 50 }),
      (steps) => {
        const table = new WindowTable();
        const windowMs = 1200;
        let now = 1_800_000_000_000;
        const added: { readonly at: number; readonly add: number }[] = [];
        for (const { wait, add } of steps) {
          now += wait;
          added.push({ at: now, add });
          const [sum] = windowSums(table.add({ key: 'w', windowMs, add: [add] }, now), 1);
          const within = (age: number): number =>
            added.filter(({ at }) => at > now - age).reduce((total, one) => total + one.add, 0);
          expect(sum).toBeGreaterThanOrEqual(within(windowMs - 100));
          expect(sum).toBeLessThanOrEqual(within(windowMs));
        }
      },
    ),
  );
});

test('windows that are over are forgotten, however many names there were', () => {
  const table = new WindowTable();
  const start = 1_800_000_000_000;
  for (let k = 0; k < 5000; k += 1) table.add({ key: `w${k}`, windowMs: 1200, add: [1] }, start + k * 10);
  expect(table.size).toBeLessThan(1500);
  expect(table.list(start + 60_000)).toHaveLength(0);
});
