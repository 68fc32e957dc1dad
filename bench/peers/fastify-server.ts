/** Fastify with @fastify/http-proxy: V2 streams, V1 is parsed by Fastify and printed again by reply-from. */
import proxy from '@fastify/http-proxy';
import Fastify from 'fastify';
import { type Order, v2Order } from '../v2-order.ts';

const [port, upstream] = process.argv.slice(2).map(Number);
const v2 = `http://127.0.0.1:${upstream}`;
const app = Fastify({ keepAliveTimeout: 600_000, bodyLimit: 16 * 1024 * 1024 });
await app.register(proxy, { upstream: v2, prefix: '/api/v2', rewritePrefix: '/api/v2' });
await app.register(proxy, {
  upstream: v2,
  prefix: '/api/v1',
  rewritePrefix: '/api/v2',
  proxyPayloads: false,
  preHandler: (request, _reply, done) => {
    request.body = v2Order(request.body as Order);
    done();
  },
  replyOptions: {
    rewriteRequestHeaders: (_request, headers) => ({ ...headers, 'x-api-version': '2025-01-01' }),
  },
});
await app.listen({ port: port ?? 0, host: '127.0.0.1' });
