/** A V2 service as its authors write it, with or without the migration in it: it parses an order, and responds with 1 KB of JSON. */
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createMigration, readRuleBook } from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { migrateV1 } from '../../src/library/hono.ts';
import { migrateListener } from '../../src/node/library/migrate-listener.ts';
import type { Order } from '../v2-order.ts';
import { responseBody } from '../v2-response.ts';

/** Longer than any measurement: a connection that the load leaves idle for a moment must stay. */
const serverOptions = { keepAliveTimeout: 600_000 };
const [port = '0', adapter, variant] = process.argv.slice(2);
const hostname = '127.0.0.1';
const migration = variant === 'with' ? await readMigration() : undefined;

/** The status for an order: 422 for one that is still V1's. */
function statusOf(order: Order, version: string | null | undefined): 201 | 422 {
  return version === '2025-01-01' && 'highlight_type' in order ? 201 : 422;
}

const headers = { 'content-type': 'application/json', 'content-length': String(responseBody.length) };
if (adapter === 'node') {
  const v2: RequestListener = (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const order = JSON.parse(Buffer.concat(chunks).toString()) as Order;
      outgoing.writeHead(statusOf(order, incoming.headersDistinct['x-api-version']?.[0]), headers);
      outgoing.end(responseBody);
    });
  };
  const listener = migration === undefined ? v2 : migrateListener(migration, v2);
  createServer(serverOptions, (incoming, outgoing) => void listener(incoming, outgoing)).listen(
    Number(port),
    hostname,
  );
} else if (adapter === 'hono') {
  const app = new Hono();
  if (migration !== undefined) app.use(migrateV1(migration, app));
  app.post('/api/v2/orders/floor_plans', async (context) => {
    const status = statusOf(await context.req.json<Order>(), context.req.header('x-api-version'));
    return context.body(responseBody, status, headers);
  });
  serve({ fetch: app.fetch, port: Number(port), hostname, serverOptions });
} else {
  const v2 = async (request: Request): Promise<Response> => {
    const order = (await request.json()) as Order;
    return new Response(responseBody, {
      status: statusOf(order, request.headers.get('x-api-version')),
      headers,
    });
  };
  serve({
    fetch: migration === undefined ? v2 : migrateFetch(migration, v2),
    port: Number(port),
    hostname,
    serverOptions,
  });
}

async function readMigration(): Promise<ReturnType<typeof createMigration>> {
  const reading = await readRuleBook(
    readFileSync(new URL('../rules.yaml', import.meta.url), 'utf8'),
    'rules.yaml',
  );
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  return createMigration(reading.ruleBook);
}
