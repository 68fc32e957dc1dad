import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import {
  StoreBusy,
  type Attributes,
  type ResourceKind,
  type Store,
  type StoredResource,
} from '../../reference/store.ts';

/**
 * Keeps the reference service's resources in SQLite: in the file at `path`, created when absent, or in memory without one. Any
 * number of processes may write to one file; a writer waits `busyTimeoutMs` for another one. Throws an error with the reason when
 * the file cannot be used.
 */
export function openReferenceStore(path: string | undefined, busyTimeoutMs = 5000): Store {
  if (path !== undefined) makePrivate(path);
  const db = new DatabaseSync(path ?? ':memory:', { timeout: busyTimeoutMs });
  try {
    prepareFile(db, busyTimeoutMs);
    return createStore(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Creates the file before SQLite does, which would let every user of the machine read it. Where that fails, SQLite reports why.
 */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    return;
  }
}

/** Marks a file as ours, in SQLite's own header: `cgw2`. */
const APPLICATION_ID = 0x63677732;

/** The spelling of the attributes in a file: 1 was that of V2, 2 is that of V1. */
const SPELLING_VERSION = 2;

function prepareFile(db: DatabaseSync, busyTimeoutMs: number): void {
  // Checked before anything is written: a database of another program stays unchanged.
  isPrepared(db);
  enterWal(db, busyTimeoutMs);
  // A power cut can lose the last writes, a killed process none.
  db.exec('PRAGMA synchronous = NORMAL');
  writing(db, () => {
    if (isPrepared(db)) return;
    db.exec(
      `PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${SPELLING_VERSION}; ${TABLE_OF_RESOURCES}`,
    );
  });
}

function isPrepared(db: DatabaseSync): boolean {
  // In one transaction: another process may be preparing the same file.
  const { owner, spelling, tables } = reading(db, () => ({
    owner: row(db.prepare('PRAGMA application_id').get())['application_id'],
    spelling: row(db.prepare('PRAGMA user_version').get())['user_version'],
    tables: row(db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get())['tables'],
  }));
  if (owner === APPLICATION_ID) {
    if (spelling === SPELLING_VERSION) return true;
    throw new Error('another version of the reference service made it');
  }
  if (owner !== 0 || tables !== 0) throw new Error('it is a database of another program');
  return false;
}

const TABLE_OF_RESOURCES = `
  CREATE TABLE resource (id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, attributes TEXT NOT NULL) STRICT;
  CREATE INDEX resource_by_kind ON resource (kind, id);
`;

/** The resources of a kind that have every attribute of a JSON object. */
const LISTED = `FROM resource WHERE kind = ? AND NOT EXISTS (
  SELECT 1 FROM json_each(?) AS wanted
  WHERE json_extract(attributes, '$."' || wanted.key || '"') IS NOT wanted.value
)`;

/** SQLite does not always wait for the lock that entering WAL takes: 1 of 360 opens failed when six came at once. */
function enterWal(db: DatabaseSync, busyTimeoutMs: number): void {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; ; waitedMs += 20) {
    try {
      db.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waitedMs >= busyTimeoutMs) throw error;
      Atomics.wait(pause, 0, 0, 20);
    }
  }
}

function createStore(db: DatabaseSync): Store {
  const insert = db.prepare('INSERT INTO resource (kind, attributes) VALUES (?, ?)');
  const select = db.prepare('SELECT id, attributes FROM resource WHERE kind = ? AND id = ?');
  const page = db.prepare(`SELECT id, attributes ${LISTED} ORDER BY id LIMIT ? OFFSET ?`);
  const count = db.prepare(`SELECT count(*) AS total ${LISTED}`);
  const replace = db.prepare('UPDATE resource SET attributes = ? WHERE id = ?');
  const remove = db.prepare('DELETE FROM resource WHERE kind = ? AND id = ?');

  const read = (kind: ResourceKind, id: number): StoredResource | undefined => {
    const found = select.get(kind, id);
    return found === undefined ? undefined : toResource(found);
  };
  return {
    read,
    create: (kind, attributes) => {
      const { lastInsertRowid } = writing(db, () => insert.run(kind, JSON.stringify(attributes)));
      return { id: Number(lastInsertRowid), attributes };
    },
    list: (kind, where, offset, limit) => {
      const wanted = JSON.stringify(where);
      return reading(db, () => {
        const { total } = row(count.get(kind, wanted));
        return { items: page.all(kind, wanted, limit, offset).map(toResource), total: Number(total) };
      });
    },
    update: (kind, id, change) => {
      return writing(db, () => {
        const before = read(kind, id);
        if (before === undefined) return undefined;
        const attributes = change(before.attributes);
        replace.run(JSON.stringify(attributes), id);
        return { id, attributes };
      });
    },
    remove: (kind, id) => writing(db, () => remove.run(kind, id).changes > 0),
    atomically: (work) => writing(db, work),
    close: () => db.close(),
  };
}

/** Runs `work` on one snapshot of the database. */
function reading<T>(db: DatabaseSync, work: () => T): T {
  return db.isTransaction ? work() : transaction(db, 'BEGIN', work);
}

/** Takes the write lock first: a transaction that reads, then writes, would fail as soon as another one had written. */
function writing<T>(db: DatabaseSync, work: () => T): T {
  return db.isTransaction ? work() : transaction(db, 'BEGIN IMMEDIATE', work);
}

function transaction<T>(db: DatabaseSync, begin: string, work: () => T): T {
  try {
    db.exec(begin);
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw isBusy(error) ? new StoreBusy('another writer holds the database', { cause: error }) : error;
  }
}

/** SQLITE_BUSY, with any extended code. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 5;
}

function toResource(found: Record<string, unknown>): StoredResource {
  return { id: Number(found['id']), attributes: parseAttributes(String(found['attributes'])) };
}

function parseAttributes(text: string): Attributes {
  const attributes: unknown = JSON.parse(text);
  return isRow(attributes) ? attributes : {};
}

function row(found: unknown): Record<string, unknown> {
  if (!isRow(found)) throw new Error('the database returned no row');
  return found;
}

function isRow(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
