import { Hono, type Context } from 'hono';
import { getPath } from 'hono/utils/url';
import { Refusal, refusalAnswer, toResponse } from './answer.ts';
import { readJson } from './body.ts';
import { describeApi } from './openapi.ts';
import { createRateLimit } from './rate-limit.ts';
import { releases as shipped, resolveRelease } from './release.ts';
import { createRoutes, type Route } from './routes.ts';
import { createSchemas, type Schemas, type UnknownAttributes } from './schemas.ts';
import { StoreBusy, type Store } from './store.ts';
import { acceptAttributes } from './validation.ts';

/** What the reference service is made of. */
export interface ReferenceParts {
  readonly store: Store;
  /** `refuse` by default. */
  readonly unknown?: UnknownAttributes;
  /** Requests a minute for each key; 0, the default, is no limit. */
  readonly rate?: number;
  /** Milliseconds; for the rate limit. */
  readonly now: () => number;
  /** Bytes of a request body; 10 MiB by default. */
  readonly bodyLimit?: number;
  /** Dated releases, oldest first. */
  readonly releases?: readonly string[];
  /** Hears of errors that are bugs; their request is answered with a bare 500. */
  readonly report?: (error: unknown) => void;
}

/**
 * The V2 service of the specification under `/api/v2`, small and real. Any non-empty Bearer key is accepted; all keys
 * see the same data. Its description is at `/api/v2/openapi.json`, without a key.
 */
export function createReference(parts: ReferenceParts): Hono {
  const { store, unknown = 'refuse', rate = 0, now, releases = shipped } = parts;
  const schemas = createSchemas(unknown);
  const routes = createRoutes(store, prefix);
  const description = describeApi(routes, schemas, prefix, releases);
  const wait = createRateLimit(rate, now);
  const app = new Hono({ getPath: resourcePath });

  app.use(`${prefix}/*`, async (c, next) => {
    await next();
    c.header('x-api-version', resolveRelease(c.req.header('x-api-version'), releases));
  });
  app.get(`${prefix}/openapi.json`, (c) => c.json(description));
  app.use(`${prefix}/*`, async (c, next) => {
    const seconds = wait(requireKey(c));
    if (seconds > 0) throw tooMany(seconds);
    await next();
  });
  for (const route of routes) {
    app.on(route.method, honoPath(route.path), async (c) =>
      toResponse(await route.handle(call(c, route, schemas, parts))),
    );
  }
  for (const [path, allow] of allowed(routes)) {
    app.all(path, (c) => {
      throw new Refusal(405, `${c.req.method} is not possible here: use ${allow}.`, { headers: { allow } });
    });
  }
  app.notFound((c) => answer(new Refusal(404, `There is nothing at ${c.req.path}.`)));
  app.onError((error) => answer(refusalOf(error, parts)));
  return app;
}

const prefix = '/api/v2';

/** Old integrations write `/clients/` and `/clients.json`; both are `/clients`. */
function resourcePath(request: Request): string {
  const path = getPath(request);
  if (path === `${prefix}/openapi.json`) return path;
  return path.length > 1 ? path.replace(/\/$/, '').replace(/\.json$/, '') : path;
}

function requireKey(c: Context): string {
  const header = c.req.header('authorization') ?? '';
  const key = /^bearer +([^\s,]+)$/i.exec(header)?.[1];
  if (key !== undefined) return key;
  throw new Refusal(401, 'Send your API key as Authorization: Bearer <key>.', {
    headers: { 'www-authenticate': 'Bearer' },
  });
}

function tooMany(seconds: number): Refusal {
  return new Refusal(429, `This key has made its requests for this minute: wait ${seconds} seconds.`, {
    headers: { 'retry-after': String(seconds) },
    meta: { reset: seconds },
  });
}

function call(
  c: Context,
  { resource }: Route,
  schemas: Schemas,
  { bodyLimit = 10 * 1024 * 1024 }: ReferenceParts,
) {
  return {
    id: c.req.param('id') ?? '',
    query: new URL(c.req.url).searchParams,
    attributes: async () => {
      if (resource === undefined) return {};
      return acceptAttributes(schemas[resource.kind], await readJson(c.req.raw, bodyLimit));
    },
  };
}

function honoPath(path: string): string {
  return `${prefix}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
}

/** The `Allow` of each path (RFC 9110 §10.2.1). Hono answers HEAD wherever it answers GET. */
function allowed(routes: readonly Route[]): Map<string, string> {
  const methods = new Map<string, string>();
  for (const { method, path } of routes) {
    const before = methods.get(honoPath(path));
    const names = method === 'GET' ? 'GET, HEAD' : method;
    methods.set(honoPath(path), before === undefined ? names : `${before}, ${names}`);
  }
  return methods;
}

function answer(refusal: Refusal): Response {
  return toResponse(refusalAnswer(refusal));
}

function refusalOf(error: unknown, { report }: ReferenceParts): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof StoreBusy) {
    return new Refusal(503, 'The store is busy: send the request again.', {
      headers: { 'retry-after': '1' },
    });
  }
  report?.(error);
  return new Refusal(500, 'The service failed; nothing was stored.');
}
