import { once } from 'node:events';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ca, secureGateway } from '../../support/secure-gateway.ts';

/** Other readers take all of them for requests. */
const MALFORMED = ['GET  /api/v2/x HTTP/1.1', 'GET /api/v2/x  HTTP/1.1', 'PRI * HTTP/1.1'];
const CHUNKED =
  'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n';
const GET = 'GET /api/v2/y HTTP/1.1\r\nHost: g\r\n\r\n';
/** A body of request lines. */
const LARGE = GET.repeat(2500);
const statuses = (text: string): readonly string[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status ?? '');

async function overTls(port: number, bytes: string, size: number): Promise<string> {
  const client = tlsConnect({ host: 'localhost', port, ca: ca.cert, ALPNProtocols: ['http/1.1'] });
  onTestFinished(() => void client.destroy());
  await once(client, 'secureConnect');
  let text = '';
  client.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  client.on('error', () => {});
  for (let at = 0; at < bytes.length; at += size) client.write(bytes.slice(at, at + size));
  await once(client, 'close');
  return text;
}

// Attack: a request line that two readers cut in different places (RFC 9112 §3).
describe.each(MALFORMED)('%j gets 400, and the connection closes', (line) => {
  const request = `${line}\r\nHost: g\r\n\r\n`;

  test.each([1, 1000])('over TLS, in parts of %i bytes', async (size) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await secureGateway(v2.origin);
    expect(statuses(await overTls(gateway.port, request, size))).toEqual(['400']);
    expect(v2.received).toEqual([]);
    expect(await gateway.entry()).toMatchObject({ verdict: 'refused', failure: 'bad-request' });
  });

  test.each([1, 1000])('behind a body, in parts of %i bytes', async (size) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    const bytes = CHUNKED + request + GET;
    for (let at = 0; at < bytes.length; at += size) client.write(bytes.slice(at, at + size));
    const { text, closed } = await client.end();
    expect(statuses(text)).toEqual(['200', '400']);
    expect(closed).toBe(true);
    expect(v2.received.join('')).not.toContain('/api/v2/y');
  });
});

describe('requests are served', () => {
  const requests = [
    CHUNKED,
    GET,
    `\r\n\r\n${CHUNKED}`,
    CHUNKED.replace('body', GET.slice(0, 4)),
    GET.replace('GET', 'OPTIONS'),
    GET.replace('y', 'y?a=%20b'),
    `POST /api/v2/z HTTP/1.1\r\nHost: g\r\nContent-Length: ${LARGE.length}\r\nConnection: close\r\n\r\n${LARGE}`,
  ];

  test.each([1, 7, 16_384, 65_536])('over TLS, pipelined, in parts of %i bytes', async (size) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await secureGateway(v2.origin);
    const bytes = requests.slice(0, size < 100 ? -1 : undefined).join('');
    const text = await overTls(
      gateway.port,
      size < 100 ? `${bytes}${GET.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}` : bytes,
      size,
    );
    expect(statuses(text)).toEqual(requests.map(() => '200'));
  });
});
