import { Command, CommanderError } from 'commander';
import { check } from './check.ts';
import { clients } from './clients.ts';
import { demo } from './demo.ts';
import { draft } from './draft.ts';
import { explain } from './explain.ts';
import { openapi } from './openapi.ts';
import { packageVersion } from './package-version.ts';
import { reference } from './reference.ts';
import { replay } from './replay.ts';
import { report } from './report.ts';
import { rollout } from './rollout.ts';
import { serve } from './serve.ts';
import { tail } from './tail.ts';
import { twin } from './twin.ts';

/** Runs the command that the arguments name. Exit codes: 0 success, 1 failure, 2 start refused. */
export async function run(argv: readonly string[]): Promise<void> {
  const program = new Command('capture-gateway')
    .description(
      'A reverse proxy that lets V1 clients use the V2 API: it rewrites V1 requests byte for byte, and logs every change with its reason.',
    )
    .version(packageVersion())
    .showHelpAfterError('Run with --help for commands and options.')
    .exitOverride();
  serve(program);
  demo(program);
  check(program);
  explain(program);
  replay(program);
  report(program);
  rollout(program);
  clients(program);
  tail(program);
  openapi(program);
  draft(program);
  twin(program);
  reference(program);
  for (const command of program.commands) command.copyInheritedSettings(program);
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : 2;
  }
}
