import { once } from 'node:events';
import { createServer, type Server } from 'node:http';

/** A service that keeps the ids of the orders that it accepted. */
export class CountingService {
  /** How often each order was accepted. */
  readonly orders = new Map<string, number>();
  /** True while it fails every request. */
  fails = false;
  requests = 0;
  private readonly server: Server;

  constructor() {
    this.server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        body += chunk;
      });
      request.on('end', () => {
        this.requests += 1;
        const id = /order-\d+/.exec(body)?.[0] ?? '';
        if (!this.fails) this.orders.set(id, (this.orders.get(id) ?? 0) + 1);
        response.writeHead(this.fails ? 500 : 201, { 'content-type': 'application/json' });
        response.end('{"data":{}}');
      });
    });
  }

  /** Resolves to the origin. */
  async listen(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
