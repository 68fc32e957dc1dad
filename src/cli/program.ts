import { getSystemErrorMessage } from 'node:util';
import { Command, CommanderError } from 'commander';
import type * as commands from './commands.ts';
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
      'A reverse proxy for V1 clients that will not be changed: it turns their requests into V2 requests, and logs each edit with its reason.',
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
  for (const [name, heading, summary] of COMMANDS) {
    const command = program.command(name).summary(summary).helpGroup(heading);
    if (!isUsed(name)) continue;
    const [define, { addExamples }] = await Promise.all([
      import('./commands.ts'),
      import('./help-examples.ts'),
    ]);
    define[name](command);
    addExamples(command, name);
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

const RUN = 'Run:';
const RULES = 'Work on rules:';
const CLIENTS = 'See who uses V1:';
const ROLLOUT = 'Move traffic to V2:';
const SHELL = 'Shell:';

/** Every command, in the order of `--help`; `commands.ts` defines each under its name. */
export const COMMANDS: readonly (readonly [name: keyof typeof commands, heading: string, summary: string])[] =
  [
    ['serve', RUN, 'run the gateway'],
    ['demo', RUN, 'play a whole migration, or one request for each operation'],
    ['reference', RUN, 'run the reference service alone'],
    ['try', RULES, 'try a draft of two OpenAPI descriptions on a page, and answer its questions'],
    ['init', RULES, 'start from two OpenAPI descriptions: settings, rule book, first cases'],
    ['check', RULES, 'validate settings and rule book, and list operations and changes'],
    ['explain', RULES, 'show the edits that a request would get, without sending it'],
    ['test', RULES, 'play text cases through the rule book'],
    ['replay', RULES, 'compare a changed rule book with recorded requests'],
    ['draft', RULES, 'draft a rule book from two OpenAPI descriptions, or from recorded traffic'],
    ['openapi', RULES, "print V1's OpenAPI description, derived from V2's and the rule book"],
    ['report', CLIENTS, 'list the clients that still need V1, from the rewrite log'],
    ['plan', CLIENTS, 'plan the end of V1 from the hours of its clients, and rehearse brownouts'],
    ['clients', CLIENTS, 'hash API keys, and give clients names'],
    ['tail', CLIENTS, 'print the rewrite log in a readable form'],
    ['status', ROLLOUT, 'say whether all is well, and since when'],
    ['rollout', ROLLOUT, 'show and change the mode of V1 traffic'],
    ['twin', ROLLOUT, 'send V1 requests to V1 and to the gateway, and compare'],
    ['completion', SHELL, 'print a completion script for bash, zsh or fish'],
  ];

/** The version in package.json. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? 'unknown';
}
