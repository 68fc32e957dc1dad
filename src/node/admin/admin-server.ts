import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';

/** What the admin listener shows. */
export interface AdminParts {
  /** True when clients are served: listening, a rule book in force, not draining. */
  readonly ready: () => boolean;
  /** Further routes, such as the inspector's; asked after `/livez` and `/readyz`. */
  readonly mounted?: Hono | undefined;
}

/** Makes the admin server: a port of its own, so that no client can reach it through the gateway's. */
export function createAdminServer({ ready, mounted }: AdminParts): Server {
  const app = new Hono();
  app.get('/livez', (c) => c.json({ data: { status: 'live' } }));
  app.get('/readyz', (c) => (ready() ? c.json({ data: { status: 'ready' } }) : c.json(NOT_READY, 503)));
  if (mounted !== undefined) app.route('/', mounted);
  app.notFound((c) => c.json({ errors: [{ status: '404', title: 'Not found', code: 'not-found' }] }, 404));
  const respond = getRequestListener(app.fetch, {
    overrideGlobalObjects: false,
    errorHandler: () => new Response(null, { status: 400 }),
  });
  return createServer({ headersTimeout: 10_000, requestTimeout: 30_000 }, (incoming, outgoing) => {
    void respond(incoming, outgoing);
  });
}

const NOT_READY = {
  errors: [
    { status: '503', title: 'Service unavailable', detail: 'The gateway is not ready.', code: 'not-ready' },
  ],
};
