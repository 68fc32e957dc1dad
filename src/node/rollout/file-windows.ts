import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import * as z from 'zod';
import { replaceFile } from '../replace-file.ts';
import { parsedJson } from '../../rewrite-log/parsed-json.ts';
import {
  WINDOW_PARTS,
  type WindowAddition,
  type SharedWindow,
  type WindowPart,
} from '../../rollout/store.ts';
import { type KeptWindow, WindowTable } from '../../rollout/window-table.ts';

const keptWindows = z.array(
  z.strictObject({
    key: z.string(),
    windowMs: z.number().positive(),
    parts: z.array(z.strictObject({ part: z.int(), counts: z.array(z.number()) })),
  }),
);

/** Milliseconds after which a file that nobody writes to is looked at, to remove it when its windows are over. */
const STALE_MS = 60_000;

/** Counts in windows in files: each replica writes one of its own, without a lock, and reads those of the others. */
export class FileWindows {
  private readonly prefix: string;
  private readonly path: string;
  private readonly time: () => number;
  private readonly own = new WindowTable();
  private readonly others = new Map<
    string,
    { readonly sign: string; readonly windows: readonly KeptWindow[] }
  >();
  private work: Promise<unknown> = Promise.resolve();

  /** Files are named `prefix`, a dot and an id. */
  constructor(prefix: string, time: () => number) {
    this.prefix = prefix;
    this.path = `${prefix}.${randomUUID()}`;
    this.time = time;
  }

  /** Adds to windows; resolves to the counts of all replicas. */
  count(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const counted = this.work.then(() => this.countNow(additions));
    this.work = counted.catch(() => {});
    return counted;
  }

  /** Removes the file of this replica. */
  async close(): Promise<void> {
    await this.work;
    await rm(this.path, { force: true });
  }

  private async countNow(additions: readonly WindowAddition[]): Promise<readonly SharedWindow[]> {
    const now = this.time();
    const own = additions.map((addition) => this.own.add(addition, now));
    if (additions.some(({ add }) => add.some((number) => number !== 0))) {
      // A reader must not see half of it; after a crash of the machine nobody misses it.
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

  /** The file of another replica, which may end at any time. */
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
