import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { DatabaseSync } from 'node:sqlite';
import { getRequestListener } from '@hono/node-server';
import { boundHost, listenFault } from './clients/listen.ts';
import { createPrivateFile } from './files.ts';
import { editionOfV1, editionOfV2 } from '../reference/dialect.ts';
import { Refusal, refusalResponse, toResponse } from '../reference/envelope.ts';
import { createReference, type ReferenceParts } from '../reference/reference.ts';
import {
  createSchemas,
  isFreeName,
  type Attributes,
  type ResourceKind,
  type Store,
  StoreBusy,
  type StoredResource,
} from '../reference/resources.ts';

/** How the reference service runs. Without `listen` it uses a free port of the loopback interface. */
export interface ReferenceOptions extends Omit<ReferenceParts, 'store' | 'now'> {
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** A file; in memory if absent. */
  readonly db?: string | undefined;
}

export interface RunningReference {
  /** Such as `http://127.0.0.1:8090`. */
  readonly origin: string;
  /** Stops accepting, finishes requests in flight (within 5 seconds), closes the store. */
  close(): Promise<void>;
}

/** Starts the reference service; rejects with a {@link ReferenceFault} when the address or the file cannot be used. */
export async function startReference(options: ReferenceOptions): Promise<RunningReference> {
  const { listen: address = { host: '127.0.0.1', port: 0 }, db, ...parts } = options;
  checkDeprecated(parts.deprecated ?? []);
  const store = openStore(db);
  const app = createReference({ ...parts, store, now: () => performance.now() });
  const respond = getRequestListener(app.fetch, { overrideGlobalObjects: false, errorHandler });
  const server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    (incoming, outgoing) => void respond(incoming, outgoing),
  );
  try {
    const bound = await boundHost(address.host);
    const port = await listen(server, bound, address.port);
    const host = bound.includes(':') ? `[${bound}]` : bound;
    return { origin: `http://${host}:${port}`, close: () => close(server, store) };
  } catch (error) {
    store.close();
    const fault = listenFault(error)?.fault ?? asError(error).message;
    throw new ReferenceFault(
      'listen',
      `names an address that cannot be used: ${fault}. Choose another address or port.`,
      {
        cause: error,
      },
    );
  }
}

/** Milliseconds that idle connections are kept: longer than proxies do, so that they close them first. */
const KEEP_ALIVE_MS = 65_000;

/** Requests that the adapter cannot read, for example with a bad Host, also get a response in the envelope, and are never printed. */
function errorHandler(): Response {
  return toResponse(
    refusalResponse(new Refusal(400, 'The request has a target or a Host that cannot be read.')),
  );
}

function checkDeprecated(names: readonly string[]): void {
  const editions = [editionOfV1([], 'data'), editionOfV2('2025-01-01')];
  const schemas = editions.map(({ spelling }) => createSchemas('refuse', spelling));
  for (const name of names) {
    if (schemas.every((known) => isFreeName(name, known))) continue;
    throw new ReferenceFault(
      'deprecated',
      `${JSON.stringify(name)}: V2 has an attribute with this name, or it is not a plain word. Choose another, such as legacy_code.`,
    );
  }
}

function openStore(path: string | undefined): Store {
  try {
    return openReferenceStore(path);
  } catch (error) {
    const { message } = asError(error);
    throw new ReferenceFault(
      'db',
      `${path ?? 'in memory'}: ${message}. Choose a new file, or one that a reference service made.`,
      { cause: error },
    );
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await once(server.listen(port, host), 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}

async function close(server: Server, store: Store): Promise<void> {
  const closed = new Promise((resolve) => {
    server.close(resolve);
  });
  // Connections that are busy now become idle after their response, and would otherwise stay open.
  const idle = setInterval(() => server.closeIdleConnections(), 20);
  const deadline = setTimeout(() => server.closeAllConnections(), 5000);
  await closed;
  clearInterval(idle);
  clearTimeout(deadline);
  store.close();
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

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

/** Creates the file before SQLite does, which would let every user of the machine read it. If that fails, SQLite reports why. */
function makePrivate(path: string): void {
  try {
    createPrivateFile(path);
  } catch {
    return;
  }
}

/** Marks a file as a reference service's, in SQLite's own header: `cgw2`. */
const APPLICATION_ID = 0x63677732;

/** The spelling of the attributes in a file: 1 is V2's, 2 is V1's. */
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

/** SQLite does not always wait for the lock that entering WAL needs: 1 of 360 opens failed with six at the same time. */
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

/** An option that prevents the start of the reference service. The message follows its name, and contains its value and the remedy. */
export class ReferenceFault extends Error {
  override readonly name = 'ReferenceFault';
  readonly option: FaultyOption;

  constructor(option: FaultyOption, message: string, options?: ErrorOptions) {
    super(message, options);
    this.option = option;
  }
}

/** The options that can keep the reference service from starting. */
export type FaultyOption = 'listen' | 'deprecated' | 'db';
