import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { expect, test } from 'vitest';
import { createMigration, type Migration } from '../../src/library/capture-gateway.ts';
import { migrateV1 } from '../../src/library/hono.ts';
import { bookWithLookup, testRuleBook } from '../support/rule-book.ts';

const INVERSE = { rule: 'inverse', status: ['2xx'] } as const;

function migrationOf(): Migration {
  const { changes, ...book } = testRuleBook();
  return createMigration({
    ...book,
    changes: changes.map((change) => (change.on === 'every' ? change : { ...change, response: [INVERSE] })),
  });
}

interface Variables {
  readonly Variables: { calls: number };
}

const count: MiddlewareHandler<Variables> = async (context, next) => {
  context.set('calls', (context.get('calls') ?? 0) + 1);
  await next();
};

const PATH = '/api/v1/orders/post_productions';
const V1 = '{"data":{"transition_type":"é","property":{"suburb":"Enmore"}}}';
const JSON_TYPE = { 'content-type': 'application/json' };

/** A service that counts its middleware, in front of the migration and behind. */
function serviceWith(read: (context: Context) => Promise<unknown>): Hono<Variables> {
  const app = new Hono<Variables>();
  app.use(count);
  app.use(
    createMiddleware(async (context, next) => {
      await read(context);
      await next();
    }),
  );
  app.use('/api/v2/*', count);
  app.use(migrateV1(migrationOf(), app));
  app.use(count);
  app.post('/api/v2/orders/:kind', async (context) => {
    const body: unknown = await context.req.json();
    context.header('x-calls', String(context.get('calls')));
    context.header('x-path', `${context.req.path} ${context.req.param('kind')} ${context.req.routePath}`);
    return context.json({ data: body }, 201);
  });
  return app;
}

test.each<[name: string, read: (context: Context) => Promise<unknown>]>([
  ['nothing', async () => {}],
  ['json()', ({ req }) => req.json()],
  ['text()', ({ req }) => req.text()],
  ['arrayBuffer()', ({ req }) => req.arrayBuffer()],
  ['blob()', ({ req }) => req.blob()],
  ['parseBody()', ({ req }) => req.parseBody()],
  ['text() and json()', async ({ req }) => [await req.text(), await req.json()]],
])('behind middleware that reads by %s, V1 is served, and all middleware runs once', async (_name, read) => {
  const response = await serviceWith(read).request(PATH, { method: 'POST', headers: JSON_TYPE, body: V1 });
  expect(response.status).toBe(201);
  expect(response.headers.get('x-calls')).toBe('3');
  expect(response.headers.get('x-path')).toBe(
    '/api/v2/orders/post_productions post_productions /api/v2/orders/:kind',
  );
  expect(await response.text()).toBe(V1);
});

test('V2 reads a form that parseBody() has read before', async () => {
  const app = new Hono();
  app.use(async (context, next) => {
    await context.req.parseBody();
    await next();
  });
  app.use(migrateV1(migrationOf(), app));
  app.post('/api/v2/orders/post_productions', async (context) => context.json(await context.req.parseBody()));
  const body = new URLSearchParams({ 'data[transition_type]': 'é', 'data[property][suburb]': 'Enmore' });
  const response = await app.request(PATH, { method: 'POST', body });
  expect(await response.json()).toEqual({
    highlight_type: 'é',
    'property[address][suburb]': 'Enmore',
  });
});

test.each<[name: string, read: (context: Context) => Promise<unknown>]>([
  ['raw.text()', ({ req }) => req.raw.text()],
  ['raw.json()', ({ req }) => req.raw.json()],
])('a body that %s has read is a 500 that says so at once', async (_name, read) => {
  const response = await serviceWith(read).request(PATH, { method: 'POST', headers: JSON_TYPE, body: V1 });
  expect([response.status, response.headers.get('x-gateway-error')]).toEqual([500, 'body-already-read']);
});

test('errors and unknown routes of V2 go to the application’s own handlers, and fields stay', async () => {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    context.header('x-after', '1');
  });
  app.use(migrateV1(migrationOf(), app));
  app.get('/api/v2/broken', () => {
    throw new Error('broken');
  });
  app.onError((error, context) => context.text(error.message, 418));
  app.notFound((context) => context.text('none', 404));
  for (const [path, status, text] of [
    ['/api/v1/broken', 418, 'broken'],
    ['/api/v1/nothing', 404, 'none'],
  ] as const) {
    const response = await app.request(path);
    expect([response.status, await response.text(), response.headers.get('x-after')]).toEqual([
      status,
      text,
      '1',
    ]);
  }
});

test('another application gets the V1 body whole, and an application mounted in another serves V1', async () => {
  const v2 = new Hono();
  v2.post('/api/v2/orders/post_productions', async (context) =>
    context.json({ data: await context.req.json() }),
  );
  const outer = new Hono();
  outer.use(migrateV1(migrationOf(), v2));
  const init = { method: 'POST', headers: JSON_TYPE, body: V1 };
  expect(await (await outer.request(PATH, init)).text()).toBe(V1);
  const inner = serviceWith(async () => {});
  const folder = new Hono().route('/', inner);
  expect((await folder.request(PATH, init)).headers.get('x-calls')).toBe('3');
});

test('lookups ask the service itself, with the credentials of the client', async () => {
  const migration = createMigration(await bookWithLookup("many: '/users?ids={}'"));
  const app = new Hono<Variables>();
  app.use(count);
  app.use(migrateV1(migration, app));
  app.use(count);
  app.get('/api/v2/deals', (context) => context.json({ data: [{ owner_id: 7 }, { owner_id: 8 }] }));
  app.get('/api/v2/users', (context) =>
    context.json({
      data: [{ id: 7, name: `${context.req.header('authorization')} ${context.req.query('ids')}` }],
    }),
  );
  const response = await app.request('/api/v1/deals', { headers: { authorization: 'Bearer k' } });
  expect(await response.json()).toEqual({
    data: [{ owner_id: 7, owner: { name: 'Bearer k 7,8' } }, { owner_id: 8 }],
  });
});
