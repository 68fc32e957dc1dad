/** @module-tag mandoc */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { describeCommand, everyCommand } from '../../../src/cli/command-spec.ts';
import { EXIT_CODES } from '../../../src/cli/command-fault.ts';
import { createProgram } from '../../../src/cli/program.ts';

const run = promisify(execFile);
const PAGE = 'docs/capture-gateway.1';

describe('the manual page', () => {
  let text = '';

  beforeAll(async () => {
    const { stdout } = await run('mandoc', ['-T', 'utf8', '-O', 'width=400', PAGE], {
      maxBuffer: 4 * 1024 * 1024,
    });
    // A terminal shows bold by writing a character twice.
    text = stdout.replaceAll(new RegExp(`.${String.fromCodePoint(8)}`, 'gu'), '');
  });

  test('has no fault that mandoc knows', async () => {
    const linted = await run('mandoc', ['-T', 'lint', '-W', 'warning', PAGE]).catch(
      (error: unknown) => error as { readonly stdout: string },
    );
    // It belongs to a version, not to a day.
    expect(linted.stdout.split('\n').filter((line) => line !== '' && !line.includes('missing date'))).toEqual(
      [],
    );
  });

  test('has every command, every option and every exit code', async () => {
    const commands = everyCommand(describeCommand(await createProgram(() => true)));
    for (const { path, options } of commands.filter(({ commands: below }) => below.length === 0)) {
      expect(text).toContain(`capture-gateway ${path}`);
      for (const { flags } of options) expect(text).toContain(flags.replace('…', '...'));
    }
    for (const [code, meaning] of EXIT_CODES)
      expect(text.replaceAll(/\s+/g, ' ')).toContain(`${code} ${meaning}`);
  });
});
