import { connect as connectH2 } from 'node:http2';
import { once } from 'node:events';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const ca = certificate({ name: 'private CA' });
const leaf = certificate({ name: 'gateway', hosts: ['localhost', '127.0.0.1'], issuer: ca });

// Attack: connections that send nothing, or half a head, until nobody else gets one.
describe('beyond the connections that clients may have', () => {
  test('the oldest that is idle makes room, with half a head or without', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, { flags: { 'client-connections': '3' } });
    const [silent, half, kept] = [rawClient(gateway.port), rawClient(gateway.port), rawClient(gateway.port)];
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

  test('a new one is closed while all others are busy, in either reader', async () => {
    const response: (() => void)[] = [];
    const v2 = await rawServer((socket) => void response.push(() => socket.write(ok())));
    const gateway = await gatewayFor(v2.origin, { flags: { 'client-connections': '2' } });
    const busy = [rawClient(gateway.port), rawClient(gateway.port)];
    for (const [index, client] of busy.entries()) client.write(`${index === 0 ? '' : '\r\n'}${GET}`);
    await until(() => response.length === 2);
    const refused = rawClient(gateway.port);
    refused.write(GET);
    expect(await refused.end()).toMatchObject({ closed: true, text: '' });
    for (const go of response) go();
    for (const client of busy) expect(statusOf(await client.until(/\}$/))).toBe(200);
    const next = exchange(gateway.port, GET);
    await until(() => response.length === 3);
    response[2]?.();
    expect(statusOf(await next)).toBe(200);
    for (const client of busy) client.socket.destroy();
  });

  test('over TLS, streams and requests are seen on their connection', async () => {
    const response: (() => void)[] = [];
    const v2 = await rawServer((socket) => void response.push(() => socket.write(ok())));
    const gateway = await gatewayFor(v2.origin, {
      flags: { 'client-connections': '2' },
      parts: { clientTls: { cert: leaf.cert, key: leaf.key } },
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
