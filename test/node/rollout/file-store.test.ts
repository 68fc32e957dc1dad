import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FileStore } from '../../../src/node/rollout/file-store.ts';
import { storeContract } from '../../rollout/store-contract.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

storeContract(async () => {
  const folder = temporaryFolder('store');
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
    },
  };
});

test('the counts of a replica that was killed count until they are over; then its file goes', async () => {
  const folder = temporaryFolder('store');
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
  // A call that was on its way leaves no file that nobody will remove.
  await other.count([{ key: 'w', windowMs: 120_000, add: [1] }]);
  expect(readdirSync(folder)).toEqual([]);
});
