import { once } from 'node:events';
import { connect, createServer, type ServerOpts, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listening } from './listening.ts';

/** A connection within this process, until the test ends: the socket that a server has accepted, and that of its client. */
export async function socketPair(
  options: ServerOpts = {},
  at = '127.0.0.1',
  host = at,
): Promise<readonly [accepted: Socket, client: Socket]> {
  const server = createServer(options);
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const client = connect(await listening(server, at), host);
  const [socket] = await accepted;
  onTestFinished(() => {
    for (const each of [socket, client]) each.on('error', () => {}).destroy();
  });
  return [socket, client];
}
