import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';

let folder = '';

/** What Node and Wrangler keep in the folder for temporary files of their user. */
const CACHES_OF_TOOLS: ReadonlySet<string> = new Set(['node-compile-cache', 'update-check']);

/** Gives the run its own folder for all temporary files, those of spawned programs too. Vitest calls it before the first test. */
export function setup(): void {
  folder = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
  process.env['TMPDIR'] = folder;
}

/** Removes the folder. What a test or the product left in it fails the run: it would be left on every machine. */
export function teardown(): void {
  const left = readdirSync(folder).filter((name) => !CACHES_OF_TOOLS.has(name));
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  if (left.length > 0)
    throw new Error(
      `${left.length} temporary files or folders were left behind: ${left.slice(0, 20).join(', ')}. ` +
        'A folder by temporaryFolder (test/support/temporary-folder.ts) is removed after its file of tests.',
    );
}
