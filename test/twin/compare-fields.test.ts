import { expect, test } from 'vitest';
import { compareFields, FIELDS_LEFT_OUT, PairedIds } from '../../src/twin/compare.ts';

type Fields = readonly (readonly [string, string])[];

function compare(
  v1: Fields,
  gateway: Fields,
  ids = new PairedIds(),
  ignored: readonly string[] = [],
): readonly string[] {
  const response = (headers: Fields): Parameters<typeof compareFields>[0] => ({
    status: 200,
    headers,
    body: new Uint8Array(),
  });
  const origins = { v1: 'https://v1.example', gateway: 'http://127.0.0.1:8080' };
  return compareFields(response(v1), response(gateway), ids, origins, new Set(ignored)).map(
    ({ where, kind }) => `${where} ${kind}`,
  );
}

test.each<[string, Fields, Fields, readonly string[]]>([
  ['the same in another case', [['Allow', 'GET']], [['allow', 'GET']], []],
  ['a field less', [['Retry-After', '60']], [], ['retry-after: missing']],
  ['a field more', [], [['Link', '</x>']], ['link: extra']],
  [
    'another value',
    [['Content-Type', 'application/json']],
    [['Content-Type', 'application/json; charset=utf-8']],
    ['content-type: value'],
  ],
  [
    'two lines for one',
    [['Link', '<a>, <b>']],
    [
      ['Link', '<a>'],
      ['Link', '<b>'],
    ],
    [],
  ],
  [
    'two lines in another order',
    [
      ['Link', '<a>'],
      ['Link', '<b>'],
    ],
    [
      ['Link', '<b>'],
      ['Link', '<a>'],
    ],
    ['link: value'],
  ],
  [
    'links at each one’s own origin',
    [['Location', 'https://v1.example/api/v1/x']],
    [['Location', 'http://127.0.0.1:8080/api/v1/x']],
    [],
  ],
  [
    'a link to the other version',
    [['Location', '/api/v1/x']],
    [['Location', '/api/v2/x']],
    ['location: value'],
  ],
  [
    'an id that nothing is known of',
    [['Location', '/api/v1/clients/5']],
    [['Location', '/api/v1/clients/7']],
    ['location: value'],
  ],
])('%s', (_, v1, gateway, differences) => {
  expect(compare(v1, gateway)).toEqual(differences);
});

test('the codings that a gateway decodes are its own, where it refuses', () => {
  const [v1, gateway]: readonly Fields[] = [[['Accept-Encoding', 'gzip']], [['Accept-Encoding', 'gzip, br']]];
  expect(compare(v1 ?? [], gateway ?? [])).toEqual(['accept-encoding: value']);
  expect(compare(v1 ?? [], [...(gateway ?? []), ['x-gateway-error', 'unsupported-coding']])).toEqual([]);
});

test('a link to the same resource is alike', () => {
  const ids = new PairedIds();
  expect(ids.agree('client', '5', '7', false)).toBe(true);
  expect(compare([['Location', '/api/v1/clients/5']], [['Location', '/api/v1/clients/7']], ids)).toEqual([]);
});

test('fields that an operator names are left out, and those that always are have a reason', () => {
  expect(compare([['X-Served-By', 'a']], [['X-Served-By', 'b']], undefined, ['x-served-by'])).toEqual([]);
  expect(compare([], [['X-Api-Version', '2025-01-01']])).toEqual([]);
  expect([...FIELDS_LEFT_OUT.values()].every((reason) => reason.length > 5)).toBe(true);
});
