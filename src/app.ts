import type { Hono } from 'hono';
import type { Gateway } from './gateway/gateway.ts';
import type { ReceivedRequest } from './gateway/gateway-context.ts';
import type { Decision } from './migrate/decision.ts';

/** The bindings that an adapter passes to the app with every request. */
export interface AppEnv {
  readonly Bindings: { readonly received: ReceivedRequest };
}

const PATHS: Readonly<Record<Decision['route'], string>> = {
  migrate: '/migrate',
  'self-service': '/self-service',
  pass: '/pass',
  webhook: '/webhook',
  options: '/options',
  none: '/none',
};

/**
 * Serves received requests on Hono, at the edge; on Node the server calls `Gateway.serve`. The decision has read the target already, so
 * that Hono routes by its outcome: Hono's own reading of a request resolves dot segments, and `/api/v1/%2e%2e/v2/x` would match another
 * route than the one that is sent. `Base` is Hono with the router of the runtime.
 */
export function createApp(gateway: Gateway, Base: typeof Hono): Hono<AppEnv> {
  const app = new Base<AppEnv>({ getPath: (_request, options) => pathOf(options?.env?.received) });
  app.all('/migrate', ({ env }) => gateway.migrate(env.received));
  app.all('/self-service', ({ env }) => gateway.serveReport(env.received));
  app.all('/options', ({ env }) => gateway.serveOptions(env.received));
  app.all('/webhook', ({ env }) => gateway.deliver(env.received));
  app.all('/pass', ({ env }) => gateway.pass(env.received));
  app.notFound(({ env }) => gateway.refuse(env.received));
  app.onError((error, { env }) => gateway.failInternally(env.received.exchange, error));
  return app;
}

/** The path by which Hono routes a request; `/none` is not found. */
function pathOf(received: ReceivedRequest | undefined): string {
  return PATHS[received?.decision.route ?? 'none'];
}
