import { readFile, stat } from 'node:fs/promises';
import type { SharedWindow, Store, WindowAddition } from '../../rollout/store.ts';
import { replaceFile } from '../replace-file.ts';
import { FileRecords } from './file-records.ts';
import { FileWindows } from './file-windows.ts';
import { lockFile } from './file-lock.ts';
import { ROLLOUT_KEY } from '../../rollout/stored-rollout.ts';

/** Milliseconds between two checks for changes by another replica. */
const POLL_MS = 250;

/**
 * A store in files, for replicas on one machine. A text is replaced whole, under a lock; the counts of each replica are in a file
 * of its own, beside it.
 */
export class FileStore implements Store {
  /** Records beside the texts and windows. */
  readonly records: FileRecords;
  private readonly path: string;
  private readonly windows: FileWindows;
  private readonly polls = new Set<NodeJS.Timeout>();

  /** `path` is the file of the rollout; `time` is milliseconds since 1970. */
  constructor(path: string, time: () => number) {
    this.path = path;
    this.records = new FileRecords(`${path}.report-1`);
    this.windows = new FileWindows(`${path}.counts`, time);
  }

  async read(key: string): Promise<string | undefined> {
    try {
      return await readFile(this.pathOf(key), 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const path = this.pathOf(key);
    const release = await lockFile(`${path}.lock`);
    try {
      if ((await this.read(key)) !== before) return false;
      await replaceFile(path, after);
      return true;
    } finally {
      release();
    }
  }

  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    return this.windows.count(additions);
  }

  subscribe(key: string, changed: () => void): () => void {
    const path = this.pathOf(key);
    let before: string | undefined;
    const check = async (): Promise<void> => {
      const sign = await signOf(path);
      if (before !== undefined && sign !== before) changed();
      before = sign;
    };
    void check();
    const poll = setInterval(() => void check(), POLL_MS);
    poll.unref();
    this.polls.add(poll);
    return () => {
      clearInterval(poll);
      this.polls.delete(poll);
    };
  }

  async close(): Promise<void> {
    for (const poll of this.polls) clearInterval(poll);
    this.records.close();
    await this.windows.close();
  }

  private pathOf(key: string): string {
    return key === ROLLOUT_KEY ? this.path : `${this.path}.${key}`;
  }
}

/** Attributes that change when the file is replaced. */
async function signOf(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
