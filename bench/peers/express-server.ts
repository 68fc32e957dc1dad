/** Express with http-proxy-middleware: V2 streams, V1 is parsed by express.json and written anew. */
import { Agent } from 'node:http';
import express from 'express';
import { createProxyMiddleware, fixRequestBody } from 'http-proxy-middleware';
import { type Order, v2Order } from '../v2-order.ts';

const [port, upstream] = process.argv.slice(2).map(Number);
const target = `http://127.0.0.1:${upstream}`;
const agent = new Agent({ keepAlive: true, maxSockets: 128 });
const app = express();
app.disable('x-powered-by');
app.use('/api/v2', createProxyMiddleware({ target: `${target}/api/v2`, agent, changeOrigin: true }));
app.use(
  '/api/v1',
  express.json({ limit: '16mb' }),
  (request, _response, next) => {
    request.body = v2Order(request.body as Order);
    request.headers['x-api-version'] = '2025-01-01';
    next();
  },
  createProxyMiddleware({
    target: `${target}/api/v2`,
    agent,
    changeOrigin: true,
    on: { proxyReq: fixRequestBody },
  }),
);
const server = app.listen(port ?? 0, '127.0.0.1');
server.keepAliveTimeout = 600_000;
