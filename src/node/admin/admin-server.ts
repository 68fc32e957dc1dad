import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

/** Content of the admin listener. */
export interface AdminParts {
  /** True when clients are served: listening, a rule book in force, not draining. */
  readonly ready: () => boolean;
  /** Time since which a shared store is out of reach, in milliseconds since 1970; clients are served all the same. */
  readonly aloneSince?: (() => number | undefined) | undefined;
  /** Further routes, such as the inspector's; matched after `/livez` and `/readyz`. */
  readonly mounted?: Hono | undefined;
}

/** Creates the admin server: on a port of its own, so that no client can reach it through the gateway's. */
export function createAdminServer({ ready, aloneSince, mounted }: AdminParts): Server {
  const app = new Hono();
  app.get('/livez', (c) => c.json({ data: { status: 'live' } }));
  app.get('/readyz', (c) => {
    if (!ready()) return c.json(NOT_READY, 503);
    const since = aloneSince?.();
    const alone = since === undefined ? {} : { aloneSince: new Date(since).toISOString() };
    return c.json({ data: { status: 'ready', ...alone } });
  });
  if (mounted !== undefined) app.route('/', mounted);
  app.notFound((c) => c.json({ errors: [{ status: '404', title: 'Not found', code: 'not-found' }] }, 404));
  const respond = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => new Response(null, { status: 400 }),
  });
  const server = createServer(TIMES, (incoming, outgoing) => {
    void respond(incoming, outgoing);
  });
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/** Milliseconds to receive a request's headers, to receive all of the request, and between two checks of these limits. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 2000 };

/** Maximum number of connections of operators, monitors and event streams, all together. */
const MAX_CONNECTIONS = 512;

const NOT_READY = {
  errors: [
    { status: '503', title: 'Service unavailable', detail: 'The gateway is not ready.', code: 'not-ready' },
  ],
};
