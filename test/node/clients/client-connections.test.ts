import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { rawClient, statusOf } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { whole } from '../../support/whole-responses.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
const WAYS = [
  ['at once', ''],
  ['behind an empty line', '\r\n'],
] as const;

describe('many requests at once', () => {
  const flood = Array.from({ length: 1000 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: g\r\n\r\n`);

  test('they are served in order, and others have their turn in between', async () => {
    const { gateway } = await served();
    const [first, second] = [rawClient(gateway.port), rawClient(gateway.port)];
    await Promise.all([once(first.socket, 'connect'), once(second.socket, 'connect')]);
    await pause(20);
    first.write(flood.join(''));
    second.write('GET /second HTTP/1.1\r\nHost: g\r\n\r\n');
    await first.until(whole(1000));
    await gateway.entry(1001);
    const paths = gateway.entries().map(({ path }) => path);
    expect(paths.indexOf('/second')).toBeLessThan(900);
    expect(paths.filter((path) => path !== '/second')).toEqual(flood.map((_, index) => `/${index}`));
    first.socket.destroy();
    second.socket.destroy();
  });
});

describe('many clients at once', () => {
  test('1,000 that connect to a saturated gateway are all served, in a few fair turns', async () => {
    const { gateway } = await served();
    let responses = 0;
    let isOver = false;
    const busy = Array.from({ length: 32 }, () => rawClient(gateway.port).socket);
    for (const socket of busy) {
      socket.on('data', () => {
        responses += 1;
        if (!isOver) socket.write(GET);
      });
      socket.write(GET);
    }
    await until(() => responses > 1000);
    const before = responses;
    const newcomers = Array.from({ length: 1000 }, () => rawClient(gateway.port).socket);
    // Responses that others had by the time that a newcomer had its first.
    const turns: number[] = [];
    await Promise.all(
      newcomers.map(async (socket) => {
        socket.write(GET);
        await once(socket, 'data');
        turns.push((responses - before) / (busy.length + newcomers.length));
        responses += 1;
      }),
    );
    isOver = true;
    for (const socket of [...busy, ...newcomers]) socket.destroy();
    turns.sort((left, right) => left - right);
    expect(turns).toHaveLength(1000);
    // With one listening socket, which accepts one connection in a turn of the event loop, they are 8.6; with eight, 2.0.
    expect(turns[989]).toBeLessThan(4);
  });
});

describe('times', () => {
  test('a client that says nothing gets a 408', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-headers-timeout': '300' } });
    const client = rawClient(gateway.port);
    expect(statusOf(await client.end())).toBe(408);
    expect(client.text()).toMatch(/\r\nConnection: close\r\n/);
    expect(await gateway.entry()).toMatchObject({ failure: 'client-timeout', verdict: 'refused' });
    client.socket.destroy();
  });

  test.each(WAYS)('a kept connection closes after its idle time: %s', async (_who, front) => {
    const { gateway } = await served(ok(), { flags: { 'idle-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.write(front + GET);
    await client.until(whole(1));
    expect(await client.end()).toMatchObject({ closed: true, reset: false });
    client.socket.destroy();
  });

  test('a head that does not end, on a connection that was kept, gets a 408', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-headers-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.write(GET);
    await client.until(whole(1));
    client.write(GET.slice(0, -2));
    const { text, closed } = await client.end();
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*HTTP\/1\.1 408 /);
    expect(closed).toBe(true);
    expect(gateway.entries().map(({ status }) => status)).toEqual([200, 408]);
  });
});
