import { describe, expect, test } from 'vitest';
import type { EntriesPage } from '../../src/inspector/api.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { entrySchema } from '../../src/rewrite-log/entry-schema.ts';
import { bookIn } from '../rules/reading.ts';
import { gatewayFor } from '../support/gateway.ts';
import { inspected } from '../support/inspected.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok } from '../support/raw-server.ts';
import { served } from '../support/served.ts';

const MARK = 'S3CR3T';

function post(target: string, body: string, headers = ''): string {
  return `POST ${target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${MARK}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Requests that carry a secret in every place that no log may repeat. */
const requests: readonly (readonly [bytes: string, status: number])[] = [
  [post('/api/v1/clients', `{"data":{"name":"${MARK}"}}`), 200],
  [
    post(
      `/api/v1/orders/floor_plans?key=${MARK}&b=${MARK}`,
      `{"data":{"property":{"suburb":"${MARK}"},"x":"${MARK}"},"beside":"${MARK}"}`,
    ),
    200,
  ],
  [
    post(
      '/api/v1/orders/post_productions',
      `{"data":{"transition_type":"${MARK}","highlight_type":"${MARK}"}}`,
    ),
    200,
  ],
  [post('/api/v1/clients', `{"data":"${MARK}"}`), 422],
  [post('/api/v1/clients', `{"data":{"a":"${MARK}",}}`), 400],
  [post('/api/v1/clients', `{"data":1,"data":"${MARK}"}`), 400],
  [post(`/api/v2/clients?token=${MARK}`, `{"name":"${MARK}"}`), 200],
  [post(`/elsewhere?token=${MARK}`, `{"name":"${MARK}"}`), 404],
  [post(`/api/v1/../x?token=${MARK}`, `{"name":"${MARK}"}`), 400],
  [post(`http://u:${MARK}@h/api/v1/x?token=${MARK}`, `{}`), 400],
  [post('/api/v1/clients', '{}', `Cookie: ${MARK}\r\nX-Api-Version: 2025-99-99\r\n`), 200],
  [post('/api/v1/clients', '{}', `Authorization: Bearer ${MARK}2\r\n`), 400],
  [`GET /api/v1/x HTTP/1.1\r\nHost: g\r\nBroken ${MARK}: x\r\n\r\n`, 400],
];

test('no key, no value, no query value in any line or failure; every line is an entry', async () => {
  const { gateway, send } = await served(ok(`{"data":{"name":"${MARK}"}}`, `Set-Cookie: ${MARK}\r\n`));
  for (const [bytes, status] of requests) {
    const response = await send(bytes);
    expect([bytes, statusOf(response)]).toEqual([bytes, status]);
    if (status >= 400) expect(response.text).not.toContain(MARK);
  }
  await gateway.entry(requests.length);
  expect(gateway.lines.join('')).not.toContain(MARK);
  for (const entry of gateway.entries()) entrySchema.parse(entry);
  const clients = new Set(gateway.entries().map(({ client }) => client));
  expect([...clients].filter((client) => client !== undefined && !/^[0-9a-f]{16}$/.test(client))).toEqual([]);
});

test('a client is the same under every scheme spelling, and another under another key or secret', async () => {
  const { v2, gateway, send } = await served();
  const other = await gatewayFor(v2.origin, { parts: { clientSecret: 'another' } });
  const get = (key: string): string => `GET /api/v2/x HTTP/1.1\r\nHost: g\r\nAuthorization: ${key}\r\n\r\n`;
  for (const key of ['Bearer a', 'bearer a', 'Bearer b']) await send(get(key));
  await exchange(other.port, get('Bearer a'));
  await gateway.entry(3);
  const [first, second, third] = gateway.entries().map(({ client }) => client);
  expect(second).toBe(first);
  expect(third).not.toBe(first);
  expect((await other.entry()).client).not.toBe(first);
});

describe('lines cannot be forged', () => {
  test.each([
    ['GET /api/v2/x?a\u0085b HTTP/1.1\r\nHost: g\r\n\r\n', 'a next-line character'],
    ['GET /api/v2/\u009b31mx HTTP/1.1\r\nHost: g\r\n\r\n', 'a control sequence of terminals'],
    ['GET /x","status":200,"a":" HTTP/1.1\r\nHost: g\r\n\r\n', 'a quotation mark'],
    ['GET /x\\u000a{} HTTP/1.1\r\nHost: g\r\n\r\n', 'an escaped line feed'],
    [
      'GET /api/v2/x HTTP/1.1\r\nHost: g\r\nX-Request-Id: a"}{"b\r\n\r\n',
      'a request id with quotation marks',
    ],
  ])('%j: %s', async (bytes) => {
    const { gateway, send } = await served();
    await send(bytes);
    await gateway.entry();
    expect(gateway.lines).toHaveLength(1);
    expect(gateway.lines[0]).toMatch(/^[ -~]+\n$/);
    entrySchema.parse(gateway.entries()[0]);
  });
});

test('the operator sees the details of a bug, the client only that there was one', async () => {
  const { gateway, send } = await served();
  gateway.gateway.parts.v2.upstream.send = () => {
    throw new Error(`a bug in ${import.meta.filename}`);
  };
  const response = await send('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(statusOf(response)).toBe(500);
  expect(response.text).toContain('x-gateway-error: internal');
  expect(response.text).not.toMatch(/bug|\.ts|\/src\//);
  expect(gateway.surprises).toHaveLength(1);
  expect(gateway.gateway.inFlight).toBe(0);
});

test('a credential that a header rule moves is in no line, kept exchange, explanation or failure, under any name', async () => {
  const rules = new CompiledRuleBook(
    await bookIn(`
operations: { list: GET /things }
changes:
  - { id: key, summary: s, on: every, headers: [{ query: k, to: X-Own, as: 'id {}' }, { rename: X-Raw, to: X-Mine, as: 'v {}' }] }
  - { id: both, summary: s, on: [list], policies: { conflict: refuse }, headers: [{ rename: X-A, to: X-B }] }
`),
  );
  const gateway = await inspected({ capture: 'bodies' }, '{}', undefined, rules, 200);
  const get = (target: string, lines = ''): string =>
    `GET ${target} HTTP/1.1\r\nHost: g\r\nX-Raw: ${MARK}\r\n${lines}\r\n`;
  const sent: readonly (readonly [bytes: string, status: number])[] = [
    [get(`/api/v1/others?k=${MARK}&b=1`), 200],
    [get(`/api/v1/things?k=${MARK}`, 'X-A: 1\r\nX-B: 2\r\n'), 422],
    [get(`/api/v1/things?k=${MARK}&k=2`), 400],
    [get(`/api/v1/things?k=${MARK}%0d%0aX: y`), 400],
    [get(`/api/v1/things?k=${MARK}%0d%0aX`), 400],
  ];
  for (const [bytes, status] of sent) {
    const response = await exchange(gateway.port, bytes);
    expect([bytes, statusOf(response)]).toEqual([bytes, status]);
    expect(response.text).not.toContain(MARK);
  }
  expect(gateway.v2.received.join('')).toContain(`X-Own: id ${MARK}\r\n`);
  expect(gateway.v2.received.join('')).toContain(`X-Mine: v ${MARK}\r\n`);
  await gateway.entry(sent.length);
  const { entries } = await gateway.readJson<EntriesPage>('/entries');
  const kept = await Promise.all(entries.map(({ seq }) => gateway.readJson<object>(`/entries/${seq}`)));
  expect(kept.length).toBeGreaterThan(2);
  expect(JSON.stringify([gateway.lines, entries, kept])).not.toContain(MARK);
  const explained = await fetch(`${gateway.adminOrigin}/explain`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ method: 'GET', target: `/api/v1/others?k=${MARK}`, headers: [['X-Raw', MARK]] }),
  });
  const text = await explained.text();
  expect(text).toContain('X-Mine');
  expect(text).not.toContain(MARK);
});
