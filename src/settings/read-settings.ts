import type { AddressRange, ForwardedMode } from '../http/forwarding.ts';
import { didYouMean } from '../rules/rule-book-fault.ts';
import {
  allSettings,
  type Constants,
  constants,
  environmentName,
  secretSettings,
  type Setting,
  settings as table,
} from './settings.ts';
import { EVERYWHERE, type ListenAddress, modesFile, type OriginSetting } from './setting-kinds.ts';

/** Sources of settings: a flag takes precedence over the environment, this over the settings file, and this over the default. */
export interface SettingSources {
  /** By setting name. */
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The content of the settings file; empty if there is none. */
  readonly file?: SettingsFile | undefined;
  /** Reads a secret from a file; the message of an error that it throws is the reason, without the path. */
  readonly readFile: (path: string) => string;
  /** The remedy for each removed setting, by name; absent on runtimes that never had them, such as the edge. */
  readonly gone?: Readonly<Record<string, string>> | undefined;
  /** Other values of constants, in tests. */
  readonly constants?: Partial<Constants> | undefined;
}

/** The content of a settings file, before its values are validated. */
export interface SettingsFile {
  /** Values by setting name; a secret may have the name `NAME-file` instead. */
  readonly values: ReadonlyMap<string, FileValue>;
  /** Faults of the file itself, as sentences with its path, line and column. */
  readonly faults: readonly string[];
}

interface FileValue {
  readonly text: string;
  /** Name and place for sentences, such as `listen in gateway.yaml:3:9`. */
  readonly from: string;
}

/** The variable that names the settings file. */
export const CONFIG_VARIABLE = 'GATEWAY_CONFIG';

/** Validated settings: `get` never fails. */
export interface Settings {
  get<Value>(setting: Setting<Value>): Value;
  /** The values of `constants`, except in a test. */
  readonly constants: Constants;
  /** Values that come from the settings file, by setting name, as flags for another process. */
  readonly ofFile: Readonly<Record<string, string>>;
  /** True if the default was not replaced. */
  isInitial(setting: Setting<unknown>): boolean;
  /** The flag or the variable by which the setting is set, for sentences; the variable if it is not set. */
  nameOf(setting: Setting<unknown>): string;
  /** Files that secrets are read from. */
  readonly secretFiles: readonly string[];
  /** Reads these files again; `get` returns the new secrets from then on, but not those in which `faultOf` finds a fault. */
  rereadSecrets(faultOf: FaultOfSecret): SecretsReading;
}

/** Returns the fault of a secret, as a sentence; `name` is how it is set. */
type FaultOfSecret = (
  setting: Setting<string | undefined>,
  secret: string | undefined,
  name: string,
) => string | undefined;

/** The outcome of reading secrets in files again. */
interface SecretsReading {
  /** Those that have another value now. */
  readonly changed: readonly Setting<string | undefined>[];
  /** A secret with a fault stays as it was. */
  readonly faults: readonly string[];
}

/** Settings, as far as they are valid. */
interface SettingsReading {
  /** Invalid ones have their defaults. */
  readonly settings: Settings;
  readonly faults: readonly string[];
  /** Names of the invalid ones. */
  readonly invalid: ReadonlySet<string>;
}

/** Reads every setting and reports every fault at once; each is a sentence with the setting, the value and the remedy. */
export function readSettings(
  sources: SettingSources,
): { readonly settings: Settings } | { readonly faults: readonly string[] } {
  const { settings, faults } = readValidSettings(sources);
  return faults.length > 0 ? { faults } : { settings };
}

/** Reads every setting like `readSettings`, for checks that do not have to wait until all are valid. */
export function readValidSettings(sources: SettingSources): SettingsReading {
  const invalid = new Set<string>();
  const texts = new Map<string, string | undefined>();
  const names = new Map<string, string>();
  const faults: string[] = [];
  for (const setting of allSettings) {
    const found = find(setting, sources);
    if ('fault' in found) {
      faults.push(found.fault);
      invalid.add(setting.name);
      continue;
    }
    texts.set(setting.name, found.text);
    names.set(setting.name, found.from);
    if (found.text === undefined) continue;
    const outcome = setting.kind.read(found.text);
    if (!('fault' in outcome)) continue;
    faults.push(`${found.from} ${outcome.fault}${setting.secret ? '' : `, not "${shown(found.text)}"`}.`);
    invalid.add(setting.name);
  }
  faults.push(...(sources.file?.faults ?? []), ...goneFlags(sources), ...unknownNames(sources));
  return {
    settings: {
      get: (setting) => valueOf(setting, texts.get(setting.name)),
      constants: { ...constants, ...sources.constants },
      get ofFile() {
        const decided = allSettings.flatMap(({ name }) => {
          const text = texts.get(name);
          const isOfFile = text !== undefined && isFromFile(sources, name, names.get(name));
          return isOfFile ? [[name, text] as const] : [];
        });
        return Object.fromEntries(decided);
      },
      isInitial,
      nameOf: (setting) => names.get(setting.name) ?? environmentName(setting),
      secretFiles: secretsInFiles().flatMap((setting) => secretPath(setting, sources)?.path ?? []),
      rereadSecrets,
    },
    faults,
    invalid,
  };

  function isInitial(setting: Setting<unknown>): boolean {
    return texts.get(setting.name) === setting.initial;
  }

  function secretsInFiles(): readonly Setting<string | undefined>[] {
    return secretSettings.filter((setting) => {
      const from = names.get(setting.name);
      return from !== undefined && from === secretPath(setting, sources)?.from;
    });
  }

  function rereadSecrets(faultOf: FaultOfSecret): SecretsReading {
    const changed: Setting<string | undefined>[] = [];
    const rereadFaults: string[] = [];
    for (const setting of secretsInFiles()) {
      const found = find(setting, sources);
      if ('fault' in found) {
        rereadFaults.push(found.fault);
        continue;
      }
      if (found.text === texts.get(setting.name)) continue;
      const outcome = setting.kind.read(found.text ?? '');
      const fault =
        'fault' in outcome ? `${found.from} ${outcome.fault}.` : faultOf(setting, found.text, found.from);
      if (fault !== undefined) {
        rereadFaults.push(fault);
        continue;
      }
      texts.set(setting.name, found.text);
      changed.push(setting);
    }
    return { changed, faults: rereadFaults };
  }
}

/** A value without the user and password of an address. */
function shown(text: string): string {
  return text.replace(/(:\/\/)[^/]*@/, '$1…@');
}

/** Reads one setting before the others are validated; an invalid one counts as its default. */
export function readSetting<Value>(
  setting: Setting<Value>,
  sources: Pick<SettingSources, 'flags' | 'environment' | 'file'>,
): Value {
  const found = find(setting, { ...sources, readFile: () => '' });
  return valueOf(setting, 'fault' in found ? undefined : found.text);
}

/**
 * Reads one secret, from its variable or the file that `GATEWAY_NAME_FILE` names; `name` in the outcome is the one that is set. Checks
 * nothing else.
 */
export function readSecret(
  setting: Setting<string | undefined>,
  sources: SettingSources,
): { readonly secret: string | undefined; readonly name: string } | { readonly fault: string } {
  const found = find(setting, sources);
  return 'fault' in found ? found : { secret: found.text || undefined, name: found.from };
}

type Found = { readonly text: string | undefined; readonly from: string } | { readonly fault: string };

function find(setting: Setting<unknown>, sources: SettingSources): Found {
  const { flags, environment, file, readFile } = sources;
  const name = environmentName(setting);
  const flag = flags[setting.name];
  if (flag !== undefined) return { text: flag, from: `--${setting.name}` };
  const value = environment[name];
  if (setting.secret && value !== undefined && environment[`${name}_FILE`] !== undefined)
    return { fault: `${name} and ${name}_FILE are both set; unset one of them.` };
  // Compose files and shells leave an unset variable empty.
  if (value !== undefined && value !== '') return { text: value, from: name };
  const secret = setting.secret ? secretPath(setting, sources) : undefined;
  const written = file?.values.get(setting.name);
  if (secret === undefined) return written ?? { text: setting.initial, from: name };
  if (written !== undefined && secret.isOfFile)
    return { fault: `${written.from} and ${secret.from} are both set; unset one of them.` };
  try {
    return { text: readFile(secret.path).replace(/\r?\n$/, ''), from: secret.from };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { fault: `${secret.from} names a file that cannot be read: ${secret.path}: ${why}.` };
  }
}

/** The file that holds a secret, as the environment or the settings file names it. */
function secretPath(
  setting: Setting<unknown>,
  { environment, file }: Pick<SettingSources, 'environment' | 'file'>,
): { readonly path: string; readonly from: string; readonly isOfFile: boolean } | undefined {
  const name = `${environmentName(setting)}_FILE`;
  const path = environment[name];
  if (path !== undefined && path !== '') return { path, from: name, isOfFile: false };
  const written = file?.values.get(`${setting.name}-file`);
  return written && { path: written.text, from: written.from, isOfFile: true };
}

function isFromFile({ file }: SettingSources, name: string, from: string | undefined): boolean {
  const places = [file?.values.get(name)?.from, file?.values.get(`${name}-file`)?.from];
  return from !== undefined && places.includes(from);
}

function valueOf<Value>(setting: Setting<Value>, text: string | undefined): Value {
  const outcome = text === undefined ? undefined : setting.kind.read(text);
  if (outcome !== undefined && 'value' in outcome) return outcome.value;
  return setting.value;
}

/** Variables that Kubernetes adds to every container next to a Service named `gateway`. */
const SERVICE_LINK = /^GATEWAY_(?:SERVICE_(?:HOST|PORT)(?:_\w+)?|PORT(?:_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?)?)$/;

function goneFlags({ flags, gone = {} }: SettingSources): string[] {
  return Object.entries(gone).flatMap(([name, wayOut]) =>
    flags[name] === undefined ? [] : [goneFault(`--${name}`, wayOut)],
  );
}

/** Says that a setting was removed, and what to do instead; `from` is how it is set. */
export function goneFault(from: string, wayOut: string): string {
  return `${from} is no longer a setting: ${wayOut}.`;
}

function unknownNames({ environment, gone = {} }: SettingSources): string[] {
  const known = new Set([CONFIG_VARIABLE, ...settingKeys().map((name) => environmentName({ name }))]);
  return Object.entries(environment).flatMap(([name, value]) => {
    if (!name.startsWith('GATEWAY_') || known.has(name) || SERVICE_LINK.test(name)) return [];
    const setting = name
      .slice('GATEWAY_'.length)
      .toLowerCase()
      .replaceAll('_', '-')
      .replace(/-file$/, '');
    const keys = [name.slice('GATEWAY_'.length).toLowerCase().replaceAll('_', '-'), setting];
    const wayOut = keys
      .map((key) => (Object.hasOwn(gone, key) ? gone[key] : undefined))
      .find((way) => way !== undefined);
    if (wayOut !== undefined) return value === undefined || value === '' ? [] : [goneFault(name, wayOut)];
    return [`${name} is not a setting${didYouMean(name, known) || '; see --help for the settings.'}`];
  });
}

/** The names of settings, and of files for secrets. */
export function settingKeys(): readonly string[] {
  return allSettings.flatMap(({ name, secret }) => (secret ? [name, `${name}-file`] : [name]));
}

/** The operator's limits and choices that apply on every runtime. */
export interface GatewayOptions {
  /** Maximum number of header fields. */
  readonly count: number;
  /** Maximum bytes of a header section. */
  readonly bytes: number;
  readonly trustedProxies: readonly AddressRange[];
  readonly maxInFlight: number;
  /** Minimum bytes per second at which a client must read a response; 0 is no minimum. */
  readonly minDataRate: number;
  /** Maximum bytes held for rewriting, all requests together. */
  readonly bufferBytes: number;
  readonly forwarded: ForwardedMode;
  /** The pseudonym of the gateway in `Via`; empty if the field is not sent. */
  readonly via: string;
  /** Number of consecutive upstream failures that open the circuit; 0 never opens it. */
  readonly breakerFailures: number;
  readonly breakerOpenMs: number;
  /** Path at which a client gets its own report; undefined if there is none. */
  readonly selfService?: string | undefined;
  /** The same path, if responses to V1 clients link to it. */
  readonly selfServiceLink?: string | undefined;
}

/** Reads the gateway's options from the settings, for Node and the edge; `shares` are the defaults of unset ones. */
export function gatewayOptions(
  settings: Settings,
  shares: Pick<MemoryShares, 'bufferBytes'>,
): GatewayOptions {
  const { path, isLinked } = settings.get(table.selfService);
  const { headerCount, breakerFailures, breakerOpen } = settings.constants;
  return {
    selfService: path,
    selfServiceLink: isLinked ? path : undefined,
    count: headerCount,
    bytes: settings.get(table.headerBytes),
    trustedProxies: settings.get(table.trustedProxies),
    maxInFlight: settings.get(table.maxInFlight),
    minDataRate: settings.get(table.minDataRate),
    bufferBytes: settings.get(table.bufferBytes) ?? shares.bufferBytes,
    forwarded: settings.get(table.forwarded),
    via: settings.get(table.via),
    breakerFailures: settings.get(table.breaker) ? breakerFailures : 0,
    breakerOpenMs: breakerOpen,
  };
}

/** The operator's settings for the content that the inspector keeps. */
interface CaptureSettings {
  readonly mode: 'off' | 'bodies';
  readonly masks: readonly string[];
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly structurePerSecond: number;
  readonly bodyLimit: number;
}

/** Reads the capture settings; `shares` are the defaults of unset ones. */
export function captureOptions(
  settings: Settings,
  shares: Pick<MemoryShares, 'captureBytes'>,
): CaptureSettings {
  const maxBytes = settings.get(table.captureMemory) ?? shares.captureBytes;
  return {
    mode: settings.get(table.capture),
    masks: settings.get(table.captureMask),
    maxEntries: settings.constants.captureEntries,
    maxBytes,
    structurePerSecond: settings.constants.structureRate,
    bodyLimit: captureBodyLimit(maxBytes),
  };
}

/** Returns the size of the largest body that is kept for the inspector, given the bytes for all exchanges. */
export function captureBodyLimit(captureMemory: number): number {
  return Math.floor(captureMemory / BODIES_IN_MEMORY);
}

/** A body takes at most this part of the memory for exchanges: a few large ones must not displace all others. */
const BODIES_IN_MEMORY = 256;

const MEBIBYTE = 2 ** 20;

/**
 * Copies of a body in memory while it is rewritten: the received one and the rewritten one. Room for both is reserved together,
 * so that no body is accepted whose rewritten form does not fit.
 */
export const REWRITING_COPIES = 2;

/** Default memory limits of parts of the gateway, in bytes. */
interface MemoryShares {
  /** For bodies in flight, counting every copy. */
  readonly bufferBytes: number;
  /** For exchanges kept for the inspector. */
  readonly captureBytes: number;
}

/**
 * Divides the available memory, such as the limit of a container in bytes: a quarter for bodies, a sixteenth for the inspector, and at
 * most 256 and 64 MiB. The rest is for the runtime and for garbage that is not collected yet. `processes` share the memory for bodies.
 * Each process has at least 32 MiB for them, because the largest response that is rewritten by default would otherwise get a 503 each
 * time.
 */
export function memoryShares(limit: number = Number.POSITIVE_INFINITY, processes = 1): MemoryShares {
  return {
    bufferBytes: Math.max(32 * MEBIBYTE, Math.min(256 * MEBIBYTE, Math.floor(limit / 4 / processes))),
    captureBytes: Math.min(64 * MEBIBYTE, Math.floor(limit / 16)),
  };
}

/** Milliseconds of the drain time reserved for closing and for the log, so that the process exits in time. */
const RESERVE_MS = 1000;

/**
 * Returns the time for which a stopping gateway still accepts connections, in milliseconds: less of a short drain time, most of which
 * requests in flight need.
 */
export function drainDelay(settings: Settings): number {
  return Math.min(settings.constants.drainDelay, settings.get(table.drain) / 5);
}

/** Returns the part of the drain time that connections have, in milliseconds: the rest is for closing and for the log. */
export function connectionDrainTime(drain: number): number {
  return Math.max(0, drain - Math.min(RESERVE_MS, drain / 5));
}

/** Returns the drain time of a worker process, in milliseconds: workers finish before the first process stops waiting for them. */
export function workerDrainTime(drain: number): number {
  return Math.floor(drain * 0.9);
}

/** Minimum characters of a secret. */
const MIN_SECRET_CHARACTERS = 16;

/** Finds what is wrong with settings that are valid alone; each fault is a sentence with their names and the remedy. */
type ConflictCheck = (
  settings: Settings,
  /** Gives all paths of a file the same text. */
  resolve: (path: string) => string,
) => readonly string[];

/** Finds conflicts of the settings that have an effect on every runtime. */
export function settingConflicts(settings: Settings): readonly string[] {
  return CONFLICTS.flatMap((check) => check(settings, (path) => path));
}

/** The checks of `settingConflicts`, each about one subject. */
const CONFLICTS: readonly ConflictCheck[] = [shortSecrets];

function shortSecrets(settings: Settings): readonly string[] {
  return GUESSABLE.flatMap(
    (setting) => shortSecretOf(setting, settings.get(setting), settings.nameOf(setting)) ?? [],
  );
}

/** Secrets that could be guessed; the password of a store is chosen by its server. */
const GUESSABLE: readonly Setting<string | undefined>[] = [table.clientSecret, table.adminToken];

/** Returns the fault of a secret that is too short for its setting, as a sentence; `name` is how it was set. */
export function shortSecretOf(
  setting: Setting<string | undefined>,
  secret: string | undefined,
  name: string,
): string | undefined {
  return GUESSABLE.includes(setting) ? shortSecret(secret, name) : undefined;
}

/** Returns the fault of a secret that is too short, as a sentence; `name` is how it was set. */
export function shortSecret(secret: string | undefined, name: string): string | undefined {
  if (secret === undefined || secret.length >= MIN_SECRET_CHARACTERS) return undefined;
  return `${name} must have at least ${MIN_SECRET_CHARACTERS} characters.`;
}

/**
 * The checks of settings of a gateway on Node that are valid alone but conflict with each other: each covers one subject, and returns its
 * faults as sentences with their names and the remedy.
 */
export const NODE_CONFLICTS: readonly ConflictCheck[] = /* @__PURE__ */ CONFLICTS.concat([
  sharedAddress,
  loops,
  sharedFiles,
  unusedTls,
  store,
  unusedProxyProtocol,
]);

function sharedAddress(settings: Settings): readonly string[] {
  const [clients, admin] = [settings.get(table.listen), settings.get(table.adminListen)];
  if (clients.port === 0 || clients.port !== admin.port || !overlap(clients.host, admin.host)) return [];
  const same = clients.host === admin.host ? ` ${clients.host}:${clients.port}` : ` on port ${clients.port}`;
  return [
    `${settings.nameOf(table.listen)} and ${settings.nameOf(table.adminListen)} are both${same}; give one of them another port.`,
  ];
}

/** A gateway that is its own upstream sends each request to itself until it is overloaded. */
function loops(settings: Settings): readonly string[] {
  const listeners = [settings.get(table.listen), settings.get(table.adminListen)];
  return [table.upstream, table.v1Upstream].flatMap((setting) => {
    const origin = settings.get(setting);
    if (origin === undefined || !listeners.some((listener) => isOwn(origin, listener))) return [];
    return [
      `${settings.nameOf(setting)} is ${origin.origin}, where the gateway itself listens; set the address of the service.`,
    ];
  });
}

const WILDCARDS: ReadonlySet<string> = new Set([EVERYWHERE, '0.0.0.0', '::']);
const LOOPBACKS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '::1']);

function overlap(one: string, other: string): boolean {
  return one === other || WILDCARDS.has(one) || WILDCARDS.has(other);
}

function isOwn({ origin }: OriginSetting, { host, port }: ListenAddress): boolean {
  const url = new URL(origin);
  const standard = url.protocol === 'https:' ? 443 : 80;
  if (port === 0 || Number(url.port || standard) !== port) return false;
  const name = url.hostname.replaceAll(/[[\]]/g, '');
  return name === host || (LOOPBACKS.has(name) && (LOOPBACKS.has(host) || WILDCARDS.has(host)));
}

interface NamedFile {
  readonly setting: Setting<unknown>;
  readonly path: string;
}

/** A file that one part writes must not be written or read by another; `resolve` tells which paths are the same. */
function sharedFiles(settings: Settings, resolve: (path: string) => string): readonly string[] {
  const filesOf = (...list: readonly Setting<string | undefined>[]): readonly NamedFile[] =>
    list.flatMap((setting) => {
      const path = settings.get(setting);
      return path === undefined ? [] : [{ setting, path }];
    });
  const address = settings.get(table.store);
  const ofStore = (path: string | undefined): readonly NamedFile[] =>
    path === undefined ? [] : [{ setting: table.store, path }];
  const log = filesOf(table.logFile).filter(({ path }) => path !== 'off');
  const written = [...log, ...ofStore(modesFile(address)), ...filesOf(table.clientNames)];
  const read = [
    ...filesOf(
      table.rules,
      table.v2Openapi,
      table.tlsCert,
      table.tlsKey,
      table.upstreamCa,
      table.upstreamCert,
      table.upstreamKey,
    ),
    ...ofStore(address.kind === 'redis' ? address.ca : undefined),
  ];
  return written.flatMap((one, index) =>
    [...written.slice(index + 1), ...read]
      .filter((other) => resolve(one.path) === resolve(other.path))
      .map((other) => sharedFile(settings, one, other)),
  );
}

function sharedFile(settings: Settings, one: NamedFile, other: NamedFile): string {
  const [first, second] = [one, other].map(({ setting }) => settings.nameOf(setting));
  return one.path === other.path
    ? `${first} and ${second} are both ${one.path}; name two different files.`
    : `${first} (${one.path}) and ${second} (${other.path}) are the same file; name two different files.`;
}

function unusedTls(settings: Settings): readonly string[] {
  const origins = [settings.get(table.upstream), settings.get(table.v1Upstream)];
  if (origins.some((origin) => origin?.origin.startsWith('https:') === true)) return [];
  return [table.upstreamCa, table.upstreamCert, table.upstreamKey, table.upstreamSni]
    .filter((setting) => settings.get(setting) !== undefined)
    .map(
      (setting) =>
        `${settings.nameOf(setting)} is for TLS, but no upstream is an https address; set an https address, or unset it.`,
    );
}

function store(settings: Settings): readonly string[] {
  const address = settings.get(table.store);
  const faults: string[] = [];
  if (address.kind !== 'redis' && settings.get(table.storePassword) !== undefined)
    faults.push(
      `${settings.nameOf(table.storePassword)} is for a Redis store; set one, or unset the password.`,
    );
  // A server with an open default user would silently treat the gateway as that user.
  if (address.kind === 'redis' && hasUser(address.url) && settings.get(table.storePassword) === undefined)
    faults.push(
      `${settings.nameOf(table.store)} names a user, but ${settings.nameOf(table.storePassword)} is unset, and no user can log in without a password. Set it, even for a user that accepts any password, or remove the user.`,
    );
  return faults;
}

function hasUser(url: string): boolean {
  return URL.parse(url)?.username !== '';
}

/** The PROXY header is only read from trusted proxies. */
function unusedProxyProtocol(settings: Settings): readonly string[] {
  if (!settings.get(table.proxyProtocol) || settings.get(table.trustedProxies).length > 0) return [];
  return [
    `${settings.nameOf(table.proxyProtocol)} is on, but ${settings.nameOf(table.trustedProxies)} names no proxy; name the load balancers that send it.`,
  ];
}
