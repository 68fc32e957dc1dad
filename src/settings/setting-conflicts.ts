import {
  connectionDrainTime,
  type MemoryShares,
  memoryShares,
  REWRITING_COPIES,
  type Settings,
  workerDrainTime,
} from './read-settings.ts';
import type { ListenAddress, OriginSetting } from './setting-kinds.ts';
import { type Setting, settings as table } from './settings.ts';

/** Minimum characters of a secret. */
const MIN_SECRET_CHARACTERS = 16;

/** Finds what is wrong with settings that are valid alone; each fault is a sentence with their names and the remedy. */
type ConflictCheck = (
  settings: Settings,
  /** Defaults of memory settings that are unset. */
  shares: MemoryShares,
  /** Gives all paths of a file the same text. */
  resolve: (path: string) => string,
) => readonly string[];

/** Finds conflicts of the settings that have an effect on every runtime. */
export function settingConflicts(
  settings: Settings,
  shares: MemoryShares = memoryShares(),
): readonly string[] {
  return CONFLICTS.flatMap((check) => check(settings, shares, (path) => path));
}

/** The checks of `settingConflicts`, each of one matter. */
const CONFLICTS: readonly ConflictCheck[] = [shortSecrets, bodyLimit, breakerThatNeverOpens];

function shortSecrets(settings: Settings): readonly string[] {
  return GUESSABLE.flatMap(
    (setting) => shortSecretOf(setting, settings.get(setting), settings.nameOf(setting)) ?? [],
  );
}

/** Secrets that someone could guess; the password of a store is what its server wants. */
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

function bodyLimit(settings: Settings, shares: MemoryShares): readonly string[] {
  const body = settings.get(table.bodyLimit);
  const buffer = settings.get(table.bufferBytes) ?? shares.bufferBytes;
  if (body === undefined || body * REWRITING_COPIES <= buffer) return [];
  return [
    `${named(settings, table.bodyLimit, body, ' bytes')} is more than ${named(settings, table.bufferBytes, buffer, ' bytes')} can hold as received and as rewritten: such a body would always get 503. Lower the first, or raise the second to at least ${body * REWRITING_COPIES}.`,
  ];
}

function breakerThatNeverOpens(settings: Settings): readonly string[] {
  if (!settings.get(table.breaker) || settings.get(table.breakerFailures) > 0) return [];
  return [
    `${settings.nameOf(table.breaker)} is on, and ${settings.nameOf(table.breakerFailures)} is 0, which no number of failures reaches; set the first to off, or the second to at least 1.`,
  ];
}

/** Formats a setting with its value. */
function named(settings: Settings, setting: Setting<unknown>, value: number, unit: string): string {
  return `${settings.nameOf(setting)} (${value}${unit})`;
}

/**
 * Finds settings of a gateway on Node that are valid alone but conflict with each other; each fault is a sentence with their names
 * and the remedy. `resolve` gives all paths of a file the same text.
 */
export function nodeConflicts(
  settings: Settings,
  shares: MemoryShares = memoryShares(),
  resolve: (path: string) => string = (path) => path,
): readonly string[] {
  return NODE_CONFLICTS.flatMap((check) => check(settings, shares, resolve));
}

/** The checks of `nodeConflicts`, each of one matter. */
export const NODE_CONFLICTS: readonly ConflictCheck[] = [
  ...CONFLICTS,
  requestTimeout,
  drainDelay,
  capturedBody,
  sharedAddress,
  loops,
  (settings, _, resolve) => sharedFiles(settings, resolve),
  unusedTls,
  store,
  unusedProxyProtocol,
  unusedLink,
];

/** Node's server refuses a request timeout below the headers timeout, for it could not tell which one expired. */
function requestTimeout(settings: Settings): readonly string[] {
  const whole = settings.get(table.clientRequestTimeout);
  const head = settings.get(table.clientHeadersTimeout);
  if (whole === 0 || head <= whole) return [];
  return [
    `${named(settings, table.clientRequestTimeout, whole, ' ms')} is shorter than ${named(settings, table.clientHeadersTimeout, head, ' ms')}, which is a part of it; make it at least as long, or 0.`,
  ];
}

/** A delay beyond the drain time would be cut, and nothing in flight could finish. */
function drainDelay(settings: Settings): readonly string[] {
  const drain = settings.get(table.drain);
  const delay = settings.get(table.drainDelay);
  const limit = connectionDrainTime(settings.get(table.workers) === 1 ? drain : workerDrainTime(drain));
  if (delay <= limit) return [];
  return [
    `${named(settings, table.drainDelay, delay, ' ms')} does not fit into ${named(settings, table.drain, drain, ' ms')}, of which connections have ${Math.floor(limit)} ms; lower the first, or raise the second.`,
  ];
}

function capturedBody(settings: Settings, shares: MemoryShares): readonly string[] {
  const kept = settings.get(table.captureBodyLimit);
  const capture = settings.get(table.captureBytes) ?? shares.captureBytes;
  if (settings.get(table.capture) !== 'bodies' || kept <= capture) return [];
  return [
    `${named(settings, table.captureBodyLimit, kept, ' bytes')} is more than ${named(settings, table.captureBytes, capture, ' bytes')}: such a body would never be kept. Lower the first, or raise the second.`,
  ];
}

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
    return [`${settings.nameOf(setting)} is ${origin.origin}, where the gateway itself listens.`];
  });
}

const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);
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
  const stored: readonly NamedFile[] =
    address.kind === 'file' ? [{ setting: table.store, path: address.path }] : filesOf(table.rolloutFile);
  const written = [...filesOf(table.logFile), ...stored, ...filesOf(table.referenceDb, table.clientNames)];
  const read = filesOf(
    table.rules,
    table.v2Openapi,
    table.tlsCert,
    table.tlsKey,
    table.upstreamCa,
    table.upstreamCert,
    table.upstreamKey,
    table.storeCa,
  );
  return written.flatMap((one, index) =>
    [...written.slice(index + 1), ...read]
      .filter((other) => resolve(one.path) === resolve(other.path))
      .map((other) => sharedFile(settings, one, other)),
  );
}

function sharedFile(settings: Settings, one: NamedFile, other: NamedFile): string {
  const [first, second] = [one, other].map(({ setting }) => settings.nameOf(setting));
  return one.path === other.path
    ? `${first} and ${second} are both ${one.path}; give each a file of its own.`
    : `${first} (${one.path}) and ${second} (${other.path}) are the same file; give each a file of its own.`;
}

function unusedTls(settings: Settings): readonly string[] {
  const origins = [settings.get(table.upstream), settings.get(table.v1Upstream)];
  if (origins.some((origin) => origin?.origin.startsWith('https:') === true)) return [];
  return [table.upstreamCa, table.upstreamCert, table.upstreamKey, table.upstreamSni]
    .filter((setting) => settings.get(setting) !== undefined)
    .map(
      (setting) =>
        `${settings.nameOf(setting)} is for TLS, and no upstream is an https address; set an https address, or leave it out.`,
    );
}

function store(settings: Settings): readonly string[] {
  const address = settings.get(table.store);
  const isTls = address.kind === 'redis' && address.url.startsWith('rediss:');
  const faults: string[] = [];
  if (address.kind === 'file' && settings.get(table.rolloutFile) !== undefined)
    faults.push(
      `${settings.nameOf(table.store)} and ${settings.nameOf(table.rolloutFile)} both name a file for modes; leave the second out.`,
    );
  if (address.kind !== 'redis' && settings.get(table.storePassword) !== undefined)
    faults.push(`${settings.nameOf(table.storePassword)} is for a Redis store; set one, or leave it out.`);
  // A server with an open default user would take such a gateway for that one, without a word.
  if (address.kind === 'redis' && hasUser(address.url) && settings.get(table.storePassword) === undefined)
    faults.push(
      `${settings.nameOf(table.store)} names a user, and ${settings.nameOf(table.storePassword)} is unset: nobody logs in without a password. Set it, also for a user that any password lets in, or leave the user out.`,
    );
  if (!isTls && settings.get(table.storeCa) !== undefined)
    faults.push(
      `${settings.nameOf(table.storeCa)} is for TLS, and the store is no rediss address; leave it out.`,
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
    `${settings.nameOf(table.proxyProtocol)} is on, and ${settings.nameOf(table.trustedProxies)} names no proxy; name the load balancers that send it.`,
  ];
}

function unusedLink(settings: Settings): readonly string[] {
  if (!settings.get(table.selfServiceLink) || settings.get(table.selfService)) return [];
  return [
    `${settings.nameOf(table.selfServiceLink)} is on, and ${settings.nameOf(table.selfService)} is off: it would lead nowhere. Switch the second on, or the first off.`,
  ];
}
