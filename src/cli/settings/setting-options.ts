import { type Command, Option } from 'commander';
import { SETTING_GROUPS, settingGroup } from './setting-groups.ts';
import { unitOf } from './settings-texts.ts';
import { allSettings, environmentName, type Setting } from '../../settings/settings.ts';

/** Settings that only the command `reference` has: the embedded service has no V1. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'reference-listen',
  'reference-dialect',
  'reference-deprecated',
  'reference-deprecations',
]);

/** The settings of a serving gateway: the command that runs it and the command that checks them share this list. */
export const servedSettings = allSettings.filter(({ name }) => !ELSEWHERE.has(name));

/** Adds a flag for each setting, under the heading of its group. Commander handles neither environment variables nor defaults: `readSettings` applies both. */
export function addSettings(command: Command, settings: readonly Setting<unknown>[]): Command {
  const inGroups = settings.map((setting) => ({ setting, group: settingGroup(setting.name) }));
  for (const group of SETTING_GROUPS) {
    for (const { setting } of inGroups.filter((one) => one.group === group))
      command.addOption(new Option(flagOf(setting), describe(setting)).helpGroup(group));
  }
  return command;
}

/** Values from the command line, by setting name. */
export function flagsOf(
  settings: readonly Setting<unknown>[],
  options: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(settings.map(({ name }) => [name, options[camelCase(name)]]));
}

function flagOf({ name, kind }: Setting<unknown>): string {
  return `--${name} ${kind.placeholder}`;
}

function describe(setting: Setting<unknown>): string {
  const initial = setting.initial === undefined || setting.initial === '' ? 'unset' : setting.initial;
  return `${setting.sentence} (${environmentName(setting)}, default: ${initial}${unitOf(setting)})`;
}

/** The name under which commander keeps a flag. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
