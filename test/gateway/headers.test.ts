import { describe, expect, test } from 'vitest';
import { entrySchema } from '../../src/rewrite-log/entry-schema.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { served } from '../support/served.ts';

const V1 = 'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';

/** The header lines that V2 got, without those that every request has. */
function linesOf(received: string | undefined): string[] {
  return (
    (received ?? '')
      .split('\r\n\r\n', 1)[0]
      ?.split('\r\n')
      .slice(1)
      .filter((line) => !/^(?:host|connection|via):/.test(line)) ?? []
  );
}

test('headers cross to V2 with order, repetition, spelling and bytes; nothing is invented', async () => {
  const { v2, send } = await served();
  const lines = [
    'X-Z: 1',
    'Cookie: a=1',
    'x-a: \u00e9\u00ff',
    'Cookie: b=2',
    'X-EMPTY:',
    'Accept-Encoding: br',
    'X-Z: 2',
  ];
  await send(`GET /api/v2/x HTTP/1.1\r\nHost: g\r\n${lines.join('\r\n')}\r\n\r\n`);
  expect(linesOf(v2.received[0])).toEqual(lines.map((line) => line.replace(/:$/, ': ')));
  expect(v2.received[0]).toContain(`host: 127.0.0.1:${v2.port}\r\n`);
});

test('headers cross to the client with order, repetition, spelling and bytes; nothing is invented', async () => {
  const lines = [
    'X-Z: 1',
    'Set-Cookie: a=1',
    'Date: Sat, 01 Jan 2000 00:00:00 GMT',
    'x-a: \u00e9',
    'Set-Cookie: b=2',
    'X-Z: 2',
    'Content-Encoding: br',
    'Content-Length: 2',
  ];
  const { send } = await served(
    Buffer.from(`HTTP/1.1 299 Odd Words\r\n${lines.join('\r\n')}\r\n\r\nhi`, 'latin1'),
  );
  const { text } = await send('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  const [head = ''] = text.split('\r\n\r\n');
  expect(head.split('\r\n')[0]).toBe('HTTP/1.1 299 Odd Words');
  expect(
    head
      .split('\r\n')
      .slice(1)
      .filter((line) => !/^(?:Connection|Keep-Alive|Via):/.test(line)),
  ).toEqual(lines);
});

test('a response loses the fields of its connection, and those that its Connection lists', async () => {
  const { send } = await served(
    'HTTP/1.1 200 OK\r\nConnection: X-Gone, keep-alive\r\nKeep-Alive: timeout=77\r\nX-Gone: 1\r\nProxy-Authenticate: x\r\nX-Stays: 1\r\nContent-Length: 0\r\n\r\n',
  );
  const { text } = await send('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(text).toContain('X-Stays: 1');
  expect(text).not.toMatch(/x-gone|timeout=77|proxy-authenticate/i);
});

test('a path prefix of the origin stands before every target, and a query crosses with its bytes', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(`${v2.origin}/some/base/`);
  await exchange(gateway.port, 'GET /api/v1/x?a=%2F..%2f&b[]=|"{}&? HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(v2.received[0]).toMatch(
    /^GET \/some\/base\/api\/v2\/x\?a=%2F\.\.%2f&b\[\]=\|"\{\}&\? HTTP\/1\.1\r\n/,
  );
  await exchange(gateway.port, 'GET /api/v2? HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(v2.received.join('')).toContain('GET /some/base/api/v2? HTTP/1.1\r\n');
});

describe('x-api-version of migrated requests', () => {
  test.each([
    ['', ['x-api-version: 2025-01-01'], 'absent'],
    ['X-Api-Version: 2026-02-28\r\n', ['X-Api-Version: 2026-02-28'], 'client'],
    ['X-Api-Version: 2025-02-29\r\n', ['X-Api-Version: 2025-01-01'], 'invalid'],
    ['X-Api-Version: 2024-12-31\r\n', ['X-Api-Version: 2025-01-01'], 'invalid'],
    ['X-Api-Version: latest\r\n', ['X-Api-Version: 2025-01-01'], 'invalid'],
    ['X-Api-Version:\r\n', ['X-Api-Version: 2025-01-01'], 'invalid'],
  ])('%j', async (given, sent, why) => {
    const { v2, gateway, send } = await served();
    await send(`${V1}${given}Content-Length: 11\r\n\r\n{"data":{}}`);
    expect(linesOf(v2.received[0]).filter((line) => /^x-api-version:/i.test(line))).toEqual(sent);
    expect((await gateway.entry()).apiVersion).toEqual({ sent: sent[0]?.slice(15), why });
  });

  const field = { header: 'x-rev', form: 'text' } as const;
  test.each<
    readonly [
      version: string | undefined,
      form: 'date' | 'text',
      given: string,
      sent: string[],
      why: string | undefined,
    ]
  >([
    ['v7', 'text', '', ['x-rev: v7'], 'absent'],
    ['v7', 'text', 'X-REV: v1\r\n', ['X-REV: v1'], 'client'],
    ['2025-01-01', 'date', 'X-Rev: v1\r\n', ['X-Rev: 2025-01-01'], 'invalid'],
    ['2025-01-01', 'date', 'X-Rev: 2026-01-01\r\n', ['X-Rev: 2026-01-01'], 'client'],
    [
      'v7',
      'text',
      'X-Api-Version: x\r\nx-api-version: y\r\n',
      ['X-Api-Version: x', 'x-api-version: y', 'x-rev: v7'],
      'absent',
    ],
    [undefined, 'date', '', [], undefined],
    [
      undefined,
      'date',
      'X-Api-Version: x\r\nx-api-version: y\r\nX-Rev: 1\r\n',
      ['X-Api-Version: x', 'x-api-version: y', 'X-Rev: 1'],
      undefined,
    ],
  ])('version %j of the form %s, where the client sends %j', async (version, form, given, sent, why) => {
    const versionField = { ...field, form };
    const { v2, gateway, send } = await served(ok(), { ruleBook: { version, versionField } });
    await send(`${V1}${given}Content-Length: 11\r\n\r\n{"data":{}}`);
    expect(linesOf(v2.received[0]).filter((line) => /^x-(?:api-version|rev):/i.test(line))).toEqual(sent);
    const entry = await gateway.entry();
    const value = sent.at(-1)?.slice('x-rev: '.length);
    expect(entry.apiVersion).toEqual(why === undefined ? undefined : { sent: value, why, field: 'x-rev' });
    entrySchema.parse(entry);
  });

  test.each<readonly [lines: string, header: string | undefined]>([
    ['X-Api-Version: 2025-01-01\r\nx-api-version: 2025-01-02\r\n', 'x-api-version'],
    ['X-Rev: 1\r\nx-rev: 2\r\n', 'x-rev'],
  ])('two values, which two readers could read differently, are refused: %j', async (lines, header) => {
    const versionField = header === 'x-rev' ? { versionField: field } : {};
    const { v2, send } = await served(ok(), { ruleBook: versionField });
    const { text } = await send(`${V1}${lines}Content-Length: 11\r\n\r\n{"data":{}}`);
    expect(statusOf({ text })).toBe(400);
    expect(text).toContain(`The header ${header} occurs twice.`);
    expect(v2.received).toEqual([]);
  });
});

test('the request id is kept or made and the trace is kept on V1, and only fields of the client cross on V2', async () => {
  const { v2, gateway, send } = await served();
  const trace = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  await send(`GET /api/v1/x HTTP/1.1\r\nHost: g\r\nX-Request-Id: a.b:c\r\nTraceparent: ${trace}\r\n\r\n`);
  await send('GET /api/v1/x HTTP/1.1\r\nHost: g\r\nX-Request-Id: \u00e9\r\nTraceparent: 00-0-0-0\r\n\r\n');
  await send('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  const requests = v2.received.join('').split(/(?=GET )/);
  expect(linesOf(requests[0])).toEqual([
    'X-Request-Id: a.b:c',
    `Traceparent: ${trace}`,
    'x-api-version: 2025-01-01',
  ]);
  const entries = [await gateway.entry(1), await gateway.entry(2), await gateway.entry(3)];
  expect(entries[0]).toMatchObject({ requestId: 'a.b:c', traceId: 'a'.repeat(32) });
  expect(linesOf(requests[1])).toContain(`X-Request-Id: ${entries[1]?.requestId}`);
  expect(linesOf(requests[1])).toContain('Traceparent: 00-0-0-0');
  expect(linesOf(requests[2])).toEqual([]);
  expect(entries[2]?.requestId).toMatch(/^[0-9a-f-]{36}$/);
});

test('V2 gets the client in the fields that the setting names, and none that the client made up', async () => {
  const { v2, send } = await served(ok(), { flags: { forwarded: 'x-forwarded' } });
  await send('GET /api/v2/x HTTP/1.1\r\nHost: g:1\r\nX-Forwarded-For: 6.6.6.6\r\n\r\n');
  expect(linesOf(v2.received[0])).toEqual([
    'x-forwarded-for: 127.0.0.1',
    'x-forwarded-host: g:1',
    'x-forwarded-proto: http',
  ]);
  const trusting = await gatewayFor(v2.origin, {
    flags: { forwarded: 'rfc7239', 'trusted-proxies': '127.0.0.0/8' },
  });
  await exchange(trusting.port, 'GET /api/v2/y HTTP/1.1\r\nHost: g\r\nForwarded: for=6.6.6.6\r\n\r\n');
  expect(v2.received.join('')).toContain('Forwarded: for=6.6.6.6, for=127.0.0.1;host="g";proto=http\r\n');
});

// A server may ignore an offer of another protocol (RFC 9110 §7.8): h2c, HTTP/2.0, TLS/1.0 to TLS/1.3 and lists of them are ignored. Any other
// protocol, such as websocket, gets 501, for the API has none. Upgrade, HTTP2-Settings and Connection end at the gateway in either case.
test.each([
  ["Java's HttpClient offers h2c with its first request", 'h2c'],
  ["Apache's HttpClient offers TLS with every one", 'TLS/1.2'],
])('%s: the offer is ignored, and nothing of it crosses', async (_client, offer) => {
  const { v2, send } = await served();
  const response = await send(
    `GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${offer}\r\nHTTP2-Settings: AAEAAEAA\r\n\r\n`,
  );
  expect(statusOf(response)).toBe(200);
  expect(linesOf(v2.received[0])).toEqual([]);
});

test('a redirect is passed on, never followed: the key would go to another origin', async () => {
  const { send } = await served(
    'HTTP/1.1 302 Found\r\nLocation: http://evil.example/\r\nContent-Length: 0\r\n\r\n',
  );
  const response = await send('GET /api/v1/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\n\r\n');
  expect(response.text).toMatch(/^HTTP\/1\.1 302 Found\r\nLocation: http:\/\/evil\.example\/\r\n/);
});

// Requests that V1 and V2 served before the gateway are still served.
test.each(['v1', 'v2'])(
  'equal credentials and types that come twice cross from %s, from V1 once and from V2 unchanged',
  async (version) => {
    const { v2, send } = await served();
    const once = ['Authorization: Bearer k', 'Content-Type: application/json'];
    const twice = once.flatMap((line) => [line, line.replace(/^[^:]*/, (name) => name.toLowerCase())]);
    const { text } = await send(
      `POST /api/${version}/clients HTTP/1.1\r\nHost: g\r\n${twice.join('\r\n')}\r\nContent-Length: 11\r\n\r\n{"data":{}}`,
    );
    expect(statusOf({ text })).toBe(200);
    const sent = linesOf(v2.received[0]).filter((line) => /^(?:authorization|content-type):/i.test(line));
    expect(sent).toEqual(version === 'v1' ? once : twice);
  },
);
