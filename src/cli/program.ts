import { getSystemErrorMessage } from 'node:util';
import { Command, CommanderError } from 'commander';
import { EXIT_CODES, NOT_STARTED, SUCCESS } from './command-fault.ts';
import { hasColour, painter, wrapLines } from './terminal.ts';
import { readFileSync } from 'node:fs';

/** Runs the command that the arguments name; without one, prints the help. `EXIT_CODES` has the exit codes. */
export async function run(argv: readonly string[]): Promise<void> {
  endOnStdoutFault();
  const isCompleting = argv[2] === 'completion';
  const program = await createProgram((name) => isCompleting || argv.includes(name));
  // commander would report an error.
  if (argv.length === 2) {
    program.outputHelp();
    return;
  }
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? SUCCESS : NOT_STARTED;
  }
}

/**
 * Builds the program. Commands for which `isUsed` is false have only a name and a summary: loading their options takes longer than
 * printing the help.
 */
export async function createProgram(isUsed: (name: string) => boolean): Promise<Command> {
  const program: Command = new Command('capture-gateway')
    .description(
      'A reverse proxy for V1 clients that nobody will change: it turns their requests into V2 requests, and logs each edit with its reason.',
    )
    .version(packageVersion())
    .showHelpAfterError('Run with --help for commands and options.')
    .configureOutput({
      getOutHasColors: () => hasColour(process.stdout),
      getErrHasColors: () => hasColour(process.stderr),
    })
    .configureHelp({
      // In a narrow terminal, names take half of the columns.
      minWidthToWrap: 12,
      subcommandTerm: (command) => command.name(),
      styleTitle: (title) => painter({ hasColour: true })('bold', title),
    })
    .addHelpText('after', ({ command }) =>
      command === program ? `\n${exitCodes(process.stdout.columns)}` : '',
    )
    .exitOverride();
  for (const { name, group, summary, load } of COMMANDS) {
    const command = program.command(name).summary(summary).helpGroup(group);
    if (isUsed(name)) (await load())(command);
  }
  // The group of commander's own command `help`.
  return program.commandsGroup('Shell:').helpCommand(true);
}

function exitCodes(columns = 80): string {
  const lines = EXIT_CODES.map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `Exit codes:\n${wrapLines(lines.join('\n'), columns, 3)}\n`;
}

/**
 * Ends the program if stdout cannot be written: silently if its reader, such as `head`, has ended, else with the reason on stderr. May be
 * called twice.
 */
function endOnStdoutFault(): void {
  process.stdout.off('error', end).on('error', end);
}

function end(error: NodeJS.ErrnoException): never {
  if (error.code === 'EPIPE') process.exit();
  const reason = error.errno === undefined ? error.message : getSystemErrorMessage(error.errno);
  process.stderr.write(`stdout cannot be written: ${reason}.\n`);
  process.exit(NOT_STARTED);
}

/** A command. Its definition is loaded only if it is used, and its work when it runs. */
interface CommandEntry {
  readonly name: string;
  /** Heading of the command in `--help`. */
  readonly group: string;
  readonly summary: string;
  /** Loads the function that adds description, arguments, options and subcommands. */
  readonly load: () => Promise<(command: Command) => void>;
}

const RUN = 'Run:';
const RULES = 'Work on rules:';
const CLIENTS = 'See who uses V1:';
const ROLLOUT = 'Move traffic to V2:';
const SHELL = 'Shell:';

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'serve',
    group: RUN,
    summary: 'run the gateway',
    load: async () => (await import('./commands.ts')).serve,
  },
  {
    name: 'demo',
    group: RUN,
    summary: 'play a whole migration, or one request for each operation',
    load: async () => (await import('./commands.ts')).demo,
  },
  {
    name: 'reference',
    group: RUN,
    summary: 'run the reference service alone',
    load: async () => (await import('./commands.ts')).reference,
  },
  {
    name: 'init',
    group: RULES,
    summary: 'start from two OpenAPI descriptions: settings, rule book, first cases',
    load: async () => (await import('./commands.ts')).init,
  },
  {
    name: 'check',
    group: RULES,
    summary: 'validate settings and rule book, and list operations and changes',
    load: async () => (await import('./commands.ts')).check,
  },
  {
    name: 'explain',
    group: RULES,
    summary: 'show the edits that a request would get, without sending it',
    load: async () => (await import('./commands.ts')).explain,
  },
  {
    name: 'test',
    group: RULES,
    summary: 'play text cases through the rule book',
    load: async () => (await import('./commands.ts')).test,
  },
  {
    name: 'replay',
    group: RULES,
    summary: 'compare a changed rule book with recorded requests',
    load: async () => (await import('./commands.ts')).replay,
  },
  {
    name: 'draft',
    group: RULES,
    summary: 'draft a rule book from two OpenAPI descriptions, or from recorded traffic',
    load: async () => (await import('./commands.ts')).draft,
  },
  {
    name: 'openapi',
    group: RULES,
    summary: "print V1's OpenAPI description, derived from V2's and the rule book",
    load: async () => (await import('./commands.ts')).openapi,
  },
  {
    name: 'report',
    group: CLIENTS,
    summary: 'list the clients that still need V1, from the rewrite log',
    load: async () => (await import('./commands.ts')).report,
  },
  {
    name: 'plan',
    group: CLIENTS,
    summary: "plan the end of V1 from each client's rhythm, and rehearse brownouts",
    load: async () => (await import('./commands.ts')).plan,
  },
  {
    name: 'clients',
    group: CLIENTS,
    summary: 'hash API keys, and give clients names',
    load: async () => (await import('./commands.ts')).clients,
  },
  {
    name: 'tail',
    group: CLIENTS,
    summary: 'print the rewrite log in a readable form',
    load: async () => (await import('./commands.ts')).tail,
  },
  {
    name: 'rollout',
    group: ROLLOUT,
    summary: 'show and change the mode of V1 traffic',
    load: async () => (await import('./commands.ts')).rollout,
  },
  {
    name: 'twin',
    group: ROLLOUT,
    summary: 'send V1 requests to V1 and to the gateway, and compare',
    load: async () => (await import('./commands.ts')).twin,
  },
  {
    name: 'completion',
    group: SHELL,
    summary: 'print a completion script for bash, zsh or fish',
    load: async () => (await import('./commands.ts')).completion,
  },
];

/** The version in package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}
