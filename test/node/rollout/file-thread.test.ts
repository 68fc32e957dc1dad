import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { FileRecords, lockFile } from '../../../src/node/rollout/file-records.ts';
import { FileThread } from '../../../src/node/rollout/file-thread.ts';
import type { RecordStore } from '../../../src/rollout/store.ts';
import { recordContract } from '../../rollout/record-contract.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

recordContract(async () => {
  const folder = temporaryFolder('records');
  const path = join(folder, 'records');
  const all: FileThread[] = [];
  const closeAll = async (): Promise<void> => {
    await Promise.all(all.map((thread) => thread.close()));
  };
  return {
    open: async () => {
      const thread = new FileThread();
      all.push(thread);
      return thread.records(path);
    },
    lose: async () => {
      await closeAll();
      for (const end of ['', '-journal']) rmSync(`${path}${end}`, { force: true });
    },
    close: async () => {
      await closeAll();
    },
  };
});

function fileThread(): FileThread {
  const thread = new FileThread();
  onTestFinished(() => thread.close());
  return thread;
}

/** Records of a file in which each write takes about a second, as on a slow disk. */
async function slowRecords(thread: FileThread): Promise<RecordStore> {
  const path = join(temporaryFolder('records'), 'records');
  const made = new FileRecords(path);
  await made.changes(0, 1);
  made.close();
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE hundred (n INTEGER);
    INSERT INTO hundred WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 100) SELECT n FROM up;
    CREATE TRIGGER slow AFTER INSERT ON record BEGIN
      SELECT sum(a.n + b.n + c.n + d.n) FROM hundred a, hundred b, hundred c, (SELECT n FROM hundred LIMIT 20) d;
    END;`);
  database.close();
  return thread.records(path);
}

test('while a slow disk writes, the main thread goes on', async () => {
  const records = await slowRecords(fileThread());
  // So that the thread runs.
  await records.changes(0, 1);
  let isWritten = false;
  const written = records.replace('', [{ key: 'a', text: '1', revision: 0 }]).finally(() => {
    isWritten = true;
  });
  const turns = new Set<boolean>();
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    turns.add(isWritten);
  }
  expect([...turns]).toEqual([false]);
  expect((await written)?.life).not.toBe('');
  expect((await records.changes(0, 10)).records).toMatchObject([{ key: 'a', text: '1' }]);
});

test('calls at one time are done one after the other, and lose nothing', async () => {
  const thread = fileThread();
  const records = thread.records(join(temporaryFolder('records'), 'records'));
  const { life = '' } = (await records.replace('', [{ key: 'first', text: '', revision: 0 }])) ?? {};
  const names = Array.from({ length: 20 }, (_, index) => `key ${index}`);
  const replaced = await Promise.all(
    names.map((key) => records.replace(life, [{ key, text: key, revision: 0 }])),
  );
  expect(replaced.map((one) => one?.life)).toEqual(names.map(() => life));
  expect((await records.changes(1, 100)).records.map(({ key }) => key)).toEqual(names);
});

test('a lock excludes, and another may take it after its release', async () => {
  const path = join(temporaryFolder('lock'), 'text.lock');
  const thread = fileThread();
  const release = await thread.lock(path);
  let isTaken = false;
  const second = thread.lock(path).then((end) => {
    isTaken = true;
    return end;
  });
  // Long enough for a second lock that would not wait.
  await thread.records(join(temporaryFolder('records'), 'records')).changes(0, 1);
  expect(isTaken).toBe(false);
  release();
  (await second)();
  // A closed thread holds none.
  await thread.lock(path);
  await thread.close();
  (await lockFile(path))();
});

test('a fault reaches the caller with its code, and the thread goes on', async () => {
  const folder = temporaryFolder('records');
  const thread = fileThread();
  await expect(thread.lock(join(folder, 'none', 'text.lock'))).rejects.toMatchObject({ code: 'ENOENT' });
  writeFileSync(join(folder, 'other'), 'no database, but text that somebody wrote');
  await expect(thread.records(join(folder, 'other')).changes(0, 1)).rejects.toThrow('not a database');
  expect(await thread.records(join(folder, 'records')).changes(0, 1)).toEqual({ life: '', records: [] });
});
