import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openReferenceStore } from '../../src/node/reference.ts';
import { createReference } from '../../src/reference/reference.ts';
import type { UnknownAttributes, Store } from '../../src/reference/resources.ts';
import { play, toV1, toV2, type Outcome, type Step } from './parity.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

const property = {
  display_name: 'Pier 4',
  suburb: 'Docklands',
  client: { name: 'Ada', external_reference: null },
  latitude: -37.8,
  state: null,
  property_type: 'house',
};
const reader = { authorization: 'Bearer reader' };
const unlucky = { authorization: 'Bearer unlucky' };

const steps: readonly Step[] = [
  { line: 'GET /heartbeat' },
  { line: 'POST /clients', body: { data: { name: 'Harbour Realty', notes: null } } },
  { line: 'POST /clients', body: { data: { name: 'x' }, beside: 1 } },
  { line: 'POST /clients/', body: { data: { name: 'x' } } },
  { line: 'POST /clients.json', body: { data: { name: 'x' } } },
  { line: 'POST /contacts', body: { data: { phone: '1', first_name: 'Zoë', client_id: 1 } } },
  { line: 'POST /bookings', body: { data: { services: ['photos'], property } } },
  { line: 'POST /bookings', body: { data: { property: { suburb: 5, state: {}, longitude: '1' } } } },
  { line: 'POST /bookings', body: { data: { services: ['a', 1], property_id: 1.5 } } },
  { line: 'POST /orders/floor_plans', body: { data: { property, external_id: 'F-1' } } },
  { line: 'POST /orders/floor_plans', body: { data: { property: {} } } },
  { line: 'POST /orders/floor_plans', body: { data: { property: null, property_id: 3 } } },
  { line: 'POST /orders/floor_plans', body: { data: { property: { id: 3, suburb: 'x' } } } },
  { line: 'POST /orders/floor_plans', body: { data: { property: 'x' } } },
  { line: 'POST /orders/floor_plans', body: { data: { transition_type: 'x' } } },
  {
    line: 'POST /orders/post_productions',
    body: { data: { property, transition_type: 'dusk', notes: 'n' } },
  },
  { line: 'POST /orders/post_productions', body: { data: { transition_type: 'day', external_id: 'P' } } },
  { line: 'POST /orders/post_productions', body: { data: { transition_type: 5, property: { suburb: 1 } } } },
  {
    line: 'POST /orders/post_productions',
    body: { data: { property: { latitude: 'x', bar: 1, baz: 2, country: 3 }, 'a/b~c': 1, client_id: 0 } },
  },
  { line: 'POST /virtual_tours', body: { data: { property, name: 'Tour' } } },
  { line: 'POST /virtual_tours', body: { data: { highlight_type: 'x', address: {} } } },
  { line: 'PATCH /properties/6', body: { data: { state: 'VIC', client: { name: 'Bo' } } } },
  { line: 'PATCH /properties/6', body: { data: { suburb: 1, address: { suburb: 'x' } } } },
  { line: 'PATCH /properties/999', body: { data: {} } },
  { line: 'PATCH /clients/1', body: { data: {} } },
  ...['/clients', '/contacts', '/bookings', '/properties', '/virtual_tours', '/nothing'].flatMap(reads),
  ...['/orders/floor_plans', '/orders/post_productions', '/orders'].flatMap(reads),
  { line: 'GET /clients?page=2&per_page=1&name=x' },
  { line: 'GET /orders/post_productions?transition_type=dusk' },
  { line: 'GET /orders/post_productions?per_page=1&transition_type=day' },
  { line: 'GET /orders/post_productions?per_page=1&external_id=' },
  { line: 'GET /properties?suburb=Docklands&per_page=2&page=2' },
  { line: 'GET /bookings?property_id=x&page=0&per_page=101' },
  { line: 'HEAD /clients' },
  { line: 'PUT /clients', body: { data: {} } },
  { line: 'POST /heartbeat', body: { data: {} } },
  ...['[]', '5', 'null', '', ' ', '{', '{"data":', '"x"'].map((body) => ({ line: 'POST /clients', body })),
  { line: 'POST /clients', body: { data: { name: 'x' } }, headers: { 'content-type': 'text/plain' } },
  { line: 'POST /clients', body: { data: { name: 'x' } }, headers: { 'content-encoding': 'gzip' } },
  { line: 'POST /clients', body: { data: { name: 'x' } }, headers: { authorization: '' } },
  { line: 'GET /clients', headers: { authorization: 'Basic x' } },
  { line: 'GET /clients', headers: reader },
  { line: 'POST /clients', body: { data: { name: 'x' } }, headers: reader },
  { line: 'DELETE /clients/1', headers: reader },
  { line: 'GET /clients', headers: unlucky },
  { line: 'POST /orders/floor_plans', body: { data: { property } }, headers: unlucky },
  { line: 'POST /clients', body: `{"data":{"name":"${'x'.repeat(1000)}"}}` },
  { line: 'DELETE /orders/floor_plans/11' },
  { line: 'DELETE /orders/floor_plans/11' },
];

function reads(path: string): Step[] {
  const ids = Array.from({ length: 20 }, (_, index) => ({ line: `GET ${path}/${index + 1}` }));
  return [{ line: `GET ${path}` }, ...ids, { line: `GET ${path}?per_page=2` }, { line: `DELETE ${path}/x` }];
}

interface Pair {
  readonly v1: ReturnType<typeof createReference>;
  readonly v2: ReturnType<typeof createReference>;
  /** Forgets all data, and counts ids from 1 again. */
  readonly renew: () => void;
}

/** Both versions, each with data of its own, so that the same steps give the same ids. */
function pair(unknown: UnknownAttributes, rate = 0): Pair {
  const keys = { readOnlyKeys: ['reader'], failingKeys: ['unlucky'] };
  const stores = [renewableStore(), renewableStore()] as const;
  const create = (name: 'v1' | 'v2', { store }: { readonly store: Store }): Pair['v1'] =>
    createReference({ ...keys, unknown, rate, bodyLimit: 900, now: () => 0, store, dialects: [name] });
  return {
    v1: create('v1', stores[0]),
    v2: create('v2', stores[1]),
    renew: () => stores.forEach(({ renew }) => renew()),
  };
}

function renewableStore(): { readonly store: Store; readonly renew: () => void } {
  let current = openReferenceStore(undefined);
  const store: Store = {
    create: (...given) => current.create(...given),
    read: (...given) => current.read(...given),
    list: (...given) => current.list(...given),
    update: (...given) => current.update(...given),
    remove: (...given) => current.remove(...given),
    atomically: (work) => current.atomically(work),
    close: () => current.close(),
  };
  return {
    store,
    renew: () => {
      current.close();
      current = openReferenceStore(undefined);
    },
  };
}

async function playBoth({ v1, v2 }: Omit<Pair, 'renew'>, step: Step): Promise<{ v1: Outcome; v2: Outcome }> {
  const outcome = await play(v2, 'v2', toV2(step));
  return { v1: await play(v1, 'v1', step), v2: toV1(step, outcome) };
}

test.each(['refuse', 'strip'] as const)(
  'with unknown=%s both versions give the same responses, except for the changes of the specification',
  async (unknown) => {
    const versions = pair(unknown);
    const statuses = new Set<number>();
    for (const step of steps) {
      const { v1, v2 } = await playBoth(versions, step);
      expect([step.line, v1]).toEqual([step.line, v2]);
      statuses.add(v1.status);
    }
    expect(statuses).toEqual(new Set([200, 201, 204, 400, 401, 403, 404, 405, 413, 415, 422, 500]));
  },
);

test('beyond the rate both versions give the same response', async () => {
  const versions = pair('refuse', 2);
  for (const status of [200, 404, 429]) {
    const { v1, v2 } = await playBoth(versions, { line: status === 404 ? 'GET /x' : 'GET /heartbeat' });
    expect([v1.status, v1]).toEqual([status, v2]);
  }
});

const value = fc.oneof(
  fc.constantFrom<unknown>('dusk', 'Docklands', '', 5, -37.8, null, true, [], ['a'], {}, { name: 'x' }),
  fc.string({ maxLength: 4 }),
);
const propertyNames = words`id display_name suburb state latitude country client bar notes`;
const names = words`name notes external_id property_id client_id transition_type services foo`;
const described = fc.dictionary(fc.constantFrom(...propertyNames), value, { maxKeys: 5 });
const data = fc
  .tuple(
    fc.dictionary(fc.constantFrom(...names, ...propertyNames.slice(1)), value, { maxKeys: 4 }),
    fc.option(fc.oneof(value, described), { nil: undefined }),
  )
  .map(([own, inner]) => (inner === undefined ? own : { ...own, property: inner }));
const collection = fc.constantFrom(
  '/clients',
  '/contacts',
  '/bookings',
  '/virtual_tours',
  '/orders/floor_plans',
  '/orders/post_productions',
  '/properties',
);
const id = fc.integer({ min: 1, max: 12 });
const query = fc.constantFrom(
  '',
  '?per_page=1',
  '?page=2&per_page=2',
  '?client_id=5',
  '?transition_type=dusk',
);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ line: collection.map((path) => `POST ${path}`), body: fc.record({ data }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      line: id.map((property) => `PATCH /properties/${property}`),
      body: fc.record({ data }),
    }),
  },
  fc.record({ line: fc.tuple(collection, id).map(([path, one]) => `GET ${path}/${one}`) }),
  fc.record({ line: fc.tuple(collection, query).map(([path, text]) => `GET ${path}${text}`) }),
  fc.record({ line: fc.tuple(collection, id).map(([path, one]) => `DELETE ${path}/${one}`) }),
);

test('random sequences of requests get the same from both versions', async () => {
  const sequence = fc.array(step, { minLength: 4, maxLength: 25 });
  const versions = { refuse: pair('refuse'), strip: pair('strip') };
  await fc.assert(
    fc.asyncProperty(sequence, fc.constantFrom('refuse', 'strip'), async (sequence, unknown) => {
      versions[unknown].renew();
      for (const one of sequence) {
        const { v1, v2 } = await playBoth(versions[unknown], one);
        expect([one, v1]).toEqual([one, v2]);
      }
    }),
    { numRuns: fuzzRuns(200) },
  );
});
