import { closeSync, openSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';

/** Milliseconds between two tries, and until trying ends. */
const RETRY_MS = 20;
const PATIENCE_MS = 10_000;

/**
 * Takes the lock on a file that one process has at a time; resolves to what gives it back. It is the system's own lock, by way of
 * SQLite, for Node has no other: it goes with the process that holds it, however that ends, and one that is merely slow keeps it.
 * A lock by the mere existence of a file has to be taken from the dead by its age, and two processes can take it at once. Rejects
 * when the file cannot be made, or somebody holds the lock for ten seconds.
 */
export async function lockFile(path: string): Promise<() => void> {
  closeSync(openSync(path, 'a', 0o600));
  // Loaded only here: most gateways keep no file.
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

/** Nothing is ever written: the lock of a transaction that might write is all that is wanted. */
function begin(database: DatabaseSync): boolean {
  try {
    database.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    if (error instanceof Error && error.message.includes('locked')) return false;
    throw error;
  }
}
