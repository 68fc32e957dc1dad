import { glob, readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** Log files that arguments name, in the order of the arguments; or why one of them names none. */
export type LogSources = { readonly files: readonly string[] } | { readonly fault: string };

/**
 * Lists the log files that arguments name: files, `-` for stdin, folders with the logs below them, and glob patterns. A file that
 * several arguments name, or a link to it, is listed once.
 */
export async function logSources(given: readonly string[]): Promise<LogSources> {
  const files = new Map<string, string>();
  for (const argument of given) {
    const found = await named(argument);
    if ('fault' in found) return found;
    for (const file of found.files) {
      const key = file === '-' ? file : await realpath(file);
      if (!files.has(key)) files.set(key, file);
    }
  }
  return { files: [...files.values()] };
}

/** Names of logs in a folder: rotated and packed ones too, such as `rewrite.ndjson-20261122.gz`. */
const LOG_NAME = /\.(?:log|ndjson|jsonl)(?:[.-]|$)/;

const GLOB = /[*?[{]/;

async function named(argument: string): Promise<LogSources> {
  if (argument === '-') return { files: ['-'] };
  const stats = await stat(argument).catch(() => undefined);
  if (stats?.isDirectory() === true) return inFolder(argument);
  if (stats !== undefined) return { files: [argument] };
  if (!GLOB.test(argument)) return { fault: `The log cannot be read: there is no file ${argument}.` };
  const files: string[] = [];
  for await (const path of glob(argument)) if ((await stat(path)).isFile()) files.push(path);
  if (files.length === 0) return { fault: `No file matches ${argument}.` };
  return { files: files.sort() };
}

async function inFolder(folder: string): Promise<LogSources> {
  const below = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = below
    .filter((entry) => !entry.isDirectory() && LOG_NAME.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  if (files.length === 0)
    return { fault: `${folder} has no log: no file below it is named .log, .ndjson or .jsonl.` };
  return { files };
}
