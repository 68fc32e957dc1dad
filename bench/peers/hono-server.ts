/** Hono's own `proxy()` helper on Node: `fetch` behind, web objects in front. */
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { proxy } from 'hono/proxy';
import { type Order, v2Order } from '../v2-order.ts';

const [port, upstream] = process.argv.slice(2).map(Number);
const v2 = `http://127.0.0.1:${upstream}/api/v2`;
const app = new Hono();
app.all('/api/v2/*', (context) => proxy(`${v2}${context.req.path.slice(7)}`, context.req));
app.all('/api/v1/*', async (context) => {
  const body = JSON.stringify(v2Order(await context.req.json<Order>()));
  const headers = new Headers(context.req.raw.headers);
  headers.set('x-api-version', '2025-01-01');
  headers.delete('content-length');
  return proxy(`${v2}${context.req.path.slice(7)}`, { method: context.req.method, headers, body });
});
serve({ fetch: app.fetch, port: port ?? 0, hostname: '127.0.0.1' });
