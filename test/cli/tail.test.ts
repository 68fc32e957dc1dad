import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { commandRun } from '../support/command-runs.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';

const folder = mkdtempSync(join(tmpdir(), 'tail-'));
const log = join(folder, 'empty.jsonl');
writeFileSync(log, '');
afterAll(() => rmSync(folder, { recursive: true }));

test('tail says that a log is empty', async () => {
  expect(await commandRun(['tail', log])).toMatchObject({ code: 0, out: '', err: `${log} is empty.\n` });
});

test.each([
  [[], 'an entry'],
  [['--filter', 'status:4xx'], 'an entry that the filter accepts'],
])('tail --follow %j says what it waits for', async (filter, what) => {
  const child = spawn(process.execPath, ['src/cli/capture-gateway.js', 'tail', '-f', log, ...filter], {
    env: { ...PROGRAM_ENVIRONMENT },
  });
  try {
    const [said] = await once(child.stderr, 'data');
    expect(String(said)).toBe(`Waiting for ${what}: ${log} has none yet. Ctrl-C stops.\n`);
  } finally {
    child.kill();
  }
});
