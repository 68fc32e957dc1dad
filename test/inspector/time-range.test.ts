import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  filterByClock,
  filterInUtc,
  hasTimes,
  localText,
  secondOfLocal,
  timeRangeOf,
  timesNote,
  withTimeRange,
} from '../../src/inspector/page/traffic/time-range.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const at = (time: string): number => Date.parse(time) / 1000;

test.each([
  ['time:2026-11-22T04', '2026-11-22T04:00:00Z', '2026-11-22T04:59:59Z'],
  ['time:2026-02', '2026-02-01T00:00:00Z', '2026-02-28T23:59:59Z'],
  ['time:2026', '2026-01-01T00:00:00Z', '2026-12-31T23:59:59Z'],
  ['time:2026-11-22T04:30..2026-11-22', '2026-11-22T04:30:00Z', '2026-11-22T23:59:59Z'],
  ['op:x time:>=2026-11-22T04:30:07z', '2026-11-22T04:30:07Z', undefined],
  ['time:<2026-11-22 time:>2026-11-20', '2026-11-21T00:00:00Z', '2026-11-21T23:59:59Z'],
])('%s is a range', (filter, from, to) => {
  expect(timeRangeOf(filter)).toEqual({
    ...(from === undefined ? {} : { from: at(from) }),
    ...(to === undefined ? {} : { to: at(to) }),
  });
});

const NOW = at('2026-11-22T12:40:30Z') * 1000;

// As many ways as the filter has to name a time of any day: the fields show the last of them.
test.each([
  ['time:12:35', '2026-11-22T12:35:00Z', '2026-11-22T12:35:59Z'],
  ['time:12:40', '2026-11-22T12:40:00Z', '2026-11-22T12:40:59Z'],
  ['time:12:41', '2026-11-21T12:41:00Z', '2026-11-21T12:41:59Z'],
  ['time:12:35:07', '2026-11-22T12:35:07Z', '2026-11-22T12:35:07Z'],
  ['time:12:35:07.250z', '2026-11-22T12:35:07Z', '2026-11-22T12:35:07Z'],
  ['op:x time:12:30..12:45', '2026-11-22T12:30:00Z', '2026-11-22T12:45:59Z'],
  ['time:>=12:30', '2026-11-22T12:30:00Z', '2026-11-22T23:59:59Z'],
  ['time:>12:30', '2026-11-22T12:31:00Z', '2026-11-22T23:59:59Z'],
  ['time:<12:30', '2026-11-22T00:00:00Z', '2026-11-22T12:29:59Z'],
  ['time:<=12:30', '2026-11-22T00:00:00Z', '2026-11-22T12:30:59Z'],
  ['time:<12:50', '2026-11-22T00:00:00Z', '2026-11-22T12:49:59Z'],
  ['time:<=12:50', '2026-11-22T00:00:00Z', '2026-11-22T12:50:59Z'],
  ['time:>=12:45 time:<12:50', '2026-11-21T12:45:00Z', '2026-11-21T12:49:59Z'],
  ['time:<12:50 time:>=12:45', '2026-11-21T12:45:00Z', '2026-11-21T12:49:59Z'],
  ['time:12:30 time:<2026-11-20', '2026-11-19T12:30:00Z', '2026-11-19T12:30:59Z'],
  ['time:2026-11-20 time:12:30..12:31', '2026-11-20T12:30:00Z', '2026-11-20T12:31:59Z'],
  ['time:>=12:30 time:<12:35', '2026-11-22T12:30:00Z', '2026-11-22T12:34:59Z'],
])('%s is that of the latest day', (filter, from, to) => {
  expect(timeRangeOf(filter, NOW)).toEqual({ from: at(from), to: at(to) });
  expect(timesNote(filter)).toBe(
    'The filter matches this time on every day; these fields show the latest day.',
  );
});

test.each([
  ['', false, ''],
  ['op:x', false, ''],
  ['time:', false, ''],
  ['time:2026-11-22T04', true, ''],
  ['-time:2026', true, 'The times of the filter are not one range.'],
  ['time:2026,2025', true, 'The times of the filter are not one range.'],
  ['time:12:35,12:37', true, 'The times of the filter are not one range.'],
])('%j: whether it has times, and what the fields lack of them', (filter, has, note) => {
  expect([hasTimes(filter), timesNote(filter)]).toEqual([has, note]);
});

test.each(['', 'op:x', '-time:2026', 'time:2026,2025', 'time:', 'colour:red'])('%j is none', (filter) => {
  expect(timeRangeOf(filter)).toBeUndefined();
});

test('a time of the fields is read as it is shown, without seconds, and without a day as that of today', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1_700_000_000, max: 1_700_500_000 }), (second) => {
      expect(secondOfLocal(localText(second))).toBe(second);
    }),
  );
  const now = new Date(2026, 10, 22, 12, 40);
  const at = (hour: number, minute: number, second = 0): number =>
    new Date(2026, 10, 22, hour, minute, second).getTime() / 1000;
  expect(['2026-11-22T09:30', ' 09:30 ', '09:30:07'].map((text) => secondOfLocal(text, now))).toEqual([
    at(9, 30),
    at(9, 30),
    at(9, 30, 7),
  ]);
  for (const text of ['', 'now', '9:30 AM', '2026-11-22', '2026-13-01 09:30', '25:00'])
    expect([text, secondOfLocal(text, now)]).toEqual([text, undefined]);
});

test('a range in place of another keeps the other terms', () => {
  expect(withTimeRange('time:2026 op:a,b -has:"x y"', { from: 0, to: 59 })).toBe(
    'op:a,b -has:"x y" time:1970-01-01T00:00:00..1970-01-01T00:00:59',
  );
  expect(withTimeRange('time:2026 op:a', {})).toBe('op:a');
});

test('a range that is chosen is read again, and accepts the requests of its seconds', () => {
  const second = fc.integer({ min: 1_700_000_000, max: 1_800_000_000 });
  fc.assert(
    fc.property(
      second,
      fc.nat(5000),
      fc.integer({ min: -6000, max: 6000 }),
      fc.nat(999),
      (from, length, off, ms) => {
        const range = { from, to: from + length };
        const filter = withTimeRange('', range);
        expect(timeRangeOf(filter)).toEqual(range);
        const read = parseFilter(filter);
        if (isFilterFault(read)) throw new Error(read.message);
        expect(read.accepts(sampleEntry(0, (from + off) * 1000 + ms))).toBe(off >= 0 && off <= length);
      },
    ),
  );
});

// By the reader's clock, minutes ahead of UTC, and in UTC.
test.each([
  ['time:13:06', 60, 'time:12:06'],
  ['time:13:06:30', 60, 'time:12:06:30'],
  ['op:x time:00:30..01:30 y', 60, 'op:x time:23:30..00:30 y'],
  ['-time:13:06,13:08', 60, '-time:12:06,12:08'],
  ['time:09:10', 330, 'time:03:40'],
  ['time:2026-11-30T13', 60, 'time:2026-11-30T12'],
  ['time:2026-11-30T13', 330, 'time:2026-11-30T07:30..2026-11-30T08:29'],
  ['time:2026-11-30', 60, 'time:2026-11-29T23..2026-11-30T22'],
  ['time:>=2026-11-30', -300, 'time:>=2026-11-30T05'],
  ['time:2026-11-30T13:04:00..2026-11-30T13:05:59', 60, 'time:2026-11-30T12:04..2026-11-30T12:05'],
  ['op:x status:4xx "a b"', 60, 'op:x status:4xx "a b"'],
  ['time:nonsense', 60, 'time:nonsense'],
  ['time:13:06', 0, 'time:13:06'],
])('%s of a clock %i min ahead is %s', (byClock, minutes, utc) => {
  expect(filterInUtc(byClock, () => minutes)).toBe(utc);
  expect(
    filterInUtc(
      filterByClock(utc, () => minutes),
      () => minutes,
    ),
  ).toBe(utc);
});

test.each([
  ['time:>=13:00', 'time:12:00..22:59'],
  ['time:>13:00', 'time:12:01..22:59'],
  ['time:<13:00', 'time:23:00..11:59'],
  ['time:<=13:00', 'time:23:00..12:00'],
  ['time:12:04Z', 'time:12:04Z'],
])('%s of any day, an hour ahead, is %s', (byClock, utc) => {
  expect(filterInUtc(byClock, () => 60)).toBe(utc);
});

test('the day on which clocks change has its own hours', () => {
  const berlin = (time: number): number => (time < Date.parse('2026-10-25T01:00:00Z') ? 120 : 60);
  expect(filterInUtc('time:2026-10-25', berlin)).toBe('time:2026-10-24T22..2026-10-25T22');
  expect(filterByClock('time:2026-10-24T22..2026-10-25T22', berlin)).toBe('time:2026-10-25');
});

test('a clock time after midnight ends a range that began before', () => {
  expect(timeRangeOf('time:23:30..00:30', NOW)).toEqual({
    from: at('2026-11-21T23:30:00Z'),
    to: at('2026-11-22T00:30:59Z'),
  });
  const filter = parseFilter('time:23:30..00:30');
  if (isFilterFault(filter)) throw new Error(filter.message);
  const matches = (time: string): boolean => filter.accepts({ ...sampleEntry(0, 0), time });
  expect(['23:29', '23:30', '00:30', '00:31'].map((clock) => matches(`2026-11-22T${clock}:00.000Z`))).toEqual(
    [false, true, true, false],
  );
});
