import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FileStore } from '../../../src/node/rollout/file-store.ts';
import { storeContract } from '../../rollout/store-contract.ts';

storeContract(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const stores: FileStore[] = [];
  return {
    open: async () => {
      const store = new FileStore(join(folder, 'rollout.json'), Date.now);
      stores.push(store);
      return store;
    },
    pass: (milliseconds) => wait(milliseconds),
    close: async () => {
      await Promise.all(stores.map((store) => store.close()));
      rmSync(folder, { recursive: true });
    },
  };
});

test('the counts of a replica that was killed count until they are over; then its file goes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const path = join(folder, 'rollout.json');
  let time = Date.now();
  const [killed, other] = [new FileStore(path, () => time), new FileStore(path, () => time)];
  await killed.count([{ key: 'w', windowMs: 120_000, add: [3] }]);
  const [counts] = await other.count([{ key: 'w', windowMs: 120_000, add: [1] }]);
  expect(counts?.parts[0]?.counts).toEqual([4]);
  time += 200_000;
  expect((await other.count([{ key: 'w', windowMs: 120_000, add: [1] }]))[0]?.parts).toHaveLength(1);
  expect(readdirSync(folder)).toHaveLength(1);
  await other.close();
  expect(readdirSync(folder)).toEqual([]);
  rmSync(folder, { recursive: true });
});
