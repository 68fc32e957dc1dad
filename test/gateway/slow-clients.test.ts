/** @module-tag openssl */
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { networkOf } from '../../src/gateway/slow-clients.ts';
import { slowClientCause, type Shortage } from '../../src/rewrite-log/entry.ts';
import type { TestGateway } from '../support/gateway.ts';
import { exchange, type RawClient, rawClient, statusOf } from '../support/raw-client.ts';
import { type RawH2, rawH2, requestHead, RST_STREAM } from '../support/raw-h2.ts';
import { ok, type RawResponse } from '../support/raw-server.ts';
import { ca, securelyServed, sendRequest, session } from '../support/secure-gateway.ts';
import { served } from '../support/served.ts';
import { until } from '../support/until.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const CHUNKED = 'Host: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

/** A V2 that responds with as many bytes as the path says. */
const sized: RawResponse = (socket, request) => {
  const [, bytes] = /\/of\/(\d+)/.exec(request) ?? [];
  socket.write(bytes === undefined ? ok() : ok('x'.repeat(Number(bytes))));
};

/** A client of HTTP/1.1 that asks for so many bytes, and reads a little now and then. */
function slowReader(port: number, bytes: number): RawClient {
  const client = rawClient(port);
  client.socket.pause();
  client.write(`GET /api/v2/of/${bytes} HTTP/1.1\r\nHost: g\r\n\r\n`);
  const timer = setInterval(() => void client.socket.read(100), 50);
  onTestFinished(() => {
    clearInterval(timer);
    client.socket.destroy();
  });
  return client;
}

/** Sends a byte now and then on each connection. */
function trickle(clients: readonly RawClient[], bytes: string): void {
  const timer = setInterval(() => {
    for (const client of clients) if (client.socket.writable) client.write(bytes);
  }, 50);
  onTestFinished(() => {
    clearInterval(timer);
    for (const { socket } of clients) socket.destroy();
  });
}

/** A client of HTTP/2 that opens streams with a window of 0, and one more for each that is reset. */
async function windowless(gateway: TestGateway, streams: number, path: string): Promise<RawH2> {
  const client = await rawH2(gateway.port, ca.cert, [[4, 0]]);
  let next = 1;
  const open = (): void => {
    client.head(next, requestHead(path));
    next += 2;
  };
  for (let count = 0; count < streams; count += 1) open();
  let seen = 0;
  const timer = setInterval(() => {
    const resets = client.frames.filter(({ type }) => type === RST_STREAM).length;
    for (; seen < resets && client.socket.writable; seen += 1) open();
  }, 20);
  onTestFinished(() => clearInterval(timer));
  return client;
}

function ended(gateway: TestGateway, shortage: Shortage): number {
  return gateway.entries().filter(({ cause }) => cause === slowClientCause(shortage)).length;
}

/** Sends requests of another client, one after the other. */
async function askOften(port: number): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (let count = 0; count < 8; count += 1) {
    statuses.push(statusOf(await exchange(port, GET)));
    await delay(30);
  }
  return statuses;
}

const ALL_SERVED = Array.from({ length: 8 }, () => 200);

describe('connections to V2 are short', () => {
  test('readers of large responses on HTTP/1.1 lose them, and what fits into memory is taken', async () => {
    const { gateway } = await served(sized, {
      flags: { 'upstream-connections': '6', 'buffer-bytes': '4MiB' },
    });
    const readers = Array.from({ length: 12 }, () => slowReader(gateway.port, 12_000_000));
    await until(() => gateway.gateway.inFlight === readers.length);
    await delay(300);
    expect(await askOften(gateway.port)).toEqual(ALL_SERVED);
    expect(ended(gateway, 'connections')).toBeGreaterThan(0);
    expect(gateway.gateway.budget.held).toBeLessThanOrEqual(2 * 1024 * 1024);
    for (const { socket } of readers) socket.destroy();
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  test('responses that fit into memory are taken whole, and no client loses one', async () => {
    const { gateway } = await served(sized, { flags: { 'upstream-connections': '4' } });
    const readers = Array.from({ length: 8 }, () => slowReader(gateway.port, 6_000_000));
    await until(() => gateway.gateway.inFlight === readers.length);
    expect(await askOften(gateway.port)).toEqual(ALL_SERVED);
    for (const { socket } of readers) socket.resume();
    await until(() => readers.every((reader) => reader.text().length > 6_000_000));
    expect(ended(gateway, 'connections')).toBe(0);
    await until(() => gateway.gateway.budget.held === 0);
  });

  test('streams of HTTP/2 that read nothing are taken into memory', async () => {
    const { gateway } = await securelyServed(sized, { 'upstream-connections': '6' });
    for (let count = 0; count < 2; count += 1) await windowless(gateway, 20, '/api/v2/of/400000');
    await until(() => gateway.gateway.inFlight === 40);
    const client = session(gateway);
    for (let count = 0; count < 8; count += 1)
      expect((await sendRequest(client, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
    expect(ended(gateway, 'connections')).toBe(0);
  });

  test('responses of unknown length are taken in part, and then lose their connection', async () => {
    const endless: RawResponse = (socket, request) => {
      if (!request.includes('/endless')) {
        socket.write(ok());
        return;
      }
      const part = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const more = (): void => {
        while (socket.writable && socket.write(part));
      };
      socket.on('drain', more);
      more();
    };
    const { gateway } = await securelyServed(endless, {
      'upstream-connections': '4',
      'buffer-bytes': '1MiB',
    });
    await windowless(gateway, 12, '/api/v2/endless');
    await until(() => gateway.gateway.inFlight === 12);
    const client = session(gateway);
    for (let count = 0; count < 6; count += 1)
      expect((await sendRequest(client, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
    expect(ended(gateway, 'connections')).toBeGreaterThan(0);
  });

  test('a body that trickles in behind a large part gets 503, and says when to come again', async () => {
    const { gateway } = await served(sized, { flags: { 'upstream-connections': '4' } });
    const front = `30000\r\n${' '.repeat(0x30000)}\r\n`;
    const uploads = Array.from({ length: 6 }, () => rawClient(gateway.port));
    for (const client of uploads) client.write(`POST /api/v2/x HTTP/1.1\r\n${CHUNKED}${front}`);
    trickle(uploads, `10\r\n${' '.repeat(16)}\r\n`);
    await until(() => gateway.gateway.inFlight === uploads.length);
    expect(await askOften(gateway.port)).toEqual(ALL_SERVED);
    await until(() => uploads.some((client) => client.text() !== ''));
    const refused = uploads.find((client) => client.text() !== '');
    expect(refused?.text()).toMatch(
      /^HTTP\/1\.1 503 [^]*x-gateway-error: overloaded\r\n[^]*Retry-After: 1\r\n/,
    );
    expect(gateway.gateway.v2.breaker.state).toBe('closed');
  });

  test('the request of a client with few connections goes before those of one with many', async () => {
    const waiting: (() => void)[] = [];
    const order: string[] = [];
    const { gateway } = await served(
      (socket, request) => {
        order.push(/key: (\w+)/i.exec(request)?.[1] ?? '');
        waiting.push(() => socket.write(ok()));
      },
      { flags: { 'upstream-connections': '2' } },
    );
    const ask = (key: string): Promise<unknown> =>
      exchange(
        gateway.port,
        `GET /api/v2/x HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer ${key}\r\nKey: ${key}\r\n\r\n`,
      );
    const all = Array.from({ length: 10 }, () => ask('many'));
    await until(() => gateway.gateway.inFlight === 10);
    all.push(ask('few'));
    await until(() => gateway.gateway.inFlight === 11);
    // Two rounds of the check.
    await delay(400);
    waiting.shift()?.();
    await until(() => order.length === 3);
    expect(order).toEqual(['many', 'many', 'few']);
    while (order.length < 11) {
      waiting.shift()?.();
      await delay(5);
    }
    for (const respond of waiting) respond();
    await Promise.all(all);
    expect(ended(gateway, 'connections')).toBe(0);
  });
});

describe('places for requests are short', () => {
  test('streams with a window of 0 that are opened again when they are reset lose their places', async () => {
    const { gateway } = await securelyServed(sized, { 'max-in-flight': '40' });
    for (let count = 0; count < 3; count += 1) await windowless(gateway, 30, '/api/v2/of/3000');
    await until(() => gateway.gateway.inFlight >= 40);
    await delay(300);
    const client = session(gateway);
    for (let count = 0; count < 20; count += 1) {
      expect((await sendRequest(client, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
      await delay(10);
    }
    expect(ended(gateway, 'places')).toBeGreaterThan(0);
  });

  test.each(['/api/v1/x', '/api/v2/x'])('bodies that trickle in to %s lose their places', async (path) => {
    const { gateway } = await served(sized, { flags: { 'max-in-flight': '20' } });
    const uploads = Array.from({ length: 30 }, () => rawClient(gateway.port));
    for (const client of uploads) client.write(`POST ${path} HTTP/1.1\r\n${CHUNKED}1\r\n{\r\n`);
    trickle(uploads, '1\r\n \r\n');
    await until(() => gateway.gateway.inFlight >= 20);
    await delay(300);
    expect(await askOften(gateway.port)).toEqual(ALL_SERVED);
    expect(ended(gateway, 'places')).toBeGreaterThan(0);
  });

  test('requests that wait for V2 keep their places, and so do fast senders', async () => {
    const { gateway } = await served(() => {}, { flags: { 'max-in-flight': '4' } });
    const clients = Array.from({ length: 4 }, () => rawClient(gateway.port));
    for (const client of clients) client.write(GET);
    await until(() => gateway.gateway.inFlight === 4);
    await delay(300);
    expect(statusOf(await exchange(gateway.port, GET))).toBe(503);
    expect(clients.map((client) => client.text())).toEqual(['', '', '', '']);
    for (const { socket } of clients) socket.destroy();
  });
});

test('memory is short: bodies that trickle in release their memory to others', async () => {
  const { gateway } = await served(ok(), { flags: { 'buffer-bytes': '40000' } });
  const head = `POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n`;
  const uploads = Array.from({ length: 2 }, () => rawClient(gateway.port));
  for (const upload of uploads) upload.write(`${head}{"a":"${'x'.repeat(8000)}`);
  trickle(uploads, 'x');
  await until(() => gateway.gateway.budget.held > 30_000);
  await delay(600);
  const body = JSON.stringify({ a: 'x'.repeat(9000 - 8) });
  expect(statusOf(await exchange(gateway.port, head + body))).toBe(200);
  await until(() => ended(gateway, 'memory') > 0);
  expect(uploads.some((upload) => / 503 /.test(upload.text()))).toBe(true);
});

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '20010db800010002/64'],
  ['2001:db8:1:2::1', '20010db800010002/64'],
  ['', ''],
])('a client at %s counts as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
