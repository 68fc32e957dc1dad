import { expect, test } from 'vitest';
import { isDescription, type JsonObject, fromSwagger, isSwagger } from '../../src/openapi/description.ts';
import { proposeRuleBook } from '../../src/openapi/draft/propose-rule-book.ts';

/** A description of Swagger with these members. */
function swagger(members: object): JsonObject {
  return { swagger: '2.0', info: { title: 'x', version: '1' }, paths: {}, ...members };
}

/** The operation `POST /a` of a description of Swagger, as it is converted. */
function converted(operation: object, members: object = {}): unknown {
  const { paths } = fromSwagger(swagger({ paths: { '/a': { post: operation } }, ...members }));
  return (paths as { readonly '/a': { readonly post: unknown } })['/a'].post;
}

const CLIENT = { type: 'object', properties: { name: { type: 'string', 'x-nullable': true } } };
const NEW_CLIENT = { type: 'object', properties: { name: { type: 'string', nullable: true } } };

test.each([
  [
    { host: 'a.b', basePath: '/api/v1', schemes: ['https', 'http'] },
    ['https://a.b/api/v1', 'http://a.b/api/v1'],
  ],
  [{ host: 'a.b' }, ['https://a.b/']],
  [{ basePath: '/api/v1' }, ['/api/v1']],
  [{}, ['/']],
])('%j is served at %j', (members, urls) => {
  expect(fromSwagger(swagger(members))['servers']).toEqual(urls.map((url) => ({ url })));
});

test.each([
  [
    'a body',
    { parameters: [{ in: 'body', name: 'b', required: true, schema: { $ref: '#/definitions/Client' } }] },
    { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/Client' } } } },
  ],
  [
    'a shared body with its own type',
    { consumes: ['application/vnd.api+json'], parameters: [{ $ref: '#/parameters/Body' }] },
    { required: false, content: { 'application/vnd.api+json': { schema: NEW_CLIENT } } },
  ],
  [
    'fields',
    {
      parameters: [{ in: 'formData', name: 'a', type: 'integer', required: true, description: 'no schema' }],
    },
    {
      content: {
        'application/x-www-form-urlencoded': {
          schema: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] },
        },
      },
    },
  ],
  [
    'a file',
    { parameters: [{ in: 'formData', name: 'a', type: 'file' }] },
    {
      content: {
        'multipart/form-data': {
          schema: { type: 'object', properties: { a: { type: 'string', format: 'binary' } } },
        },
      },
    },
  ],
  ['none', { parameters: [{ in: 'query', name: 'a', type: 'string' }] }, undefined],
])('%s is the request body', (_, operation, requestBody) => {
  const parameters = { Body: { in: 'body', name: 'b', schema: CLIENT } };
  const found = converted(operation, { parameters }) as { readonly requestBody?: unknown };
  expect(found.requestBody).toEqual(requestBody);
});

test('other parameters have a schema, and responses have content', () => {
  const operation = {
    operationId: 'a',
    produces: ['application/json', 'text/json'],
    parameters: [
      {
        in: 'query',
        name: 'q',
        type: 'array',
        items: { type: 'string' },
        collectionFormat: 'multi',
        required: true,
      },
      { $ref: '#/parameters/Page' },
    ],
    responses: {
      200: { description: 'ok', schema: { type: 'array', items: { $ref: '#/definitions/Client' } } },
      204: { description: 'none' },
      default: { $ref: '#/responses/Error' },
    },
  };
  const schema = { type: 'array', items: { $ref: '#/components/schemas/Client' } };
  expect(converted(operation)).toEqual({
    operationId: 'a',
    parameters: [
      {
        in: 'query',
        name: 'q',
        required: true,
        explode: true,
        schema: { type: 'array', items: { type: 'string' } },
      },
      { $ref: '#/components/parameters/Page' },
    ],
    responses: {
      200: { description: 'ok', content: { 'application/json': { schema }, 'text/json': { schema } } },
      204: { description: 'none' },
      default: { $ref: '#/components/responses/Error' },
    },
  });
});

test('schemas keep members that are named like keywords', () => {
  const schema = {
    discriminator: 'kind',
    required: ['kind'],
    properties: {
      discriminator: { type: 'string' },
      enum: CLIENT,
      kind: { enum: ['$ref'], default: { $ref: 'x' } },
    },
    allOf: [{ $ref: '#/definitions/Client' }],
  };
  expect(fromSwagger(swagger({ definitions: { A: schema } }))['components']).toMatchObject({
    schemas: {
      A: {
        discriminator: { propertyName: 'kind' },
        required: ['kind'],
        properties: {
          discriminator: { type: 'string' },
          enum: NEW_CLIENT,
          kind: { enum: ['$ref'], default: { $ref: 'x' } },
        },
        allOf: [{ $ref: '#/components/schemas/Client' }],
      },
    },
  });
});

test('two descriptions of Swagger give the draft that the same two of OpenAPI 3 give', () => {
  const of = (name: string, version: string): JsonObject =>
    swagger({
      basePath: `/api/${version}`,
      definitions: {
        Client: { type: 'object', properties: { [name]: { type: 'string' }, id: { type: 'integer' } } },
      },
      paths: {
        '/clients': {
          post: {
            operationId: 'create_client',
            parameters: [{ in: 'body', name: 'b', schema: { $ref: '#/definitions/Client' } }],
            responses: { 201: { description: 'ok', schema: { $ref: '#/definitions/Client' } } },
          },
        },
      },
    });
  const plain = (name: string, version: string): JsonObject => {
    const client = { type: 'object', properties: { [name]: { type: 'string' }, id: { type: 'integer' } } };
    const content = { 'application/json': { schema: client } };
    const responses = { 201: { description: 'ok', content } };
    return {
      openapi: '3.0.3',
      info: { title: 'x', version: '1' },
      servers: [{ url: `/api/${version}` }],
      paths: { '/clients': { post: { operationId: 'create_client', requestBody: { content }, responses } } },
    };
  };
  const [v1, v2] = [of('full_name', 'v1'), of('fullName', 'v2')];
  expect([isSwagger(v1), isDescription(v1), isDescription(fromSwagger(v1))]).toEqual([true, false, true]);
  const draft = proposeRuleBook(fromSwagger(v1), fromSwagger(v2));
  expect(draft).toEqual(proposeRuleBook(plain('full_name', 'v1'), plain('fullName', 'v2')));
  expect(draft.changes.length).toBeGreaterThan(0);
});
