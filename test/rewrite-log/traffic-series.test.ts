import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { SERIES_STEPS, type SeriesStep, TrafficSeries } from '../../src/rewrite-log/traffic-series.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const START = Date.UTC(2026, 10, 29, 10, 0, 30);
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];

const entryOf = (facts: Partial<Entry> = {}): Entry => ({
  ...sampleEntry(1, START),
  status: 201,
  route: 'migrate',
  verdict: 'rewritten',
  ...facts,
});

describe('traffic over time', () => {
  test('counts requests by the side that responded, failures separately, and shows quiet minutes', () => {
    const series = new TrafficSeries();
    const add = (facts: Partial<Entry>, answer: Answer = 'well'): void =>
      series.add(entryOf(facts), START, answer);
    add({});
    add({ origin: 'v1', mode: 'observe' });
    add({ status: 500 }, 'failed');
    add({ status: 502, failure: 'upstream-unreachable', verdict: 'refused' }, 'failed');
    add({ status: 503, failure: 'brownout', verdict: 'refused' }, 'on-purpose');
    add({ status: 0 }, 'left');
    add({ route: 'pass', verdict: 'passed' });
    const points = series.points('minute', START + 2 * MINUTE, START);
    expect(points.map(({ time }) => time)).toEqual([
      '2026-11-29T10:00:00.000Z',
      '2026-11-29T10:01:00.000Z',
      '2026-11-29T10:02:00.000Z',
    ]);
    expect(points[0]).toMatchObject({
      answered: { v1: 1, v2: 3, gateway: 2, nobody: 1 },
      ofV1: 6,
      failed: 2,
      onPurpose: 1,
    });
    expect(points[1]).toEqual({
      time: '2026-11-29T10:01:00.000Z',
      answered: { v1: 0, v2: 0, gateway: 0, nobody: 0 },
      ofV1: 0,
      failed: 0,
      onPurpose: 0,
    });
  });

  test('says where requests of V1 clients went in the last minutes, also before this run, and since when', () => {
    const [logged, series] = [new TrafficSeries(), new TrafficSeries()];
    logged.add(entryOf({ origin: 'v1' }), START - 2 * MINUTE, 'well');
    logged.add(entryOf(), START - 6 * MINUTE, 'well');
    for (const [facts, answer] of [
      [{}, 'well'],
      [{ sent: false, failure: 'circuit-open', status: 503 }, 'failed'],
      [{ status: 503, failure: 'brownout', verdict: 'refused' }, 'on-purpose'],
      [{ route: 'pass', verdict: 'passed' }, 'well'],
    ] as const)
      series.add(entryOf(facts), START, answer);
    expect(series.sent(START, START - 1000, 5)).toEqual({
      since: new Date(START - 1000).toISOString(),
      v1: 0,
      v2: 1,
      onPurpose: 1,
      unsent: 1,
    });
    series.merge(logged.data);
    expect(series.sent(START, START - 1000, 5)).toEqual({
      since: '2026-11-29T09:56:00.000Z',
      v1: 1,
      v2: 1,
      onPurpose: 1,
      unsent: 1,
    });
  });

  test.each<[sender: string, facts: Partial<Entry>]>([
    ['a request under neither prefix', { route: 'other', path: '/favicon.ico', verdict: 'passed' }],
    ['a webhook', { route: 'webhook' }],
    ['a client that reads its own report', { route: 'none', verdict: 'served' }],
    ['a request that could not be read', { route: 'none', path: '', verdict: 'refused', status: 400 }],
  ])('leaves out %s', (_, facts) => {
    const series = new TrafficSeries();
    series.add(entryOf(facts), START, 'well');
    expect([series.since, series.points('minute', START, START).map(({ answered }) => answered)]).toEqual([
      undefined,
      [{ v1: 0, v2: 0, gateway: 0, nobody: 0 }],
    ]);
  });

  test("has the median and the 95 % quantile of all, beside V2's own", () => {
    const series = new TrafficSeries();
    for (let ms = 1; ms <= 100; ms += 1)
      series.add(entryOf({ totalMs: ms * 10, upstreamMs: ms }), START, 'well');
    series.add(entryOf({ origin: 'v1', totalMs: 1, upstreamMs: 100_000 }), START, 'well');
    const [point] = series.points('hour', START, START);
    expect(point?.latency?.median).toBeGreaterThan(450);
    expect(point?.latency?.median).toBeLessThan(560);
    expect(point?.v2Latency?.p95).toBeGreaterThan(90);
    expect(point?.v2Latency?.p95).toBeLessThan(110);
  });

  test.each<[step: SeriesStep, ms: number, kept: number]>([
    ['minute', MINUTE, 360],
    ['hour', HOUR, 336],
    ['day', DAY, 731],
  ])('keeps the stated number for each %s, and forgets older ones', (step, ms, kept) => {
    const series = new TrafficSeries();
    const until = START + 800 * ms;
    for (let time = START; time <= until; time += ms) series.add(entryOf(), time, 'well');
    // A line of a log that comes late.
    series.add(entryOf(), START, 'well');
    const points = series.points(step, until, START);
    expect(points).toHaveLength(kept);
    expect(points.every(({ answered }) => answered.v2 === 1)).toBe(true);
    expect(series.data.steps[step]).toHaveLength(kept);
  });

  test('the counts of two processes add up to those of one process that saw all', () => {
    const seen = fc.record({
      at: fc.integer({ min: 0, max: 400 }),
      ms: fc.integer({ min: 1, max: 5000 }),
      answer: fc.constantFrom<Answer>('well', 'failed', 'on-purpose', 'refused', 'left'),
      isV1: fc.boolean(),
      isHere: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(seen, { maxLength: 60 }), (all) => {
        const [one, here, there] = [new TrafficSeries(), new TrafficSeries(), new TrafficSeries()];
        const now = START + 400 * MINUTE;
        for (const { at, ms, answer, isV1, isHere } of all) {
          const entry = entryOf({ totalMs: ms, upstreamMs: ms / 2, origin: isV1 ? 'v1' : undefined });
          for (const series of [one, isHere ? here : there]) series.add(entry, START + at * MINUTE, answer);
        }
        here.merge(JSON.parse(JSON.stringify(there.data)));
        for (const step of SERIES_STEPS)
          expect(here.points(step, now, now)).toEqual(one.points(step, now, now));
        expect(here.since).toBe(one.since);
      }),
    );
  });
});
