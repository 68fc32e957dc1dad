import fc from 'fast-check';
import { expect, test } from 'vitest';
import { entryHistogram } from '../../../src/inspector/entries/search-entries.ts';
import { Capture } from '../../../src/rewrite-log/capture.ts';
import { isNotable } from '../../../src/rewrite-log/entry-outcome.ts';
import { type FilterTest, isFilterFault, parseFilter } from '../../../src/rewrite-log/filter.ts';
import { Ring } from '../../../src/rewrite-log/ring.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

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
        offsets.sort((one, other) => one - other);
        for (const [n, offset] of offsets.entries()) ring.add(sampleEntry(n, START + offset));
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
            notable: inside.filter((entry) => isNotable(entry)).length,
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

test('the terms of time, not those of content, say what is spanned', async () => {
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
  expect(histogram.wholeSince).toBe('2026-11-22T08:00:00.000Z');
});

test('an empty ring has no bars', async () => {
  expect(
    await entryHistogram({ ring: new Ring(4), capture }, { accepts: everything, inRange: everything }, () =>
      Promise.resolve(),
    ),
  ).toEqual({ step: 1, bars: [] });
});
