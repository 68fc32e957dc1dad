import { type CommandSpec, everyCommand } from '../command-spec.ts';

/** Returns the completion script for fish 3 or later. */
export function fishCompletion(program: CommandSpec, name: string): string {
  const commands = everyCommand(program);
  const withValue = commands.flatMap(({ path, options }) =>
    options
      .filter(({ value }) => value !== undefined)
      .flatMap(({ names }) => names.map((option) => quoted(`${path} ${option}`))),
  );
  const subcommands = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
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
  const start = `complete -c ${name} -n ${quoted(`__capture_gateway_at ${quoted(path)}`)}`;
  return [
    ...commands.map(
      (below) => `${start} -a ${quoted(below.path.slice(path.length).trim())} -d ${quoted(below.summary)}`,
    ),
    ...operands.slice(0, 1).flatMap(({ isFile, choices }) => {
      if (isFile) return [`${start} -F`];
      return choices.length === 0 ? [] : [`${start} -a ${quoted(choices.join(' '))}`];
    }),
    ...options.map(({ names, description, value }) => {
      const spelled = names.map((option) =>
        option.startsWith('--') ? `-l ${option.slice(2)}` : `-s ${option.slice(1)}`,
      );
      const values = value === undefined ? [] : [value.isFile ? '-rF' : '-x'];
      const choices =
        value === undefined || value.choices.length === 0 ? [] : [`-a ${quoted(value.choices.join(' '))}`];
      return [start, ...spelled, ...values, ...choices, `-d ${quoted(description)}`].join(' ');
    }),
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
