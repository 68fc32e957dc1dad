import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { takenBytes } from '../../../src/node/node-internals.ts';
import { unacknowledgedBytes } from '../../../src/node/clients/rates.ts';

/** Opens a connection between two sockets of this process; the first is that of the server. */
async function connected(listen: string, host: string): Promise<readonly [Socket, Socket]> {
  const server = createServer().listen(0, listen);
  await once(server, 'listening');
  const address = server.address();
  const accepted = once(server, 'connection');
  const client = connect({ host, port: typeof address === 'object' ? (address?.port ?? 0) : 0 });
  const [socket] = (await accepted) as [Socket];
  onTestFinished(() => {
    for (const each of [socket, client]) each.on('error', () => {}).destroy();
    server.close();
  });
  return [socket, client];
}

test.each([
  ['IPv4', '127.0.0.1', '127.0.0.1'],
  ['IPv6', '::1', '::1'],
  ['IPv4, at a listener on both', '::', '127.0.0.1'],
])('what a client has not read is told, and shrinks as it reads: %s', async (_what, listen, host) => {
  const [socket, client] = await connected(listen, host);
  client.pause();
  expect(await unacknowledgedBytes(socket)).toBe(0);
  socket.write(Buffer.alloc(30_000_000));
  await new Promise((resolve) => void setTimeout(resolve, 200));
  const unread = (await unacknowledgedBytes(socket)) ?? 0;
  expect(unread).toBeGreaterThan(10_000);
  expect(unread).toBeLessThanOrEqual(takenBytes(socket));
  client.resume();
  await once(socket, 'drain');
  while ((await unacknowledgedBytes(socket)) !== 0) await new Promise(setImmediate);
});

test('of a connection that is closed nothing is known', async () => {
  const [socket] = await connected('127.0.0.1', '127.0.0.1');
  socket.destroy();
  await once(socket, 'close');
  expect(await unacknowledgedBytes(socket)).toBeUndefined();
});
