import { type CommandSpec, describeCommand, everyCommand, type OptionSpec } from '../command-spec.ts';
import { EXIT_CODES } from '../command-fault.ts';
import { createProgram } from '../program.ts';

/** Returns the manual page in man(7), made from the definitions of all commands. */
export async function manualPage(): Promise<string> {
  const program = describeCommand(await createProgram(() => true));
  const commands = everyCommand(program).filter(({ path }) => path !== '');
  const lines = [
    `.TH CAPTURE\\-GATEWAY 1 "" "capture\\-gateway" "User Commands"`,
    '.SH NAME',
    'capture\\-gateway \\- lets clients of a V1 API use V2, and logs every change',
    '.SH SYNOPSIS',
    '.B capture\\-gateway',
    '.RI [ command ]',
    '.RI [ options ]',
    '.SH DESCRIPTION',
    text(program.description),
    '.SH COMMANDS',
    ...program.commands.flatMap(({ path, summary }) => ['.TP', `.B ${text(path)}`, text(sentence(summary))]),
    ...commands.flatMap((command) => section(command)),
    '.SH EXIT STATUS',
    ...EXIT_CODES.flatMap(([code, meaning]) => ['.TP', `.B ${code}`, text(meaning)]),
    '.SH ENVIRONMENT',
    'Every setting of',
    '.B serve',
    'has a variable, named beside its flag; the flag takes precedence. A secret can be in a file named by the variable with',
    '.B _FILE',
    'at its end.',
    ...ENVIRONMENT.flatMap(([name, meaning]) => ['.TP', `.B ${text(name)}`, text(meaning)]),
  ];
  return `${lines.join('\n')}\n`;
}

/** Variables that are no settings. */
const ENVIRONMENT: readonly (readonly [name: string, meaning: string])[] = [
  ['NO_COLOR', 'If it is not empty, output has no colour.'],
  ['FORCE_COLOR', 'Output has colour also in a pipe; 0 turns it off. It takes precedence over NO_COLOR.'],
];

function section({
  path,
  description,
  usage,
  arguments: operands,
  options,
  commands,
}: CommandSpec): string[] {
  if (commands.length > 0 && operands.length === 0 && options.length <= 1)
    return [`.SH ${text(path.toUpperCase())}`, text(sentence(description))];
  return [
    `.SH ${text(path.toUpperCase())}`,
    `.B capture\\-gateway ${text(path)}`,
    text(usage),
    '.PP',
    text(sentence(description)),
    ...operands.flatMap(({ name, description: words }) => ['.TP', `.I ${text(name)}`, text(sentence(words))]),
    ...groupsOf(options).flatMap(([group, list]) => [
      `.SS ${text(group.replace(/:$/, ''))}`,
      ...list.flatMap(({ flags, description: words }) => ['.TP', `.B ${text(flags)}`, text(sentence(words))]),
    ]),
  ];
}

function groupsOf(options: readonly OptionSpec[]): readonly (readonly [string, readonly OptionSpec[]])[] {
  const groups = [...new Set(options.map(({ group }) => group))];
  return groups.map((group) => [group, options.filter((option) => option.group === group)]);
}

/** A capital and a full stop, where a definition has a phrase. */
function sentence(words: string): string {
  const start = `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
  return /[.)]$/.test(start) ? start : `${start}.`;
}

/** Escapes the characters that roff reads. */
function text(words: string): string {
  return words
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll("'", '\\(aq')
    .replaceAll('…', '...')
    .replace(/^\./, '\\&.');
}
