import { describe, expect, test } from 'vitest';
import {
  collectionOf,
  compareBodies,
  compareFields,
  FIELDS_LEFT_OUT,
  PairedIds,
} from '../../src/twin/compare.ts';
import { rows } from '../support/rows.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The differences of two bodies, `where kind`. */
function compare(v1: string, gateway: string, sent = '', ids = new PairedIds()): readonly string[] {
  const isSent = (text: string): boolean => text !== '' && sent.includes(text);
  return compareBodies(bytes(v1), bytes(gateway), { ids, collection: 'client', isSent }).map(
    ({ where, kind }) => `${where} ${kind}`,
  );
}

describe('two bodies', () => {
  test.each([
    ['the same', '{"data":{"name":"A"}}', '{"data":{"name":"A"}}', []],
    ['a member less', '{"data":{"a":1,"b":2}}', '{"data":{"a":1}}', ['/data/b missing']],
    ['a member more', '{"data":{"a":1}}', '{"data":{"a":1,"b":2}}', ['/data/b extra']],
    ['another name', '{"old":"x"}', '{"new":"x"}', ['/old missing', '/new extra']],
    ['another value', '{"a":[1,2]}', '{"a":[1,3]}', ['/a/1 value']],
    ['another type', '{"a":1}', '{"a":"1"}', ['/a type']],
    ['null for an object', '{"a":null}', '{"a":{}}', ['/a type']],
    ['another order', '{"a":1,"b":2}', '{"b":2,"a":1}', [' member-order']],
    ['an element less', '{"a":[1,2]}', '{"a":[1]}', ['/a length']],
    ['elements where V1 has none', '{"a":[]}', '{"a":[1,2,3]}', ['/a length']],
    ['an element in front', '{"a":[{"n":"x"}]}', '{"a":[{"n":"z"},{"n":"x"}]}', ['/a length']],
    ['elements in another order', '{"a":[{"n":"x"},{"n":"y"}]}', '{"a":[{"n":"y"},{"n":"x"}]}', ['/a order']],
    ['another order, and another value', '[1,2,3]', '[3,4,1]', [' order', '/1 value']],
    ['elements of elements in another order', '[[1,2],[3]]', '[[2,1],[3]]', ['/0 order']],
    ['a member twice', '{"a":1}', '{"a":1,"a":1}', ['/a extra']],
    ['a number spelled differently', '{"a":1.0}', '{"a":1}', ['/a spelling']],
    ['a text spelled differently', String.raw`{"a":"\u00e9"}`, '{"a":"é"}', ['/a spelling']],
    ['white space', '{"a":1}', '{"a": 1}', [' spelling']],
    ['a name spelled differently', '{"a":1}', String.raw`{"\u0061":1}`, [' spelling']],
    ['a number beyond doubles', '{"a":12345678901234567890}', '{"a":12345678901234567891}', ['/a spelling']],
    ['not JSON, and the same text', 'oops', 'oops', []],
    ['not JSON, and another text', 'oops', 'Oops', [' value']],
    ['an empty body, and one with text', '', '{}', [' value']],
  ])('%s', (_, v1, gateway, differences) => {
    expect(compare(v1, gateway)).toEqual(differences);
  });
});

describe('ids', () => {
  test('that the services created count as equal if they always stand for each other', () => {
    const ids = new PairedIds();
    expect(
      compare('{"data":{"id":5,"property_id":9}}', '{"data":{"id":7,"property_id":4}}', '', ids),
    ).toEqual([]);
    expect(
      compare('{"data":{"id":5,"property":{"id":9}}}', '{"data":{"id":7,"property":{"id":4}}}', '', ids),
    ).toEqual([]);
    expect(compare('{"data":{"id":5}}', '{"data":{"id":8}}', '', ids)).toEqual(['/data/id value']);
    expect(compare('{"data":{"id":6}}', '{"data":{"id":7}}', '', ids)).toEqual(['/data/id value']);
    expect(compare('{"data":{"property_id":5}}', '{"data":{"property_id":7}}', '', ids)).toEqual([]);
  });

  test('in texts count as equal once they are known to be a pair', () => {
    const ids = new PairedIds();
    expect(compare('{"data":{"id":5}}', '{"data":{"id":7}}', '', ids)).toEqual([]);
    expect(compare('{"detail":"No client 5 here."}', '{"detail":"No client 7 here."}', '', ids)).toEqual([]);
    expect(compare('{"detail":"No client 5 here."}', '{"detail":"No client 6 here."}', '', ids)).toEqual([
      '/detail value',
    ]);
  });

  test('of elements in another order are paired by the rest of the elements', () => {
    const ids = new PairedIds();
    expect(compare('{"id":5,"name":"A"}', '{"id":7,"name":"A"}', '', ids)).toEqual([]);
    expect(compare('{"id":6,"name":"B"}', '{"id":8,"name":"B"}', '', ids)).toEqual([]);
    expect(
      compare(
        '[{"id":5,"name":"A"},{"id":6,"name":"B"}]',
        '[{"id":8,"name":"B"},{"id":7,"name":"A"}]',
        '',
        ids,
      ),
    ).toEqual([' order']);
    // A trial pairs no ids.
    expect(compare('{"id":9,"name":"C"}', '{"id":9,"name":"C"}', '', ids)).toEqual([]);
  });

  test('that the client sent are never paired', () => {
    expect(compare('{"data":{"client_id":5}}', '{"data":{"client_id":6}}', '"client_id":5')).toEqual([
      '/data/client_id value',
    ]);
  });

  test('are whole numbers, UUIDs and ULIDs, not any text in a member that ends in _id', () => {
    expect(compare('{"external_id":"A-1"}', '{"external_id":"A-2"}')).toEqual(['/external_id value']);
    const [one, other] = ['4c0b6a2e-9d7c-4f1c-8b6a-2e9d7c354f1c', '9d7c354f-1c0b-4a2e-9d7c-35aa1c0b6a2e'];
    expect(compare(`{"id":"${one}"}`, `{"id":"${other}"}`)).toEqual([]);
  });

  test.each([
    ['/api/v1/clients', 'client'],
    ['/api/v1/clients/', 'client'],
    ['/api/v1/orders/floor_plans/17?x=/y', 'floor_plan'],
    ['/api/v1/properties/17.json', 'property'],
  ])('of %s are paired as those of a %s', (target, collection) => {
    expect(collectionOf(target)).toBe(collection);
  });
});

describe('times', () => {
  test('that the services wrote count as equal in the same form', () => {
    expect(compare('{"at":"2026-01-01T10:00:00Z"}', '{"at":"2026-01-01T10:00:01Z"}')).toEqual([]);
    expect(compare('{"at":"2026-01-01T10:00:00Z"}', '{"at":"2026-01-01T10:00:00.5Z"}')).toEqual([
      '/at value',
    ]);
    expect(compare('{"at":"2026-01-01T10:00:00Z"}', '{"at":"2026-01-01"}')).toEqual(['/at value']);
  });

  test('that the client sent must come back unchanged', () => {
    const sent = '{"scheduled_at":"2026-01-01T10:00:00Z"}';
    expect(compare(sent, '{"scheduled_at":"2026-01-01T11:00:00Z"}', sent)).toEqual(['/scheduled_at value']);
  });
});

type Fields = readonly (readonly [string, string])[];

function compareCompareFields(
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

/** Fields written as `Name: value | Name: value`; `-` means none. */
const fieldsOf = (text: string): Fields =>
  text === '-' ? [] : text.split(' | ').map((line) => line.split(': ') as [string, string]);

test.each(rows`
  the same in another case → Allow: GET → allow: GET → -
  a field less → Retry-After: 60 → - → retry-after: missing
  a field more → - → Link: </x> → link: extra
  another value → Content-Type: application/json → Content-Type: application/json; charset=utf-8 → content-type: value
  two lines for one → Link: <a>, <b> → Link: <a> | Link: <b> → -
  two lines in another order → Link: <a> | Link: <b> → Link: <b> | Link: <a> → link: value
  links at each one’s own origin
    Location: https://v1.example/api/v1/x → Location: http://127.0.0.1:8080/api/v1/x → -
  a link to the other version → Location: /api/v1/x → Location: /api/v2/x → location: value
  an id that nothing is known of → Location: /api/v1/clients/5 → Location: /api/v1/clients/7 → location: value
`)('%s', (_, v1 = '', gateway = '', differences = '') => {
  expect(compareCompareFields(fieldsOf(v1), fieldsOf(gateway)).join() || '-').toBe(differences);
});

test('in refusals, the list of codings may differ', () => {
  const [v1, gateway]: readonly Fields[] = [[['Accept-Encoding', 'gzip']], [['Accept-Encoding', 'gzip, br']]];
  expect(compareCompareFields(v1 ?? [], gateway ?? [])).toEqual(['accept-encoding: value']);
  expect(
    compareCompareFields(v1 ?? [], [...(gateway ?? []), ['x-gateway-error', 'unsupported-coding']]),
  ).toEqual([]);
});

test('a link to the same resource counts as equal', () => {
  const ids = new PairedIds();
  expect(ids.agree('client', '5', '7', false)).toBe(true);
  expect(
    compareCompareFields([['Location', '/api/v1/clients/5']], [['Location', '/api/v1/clients/7']], ids),
  ).toEqual([]);
});

test('fields that an operator names are left out, and those that always are have a reason', () => {
  expect(
    compareCompareFields([['X-Served-By', 'a']], [['X-Served-By', 'b']], undefined, ['x-served-by']),
  ).toEqual([]);
  expect(compareCompareFields([], [['X-Api-Version', '2025-01-01']])).toEqual([]);
  expect([...FIELDS_LEFT_OUT.values()].every((reason) => reason.length > 5)).toBe(true);
});
