import { type Command, InvalidArgumentError, Option } from 'commander';
import { didYouMean } from '../../rules/did-you-mean.ts';

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
  const option = new Option('--admin <url>', sentence).argParser(readAdmin).helpGroup('Running gateway:');
  return initial === undefined ? option : option.default(initial);
}

function readAdmin(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text;
  throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:8081.');
}

/** Adds the command that is meant where none is named. A word that is no command is refused as one, with what may be meant. */
export function defaultCommand(command: Command, name: string): Command {
  const initial = command.command(name, { isDefault: true }).allowExcessArguments();
  return initial.hook('preAction', () => {
    const [word] = initial.args;
    if (word === undefined) return;
    const known = command.commands.map((each) => each.name());
    command.error(`error: unknown command '${word}'${didYouMean(word, known)}`);
  });
}

/** Address of the admin listener of a gateway with default settings. */
export const DEFAULT_ADMIN = 'http://127.0.0.1:8081';
