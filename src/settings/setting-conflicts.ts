import type { Settings } from './read-settings.ts';
import { EVERYWHERE, type ListenAddress, modesFile, type OriginSetting } from './setting-kinds.ts';
import { type Setting, settings as table } from './settings.ts';

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

/** The checks of `settingConflicts`, each of one matter. */
const CONFLICTS: readonly ConflictCheck[] = [shortSecrets];

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

/**
 * Finds settings of a gateway on Node that are valid alone but conflict with each other; each fault is a sentence with their names
 * and the remedy. `resolve` gives all paths of a file the same text.
 */
export function nodeConflicts(
  settings: Settings,
  resolve: (path: string) => string = (path) => path,
): readonly string[] {
  return NODE_CONFLICTS.flatMap((check) => check(settings, resolve));
}

/** The checks of `nodeConflicts`, each of one matter. */
export const NODE_CONFLICTS: readonly ConflictCheck[] = [
  ...CONFLICTS,
  sharedAddress,
  loops,
  sharedFiles,
  unusedTls,
  store,
  unusedProxyProtocol,
];

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
  const faults: string[] = [];
  if (address.kind !== 'redis' && settings.get(table.storePassword) !== undefined)
    faults.push(`${settings.nameOf(table.storePassword)} is for a Redis store; set one, or leave it out.`);
  // A server with an open default user would take such a gateway for that one, without a word.
  if (address.kind === 'redis' && hasUser(address.url) && settings.get(table.storePassword) === undefined)
    faults.push(
      `${settings.nameOf(table.store)} names a user, and ${settings.nameOf(table.storePassword)} is unset: nobody logs in without a password. Set it, also for a user that any password lets in, or leave the user out.`,
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
