import { getSystemErrorMessage } from 'node:util';
import { Command, CommanderError } from 'commander';
import { EXIT_CODES, NOT_STARTED, SUCCESS } from './command-fault.ts';
import { COMMANDS } from './command-table.ts';
import { packageVersion } from './package-version.ts';
import { hasColour, painter, wrapLines } from './terminal.ts';

/** Runs the command that the arguments name; without one, prints the help. The exit codes are those of `EXIT_CODES`. */
export async function run(argv: readonly string[]): Promise<void> {
  endOnStdoutFault();
  const isCompleting = argv[2] === 'completion';
  const program = await createProgram((name) => isCompleting || argv.includes(name));
  // Without a command commander reports an error.
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
      // Half of a narrow terminal is left of the sentences.
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
  // Where the command `help` stands, which commander adds.
  return program.commandsGroup('Shell:').helpCommand(true);
}

function exitCodes(columns = 80): string {
  const lines = EXIT_CODES.map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `Exit codes:\n${wrapLines(lines.join('\n'), columns, 3)}\n`;
}

/**
 * Ends the program when stdout cannot be written: quietly when its reader, such as `head`, wants no more, and otherwise with the
 * reason on stderr. Registering it twice makes no difference.
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
