import { describe, expect, test } from 'vitest';
import {
  captureOptions,
  drainDelay,
  readSettings,
  type Settings,
  type SettingSources,
  NODE_CONFLICTS,
} from '../../src/settings/read-settings.ts';
import { removedSettings } from '../../src/settings/setting-sentences.ts';
import { originText } from '../../src/settings/setting-kinds.ts';
import { allSettings, environmentName, settings as table } from '../../src/settings/settings.ts';
import { rows } from '../support/rows.ts';

function read(sources: Partial<SettingSources>): ReturnType<typeof readSettings> {
  return readSettings({ flags: {}, environment: {}, gone: removedSettings, readFile: () => '', ...sources });
}

function sound(sources: Partial<SettingSources>): Settings {
  const outcome = read(sources);
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.settings;
}

function nodeConflicts(given: Settings): readonly string[] {
  return NODE_CONFLICTS.flatMap((check) => check(given, (path) => path));
}

test('a flag overrides the environment, which overrides the default; an empty variable is not set', () => {
  const environment = { GATEWAY_MAX_IN_FLIGHT: '7', GATEWAY_DRAIN: '' };
  expect(sound({}).get(table.maxInFlight)).toBe(1000);
  expect(sound({ environment }).get(table.maxInFlight)).toBe(7);
  expect(sound({ environment }).get(table.drain)).toBe(25_000);
  expect(sound({ environment, flags: { 'max-in-flight': '8' } }).get(table.maxInFlight)).toBe(8);
});

test('a secret may stand in a file, without the line break that editors add, but not in both', () => {
  const readFile = (path: string): string => (path === '/s' ? 'a key of a file\n' : raise());
  expect(sound({ environment: { GATEWAY_CLIENT_SECRET_FILE: '/s' }, readFile }).get(table.clientSecret)).toBe(
    'a key of a file',
  );
  expect(read({ environment: { GATEWAY_CLIENT_SECRET_FILE: '/none' }, readFile })).toEqual({
    faults: ['GATEWAY_CLIENT_SECRET_FILE names a file that cannot be read: /none: ENOENT.'],
  });
  expect(
    read({ environment: { GATEWAY_CLIENT_SECRET_FILE: '/s', GATEWAY_CLIENT_SECRET: 'x' }, readFile }),
  ).toHaveProperty('faults');
});

test('every fault is found at once, and names setting, value and way out', () => {
  const outcome = read({
    flags: { listen: 'nowhere', 'buffer-bytes': '5 apples' },
    environment: {
      GATEWAY_UPSTREAM: 'https://u:p@h',
      GATEWAY_TRUSTED_PROXIES: '10.0.0.0/99',
      GATEWAY_MAX_INFLIGHT: '1',
    },
  });
  expect('faults' in outcome && outcome.faults.toSorted()).toEqual([
    '--buffer-bytes must be a number of bytes, such as 1048576 or 1MiB, not "5 apples".',
    '--listen must be a host and a port, such as 127.0.0.1:8080, [::1]:8080, or *:8080 for everywhere, not "nowhere".',
    'GATEWAY_MAX_INFLIGHT is not a setting; did you mean "GATEWAY_MAX_IN_FLIGHT"?',
    'GATEWAY_TRUSTED_PROXIES must be addresses or CIDR blocks, such as 10.0.0.0/8,::1, not "10.0.0.0/99".',
    'GATEWAY_UPSTREAM must not hold a user or a password, not "https://…@h".',
  ]);
});

const REDIS = { kind: 'redis', prefix: 'capture-gateway', ca: undefined, copy: undefined };

test.each([
  ['memory', { kind: 'memory' }],
  ['file:/var/lib/rollout.json', { kind: 'file', path: '/var/lib/rollout.json' }],
  ['file:///var/lib/rollout.json', { kind: 'file', path: '/var/lib/rollout.json' }],
  ['redis://r:6379/0', { ...REDIS, url: 'redis://r:6379/0' }],
  ['rediss://user@r', { ...REDIS, url: 'rediss://user@r' }],
  ['redis://r?prefix=shop', { ...REDIS, url: 'redis://r', prefix: 'shop' }],
  [
    'rediss://r/1?ca=%2Fetc%2Fca%201.pem&copy=modes.json',
    { ...REDIS, url: 'rediss://r/1', ca: '/etc/ca 1.pem', copy: 'modes.json' },
  ],
])('the store %s', (text, value) => {
  expect(sound({ flags: { store: text } }).get(table.store)).toEqual(value);
});

test.each(rows`
  redis → must be memory, file: and a path, or an address such as redis://redis.internal:6379, not "redis"
  redis://
    must be memory, file: and a path, or an address such as redis://redis.internal:6379, not "redis://"
  redis://:hunter2@r → must not hold the password; put it into GATEWAY_STORE_PASSWORD_FILE, not "redis://…@r"
  redis://r/name
    may only have the number of a database as its path, 0 to 999, such as redis://redis.internal:6379/0, not "redis://r/name"
  redis://r?ca=x → has authorities (ca) for TLS, but is not a rediss address, not "redis://r?ca=x"
  redis://r?name=x
    may only have prefix=NAME, ca=FILE and copy=FILE after its question mark, each once, not "redis://r?name=x"
  redis://r?prefix=x&prefix=y
    may only have prefix=NAME, ca=FILE and copy=FILE after its question mark, each once, not "redis://r?prefix=x&prefix=y"
`)('the store %s is refused, and no password is shown', (text, sentence) => {
  expect(read({ flags: { store: text } })).toEqual({ faults: [`--store ${sentence}.`] });
});

test('variables that Kubernetes sets for a Service called gateway are no fault', () => {
  const environment = {
    GATEWAY_SERVICE_HOST: '10.0.0.1',
    GATEWAY_SERVICE_PORT: '80',
    GATEWAY_SERVICE_PORT_HTTP: '80',
    GATEWAY_PORT: 'tcp://10.0.0.1:80',
    GATEWAY_PORT_80_TCP: 'tcp://10.0.0.1:80',
    GATEWAY_PORT_80_TCP_ADDR: '10.0.0.1',
  };
  expect(read({ environment })).toHaveProperty('settings');
});

test.each([
  ['unix:/run/puma.sock', '', '/run/puma.sock'],
  ['unix:///run/puma.sock', '', '/run/puma.sock'],
  ['http+unix://%2Frun%2Fpuma.sock', '', '/run/puma.sock'],
  ['http+unix://%2Frun%2Fpuma.sock/base/', '/base', '/run/puma.sock'],
])('the upstream %s is a Unix socket, for people and workers too', (text, path, socketPath) => {
  const value = sound({ flags: { upstream: text } }).get(table.upstream);
  expect(value).toEqual({ origin: 'http://localhost', path, socketPath });
  const written = value === undefined ? '' : originText(value);
  expect(sound({ flags: { upstream: written } }).get(table.upstream)).toEqual(value);
});

test.each([
  'http://unix:/run/puma.sock',
  'http://unix/run/puma.sock',
  'unix:run/puma.sock',
  'unix:',
  'http+unix://run/puma.sock',
  'http+unix://%2Frun%2Fpuma.sock/api/v2',
  'http+unix://%zz',
  'https+unix://%2Frun%2Fpuma.sock',
])('the upstream %s is neither a Unix socket nor a host called "unix"', (text) => {
  expect(read({ flags: { upstream: text } })).toHaveProperty('faults');
});

describe('values', () => {
  test.each([
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[::1]:0', { host: '::1', port: 0 }],
    [':8080', { host: '*', port: 8080 }],
    ['*:8080', { host: '*', port: 8080 }],
    ['8080', { host: '127.0.0.1', port: 8080 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
  ])('address %s', (text, value) => {
    expect(sound({ flags: { listen: text } }).get(table.listen)).toEqual(value);
  });

  test.each(['host', 'host:', 'host:99999', '::1:80', 'http://h:1', ''])('address %j is invalid', (text) => {
    expect(read({ flags: { listen: text } })).toHaveProperty('faults');
  });

  test.each([
    ['https://h', { origin: 'https://h', path: '' }],
    ['http://h:81/', { origin: 'http://h:81', path: '' }],
    ['https://h/a/b//', { origin: 'https://h', path: '/a/b' }],
    ['https://h?close-notify=off', { origin: 'https://h', path: '', sendsCloseNotify: false }],
    ['https://h:81/a/?close-notify=off', { origin: 'https://h:81', path: '/a', sendsCloseNotify: false }],
  ])('origin %s', (text, value) => {
    expect(sound({ flags: { upstream: text } }).get(table.upstream)).toEqual(value);
    // A worker is given the same.
    expect(sound({ flags: { upstream: originText(value) } }).get(table.upstream)).toEqual(value);
  });

  test.each([
    'h:81',
    'ftp://h',
    'https://h?x',
    'https://h#x',
    'https://',
    'http://h?close-notify=off',
    'https://h?close-notify=on',
    'https://h?close-notify=off&x=1',
    'https://h?close-notify=off#x',
  ])('origin %j is invalid', (text) => {
    expect(read({ flags: { upstream: text } })).toHaveProperty('faults');
  });

  test.each([
    ['0', 0],
    ['1KiB', 1024],
    ['3MiB', 3 * 1024 * 1024],
    ['1GiB', 1024 ** 3],
  ])('bytes %s', (text, value) => {
    expect(sound({ flags: { 'buffer-bytes': text } }).get(table.bufferBytes)).toBe(value);
  });
});

/** The environment that sets what these flags would. */
function variables(flags: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(flags).map(([name, text]) => [environmentName({ name }), text]));
}

function raise(): never {
  throw new Error('ENOENT');
}

test('a conflict names each setting as it was set: by a flag, a variable or the file of a secret', () => {
  const settings = sound({
    flags: { listen: ':9000' },
    environment: {
      GATEWAY_ADMIN_LISTEN: '9000',
      GATEWAY_ADMIN_TOKEN_FILE: '/s',
      GATEWAY_LISTEN: '1',
    },
    readFile: () => 'short',
  });
  expect(nodeConflicts(settings).toSorted()).toEqual([
    '--listen and GATEWAY_ADMIN_LISTEN are both on port 9000; give one of them another port.',
    'GATEWAY_ADMIN_TOKEN_FILE must have at least 16 characters.',
  ]);
});

describe('settings that contradict each other are faults like all others', () => {
  const SECRET = 'x'.repeat(16);
  test.each<[Record<string, string>, RegExp]>([
    [{ 'client-secret': 'short' }, /GATEWAY_CLIENT_SECRET must have at least 16 characters/],
    [{ 'admin-token': 'short' }, /GATEWAY_ADMIN_TOKEN must have at least 16 characters/],
    [{ upstream: 'http://v2', 'upstream-sni': 'v2' }, /UPSTREAM_SNI is for TLS, but no upstream is an https/],
    [{ listen: '127.0.0.1:9000', 'admin-listen': '127.0.0.1:9000' }, /are both 127\.0\.0\.1:9000/],
    [{ listen: '0.0.0.0:9000', 'admin-listen': '127.0.0.1:9000' }, /are both on port 9000/],
    [
      { upstream: 'http://localhost:8080' },
      /UPSTREAM is http:\/\/localhost:8080, where the gateway itself listens/,
    ],
    [
      { listen: '0.0.0.0:80', 'v1-upstream': 'http://127.0.0.1' },
      /V1_UPSTREAM is .*where the gateway itself/,
    ],
    [{ 'log-file': 'a', store: 'redis://r?copy=a' }, /LOG_FILE and GATEWAY_STORE are both a/],
    [{ 'log-file': 'a', store: 'rediss://r?ca=a' }, /LOG_FILE and GATEWAY_STORE are both a/],
    [{ 'store-password': 'x' }, /STORE_PASSWORD is for a Redis store/],
    [
      { store: 'redis://user@r' },
      /STORE names a user, but \S+STORE_PASSWORD is unset, and no user can log in without a password/,
    ],
    [{ 'log-file': 'config/rules.yaml' }, /LOG_FILE and GATEWAY_RULES are both/],
    [{ store: 'file:config/rules.yaml' }, /STORE and GATEWAY_RULES are both config\/rules\.yaml; name two/],
    [{ store: 'file:a', 'log-file': 'a' }, /LOG_FILE and GATEWAY_STORE are both a;/],
    [{ 'log-file': 'v2.json', 'v2-openapi': 'v2.json' }, /LOG_FILE and GATEWAY_V2_OPENAPI are both/],
    [{ 'client-names': 'config/rules.yaml' }, /CLIENT_NAMES and GATEWAY_RULES are both/],
    [{ 'proxy-protocol': 'on' }, /PROXY_PROTOCOL is on, but GATEWAY_TRUSTED_PROXIES names no proxy/],
    [
      { upstream: 'http://v2', 'upstream-ca': 'ca.pem' },
      /UPSTREAM_CA is for TLS, but no upstream is an https/,
    ],
  ])('%j', (flags, fault) => {
    expect(nodeConflicts(sound({ environment: variables(flags) }))).toEqual([expect.stringMatching(fault)]);
  });

  test.each<Record<string, string>>([
    { upstream: 'https://v2', 'upstream-sni': 'v2' },
    { 'log-file': 'off', rules: 'off' },
    { 'client-secret': SECRET, 'admin-token': SECRET },
    { listen: '127.0.0.1:0', 'admin-listen': '127.0.0.1:0' },
    { upstream: 'https://v2:8080', 'upstream-ca': 'ca.pem' },
    { store: 'rediss://user@r:6380/1?ca=ca.pem&copy=a&prefix=shop', 'store-password': 'x' },
    { store: 'file:a' },
    { listen: '10.0.0.1:8080', upstream: 'http://127.0.0.1:8080' },
  ])('%j is valid', (flags) => {
    expect(nodeConflicts(sound({ environment: variables(flags) }))).toEqual([]);
  });

  test.each(['max-in-flight', 'client-connections', 'upstream-connections'])('%s cannot be 0', (name) => {
    expect(read({ flags: { [name]: '0' } })).toEqual({
      faults: [`--${name} must be a whole number from 1, such as 100, not "0".`],
    });
  });

  test.each([
    ['max-in-flight', '9999999999', '99999999999', 'must be at most 9999999999'],
    ['drain', '2147483647', '99999999999', 'must be at most 2147483647 ms'],
    ['workers', '999', '1000', 'must be auto, or a number from 1 to 999'],
    ['listen', '127.0.0.1:65535', '127.0.0.1:65536', 'must have a port of at most 65535'],
    ['buffer-bytes', '8388607GiB', '8388608GiB', 'must be at most 9007199254740991 bytes'],
    ['store', 'redis://r/999', 'redis://r/1000', /as its path, 0 to 999, such as /],
    [
      'store',
      `redis://r?prefix=${'x'.repeat(100)}`,
      `redis://r?prefix=${'x'.repeat(101)}`,
      /must have a prefix of at most 100 letters/,
    ],
  ])('the limit of --%s is %s, and the fault of %s names it', (name, most, beyond, sentence) => {
    expect(read({ flags: { [name]: most } })).toHaveProperty('settings');
    expect(read({ flags: { [name]: beyond } })).toEqual({
      faults: [
        typeof sentence === 'string'
          ? `--${name} ${sentence}, not "${beyond}".`
          : expect.stringMatching(sentence),
      ],
    });
  });

  test('a size may have the units that the documentation names', () => {
    const size = (text: string): number | undefined =>
      sound({ flags: { 'buffer-bytes': text } }).get(table.bufferBytes);
    expect(['1048576', '1048576B', '1024KiB', '1MiB'].map((text) => size(text))).toEqual(
      Array.from({ length: 4 }, () => 1_048_576),
    );
    expect(size('1GiB')).toBe(2 ** 30);
  });

  test('a time beyond the range of timers is a fault, because it would expire at once', () => {
    expect(read({ flags: { drain: '2147483647' } })).toHaveProperty('settings');
    expect(read({ flags: { drain: '2147483648' } })).toHaveProperty('faults');
  });
});

test('there are at most 50 settings', () => {
  expect(allSettings.length).toBeLessThanOrEqual(50);
});

test.each([
  ['off', { path: undefined, isLinked: false }],
  ['on', { path: '/migration', isLinked: false }],
  ['link', { path: '/migration', isLinked: true }],
  ['link:/api/v1/my/move', { path: '/my/move', isLinked: true }],
])('self-service %s', (text, value) => {
  expect(sound({ flags: { 'self-service': text } }).get(table.selfService)).toEqual(value);
});

test.each(['yes', 'on:', 'on:/api/v2/x', 'on:/api/v1/', 'on:/api/v1/x?y', 'off:/api/v1/x'])(
  'self-service %s is refused',
  (text) => {
    expect(read({ flags: { 'self-service': text } })).toHaveProperty('faults');
  },
);

describe('a removed setting is a fault that names the replacement', () => {
  test.each(Object.entries(removedSettings))('%s', (name, wayOut) => {
    const variable = environmentName({ name });
    expect(read({ flags: { [name]: 'x' } })).toEqual({
      faults: [`--${name} is no longer a setting: ${wayOut}.`],
    });
    expect(read({ environment: { [variable]: 'x' } })).toEqual({
      faults: [`${variable} is no longer a setting: ${wayOut}.`],
    });
    // As a Compose file leaves it.
    expect(read({ environment: { [variable]: '' } })).toHaveProperty('settings');
    expect(allSettings.map((setting) => setting.name)).not.toContain(name);
  });
});

test('a body that is kept for the inspector takes at most a part of its memory', () => {
  const of = (flags: Record<string, string>): number =>
    captureOptions(sound({ flags }), { captureBytes: 64 * 2 ** 20 }).bodyLimit;
  expect(of({})).toBe(256 * 1024);
  expect(of({ 'capture-memory': '512MiB' })).toBe(2 * 2 ** 20);
});

test('most of a short drain time is left to the requests in flight', () => {
  expect(drainDelay(sound({}))).toBe(500);
  expect(drainDelay(sound({ flags: { drain: '1000' } }))).toBe(200);
  expect(drainDelay(sound({ flags: { drain: '0' } }))).toBe(0);
});
