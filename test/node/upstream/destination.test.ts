import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:tls';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { Call, inParts, upstreamTo } from './upstream-calls.ts';

test.each(['unix:', 'http+unix:'])('a Unix socket as V2, by %s', async (scheme) => {
  const path = join(temporaryFolder('v2'), 'v2.sock');
  const hosts: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    hosts.push(request.headers.host);
    response.end(request.url);
  });
  server.listen(path);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const origin = scheme === 'unix:' ? `unix:${path}` : `http+unix://${encodeURIComponent(path)}/base`;
  const gateway = await gatewayFor(origin);
  const response = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(statusOf(response)).toBe(200);
  expect(response.text).toContain(scheme === 'unix:' ? '/api/v2/x' : '/base/api/v2/x');
  expect(hosts).toEqual(['localhost']);
});

test('a Unix socket that nobody listens on is waited for, as any V2', async () => {
  const path = join(temporaryFolder('v2'), 'v2.sock');
  const gateway = await gatewayFor(`unix:${path}`, { flags: { 'upstream-connect-timeout': '300' } });
  const response = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(statusOf(response)).toBe(502);
  expect((await gateway.entry()).cause).toBe('ENOENT');
});

test.each([
  ['whole', null],
  ['in parts', inParts('x')],
])('V2 gets the host of the setting, whatever its address, for a body that is %s', async (_how, body) => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const upstream = upstreamTo(v2.origin, { host: 'captur3d.io:8443' });
  await new Call(upstream, { method: 'POST', body }).over;
  expect(v2.received[0]?.match(/\r\nhost: [^\r]*/gi)).toEqual(['\r\nhost: captur3d.io:8443']);
});

test('the certificate of V2 is checked against the name of the setting, which is sent as SNI', async () => {
  const leaf = certificate({ name: 'V2', hosts: ['captur3d.io'] });
  const serverNames: unknown[] = [];
  const server = createSecureServer({ cert: leaf.cert, key: leaf.key }, (socket) => {
    serverNames.push(socket.servername);
    socket.on('error', () => {});
    socket.on('data', () => socket.write(ok()));
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const bound = server.address();
  const origin = `https://127.0.0.1:${typeof bound === 'object' && bound !== null ? bound.port : 0}`;
  const named = new Call(upstreamTo(origin, { sni: 'captur3d.io', tls: { ca: leaf.cert } }));
  const unnamed = new Call(upstreamTo(origin, { tls: { ca: leaf.cert } }));
  await Promise.all([named.over, unnamed.over]);
  expect(named.outcome).toBe('end');
  expect(serverNames).toContain('captur3d.io');
  // A person has to mend it, so that nobody waits.
  expect(unnamed.fault).toMatchObject({
    kind: 'unreachable',
    sent: false,
    cause: expect.stringMatching(/CERT/),
  });
});
