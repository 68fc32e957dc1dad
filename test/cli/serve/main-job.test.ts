import { expect, onTestFinished, test } from 'vitest';
import { startReference } from '../../../src/node/reference.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { rawClient } from '../../support/raw-client.ts';
import { type SpawnedGateway, spawnGateway } from '../../support/spawn-gateway.ts';
import { until } from '../../support/until.ts';

/** What clients of V1 send to the seven operations that the rule book names, and the changes that it makes. */
const OPERATIONS = [
  ['create_client', 'POST /clients', { name: 'Acme' }, ['body-wrapper']],
  ['create_contact', 'POST /contacts', { name: 'Ann' }, ['body-wrapper']],
  ['create_booking', 'POST /bookings', { scheduled_at: '2026-11-21T09:00:00Z' }, ['body-wrapper']],
  [
    'order_floor_plan',
    'POST /orders/floor_plans',
    { property: { suburb: 'Enmore', latitude: -33.25 } },
    ['body-wrapper', 'property-address'],
  ],
  [
    'order_post_production',
    'POST /orders/post_productions',
    { transition_type: 'slide', property: { suburb: 'Enmore' } },
    ['body-wrapper', 'property-address', 'highlight-type'],
  ],
  ['create_virtual_tour', 'POST /virtual_tours', { property_id: 1 }, ['body-wrapper']],
  ['update_property', 'PATCH /properties/{id}', { display_name: 'Home' }, ['body-wrapper']],
] as const;

function send({ port }: SpawnedGateway, line: string, body?: string): Promise<Response> {
  const [method = '', path = ''] = line.split(' ');
  return fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
    method,
    headers: { authorization: 'Bearer key', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body }),
  });
}

function entriesOf(gateway: SpawnedGateway): readonly Entry[] {
  const lines = gateway.stdout().split('\n');
  return lines.filter((line) => line.startsWith('{"time"')).map((line) => JSON.parse(line) as Entry);
}

test('the program serves clients of V1 before V2, refuses a bad head, and ends in order', async () => {
  const v2 = await startReference({ db: undefined, unknown: 'refuse', report: () => {} });
  onTestFinished(() => v2.close());
  // The connections of `fetch` stay open for a quarter of it; a busy machine needs the rest until the process is killed.
  const gateway = await spawnGateway({ upstream: v2.origin, drain: '2000' });

  let property = 0;
  for (const [operation, line, parameters] of OPERATIONS) {
    const path = line.replace('{id}', String(property));
    const response = await send(gateway, path, JSON.stringify({ data: parameters }));
    const { data }: { readonly data: { readonly property_id?: number } } = JSON.parse(await response.text());
    if (operation === 'order_floor_plan') property = data.property_id ?? 0;
    expect([line, response.ok]).toEqual([line, true]);
    // V1's names, each where V1 had it.
    expect(data).toMatchObject(parameters);
  }
  await until(() => entriesOf(gateway).length === OPERATIONS.length);
  for (const [index, [operation, , , changes]] of OPERATIONS.entries()) {
    const { edits, ...entry } = entriesOf(gateway)[index] ?? {};
    expect(entry).toMatchObject({ operation, verdict: 'rewritten' });
    expect(new Set(edits?.map(({ change }) => change))).toEqual(new Set(changes));
  }

  const attacker = rawClient(gateway.port);
  attacker.write(
    'POST /api/v1/clients HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  );
  const refused = await attacker.end();
  expect(refused.text).toMatch(/^HTTP\/1\.1 400 /);
  expect(refused.closed).toBe(true);

  gateway.child.kill('SIGTERM');
  expect(await gateway.exit()).toEqual({ code: 0, signal: null });
});
