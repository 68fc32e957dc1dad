import { execFileSync } from 'node:child_process';
import { renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { lockFile, StateFile } from '../../../src/node/rollout/state-file.ts';
import { stateCall } from '../../support/state-call.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

// The kernel takes all locks of a process on a file from it when it closes any descriptor of that file (fcntl(2), POSIX locks).
test('a lock is kept when the same process asks for it once more', async () => {
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

test('a change waits for a process that is reading, as it does for one that writes', async () => {
  const path = join(temporaryFolder('state'), 'state');
  const state = new StateFile(path, Date.now);
  const { life } = await state.exchange(stateCall());
  const reader = new DatabaseSync(path, { timeout: 0 });
  reader.exec('BEGIN; SELECT count(*) FROM text;');
  const changed = state.exchange(stateCall({ life, number: 1, put: [{ key: 'a', text: '1' }] }));
  await wait(100);
  reader.exec('COMMIT');
  expect(await changed).toMatchObject({ number: 1 });
  reader.close();
  state.close();
});

test('no other user of the machine can read the file, and a path that is not a file is reported', async () => {
  const folder = temporaryFolder('state');
  const path = join(folder, 'state');
  const call = stateCall();
  const state = new StateFile(path, Date.now);
  await state.exchange(call);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  state.close();
  const other = join(folder, 'other');
  writeFileSync(other, 'no database, but text that somebody wrote');
  await expect(new StateFile(other, Date.now).exchange(call)).rejects.toThrow('not a database');
});

test.each([
  ['removed', (path: string) => rmSync(path)],
  ['replaced', (path: string) => renameSync(`${path}-other`, path)],
])('a file that was %s is reported once, and the next call has the one at its path', async (_, change) => {
  const path = join(temporaryFolder('state'), 'state');
  const [state, other] = [new StateFile(path, Date.now), new StateFile(`${path}-other`, Date.now)];
  await state.exchange(stateCall());
  await other.exchange(stateCall());
  other.close();
  change(path);
  await expect(state.exchange(stateCall())).rejects.toThrow(`${path} was removed or replaced`);
  const { life } = await state.exchange(stateCall());
  expect(await state.exchange(stateCall({ life, number: 1, put: [{ key: 'a', text: '1' }] }))).toMatchObject({
    number: 1,
  });
  state.close();
});
