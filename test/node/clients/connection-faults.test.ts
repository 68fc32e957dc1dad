import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { entryRow } from '../../../src/cli/entry-row.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { inspected } from '../../support/inspected.ts';
import { exchange, rawClient, ended } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';
const FAULTY_BODY = '5\r\nhelloXX\r\n0\r\n\r\n';
const FAULTY = `POST /api/v2/y HTTP/1.1\r\nHost: g\r\n${CHUNKED}${FAULTY_BODY}`;

/** The bytes before a faulty request. */
const FRONTS = [
  ['behind a request', GET],
  ['behind an empty line and a request', `\r\n${GET}`],
  ['behind two', `\r\n${GET}${GET}`],
] as const;

// Attack: faulty requests, each behind a good one, are counted as failures of V2 until the circuit opens for all clients.
test('the faults of clients never open the circuit', async () => {
  const { gateway } = await served(ok(), { flags: { 'breaker-failures': '3' } });
  for (let count = 0; count < 10; count += 1) {
    await ended(gateway.port, `\r\n${GET}${FAULTY}`);
  }
  expect(gateway.gateway.v2.breaker.state).toBe('closed');
  expect((await exchange(gateway.port, GET)).text).toMatch(/^HTTP\/1\.1 200 /);
});

describe('a faulty request gets the response that it gets alone, behind the responses before it', () => {
  const faulty = [
    ['a chunked body for V2', FAULTY, 'bad-framing', 400],
    [
      'a chunked body for V1',
      FAULTY.replace('/api/v2/y', '/api/v1/y').replace('Host', 'Content-Type: application/json\r\nHost'),
      'bad-framing',
      400,
    ],
    ['a chunked body for a path of no service', FAULTY.replace('/api/v2/y', '/y'), 'not-found', 404],
    [
      'a method that is no token',
      'P(T /api/v2/y HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi',
      'bad-request',
      400,
    ],
    ['another version', 'GET /api/v2/y HTTP/3.0\r\nHost: g\r\n\r\n', 'unsupported-version', 505],
    ['two hosts', 'GET /api/v2/y HTTP/1.1\r\nHost: g\r\nHost: h\r\n\r\n', 'bad-request', 400],
    [
      'a head that is too large',
      `GET / HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`,
      'headers-too-large',
      431,
    ],
  ] as const;
  test.each(faulty.flatMap((row) => FRONTS.map((front) => [...row, ...front] as const)))(
    '%s: %j %s, %i, %s',
    async (_what, request, code, status, _where, front) => {
      const { gateway } = await served((socket) => void setTimeout(() => socket.write(ok()), 10));
      // A client that goes on sending loses its responses to a reset, unless the gateway goes on reading.
      const client = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
      let text = '';
      let isReset = false;
      client.on('data', (chunk) => (text += chunk.toString('latin1')));
      client.on('error', () => (isReset = true));
      client.write(front + request);
      await until(() => text.includes(`x-gateway-error: ${code}`));
      for (let count = 0; count < 3; count += 1) {
        client.write(GET);
        await delay(5);
      }
      client.end();
      await until(() => client.closed);
      const good = Array.from({ length: front.split('GET').length - 1 }, () => 'HTTP/1.1 200');
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual([...good, `HTTP/1.1 ${status}`]);
      expect(isReset).toBe(false);
      expect(gateway.gateway.inFlight).toBe(0);
      if (code !== 'not-found') expect(text).toMatch(/\r\nConnection: close\r\n/i);
    },
  );
});

test.each([
  ['too large', `GET /api/v1/x HTTP/1.1\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`, 'headers-too-large', 431],
  [
    'framed in two ways',
    'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'bad-request',
    400,
  ],
])(
  'a request whose head is %s is in the log with the status that it got, and counted',
  async (_what, head, code, status) => {
    const gateway = await inspected();
    const { text } = await ended(gateway.port, head);
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ failure: code, status, responseBytes: Buffer.byteLength(body) });
    expect(entryRow(entry, PLAIN)).toContain('(unread request)');
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
    expect(metrics).toContain(`gateway_failures_total{code="${code}"} 1\n`);
  },
);

test('a refused HEAD gets no body', async () => {
  const { gateway } = await served();
  for (const front of ['', GET, `\r\n${GET}`]) {
    const { text } = await ended(gateway.port, `${front}HEAD evil:80 HTTP/1.1\r\nHost: g\r\n\r\n`);
    expect(text).toMatch(/HTTP\/1\.1 400 [^]*x-gateway-error: bad-request\r\nConnection: close\r\n\r\n$/);
  }
  for (const target of ['/api/v1/%2e%2e/v2/x', '/elsewhere', 'http://evil/']) {
    expect(
      (await ended(gateway.port, `HEAD ${target} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`)).text,
    ).toMatch(/^HTTP\/1\.1 4[^]*\r\n\r\n$/);
  }
});

test('a refused HEAD gets no body, however its head arrives', async () => {
  const { gateway } = await served();
  const client = rawClient(gateway.port);
  client.write(`\r\n${GET}`);
  await client.until(/200 OK/);
  for (const part of ['HE', 'AD /api/v2/x HTTP/1.1\r\nHost: g\r\nX: ', 'x'.repeat(9000), 'x'.repeat(9000)]) {
    client.write(part);
    await delay(20);
  }
  const { text } = await client.end();
  expect(text).toMatch(/HTTP\/1\.1 431 [^]*Connection: close\r\n\r\n$/);
});

const POST = (path: string, fields = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: g\r\n${fields}Content-Length: 2\r\n\r\n{}`;
const OFFER = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n';

// Attack: a reader that drops the bytes behind an ignored upgrade reads the body of the request that begins there as requests.
describe('behind a request with a body and an offer to upgrade, nothing is read as a request', () => {
  const carrier = `POST /api/v2/carrier HTTP/1.1\r\nHost: g\r\nContent-Length: 20000\r\n\r\n`;
  const smuggled = 'DELETE /api/v2/smuggled HTTP/1.1\r\nHost: g\r\n\r\n';
  const chunked = `POST /api/v2/offer HTTP/1.1\r\nHost: g\r\n${OFFER}${CHUNKED}2\r\n{}\r\n0\r\n\r\n`;
  const offer = POST('/api/v2/offer', OFFER);
  test.each([
    ['with a length', [offer + carrier]],
    ['with a length, behind an empty line', ['\r\n' + offer + carrier]],
    ['in chunks', ['\r\n' + chunked + carrier]],
    ['in a packet of its own', ['\r\n' + offer.slice(0, -2), '{}' + carrier]],
    ['behind another', ['\r\n' + GET + offer + carrier]],
  ])('%s', async (_form, packets) => {
    const { v2, gateway } = await served((socket) => void setTimeout(() => socket.write(ok()), 50));
    const client = rawClient(gateway.port);
    for (const packet of [...packets, smuggled + 'x'.repeat(20_000 - smuggled.length)]) {
      client.write(packet);
      await delay(20);
    }
    await until(() => v2.received.join('').includes('smuggled'));
    client.socket.destroy();
    expect(v2.received.join('')).toContain('/api/v2/offer');
    // The request that carries it is one request, with the body that its length says.
    expect(v2.received.join('')).toMatch(
      /POST \/api\/v2\/carrier [^]*content-length: 20000\r\n\r\nDELETE \/api\/v2\/smuggled/i,
    );
    expect(gateway.entries().map(({ path }) => path)).not.toContain('/api/v2/smuggled');
  });
});

// A client takes the first response for that to its first request, and would send an order again that V2 has carried out.
test('CONNECT behind other requests gets its 501 after their responses', async () => {
  const { gateway } = await served((socket) => void setTimeout(() => socket.write(ok()), 30));
  const { text } = await ended(
    gateway.port,
    `\r\n${POST('/api/v2/a')}${POST('/api/v2/b')}CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n`,
  );
  expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '501']);
});

// RFC 9112 §9.6: after a response that closes the connection a client sends the requests behind it again.
test('nothing is carried out behind a response that ends with its connection', async () => {
  const { v2, gateway } = await served(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
  );
  const { text } = await ended(
    gateway.port,
    `GET /api/v2/list HTTP/1.0\r\nConnection: keep-alive\r\nHost: g\r\n\r\n${POST('/api/v2/a')}${POST('/api/v2/b')}`,
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close/);
  await delay(100);
  expect(v2.received.join('')).not.toContain('POST');
});
