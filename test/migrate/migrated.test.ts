import { describe, expect, test } from 'vitest';
import { FieldNames } from '../../src/http/header-list.ts';
import {
  contentlessFields,
  decideResponse,
  hasLinks,
  KeptBody,
  RewrittenBody,
  rewriteLinks,
} from '../../src/migrate/migrated.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { type LinkRewriting, rewrittenLink } from '../../src/rewrite/links.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';
import { bookIn } from '../rules/reading.ts';
import { words } from '../support/rows.ts';

const PLACES: LinkRewriting = {
  upstreamHosts: ['captur3d.io'],
  upstreamPath: '',
  prefix: '/api/v2',
  clientPrefix: '/api/v1',
  gateway: 'https://gateway.example:8443',
};

test.each([
  ['https://captur3d.io/api/v2/clients/1', 'https://gateway.example:8443/api/v1/clients/1'],
  ['http://CAPTUR3D.io/api/v2/clients?a=%20#x', 'https://gateway.example:8443/api/v1/clients?a=%20#x'],
  ['https://captur3d.io:443/api/v2', 'https://gateway.example:8443/api/v1'],
  ['http://captur3d.io:80/api/v2/', 'https://gateway.example:8443/api/v1/'],
  ['//captur3d.io/api/v2/x', '//gateway.example:8443/api/v1/x'],
  ['/api/v2/x', '/api/v1/x'],
  // From an origin that gets the name by which the client addressed the gateway.
  ['https://gateway.example:8443/api/v2/x', 'https://gateway.example:8443/api/v1/x'],
  ['//Gateway.example:8443/api/v2/x', '//gateway.example:8443/api/v1/x'],
])('%s leads back: %s', (uri, expected) => {
  expect(rewrittenLink(uri, PLACES)).toBe(expected);
});

// Attack: a response that names another host, which the gateway would make its own by reading it loosely.
test.each([
  ...words`
    https://captur3d.io.evil.test/api/v2/x https://captur3d.io@evil.test/api/v2/x
    https://evil@captur3d.io/api/v2/x https://captur3d.io:8080/api/v2/x
    https://gateway.example/api/v2/x ftp://captur3d.io/api/v2/x https:/api/v2/x
    https://captur3d.io/api/v20/x https://captur3d.io/API/V2/x /x/api/v2/ api/v2/x
  `,
  '',
])('%s stays', (uri) => {
  expect(rewrittenLink(uri, PLACES)).toBe(uri);
});

test('an upstream below a path, and one whose host is not known', () => {
  const below = { ...PLACES, upstreamPath: '/base' };
  expect(rewrittenLink('https://captur3d.io/base/api/v2/x', below)).toBe(
    'https://gateway.example:8443/api/v1/x',
  );
  // V2 may not know of the path: the proxy before it takes it away.
  expect(rewrittenLink('/api/v2/x', below)).toBe('/api/v1/x');
  expect(rewrittenLink('https://captur3d.io/api/v2/x', below)).toBe('https://gateway.example:8443/api/v1/x');
  expect(rewrittenLink('/other/api/v2/x', below)).toBe('/other/api/v2/x');
  expect(rewrittenLink('https://elsewhere.test/api/v2/x', below)).toBe('https://elsewhere.test/api/v2/x');
  expect(rewrittenLink('https://captur3d.io/api/v2/x', { ...PLACES, upstreamHosts: [] })).toBe(
    'https://captur3d.io/api/v2/x',
  );
});

test.each([
  [['V2.Example'], 'gw.test', 'http://v2.example/api/v2/x'],
  [['V2.Example:80'], 'gw.test', 'https://v2.example/api/v2/x'],
  [['v2.example:443'], 'gw.test', '//V2.example/api/v2/x'],
  [['[::1]:80'], 'gw.test', 'http://[::1]/api/v2/x'],
  [['v2.example', '10.0.0.1:8090'], 'gw.test', 'http://10.0.0.1:8090/api/v2/x'],
  [['v2.example'], 'GW.test:80', 'http://gw.test/api/v2/x'],
  [['v2.example'], 'gw.test', 'http://gw.test:80/api/v2/x'],
])('hosts are compared without case and default port: of %j at %s, %s', (upstreamHosts, gateway, uri) => {
  const places = { ...PLACES, upstreamHosts, gateway: `http://${gateway}` };
  const scheme = uri.startsWith('//') ? '' : 'http:';
  expect(rewrittenLink(uri, places)).toBe(`${scheme}//${gateway}/api/v1/x`);
});

test('if V2’s origin is addressed under the same name, only its own host counts as V2’s', () => {
  const alike = { ...PLACES, gateway: 'same-origin' };
  expect(rewrittenLink('https://captur3d.io/api/v2/x', alike)).toBe('https://captur3d.io/api/v1/x');
  expect(rewrittenLink('https://same-origin/api/v2/x', alike)).toBe('https://same-origin/api/v2/x');
});

test('a client without Host gets a path', () => {
  expect(rewrittenLink('https://captur3d.io/api/v2/x', { ...PLACES, gateway: undefined })).toBe('/api/v1/x');
});

// A quote that nothing closes is no quoted string.
test.each([
  ['"<//captur3d.io/api/v2/a>', '"</api/v1/a>'],
  [String.raw`</api/v2/a>;x="\"<//captur3d.io/api/v2/b>;"y";z="</api/v2/c>`, undefined],
  [String.raw`</api/v2/a>;x="\" \\\"<//captur3d.io/api/v2/b>`, String.raw`</api/v1/a>;x="\" \\\"</api/v1/b>`],
])('targets in %s after an open quote are turned as well', (value, expected) => {
  const headers = ['Link', value];
  rewriteLinks(headers, { ...PLACES, gateway: undefined });
  expect(headers[1]).toBe(
    expected ?? String.raw`</api/v1/a>;x="\"<//captur3d.io/api/v2/b>;"y";z="</api/v1/c>`,
  );
});

describe('fields with an address', () => {
  test.each<[name: string, value: string, expected: string]>([
    ['Location', 'https://captur3d.io/api/v2/a', 'https://gateway.example:8443/api/v1/a'],
    ['Content-Location', '/api/v2/a', '/api/v1/a'],
    ['Operation-Location', 'https://captur3d.io/api/v2/jobs/1', 'https://gateway.example:8443/api/v1/jobs/1'],
    ['operation-location', '/api/v2/jobs/1?x=%20', '/api/v1/jobs/1?x=%20'],
    ['Azure-AsyncOperation', '/api/v2/jobs/1', '/api/v1/jobs/1'],
    ['X-Resource-Location', 'https://captur3d.io/api/v2/a', 'https://gateway.example:8443/api/v1/a'],
    ['X-Geo-Location', '52.5;13.4', '52.5;13.4'],
    ['SourceMap', '/api/v2/a.map', '/api/v1/a.map'],
    ['X-SourceMap', '/api/v2/a.map', '/api/v1/a.map'],
    ['Refresh', '5; url=/api/v2/a', '5; url=/api/v1/a'],
    ['Refresh', '0;URL="https://captur3d.io/api/v2/a"', '0;URL="https://gateway.example:8443/api/v1/a"'],
    ['Refresh', "1.5, url = '/api/v2/a?b=1'", "1.5, url = '/api/v1/a?b=1'"],
    ['Refresh', '5; /api/v2/a', '5; /api/v1/a'],
    ['Refresh', '5', '5'],
    ['Refresh', '5; url=https://elsewhere.test/api/v2/a', '5; url=https://elsewhere.test/api/v2/a'],
    [
      'Link-Template',
      '"/api/v2/a/{id}"; rel="item", "/api/v2/{b}"',
      '"/api/v1/a/{id}"; rel="item", "/api/v1/{b}"',
    ],
    [
      'WWW-Authenticate',
      'Digest realm="/api/v2/a", Bearer resource_metadata="https://captur3d.io/api/v2/meta"',
      'Digest realm="/api/v2/a", Bearer resource_metadata="https://gateway.example:8443/api/v1/meta"',
    ],
    ['X-Location', '/api/v2/a', '/api/v1/a'],
    ['X-Address', '/api/v2/a', '/api/v2/a'],
    ['Locations', '/api/v2/a', '/api/v2/a'],
  ])('%s: %s', (name, value, expected) => {
    const headers = ['Accept', '/api/v2/', name, value];
    rewriteLinks(headers, PLACES);
    expect(headers).toEqual(['Accept', '/api/v2/', name, expected]);
    expect(hasLinks(headers, undefined)).toBe(name !== 'X-Address' && name !== 'Locations');
  });

  test.each([
    ['Operation-Location', '8', '/api/v1/bills/8'],
    ['Refresh', '3; url=8', '3; url=/api/v1/bills/8'],
    // Nothing says that it is a reference.
    ['X-Geo-Location', '8', '8'],
  ])('%s: a reference that is relative to what has moved: %s', (name, value, expected) => {
    const headers = [name, value];
    const base = { v1: '/api/v1/bills/7/lines', v2: '/api/v2/bills/7' };
    rewriteLinks(headers, { ...PLACES, base });
    expect(headers[1]).toBe(expected);
  });
});

describe("a service's own fields", () => {
  const base = { v1: '/api/v1/bills/7/lines', v2: '/api/v2/bills/7' };
  const own = { ...PLACES, fields: new FieldNames(['x-poll-url', 'x-next']) };

  test.each([
    ['X-Poll-Url', 'https://captur3d.io/api/v2/jobs/1', 'https://gateway.example:8443/api/v1/jobs/1'],
    ['x-poll-url', '/api/v2/jobs/1?x=%20', '/api/v1/jobs/1?x=%20'],
    ['X-POLL-URL', '8', '/api/v1/bills/8'],
    ['X-Next', '/api/v2/a', '/api/v1/a'],
    ['X-Poll-Url', 'https://elsewhere.test/api/v2/a', 'https://elsewhere.test/api/v2/a'],
    ['X-Poll-Url', '/status', '/status'],
    ['X-Poll', '/api/v2/a', '/api/v2/a'],
    ['Location', '/api/v2/a', '/api/v1/a'],
  ])('%s: %s', (name, value, expected) => {
    const headers = [name, value];
    expect(hasLinks(headers, own.fields)).toBe(name !== 'X-Poll');
    rewriteLinks(headers, { ...own, base });
    expect(headers).toEqual([name, expected]);
  });
});

// Attack: a V2 that reflects its input. In quadratic time this test does not end.
test.each([
  ['Link', String.raw`\"`],
  ['Link', '"'],
  ['Link', '<'],
  ['Link', '<>'],
  ['Link', '"<'],
  ['Link', '>"'],
  ['Link', ';,'],
  ['Set-Cookie', '; path ='],
  ['Set-Cookie', '; '],
  ['Set-Cookie', ';path=='],
  ['Location', '/'],
  ['Location', '?'],
  ['Location', '#'],
  ['Location', '/api/v2'],
  ['Location', '//'],
  ['Location', ':'],
  ['Refresh', ' '],
  ['Refresh', '1'],
  ['Refresh', '; url='],
  ['Link-Template', '"'],
  ['Link-Template', '\\"'],
  ['WWW-Authenticate', 'resource_metadata '],
  ['WWW-Authenticate', 'resource_metadata="'],
])('a %s of 300,000 of %j is read in one pass', (name, separator) => {
  const headers = [name, separator.repeat(300_000)];
  rewriteLinks(headers, PLACES);
  expect(headers).toHaveLength(2);
});

test('every link of a Link field is turned, and nothing within quotes is', () => {
  const headers = [
    'LINK',
    '<//captur3d.io/api/v2/a>;rel=a;title="<\\"/api/v2/b>",</api/v2/c>',
    'X',
    '/api/v2/',
  ];
  rewriteLinks(headers, PLACES);
  expect(headers).toEqual([
    'LINK',
    '<//gateway.example:8443/api/v1/a>;rel=a;title="<\\"/api/v2/b>",</api/v1/c>',
    'X',
    '/api/v2/',
  ]);
});

test.each([
  [
    'https://captur3d.io/api/v2/x?new=1&a=%20#new',
    'https://gateway.example:8443/api/v1/x?[/x ?new=1&a=%20]#new',
  ],
  ['/api/v2?new', '/api/v1?[ ?new]'],
  ['/api/v2/x#?new', '/api/v1/x#?new'],
  ['?new=2#new', '?[/7 ?new=2]#new'],
  ['8?new=2', '/api/v1/8?[/8 ?new=2]'],
  ['8#?new', '8#?new'],
  ['https://elsewhere.test/api/v2/x?new=1', 'https://elsewhere.test/api/v2/x?new=1'],
  ['/other?new=1', '/other?new=1'],
])('the query of %s is turned back, and nothing else: %s', (uri, expected) => {
  const restore: LinkRewriting['restore'] = ({ path, query }) => ({
    path,
    query: query && `?[${path} ${query}]`,
  });
  const base = { v1: '/api/v1/7', v2: '/api/v2/7' };
  expect(rewrittenLink(uri, { ...PLACES, base, restore })).toBe(expected);
});

test.each([
  ['s=1; Path=/api/v2; HttpOnly', 's=1; Path=/api/v1; HttpOnly'],
  ['s=1;path = /api/v2/orders;Secure', 's=1;path = /api/v1/orders;Secure'],
  ['s="/api/v2"; PATH=/base/api/v2/', 's="/api/v2"; PATH=/api/v1/'],
  ['s=1; Path=/', 's=1; Path=/'],
  ['s=1; Path=/api/v2x', 's=1; Path=/api/v2x'],
  ['Path=/api/v2; Domain=captur3d.io', 'Path=/api/v2; Domain=captur3d.io'],
  ['s=1; XPath=/api/v2', 's=1; XPath=/api/v2'],
])('a cookie of V2 comes back with V1 requests: %s', (cookie, expected) => {
  const headers = ['Set-Cookie', cookie, 'set-cookie', 'a=1', 'Cookie', cookie];
  rewriteLinks(headers, { ...PLACES, upstreamPath: '/base' });
  expect(headers).toEqual(['Set-Cookie', expected, 'set-cookie', 'a=1', 'Cookie', cookie]);
});

const JSON_TYPE = 'application/json';

const THREE_READS = `
body-links: leave
operations:
  renamed: GET /renamed
  other: GET /other
  transformed: { match: GET /transformed, transform: ./t.js }
changes:
  - { id: c, summary: s, on: [renamed], response: [{ rename: a, to: b }] }
`;

// RFC 9110 §8.6, §9.3.2 and §15.4.5: the fields are those of the GET.
test.each([
  ['HEAD', '/renamed', 200, 'application/json', true],
  ['HEAD', '/renamed', 200, 'text/html', false],
  ['HEAD', '/renamed', 404, 'application/json', false],
  ['HEAD', '/other', 200, 'application/json', false],
  ['HEAD', '/transformed', 200, 'application/json', true],
  ['HEAD', '/transformed', 200, 'text/html', false],
  ['GET', '/renamed', 304, 'text/html', true],
  ['HEAD', '/renamed', 304, 'text/html', true],
  ['GET', '/transformed', 304, '', true],
  ['GET', '/other', 304, '', false],
  ['POST', '/renamed', 304, '', false],
  ['GET', '/renamed', 200, 'application/json', false],
])(
  "%s of %s with %d and %j no longer has V2's length: %s",
  async (method, rest, status, type, isRewritten) => {
    const book = await bookIn(THREE_READS);
    const rules = new CompiledRuleBook({ ...book, modules: { './t.js': { exports: ['response'] } } });
    const headers = ['Content-Type', type, 'Content-Length', '88', 'ETag', '"a"', 'X-Other', '1'];
    const request = { method, rest, operation: rules.match(method, rest) };
    const fields = contentlessFields(request, rules, status, headers);
    expect(fields.includes('Content-Length')).toBe(!isRewritten);
    expect(fields.includes('"a"')).toBe(!isRewritten);
    expect(fields.slice(-2)).toEqual(['X-Other', '1']);
  },
);

test.each([
  ['gzip', 'gzip', ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding']],
  ['x-gzip', 'gzip', ['Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding']],
  ['br', 'gzip', []],
  ['identity', 'gzip', []],
  ['compress', 'gzip', ['Content-Encoding', 'compress']],
])('HEAD of %s has the coding of the GET, if a rewritten body keeps %s', async (sent, kept, told) => {
  const rules = new CompiledRuleBook({
    ...(await bookIn(THREE_READS)),
    modules: { './t.js': { exports: ['response'] } },
  });
  const request = { method: 'HEAD', rest: '/renamed', operation: undefined };
  const headers = ['Content-Type', JSON_TYPE, 'Content-Encoding', sent];
  const fields = contentlessFields(request, rules, 200, headers, (coding) => coding === kept);
  expect(fields).toEqual(['Content-Type', JSON_TYPE, ...told]);
});

const FORWARD = { action: 'forward', note: undefined };
const UNDECODABLE = { action: 'forward', note: 'response-undecodable' };
const PARTIAL = { action: 'forward', note: 'response-partial' };
const HIDDEN = { action: 'forward', note: undefined, mayHideJson: true, coding: undefined };
const REWRITE = { action: 'rewrite', coding: undefined, texts: undefined, isGuess: false };
const GUESS = { ...REWRITE, isGuess: true };

describe('a response of at most 100 bytes', () => {
  test.each<
    readonly [status: number, type: string | undefined, fields: string, decision: Record<string, unknown>]
  >([
    [200, JSON_TYPE, '', REWRITE],
    [200, JSON_TYPE, 'Content-Length: 100', REWRITE],
    [200, JSON_TYPE, 'Content-Length: 0', REWRITE],
    [200, JSON_TYPE, 'Content-Length: 101', { ...FORWARD, note: 'response-too-large', coding: undefined }],
    [
      200,
      JSON_TYPE,
      'Content-Length: 101|Content-Encoding: br',
      { ...FORWARD, note: 'response-too-large', coding: 'br' },
    ],
    [200, JSON_TYPE, 'Content-Encoding: gzip', { ...REWRITE, coding: 'gzip' }],
    [200, JSON_TYPE, 'Content-Encoding: identity', REWRITE],
    [200, JSON_TYPE, 'Content-Encoding: compress', UNDECODABLE],
    [200, JSON_TYPE, 'Content-Encoding: gzip|Content-Encoding: br', UNDECODABLE],
    [200, 'application/json;charset=latin1', '', UNDECODABLE],
    [200, 'application/json, text/html', '', UNDECODABLE],
    [206, JSON_TYPE, '', REWRITE],
    [206, 'application/x-ndjson', '', { ...REWRITE, texts: 'ndjson' }],
    [206, 'multipart/byteranges; boundary=B', '', FORWARD],
    [200, JSON_TYPE, 'Content-Range: bytes 0-9/100', PARTIAL],
    [206, JSON_TYPE, 'Content-Range: bytes 0-9/100', PARTIAL],
    [200, JSON_TYPE, 'Content-Range: bytes=0-9/100', PARTIAL],
    [206, JSON_TYPE, 'Content-Range: items 0-9/100', REWRITE],
    [200, JSON_TYPE, 'Content-Range: items 0-9/100', REWRITE],
    [206, undefined, 'Content-Length: 9', GUESS],
    [206, undefined, 'Content-Length: 9|Content-Range: bytes 0-8/9', FORWARD],
    [200, 'application/x-ndjson', '', { ...REWRITE, texts: 'ndjson' }],
    [200, 'application/x-ndjson', 'Content-Length: 101', { ...REWRITE, texts: 'ndjson' }],
    [
      200,
      'application/json-seq',
      'Content-Encoding: gzip',
      { ...REWRITE, texts: 'json-seq', coding: 'gzip' },
    ],
    [200, 'image/png', '', FORWARD],
    [200, 'text/event-stream', '', { ...REWRITE, texts: 'events' }],
    [200, 'text/event-stream', 'Content-Encoding: gzip', { ...REWRITE, texts: 'events', coding: 'gzip' }],
    [200, 'multipart/mixed; boundary=x', '', { ...FORWARD, note: 'response-media-type' }],
    [200, 'multipart/form-data', '', { ...FORWARD, note: 'response-media-type' }],
    [200, 'multipart/related ;a=b', '', { ...FORWARD, note: 'response-media-type' }],
    [200, 'multipart/byteranges', '', FORWARD],
    [200, 'multipart/mixed-replace', '', FORWARD],
    [200, undefined, '', GUESS],
    [200, undefined, 'Content-Length: 1', GUESS],
    [200, undefined, 'Content-Length: 0', FORWARD],
    [204, undefined, '', FORWARD],
    [204, JSON_TYPE, '', REWRITE],
    [200, undefined, 'Content-Length: 101', HIDDEN],
    [200, undefined, 'Content-Length: 9|Content-Encoding: gzip', { ...GUESS, coding: 'gzip' }],
    [200, undefined, 'Content-Encoding: gzip', { ...HIDDEN, note: 'response-media-type', coding: 'gzip' }],
    [200, undefined, 'Content-Length: 101|Content-Encoding: gzip', { ...HIDDEN, coding: 'gzip' }],
    [200, undefined, 'Content-Encoding: compress', UNDECODABLE],
    [200, 'text/plain', 'Content-Length: 9', GUESS],
    [200, 'application/octet-stream', 'Content-Length: 9', HIDDEN],
    [200, 'application/octet-stream', 'Content-Encoding: gzip', { ...HIDDEN, coding: 'gzip' }],
    [200, 'application/octet-stream', 'Content-Encoding: compress', FORWARD],
    [200, 'application/octet-stream', 'Content-Length: 0', FORWARD],
    [304, 'application/octet-stream', '', FORWARD],
  ])('%d of %s with %s', (status, type, fields, decision) => {
    const headers = fields.split('|').flatMap((field) => (field === '' ? [] : field.split(': ')));
    if (type !== undefined) headers.push('content-type', type);
    expect(decideResponse(status, headers, 100, 'known')).toEqual(decision);
  });
});

describe('a body that is rewritten as it comes', () => {
  interface Step {
    readonly bytes: Uint8Array;
    readonly refusal?: { readonly code: string; readonly status: number; readonly detail: string };
  }

  const sent = (text: string): Step => ({ bytes: bytesOf(text) });
  const REFUSAL = { code: 'malformed-json', status: 400, detail: 'd' };

  /** A stream that gives the outcome of the next step for each part. */
  function bodyOf(parts: readonly string[], steps: readonly Step[]) {
    const left = [...steps];
    const refusals: unknown[] = [];
    const next = (): Step => left.shift() ?? sent('');
    const stream = { push: next, end: next, findings: undefined } as never;
    async function* received() {
      for (const part of parts) yield await Promise.resolve(bytesOf(part));
    }
    const body = new RewrittenBody(received(), stream, (refusal) => refusals.push(refusal));
    return { body, refusals };
  }

  async function textIn(body: RewrittenBody): Promise<string> {
    let text = '';
    for await (const part of body) {
      expect(part.length).toBeGreaterThan(0);
      text += textOf(part);
    }
    return text;
  }

  test('begins with the part that can be sent, and ends with the rest', async () => {
    const { body } = bodyOf(['a', 'b', 'c'], [sent(''), sent('B'), sent('C'), sent('!')]);
    expect(await body.begin()).toEqual({ outcome: 'streamed' });
    expect([body.isWhole, body.sentBytes]).toEqual([false, 0]);
    expect(await textIn(body)).toBe('BC!');
    expect(body.sentBytes).toBe(3);
    expect(body.isWhole).toBe(true);
  });

  test('is sent whole if it ends before anything can be sent, and refused if a rule refuses it', async () => {
    const { body } = bodyOf(['a'], [sent(''), sent('all')]);
    expect(await body.begin()).toEqual({ outcome: 'whole', body: bytesOf('all') });
    expect(body.isWhole).toBe(true);
    const { body: refused, refusals } = bodyOf(['a'], [{ ...sent(''), refusal: REFUSAL }]);
    expect(await refused.begin()).toEqual({ outcome: 'refused', refusal: REFUSAL });
    expect(refusals).toEqual([]);
  });

  test('breaks off if a rule refuses a part after bytes that were sent', async () => {
    const { body, refusals } = bodyOf(['a', 'b', 'c'], [sent('A'), { ...sent('?'), refusal: REFUSAL }]);
    await body.begin();
    await expect(textIn(body)).rejects.toThrow('malformed-json');
    expect(refusals).toEqual([REFUSAL]);
    expect([body.sentBytes, body.isWhole]).toEqual([1, false]);
  });

  test('is kept up to a limit, with one more byte that shows that it is longer', () => {
    const kept = new KeptBody(3);
    for (const part of ['ab', '', 'c', 'de', 'f']) kept.add(bytesOf(part));
    expect(textOf(kept.take())).toBe('abcd');
    const all = new KeptBody(3);
    all.add(bytesOf('abc'));
    expect(textOf(all.take())).toBe('abc');
  });
});
