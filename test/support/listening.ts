import { once } from 'node:events';
import { Server as HttpServer } from 'node:http';
import { Server as HttpsServer } from 'node:https';
import type { Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** Has a server listen on a free port, of 127.0.0.1 unless `host` says otherwise, until the test ends, and returns the port. */
export async function listening(server: Server, host = '127.0.0.1'): Promise<number> {
  // On a busy machine seconds pass between two requests: Node would close the connection, and a client send on it.
  if (server instanceof HttpServer || server instanceof HttpsServer) server.keepAliveTimeout = 0;
  server.listen(0, host);
  await once(server, 'listening');
  onTestFinished(() => {
    if (server instanceof HttpServer || server instanceof HttpsServer) server.closeAllConnections();
    server.close();
  });
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}
