/** @module-tag packages */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
} from 'node:http2';
import { setTimeout as pause } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import express from 'express';
import { fastify } from 'fastify';
import { expect, onTestFinished, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { migrateListener } from '../../../src/node/library/migrate-listener.ts';
import { exchange, rawClient, ended } from '../../support/raw-client.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { until } from '../../support/until.ts';
import { listening } from '../../support/listening.ts';

/** Serves V1 and V2 on a free port; returns it. */
async function serve(v2: RequestListener): Promise<number> {
  const { ruleBook } = await compiledShippedRuleBook();
  const { limits } = ruleBook;
  const book = { ...ruleBook, limits: { ...limits, body: 1000, response: 1000 } };
  return listening(createServer(migrateListener(createMigration(book), v2)));
}

/** A V1 order of post production. */
function order(body: string | Buffer, fields = ''): Buffer {
  const bytes = Buffer.from(body);
  const head = `POST /api/v1/orders/post_productions HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
  return Buffer.concat([Buffer.from(`${head}${fields}Content-Length: ${bytes.length}\r\n\r\n`), bytes]);
}

const ORDER = '{"data":{"transition_type":"x","property":{"suburb":"Enmore"}}}';

test('an Express application serves V1 by its V2 routes, with its body parser', async () => {
  const app = express();
  app.use(express.json());
  app.post('/api/v2/orders/post_productions', (request, response) => {
    expect(request.get('x-api-version')).toBe('2025-01-01');
    expect(request.body).toEqual({ highlight_type: 'x', property: { address: { suburb: 'Enmore' } } });
    response.status(201).location('/api/v2/orders/1').json({ data: request.body });
    expect(response.headersSent).toBe(true);
  });
  const { text } = await exchange(await serve(app), order(ORDER));
  expect(text).toMatch(/^HTTP\/1\.1 201 [^]*\r\nlocation: \/api\/v1\/orders\/1\r\n/i);
  expect(text.split('\r\n\r\n')[1]).toBe(ORDER);
});

test('a Fastify server serves V1 by its V2 routes', async () => {
  const { ruleBook } = await compiledShippedRuleBook();
  const migration = createMigration(ruleBook);
  const app = fastify({
    serverFactory: (handler) => createServer(migrateListener(migration, handler)),
  });
  app.post('/api/v2/orders/post_productions', async (request, reply) => {
    await reply.status(201).send({ data: request.body });
  });
  onTestFinished(() => app.close());
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  const { text } = await exchange(Number(new URL(address).port), order(ORDER));
  expect(text).toMatch(/^HTTP\/1\.1 201 /);
  expect(text.split('\r\n\r\n')[1]).toBe(ORDER);
});

test('coded bodies are decoded in both directions, and a coded response that no rule changes keeps its coding', async () => {
  const port = await serve((incoming, outgoing) => {
    incoming.setEncoding('utf8').once('data', (text) => {
      const isBrotli = text.includes('"highlight_type":"br"');
      const coded = isBrotli ? brotliCompressSync(`{"data":${text}}`) : gzipSync('{"data":[]}');
      outgoing.setHeader('content-type', 'application/json');
      outgoing.setHeader('content-encoding', isBrotli ? 'br' : 'gzip');
      outgoing.write(coded.subarray(0, 5));
      outgoing.end(coded.subarray(5));
    });
  });
  const brotli = order(brotliCompressSync('{"data":{"transition_type":"br"}}'), 'Content-Encoding: br\r\n');
  const { text } = await exchange(port, brotli);
  expect(text).not.toMatch(/content-encoding/i);
  expect(text).toMatch(/\r\n\r\n\{"data":\{"transition_type":"br"\}\}$/);
  const kept = await exchange(port, order(gzipSync('{"data":{}}'), 'Content-Encoding: gzip\r\n'));
  expect(kept.text).toMatch(/\r\ncontent-encoding: gzip\r\n/i);
});

test('a service may reuse the memory of bytes that it has written', async () => {
  const port = await serve((_incoming, outgoing) => {
    outgoing.setHeader('content-type', 'application/json');
    const text = '{"data":{"highlight_type"';
    // All of its memory: a part of a larger one would be copied anyway.
    const memory = Buffer.allocUnsafeSlow(text.length);
    memory.write(text);
    outgoing.write(memory, () => {
      memory.fill('?');
      outgoing.end(':"x"}}');
    });
  });
  const { text } = await exchange(port, order(ORDER));
  expect(text).toMatch(/\r\n\r\n\{"data":\{"transition_type":"x"\}\}$/);
});

// A client that sends without end must not fill the memory of the service.
test('a body that is larger than the limit is a 413 before it ends, and the service gets nothing', async () => {
  let called = 0;
  const port = await serve(() => {
    called += 1;
  });
  const client = rawClient(port);
  const head = 'POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
  client.write(`${head}Transfer-Encoding: chunked\r\n\r\n800\r\n${' '.repeat(0x800)}\r\n`);
  const { text } = await client.until(/body-too-large.*\}\]\}$/s);
  expect(text).toMatch(/^HTTP\/1\.1 413 [^]*Connection: close/);
  expect(called).toBe(0);
  expect((await client.end()).closed).toBe(true);
});

test('a body that is announced as too large is not read', async () => {
  const port = await serve(() => {});
  const { text, closed } = await ended(
    port,
    'POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000000000\r\n\r\n ',
  );
  expect(text).toMatch(/^HTTP\/1\.1 413 [^]*Connection: close/);
  expect(closed).toBe(true);
});

test('a client that goes away in its body never reaches the service', async () => {
  let called = 0;
  const port = await serve((_incoming, outgoing) => {
    called += 1;
    outgoing.end();
  });
  const client = rawClient(port);
  client.write(order(ORDER).subarray(0, -5));
  await pause(50);
  client.socket.destroy();
  // The next client is served: the server has seen the end of the first.
  expect((await exchange(port, 'GET /api/v1/x HTTP/1.1\r\nHost: a\r\n\r\n')).text).toMatch(/ 200 /);
  expect(called).toBe(1);
});

test('a response that is larger than the limit streams on as it is, from the moment that is known', async () => {
  const large = `{"data":{"highlight_type":"${'x'.repeat(3000)}"}}`;
  const flushed: boolean[] = [];
  const port = await serve((_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.flushHeaders();
    outgoing.write(large.slice(0, 10), () => flushed.push(true));
    outgoing.write(large.slice(10, 2000));
    void until(() => flushed.length > 0).then(() => outgoing.end(large.slice(2000)));
  });
  const { text } = await exchange(port, order(ORDER));
  expect(text.replaceAll(/\r\n[0-9a-f]+\r\n/g, '')).toContain('"highlight_type":"xxx');
  expect(text.match(/x{100,}/g)?.join('').length).toBeGreaterThan(2900);
});

test('writing the head twice throws, as Node does', async () => {
  const codes: unknown[] = [];
  const port = await serve((_incoming, outgoing) => {
    outgoing.writeHead(200, 'Fine', { 'content-type': 'application/json', 'set-cookie': ['a=1', 'b=2'] });
    try {
      outgoing.writeHead(500);
    } catch (error) {
      codes.push(error instanceof Error && 'code' in error && error.code);
    }
    outgoing.end('{"data":{"highlight_type":"x"}}', 'utf8', () => codes.push('ended'));
  });
  const { text } = await exchange(port, order(ORDER));
  expect(text).toMatch(/^HTTP\/1\.1 200 Fine\r\n/);
  expect(text).toMatch(/\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n/i);
  expect(text).toMatch(/\{"data":\{"transition_type":"x"\}\}$/);
  await until(() => codes.length === 2);
  expect(codes).toEqual(['ERR_HTTP_HEADERS_SENT', 'ended']);
});

test('a HEAD whose GET would be rewritten has no length, and a kept connection serves on', async () => {
  const port = await serve((incoming, outgoing) => {
    outgoing.setHeader('content-type', 'application/json');
    outgoing.setHeader('content-length', '31');
    outgoing.end(incoming.method === 'HEAD' ? '' : '{"data":{"highlight_type":"x"}}');
  });
  const client = rawClient(port);
  client.write('HEAD /api/v1/orders/post_productions/1 HTTP/1.1\r\nHost: a\r\n\r\n');
  const head = await client.until(/\r\n\r\n$/);
  expect(head.text).not.toMatch(/content-length/i);
  client.write('GET /api/v1/orders/post_productions/1 HTTP/1.1\r\nHost: a\r\n\r\n');
  const { text } = await client.until(/\}$/);
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(2);
  expect(text).toMatch(/\r\ncontent-length: 32\r\n[^]*\{"data":\{"transition_type":"x"\}\}$/i);
  client.socket.destroy();
});

// Attack: an error of a request over HTTP/2 in a listener would end the process of the service.
test('a V1 request over HTTP/2 gets 505, and others reach the service', async () => {
  const migration = createMigration((await compiledShippedRuleBook()).ruleBook);
  const listener = migrateListener(migration, (_incoming, outgoing) => void outgoing.end('own'));
  const server = createHttp2Server();
  server.on('request', listener as never);
  const client = connectHttp2(`http://127.0.0.1:${await listening(server)}`);
  onTestFinished(() => client.destroy());
  const statusOf = async (path: string): Promise<unknown> => {
    const [headers] = (await once(client.request({ ':path': path }), 'response')) as [IncomingHttpHeaders];
    return headers[':status'];
  };
  expect([await statusOf('/api/v1/clients'), await statusOf('/api/v2/clients')]).toEqual([505, 200]);
});
