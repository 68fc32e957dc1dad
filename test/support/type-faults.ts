import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The compiler's complaints about a module that is written beside the tests for the time of the check. */
export function typeFaults(source: string): readonly string[] {
  const folder = mkdtempSync(fileURLToPath(new URL('../.types-', import.meta.url)));
  try {
    writeFileSync(`${folder}/checked.ts`, source);
    const tsc = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
    execFileSync(process.execPath, [tsc, '--ignoreConfig', ...options, `${folder}/checked.ts`], {
      encoding: 'utf8',
    });
    return [];
  } catch (error) {
    const output = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    return output.split('\n').filter((line) => line.includes('error TS'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
