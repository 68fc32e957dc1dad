import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createClientHash } from '../../src/node/runtime.ts';
import { accountOf } from '../../src/inspector/entries/entry-words.ts';
import type { OwnReport } from '../../src/report/own-report.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { gatewayFor } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { inspected, type Inspected } from '../support/inspected.ts';

const clientOf = createClientHash('a secret of the tests');
const ON = { 'self-service': 'on' };
const PATH = '/api/v1/migration';
const ORDER = '{"data":{"transition_type":"x"}}';
const HTML = { accept: 'text/html' };

function ask(
  { origin }: Inspected,
  key?: string,
  headers: Record<string, string> = {},
  method = 'GET',
  path = PATH,
): Promise<Response> {
  const authorization: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return fetch(`${origin}${path}`, { method, headers: { ...authorization, ...headers } });
}

async function reportOf(gateway: Inspected, key: string): Promise<OwnReport> {
  const response = await ask(gateway, key);
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: OwnReport }).data;
}

const send = (gateway: Inspected, key: string, path: string, body: string): Promise<number> =>
  gateway.post(path, body, { authorization: `Bearer ${key}` });

describe('a V1 client reads its own report', () => {
  test('each of two clients sees its own calls and none of the other, and nothing reaches V2', async () => {
    const gateway = await inspected(ON);
    await send(gateway, 'acme', '/orders/post_productions', ORDER);
    await send(gateway, 'acme', '/orders/post_productions', ORDER);
    await send(gateway, 'beta', '/clients', '{"data":{"name":"B","beta_only":1}}');
    await gateway.entry(3);
    const sent = gateway.v2.received.length;
    const [acme, beta] = [await reportOf(gateway, 'acme'), await reportOf(gateway, 'beta')];
    expect(acme.report).toMatchObject({ client: clientOf('acme'), v1: 2, class: 'field-work' });
    expect(acme.guide.calls.map(({ name }) => name)).toEqual(['order_post_production']);
    expect(acme.guide.calls[0]?.bodies[0]).toMatchObject({
      isVerified: true,
      evidence: 'Verified: V2 accepted a body with these members.',
      after: expect.stringContaining('highlight_type') as string,
    });
    expect(beta.report).toMatchObject({ client: clientOf('beta'), v1: 1, class: 'unwrap-only' });
    expect(JSON.stringify(acme)).not.toMatch(/beta|create_client/);
    expect(JSON.stringify(beta)).not.toMatch(/post_production|transition/);
    expect(acme.report).not.toHaveProperty('share');
    expect(gateway.v2.received.length).toBe(sent);
  });

  test('a body that V2 refused is marked: not verified', async () => {
    const v2 = '{"errors":[{"status":"422","source":{"pointer":"/name"}}]}';
    const gateway = await inspected(ON, v2, undefined, undefined, 422);
    await send(gateway, 'acme', '/clients', '{"data":{"name":"B"}}');
    await gateway.entry();
    const { guide } = await reportOf(gateway, 'acme');
    expect(guide.calls[0]?.bodies[0]).toMatchObject({
      isVerified: false,
      evidence: expect.stringMatching(/^Not verified/) as string,
    });
    const page = await (await ask(gateway, 'acme', HTML)).text();
    expect(page).toContain(
      'Members of requests or responses have to change before V2 can be used. V2 did not accept the last create_client: 422 at /name.',
    );
    expect(page).not.toContain('Only the');
  });

  test('a page has names of clients as text, and may run nothing', async () => {
    const gateway = await inspected(ON);
    await send(gateway, 'acme', '/clients', '{"data":{"<img src=x onerror=alert(1)>\\u202e":1}}');
    await gateway.entry();
    const response = await ask(gateway, 'acme', HTML);
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(response.headers.get('cache-control')).toBe('no-store');
    const page = await response.text();
    expect(page).toContain('&#60;img src=x');
    expect(page).not.toMatch(/<img|<script|\u202e/);
    expect(page).toContain("1 request to V1's address, at ");
  });

  test('HEAD has the fields of GET and no body; the query is ignored', async () => {
    const gateway = await inspected(ON);
    await send(gateway, 'acme', '/clients', '{"data":{}}');
    await gateway.entry();
    const head = await ask(gateway, 'acme', HTML, 'HEAD', `${PATH}?x=1`);
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(Number(head.headers.get('content-length'))).toBeGreaterThan(500);
    expect(await head.text()).toBe('');
  });

  test('the log says: route none, served, nothing was sent; the report does not count it as use of V1', async () => {
    const gateway = await inspected(ON);
    await send(gateway, 'acme', '/clients', '{"data":{}}');
    await gateway.entry();
    expect((await reportOf(gateway, 'acme')).report.v1).toBe(1);
    const entry = await gateway.entry(2);
    expect(entry).toMatchObject({ route: 'none', verdict: 'served', status: 200, client: clientOf('acme') });
    expect(entry.upstreamPath).toBeUndefined();
    expect(accountOf(entry)).toEqual([
      'The client requested its own report; the gateway responded with 200. Nothing was sent to V1 or V2.',
    ]);
    expect((await reportOf(gateway, 'acme')).report.v1).toBe(1);
  });
});

test('a report says on how few requests its guide rests, and not that counting begins with a restart', async () => {
  const log = join(temporaryFolder('own-report'), 'rewrite.log');
  const client = clientOf('acme');
  const before = [0, 1].map((n) => entryLine({ ...sampleEntry(n, Date.now() - 3_600_000), client }));
  writeFileSync(log, before.join(''));
  const gateway = await inspected({ ...ON, 'log-file': log });
  await gateway.readJson('/report');
  const page = async (): Promise<string> => (await ask(gateway, 'acme', HTML)).text();
  const first = await page();
  expect(first).toContain("2 requests to V1's address, the first at ");
  expect(first).toContain('The gateway no longer keeps any of these requests, so it shows no examples: ');
  expect(first).not.toContain('restart');
  await send(gateway, 'acme', '/clients', '{"data":{}}');
  await gateway.entry(2);
  expect(await page()).toContain('What follows is from the latest 1 request alone; ');
});

test('a report leaves out what V2 does not know by the requests of all clients, without their counts', async () => {
  const gateway = await inspected(ON);
  for (const [n, client] of ['acme', 'beta', 'beta', 'beta'].entries())
    gateway.operators.observer.observe({
      ...sampleEntry(n, Date.UTC(2026, 10, 21)),
      client: clientOf(client),
      operation: 'create_client',
      path: '/api/v1/clients',
      bytesIn: 40,
      mode: 'observe',
      verdict: 'passed',
      edits: [],
      attributes: ['/name', '/reference'],
      origin: 'v1',
      status: 201,
      deprecated: ['/reference'],
      would: { verdict: 'unchanged', v2: 'valid' },
      ruleBook: 'an earlier one',
    });
  const { guide, report } = await reportOf(gateway, 'acme');
  const moves = guide.calls[0]?.bodies[0]?.moves;
  expect(moves).toEqual([{ from: '/reference', remark: 'is not known to V2: leave it out' }]);
  // As on the operators' page, dry runs under other rules say nothing about those in force.
  expect([report.bodyChecks, guide.dryRuns.judged]).toEqual([[], 0]);
});

describe('a request without the key of a client learns nothing', () => {
  test('no key is 401, in the envelope of the service', async () => {
    const gateway = await inspected(ON);
    for (const headers of [{}, { authorization: 'Bearer ' }] as Record<string, string>[]) {
      const response = await ask(gateway, undefined, headers);
      expect(response.status).toBe(401);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({ errors: [{ status: '401', code: 'no-api-key' }] });
    }
  });

  test('a key that was never seen is 404; after many of them the address waits, with a known key too', async () => {
    const gateway = await inspected(ON);
    await send(gateway, 'acme', '/clients', '{"data":{}}');
    await gateway.entry();
    const first = await ask(gateway, 'guess');
    expect(first.status).toBe(404);
    expect(await first.json()).toMatchObject({
      errors: [
        {
          code: 'not-seen',
          detail: expect.stringMatching(
            /^The gateway has seen no V1 request with this API key since /,
          ) as string,
        },
      ],
    });
    for (let guess = 1; guess < 20; guess += 1) await (await ask(gateway, `guess-${guess}`)).text();
    for (const key of ['guess-more', 'acme']) {
      const response = await ask(gateway, key);
      expect(response.status).toBe(429);
      expect(await response.json()).toMatchObject({ errors: [{ code: 'too-many-requests' }] });
    }
  });

  test('unknown keys that are tried at once share the limit of their address', async () => {
    let asked = 0;
    const gateway = await gatewayFor('http://127.0.0.1:9', {
      flags: ON,
      parts: {
        ownReport: async () => {
          asked += 1;
          await until(() => asked === 40);
          return { kind: 'not-seen', since: '2026-11-30T00:00:00Z' };
        },
      },
    });
    const tried = Array.from({ length: 40 }, (_, at) =>
      fetch(gateway.origin + PATH, { headers: { authorization: `Bearer guess-${at}` } }),
    );
    const statuses = (await Promise.all(tried)).map(({ status }) => status);
    expect(Object.groupBy(statuses, (status) => status)).toEqual({
      404: Array(20).fill(404),
      429: Array(20).fill(429),
    });
  });

  test('behind a trusted proxy, one address that tries unknown keys does not lock out another', async () => {
    const gateway = await inspected({ ...ON, 'trusted-proxies': '127.0.0.1' });
    await send(gateway, 'acme', '/clients', '{"data":{}}');
    await gateway.entry();
    const from = (address: string, key: string): Promise<Response> =>
      ask(gateway, key, { 'x-forwarded-for': address });
    for (let guess = 0; guess < 20; guess += 1) await (await from('192.0.2.1', `guess-${guess}`)).text();
    expect((await from('192.0.2.1', 'acme')).status).toBe(429);
    expect((await from('192.0.2.2', 'acme')).status).toBe(200);
  });

  test('the limit of a client is its own, and says how long to wait', async () => {
    const gateway = await inspected(ON);
    for (const key of ['acme', 'beta']) await send(gateway, key, '/clients', '{"data":{}}');
    await gateway.entry(2);
    for (let read = 0; read < 6; read += 1) expect((await ask(gateway, 'acme')).status).toBe(200);
    const limited = await ask(gateway, 'acme');
    expect(limited.status).toBe(429);
    const { meta } = (await limited.json()) as { meta: { reset: number } };
    expect(meta.reset).toBeGreaterThan(0);
    expect(meta.reset).toBeLessThanOrEqual(10);
    expect(limited.headers.get('retry-after')).toBe(String(meta.reset));
    expect((await ask(gateway, 'beta')).status).toBe(200);
  });

  test('other methods get 405; other paths go to V2, and so do all if the setting is not set', async () => {
    const gateway = await inspected(ON);
    const posted = await ask(gateway, 'acme', {}, 'POST');
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(gateway.v2.received).toEqual([]);
    expect((await ask(gateway, 'acme', {}, 'GET', `${PATH}s`)).status).toBe(201);
    expect((await ask(gateway, 'acme', {}, 'GET', '/api/v2/migration')).status).toBe(201);
    const off = await inspected();
    expect((await ask(off, 'acme')).status).toBe(201);
    expect(off.v2.received.join('')).toContain('GET /api/v2/migration ');
  });
});

describe('Link', () => {
  test('responses to V1 clients point to the report where the setting says so; those to V2 clients never', async () => {
    const gateway = await inspected({
      'self-service': 'link:/api/v1/my/move',
    });
    expect((await ask(gateway, 'acme', {}, 'GET', '/api/v1/x')).headers.get('link')).toBe(
      '</api/v1/my/move>; rel="help"',
    );
    expect((await ask(gateway, 'acme', {}, 'GET', '/api/v2/x')).headers.get('link')).toBeNull();
    expect((await ask(gateway, 'acme', {}, 'GET', '/api/v1/my/move')).status).toBe(200);
    const quiet = await inspected(ON);
    expect((await ask(quiet, 'acme', {}, 'GET', '/api/v1/x')).headers.get('link')).toBeNull();
  });
});
