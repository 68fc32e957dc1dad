import type { Command, Option } from 'commander';

/** What can follow an option or stand for an argument. */
export interface ValueSpec {
  /** Words to choose from; empty for any text. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

/** An option of a command. */
export interface OptionSpec {
  /** Such as `--follow`, and `-f` where there is one. */
  readonly names: readonly string[];
  readonly flags: string;
  readonly description: string;
  /** Heading in `--help`. */
  readonly group: string;
  /** Undefined for an option without a value. */
  readonly value: ValueSpec | undefined;
}

/** A command with everything that completion scripts say about it. */
export interface CommandSpec {
  /** Names from the program down, such as `replay record`; empty for the program itself. */
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** Arguments as `--help` shows them, such as `[file]`. */
  readonly usage: string;
  readonly arguments: readonly (ValueSpec & { readonly name: string; readonly description: string })[];
  readonly options: readonly OptionSpec[];
  readonly commands: readonly CommandSpec[];
}

/** Describes a command and all below it. */
export function describeCommand(command: Command, path = ''): CommandSpec {
  const help = command.createHelp();
  return {
    path,
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: command.usage(),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: help.argumentDescription(argument),
      choices: argument.argChoices ?? [],
      // The operand of `openapi`; of an option, v2 is a word to choose.
      isFile: FILES.test(argument.name()) || argument.name() === 'v2',
    })),
    options: help.visibleOptions(command).map((option) => ({
      names: [option.short, option.long].filter((name) => name !== undefined),
      flags: option.flags,
      description: help.optionDescription(option),
      group: option.helpGroupHeading ?? 'Options:',
      value: option.required || option.optional ? valueOf(option) : undefined,
    })),
    commands: command.commands.map((below) => describeCommand(below, `${path} ${below.name()}`.trim())),
  };
}

/** A command and all below it in one list. */
export function everyCommand(command: CommandSpec): readonly CommandSpec[] {
  return [command, ...command.commands.flatMap((below) => everyCommand(below))];
}

/** Names of values that are files, or may be. */
const FILES = /^(?:files?|fixture|description)$/;

/** Names that stand for a value rather than being one. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['n', 'url', 'file']);

/** The kind of value is in the flags, such as `--breaker <on|off>` or `--out <file>`. */
function valueOf({ flags, argChoices }: Option): ValueSpec {
  const words = (/[<[]([^<>[\]]+)[>\]]/.exec(flags)?.[1] ?? '').replace(/…|\.{3}/, '').split('|');
  return {
    choices: argChoices ?? (words.length > 1 ? words.filter((word) => !PLACEHOLDERS.has(word)) : []),
    isFile: words.some((word) => FILES.test(word)),
  };
}
