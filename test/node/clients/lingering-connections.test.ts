import { connect } from 'node:net';
import { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { LingeringConnections } from '../../../src/node/clients/connection-ends.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

const UPLOAD = 'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';

test('a client that goes on sending for seconds reads its response when it is done', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  const client = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
  client.pause();
  const parts = 40;
  client.write(`${UPLOAD}Content-Length: ${parts * 500_000}\r\n\r\n`);
  for (let count = 0; count < parts; count += 1) {
    if (!client.write(Buffer.alloc(500_000)))
      await new Promise((resolve) => void client.once('drain', resolve));
    await new Promise((resolve) => void setTimeout(resolve, 80));
  }
  let text = '';
  for await (const chunk of client) text += String(chunk);
  expect(statusOf({ text })).toBe(413);
  expect(text).toMatch(/\r\nConnection: close\r\n/i);
  client.destroy();
});

test('behind a small rest of a request its connection is kept', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  const client = rawClient(gateway.port);
  client.write('POST /other HTTP/1.1\r\nHost: g\r\nContent-Length: 200000\r\n\r\n');
  await client.until(/not-found"/);
  client.write(Buffer.alloc(200_000));
  client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/ 200 OK/)).text).toMatch(/ 404 [^]* 200 OK/);
  client.socket.destroy();
});

describe('a connection that lingers', () => {
  const socketOf = (): Duplex => {
    const socket = new Duplex({
      read: () => {},
      write: (_chunk, _coding, done) => done(),
      allowHalfOpen: true,
    });
    // The other side reads everything, and closes nothing.
    socket.on('data', () => {});
    return socket;
  };

  test('is cut when its client is silent', async () => {
    const socket = socketOf();
    new LingeringConnections().close(socket);
    expect(socket.writableEnded).toBe(true);
    await until(() => socket.destroyed);
  });

  // Attack: connections that are sent to after their last response, as many as there may be descriptors.
  test('is cut when there are too many, the oldest first', async () => {
    const lingering = new LingeringConnections();
    const sockets = Array.from({ length: 520 }, socketOf);
    for (const socket of sockets) lingering.close(socket);
    expect(sockets.filter((socket) => socket.destroyed)).toEqual(sockets.slice(0, 8));
    for (const socket of sockets) socket.destroy();
  });
});
