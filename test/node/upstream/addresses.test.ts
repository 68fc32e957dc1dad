import type { LookupFunction } from 'node:net';
import { expect, test } from 'vitest';
import { freePort } from '../../support/free-port.ts';
import { ownTime } from '../../support/own-time.ts';
import { ok, rawServer, type RawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { Call, inParts, upstreamTo } from './upstream-calls.ts';

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
  const call = new Call(upstream);
  await call.over;
  expect(call.fault).toMatchObject({ kind: 'unreachable', sent: false, cause: 'ECONNREFUSED' });
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

test('a name that leads elsewhere is followed once connections are too old, under steady traffic too', async () => {
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
  await new Promise((resolve) => {
    setTimeout(resolve, 100);
  });
  addresses[0] = '127.0.0.2';
  expect(await textOf(call)).toBe('127.0.0.2');
});

test('a failing resolver does not remove the addresses that it returned before', async () => {
  const [v2] = await serversOn('127.0.0.1');
  let lookups = 0;
  const upstream = upstreamTo(`http://v2.example:${v2?.port}`, {
    maxRequests: 1,
    lookup: (_name, _options, done) => {
      lookups += 1;
      if (lookups === 1) done(null, [{ address: '127.0.0.1', family: 4 }]);
      else done(new Error('no resolver'), []);
    },
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
  await new Promise((resolve) => {
    setTimeout(resolve, 1100);
  });
  expect(await textOf(new Call(upstream))).toBe('127.0.0.1');
  expect(lookups).toBeGreaterThan(1);
});
