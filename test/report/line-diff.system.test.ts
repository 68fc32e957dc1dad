/** @module-tag git */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { unifiedDiff } from '../../src/report/line-diff.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test.each([
  ['a changed line', 'a\nb\nc\n', 'a\nB\nc\n'],
  ['far apart', `x\n${'l\n'.repeat(20)}y\n`, `X\n${'l\n'.repeat(20)}Y\n`],
  ['a missing line feed', 'a\nb\n', 'a\nb'],
  ['added lines', 'a\n', 'a\nb\nc\n'],
])('git applies it: %s', (_, before, after) => {
  const folder = temporaryFolder('patch');
  writeFileSync(join(folder, 'rules.yaml'), before);
  execFileSync('git', ['apply', '-'], {
    cwd: folder,
    input: unifiedDiff('rules.yaml', before, after),
    env: { PATH: process.env['PATH'] ?? '', GIT_CEILING_DIRECTORIES: tmpdir() },
  });
  expect(readFileSync(join(folder, 'rules.yaml'), 'utf8')).toBe(after);
});
