import { connect as connectH2 } from 'node:http2';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { exchange, type RawClient, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';
import { ca, mine } from '../../support/secure-gateway.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** A connection on which a request has had its response. */
async function kept(socket: Socket, request: string): Promise<Socket> {
  socket.on('error', () => {});
  socket.write(request);
  const [text] = await once(socket, 'data');
  expect(String(text)).toMatch(/^HTTP\/1\.1 200 /);
  onTestFinished(() => void socket.destroy());
  return socket;
}

/** A connection that the gateway has by the time that the next one comes: each of its listening sockets accepts in its own order. */
async function accepted(port: number): Promise<RawClient> {
  const client = rawClient(port);
  await once(client.socket, 'connect');
  await pause(50);
  return client;
}

// Attack: connections that send nothing, or half a head, until no other client gets one.
describe('beyond the connections that clients may have', () => {
  test('the oldest idle connection makes room, with half a head or without', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-connections': '3' } });
    const silent = await accepted(gateway.port);
    const half = await accepted(gateway.port);
    const kept = await accepted(gateway.port);
    half.write('GET /api/v2/x HTTP/1.1\r\nHo');
    kept.write(GET);
    await kept.until(/200 OK[^]*\}$/);
    for (const [index, client] of [silent, half, kept].entries()) {
      const next = rawClient(gateway.port);
      next.write(GET);
      expect(statusOf(await next.until(/200 OK[^]*\}$/))).toBe(200);
      expect((await client.end()).closed).toBe(true);
      onTestFinished(() => void next.socket.destroy());
      expect(gateway.lines).toHaveLength(index + 2);
    }
  });

  test('a connection that goes on with a body after its response makes room', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-connections': '2' } });
    const upload = 'POST /elsewhere HTTP/1.1\r\nHost: g\r\nContent-Length: 100000\r\n\r\n';
    const uploading = [rawClient(gateway.port), rawClient(gateway.port)];
    onTestFinished(() => uploading.forEach(({ socket }) => socket.destroy()));
    for (const client of uploading) {
      client.write(upload);
      expect(statusOf(await client.until(/\}$/))).toBe(404);
      client.write('x'.repeat(100));
    }
    expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
  });

  test('an idle connection is found behind any number of older busy ones', async () => {
    const { gateway } = await served(
      (socket, request) => void (request.includes('/idle') && socket.write(ok())),
      {
        flags: { 'client-connections': '101', 'upstream-connections': '200' },
      },
    );
    const busy = Array.from({ length: 100 }, () => rawClient(gateway.port));
    onTestFinished(() => busy.forEach(({ socket }) => socket.destroy()));
    for (const client of busy) client.write(GET);
    await until(() => gateway.gateway.inFlight === 100);
    const idleGet = GET.replace('/x', '/idle');
    const idle = await kept(connect(gateway.port, '127.0.0.1'), idleGet);
    const next = await kept(connect(gateway.port, '127.0.0.1'), idleGet);
    await until(() => idle.destroyed);
    expect(next.destroyed).toBe(false);
  });

  test('over TLS, streams and requests are seen on their connection', async () => {
    const response: (() => void)[] = [];
    const { gateway } = await served((socket) => void response.push(() => socket.write(ok())), {
      flags: { 'client-connections': '2' },
      parts: { clientTls: mine },
    });
    const session = connectH2(`https://localhost:${gateway.port}`, { ca: ca.cert });
    session.on('error', () => {});
    const stream = session.request({ ':path': '/api/v2/x' });
    const plain = tlsConnect({ port: gateway.port, ca: ca.cert, servername: 'localhost' });
    plain.write(GET);
    onTestFinished(() => {
      session.destroy();
      plain.destroy();
    });
    await until(() => response.length === 2);
    const refused = tlsConnect({ port: gateway.port, ca: ca.cert, servername: 'localhost' });
    refused.on('error', () => {});
    await until(() => refused.closed);
    for (const go of response) go();
    const [[headers], [text]] = await Promise.all([once(stream, 'response'), once(plain, 'data')]);
    expect(headers).toMatchObject({ ':status': 200 });
    expect(String(text)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
