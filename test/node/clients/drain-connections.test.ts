import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { exchange, type RawClient, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const READY = 'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';

test('for the drain delay new and kept connections are served, for the last time, and then no more', async () => {
  const { gateway } = await served(ok(), { flags: { 'drain-delay': '2500' } });
  const kept = rawClient(gateway.port);
  kept.write(GET);
  expect((await kept.until(/\}$/)).text).not.toMatch(/connection: close/i);
  const began = performance.now();
  const stopped = gateway.stop();
  expect(statusOf(await exchange(gateway.adminPort, READY))).toBe(503);
  for (const front of ['', '\r\n'])
    expect((await exchange(gateway.port, front + GET)).text).toMatch(
      /^HTTP\/1\.1 200 [^]*\r\nConnection: close\r\n/i,
    );
  kept.write(GET);
  expect((await kept.end()).text).toMatch(/\r\nConnection: close\r\n[^]*\}$/i);
  await stopped;
  expect(performance.now() - began).toBeGreaterThan(2450);
  const late = connect(gateway.port, '127.0.0.1');
  let code = '';
  late.on('error', (error) => (code = 'code' in error ? String(error.code) : ''));
  await until(() => code === 'ECONNREFUSED');
});

test('connections in the listen queue when the delay ends are served', async () => {
  const { gateway } = await served();
  // Connected by the system, and not yet seen by the gateway: this turn of the event loop has not ended.
  const clients = Array.from({ length: 50 }, () => rawClient(gateway.port));
  for (const client of clients) client.write(GET);
  const stopped = gateway.stop();
  const responses = await Promise.all(clients.map((client) => client.until(/\}$/)));
  expect(responses.map(statusOf)).toEqual(clients.map(() => 200));
  expect(responses.filter(({ reset }) => reset)).toEqual([]);
  await stopped;
});

test('a kept connection outlives the port for one more request; an idle one does not hold up the drain', async () => {
  const { gateway } = await served(ok(), { flags: { drain: '12000' } });
  const [asking, idle] = [rawClient(gateway.port), rawClient(gateway.port)];
  for (const client of [asking, idle]) client.write(GET);
  for (const client of [asking, idle]) await client.until(/\}$/);
  const stopped = gateway.stop();
  await delay(1000);
  asking.write(GET);
  expect((await asking.end()).text).toMatch(/\r\nConnection: close\r\n[^]*\}$/i);
  await stopped;
  expect((await idle.end()).reset).toBe(false);
});

test('a connection accepted as the delay ends has time to send its first request', async () => {
  const { gateway } = await served(ok(), { flags: { drain: '2500', 'drain-delay': '600' } });
  const kept = rawClient(gateway.port);
  kept.write(GET);
  await kept.until(/\}$/);
  const stopped = gateway.stop();
  // One after the other; the last that is accepted is the late one, because the machine also decides when the delay ends.
  const clients: RawClient[] = [];
  const timer = setInterval(() => clients.push(rawClient(gateway.port)), 20);
  // The gateway closes the kept connection once it no longer accepts.
  await kept.end();
  clearInterval(timer);
  const late = clients.findLast(({ socket }) => socket.readyState === 'open');
  late?.write(GET);
  expect(statusOf((await late?.end()) ?? { text: '' })).toBe(200);
  for (const { socket } of clients) socket.destroy();
  await stopped;
});
