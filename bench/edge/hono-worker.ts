/** A worker on Hono as its users write it: V2 is proxied, a V1 body is parsed, changed and printed again. */
import { Hono } from 'hono';
import { proxy } from 'hono/proxy';
import { type Order, v2Order } from '../v2-order.ts';

const app = new Hono<{ readonly Bindings: { readonly GATEWAY_UPSTREAM: string } }>();
app.all('/api/v2/*', ({ req, env }) => {
  const { pathname, search } = new URL(req.url);
  return proxy(`${env.GATEWAY_UPSTREAM}${pathname}${search}`, req);
});
app.all('/api/v1/*', async ({ req, env }) => {
  const { pathname, search } = new URL(req.url);
  const headers = { ...req.header(), 'x-api-version': '2025-01-01', 'content-length': undefined };
  const body = JSON.stringify(v2Order(await req.json<Order>()));
  const target = `/api/v2${pathname.slice('/api/v1'.length)}${search}`;
  return proxy(`${env.GATEWAY_UPSTREAM}${target}`, { method: req.method, headers, body });
});

// oxlint-disable-next-line import/no-default-export -- the form of a worker
export default app;
