import type { Context, Env, Hono, MiddlewareHandler } from 'hono';
import { splitUrl } from '../http/target.ts';
import { migrateFetch } from './fetch.ts';
import type { Migration } from './migration.ts';

/**
 * Returns middleware for a V2 service on Hono that also serves V1 clients: a request under V1's prefix is migrated and handled by the
 * route of `app` that V2 has for it. Register it before the routes: `app.use(migrateV1(migration, app))`.
 */
export function migrateV1<E extends Env>(
  migration: Migration,
  app: Pick<Hono<E>, 'fetch'>,
): MiddlewareHandler<E> {
  // Where both versions share a prefix, a migrated request comes by here again.
  const migrated = new WeakSet<Request>();
  return async (context, next) => {
    const { raw } = context.req;
    if (migrated.has(raw) || !migration.isV1Target(splitUrl(raw.url).target)) return next();
    const handle = migrateFetch(migration, (request) => {
      migrated.add(request);
      return app.fetch(request, context.env, executionContextOf(context));
    });
    return handle(raw);
  };
}

/** The execution context of the platform; reading it throws where there is none, as on Node. */
function executionContextOf<E extends Env>(context: Context<E>): Context['executionCtx'] | undefined {
  try {
    return context.executionCtx;
  } catch {
    return undefined;
  }
}
