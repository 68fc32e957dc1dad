import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { PieceTurns } from '../../src/node/piece-turns.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { until } from '../support/until.ts';

test('bodies in tiny pieces take turns, and ended ones are skipped', async () => {
  const turns = new PieceTurns();
  expect(turns.areTooSmall(200, 200)).toBe(false);
  expect(turns.areTooSmall(1000, 1_000_000)).toBe(false);
  expect(turns.areTooSmall(1000, 1000)).toBe(true);
  const order: string[] = [];
  for (const [name, destroyed] of [
    ['first', false],
    ['gone', true],
    ['second', false],
  ] as const)
    turns.wait({ destroyed, resume: () => void order.push(name) }, 1000);
  expect(order).toEqual([]);
  await until(() => order.length === 2);
  expect(order).toEqual(['first', 'second']);
});

// Attack: a body in chunks of one byte, each of which costs the gateway as much as a large one, takes a whole core.
test.each(['/api/v2/x', '/api/v1/x'])('one-byte chunks on %s leave time for everybody else', async (path) => {
  const v2 = createServer((incoming, outgoing) => {
    incoming.resume();
    incoming.on('end', () => outgoing.end('{}'));
  });
  v2.listen(0, '127.0.0.1');
  await once(v2, 'listening');
  const bound = v2.address();
  const gateway = await gatewayFor(`http://127.0.0.1:${typeof bound === 'object' ? bound?.port : 0}`);
  const attackers = Array.from({ length: 3 }, () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const block = Buffer.from('1\r\n \r\n'.repeat(20_000));
    const more = (): void => {
      while (socket.writable && socket.write(block));
    };
    socket.on('drain', more);
    more();
    return socket;
  });
  onTestFinished(() => {
    for (const socket of attackers) socket.destroy();
    v2.closeAllConnections();
    v2.close();
  });
  await until(() => gateway.gateway.inFlight === 3);
  const times: number[] = [];
  for (let count = 0; count < 40; count += 1) {
    const before = performance.now();
    expect(statusOf(await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n'))).toBe(200);
    times.push(performance.now() - before);
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  times.sort((left, right) => left - right);
  // Without turns the fastest of 40 takes three times as long; on a busy machine many take longer with them.
  expect(times[5]).toBeLessThan(100);
});
