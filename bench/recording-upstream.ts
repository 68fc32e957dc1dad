/** A V2 that responds to every request with 1 KB and remembers the last one; over TLS as well. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { response } from './v2-response.ts';

let last: { readonly head: string; readonly body: Buffer } = { head: '', body: Buffer.alloc(0) };

/** Reads requests by their lengths. Trusts the other side: it is a bench. */
function serve(socket: Socket): void {
  let parts: Buffer[] = [];
  /** Bytes without which the request under way cannot be complete; long bodies are put together once. */
  let missing = 0;
  socket.setNoDelay();
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk: Buffer) => {
    parts.push(chunk);
    missing -= chunk.length;
    if (missing > 0) return;
    let bytes = parts.length === 1 ? chunk : Buffer.concat(parts);
    for (;;) {
      const headEnd = bytes.indexOf('\r\n\r\n');
      if (headEnd < 0) break;
      const head = bytes.toString('latin1', 0, headEnd + 2);
      const end = headEnd + 4 + Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      missing = end - bytes.length;
      if (missing > 0) break;
      last = { head, body: bytes.subarray(headEnd + 4, end) };
      socket.write(response);
      bytes = bytes.subarray(end);
    }
    parts = bytes.length === 0 ? [] : [bytes];
  });
}

async function listening(server: Server): Promise<number> {
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const [cert, key] = process.argv.slice(2).map((path) => readFileSync(path));
process.send?.({
  port: await listening(createServer(serve)),
  tlsPort: await listening(createTlsServer({ cert, key }, serve)),
});
process.on('message', () => process.send?.({ head: last.head, body: last.body.toString('base64') }));
process.on('disconnect', () => process.exit());
