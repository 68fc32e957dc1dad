import fastJsonPatch from 'fast-json-patch';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { describeV1 } from '../../../src/gateway/describe-v1.ts';
import { DescriptionCache } from '../../../src/gateway/description.ts';
import { startReference } from '../../../src/node/reference.ts';
import { deriveV1 } from '../../../src/openapi/derive/derive-v1.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer, type RawServer } from '../../support/raw-server.ts';
import { testRuleBook } from '../../support/rule-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { offlineExplainer } from '../../../src/cli/explain/requests.ts';
import type { Explanation, ExplainRequest } from '../../../src/inspector/api.ts';
import { createMigration, type TransformModule } from '../../../src/library/capture-gateway.ts';
import { ruleBookWarnings } from '../../../src/rules/check-rule-book.ts';
import { WatchedFiles } from '../../../src/node/files.ts';
import { loadRuleBook, RuleBooks, transformFiles } from '../../../src/node/rule-books.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { entrySchema } from '../../../src/rewrite-log/read-entry.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { rolloutOf } from '../../support/two-services.ts';
import { type Served, served } from '../../support/served.ts';
import { rows, words } from '../../support/rows.ts';

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
  test('a V1 client reads V1’s description, with a tag of its own', async () => {
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

test('in front of the reference, it is what the derivation makes of V2’s', async () => {
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

// Attack: a client asks for the description of a large service, which takes seconds to derive, and everybody else waits.
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
  // Whoever comes when V2's text is there waits for its derivation, if that blocks.
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

test('the same text is derived once, whatever release it was asked for, and however many ask at once', async () => {
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
  cache.share('a', shared, [], 1000);
  now = 999;
  expect(cache.fresh('a')).toEqual({ text: shared, headers: [], age: 999 });
  now = 1000;
  expect(cache.fresh('a')).toBeUndefined();
});

/** Pages by number in V1, by cursor in V2, whose cursor says an offset: docs/rule-book.md. */
const PAGES = `
export function request(body, { query }) {
  const page = Number(query.get('page') ?? 1);
  const limit = Number(query.get('per_page') ?? 20);
  query.delete('page');
  query.delete('per_page');
  query.set('limit', String(limit));
  if (page > 1) query.set('cursor', btoa('offset:' + (page - 1) * limit));
  return { query };
}

export async function response(body, { query }) {
  const page = Number(query.get('page') ?? 1);
  const size = Number(query.get('per_page') ?? 20);
  return { body: { data: body.data, page, total_pages: Math.ceil(body.total / size) } };
}
`;

const BOOK = `version: 2025-01-01
operations:
  list_bills: { match: GET /bills, transform: ./pages.js }
  create_bill: { match: 'POST /bills/{id}', transform: ./bill.mjs }
  replace_bill: { match: 'PUT /bills/{id}', transform: ./bill.mjs }
changes:
  - { id: wrapper, summary: No wrapper., on: every, request: [ { unwrap: data } ] }
  - { id: sum, summary: Sum., on: [create_bill], request: [ { rename: sum, to: total } ], response: [ { rename: data.v2, to: v1 } ] }
limits: { transform: 2000 }
`;

const BILL = `
export const request = (body, { path, operation, method, status }) =>
  body === undefined ? {} : { body: { ...body, id: path.id, by: [operation, method, status] } };
export const response = (body, { status }) => ({ body: { data: { v2: body.data.total } }, status: status + 1 });
`;

function folderOf(files: Readonly<Record<string, string | Buffer>>): string {
  const folder = temporaryFolder('transform');
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return join(folder, 'rules.yaml');
}

async function load(files: Readonly<Record<string, string>>): Promise<CompiledRuleBook> {
  const outcome = await loadRuleBook(folderOf(files));
  if ('faults' in outcome) throw new Error(outcome.faults.join('\n'));
  return outcome.rules;
}

const serve = async (body: string, files: Readonly<Record<string, string>>): Promise<Served> =>
  await served(ok(body), { rules: await load(files) });

const get = (target: string): string => `GET ${target} HTTP/1.1\r\nHost: g\r\nRange: bytes=0-1\r\n\r\n`;
const requestOf = (method: string, target: string, body: string): string =>
  `${method} ${target} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

const FILES = { 'rules.yaml': BOOK, 'pages.js': PAGES, 'bill.mjs': BILL };

test('pages by number become pages by cursor, and back', async () => {
  const { gateway, v2, send } = await serve('{"data":[{"id":41}],"next_cursor":"x","total":101}', FILES);
  const response = await send(get('/api/v1/bills?page=3&per_page=20&x=a+b'));
  const [line = ''] = v2.received.join('').split('\r\n');
  expect(line).toBe(
    `GET /api/v2/bills?x=a+b&limit=20&cursor=${encodeURIComponent(btoa('offset:40'))} HTTP/1.1`,
  );
  expect(v2.received.join('')).not.toContain('Range');
  expect(response.text).toMatch(/\r\n\r\n\{"data":\[\{"id":41\}\],"page":3,"total_pages":6\}$/);
  const entry = await gateway.entry();
  entrySchema.parse(JSON.parse(JSON.stringify(entry)));
  expect(entry).toMatchObject({
    verdict: 'rewritten',
    operation: 'list_bills',
    edits: [
      { change: 'transform', rule: 'transform', from: '?page' },
      { change: 'transform', rule: 'transform', from: '?per_page' },
      { change: 'transform', rule: 'transform', path: '?limit' },
      { change: 'transform', rule: 'transform', path: '?cursor' },
    ],
    responseEdits: [{ change: 'transform', rule: 'transform', from: '', path: '' }],
    responsePatch: [
      { op: 'remove', path: '/next_cursor' },
      { op: 'remove', path: '/total' },
      { op: 'add', path: '/page' },
      { op: 'add', path: '/total_pages' },
    ],
  });
});

test('rules come before it for the request, and behind it for the response', async () => {
  const { gateway, v2, send } = await serve('{"data":{"total":7}}', FILES);
  const response = await send(requestOf('POST', '/api/v1/bills/a%20b', '{"data":{"sum":1}}'));
  expect(v2.received.join('')).toMatch(
    /\r\n\r\n\{"total":1,"id":"a b","by":\["create_bill","POST",null\]\}$/,
  );
  expect(statusOf(response)).toBe(201);
  expect(response.text).toMatch(/\{"data":\{"v1":7\}\}$/);
  const { edits, patch } = await gateway.entry();
  expect(edits.map(({ rule }) => rule)).toEqual(['unwrap', 'rename', 'transform']);
  expect(patch?.map(({ op, path }) => `${op} ${path}`)).toEqual([
    'move ',
    'move /total',
    'add /id',
    'add /by',
  ]);
  expect(gateway.lines.join('')).not.toContain('a b');
});

test('with capture, the patch in the log gives the V2 body; PUT has its body, and what it returns nothing for stays', async () => {
  const { v2, send } = await served(ok('{"data":{}}'), { rules: await load(FILES) });
  const put = await send(requestOf('PUT', '/api/v1/bills/7', '{"data":{"x":1}}'));
  expect(v2.received.join('')).toMatch(/\{"data":\{"x":1\},"id":"7","by":\["replace_bill","PUT",null\]\}$/);
  // Its status alone is another one.
  expect([statusOf(put), put.body]).toEqual([201, '{"data":{}}']);
  const text =
    'POST /api/v1/bills/7 HTTP/1.1\r\nHost: g\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\n{"a" ';
  await send(text);
  expect(v2.received.join('')).toMatch(/\r\n\r\n\{"a" $/);
});

describe('while V1 responds', () => {
  const serveBoth = async (
    mode: 'observe' | 'shadow' | 'verify',
    files: Readonly<Record<string, string>>,
  ): Promise<TestGateway> => {
    const v1 = await rawServer((socket) => socket.write(ok('{"data":[{"id":41}],"page":3,"total_pages":6}')));
    const { ruleBook } = await load(files);
    const modes = { operations: {}, default: { mode, ...(mode === 'verify' ? { share: 100 } : {}) } };
    const rules = new CompiledRuleBook({ ...ruleBook, rollout: rolloutOf(modes) });
    const { v2, gateway } = await served(ok('{"data":[{"id":41}],"next_cursor":"x","total":101}'), {
      rules,
      parts: { v1Origin: { origin: v1.origin, path: '' } },
    });
    received.set(gateway, [v1, v2]);
    return gateway;
  };
  const received = new WeakMap<TestGateway, readonly RawServer[]>();

  test('the log tells what the transform would have made', async () => {
    const gateway = await serveBoth('observe', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3'));
    await exchange(gateway.port, requestOf('POST', '/api/v1/bills/7', '{"data":{"sum":1}}'));
    expect(await gateway.entry()).toMatchObject({
      would: { verdict: 'rewritten' },
      edits: [{ from: '?page' }, { path: '?limit' }, { path: '?cursor' }],
    });
    const { edits, patch } = await gateway.entry(2);
    expect(edits.map(({ rule }) => rule)).toEqual(['unwrap', 'rename', 'transform']);
    expect(patch?.map(({ op }) => op)).toEqual(['move', 'move', 'add', 'add']);
    expect(received.get(gateway)?.[0]?.received.join('')).toContain('GET /api/v1/bills?page=3 HTTP/1.1');
  });

  test('V2 is compared as the transform has it', async () => {
    const gateway = await serveBoth('shadow', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3'));
    expect((await gateway.entry()).comparison).toMatchObject({ verdict: 'same' });
    expect(received.get(gateway)?.[1]?.received.join('')).toContain('/api/v2/bills?limit=20&cursor=');
  });

  test('V1 is compared with what the transform makes of V2, where V2 responds', async () => {
    const gateway = await serveBoth('verify', FILES);
    await exchange(gateway.port, get('/api/v1/bills?page=3').replace(/Range.*\r\n/, ''));
    const { comparison, edits } = await gateway.entry();
    expect(comparison).toMatchObject({ verdict: 'same' });
    expect(edits.map(({ rule }) => rule)).toEqual(['transform', 'transform', 'transform']);
  });

  test.each<[mode: 'observe' | 'shadow', from: string]>([
    ['observe', 'request'],
    ['shadow', 'request'],
    ['shadow', 'response'],
  ])('in %s, a %s that fails is a verdict, and the client gets V1', async (mode, from) => {
    const pages = `export function ${from}() { throw new Error('no'); }`;
    const gateway = await serveBoth(mode, { ...FILES, 'pages.js': pages });
    const response = await exchange(gateway.port, get('/api/v1/bills?page=3'));
    expect(response.text).toMatch(/"total_pages":6\}$/);
    const { would, comparison } = await gateway.entry();
    if (from === 'request') expect(would).toMatchObject({ verdict: 'refused', failure: 'transform-failed' });
    if (mode === 'shadow') expect(comparison).toMatchObject({ verdict: 'unknown', why: 'transform-failed' });
  });
});

describe('a transform that fails is a 502, and nothing is sent on', () => {
  const book = BOOK.replace('transform: 2000', 'transform: 300');
  test.each([
    [
      'throws',
      'export function request() {\n  throw new TypeError("S3CR3T");\n}',
      'threw TypeError at line 2',
    ],
    ...rows`
      returns nothing → export function request() {}
        returned nothing; it returns an object with body, query, all optional
      returns a circle → export const request = () => { const a = {}; a.a = a; return { body: a }; };
        threw TypeError
      loops → export const request = () => { for (;;); }; → took longer than 300 ms
      waits → export const request = () => new Promise(() => {}); → took longer than 300 ms
      ends its thread → import process from "node:process"; export const request = () => process.exit(1);
        ended its thread
    `,
  ])('%s', async (_, module, cause) => {
    const { gateway, v2, send } = await serve('{}', { ...FILES, 'rules.yaml': book, 'bill.mjs': module });
    const failed = await send(requestOf('POST', '/api/v1/bills/1', '{"data":{"x":"S3CR3T"}}'));
    expect(statusOf(failed)).toBe(502);
    expect(failed.text).toContain('x-gateway-error: transform-failed');
    expect(v2.received.join('')).toBe('');
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ verdict: 'refused', failure: 'transform-failed', edits: [] });
    expect(entry.cause).toContain(`request of ./bill.mjs ${cause}`);
    expect(gateway.lines.join('') + failed.text).not.toContain('S3CR3T');
    // The next call has a thread that works.
    const next = await send(get('/api/v1/bills'));
    expect(statusOf(next)).toBe(200);
    expect(gateway.surprises).toEqual([]);
  });

  // As on a busy machine or in a throttled container: the thread is blocked, and neither works nor waits in its loop.
  test('not while its thread is held up', async () => {
    const module = `export const request = (body) => {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
      return { body };
    };`;
    const { v2, send } = await serve('{}', { ...FILES, 'rules.yaml': book, 'bill.mjs': module });
    const held = await send(requestOf('POST', '/api/v1/bills/1', '{"data":{"x":1}}'));
    expect(statusOf(held)).toBe(200);
    expect(v2.received).toHaveLength(1);
  });

  test('of a response', async () => {
    const module = 'export const response = (body) => ({ body: body.data.map((x) => x) });';
    const { gateway, v2, send } = await serve('{"data":"S3CR3T"}', { ...FILES, 'bill.mjs': module });
    const failed = await send(requestOf('POST', '/api/v1/bills/1', '{}'));
    expect(statusOf(failed)).toBe(502);
    expect(failed.text).not.toContain('S3CR3T');
    expect(v2.received).toHaveLength(1);
    expect(await gateway.entry()).toMatchObject({
      failure: 'transform-failed',
      cause: 'response of ./bill.mjs threw TypeError at line 1',
    });
  });
});

// A part of a patch leads to another body than V2's.
describe("a patch with a transform leads from V1's body to V2's, or there is none", () => {
  const book = BOOK.replace(
    '{ rename: sum, to: total }',
    '{ scale: sum, by: 100 }, { strip: [old] }, { default: { n: 1 } }',
  ).replace('id: sum,', 'id: sum, policies: { value: keep, duplicate: last },');
  const module = 'export const request = (body) => ({ body: { ...body, made: true } });';
  const files = { ...FILES, 'rules.yaml': book, 'bill.mjs': module };
  const objects = Array.from({ length: 700 }, (_, at) => `"beside${at}":1`).join(',');

  test.each<[title: string, body: string, hasPatch: boolean]>([
    ['a number of JavaScript', '{"data":{"sum":1.5,"old":1}}', true],
    ['a value that stays as it is', '{"data":{"sum":"x"}}', true],
    ['no wrapper', '{"sum":1,"n":2}', true],
    ['nothing for the rules but a repeated name', '{"sum":1,"sum":2,"n":2}', true],
    ['a number beyond those of JavaScript', '{"data":{"sum":1E400}}', false],
    ['such a number alone', '{"sum":-1E999,"n":1}', false],
    ['more edits than are listed', `{"data":{"sum":1},${objects}}`, false],
  ])('%s', async (_, body, hasPatch) => {
    const rules = await load(files);
    const explained = await offlineExplainer(rules)({
      method: 'POST',
      target: '/api/v1/bills/1',
      headers: [['Content-Type', 'application/json']],
      body,
    });
    if (!('patch' in explained)) throw new Error('a fault');
    expect(explained.patch.length > 0).toBe(hasPatch);
    if (hasPatch) {
      const { newDocument } = fastJsonPatch.applyPatch(
        JSON.parse(body),
        structuredClone(explained.patch) as fastJsonPatch.Operation[],
        true,
        true,
      );
      expect(newDocument).toEqual(JSON.parse(explained.v2Body ?? ''));
    }
    const { gateway, send } = await served(ok('{"data":{}}'), { rules });
    await send(requestOf('POST', '/api/v1/bills/1', body));
    expect(((await gateway.entry()).patch ?? []).length).toBe(explained.patch.length);
    const bill: TransformModule = {
      request: (value) => ({ body: { ...(value as Readonly<Record<string, unknown>>), made: true } }),
    };
    const migration = createMigration(rules.ruleBook, {
      transforms: { './pages.js': bill, './bill.mjs': bill },
    });
    const migrated = migration.request(
      'POST',
      '/api/v1/bills/1',
      [['Content-Type', 'application/json']],
      body,
    );
    expect('patch' in migrated && migrated.patch).toEqual(explained.patch);
  });
});

describe('a body that a transform makes', () => {
  const module = 'export const request = (body) => ({ body: { ...body, made: true } });';
  const files = { ...FILES, 'bill.mjs': module };
  const form =
    'POST /api/v1/bills/1 HTTP/1.1\r\nHost: g\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 5\r\n\r\nsum=1';

  test.each(['', 'Content-Length: 0\r\n', 'Content-Type: text/plain\r\nContent-Length: 0\r\n'])(
    'is JSON, where there was none: %j',
    async (fields) => {
      const { v2, send } = await serve('{"data":{}}', files);
      await send(`POST /api/v1/bills/1 HTTP/1.1\r\nHost: g\r\n${fields}\r\n`);
      const [head = '', body] = v2.received.join('').split('\r\n\r\n');
      expect(body).toBe('{"made":true}');
      expect(head.match(/^content-type: .*$/gim)).toEqual(['content-type: application/json']);
      const { ruleBook } = await load(files);
      const bill: TransformModule = { request: () => ({ body: { made: true } }) };
      const made = createMigration(ruleBook, { transforms: { './pages.js': bill, './bill.mjs': bill } });
      const migrated = made.request('POST', '/api/v1/bills/1', [['Host', 'g']]);
      expect('headers' in migrated && migrated.headers).toContainEqual(['content-type', 'application/json']);
    },
  );

  test('never takes the place of one that it was not given', async () => {
    const { gateway, v2, send } = await serve('{}', files);
    const refused = await send(form);
    expect([statusOf(refused), v2.received.join('')]).toEqual([502, '']);
    const { cause } = await gateway.entry();
    expect(cause).toContain('returned a body in place of one that it did not get');
    const request = { method: 'POST', target: '/api/v1/bills/1', body: 'sum=1' };
    const headers = [['Content-Type', 'application/x-www-form-urlencoded']] as const;
    const explained = await offlineExplainer(await load(files))({ ...request, headers });
    expect(explained).toMatchObject({ verdict: 'refused', refusal: { code: 'transform-failed' } });
  });
});

test('an error of V2 crosses without the transform, and so does a response that is no JSON', async () => {
  const { send } = await served(
    (socket, _request, number) =>
      socket.write(
        number === 1
          ? 'HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
          : 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\ntext',
      ),
    { rules: await load(FILES) },
  );
  expect(statusOf(await send(get('/api/v1/bills')))).toBe(404);
  expect((await send(get('/api/v1/bills'))).text).toMatch(/text$/);
});

describe('faults of a module are faults of the rule book', () => {
  test.each<[name: string, module: string | Buffer | undefined, fault: RegExp]>([
    [
      'bytes that are not UTF-8',
      Buffer.from('// caf\xe9\nexport function request() {}', 'latin1'),
      /rules\.yaml:3:\d+ operation "list_bills": transform \.\/pages\.js cannot be read: it is not UTF-8 \(byte 0xE9 in line 1;/,
    ],
    [
      'a syntax error',
      'export function request() {\n  return {};\n}\nfoo bar\n',
      /pages\.js:4:1 transform: Unexpected identifier 'bar'$/,
    ],
    [
      'an error at the top',
      '\nexport const request = nope;',
      /pages\.js:2:1 transform: nope is not defined$/,
    ],
    [
      'an import',
      'import x from "./other.js"; export const request = x;',
      /pages\.js:1:1 transform: .*it imports no others$/,
    ],
    [
      'no function',
      'export const requests = () => {};',
      /pages\.js:1:1 transform: exports neither request nor response; export function/,
    ],
    [
      'no file',
      undefined,
      /rules\.yaml:3:\d+ operation "list_bills": transform \.\/pages\.js cannot be read \(ENOENT\)/,
    ],
  ])('%s', async (_, module, fault) => {
    const files = {
      'rules.yaml': BOOK,
      'bill.mjs': BILL,
      ...(module === undefined ? {} : { 'pages.js': module }),
    };
    const outcome = await loadRuleBook(folderOf(files));
    expect('faults' in outcome && outcome.faults).toEqual([expect.stringMatching(fault)]);
  });

  // Attack: a rule book names a file that its author may not read.
  test.each(words`/etc/passwd.js ../pages.js ./a/../../pages.js https://example.com/x.js ./.js ./pages.json`)(
    'a path out of the folder, %s',
    async (path) => {
      const book = BOOK.replace('./pages.js', `"${path}"`);
      const outcome = await loadRuleBook(folderOf({ ...FILES, 'rules.yaml': book }));
      expect('faults' in outcome && outcome.faults.join('\n')).toMatch(
        /must be a module beside the rule book or in a folder/,
      );
    },
  );

  test('a link out of the folder', async () => {
    const secret = join(temporaryFolder('other'), 'secret.js');
    writeFileSync(secret, PAGES);
    const rules = folderOf({ 'rules.yaml': BOOK, 'bill.mjs': BILL });
    symlinkSync(secret, join(rules, '../pages.js'));
    const outcome = await loadRuleBook(rules);
    expect('faults' in outcome && outcome.faults.join('\n')).toMatch(
      /is a link that leads out of the rule book's folder/,
    );
  });
});

test('another text of a module makes another rule book', async () => {
  const one = await load(FILES);
  const other = await load({ ...FILES, 'pages.js': `${PAGES}// changed\n` });
  expect(other.ruleBook.hash).not.toBe(one.ruleBook.hash);
  expect((await load(FILES)).ruleBook.hash).toBe(one.ruleBook.hash);
});

test('a module that changes is read again, and a faulty one leaves the rule book in force', async () => {
  const path = folderOf(FILES);
  const first = await loadRuleBook(path);
  if ('faults' in first) throw new Error(first.faults.join('\n'));
  const books = new RuleBooks(first, () => loadRuleBook(path), Date.now);
  const watched = new WatchedFiles(
    [
      {
        get files() {
          return [path, ...transformFiles(books.current.ruleBook, path)];
        },
        reload: async () => (await books.reload()).faults,
        onFaults: () => {},
      },
    ],
    Number.POSITIVE_INFINITY,
  );
  await watched.check();
  const bill = join(path, '../bill.mjs');
  writeFileSync(bill, `${BILL}export const more = 1;\n`);
  await watched.check();
  const { hash } = books.current.ruleBook;
  expect([books.reloads, hash === first.rules.ruleBook.hash]).toEqual([1, false]);
  writeFileSync(bill, 'export const request = (');
  await watched.check();
  expect(books.refusal?.faults.join()).toContain('bill.mjs:1:1 transform: ');
  expect(books.current.ruleBook.hash).toBe(hash);
  // A book that names another module has others to watch.
  writeFileSync(path, BOOK.replaceAll('./bill.mjs', './pages.js'));
  await watched.check();
  await watched.check();
  writeFileSync(join(path, '../pages.js'), `${PAGES}// more\n`);
  await watched.check();
  expect([books.reloads, Object.keys(books.current.ruleBook.modules ?? {})]).toEqual([3, ['./pages.js']]);
});

describe('explained offline', () => {
  const explained = async (
    files: Readonly<Record<string, string>>,
    request: ExplainRequest,
  ): Promise<Explanation> => {
    const explanation = await offlineExplainer(await load(files))(request);
    if ('fault' in explanation) throw new Error(explanation.fault);
    return explanation;
  };

  test('the transform is called, and says what it made', async () => {
    const { verdict, v2Request, edits } = await explained(FILES, {
      method: 'GET',
      target: '/api/v1/bills?page=2',
    });
    expect(verdict).toBe('rewritten');
    expect(v2Request?.target).toBe(`/api/v2/bills?limit=20&cursor=${encodeURIComponent(btoa('offset:20'))}`);
    expect(edits.map(({ rule, from = '', path = '' }) => `${rule} ${from} ${path}`)).toEqual([
      'transform ?page ',
      'transform  ?limit',
      'transform  ?cursor',
    ]);
    const request = { method: 'POST', target: '/api/v1/bills/7', body: '{"data":{"sum":1}}' };
    const { v2Body } = await explained(FILES, request);
    expect(v2Body).toBe('{"total":1,"id":"7","by":["create_bill","POST",null]}');
  });

  test('its failure has the words of the error, which the log has not', async () => {
    const module = 'export const request = (body) => body.nothing.there;';
    const request = { method: 'POST', target: '/api/v1/bills/7', body: '{}' };
    expect(await explained({ ...FILES, 'bill.mjs': module }, request)).toMatchObject({
      verdict: 'refused',
      refusal: {
        code: 'transform-failed',
        detail: expect.stringMatching(/threw TypeError at line 1: Cannot read properties of undefined/),
      },
    });
  });

  test('check says that nothing can be derived from it', async () => {
    const { ruleBook } = await load(FILES);
    expect(ruleBookWarnings(ruleBook)).toContainEqual(
      expect.stringMatching(
        /^operation "list_bills": no tool can derive the bodies that \.\/pages\.js returns/,
      ),
    );
  });
});
