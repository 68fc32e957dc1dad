import { Hono, type Context } from 'hono';
import { getPath } from 'hono/utils/url';
import { Refusal, refusalResponse, toResponse } from './envelope.ts';
import { readJson } from './body.ts';
import type { Accepted, Dialect, DialectName } from './dialect.ts';
import { createV1 } from './dialect-v1.ts';
import { createV2 } from './dialect-v2.ts';
import { describeApi } from './openapi.ts';
import { createRateLimit, type RateLimit } from './rate-limit.ts';
import { RELEASES as shipped, resolveRelease } from './release.ts';
import { createRoutes, type Route } from './routes.ts';
import type { UnknownAttributes } from './schemas.ts';
import { StoreBusy, type Store } from './store.ts';

/** The parts and options of the reference service. */
export interface ReferenceParts {
  readonly store: Store;
  /** The clock of the rate limit, in milliseconds. */
  readonly now: () => number;
  /** V2's reaction to unknown attributes; `refuse` by default. */
  readonly unknown?: UnknownAttributes;
  /** Requests per minute for each key; 0, the default, is no limit. */
  readonly rate?: number;
  /** Versions to serve, on the same data; V2 only by default. */
  readonly dialects?: readonly DialectName[];
  /** Attributes that V1 still accepts and V2 does not have; none by default. */
  readonly deprecated?: readonly string[];
  /** Dated releases of V2, oldest first. */
  readonly releases?: readonly string[];
  /** Maximum bytes of a request body; 10 MiB by default. */
  readonly bodyLimit?: number;
  /** Called with errors that are bugs; their request gets a bare 500. */
  readonly report?: (error: unknown) => void;
}

/**
 * A small working implementation of the specification: V2 under `/api/v2`, and V1 under `/api/v1` if enabled. Any non-empty
 * Bearer key is accepted; all keys see the same data. Each version describes itself at `openapi.json`, without a key.
 */
export function createReference(parts: ReferenceParts): Hono {
  const { unknown = 'refuse', rate = 0, now, dialects = ['v2'], deprecated = [] } = parts;
  const app = new Hono({ getPath: resourcePath });
  const wait = createRateLimit(rate, now);
  for (const name of dialects) {
    addVersion(app, name === 'v1' ? createV1(deprecated) : createV2(unknown), wait, parts);
  }
  app.notFound((c) => response(new Refusal(404, `There is nothing at ${c.req.path}.`)));
  app.onError((error) => response(refusalOf(error, parts)));
  return app;
}

function addVersion(app: Hono, dialect: Dialect, wait: RateLimit, parts: ReferenceParts): void {
  const { prefix, dated } = dialect;
  const { store, releases = shipped } = parts;
  const routes = createRoutes(store, dialect);
  const description = describeApi(routes, dialect, releases);

  app.use(`${prefix}/*`, async (c, next) => {
    await next();
    if (dated) c.header('x-api-version', resolveRelease(c.req.header('x-api-version'), releases));
  });
  app.get(`${prefix}/openapi.json`, (c) => c.json(description));
  app.use(`${prefix}/*`, async (c, next) => {
    const seconds = wait(requireKey(c));
    if (seconds > 0) throw tooMany(seconds);
    await next();
  });
  for (const route of routes) {
    const { method, handle } = route;
    app.on(method, pattern(prefix, route), async (c) => {
      const id = c.req.param('id') ?? '';
      const query = new URL(c.req.url).searchParams;
      return toResponse(await handle({ id, query, accepted: () => accept(c, dialect, route, parts) }));
    });
  }
  for (const [path, allow] of allowed(prefix, routes)) {
    app.all(path, (c) => {
      throw new Refusal(405, `${c.req.method} is not allowed here: use ${allow}.`, { headers: { allow } });
    });
  }
}

/** Old integrations write `/clients/` and `/clients.json`; both mean `/clients`. */
function resourcePath(request: Request): string {
  const path = getPath(request);
  if (path.endsWith('/openapi.json') || path === '/') return path;
  return path.replace(/\/$/, '').replace(/\.json$/, '');
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
  return new Refusal(
    429,
    `This key has reached its request limit for this minute: wait ${seconds} seconds.`,
    {
      headers: { 'retry-after': String(seconds) },
      meta: { reset: seconds },
    },
  );
}

async function accept(c: Context, dialect: Dialect, route: Route, parts: ReferenceParts): Promise<Accepted> {
  const { bodyLimit = 10 * 1024 * 1024 } = parts;
  const body = await readJson(c.req.raw, bodyLimit);
  return route.resource === undefined
    ? { attributes: {}, deprecations: [] }
    : dialect.accept(route.resource.kind, body);
}

function pattern(prefix: string, { path }: Route): string {
  return `${prefix}${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
}

/** The `Allow` of each path (RFC 9110 §10.2.1). Hono serves HEAD wherever it serves GET. */
function allowed(prefix: string, routes: readonly Route[]): Map<string, string> {
  const methods = new Map<string, string>();
  for (const route of routes) {
    const path = pattern(prefix, route);
    const before = methods.get(path);
    const names = route.method === 'GET' ? 'GET, HEAD' : route.method;
    methods.set(path, before === undefined ? names : `${before}, ${names}`);
  }
  return methods;
}

function response(refusal: Refusal): Response {
  return toResponse(refusalResponse(refusal));
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
