/** A V2 that responds to every request with 1 KB and remembers the last one; over TLS, too, when it is given a certificate and its key. */
import type { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { response, responseBody } from './v2-response.ts';
import { WireReader } from './wire-reader.ts';

let last: { readonly head: string; readonly body: Buffer } | undefined;

function serve(socket: Socket): void {
  const reader = new WireReader((head, content) => {
    last = { head, body: content };
    socket.write(response);
  });
  socket.setNoDelay();
  socket.on('data', (chunk: Buffer) => reader.read(chunk));
  socket.on('error', () => socket.destroy());
}

async function listening(server: Server): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const [cert, key] = process.argv.slice(2).map((path) => readFileSync(path));
const port = await listening(createServer(serve));
const tlsPort = cert === undefined ? 0 : await listening(createTlsServer({ cert, key }, serve));
process.send?.({ port, tlsPort });
process.on('message', () => {
  process.send?.({
    head: last?.head ?? '',
    body: last?.body.toString('base64') ?? '',
    response: responseBody,
  });
});
process.on('disconnect', () => process.exit());
