import type { Command } from 'commander';
import { addSettings, flagsOf, servedSettings } from '../settings/setting-options.ts';

/** Defines `serve`, which runs the gateway until SIGTERM or SIGINT. */
export function serve(command: Command): void {
  command.description(
    'Runs the gateway. SIGTERM and SIGINT finish the requests in flight and stop; SIGHUP reads rule book and certificates again, and reopens the log file.',
  );
  addSettings(command, servedSettings).action(async (options: Record<string, string | undefined>) => {
    const { serveUntilSignal } = await import('../serve/serve.ts');
    await serveUntilSignal(flagsOf(servedSettings, options));
  });
}
