import { execFileSync } from 'node:child_process';
import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { FileRecords, FileStore, lockFile } from '../../../src/node/rollout/file-store.ts';
import { recordContract } from '../../rollout/record-contract.ts';
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

// The kernel takes all locks of a process on a file from it when it closes any descriptor of that file (fcntl(2), POSIX locks).
test('a lock is kept while the same process asks for it once more', async () => {
  const path = join(temporaryFolder('lock'), 'text.lock');
  const release = await lockFile(path);
  const second = lockFile(path);
  const take = `
    import { DatabaseSync } from 'node:sqlite';
    const database = new DatabaseSync(${JSON.stringify(path)}, { timeout: 0 });
    try { database.exec('BEGIN IMMEDIATE'); console.log('taken'); } catch ({ message }) { console.log(message); }`;
  const said = execFileSync(process.execPath, ['--input-type=module', '--eval', take], { encoding: 'utf8' });
  expect(said).toBe('database is locked\n');
  release();
  (await second)();
});

recordContract(async () => {
  const folder = temporaryFolder('records');
  const path = join(folder, 'records');
  const all: FileRecords[] = [];
  const closeAll = (): void => {
    for (const records of all) records.close();
  };
  return {
    open: async () => {
      const records = new FileRecords(path);
      all.push(records);
      return records;
    },
    lose: async () => {
      closeAll();
      for (const end of ['', '-journal']) rmSync(`${path}${end}`, { force: true });
    },
    close: async () => {
      closeAll();
    },
  };
});

test('nobody else on the machine can read the file, and one of another kind is told', async () => {
  const folder = temporaryFolder('records');
  const path = join(folder, 'records');
  const records = new FileRecords(path);
  await records.replace('', [{ key: 'a', text: '1', revision: 0 }]);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  records.close();
  const other = join(folder, 'other');
  writeFileSync(other, 'no database, but text that somebody wrote');
  await expect(new FileRecords(other).changes(0, 1)).rejects.toThrow('not a database');
});
