import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds between two attempts, and until the last one. */
const RETRY_MS = 20;
const PATIENCE_MS = 10_000;

/**
 * Takes an exclusive lock on a file; resolves to the function that releases it. It is the system's own lock, by way of SQLite,
 * since Node has no other: it ends with the process that holds it, however that ends, and a process that is merely slow keeps it.
 * A lock by the mere existence of a file would have to be taken from dead processes by its age, and two processes could take it
 * at once. Rejects when the file cannot be created, or when another process holds the lock for ten seconds.
 */
export async function lockFile(path: string): Promise<() => void> {
  closeSync(openSync(path, 'a', 0o600));
  // Loaded only here: most gateways have no such file.
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    const deadline = performance.now() + PATIENCE_MS;
    while (!begin(database)) {
      if (performance.now() > deadline) throw new Error('another process holds the lock');
      await wait(RETRY_MS);
    }
  } catch (error) {
    database.close();
    throw error;
  }
  return () => database.close();
}

/** Nothing is ever written: only the lock of a transaction that might write is needed. */
function begin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('locked')) return false;
    throw error;
  }
}
