import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { FileThread } from '../../../src/node/rollout/file-thread.ts';
import { lockFile, StateFile } from '../../../src/node/rollout/state-file.ts';
import { stateCall } from '../../support/state-call.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** A call that only reads. */
const READING = stateCall({ owner: 'reader' });

function fileThread(): FileThread {
  const thread = new FileThread();
  onTestFinished(() => thread.close());
  return thread;
}

/** A state in whose file each text takes about a second to be set, as on a slow disk. */
async function slowState(): Promise<string> {
  const path = join(temporaryFolder('state'), 'state');
  const made = new StateFile(path, Date.now);
  await made.exchange(READING);
  made.close();
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE hundred (n INTEGER);
    INSERT INTO hundred WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 100) SELECT n FROM up;
    CREATE TRIGGER slow AFTER INSERT ON text BEGIN
      SELECT sum(a.n + b.n + c.n + d.n) FROM hundred a, hundred b, hundred c, (SELECT n FROM hundred LIMIT 20) d;
    END;`);
  database.close();
  return path;
}

test('while a slow disk writes, the main thread goes on', async () => {
  const [thread, path] = [fileThread(), await slowState()];
  // So that the thread runs.
  const { life } = await thread.exchange(path, READING);
  let isWritten = false;
  const call = { ...READING, life, owner: 'writer', number: 1, put: [{ key: 'a', text: '1' }] };
  const written = thread.exchange(path, call).finally(() => {
    isWritten = true;
  });
  const turns = new Set<boolean>();
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => void setImmediate(resolve));
    turns.add(isWritten);
  }
  expect([...turns]).toEqual([false]);
  expect((await written).number).toBe(1);
  expect((await thread.exchange(path, READING)).texts).toMatchObject([{ key: 'a', text: '1' }]);
});

test('calls at one time are done one after the other, and lose nothing', async () => {
  const [thread, path] = [fileThread(), join(temporaryFolder('state'), 'state')];
  const { life } = await thread.exchange(path, READING);
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
  const outcomes = await Promise.all(
    names.map((owner) =>
      thread.exchange(path, { ...READING, life, owner, number: 1, put: [{ key: 'own', text: owner }] }),
    ),
  );
  expect(outcomes.map(({ number }) => number)).toEqual(names.map(() => 1));
  expect((await thread.exchange(path, READING)).texts.map(({ text }) => text)).toEqual(names);
});

test('a lock excludes others until its release', async () => {
  const path = join(temporaryFolder('lock'), 'text.lock');
  const thread = fileThread();
  const release = await thread.lock(path);
  let isTaken = false;
  const second = thread.lock(path).then((end) => {
    isTaken = true;
    return end;
  });
  // Long enough for a second lock that would not wait.
  await thread.exchange(join(temporaryFolder('state'), 'state'), READING);
  expect(isTaken).toBe(false);
  release();
  (await second)();
  // A closed thread holds none.
  await thread.lock(path);
  await thread.close();
  (await lockFile(path))();
});

test('a fault reaches the caller with its code, and the thread goes on', async () => {
  const folder = temporaryFolder('state');
  const thread = fileThread();
  await expect(thread.lock(join(folder, 'none', 'text.lock'))).rejects.toMatchObject({ code: 'ENOENT' });
  writeFileSync(join(folder, 'other'), 'no database, but text that somebody wrote');
  await expect(thread.exchange(join(folder, 'other'), READING)).rejects.toThrow('not a database');
  expect((await thread.exchange(join(folder, 'state'), READING)).texts).toEqual([]);
});
