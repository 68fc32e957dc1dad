import { describe, expect, test } from 'vitest';
import type { EntriesPage } from '../../src/inspector/api.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { gatewayFor } from '../support/gateway.ts';
import { inspected } from '../support/inspected.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';

const KEY = 'S3CR3T';

const rulesOf = async (book: string): Promise<CompiledRuleBook> =>
  new CompiledRuleBook(await bookIn(`version: 2025-01-01\n${book}`));

const get = (target: string, headers = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: g\r\n${headers}Connection: close\r\n\r\n`;

/** A change that moves the key, in the words of a book. */
const change = (rules: string): string => `changes: [{ id: k, summary: s, on: every, ${rules} }]`;

describe.each<readonly [name: string, book: string, v1: string, v2: string]>([
  [
    'the same field in both versions',
    'client: { header: X-Tenant }\nchanges: []',
    get('/api/v1/x', `x-tenant: ${KEY}\r\n`),
    get('/api/v2/x', `X-Tenant: ${KEY}\r\n`),
  ],
  [
    'a field that V2 calls otherwise',
    `client: { header: X-Tenant }\n${change('headers: [{ rename: X-Tenant, to: X-Org }]')}`,
    get('/api/v1/x', `X-Tenant: ${KEY}\r\n`),
    get('/api/v2/x', `X-Org: ${KEY}\r\n`),
  ],
  [
    'a parameter',
    'client: { query: acct }\nchanges: []',
    get(`/api/v1/x?a=1&acct=${KEY}`),
    get(`/api/v2/x?acct=${KEY}`),
  ],
  [
    'a parameter that is encoded',
    'client: { query: acct }\nchanges: []',
    get('/api/v1/x?%61cct=S3C%523T'),
    get(`/api/v2/x?acct=${KEY}`),
  ],
  [
    'a parameter that V2 calls otherwise',
    `client: { query: acct }\n${change('query: [{ rename: acct, to: org }]')}`,
    get(`/api/v1/x?acct=${KEY}`),
    get(`/api/v2/x?org=${KEY}`),
  ],
  [
    'a parameter that becomes a field',
    `client: { query: acct }\n${change("headers: [{ query: acct, to: Authorization, as: 'Bearer {}' }]")}`,
    get(`/api/v1/x?acct=${KEY}`),
    get('/api/v2/x', `Authorization: Bearer ${KEY}\r\n`),
  ],
  [
    'a field with a scheme of its own',
    `client: { header: X-Tenant }\n${change("headers: [{ rename: X-Tenant, to: Authorization, as: 'Key {}' }]")}`,
    get('/api/v1/x', `X-Tenant: ${KEY}\r\n`),
    get('/api/v2/x', `Authorization: Key ${KEY}\r\n`),
  ],
])('%s', (_name, book, v1, v2) => {
  test('a client is the same in both versions, its key is in no log, and a client without a key there is unknown', async () => {
    const server = await rawServer((socket) =>
      socket.write(ok('{}', `Location: /api/v2/y?acct=${KEY}&org=${KEY}\r\n`)),
    );
    const gateway = await gatewayFor(server.origin, { rules: await rulesOf(book) });
    const other = await gatewayFor(server.origin);
    await exchange(gateway.port, v1);
    await exchange(gateway.port, v2);
    await exchange(gateway.port, v1.replace('S3C', 'T3C'));
    await exchange(other.port, get('/api/v2/x', `Authorization: Bearer ${KEY}\r\n`));
    await gateway.entry(3);
    const [one, two, third] = gateway.entries();
    // A key has one hash in any field, so that clients stay known when the rule book changes the field.
    expect(one?.client).toBe((await other.entry()).client);
    expect(two?.client).toBe(one?.client);
    expect(third?.client).toMatch(/^[0-9a-f]{16}$/);
    expect(third?.client).not.toBe(one?.client);
    expect(gateway.lines.join('')).not.toMatch(/S3C/);
    await exchange(gateway.port, get('/api/v1/x', 'Authorization: Basic abc\r\n'));
    expect((await gateway.entry(4)).client).toBeUndefined();
    expect(gateway.surprises).toEqual([]);
  });
});

test('two different keys are refused, because two readers could take different ones; a repeated key is one', async () => {
  const server = await rawServer((socket) => socket.write(ok()));
  const inHeader = await gatewayFor(server.origin, {
    rules: await rulesOf('client: { header: X-Tenant }\nchanges: []'),
  });
  const inQuery = await gatewayFor(server.origin, {
    rules: await rulesOf('client: { query: acct }\nchanges: []'),
  });
  const [a, b] = ['X-Tenant: a\r\n', 'x-tenant: b\r\n'];
  expect(statusOf(await exchange(inHeader.port, get('/api/v1/x', a + b)))).toBe(400);
  expect(statusOf(await exchange(inHeader.port, get('/api/v2/x', a + b)))).toBe(400);
  expect(statusOf(await exchange(inHeader.port, get('/api/v1/x', a + a)))).toBe(200);
  expect(statusOf(await exchange(inQuery.port, get('/api/v1/x?acct=a&acct=b')))).toBe(400);
  expect(statusOf(await exchange(inQuery.port, get('/api/v1/x?acct=a&acct=a')))).toBe(200);
});

test.each<readonly [field: string, target: string, headers: string]>([
  ['header: X-Org', '/api/v1/x', `X-Org: ${KEY}\r\n`],
  ['query: org', `/api/v1/x?a=1&org=${KEY}`, `Referer: /y?org=${KEY}\r\n`],
])(
  'a key in %s is in no kept exchange, export or explanation, also with capture',
  async (field, target, headers) => {
    const rules = await rulesOf(`client: { ${field} }\nchanges: []`);
    const gateway = await inspected({ capture: 'bodies' }, '{}', undefined, rules, 200);
    await exchange(gateway.port, get(target, headers));
    await exchange(gateway.port, get(`/api/v1/../x${target.slice(9)}`, headers));
    await gateway.entry(2);
    expect(gateway.v2.received.join('')).toContain(KEY);
    const { entries } = await gateway.readJson<EntriesPage>('/entries');
    const shown = await Promise.all(
      entries.flatMap(({ seq }) =>
        ['', '/har', '/case'].map(async (what) =>
          (await fetch(`${gateway.adminOrigin}/entries/${seq}${what}`)).text(),
        ),
      ),
    );
    const explained = await fetch(`${gateway.adminOrigin}/explain`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        method: 'GET',
        target,
        headers: field.startsWith('header') ? [['X-Org', KEY]] : [],
      }),
    });
    expect(entries).toHaveLength(2);
    expect(explained.status).toBe(200);
    expect(JSON.stringify([gateway.lines, entries, shown, await explained.text()])).not.toContain(KEY);
    if (field.startsWith('header')) expect(shown.join('')).toContain('X-Org: $API_KEY');
  },
);

test('a client reads its own report with its key, and without it learns where the key belongs', async () => {
  const rules = await rulesOf('client: { header: X-Tenant }\nchanges: []');
  const gateway = await inspected({ 'self-service': 'on' }, '{}', undefined, rules, 200);
  await exchange(gateway.port, get('/api/v1/x', `X-Tenant: ${KEY}\r\n`));
  await gateway.entry();
  const mine = await exchange(gateway.port, get('/api/v1/migration', `X-Tenant: ${KEY}\r\n`));
  expect(statusOf(mine)).toBe(200);
  expect(mine.text).toContain('Vary: Accept, X-Tenant\r\n');
  const nobody = await exchange(gateway.port, get('/api/v1/migration', `Authorization: Bearer ${KEY}\r\n`));
  expect(statusOf(nobody)).toBe(401);
  expect(nobody.text).toContain('WWW-Authenticate: ApiKey\r\n');
  expect(nobody.text).toContain('Send the API key as X-Tenant.');
});

test('modes follow the client that the field names', async () => {
  const server = await rawServer((socket) => socket.write(ok()));
  const probe = await gatewayFor(server.origin, {
    rules: await rulesOf('client: { header: X-Tenant }\nchanges: []'),
  });
  await exchange(probe.port, get('/api/v1/x', `X-Tenant: ${KEY}\r\n`));
  const { client = '' } = await probe.entry();
  const text = `version: 2025-01-01\nclient: { header: X-Tenant }\nchanges: []\nclients: { acme: '${client}' }\nsunset: { at: '2025-01-02', after: gone, clients: [acme] }`;
  const gateway = await gatewayFor(server.origin, { rules: new CompiledRuleBook(await bookIn(text)) });
  expect(statusOf(await exchange(gateway.port, get('/api/v1/x', `X-Tenant: ${KEY}\r\n`)))).toBe(410);
  expect(statusOf(await exchange(gateway.port, get('/api/v1/x', `Authorization: Bearer ${KEY}\r\n`)))).toBe(
    200,
  );
});
