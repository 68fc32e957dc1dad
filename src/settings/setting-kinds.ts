import { type AddressRange, readRange } from '../http/forwarding.ts';
import { isFieldName } from '../http/header-list.ts';
import { isHost } from '../http/request-head.ts';
import { DEFAULT_PREFIXES, percentDecoded, readTarget } from '../http/target.ts';

/** Parser for the text of a setting; a fault is a sentence that ends "…, such as x". */
export interface SettingKind<Value> {
  /** Placeholder of the value in `--help`, such as `<ms>`. */
  readonly placeholder: string;
  /** Unit for tables; empty without one. */
  readonly unit: string;
  readonly read: (text: string) => { readonly value: Value } | { readonly fault: string };
}

/** Address of a listener; port 0 is any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** The origin of a service: the only destination of requests. */
export interface OriginSetting {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Prefix of every target, without a trailing slash; usually empty. */
  readonly path: string;
  /** Unix socket used instead of host and port. */
  readonly socketPath?: string | undefined;
  /** False for a service that ends TLS without `close_notify`, which RFC 8446 §6.1 demands; true by default. */
  readonly sendsCloseNotify?: boolean;
}

/** The place that replicas share. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  | RedisAddress;

/** A Redis or Valkey server, and what is kept there and beside it. */
interface RedisAddress {
  readonly kind: 'redis';
  /** `redis:` or `rediss:` (TLS) with host, port and number of the database. */
  readonly url: string;
  /** Prefix of the keys: gateways with the same one are replicas of each other. */
  readonly prefix: string;
  /** PEM file of the authorities for the server's certificate; undefined: those of the system. */
  readonly ca: string | undefined;
  /** File that keeps a copy of the modes, for a start without the server. */
  readonly copy: string | undefined;
}

/** Returns the file of modes on this machine: the store itself, or its copy. */
export function modesFile(address: StoreAddress): string | undefined {
  if (address.kind === 'memory') return undefined;
  return address.kind === 'file' ? address.path : address.copy;
}

/** Text, such as a path or a name. */
export const text: SettingKind<string> = {
  placeholder: '<text>',
  unit: '',
  read: (input) => (input === '' ? { fault: 'must not be empty' } : { value: input }),
};

/** A file system path. */
export const file: SettingKind<string> = {
  ...text,
  placeholder: '<file>',
};

/** A file for lines, or `off` for none. A file of that name is `./off`. */
export const logTarget: SettingKind<string> = {
  ...file,
  placeholder: '<file|off>',
};

/** How a client gets its own report. */
export interface SelfServiceSetting {
  /** Below V1's prefix, read the same way by every parser, without a query; undefined if no client gets it. */
  readonly path: string | undefined;
  /** True when responses to V1 clients point to it. */
  readonly isLinked: boolean;
}

/** `off`; `on` or `link`, each optionally with another path after a colon. */
export const selfService: SettingKind<SelfServiceSetting> = {
  placeholder: '<off|on|link>',
  unit: '',
  read: (input) => {
    if (input === 'off') return { value: { path: undefined, isLinked: false } };
    const [, word, path = '/migration'] = /^(on|link)(?::(.*))?$/s.exec(input) ?? [];
    if (word === undefined)
      return {
        fault: 'must be off, on or link, or one of the last two with a path, such as on:/help',
      };
    const rest = path.startsWith(`${DEFAULT_PREFIXES.v1}/`) ? path.slice(DEFAULT_PREFIXES.v1.length) : path;
    return isPlainPath(rest)
      ? { value: { path: rest, isLinked: word === 'link' } }
      : { fault: "must have a path below V1's prefix, such as on:/migration" };
  },
};

/** True for a path of at least one segment, without a prefix of the API. */
function isPlainPath(input: string): boolean {
  const target = readTarget(input, DEFAULT_PREFIXES);
  const isPath =
    target.fault === undefined &&
    target.version === undefined &&
    target.query === '' &&
    target.rest.length > 1;
  return isPath && !/[<>"]/.test(input);
}

/** A file, or an http or https address. */
export const description: SettingKind<string> = {
  ...text,
  placeholder: '<file|url>',
  read: (input) =>
    input === '-' ? { fault: 'must be a file or an address, such as openapi.json' } : text.read(input),
};

/** A whole number from 0. */
export const count: SettingKind<number> = {
  placeholder: '<n>',
  unit: '',
  read: (input) => wholeNumber(input, COUNT_LIMIT) ?? { fault: 'must be a whole number, such as 100' },
};

const COUNT_LIMIT = 9_999_999_999;

/** A whole number from 1. */
export const positive: SettingKind<number> = {
  ...count,
  read: (input) =>
    /^0*$/.test(input) ? { fault: 'must be a whole number from 1, such as 100' } : count.read(input),
};

/** A number of processes, or one for each core. */
export const processes: SettingKind<number | 'auto'> = {
  placeholder: '<n|auto>',
  unit: '',
  read: (input) => {
    if (input === 'auto') return { value: 'auto' };
    const number = Number(input);
    return /^\d+$/.test(input) && number > 0 && number <= PROCESS_LIMIT
      ? { value: number }
      : { fault: `must be auto, or a number from 1 to ${PROCESS_LIMIT}` };
  },
};

const PROCESS_LIMIT = 999;

/** A time in milliseconds; 0 is off. */
export const milliseconds: SettingKind<number> = {
  placeholder: '<ms>',
  unit: 'ms',
  read: (input) =>
    wholeNumber(input, TIMER_LIMIT_MS, ' ms') ?? {
      fault: 'must be a whole number of milliseconds, such as 5000',
    },
};

/** Timers count in 31 bits; a longer one would fire at once. */
const TIMER_LIMIT_MS = 2 ** 31 - 1;

/** A size in bytes, with or without a unit: `1048576`, `1048576B`, `1MiB`. */
export const bytes: SettingKind<number> = {
  placeholder: '<bytes>',
  unit: 'bytes',
  read: (input) => {
    const match = /^(\d+)(B|KiB|MiB|GiB)?$/.exec(input);
    const scale = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 }[match?.[2] ?? ''] ?? 1;
    return (
      wholeNumber(match?.[1] ?? '', Number.MAX_SAFE_INTEGER, ' bytes', scale) ?? {
        fault: 'must be a number of bytes, such as 1048576 or 1MiB',
      }
    );
  },
};

/** The name of the gateway in `Via`, a token (RFC 9110 §7.6.3); empty if there is none. */
export const pseudonym: SettingKind<string> = {
  placeholder: '<name|off>',
  unit: '',
  read: (input) => {
    if (input === 'off') return { value: '' };
    return isFieldName(input)
      ? { value: input }
      : { fault: 'must be off, or a name of letters, digits and hyphens, such as capture-gateway' };
  },
};

/** `on` or `off`. */
export const onOff: SettingKind<boolean> = {
  placeholder: '<on|off>',
  unit: '',
  read: (input) => {
    if (input === 'on' || input === 'true' || input === '1') return { value: true };
    if (input === 'off' || input === 'false' || input === '0') return { value: false };
    return { fault: 'must be on or off' };
  },
};

/** The host of a listener that can be reached at every address of the machine, with IPv6 and IPv4 as far as available. */
export const EVERYWHERE = '*';

/** The origin (RFC 6454) by which a program on this machine reaches a listener. */
export function reachableOrigin({ host, port }: ListenAddress, scheme = 'http'): string {
  const reachable = host === EVERYWHERE || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${scheme}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}

/** Host and port of a listener; `*:8080` and `:8080` are every address of the machine. */
export const address: SettingKind<ListenAddress> = {
  placeholder: '<host:port>',
  unit: '',
  read: (input) => {
    const match = /^(?:(\[[0-9a-fA-F:.]+\]|[\w.-]+|\*)?:)?(\d+)$/.exec(input);
    if (match === null)
      return {
        fault: 'must be a host and a port, such as 127.0.0.1:8080, [::1]:8080, or *:8080 for everywhere',
      };
    if (Number(match[2]) > 65_535) return { fault: 'must have a port of at most 65535' };
    const host = match[1] ?? (input.startsWith(':') ? EVERYWHERE : '127.0.0.1');
    return { value: { host: host.replaceAll(/[[\]]/g, ''), port: Number(match[2]) } };
  },
};

/**
 * An http or https address with an optional path, without user, query and fragment; or a Unix socket, as `unix:/run/puma.sock`,
 * or as `http+unix://%2Frun%2Fpuma.sock/path` with a path before every target.
 */
export const origin: SettingKind<OriginSetting> = {
  placeholder: '<url>',
  unit: '',
  read: (input) => {
    if (/^(?:http\+)?unix:/i.test(input)) return readUnixSocket(input);
    const url = URL.parse(input);
    if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
      return { fault: 'must be an http or https address, such as https://captur3d.io' };
    }
    if (url.hostname === 'unix' && url.port === '')
      return { fault: 'must name a Unix socket as unix:/run/puma.sock' };
    if (url.username !== '' || url.password !== '') return { fault: 'must not hold a user or a password' };
    if (url.hash !== '') return { fault: 'must not have a fragment' };
    if (url.search === '') return withPath({ origin: url.origin, path: url.pathname });
    if (url.search !== NO_CLOSE_NOTIFY || url.protocol !== 'https:')
      return { fault: `must not have a query, except ${NO_CLOSE_NOTIFY} of an https address` };
    return withPath({ origin: url.origin, path: url.pathname, sendsCloseNotify: false });
  },
};

/** Ends the address of a service that does not end TLS correctly. */
const NO_CLOSE_NOTIFY = '?close-notify=off';

/** Formats the address of a service as in its setting: for display, and for another process. */
export function originText({ origin: address, path, socketPath, sendsCloseNotify }: OriginSetting): string {
  if (socketPath === undefined) return address + path + (sendsCloseNotify === false ? NO_CLOSE_NOTIFY : '');
  return path === '' ? `unix:${socketPath}` : `http+unix://${encodeURIComponent(socketPath)}${path}`;
}

function readUnixSocket(input: string): ReturnType<SettingKind<OriginSetting>['read']> {
  const socket = /^unix:(?:\/\/)?(\/[^\0]+)$/i.exec(input)?.[1];
  if (socket !== undefined) return { value: { origin: 'http://localhost', path: '', socketPath: socket } };
  const [, authority = '', path = ''] = /^http\+unix:\/\/([^/?#]+)(\/[^?#]*)?$/i.exec(input) ?? [];
  const socketPath = percentDecoded(authority);
  return socketPath?.startsWith('/') === true
    ? withPath({ origin: 'http://localhost', path, socketPath })
    : { fault: 'must name a Unix socket as unix:/run/puma.sock or http+unix://%2Frun%2Fpuma.sock' };
}

function withPath(setting: OriginSetting): ReturnType<SettingKind<OriginSetting>['read']> {
  const path = setting.path.replace(/(?<!\/)\/+$/, '');
  if (/\/api\/v[12]$/.test(path))
    return { fault: 'must end before /api/v1 or /api/v2, which are in the target of each request' };
  return { value: { ...setting, path } };
}

/** A host name or address with an optional port, as in `Host`. */
export const host: SettingKind<string> = {
  placeholder: '<host>',
  unit: '',
  read: (input) =>
    isHost(input) && input !== '' ? { value: input } : { fault: 'must be a host, such as captur3d.io' },
};

/** Addresses and CIDR blocks, separated by commas. */
export const addressRanges: SettingKind<readonly AddressRange[]> = {
  placeholder: '<cidr,…>',
  unit: '',
  read: (input) => {
    const ranges: AddressRange[] = [];
    for (const part of input.split(',').filter((piece) => piece.trim() !== '')) {
      const range = readRange(part);
      if (range === undefined) return { fault: 'must be addresses or CIDR blocks, such as 10.0.0.0/8,::1' };
      ranges.push(range);
    }
    return { value: ranges };
  },
};

/**
 * `memory`, `file:` and a path, or the address of a Redis or Valkey server, without a password; its query may name the prefix of its
 * keys, its authorities and a file for a copy.
 */
export const store: SettingKind<StoreAddress> = {
  placeholder: '<memory|file:path|redis://host>',
  unit: '',
  read: (input) => {
    if (input === 'memory') return { value: { kind: 'memory' } };
    const path = pathOfFileStore(input);
    if (path !== undefined) return { value: { kind: 'file', path } };
    const url = URL.parse(input);
    if (url === null || !/^rediss?:$/.test(url.protocol) || url.hostname === '')
      return { fault: 'must be memory, file: and a path, or an address such as redis://redis.internal:6379' };
    if (url.password !== '')
      return { fault: 'must not hold the password; put it into GATEWAY_STORE_PASSWORD_FILE' };
    if (!/^(?:\/\d{0,3})?$/.test(url.pathname) || url.hash !== '')
      return {
        fault:
          'may only have the number of a database as its path, 0 to 999, such as redis://redis.internal:6379/0',
      };
    return readStoreQuery(url, input);
  },
};

/** The path of a store in a file; undefined for any other store. */
export function pathOfFileStore(input: string): string | undefined {
  return /^file:(?:\/\/(?=\/))?(.+)$/s.exec(input)?.[1];
}

/** Prefix of the keys in a Redis store that names none. */
const KEY_PREFIX = 'capture-gateway';

function readStoreQuery(url: URL, input: string): ReturnType<SettingKind<StoreAddress>['read']> {
  const texts: Partial<Record<string, string>> = {};
  for (const [name, value] of url.searchParams) {
    if (!/^(?:prefix|ca|copy)$/.test(name) || value === '' || texts[name] !== undefined)
      return {
        fault: 'may only have prefix=NAME, ca=FILE and copy=FILE after its question mark, each once',
      };
    texts[name] = value;
  }
  const { prefix = KEY_PREFIX, ca, copy } = texts;
  if (!/^[\w.-]{1,100}$/.test(prefix))
    return { fault: 'must have a prefix of at most 100 letters, digits, dots, dashes and underscores' };
  if (ca !== undefined && url.protocol !== 'rediss:')
    return { fault: 'has authorities (ca) for TLS, but is not a rediss address' };
  return { value: { kind: 'redis', url: input.split('?', 1)[0] ?? '', prefix, ca, copy } };
}

/** Words separated by commas. */
export const names: SettingKind<readonly string[]> = {
  placeholder: '<name,…>',
  unit: '',
  read: (input) => ({
    value: input
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  }),
};

/** One of a few words. */
export function choice<const Word extends string>(...words: readonly Word[]): SettingKind<Word> {
  return {
    placeholder: `<${words.join('|')}>`,
    unit: '',
    read: (input) => {
      const word = words.find((candidate) => candidate === input);
      return word === undefined ? { fault: `must be one of ${words.join(', ')}` } : { value: word };
    },
  };
}

/** Reads digits, times `scale`; undefined for any other text, and a fault beyond the limit. */
function wholeNumber(
  input: string,
  most: number,
  unit = '',
  scale = 1,
): ReturnType<SettingKind<number>['read']> | undefined {
  if (!/^\d+$/.test(input)) return undefined;
  const value = Number(input) * scale;
  return value <= most ? { value } : { fault: `must be at most ${most}${unit}` };
}
