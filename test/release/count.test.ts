import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';

/** The tests of each file; one with a question mark failed, and a file without tests could not be loaded. */
type Files = Readonly<Record<string, readonly string[]>>;

/** The exit code of each run, and its results, if it left any. */
type Runs = Readonly<Record<string, readonly [status: number, files?: Files | 'half a file']>>;

const script = fileURLToPath(new URL('../../.ci/count.mjs', import.meta.url));

/** Counts runs, and the files that were run again. Returns the exit code and the lines. */
function count(command: string, runs: Runs, again?: Files): readonly [status: number | null, string[]] {
  const folder = temporaryFolder('count');
  for (const [name, [status, files]] of Object.entries(runs)) {
    writeFileSync(join(folder, `${name}.status`), `${status}\n`);
    if (files !== undefined) writeFileSync(join(folder, `${name}.json`), resultsOf(files));
  }
  if (again !== undefined) writeFileSync(join(folder, 'again.json'), resultsOf(again));
  const { status, stdout } = spawnSync(process.execPath, [script, command, folder], { encoding: 'utf8' });
  return [status, stdout.trimEnd().split('\n')];
}

function resultsOf(files: Files | 'half a file'): string {
  if (typeof files === 'string') return '{"testResults":[';
  const testResults = Object.entries(files).map(([name, tests]) => ({
    name,
    status: tests.length === 0 || tests.some((one) => one.includes('?')) ? 'failed' : 'passed',
    message: '',
    assertionResults: tests.map((one) => ({
      fullName: one,
      status: one.includes('?') ? 'failed' : 'passed',
    })),
  }));
  return JSON.stringify({ testResults });
}

test('all runs count, and what failed is named before the last line', () => {
  expect(count('count', { fast: [0, { a: ['1', '2'], b: ['3'] }], rest: [0, { c: ['4'] }] })).toEqual([
    0,
    ['4 passed, 0 failed'],
  ]);
  const runs: Runs = { fast: [1, { a: ['1', '2?'], b: [] }], rest: [0, { c: ['3'] }] };
  expect(count('count', runs)).toEqual([
    1,
    ['failed: a: 2?', 'failed: b: around its tests', '2 passed, 2 failed'],
  ]);
  expect(count('files', { fast: [1, { a: ['1?'], b: ['2'] }], rest: [1, { c: [] }] })).toEqual([
    0,
    ['a', 'c'],
  ]);
});

test('a second run decides, and what failed at first stays named', () => {
  expect(count('count', { fast: [1, { a: ['1?', '2'], b: ['3'] }] }, { a: ['1', '2'] })).toEqual([
    0,
    ['failed at first: a: 1?', '3 passed, 0 failed'],
  ]);
  expect(count('count', { fast: [1, { a: ['1?', '2'] }] }, { a: ['1', '2?'] })[0]).toBe(1);
});

test('a run that ends without results, or fails beside its files, is a failure', () => {
  expect(count('count', { check: [2], fast: [0, { a: ['1'] }] })).toEqual([
    1,
    ['failed: check ended with 2, and left no results', '1 passed, 1 failed'],
  ]);
  expect(count('count', { fast: [0, { a: ['1'] }], rest: [137, 'half a file'] })).toEqual([
    1,
    ['failed: rest ended with 137, and left no results', '1 passed, 1 failed'],
  ]);
  expect(count('count', { fast: [1, { a: ['1'] }] })).toEqual([
    1,
    ['failed: fast: an error outside of all files; it is above', '1 passed, 1 failed'],
  ]);
});
