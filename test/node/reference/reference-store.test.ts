import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, expect, test } from 'vitest';
import { openReferenceStore } from '../../../src/node/reference.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { StoreBusy } from '../../../src/reference/resources.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = temporaryFolder('reference');
  file = join(folder, 'v2.db');
});

/** Runs `script` in a separate process, with `store` open on the file; returns its output and its exit. */
async function elsewhere(
  script: string,
): Promise<{ printed: string; code: number | null; signal: string | null }> {
  const module = new URL('../../../src/node/reference.ts', import.meta.url).href;
  const whole = `import { openReferenceStore } from ${JSON.stringify(module)};
    const store = openReferenceStore(${JSON.stringify(file)});
    ${script}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', whole], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (chunk) => (printed += chunk));
  const [code, signal] = await once(child, 'close');
  return { printed, code, signal };
}

test('two processes that write at once lose nothing, and no id is given twice', async () => {
  const store = openReferenceStore(file);
  const counter = store.create('property', { count: 0 });
  const script = `
    for (let index = 0; index < 400; index++) {
      console.log(store.create('client', { name: String(index) }).id);
      store.update('property', ${counter.id}, ({ count }) => ({ count: count + 1 }));
    }`;
  const outcomes = await Promise.all([elsewhere(script), elsewhere(script)]);
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
  const ids = outcomes.flatMap(({ printed }) => printed.trim().split('\n'));
  expect(new Set(ids).size).toBe(800);
  expect(store.list('client', {}, 0, 1).total).toBe(800);
  expect(store.read('property', counter.id)?.attributes).toEqual({ count: 800 });
  store.close();
});

test('four processes that start together on a new file all get it', async () => {
  const outcomes = await Promise.all(
    Array.from({ length: 4 }, () => elsewhere(`store.create('client', {}); store.close();`)),
  );
  expect(outcomes.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
  const store = openReferenceStore(file);
  expect(store.list('client', {}, 0, 9).total).toBe(4);
  store.close();
});

test('writes that were acknowledged before a process was killed are there afterwards', async () => {
  const { signal, printed } = await elsewhere(`
    const { id } = store.create('client', { name: 'kept' });
    process.stdout.write(String(id), () => process.kill(process.pid, 'SIGKILL'));`);
  expect(signal).toBe('SIGKILL');
  const store = openReferenceStore(file);
  expect(store.read('client', Number(printed))?.attributes).toEqual({ name: 'kept' });
  store.close();
});

test('work that throws leaves nothing behind', () => {
  const store = openReferenceStore(undefined);
  const work = (): void => {
    store.create('property', {});
    throw new Error('the work failed');
  };
  expect(() => store.atomically(work)).toThrow('the work failed');
  expect(store.list('property', {}, 0, 9).total).toBe(0);
  store.create('property', {});
  expect(store.list('property', {}, 0, 9).total).toBe(1);
  store.close();
});

test('a writer that waits in vain says that the store is busy, and works again later', () => {
  const store = openReferenceStore(file, 50);
  const other = new DatabaseSync(file);
  other.exec('BEGIN IMMEDIATE');
  expect(() => store.create('client', {})).toThrow(StoreBusy);
  expect(store.list('client', {}, 0, 1).total).toBe(0);
  other.exec('COMMIT');
  other.close();
  expect(store.create('client', {}).id).toBe(1);
  store.close();
});

test('a database of another program is refused, and stays as it was', () => {
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE theirs (x)');
  other.close();
  const before = readFileSync(file);
  expect(() => openReferenceStore(file)).toThrow('another program');
  expect(readFileSync(file).equals(before)).toBe(true);
});

test('a file of a version with another spelling is refused', () => {
  openReferenceStore(file).close();
  const older = new DatabaseSync(file);
  older.exec('PRAGMA user_version = 1');
  older.close();
  expect(() => openReferenceStore(file)).toThrow('another version');
});

test('a list has the resources with every wanted attribute, of any name and value', () => {
  const store = openReferenceStore(undefined);
  for (const name of ["it's", 'x', 'x', '"', '1'])
    store.create('client', { name, client_id: 1, 'a.b': null });
  const total = (where: Readonly<Record<string, unknown>>): number => store.list('client', where, 0, 9).total;
  expect([{ name: "it's" }, { name: 'x' }, { name: '"' }, { name: 1 }, { name: 'y' }].map(total)).toEqual([
    1, 2, 1, 0, 0,
  ]);
  expect([{ name: 'x', client_id: 1 }, { name: 'x', client_id: 2 }, { email: 'x' }, {}].map(total)).toEqual([
    2, 0, 0, 5,
  ]);
  expect(store.list('client', { name: 'x' }, 1, 1).items.map(({ id }) => id)).toEqual([3]);
  store.close();
});

test('a file that is no database is refused, and stays as it was', () => {
  writeFileSync(file, 'dear diary');
  expect(() => openReferenceStore(file)).toThrow('not a database');
  expect(readFileSync(file, 'utf8')).toBe('dear diary');
});

test("the database and SQLite's files beside it are readable by their owner only", () => {
  const path = join(folder, 'private.db');
  const store = openReferenceStore(path);
  store.create('client', {});
  const modes = readdirSync(folder)
    .filter((name) => name.startsWith('private.db'))
    .map((name) => statSync(join(folder, name)).mode & 0o777);
  expect(modes.length).toBeGreaterThan(0);
  expect(new Set(modes)).toEqual(new Set([0o600]));
  store.close();
});
