import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { ClientTrends } from '../../../src/report/tally/client-trends.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';

const DAY = 86_400_000;
const timeOf = (day: number): string => new Date(day * DAY + 3_600_000).toISOString();

test('counts requests and failures by day, and failures by call, in any order and from any process', () => {
  const seen = fc.record({
    day: fc.integer({ min: 20_000, max: 20_050 }),
    client: fc.constantFrom('a', 'b'),
    operation: fc.constantFrom('read_bill', 'create_bill', undefined),
    hasFailed: fc.boolean(),
    isHere: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(seen, { maxLength: 80 }), (all) => {
      const [here, there] = [new ClientTrends(), new ClientTrends()];
      for (const { day, client, operation, hasFailed, isHere } of all) {
        const entry = v1TallyEntry(client, timeOf(day), {
          operation,
          method: 'GET',
          path: '/api/v1/bills/7',
        });
        (isHere ? here : there).add(entry, hasFailed ? 'failed' : 'well');
      }
      here.merge(JSON.parse(JSON.stringify(there.data)));
      for (const client of ['a', 'b']) {
        const own = all.filter((one) => one.client === client);
        const trend = here.of(client);
        const days = Map.groupBy(own, ({ day }) => day);
        expect(new Map(trend?.days)).toEqual(
          new Map(
            [...days].map(([day, of]) => [
              day,
              { requests: of.length, failed: of.filter(({ hasFailed }) => hasFailed).length },
            ]),
          ),
        );
        const failed = own.filter(({ hasFailed }) => hasFailed);
        expect(trend?.failedCalls.get('GET /bills/*') ?? 0).toBe(
          failed.filter(({ operation }) => operation === undefined).length,
        );
      }
    }),
  );
});

test('forgets the oldest of too many days, and the first of too many clients', () => {
  const trends = new ClientTrends();
  for (const day of [20_010, ...Array.from({ length: 61 }, (_, at) => 20_020 + at)])
    trends.add(v1TallyEntry('a', timeOf(day)), 'failed');
  const trend = trends.of('a');
  expect([trend?.days.size, trend?.days.has(20_010), trend?.days.has(20_080)]).toEqual([60, false, true]);
  expect([...(trend?.failedCalls.values() ?? [])].reduce((sum, failed) => sum + failed, 0)).toBe(62);
  for (let n = 0; n < 5000; n += 1) trends.add(v1TallyEntry(`client ${n}`, timeOf(20_000)), 'well');
  expect([trends.of('a'), trends.of('client 0')?.days.size]).toEqual([undefined, 1]);
});

test('leaves out all but V1 requests of clients', () => {
  const trends = new ClientTrends();
  for (const route of ['pass', 'other', 'webhook'] as const)
    trends.add(v1TallyEntry('a', timeOf(20_000), { route }), 'well');
  trends.add(v1TallyEntry('a', 'no time'), 'well');
  expect(trends.data).toEqual([]);
});
