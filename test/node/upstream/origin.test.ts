import { once } from 'node:events';
import { createServer } from 'node:http';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createSecureServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { freePort } from '../../support/free-port.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { ownTime } from '../../support/own-time.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer, type RawServer } from '../../support/raw-server.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { Call, inParts, upstreamTo, called, servedUpstream } from './upstream-calls.ts';
import { listening } from '../../support/listening.ts';

/** A resolver that returns the current content of the list. */
function resolverOf(addresses: readonly string[]): LookupFunction {
  return (_name, _options, done) =>
    done(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
}

/** As many servers, on one port and addresses of their own; each responds with its address. */
async function serversOn(...hosts: readonly string[]): Promise<readonly RawServer[]> {
  const servers: RawServer[] = [];
  const port = await freePort();
  for (const host of hosts) {
    const at = { host, port };
    servers.push(await rawServer((socket) => socket.write(ok(host)), at));
  }
  return servers;
}

async function textOf(call: Call): Promise<string> {
  await call.over;
  return call.body;
}

test.each([
  ['whole', null],
  ['in parts', inParts('x')],
])('of two addresses the first is dead: the second is used for a body that is %s', async (_how, body) => {
  const [v2] = await serversOn('127.0.0.1');
  const upstream = upstreamTo(`http://v2.example:${v2?.port}`, {
    lookup: resolverOf(['127.0.0.2', '127.0.0.1']),
  });
  expect(await textOf(new Call(upstream, { method: 'POST', body }))).toBe('127.0.0.1');
  expect(v2?.received.join('')).toContain(`host: v2.example:${v2?.port}\r\n`);
});

test('of two addresses the first swallows packets: the second is used long before the time for connecting is over', async () => {
  const [v2] = await serversOn('127.0.0.1');
  // RFC 5737: for documentation; nothing is there.
  const upstream = upstreamTo(`http://v2.example:${v2?.port}`, {
    lookup: resolverOf(['192.0.2.1', '127.0.0.1']),
    connectTimeout: 600_000,
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
});

test('all addresses are dead: one limit for all of them together', async () => {
  const upstream = upstreamTo(`http://v2.example:${await freePort()}`, {
    lookup: resolverOf(['127.0.0.2', '127.0.0.3', '127.0.0.4']),
    connectTimeout: 400,
  });
  const spent = ownTime();
  const call = await called(upstream);
  expect(call.fault).toMatchObject({ kind: 'unreachable', mayHaveArrived: false, cause: 'ECONNREFUSED' });
  expect(spent()).toBeLessThan(1200);
});

test('live addresses take turns, one request after the other and many at once', async () => {
  const hosts = ['127.0.0.1', '127.0.0.2', '127.0.0.3'];
  const servers = await serversOn(...hosts);
  const upstream = upstreamTo(`http://v2.example:${servers[0]?.port}`, {
    connections: 30,
    lookup: resolverOf(hosts),
  });
  const counts = new Map<string, number>();
  const count = (text: string): void => void counts.set(text, (counts.get(text) ?? 0) + 1);
  for (let number = 0; number < 90; number += 1) count(await textOf(new Call(upstream)));
  for (const host of hosts) expect(counts.get(host)).toBeGreaterThan(20);
  counts.clear();
  const texts = await Promise.all(Array.from({ length: 90 }, () => textOf(new Call(upstream))));
  for (const text of texts) count(text);
  for (const host of hosts) expect(counts.get(host)).toBeGreaterThan(20);
});

test('a name with a new address is followed once connections are too old, also under steady traffic', async () => {
  const [old] = await serversOn('127.0.0.1', '127.0.0.2');
  const addresses = ['127.0.0.1'];
  const upstream = upstreamTo(`http://v2.example:${old?.port}`, {
    maxAge: 300,
    lookup: resolverOf(addresses),
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
  addresses[0] = '127.0.0.2';
  let text = '';
  await until(async () => {
    text = await textOf(new Call(upstream));
    return text === '127.0.0.2';
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.2');
});

test('an address that comes with a restart is found while requests wait', async () => {
  const [v2] = await serversOn('127.0.0.2');
  const addresses = ['127.0.0.1'];
  const upstream = upstreamTo(`http://v2.example:${v2?.port}`, { lookup: resolverOf(addresses) });
  const call = new Call(upstream, { method: 'POST' });
  await pause(100);
  addresses[0] = '127.0.0.2';
  expect(await textOf(call)).toBe('127.0.0.2');
});

test('while V2 is away every address is tried at once: it may be back at any of them', async () => {
  const live = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5'];
  const servers = await serversOn(...live);
  const addresses = live.map((_, at) => `127.0.1.${at}`);
  const upstream = upstreamTo(`http://v2.example:${servers[0]?.port}`, {
    lookup: resolverOf(addresses),
    connectTimeout: 100,
  });
  const call = await called(upstream);
  expect(call.fault).toMatchObject({ mayHaveArrived: false, cause: 'ECONNREFUSED' });
  addresses.splice(0, addresses.length, ...live);
  // No request comes, and the first connection ends the attempts.
  await until(() => servers.every(({ sockets }) => sockets.length > 0));
});

test('a failing resolver does not remove the addresses that it returned before', async () => {
  const [v2] = await serversOn('127.0.0.1');
  let lookups = 0;
  const upstream = upstreamTo(`http://v2.example:${v2?.port}`, {
    maxAge: 1,
    lookup: (_name, _options, done) => {
      lookups += 1;
      if (lookups === 1) done(null, [{ address: '127.0.0.1', family: 4 }]);
      else done(new Error('no resolver'), []);
    },
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
  await pause(1100);
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
  expect(lookups).toBeGreaterThan(1);
});

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

test('a Unix socket without a listener is awaited like any V2', async () => {
  const path = join(temporaryFolder('v2'), 'v2.sock');
  const gateway = await gatewayFor(`unix:${path}`, { flags: { 'upstream-connect-timeout': '300' } });
  const response = await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect(statusOf(response)).toBe(502);
  expect((await gateway.entry()).cause).toBe('ENOENT');
});

test.each([
  ['whole', null],
  ['in parts', inParts('x')],
])('V2 gets the host of the setting, at any address, for a body that is %s', async (_how, body) => {
  const { v2, upstream } = await servedUpstream(ok(), { host: 'captur3d.io:8443' });
  await called(upstream, { method: 'POST', body });
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
  const origin = `https://127.0.0.1:${await listening(server)}`;
  const named = new Call(upstreamTo(origin, { sni: 'captur3d.io', tls: { ca: leaf.cert } }));
  const unnamed = new Call(upstreamTo(origin, { tls: { ca: leaf.cert } }));
  await Promise.all([named.over, unnamed.over]);
  expect(named.outcome).toBe('end');
  expect(serverNames).toContain('captur3d.io');
  // Only an operator can correct this, so requests do not wait.
  expect(unnamed.fault).toMatchObject({
    kind: 'unreachable',
    mayHaveArrived: false,
    cause: expect.stringMatching(/CERT/),
  });
});
