import { describe, expect, test } from 'vitest';
import {
  deprecatedMembers,
  errorPointers,
  errorSentence,
  responseObject,
  unechoedMembers,
} from '../../src/rewrite-log/response-findings.ts';
import type { EditRecord } from '../../src/rewrite/records.ts';

const UNWRAP: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' };
const ATTRIBUTES = ['/data', '/data/name', '/data/legacy_code', '/data/property', '/data/property/suburb'];

describe('the places of errors', () => {
  test('are the pointers of the sources, each once, without anything else', () => {
    const error = (pointer: unknown): object => ({ detail: 'secret', source: { pointer } });
    const response = { errors: [error('/a/0/b'), error('/a/7/b'), error(7), error('x'), {}, null] };
    expect(errorPointers(response)).toEqual(['/a/*/b']);
    const many = { errors: Array.from({ length: 100 }, (_, n) => error(`/n${n}`)) };
    expect(errorPointers(many)).toHaveLength(16);
    expect(errorPointers({ errors: [error(`/${'a'.repeat(5000)}`)] })).toEqual([]);
    expect(errorPointers({})).toEqual([]);
  });

  test.each<[field: unknown, pointers: readonly string[]]>([
    ['lines', ['/lines']],
    ['lines.0.unit_price', ['/lines/*/unit_price']],
    ['lines[12].id', ['/lines/*/id']],
    ['jane@example.com', []],
    ['is missing', []],
    ['', []],
    ['a'.repeat(300), []],
    [7, []],
  ])('are the names of fields: %j', (field, pointers) => {
    expect(errorPointers({ errors: [{ field, message: 'is required' }] })).toEqual(pointers);
    // A pointer says more.
    const source = { pointer: '/data/lines' };
    expect(errorPointers({ errors: [{ field, source }] })).toEqual(['/data/lines']);
  });
});

test.each<[response: object, words: string | undefined]>([
  [
    { errors: [{ title: 'Invalid', detail: 'name is missing.' }, { title: 'Two' }, { title: 'Three' }] },
    'name is missing.; Two',
  ],
  [{ errors: [{ detail: 'same' }, { detail: 'same' }] }, 'same'],
  [{ errors: { name: ["can't be\nblank"], base: 'is wrong' } }, "name can't be blank; base is wrong"],
  [{ errors: ['plain'] }, 'plain'],
  [{ type: 'about:blank', title: 'Gone', detail: '' }, 'Gone'],
  [{ error: 'invalid_token', error_description: 'expired' }, 'invalid_token'],
  [{ message: 'x'.repeat(300) }, `${'x'.repeat(199)}…`],
  [{ data: {}, errors: [{ status: '422' }, 7, null] }, undefined],
  [{ message: 7 }, undefined],
])('%j says: %s', (response, words) => {
  expect(errorSentence(response)).toBe(words);
});

describe('deprecated attributes', () => {
  const of = (response: object): readonly string[] => deprecatedMembers(response, ATTRIBUTES, '/data');

  test('are those that a member called after deprecation names, wherever it stands', () => {
    expect(of({ deprecations: [{ attribute: 'legacy_code', message: 'gone' }] })).toEqual([
      '/data/legacy_code',
    ]);
    expect(of({ data: { deprecation_messages: ['Use address: property.suburb is deprecated.'] } })).toEqual([
      '/data/property/suburb',
    ]);
    expect(of({ meta: { Deprecated: { pointer: '/data/name' } } })).toEqual(['/data/name']);
  });

  test('are never values of other members, parts of names, or names that were not sent', () => {
    expect(of({ data: { name: 'legacy_code' } })).toEqual([]);
    expect(of({ deprecations: ['legacy_code_2', 'my-legacy_code', 'nothing'] })).toEqual([]);
  });
});

describe('attributes that are not echoed', () => {
  const of = (data: unknown, edits: readonly EditRecord[] = [UNWRAP]): readonly string[] | undefined =>
    unechoedMembers({ data }, ATTRIBUTES, edits, ['data']);

  test('are looked for where V2 has them, and only the outermost are listed', () => {
    expect(of({ name: 1, legacy_code: 1, property: { suburb: 1 } })).toEqual([]);
    expect(of({ name: 1, property: { suburb: 1 } })).toEqual(['/data/legacy_code']);
    expect(of({ name: 1, legacy_code: 1 })).toEqual(['/data/property']);
    const nest = {
      change: 'a',
      rule: 'nest',
      from: '/data/property/suburb',
      path: '/property/address/suburb',
    } as const;
    expect(of({ name: 1, legacy_code: 1, property: { address: { suburb: 1 } } }, [UNWRAP, nest])).toEqual([]);
    const strip = { change: 'a', rule: 'strip', from: '/data/legacy_code' } as const;
    expect(of({ name: 1, property: { suburb: 1 } }, [UNWRAP, strip])).toEqual([]);
  });

  test('are not known of a response that has no resource', () => {
    expect(of([])).toBeUndefined();
    expect(of('text')).toBeUndefined();
  });
});

test('a body that is no JSON object has no findings', () => {
  for (const text of ['', 'x', '7', 'null', '"a"'])
    expect(responseObject(new TextEncoder().encode(text))).toBeUndefined();
});
