import { lstat, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Maximum number of rotated files. */
const MAX_FILES = 64;

/**
 * Lists the rotated files of a log beside it, the newest first: its name with a number or a date, as in `rewrite.log.1`,
 * `rewrite.log.2.gz`, `rewrite.log-20261122.gz`. Links are not followed.
 */
export async function rotatedLogs(path: string): Promise<readonly string[]> {
  const folder = dirname(path);
  const name = basename(path);
  const names = await readdir(folder).catch(() => []);
  const rotated = names.filter((other) => other.startsWith(name) && ROTATED.test(other.slice(name.length)));
  const files = await Promise.all(
    rotated.map(async (file) => {
      const stats = await lstat(join(folder, file)).catch(() => undefined);
      return stats?.isFile() === true ? [{ file, modified: stats.mtimeMs }] : [];
    }),
  );
  return files
    .flat()
    .sort((one, other) => other.modified - one.modified)
    .slice(0, MAX_FILES)
    .map(({ file }) => join(folder, file));
}

const ROTATED = /^[.-]\d[\dT:_.-]*(?:\.gz)?$/;
