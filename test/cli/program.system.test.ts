import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { NOT_STARTED, SUCCESS } from '../../src/cli/command-fault.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { PROGRAM } from '../support/product.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const root = new URL('../../', import.meta.url).pathname;
const folder = temporaryFolder('stdout');
const LOG = join(folder, 'log');
writeFileSync(LOG, entryLine(sampleEntry(0, Date.UTC(2026, 10, 1))).repeat(200));

/** Commands that print at once, at the end, line by line, and through commander. */
const PRINTING = [['openapi'], ['report', LOG], ['tail', LOG], ['--help']] as const;

/** Runs a command whose stdout is a file, or a pipe without a reader. */
async function ended(args: readonly string[], out: number | 'unread'): Promise<unknown> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    cwd: root,
    stdio: ['ignore', out === 'unread' ? 'pipe' : out, 'pipe'],
  });
  child.stdout?.destroy();
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  await once(child, 'close');
  return { code: child.exitCode, err };
}

describe.each(PRINTING.map((args) => [args[0], args] as const))('%s', (_, args) => {
  test('says that the disk is full, and fails', async () => {
    const full = openSync('/dev/full', 'w');
    const err = 'stdout cannot be written: no space left on device.\n';
    expect(await ended(args, full)).toEqual({ code: NOT_STARTED, err });
    closeSync(full);
  });

  test('ends without an error when its reader is gone', async () => {
    expect(await ended(args, 'unread')).toEqual({ code: SUCCESS, err: '' });
  });
});

test('tail ends with its reader, though the log goes on', async () => {
  expect(await ended(['tail', '--follow', LOG], 'unread')).toEqual({ code: SUCCESS, err: '' });
});
