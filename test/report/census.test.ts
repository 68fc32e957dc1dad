import { expect, test } from 'vitest';
import { CensusTally, OpenApiNames } from '../../src/report/census.ts';
import { v1TallyEntry } from '../support/v1-tally-entry.ts';

test('counts the names of an operation that comes after too many names of others', () => {
  const tally = new CensusTally();
  const attributes = Array.from({ length: 1000 }, (_, name) => `/n${name}`);
  for (const operation of ['a', 'b', 'c', 'd', 'e'])
    tally.add(operation, v1TallyEntry('c', '2026-11-20T12:00:00.000Z', { attributes: [...attributes] }));
  tally.add('late', v1TallyEntry('c', '2026-11-20T12:00:00.000Z', { attributes: ['/late'] }));
  const { rows, omitted } = tally.result();
  expect(rows.at(-1)).toMatchObject({ operation: 'late', pointer: '/late', count: 1 });
  expect(rows.reduce((sum, { count }) => sum + count, omitted)).toBe(5001);
});

const CLOSED = { type: 'object', additionalProperties: false };
const DOCUMENT = {
  paths: {
    '/api/v2/orders/{order}': {
      patch: {
        requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/Order' } } } },
      },
    },
  },
  components: {
    schemas: {
      Order: {
        ...CLOSED,
        properties: {
          notes: { type: ['string', 'null'] },
          property: { anyOf: [{ $ref: '#/components/schemas/Property' }, { type: 'null' }] },
          items: { type: 'array', items: { ...CLOSED, properties: { name: {} } } },
          parent: { $ref: '#/components/schemas/Order' },
          further: { type: 'object', properties: { known: {} } },
        },
      },
      Property: { ...CLOSED, properties: { 'a/b': { type: 'string' } } },
    },
  },
};
const names = new OpenApiNames(DOCUMENT, [
  { id: 'update_order', method: 'PATCH', template: '/orders/{id}' },
  { id: 'other', method: 'POST', template: '/other' },
]);

test.each([
  ['/notes', true],
  ['/legacy', false],
  ['/property', true],
  ['/property/a~1b', true],
  ['/property/suburb', false],
  ['/items/*/name', true],
  ['/items/*/odd', false],
  ['/parent/parent/notes', true],
  ['/parent/parent/odd', false],
  ['/further/known', true],
  ['/further/open', undefined],
])('the description of %s says %s', (pointer, expected) => {
  expect(names.has('update_order', pointer)).toBe(expected);
});

test('says nothing about operations that it does not describe, for any document', () => {
  expect(names.has('other', '/notes')).toBeUndefined();
  expect(names.has('(other)', '/notes')).toBeUndefined();
  for (const document of [
    null,
    7,
    [],
    { paths: { '/api/v2/other': { post: { requestBody: { $ref: '#/x' } } } } },
  ])
    expect(
      new OpenApiNames(document, [{ id: 'other', method: 'POST', template: '/other' }]).has('other', '/a'),
    ).toBeUndefined();
});

// Attack: a description that refers to itself, so that the report never ends.
test('ends on circular references', () => {
  const schema = { $ref: '#/a' };
  const document = {
    a: { $ref: '#/a' },
    paths: { '/other': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
  };
  expect(
    new OpenApiNames(document, [{ id: 'other', method: 'POST', template: '/other' }]).has('other', '/a'),
  ).toBeUndefined();
});
