import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { rawClient } from '../../../support/raw-client.ts';
import { ok } from '../../../support/raw-server.ts';
import { stateTable } from '../../../support/state-table.ts';
import { until } from '../../../support/until.ts';
import { whole } from '../../../support/whole-responses.ts';
import { served } from '../../../support/served.ts';

const POST = 'POST /api/v2/x HTTP/1.1\r\nHost: g\r\n';
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const SERVED = GET.replace('/x', '/served');
const LAST = SERVED.replace('Host', 'Connection: close\r\nHost');
const EARLY = 'POST /elsewhere HTTP/1.1\r\nHost: g\r\nContent-Length: 90000\r\n\r\n';
const MANY = 1000;

interface Play {
  /** Brings a connection into the state. */
  readonly bytes: string;
  /** What the client has read by then. */
  readonly read?: RegExp;
  readonly isInFlight?: true;
  /** The statuses of the entries that the client's FIN leaves. */
  readonly statuses: readonly number[];
}

const plays: Readonly<Record<string, Play>> = {
  new: { bytes: '', statuses: [] },
  idle: { bytes: SERVED, read: /\}$/, statuses: [200] },
  head: { bytes: GET.slice(0, 20), statuses: [400] },
  'small body': { bytes: `${POST}Content-Length: 5\r\n\r\nhe`, statuses: [0] },
  body: { bytes: `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\nhe`, isInFlight: true, statuses: [0] },
  busy: { bytes: GET, isInFlight: true, statuses: [0] },
  early: { bytes: EARLY, read: /\}$/, statuses: [404] },
  yielding: { bytes: GET.replace('/api/v2/x', '/elsewhere').repeat(MANY), statuses: [] },
  closing: { bytes: LAST, read: /\}$/, statuses: [200] },
};

/** A connection in a state. */
async function reach(name: string, flags: Readonly<Record<string, string>> = {}) {
  const { v2, gateway } = await served(
    (socket, request) => void (request.includes('/served') && socket.write(ok())),
    { flags },
  );
  const client = rawClient(gateway.port);
  onTestFinished(() => void client.socket.destroy());
  const play = plays[name] ?? { bytes: '', statuses: [] };
  client.write(play.bytes);
  if (play.read !== undefined) await client.until(play.read);
  if (play.isInFlight === true) await until(() => gateway.gateway.inFlight === 1);
  return { v2, gateway, client, play };
}

const rows = stateTable('node/clients/http1/connection.ts', Object.keys(plays)).map(
  ([name, , bytes = '', fin = '', time = '']) => ({ name, bytes, fin, time }),
);

test.each(rows)('$name, and the client closes its side: $fin', async ({ name, fin }) => {
  const { gateway, client, play } = await reach(name);
  client.socket.end();
  const { text, closed } = await client.end();
  expect(closed).toBe(true);
  expect(text.startsWith('HTTP/1.1 400 ')).toBe(fin.startsWith('400'));
  await until(() => gateway.gateway.inFlight === 0 && gateway.lines.length >= play.statuses.length);
  if (fin.includes('drops the waiting requests')) expect(gateway.lines.length).toBeLessThan(MANY);
  else expect(gateway.entries().map(({ status }) => status)).toEqual(play.statuses);
});

/** What comes next on the connection, by what the table says of further bytes. */
const FURTHER: Readonly<Record<string, (name: string) => Promise<void>>> = {
  'read as a head': async (name) => {
    const { client } = await reach(name);
    client.write(SERVED);
    await client.until(name === 'idle' ? whole(2) : whole(1));
  },
  added: async (name) => {
    const { v2, client } = await reach(name);
    client.write(name === 'head' ? GET.slice(20) : 'llo');
    await until(() => v2.received.join('').includes(name === 'head' ? '/x' : 'hello'));
  },
  'given to the body': async (name) => {
    const { v2, client } = await reach(name);
    client.write('llo\r\n0\r\n\r\n');
    await until(() => v2.received.join('').includes('hello'));
  },
  wait: async (name) => {
    const { v2, gateway, client } = await reach(name);
    client.write(SERVED);
    if (name === 'busy') {
      expect(v2.received.join('')).not.toContain('/served');
      expect(gateway.gateway.inFlight).toBe(1);
    } else {
      await client.until(/"data":\{\}\}$/);
      expect(gateway.lines).toHaveLength(MANY + 1);
    }
  },
  dropped: async (name) => {
    const { gateway, client } = await reach(name);
    client.write(name === 'early' ? 'x'.repeat(90_000) : SERVED);
    if (name === 'early') client.write(SERVED);
    const { text } = name === 'early' ? await client.until(/ 404 [^]* 200 [^]*\}$/) : await client.end();
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(gateway.lines.length);
    expect(gateway.lines).toHaveLength(name === 'early' ? 2 : 1);
  },
};

test.each(rows)('$name, and further bytes are $bytes', async ({ name, bytes }) => {
  const kind = bytes.split(',')[0] ?? '';
  expect(Object.keys(FURTHER)).toContain(kind);
  await FURTHER[kind]?.(name);
});

test.each(rows)('$name, and time passes: $time', async ({ name, time }) => {
  const limits = [
    'client-headers-timeout',
    'client-body-timeout',
    'idle-timeout',
    'upstream-headers-timeout',
  ];
  const { gateway, client } = await reach(name, Object.fromEntries(limits.map((limit) => [limit, '600'])));
  if (time === 'next turn') {
    await client.until(whole(MANY));
    return;
  }
  if (time === '30 s') {
    // Longer than all limits of the settings: the response has come, and its connection stays.
    await delay(1500);
    expect(client.socket.closed).toBe(false);
    client.write('x'.repeat(90_000) + SERVED);
    await client.until(/ 404 [^]* 200 [^]*\}$/);
    return;
  }
  const { text, closed } = await client.end();
  const statuses = [...text.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].map(([, status]) => Number(status));
  const last =
    time.includes('408') || time.startsWith('becomes') ? 408 : time === "V2's timeouts" ? 504 : 200;
  expect(statuses).toEqual([last]);
  if (last !== 504) expect(closed).toBe(true);
  expect(gateway.gateway.inFlight).toBe(0);
});
