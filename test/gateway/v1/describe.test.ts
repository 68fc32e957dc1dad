import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeV1 } from '../../../src/gateway/describe-v1.ts';
import { DescriptionCache } from '../../../src/gateway/description.ts';
import { startReference } from '../../../src/node/reference.ts';
import { deriveV1 } from '../../../src/openapi/derive/derive-v1.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { ok, rawServer, type RawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { served } from '../../support/served.ts';

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
const LANES = { own: '', behind: '\r\n' } as const;

const description = {
  openapi: '3.1.0',
  info: { title: 'V2', version: '1' },
  paths: {
    '/api/v2/clients': {
      post: {
        requestBody: { content: { 'application/json': { schema: { type: 'object' } } } },
        responses: {},
      },
    },
  },
};
const text = JSON.stringify(description);

interface Played {
  readonly gateway: TestGateway;
  readonly v2: RawServer;
  /** Sends the request and returns head and body of the response. */
  readonly get: (headers?: string) => Promise<{ readonly head: string; readonly body: string }>;
}

async function play(response: string | Buffer, lane: keyof typeof LANES = 'own'): Promise<Played> {
  const { v2, gateway, send } = await served(response);
  return {
    gateway,
    v2,
    get: async (headers = 'Authorization: Bearer k\r\n') => {
      const request = `GET /api/v1/openapi.json HTTP/1.1\r\nHost: g\r\nConnection: close\r\n${headers}\r\n`;
      const [head = '', body = ''] = (await send(LANES[lane] + request)).text.split('\r\n\r\n');
      return { head, body };
    },
  };
}

const field = (head: string, name: string): string | undefined =>
  new RegExp(`\\r\\n${name}: ([^\\r]*)`, 'i').exec(head)?.[1];

const requests = (v2: RawServer): number => v2.received.join('').split('GET /api/v2/openapi.json').length - 1;

describe.each(['own', 'behind'] as const)('on the %s reader', (lane) => {
  test('a V1 client reads V1’s description, with its own tag', async () => {
    const { get, v2, gateway } = await play(
      ok(text, 'ETag: "of-v2"\r\nLast-Modified: Sun, 01 Nov 2026 00:00:00 GMT\r\n'),
      lane,
    );
    const { head, body } = await get(
      'Authorization: Bearer k\r\nIf-None-Match: "x"\r\nRange: bytes=0-1\r\nAccept-Encoding: br\r\n',
    );
    expect(head).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(JSON.parse(body)).toEqual(deriveV1(description, testRuleBook()).description);
    expect(Object.keys((JSON.parse(body) as typeof description).paths)).toEqual(['/api/v1/clients']);
    expect(field(head, 'content-length')).toBe(String(Buffer.byteLength(body)));
    expect(field(head, 'etag')).toMatch(/^"[^"]+"$/);
    expect(head).not.toMatch(/of-v2|last-modified/i);
    expect(v2.received[0]).toMatch(/^GET \/api\/v2\/openapi\.json HTTP\/1\.1\r\n/);
    expect(v2.received[0]).toMatch(/\r\nAuthorization: Bearer k\r\n/);
    expect(v2.received[0]).toMatch(/\r\naccept-encoding: identity\r\n/i);
    expect(v2.received[0]).not.toMatch(/if-none-match|range/i);
    expect((await gateway.entry()).status).toBe(200);
  });

  test('the tag makes it 304, without a body', async () => {
    const { get, gateway } = await play(ok(text), lane);
    const tag = field((await get()).head, 'etag') ?? '';
    const { head, body } = await get(`Authorization: Bearer k\r\nIf-None-Match: "other", W/${tag}\r\n`);
    expect(head).toMatch(/^HTTP\/1\.1 304 Not Modified\r\n/);
    expect([field(head, 'etag'), body]).toEqual([tag, '']);
    expect((await gateway.entry(2)).status).toBe(304);
  });

  test('without credentials it is shared for a while; with them V2 is asked each time', async () => {
    const { get, v2 } = await play(ok(text), lane);
    const first = await get('');
    const shared = await get('');
    expect(shared.body).toBe(first.body);
    expect(field(shared.head, 'age')).toBe('0');
    expect(field(shared.head, 'content-type')).toBe('application/json');
    expect(requests(v2)).toBe(1);
    const tag = field(first.head, 'etag') ?? '';
    expect((await get(`If-None-Match: ${tag}\r\n`)).head).toMatch(/^HTTP\/1\.1 304 /);
    expect(requests(v2)).toBe(1);
    await get();
    await get('Cookie: a=b\r\n');
    expect(requests(v2)).toBe(3);
  });
});

test.each([
  ['no-store', 'Cache-Control: no-store\r\n'],
  ['private', 'Cache-Control: max-age=60, private\r\n'],
  ['no time', 'Cache-Control: max-age=0\r\n'],
  ['no time left', 'Cache-Control: max-age=60\r\nAge: 60\r\n'],
  ['a cookie', 'Set-Cookie: a=b\r\n'],
  ['a response that varies', 'Vary: Accept-Encoding, X-Tenant\r\n'],
])('a response is not shared with %s', async (_name, headers) => {
  const { get, v2 } = await play(ok(text, headers));
  await get('');
  await get('');
  expect(requests(v2)).toBe(2);
});

test.each([
  [
    'another status',
    `HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"errors":[]}`,
  ],
  ['other JSON', ok('{"data":{}}')],
  ['an older format', ok('{"swagger":"2.0","paths":{}}')],
  ['no JSON', ok('{"openapi":"3.1.0",', 'ETag: "e"\r\n')],
  [
    'JSON that is nested too deep',
    ok(`{"openapi":"3.1.0","paths":{},"x":${'['.repeat(300)}${']'.repeat(300)}}`),
  ],
  ['another media type', ok(text).replace('application/json', 'text/html')],
])('%s is forwarded as V2 sent it', async (_name, response) => {
  const { get } = await play(response);
  const { head, body } = await get();
  expect(head.split('\r\n')[0]).toBe(response.split('\r\n')[0]);
  expect(body).toBe(response.split('\r\n\r\n')[1]);
});

test('a coding that V2 uses anyway is taken off', async () => {
  const bytes = gzipSync(text);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${bytes.length}\r\n\r\n`;
  const { get } = await play(Buffer.concat([Buffer.from(head), bytes]));
  const response = await get();
  expect(response.body).toContain('"/api/v1/clients"');
  expect(response.head).not.toMatch(/content-encoding/i);
});

test('a description larger than the limit passes unchanged, and the log says so', async () => {
  const { limits } = testRuleBook();
  const { gateway } = await served(ok(text), { ruleBook: { limits: { ...limits, response: 20 } } });
  const response = await fetch(`${gateway.origin}/api/v1/openapi.json`);
  expect(await response.text()).toBe(text);
  expect((await gateway.entry()).responseNote).toBe('response-too-large');
});

test('V2’s address is no server for V1 clients', async () => {
  let body = '';
  const v2 = await rawServer((socket) => void socket.write(ok(body)));
  const servers = [`${v2.origin}/api/v2`, v2.origin, 'https://api.example/api/v2', '/api/v2'];
  body = JSON.stringify({ ...description, servers: servers.map((url) => ({ url })) });
  const gateway = await gatewayFor(v2.origin);
  const read = (await (await fetch(`${gateway.origin}/api/v1/openapi.json`)).json()) as { servers: unknown };
  expect(read.servers).toEqual(
    ['/api/v1', '/', 'https://api.example/api/v1', '/api/v1'].map((url) => ({ url })),
  );
});

test('HEAD has the head of GET, however the path is spelled', async () => {
  const { gateway } = await play(
    `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: "v2"\r\nLast-Modified: x\r\nContent-Length: ${text.length}\r\n\r\n${text}`,
  );
  const got = await fetch(`${gateway.origin}/api/v1/openapi.json`);
  const { length } = await got.text();
  for (const path of ['openapi.json', 'openapi%2Ejson']) {
    const response = await fetch(`${gateway.origin}/api/v1/${path}`, { method: 'HEAD' });
    expect(Number(response.headers.get('content-length'))).toBe(length);
    expect(response.headers.get('etag')).toBe(got.headers.get('etag'));
    expect(response.headers.get('last-modified')).toBeNull();
  }
  const again = await fetch(`${gateway.origin}/api/v1/openapi.json`, {
    method: 'HEAD',
    headers: { Authorization: 'Bearer k', 'If-None-Match': got.headers.get('etag') ?? '' },
  });
  expect(again.status).toBe(304);
});

test('in front of the reference, it equals the description derived from V2’s', async () => {
  const reference = await startReference({});
  onTestFinished(() => reference.close());
  const rules = await compiledShippedRuleBook();
  const gateway = await gatewayFor(reference.origin, { rules });
  const v2: unknown = await (await fetch(`${reference.origin}/api/v2/openapi.json`)).json();
  const v1: unknown = await (await fetch(`${gateway.origin}/api/v1/openapi.json`)).json();
  expect(v1).toEqual(deriveV1(v2 as Record<string, unknown>, rules.ruleBook).description);
  expect(JSON.stringify(v1)).toContain('"x-change":["body-wrapper"]');
});

/** A description of about this many bytes, with another title for each number. */
function largeDescription(bytes: number, number = 1): string {
  const schemas: Record<string, object> = {};
  const properties = { name: { type: 'string', description: 'x'.repeat(80) }, size: { type: 'integer' } };
  for (let k = 0; k * 170 < bytes; k += 1) schemas[`Thing${k}`] = { type: 'object', properties };
  return JSON.stringify({
    ...description,
    info: { title: `V2 ${number}`, version: '1' },
    components: { schemas },
  });
}

// Attack: a client asks for the description of a large service, which takes seconds to derive, while all other clients wait.
test('a large description is derived while others are served', async () => {
  const large = largeDescription(2_000_000);
  const { gateway } = await served(
    (socket, head) => void socket.write(head.includes('openapi') ? ok(large) : ok('{}')),
  );
  const order: string[] = [];
  const read = async (path: string): Promise<string> => {
    const body = await (await fetch(`${gateway.origin}/api/v1/${path}`)).text();
    order.push(path);
    return body;
  };
  const derived = read('openapi.json');
  // A request that comes when V2's text has arrived waits for the derivation, if that blocks.
  while (gateway.gateway.budget.held === 0) await new Promise(setImmediate);
  for (let k = 0; k < 10; k += 1) await read('clients');
  expect(JSON.parse(await derived)).toMatchObject({ paths: { '/api/v1/clients': {} } });
  expect(order.at(-1)).toBe('openapi.json');
  expect(gateway.surprises).toEqual([]);
});

test('a description that takes more memory to derive than there is passes unchanged, and the log says so', async () => {
  const large = largeDescription(200_000);
  const { gateway } = await served(ok(large), { flags: { 'buffer-bytes': '2MiB' } });
  expect(await (await fetch(`${gateway.origin}/api/v1/openapi.json`)).text()).toBe(large);
  expect((await gateway.entry()).responseNote).toBe('response-too-large');
  await expect.poll(() => gateway.gateway.budget.held).toBe(0);
});

// Attack: schemas that refer to each other in a chain or a circle exhaust the stack, or double with each level.
test.each([
  ['a chain', (next: string) => ({ allOf: [{ $ref: next }] }), 262],
  ['a circle', () => ({ allOf: [{ $ref: '#/components/schemas/S0/allOf/0' }] }), 1],
  [
    'doubling',
    (next: string) => {
      const allOf = [{ $ref: `${next}/x` }, { $ref: `${next}/x` }];
      return { allOf, x: { allOf } };
    },
    40,
  ],
])('%s of schemas that is too long to follow passes unchanged', async (_name, schemaOf, count) => {
  const schemas = Object.fromEntries(
    Array.from({ length: count }, (_, k) => [`S${k}`, schemaOf(`#/components/schemas/S${k + 1}`)]),
  );
  const content = { 'application/json': { schema: { $ref: '#/components/schemas/S0' } } };
  const paths = { '/api/v2/orders/floor_plans': { post: { requestBody: { content }, responses: {} } } };
  const entangled = JSON.stringify({ ...description, paths, components: { schemas } });
  const { get, gateway } = await play(ok(entangled));
  expect((await get()).body).toBe(entangled);
  expect(gateway.surprises).toEqual([]);
});

test('the same text is derived once, for any release and any number of requests at once', async () => {
  let count = 0;
  const cache = new DescriptionCache(
    () => 0,
    async (job) => {
      count += 1;
      await new Promise(setImmediate);
      return describeV1(job);
    },
  );
  const rules = testRuleBook();
  const derive = (title: string, take = true): ReturnType<DescriptionCache['derive']> => {
    const source = new TextEncoder().encode(text.replace('V2', title));
    return cache.derive({ source, rules, v2: { hosts: [], path: '' } }, { take: () => take });
  };
  const [first, second] = await Promise.all([derive('a'), derive('a')]);
  expect(second).toBe(first);
  expect(await derive('a', false)).toBe(first);
  expect(await derive('b', false)).toBe('buffer-full');
  expect(count).toBe(1);
  for (const title of ['b', 'c', 'd', 'e']) expect(await derive(title)).not.toEqual(first);
  expect(count).toBe(5);
  expect(await derive('a')).toEqual(first);
  expect(count).toBe(6);
});

test('derived descriptions are kept up to a number of bytes', async () => {
  const size = 9 * 1024 * 1024;
  let count = 0;
  const cache = new DescriptionCache(
    () => 0,
    async () => {
      count += 1;
      return { body: new Uint8Array(size), etag: '' };
    },
  );
  const derive = (title: string): ReturnType<DescriptionCache['derive']> => {
    const job = {
      source: new TextEncoder().encode(title),
      rules: testRuleBook(),
      v2: { hosts: [], path: '' },
    };
    return cache.derive(job, { take: () => true });
  };
  for (const title of ['a', 'a', 'b', 'b', 'a']) await derive(title);
  expect(count).toBe(3);
});

test('a description that is shared is forgotten in time', () => {
  let now = 0;
  const cache = new DescriptionCache(() => now, describeV1);
  const shared = { body: new Uint8Array(3), etag: '"x"' };
  cache.share('a', shared, [], 1000, 55_000);
  now = 999;
  expect(cache.fresh('a')).toEqual({ text: shared, headers: [], age: 55_999 });
  now = 1000;
  expect(cache.fresh('a')).toBeUndefined();
});
