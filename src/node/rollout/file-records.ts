import { randomUUID } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import type { RecordChange, RecordPage, RecordStore, Replaced } from '../../rollout/store.ts';
import { createPrivateFile } from '../files.ts';

// SQLite waits for the disk within its calls: only the thread of the file store and tests import this module.

/** Milliseconds between two attempts, and until the last one. */
const RETRY_MS = 20;
const PATIENCE_MS = 10_000;

/**
 * Takes an exclusive lock on a file; resolves to the function that releases it. It uses the kernel's lock through SQLite, since Node has
 * no other: it ends with its process, however that ends, and a slow process keeps it. A lock file would have to be taken from dead
 * processes by age, and two processes could take it at once. Rejects if the file cannot be created, or another process holds the lock for
 * ten seconds.
 */
export async function lockFile(path: string): Promise<() => void> {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // For its lock alone; nothing is ever written.
    await patiently(() => database.exec('BEGIN IMMEDIATE'), RETRY_MS, PATIENCE_MS);
  } catch (error) {
    database.close();
    throw isLocked(error) ? new Error('another process holds the lock', { cause: error }) : error;
  }
  return () => database.close();
}

/** Milliseconds between two attempts while another process writes, and until the last one. */
const RECORD_RETRY_MS = 10;
const RECORD_PATIENCE_MS = 1500;

const TABLES = `
  CREATE TABLE IF NOT EXISTS record (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, text TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS record_by_revision ON record (revision);
  CREATE TABLE IF NOT EXISTS life (name TEXT NOT NULL, revision INTEGER NOT NULL) STRICT;
`;

/**
 * Records in an SQLite file, for replicas on one machine. It leaves it to the kernel when they reach the disk: a killed process loses
 * nothing; a power cut may damage the file, and the gateway then reports it.
 */
export class FileRecords implements RecordStore {
  private readonly path: string;
  private database: DatabaseSync | undefined;
  private work: Promise<unknown> = Promise.resolve();

  constructor(path: string) {
    this.path = path;
  }

  async changes(after: number, limit: number): Promise<RecordPage> {
    return this.transaction((database) => {
      const records = database
        .prepare('SELECT key, revision, text FROM record WHERE revision > ? ORDER BY revision LIMIT ?')
        .all(after, limit)
        .map(({ key, revision, text }) => ({
          key: String(key),
          revision: Number(revision),
          text: String(text),
        }));
      return { life: lifeOf(database).name, records };
    });
  }

  async replace(life: string, changes: readonly RecordChange[]): Promise<Replaced | undefined> {
    return this.transaction((database) => {
      const known = lifeOf(database);
      if (known.name !== life) return undefined;
      const find = database.prepare('SELECT revision FROM record WHERE key = ?');
      for (const { key, revision } of changes)
        if (Number(find.get(key)?.['revision'] ?? 0) !== revision) return undefined;
      const set = database.prepare(
        'INSERT INTO record VALUES (?1, ?2, ?3) ON CONFLICT (key) DO UPDATE SET revision = ?2, text = ?3',
      );
      let { revision } = known;
      for (const { key, text } of changes) {
        revision += 1;
        set.run(key, revision, text);
      }
      const name = life === '' ? randomUUID() : life;
      if (life === '') database.prepare('INSERT INTO life VALUES (?, ?)').run(name, revision);
      else database.prepare('UPDATE life SET revision = ?').run(revision);
      return { life: name, revision };
    });
  }

  /** Closes the file. */
  close(): void {
    this.database?.close();
    this.database = undefined;
  }

  /** One after the other, because a connection has one transaction at a time. */
  private transaction<Value>(run: (database: DatabaseSync) => Value): Promise<Value> {
    const done = this.work.then(() => this.transactionNow(run));
    this.work = done.catch(() => {});
    return done;
  }

  private async transactionNow<Value>(run: (database: DatabaseSync) => Value): Promise<Value> {
    const database = await this.open();
    await patiently(() => database.exec('BEGIN IMMEDIATE'));
    try {
      const value = run(database);
      database.exec('COMMIT');
      return value;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  }

  private async open(): Promise<DatabaseSync> {
    if (this.database !== undefined) return this.database;
    createPrivateFile(this.path);
    const database = new DatabaseSync(this.path, { timeout: 0 });
    try {
      await patiently(() => database.exec('PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;'));
      await patiently(() => database.exec(TABLES));
    } catch (error) {
      database.close();
      throw error;
    }
    this.database = database;
    return database;
  }
}

function lifeOf(database: DatabaseSync): { readonly name: string; readonly revision: number } {
  const row = database.prepare('SELECT name, revision FROM life').get();
  return { name: String(row?.['name'] ?? ''), revision: Number(row?.['revision'] ?? 0) };
}

/** Tries again while another process holds the lock. */
async function patiently(
  run: () => void,
  retryMs = RECORD_RETRY_MS,
  patienceMs = RECORD_PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      run();
      return;
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw error;
      await wait(retryMs);
    }
  }
}

function isLocked(error: unknown): boolean {
  return error instanceof Error && /locked|busy/i.test(error.message);
}
