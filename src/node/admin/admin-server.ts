import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { ProcessStats } from '../../rewrite-log/metric-families.ts';
import { openFilesLimit } from '../connection-limits.ts';
import { memoryLimit } from '../runtime.ts';

/** Content of the admin listener. */
interface AdminParts {
  /** True while the gateway serves clients: listening, with a rule book in force, not draining. */
  readonly ready: () => boolean;
  /** Time since which the shared store is unreachable, in milliseconds since 1970; the gateway still serves clients. */
  readonly aloneSince?: (() => number | undefined) | undefined;
  /** Further routes, such as the inspector's; matched after `/livez` and `/readyz`. */
  readonly mounted?: Hono | undefined;
}

/** Creates the admin server, which has its own port so that clients cannot reach it. */
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

/** Milliseconds to receive a request's headers and the whole request, and between two checks of these limits. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 2000 };

/** Maximum number of connections, including monitors and event streams. */
const MAX_CONNECTIONS = 512;

const NOT_READY = {
  errors: [
    { status: '503', title: 'Service unavailable', detail: 'The gateway is not ready.', code: 'not-ready' },
  ],
};

/** Milliseconds between two clock readings. */
const INTERVAL_MS = 50;
/** Seconds of history: more than the time between two scrapes. */
const WINDOW_SECONDS = 60;

/**
 * Measures the event loop's delay; each call returns the longest delay of the last minute in seconds. A percentile since the last call
 * would hide one stall of eight seconds, and depend on other callers. (Node's `monitorEventLoopDelay` includes its own interval, and
 * misses the stall that follows a `reset`.)
 */
export function watchLoopDelay(now: () => number = () => performance.now()): () => number {
  const longest = new Float64Array(WINDOW_SECONDS);
  let second = Math.floor(now() / 1000);
  let due = now() + INTERVAL_MS;
  const measure = (): void => {
    const at = now();
    const current = Math.floor(at / 1000);
    for (let next = Math.max(second + 1, current - WINDOW_SECONDS + 1); next <= current; next += 1)
      longest[next % WINDOW_SECONDS] = 0;
    second = current;
    const slot = second % WINDOW_SECONDS;
    longest[slot] = Math.max(longest[slot] ?? 0, at - due);
    due = at + INTERVAL_MS;
  };
  setInterval(measure, INTERVAL_MS).unref();
  return () => {
    if (now() > due) measure();
    return longest.reduce((one, other) => Math.max(one, other), 0) / 1000;
  };
}

/** Watches the process; each call of the result returns the current figures. */
export function watchProcess(): () => ProcessStats {
  const loopDelay = watchLoopDelay();
  const startSeconds = Date.now() / 1000 - process.uptime();
  const maxFiles = openFilesLimit();
  const limitBytes = memoryLimit();
  return () => {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    return {
      cpuSeconds: (user + system) / 1e6,
      residentBytes: rss,
      limitBytes,
      heapBytes: heapUsed,
      startSeconds,
      openFiles: openFiles(),
      maxFiles,
      loopDelaySeconds: loopDelay(),
    };
  };
}

/** The number of open files; undefined except on Linux. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
