import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { onTestFinished } from 'vitest';

/** Stands in front of a service, and while it is faulty responds with 500 to whatever comes. */
export interface FaultyFront {
  readonly origin: string;
  faulty: boolean;
}

/** Starts one; it ends with the test. */
export async function faultyFront(service: string): Promise<FaultyFront> {
  const server = createServer((incoming, outgoing) => {
    if (front.faulty) {
      incoming.resume();
      outgoing.writeHead(500, { 'content-type': 'application/json' });
      outgoing.end('{"errors":[{"status":"500","title":"Internal Server Error","detail":"A fault."}]}');
      return;
    }
    const { method, url, rawHeaders } = incoming;
    const sent = request(new URL(url ?? '/', service), { method, headers: rawHeaders }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.rawHeaders);
      response.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const front: FaultyFront = { origin: `http://127.0.0.1:${port}`, faulty: false };
  return front;
}
