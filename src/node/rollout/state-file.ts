import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import {
  carryOut,
  type OwnerRow,
  type StateCall,
  type StateNews,
  type StateRows,
  type TextRow,
} from '../../rollout/shared-state.ts';
import { createPrivateFile } from '../files.ts';

// SQLite waits for the disk within its calls: only the thread of the file store and tests import this module.

/** Milliseconds between two attempts, and until the last one. */
const LOCK_RETRY_MS = 20;
const LOCK_PATIENCE_MS = 10_000;

/**
 * Takes an exclusive lock on a file; resolves to the function that releases it. It uses the kernel's lock through SQLite, since Node has
 * no other: it ends with its process, even if that is killed, and a slow process keeps it. A lock file of a dead process would have to be
 * recognised by age, and two processes could take it at the same time. Rejects if the file cannot be created, or another process holds
 * the lock for ten seconds.
 */
export async function lockFile(path: string): Promise<() => void> {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // For its lock alone; nothing is ever written.
    await patiently(() => database.exec('BEGIN IMMEDIATE'), LOCK_RETRY_MS, LOCK_PATIENCE_MS);
  } catch (error) {
    database.close();
    throw isLocked(error) ? new Error('another process holds the lock', { cause: error }) : error;
  }
  return () => database.close();
}

/** Milliseconds between two attempts while another process reads or writes, and until the last one. */
const RETRY_MS = 10;
const PATIENCE_MS = 1500;

const TABLES = `
  CREATE TABLE IF NOT EXISTS topic (name TEXT PRIMARY KEY, life TEXT NOT NULL, revision INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS text (topic TEXT, owner TEXT, key TEXT, text TEXT NOT NULL, revision INTEGER NOT NULL, set_at REAL NOT NULL,
    PRIMARY KEY (topic, owner, key)) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS text_by_revision ON text (topic, revision);
  CREATE TABLE IF NOT EXISTS process (topic TEXT, id TEXT, number INTEGER NOT NULL, at REAL NOT NULL, has_ended INTEGER NOT NULL,
    PRIMARY KEY (topic, id, has_ended)) STRICT, WITHOUT ROWID;
`;

/**
 * A shared state in an SQLite file, for replicas on one machine. The kernel decides when the file reaches the disk: a killed process
 * loses nothing; a power cut may damage the file, and the gateway then reports it.
 */
export class StateFile {
  private readonly path: string;
  private readonly time: () => number;
  private database: DatabaseSync | undefined;
  private readonly topics = new Map<string, FileRows>();
  private work: Promise<unknown> = Promise.resolve();

  /** `time` is milliseconds since 1970: all replicas have the clock of this machine. */
  constructor(path: string, time: () => number) {
    this.path = path;
    this.time = time;
  }

  /** See `SharedState`. One call after the other, because a connection has one transaction at a time. */
  exchange(call: StateCall): Promise<StateNews> {
    const done = this.work.then(() => this.exchangeNow(call));
    this.work = done.catch(() => {});
    return done;
  }

  /** Closes the file. */
  close(): void {
    this.database?.close();
    this.database = undefined;
    this.topics.clear();
  }

  private async exchangeNow(call: StateCall): Promise<StateNews> {
    const database = await this.open();
    await patiently(() => database.exec('BEGIN IMMEDIATE'), RETRY_MS, PATIENCE_MS);
    try {
      const rows = this.topics.get(call.topic) ?? new FileRows(database, call.topic);
      this.topics.set(call.topic, rows);
      const news = carryOut(rows, call, this.time());
      // Another process that only looks whether it may write holds the file for a moment.
      await patiently(() => database.exec('COMMIT'), RETRY_MS, PATIENCE_MS);
      return news;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      if (!isMoved(error)) throw error;
      // The next call opens the file that is then at the path, or makes one.
      this.close();
      throw new Error(`${this.path} was removed or replaced`, { cause: error });
    }
  }

  private async open(): Promise<DatabaseSync> {
    if (this.database !== undefined) return this.database;
    createPrivateFile(this.path);
    const database = new DatabaseSync(this.path, { timeout: 0 });
    try {
      const begin = (text: string): Promise<void> =>
        patiently(() => database.exec(text), RETRY_MS, PATIENCE_MS);
      await begin('PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = OFF;');
      await begin(TABLES);
    } catch (error) {
      database.close();
      throw error;
    }
    this.database = database;
    return database;
  }
}

const STATEMENTS = {
  head: 'SELECT life, revision FROM topic WHERE name = ?',
  setHead: 'INSERT INTO topic VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET life = ?2, revision = ?3',
  text: 'SELECT text, revision, set_at FROM text WHERE topic = ? AND owner = ? AND key = ?',
  setText:
    'INSERT INTO text VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET text = ?4, revision = ?5, set_at = ?6',
  after:
    'SELECT owner, key, text, revision, set_at FROM text WHERE topic = ? AND revision > ? ORDER BY revision',
  forgetTexts: "DELETE FROM text WHERE topic = ? AND text = '' AND set_at < ?",
  forgetEnds: 'DELETE FROM process WHERE topic = ? AND has_ended = 1 AND at < ?',
  process: 'SELECT number, at FROM process WHERE topic = ? AND id = ? AND has_ended = ?',
  setProcess:
    'INSERT INTO process VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET number = ?3, at = ?4',
  removeProcess: 'DELETE FROM process WHERE topic = ? AND id = ? AND has_ended = 0',
  processes: 'SELECT id, number, at FROM process WHERE topic = ? AND has_ended = 0',
} as const;

/** Milliseconds between two searches for rows to delete. */
const FORGET_MS = 60_000;

/** The rows of a topic in a database. */
class FileRows implements StateRows {
  private readonly topic: string;
  private readonly statements: Readonly<Record<keyof typeof STATEMENTS, StatementSync>>;
  private forgottenBefore = 0;

  constructor(database: DatabaseSync, topic: string) {
    this.topic = topic;
    const prepared = (name: keyof typeof STATEMENTS): StatementSync => database.prepare(STATEMENTS[name]);
    this.statements = {
      head: prepared('head'),
      setHead: prepared('setHead'),
      text: prepared('text'),
      setText: prepared('setText'),
      after: prepared('after'),
      forgetTexts: prepared('forgetTexts'),
      forgetEnds: prepared('forgetEnds'),
      process: prepared('process'),
      setProcess: prepared('setProcess'),
      removeProcess: prepared('removeProcess'),
      processes: prepared('processes'),
    };
  }

  get head(): StateRows['head'] {
    const row = this.statements.head.get(this.topic);
    return row && { life: String(row['life']), revision: Number(row['revision']) };
  }

  set head(head: NonNullable<StateRows['head']>) {
    this.statements.setHead.run(this.topic, head.life, head.revision);
  }

  text(owner: string, key: string): TextRow | undefined {
    const row = this.statements.text.get(this.topic, owner, key);
    return row && textRow(row);
  }

  setText(owner: string, key: string, { text, revision, setAt }: TextRow): void {
    this.statements.setText.run(this.topic, owner, key, text, revision, setAt);
  }

  *after(revision: number): Generator<TextRow & { readonly owner: string; readonly key: string }> {
    for (const row of this.statements.after.iterate(this.topic, revision))
      yield { ...textRow(row), owner: String(row['owner']), key: String(row['key']) };
  }

  forget(removedBefore: number, endedBefore: number): void {
    if (removedBefore - this.forgottenBefore < FORGET_MS) return;
    this.forgottenBefore = removedBefore;
    this.statements.forgetTexts.run(this.topic, removedBefore);
    this.statements.forgetEnds.run(this.topic, endedBefore);
  }

  owner(id: string): OwnerRow | undefined {
    return ownerRow(this.statements.process.get(this.topic, id, 0));
  }

  setOwner(id: string, row: OwnerRow | undefined): void {
    if (row === undefined) this.statements.removeProcess.run(this.topic, id);
    else this.statements.setProcess.run(this.topic, id, row.number, row.at, 0);
  }

  *owners(): Generator<readonly [id: string, row: OwnerRow]> {
    for (const row of this.statements.processes.iterate(this.topic))
      yield [String(row['id']), { number: Number(row['number']), at: Number(row['at']) }];
  }

  ended(id: string): OwnerRow | undefined {
    return ownerRow(this.statements.process.get(this.topic, id, 1));
  }

  setEnded(id: string, { number, at }: OwnerRow): void {
    this.statements.setProcess.run(this.topic, id, number, at, 1);
  }
}

type Row = ReturnType<StatementSync['get']>;

function textRow(row: NonNullable<Row>): TextRow {
  return { text: String(row['text']), revision: Number(row['revision']), setAt: Number(row['set_at']) };
}

function ownerRow(row: Row): OwnerRow | undefined {
  return row && { number: Number(row['number']), at: Number(row['at']) };
}

/** Tries again while another process holds the lock. */
async function patiently(run: () => void, retryMs: number, patienceMs: number): Promise<void> {
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

/** True if the open file is no longer the one at its path (SQLITE_READONLY_DBMOVED, https://www.sqlite.org/rescode.html). */
function isMoved(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === 1032;
}

/** True while another process works on the file: SQLITE_BUSY or SQLITE_LOCKED, also with an extended code. */
function isLocked(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && [5, 6].includes(Number(error.errcode) & 0xff);
}
