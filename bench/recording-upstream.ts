/** A V2 that responds to every request with 1 KB and remembers the last one. A process of its own; it costs as little as it can. */
import { Buffer } from 'node:buffer';
import { createServer, type Socket } from 'node:net';
import { WireReader } from './wire-reader.ts';

const body = `{"data":${JSON.stringify({ id: 4711, status: 'ordered', notes: 'x'.repeat(950) })}}`;
const response = Buffer.from(
  `HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nx-request-id: 0\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);

let last: { readonly head: string; readonly body: Buffer } | undefined;

const server = createServer({ noDelay: true }, (socket: Socket) => {
  const reader = new WireReader((head, content) => {
    last = { head, body: content };
    socket.write(response);
  });
  socket.on('data', (chunk: Buffer) => reader.read(chunk));
  socket.on('error', () => socket.destroy());
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 });
});
process.on('message', () => {
  process.send?.({ head: last?.head ?? '', body: last?.body.toString('base64') ?? '', response: body });
});
process.on('disconnect', () => process.exit());
