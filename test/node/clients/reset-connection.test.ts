import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ca, secureGateway } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';

const PART = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n';

/** Resolves to the text that arrives on a connection, and whether it ended by a reset. */
async function readAll(socket: Socket): Promise<{ readonly text: string; readonly isReset: boolean }> {
  let text = '';
  let isReset = false;
  socket.on('data', (bytes) => (text += bytes.toString('latin1')));
  socket.on('error', (error) => (isReset = 'code' in error && error.code === 'ECONNRESET'));
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return { text, isReset };
}

async function connectTo(gateway: TestGateway, secure: boolean): Promise<Socket> {
  if (!secure) return rawClient(gateway.port).socket;
  const socket = tlsConnect({ port: gateway.port, host: 'localhost', ca: ca.cert });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

describe.each([
  ['plain', false],
  ['over TLS', true],
] as const)('a response that is broken, %s', (_how, secure) => {
  const start = (v2: string): Promise<TestGateway> => (secure ? secureGateway(v2) : gatewayFor(v2));

  test.each(['1.0', '1.1'])('V2 breaks in the body: HTTP/%s sees a reset', async (version) => {
    const v2 = await rawServer((socket) => socket.write(PART, () => socket.destroy()));
    const client = await connectTo(await start(v2.origin), secure);
    client.write(`GET /api/v2/x HTTP/${version}\r\nHost: g\r\n\r\n`);
    expect((await readAll(client)).isReset).toBe(true);
  });

  test.each(['1.0', '1.1'])('the drain time ends in the body: HTTP/%s sees a reset', async (version) => {
    const v2 = await rawServer((socket) => void socket.write(PART));
    const gateway = await start(v2.origin);
    const client = await connectTo(gateway, secure);
    client.write(`GET /api/v2/x HTTP/${version}\r\nHost: g\r\n\r\n`);
    await once(client, 'data');
    gateway.server.destroyAll();
    expect((await readAll(client)).isReset).toBe(true);
  });

  test('the drain time ends before a client has read its whole response: it still can', async () => {
    const body = JSON.stringify('x'.repeat(20_000));
    const v2 = await rawServer((socket) => void socket.write(ok(body)));
    const gateway = await start(v2.origin);
    const client = await connectTo(gateway, secure);
    client.pause();
    client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n');
    await until(() => gateway.lines.length === 1);
    gateway.server.destroyAll();
    const { text, isReset } = await readAll(client.resume());
    expect(text.endsWith(body)).toBe(true);
    expect(isReset).toBe(false);
  });
});
