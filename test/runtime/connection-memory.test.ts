import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startGateway, type GatewayProcess } from '../../bench/gateway-process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { setTimeout as pause } from 'node:timers/promises';

/** Memory of a process after garbage collection, in bytes. */
interface Held {
  /** Of the system's memory. */
  readonly resident: number;
  /** On the heap, and outside it on behalf of objects. */
  readonly heap: number;
}

const ON_SIGNAL =
  "process.on('SIGUSR2',()=>{gc();gc();const{rss,heapUsed,external}=process.memoryUsage();console.error(`held ${rss} ${heapUsed+external}.`)})";

/** Flags of Node with which an otherwise unchanged gateway can report its memory. */
const collectableFlags: readonly string[] = [
  '--expose-gc',
  '--import',
  `data:text/javascript,${encodeURIComponent(ON_SIGNAL)}`,
];

/** Has a gateway with those flags collect its garbage and report the rest. */
async function heldBy(gateway: GatewayProcess): Promise<Held> {
  const known = gateway.stderr().length;
  gateway.child.kill('SIGUSR2');
  for (;;) {
    const figures = /held (\d+) (\d+)\./.exec(gateway.stderr().slice(known));
    if (figures !== null) return { resident: Number(figures[1]), heap: Number(figures[2]) };
    if (gateway.child.exitCode !== null) throw new Error(gateway.stderr());
    await pause(5);
  }
}

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

test('a connection that holds a half-read head costs little more than the bytes of the head', async () => {
  const head = `${HEAD}${'x'.repeat(8000)}`;
  const { heap } = await costOf(head);
  expect(heap).toBeGreaterThan(8000);
  expect(heap).toBeLessThan(head.length + 6 * 1024);
});
