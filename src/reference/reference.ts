import { Hono, type Context } from 'hono';
import { getPath } from 'hono/utils/url';
import {
  admit,
  type ApiKeys,
  createRateLimit,
  keyOf,
  readJson,
  Refusal,
  refusalResponse,
  toResponse,
} from './envelope.ts';
import {
  type Accepted,
  createDialect,
  type DeprecationsPlace,
  type Dialect,
  type DialectName,
  editionOfV1,
  editionOfV2,
  FIRST_RELEASE,
  resolveRelease,
} from './dialect.ts';
import { describeApi } from './openapi.ts';
import { ROUTES, type Route } from './routes.ts';
import { type UnknownAttributes, FAILING_STORE, type Store, StoreBusy } from './resources.ts';

export interface ReferenceParts {
  readonly store: Store;
  /** The clock of the rate limit, in milliseconds. */
  readonly now: () => number;
  /** The reaction to attributes that the version of a request does not have; `refuse` by default. */
  readonly unknown?: UnknownAttributes;
  /** Requests per minute for each key; 0, the default, is no limit. */
  readonly rate?: number;
  /** Versions to serve, on the same data; V2 only by default. */
  readonly dialects?: readonly DialectName[];
  /** Attributes that V1 still takes, with a message, and V2 has dropped; none by default. */
  readonly deprecated?: readonly string[];
  /** The place of the messages about deprecated attributes in V1's responses; `data` by default. */
  readonly deprecationsIn?: DeprecationsPlace;
  /** Dated releases of V2, oldest first; only the first one, 2025-01-01, by default. */
  readonly releases?: readonly string[];
  /** API keys that may only read; none by default. */
  readonly readOnlyKeys?: readonly string[];
  /** API keys whose requests meet a store that fails; none by default. */
  readonly failingKeys?: readonly string[];
  /** Maximum bytes of a request body; 10 MiB by default. */
  readonly bodyLimit?: number;
  /** Called with errors that are bugs, and those of a failing store; their request gets a bare 500. */
  readonly report?: (error: unknown) => void;
}

/**
 * A small working implementation of the specification: V2 under `/api/v2`, and V1 under `/api/v1` if enabled. Any non-empty
 * Bearer key is accepted; all keys see the same data. Each version describes itself at `openapi.json`, without a key.
 */
export function createReference(parts: ReferenceParts): Hono {
  const { unknown = 'refuse', dialects = ['v2'], deprecated = [], deprecationsIn = 'data' } = parts;
  const { rate = 0, now, readOnlyKeys = [], failingKeys = [], releases = [FIRST_RELEASE] } = parts;
  const app = new Hono({ getPath: resourcePath });
  const keys: ApiKeys = {
    readOnly: new Set(readOnlyKeys),
    failing: new Set(failingKeys),
    wait: createRateLimit(rate, now),
  };
  for (const name of dialects) {
    const editions = name === 'v1' ? [editionOfV1(deprecated, deprecationsIn)] : releases.map(editionOfV2);
    addVersion(
      app,
      editions.map((edition) => createDialect(edition, unknown)),
      keys,
      parts,
    );
  }
  app.notFound(() => response(new Refusal(404, 'There is nothing at this path.')));
  app.onError((error) => response(refusalOf(error, parts)));
  return app;
}

/** Adds a version of the API; `dialects` are its releases, oldest first. */
function addVersion(app: Hono, dialects: readonly Dialect[], keys: ApiKeys, parts: ReferenceParts): void {
  const [{ prefix } = { prefix: '' }] = dialects;
  const releases = dialects.map(({ release }) => release ?? '');
  const dialectOf = (c: Context): Dialect => {
    const release = resolveRelease(c.req.header('x-api-version'), releases);
    const dialect = dialects[releases.indexOf(release)];
    if (dialect === undefined) throw new Error(`${prefix} is served without a release.`);
    return dialect;
  };

  app.use(`${prefix}/*`, async (c, next) => {
    await next();
    const { release } = dialectOf(c);
    if (release !== undefined) c.header('x-api-version', release);
  });
  app.get(`${prefix}/openapi.json`, (c) => c.json(describeApi(dialectOf(c), releases)));
  app.use(`${prefix}/*`, async (c, next) => {
    admit(keys, c.req.method, c.req.header('authorization'));
    await next();
  });
  for (const route of ROUTES) {
    app.on(route.method, pattern(prefix, route), async (c) => {
      const dialect = dialectOf(c);
      const id = c.req.param('id') ?? '';
      const query = new URL(c.req.url).searchParams;
      const accepted = (): Promise<Accepted> => accept(c, dialect, route, parts);
      const isFailing = keys.failing.has(keyOf(c.req.header('authorization')) ?? '');
      const store = isFailing ? FAILING_STORE : parts.store;
      return toResponse(await route.handle({ store, dialect, id, query, accepted }));
    });
  }
  for (const [path, allow] of allowed(prefix)) {
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
function allowed(prefix: string): Map<string, string> {
  const methods = new Map<string, string>();
  for (const route of ROUTES) {
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
