import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryHistogram, errorGroups } from '../../../src/inspector/entries/search-entries.ts';
import { Capture } from '../../../src/rewrite-log/capture.ts';
import { errorName, errorValue, type Entry } from '../../../src/rewrite-log/entry.ts';
import { type FilterTest, isFilterFault, parseFilter, printFilter } from '../../../src/rewrite-log/filter.ts';
import { Ring } from '../../../src/rewrite-log/history.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

const capture = new Capture({
  mode: 'off',
  masks: [],
  maxEntries: 1,
  maxBytes: 1,
  bodyLimit: 1,
  structurePerSecond: 1,
  now: () => 0,
});
const START = Date.parse('2026-11-22T08:00:00.000Z');
const everything = (): boolean => true;

function testOf(filter: string): FilterTest {
  const read = parseFilter(filter);
  if (isFilterFault(read)) throw new Error(read.message);
  return read.accepts;
}

test('every kept entry is in the bar of its time, and no bar is missing', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(4_000_000), { minLength: 1, maxLength: 300 }),
      fc.constantFrom('', 'status:4xx', 'op:create_client'),
      async (offsets, filter) => {
        const ring = new Ring(120);
        const failed = new Set<string>();
        offsets.sort((one, other) => one - other);
        for (const [n, offset] of offsets.entries()) {
          const entry = sampleEntry(n, START + offset);
          // Not every 4xx is a failure.
          const isFailed = entry.status === 422 && n % 2 === 0;
          if (isFailed) failed.add(entry.requestId);
          ring.add(entry, isFailed ? 'failed' : 'refused');
        }
        const accepts = testOf(filter);
        const { step, bars } = await entryHistogram({ ring, capture }, { accepts, inRange: everything }, () =>
          Promise.resolve(),
        );
        const kept = [...ring.numbersBefore(ring.latest + 1)].flatMap((seq) => ring.at(seq) ?? []);
        expect(bars.length).toBeLessThanOrEqual(60);
        for (const [index, bar] of bars.entries()) {
          const start = Date.parse(bars[0]?.time ?? '') + index * step * 1000;
          expect(bar.time).toBe(new Date(start).toISOString());
          const inside = kept
            .filter((entry) => accepts(entry))
            .filter(({ time }) => Date.parse(time) >= start && Date.parse(time) < start + step * 1000);
          expect(bar).toMatchObject({
            count: inside.length,
            failed: inside.filter(({ requestId }) => failed.has(requestId)).length,
          });
        }
        expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(
          kept.filter((entry) => accepts(entry)).length,
        );
      },
    ),
    { numRuns: fuzzRuns(60) },
  );
});

test('the terms of time, and not those of content, define the span', async () => {
  const ring = new Ring(100);
  for (let n = 0; n < 100; n += 1) ring.add(sampleEntry(n, START + n * 1000));
  const filter = testOf('time:2026-11-22T08:00:10..2026-11-22T08:00:19 status:418');
  const histogram = await entryHistogram(
    { ring, capture },
    { accepts: filter, inRange: testOf('time:2026-11-22T08:00:10..2026-11-22T08:00:19') },
    () => Promise.resolve(),
  );
  expect(histogram.step).toBe(1);
  expect(histogram.bars.map(({ count }) => count)).toEqual(Array.from({ length: 10 }, () => 0));
  // Nothing was dropped, so it is not only failures that are kept of any time.
  expect(histogram.wholeSince).toBeUndefined();
  ring.add(sampleEntry(100, START + 100_000));
  const { wholeSince } = await entryHistogram(
    { ring, capture },
    { accepts: everything, inRange: everything },
    () => Promise.resolve(),
  );
  expect(wholeSince).toBe('2026-11-22T08:00:01.000Z');
});

test('an empty ring has no bars', async () => {
  expect(
    await entryHistogram({ ring: new Ring(4), capture }, { accepts: everything, inRange: everything }, () =>
      Promise.resolve(),
    ),
  ).toEqual({ step: 1, bars: [] });
});

const AT = Date.parse('2026-11-22T08:00:00.000Z');

async function groupsOf(ring: Ring): Promise<Awaited<ReturnType<typeof errorGroups>>> {
  return errorGroups({ ring, capture }, () => Promise.resolve());
}

function ringOf(...entries: readonly Partial<Entry>[]): Ring {
  const ring = new Ring(100);
  for (const [n, more] of entries.entries()) ring.add({ ...sampleEntry(0, AT + n), status: 201, ...more });
  return ring;
}

test('with a rule book, dry runs count only under it, and only if V1 accepted the request', async () => {
  const would = { verdict: 'refused', failure: 'wrapper-not-object' } as const;
  const dryRun = { origin: 'v1', mode: 'observe', ruleBook: 'now', would } as const;
  const ring = ringOf(dryRun, { ...dryRun, status: 422 }, { ...dryRun, ruleBook: 'before' });
  const found = await errorGroups({ ring, capture }, () => Promise.resolve(), { ruleBook: 'now' });
  expect(found.groups.map(({ error, count }) => [error.by, count])).toEqual([
    ['v1', 1],
    ['would', 1],
  ]);
});

test('an error has all its operations, the one with the most errors first', async () => {
  const ring = ringOf(
    ...Array.from({ length: 12 }, (_, n) => ({ operation: `operation_${n}`, status: 503 })),
    { operation: 'operation_11', status: 503 },
  );
  const { groups } = await groupsOf(ring);
  expect(groups.map(({ operations }) => [operations[0], operations.length])).toEqual([['operation_11', 12]]);
});

test('an error names its only client, and the addresses that no operation fits', async () => {
  const unfit = { operation: undefined, status: 404, method: 'GET', path: '/api/v1/movies/7' } as const;
  const { groups } = await groupsOf(ringOf(unfit, unfit));
  expect(groups).toMatchObject([{ client: sampleEntry(0, AT).client, operations: ['GET /movies/*'] }]);
});

test('requests that could not be read have no client and no operation', async () => {
  const { client: _client, ...unread } = sampleEntry(0, AT);
  const failed = { route: 'none', verdict: 'refused', status: 431, failure: 'headers-too-large' } as const;
  const ring = new Ring(10);
  for (let n = 0; n < 3; n += 1) ring.add({ ...unread, ...failed, path: '', operation: undefined });
  const { groups } = await groupsOf(ring);
  expect(groups).toMatchObject([{ count: 3, clients: 0, operations: [] }]);
});

test('errors of V1, V2, the gateway and dry runs are grouped by code and place', async () => {
  const refused = {
    verdict: 'refused',
    status: 400,
    failure: 'duplicate-member',
    pointer: '/data/a',
  } as const;
  const { groups, exchanges, omitted } = await groupsOf(
    ringOf(
      refused,
      { ...refused, client: 'another' },
      { status: 422, errorPointers: ['/name', '/phone', '/name'] },
      { status: 422, origin: 'v1', mode: 'observe', would: { verdict: 'rewritten', v2: 'invalid', at: '' } },
      { origin: 'v1', mode: 'observe', would: { verdict: 'refused', failure: 'malformed-json' } },
      { status: 502, failure: 'upstream-unreachable' },
      { status: 0 },
      {},
      ...Array.from({ length: 3 }, () => ({ status: 503, failure: 'brownout', verdict: 'refused' }) as const),
    ),
  );
  expect(groups.map(({ error, count, clients }) => [errorName(error), count, clients])).toEqual([
    ['gateway-upstream-unreachable', 1, 1],
    ['gateway-duplicate-member /data/a', 2, 2],
    ['v1-422', 1, 1],
    ['v2-422 /name', 1, 1],
    ['v2-422 /phone', 1, 1],
    ['would-malformed-json', 1, 1],
    ['schema-invalid /', 1, 1],
    ['gateway-brownout', 3, 1],
  ]);
  expect([exchanges, omitted]).toEqual([11, 0]);
  // Of when the exchanges ended: only then has something failed.
  expect(groups[1]).toMatchObject({
    firstSeen: '2026-11-22T08:00:00.014Z',
    lastSeen: '2026-11-22T08:00:00.015Z',
    operations: ['create_client'],
  });
});

test('the filter of a group accepts as many kept exchanges as it counts', async () => {
  const pointer = fc.constantFrom('', '/a', '/a/b', '/a,b', '/"q"', '/x y');
  const entry = fc.record(
    {
      status: fc.constantFrom(0, 201, 400, 404, 422, 502),
      failure: fc.constantFrom('malformed-json', 'upstream-broken', 'internal'),
      pointer,
      errorPointers: fc.array(pointer, { maxLength: 3 }),
      origin: fc.constant('v1' as const),
      would: fc.record(
        {
          verdict: fc.constantFrom('rewritten' as const, 'refused' as const),
          failure: fc.constant('too-deep'),
          v2: fc.constantFrom('valid' as const, 'invalid' as const),
          at: pointer,
        },
        { requiredKeys: ['verdict'] },
      ),
    },
    { requiredKeys: ['status'] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 30 }), async (entries) => {
      const ring = ringOf(...entries);
      const { groups } = await groupsOf(ring);
      for (const { error, count } of groups) {
        const text = printFilter([{ negated: false, field: 'error', values: [errorValue(error)] }]);
        const filter = parseFilter(text);
        if (isFilterFault(filter)) throw new Error(filter.message);
        const kept = [...ring.numbersBefore(Infinity)].flatMap((seq) => ring.at(seq) ?? []);
        expect([text, kept.filter((one) => filter.accepts(one)).length]).toEqual([text, count]);
      }
    }),
    { numRuns: fuzzRuns(100) },
  );
});

test('kinds beyond the bound are counted, not listed', async () => {
  const ring = new Ring(400);
  for (let n = 0; n < 310; n += 1)
    ring.add({ ...sampleEntry(0, AT), status: 422, errorPointers: [`/member${n}`] });
  expect(await groupsOf(ring)).toMatchObject({ exchanges: 310, omitted: 10 });
});
