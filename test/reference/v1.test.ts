import { expect, test } from 'vitest';
import type { ReferenceOptions } from '../../src/node/reference.ts';
import { pointers, sender, service, type Send } from './service.ts';

async function both(options: ReferenceOptions = {}): Promise<{ v1: Send; v2: Send }> {
  const { origin, send } = await service({ dialects: ['v1', 'v2'], ...options });
  return { v1: sender(origin, '/api/v1'), v2: send };
}

test('V1 is off unless it is enabled', async () => {
  const { origin } = await service();
  expect((await sender(origin, '/api/v1')('GET /heartbeat')).status).toBe(404);
});

const flat = { display_name: 'Pier 4', suburb: 'Docklands', latitude: -37.8 };
const nested = { display_name: 'Pier 4', address: { suburb: 'Docklands', latitude: -37.8 } };

test("V2 reads V1's writes in its own spelling, and the other way round", async () => {
  const { v1, v2 } = await both();
  const old = await v1('POST /orders/post_productions', {
    data: { transition_type: 'dusk', property: flat },
  });
  expect(old.status).toBe(201);
  expect(old.headers.get('location')).toBe('/api/v1/orders/post_productions/2');
  expect(old.headers.has('x-api-version')).toBe(false);
  expect(old.body.data).toEqual({ id: 2, transition_type: 'dusk', property: flat, property_id: 1 });
  const read = await v2('GET /orders/post_productions/2');
  expect(read.body.data).toEqual({ id: 2, highlight_type: 'dusk', property: nested, property_id: 1 });
  expect((await v2('GET /properties/1')).body.data).toEqual({ id: 1, ...flat });

  await v2('POST /orders/post_productions', { highlight_type: 'day', property: nested });
  expect((await v1('GET /orders/post_productions/4')).body.data).toMatchObject({
    transition_type: 'day',
    property: flat,
  });
  expect((await v1('GET /orders/post_productions?transition_type=day')).body.data).toHaveLength(1);
  expect((await v2('GET /orders/post_productions?highlight_type=day')).body.data).toHaveLength(1);
  expect((await v1('GET /properties')).body.data).toEqual([
    { id: 1, ...flat },
    { id: 3, ...flat },
  ]);
});

test.each(['/bookings', '/virtual_tours'])('%s have a flat address in both versions', async (path) => {
  const { v1, v2 } = await both();
  const old = await v1(`POST ${path}`, { data: { property: flat } });
  const current = await v2(`POST ${path}`, { property: flat });
  expect(old.body.data).toEqual({ id: 2, property_id: 1, property: flat });
  expect(current.body.data).toEqual({ id: 4, property_id: 3, property: flat });
  expect((await v2(`GET ${path}`)).body).toEqual((await v1(`GET ${path}`)).body);
  expect((await v2('GET /properties?suburb=Docklands')).body.meta.total).toBe(2);
});

test.each(['v1', 'v2'] as const)(
  '%s updates one attribute of an address and keeps the others',
  async (name) => {
    const versions = await both();
    await versions.v1('POST /orders/floor_plans', {
      data: { property: { suburb: 'Docklands', state: 'VIC' } },
    });
    const change = { state: null };
    const updated = await versions[name]('PATCH /properties/1', name === 'v1' ? { data: change } : change);
    expect(updated.body.data).toEqual({ id: 1, suburb: 'Docklands', state: null });
    expect((await versions.v1('GET /properties/1')).body).toEqual(updated.body);
    expect((await versions.v2('GET /properties/1')).body).toEqual(updated.body);
  },
);

test('an address without members is not stored', async () => {
  const { v1, v2 } = await both();
  const order = await v2('POST /orders/floor_plans', { property: { display_name: 'x', address: {} } });
  expect(order.body.data.property).toEqual({ display_name: 'x' });
  expect((await v1('GET /orders/floor_plans/2')).body.data.property).toEqual({ display_name: 'x' });
});

test('V1 ignores members beside data', async () => {
  const { v1 } = await both();
  const created = await v1('POST /bookings', { data: { notes: 'x' }, notes: 'beside', unknown: 1 });
  expect(created.body).toEqual({ data: { id: 1, notes: 'x' } });
});

test('V1 takes the parameters at the top level of a body without data', async () => {
  const { v1 } = await both();
  const body = { transition_type: 'cut', property: { suburb: 'Carlton' } };
  const flat = await v1('POST /orders/post_productions', body);
  expect(flat.body.data).toEqual({ id: 2, property_id: 1, ...body });
  const updated = await v1('PATCH /properties/1', { suburb: 'Docklands' });
  expect(updated.body.data.suburb).toBe('Docklands');
});

test("V1 does not know V2's spellings: it treats them as any unknown attribute", async () => {
  const body = { data: { highlight_type: 'new', notes: 'x', property: { address: { suburb: 'new' } } } };
  const strict = await (await both()).v1('POST /orders/post_productions', body);
  expect(pointers(strict)).toEqual(['/data/property/address', '/data/highlight_type']);
  expect(strict.body.errors[1].detail).toBe('highlight_type is not a known attribute.');
  const lax = await (await both({ unknown: 'strip' })).v1('POST /orders/post_productions', body);
  expect(lax.body.data).toEqual({ id: 2, notes: 'x', property: {}, property_id: 1 });
});

test.each([
  [{ email: 1 }, ['/name', '/email'], 'name is required.'],
  [{ name: 'flat', Data: {} }, ['/Data'], 'Data is not a known attribute.'],
  [{ data: 'x' }, ['/data'], 'data must be an object.'],
  [{ data: null }, ['/data'], 'data must be an object.'],
  [{ data: [] }, ['/data'], 'data must be an object.'],
  [[], [''], 'The body must be an object.'],
  [{ data: { email: 1 } }, ['/data/name', '/data/email'], 'name is required.'],
])('V1 refuses %j and points at %j', async (body, expected, detail) => {
  const { v1 } = await both();
  const refused = await v1('POST /clients', body);
  expect(refused.status).toBe(422);
  expect(pointers(refused)).toEqual(expected);
  expect(refused.body.errors[0].detail).toBe(detail);
});

const deprecated = ['legacy_code', 'agent_fax'];

test('V1 takes deprecated attributes, with a message about those that a request used', async () => {
  const { v1 } = await both({ deprecated });
  const order = await v1('POST /orders/post_productions', {
    data: { legacy_code: [1], transition_type: 'dusk', property: { suburb: 'x' } },
  });
  const kept = {
    id: 2,
    property_id: 1,
    property: { suburb: 'x' },
    transition_type: 'dusk',
  };
  const message = 'legacy_code is deprecated: it is gone in V2.';
  const deprecations = [{ attribute: 'legacy_code', message }];
  expect(order.body).toEqual({ data: { ...kept, deprecations } });
  expect((await v1('GET /orders/post_productions/2')).body).toEqual({ data: kept });
  expect((await v1('POST /clients', { data: { name: 'x' } })).body).toEqual({ data: { id: 3, name: 'x' } });
});

test('the place of the messages can be beside data', async () => {
  const { v1 } = await both({ deprecated, deprecationsIn: 'body' });
  const { body } = await v1('POST /bookings', { data: { agent_fax: null } });
  expect(body).toEqual({ data: { id: 1 }, deprecations: [expect.anything()] });
});

test('V2 refuses or ignores deprecated attributes', async () => {
  const strict = await both({ deprecated });
  const refused = await strict.v2('POST /clients', { name: 'x', legacy_code: 1 });
  expect(pointers(refused)).toEqual(['/legacy_code']);
  const lax = await both({ deprecated, unknown: 'strip' });
  expect((await lax.v2('POST /clients', { name: 'x', legacy_code: 1 })).body.data).toEqual({
    id: 1,
    name: 'x',
  });
});
