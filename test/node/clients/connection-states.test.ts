import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect as tlsConnect } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { type RawClient, rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ca, secureGateway } from '../../support/secure-gateway.ts';
import { stateTable } from '../../support/state-table.ts';
import { until } from '../../support/until.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const SERVED = GET.replace('/x', '/served');

/** What brings a connection into each state, and what the client has read by then. */
const STATES: Readonly<Record<string, { readonly bytes: string; readonly read?: RegExp }>> = {
  opening: { bytes: '' },
  idle: { bytes: SERVED, read: /\}$/ },
  busy: { bytes: GET },
  // Early, and the last: more of the body may come.
  lingering: {
    bytes: 'POST /elsewhere HTTP/1.1\r\nHost: g\r\nContent-Length: 100000000\r\n\r\n',
    read: /\}$/,
  },
};

interface Reached {
  readonly gateway: TestGateway;
  readonly client: RawClient;
  /** Has V2 respond to what is in flight. */
  readonly respond: () => void;
}

/** A connection in a state; one that opens is on a port for TLS. */
async function reach(name: string, flags: Readonly<Record<string, string>> = {}): Promise<Reached> {
  const waiting: Socket[] = [];
  const v2 = await rawServer((socket, request) => {
    if (request.includes('/served')) socket.write(ok());
    else waiting.push(socket);
  });
  const gateway = await (name === 'opening'
    ? secureGateway(v2.origin, flags)
    : gatewayFor(v2.origin, { flags }));
  const client = await bring(gateway, name);
  if (name === 'busy') await until(() => waiting.length === 1);
  return { gateway, client, respond: () => waiting.forEach((socket) => socket.write(ok())) };
}

/** Brings a new connection of a gateway into a state. */
async function bring(gateway: TestGateway, name: string): Promise<RawClient> {
  const client = rawClient(gateway.port, name === 'lingering');
  onTestFinished(() => void client.socket.destroy());
  await once(client.socket, 'connect');
  const { bytes, read } = STATES[name] ?? { bytes: '' };
  if (bytes !== '') client.write(bytes);
  if (read !== undefined) await client.until(read);
  // Listening sockets accept in orders of their own.
  await delay(50);
  return client;
}

/** Goes on sending: that a connection which lingers is closed is met by a write. */
function sendOn(client: RawClient): void {
  const timer = setInterval(() => client.write('x'.repeat(1000)), 50);
  onTestFinished(() => clearInterval(timer));
}

/** What a further client gets: a response, or the end of its connection. */
async function furtherClient(gateway: TestGateway, isTls: boolean): Promise<'served' | 'closed'> {
  const plain = rawClient(gateway.port);
  onTestFinished(() => void plain.socket.destroy());
  if (isTls) return tlsRequest(plain.socket);
  plain.write(SERVED);
  const { text } = await plain.until(/\}$/);
  return text.includes(' 200 ') ? 'served' : 'closed';
}

/** Shakes hands on a connection, and sends a request. */
async function tlsRequest(socket: Socket): Promise<'served' | 'closed'> {
  const tls = tlsConnect({ socket, servername: 'localhost', ca: ca.cert, ALPNProtocols: ['http/1.1'] });
  let text = '';
  const over = new Promise<void>((resolve) => {
    tls.on('data', (bytes) => {
      text += String(bytes);
      if (text.endsWith('}')) resolve();
    });
    tls.on('error', () => resolve()).on('close', () => resolve());
  });
  tls.write(SERVED);
  await over;
  return text.includes(' 200 ') ? 'served' : 'closed';
}

const rows = stateTable('node/clients/connections.ts', Object.keys(STATES)).map(
  ([name, , limit = '', drain = '', ends = '']) => ({ name, limit, drain, ends }),
);

test.each(rows)('$name, and the connections are at their limit: $limit', async ({ name, limit }) => {
  const isAlone = limit !== 'closes before all others';
  const { gateway, client } = await reach(isAlone ? name : 'idle', {
    'client-connections': isAlone ? '1' : '2',
  });
  const stays = limit.startsWith('stays');
  const second = isAlone ? client : await bring(gateway, name);
  expect(await furtherClient(gateway, name === 'opening')).toBe(stays ? 'closed' : 'served');
  if (!isAlone) sendOn(second);
  if (!stays) await until(() => second.socket.closed);
  // Busy, or older than the one that lingers.
  if (stays || !isAlone) expect(client.socket.closed).toBe(false);
});

test.each(rows)('$name, and the server drains: $drain', async ({ name, drain }) => {
  // A quarter of the drain time is that in which kept connections may bring one more request.
  const { gateway, client, respond } = await reach(name, { drain: '2000' });
  const stopped = gateway.stop();
  if (drain.startsWith('closes')) {
    await client.end();
    expect(client.text().match(/HTTP\/1\.1/g)).toHaveLength(1);
    await stopped;
    return;
  }
  if (name === 'lingering') sendOn(client);
  await delay(300);
  expect(client.socket.closed).toBe(false);
  if (drain === 'its response is the last') {
    respond();
    expect((await client.end()).text).toMatch(/ 200 OK[^]*\r\nConnection: close\r\n/);
  } else if (name === 'opening') {
    expect(await tlsRequest(client.socket)).toBe('served');
  } else {
    client.socket.destroy();
  }
  await stopped;
});

test.each(rows)('$name, and ends $ends', async ({ name, ends }) => {
  const { gateway, client } = await reach(name, {
    ...(ends.includes('headers') ? { 'client-headers-timeout': '600' } : {}),
    ...(ends.includes('idle') ? { 'idle-timeout': '600' } : {}),
    ...(ends.includes('drain') ? { drain: '1000' } : {}),
  });
  await delay(100);
  if (name === 'lingering') {
    // A second of silence, and the checks are a quarter of one apart.
    await delay(1500);
    sendOn(client);
  } else {
    expect(client.socket.closed).toBe(false);
  }
  if (ends.includes('drain')) await gateway.stop();
  await until(() => client.socket.closed);
  // A client may send to a connection that lingers for seconds.
  expect(client.socket.bytesWritten).toBeLessThan(400_000);
});
