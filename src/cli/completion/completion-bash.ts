import { type CommandSpec, everyCommand, type OptionSpec } from '../command-spec.ts';

/** Returns the completion script for bash 3.2 or later. */
export function bashCompletion(program: CommandSpec, name: string): string {
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
${commands.map((command) => `      '${command.path}') ${words(optionNames(command))} ;;`).join('\n')}
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

/** Option names with which a command is used; those of the program itself too, where nothing else is. */
function optionNames({ options }: CommandSpec): readonly string[] {
  return options.flatMap(({ names }) => names);
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

/** What stands for an operand of a command: its subcommands, or a file. */
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
