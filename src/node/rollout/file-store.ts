import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { parsedJson } from '../../rewrite-log/attributes.ts';
import {
  type KeptWindow,
  WindowTable,
  type RecordStore,
  type SharedWindow,
  type Store,
  WINDOW_PARTS,
  type WindowAddition,
  type WindowPart,
} from '../../rollout/store.ts';
import { ROLLOUT_KEY } from '../../rollout/stored-rollout.ts';
import { errorCode, replaceFile } from '../files.ts';
import { FileThread } from './file-thread.ts';

/** Milliseconds between two checks for changes by another replica. */
const POLL_MS = 250;

/**
 * A store in files, for replicas on one machine. It replaces texts whole, under a lock; each replica has its own file of counts.
 */
export class FileStore implements Store {
  /** Records beside the texts and windows. */
  readonly records: RecordStore;
  private readonly path: string;
  private readonly windows: FileWindows;
  private readonly thread = new FileThread();
  private readonly polls = new Set<NodeJS.Timeout>();

  /** `path` is the file of the rollout; `time` is milliseconds since 1970. */
  constructor(path: string, time: () => number) {
    this.path = path;
    this.records = this.thread.records(`${path}.report-1`);
    this.windows = new FileWindows(`${path}.counts`, time);
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
    await this.windows.close();
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

const keptWindows = z.array(
  z.strictObject({
    key: z.string(),
    windowMs: z.number().positive(),
    parts: z.array(z.strictObject({ part: z.int(), counts: z.array(z.number()) })),
  }),
);

/** Milliseconds without a write after which a file is removed if its windows are over. */
const STALE_MS = 60_000;

/** Window counts in files: each replica writes its own without a lock, and reads the others'. */
class FileWindows {
  private readonly prefix: string;
  private readonly path: string;
  private readonly time: () => number;
  private readonly own = new WindowTable();
  private readonly others = new Map<
    string,
    { readonly sign: string; readonly windows: readonly KeptWindow[] }
  >();
  private work: Promise<unknown> = Promise.resolve();
  private isClosed = false;

  /** Files are named by `prefix`, a dot and an id. */
  constructor(prefix: string, time: () => number) {
    this.prefix = prefix;
    this.path = `${prefix}.${randomUUID()}`;
    this.time = time;
  }

  /** Adds to windows; resolves to all replicas' counts. */
  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const counted = this.work.then(() => this.countNow(additions));
    this.work = counted.catch(() => {});
    return counted;
  }

  /** Removes this replica's file; later counts stay in this process. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.work;
    await rm(this.path, { force: true });
  }

  private async countNow(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const now = this.time();
    const own = additions.map((addition) => this.own.add(addition, now));
    if (!this.isClosed && additions.some(({ add }) => add.some((number) => number !== 0))) {
      // Replaced, so that no reader sees half of it; not durable, because it may be lost when the machine crashes.
      await replaceFile(this.path, JSON.stringify(this.own.list(now)), { isDurable: false });
    }
    const others = await this.readOthers(now);
    return own.map((counts, index) => {
      const key = additions[index]?.key;
      return others
        .filter((window) => window.key === key)
        .reduce((sum, { parts }) => merged(sum, parts), counts);
    });
  }

  private async readOthers(now: number): Promise<readonly KeptWindow[]> {
    const folder = dirname(this.prefix);
    const start = `${basename(this.prefix)}.`;
    const names = (await readdir(folder)).filter((name) => name.startsWith(start) && !name.endsWith('.tmp'));
    const paths = names.map((name) => join(folder, name)).filter((path) => path !== this.path);
    for (const known of this.others.keys()) if (!paths.includes(known)) this.others.delete(known);
    const windows = await Promise.all(paths.map((path) => this.readOther(path, now)));
    return windows.flat();
  }

  /** Reads another replica's file, which may disappear at any time. */
  private async readOther(path: string, now: number): Promise<readonly KeptWindow[]> {
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) return [];
    const sign = `${found.ino} ${found.mtimeMs} ${found.size}`;
    const known = this.others.get(path);
    const windows = known?.sign === sign ? known.windows : await readWindows(path);
    this.others.set(path, { sign, windows });
    if (now - found.mtimeMs > STALE_MS && windows.every((window) => isOver(window, now)))
      await rm(path, { force: true });
    return windows;
  }
}

async function readWindows(path: string): Promise<readonly KeptWindow[]> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const outcome = keptWindows.safeParse(parsedJson(text));
  return outcome.success ? outcome.data : [];
}

function merged(sum: SharedWindow, parts: readonly WindowPart[]): SharedWindow {
  const byPart = new Map(sum.parts.map(({ part, counts }) => [part, counts]));
  for (const { part, counts } of parts) {
    if (part <= sum.part - WINDOW_PARTS) continue;
    const before = byPart.get(part) ?? [];
    byPart.set(
      part,
      counts.map((number, index) => number + (before[index] ?? 0)),
    );
  }
  return {
    part: sum.part,
    parts: [...byPart].toSorted(([one], [other]) => one - other).map(([part, counts]) => ({ part, counts })),
  };
}

function isOver({ windowMs, parts }: KeptWindow, now: number): boolean {
  const newest = parts.at(-1)?.part ?? 0;
  return newest <= Math.floor((now / windowMs) * WINDOW_PARTS) - WINDOW_PARTS;
}
