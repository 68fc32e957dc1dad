import type { Hono } from 'hono';
import type { Gateway } from './gateway/gateway.ts';
import type { ReceivedRequest } from './gateway/received-request.ts';

/** The bindings that an adapter passes to the app with every request. */
export interface AppEnv {
  readonly Bindings: { readonly received: ReceivedRequest };
}

/**
 * Routes received requests on Hono. The path to match is the one that the decision was made for: Hono's own reading of a request
 * resolves dot segments, so that `/api/v1/%2e%2e/v2/x` would match another route than the one that is sent. `Base` is Hono with
 * the router of the runtime: the fastest on Node, the smallest at the edge.
 */
export function createApp(gateway: Gateway, Base: typeof Hono): Hono<AppEnv> {
  const app = new Base<AppEnv>({ getPath: decidedPath });
  app.all('/api/v1/*', ({ env }) => gateway.migrate(env.received));
  app.all('/api/v2/*', ({ env }) => gateway.pass(env.received));
  app.notFound(({ env }) => gateway.refuse(env.received));
  app.onError((error, { env }) => gateway.failInternally(env.received.exchange, error));
  return app;
}

function decidedPath(_request: Request, options?: { readonly env?: AppEnv['Bindings'] }): string {
  const received = options?.env?.received;
  if (received === undefined || received.decision.route === 'none') return '/';
  const { target } = received.exchange;
  // A slice: V8 flattens a concatenated string before it matches it.
  const mark = target.indexOf('?');
  return mark === -1 ? target : target.slice(0, mark);
}
