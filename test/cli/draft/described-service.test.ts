import { expect, onTestFinished, test } from 'vitest';
import { DescribedService, startDescribedService } from '../../../src/cli/draft/described-service.ts';
import { BodySchemas } from '../../../src/openapi/body-schemas.ts';
import { Components } from '../../../src/openapi/components.ts';

const MEMBER = {
  type: 'object',
  required: ['name'],
  additionalProperties: false,
  properties: { id: { type: 'string', readOnly: true, pattern: '^m_[0-9]+$' }, name: { type: 'string' } },
};

const DESCRIPTION = {
  openapi: '3.1.0',
  info: { title: 'Members', version: '2' },
  paths: {
    '/members': {
      get: {
        parameters: [
          { name: 'page', in: 'query', required: true, schema: { type: 'integer' } },
          { name: 'X-Tenant', in: 'header', required: true, schema: { type: 'string' } },
        ],
        responses: {
          '404': { description: 'none' },
          '200': {
            description: 'members',
            headers: { 'X-Total': { schema: { type: 'integer', example: 7 } } },
            content: {
              'application/json': {
                schema: { type: 'array', items: { $ref: '#/components/schemas/Member' } },
                example: [{ id: 'm_001', name: 'Ann' }],
              },
            },
          },
        },
      },
      post: {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Member' } } },
        },
        responses: {
          '201': {
            description: 'made',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Member' } } },
          },
        },
      },
    },
    '/members/{id}': { delete: { responses: { '204': { description: 'gone' } } } },
    '/loops': {
      get: {
        responses: {
          '200': {
            description: 'a loop',
            content: { 'application/json': { schema: { $ref: '#/components/schemas/Loop' } } },
          },
        },
      },
    },
    '/file': {
      get: { responses: { default: { description: 'text', content: { 'text/csv': {} } } } },
    },
  },
  components: {
    schemas: {
      Member: MEMBER,
      Loop: { type: 'object', properties: { next: { $ref: '#/components/schemas/Loop' } } },
    },
  },
};

function service(): DescribedService {
  return new DescribedService(new Components(DESCRIPTION), '/v2', new BodySchemas(DESCRIPTION));
}

const JSON_TYPE = { 'content-type': 'application/json' };

test.each<readonly [line: string, init: RequestInit, status: number, expected: unknown]>([
  ['GET /v2/members?page=1', { headers: { 'x-tenant': 'a' } }, 200, [{ id: 'm_001', name: 'Ann' }]],
  [
    'GET /v2/members',
    {},
    422,
    { detail: 'V2 requires the query parameter page. V2 requires the header field X-Tenant.' },
  ],
  [
    'POST /v2/members',
    { body: '{"name":"Ann"}', headers: JSON_TYPE },
    201,
    { id: expect.stringMatching(/^m_\d+$/), name: expect.any(String) },
  ],
  [
    'POST /v2/members',
    { body: '{"name":1,"age":3}', headers: JSON_TYPE },
    422,
    {
      detail: expect.stringMatching(/V2 refuses \/name: .*V2 refuses the body: Member "age" is not allowed/),
    },
  ],
  ['POST /v2/members', { headers: JSON_TYPE }, 422, { detail: 'V2 requires a body.' }],
  ['DELETE /v2/members/m_001', {}, 204, undefined],
  ['GET /v2/loops', {}, 200, expect.objectContaining({ next: expect.anything() })],
  ['GET /v2/file', {}, 200, 'text'],
  ['GET /v2/others', {}, 404, { detail: 'V2 does not describe GET /v2/others.' }],
  ['GET /members?page=1', {}, 404, { detail: 'V2 does not describe GET /members.' }],
])('%s, with %j, gets %i', async (line, init, status, expected) => {
  const described = service();
  const { origin, close } = await startDescribedService(() => described);
  onTestFinished(close);
  const [method = '', target = ''] = line.split(' ');
  const response = await fetch(`${origin}${target}`, { ...init, method });
  expect(response.status).toBe(status);
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const body: unknown = text === '' ? undefined : isJson ? JSON.parse(text) : text;
  if (status >= 400) expect(body).toMatchObject(Object(expected));
  else expect(body).toEqual(expected);
  if (line.endsWith('?page=1') && status === 200) expect(response.headers.get('x-total')).toBe('7');
});

test.each([
  ['/v2/members?page=1&status=booked&status=lost', ['V2 does not describe the query parameter status.']],
  ['/v2/members?page[size]=1', []],
  ['/v2/others?status=booked', []],
])('names the query parameters in %s that V2 does not describe', (target, expected) => {
  expect(service().unknownQueries('GET', target)).toEqual(expected);
});

const schemaOf = (schema: object, more: object = {}): object => ({
  name: 'one',
  in: 'query',
  schema,
  ...more,
});
const listOf = (items: object): object => ({ type: 'array', items });
const CODES = { type: 'string', enum: ['open', 'closed'] };

test.each<readonly [parameter: object, target: string, field: string | undefined, isTaken: boolean]>([
  [schemaOf(CODES), '/v2/a/1?one=open', undefined, true],
  [schemaOf(CODES), '/v2/a/1?one=booked', undefined, false],
  [schemaOf(CODES), '/v2/a/1?one=', undefined, true],
  [schemaOf({ type: 'integer', maximum: 9 }), '/v2/a/1?one=9', undefined, true],
  [schemaOf({ type: 'integer', maximum: 9 }), '/v2/a/1?one=10', undefined, false],
  [schemaOf({ type: 'integer' }), '/v2/a/1?one=nine', undefined, false],
  [schemaOf({ type: 'boolean' }), '/v2/a/1?one=true', undefined, true],
  [schemaOf({ type: 'boolean' }), '/v2/a/1?one=yes', undefined, false],
  [schemaOf({ type: 'string', pattern: '^[0-9]+$' }), '/v2/a/1?one=12', undefined, true],
  [schemaOf({ enum: [1, 2] }), '/v2/a/1?one=2', undefined, true],
  [schemaOf({ oneOf: [{ type: 'integer' }, CODES] }), '/v2/a/1?one=7', undefined, true],
  [schemaOf({ type: 'string', format: 'date' }), '/v2/a/1?one=soon', undefined, false],
  [schemaOf(listOf(CODES)), '/v2/a/1?one=open&one=closed', undefined, true],
  [schemaOf(listOf(CODES)), '/v2/a/1?one=open&one=booked', undefined, false],
  [schemaOf(listOf(CODES), { explode: false }), '/v2/a/1?one=open,closed', undefined, true],
  [schemaOf(listOf(CODES), { explode: false }), '/v2/a/1?one=open,booked', undefined, false],
  [
    schemaOf(listOf({ type: 'integer' }), { style: 'pipeDelimited', explode: false }),
    '/v2/a/1?one=1%7C2',
    undefined,
    true,
  ],
  [schemaOf({ type: 'object' }, { style: 'deepObject' }), '/v2/a/1?one=x', undefined, true],
  [schemaOf({ $ref: '#/components/schemas/Code' }), '/v2/a/1?one=booked', undefined, false],
  [schemaOf({ $ref: '#/components/schemas/None' }), '/v2/a/1?one=booked', undefined, true],
  [schemaOf({ type: 'integer' }, { in: 'path' }), '/v2/a/7', undefined, true],
  [schemaOf({ type: 'string', format: 'uuid' }, { in: 'path' }), '/v2/a/7', undefined, false],
  [schemaOf({ type: 'string', enum: ['a b'] }, { in: 'path' }), '/v2/a/a%20b', undefined, true],
  [schemaOf({ type: 'string' }, { in: 'path' }), '/v2/a/%zz', undefined, true],
  [schemaOf({ type: 'integer' }, { in: 'header' }), '/v2/a/1', '3', true],
  [schemaOf({ type: 'integer' }, { in: 'header' }), '/v2/a/1', 'three', false],
  [schemaOf({ type: 'integer' }, { in: 'header' }), '/v2/a/1', undefined, true],
])('a parameter %j of %s, as a field %s, is taken: %s', (parameter, target, field, isTaken) => {
  const description = {
    openapi: '3.1.0',
    paths: { '/a/{one}': { get: { parameters: [parameter], responses: {} } } },
    components: { schemas: { Code: CODES } },
  };
  const described = new DescribedService(new Components(description), '/v2', new BodySchemas(description));
  const faults = described.faultsOf({ method: 'GET', target, body: '', field: () => field });
  const { in: place } = Object(parameter);
  const words = place === 'header' ? 'header field' : `${place} parameter`;
  expect(faults).toEqual(isTaken ? [] : [expect.stringMatching(`^V2 refuses the ${words} one: [A-Z].*\\.$`)]);
});
