import { type Command, Option } from 'commander';

const DEFAULT_RULES = 'config/rules.yaml';

/** Heading of the options that say how a result is printed and which exit code it gives. */
export const OUTPUT = 'Output:';

/** The option `--rules`: the file of the rule book. An empty variable counts as unset, as for `serve`. */
export function rulesOption(sentence = 'rule book'): Option {
  return new Option('--rules <file>', sentence)
    .env('GATEWAY_RULES')
    .default(DEFAULT_RULES)
    .argParser((text) => text || DEFAULT_RULES)
    .helpGroup('Rule book:');
}

/** Adds `--format` with these choices, the first of which is the default, and `--json`, which is short for `--format json`. */
export function addFormat(command: Command, choices: readonly string[]): Command {
  const [initial] = choices;
  return command
    .addOption(
      new Option('--format <format>', 'output format')
        .choices([...choices])
        .default(initial)
        .helpGroup(OUTPUT),
    )
    .addOption(new Option('--json', 'short for --format json').implies({ format: 'json' }).helpGroup(OUTPUT))
    .hook('preAction', () => {
      const { json, format } = command.opts<{ readonly json?: true; readonly format?: string }>();
      if (json === true && format !== 'json')
        command.error(`error: option '--json' cannot be used with '--format ${format ?? ''}'`);
    });
}

/** The option `--admin`: the admin listener of a running gateway. */
export function adminOption(sentence: string, initial?: string): Option {
  const option = new Option('--admin <url>', sentence).helpGroup('Running gateway:');
  return initial === undefined ? option : option.default(initial);
}

/** Address of the admin listener of a gateway with default settings. */
export const DEFAULT_ADMIN = 'http://127.0.0.1:8081';
