import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

type Files = Readonly<Record<string, readonly string[]>>;

const script = fileURLToPath(new URL('../../.ci/count.mjs', import.meta.url));

/** Counts runs, each of which is the tests of its files; a test with a question mark failed. Returns the lines and the exit code. */
function count(command: string, ...runs: readonly Files[]): readonly [status: number | null, string[]] {
  const folder = temporaryFolder('count');
  const paths = runs.map((files, run) => {
    const testResults = Object.entries(files).map(([name, tests]) => ({
      name,
      status: tests.length === 0 || tests.some((test) => test.includes('?')) ? 'failed' : 'passed',
      message: '',
      assertionResults: tests.map((test) => ({
        fullName: test,
        status: test.includes('?') ? 'failed' : 'passed',
      })),
    }));
    const path = join(folder, `${run}.json`);
    writeFileSync(path, JSON.stringify({ testResults }));
    return path;
  });
  const { status, stdout } = spawnSync(process.execPath, [script, command, ...paths], { encoding: 'utf8' });
  return [status, stdout.trimEnd().split('\n')];
}

test('the last line of a run counts, and what failed is named before it', () => {
  expect(count('count', { a: ['1', '2'], b: ['3'] })).toEqual([0, ['3 passed, 0 failed']]);
  expect(count('count', { a: ['1', '2?'], b: [] })).toEqual([
    1,
    ['failed: a: 2?', 'failed: b: around its tests', '1 passed, 2 failed'],
  ]);
  expect(count('files', { a: ['1?'], b: ['2'], c: [] })).toEqual([0, ['a', 'c']]);
});

test('a second run decides, and what failed at first stays named', () => {
  expect(count('count', { a: ['1?', '2'], b: ['3'] }, { a: ['1', '2'] })).toEqual([
    0,
    ['failed at first: a: 1?', '3 passed, 0 failed'],
  ]);
  expect(count('count', { a: ['1?', '2'] }, { a: ['1', '2?'] })[0]).toBe(1);
});

test('an error outside of all files is a failure, although all tests passed', () => {
  expect(count('outside', { a: ['1'] })).toEqual([
    1,
    ['failed: an error outside of all files; it is above', '1 passed, 1 failed'],
  ]);
});
