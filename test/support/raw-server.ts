import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.ts';

/** A V2 that speaks bytes: what it received is kept, what it responds is written by the test. */
export interface RawServer {
  readonly origin: string;
  readonly port: number;
  /** All bytes received, by connection, as latin1. */
  readonly received: string[];
  readonly sockets: Socket[];
  readonly server: Server;
}

/** Called when a request seems whole, with its text and the socket; `number` counts them from 1. */
export type RawResponse = (socket: Socket, request: string, number: number) => void;

/** Starts one; `response` is called for every request that is framed by its length, by chunks or by nothing. */
export async function rawServer(
  response: RawResponse,
  at?: { readonly host: string; readonly port: number },
): Promise<RawServer> {
  const received: string[] = [];
  const sockets: Socket[] = [];
  let number = 0;
  const server = createServer((socket) => {
    const index = received.push('') - 1;
    sockets.push(socket);
    let pending = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      received[index] += text;
      pending += text;
      for (let end = requestEnd(pending); end !== -1; end = requestEnd(pending)) {
        const request = pending.slice(0, end);
        pending = pending.slice(end);
        number += 1;
        response(socket, request, number);
      }
    });
  });
  // A port that stays free when it closes, so that no other server takes the place of a V2 that went away.
  server.listen(at?.port ?? (await freePort()), at?.host ?? '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const bound = server.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  return { origin: `http://127.0.0.1:${port}`, port, received, sockets, server };
}

/** A response of 200 with a body and the length of it. */
export function ok(body = '{"data":{}}', headers = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

/** Where the first request of the text ends; -1 while it is not whole. */
function requestEnd(text: string): number {
  const head = text.indexOf('\r\n\r\n');
  if (head === -1) return -1;
  const start = head + 4;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, start));
  if (length !== null) return text.length >= start + Number(length[1]) ? start + Number(length[1]) : -1;
  if (!/\r\ntransfer-encoding: *chunked/i.test(text.slice(0, start))) return start;
  const end = /(?:^|\r\n)0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text.slice(start));
  return end === null ? -1 : start + end.index + end[0].length;
}
