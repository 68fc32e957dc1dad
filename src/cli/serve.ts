import type { Command } from 'commander';
import { liveUntilSignal } from './life-cycle.ts';
import { refuseStart, stderrLog } from './process-log.ts';
import { startServing } from './serving.ts';
import { addSettings, flagsOf, servedSettings } from './setting-options.ts';

/** Adds the command `serve`, which runs the gateway until SIGTERM or SIGINT. */
export function serve(program: Command): void {
  const command = program
    .command('serve')
    .summary('run the gateway')
    .description(
      'Runs the gateway. SIGTERM and SIGINT finish the requests in flight and stop; SIGHUP reads rule book and certificates again, and reopens the log file.',
    );
  addSettings(command, servedSettings).action(async (options: Record<string, string | undefined>) => {
    const flags = flagsOf(servedSettings, options);
    const log = stderrLog({ flags, environment: process.env });
    const started = await startServing(flags, process.env, log);
    if ('faults' in started) {
      await refuseStart(log, started.faults);
      return;
    }
    process.exit(await liveUntilSignal(started.life));
  });
}
