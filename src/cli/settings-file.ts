import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { decodeText } from '../node/files.ts';
import { didYouMean, printFault } from '../rules/rule-book-fault.ts';
import {
  CONFIG_VARIABLE,
  goneFault,
  readSetting,
  settingKeys,
  type SettingsFile,
  type SettingSources,
} from '../settings/read-settings.ts';
import * as kinds from '../settings/setting-kinds.ts';
import { removedSettings } from '../settings/setting-sentences.ts';
import { allSettings, type Setting } from '../settings/settings.ts';
import { systemReason } from '../node/system-reason.ts';

/** A command's flags and environment, and the settings file that one of them names. */
export type GivenSettings = Omit<SettingSources, 'readFile'>;

/** Reads the settings file that `--config` or `GATEWAY_CONFIG` names. There is no default: the working directory must not decide. */
export async function givenSettings(
  flags: SettingSources['flags'],
  environment: SettingSources['environment'],
): Promise<GivenSettings> {
  const path = flags['config'] ?? (environment[CONFIG_VARIABLE] || undefined);
  return {
    flags,
    environment,
    gone: removedSettings,
    file: path === undefined ? undefined : await readSettingsFile(path),
  };
}

/**
 * Reads a settings file: YAML 1.2 or JSON, one key for each setting, such as `listen: 127.0.0.1:8080`. It only checks that each value is
 * a text, a number, a boolean or a list of them; paths become relative to the working directory.
 */
export async function readSettingsFile(path: string): Promise<SettingsFile> {
  let text: string;
  try {
    text = decodeText(readFileSync(path));
  } catch (error) {
    return {
      values: new Map(),
      faults: [`The settings file ${path} cannot be read: ${systemReason(error)}.`],
    };
  }
  // Loaded only here, because most starts have no settings file.
  const { SourceDocument } = await import('../rules/source-document.ts');
  const document = new SourceDocument(text);
  const faults = document.faults.map((fault) => printFault({ file: path, ...fault }));
  const values = new Map<string, { readonly text: string; readonly from: string }>();
  const { value: content } = document;
  if (content === undefined || content === null) return { values, faults };
  if (typeof content !== 'object' || Array.isArray(content))
    return {
      values,
      faults: [
        ...faults,
        `${path}:1:1 A settings file has a key for each setting, such as listen: 127.0.0.1:8080.`,
      ],
    };
  const known = settingKeys();
  for (const [key, value] of Object.entries(content)) {
    const report = (blame: 'key' | 'value', message: string): void =>
      void faults.push(printFault({ file: path, ...document.positionOf([key], blame), message }));
    const written = textOf(value);
    if (Object.hasOwn(removedSettings, key)) report('key', goneFault(key, removedSettings[key] ?? ''));
    else if (!known.includes(key))
      report('key', `${JSON.stringify(key)} is not a setting${nearNames(key, known)}`);
    else if (written === undefined)
      report(
        'value',
        `${key} must be a text, a number, a boolean, or a list of them; remove the line for the default.`,
      );
    else {
      const { line, column } = document.positionOf([key], 'value');
      values.set(key, {
        text: withPaths(key, written, path),
        from: `${key} in ${path}:${line}:${column}`,
      });
    }
  }
  return { values, faults };
}

/** Reads one setting for a command that needs no others, such as `explain` its rule book. */
export async function givenSetting<Value>(
  setting: Setting<Value>,
  flags: SettingSources['flags'],
): Promise<{ readonly value: Value } | { readonly faults: readonly string[] }> {
  const given = await givenSettings(flags, process.env);
  const { faults = [] } = given.file ?? {};
  return faults.length > 0 ? { faults } : { value: readSetting(setting, given) };
}

function textOf(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const parts = value.map((part) => (Array.isArray(part) ? undefined : textOf(part)));
    return parts.includes(undefined) ? undefined : parts.join(',');
  }
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

/** Suggests known keys, also for the name of a variable, which the documentation shows beside the key. */
function nearNames(key: string, known: readonly string[]): string {
  const plain = key
    .toLowerCase()
    .replace(/^gateway_/, '')
    .replaceAll('_', '-');
  return known.includes(plain)
    ? `; did you mean "${plain}"?`
    : didYouMean(key, known) || '; see serve --help for the settings.';
}

/** Turns paths relative to the file into paths relative to the working directory. */
function withPaths(key: string, text: string, file: string): string {
  const map = (path: string): string => (isAbsolute(path) ? path : join(dirname(file), path));
  const setting = allSettings.find(({ name }) => name === key);
  // The other keys name files with secrets.
  if (setting === undefined) return map(text);
  switch (setting.kind) {
    case kinds.file:
      return map(text);
    case kinds.logTarget:
      return text === 'off' ? text : map(text);
    case kinds.description:
      return /^https?:\/\//i.test(text) ? text : map(text);
    case kinds.store:
      return storeWithPaths(text, map);
    default:
      return text;
  }
}

function storeWithPaths(text: string, map: (path: string) => string): string {
  const path = kinds.pathOfFileStore(text);
  if (path !== undefined) return `file:${map(path)}`;
  const at = text.indexOf('?');
  if (at < 0) return text;
  const query = new URLSearchParams(text.slice(at + 1));
  for (const name of ['ca', 'copy']) {
    const file = query.get(name) ?? '';
    if (file !== '') query.set(name, map(file));
  }
  return `${text.slice(0, at)}?${query.toString()}`;
}
