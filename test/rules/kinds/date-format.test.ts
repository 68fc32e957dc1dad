import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { converterOf } from '../../../src/rules/kinds/convert.ts';
import { dateConversion } from '../../../src/rules/kinds/date.ts';
import { lossOf } from '../../../src/rules/kinds/words.ts';
import {
  compiledDate,
  dateSchemaPattern,
  formatFault,
  isZone,
} from '../../../src/rules/kinds/date-format.ts';

function converted(from: string, to: string, json: string, zone = 'UTC', at = 0): string | undefined {
  return converterOf(dateConversion(from, to, zone, at))(json);
}

/** The epoch of a text in a form, with the zone of Sydney for those that tell none. */
function epochOf(form: string, text: string, zone = 'Australia/Sydney'): string | undefined {
  return converted(form, 'epoch', JSON.stringify(text), zone);
}

describe('texts in the letters of Unicode', () => {
  test.each([
    ['d/M/yyyy', '31/1/2025', 1738242000],
    ['d/M/yyyy', '01/02/2025', 1738328400],
    ['d.M.yy', '31.1.25', 1738242000],
    ['dd/MM/yy', '31/01/69', -28980000],
    ['MMMM d, y', 'January 31, 2025', 1738242000],
    ['MMMM d, y', 'jan 31, 2025', 1738242000],
    ['d MMM yyyy', '1 Sept 2025', 1756648800],
    ['dd MMM yyyy h:mm a', '31 Jan 2025 9:05 PM', 1738317900],
    ['dd MMM yyyy h:mm a', '31 Jan 2025 9:05\u202fp.m.', 1738317900],
    ['dd MMM yyyy h:mm a', '31 JAN 2025 12:00 am', 1738242000],
    ['dd MMM yyyy h:mm a', '31 Jan 2025 12:00 PM', 1738285200],
    ['EEE, d MMM yyyy HH:mm', 'Fri, 31 Jan 2025 10:00', 1738278000],
    ['EEEE d MMMM yyyy', 'Friday 31 January 2025', 1738242000],
    ["d MMMM yyyy 'at' HH:mm", '31 January 2025 at 10:00', 1738278000],
    ["yyyy-MM-dd'T'HH:mm:ss.SSS", '2025-01-31T10:00:00.250', '1738278000.25'],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-01-31T10:00:00+01:00', 1738314000],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-01-31t10:00:00+0100', 1738314000],
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-01-31T10:00:00Z', 1738317600],
    // The zone of the rule completes a text that has none.
    ["yyyy-MM-dd'T'HH:mm:ssXXX", '2025-01-31T10:00:00', 1738278000],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00', 1738278000],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00 UTC', 1738317600],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00 EST', 1738335600],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00 PDT', 1738342800],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00 GMT+1', 1738314000],
    ['dd/MM/yyyy HH:mm z', '31/01/2025 10:00 GMT-05:30', 1738337400],
    ['dd/MM/yyyy HH:mm Z', '31/01/2025 10:00 +0530', 1738297800],
    ['dd/MM/yyyy HH:mm x', '31/01/2025 10:00 -03', 1738328400],
    ['yyyyMMddHHmmss', '20250131100000', 1738278000],
    ['YYYY-MM-DD HH:mm', '2025-01-31 24:00', 1738328400],
    ["d 'o''clock' M yyyy", "31 o'clock 1 2025", 1738242000],
    ["yyyy.MM.dd''HH", "2025.01.31'10", 1738278000],
  ])('%s: %s is %s', (form, text, epoch) => {
    expect(formatFault(form)).toBeUndefined();
    expect(epochOf(form, text)).toBe(String(epoch));
  });

  test.each([
    ['d/M/yyyy', '31/13/2025'],
    ['d/M/yyyy', '32/1/2025'],
    ['d/M/yyyy', '31/2/2025'],
    ['d/M/yyyy', '31-1-2025'],
    ['d/M/yyyy', '31/1/25'],
    ['d/M/yyyy', '031/1/2025'],
    ['dd/MM/yyyy', '1/01/2025'],
    ['d MMM yyyy', '31 Foo 2025'],
    ['d MMM yyyy', '31 Januar 2025 '],
    ['d MMM yyyy', '31 Janvier 2025'],
    ['d MMM yyyy', '31 00 2025'],
    ['d MMM yyyy h:mm a', '31 Jan 2025 13:05 PM'],
    ['d MMM yyyy h:mm a', '31 Jan 2025 0:05 AM'],
    ['d MMM yyyy h:mm a', '31 Jan 2025 1:05'],
    ['d MMM yyyy h:mm a', '31 Jan 2025 1:60 PM'],
    ["yyyy-MM-dd'T'HH:mm:ss.SSS", '2025-01-31T10:00:00.25'],
    ['yyyy-MM-dd HH:mm z', '2025-01-31 10:00 CET'],
    ['yyyy-MM-dd HH:mm X', '2025-01-31 10:00 +24:00'],
    ['yyyy-MM-dd.', '2025-01-31x'],
  ])('%s: not %s', (form, text) => {
    expect(epochOf(form, text)).toBeUndefined();
  });

  test.each([
    ['d/M/yyyy', 'UTC', '1/2/2025'],
    ['dd MMM yyyy h:mm a', 'UTC', '01 Feb 2025 12:04 AM'],
    ['EEEE, d. MMMM y', 'UTC', 'Saturday, 1. February 2025'],
    ['MM/dd/yy', 'UTC', '02/01/25'],
    ['yyyy-MM-dd HH:mm:ss.SS', 'UTC', '2025-02-01 00:04:05.25'],
    ["yyyy-MM-dd'T'HH:mm:ss.SSSSSS", 'UTC', '2025-02-01T00:04:05.250000'],
    ['H X', 'UTC', '0 Z'],
    ['H X', 'Asia/Kolkata', '5 +0530'],
    ['H X', 'Europe/Paris', '1 +01'],
    ['H XX', 'Europe/Paris', '1 +0100'],
    ['H XXX', 'America/New_York', '19 -05:00'],
    ['H xxx', 'UTC', '0 +00:00'],
    ['H Z', 'UTC', '0 +0000'],
    ['H z', 'UTC', '0 UTC'],
    ['H z', 'America/New_York', '19 EST'],
    ['H z', 'Europe/Paris', '1 GMT+1'],
    ['H z', '-09:30', '14 GMT-09:30'],
    ['H z', '+00:00', '0 UTC'],
  ])('%s in %s: %s is written', (form, zone, text) => {
    const whole = form.includes('y');
    const told = converted('epoch', whole ? form : `${form} yyyy/MM/dd`, '1738368245.25', zone);
    expect(whole ? told : told?.replace(/ \d{4}\/\d\d\/\d\d"$/, '"')).toBe(`"${text}"`);
  });

  test('a year of two digits is that from 1969 to 2068, and no other is written with two', () => {
    expect(epochOf('d/M/yy', '1/1/68', 'UTC')).toBe('3092601600');
    expect(converted('epoch', 'd/M/yy', '-31622400')).toBeUndefined();
    expect(converted('epoch', 'd/M/yy', '3124224000')).toBeUndefined();
    expect(converted('epoch', 'd/M/yy', '3092601600')).toBe('"1/1/68"');
  });

  const exact = [
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    'd MMMM yyyy h:mm:ss.SSS a z',
    'EEE MMM d HH:mm:ss.SSS Z yyyy',
    'yyyyMMddHHmmssSSSx',
    "EEEE, d.M.y, H'h'm'm'ss.SSS XX",
  ];
  const zones = [
    'UTC',
    '+05:30',
    '-12:00',
    'Europe/London',
    'America/Los_Angeles',
    'Asia/Kathmandu',
    'Africa/Monrovia',
  ];

  test.each(exact)('%s: every time is read as it was written, in every zone', (form) => {
    expect(formatFault(form)).toBeUndefined();
    fc.assert(
      fc.property(
        fc.integer({ min: -62_135_400_000_000, max: 253_402_200_000_000 }),
        fc.constantFrom(...zones),
        (time, zone) => {
          const text = converted('epoch-ms', form, String(time), zone) ?? '';
          expect(converted(form, 'epoch-ms', text, zone)).toBe(String(time));
          expect(JSON.parse(text)).toMatch(new RegExp(dateSchemaPattern(compiledDate(form))));
        },
      ),
    );
  });
});

describe('faults of patterns', () => {
  test.each([
    ['iso', 'has i, which is not a supported part of a date'],
    ['d.M.yyyy QQ', 'has QQ, which is not a supported part of a date'],
    ['d MMM yyyy at HH:mm', 'has t, which is not a supported part of a date'],
    ['YY-MM-dd', 'has YY, which is not a supported part of a date'],
    ['D.M.yyyy', 'has D, which is not a supported part of a date'],
    ['yyyy-MM-dd KK:mm a', 'has KK, which is not a supported part of a date'],
    ['yyy-MM-dd', 'has yyy, which is not supported; write yyyy'],
    ['yyyy-MMMMM-dd', 'has MMMMM, which is not supported; write MMMM'],
    ['d.M.yyyy zzzz', 'has zzzz, which is not supported; write zzz'],
    ["d.M.yyyy 'at", 'has a quote mark that is not closed'],
    ['yyyy-MM', 'lacks the year, the month or the day'],
    ['HH:mm', 'lacks the year, the month or the day'],
    ['', 'lacks the year, the month or the day'],
    ['yyyy-MM-dd MMM', 'names a part of the date twice'],
    ['yyyy-MM-dd HH hh a', 'names a part of the date twice'],
    ['yyyy-MM-dd HH X z', 'names a part of the date twice'],
    ['yyyy-MM-dd hh:mm', 'has hours up to 12 without AM and PM'],
    ['yyyy-MM-dd HH:mm a', 'has AM and PM without hours up to 12'],
    ['yyyy-MM-dd HH:mm.SSS', 'has parts of a second without seconds'],
    ['yyyy-MM-dd ss', 'has seconds without minutes'],
    ['yyyy-MM-dd mm', 'has minutes without hours'],
    ['dMyyyy', 'has a part of varying length directly before the next part'],
    ['d1MMyyyy', 'has a part of varying length directly before the next part'],
    ['EEEMMM d yyyy', 'has a part of varying length directly before the next part'],
    ["yyyy MMM'of'dd", 'has a part of varying length directly before the next part'],
    ['yyyy-MM-dd HHXmm', 'has a part of varying length directly before the next part'],
    [`yyyy-MM-dd${'.'.repeat(60)}`, 'is longer than 64 characters'],
  ])('%s %s', (form, fault) => {
    expect(formatFault(form)).toMatch(new RegExp(`^${fault}`));
  });
});

test.each([
  ['dd/MM/yyyy', 'epoch', undefined],
  ['dd/MM/yyyy', 'dd/MM/yy', 'fewer'],
  ['dd/MM/yy', 'yyyy-MM-dd', undefined],
  ['yyyy-MM-dd HH:mm', 'd MMM yyyy h:mm a', undefined],
  ['yyyy-MM-dd HH:mm:ss', 'd MMM yyyy h:mm a', 'fewer'],
  ['yyyy-MM-dd HH:mm:ss.SSS', 'epoch-ms', undefined],
  ['epoch-ms', 'yyyy-MM-dd HH:mm:ss.SSS', 'fewer'],
  ['yyyy-MM-dd HH:mm X', 'epoch', 'zone'],
  ['yyyy-MM-dd HH:mm X', 'datetime', 'zone'],
  ['datetime', 'yyyy-MM-dd HH:mm:ssX', 'fewer'],
  ['rfc-1123', 'epoch', 'zone'],
  ['epoch', 'rfc-1123', 'fewer'],
  ['date', 'rfc-1123', undefined],
  ['datetime', 'epoch', 'zone'],
])('%s as %s loses: %s', (from, to, loss) => {
  expect(lossOf(dateConversion(from, to))?.match(/zone|fewer/)?.[0]).toBe(loss);
});

describe('RFC 1123', () => {
  test.each([
    ['Fri, 31 Jan 2025 10:00:00 GMT', 1738317600],
    ['Fri, 31 jan 2025 10:00:00 +0100', 1738314000],
    ['Fri, 31 Jan 2025 10:00:00 EST', 1738335600],
    ['31 Jan 2025 10:00 UT', 1738317600],
    ['Sat, 1 Feb 2025 00:00:00 -0530', 1738387800],
    // The zone of the rule completes it.
    ['Fri, 31 Jan 2025 10:00:00', 1738278000],
  ])('%s is %s', (text, epoch) => {
    expect(epochOf('rfc-1123', text)).toBe(String(epoch));
    const back = converted('epoch', 'rfc-1123', String(epoch), 'Australia/Sydney') ?? '';
    expect(back).toBe(JSON.stringify(new Date(epoch * 1000).toUTCString()));
    expect(converted('rfc-1123', 'epoch', back)).toBe(String(epoch));
  });

  test.each([
    'Fri, 31 Foo 2025 10:00:00 GMT',
    '31 Feb 2025 10:00:00 GMT',
    '31 Jan 2025 25:00:00 GMT',
    '31 Jan 2025',
  ])('not %s', (text) => {
    expect(epochOf('rfc-1123', text)).toBeUndefined();
  });
});

test.each([
  ['epoch', '"1738317600"', '"2025-01-31T10:00:00Z"'],
  ['epoch', '"-0.5"', '"1969-12-31T23:59:59.5Z"'],
  ['epoch-ms', '"1738317600250"', '"2025-01-31T10:00:00.25Z"'],
  ['epoch', '"1738317600x"', undefined],
  ['epoch', '""', undefined],
  ['epoch', '"1e9"', undefined],
])('%s is read from a string of digits as well: %s', (from, json, datetime) => {
  expect(converted(from, 'datetime', json)).toBe(datetime);
});

test.each([
  ['UTC', true],
  ['+23:59', true],
  ['-00:00', true],
  ['Australia/Sydney', true],
  ['+24:00', false],
  ['+10:60', false],
  ['+99:99', false],
  ['Sydney', false],
])('%s is a zone: %s', (zone, expected) => {
  expect(isZone(zone)).toBe(expected);
});
