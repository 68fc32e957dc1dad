import { type Command, Option } from 'commander';
import { isReleaseDate } from '../rules/rule-book.ts';
import { CONFIG_VARIABLE } from '../settings/read-settings.ts';
import { address, choice, count, file, names, type SettingKind } from '../settings/setting-kinds.ts';
import { allSettings, environmentName, optional, type Setting, withDefault } from '../settings/settings.ts';
import { removedSettings, sentenceOf } from '../settings/setting-sentences.ts';

/**
 * Adds `--config` and a flag for each setting, under the heading of its group. Commander handles neither environment variables nor
 * defaults: `readSettings` applies both. It also accepts removed flags, so that their fault can name the replacement.
 */
export function addSettings(command: Command, settings: readonly Setting<unknown>[]): Command {
  command.configureHelp({ ...command.configureHelp(), optionTerm: termOf });
  command.addOption(configOption());
  const order = Object.values(HELP).flatMap((lines) => Object.keys(lines));
  for (const setting of settings.toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name)))
    command.addOption(new Option(flagOf(setting), describe(setting)).helpGroup(settingGroup(setting.name)));
  for (const name of Object.keys(removedSettings))
    command.addOption(new Option(`--${name} <value>`).hideHelp().helpGroup(RULES_GROUP));
  return command;
}

/** The option `--config`: a file with settings, which flags and variables override. */
export function configOption(): Option {
  return new Option('--config <file>', `YAML file of settings (${CONFIG_VARIABLE})`).helpGroup(RULES_GROUP);
}

/** Dated releases separated by commas, in any order; read from the oldest to the newest. */
const releases: SettingKind<readonly string[]> = {
  placeholder: '<date,…>',
  unit: '',
  read: (input) => {
    const days = input.split(',').map((part) => part.trim());
    return days.every((day) => isReleaseDate(day))
      ? { value: [...new Set(days)].sort() }
      : { fault: 'must be days not before 2025-01-01, such as 2025-01-01,2026-06-01' };
  },
};

/** A setting that is not in the table of the gateway's, with its own sentence. */
interface DescribedSetting<Value> extends Setting<Value> {
  readonly sentence: string;
}

function described<Value>(sentence: string, setting: Setting<Value>): DescribedSetting<Value> {
  return { ...setting, sentence };
}

/** Flags of the command `reference`, under their headings. */
export const referenceGroups = {
  'Service:': {
    listen: described('address of the reference service', withDefault('listen', address, '127.0.0.1:8090')),
    db: described('SQLite file (default: in memory)', optional('db', file)),
  },
  'Versions:': {
    dialect: described(
      'API versions that the service speaks',
      withDefault('dialect', choice('v2', 'v1', 'both'), 'v2'),
    ),
    release: described(
      'dated releases of V2; those after 2025-01-01 are invented: they call the name of a client display_name',
      withDefault('release', releases, '2025-01-01'),
    ),
    unknown: described(
      "what to do with attributes that the request's version does not have",
      withDefault('unknown', choice('refuse', 'strip'), 'refuse'),
    ),
    deprecated: described(
      'attributes that V1 still takes, with a message, and V2 has dropped',
      withDefault('deprecated', names, ''),
    ),
    deprecations: described(
      'where V1 lists the deprecated attributes that a request used: in data, or beside it in the body',
      withDefault('deprecations', choice('data', 'body'), 'data'),
    ),
  },
  'API keys:': {
    rate: described(
      'maximum requests per minute for each API key; 0 is no limit',
      withDefault('rate', count, '0'),
    ),
    readOnly: described(
      'API keys that may only read: their writes get 403',
      withDefault('read-only', names, ''),
    ),
    failing: described(
      'API keys for which the store fails: their requests get 500',
      withDefault('failing', names, ''),
    ),
  },
} as const;

/** Adds the flags of the command `reference`. */
export function addReferenceOptions(command: Command): Command {
  for (const [heading, settings] of Object.entries<Readonly<Record<string, DescribedSetting<unknown>>>>(
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
  const names = ['config', ...Object.keys(removedSettings), ...settings.map(({ name }) => name)];
  return Object.fromEntries(names.map((name) => [name, options[camelCase(name)]]));
}

/** One line with the setting's purpose and default. */
function describe(setting: Setting<unknown>): string {
  const line = lineOf(setting);
  return setting.initial === undefined || setting.initial === ''
    ? line
    : `${line} (${setting.initial}${unitOf(setting)})`;
}

/** A setting's purpose in a few words. */
export function lineOf(setting: Setting<unknown>): string {
  return HELP[settingGroup(setting.name)]?.[setting.name] ?? sentenceOf(setting);
}

function flagOf({ name, kind }: Setting<unknown>): string {
  return `--${name} ${kind.placeholder}`;
}

/** A setting's flag as `--help` shows it, without long lists of values, which are in its line. */
function termOf(option: Option): string {
  const isSetting = option.helpGroupHeading !== undefined && option.helpGroupHeading in HELP;
  return isSetting
    ? option.flags.replace(/<[^<>]+>$/, (value) => (value.length > 14 ? '<value>' : value))
    : option.flags;
}

/** The name under which commander stores a flag. */
export function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The heading for the files that a start reads first. */
export const RULES_GROUP = 'Rules and settings:';

/**
 * The text of `--help` for each setting, under its heading, on one line of an 80-column terminal. docs/settings.md has the whole sentence,
 * with the meaning of an unset setting.
 */
const HELP: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Addresses:': {
    listen: 'where clients connect',
    'admin-listen': 'health, page, metrics',
    upstream: 'V2 service; unset: the embedded one',
    'v1-upstream': 'V1 service, for all modes but migrate',
  },
  [RULES_GROUP]: {
    rules: 'rule book',
    'v2-openapi': "V2's description, to check bodies against",
  },
  'Store that replicas share:': {
    store: 'memory, file:path or redis://host',
    'store-password': 'password of the Redis store',
  },
  'Logs:': {
    'log-level': 'process log: info, warn, error, silent',
    'log-format': 'process log: auto, json, text',
    'log-file': 'rewrite log; unset: stdout',
  },
  'TLS:': {
    'tls-cert': 'certificate chain for clients, as PEM',
    'tls-key': 'its key, as PEM',
    'upstream-sni': "name in V2's certificate",
    'upstream-ca': 'authorities to trust for V2, as PEM',
    'upstream-cert': 'client certificate for V2, as PEM',
    'upstream-key': 'its key, as PEM',
  },
  'Connections to V2:': {
    'upstream-connections': 'maximum number of connections',
    'upstream-connect-timeout': 'to connect',
    'upstream-headers-timeout': "to send a response's head",
    'upstream-body-timeout': 'between two parts of a response',
    'upstream-header-bytes': "size of a response's head",
    'upstream-idle-timeout': 'close an idle connection after',
    'upstream-max-age': 'replace a connection after',
    'upstream-host': 'Host field for V2',
    breaker: 'pause while V2 keeps failing',
  },
  'Clients:': {
    'client-secret': 'key for the hashes that name clients',
    'client-names': 'display names for clients',
    'response-coding': 'Content-Encoding: keep, identity',
    'self-service': 'reports for clients: on, link',
  },
  'Limits:': {
    'max-in-flight': 'requests at the same time',
    'buffer-bytes': 'memory for bodies being rewritten',
    'header-bytes': "size of a request's head",
    'client-headers-timeout': 'to receive the head',
    'client-body-timeout': 'between two parts of a body',
    'client-connections': 'maximum number of connections',
    'min-data-rate': 'minimum in a second, in a body',
    'idle-timeout': 'close an idle connection after',
  },
  'Proxies in front:': {
    forwarded: "client's address: x-forwarded, rfc7239",
    via: "the gateway's name in Via",
    'trusted-proxies': 'proxies whose fields to trust',
    'proxy-protocol': 'connections begin with PROXY',
  },
  'Inspector and admin listener:': {
    'admin-token': 'token; only loopback needs none',
    'admin-hosts': 'host names of the admin listener',
    capture: 'keep values as well as names: bodies',
    'capture-mask': 'members whose values are never kept',
    'capture-memory': 'memory for kept exchanges',
    'inspector-resend': 'send a kept request to V2 again: v2',
  },
  'Process:': {
    workers: 'processes, or auto: one a core',
    drain: 'to finish requests when stopping',
  },
};

function settingGroup(name: string): string {
  return Object.entries(HELP).find(([, lines]) => name in lines)?.[0] ?? 'Other settings:';
}

/** Returns the settings with their defaults as Markdown: a list for each heading of `--help`. */
export function settingsLists(): string {
  const headings = [...new Set([...Object.keys(HELP), ...allSettings.map(({ name }) => settingGroup(name))])];
  const lists = headings.map((heading) => {
    const items = allSettings.filter(({ name }) => settingGroup(name) === heading).map(settingItem);
    return `## ${heading.replace(/:$/, '')}\n\n${items.join('\n')}\n`;
  });
  return lists.join('\n');
}

function settingItem(setting: Setting<unknown>): string {
  const initial = setting.initial === undefined || setting.initial === '' ? '' : `=${setting.initial}`;
  const words = acceptedWords(setting).map((word) => `\`${word}\``);
  const values = words.length === 0 ? '' : ` Values: ${words.join(', ')}.`;
  return `- \`${environmentName(setting)}${initial}\`: ${sentenceOf(setting)}${values}`;
}

/** Returns the settings as a file of environment variables, all commented out. */
export function settingsExample(): string {
  const head =
    '# All settings of capture-gateway with their defaults. A flag (--listen) overrides a variable; a variable overrides the file that GATEWAY_CONFIG names.\n# Times are in milliseconds; sizes accept B, KiB, MiB and GiB.\n';
  return `${head}${allSettings.map((setting) => example(setting)).join('')}`;
}

function example(setting: Setting<unknown>): string {
  const name = environmentName(setting);
  const file = setting.secret ? `# ${name}_FILE=\n` : '';
  const words = acceptedWords(setting);
  const values = words.length === 0 ? '' : `# Values: ${words.join(', ')}.\n`;
  return `\n# ${sentenceOf(setting)}\n${values}# ${name}=${setting.initial ?? ''}\n${file}`;
}

/** The words that a setting accepts, from its placeholder; none if it takes any text or number. */
function acceptedWords({ kind }: Setting<unknown>): readonly string[] {
  const words = kind.placeholder.replaceAll(/[<>]/g, '').split('|');
  const isChoice = words.length > 1 && 'fault' in kind.read('?');
  return isChoice && words.every((word) => 'value' in kind.read(word)) ? words : [];
}

/** Returns a default's unit after a space; empty if the default, such as 64MiB, already has one. */
function unitOf({ kind, initial }: Setting<unknown>): string {
  return kind.unit !== '' && /^\d+$/.test(initial ?? '') ? ` ${kind.unit}` : '';
}
