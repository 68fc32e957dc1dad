import { expect, test } from 'vitest';
import { resolveRelease } from '../../src/reference/dialect.ts';
import { pointers, sender, service } from './service.ts';

test.each([
  [undefined, '2025-09-30'],
  ['2025-09-30', '2025-09-30'],
  ['2025-01-01', '2025-01-01'],
  ['2025-06-15', '2025-01-01'],
  ['2031-01-01', '2025-09-30'],
  ['2024-12-31', '2025-09-30'],
  ['2025-02-29', '2025-09-30'],
  ['2025-1-1', '2025-09-30'],
  ['2025-01-01T00:00:00Z', '2025-09-30'],
  ['2025-01-01, 2025-01-01', '2025-09-30'],
  ['', '2025-09-30'],
])('of 2025-01-01 and 2025-09-30, %j selects %s', (header, release) => {
  expect(resolveRelease(header, ['2025-01-01', '2025-09-30'])).toBe(release);
});

const releases = ['2025-01-01', '2026-06-01'];
const pinned = { 'x-api-version': '2025-01-01' };

test('a later release calls the name of a client display_name, and a pin saves the client of the first one', async () => {
  const { send } = await service({ releases });
  const moved = await send('POST /clients', { name: 'Harbour Realty' });
  expect(moved.status).toBe(422);
  expect(moved.headers.get('x-api-version')).toBe('2026-06-01');
  expect(pointers(moved)).toEqual(['/display_name', '/name']);
  expect(moved.body.errors[1].detail).toBe('name is called display_name.');

  const saved = await send('POST /clients', { name: 'Harbour Realty' }, pinned);
  expect(saved.status).toBe(201);
  expect(saved.headers.get('x-api-version')).toBe('2025-01-01');
  expect(saved.body).toEqual({ data: { id: 1, name: 'Harbour Realty' } });
  expect((await send('GET /clients/1')).body).toEqual({ data: { id: 1, display_name: 'Harbour Realty' } });
  expect((await send('GET /clients?display_name=Harbour%20Realty')).body.meta.total).toBe(1);
  expect((await send('GET /clients?name=Harbour%20Realty', undefined, pinned)).body.meta.total).toBe(1);
});

test('with unknown=strip the later release drops the old name silently, and still requires the new one', async () => {
  const { send } = await service({ releases, unknown: 'strip' });
  expect(pointers(await send('POST /clients', { name: 'x' }))).toEqual(['/display_name']);
});

test('releases differ in nothing else', async () => {
  const { send } = await service({ releases });
  const order = { highlight_type: 'dusk', property: { address: { suburb: 'x' }, client: { name: 'y' } } };
  const first = await send('POST /orders/post_productions', order, pinned);
  expect((await send('GET /orders/post_productions/2')).body).toEqual(first.body);
  expect((await send('POST /contacts', { name: 'x' })).status).toBe(201);
});

test('V1 neither reads nor sends x-api-version', async () => {
  const { origin } = await service({ releases, dialects: ['v1', 'v2'] });
  const headers = { 'x-api-version': '2026-06-01' };
  const created = await sender(origin, '/api/v1')('POST /clients', { data: { name: 'x' } }, headers);
  expect(created.body).toEqual({ data: { id: 1, name: 'x' } });
  expect(created.headers.has('x-api-version')).toBe(false);
});
