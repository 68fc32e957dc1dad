import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { rawClient } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';
import { whole } from '../../support/whole-responses.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

test('many requests at once are served in order, and others have their turn in between', async () => {
  const flood = Array.from({ length: 1000 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: g\r\n\r\n`);
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

test('1,000 clients that connect to a saturated gateway are all served, in a few fair turns', async () => {
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
