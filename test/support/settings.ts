import { readSettings, type Settings } from '../../src/settings/read-settings.ts';
import { type Constants, constants } from '../../src/settings/settings.ts';

/** Settings of a test by name, and other values of `constants`, in kebab case as well; an invalid one throws. */
export function testSettings(flags: Readonly<Record<string, string | undefined>> = {}): Settings {
  const changed: Partial<Record<keyof Constants, number>> = {};
  const given: Record<string, string | undefined> = { ...flags };
  for (const name of Object.keys(constants) as (keyof Constants)[]) {
    const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    const value = given[flag];
    delete given[flag];
    if (value !== undefined) changed[name] = Number(value);
  }
  const outcome = readSettings({ flags: given, environment: {}, readFile: () => '', constants: changed });
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.settings;
}
