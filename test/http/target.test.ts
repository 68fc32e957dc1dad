import { describe, expect, test } from 'vitest';
import {
  DEFAULT_PREFIXES,
  originForm,
  Prefixes,
  readTarget as readWith,
  type Target,
  valuesInQuery,
  withValueInQuery,
} from '../../src/http/target.ts';
import { words } from '../support/rows.ts';

const readTarget = (raw: string, prefixes = DEFAULT_PREFIXES) => readWith(raw, prefixes);

/** Each target with the attack that it is. */
const REFUSED: readonly (readonly [target: string, attack: string])[] = [
  ['http://evil.example/api/v1/clients', 'absolute form names another origin'],
  ['//evil.example/api/v1/clients', 'a network path names another origin where a URL is resolved'],
  ['@evil.example/api/v1', 'the part before an @ is user information once an origin is put in front'],
  ['.evil.example/api/v1', 'an origin put in front becomes another host'],
  [':81/api/v1', 'an origin put in front gets another port'],
  ['evil.example:443', 'authority form requests a tunnel'],
  ['', 'nothing at all'],
  ['*', 'the server itself, which only OPTIONS may ask about'],
  ['/api/v1/../v2/x', 'a dot segment leaves the prefix that was judged'],
  ['/api/v1/..', 'a last dot segment leaves the prefix'],
  ['/./api/v1/clients', 'a router that resolves it sees a prefix that the bytes do not have'],
  ['/api/v1/%2e%2e/v2/x', 'an encoded dot segment is one for every URL parser'],
  ['/api/v1/.%2E/v2/x', 'a half encoded dot segment is one too'],
  ['/api/v1/%2e/x', 'an encoded single dot is dropped'],
  ['/api/v1%2fclients', 'an encoded slash is a slash for some servers'],
  ['/api/v1/x%2F..%2Fv2', 'encoded slashes hide dot segments'],
  ['/api/v1/..%5c..%5cx', 'an encoded backslash is a slash for some servers'],
  ['/api/v1\\..\\x', 'a backslash is a slash for URL parsers'],
  ['/api/v1/..;/x', 'servers that drop path parameters see a dot segment'],
  ['/api/v1;a=b/x', 'servers that drop path parameters see another prefix'],
  ['/api%2Fv1/clients', 'an encoded slash makes a prefix for some servers'],
  ['/api//v1/clients', 'servers that merge slashes see a prefix'],
  ['/api/v1/a%2F..', 'an encoded slash hides a dot segment'],
  ['/api/v1/x/%2e%2e%2fx', 'a dot segment in front of an encoded slash'],
  ['/api/v1/%2e%2e%3bx/y', 'a dot segment in front of an encoded semicolon'],
  ['/api/v1/.;a/x', 'a single dot with a parameter is dropped'],
  ['/api/v1/%00', 'NUL ends the path for readers written in C'],
  ['/api/v1/%0d%0aX:1', 'encoded line ends become headers where a path is decoded and written'],
  ['/api/v1/%252e%252e/x', 'a reader that decodes twice sees a dot segment'],
  ['/api/v1/%c0%ae%c0%ae/x', 'an overlong encoding is a dot for lenient decoders of UTF-8'],
  ['/api/v1/%25252e%25252E/x', 'a reader that decodes three times sees a dot segment'],
  ['/api/v1/%25%32%65%252e/x', 'the digits of a percent-encoded dot are encoded too'],
  ['/api/v1/..%252fx', 'a slash that is encoded twice ends a dot segment'],
  ['/api/v1/..%255cx', 'a backslash that is encoded twice ends a dot segment'],
  ['/api/v1/..%253bx', 'a semicolon that is encoded twice ends a dot segment'],
  ['/api/v1/%25c0%25ae/x', 'an overlong dot is encoded twice'],
  ['/api%252Fv1/clients', 'a slash that is encoded twice makes a prefix'],
  ['/api/v1/%C0%AFx', 'an overlong slash'],
  ['/api/v1/%c1%9cx', 'an overlong backslash'],
  ['/api/v1/%E0%80%AE', 'a dot in three bytes'],
  ['/api/v1/%e0%81%9c', 'a backslash in three bytes'],
  ['/api/v1/%F0%80%80%AF', 'a slash in four bytes'],
  ['/api/v1/%fc%80%80%80%80%ae', 'a dot in six bytes'],
  [`/api/v1/%252%256${'%253'.repeat(20)}%35`, 'digits that are encoded in one another, without an end'],
  ['/api/v1/100%', 'a lone percent sign has no one reading'],
  ['/api/v1/%zz', 'a percent sign without digits has no one reading'],
  ['/api/v1/x#/../..', 'a fragment is cut by one reader and kept by the other'],
  [
    '/api/\u00e9/v1/x',
    'under neither prefix, bytes beyond ASCII are encoded by one reader and refused by the other',
  ],
  ['/api/v1#x', 'a fragment hides where the prefix ends'],
  ['/api/v1#/x', 'a fragment hides that the path is the prefix'],
  ['/api/v1/\u00e9 ', 'a space behind a byte beyond ASCII'],
  ['/api/v1/\u00e9/%2e%2e', 'a dot segment behind a byte beyond ASCII'],
  ['/api/v1/a b', 'a space ends the target for a lenient parser'],
  ['/api/v1/\u0000', 'a raw NUL'],
];

describe('a target that two readers could read differently', () => {
  test.each(REFUSED)('%s: %s', (target) => {
    expect(readTarget(target).fault).toBeTypeOf('string');
  });
});

test.each(['/api/v1/\u00e9', '/api/v2/x?q=\u00c3\u00a9', '/api/v1/x#y', '/api/v2/x?y#z'])(
  '%s is odd, but under a prefix',
  (target) => {
    expect(readTarget(target)).toMatchObject({ raw: target, oddity: expect.stringMatching(/fragment/) });
  },
);

describe('a target that all readers read in the same way', () => {
  test.each([
    ['/api/v1/clients', 'v1', '/clients', ''],
    ['/api/v1', 'v1', '', ''],
    ['/api/v1/', 'v1', '/', ''],
    ['/api/v2/x?y=/../%2e%2e//;\\&z', 'v2', '/x', '?y=/../%2e%2e//;\\&z'],
    ['/api/v2/x?', 'v2', '/x', '?'],
    ['/api/v1?data=1', 'v1', '', '?data=1'],
    ['/api/v1/a%20b/%7Ec.json', 'v1', '/a%20b/%7Ec.json', ''],
    ['/api/v1/a%2Fb', 'v1', '/a%2Fb', ''],
    ['/api/v1/a;v=1', 'v1', '/a;v=1', ''],
    ['/api/v1/a//b', 'v1', '/a//b', ''],
    ['/api/v1//clients', 'v1', '//clients', ''],
    ['/api/v2/x%3by/z', 'v2', '/x%3by/z', ''],
    ['/api/v1/a%2f.b/c..;x/..d', 'v1', '/a%2f.b/c..;x/..d', ''],
    ['/api/v1/M%FCller', 'v1', '/M%FCller', ''],
    ['/api/v1/%C0ngel', 'v1', '/%C0ngel', ''],
    ['/api/v1/%C1%E9', 'v1', '/%C1%E9', ''],
    ['/api/v2/%F5%FF%FE', 'v2', '/%F5%FF%FE', ''],
    ['/api/v1/%83e%83X%83g', 'v1', '/%83e%83X%83g', ''],
    ['/api/v1/%e0%a4%85', 'v1', '/%e0%a4%85', ''],
    ['/api/v1/%C0%80', 'v1', '/%C0%80', ''],
    ['/api/v1/50%25', 'v1', '/50%25', ''],
    ['/api/v1/50%2525', 'v1', '/50%2525', ''],
    ['/api/v1/50%25252525ff', 'v1', '/50%25252525ff', ''],
    ['/api/v1/a%252Fb', 'v1', '/a%252Fb', ''],
    ['/api/v1/a%255Cb', 'v1', '/a%255Cb', ''],
    ['/api/v2/v1%252e5', 'v2', '/v1%252e5', ''],
    ['/api/v1/%EF%BC%8E%EF%BC%8E', 'v1', '/%EF%BC%8E%EF%BC%8E', ''],
    ['/api/v1/a.b/..c/.d', 'v1', '/a.b/..c/.d', ''],
    ['/api/v2/"<>{}|^`/@x', 'v2', '/"<>{}|^`/@x', ''],
  ])('%s', (target, version, rest, query) => {
    expect(readTarget(target)).toEqual({ fault: undefined, raw: target, version, rest, query });
  });

  test.each(['/', '/api', '/api/v10/x', '/api/v3', '/API/v1/x', '/api/V1/x', '/%61pi/v1/x', '/x/api/v1'])(
    '%s is under neither prefix',
    (target) => {
      expect(readTarget(target)).toMatchObject({ fault: undefined, version: undefined });
    },
  );
});

describe('the absolute form', () => {
  const at = (target: string, { method = 'GET', version = '1.1', host = 'g.example:81' } = {}) =>
    originForm(target, { method, version, host });

  test.each([
    ['http://g.example:81/api/v1/x?y#z', '/api/v1/x?y#z'],
    ['HTTPS://g.example:81/api//..', '/api//..'],
    ['http://g.example:81', '/'],
    ['http://g.example:81?q', '/?q'],
  ])('%s is %s where its authority is Host', (target, origin) => {
    expect(at(target)).toBe(origin);
    expect(at(target, { version: '1.0' })).toBe(origin);
  });

  test('of OPTIONS without a path, it asks about the server', () => {
    expect(at('http://g.example:81', { method: 'OPTIONS' })).toBe('*');
    expect(at('http://g.example:81/', { method: 'OPTIONS' })).toBe('/');
  });

  test.each(words`
    http://G.example:81/x http://g.example/x http://g.example:810/x http://g.example:81.evil/x
    http://user@g.example:81/x http://g.example:81@evil/x http://g.example:81\x
    http://g.example:81#x ftp://g.example:81/x http:/g.example:81/x http:///x g.example:81 *
  `)('%s stays unchanged, and is refused', (target) => {
    expect(at(target)).toBe(target);
    expect(readTarget(target).fault).toBeTypeOf('string');
  });

  test('is refused without Host, and over HTTP/2', () => {
    const target = 'http://g.example:81/x';
    expect(originForm(target, { method: 'GET', version: '1.1', host: undefined })).toBe(target);
    expect(at(target, { version: '2' })).toBe(target);
  });
});

// Attack: parameters behind `/api`, and a run of encoded slashes that can be a part of them, or slashes. In quadratic time this test does not end.
test.each([
  ['/api;', '%2f'],
  ['/api%3B', '%2F%2f'],
  ['/api;', '%2f/'],
  ['/api', '%2f'],
  ['', '%2f'],
  ['', '/a;'],
  ['/api/v1', '?'],
  ['/api/v1?', '%'],
  ['/api/v1/', '%'],
  ['/api/v1/', '.%2e'],
  ['/api/v1', '/;'],
])('a target of %s and a quarter of a million of %s is read in one pass', (start, separator) => {
  for (const end of ['', '/v1', '#']) {
    const target = readTarget(`/${start.slice(1)}${separator.repeat(250_000)}${end}`);
    expect(target.fault === undefined || target.fault.length < 100).toBe(true);
  }
});

test.each([
  ['/api;a%2fv1', true],
  ['/api;a%2f%2Fv1/x', true],
  ['/api;%2f/%2fv2;x', true],
  ['/api;a/%2fv1%3b', true],
  ['/api%3Ba%2fb%2fv1', true],
  ['/api;a/b/v1', false],
  ['/api;a/b%2fv1', false],
  ['/api;v1', false],
  ['/api;%2fv1x', false],
])('%s is under another prefix for a server that drops parameters: %s', (path, isOther) => {
  expect(readTarget(path).fault !== undefined).toBe(isOther);
});

describe('prefixes of a rule book', () => {
  const nested = new Prefixes('/api', '/api/v2');
  const shared = new Prefixes('/shop/api', '/shop/api');
  const rooted = new Prefixes('', '/v2');
  const below = new Prefixes('/v1', '');
  const several = new Prefixes('/v1', '/api', ['/api', '/api/v1']);

  test.each<[string, Prefixes, Target['version'], string]>([
    ['/api/bills', nested, 'v1', '/bills'],
    ['/api/v2/bills?x', nested, 'v2', '/bills'],
    ['/api/v2', nested, 'v2', ''],
    ['/api?x', nested, 'v1', ''],
    ['/api/v20/bills', nested, 'v1', '/v20/bills'],
    ['/apiary', nested, undefined, '/apiary'],
    ['/shop/api/x', shared, 'v1', '/x'],
    ['/shop/ap/x', shared, undefined, '/shop/ap/x'],
    ['/', rooted, 'v1', '/'],
    ['/?x', rooted, 'v1', '/'],
    ['/contacts', rooted, 'v1', '/contacts'],
    ['/v2', rooted, 'v2', ''],
    ['/v2/x', rooted, 'v2', '/x'],
    ['/v20', rooted, 'v1', '/v20'],
    ['/x;a/v2', rooted, 'v1', '/x;a/v2'],
    ['/x//v2', rooted, 'v1', '/x//v2'],
    ['/caf%C3%A9', rooted, 'v1', '/caf%C3%A9'],
    ['/v1', below, 'v1', ''],
    ['/v1/x', below, 'v1', '/x'],
    ['/v10/x', below, 'v2', '/v10/x'],
    ['/', below, 'v2', '/'],
    ['/v1/x', several, 'v1', '/x'],
    ['/api/v1/x', several, 'v1', '/x'],
    ['/api/v2/x', several, 'v1', '/v2/x'],
    ['/other', several, undefined, '/other'],
  ])('%s', (raw, prefixes, version, rest) => {
    expect(readTarget(raw, prefixes)).toMatchObject({ version, rest });
  });

  test.each(['/api//v2/x', '/api/%2Fv2/x', '/api;a/v2', '/api%2fv2', '/api/;a/v2/x'])(
    '%s is V2 for some servers and V1 for the gateway',
    (raw) => {
      expect(readTarget(raw, nested).fault).toContain('another prefix');
    },
  );

  test.each([
    ...['//x', '//v2/x', '///', '/%2Fv2/x', '/v2;a/x', '/v2%2fx', '/%762/x', '/v%32', '/;a/v2/x'].map(
      (raw) => [raw, rooted] as const,
    ),
    ...['/v1;a/x', '//v1/x', '/v1%2Fx', '/%76%31/x', '/;a/v1', '/v%2531/x'].map(
      (raw) => [raw, below] as const,
    ),
    ...['/api//v1/x', '/api/v%31/x', '/api/v1;a'].map((raw) => [raw, several] as const),
    ...['/api/%762/x', '/api/v%2532'].map((raw) => [raw, nested] as const),
  ])('%s is under another prefix for some servers', (raw, prefixes) => {
    expect(readTarget(raw, prefixes).fault).toContain('another prefix');
  });

  test('V2 may have one of several, and either the root', () => {
    expect([several, new Prefixes('', ''), rooted].map(({ isShared }) => isShared)).toEqual([
      true,
      true,
      false,
    ]);
    expect([rooted, below, several, nested].map(({ hasRoot }) => hasRoot)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });

  test.each(['/api/bills;a/v2', '/api/x//v2', '/api/v2//v2'])('%s is under one prefix for all', (raw) => {
    expect(readTarget(raw, nested).fault).toBeUndefined();
  });
});

describe('the values of a parameter', () => {
  test.each([
    ['', []],
    ['?', []],
    ['?v', ['']],
    ['?v=1&w=2&v=%31', ['1']],
    ['?v=1&v=2', ['1', '2']],
    ['?V=1&vv=2', []],
  ])('%s: %j', (query, values) => {
    expect(valuesInQuery(query, 'v')).toEqual(values);
  });

  test.each([
    ['', '2', '?v=2'],
    ['?', '2', '?v=2'],
    ['?a=%2f&v=1&b', '2', '?a=%2f&v=2&b'],
    ['?v=1&a&v=1', 'x y', '?v=x%20y&a'],
    ['?v', '2', '?v=2'],
    ['?a&v=1', undefined, '?a'],
    ['?v=1', undefined, ''],
    ['?a=%2f', undefined, '?a=%2f'],
  ])('%s with %s is %s', (query, value, expected) => {
    expect(withValueInQuery(query, 'v', value)).toBe(expected);
  });
});
