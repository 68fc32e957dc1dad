import type { Command, Option } from 'commander';

const SCRIPTS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

/** Returns a shell's completion script for a program, all of whose commands must be loaded. */
export function completionScript(shell: keyof typeof SCRIPTS, program: Command): string {
  return SCRIPTS[shell](describeCommand(program), program.name());
}

/** Returns the completion script for bash 3.2 or later. */
function bashCompletion(program: CommandSpec, name: string): string {
  const commands = everyCommand(program);
  const options = commands.flatMap(({ path, options: own }) => own.map((option) => ({ path, option })));
  const withValue = options.filter(({ option }) => option.value !== undefined);
  const subcommands = commands.filter(({ path }) => path !== '').map(({ path }) => `'${path}'`);
  return `# bash completion for ${name}; \`source <(${name} completion bash)\` turns it on.
_capture_gateway() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} at='' word i IFS=$'\\n'
  COMPREPLY=()
  # bash splits --format=json in three.
  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case "$at $word" in
${pattern(withValue, 6)}) ((i++)); continue ;;
    esac
    case "\${at:+$at }$word" in
      ${subcommands.join(' | ')}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at $prev" in
${withValue.map(({ path, option }) => `    ${pattern([{ path, option }], 0)}) ${reply(option)}; return ;;`).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case $at in
${commands.map((command) => `      '${command.path}') ${words(command.options.flatMap(({ names }) => names))} ;;`).join('\n')}
    esac
    return
  fi
  case $at in
${commands
  .filter((command) => operandReply(command) !== undefined)
  .map((command) => `    '${command.path}') ${operandReply(command) ?? ''} ;;`)
  .join('\n')}
  esac
}
complete -F _capture_gateway ${name}
`;
}

function pattern(
  options: readonly { readonly path: string; readonly option: OptionSpec }[],
  indent: number,
): string {
  const all = options.flatMap(({ path, option }) => option.names.map((name) => `'${path} ${name}'`));
  return `${' '.repeat(indent)}${all.join(' | ')}`;
}

function reply({ value }: OptionSpec): string {
  if (value === undefined) return ':';
  if (value.isFile) return FILES;
  return value.choices.length === 0 ? ':' : words(value.choices);
}

/** Completes a command's operand: its subcommands, a file, or words. */
function operandReply({ commands, arguments: operands, path }: CommandSpec): string | undefined {
  if (commands.length > 0) return words(commands.map((below) => below.path.slice(path.length).trim()));
  const [operand] = operands;
  if (operand === undefined) return undefined;
  if (operand.isFile) return FILES;
  return operand.choices.length === 0 ? undefined : words(operand.choices);
}

const FILES = 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))';

function words(list: readonly string[]): string {
  return `COMPREPLY=($(compgen -W $'${list.join('\\n')}' -- "$cur"))`;
}

/** Returns the completion script for zsh, to be sourced or put into a folder of `fpath` as `_capture-gateway`. */
function zshCompletion(program: CommandSpec, name: string): string {
  const commands = everyCommand(program);
  const withValue = commands.flatMap(({ path, options }) =>
    options.filter(({ value }) => value !== undefined).map((option) => ({ path, option })),
  );
  const subcommands = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `#compdef ${name}
# zsh completion for ${name}; \`source <(${name} completion zsh)\` turns it on.
_capture_gateway() {
  local cur=$words[CURRENT] prev=$words[CURRENT-1] at='' word i
  local -a list
  for ((i = 2; i < CURRENT; i++)); do
    word=$words[i]
    case "$at $word" in
      ${withValue.flatMap(({ path, option }) => keys(path, option)).join(' | ')}) ((i++)); continue ;;
    esac
    case "\${at:+$at }$word" in
      ${subcommands.join(' | ')}) at="\${at:+$at }$word" ;;
    esac
  done
  if [[ $cur == --*=* ]]; then prev=\${cur%%=*}; compset -P '*='; fi
  case "$at $prev" in
${withValue.map(({ path, option }) => `    ${keys(path, option).join(' | ')}) ${zshReply(option)}; return ;;`).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case $at in
${commands.map((command) => `      ${quoted(command.path)}) list=(${described(command.options.flatMap(({ names, description }) => names.map((option) => [option, description] as const)))}) ;;`).join('\n')}
    esac
    _describe -o option list
    return
  fi
  case $at in
${commands.flatMap((command) => operand(command)).join('\n')}
  esac
}
if [[ $funcstack[1] == _capture_gateway ]]; then _capture_gateway "$@"; else compdef _capture_gateway ${name}; fi
`;
}

function keys(path: string, { names }: OptionSpec): readonly string[] {
  return names.map((option) => quoted(`${path} ${option}`));
}

function zshReply({ value }: OptionSpec): string {
  if (value?.isFile === true) return '_files';
  return value === undefined || value.choices.length === 0 ? ':' : `compadd -- ${value.choices.join(' ')}`;
}

function operand({ path, commands, arguments: operands }: CommandSpec): readonly string[] {
  if (commands.length > 0) {
    const list = commands.map((below) => [below.path.slice(path.length).trim(), below.summary] as const);
    return [`    ${quoted(path)}) list=(${described(list)}); _describe command list ;;`];
  }
  const [first] = operands;
  if (first === undefined) return [];
  if (first.isFile) return [`    ${quoted(path)}) _files ;;`];
  return first.choices.length === 0 ? [] : [`    ${quoted(path)}) compadd -- ${first.choices.join(' ')} ;;`];
}

function described(list: readonly (readonly [word: string, description: string])[]): string {
  return list.map(([word, description]) => quoted(`${word}:${description.replaceAll(':', '\\:')}`)).join(' ');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns the completion script for fish 3 or later. */
function fishCompletion(program: CommandSpec, name: string): string {
  const commands = everyCommand(program);
  const withValue = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((option) => fishQuoted(`${path} ${option}`))),
  );
  const subcommands = commands.filter(({ path }) => path !== '').map(({ path }) => fishQuoted(path));
  return `# fish completion for ${name}; \`${name} completion fish | source\` turns it on.
function __capture_gateway_at
    set -l at ''
    set -l isValue 0
    for word in (commandline -opc)[2..-1]
        if test $isValue = 1
            set isValue 0
            continue
        end
        switch "$at $word"
            case ${withValue.join(' ')}
                set isValue 1
                continue
        end
        switch (string trim -- "$at $word")
            case ${subcommands.join(' ')}
                set at (string trim -- "$at $word")
        end
    end
    test "$at" = "$argv[1]"
end
complete -c ${name} -f
${commands.flatMap((command) => linesOf(command, name)).join('\n')}
`;
}

function linesOf(
  { path, commands, options, arguments: operands }: CommandSpec,
  name: string,
): readonly string[] {
  const start = `complete -c ${name} -n ${fishQuoted(`__capture_gateway_at ${fishQuoted(path)}`)}`;
  return [
    ...commands.map(
      (below) =>
        `${start} -a ${fishQuoted(below.path.slice(path.length).trim())} -d ${fishQuoted(below.summary)}`,
    ),
    ...operands.slice(0, 1).flatMap(({ isFile, choices }) => {
      if (isFile) return [`${start} -F`];
      return choices.length === 0 ? [] : [`${start} -a ${fishQuoted(choices.join(' '))}`];
    }),
    ...options.map(({ names, description, value }) => {
      const spelled = names.map((option) =>
        option.startsWith('--') ? `-l ${option.slice(2)}` : `-s ${option.slice(1)}`,
      );
      const values = value === undefined ? [] : [value.isFile ? '-rF' : '-x'];
      const choices =
        value === undefined || value.choices.length === 0
          ? []
          : [`-a ${fishQuoted(value.choices.join(' '))}`];
      return [start, ...spelled, ...values, ...choices, `-d ${fishQuoted(description)}`].join(' ');
    }),
  ];
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}

/** The values of an option or argument. */
export interface ValueSpec {
  /** Words to choose from; empty for any text. */
  readonly choices: readonly string[];
  readonly isFile: boolean;
}

/** An option of a command. */
export interface OptionSpec {
  /** Such as `--follow`, and `-f` if there is a short one. */
  readonly names: readonly string[];
  readonly flags: string;
  readonly description: string;
  /** Heading in `--help`. */
  readonly group: string;
  /** Undefined for an option without a value. */
  readonly value: ValueSpec | undefined;
}

/** A command as completion scripts describe it. */
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
      // The operand of `openapi`; for an option, v2 is a word to choose.
      isFile: FILE_VALUES.test(argument.name()) || argument.name() === 'v2',
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

/** Names of values that may be files. */
const FILE_VALUES = /^(?:files?|fixture|description)$/;

/** Names of values that are not values themselves. */
const PLACEHOLDERS: ReadonlySet<string> = new Set(['n', 'url', 'file']);

/** Reads the kind of value from the flags, such as `--breaker <on|off>` or `--out <file>`. */
function valueOf({ flags, argChoices }: Option): ValueSpec {
  const words = (/[<[]([^<>[\]]+)[>\]]/.exec(flags)?.[1] ?? '').replace(/…|\.{3}/, '').split('|');
  return {
    choices: argChoices ?? (words.length > 1 ? words.filter((word) => !PLACEHOLDERS.has(word)) : []),
    isFile: words.some((word) => FILE_VALUES.test(word)),
  };
}
