import { expect, test } from 'vitest';
import { openReferenceStore } from '../../src/node/reference.ts';
import { createReference } from '../../src/reference/reference.ts';
import { service } from './service.ts';

test.each([
  ['POST /clients', { name: 'Harbour Realty' }],
  ['POST /contacts', { first_name: 'Ada', email: 'ada@example.com', client_id: 7 }],
  ['POST /bookings', { property_id: 3, scheduled_at: '2025-03-01T09:00:00+11:00', services: ['photos'] }],
  ['POST /orders/floor_plans', { external_id: 'F-1', property_id: 3 }],
  ['POST /orders/post_productions', { property_id: 3, highlight_type: 'dusk' }],
  ['POST /virtual_tours', { property_id: 3, name: null }],
])('%s creates a resource that can be read, listed and deleted', async (line, attributes) => {
  const { send } = await service();
  const path = line.slice('POST '.length);

  const created = await send(line, attributes);
  expect(created).toMatchObject({ status: 201, body: { data: { id: 1, ...attributes } } });
  expect(created.headers.get('location')).toBe(`/api/v2${path}/1`);

  expect(await send(`GET ${path}/1`)).toMatchObject({ status: 200, body: created.body });
  expect((await send(`GET ${path}`)).body.data).toEqual([created.body.data]);
  expect(await send(`DELETE ${path}/1`)).toMatchObject({ status: 204, body: undefined });
  expect((await send(`GET ${path}/1`)).status).toBe(404);
  expect((await send(`DELETE ${path}/1`)).status).toBe(404);
});

test('an order with a new property creates the property, and update_property changes it', async () => {
  const { send } = await service();
  const property = { display_name: 'Pier 4', address: { suburb: 'Docklands', state: 'VIC' } };
  const order = await send('POST /orders/floor_plans', { property });
  const id = order.body.data.property_id;
  expect(order.body.data).toEqual({ id: expect.any(Number), property, property_id: id });

  const updated = await send(`PATCH /properties/${id}`, { property_type: 'house', state: null });
  const expected = {
    id,
    display_name: 'Pier 4',
    property_type: 'house',
    suburb: 'Docklands',
    state: null,
  };
  expect(updated).toMatchObject({ status: 200, body: { data: expected } });
  expect((await send(`GET /properties/${id}`)).body.data).toEqual(expected);
});

test('an order for a property with an id creates no other property', async () => {
  const { send } = await service();
  const order = await send('POST /orders/post_productions', { property: { id: 12, display_name: 'x' } });
  expect(order.body.data.property_id).toBe(12);
  expect((await send('GET /properties')).body.meta.total).toBe(0);
});

test('updating a property that is not there is a 404', async () => {
  const { send } = await service();
  expect((await send('PATCH /properties/9', { display_name: 'x' })).status).toBe(404);
});

test('the heartbeat responds an empty data object', async () => {
  const { send } = await service();
  expect(await send('GET /heartbeat')).toMatchObject({ status: 200, body: { data: {} } });
});

test('a list comes in pages, in the order of creation', async () => {
  const { send } = await service();
  for (const name of ['a', 'b', 'c']) await send('POST /clients', { name });
  const second = await send('GET /clients?page=2&per_page=2');
  expect(second.body).toEqual({
    data: [{ id: 3, name: 'c' }],
    meta: { page: 2, per_page: 2, total: 3, total_pages: 2 },
  });
  expect((await send('GET /clients?page=9')).body).toMatchObject({ data: [], meta: { total: 3 } });
});

test.each(['page=0', 'page=x', 'page=', 'per_page=101', 'per_page=-1', 'page=1e3'])(
  '%s is a 422',
  async (query) => {
    const { send } = await service();
    const refused = await send(`GET /clients?${query}`);
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].source).toEqual({ parameter: query.split('=')[0] });
  },
);

test('ids are never reused', async () => {
  const { send } = await service();
  await send('POST /clients', { name: 'a' });
  await send('DELETE /clients/1');
  expect((await send('POST /clients', { name: 'b' })).body.data.id).toBe(2);
});

test('an id of one collection is not found in another', async () => {
  const { send } = await service();
  await send('POST /clients', { name: 'a' });
  expect((await send('GET /contacts/1')).status).toBe(404);
  expect((await send('DELETE /contacts/1')).status).toBe(404);
});

test.each(['0', '01', '-1', '1.0', 'x', '1e0', '99999999999999999999', '1%00', "1'--"])(
  'id %s names nothing',
  async (id) => {
    const { send } = await service();
    await send('POST /clients', { name: 'a' });
    expect((await send(`GET /clients/${id}`)).status).toBe(404);
  },
);

test.each(['/clients/', '/clients.json'])('%s is /clients, as old integrations write it', async (path) => {
  const { send } = await service();
  expect((await send(`POST ${path}`, { name: 'a' })).status).toBe(201);
  expect((await send('GET /clients/1.json')).status).toBe(200);
});

test.each([
  ['PUT /clients', 'GET, HEAD, POST'],
  ['PATCH /clients/1', 'GET, HEAD, DELETE'],
  ['POST /properties', 'GET, HEAD'],
  ['POST /properties/1', 'GET, HEAD, DELETE, PATCH'],
  ['POST /heartbeat', 'GET, HEAD'],
])('%s is a 405 that allows %s', async (line, allow) => {
  const { send } = await service();
  const refused = await send(line, {});
  expect(refused.status).toBe(405);
  expect(refused.headers.get('allow')).toBe(allow);
  expect(refused.body.errors[0]).toMatchObject({ status: '405', title: 'Method Not Allowed' });
});

test('a missing resource is a 404 in the envelope, under the prefix and elsewhere', async () => {
  const { send, origin } = await service();
  expect((await send('GET /nothing')).body.errors[0].status).toBe('404');
  const elsewhere = await fetch(`${origin}/api/v1/clients`);
  expect(elsewhere.status).toBe(404);
  expect(await elsewhere.json()).toMatchObject({ errors: [{ status: '404', title: 'Not Found' }] });
});

test('two keys see the same data', async () => {
  const { send } = await service();
  await send('POST /clients', { name: 'a' }, { authorization: 'Bearer one' });
  expect((await send('GET /clients/1', undefined, { authorization: 'bearer two' })).status).toBe(200);
});

test.each(['', 'Bearer', 'Bearer ', 'Basic a2V5', 'Bearer one, Bearer two', 'Bearer a b'])(
  'Authorization %j is a 401',
  async (authorization) => {
    const { send } = await service();
    const refused = await send('POST /clients', { name: 'a' }, { authorization });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toBe('Bearer');
    expect(refused.body.errors[0]).toMatchObject({ status: '401', title: 'Unauthorized' });
  },
);

test('the release that served the request is echoed, on failures too', async () => {
  const { send } = await service();
  for (const release of ['2025-01-01', '2024-12-31', 'tomorrow', '']) {
    const reply = await send('GET /nothing', undefined, { 'x-api-version': release });
    expect(reply.headers.get('x-api-version')).toBe('2025-01-01');
  }
});

test('beyond the rate a key gets 429 with the seconds to wait, and another key is served', async () => {
  const { send } = await service({ rate: 2 });
  await send('GET /heartbeat');
  await send('GET /heartbeat');
  const refused = await send('GET /heartbeat');
  expect(refused).toMatchObject({ status: 429, body: { errors: [{ status: '429' }] } });
  expect(refused.body.meta.reset).toBeGreaterThan(0);
  expect(refused.body.meta.reset).toBeLessThanOrEqual(60);
  expect(refused.headers.get('retry-after')).toBe(String(refused.body.meta.reset));
  expect((await send('GET /heartbeat', undefined, { authorization: 'Bearer other' })).status).toBe(200);
});

test('a list can be filtered, and the pages of it lead to each other', async () => {
  const { send } = await service();
  for (const n of [1, 2, 3, 4, 5]) {
    await send('POST /orders/post_productions', {
      property_id: n % 2 === 0 ? 8 : 9,
      highlight_type: 'dusk & dawn',
    });
  }
  const even = await send('GET /orders/post_productions?property_id=8');
  expect(even.body.data.map(({ id }: { id: number }) => id)).toEqual([2, 4]);
  expect(even.headers.has('link')).toBe(false);
  const all = await send('GET /orders/post_productions?page=2&highlight_type=dusk%20%26%20dawn&per_page=2');
  expect(all.body.meta).toEqual({ page: 2, per_page: 2, total: 5, total_pages: 3 });
  const target = (page: number): string =>
    `</api/v2/orders/post_productions?page=${page}&highlight_type=dusk+%26+dawn&per_page=2>`;
  expect(all.headers.get('link')).toBe(
    `${target(1)}; rel="first", ${target(1)}; rel="prev", ${target(3)}; rel="next", ${target(3)}; rel="last"`,
  );
  const next = /<([^>]*)>; rel="next"/.exec(all.headers.get('link') ?? '')?.[1] ?? '';
  expect((await send(`GET ${next.replace('/api/v2', '')}`)).body.data).toHaveLength(1);
  const beyond = await send('GET /orders/post_productions?page=9&per_page=2');
  expect(beyond.headers.get('link')).not.toMatch(/prev|next/);
  expect((await send('GET /orders/post_productions?highlight_type=')).body.meta.total).toBe(0);
});

test.each(['property_id=x', 'property_id=0', 'client_id=', 'client_id=99999999999999999'])(
  'the filter %s is a 422',
  async (query) => {
    const { send } = await service();
    const refused = await send(`GET /bookings?${query}`);
    expect(refused.status).toBe(422);
    expect(refused.body.errors[0].source).toEqual({ parameter: query.split('=')[0] });
  },
);

test('a key that may only read gets 403 for every write', async () => {
  const { send } = await service({ readOnlyKeys: ['visitor'] });
  await send('POST /clients', { name: 'a' });
  const visitor = { authorization: 'Bearer visitor' };
  expect((await send('GET /clients/1', undefined, visitor)).status).toBe(200);
  for (const line of ['POST /clients', 'PATCH /properties/1', 'DELETE /clients/1', 'DELETE /nothing']) {
    const refused = await send(line, line.startsWith('DELETE') ? undefined : '{', visitor);
    expect(refused.body).toEqual({
      errors: [{ status: '403', title: 'Forbidden', detail: 'This key may only read.' }],
    });
    expect(refused.status).toBe(403);
  }
  expect((await send('GET /clients/1')).status).toBe(200);
});

test('a key whose store fails gets a bare 500, which is reported, and other keys are served', async () => {
  const reports: unknown[] = [];
  const report = (error: unknown): void => void reports.push(error);
  const { send } = await service({ failingKeys: ['unlucky'], report });
  const unlucky = { authorization: 'Bearer unlucky' };
  const failing: [string, unknown][] = [
    ['GET /clients', undefined],
    ['GET /clients/1', undefined],
    ['POST /clients', { name: 'a' }],
    ['PATCH /properties/1', {}],
    ['DELETE /clients/1', undefined],
  ];
  for (const [line, body] of failing) {
    const failed = await send(line, body, unlucky);
    expect(failed.body).toEqual({
      errors: [
        { status: '500', title: 'Internal Server Error', detail: 'The service failed; nothing was stored.' },
      ],
    });
    expect(failed.status).toBe(500);
  }
  expect(reports).toHaveLength(5);
  expect((await send('GET /heartbeat', undefined, unlucky)).status).toBe(200);
  expect((await send('POST /clients', { name: 'a' })).body.data.id).toBe(1);
});

test('a bug becomes a bare 500 and is reported', async () => {
  const reports: unknown[] = [];
  const store = openReferenceStore(undefined);
  store.close();
  const app = createReference({ store, now: () => 0, report: (error) => void reports.push(error) });
  const failed = await app.request('/api/v2/clients', { headers: { authorization: 'Bearer key' } });
  expect(failed.status).toBe(500);
  expect(failed.headers.get('x-api-version')).toBe('2025-01-01');
  expect(await failed.text()).not.toContain('database');
  expect(reports).toHaveLength(1);
});
