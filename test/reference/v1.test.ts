import { expect, test } from 'vitest';
import { pointers, sender, service, type Send } from './service.ts';

async function both(deprecated: readonly string[] = []): Promise<{ v1: Send; v2: Send }> {
  const { origin, send } = await service({ dialects: ['v1', 'v2'], deprecated });
  return { v1: sender(origin, '/api/v1'), v2: send };
}

test('V1 is off unless it is enabled', async () => {
  const { origin } = await service();
  expect((await sender(origin, '/api/v1')('GET /heartbeat')).status).toBe(404);
});

test("V2 reads V1's writes in its own spelling, and the other way round", async () => {
  const { v1, v2 } = await both();
  const property = { display_name: 'Pier 4', suburb: 'Docklands', latitude: -37.8 };
  const nested = { display_name: 'Pier 4', address: { suburb: 'Docklands', latitude: -37.8 } };

  const old = await v1('POST /orders/post_productions', { data: { transition_type: 'dusk', property } });
  expect(old.status).toBe(201);
  expect(old.headers.get('location')).toBe('/api/v1/orders/post_productions/2');
  expect(old.headers.has('x-api-version')).toBe(false);
  expect(old.body.data).toEqual({ id: 2, transition_type: 'dusk', property, property_id: 1 });
  const read = await v2('GET /orders/post_productions/2');
  expect(read.body.data).toEqual({ id: 2, highlight_type: 'dusk', property: nested, property_id: 1 });
  expect((await v2('GET /properties/1')).body.data).toEqual({ id: 1, ...nested });

  await v2('POST /orders/post_productions', { highlight_type: 'day', property: nested });
  expect((await v1('GET /orders/post_productions/4')).body.data).toMatchObject({
    transition_type: 'day',
    property,
  });
  expect((await v1('GET /properties')).body.data).toEqual([
    { id: 1, ...property },
    { id: 3, ...property },
  ]);
});

test('V1 updates one attribute of an address and keeps the others', async () => {
  const { v1, v2 } = await both();
  await v1('POST /orders/floor_plans', { data: { property: { suburb: 'Docklands', state: 'VIC' } } });
  const updated = await v1('PATCH /properties/1', { data: { state: null } });
  expect(updated.body.data).toEqual({ id: 1, suburb: 'Docklands', state: null });
  expect((await v2('GET /properties/1')).body.data.address).toEqual({ suburb: 'Docklands', state: null });
});

test('V1 ignores unknown members: members beside data, the V2 spellings', async () => {
  const { v1, v2 } = await both();
  await v1('POST /orders/post_productions', {
    data: { highlight_type: 'new', notes: 'x', property: { address: { suburb: 'new' }, suburb: 'old' } },
    notes: 'beside',
  });
  expect((await v2('GET /orders/post_productions/2')).body.data).toEqual({
    id: 2,
    notes: 'x',
    property: { address: { suburb: 'old' } },
    property_id: 1,
  });
});

test.each([
  [{ name: 'flat' }, ['/data']],
  [{ data: 'x' }, ['/data']],
  [{ data: [] }, ['/data']],
  [[], ['/data']],
  [{ data: { email: 1 } }, ['/data/name', '/data/email']],
])('V1 refuses %j and points at %j', async (body, expected) => {
  const { v1 } = await both();
  const refused = await v1('POST /clients', body);
  expect(refused.status).toBe(422);
  expect(pointers(refused)).toEqual(expected);
});

test('V1 responds which deprecated attributes a request used, and only then', async () => {
  const { v1, v2 } = await both(['legacy_code']);
  const order = await v1('POST /orders/post_productions', {
    data: { transition_type: 'dusk', legacy_code: [1], property: { suburb: 'x', display_name: 'y' } },
  });
  expect(order.body.data.legacy_code).toEqual([1]);
  expect(order.body.deprecations).toEqual([
    { attribute: 'property.suburb', message: expect.stringContaining('address') },
    { attribute: 'transition_type', message: expect.stringContaining('highlight_type') },
    { attribute: 'legacy_code', message: expect.stringContaining('gone') },
  ]);
  expect((await v1('POST /clients', { data: { name: 'x' } })).body).not.toHaveProperty('deprecations');
  expect(pointers(await v2('POST /clients', { name: 'x', legacy_code: 1 }))).toEqual(['/legacy_code']);
});
