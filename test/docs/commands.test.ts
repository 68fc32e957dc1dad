import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';
import { commandsOf, docPages } from '../support/doc-pages.ts';

/** Ways in which pages start a command, with the words that they stand for. */
const STARTS: readonly (readonly [start: RegExp, words: readonly string[]])[] = [
  [/^(?:npx )?capture-gateway(?= |$)/, []],
  [/^npm run -s gateway --/, []],
  [/^node (?:src|dist)\/cli\/(?:capture-gateway|main)\.[jt]s/, []],
  [/^npm start(?: --)?/, ['serve']],
  [/^npm run (?:-s )?(demo|reference|rollout|twin)(?: --)?/, []],
];

/** Flags of other programs that pages name by themselves: of journalctl, Wrangler and Helm. */
const FOREIGN: ReadonlySet<string> = new Set(['--all', '--env', '--set-file']);

/** A message, not a command. */
const MESSAGE = /^capture-gateway needs Node/;

const program = await createProgram(() => true);
// Those two are about the programs with which the project itself is made.
const pages = docPages().filter(({ file }) => !/CONTRIBUTING|performance/.test(file));
const names = new Set(program.commands.map((command) => command.name()));
const everyFlag = new Set(everyCommand(program).flatMap(flagsOf));

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

function flagsOf(command: Command): readonly string[] {
  return [...command.options.flatMap(({ long, short }) => [long ?? '', short ?? '']), '--help', '-h'];
}

/** What of a command line its `--help` does not have. */
function unknownIn(line: string): readonly string[] {
  if (MESSAGE.test(line)) return [];
  const found = STARTS.map(([start, words]) => [start.exec(line), words] as const).find(([match]) => match);
  const [match, words = []] = found ?? [];
  // Only an inline code begins with the command itself.
  const [first = ''] = line.split(' ');
  if (match === undefined || match === null) return names.has(first) ? unknownWords(line.split(' ')) : [];
  const script = match[1] === undefined ? [] : [match[1]];
  return unknownWords([...words, ...script, ...line.slice(match[0].length).trim().split(' ')]);
}

function unknownWords(words: readonly string[]): readonly string[] {
  let command = program;
  let at = 0;
  for (; at < words.length; at += 1) {
    const next = command.commands.find((each) => each.name() === words[at]);
    if (next === undefined) break;
    command = next;
  }
  // The command that `plan` or `demo` alone stands for.
  const initial = command.commands.find(
    (each) => each.name() === Reflect.get(command, '_defaultCommandName'),
  );
  const flags = new Set([command, ...(initial === undefined ? [] : [initial])].flatMap(flagsOf));
  const rest = words.slice(at);
  const [word] = rest;
  const isUnknownCommand =
    word !== undefined && /^[a-z]+$/.test(word) && command.commands.length > 0 && initial === undefined;
  // What follows a pipe, or is quoted, is another program's.
  const end = rest.findIndex((one) => /^(?:\||\|\||>|&&|;)$/.test(one));
  const own = (end === -1 ? rest : rest.slice(0, end)).join(' ').replaceAll(/"[^"]*"|'[^']*'/g, '');
  const unknown = [...own.matchAll(/(?<=^|\s)--[a-z][\w-]*/g)].map(([flag]) => flag);
  return [...(isUnknownCommand ? [word] : []), ...unknown.filter((flag) => !flags.has(flag))];
}

describe.each(pages)('$file', ({ text }) => {
  const prose = text.replaceAll(/^```[^]*?^```$/gm, '');
  const inline = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);

  test('every command that it names has the words and flags that its --help has', () => {
    const wrong = [...commandsOf(text), ...inline].flatMap((line) =>
      unknownIn(line).map((unknown) => `${unknown} in ${line}`),
    );
    expect(wrong).toEqual([]);
  });

  test('every flag that it names is one of a command', () => {
    const flags = inline.flatMap((code) => /^(--[a-z][\w-]*)/.exec(code)?.[1] ?? []);
    expect(flags.filter((flag) => !everyFlag.has(flag) && !FOREIGN.has(flag))).toEqual([]);
  });
});

test('operating.md lists every command', () => {
  const page = pages.find(({ file }) => file === 'docs/operating.md');
  const section = page?.text.split('\n## Commands in a shell\n')[1]?.split('\n## ')[0] ?? '';
  expect([...names].filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});
