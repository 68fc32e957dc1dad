import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readWindow, Zone } from '../../../src/report/plan/zone.ts';

const ZONES = [
  'UTC',
  'Europe/Berlin',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'America/New_York',
  'Asia/Kathmandu',
];

test('a local time converts back to its time, except in the first of an hour that comes twice', () => {
  const quarter = fc.integer({ min: Date.UTC(2024, 0, 1) / 900_000, max: Date.UTC(2030, 0, 1) / 900_000 });
  fc.assert(
    fc.property(fc.constantFrom(...ZONES), quarter, (name, slot) => {
      const zone = new Zone(name);
      const time = slot * 900_000;
      const local = zone.local(time);
      const back = zone.utc(local);
      expect(back === time || (zone.isTwice(local) && back !== undefined && back < time)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test.each([
  ['Europe/Berlin', '2027-03-28T02:30', undefined],
  ['Europe/Berlin', '2027-10-31T02:30', '2027-10-31T00:30:00.000Z'],
  ['Europe/Berlin', '2027-03-28T03:00', '2027-03-28T01:00:00.000Z'],
  ['Australia/Sydney', '2026-10-04T02:30', undefined],
  ['Australia/Sydney', '2027-01-12T09:00', '2027-01-11T22:00:00.000Z'],
  ['Asia/Kathmandu', '2027-01-12T09:00', '2027-01-12T03:15:00.000Z'],
])('%s at %s is %s', (name, local, utc) => {
  const time = new Zone(name).utc(Date.parse(`${local}Z`));
  expect(time === undefined ? undefined : new Date(time).toISOString()).toBe(utc);
});

test.each([
  ['2026-11-24T09:00/10:00', '2026-11-24T08:00Z', '2026-11-24T09:00Z'],
  ['2026-11-24T22:00/2026-11-25T02:00', '2026-11-24T21:00Z', '2026-11-25T01:00Z'],
  ['2026-11-24T09:00Z/2026-11-24T09:30+00:00', '2026-11-24T09:00Z', '2026-11-24T09:30Z'],
  // The offset of the begin holds for an end without a day.
  ['2026-11-24T09:00Z/10:00', '2026-11-24T09:00Z', '2026-11-24T10:00Z'],
  ['2026-11-24T09:00-05:00/10:00', '2026-11-24T14:00Z', '2026-11-24T15:00Z'],
  ['2026-11-24T09:00/10:00+01:00', '2026-11-24T08:00Z', '2026-11-24T09:00Z'],
  // Ten hours by the clock and nine by time.
  ['2027-03-27T22:00/2027-03-28T08:00', '2027-03-27T21:00Z', '2027-03-28T06:00Z'],
])('the window %s is read', (text, from, until) => {
  expect(readWindow(text, new Zone('Europe/Berlin'))).toEqual({
    from: Date.parse(from),
    until: Date.parse(until),
  });
});

test.each([
  '',
  '2026-11-24T09:00',
  '10:00/11:00',
  '2026-11-24T10:00/09:00',
  '2027-03-28T02:30/04:00',
  '2026-13-01T00:00/01:00',
  '2026-02-30T09:00/10:00',
])('the window %j is refused with the way to write it', (text) => {
  expect(readWindow(text, new Zone('Europe/Berlin'))).toEqual({
    fault: expect.stringContaining('Write it as 2026-11-24T09:00/10:00'),
  });
});
