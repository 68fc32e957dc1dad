import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parentPort } from 'node:worker_threads';
import type { Script } from './v2.ts';

const BLOCK_BYTES = 64 * 1024;

/** Sends back the id of the request, unless the path or the query says something else. */
const server = createServer((incoming, outgoing) => {
  incoming.on('error', () => {});
  outgoing.on('error', () => {});
  const url = new URL(incoming.url ?? '/', 'http://v2');
  if (url.pathname === '/api/v2/early-413') refuseEarly(incoming);
  else incoming.on('end', () => respond(incoming, outgoing, url.searchParams)).resume();
});
const silent = createServer((incoming) => void incoming.on('error', () => {}).resume());
parentPort?.postMessage({ port: await listen(server), silentPort: await listen(silent) });

function respond(incoming: IncomingMessage, outgoing: ServerResponse, query: URLSearchParams): void {
  const play = query.get('play');
  if (play !== null) {
    const script = JSON.parse(Buffer.from(play, 'base64url').toString()) as Script;
    void write(incoming, outgoing, script, query.has('closes'));
    return;
  }
  const body = JSON.stringify({ data: { id: String(incoming.headers['x-id'] ?? '') } });
  const head = { 'content-type': 'application/json', 'content-length': body.length };
  setTimeout(() => outgoing.writeHead(200, head).end(body), Number(query.get('ms') ?? 0));
}

/** Writes a script for as long as it is read. In blocks: what V2 takes long for, others would seem to wait for in the gateway. */
async function write(
  { socket }: IncomingMessage,
  outgoing: ServerResponse,
  script: Script,
  closes: boolean,
): Promise<void> {
  for (const [text, times] of script) {
    const perBlock = Math.min(times, Math.ceil(BLOCK_BYTES / text.length));
    const block = Buffer.from(text.repeat(perBlock), 'latin1');
    for (let left = times; left > 0 && !socket.destroyed; left -= perBlock) {
      if (!socket.write(block.subarray(0, Math.min(left, perBlock) * text.length)))
        await new Promise<void>((resolve) => {
          const over = (): void => {
            socket.off('drain', over).off('close', over);
            resolve();
          };
          socket.on('drain', over).on('close', over);
        });
    }
  }
  if (closes) socket.end();
  // Node's server takes it for the response, so that the next one on this connection has its turn.
  else outgoing.emit('finish');
}

/** A service that does not want the upload, and resets instead of reading it. */
function refuseEarly({ socket }: IncomingMessage): void {
  socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig', () =>
    socket.resetAndDestroy(),
  );
}

async function listen(one: Server): Promise<number> {
  one.requestTimeout = 0;
  one.keepAliveTimeout = 75_000;
  one.on('clientError', (_error, socket) => socket.destroy());
  one.listen(0, '127.0.0.1', 4096);
  await once(one, 'listening');
  return (one.address() as AddressInfo).port;
}
