import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { ServiceOutages } from '../../src/rewrite-log/service-outages.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const WELL: Entry = { ...sampleEntry(1, 0), status: 201, failure: undefined, origin: undefined };
const AWAY: Entry = { ...WELL, status: 502, failure: 'upstream-unreachable', verdict: 'refused' };
const KEPT: Entry = { ...AWAY, status: 503, failure: 'circuit-open' };

/** Exchanges with the milliseconds before each; well ones come in rows. */
const traffic = fc.array(
  fc.record({
    entry: fc.constantFrom(WELL, AWAY, KEPT, { ...AWAY, origin: 'v1' } satisfies Entry),
    times: fc.constantFrom(1, 2, 25),
    pause: fc.constantFrom(1000, 1000, 60_000, 660_000),
  }),
  { maxLength: 12 },
);

function counted(steps: readonly (readonly [time: number, entry: Entry])[]): ServiceOutages {
  const outages = new ServiceOutages();
  for (const [time, entry] of steps) outages.add(entry, entry !== WELL, time);
  return outages;
}

test('an outage is counted as one before and after a restart', () => {
  fc.assert(
    fc.property(traffic, fc.nat(), (all, at) => {
      let time = 0;
      const steps = all.flatMap(({ entry, times, pause }) =>
        Array.from({ length: times }, (_, n) => [(time += n === 0 ? pause : 1000), entry] as const),
      );
      const split = at % (steps.length + 1);
      const [before, after] = [counted(steps.slice(0, split)), counted(steps.slice(split))];
      after.learn(before.all);
      expect(after.all).toEqual(counted(steps).all);
    }),
    { numRuns: 500 },
  );
});
