/**
 * @module-tag bash
 * @module-tag fish
 * @module-tag script
 * @module-tag zsh
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify, stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { completionScript } from '../../src/cli/completion.ts';
import { createProgram } from '../../src/cli/program.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
let folder = '';

beforeAll(async () => {
  folder = temporaryFolder('completion');
  const program = await createProgram(() => true);
  for (const shell of ['bash', 'zsh', 'fish'] as const)
    writeFileSync(join(folder, `script.${shell}`), completionScript(shell, program));
  writeFileSync(join(folder, 'orders day.har'), '');
});

/** Command lines, the last word of which is completed, with words that must be among the completions, and one that must not. */
const LINES: readonly (readonly [line: string, offered: readonly string[], not: string])[] = [
  ['capture-gateway ex', ['explain'], 'serve'],
  ['capture-gateway ', ['serve', 'replay', 'completion'], 'record'],
  ['capture-gateway replay ', ['record', 'check'], 'serve'],
  ['capture-gateway replay record --', ['--har', '--out', '--json'], '--update'],
  ['capture-gateway explain --for', ['--format'], '--fail-on'],
  ['capture-gateway explain --format ', ['text', 'json'], 'csv'],
  ['capture-gateway report --format ', ['csv', 'html'], 'yaml'],
  ['capture-gateway serve --breaker ', ['on', 'off'], 'serve'],
  ['capture-gateway serve --log-level w', ['warn'], 'info'],
  ['capture-gateway completion ', ['bash', 'zsh', 'fish'], 'serve'],
  // A value that has the name of a command is no command.
  ['capture-gateway explain --operation replay --fo', ['--format'], '--update'],
];

describe('bash', () => {
  /** Completes as bash does when Tab is pressed: it splits the line at its word breaks, and calls the function. */
  const complete = async (line: string): Promise<readonly string[]> => {
    const words = line.split(/ |(=)/).filter((word) => word !== undefined);
    const script = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); complete -p capture-gateway >/dev/null && _capture_gateway && printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await run(
      'bash',
      ['--norc', '-c', script, 'bash', join(folder, 'script.bash'), ...words],
      {
        cwd: folder,
      },
    );
    return stdout.trimEnd().split('\n');
  };

  test.each(LINES)('%s', async (line, offered, not) => {
    const words = await complete(line);
    expect(words).toEqual(expect.arrayContaining([...offered]));
    expect(words).not.toContain(not);
  });

  test('offers files, also with spaces, and values after an equals sign', async () => {
    expect(await complete('capture-gateway explain --har or')).toEqual(['orders day.har']);
    expect(await complete('capture-gateway report or')).toEqual(['orders day.har']);
    expect(await complete('capture-gateway explain --format=j')).toEqual(['json']);
  });

  test('completes where Tab is pressed', async () => {
    const text = await typed('bash --norc -i', [
      `source ${folder}/script.bash`,
      'capture-gateway compl\t\x01echo \x05',
    ]);
    expect(text).toMatch(/^capture-gateway completion\s*$/m);
  });
});

describe('fish', () => {
  test.each(LINES)('%s', async (line, offered, not) => {
    const { stdout } = await run(
      'fish',
      ['--no-config', '-c', `source ${folder}/script.fish; complete -C ${JSON.stringify(line)}`],
      {
        cwd: folder,
      },
    );
    const words = stdout.split('\n').map((each) => each.split('\t')[0]);
    expect(words).toEqual(expect.arrayContaining([...offered]));
    expect(words).not.toContain(not);
  });

  test('offers files', async () => {
    const line = 'capture-gateway explain --har or';
    const { stdout } = await run(
      'fish',
      ['--no-config', '-c', `source ${folder}/script.fish; complete -C '${line}'`],
      {
        cwd: folder,
      },
    );
    expect(stdout).toContain('orders');
  });
});

describe('zsh', () => {
  test('completes commands, options and values where Tab is pressed', async () => {
    const text = await typed('zsh -f -i', [
      'autoload -U compinit; compinit -u -D',
      `source ${folder}/script.zsh`,
      'capture-gateway compl\t\x01echo \x05',
      'capture-gateway replay rec\t--ha\t\x01echo \x05',
      'capture-gateway serve --breaker of\t\x01echo \x05',
      'capture-gateway explain --har or\t\x01echo \x05',
      'capture-gateway explain --format=j\t\x01echo \x05',
    ]);
    for (const line of [
      'capture-gateway completion',
      'capture-gateway replay record --har',
      'capture-gateway serve --breaker off',
      'capture-gateway explain --har orders day.har',
      'capture-gateway explain --format=json',
    ])
      expect(text.split('\n').map((each) => each.trim())).toContain(line);
  });
});

/** Types lines on a terminal of a shell; what it then shows. \x01 and \x05 go to the start and the end of the line. */
async function typed(shell: string, lines: readonly string[]): Promise<string> {
  const child = spawn('script', ['-qefc', shell, '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', TERM: 'dumb', PS1: '$ ', HOME: folder },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let text = '';
  const ended = once(child, 'close');
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  for (const [at, line] of lines.entries()) {
    const mark = `done-${at}`;
    child.stdin.write(`${line}\n`);
    child.stdin.write(`echo ${mark.replace('-', "'-'")}\n`);
    await until(() => text.includes(mark));
  }
  child.stdin.end('exit\n');
  await ended;
  return stripVTControlCharacters(text).replaceAll('\r', '');
}
