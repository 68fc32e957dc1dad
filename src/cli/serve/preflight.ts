import { accessSync, constants, existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { adminFault } from '../../node/admin/operators.ts';
import { tracingPackages } from '../../node/log/tracing.ts';
import { storedRolloutFault } from '../../node/rollout/open-rollout.ts';
import { type LoadedRuleBook, loadRuleBook, secretReader } from '../../node/rule-books.ts';
import { memoryLimit } from '../../node/runtime.ts';
import {
  type NamedFile,
  readSecretText,
  readTlsFiles,
  resolvedPath,
  type TlsTexts,
} from '../../node/files.ts';
import { WorkerPool, type WorkerPoolParts } from '../../node/workers/worker-pool.ts';
import { webhookSecretFaults } from '../../migrate/webhook-signature.ts';
import type { RuleBook } from '../../rules/rule-book.ts';
import {
  memoryShares,
  readSetting,
  readValidSettings,
  type Settings,
  workerDrainTime,
  NODE_CONFLICTS,
} from '../../settings/read-settings.ts';
import { modesFile } from '../../settings/setting-kinds.ts';
import { type Setting, settings as table } from '../../settings/settings.ts';
import type { GivenSettings } from '../settings-file.ts';
import { systemReason } from '../../node/system-reason.ts';

/** Validated settings, rule book and certificates. */
export interface Preflight {
  readonly settings: Settings;
  readonly rulesPath: string;
  readonly ruleBook: LoadedRuleBook;
  /** PEM texts for TLS to V2. */
  readonly upstreamTls: TlsTexts | undefined;
  readonly clientTls: TlsTexts | undefined;
}

/** Reads and validates everything that a start needs, and reports all faults at once; starts nothing. */
export async function preflight(
  given: GivenSettings,
): Promise<Preflight | { readonly faults: readonly string[] }> {
  const { settings, faults, invalid } = readValidSettings({
    ...given,
    readFile: readSecretText,
  });
  const rulesPath = readSetting(table.rules, given);
  const ruleBook = await loadRuleBook(rulesPath, settings.nameOf(table.rules));
  const upstreamTls = upstreamFiles(settings);
  const clientTls = clientFiles(settings);
  const checks = [
    ...NODE_CONFLICTS.map((check) => (own: Settings) => check(own, (path) => resolve(resolvedPath(path)))),
    adminFault,
    logFileFault,
    rolloutFileFault,
    redisFault,
  ];
  const all = [
    ...faults,
    ...checks.flatMap((check) => trueFaults(settings, invalid, check)),
    ...((await namesFault(settings)) ?? []),
    ...(tracingFault(given.environment) ?? []),
    ...[upstreamTls, clientTls, storeFiles(settings)].flatMap((outcome) =>
      'fault' in outcome ? [outcome.fault] : [],
    ),
    ...('faults' in ruleBook
      ? ruleBook.faults
      : webhookSecretFaults(ruleBook.rules.ruleBook, secretReader(given.environment))),
  ];
  if (all.length > 0 || 'faults' in ruleBook || 'fault' in upstreamTls || 'fault' in clientTls) {
    const book = 'faults' in ruleBook ? undefined : ruleBook.rules.ruleBook;
    // An invalid setting would mislead `startFaults`.
    const isMisled = READ.some(({ name }) => invalid.has(name));
    return { faults: [...all, ...(isMisled ? [] : await startFaults(settings, book))] };
  }
  return { settings, rulesPath, ruleBook, upstreamTls: upstreamTls.tls, clientTls: clientTls.tls };
}

/** Runs a check; ignores its faults if it read an invalid setting, for which it only got the default. */
function trueFaults(
  settings: Settings,
  invalid: ReadonlySet<string>,
  check: (settings: Settings) => readonly string[] | string | undefined,
): readonly string[] {
  let isMisled = false;
  const faults = check({
    ...settings,
    get: (setting) => {
      isMisled ||= invalid.has(setting.name);
      return settings.get(setting);
    },
  });
  return isMisled || faults === undefined ? [] : [faults].flat();
}

/** Reads the TLS certificate files for the client-facing listener. */
export function clientFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  return readTlsFiles({
    cert: namedFile(settings, table.tlsCert),
    key: namedFile(settings, table.tlsKey),
  });
}

/** Returns the fault that the Redis client is missing: an optional peer dependency, because it is as large as all the rest. */
function redisFault(settings: Settings): string | undefined {
  const store = settings.get(table.store);
  if (store.kind !== 'redis' || isInstalled('@redis/client')) return undefined;
  return `${settings.nameOf(table.store)} ${store.url} needs the package @redis/client, which is not installed: run npm install @redis/client@6 beside capture-gateway.`;
}

/** Returns the fault that packages of OpenTelemetry are missing, which are optional peers. */
function tracingFault(environment: GivenSettings['environment']): readonly string[] | undefined {
  const missing = tracingPackages(environment).filter((name) => !isInstalled(name));
  if (missing.length === 0) return undefined;
  return [
    `OTEL_EXPORTER_OTLP_ENDPOINT is set, and the export of spans needs ${missing.join(', ')}: run npm install ${missing.join(' ')} beside capture-gateway, or set OTEL_SDK_DISABLED=true.`,
  ];
}

function isInstalled(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

/** Reads the authorities for the store's certificate. */
export function storeFiles(settings: Settings): ReturnType<typeof readTlsFiles> {
  const address = settings.get(table.store);
  const path = address.kind === 'redis' ? address.ca : undefined;
  return readTlsFiles({ ca: { name: settings.nameOf(table.store), path } });
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

/** Returns the fault of the file of client names, which may also be missing: it is created when the first client gets a name. */
async function namesFault(settings: Settings): Promise<readonly string[] | undefined> {
  const path = settings.get(table.clientNames);
  if (path === undefined || !existsSync(path)) return undefined;
  const { readClientNames } = await import('../../node/admin/names.ts');
  const read = readClientNames(path);
  return 'fault' in read ? [`${settings.nameOf(table.clientNames)}: ${read.fault}`] : undefined;
}

/** Returns the fault that prevents appending to the log file, without creating the file. */
function logFileFault(settings: Settings): string | undefined {
  const path = settings.get(table.logFile);
  if (path === undefined || path === 'off') return undefined;
  const why = writeFault(existsSync(path) ? path : dirname(path));
  return why && `${settings.nameOf(table.logFile)} cannot be opened for appending: ${path}: ${why}.`;
}

/** Returns the fault that prevents creating the file of modes, without creating it. */
function rolloutFileFault(settings: Settings): string | undefined {
  const path = modesFile(settings.get(table.store));
  if (path === undefined || existsSync(path)) return undefined;
  const why = writeFault(dirname(path));
  return (
    why &&
    `${settings.nameOf(table.store)} cannot be written: ${path}: ${why}; make its folder writable, or name another file.`
  );
}

/** Why writing to a file or a folder fails; undefined if it can be written. */
function writeFault(path: string): string | undefined {
  try {
    accessSync(path, constants.W_OK);
    return undefined;
  } catch (error) {
    return systemReason(error);
  }
}

/** Returns the faults that `serve` finds only while it starts its parts: rollout file and V2's description. */
export async function startFaults(
  settings: Settings,
  book: RuleBook | undefined,
): Promise<readonly string[]> {
  const faults = [book && storedRolloutFault(settings, book), await descriptionFault(settings)];
  return faults.filter((fault) => fault !== undefined);
}

/** Settings that `startFaults` reads. */
const READ = [table.store, table.v1Upstream, table.v2Openapi, table.upstream];

/** Returns the fault of V2's description in a file; an unreachable address does not stop a start. */
async function descriptionFault(settings: Settings): Promise<string | undefined> {
  const source = settings.get(table.v2Openapi);
  if (source === undefined) return undefined;
  // Loaded only here, because no other start needs them.
  const [{ V2Description }, { isAddress }] = await Promise.all([
    import('../draft/v2-description.ts'),
    import('../../openapi/join-documents.ts'),
  ]);
  if (isAddress(source)) return undefined;
  const opened = await V2Description.open(
    source,
    () => [],
    () => {},
  );
  return 'fault' in opened ? opened.fault : undefined;
}

export interface WorkerFrontParts extends Pick<
  WorkerPoolParts,
  'record' | 'ownReport' | 'store' | 'onLost' | 'observe' | 'log'
> {
  readonly settings: Settings;
  /** Values from the command line. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  /** Scheme, host, port and path of V2. */
  readonly upstream: string;
  /** File or address of V2's description; undefined when there is none. */
  readonly v2Openapi: string | undefined;
  readonly clientSecret: string;
}

/** Returns the number of processes that the settings configure. */
export function workersOf(settings: Settings): number {
  const workers = settings.get(table.workers);
  return workers === 'auto' ? availableParallelism() : workers;
}

/** Creates the worker processes that clients connect to; undefined if one process is enough. */
export async function workerFront(parts: WorkerFrontParts): Promise<WorkerPool | undefined> {
  const { settings, flags, upstream, v2Openapi, clientSecret, ...ownParts } = parts;
  const count = workersOf(settings);
  if (count === 1) return undefined;
  const { fork } = await import('node:child_process');
  const own = Object.fromEntries(
    Object.entries(flags).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
  return new WorkerPool({
    ...ownParts,
    count,
    fork: () =>
      fork(workerPath(), { serialization: 'advanced', stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
    flags: {
      ...settings.ofFile,
      ...own,
      upstream,
      ...(v2Openapi === undefined ? {} : { 'v2-openapi': v2Openapi }),
      'client-secret': clientSecret,
      // A container's limit applies to all processes together.
      'buffer-bytes': String(
        settings.get(table.bufferBytes) ?? memoryShares(memoryLimit(), count).bufferBytes,
      ),
      workers: '1',
      drain: String(workerDrainTime(settings.get(table.drain))),
      capture: settings.get(table.capture),
      'capture-memory': String(settings.get(table.captureMemory) ?? memoryShares(memoryLimit()).captureBytes),
      // Not a setting.
      [PROCESSES_FLAG]: String(count),
    },
  });
}

/** The flag that tells a worker how many processes share the gateway's limits. */
export const PROCESSES_FLAG = 'processes';

/** Path of the worker's entry module, in the sources or in the build output. */
function workerPath(): string {
  return fileURLToPath(
    new URL(import.meta.url.endsWith('.ts') ? '../worker.ts' : '../worker.js', import.meta.url),
  );
}
