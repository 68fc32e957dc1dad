import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listening } from './listening.ts';

/** Starts a V2 that gives each connection to `accept`, until the test ends, and returns its origin. */
export async function socketServer(accept: (socket: Socket) => void): Promise<string> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    accept(socket);
  });
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  return `http://127.0.0.1:${await listening(server)}`;
}
