import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folders: string[] = [];

/** Makes a folder that goes after the last test of the file. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${prefix}-`));
  folders.push(folder);
  return folder;
}

/**
 * Removes the folders of a file of tests. `set-up.ts` calls it after each file: a hook of this module would be called after the
 * first one only, as files of the fast tier share their modules. Vitest ends processes by a signal, without their exit handlers.
 */
export function removeTemporaryFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
