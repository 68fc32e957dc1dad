import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ownTime } from '../../support/own-time.ts';
import { statusOf } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const UPLOAD = 'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';

test('a client that goes on sending for seconds reads its response when it is done', async () => {
  const { gateway } = await served();
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

describe('a connection that lingers', () => {
  /** Its response is early and the last: more of its body may come. */
  const LAST = 'POST /elsewhere HTTP/1.1\r\nHost: g\r\nContent-Length: 100000000\r\n\r\n';

  /** A client that has read its last response, and closes nothing. */
  async function lingering(port: number): Promise<Socket> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket
      .on('error', () => {})
      .resume()
      .write(LAST);
    await once(socket, 'end');
    return socket;
  }

  // Attack: connections that are sent to after their last response, as many as there may be descriptors.
  test('is cut when there are too many, the oldest first', async () => {
    const { gateway } = await served();
    const open = async (): Promise<Socket> => {
      const socket = await lingering(gateway.port);
      // As much as lets it linger for the rest of the test.
      socket.write('x'.repeat(8000));
      return socket;
    };
    const oldest: Socket[] = [];
    while (oldest.length < 8) oldest.push(await open());
    const others = await Promise.all(Array.from({ length: 512 }, open));
    const timer = setInterval(() => oldest.forEach((socket) => socket.write('x')), 50);
    onTestFinished(() => clearInterval(timer));
    await until(() => oldest.every(({ closed }) => closed));
    for (const socket of others) socket.write('x');
    expect(others.filter(({ closed }) => closed)).toEqual([]);
  });
});

describe('after the last response, the gateway closes the connection at once or lingers', () => {
  /** How the connection ended after a client that never ends its own side had its response, and goes on sending. */
  async function endOf(request: string): Promise<string> {
    const { gateway } = await served();
    const socket = connect({ port: gateway.port, host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    let text = '';
    socket.on('data', (bytes) => (text += String(bytes))).write(request);
    await once(socket, 'end');
    expect(statusOf({ text })).toBe(200);
    let end = '';
    socket.on('error', (error) => (end = 'code' in error ? String(error.code) : error.message));
    // Closed at once, it answers late bytes with a reset, which a further write meets; while it lingers it drops them.
    const timer = setInterval(() => socket.write('\r\n'), 50);
    onTestFinished(() => clearInterval(timer));
    const spent = ownTime();
    await until(() => end !== '' || spent() > 500);
    return end === '' ? 'lingers' : end;
  }

  const CASES: readonly (readonly [request: string, end: RegExp])[] = [
    ['GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n', /EPIPE|ECONNRESET/],
    ['GET /api/v2/x HTTP/1.0\r\nHost: g\r\n\r\n', /EPIPE|ECONNRESET/],
    [
      'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}',
      /EPIPE|ECONNRESET/,
    ],
    // Old clients send a CRLF behind the body (RFC 9112 §2.2), which may come late.
    ['POST /api/v2/x HTTP/1.0\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}', /lingers/],
    // Bytes after the last request may have a continuation.
    ['GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\nGET /api', /lingers/],
  ];

  test.each(CASES)('%j', async (request, end) => {
    expect(await endOf(request)).toMatch(end);
  });
});
