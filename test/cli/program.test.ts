import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { exampleOf } from '../../src/cli/help-examples.ts';
import { COMMANDS, createProgram } from '../../src/cli/program.ts';
import { describeCommand, everyCommand } from '../../src/cli/completion.ts';
import { allSettings } from '../../src/settings/settings.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';

const root = new URL('../../', import.meta.url);
const program = describeCommand(await createProgram(() => true));

/** Prints the address of every module that is loaded, one a line on stderr. */
const LISTING = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({ load(url, context, next) { if (!url.startsWith('node:')) writeSync(2, url + '\\n'); return next(url, context); } });
`)}`;

/** The words that name a command: `rollout canary`. */
function pathOf(command: Command): string {
  const above = command.parent?.parent ? `${command.parent.name()} ` : '';
  return `${above}${command.name()}`;
}

/** The modules that Node loads for these arguments: paths of the project, and the names of packages. */
async function modulesOf(...args: string[]): Promise<readonly string[]> {
  const { stderr } = await promisify(execFile)(process.execPath, ['--import', LISTING, ...args], {
    cwd: fileURLToPath(root),
    env: { ...PROGRAM_ENVIRONMENT },
  });
  const modules = stderr.split('\n').flatMap((address) => {
    // Wherever packages are installed: in a second checkout, node_modules may be a link.
    const name = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(address)?.[1];
    return name ?? (address.startsWith(root.href) ? address.slice(root.href.length) : []);
  });
  return [...new Set(modules)];
}

const ALWAYS = [
  'src/cli/capture-gateway.js',
  'src/cli/node-version.js',
  'src/cli/main.ts',
  'src/cli/program.ts',
  'commander',
  'src/cli/command-fault.ts',
  'src/cli/terminal.ts',
  'src/node/system-reason.ts',
];

describe('a command loads only the modules that it needs', () => {
  test.each(['--version', '--help'])('%s: the program and the names of its commands', async (flag) => {
    expect((await modulesOf('src/cli/capture-gateway.js', flag)).toSorted()).toEqual(ALWAYS.toSorted());
  });

  test('--help of each: its options, and nothing that runs it', async () => {
    const script = `
      const { COMMANDS, run } = await import('./src/cli/program.ts');
      for (const [name] of COMMANDS) await run(['node', 'capture-gateway', name, '--help']);
    `;
    const modules = await modulesOf('--input-type=module', '-e', script);
    expect(modules).toContain('src/cli/setting-options.ts');
    const foreign = modules.filter(
      (path) =>
        !path.startsWith('src/cli/') &&
        !/^src\/(?:settings|http|rules)\//.test(path) &&
        !ALWAYS.includes(path),
    );
    expect(foreign).toEqual([]);
    for (const [name] of COMMANDS) expect(modules).not.toContain(`src/cli/${name}.ts`);
  });
});

describe('--help', () => {
  test('has a heading for every command', () => {
    expect(COMMANDS.filter(([, heading]) => !/^[A-Z].*:$/.test(heading))).toEqual([]);
    expect(new Set(COMMANDS.map(([, heading]) => heading)).size).toBeGreaterThan(3);
  });

  test('of serve has one line for every setting under a heading that says what it concerns, on two screens', async () => {
    const serve = (await createProgram(() => true)).commands.find((command) => command.name() === 'serve');
    const help = serve?.helpInformation() ?? '';
    for (const { name } of allSettings)
      expect(help).toMatch(new RegExp(`^  --${name} .{1,76}\n(?: {2}-|\n|$)`, 'm'));
    expect(help).not.toContain('Other settings');
    expect(help.split('\n').length).toBeLessThan(92);
  });

  test('has headings for the options of a command with more than five', () => {
    const plain = everyCommand(program).filter(
      ({ options }) => options.length > 6 && new Set(options.map(({ group }) => group)).size < 3,
    );
    expect(plain.map(({ path }) => path)).toEqual([]);
  });

  test('says something about every command, argument and option', () => {
    const silent = everyCommand(program).flatMap(({ path, description, arguments: operands, options }) => [
      ...(description === '' ? [path] : []),
      ...[
        ...operands.map(({ name, description: words }) => [name, words]),
        ...options.map(({ flags, description: words }) => [flags, words]),
      ]
        .filter(([, words]) => words === '')
        .map(([name]) => `${path} ${name ?? ''}`),
    ]);
    expect(silent).toEqual([]);
  });
});

describe('the example at the end of --help', () => {
  const runs = everyCommand(program).filter(({ commands }) => commands.length === 0);

  test.each(runs.map(({ path }) => path))('of %s is a command line of it', async (path) => {
    const line = exampleOf(path, 'capture-gateway', fileURLToPath(root));
    const [, typed = ''] = /capture-gateway ([^)]*)/.exec(line) ?? [];
    // A word in quotes is one word.
    const words = (typed.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll("'", ''));
    const played = await createProgram(() => true);
    const names: string[] = [];
    for (const command of played.commands)
      for (const below of [command, ...command.commands])
        if (below.commands.length === 0) below.action(() => void names.push(pathOf(below)));
    await played.parseAsync(words, { from: 'user' });
    expect(names).toEqual([path]);
    for (const [file] of line.matchAll(/examples\/\S+/g)) expect(existsSync(new URL(file, root))).toBe(true);
  });

  test('of each ends what --help prints, in lines of at most 80 columns', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['src/cli/capture-gateway.js', 'check', '--help'],
      {
        cwd: fileURLToPath(root),
        env: { ...PROGRAM_ENVIRONMENT },
      },
    );
    expect(stdout).toMatch(
      /\n {2}--json .*\n\nOptions:\n.*--help .*\n\nExample:\n.*check .* \\\n +--v1 \S+ --v2 \S+\n$/,
    );
    expect(stdout.split('\n').filter((text) => text.length > 80)).toEqual([]);
  });
});

test('every command that reports has --json', () => {
  const without = everyCommand(program)
    .filter(
      ({ commands, options }) =>
        commands.length === 0 && !options.some(({ names }) => names.includes('--json')),
    )
    .map(({ path }) => path);
  // These run something, write files, or print a script for a shell.
  expect(without).toEqual(['serve', 'demo tour', 'demo requests', 'reference', 'try', 'init', 'completion']);
});

test('every command and subcommand is described in sentences', async () => {
  const program = await createProgram(() => true);
  const all = program.commands.flatMap((command) => [command, ...command.commands]);
  expect(all.length).toBeGreaterThan(30);
  for (const command of all)
    expect([command.name(), command.description()]).toEqual([
      command.name(),
      expect.stringMatching(/^[A-Z].+\.$/),
    ]);
});
