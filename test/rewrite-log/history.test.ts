import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { History, Ring } from '../../src/rewrite-log/history.ts';
import { DurationSteps, TrafficSeries } from '../../src/rewrite-log/traffic-series.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import { ProblemTally } from '../../src/inspector/problems.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { arbitraryEntry } from '../support/arbitrary-entry.ts';
import { sampleEntry } from '../support/sample-entries.ts';

describe('the ring', () => {
  test('numbers entries, keeps the newest, and pages backwards', () => {
    const ring = new Ring(5);
    expect([ring.oldest, ring.latest, ring.at(1)]).toEqual([0, 0, undefined]);
    for (let n = 1; n <= 12; n += 1) expect(ring.add({ ...sampleEntry(n, n), status: 201 })).toBe(n);
    expect([ring.oldest, ring.latest]).toEqual([8, 12]);
    expect([ring.at(7), ring.at(13), ring.at(8)?.requestId]).toEqual([
      undefined,
      undefined,
      sampleEntry(8, 8).requestId,
    ]);
    expect([...ring.numbersBefore(13)]).toEqual([12, 11, 10, 9, 8]);
    expect([...ring.numbersBefore(11)]).toEqual([10, 9, 8]);
  });

  test('keeps failures for longer than the rest, and pages back to them', () => {
    const ring = new Ring(100);
    const ordinary = { ...sampleEntry(1, 0), status: 201 };
    const notable: readonly Entry[] = [
      { ...ordinary, status: 422 },
      { ...ordinary, status: 0 },
      { ...ordinary, verdict: 'refused' },
      { ...ordinary, failure: 'upstream-broken' },
      { ...ordinary, origin: 'v1', would: { verdict: 'refused' } },
    ];
    for (const [index, entry] of notable.entries()) ring.add(entry, index === 3 ? 'failed' : 'refused');
    for (let n = 0; n < 1000; n += 1) ring.add(ordinary, n === 999 ? 'failed' : 'well');
    expect([3, 4, 5, 905, 1004, 1005].filter((seq) => ring.hasFailed(seq))).toEqual([4, 1005]);
    expect([ring.oldest, ring.oldestFailure, ring.latest]).toEqual([906, 1, 1005]);
    expect([...ring.numbersBefore(908)]).toEqual([907, 906, 5, 4, 3, 2, 1]);
    expect([ring.at(3)?.verdict, ring.at(6)]).toEqual(['refused', undefined]);
    for (let n = 0; n < 1000; n += 1) ring.add({ ...ordinary, status: 500 });
    expect(ring.latest - ring.oldestFailure).toBe(124);
  });

  test('yields each number once, newest first, whatever is added meanwhile', () => {
    const ring = new Ring(100);
    for (let n = 0; n < 150; n += 1) ring.add({ ...sampleEntry(n, n), status: 500 });
    const seen: number[] = [];
    for (const seq of ring.numbersBefore(151)) {
      if (ring.at(seq) !== undefined) seen.push(seq);
      if (seq % 10 === 0) ring.add({ ...sampleEntry(seq, seq), status: 500 });
    }
    expect(seen).toEqual([...new Set(seen)].toSorted((one, other) => other - one));
    expect(seen.length).toBeGreaterThanOrEqual(100);
  });

  test('returns entries as they were added, with any texts and lists, until they are replaced', () => {
    fc.assert(
      fc.property(fc.array(arbitraryEntry, { minLength: 1, maxLength: 60 }), (entries) => {
        const ring = new Ring(20);
        for (const [index, entry] of entries.entries()) {
          ring.add(entry);
          for (const seq of ring.numbersBefore(index + 2)) {
            expect(ring.at(seq)).toEqual(entries[seq - 1]);
            expect(ring.at(seq)?.attributes).toBe(entries[seq - 1]?.attributes);
          }
        }
      }),
    );
  });

  test('keeps the promised number of entries of any length', () => {
    const ring = new Ring(30);
    const lengths = [10, 70_000, 40_000, 65_000, 200_000, 3000];
    const entryOf = (n: number): Entry => ({
      ...sampleEntry(n, n),
      note: 'x'.repeat(lengths[n % lengths.length] ?? 0),
    });
    for (let n = 1; n <= 200; n += 1) ring.add(entryOf(n));
    for (let seq = 171; seq <= 200; seq += 1) expect(ring.at(seq)).toEqual(entryOf(seq));
  });

  test('finds the entries of a request, newest first, also among older failures', () => {
    const ring = new Ring(8);
    const odd = 'é"\\\u2028';
    ring.add({ ...sampleEntry(1, 1), requestId: odd, status: 500 });
    for (let n = 2; n <= 9; n += 1) ring.add({ ...sampleEntry(n, n), status: 201 });
    ring.add({ ...sampleEntry(10, 10), requestId: odd, path: `/"requestId":"${odd}"` });
    ring.add({ ...sampleEntry(11, 11), path: `/"requestId":"${odd}"` });
    const numbers = (after?: number): number[] => ring.withRequestId(odd, after).map(({ seq }) => seq);
    expect([numbers(), numbers(1), numbers(10)]).toEqual([[10, 1], [10], []]);
  });

  test('uses the memory of replaced entries again', () => {
    const ring = new Ring(500);
    const entry = { ...sampleEntry(1, 1), note: 'x'.repeat(2000) };
    const fill = (count: number): number => {
      for (let n = 0; n < count; n += 1) ring.add(entry);
      return process.memoryUsage().arrayBuffers;
    };
    const full = fill(1000);
    expect(fill(20_000) - full).toBeLessThan(1024 * 1024);
  });
});

const MINUTE = 60_000;

const UNROUTED: Partial<Entry> = {
  route: 'none',
  verdict: 'refused',
  operation: undefined,
  client: undefined,
};

describe('the history', () => {
  test('counts what failed in an hour by minute', () => {
    const history = new History();
    const start = Date.UTC(2026, 10, 21, 10, 0, 30);
    const entry = { ...sampleEntry(1, start), status: 500 };
    history.add(entry, start, 'failed');
    history.add({ ...entry, status: 200 }, start + MINUTE, 'well');
    history.add(entry, start + 2 * MINUTE, 'failed');
    expect(history.lastHour(start + MINUTE)).toMatchObject({ failed: 1, asV2SentIt: 0 });
    expect(history.lastHour(start + 2 * MINUTE)).toMatchObject({
      failed: 2,
      lastFailed: start + 2 * MINUTE,
    });
    expect(history.lastHour(start + 60 * MINUTE)).toMatchObject({ failed: 1 });
    expect(history.lastHour(start + 62 * MINUTE)).toMatchObject({ failed: 0, asV2SentIt: 0 });
    // The place of a minute is used again after an hour.
    history.add(entry, start + 60 * MINUTE, 'failed');
    expect(history.lastHour(start + 60 * MINUTE)).toMatchObject({ failed: 2 });
  });

  test.each<[what: string, facts: Partial<Entry>, counted: boolean]>([
    ['a V1 client', {}, true],
    ["V2's client", { route: 'pass', verdict: 'passed' }, true],
    ['a health check', { route: 'other', path: '/', verdict: 'passed' }, false],
    ['a webhook', { route: 'webhook', verdict: 'passed' }, false],
    ['a V1 client that was not routed', { ...UNROUTED, side: 'v1' }, true],
    ["V2's client that was not routed", { ...UNROUTED, side: 'v2' }, true],
    ['a scanner', { ...UNROUTED, side: 'neither' }, false],
    ['a V1 client in the log of an older version', { ...UNROUTED, path: '/api/v1/x' }, true],
    ['a scanner in such a log', { ...UNROUTED, path: 'a:1' }, false],
  ])('counts a failure of %s as the problems and the charts do', (_, facts, counted) => {
    const start = Date.UTC(2026, 10, 21, 10);
    const entry: Entry = { ...sampleEntry(1, start), status: 502, failure: 'internal', ...facts };
    const [history, problems, series] = [new History(), new ProblemTally(), new TrafficSeries()];
    for (const tally of [history, problems, series]) tally.add(entry, start, new AnswerJudge().judge(entry));
    expect([
      history.lastHour(start).failed,
      history.sums.failed,
      problems.data.groups.length,
      series.points('minute', start, start)[0]?.failed,
    ]).toEqual(Array.from({ length: 4 }, () => Number(counted)));
  });

  test('has the number of exchanges in the last whole second', () => {
    const history = new History();
    for (let n = 0; n < 7; n += 1) history.add(sampleEntry(n, 0), 5_000_000 + n * 100, 'well');
    expect(history.perSecond(5_000_999)).toBe(0);
    expect(history.perSecond(5_001_000)).toBe(7);
    expect(history.perSecond(5_003_000)).toBe(0);
  });
});

describe('quantiles', () => {
  test('are within the 10 % of a step', () => {
    const steps = new DurationSteps();
    expect(steps.quantile(0.5)).toBeUndefined();
    for (let ms = 1; ms <= 1000; ms += 1) steps.addAt(DurationSteps.stepOf(ms));
    for (const [q, exact] of [
      [0.5, 500],
      [0.9, 900],
      [0.99, 990],
    ] as const) {
      expect(steps.quantile(q)).toBeGreaterThanOrEqual(exact * 0.999);
      expect(steps.quantile(q)).toBeLessThanOrEqual(exact * 1.11);
    }
    steps.addAt(DurationSteps.stepOf(0));
    steps.addAt(DurationSteps.stepOf(1e12));
    expect(steps.quantile(1)).toBeGreaterThan(8.6e7);
  });
});

test('what notices of the end of V1 refused counts by notice, with its clients, also from before a restart', () => {
  const [before, history] = [new History(), new History()];
  const refuse = (into: History, failure: 'brownout' | 'sunset', client?: string): void =>
    into.add({ ...sampleEntry(1, 0), status: 410, failure, note: 'first', client }, 0, 'on-purpose');
  for (let number = 0; number < 200; number += 1) refuse(before, 'sunset', `client ${number}`);
  refuse(history, 'brownout', 'a');
  for (const client of ['client 0', undefined]) refuse(history, 'sunset', client);
  expect(history.notices.counts).toEqual({
    first: { requests: 1, clients: ['a'] },
    sunset: { requests: 2, clients: ['client 0'] },
  });
  history.notices.learn(before.notices.counts);
  expect(history.notices.counts['sunset']).toMatchObject({ requests: 202, clients: { length: 100 } });
});
