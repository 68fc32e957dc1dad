import { connect, createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { SMALL_WRITE_BYTES, writeTogether } from '../../src/node/small-writes.ts';
import { until } from '../support/until.ts';

/** Two connections: what is written on the first ends of both, and the other ends, which are paused. */
async function pairs(): Promise<{ readonly near: readonly Socket[]; readonly far: readonly Socket[] }> {
  const far: Socket[] = [];
  const server = createServer((socket) => far.push(socket.pause().on('error', () => {})));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const near = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  onTestFinished(() => {
    for (const socket of [...near, ...far]) socket.destroy();
    server.close();
  });
  await Promise.all(near.map((socket) => once(socket, 'connect')));
  await until(() => far.length === 2);
  return { near, far };
}

function received(socket: Socket): () => string {
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  socket.resume();
  return () => text;
}

// Attack: a client that does not read, so that its responses stay in memory that the next one is written to.
test('a write that the system has not taken is not overwritten by the next', async () => {
  const { near, far } = await pairs();
  const [slow, quick] = near;
  if (slow === undefined || quick === undefined) throw new Error('no connection');
  let count = 0;
  let pending = 0;
  for (; pending < 20; count += 1) {
    const isRoom = writeTogether(slow, 's', Buffer.alloc(2000, 's'), 's', () => {});
    writeTogether(quick, 'q', Buffer.from('q'), 'q');
    if (!isRoom) pending += 1;
  }
  expect(slow.writableLength).toBeGreaterThan(0);
  const texts = far.map((socket) => received(socket));
  const lengths = (): number[] => texts.map((text) => text().length).toSorted((a, b) => a - b);
  await until(() => lengths()[1] === count * 2002 && lengths()[0] === count * 3);
  expect(texts.map((text) => [...new Set(text())].join('')).toSorted()).toEqual(['q', 's']);
});

test('texts and bytes are one write, of any size, in latin1', async () => {
  const { near, far } = await pairs();
  for (const size of [0, SMALL_WRITE_BYTES - 3, SMALL_WRITE_BYTES + 1])
    for (const socket of near) writeTogether(socket, 'é', Buffer.alloc(size, 'x'), 'ü\n');
  const texts = far.map((socket) => received(socket));
  const expected = [0, SMALL_WRITE_BYTES - 3, SMALL_WRITE_BYTES + 1].map((size) => `é${'x'.repeat(size)}ü\n`);
  await until(() => texts.every((text) => text().length === expected.join('').length));
  expect(texts.map((text) => text())).toEqual([expected.join(''), expected.join('')]);
});
