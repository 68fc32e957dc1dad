import { type Command, Option } from 'commander';
import { allSettings, environmentName, type Setting, settings as table } from '../../settings/settings.ts';
import { addSettings, flagsOf } from '../settings/setting-options.ts';
import { defaultCommand } from './shared-options.ts';

/** Settings that do not apply to the requests of the demo, which always go to the embedded V2. */
const EXCLUDED_SETTINGS: ReadonlySet<string> = new Set(['upstream', 'reference-listen']);

/** Defines `demo`: a tour through a whole migration, and one request for each operation. */
export function demo(command: Command): void {
  command.description(
    'Plays a whole migration: a fleet of named clients, V1, V2 and a gateway before both, from the first look to the sunset.',
  );
  defaultCommand(command, 'tour')
    .description(
      'Plays a whole migration in less than a minute: observe, census, strip, shadow, canary, a fault and its roll-back, migrate, sunset. Each step is told in sentences with the numbers of the gateway, and has the address of the page to look at. On a terminal it waits for Enter after each step. All files are in a temporary folder, which is removed at the end and on Ctrl-C.',
    )
    .addOption(addressOption(table.listen))
    .addOption(addressOption(table.adminListen))
    .action(async ({ listen, adminListen }: { readonly listen: string; readonly adminListen: string }) => {
      const { playTour } = await import('../tour/tour.ts');
      await playTour({ listen, adminListen, program: process.argv[1] ?? '' });
    });
  const settings = allSettings.filter(({ name }) => !EXCLUDED_SETTINGS.has(name));
  const requests = command
    .command('requests')
    .description(
      'Starts the gateway with the embedded V2 in two dated releases, and with the shipped rule book, in which an operator has listed one deprecated attribute, legacy_code. Sends one V1 request for each of the seven operations, prints request, result and reasons, reads an order back, shows what V2 says to requests without the strip rule and without the version header, and keeps serving. The rewrite log is written to --log-file if given, and otherwise discarded.',
    );
  addSettings(requests, settings).action(async (options: Record<string, string | undefined>) => {
    const { runDemo } = await import('../demo/demo.ts');
    await runDemo(flagsOf(settings, options));
  });
}

function addressOption(setting: Setting<unknown>): Option {
  return new Option(`--${setting.name} ${setting.kind.placeholder}`, setting.sentence)
    .env(environmentName(setting))
    .default(setting.initial)
    .argParser((text) => text || String(setting.initial))
    .helpGroup('Addresses:');
}
