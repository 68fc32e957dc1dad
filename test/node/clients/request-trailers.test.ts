import { connect } from 'node:http2';
import { expect, onTestFinished, test } from 'vitest';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { DATA } from '../../support/raw-h2.ts';
import { ca, securelyServed, servedOverH2 } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';
import { requestHead } from '../../support/raw-h2.ts';

const TRAILERS = 'X-Sum: 7\r\nX-Sum: 8\r\n';
/** Fields that a server would take for checked ones, if it merged trailers with the header (RFC 9110 §6.5.1). */
const FORBIDDEN =
  'Authorization: Bearer evil\r\nHost: evil\r\nContent-Type: text/html\r\nx-api-version: 1\r\nCookie: a=b\r\nTE: x\r\nIf-Match: *\r\n';

const chunked = (path: string, body: string, type = 'text/plain'): string =>
  `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Type: ${type}\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n` +
  `${body.length.toString(16)}\r\n${body}\r\n0\r\n${TRAILERS}${FORBIDDEN}\r\n`;

// Trailers cross wherever the body crosses in chunks. Fields that must not be trailers (RFC 9110 §6.5.1: framing, routing, authentication, request
// modifiers, content) are left out: a server that merges trailers with the header would take them for checked ones. Where the request to V2 has
// a length, trailers are dropped, with the note trailers-dropped.
test.each([
  ['/api/v2/x', 'small'],
  ['/api/v2/x', 'x'.repeat(300_000)],
  ['/api/v1/x', 'not JSON'],
])(
  'trailers of a request to %s are forwarded behind its body, but for fields that no trailer may be',
  async (path, body) => {
    const { v2, gateway } = await served();
    expect(statusOf(await exchange(gateway.port, chunked(path, body)))).toBe(200);
    await until(() => v2.received.join('').endsWith('\r\n\r\n'));
    expect(v2.received.join('')).toMatch(/\r\n0\r\nX-Sum: 7\r\nX-Sum: 8\r\n\r\n$/);
    expect(v2.received.join('')).toMatch(/\r\nTrailer: X-Sum\r\n/);
    expect((await gateway.entry()).note).not.toBe('trailers-dropped');
  },
);

test('trailers of a request that is rewritten are dropped, and the log says so', async () => {
  const { v2, gateway } = await served();
  const request = chunked('/api/v1/clients', '{"data":{"name":"A"}}', 'application/json');
  expect(statusOf(await exchange(gateway.port, request))).toBe(200);
  expect(v2.received.join('')).not.toMatch(/X-Sum|Trailer/);
  expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', note: 'trailers-dropped' });
});

test('trailers of HTTP/2 are forwarded where the body has no length, and otherwise dropped', async () => {
  const { v2, gateway } = await securelyServed();
  const client = connect(`https://localhost:${gateway.port}`, { ca: ca.cert });
  onTestFinished(() => client.destroy());
  for (const length of [{}, { 'content-length': '4' }]) {
    const stream = client.request(
      { ':method': 'POST', ':path': '/api/v2/x', trailer: 'x-sum', ...length },
      {
        waitForTrailers: true,
      },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
    stream.end('body');
    stream.resume();
    await new Promise((resolve) => void stream.on('close', resolve));
  }
  const [forwarded, dropped] = [await gateway.entry(1), await gateway.entry(2)];
  expect(forwarded.note).toBeUndefined();
  expect(dropped.note).toBe('trailers-dropped');
  expect(v2.received.join('').match(/x-sum: 7\r\n/g)).toHaveLength(1);
  expect(v2.received.join('').match(/trailer: x-sum\r\n/g)).toHaveLength(1);
});

// Attack: a field that a reader in front has seen is missing behind the gateway, or bytes in it end it for other readers.
test.each([
  ['authorization', ' Bearer a'],
  ['authorization', 'Bearer a\t'],
  ['x-odd', 'a\nx-other: b'],
  ['x-odd b', 'a'],
  ['transfer-encoding', 'chunked'],
])('HTTP/2: a request with the field %j: %j gets 400, and nothing reaches V2', async (name, value) => {
  const { v2, gateway, raw } = await servedOverH2();
  raw.head(1, [...requestHead('/api/v2/x'), [name, value], ['x-sound', 'c']]);
  await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 1));
  expect((await gateway.entry()).status).toBe(400);
  expect(v2.received).toEqual([]);
});
