import { type Command, Option } from 'commander';
import { allSettings, environmentName, type Setting } from '../settings/settings.ts';

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

/** Headings under which `--help` lists settings, each with the names that belong there. The first pattern that matches decides. */
const GROUPS: readonly (readonly [heading: string, names: RegExp])[] = [
  ['Addresses:', /^(?:listen|admin-listen|upstream|v1-upstream)$/],
  ['Rules and rollout:', /^(?:rules|rollout-file|v2-openapi)$/],
  ['Store that replicas share:', /^(?:store|replica|report-keep$)/],
  ['Logs:', /^(?:log-|rewrite-log-)/],
  ['TLS:', /^(?:tls-|upstream-(?:ca|cert|key|sni)$)/],
  ['Connections to V2:', /^(?:upstream-|breaker)/],
  ['Clients:', /^(?:client-secret|client-names|self-service)/],
  ['Limits:', /^(?:max-|buffer-|body-|header-|min-|idle-|client-)/],
  ['Proxies in front:', /^(?:forwarded|trusted-proxies|proxy-|via$)/],
  ['Inspector and admin listener:', /^(?:admin-|capture|inspector-|structure-)/],
  ['Process:', /^(?:workers|drain)/],
  ['Embedded reference service:', /^reference-/],
];

const OTHER = 'Other settings:';

/** Headings in the order of `--help`. */
export const SETTING_GROUPS: readonly string[] = [...GROUPS.map(([heading]) => heading), OTHER];

/** Returns the heading of a setting. */
export function settingGroup(name: string): string {
  return GROUPS.find(([, names]) => names.test(name))?.[0] ?? OTHER;
}

/** Returns the settings as a Markdown table. */
export function settingsTable(): string {
  const rows = allSettings.map((setting) => {
    const unit = unitOf(setting);
    const initial =
      setting.initial === undefined || setting.initial === '' ? 'unset' : `\`${setting.initial}\`${unit}`;
    const words = acceptedWords(setting).map((word) => `\`${word}\``);
    const meaning = [setting.sentence, ...(words.length === 0 ? [] : [`Values: ${words.join(', ')}.`])];
    return `| \`${environmentName(setting)}\` | ${initial} | ${meaning.join(' ').replaceAll('|', '\\|')} |`;
  });
  return ['| setting | default | meaning |', '|---|---|---|', ...rows, ''].join('\n');
}

/** Returns the settings as a file of environment variables, all commented out. */
export function settingsExample(): string {
  const head =
    '# All settings of capture-gateway with their defaults. A flag (--listen) overrides a variable.\n# Times are in milliseconds; sizes accept B, KiB, MiB and GiB.\n';
  return `${head}${allSettings.map((setting) => example(setting)).join('')}`;
}

function example(setting: Setting<unknown>): string {
  const name = environmentName(setting);
  const file = setting.secret ? `# ${name}_FILE=\n` : '';
  const words = acceptedWords(setting);
  const values = words.length === 0 ? '' : `# Values: ${words.join(', ')}.\n`;
  return `\n# ${setting.sentence}\n${values}# ${name}=${setting.initial ?? ''}\n${file}`;
}

/** The words or forms between which a setting chooses, from its placeholder; none where any text or number will do. */
function acceptedWords({ kind }: Setting<unknown>): readonly string[] {
  const words = kind.placeholder.replaceAll(/[<>]/g, '').split('|');
  const isChoice = words.length > 1 && 'fault' in kind.read('?');
  return isChoice && words.every((word) => 'value' in kind.read(word)) ? words : [];
}

/** Returns the unit of a default, with a space before it; empty where a size such as 64MiB already names it. */
function unitOf({ kind, initial }: Setting<unknown>): string {
  return kind.unit !== '' && /^\d+$/.test(initial ?? '') ? ` ${kind.unit}` : '';
}
