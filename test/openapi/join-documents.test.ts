import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinDocuments } from '../../src/openapi/join-documents.ts';

type Json = Readonly<Record<string, unknown>>;

const ROOT = 'https://api.example/spec/openapi.yaml';
const text = { type: 'string' };
const to = (name: string): Json => ({ $ref: `#/components/schemas/${name}` });

/** A description with these schema components, and the documents beside it. */
function joinSchemas(schemas: unknown, others: Json, openapi = '3.1.0'): ReturnType<typeof joinDocuments> {
  return joinAll({ openapi, paths: {}, components: { schemas } }, others);
}

function joinAll(description: Json, others: Json): ReturnType<typeof joinDocuments> {
  const beside = Object.entries(others).map(([name, value]): [string, unknown] => [
    new URL(name, ROOT).href,
    value,
  ]);
  return joinDocuments(ROOT, new Map([[ROOT, description], ...beside]));
}

const objectOf = (properties: Json): Json => ({ type: 'object', properties });

test.each<[string, unknown, Json, unknown]>([
  [
    'a file that is a component takes its name',
    { Order: { $ref: './schemas/order.yaml' } },
    { './schemas/order.yaml': objectOf({ id: text }) },
    { Order: objectOf({ id: text }) },
  ],
  [
    'a schema in a file of several',
    { Order: objectOf({ client: { $ref: 'all.yaml#/components/schemas/Client' } }) },
    { 'all.yaml': { components: { schemas: { Client: text } } } },
    { Order: objectOf({ client: to('Client') }), Client: text },
  ],
  [
    'references are relative to the file that they stand in',
    { Order: { $ref: 'schemas/order.yaml#/Order' } },
    {
      'schemas/order.yaml': {
        Order: objectOf({ one: { $ref: 'one.yaml' }, own: { $ref: '#/Own' } }),
        Own: text,
      },
      'schemas/one.yaml': { $ref: '../two.yaml#/Two' },
      'two.yaml': { Two: text },
    },
    { Order: objectOf({ one: to('Two'), own: to('Own') }), Two: text, Own: text },
  ],
  [
    'files that contain each other, and themselves',
    { Order: { $ref: 'order.yaml' } },
    {
      'order.yaml': objectOf({ parent: { $ref: '#' }, client: { $ref: 'client.yaml' } }),
      'client.yaml': objectOf({ orders: { items: { $ref: 'order.yaml' } } }),
    },
    {
      Order: objectOf({ parent: to('Order'), client: to('client') }),
      client: objectOf({ orders: { items: to('Order') } }),
    },
  ],
  [
    'back into the description',
    { Order: { $ref: 'order.yaml' }, Client: text },
    { 'order.yaml': objectOf({ client: { $ref: 'openapi.yaml#/components/schemas/Client' } }) },
    { Order: objectOf({ client: to('Client') }), Client: text },
  ],
  [
    'another schema of the same name',
    { Client: objectOf({ one: { $ref: 'a.yaml#/Client' }, two: { $ref: 'b.yaml#/Client' } }) },
    { 'a.yaml': { Client: text }, 'b.yaml': { Client: { type: 'integer' } } },
    {
      Client: objectOf({ one: to('Client_2'), two: to('Client_3') }),
      Client_2: text,
      Client_3: { type: 'integer' },
    },
  ],
  [
    'all components in a file, in files of their own',
    { $ref: 'schemas/index.yaml' },
    {
      'schemas/index.yaml': { Order: { $ref: 'order.yaml' }, Id: text },
      'schemas/order.yaml': objectOf({ id: { $ref: 'index.yaml#/Id' } }),
    },
    { Order: objectOf({ id: to('Id') }), Id: text },
  ],
  [
    'a place within a schema of another file, through a reference',
    { Id: { $ref: 'index.yaml#/Order/properties/id' } },
    { 'index.yaml': { Order: { $ref: 'order.yaml' } }, 'order.yaml': objectOf({ id: text }) },
    { Id: text },
  ],
  [
    'schemas that a discriminator maps, by reference and by name',
    {
      Pet: {
        oneOf: [{ $ref: 'pets.yaml#/Cat' }, to('Dog')],
        discriminator: { propertyName: 'kind', mapping: { cat: 'pets.yaml#/Cat', dog: 'Dog' } },
      },
      Dog: text,
    },
    { 'pets.yaml': { Cat: text } },
    {
      Pet: {
        oneOf: [to('Cat'), to('Dog')],
        discriminator: { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat', dog: 'Dog' } },
      },
      Dog: text,
      Cat: text,
    },
  ],
  [
    'names that are escaped in pointers, and ~1 in them',
    { A: { $ref: 'x.yaml#/a~1b/c%20d' } },
    { 'x.yaml': { 'a/b': { 'c d': text } } },
    { A: text },
  ],
  [
    'values of clients and members called $ref are no references',
    {
      A: {
        properties: { $ref: text, default: { $ref: 'x.yaml' } },
        default: { $ref: 'gone.yaml' },
        enum: [{ $ref: 'gone.yaml' }],
      },
    },
    { 'x.yaml': text },
    {
      A: {
        properties: { $ref: text, default: to('x') },
        default: { $ref: 'gone.yaml' },
        enum: [{ $ref: 'gone.yaml' }],
      },
      x: text,
    },
  ],
  [
    'a schema that calls itself by an address is where it says it is',
    {
      A: { $id: 'https://schemas.example/a', type: 'object' },
      B: {
        properties: { a: { $ref: 'https://schemas.example/a' }, c: { $ref: 'https://schemas.example/c' } },
      },
    },
    { 'c.json': { $id: 'https://schemas.example/c', type: 'string' } },
    {
      A: { $id: 'https://schemas.example/a', type: 'object' },
      B: { properties: { a: { $ref: 'https://schemas.example/a' }, c: to('c') } },
      c: { $id: 'https://schemas.example/c', type: 'string' },
    },
  ],
])('%s', (_name, schemas, others, joined) => {
  const { description, dead } = joinSchemas(schemas, others);
  expect(dead).toEqual([]);
  expect(description['components']).toEqual({ schemas: joined });
});

test.each<[string, Json, Json]>([
  ['3.0.3', { readOnly: true, required: ['a'], description: 'd', 'x-a': 1 }, { description: 'd', 'x-a': 1 }],
  ['3.1.0', { readOnly: true, required: ['a'] }, { readOnly: true, required: ['a'] }],
])('in OpenAPI %s, beside a reference stands %j, and %j holds', (openapi, beside, holds) => {
  const { description } = joinSchemas({ A: { ...to('B'), ...beside }, B: text }, {}, openapi);
  expect(description['components']).toEqual({ schemas: { A: { ...to('B'), ...holds }, B: text } });
});

test('paths, parameters, bodies and responses are put where they are referred to', () => {
  const { description, dead } = joinAll(
    {
      openapi: '3.0.3',
      paths: { '/a': { $ref: 'paths.yaml#/~1a', summary: 'own' }, '/b': { $ref: 'b.yaml' } },
      components: { responses: { Error: { $ref: 'common.yaml#/responses/Error' } } },
    },
    {
      'paths.yaml': {
        '/a': {
          summary: 'theirs',
          post: {
            parameters: [{ $ref: 'common.yaml#/parameters/Page' }],
            requestBody: { $ref: 'common.yaml#/body' },
            responses: { default: { $ref: 'openapi.yaml#/components/responses/Error' } },
          },
        },
      },
      'b.yaml': { get: { responses: { 200: { $ref: 'common.yaml#/responses/Error' } } } },
      'common.yaml': {
        parameters: { Page: { name: 'page', in: 'query', schema: { $ref: '#/Page' } } },
        body: { content: { 'application/json': { schema: { $ref: '#/Page' }, example: { $ref: 'none' } } } },
        responses: { Error: { description: 'bad' } },
        Page: { type: 'integer' },
      },
    },
  );
  expect(dead).toEqual([]);
  expect(description).toEqual({
    openapi: '3.0.3',
    paths: {
      '/a': {
        summary: 'own',
        post: {
          parameters: [{ name: 'page', in: 'query', schema: to('Page') }],
          requestBody: {
            content: { 'application/json': { schema: to('Page'), example: { $ref: 'none' } } },
          },
          responses: { default: { $ref: '#/components/responses/Error' } },
        },
      },
      '/b': { get: { responses: { 200: { description: 'bad' } } } },
    },
    components: { responses: { Error: { description: 'bad' } }, schemas: { Page: { type: 'integer' } } },
  });
});

test('schemas of a Swagger 2.0 description are its definitions', () => {
  const { description } = joinAll(
    {
      swagger: '2.0',
      paths: { '/a': { post: { parameters: [{ in: 'body', schema: { $ref: 'a.json#/definitions/A' } }] } } },
    },
    { 'a.json': { definitions: { A: objectOf({ a: { $ref: '#/definitions/A' } }) } } },
  );
  expect(description).toMatchObject({
    paths: { '/a': { post: { parameters: [{ schema: { $ref: '#/definitions/A' } }] } } },
    definitions: { A: objectOf({ a: { $ref: '#/definitions/A' } }) },
  });
});

test.each<[string, unknown, Json, object]>([
  ['a document that is not read', { $ref: 'none.yaml#/A' }, {}, { isUnread: true }],
  ['a place that is not there', { $ref: 'a.yaml#/None' }, { 'a.yaml': {} }, { isUnread: false }],
  ['a mapping', { discriminator: { mapping: { a: './none.yaml' } } }, {}, { isUnread: true }],
  ['an invalid address', { $ref: 'https://[' }, {}, { isUnread: false }],
  ['a file that refers to none', { $ref: 'a.yaml' }, { 'a.yaml': { $ref: 'none.yaml' } }, { isUnread: true }],
])('%s is reported', (_name, schema, others, dead) => {
  expect(joinSchemas({ A: schema }, others).dead).toMatchObject([dead]);
});

test('a path that contains itself is reported', () => {
  const { dead } = joinAll(
    { openapi: '3.1.0', paths: { '/a': { $ref: 'a.yaml' } } },
    { 'a.yaml': { get: { callbacks: { on: { x: { $ref: 'a.yaml' } } } } } },
  );
  expect(dead).toMatchObject([{ reference: 'a.yaml', isUnread: false }]);
});

test('for any references among documents, each reference of the joined description leads to a component', () => {
  const files = ['a.yaml', 'b/c.yaml', 'd.yaml'];
  const reference = fc
    .tuple(
      fc.constantFrom('/spec/a.yaml', '/spec/b/c.yaml', '/spec/d.yaml', '', ROOT),
      fc.constantFrom('#/A', '#/B', '#', ''),
    )
    .map(([file, pointer]) => ({ $ref: file === ROOT ? `${ROOT}#/components/schemas/S` : file + pointer }))
    .filter(({ $ref }) => $ref !== '');
  const { schema } = fc.letrec<{ schema: Json }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3 },
      fc.constant(text),
      reference,
      tie('schema').map((one) => objectOf({ one })),
      fc.array(tie('schema'), { maxLength: 2 }).map((all) => ({ anyOf: all })),
    ),
  }));
  const document = fc.tuple(schema, schema).map(([A, B]) => ({ type: 'object', A, B }));
  fc.assert(
    fc.property(fc.tuple(document, document, document), fc.constantFrom(...files), (documents, first) => {
      const others = Object.fromEntries(files.map((name, at) => [name, documents[at]]));
      const { description } = joinSchemas({ S: { $ref: `${first}#/A` } }, others);
      const found = JSON.stringify(description).matchAll(/"\$ref":"([^"]*)"/g);
      const names = Object.keys((description['components'] as { schemas: object }).schemas);
      for (const [, lead = ''] of found) {
        expect(lead).toMatch(/^#\/components\/schemas\//);
        expect(names).toContain(lead.replace('#/components/schemas/', ''));
      }
    }),
  );
});
