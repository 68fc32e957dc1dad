import { readFile, stat } from 'node:fs/promises';
import type { SharedState, StateCall, StateNews } from '../../rollout/shared-state.ts';
import { ROLLOUT_KEY } from '../../rollout/stored-rollout.ts';
import { errorCode, replaceFile } from '../files.ts';
import { FileThread } from './file-thread.ts';

/** Milliseconds between two checks for changes by another replica. */
const POLL_MS = 250;

/**
 * A store in files, for replicas on one machine: the modes are text that people can read, and are replaced whole, under a lock; what each
 * process owns is in a database beside it.
 */
export class FileStore implements SharedState {
  private readonly path: string;
  private readonly thread = new FileThread();
  private readonly polls = new Set<NodeJS.Timeout>();

  /** `path` is the file of the rollout. */
  constructor(path: string) {
    this.path = path;
  }

  exchange(call: StateCall): Promise<StateNews> {
    return this.thread.exchange(`${this.path}.state-1`, call);
  }

  async read(key: string): Promise<string | undefined> {
    try {
      return await readFile(this.pathOf(key), 'utf8');
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async compareAndSet(key: string, before: string | undefined, after: string): Promise<boolean> {
    const path = this.pathOf(key);
    const release = await this.thread.lock(`${path}.lock`);
    try {
      if ((await this.read(key)) !== before) return false;
      await replaceFile(path, after);
      return true;
    } finally {
      release();
    }
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
    await this.thread.close();
  }

  private pathOf(key: string): string {
    return key === ROLLOUT_KEY ? this.path : `${this.path}.${key}`;
  }
}

/** Attributes that change when a file is replaced. */
async function signOf(path: string): Promise<string> {
  try {
    const { ino, mtimeMs, size } = await stat(path);
    return `${ino} ${mtimeMs} ${size}`;
  } catch {
    return '';
  }
}
