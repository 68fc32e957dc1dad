import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import { createReference } from '../../src/reference/reference.ts';
import { openReferenceStore } from '../../src/node/reference.ts';
import { sender, service, type Reply } from './service.ts';

/* oxlint-disable typescript/no-explicit-any -- a description is a tree of anything */

const options = { deprecated: ['legacy_code'], releases: ['2025-01-01', '2026-06-01'] };
const editions = [
  { name: 'v1', release: undefined },
  { name: 'v2', release: '2025-01-01' },
  { name: 'v2', release: '2026-06-01' },
] as const;
type Edition = (typeof editions)[number];
const [V1, V2] = editions;

async function describe({ name, release }: Edition, unknown: 'refuse' | 'strip' = 'refuse'): Promise<any> {
  const parts = { ...options, unknown, dialects: [name] };
  const app = createReference({ store: openReferenceStore(undefined), now: () => 0, ...parts });
  const headers: Record<string, string> = release === undefined ? {} : { 'x-api-version': release };
  return (await app.request(`/api/${name}/openapi.json`, { headers })).json();
}

/** It compiles the schema of each version of OpenAPI once. */
const openapi = new Validator();

/** Compares values with schemas of a description; returns the deviations, empty when there is none. */
function validator(api: any): (schema: unknown, value: unknown) => string {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: api.components });
  const compiled = new Map<string, ValidateFunction>();
  return (schema, value) => {
    const text = JSON.stringify(schema).replaceAll('"#/', '"api#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text));
    compiled.set(text, validate);
    return validate(value) ? '' : ajv.errorsText(validate.errors);
  };
}

test.each([
  ...editions.map((edition) => ({ ...edition, unknown: 'refuse' as const })),
  { ...V2, unknown: 'strip' as const },
])(
  'the description of $name $release is valid OpenAPI 3.1 with unknown=$unknown',
  async ({ unknown, ...edition }) => {
    const outcome = await openapi.validate(await describe(edition, unknown));
    expect(outcome.errors ?? []).toEqual([]);
    expect(outcome.valid).toBe(true);
  },
);

test('the validator finds a fault, so that the next tests can fail', async () => {
  const broken = await describe(V2);
  broken.paths['/api/v2/clients'].post.responses = {};
  delete broken.info.title;
  expect((await openapi.validate(broken)).valid).toBe(false);
});

test('it is served without a key, that of the latest release unless the request selects another', async () => {
  const { origin } = await service(options);
  const version = async (headers: Record<string, string>): Promise<string> => {
    const description: any = await (await fetch(`${origin}/api/v2/openapi.json`, { headers })).json();
    return description.info.version;
  };
  expect(await version({})).toBe('2026-06-01');
  expect(await version({ 'x-api-version': '2025-01-01' })).toBe('2025-01-01');
});

test('the eight operations of the specification are where it says', async () => {
  const where = described(await describe(V2)).map(({ method, path, id }) => [id, `${method} ${path}`]);
  expect(Object.fromEntries(where)).toMatchObject({
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

test('every route of the app is described, and every described one is a route', async () => {
  const app = createReference({ store: openReferenceStore(undefined), now: () => 0 });
  const routed = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  const routes = described(await describe(V2));
  expect(routed.sort()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).sort());
  expect(new Set(routes.map(({ id }) => id)).size).toBe(routed.length);
});

// The other release differs by one name.
test.each([V1, V2])(
  'every route of $name $release responds as described, when all is well and when not',
  async (edition) => {
    const prefix = `/api/${edition.name}`;
    const api = await describe(edition);
    const check = validator(api);
    const readOnlyKeys = ['reader'];
    const failingKeys = ['unlucky'];
    const { origin } = await service({
      ...options,
      dialects: [edition.name],
      readOnlyKeys,
      failingKeys,
      report: () => {},
      bodyLimit: 2000,
    });
    const pin: Record<string, string> =
      edition.release === undefined ? {} : { 'x-api-version': edition.release };
    const send = sender(origin, prefix);
    const seen = new Map<string, Set<number>>();
    const exchange = async (route: Route, id: string, body?: unknown, key = 'key'): Promise<Reply> => {
      const line = `${route.method} ${route.path.replace(prefix, '').replace('{id}', id)}`;
      const reply = await send(line, body, { ...pin, authorization: `Bearer ${key}` });
      expect([line, reply.status, ...deviations(api, check, route, reply)]).toEqual([line, reply.status]);
      const name = `${route.method} ${route.path}`;
      seen.set(name, (seen.get(name) ?? new Set()).add(reply.status));
      return reply;
    };

    // Creates first, deletes last, so that there is something to read in between.
    const order = ['POST', 'PATCH', 'GET', 'DELETE'];
    const routes = described(api).sort((a, b) => order.indexOf(a.method) - order.indexOf(b.method));
    const ids = new Map<string, string>();
    for (const route of routes) {
      const collection = route.path.replace('/{id}', '');
      const body = route.takesBody ? bodyFor(edition, collection) : undefined;
      const reply = await exchange(route, ids.get(collection) ?? '1', body);
      expect([route.id, reply.status < 300, reply.body]).toEqual([route.id, true, reply.body]);
      if (route.method === 'POST') ids.set(collection, String(reply.body.data.id));
      if (reply.body?.data?.property_id) ids.set(`${prefix}/properties`, String(reply.body.data.property_id));
      if (!route.path.endsWith('openapi.json')) await exchange(route, '1', body, '');
      if (route.method !== 'GET') await exchange(route, '1', body, 'reader');
      if (!/heartbeat|openapi/.test(route.path)) await exchange(route, '1', body, 'unlucky');
      if (route.path.includes('{id}')) await exchange(route, '999', body);
      if (route.takesBody) await exchange(route, '1', { data: { data: 1 } });
      if (route.takesBody) await exchange(route, '1', '{');
      if (route.takesBody) await exchange(route, '1', 'x'.repeat(2001));
    }
    expect(seen.size).toBe(routes.length);
    expect(seen.get(`PATCH ${prefix}/properties/{id}`)).toEqual(
      new Set([200, 400, 401, 403, 404, 413, 422, 500]),
    );
  },
);

test.each(editions)('the described bodies of $name $release are the accepted ones', async (edition) => {
  const { origin } = await service({ ...options, dialects: [edition.name] });
  const send = sender(origin, `/api/${edition.name}`);
  const api = await describe(edition);
  const check = validator(api);
  const pin: Record<string, string> =
    edition.release === undefined ? {} : { 'x-api-version': edition.release };
  const parameters = [
    { property: { address: { suburb: 'x' } } },
    { property: { suburb: 'x' } },
    { property: { address: null } },
    { transition_type: 'x' },
    { highlight_type: 'x' },
    { name: 'x' },
    { display_name: 'x' },
    { legacy_code: {} },
    { data: {} },
    { property_id: 1.5 },
    { property: null, external_id: 'F' },
  ];
  const bodies = [...parameters, ...parameters.map((data) => ({ data }))];
  for (const path of ['/clients', '/orders/floor_plans', '/orders/post_productions', '/bookings']) {
    const { requestBody } = api.paths[`/api/${edition.name}${path}`].post;
    const outcomes = [];
    for (const body of bodies) {
      const { status } = await send(`POST ${path}`, body, pin);
      outcomes.push(status === 201);
      const fits = check(requestBody.content['application/json'].schema, body) === '';
      // V1 takes bodies without the wrapper, and its description leaves them out.
      const isDescribed = edition.name === 'v2' || 'data' in body;
      expect([path, body, fits]).toEqual([path, body, isDescribed && status === 201]);
    }
    expect(new Set(outcomes).size).toBe(2);
  }
});

// The rules by which the gateway derives V1's description need nothing more than this.
test("V1's description is V2's with the six changes, to the order of its members", async () => {
  const v2 = await describe(V2);
  const { version: _header, ...headers } = v2.components.headers;
  expect(headers).toEqual({});
  delete v2.components.headers;
  delete v2.components.parameters;
  v2.info.version = '1';
  const schemas = v2.components.schemas;
  for (const name of ['FloorPlanOrder', 'PostProductionOrder']) {
    for (const { properties } of [schemas[name], schemas[`${name}Attributes`]]) {
      const property = properties.property.anyOf[0].properties;
      properties.property.anyOf[0].properties = flatten(property);
    }
  }
  for (const name of Object.keys(schemas).filter((name) => !/^(Errors|PageMeta)$/.test(name))) {
    const legacy = name.endsWith('Attributes') ? { legacy_code: { deprecated: true } } : {};
    schemas[name].properties = { ...rename(schemas[name].properties), ...legacy };
  }
  for (const item of Object.values<any>(v2.paths)) {
    for (const operation of Object.values<any>(item)) withoutVersion(operation);
    for (const operation of [item.post, item.patch].filter((found) => found !== undefined)) wrap(operation);
  }
  const v1 = await describe(V1);
  const { Deprecations, ...others } = v1.components.schemas;
  expect(Deprecations.type).toBe('array');
  v1.components.schemas = others;
  v2.paths = Object.fromEntries(
    Object.entries(v2.paths).map(([path, item]) => [path.replace('/api/v2', '/api/v1'), item]),
  );
  expect(JSON.stringify(v1, null, 1).split('\n')).toEqual(JSON.stringify(v2, null, 1).split('\n'));
});

function flatten({ address, ...own }: any): any {
  return { ...own, ...address.properties };
}

function rename(properties: any): any {
  return Object.fromEntries(
    Object.entries(properties).map(([name, value]) => [
      name === 'highlight_type' ? 'transition_type' : name,
      value,
    ]),
  );
}

function withoutVersion(operation: any): void {
  if (operation.responses === undefined) return;
  for (const { headers } of Object.values<any>(operation.responses)) delete headers['x-api-version'];
  if (operation.parameters === undefined) return;
  operation.parameters = operation.parameters.filter(({ $ref }: any) => $ref === undefined);
  for (const parameter of operation.parameters) {
    if (parameter.name === 'highlight_type') parameter.name = 'transition_type';
  }
}

function wrap(operation: any): void {
  const { content } = operation.requestBody;
  const { schema } = content['application/json'];
  content['application/json'].schema = { type: 'object', required: ['data'], properties: { data: schema } };
  const success = operation.responses[201] ?? operation.responses[200];
  success.content['application/json'].schema.properties.data.properties = {
    deprecations: { $ref: '#/components/schemas/Deprecations' },
  };
}

interface Route {
  readonly method: string;
  readonly path: string;
  readonly id: string;
  readonly takesBody: boolean;
}

/** The differences between a response and its description. */
function deviations(
  api: any,
  check: (schema: unknown, value: unknown) => string,
  { path, method }: Route,
  reply: Reply,
): string[] {
  const response = api.paths[path][method.toLowerCase()].responses[reply.status];
  if (response === undefined) return [`${reply.status} is not described`];
  const schema = response.content?.['application/json'].schema ?? { not: {} };
  const body = reply.body === undefined && response.content === undefined ? '' : check(schema, reply.body);
  const missing = Object.entries<any>(response.headers)
    .filter(([name, { $ref, required }]) => (required ?? $ref !== undefined) && !reply.headers.has(name))
    .map(([name]) => name);
  return [body, ...missing].filter((deviation) => deviation !== '');
}

function bodyFor({ name }: Edition, collection: string): unknown {
  const nested = name === 'v2' && collection.includes('/orders/');
  const property = { display_name: 'x', ...(nested ? { address: { latitude: 1.5 } } : { latitude: 1.5 }) };
  const legacy = name === 'v1' ? { legacy_code: 'L' } : {};
  const parameters = { ...parametersFor(collection, property), ...legacy };
  return name === 'v1' ? { data: parameters } : parameters;
}

function parametersFor(collection: string, property: object): object {
  if (/\/(?:clients|contacts)$/.test(collection)) return { name: 'x' };
  return collection.endsWith('/properties') ? property : { property };
}

function described(api: any): Route[] {
  return Object.entries<any>(api.paths).flatMap(([path, item]) =>
    Object.entries<any>(item)
      .filter(([method]) => method !== 'parameters')
      .map(([method, { operationId, requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        id: operationId,
        takesBody: requestBody !== undefined,
      })),
  );
}
