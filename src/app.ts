import { Hono } from 'hono';
import type { ReceivedRequest } from './gateway/received-request.ts';
import type { Gateway } from './gateway/gateway.ts';

/** What an adapter hands to the app with every request. */
export interface AppEnv {
  readonly Bindings: { readonly received: ReceivedRequest };
}

/**
 * Routes requests on Hono. The path that is matched is the raw one, as V2 will see it: Hono's own reading of a request
 * resolves dot segments, so that `/api/v1/%2e%2e/v2/x` would be taken for another route than the one that is sent.
 */
export function createApp(gateway: Gateway): Hono<AppEnv> {
  const app = new Hono<AppEnv>({ getPath: rawPath });
  app.all('/api/v1/*', ({ env }) => gateway.migrate(env.received));
  app.all('/api/v2/*', ({ env }) => gateway.pass(env.received));
  app.notFound(({ env }) => gateway.refuseTarget(env.received));
  app.onError((error, { env }) => gateway.failInternally(env.received, error));
  return app;
}

function rawPath(_request: Request, options?: { readonly env?: AppEnv['Bindings'] }): string {
  const target = options?.env?.received.exchange.target ?? '/';
  const mark = target.indexOf('?');
  return mark === -1 ? target : target.slice(0, mark);
}
