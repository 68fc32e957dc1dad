/** @module-tag openssl */
import { spawn } from 'node:child_process';
import { connect, createServer, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionOptions, connect as tlsConnect } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import type { TestGateway } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ca, secureGateway, sendRequest, session } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';
import { listening } from '../../support/listening.ts';

async function gatewayWithTls(): Promise<TestGateway> {
  const v2 = await rawServer((socket) => socket.write(ok()));
  return secureGateway(v2.origin, { 'client-headers-timeout': '500' });
}

function plain(port: number, bytes?: string | Buffer): Socket {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  if (bytes !== undefined) socket.write(bytes);
  return socket;
}

function secure(port: number, options: ConnectionOptions): Socket {
  const socket = tlsConnect({ host: 'localhost', port, ca: ca.cert, ...options });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  return socket;
}

/** The beginning of a ClientHello (RFC 8446 §4.1.2), and no more. */
const PART_OF_HELLO = Buffer.from('1603010200010001fc0303', 'hex');

const FAILURES: Readonly<Record<string, (port: number) => void>> = {
  'plain-http': (port) => void plain(port, 'GET / HTTP/1.1\r\nHost: g\r\n\r\n'),
  'not-tls': (port) => void plain(port, Buffer.from('01020304050607080910', 'hex')),
  'unsupported-version': (port) =>
    void secure(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }),
  'no-shared-cipher': (port) => void secure(port, { maxVersion: 'TLSv1.2', ciphers: 'AES128-SHA' }),
  'no-shared-protocol': (port) => void secure(port, { ALPNProtocols: ['mqtt'] }),
  // Node's clients close without an alert.
  'certificate-rejected': (port) => {
    const child = spawn('openssl', ['s_client', '-connect', `localhost:${port}`, '-verify_return_error'], {
      stdio: 'ignore',
    });
    onTestFinished(() => void child.kill());
  },
  closed: (port) => {
    const socket = plain(port, PART_OF_HELLO);
    setTimeout(() => socket.destroy(), 50);
  },
  timeout: (port) => void plain(port, PART_OF_HELLO),
};

test.for(Object.entries(FAILURES))('a failed handshake is counted: %s', async ([reason, fail]) => {
  const gateway = await gatewayWithTls();
  fail(gateway.port);
  await until(() => gateway.server.earlyEnds?.handshakes[reason] === 1);
  const counts = Object.values(gateway.server.earlyEnds?.handshakes ?? {});
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(1);
});

test('a connection without a byte is not counted if it ends, and is counted if it stays', async () => {
  const gateway = await gatewayWithTls();
  for (const how of ['end', 'destroy', 'resetAndDestroy'] as const) {
    const socket = plain(gateway.port);
    await new Promise((resolve) => void socket.on('connect', resolve));
    socket[how]();
    await new Promise((resolve) => void socket.on('close', resolve));
  }
  const silent = plain(gateway.port);
  await new Promise((resolve) => void silent.on('close', resolve));
  const { handshakes = {} } = gateway.server.earlyEnds ?? {};
  expect(Object.entries(handshakes).filter(([, count]) => count > 0)).toEqual([['timeout', 1]]);
});

/** Writes bytes one by one, slower than any client on a slow network. */
function trickle(socket: Socket, bytes: Buffer): void {
  let at = 0;
  const timer = setInterval(() => void socket.write(bytes.subarray(at, (at += 1))), 50);
  socket.on('close', () => clearInterval(timer));
}

/** How a handshake begins, and is never over. */
const UNFINISHED: Readonly<Record<string, (port: number) => Socket>> = {
  'no byte': (port) => plain(port),
  'its first byte': (port) => plain(port, PART_OF_HELLO.subarray(0, 1)),
  'part of a hello': (port) => plain(port, PART_OF_HELLO),
  'a hello that trickles in': (port) => {
    const socket = plain(port);
    trickle(socket, Buffer.concat([PART_OF_HELLO, Buffer.alloc(500)]));
    return socket;
  },
  'a hello, and nothing to what the gateway said': (port) => {
    const socket = plain(port);
    const client = tlsConnect({ socket: helloOnly(socket), servername: 'localhost' });
    onTestFinished(() => void client.destroy());
    client.on('error', () => {});
    return socket;
  },
};

/** Passes on written bytes, but no read ones. */
function helloOnly(socket: Socket): Duplex {
  socket.resume();
  return new Duplex({
    read: () => {},
    write: (bytes: Buffer, _, done) => void socket.write(bytes, () => done()),
  });
}

test.for(Object.entries(UNFINISHED))(
  'a handshake has the time of a head from accept: %s',
  async ([, begin]) => {
    const gateway = await gatewayWithTls();
    const socket = begin(gateway.port);
    await new Promise((resolve) => void socket.on('close', resolve));
    // Node reports the close of the socket in a later turn.
    await expect
      .poll(() => Object.entries(gateway.server.earlyEnds?.handshakes ?? {}).filter(([, count]) => count > 0))
      .toEqual([['timeout', 1]]);
  },
);

test('a stop does not wait for a handshake that is never over, and waits for one that will be', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin, { 'client-headers-timeout': '60000', drain: '60000' });
  const stalled = plain(gateway.port, PART_OF_HELLO);
  const slow = plain(gateway.port);
  for (const socket of [stalled, slow]) await new Promise((resolve) => void socket.on('connect', resolve));
  const stopped = gateway.stop();
  await delay(600);
  const client = tlsConnect({ socket: slow, host: 'localhost', ca: ca.cert });
  client.on('error', () => {});
  let received = '';
  client.on('data', (bytes: Buffer) => (received += bytes.toString()));
  client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  await new Promise((resolve) => void client.on('close', resolve));
  expect(statusOf({ text: received })).toBe(200);
  await new Promise((resolve) => void stalled.on('close', resolve));
  await stopped;
});

test('plain HTTP on the port of TLS gets 400 with a sentence, and is in the log', async () => {
  const gateway = await gatewayWithTls();
  const { text } = await exchange(
    gateway.port,
    'POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}',
  );
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toMatch(/\r\nx-gateway-error: bad-request\r\n/i);
  expect(text).toContain(
    'This port is for TLS, and the request is plain HTTP: use an address that begins with https://.',
  );
  await until(() => gateway.entries().length === 1);
  expect(gateway.entries()[0]).toMatchObject({ status: 400 });
  // It serves others as before.
  expect((await sendRequest(session(gateway), { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
});

test('a hello that comes byte by byte is served', async () => {
  const gateway = await gatewayWithTls();
  const slow = createServer((client) => {
    const server = connect({ port: gateway.port, host: '127.0.0.1', noDelay: true });
    server.on('data', (bytes) => client.write(bytes)).on('close', () => client.destroy());
    client.on('error', () => {}).on('close', () => server.destroy());
    client.on('data', (bytes) => {
      for (const byte of bytes) server.write(Buffer.from([byte]));
    });
  });
  const socket = secure(await listening(slow), {});
  const text = await new Promise<string>((resolve) => {
    let received = '';
    socket.on(
      'secureConnect',
      () => void socket.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n'),
    );
    socket.on('data', (bytes: Buffer) => {
      received += bytes.toString();
    });
    socket.on('close', () => resolve(received));
  });
  expect(statusOf({ text })).toBe(200);
});
