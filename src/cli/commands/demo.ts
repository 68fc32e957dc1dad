import type { Command } from 'commander';
import { allSettings } from '../../settings/settings.ts';
import { addSettings, flagsOf } from '../setting-options.ts';

/** Settings that do not apply to the demo, which always serves the embedded V2. */
const EXCLUDED_SETTINGS: ReadonlySet<string> = new Set(['upstream', 'reference-listen']);

/** Defines `demo`, which sends one V1 request for each operation, and keeps serving. */
export function demo(command: Command): void {
  const settings = allSettings.filter(({ name }) => !EXCLUDED_SETTINGS.has(name));
  command.description(
    'Starts the gateway with the embedded V2 in two dated releases, and with the shipped rule book, in which an operator has listed one deprecated attribute, legacy_code. Sends one V1 request for each of the seven operations, prints request, result and reasons, reads an order back, shows what V2 says to requests without the strip rule and without the version header, and keeps serving. The rewrite log is written to --log-file if given, and otherwise discarded.',
  );
  addSettings(command, settings).action(async (options: Record<string, string | undefined>) => {
    const { runDemo } = await import('../demo.ts');
    await runDemo(flagsOf(settings, options));
  });
}
