import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formats } from '../../src/openapi/formats.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

const VALID = {
  date: ['2024-02-29', '2023-12-31'],
  time: ['23:59:60Z', '10:00:00.123+01:00'],
  'date-time': ['2024-01-02T03:04:05Z', '2024-01-02t03:04:05.1-05:00', '2024-01-02 03:04:05z'],
  duration: ['P1Y2M3DT4H5M6S', 'PT5M', 'P3W', 'P1M', 'P1YT1S'],
  uri: [
    'http://a.example/b?c=d#e',
    'urn:isbn:1',
    'http://[::1]:80/',
    'mailto:a@b.example',
    'http://u:p@h:1/%20',
  ],
  'uri-reference': ['', '/a/b', '../a', '//host/a', '?q', '#f', 'a/b:c'],
  'uri-template': ['/a/{b}{?c,d*}', 'x{+y:3}', ''],
  url: ['http://localhost:8080/x', 'https://10.0.0.1/', 'https://bücher.example/a?b#c'],
  email: ['a.b+c@d.example', '"a b"@d.example', 'a@[127.0.0.1]', 'a@[IPv6:::1]'],
  hostname: ['a', 'a-b.example', `${'a'.repeat(63)}.b`],
  ipv4: ['127.0.0.1', '255.255.255.255'],
  ipv6: ['::', '::1', '1::', '1:2:3:4:5:6:7:8', '::ffff:1.2.3.4', '1:2:3:4:5:6:1.2.3.4', '1:2:3:4:5:6:7::'],
  regex: ['^a$', '(?<n>a)'],
  uuid: ['123e4567-e89b-12d3-a456-426614174000'],
  'json-pointer': ['', '/', '/a~0b/~1', '/a//b'],
  'json-pointer-uri-fragment': ['#', '#/a%20b/~0'],
  'relative-json-pointer': ['0', '1/a', '2#', '10/~1'],
} as const;

const INVALID = {
  date: ['2023-02-29', '2024-13-01', '2024-00-10', '2024-01-00', '24-01-01', '2024-01-01 '],
  time: ['24:00:00Z', '10:00:00', '10:60:00Z', '12:59:60Z', '10:00:00+24:00'],
  'date-time': ['2024-01-02', '2024-01-02T03:04:05', '2024-01-02x03:04:05Z'],
  duration: ['P', 'PT', 'P1D2Y', 'P1W2D', '1D', 'P1H', 'P1YT', 'P1Y1D'],
  uri: ['/a', 'a b:c', 'http://a b', 'http://a/%zz', 'http://[::1', '1a:b', 'http://a:b/'],
  'uri-reference': ['a b', '\\', '%', '1a:b', '#a#b'],
  'uri-template': ['{', '{}', 'a}', '{a', '{a,}', 'a b'],
  url: ['http://', 'ftp:', 'javascript:alert(1)', 'http://a b', '//a'],
  email: ['a', '@b', 'a@', '.a@b.example', 'a..b@c.example', 'a@-b', `${'a'.repeat(65)}@b.example`],
  hostname: ['', '-a', 'a-', 'a..b', 'a_b', 'a'.repeat(64), 'a.'],
  ipv4: ['1.2.3', '256.1.1.1', '1.2.3.4.5', 'a.b.c.d'],
  ipv6: ['', ':', ':::', '1:2:3:4:5:6:7', '1::2::3', '12345::', '1:2:3:4:5:6:7:8:9', '::1.2.3', '1.2.3.4'],
  regex: ['(', '[', '\\A'],
  uuid: ['123e4567e89b12d3a456426614174000', '123e4567-e89b-12d3-a456-42661417400g'],
  'json-pointer': ['a', '/~', '/~2'],
  'json-pointer-uri-fragment': ['', '/a', '#a', '#/%'],
  'relative-json-pointer': ['', '01', '-1', '/a', '1#a'],
} as const;

test('each format has its examples', () => {
  expect([...formats.keys()].toSorted()).toEqual(Object.keys(VALID).toSorted());
  for (const [name, accepts] of formats) {
    for (const text of VALID[name as keyof typeof VALID])
      expect([name, text, accepts(text)]).toEqual([name, text, true]);
    for (const text of INVALID[name as keyof typeof INVALID])
      expect([name, text, accepts(text)]).toEqual([name, text, false]);
  }
});

// Attack: what made the formats before go back, for seconds and more (`http://`, 28 times `a`, `!`); each text is as long as a body may be.
test('no format goes back: 16,000 characters of any kind end the test before its time limit', () => {
  const units = [...words`a a. a- 1 1: : %41 @ {a} {a, " \" / /~0 P1D 1Y`, ' ', ...words`- [ :: ü # ?`];
  const starts = ['', ...words`http:// http://a@ http://[ a@ " { #/ 0/ / P 2024-01-01T mailto:`];
  for (const [name, accepts] of formats)
    for (const start of starts)
      for (const unit of units) {
        const text = `${start}${unit.repeat(16_000 / unit.length)}!\n`;
        // A line break is allowed in these alone.
        expect([name, accepts(text) && !name.includes('pointer') && name !== 'regex']).toEqual([name, false]);
      }
});

test('another table agrees on random texts, where both have the format', () => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  const same = [...words`date time duration ipv4 ipv6 uuid json-pointer relative-json-pointer`] as const;
  const pieces = words`1 12 2024 - : . P T D Y M S Z / ~0 ~ a ff :: +01:00 # 0`;
  const others = new Map(same.map((format) => [format, ajv.compile({ type: 'string', format })]));
  fc.assert(
    fc.property(
      fc.constantFrom(...same),
      fc.array(fc.constantFrom(...pieces), { maxLength: 9 }).map((parts) => parts.join('')),
      (format, text) => {
        expect([format, text, formats.get(format)?.(text)]).toEqual([
          format,
          text,
          others.get(format)?.(text),
        ]);
      },
    ),
    { numRuns: fuzzRuns(5_000) },
  );
});
