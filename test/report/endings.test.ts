import { expect, test } from 'vitest';
import { Zone } from '../../src/report/plan/zone.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { entryAt, simulatedFleet } from './plan/fleet.ts';

const DAY = 86_400_000;

test('a report finds all rotated keys, and no others', () => {
  // The shorter the log, the more keys begin in it that replaced no other key: monthly jobs, and clients where another one is on holiday.
  const logs = [
    [4, 90, 'America/New_York', '2026-12-15T12:00:00Z'],
    [1, 90, 'Europe/Berlin', '2027-01-10T12:00:00Z'],
    [1, 150, 'Europe/Berlin', '2027-01-10T12:00:00Z'],
    [5, 90, 'America/New_York', '2026-12-15T12:00:00Z'],
  ] as const;
  for (const [seed, days, name, at] of logs.slice(0, fuzzRuns(logs.length))) {
    const now = Date.parse(at);
    const fleet = simulatedFleet(seed, new Zone(name), { since: now - days * DAY, now, end: now });
    const tally = new Tally();
    for (const { times, hash, operation, rotatedFrom, kind } of fleet)
      for (const time of times) {
        const isNew = rotatedFrom !== undefined || kind === 'newcomer';
        tally.add({ ...entryAt(time, hash, operation), ...(isNew ? { newcomer: 'would' as const } : {}) });
      }
    const { newcomers = [] } = makeReport(tally, { now: new Date(now).toISOString() });
    const told = newcomers.filter(({ sentence }) => sentence.includes('seems to be the rotated one'));
    const truth = fleet.flatMap(({ hash, rotatedFrom }) => (rotatedFrom ? [`${rotatedFrom} ${hash}`] : []));
    expect(told.map(({ client, replaces }) => `${replaces} ${client}`).sort()).toEqual(truth.sort());
  }
});

test.each<[string, old: number[], young: number[], string]>([
  ['days after the end of the other', [40, 39, 38, 37, 36, 35], [34, 33, 32, 31, 30], 'seems to be'],
  // Its weekend is not over.
  [
    'days after the other, which may only pause',
    [14, 13, 12, 11, 7, 5, 4, 3],
    [2, 1.9, 1.8, 1.7, 1.6],
    'may be',
  ],
  ['while the other is still in use', [14, 13, 12, 11, 10, 2, 1], [9, 8, 7, 6, 5], 'first came'],
  ['long after the end of the other', [40, 39, 38, 37, 36, 35], [25, 24, 23, 22, 21], 'first came'],
])('a key that begins %s is reported as such', (_, old, young, words) => {
  const now = Date.parse('2027-01-10T12:00:00Z');
  const tally = new Tally();
  // Somebody else, so that the log goes on.
  for (let day = 60; day >= 0; day -= 1) tally.add(entryAt(now - day * DAY, 'c'.repeat(16), 'other'));
  for (const day of old) tally.add(entryAt(now - day * DAY, 'a'.repeat(16), 'bill'));
  for (const day of young)
    tally.add({ ...entryAt(now - day * DAY, 'b'.repeat(16), 'bill'), newcomer: 'would' });
  const { newcomers } = makeReport(tally, { now: new Date(now).toISOString() });
  expect(newcomers?.[0]?.sentence).toContain(words);
  expect(newcomers?.[0]?.replaces).toBe(words === 'first came' ? undefined : 'a'.repeat(16));
});
