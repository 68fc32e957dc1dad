import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway } from '../../bench/gateway-process.ts';
import { collectableFlags, type Held, heldBy } from '../support/held-memory.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 1000;
const HEAD = 'GET /api/v2/properties HTTP/1.1\r\nHost: a\r\nx-half: ';

/** Opens connections that all send the same, one after the other, and are held until the test ends. */
async function hold(port: number, bytes: string): Promise<void> {
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  while (sockets.length < CONNECTIONS) {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).once('connect', () => socket.write(bytes, () => resolve()));
    });
  }
}

/** Bytes that 1,000 connections cost, each: on the heap, and what the system gave to the process. */
async function costOf(bytes: string): Promise<Held> {
  const gateway = await startGateway({}, temporaryFolder('memory'), false, collectableFlags);
  onTestFinished(() => void gateway.stop());
  const before = await heldBy(gateway);
  const sockets = gateway.sockets();
  await hold(gateway.port, bytes);
  await until(() => gateway.sockets() >= sockets + CONNECTIONS);
  const after = await heldBy(gateway);
  return {
    heap: (after.heap - before.heap) / CONNECTIONS,
    resident: (after.resident - before.resident) / CONNECTIONS,
  };
}

test('a thousand idle connections cost ten MiB at most', async () => {
  const idle = await costOf('');
  expect(idle.heap).toBeLessThan(4 * 1024);
  expect(idle.resident * CONNECTIONS).toBeLessThan(10 * 2 ** 20);
});

test('a connection that holds a half-read head costs little more than what it holds', async () => {
  const head = `${HEAD}${'x'.repeat(8000)}`;
  const { heap } = await costOf(head);
  expect(heap).toBeGreaterThan(8000);
  expect(heap).toBeLessThan(head.length + 6 * 1024);
});
