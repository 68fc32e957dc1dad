import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { heldConnection, RecordingHandler } from '../../../support/held-connection.ts';
import { OVERWRITTEN } from '../../../support/overwritten-memory.ts';
import { rawClient } from '../../../support/raw-client.ts';
import { ok } from '../../../support/raw-server.ts';
import { until } from '../../../support/until.ts';
import { whole } from '../../../support/whole-responses.ts';
import { responseHead } from '../../../support/response-head.ts';
import { served } from '../../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

test('unusual requests behind a slow response are served after it, whole and in order, however many there are', async () => {
  const response: (() => void)[] = [];
  const { gateway } = await served((socket) => void response.push(() => socket.write(ok())));
  const client = rawClient(gateway.port);
  const body = Array.from({ length: 100_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('');
  client.write(GET);
  await until(() => response.length === 1);
  const chunks = body.match(/.{1,5000}/g)?.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  client.write(
    `PUT /api/v2/y HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n${chunks?.join('')}0\r\n\r\n${GET}`,
  );
  await pause(20);
  expect(response).toHaveLength(1);
  for (let count = 0; count < 3; count += 1) {
    await until(() => response.length === count + 1);
    response[count]?.();
  }
  await client.until(whole(3));
  client.socket.destroy();
  expect(gateway.entries().map(({ path, bytesIn }) => [path, bytesIn])).toEqual([
    ['/api/v2/x', 0],
    ['/api/v2/y', body.length],
    ['/api/v2/x', 0],
  ]);
});

// Attack: endless small requests, which come faster than the gateway can respond.
test('a client that sends on and on is read no faster than it gets responses', async () => {
  const { client, served, taken } = await heldConnection();
  client.write(GET.repeat(20_000));
  client.resume();
  for (let count = 1; count <= 300; count += 1) {
    await until(() => taken.length === count);
    // The connection has no other work, so that it reads as much as it can.
    if (count % 50 === 0) await pause(5);
    expect(served.bytesRead - count * GET.length).toBeLessThan(300_000);
    const exchange = taken[count - 1];
    exchange?.attach(new RecordingHandler());
    exchange?.head(responseHead(204));
    exchange?.end([]);
  }
});

test('a body that arrives whole counts as read ahead, and keeps its memory, until its exchange is over', async () => {
  const owner = new RecordingHandler();
  const { client, taken, budget, memory } = await heldConnection((exchange) => {
    exchange.attach(owner);
    exchange.open('exchange');
  });
  const body = 'a'.repeat(20_000);
  const inFreeMemory = (): string => memory.acquire(body.length).toString('latin1', 0, 9);
  client.write(`POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await until(() => owner.events.includes('opened'));
  expect(budget.held).toBeGreaterThanOrEqual(body.length);
  expect(inFreeMemory()).not.toMatch(/[a!]{9}/);
  taken[0]?.head(responseHead(200, ['Content-Length', '0'], 'OK'));
  taken[0]?.end([]);
  await until(() => owner.events.includes('flushed'));
  expect(budget.held).toBe(0);
  expect(inFreeMemory()).toBe(OVERWRITTEN.repeat(9));
});

test('a client that has closed its side is gone before its connection reports it', async () => {
  const { client, served, taken } = await heldConnection();
  client.write(GET);
  await until(() => taken.length === 1);
  const [exchange] = taken;
  const gone: unknown[] = [exchange?.isGone];
  const owner = new RecordingHandler();
  exchange?.attach(owner);
  const ended = new Promise<void>((resolve) => {
    served.on('end', () => {
      gone.push(exchange?.isGone, owner.events.length);
      resolve();
    });
  });
  client.end();
  await ended;
  expect(gone).toEqual([false, true, 0]);
});
