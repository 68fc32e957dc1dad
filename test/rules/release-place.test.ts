import { describe, expect, test } from 'vitest';
import { ReleaseMedia } from '../../src/rules/release-place.ts';

describe('media types that name a release', () => {
  const typed = new ReleaseMedia('application/vnd.acme.v{}+json');
  const whole = new ReleaseMedia('application/vnd.acme.{}');
  const parameter = new ReleaseMedia('application/vnd.acme+json; version={}');

  test.each([
    [typed, 'application/vnd.acme.v1+json', ['1']],
    [typed, 'APPLICATION/VND.ACME.V2024-01-01+JSON', ['2024-01-01']],
    [typed, ' text/html;q=1 ,application/vnd.acme.v1.1+json;a="b,c" ; q=0.5', ['1.1']],
    [typed, 'application/vnd.acme.v1+json;q=0, application/vnd.acme.v2+json; q=0.000', []],
    [typed, 'application/vnd.acme.v+json', []],
    [typed, 'application/vnd.acme.v1/2+json', []],
    [typed, 'application/vnd.acme.v1+jsonp', []],
    [typed, 'x;a="application/vnd.acme.v1+json", y', []],
    [typed, 'x;a="application/vnd.acme.v1+json', []],
    [typed, '', []],
    [whole, 'application/vnd.acme.v3', ['v3']],
    [parameter, 'application/vnd.acme+json;version=1, application/vnd.acme+json; VERSION = "2"', ['1', '2']],
    [parameter, 'application/vnd.acme+json', []],
    [parameter, 'application/json; version=1', []],
    [parameter, 'application/vnd.acme+json; conversion=1', []],
  ] as const)('%o of %s: %j', (media, value, releases) => {
    expect(media.releasesIn(value)).toEqual(releases);
  });

  test.each([
    [typed, 'a/b, Application/Vnd.Acme.v1+json ;q="1"', 'a/b, Application/Vnd.Acme.v22+json ;q="1"'],
    [
      typed,
      'application/vnd.acme.v1+json,application/vnd.acme.v3+json',
      'application/vnd.acme.v22+json,application/vnd.acme.v22+json',
    ],
    [
      parameter,
      'application/vnd.acme+json;a=1;version="1";b=1',
      'application/vnd.acme+json;a=1;version="22";b=1',
    ],
    [parameter, 'application/json;version=1', 'application/json;version=1'],
  ])('%o is replaced in %s', (media, value, expected) => {
    expect(media.replaced(value, '22')).toBe(expected);
  });

  test.each([
    [typed, 'application/vnd.acme.v1+json; charset=utf-8', 'application/json; charset=utf-8'],
    [parameter, 'application/vnd.acme+json; version="1"; charset=utf-8', 'application/json; charset=utf-8'],
    [whole, 'application/vnd.acme.v1', 'application/vnd.acme.v1'],
    [typed, 'text/html', 'text/html'],
  ])('%o without a release, of %s: %s', (media, type, plain) => {
    expect(media.plain(type)).toBe(plain);
  });

  test.each([
    '"'.repeat(100_000),
    '\\'.repeat(100_000),
    ';q=0'.repeat(50_000),
    ', '.repeat(100_000),
    '; '.repeat(100_000),
  ])('any field is read in one pass', (value) => {
    for (const media of [typed, parameter]) expect(media.replaced(value, '2')).toBe(value);
  });
});
