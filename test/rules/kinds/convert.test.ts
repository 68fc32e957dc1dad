import { describe, expect, test } from 'vitest';
import { type Conversion, converterOf } from '../../../src/rules/kinds/convert.ts';
import { dateConversion } from '../../../src/rules/kinds/date.ts';
import { inverseOf } from '../../../src/rules/kinds/scale.ts';
import { restoring } from '../../support/restoring.ts';
import { formatFault } from '../../../src/rules/kinds/date-format.ts';

const scale = (by: string, digits = 0): Conversion => ({ rule: 'scale', by, digits });
const date = (from: string, to: string, zone = 'UTC', at = 0): Conversion =>
  dateConversion(from, to, zone, at);

describe('scale computes with the decimal text', () => {
  test.each([
    ['100', '10.50', '1050'],
    ['100', '-0', '-0'],
    ['100', '0.00', '0'],
    ['100', '1E400', '1E402'],
    ['0.01', '1.0E-400', '1E-402'],
    ['100', '1e3', '100000'],
    ['100', '-1.5e-3', '-0.15'],
    ['100', '12345678901234567890.125', '1234567890123456789012.5'],
    ['2.5', '0.1', '0.25'],
    ['0.4', '10', '4'],
    ['1000', '9'.repeat(1000), `${'9'.repeat(1000)}000`],
    ['60', '1.5', '90'],
    ['1/60', '900', '15'],
    ['1/60', '90', '1.5'],
    ['1/60', '1000', '16.666666666667'],
    ['1/60', '-1000', '-16.666666666667'],
    ['1/60', '1e-400', '16666666667E-412'],
    ['5/9', '9', '5'],
    ['9/5', '1', '1.8'],
    ['1/0.3', '1', '3.33333333333'],
    ['1/1099511627776', '1', '0.0000000000009094947017729282379150390625'],
  ])('by %s: %s is %s', (by, before, after) => {
    expect(converterOf(scale(by))(before)).toBe(after);
  });

  test.each(['"1"', 'true', `1${'0'.repeat(2000)}`, '1e9999999', '1e-999999999999'])('not %s', (json) => {
    expect(converterOf(scale('100'))(json)).toBeUndefined();
  });

  test.each([
    ['1050', '10.50'],
    ['-1', '-0.01'],
    ['0', '0.00'],
    ['1055.55', '10.5555'],
  ])('with decimals of the larger unit: %s is %s', (before, after) => {
    expect(converterOf(restoring(scale('100', 2)))(before)).toBe(after);
    expect(converterOf(scale('0.01', 2))(before)).toBe(after);
  });

  test.each([
    ['100', '0.01'],
    ['0.01', '100'],
    ['2.5', '0.4'],
    ['0.125', '8'],
    ['1e3', '0.001'],
    ['3', '1/3'],
    ['0.3', '1/0.3'],
    ['1/60', '60'],
    ['60', '1/60'],
    ['5/9', '9/5'],
    ['1/100', '100'],
    ['0', undefined],
    ['-1', undefined],
    ['1/0', undefined],
    ['1/-2', undefined],
    ['1/2/3', undefined],
    ['a/b', undefined],
    ['', undefined],
  ])('the inverse of %s is %s', (by, inverse) => {
    expect(inverseOf(by)).toBe(inverse);
  });

  test.each(['60', '3', '0.07', '86400', '1/100'])('by %s, and back', (by) => {
    for (const json of ['1', '0', '-7.25', '123456789012345678901234567890.5'])
      expect(converterOf(restoring(scale(by)))(converterOf(scale(by))(json) ?? '')).toBe(json);
  });
});

describe('dates', () => {
  test.each([
    ['2025-01-31T10:00:00+0000', 1738317600],
    ['2025-01-31T10:00:00-0530', 1738337400],
    ['2025-01-31T10:00:00+11', 1738278000],
    ['2025-01-31T10:00:00\u221203', 1738328400],
    ['2025-01-31T10:00Z', 1738317600],
    ['2025-01-31T10Z', 1738317600],
    ['2025-01-31 10:00:00Z', 1738317600],
    ['2025-01-31 10:00:00 +0100', 1738314000],
    ['2025-01-31 10:00:00 UTC', 1738317600],
    ['2025-01-31t10:00:00z', 1738317600],
    ['2025-01-31T10:00:00,250Z', '1738317600.25'],
    ['20250131T100000Z', 1738317600],
    ['20250131T1000+0100', 1738314000],
    ['20250131T100000.5Z', '1738317600.5'],
    ['2025-01-31T24:00:00Z', 1738368000],
    ['2025-01-31T10:00:00+01:00[Europe/Paris]', 1738314000],
    ['2025-07-01T10:00[Europe/Paris]', 1751356800],
    ['2025-07-01T10:00[eUROPE/pARIS]', 1751356800],
    ['2025-07-01T10:00[!Europe/Paris]', 1751356800],
    ['2025-07-01T10:00[+02:00]', 1751356800],
    ['2025-01-31T10:00:00 GMT', 1738317600],
    ['2025-01-31T10:00:00-00:00', 1738317600],
    ['2025-01-31T10:00:00Z[Etc/UTC][u-ca=gregory]', 1738317600],
    // The zone of the rule completes a text that has none.
    ['2025-01-31T10:00:00', 1738278000],
    ['2025-01-31 10:00', 1738278000],
  ])('ISO 8601: %s is %s', (text, epoch) => {
    expect(converterOf(date('datetime', 'epoch', '+11:00'))(`"${text}"`)).toBe(String(epoch));
  });

  test.each([
    '2025-02-30T10:00:00Z',
    '2025-01-31T25:00:00Z',
    '2025-01-31T24:00:01Z',
    '2025-01-31T10:60Z',
    '2025-0131T10:00Z',
    '2025-01-31T10:0000Z',
    '2025-01-31T10:00:00+24:00',
    '2025-01-31T10:00:00+1',
    '2025-01-31T10:00:00[Mars/Base]',
    '2025-01-31T10:00:00Z[',
    '2025-01-31  10:00:00Z',
    '2025-01-31T10:00:00Z ',
  ])('not ISO 8601: %s', (text) => {
    expect(converterOf(date('datetime', 'epoch', '+11:00'))(`"${text}"`)).toBeUndefined();
  });

  test.each([
    [date('date', 'epoch'), '"2025-03-01"', '1740787200'],
    [date('date', 'epoch-ms'), '"1969-12-31"', '-86400000'],
    [date('date', 'epoch', '+10:00', 9 * 3600), '"2025-03-01"', '1740783600'],
    [date('epoch', 'date', 'Australia/Sydney'), '1740787200', '"2025-03-01"'],
    [date('datetime', 'epoch'), '"2025-10-05T00:00:00.125+11:00"', '1759582800.125'],
    [date('datetime', 'epoch-ms'), '"1969-12-31T23:59:59.5Z"', '-500'],
    [date('epoch', 'datetime'), '-0.5', '"1969-12-31T23:59:59.5Z"'],
    [date('epoch-ms', 'datetime', 'Europe/Berlin'), '1740787200000', '"2025-03-01T01:00:00+01:00"'],
    [date('DD/MM/YYYY', 'YYYYMMDD'), '"29/02/2024"', '"20240229"'],
    [date('DD.MM.YYYY HH:mm', 'datetime'), '"01.02.2025 03:04"', '"2025-02-01T03:04:00Z"'],
    [date('date', 'datetime', 'Africa/Cairo'), '"2025-04-25"', '"2025-04-25T01:00:00+03:00"'],
    [date('YYYY-MM-DDTHH:mm:ss', 'epoch', 'Europe/Berlin'), '"2025-10-26T02:30:00"', '1761438600'],
  ])('%j: %s is %s', (conversion, before, after) => {
    expect(converterOf(conversion)(before)).toBe(after);
  });

  test.each([
    [date('date', 'epoch'), '"2025-02-29"'],
    [date('date', 'epoch'), '"2025-1-1"'],
    [date('date', 'epoch'), '"0000-01-01"'],
    [date('date', 'epoch'), '20250101'],
    [date('epoch', 'date'), '1e9'],
    [date('epoch', 'date'), '999999999999999'],
    [date('datetime', 'date'), '"2025-01-01T23:59:60Z"'],
    [date('datetime', 'date'), '"2025-01-01T00:00:00+24:00"'],
    [date('YYYY-MM-DDTHH:mm:ss', 'epoch', 'Europe/Berlin'), '"2025-03-30T02:30:00"'],
  ])('%j: not %s', (conversion, json) => {
    expect(converterOf(conversion)(json)).toBeUndefined();
  });

  test.each(['YY-MM-DD', 'YYYY-MM', 'YYYY-MM-DD ss', 'YYYY-MM-DD YYYY', 'YYYY-MM-DDTHH:ss', 'iso', ''])(
    'the format %s is a fault',
    (format) => {
      expect(formatFault(format)).toBeDefined();
    },
  );
});
