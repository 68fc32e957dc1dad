import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { beforeAll, expect, test } from 'vitest';
import type { DialectName } from '../../src/reference/dialect.ts';
import { createReference } from '../../src/reference/reference.ts';
import { openReferenceStore } from '../../src/node/reference/reference-store.ts';
import { sender, service, type Reply } from './service.ts';

/* oxlint-disable typescript/no-explicit-any -- a description is a tree of anything */
let api: any;
let check: (schema: unknown, value: unknown) => string;

beforeAll(async () => {
  api = await describe();
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: api.components });
  check = (schema, value) => {
    const located = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
    return ajv.validate(located, value) ? '' : ajv.errorsText();
  };
});

async function describe(unknown: 'refuse' | 'strip' = 'refuse', name: DialectName = 'v2'): Promise<any> {
  const parts = { deprecated: ['legacy_code'], dialects: [name] };
  const app = createReference({ store: openReferenceStore(undefined), unknown, now: () => 0, ...parts });
  return (await app.request(`/api/${name}/openapi.json`)).json();
}

test.each(['refuse', 'strip'] as const)(
  'the description is valid OpenAPI 3.1 with unknown=%s',
  async (unknown) => {
    const validator = new Validator();
    const outcome = await validator.validate(await describe(unknown));
    expect(outcome.errors ?? []).toEqual([]);
    expect(outcome.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  },
);

test('the validator would find a fault', async () => {
  const broken = await describe();
  broken.paths['/api/v2/clients'].post.responses = {};
  delete broken.info.title;
  expect((await new Validator().validate(broken)).valid).toBe(false);
});

test('it is served without a key', async () => {
  const { origin } = await service();
  const response = await fetch(`${origin}/api/v2/openapi.json`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual(api);
});

test('the eight operations of the specification are where it says', () => {
  const where = Object.fromEntries(described().map(({ method, path, id }) => [id, `${method} ${path}`]));
  expect(where).toMatchObject({
    create_client: 'POST /api/v2/clients',
    order_floor_plan: 'POST /api/v2/orders/floor_plans',
    create_booking: 'POST /api/v2/bookings',
    create_contact: 'POST /api/v2/contacts',
    order_post_production: 'POST /api/v2/orders/post_productions',
    create_virtual_tour: 'POST /api/v2/virtual_tours',
    update_property: 'PATCH /api/v2/properties/{id}',
    heartbeat: 'GET /api/v2/heartbeat',
  });
});

test('every route of the app is described, and every described one is a route', () => {
  const app = createReference({ store: openReferenceStore(undefined), now: () => 0 });
  const routed = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  expect(routed.sort()).toEqual(
    described()
      .map(({ method, path }) => `${method} ${path}`)
      .sort(),
  );
  expect(new Set(described().map(({ id }) => id)).size).toBe(routed.length);
});

test('every described route responses as described, when all is well and when not', async () => {
  const { send } = await service();
  const seenStatuses = new Map<string, Set<number>>();
  const exchange = async (
    method: string,
    path: string,
    id: string,
    body?: unknown,
    key?: string,
  ): Promise<Reply> => {
    const line = `${method} ${path.replace('/api/v2', '').replace('{id}', id)}`;
    const reply = await send(line, body, key === undefined ? {} : { authorization: key });
    expect([line, ...deviations(path, method, reply)]).toEqual([line]);
    const statuses = seenStatuses.get(`${method} ${path}`) ?? new Set();
    seenStatuses.set(`${method} ${path}`, statuses.add(reply.status));
    return reply;
  };
  const sample = { name: 'x', property: { display_name: 'x', address: { latitude: 1.5 } } };

  // Creates first, deletes last, so that there is something to read in between.
  const order = ['POST', 'PATCH', 'GET', 'DELETE'];
  const ids = new Map<string, string>();
  for (const { method, path } of described().sort(
    (a, b) => order.indexOf(a.method) - order.indexOf(b.method),
  )) {
    const collection = path.replace('/{id}', '');
    const attributes = api.paths[path][method.toLowerCase()].requestBody && bodyFor(path, sample);
    const reply = await exchange(method, path, ids.get(collection) ?? '1', attributes);
    expect([method, path, reply.status < 300]).toEqual([method, path, true]);
    if (method === 'POST') ids.set(collection, String(reply.body.data.id));
    if (method === 'POST' && reply.body.data.property_id)
      ids.set('/api/v2/properties', String(reply.body.data.property_id));
    if (method !== 'DELETE' && !path.endsWith('openapi.json'))
      await exchange(method, path, '1', attributes, 'none');
    if (path.includes('{id}')) await exchange(method, path, '999', attributes);
    if (attributes !== undefined) await exchange(method, path, '1', { data: {} });
    if (attributes !== undefined) await exchange(method, path, '1', '{');
  }
  expect(seenStatuses.size).toBe(described().length);
});

test('V1 is described as it responds', async () => {
  const { origin } = await service({ dialects: ['v1'] });
  const v1 = await describe('refuse', 'v1');
  const { post } = v1.paths['/api/v1/orders/floor_plans'];
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'v1', components: v1.components });
  const fits = (schema: unknown, value: unknown): boolean =>
    ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"v1#/')), value);

  const wrapped = { data: { property: { suburb: 'x' } } };
  const request = post.requestBody.content['application/json'].schema;
  expect([fits(request, wrapped), fits(request, wrapped.data)]).toEqual([true, false]);
  const reply = await sender(origin, '/api/v1')('POST /orders/floor_plans', wrapped);
  const { content, headers } = post.responses[201];
  expect(fits(content['application/json'].schema, reply.body)).toBe(true);
  expect(Object.keys(headers)).toEqual(['location']);
});

test('the described bodies are the accepted ones', async () => {
  const { send } = await service();
  const schema = { $ref: '#/components/schemas/FloorPlanOrderAttributes' };
  for (const body of [
    { property: { address: { suburb: 'x' } } },
    { property: { suburb: 'x' } },
    { data: {} },
    { property_id: 1.5 },
    { property: null, external_id: 'F' },
  ]) {
    const accepted = (await send('POST /orders/floor_plans', body)).status === 201;
    expect([body, check(schema, body) === '']).toEqual([body, accepted]);
  }
});

/** The differences between a response and its description. */
function deviations(path: string, method: string, reply: Reply): string[] {
  const response = api.paths[path][method.toLowerCase()].responses[reply.status];
  if (response === undefined) return [`${reply.status} is not described`];
  const schema = response.content?.['application/json'].schema ?? { not: {} };
  const body = reply.body === undefined && response.content === undefined ? '' : check(schema, reply.body);
  const missing = Object.keys(response.headers).filter((name) => !reply.headers.has(name));
  return [body, ...missing].filter((deviation) => deviation !== '');
}

function bodyFor(path: string, { name, property }: { name: string; property: unknown }): unknown {
  if (path.includes('clients') || path.includes('contacts')) return { name };
  return path.includes('properties') ? property : { property };
}

function described(): { method: string; path: string; id: string }[] {
  return Object.entries<any>(api.paths).flatMap(([path, item]) =>
    Object.entries<any>(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, { operationId }]) => ({ method: method.toUpperCase(), path, id: operationId })),
  );
}
