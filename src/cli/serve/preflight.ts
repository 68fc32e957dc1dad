import { accessSync, constants, existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { readSetting, readValidSettings, type Settings } from '../../settings/read-settings.ts';
import { NODE_CONFLICTS } from '../../settings/node-conflicts.ts';
import { memoryShares } from '../../settings/memory-shares.ts';
import { type Setting, settings as table } from '../../settings/settings.ts';
import { adminFault } from '../../node/admin/operators.ts';
import { memoryLimit } from '../../node/memory-limit.ts';
import { loadRuleBook } from '../../node/rule-book-file.ts';
import type { LoadedRuleBook } from '../../node/rule-books.ts';
import { type NamedFile, readTlsFiles, type TlsTexts } from '../../node/tls-files.ts';
import { workersOf } from './worker-front.ts';

/** Validated settings, rule book and certificates. */
export interface Preflight {
  readonly settings: Settings;
  readonly rulesPath: string;
  readonly ruleBook: LoadedRuleBook;
  /** PEM texts for TLS to V2. */
  readonly upstreamTls: TlsTexts | undefined;
  /** PEM texts for TLS with clients. */
  readonly clientTls: TlsTexts | undefined;
}

/** Reads and validates everything that a start needs, and reports all faults at once; starts nothing. */
export async function preflight(
  flags: Readonly<Record<string, string | undefined>>,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Preflight | { readonly faults: readonly string[] }> {
  const { settings, faults, invalid } = readValidSettings({
    flags,
    environment,
    readFile: (path) => readFileSync(path, 'utf8'),
  });
  const rulesPath = readSetting(table.rules, { flags, environment });
  const ruleBook = await loadRuleBook(rulesPath, settings.nameOf(table.rules));
  const upstreamTls = upstreamFiles(settings);
  const clientTls = clientFiles(settings);
  const shares = memoryShares(memoryLimit(), workersOf(settings));
  const checks: readonly ((settings: Settings) => readonly string[])[] = [
    ...NODE_CONFLICTS.map((check) => (own: Settings) => check(own, shares, realPath)),
    (own) => [adminFault(own)].filter((fault) => fault !== undefined),
    (own) => [logFileFault(own)].filter((fault) => fault !== undefined),
    (own) => [rolloutFileFault(own)].filter((fault) => fault !== undefined),
    (own) => [redisFault(own)].filter((fault) => fault !== undefined),
  ];
  const all = [
    ...faults,
    ...checks.flatMap((check) => trueFaults(settings, invalid, check)),
    ...[await namesFault(settings)].filter((fault) => fault !== undefined),
    ...[upstreamTls, clientTls, storeFiles(settings)].flatMap((outcome) =>
      'fault' in outcome ? [outcome.fault] : [],
    ),
    ...('faults' in ruleBook ? ruleBook.faults : []),
  ];
  if (all.length > 0 || 'faults' in ruleBook || 'fault' in upstreamTls || 'fault' in clientTls) {
    const { misleads, startFaults } = await import('./start-faults.ts');
    const book = 'faults' in ruleBook ? undefined : ruleBook.rules.ruleBook;
    return { faults: [...all, ...(misleads(invalid) ? [] : await startFaults(settings, book))] };
  }
  return { settings, rulesPath, ruleBook, upstreamTls: upstreamTls.tls, clientTls: clientTls.tls };
}

/** Runs a check; what it finds does not count where it read an invalid setting, of which it only knows the default. */
function trueFaults(
  settings: Settings,
  invalid: ReadonlySet<string>,
  check: (settings: Settings) => readonly string[],
): readonly string[] {
  let isMisled = false;
  const faults = check({
    ...settings,
    get: (setting) => {
      isMisled ||= invalid.has(setting.name);
      return settings.get(setting);
    },
  });
  return isMisled ? [] : faults;
}

/** Resolves a path, links included; one of a file that is not there yet only by its text. */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Reads the TLS certificate files for the client-facing listener. */
export function clientFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    cert: namedFile(settings, table.tlsCert),
    key: namedFile(settings, table.tlsKey),
  });
}

/** The client of Redis is an optional peer of the package: most gateways have no such store, and it is as large as all the rest. */
function redisFault(settings: Settings): string | undefined {
  const store = settings.get(table.store);
  if (store.kind !== 'redis') return undefined;
  try {
    createRequire(import.meta.url).resolve('@redis/client');
    return undefined;
  } catch {
    return `${settings.nameOf(table.store)} ${store.url} needs the package @redis/client, which is not installed: run npm install @redis/client@6 beside capture-gateway.`;
  }
}

/** Reads the authorities for the certificate of the store. */
export function storeFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({ ca: namedFile(settings, table.storeCa) });
}

/** Reads the TLS certificate files for V2. */
export function upstreamFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    ca: namedFile(settings, table.upstreamCa),
    cert: namedFile(settings, table.upstreamCert),
    key: namedFile(settings, table.upstreamKey),
  });
}

function namedFile(settings: Settings, setting: Setting<string | undefined>): NamedFile {
  return { name: settings.nameOf(setting), path: settings.get(setting) };
}

/** Returns the fault of the file of client names. One that is not there is made when the first client gets a name. */
async function namesFault(settings: Settings): Promise<string | undefined> {
  const path = settings.get(table.clientNames);
  if (path === undefined || !existsSync(path)) return undefined;
  const { readClientNames } = await import('../../node/admin/client-names.ts');
  const read = readClientNames(path);
  return 'fault' in read ? `${settings.nameOf(table.clientNames)}: ${read.fault}` : undefined;
}

/** Returns the fault that prevents appending to the log file, without creating the file. */
function logFileFault(settings: Settings): string | undefined {
  const path = settings.get(table.logFile);
  if (path === undefined) return undefined;
  try {
    accessSync(existsSync(path) ? path : dirname(path), constants.W_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return `${settings.nameOf(table.logFile)} cannot be opened for appending: ${path} (${code}).`;
  }
}

/** Returns the fault that prevents making the file of modes, without creating it. */
function rolloutFileFault(settings: Settings): string | undefined {
  const address = settings.get(table.store);
  const isStore = address.kind === 'file';
  const path = isStore ? address.path : settings.get(table.rolloutFile);
  if (path === undefined || existsSync(path)) return undefined;
  try {
    accessSync(dirname(path), constants.W_OK);
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const name = settings.nameOf(isStore ? table.store : table.rolloutFile);
    return `${name} cannot be written: ${path} (${code}); make its folder writable, or name another file.`;
  }
}
