import { type CommandSpec, everyCommand, type OptionSpec } from '../command-spec.ts';

/** Returns the completion script for zsh, to be sourced or to lie in a folder of `fpath` as `_capture-gateway`. */
export function zshCompletion(program: CommandSpec, name: string): string {
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
${withValue.map(({ path, option }) => `    ${keys(path, option).join(' | ')}) ${reply(option)}; return ;;`).join('\n')}
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

function reply({ value }: OptionSpec): string {
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
