import { type Command, Option } from 'commander';
import { isReleaseDate } from '../rules/rule-book.ts';
import { CONFIG_VARIABLE } from '../settings/read-settings.ts';
import { address, choice, count, file, names, type SettingKind } from '../settings/setting-kinds.ts';
import {
  allSettings,
  environmentName,
  goneSettings,
  optional,
  type Setting,
  withDefault,
} from '../settings/settings.ts';

/**
 * Adds `--config` and a flag for each setting, under the heading of its group. Commander handles neither environment variables nor
 * defaults: `readSettings` applies both. A flag that is gone is taken, so that its fault names the new way.
 */
export function addSettings(command: Command, settings: readonly Setting<unknown>[]): Command {
  command.addOption(configOption());
  const inGroups = settings.map((setting) => ({ setting, group: settingGroup(setting.name) }));
  for (const group of SETTING_GROUPS) {
    for (const { setting } of inGroups.filter((one) => one.group === group))
      command.addOption(new Option(flagOf(setting), describe(setting)).helpGroup(group));
  }
  for (const name of Object.keys(goneSettings)) command.addOption(new Option(`--${name} <value>`).hideHelp());
  return command;
}

/** The option `--config`: a file with settings, which flags and variables override. */
export function configOption(): Option {
  return new Option(
    '--config <file>',
    `YAML file of settings by their names, such as listen and rules; paths in it are relative to it. Flags and variables override it. (${CONFIG_VARIABLE}, default: unset)`,
  ).helpGroup('Settings file:');
}

/** Dated releases separated by commas, from the oldest to the newest, whatever their order in the text. */
const releases: SettingKind<readonly string[]> = {
  placeholder: '<date,…>',
  unit: '',
  read: (input) => {
    const days = input.split(',').map((part) => part.trim());
    return days.every(isReleaseDate)
      ? { value: [...new Set(days)].sort() }
      : { fault: 'must be days not before 2025-01-01, such as 2025-01-01,2026-06-01' };
  },
};

/** Flags of the command `reference`, under their headings; each is a setting of that service alone. */
export const referenceGroups = {
  'Service:': {
    listen: withDefault('listen', address, '127.0.0.1:8090', 'Address of the reference service.'),
    db: optional('db', file, 'SQLite file. Unset: kept in memory.'),
  },
  'Versions:': {
    dialect: withDefault(
      'dialect',
      choice('v2', 'v1', 'both'),
      'v2',
      'API versions that the service speaks.',
    ),
    release: withDefault(
      'release',
      releases,
      '2025-01-01',
      'Dated releases of V2. Those after 2025-01-01 are invented: they call the name of a client display_name.',
    ),
    unknown: withDefault(
      'unknown',
      choice('refuse', 'strip'),
      'refuse',
      'Treatment of attributes that the version of a request does not have.',
    ),
    deprecated: withDefault(
      'deprecated',
      names,
      '',
      'Attributes that V1 still takes, with a message, and V2 has dropped.',
    ),
    deprecations: withDefault(
      'deprecations',
      choice('data', 'body'),
      'data',
      'Where V1 lists the deprecated attributes that a request used: in data, or beside it in the body.',
    ),
  },
  'API keys:': {
    rate: withDefault('rate', count, '0', 'Requests per minute and API key that are allowed; 0 is no limit.'),
    readOnly: withDefault('read-only', names, '', 'API keys that may only read: their writes get 403.'),
    failing: withDefault('failing', names, '', 'API keys for which the store fails: their requests get 500.'),
  },
} as const;

/** Adds the flags of the command `reference`. */
export function addReferenceOptions(command: Command): Command {
  for (const [heading, settings] of Object.entries<Readonly<Record<string, Setting<unknown>>>>(
    referenceGroups,
  )) {
    for (const setting of Object.values(settings))
      command.addOption(
        new Option(flagOf(setting), setting.sentence)
          .default(setting.initial || undefined)
          .helpGroup(heading),
      );
  }
  return command;
}

/** Values from the command line, by setting name. */
export function flagsOf(
  settings: readonly Setting<unknown>[],
  options: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const names = ['config', ...Object.keys(goneSettings), ...settings.map(({ name }) => name)];
  return Object.fromEntries(names.map((name) => [name, options[camelCase(name)]]));
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
  ['Rules and rollout:', /^(?:rules|v2-openapi)$/],
  ['Store that replicas share:', /^store/],
  ['Logs:', /^log-/],
  ['TLS:', /^(?:tls-|upstream-(?:ca|cert|key|sni)$)/],
  ['Connections to V2:', /^(?:upstream-|breaker)/],
  ['Clients:', /^(?:client-secret|client-names|self-service)/],
  ['Limits:', /^(?:max-|buffer-|header-|min-|idle-|client-)/],
  ['Proxies in front:', /^(?:forwarded|trusted-proxies|proxy-|via$)/],
  ['Inspector and admin listener:', /^(?:admin-|capture|inspector-)/],
  ['Process:', /^(?:workers|drain)/],
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
    '# All settings of capture-gateway with their defaults. A flag (--listen) overrides a variable, and this the file that GATEWAY_CONFIG names.\n# Times are in milliseconds; sizes accept B, KiB, MiB and GiB.\n';
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
