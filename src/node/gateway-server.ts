import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createApp } from '../app.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { ConnectionFaults } from './connection-faults.ts';
import { H1Exchange } from './h1-exchange.ts';

/** How clients are served. Times are milliseconds; 0 is no limit. */
export interface GatewayServerOptions {
  /** Bytes of a request's head. */
  readonly headerBytes: number;
  readonly headersTimeout: number;
  readonly bodyTimeout: number;
  readonly idleTimeout: number;
  readonly requestTimeout: number;
  readonly draining: () => boolean;
}

/**
 * Routing goes by the exchange (see `createApp`), so one request object serves Hono for all of them: making one an exchange
 * costs more than the routing, and reading its URL would normalise the path.
 */
const anyRequest = new Request('http://gateway.invalid/');

/** Makes the server that clients talk to; it listens once it is told to. */
export function createGatewayServer(gateway: Gateway, options: GatewayServerOptions): Server {
  const app = createApp(gateway);
  const server = createServer({
    maxHeaderSize: options.headerBytes,
    headersTimeout: options.headersTimeout,
    requestTimeout: options.requestTimeout,
    keepAliveTimeout: options.idleTimeout,
    connectionsCheckingInterval: 250,
    requireHostHeader: false,
    insecureHTTPParser: false,
    noDelay: true,
  });
  // Node cuts longer lists silently: a trailing Authorization would be lost. The gateway counts by itself.
  server.maxHeadersCount = 0;
  const faults = new ConnectionFaults(server, (refused) => gateway.refused(refused));

  function serve(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void {
    const exchange = new H1Exchange(incoming, outgoing, expectsContinue, options);
    if (!faults.enter(incoming.socket, exchange, outgoing)) {
      incoming.socket.destroy();
      return;
    }
    const arrival = gateway.receive(exchange);
    if (arrival === undefined) return;
    const answered = app.fetch(anyRequest, { arrival });
    if (answered instanceof Promise) answered.catch((error: unknown) => gateway.stumble(arrival, error));
  }

  server.on('request', (incoming, outgoing) => serve(incoming, outgoing, false));
  server.on('checkContinue', (incoming, outgoing) => serve(incoming, outgoing, true));
  server.on('checkExpectation', (incoming, outgoing) => serve(incoming, outgoing, false));
  return server;
}
