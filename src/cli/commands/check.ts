import { type Command, Option } from 'commander';
import { addSettings, flagsOf, servedSettings } from '../settings/setting-options.ts';
import { OUTPUT } from './shared-options.ts';

/** Defines `check`, which validates everything that `serve` reads before it starts. */
export function check(command: Command): void {
  command.description(
    'Validates settings and rule book without starting anything, and lists operations, changes and assumptions. It reads the same settings as serve, from flags and environment, and refuses what serve would refuse. Exit code 2 on an error.',
  );
  addSettings(command, servedSettings)
    .addOption(new Option('--json', 'print JSON').helpGroup(OUTPUT))
    .action(async ({ json, ...options }: Record<string, string | undefined> & { readonly json?: true }) => {
      const { runCheck } = await import('../serve/check.ts');
      await runCheck(flagsOf(servedSettings, options), json === true);
    });
}
