import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { Hono } from 'hono';
import { expect, test } from 'vitest';
import { createMigration, type Migration } from '../../src/library/capture-gateway.ts';
import { migrateFetch } from '../../src/library/fetch.ts';
import { migrateV1 } from '../../src/library/hono.ts';
import { listening } from '../support/listening.ts';
import { bookWithLookup, testRuleBook } from '../support/rule-book.ts';

const INVERSE = { rule: 'inverse', status: ['2xx'] } as const;

/** The rule book of tests, with responses in V1's names, and small limits. */
function migrationOf(): Migration {
  const { changes, limits, ...book } = testRuleBook();
  return createMigration({
    ...book,
    limits: { ...limits, body: 1000, response: 1000 },
    changes: changes.map((change) => (change.on === 'every' ? change : { ...change, response: [INVERSE] })),
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };

function order(body: BodyInit, headers: Readonly<Record<string, string>> = {}): Request {
  return new Request('http://v2.test/api/v1/orders/post_productions', {
    method: 'POST',
    headers: { ...JSON_TYPE, ...headers },
    body,
  });
}

test('a request that is not under /api/v1 reaches the service as the same object', async () => {
  const seen: Request[] = [];
  const serve = migrateFetch(migrationOf(), (request) => {
    seen.push(request);
    return new Response('own');
  });
  const requests = ['/api/v2/clients', '/api/v10/clients', '/', '/docs/api/v1/'].map(
    (path) => new Request(`http://v2.test${path}`),
  );
  for (const request of requests) expect(await (await serve(request)).text()).toBe('own');
  expect(seen).toEqual(requests);
  expect(seen.every((request, at) => request === requests[at])).toBe(true);
});

test('lookups ask the service itself, with the credentials of the client', async () => {
  const migration = createMigration(await bookWithLookup("many: '/users?ids={}'"));
  const seen: string[] = [];
  const serve = migrateFetch(migration, ({ url, headers, method }) => {
    seen.push(`${method} ${url} ${headers.get('authorization')} ${headers.get('host')}`);
    const body = url.includes('/users') ? '{"data":[{"id":7,"name":"Ann"}]}' : '{"data":[{"owner_id":7}]}';
    return new Response(body, { headers: JSON_TYPE });
  });
  const headers = { authorization: 'Bearer k', host: 'v2.test' };
  const response = await serve(new Request('http://v2.test/api/v1/deals?page=2', { headers }));
  expect(await response.text()).toBe('{"data":[{"owner_id":7,"owner":{"name":"Ann"}}]}');
  expect(seen.map((line) => line.replace(/ null$/, ' v2.test'))).toEqual([
    'GET http://v2.test/api/v2/deals?page=2 Bearer k v2.test',
    'GET http://v2.test/api/v2/users?ids=7 Bearer k v2.test',
  ]);
});

test('a body in gzip is decoded and rewritten, and so is a response in gzip', async () => {
  const serve = migrateFetch(migrationOf(), async (request) => {
    expect(request.headers.get('content-encoding')).toBeNull();
    expect(await request.text()).toBe('{"highlight_type":1.0}');
    const body = gzipSync('{"data":{"highlight_type":1.0}}');
    return new Response(body, { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } });
  });
  const body = new Uint8Array(gzipSync('{"data":{"transition_type":1.0}}'));
  const response = await serve(order(body, { 'content-encoding': 'gzip' }));
  expect(response.headers.get('content-encoding')).toBeNull();
  expect(response.headers.get('content-length')).toBe('32');
  expect(await response.text()).toBe('{"data":{"transition_type":1.0}}');
});

test('a response that is no gzip, or in Brotli, is left as it is', async () => {
  for (const coding of ['gzip', 'br']) {
    const serve = migrateFetch(
      migrationOf(),
      () => new Response('{"data":{}}', { headers: { ...JSON_TYPE, 'content-encoding': coding } }),
    );
    const response = await serve(order('{"data":{}}'));
    expect(response.headers.get('content-encoding')).toBe(coding);
    expect(await response.text()).toBe('{"data":{}}');
  }
});

test('a response that fetch has decoded is rewritten, and redirects are not followed on either side', async () => {
  const v2 = createServer((incoming, outgoing) => {
    if (incoming.url === '/api/v2/clients') {
      outgoing.writeHead(307, { location: '/api/v2/elsewhere' }).end();
      return;
    }
    outgoing.writeHead(201, { ...JSON_TYPE, 'content-encoding': 'gzip' });
    outgoing.end(gzipSync('{"data":{"highlight_type":1.0}}'));
  });
  const port = await listening(v2);
  const serve = migrateFetch(migrationOf(), async ({ url, method, headers, body, redirect }) => {
    const init = { method, headers, body: body && (await new Response(body).text()), redirect };
    return fetch(`http://127.0.0.1:${port}${new URL(url).pathname}`, init);
  });
  const response = await serve(order('{"data":{}}'));
  expect(await response.text()).toBe('{"data":{"transition_type":1.0}}');
  expect(response.headers.get('content-encoding')).toBeNull();
  const request = new Request('http://v2.test/api/v1/clients', {
    method: 'POST',
    headers: JSON_TYPE,
    body: '{"data":{}}',
    redirect: 'manual',
  });
  const moved = await serve(request);
  expect([moved.status, moved.headers.get('location')]).toEqual([307, '/api/v1/elsewhere']);
});

test('gzip in several members, which the decoder of the platform does not read, is a 400, or left as it is', async () => {
  const inTwo = (start: string, rest: string): Uint8Array<ArrayBuffer> =>
    new Uint8Array(Buffer.concat([gzipSync(start), gzipSync(rest)]));
  const coded = { ...JSON_TYPE, 'content-encoding': 'gzip' };
  const sent = inTwo('{"data":', '{"highlight_type":1}}');
  const serve = migrateFetch(migrationOf(), () => new Response(sent, { headers: coded }));
  const refused = await serve(order(inTwo('{"data":', '{}}'), coded));
  expect([refused.status, refused.headers.get('x-gateway-error')]).toEqual([400, 'undecodable-body']);
  const response = await serve(order('{"data":{}}'));
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(sent);
});

// A client that sends without end must not fill the memory of the service.
test('a body that is larger than the limit is a 413 before it ends, and the service gets nothing', async () => {
  let pulled = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pulled += 1;
      controller.enqueue(new Uint8Array(100).fill(0x20));
    },
  });
  const serve = migrateFetch(migrationOf(), () => {
    throw new Error('the service was called');
  });
  const init = { method: 'POST', headers: JSON_TYPE, body: endless, duplex: 'half' } as const;
  const response = await serve(new Request('http://v2.test/api/v1/clients', init));
  expect(response.status).toBe(413);
  expect(response.headers.get('x-gateway-error')).toBe('body-too-large');
  expect(pulled).toBeLessThan(20);
});

test('a decompression bomb is a 413', async () => {
  const serve = migrateFetch(migrationOf(), () => new Response());
  const bomb = new Uint8Array(gzipSync(' '.repeat(100_000)));
  expect(bomb.length).toBeLessThan(1000);
  expect((await serve(order(bomb, { 'content-encoding': 'gzip' }))).status).toBe(413);
});

test('a request of declared length is read whole from an object that would make a Request for its stream', async () => {
  const sent = new TextEncoder().encode('{"data":{"transition_type":1.0}}');
  const aborter = new AbortController();
  // As @hono/node-server has them.
  const light = {
    method: 'POST',
    url: 'http://v2.test/api/v1/orders/post_productions',
    headers: new Headers({ ...JSON_TYPE, host: 'v2.test', 'content-length': String(sent.length) }),
    signal: aborter.signal,
    bodyUsed: false,
    arrayBuffer: () => Promise.resolve(sent.buffer),
    get body(): never {
      throw new Error('makes a whole Request');
    },
    get redirect(): never {
      throw new Error('makes a whole Request');
    },
  };
  const request: Request = Object.create(Object.setPrototypeOf(light, Request.prototype));
  const serve = migrateFetch(migrationOf(), async ({ headers, body, redirect, signal }) => {
    expect(await new Response(body).text()).toBe('{"highlight_type":1.0}');
    expect([headers.get('content-length'), redirect]).toEqual(['22', 'follow']);
    aborter.abort();
    expect(signal.aborted).toBe(true);
    return new Response('{"data":{"highlight_type":1.0}}', {
      status: 201,
      statusText: 'Made',
      headers: { ...JSON_TYPE, 'x-own': 'kept' },
    });
  });
  const response = await serve(request);
  expect([response.status, response.statusText, response.headers.get('x-own')]).toEqual([
    201,
    'Made',
    'kept',
  ]);
  expect(await response.text()).toBe('{"data":{"transition_type":1.0}}');
});

test('a body that is longer than its Content-Length says, and than the limit, is a 413', async () => {
  let calls = 0;
  const serve = migrateFetch(migrationOf(), () => {
    calls += 1;
    return new Response();
  });
  const response = await serve(order(`{"a":"${'x'.repeat(1000)}"}`, { 'content-length': '10' }));
  expect([response.status, calls]).toEqual([413, 0]);
});

test('a response that is larger than the limit streams on as it is', async () => {
  const parts = ['{"data":{"highlight_type":"', 'x'.repeat(900), 'y'.repeat(900), '"}}'];
  const serve = migrateFetch(migrationOf(), () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
        controller.close();
      },
    });
    return new Response(body, { headers: JSON_TYPE });
  });
  expect(await (await serve(order('{"data":{}}'))).text()).toBe(parts.join(''));
});

test('a body that no rule concerns is streamed: the service reads its start before its end is sent', async () => {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const serve = migrateFetch(migrationOf(), async (request) => {
    const reader = request.body?.getReader();
    const first = await reader?.read();
    await writer.close();
    expect((await reader?.read())?.done).toBe(true);
    return new Response(first?.value);
  });
  const init = { method: 'PUT', headers: JSON_TYPE, body: readable, duplex: 'half' } as const;
  const served = serve(new Request('http://v2.test/api/v1/photos/1', init));
  await writer.write(new TextEncoder().encode('start'));
  expect(await (await served).text()).toBe('start');
});

test('on Hono, V2’s routes serve V1 with environment and context, and other routes are reached as before', async () => {
  const app = new Hono<{ Bindings: { readonly secret: string } }>();
  app.use(migrateV1(migrationOf(), app));
  app.post('/api/v2/orders/post_productions', async (context) => {
    context.header('Location', '/api/v2/orders/1');
    context.header('x-env', `${context.env.secret} ${typeof context.executionCtx.waitUntil}`);
    return context.body(`{"data":${await context.req.text()}}`, 201, JSON_TYPE);
  });
  app.get('/other', (context) => context.text('other'));
  const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
  const request = order('{"data":{"transition_type":"x","property":{"suburb":"Enmore"}}}');
  const response = await app.fetch(request, { secret: 's' }, context);
  expect(response.status).toBe(201);
  expect(response.headers.get('location')).toBe('/api/v1/orders/1');
  expect(response.headers.get('x-env')).toBe('s function');
  expect(await response.text()).toBe('{"data":{"transition_type":"x","property":{"suburb":"Enmore"}}}');
  expect(await (await app.request('/other')).text()).toBe('other');
  expect((await app.request('/api/v1/nothing')).status).toBe(404);
});
