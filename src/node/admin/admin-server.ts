import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { Hono } from 'hono';
import type { ProcessStats } from '../../rewrite-log/metric-families.ts';
import { openFilesLimit } from '../connection-limits.ts';
import { memoryLimit } from '../runtime.ts';

/** Content of the admin listener. */
interface AdminParts {
  /** True when clients are served: listening, a rule book in force, not draining. */
  readonly ready: () => boolean;
  /** Time since which a shared store is out of reach, in milliseconds since 1970; clients are served all the same. */
  readonly aloneSince?: (() => number | undefined) | undefined;
  /** Further routes, such as the inspector's; matched after `/livez` and `/readyz`. */
  readonly mounted?: Hono | undefined;
}

/** Creates the admin server, on a port of its own, so that no client can reach it through the gateway's port. */
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

/** Milliseconds to receive a request's headers, to receive all of the request, and between two checks of these limits. */
const TIMES = { headersTimeout: 10_000, requestTimeout: 20_000, connectionsCheckingInterval: 2000 };

/** Maximum number of connections of operators, monitors and event streams, all together. */
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
 * Measures the delay of the event loop; each call returns the longest delay of the last minute in seconds. A percentile since the
 * last call would hide one stall of eight seconds, and every further caller would see less. (Node's `monitorEventLoopDelay`
 * includes its own interval, and misses the stall that follows a `reset`.)
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

/** Watches the process; each call returns the current figures. */
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

/** Only Linux provides this, under /proc. */
function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}
