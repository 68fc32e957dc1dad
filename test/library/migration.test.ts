import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import {
  createMigration,
  type HeadersLike,
  type MigratedRequest,
  type Migration,
  readRuleBook,
} from '../../src/library/capture-gateway.ts';
import { finishWith } from '../../src/library/migration.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { bookIn } from '../rules/reading.ts';

async function shipped(): Promise<Migration> {
  return createMigration((await compiledShippedRuleBook()).ruleBook);
}

const TYPE = { 'content-type': 'application/json' };
const text = (body: Uint8Array | null): string => new TextDecoder().decode(body ?? new Uint8Array());

/** Migrates an order; fails if it is refused. */
function order(migration: Migration, headers: HeadersLike = TYPE): MigratedRequest {
  const body = '{"data":{"transition_type":"x"}}';
  const outcome = migration.request('POST', '/api/v1/orders/post_productions', headers, body);
  if (outcome.verdict === 'refused' || outcome.verdict === 'passed') throw new Error(outcome.verdict);
  return outcome;
}

test.each<[string, HeadersLike]>([
  ['Headers', new Headers({ ...TYPE, 'x-one': '1' })],
  ['a Map', new Map(Object.entries({ ...TYPE, 'x-one': '1' }))],
  ['pairs', Object.entries({ ...TYPE, 'x-one': '1' })],
  ['a flat list', ['content-type', 'application/json', 'x-one', '1']],
  ['an object', { ...TYPE, 'x-one': ['1'], 'x-none': undefined }],
])('header fields may be %s', async (_form, headers) => {
  const { headers: sent, body } = order(await shipped(), headers);
  expect(sent).toEqual([
    ['content-type', 'application/json'],
    ['x-one', '1'],
    ['x-api-version', '2025-01-01'],
  ]);
  expect(text(body)).toBe('{"highlight_type":"x"}');
});

test('an edit says what was changed, and a patch has no values', async () => {
  const outcome = order(await shipped());
  if (outcome.verdict !== 'rewritten') throw new Error(outcome.verdict);
  expect(outcome.operation).toBe('order_post_production');
  expect(outcome.edits.map(({ change, rule, path }) => `${change} ${rule} ${path}`)).toEqual([
    'body-wrapper unwrap ',
    'highlight-type rename /highlight_type',
  ]);
  expect(outcome.patch).toEqual([
    { op: 'move', from: '/data', path: '' },
    { op: 'move', from: '/transition_type', path: '/highlight_type' },
  ]);
});

test('a rule book that is written as JSON and read again does the same', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const again = createMigration(JSON.parse(JSON.stringify(ruleBook)));
  expect(order(again)).toEqual(order(createMigration(ruleBook)));
});

test('a response needs from its request only what JSON can carry, so that another process can rewrite it', async () => {
  const migration = await shipped();
  const { target, v1, host, edits } = order(migration, { ...TYPE, host: 'api.example' });
  const request = JSON.parse(JSON.stringify({ target, v1, host, edits }));
  const fields = { ...TYPE, location: 'https://api.example/api/v2/orders/1', etag: '"1"' };
  const response = migration.response(request, 201, fields, '{"data":{"highlight_type":"x"}}');
  expect(response.verdict).toBe('rewritten');
  expect(text(response.body)).toBe('{"data":{"transition_type":"x"}}');
  expect(new Map(response.headers)).toEqual(
    new Map([
      ['content-type', 'application/json'],
      ['location', 'https://api.example/api/v1/orders/1'],
      ['etag', expect.stringMatching(/^W\/"1;rules=[\w-]{8}"$/)],
      ['Content-Length', '32'],
    ]),
  );
});

test('a link to another host stays', async () => {
  const migration = await shipped();
  const request = order(migration, { ...TYPE, host: 'api.example' });
  const location = 'https://other.example/api/v2/orders/1';
  expect(migration.response(request, 201, { location }).headers).toEqual([['location', location]]);
});

test('a coded request is a 415 that names no coding, and a coded response stays as it is', async () => {
  const migration = await shipped();
  const coded = { ...TYPE, 'content-encoding': 'gzip' };
  const outcome = migration.request('POST', '/api/v1/clients', coded, gzipSync('{"data":{}}'));
  if (outcome.verdict !== 'refused') throw new Error(outcome.verdict);
  expect([outcome.status, outcome.code]).toEqual([415, 'unsupported-coding']);
  expect(outcome.headers).toContainEqual(['Accept-Encoding', 'identity']);
  const body = new Uint8Array(gzipSync('{"data":{"highlight_type":"x"}}'));
  const response = migration.response(order(migration), 200, coded, body);
  expect(response).toMatchObject({ verdict: 'unchanged', note: 'response-undecodable' });
  expect(response.body).toEqual(body);
  expect(response.headers).toContainEqual(['content-encoding', 'gzip']);
});

// `fetch` decodes bodies and leaves their fields.
test('a decoded body is rewritten, even if its Content-Encoding names a coding', async () => {
  const migration = createMigration((await compiledShippedRuleBook()).ruleBook);
  for (const coding of ['gzip', 'deflate', 'br']) {
    const coded = { ...TYPE, 'content-encoding': coding, 'content-length': '9' };
    const response = migration.response(order(migration), 200, coded, ' {"data":{"highlight_type":"x"}}');
    expect(new TextDecoder().decode(response.body ?? undefined)).toBe(' {"data":{"transition_type":"x"}}');
    expect(response.headers.flat().join()).not.toMatch(/content-encoding|,9/);
  }
});

test('bodies beyond the limits: a request is a 413, a response stays as it is', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const book = { ...ruleBook, limits: { ...ruleBook.limits, response: 10 } };
  const migration = createMigration(book, { bodyLimit: 20 });
  const outcome = migration.request('POST', '/api/v1/clients', TYPE, `{"data":{"name":"${'x'.repeat(20)}"}}`);
  expect(outcome).toMatchObject({ verdict: 'refused', status: 413, code: 'body-too-large' });
  const request = migration.request('GET', '/api/v1/orders/post_productions/1', {});
  if (request.verdict !== 'unchanged') throw new Error(request.verdict);
  const response = migration.response(request, 200, TYPE, '{"data":{"highlight_type":"x"}}');
  expect(response).toMatchObject({ verdict: 'unchanged', note: 'response-too-large' });
});

test('requests under /api/v2 pass, and others are refused as the gateway refuses them', async () => {
  const migration = await shipped();
  expect(migration.request('POST', '/api/v2/clients', TYPE, '{}')).toEqual({ verdict: 'passed' });
  expect(migration.request('GET', '/other', {})).toMatchObject({ verdict: 'refused', code: 'not-found' });
  expect(migration.request('GET', '/api/v1/../v2/x', {})).toMatchObject({ code: 'bad-target', status: 400 });
  const smuggled = { 'content-length': '3', 'transfer-encoding': 'chunked' };
  expect(migration.request('POST', '/api/v1/x', smuggled, 'abc')).toMatchObject({ code: 'bad-request' });
});

test.each([
  ['newcomers', 'newcomers: { from: 2020-01-01, answer: refuse }'],
  ['a warning of newcomers', 'newcomers: { from: 2020-01-01, answer: warn, guide: https://x.test/guide }'],
  ['a brownout', 'brownouts: [{ id: now, from: 2020-01-01 }]'],
  ['an end', 'sunset: { at: 2020-01-01, after: gone }'],
])('the library refuses no client for %s of the rule book', async (_, part) => {
  const ruleBook = await bookIn(`operations: { order: POST /orders }
changes: [{ id: a, summary: The body has no data., on: every, request: [{ unwrap: data }] }]
${part}
`);
  const migration = createMigration(ruleBook);
  const request = migration.request(
    'POST',
    '/api/v1/orders',
    { ...TYPE, authorization: 'Bearer new' },
    '{"data":{"a":1}}',
  );
  if (request.verdict !== 'rewritten') throw new Error(request.verdict);
  expect(text(request.body)).toBe('{"a":1}');
  const response = migration.response(request, 201, TYPE, '{}');
  expect([response.status, response.headers.filter(([name]) => name === 'Link')]).toEqual([201, []]);
});

test('the dates of V1’s end are in responses and refusals', async () => {
  const ruleBook = await bookIn(`
version: 2025-01-01
operations: { create_client: POST /clients }
changes: [{ id: body-wrapper, summary: No wrapper., on: every, request: [{ unwrap: data }] }]
deprecation: 2026-01-01
sunset: 2027-01-01
`);
  const migration = createMigration(ruleBook);
  const request = migration.request('POST', '/api/v1/clients', TYPE, '{"data":{}}');
  if (request.verdict !== 'rewritten') throw new Error(request.verdict);
  const names = ({ headers }: { readonly headers: readonly (readonly string[])[] }): readonly unknown[] =>
    headers.map(([name]) => name).filter((name) => name === 'Deprecation' || name === 'Sunset');
  expect(names(migration.response(request, 201, TYPE, '{"data":{}}'))).toEqual(['Deprecation', 'Sunset']);
  const refused = migration.request('POST', '/api/v1/clients', TYPE, '{');
  if (refused.verdict !== 'refused') throw new Error(refused.verdict);
  expect(names(refused)).toEqual(['Deprecation', 'Sunset']);
});

test.each([{ 'content-type': 'text/plain' }, {}, { 'content-type': 'text/plain', 'content-length': '28' }])(
  'a body that has arrived whole is not a stream, whatever its fields say: %j',
  async (fields) => {
    const migration = createMigration((await compiledShippedRuleBook()).ruleBook);
    const request = migration.request('GET', '/api/v1/orders/post_productions/1', {});
    if (request.verdict !== 'unchanged') throw new Error(request.verdict);
    const body = '{"data":{"highlight_type":1}}';
    const response = migration.response(request, 200, fields, body);
    expect('body' in response && text(response.body)).toBe('{"data":{"transition_type":1}}');
    expect(migration.startResponse(request, 200, fields).action).toBe(
      'content-length' in fields ? 'collect' : 'forward',
    );
  },
);

test('all faults of a rule book are reported', async () => {
  const reading = await readRuleBook('version: today\noperations: 7\n', 'mine.yaml');
  expect(reading.ok).toBe(false);
  expect(!reading.ok && reading.faults.length).toBeGreaterThan(1);
  expect(!reading.ok && reading.faults[0]).toMatchObject({ file: 'mine.yaml', line: 1 });
});

test('an invalid body, rule book or limit is refused with a sentence, and never ignored', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const migration = createMigration(ruleBook);
  const body = JSON.parse('{"data":{}}');
  expect(() => migration.request('POST', '/api/v1/clients', TYPE, body)).toThrow(
    /^A body is a Uint8Array, text/,
  );
  for (const wrong of [undefined, 'changes:', { ok: true, ruleBook }])
    expect(() => createMigration(wrong as never)).toThrow(/^A migration needs a checked rule book/);
  for (const bodyLimit of ['10KiB', Number.NaN, -1])
    expect(() => createMigration(ruleBook, { bodyLimit } as never)).toThrow(
      /^bodyLimit is a number of bytes, not /,
    );
});

test.each([
  ['application/json', 'POST /api/v1/gone', '{"a":1}', 'GET /api/v2/gone?q=1', null],
  ['application/x-ndjson', 'POST /api/v1/kept', '{"a":1}\n', 'POST /api/v2/kept?q=1', '{"b":1}\n'],
  ['text/plain', 'POST /api/v1/kept', 'a', 'POST /api/v2/kept?q=1', 'a'],
])('a transform makes the query of every request of its operation: %s', async (type, line, body, ...sent) => {
  const ruleBook = await bookIn(`operations:
  gone: { match: POST /gone, to: GET /gone, transform: ./t.js }
  kept: { match: POST /kept, transform: ./t.js }
changes: [{ id: a, summary: Renamed., on: [gone, kept], request: [{ rename: a, to: b }] }]
`);
  const migration = createMigration(ruleBook, {
    transforms: { './t.js': { request: () => ({ query: 'q=1' }) } },
  });
  const [method = '', target = ''] = line.split(' ');
  const outcome = migration.request(method, target, { 'content-type': type }, body);
  if (outcome.verdict !== 'rewritten') throw new Error(outcome.verdict);
  const made = outcome.body === null ? null : text(outcome.body);
  expect([`${outcome.method} ${outcome.target}`, made]).toEqual(sent);
});

test('what a rule throws on a decoded body reaches the caller', async () => {
  const started = {
    coding: 'gzip' as const,
    settle: (): never => {
      throw new Error('a bug');
    },
  };
  await expect(finishWith(started, gzipSync('{}'), 100)).rejects.toThrow('a bug');
});
