import { describe, expect, test } from 'vitest';
import { entrySchema } from '../../src/rewrite-log/entry-schema.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';

const mark = 'S3CR3T';

function post(target: string, body: string, headers = ''): string {
  return `POST ${target} HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${mark}\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Requests that carry a secret in every place that no log may repeat. */
const requests: readonly (readonly [bytes: string, status: number])[] = [
  [post('/api/v1/clients', `{"data":{"name":"${mark}"}}`), 200],
  [
    post(
      `/api/v1/orders/floor_plans?key=${mark}&b=${mark}`,
      `{"data":{"property":{"suburb":"${mark}"},"x":"${mark}"},"beside":"${mark}"}`,
    ),
    200,
  ],
  [
    post(
      '/api/v1/orders/post_productions',
      `{"data":{"transition_type":"${mark}","highlight_type":"${mark}"}}`,
    ),
    200,
  ],
  [post('/api/v1/clients', `{"data":"${mark}"}`), 422],
  [post('/api/v1/clients', `{"data":{"a":"${mark}",}}`), 400],
  [post('/api/v1/clients', `{"data":1,"data":"${mark}"}`), 400],
  [post(`/api/v2/clients?token=${mark}`, `{"name":"${mark}"}`), 200],
  [post(`/elsewhere?token=${mark}`, `{"name":"${mark}"}`), 404],
  [post(`/api/v1/../x?token=${mark}`, `{"name":"${mark}"}`), 400],
  [post(`http://u:${mark}@h/api/v1/x?token=${mark}`, `{}`), 400],
  [post('/api/v1/clients', '{}', `Cookie: ${mark}\r\nX-Api-Version: 2025-99-99\r\n`), 200],
  [post('/api/v1/clients', '{}', `Authorization: Bearer ${mark}2\r\n`), 400],
  [`GET /api/v1/x HTTP/1.1\r\nHost: g\r\nBroken ${mark}: x\r\n\r\n`, 400],
];

test('no key, no value, no query value in any line or failure; every line is an entry', async () => {
  const v2 = await rawServer((socket) =>
    socket.write(ok(`{"data":{"name":"${mark}"}}`, `Set-Cookie: ${mark}\r\n`)),
  );
  const gateway = await gatewayFor(v2.origin);
  for (const [bytes, status] of requests) {
    const answer = await exchange(gateway.port, bytes);
    expect([bytes, statusOf(answer)]).toEqual([bytes, status]);
    if (status >= 400) expect(answer.text).not.toContain(mark);
  }
  await gateway.entry(requests.length);
  expect(gateway.lines.join('')).not.toContain(mark);
  for (const entry of gateway.entries()) entrySchema.parse(entry);
  const clients = new Set(gateway.entries().map(({ client }) => client));
  expect([...clients].filter((client) => client !== undefined && !/^[0-9a-f]{16}$/.test(client))).toEqual([]);
});

test('a client is the same under every scheme spelling, and another under another key or secret', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  const other = await gatewayFor(v2.origin, { parts: { clientSecret: 'another' } });
  const get = (key: string): string => `GET /api/v2/x HTTP/1.1\r\nHost: g\r\nAuthorization: ${key}\r\n\r\n`;
  for (const key of ['Bearer a', 'bearer a', 'Bearer b']) await exchange(gateway.port, get(key));
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
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    await exchange(gateway.port, bytes);
    await gateway.entry();
    expect(gateway.lines).toHaveLength(1);
    expect(gateway.lines[0]).toMatch(/^[ -~]+\n$/);
    entrySchema.parse(gateway.entries()[0]);
  });
});

test('a bug is told to the operator, and to the client only that there was one', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  gateway.gateway.parts.upstream.send = () => {
    throw new Error(`a bug in ${import.meta.filename}`);
  };
  const answer = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n', 1000);
  expect(statusOf(answer)).toBe(500);
  expect(answer.text).toContain('x-gateway-error: internal');
  expect(answer.text).not.toMatch(/bug|\.ts|\/src\//);
  expect(gateway.surprises).toHaveLength(1);
  expect(gateway.gateway.inFlight).toBe(0);
});
