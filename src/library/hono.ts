import type { Context, Env, Hono, MiddlewareHandler } from 'hono';
import { HonoRequest } from 'hono/request';
import { matchedRoutes } from 'hono/route';
import { findTargetHandler } from 'hono/utils/handler';
import { DIGEST_FIELDS } from '../http/fields.ts';
import { splitUrl } from '../http/target.ts';
import { migrateFetch } from './fetch.ts';
import type { Migration } from './migration.ts';

/**
 * Returns middleware for a V2 service on Hono that also serves V1 clients: it migrates a request under V1's prefix, and `app` handles it by
 * V2's route. Register it before the routes: `app.use(migrateV1(migration, app))`. Middleware in front of it runs once, and may read the
 * body by `c.req.json()`, `text()`, `arrayBuffer()` or `parseBody()`.
 */
export function migrateV1<E extends Env>(
  migration: Migration,
  app: Pick<Hono<E>, 'fetch' | 'router' | 'getPath' | 'routes'>,
): MiddlewareHandler<E> {
  // If both versions have the same prefix, the migrated request reaches this middleware again.
  const migrated = new WeakSet<Request>();
  const middleware: MiddlewareHandler<E> = async (context, next) => {
    const { raw } = context.req;
    if (migrated.has(raw) || !migration.isV1Target(splitUrl(raw.url).target)) return next();
    const received = await unreadRequest(context);
    const isOwn = app.routes.some(({ handler }) => findTargetHandler(handler) === middleware);
    const fetchAgain = (request: Request): Response | Promise<Response> => {
      migrated.add(request);
      return app.fetch(request, context.env, executionContextOf(context));
    };
    const serve = async (request: Request): Promise<Response> => {
      if (request === received) {
        await next();
        return context.res;
      }
      if (!isOwn) return fetchAgain(request);
      migrated.add(request);
      return runRest(app, context, request);
    };
    // A lookup is a separate request with a context of its own.
    const handle = migrateFetch(migration, serve, fetchAgain);
    const response = await handle(received);
    // Hono merges the header fields of an assigned response with those of a response that the context already has.
    if (context.finalized) context.res = undefined;
    context.res = response;
    return response;
  };
  return middleware;
}

/** Returns the request with a readable body, even if middleware has read it by Hono's methods, which cache it. */
async function unreadRequest(context: Context): Promise<Request> {
  const { req } = context;
  const isKept = WHOLE_FORMS.some((form) => form in req.bodyCache);
  if (!isKept) return req.raw;
  const body = await req.arrayBuffer();
  const headers = new Headers(req.raw.headers);
  if (headers.has('content-length')) headers.set('content-length', String(body.byteLength));
  // Reading as text or JSON loses bytes that a digest covers.
  if (!('arrayBuffer' in req.bodyCache || 'blob' in req.bodyCache))
    for (const name of DIGEST_FIELDS) headers.delete(name);
  return new Request(req.raw, { method: req.method, headers, body });
}

/** The cached forms that contain the whole body; a parsed multipart form lacks the boundary. */
const WHOLE_FORMS = ['arrayBuffer', 'text', 'blob', 'json'];

/** Serves a request by the routes of its path that have not run for the V1 request, in the same context. */
async function runRest<E extends Env>(
  app: Pick<Hono<E>, 'router' | 'getPath'>,
  context: Context<E>,
  request: Request,
): Promise<Response> {
  const ran = matchedRoutes(context)
    .slice(0, context.req.routeIndex + 1)
    .map(({ handler }) => findTargetHandler(handler));
  const path = app.getPath(request, { env: context.env });
  const matched = app.router.match(request.method === 'HEAD' ? 'GET' : request.method, path);
  const req = new HonoRequest(request, path, matched);
  Object.defineProperty(context, 'req', { value: req, configurable: true });
  const rest = matched[0].flatMap(([[handler]], at) => {
    const known = ran.indexOf(findTargetHandler(handler));
    if (known === -1) return [{ handler, at }];
    ran.splice(known, 1);
    return [];
  });
  const run = async (step: number): Promise<void> => {
    const route = rest[step];
    if (route === undefined) {
      if (!context.finalized) context.res = await context.notFound();
      return;
    }
    req.routeIndex = route.at;
    try {
      const response: unknown = await route.handler(context, () => run(step + 1));
      if (response instanceof Response && !context.finalized) context.res = response;
    } catch (error) {
      const onError: unknown = Reflect.get(app, 'errorHandler');
      if (!(error instanceof Error) || typeof onError !== 'function') throw error;
      context.error = error;
      const response: unknown = await Reflect.apply(onError, app, [error, context]);
      if (response instanceof Response) context.res = response;
    }
  };
  await run(0);
  return context.res;
}

/** The execution context of the platform; reading it throws on platforms without one, such as Node. */
function executionContextOf<E extends Env>(context: Context<E>): Context['executionCtx'] | undefined {
  try {
    return context.executionCtx;
  } catch {
    return undefined;
  }
}
