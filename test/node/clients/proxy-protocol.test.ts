import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { connect } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readRange } from '../../../src/http/forwarding.ts';
import { ClientConnection } from '../../../src/node/clients/connections.ts';
import { readProxied, readProxyHeader } from '../../../src/node/clients/proxy-protocol.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { type TestGateway } from '../../support/gateway.ts';
import { rawClient, statusOf, ended } from '../../support/raw-client.ts';
import { ok, type RawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';
import { socketPair } from '../../support/socket-pair.ts';
import { ca, mine } from '../../support/secure-gateway.ts';

const HEADER = 'PROXY TCP4 203.0.113.7 10.0.0.1 8080 80\r\n';
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n';

interface Behind {
  readonly v2: RawServer;
  readonly gateway: TestGateway;
}

async function behind(trusted: string, secure = false, headersTimeout = '400'): Promise<Behind> {
  const { v2, gateway } = await served(ok(), {
    flags: {
      'proxy-protocol': 'on',
      'trusted-proxies': trusted,
      forwarded: 'x-forwarded',
      'client-headers-timeout': headersTimeout,
    },
    ...(secure ? { parts: { clientTls: mine } } : {}),
  });
  return { v2, gateway };
}

/** The forwarding fields that V2 got; nothing that the client sent itself is in them. */
const CLIENT = /\r\nx-forwarded-for: 203\.0\.113\.7\r\n/i;

describe('behind a TCP load balancer, V2 gets the address of the client', () => {
  test.each([
    ['in one piece', HEADER + GET, 1000],
    ['byte by byte', HEADER + GET, 1],
    ['behind an empty line', `${HEADER}\r\n${GET}`, 1000],
  ])('%s', async (_how, bytes, size) => {
    const { v2, gateway } = await behind('127.0.0.0/8');
    const client = rawClient(gateway.port);
    for (let at = 0; at < bytes.length; at += size) {
      client.write(bytes.slice(at, at + size));
      if (size === 1) await new Promise((resolve) => void setImmediate(resolve));
    }
    expect(statusOf(await client.until(/200 OK[^]*\}$/))).toBe(200);
    client.write(GET);
    await until(() => client.text().split(' 200 OK').length === 3);
    expect(v2.received.join('').match(new RegExp(CLIENT, 'gi'))).toHaveLength(2);
    expect(v2.received.join('')).not.toContain('9.9.9.9');
    client.socket.destroy();
  });

  test.each(['HTTP/1.1', 'HTTP/2'])('over TLS, %s', async (version) => {
    const { v2, gateway } = await behind('127.0.0.0/8', true);
    const raw = connect(gateway.port, '127.0.0.1');
    raw.write(HEADER);
    onTestFinished(() => void raw.destroy());
    const options = { socket: raw, ca: ca.cert, servername: 'localhost' };
    if (version === 'HTTP/1.1') {
      const client = tlsConnect(options);
      client.write(GET);
      expect(String((await once(client, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /);
    } else {
      const session = connectH2('https://localhost', {
        createConnection: () => tlsConnect({ ...options, ALPNProtocols: ['h2'] }),
      });
      const [headers] = await once(session.request({ ':path': '/api/v2/x' }), 'response');
      expect(headers).toMatchObject({ ':status': 200 });
      session.destroy();
    }
    expect(v2.received.join('')).toMatch(CLIENT);
  });
});

test('a connection does not keep its first bytes once the PROXY header is read', async () => {
  const [socket, client] = await socketPair();
  const before = socket.listenerCount('close');
  const loopback = readRange('127.0.0.0/8');
  const options = {
    trustedProxies: loopback === undefined ? [] : [loopback],
    onFault: () => {},
  };
  const served = new Promise<void>((resolve) => {
    readProxied(new ClientConnection(socket), options, resolve);
  });
  client.write(HEADER + GET);
  await served;
  expect(socket.listenerCount('close')).toBe(before);
});

// Attack: a client that is not the load balancer names an address of its choice.
test('a peer that is not trusted cannot name the client of a connection', async () => {
  const { v2, gateway } = await behind('10.0.0.0/8');
  expect(statusOf(await ended(gateway.port, HEADER + GET))).toBe(400);
  const plain = rawClient(gateway.port);
  plain.write(GET);
  expect(statusOf(await plain.until(/200 OK[^]*\}$/))).toBe(200);
  expect(v2.received.join('')).toMatch(/\r\nx-forwarded-for: 127\.0\.0\.1\r\n/i);
  plain.socket.destroy();
});

test('connections without a PROXY header are closed, and counted by reason; a check of the port is not', async () => {
  const { v2, gateway } = await behind('127.0.0.0/8');
  const open = (bytes?: string) => {
    const socket = connect(gateway.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    if (bytes !== undefined) socket.write(bytes);
    return socket;
  };
  const check = open();
  await once(check, 'connect');
  check.resetAndDestroy();
  const broken = open('PROXY TCP4 203.');
  await once(broken, 'connect');
  setTimeout(() => broken.resetAndDestroy(), 50);
  const without = [open(GET), open('PROXY TCP4 203.')];
  await until(() => without.every(({ closed }) => closed));
  expect(without.map(({ bytesRead }) => bytesRead)).toEqual([0, 0]);
  await until(() => gateway.server.earlyEnds?.proxyHeaders['timeout'] === 1);
  expect(gateway.server.earlyEnds?.proxyHeaders).toEqual({ malformed: 1, timeout: 1, closed: 1 });
  expect(v2.received).toEqual([]);
});

// Attack, and the health check of a balancer that knows TCP only: connections that are closed on the other side stay open on this one.
test.each([
  ['nothing', '', 0],
  ['half a header', HEADER.slice(0, 20), 1],
])(
  'a connection that ends after %s is closed, however long a header may take',
  async (_what, bytes, logged) => {
    const { gateway } = await behind('127.0.0.0/8', false, '0');
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    const closed = once(socket.resume(), 'end');
    socket.end(bytes);
    await closed;
    expect(gateway.entries().map(({ failure }) => failure)).toEqual(Array(logged).fill('bad-request'));
  },
);

const line = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A header of version 2. */
function binary(first: number, second: number, body: Buffer, length = body.length): Buffer {
  const front = Buffer.from('\r\n\r\n\0\r\nQUIT\n....', 'latin1');
  front.writeUInt8(first, 12);
  front.writeUInt8(second, 13);
  front.writeUInt16BE(length, 14);
  return Buffer.concat([front, body]);
}
const four = Buffer.from([203, 0, 113, 7, 10, 0, 0, 1, 0x1f, 0x90, 0, 80]);
const six = Buffer.concat([Buffer.from('20010db8000000000000000000000007', 'hex'), Buffer.alloc(20)]);

describe('a header is read', () => {
  test.each([
    ['PROXY TCP4 203.0.113.7 10.0.0.1 8080 80\r\n', '203.0.113.7'],
    ['PROXY TCP6 2001:db8::7 ::1 65535 0\r\n', '2001:db8::7'],
    ['PROXY UNKNOWN\r\n', undefined],
    ['PROXY UNKNOWN ffff:f...f:ffff 65535 65535\r\n', undefined],
  ])('%j', (text, address) => {
    expect(readProxyHeader(line(`${text}GET /`))).toEqual({ address, end: text.length });
  });

  test.each([
    ['of IPv4', binary(0x21, 0x11, four), '203.0.113.7'],
    ['of IPv6', binary(0x21, 0x21, six), '2001:db8:0:0:0:0:0:7'],
    [
      'with further bytes after it',
      binary(0x21, 0x11, Buffer.concat([four, Buffer.alloc(30)])),
      '203.0.113.7',
    ],
    ['of the balancer itself', binary(0x20, 0x00, Buffer.alloc(0)), undefined],
    ['of a Unix socket', binary(0x21, 0x31, Buffer.alloc(216)), undefined],
  ])('version 2 %s', (_what, bytes, address) => {
    const header = readProxyHeader(Buffer.concat([bytes, line('GET /')]));
    expect(header).toEqual({ address, end: bytes.length });
    for (let at = 0; at < bytes.length; at += 1)
      expect(readProxyHeader(bytes.subarray(0, at))).toBe('partial');
  });
});

describe('bytes that are no PROXY header', () => {
  test.each([
    ['no header', 'GET / HTTP/1.1\r\n'],
    ['a line without end', `PROXY TCP4 ${'1'.repeat(100)}`],
    ['a line that ends with LF', 'PROXY UNKNOWN\nGET'],
    ['an address of the other kind', 'PROXY TCP4 ::1 ::1 1 1\r\n'],
    ['no address', 'PROXY TCP4 a b 1 1\r\n'],
    ['a port beyond 65535', 'PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n'],
    ['lower case', 'proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n'],
    ['more than one space', 'PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n'],
    ['another family', 'PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n'],
  ])('%s', (_what, text) => {
    expect(readProxyHeader(line(text))).toBe('malformed');
  });

  test.each([
    ['another version', binary(0x11, 0x11, four)],
    ['another command', binary(0x22, 0x11, four)],
    ['another family', binary(0x21, 0x41, four)],
    ['fewer bytes than addresses have', binary(0x21, 0x11, four.subarray(0, 11))],
    ['more bytes than any proxy sends', binary(0x21, 0x11, four, 60_000)],
  ])('version 2: %s', (_what, bytes) => {
    expect(readProxyHeader(bytes)).toBe('malformed');
  });

  test('no bytes are an error, and none are read past their end', () => {
    const outcome = fc.check(
      fc.property(
        fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', '\r\n\r\n\0\r\nQUIT\n', '\r\n\r\n\0\r\nQUIT\n\x21\x11'),
        fc.uint8Array({ maxLength: 200 }),
        (front, rest) => {
          const bytes = Buffer.concat([line(front), rest]);
          const header = readProxyHeader(bytes);
          return typeof header === 'string' || header.end <= bytes.length;
        },
      ),
      { numRuns: fuzzRuns(500) },
    );
    expect(outcome.failed).toBe(false);
  });
});
