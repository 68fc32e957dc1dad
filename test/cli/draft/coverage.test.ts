import { expect, test } from 'vitest';
import { coverageOf, printCoverage } from '../../../src/cli/draft/coverage.ts';
import { isMatch, sampleOf } from '../../../src/cli/draft/samples.ts';
import { Components } from '../../../src/openapi/components.ts';
import { shapeOf } from '../../../src/openapi/shape.ts';
import type { TransformDirection } from '../../../src/rules/rule-book.ts';
import { bookIn } from '../../rules/reading.ts';

type Json = Record<string, unknown>;

const text = { type: 'string' };
const integer = { type: 'integer' };

/** A description of one operation; `edit` makes the difference of one version. */
function description(version: string, operation: Json, more: Json = {}): Json {
  return {
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: {
      '/things': { post: { operationId: 'make', responses: { 201: { description: 'ok' } }, ...operation } },
    },
    ...more,
  };
}

const objectOf = (properties: Json, more: Json = {}): Json => ({ type: 'object', properties, ...more });
const bodyOf = (schema: Json, type = 'application/json'): Json => ({
  requestBody: { content: { [type]: { schema } } },
});
const answerOf = (schema: Json, more: Json = {}, status = '201'): Json => ({
  responses: { [status]: { description: 'ok', content: { 'application/json': { schema } }, ...more } },
});
const parameter = (place: string, more: Json, name = 'filter'): Json => ({
  parameters: [{ name, in: place, schema: text, ...more }],
});
const security = (scheme: Json): Json => ({
  components: { securitySchemes: { key: scheme } },
  security: [{ key: [] }],
});
const contentParameter = (schema: Json): Json => ({
  parameters: [{ name: 'filter', in: 'query', content: { 'application/json': { schema } } }],
});
const failing = (status: string, schema: Json): Json => ({
  responses: {
    201: { description: 'ok' },
    [status]: { description: 'no', content: { 'application/json': { schema } } },
  },
});
const FORM = 'application/x-www-form-urlencoded';

async function gapsBetween(v1: Json, v2: Json): Promise<readonly string[]> {
  const book = "resource: ''\noperations: { make: POST /things }\nchanges: []\n";
  return coverageOf({ ruleBook: await bookIn(book), text: book, v1, v2 }).gaps.map((gap) => gap.text);
}

/** The schemas of two kinds, and what chooses one of them. */
const KINDS: Json = {
  components: {
    schemas: {
      a: objectOf({ kind: text, sort: text, x: text }),
      b: objectOf({ kind: text, sort: text, x: text }),
    },
  },
};
const kinds = (propertyName: string, ...names: readonly string[]): Json => ({
  oneOf: ['a', 'b'].map((name) => ({ $ref: `#/components/schemas/${name}` })),
  discriminator: {
    propertyName,
    mapping: Object.fromEntries(names.map((name) => [name, `#/components/schemas/${name}`])),
  },
});
const encoded = (type: string, encoding: Json): Json => ({
  requestBody: {
    content: {
      [type]: { schema: objectOf({ a: { type: 'array', items: text } }), encoding: { a: encoding } },
    },
  },
});
const twoKeys = (required: readonly Json[]): Json => ({
  components: {
    securitySchemes: {
      key: { type: 'apiKey', in: 'header', name: 'X-Key' },
      app: { type: 'apiKey', in: 'header', name: 'X-App' },
    },
  },
  security: required,
});
const tokensAt = (tokenUrl: string): Json => ({
  type: 'oauth2',
  flows: { clientCredentials: { tokenUrl, scopes: {} } },
});

type Case = readonly [what: string, v1: Json, v2: Json, gap: string, one?: Json, other?: Json];

const listed = (schema: Json): Json => parameter('query', { schema: { type: 'array', items: schema } });
const objectIn = (schema: Json, more: Json = {}): Json => parameter('query', { schema, ...more });
const inMedia = (type: string, schema: Json): Json => ({
  responses: { 201: { description: 'ok', content: { [type]: { schema } } } },
});
const limited = (headers: Json): Json => ({
  responses: { 201: { description: 'ok' }, 429: { description: 'no', headers } },
});
const twoTypes = (...types: readonly string[]): Json => ({
  responses: {
    201: { description: 'ok', content: Object.fromEntries(types.map((type) => [type, { schema: text }])) },
  },
});
const positive = { type: 'number', minimum: 0 };

/** Differences of one keyword or place that are easily overlooked. */
const UNSEEN: readonly (readonly [what: string, v1: Json, v2: Json, gap: string])[] = [
  [
    'whether a limit is among the values',
    bodyOf(objectOf({ a: positive })),
    bodyOf(objectOf({ a: { type: 'number', exclusiveMinimum: 0 } })),
    '/a: V2 accepts more than 0, and V1 at least 0',
  ],
  [
    'whether a limit is among the values, as OpenAPI 3.0 writes it',
    bodyOf(objectOf({ a: positive })),
    bodyOf(objectOf({ a: { ...positive, exclusiveMinimum: true } })),
    '/a: V2 accepts more than 0, and V1 at least 0',
  ],
  [
    'values of a list in the query',
    listed({ enum: ['x', 'y'] }),
    listed({ enum: ['x'] }),
    'V2 accepts "x" in filter and gets "y"',
  ],
  [
    'members of an object in the query',
    objectIn(objectOf({ a: text }), { style: 'deepObject', explode: true }),
    objectIn(objectOf({ b: text }), { style: 'deepObject', explode: true }),
    'V2 does not describe the query parameter filter[a]',
  ],
  [
    'members of an object that are parameters of the query',
    objectIn(objectOf({ a: text })),
    objectIn(objectOf({ b: text })),
    'V2 does not describe the query parameter a',
  ],
  [
    'a media type of responses among others',
    twoTypes('application/json', 'text/csv'),
    twoTypes('application/json'),
    'V1 also responds with text/csv, and V2 does not',
  ],
  [
    'the type of a member that had any',
    bodyOf(objectOf({ a: {} })),
    bodyOf(objectOf({ a: text })),
    '/a: V1 accepted any type, and V2 accepts string',
  ],
  [
    'the places in a list',
    answerOf(objectOf({ a: { type: 'array', prefixItems: [text, integer] } })),
    answerOf(objectOf({ a: { type: 'array', prefixItems: [integer, text] } })),
    '/a: V1 limits it by prefixItems',
  ],
  [
    'a file of a form',
    bodyOf(objectOf({ a: { ...text, format: 'binary' } }), 'multipart/form-data'),
    bodyOf(objectOf({ a: text }), 'multipart/form-data'),
    '/a: V1 accepted a file, and V2 reads a text',
  ],
  [
    'a header field of an error',
    limited({ 'Retry-After': { schema: integer } }),
    limited({}),
    "V1's error 429 has the header field retry-after, which V2's lacks",
  ],
  [
    'the server of an operation',
    {},
    { servers: [{ url: 'https://files.example/api/v2' }] },
    'V2 serves it at https://files.example',
  ],
  [
    'responses that are one JSON text per line',
    inMedia('application/x-ndjson', objectOf({ a: text })),
    inMedia('application/x-ndjson', objectOf({ b: text })),
    "V1's response 201 has /a, which V2's never has",
  ],
  [
    'responses that are events',
    inMedia('text/event-stream', objectOf({ a: text })),
    inMedia('text/event-stream', objectOf({ b: text })),
    "V1's response 201 has /a, which V2's never has",
  ],
  [
    'requests that are one JSON text per line',
    bodyOf(objectOf({ a: text }), 'application/x-ndjson'),
    bodyOf(objectOf({ b: text }), 'application/x-ndjson'),
    'V2 does not describe /a',
  ],
  [
    'responses in XML',
    inMedia('application/xml', objectOf({ a: text })),
    inMedia('application/xml', objectOf({ b: text })),
    'V1 responds with application/xml, which rules do not change: its members were not compared',
  ],
  [
    'responses that are objects without further members',
    answerOf(objectOf({ a: text }, { additionalProperties: false })),
    answerOf(objectOf({ a: text, b: text })),
    "V1's response 201 has no further members in /, and clients get b",
  ],
];

const ROWS: readonly Case[] = [
  [
    'a member of a form',
    bodyOf(objectOf({ old: text }), FORM),
    bodyOf(objectOf({ young: text }), FORM),
    '/old',
  ],
  [
    'a member of a multipart body',
    bodyOf(objectOf({ old: text }), 'multipart/form-data'),
    bodyOf(objectOf({ young: text }), 'multipart/form-data'),
    '/old',
  ],
  [
    'a member in an object of a form',
    bodyOf(objectOf({ a: objectOf({ old: text }) }), FORM),
    bodyOf(objectOf({ a: objectOf({ young: text }) }), FORM),
    '/a/old',
  ],
  [
    'an optional member of a response',
    answerOf(objectOf({ a: text, b: text })),
    answerOf(objectOf({ a: text })),
    '/b',
  ],
  [
    'an envelope',
    answerOf(objectOf({ data: objectOf({ a: text }) })),
    answerOf(objectOf({ a: text })),
    '/data',
  ],
  [
    'a type of members of any name',
    bodyOf({ type: 'object', additionalProperties: text }),
    bodyOf({ type: 'object', additionalProperties: integer }),
    'members of any name',
  ],
  [
    'a name in members of any name',
    answerOf({ type: 'object', additionalProperties: objectOf({ old: text }) }),
    answerOf({ type: 'object', additionalProperties: objectOf({ young: text }) }),
    'old',
  ],
  [
    'the case of a value',
    bodyOf(objectOf({ a: { enum: ['one', 'two'] } })),
    bodyOf(objectOf({ a: { enum: ['one', 'TWO'] } })),
    'two',
  ],
  [
    'the case of a value in responses',
    answerOf(objectOf({ a: { enum: ['one', 'two'] } })),
    answerOf(objectOf({ a: { enum: ['one', 'TWO'] } })),
    'TWO',
  ],
  [
    'the case of a value of a query parameter',
    parameter('query', { schema: { enum: ['a', 'b'] } }),
    parameter('query', { schema: { enum: ['a', 'B'] } }),
    '"b"',
  ],
  [
    'explode',
    parameter('query', { schema: { type: 'array', items: text } }),
    parameter('query', { schema: { type: 'array', items: text }, explode: false }),
    'explode',
  ],
  ['a lost filter', parameter('query', {}), {}, 'query parameter filter'],
  ['a lost header field', parameter('header', {}, 'X-Filter'), {}, 'header field X-Filter'],
  ['a lost cookie', parameter('cookie', {}), {}, 'cookie filter'],
  [
    'the default of a parameter',
    parameter('query', { schema: { ...integer, default: 20 } }),
    parameter('query', { schema: { ...integer, default: 50 } }),
    '50',
  ],
  [
    'a header field of responses',
    { responses: { 201: { description: 'ok', headers: { 'X-Total': { schema: integer } } } } },
    {},
    'X-Total',
  ],
  [
    'the default of a member',
    bodyOf(objectOf({ a: { ...text, default: 'x' } })),
    bodyOf(objectOf({ a: { ...text, default: 'y' } })),
    '"y"',
  ],
  [
    'maxLength',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: { ...text, maxLength: 5 } })),
    'at most 5',
  ],
  [
    'minimum',
    bodyOf(objectOf({ a: integer })),
    bodyOf(objectOf({ a: { ...integer, minimum: 1 } })),
    'at least 1',
  ],
  [
    'maxItems',
    bodyOf(objectOf({ a: { type: 'array', items: text, maxItems: 9 } })),
    bodyOf(objectOf({ a: { type: 'array', items: text, maxItems: 5 } })),
    'at most 5',
  ],
  ['null', bodyOf(objectOf({ a: { type: ['string', 'null'] } })), bodyOf(objectOf({ a: text })), 'null'],
  [
    'null in responses',
    answerOf(objectOf({ a: text })),
    answerOf(objectOf({ a: { type: ['string', 'null'] } })),
    'null',
  ],
  ['a status', {}, { responses: { 202: { description: 'later' } } }, '202'],
  [
    'the media type of a request',
    bodyOf(objectOf({ a: text }), 'application/json'),
    bodyOf(objectOf({ a: text }), FORM),
    'application/json',
  ],
  [
    'the media type of a response',
    answerOf(objectOf({ a: text })),
    { responses: { 201: { description: 'ok', content: { 'text/csv': {} } } } },
    'text/csv',
  ],
  [
    'a required member without a description',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: text }, { required: ['b'] })),
    '/b',
  ],
  [
    'the place of a key',
    {},
    {},
    'x-key',
    security({ type: 'apiKey', in: 'query', name: 'key' }),
    security({ type: 'apiKey', in: 'header', name: 'X-Key' }),
  ],
  ['a type', bodyOf(objectOf({ a: integer })), bodyOf(objectOf({ a: text })), '/a'],
  [
    'the form of a date',
    bodyOf(objectOf({ a: { ...text, format: 'date' } })),
    bodyOf(objectOf({ a: { ...text, format: 'date-time' } })),
    'the format date-time',
  ],
  [
    'the form of a date in responses',
    answerOf(objectOf({ a: { ...text, format: 'date' } })),
    answerOf(objectOf({ a: { ...text, format: 'date-time' } })),
    'the format date',
  ],
  [
    'multipleOf',
    bodyOf(objectOf({ a: integer })),
    bodyOf(objectOf({ a: { ...integer, multipleOf: 5 } })),
    'multiples of 5',
  ],
  [
    'minProperties',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: text }, { minProperties: 1 })),
    'at least 1 member, and V1 any',
  ],
  [
    'a limit of a response',
    answerOf(objectOf({ a: { ...text, maxLength: 5 } })),
    answerOf(objectOf({ a: { ...text, maxLength: 9 } })),
    'V2 at most 9',
  ],
  [
    'whether a member is required',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: text }, { required: ['a'] })),
    '/a, which V1 does not',
  ],
  [
    'whether a member is always answered',
    answerOf(objectOf({ a: text }, { required: ['a'] })),
    answerOf(objectOf({ a: text })),
    'may lack it',
  ],
  [
    'whether a parameter is required',
    parameter('query', {}),
    parameter('query', { required: true }),
    'filter, which V1 does not',
  ],
  [
    'whether a body is required',
    bodyOf(objectOf({ a: text })),
    {
      requestBody: { required: true, content: { 'application/json': { schema: objectOf({ a: text }) } } },
    },
    'without a body',
  ],
  [
    'the type of a query parameter',
    parameter('query', {}),
    parameter('query', { schema: integer }),
    'V2 accepts integer in filter',
  ],
  [
    'the pattern of a query parameter',
    parameter('query', {}),
    parameter('query', { schema: { ...text, pattern: '^a$' } }),
    'the pattern ^a$',
  ],
  [
    'the values of a cookie',
    parameter('cookie', { schema: { enum: ['a', 'b'] } }),
    parameter('cookie', { schema: { enum: ['a'] } }),
    '"b"',
  ],
  ['a cookie', {}, parameter('cookie', { required: true }), 'the cookie filter'],
  ['a key', {}, {}, 'x-key', {}, security({ type: 'apiKey', in: 'header', name: 'X-Key' })],
  [
    'the scheme of a key',
    {},
    {},
    'V1 accepts basic in Authorization, and V2 bearer',
    security({ type: 'http', scheme: 'basic' }),
    security({ type: 'http', scheme: 'bearer' }),
  ],
  [
    'a scope',
    {},
    {},
    'the scope write',
    { ...security({ type: 'oauth2' }), security: [{ key: ['read'] }] },
    { ...security({ type: 'oauth2' }), security: [{ key: ['read', 'write'] }] },
  ],
  [
    'the form of errors',
    failing('422', objectOf({ code: text })),
    failing('422', objectOf({ error: objectOf({ code: text }) })),
    "V1's error 422 has /code",
  ],
  ['the status of errors', failing('422', objectOf({})), failing('400', objectOf({})), 'V1 returns 422'],
  [
    'the type of a header field of responses',
    { responses: { 201: { description: 'ok', headers: { 'X-Total': { schema: integer } } } } },
    { responses: { 201: { description: 'ok', headers: { 'X-Total': { schema: text } } } } },
    'x-total',
  ],
  [
    'whether members of any name may be there',
    bodyOf(objectOf({ a: text }, { additionalProperties: true })),
    bodyOf(objectOf({ a: text }, { additionalProperties: false })),
    'the body: V1 has members of any name',
  ],
  [
    'whether members of any name are answered',
    answerOf(objectOf({ a: objectOf({}, { additionalProperties: true }) })),
    answerOf(objectOf({ a: objectOf({}, { additionalProperties: false }) })),
    '/a: V1 has members of any name',
  ],
  [
    'members of any name that have a type in V1',
    bodyOf(objectOf({}, { additionalProperties: text })),
    bodyOf(objectOf({}, { additionalProperties: false })),
    'the body: V1 has members of any name',
  ],
  [
    'the media type of errors',
    failing('422', objectOf({ a: text })),
    {
      responses: {
        201: { description: 'ok' },
        422: {
          description: 'no',
          content: { 'application/problem+json': { schema: objectOf({ a: text }) } },
        },
      },
    },
    "V1's error 422 is application/json, and clients get application/problem+json",
  ],
  [
    'the media type of any error',
    failing('default', objectOf({ a: text })),
    {
      responses: {
        201: { description: 'ok' },
        default: {
          description: 'no',
          content: { 'application/problem+json': { schema: objectOf({ a: text }) } },
        },
      },
    },
    "V1's error default is application/json",
  ],
  [
    'the type of JSON in a response',
    answerOf(objectOf({ a: text })),
    {
      responses: {
        201: { description: 'ok', content: { 'application/hal+json': { schema: objectOf({ a: text }) } } },
      },
    },
    'V1 responds with application/json, and V2 with application/hal+json',
  ],
  [
    'the type of JSON in a request',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: text }), 'application/merge-patch+json'),
    'V1 accepts a body of application/json, and V2 does not',
  ],
  [
    'a member of a second success',
    {
      responses: {
        ...(answerOf(objectOf({ a: text }))['responses'] as Json),
        ...(answerOf(objectOf({ b: text }), {}, '202')['responses'] as Json),
      },
    },
    {
      responses: {
        ...(answerOf(objectOf({ a: text }))['responses'] as Json),
        ...(answerOf(objectOf({ c: text }), {}, '202')['responses'] as Json),
      },
    },
    "V1's response 202 has /b",
  ],
  [
    'a second success that never comes',
    { responses: { 201: { description: 'ok' }, 202: { description: 'later' } } },
    { responses: { 201: { description: 'ok' } } },
    'V1 returns 202 as well, and V2 only 201',
  ],
  [
    'a second success that is new',
    { responses: { 201: { description: 'ok' } } },
    { responses: { 201: { description: 'ok' }, 202: { description: 'later' } } },
    'V2 returns 202, and V1 201',
  ],
  [
    'a member that is read-only',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: { ...text, readOnly: true } })),
    '/a: V1 accepts it, and V2 only returns it',
  ],
  [
    'a member that is required and was read-only',
    bodyOf(objectOf({ a: { ...text, readOnly: true } }, { required: ['a'] })),
    bodyOf(objectOf({ a: text }, { required: ['a'] })),
    'V2 requires /a, which is never set',
  ],
  [
    'a member that is write-only',
    answerOf(objectOf({ a: text })),
    answerOf(objectOf({ a: { ...text, writeOnly: true } })),
    '/a: V1 returns it, and V2 only takes it',
  ],
  [
    'a member in an object that is read-only',
    bodyOf(objectOf({ o: objectOf({ a: text }) })),
    bodyOf(objectOf({ o: objectOf({ a: { readOnly: true, allOf: [text] } }) })),
    '/o/a: V1 accepts it, and V2 only returns it',
  ],
  [
    'a parameter that becomes JSON',
    parameter('query', { explode: false, schema: objectOf({ a: text }) }),
    contentParameter(objectOf({ a: text })),
    'the query parameter filter is plain text in V1, and application/json in V2',
  ],
  [
    'a member of a parameter in JSON',
    contentParameter(objectOf({ a: text })),
    contentParameter(objectOf({ b: text }, { additionalProperties: false })),
    'filter/a, which clients send',
  ],
  [
    'a required member of a parameter in JSON',
    contentParameter(objectOf({ a: text })),
    contentParameter(objectOf({ a: text, b: text }, { required: ['b'] })),
    'V2 requires filter/b',
  ],
  [
    'a type in a parameter in JSON',
    contentParameter(objectOf({ a: text })),
    contentParameter(objectOf({ a: integer })),
    'V2 accepts integer in filter/a',
  ],
  [
    'a limit in a parameter in JSON',
    contentParameter(objectOf({ a: text })),
    contentParameter(objectOf({ a: { ...text, maxLength: 5 } })),
    'at most 5 characters',
  ],
  [
    'a format of a text that V2 takes',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: { ...text, format: 'uuid' } })),
    'V2 accepts the format uuid, and V1 any text',
  ],
  [
    'a format of a text that V2 answers',
    answerOf(objectOf({ a: { ...text, format: 'uuid' } })),
    answerOf(objectOf({ a: text })),
    'V1 returns the format uuid, and V2 any text',
  ],
  [
    'the width of a number that V2 takes',
    bodyOf(objectOf({ a: { ...integer, format: 'int64' } })),
    bodyOf(objectOf({ a: { ...integer, format: 'int32' } })),
    'V1 accepted 64 bits',
  ],
  [
    'the width of a number that V2 answers',
    answerOf(objectOf({ a: { ...integer, format: 'int32' } })),
    answerOf(objectOf({ a: { ...integer, format: 'int64' } })),
    'V2 64',
  ],
  [
    'one of several types that V2 takes',
    bodyOf(objectOf({ a: { type: ['string', 'integer'] } })),
    bodyOf(objectOf({ a: text })),
    '/a: V1 accepted integer, and V2 does not',
  ],
  [
    'a further type that V2 answers',
    answerOf(objectOf({ a: text })),
    answerOf(objectOf({ a: { type: ['string', 'integer'] } })),
    '/a: V2 may return integer, and V1 never did',
  ],
  [
    'a member that V2 requires in an optional object',
    bodyOf(objectOf({ a: objectOf({ b: text }) })),
    bodyOf(objectOf({ a: objectOf({ b: text }, { required: ['b'] }) })),
    'V2 requires /a/b, which V1 does not',
  ],
  [
    'a member that V2 may omit in an optional object',
    answerOf(objectOf({ a: objectOf({ b: text }, { required: ['b'] }) })),
    answerOf(objectOf({ a: objectOf({ b: text }) })),
    "V1's response always has /a/b, and V2's may lack it",
  ],
  ...(['not', 'propertyNames', 'dependentRequired', 'contentEncoding'] as const).flatMap(
    (word): readonly Case[] => {
      const limits = { not: { enum: ['x'] }, propertyNames: { pattern: '^x' }, contentEncoding: 'base64' };
      const limit = { ...limits, dependentRequired: { a: ['b'] } }[word];
      const [free, limited] = [objectOf({ a: {} }), objectOf({ a: { [word]: limit } })];
      return [
        [`${word} in what V2 takes`, bodyOf(free), bodyOf(limited), `V2 limits it by ${word}`],
        [`${word} in what V2 answers`, answerOf(limited), answerOf(free), `V1 limits it by ${word}`],
      ];
    },
  ),
  [
    'a schema that a discriminator chooses, of those that V2 takes',
    bodyOf({ ...kinds('kind', 'a', 'b') }),
    bodyOf({ ...kinds('kind', 'a') }),
    'V1 accepted "b" in kind, and V2 does not',
    KINDS,
    KINDS,
  ],
  [
    'a schema that a discriminator chooses, of those that V2 answers',
    answerOf({ ...kinds('kind', 'a') }),
    answerOf({ ...kinds('kind', 'a', 'b') }),
    'V2 returns "b" in kind, and V1 never did',
    KINDS,
    KINDS,
  ],
  [
    'the member that a discriminator names',
    bodyOf({ ...kinds('kind', 'a') }),
    bodyOf({ ...kinds('sort', 'a') }),
    'kind names the schema in V1, and sort in V2',
    KINDS,
    KINDS,
  ],
  [
    'a default that V2 does not have any more',
    parameter('query', { schema: { ...text, default: 'a' } }),
    parameter('query', {}),
    'without it V1 assumed "a", and V2 assumes any value',
  ],
  [
    'a default that V2 has besides',
    parameter('query', {}),
    parameter('query', { schema: { ...text, default: 'a' } }),
    'without it V1 assumed any value, and V2 assumes "a"',
  ],
  [
    'the format of a parameter',
    parameter('query', { schema: { ...text, format: 'date' } }),
    parameter('query', { schema: { ...text, format: 'date-time' } }),
    'V2 accepts the format date-time in filter',
  ],
  [
    'a parameter without a value',
    parameter('query', { allowEmptyValue: true }),
    parameter('query', {}),
    'without a value',
  ],
  [
    'elements that V2 answers twice',
    answerOf(objectOf({ a: { type: 'array', items: text, uniqueItems: true } })),
    answerOf(objectOf({ a: { type: 'array', items: text } })),
    'V1 returns no element twice',
  ],
  [
    'the step of a number that V2 answers',
    answerOf(objectOf({ a: { type: 'number', multipleOf: 0.5 } })),
    answerOf(objectOf({ a: { type: 'number', multipleOf: 0.25 } })),
    'V1 returns multiples of 0.5, and V2 0.25',
  ],
  [
    'a header field that a response may lack',
    answerOf(objectOf({}), { headers: { 'X-A': { required: true, schema: text } } }),
    answerOf(objectOf({}), { headers: { 'X-A': { schema: text } } }),
    "always has the header field x-a, and V2's may lack it",
  ],
  [
    'values of a header field of a response',
    answerOf(objectOf({}), { headers: { 'X-A': { schema: { enum: ['x'] } } } }),
    answerOf(objectOf({}), { headers: { 'X-A': { schema: { enum: ['x', 'y'] } } } }),
    'the header field x-a: V2 returns "y"',
  ],
  [
    'the format of a header field of a response',
    answerOf(objectOf({}), { headers: { 'X-A': { schema: { ...text, format: 'date' } } } }),
    answerOf(objectOf({}), { headers: { 'X-A': { schema: { ...text, format: 'date-time' } } } }),
    'V1 returns the format date, and V2 date-time',
  ],
  [
    'the pattern of a member of a form',
    bodyOf(objectOf({ a: text }), FORM),
    bodyOf(objectOf({ a: { ...text, pattern: '^b' } }), FORM),
    'V2 accepts the pattern ^b in /a',
  ],
  [
    'values of a member of a form',
    bodyOf(objectOf({ a: { enum: ['x', 'y'] } }), FORM),
    bodyOf(objectOf({ a: { enum: ['x'] } }), FORM),
    'V2 accepts "x" in /a and gets "y"',
  ],
  [
    'how a form writes a list',
    encoded(FORM, { explode: true }),
    encoded(FORM, { explode: false }),
    'lists in a of a form are written in another way',
  ],
  [
    'the media type of a part of a form',
    encoded('multipart/form-data', { contentType: 'image/png, image/jpeg' }),
    encoded('multipart/form-data', { contentType: 'image/png' }),
    'V1 accepts image/jpeg in a of a form',
  ],
  [
    'the type of a member of an error',
    failing('400', objectOf({ code: text })),
    failing('400', objectOf({ code: integer })),
    "V1's error 400 has string in /code, and clients get a number",
  ],
  [
    'the values of a member of an error',
    failing('400', objectOf({ code: { enum: ['x'] } })),
    failing('400', objectOf({ code: { enum: ['x', 'y'] } })),
    `V1's error 400 has "x" in /code, and clients get "y"`,
  ],
  [
    'a key in a cookie',
    {},
    {},
    'V2 expects the key in session and gets none',
    security({ type: 'apiKey', in: 'cookie', name: 'sid' }),
    security({ type: 'apiKey', in: 'cookie', name: 'session' }),
  ],
  [
    'a second key that V2 wants as well',
    {},
    {},
    'V2 expects the key in x-key and x-app and gets only x-key',
    twoKeys([{ key: [] }]),
    twoKeys([{ key: [], app: [] }]),
  ],
  ...UNSEEN,
  ['a client certificate', {}, {}, 'V2 requires a client certificate', {}, security({ type: 'mutualTLS' })],
  [
    'where tokens are fetched',
    {},
    {},
    "V1's clients fetch tokens at https://a.example/t, and V2 describes https://b.example/t",
    security(tokensAt('https://a.example/t')),
    security(tokensAt('https://b.example/t')),
  ],
];

/** Differences of V2 that no V1 client notices. */
const HARMLESS: readonly (readonly [what: string, v1: Json, v2: Json, one?: Json, other?: Json])[] = [
  [
    'V2’s response has a narrower type',
    answerOf(objectOf({ a: text, b: integer, c: { enum: ['x', 'y'] }, d: { type: ['string', 'null'] } })),
    answerOf(
      objectOf(
        {
          a: { ...text, format: 'uuid', pattern: '^0', maxLength: 40 },
          b: { ...integer, minimum: 0, multipleOf: 2 },
          c: { enum: ['x'] },
          d: text,
          e: text,
        },
        { required: ['a'] },
      ),
    ),
  ],
  [
    'V2 takes more',
    bodyOf(
      objectOf(
        { a: { ...text, format: 'uuid', maxLength: 40 }, b: { ...integer, format: 'int32', minimum: 1 } },
        { required: ['a', 'b'] },
      ),
    ),
    bodyOf(
      objectOf({
        a: { type: ['string', 'null'] },
        b: { type: 'number' },
        c: text,
        d: objectOf({ e: text }, { required: ['e'] }),
      }),
    ),
  ],
  [
    'V2 takes other types as well',
    bodyOf(objectOf({ a: text })),
    bodyOf(objectOf({ a: { type: ['string', 'integer'] } })),
  ],
  [
    'V2 has more parameters, fields, values and media types',
    { ...parameter('query', { schema: { enum: ['x'] } }), ...answerOf(objectOf({ a: text })) },
    {
      parameters: [
        { name: 'filter', in: 'query', schema: { enum: ['x', 'y'] } },
        { name: 'more', in: 'query', schema: text },
        { name: 'X-More', in: 'header', schema: text },
        { name: 'more', in: 'cookie', schema: text },
      ],
      ...answerOf(objectOf({ a: text }), { headers: { 'X-New': { required: true, schema: text } } }),
    },
  ],
  [
    'V2 requires a member as V1 did, and calls it deprecated',
    { ...parameter('query', { required: true }), ...bodyOf(objectOf({ a: text }, { required: ['a'] })) },
    {
      deprecated: true,
      ...parameter('query', { deprecated: true }),
      ...bodyOf(objectOf({ a: { ...text, deprecated: true } })),
    },
  ],
  [
    'a discriminator chooses more of what V2 takes',
    bodyOf({ ...kinds('kind', 'a') }),
    bodyOf({ ...kinds('kind', 'a', 'b') }),
    KINDS,
    KINDS,
  ],
  ['V2 takes another key as well', {}, {}, twoKeys([{ key: [] }]), twoKeys([{ key: [] }, { app: [] }])],
  [
    'V2 wants one of two keys that V1 wanted',
    {},
    {},
    twoKeys([{ key: [], app: [] }]),
    twoKeys([{ key: [] }]),
  ],
  ['V2 wants no key', {}, {}, security({ type: 'http', scheme: 'bearer' }), {}],
  [
    'V2 has fewer errors, and one more',
    failing('400', objectOf({ code: { enum: ['x', 'y'] } })),
    {
      responses: {
        201: { description: 'ok' },
        400: {
          description: 'no',
          content: { 'application/json': { schema: objectOf({ code: { enum: ['x'] } }) } },
        },
        409: { description: 'no', content: { 'application/json': { schema: objectOf({ code: text }) } } },
      },
    },
  ],
];

const CASES = ROWS.map(
  ([what, old, young, gap, one = {}, other = {}]) => [what, old, young, gap, one, other] as const,
);

test.each(CASES)('check finds %s that differs', async (_, old, young, gap, one, other) => {
  const gaps = await gapsBetween(description('v1', old, one), description('v2', young, other));
  expect(gaps.filter((found) => found.includes(gap))).not.toEqual([]);
});

test.each(CASES)('check finds nothing if V2 has %s as V1 does', async (_, old, _young, _gap, one) => {
  expect(await gapsBetween(description('v1', old, one), description('v2', old, one))).toEqual([]);
});

test.each<[what: string, v1: Json, v2: Json, gap: string]>([
  ['values', { enum: ['x', 'y'] }, { enum: ['x'] }, 'V2 accepts "x" in id and gets "y"'],
  ['the type', text, integer, 'V2 accepts integer in id and gets "text"'],
  ['the format', integer, { ...text, format: 'uuid' }, 'V2 accepts the format uuid in id and gets "1"'],
])('check finds what V2 does not accept in a path: %s', async (_, v1, v2, gap) => {
  const book = "operations: { read: 'GET /things/{id}' }\nchanges: []\n";
  const of = (schema: Json, path = '/things/{id}'): Json => ({
    openapi: '3.1.0',
    paths: {
      [path]: {
        parameters: [{ name: 'id', in: 'path', required: true, schema }],
        get: { responses: { 200: { description: 'ok' } } },
      },
    },
  });
  const gapsIn = async (young: Json, path?: string): Promise<readonly string[]> =>
    coverageOf({ ruleBook: await bookIn(book), text: book, v1: of(v1, path), v2: of(young, path) }).gaps.map(
      (found) => found.text,
    );
  for (const path of ['/things/{id}', '/things/{id}/']) {
    expect(await gapsIn(v2, path)).toEqual([gap]);
    expect(await gapsIn(v1, path)).toEqual([]);
  }
});

test('check finds a slash at the end of a path that V2 does not describe', async () => {
  const of = (path: string): Json => ({
    openapi: '3.1.0',
    paths: { [path]: { get: { responses: { 200: { description: 'ok' } } } } },
  });
  const gapsIn = async (young: string, list = 'GET /things'): Promise<readonly string[]> => {
    const book = `operations: { list: ${list} }\nchanges: []\n`;
    return coverageOf({
      ruleBook: await bookIn(book),
      text: book,
      v1: of('/things/'),
      v2: of(young),
    }).gaps.map((found) => found.text);
  };
  expect(await gapsIn('/things')).toEqual(['V2 describes /things, and gets /api/v2/things/']);
  expect(await gapsIn('/things/')).toEqual([]);
  const moved = '{ match: GET /things, to: GET /all }';
  expect(await gapsIn('/all', moved)).toEqual(['V2 describes /all, and gets /api/v2/all/']);
  expect(await gapsIn('/all/', moved)).toEqual([]);
});

test('a gap in an object that many members use is found in each of them', async () => {
  const amount = objectOf({ currency: text, value: integer }, { required: ['currency', 'value'] });
  const all = (name: string): Json =>
    objectOf(
      Object.fromEntries(
        ['a', 'b', 'c', 'd', name].map((one) => [one, { $ref: '#/components/schemas/Amount' }]),
      ),
    );
  const of = (version: string, name: string): Json =>
    description(
      version,
      { ...bodyOf(all(name)), ...answerOf(all(name)) },
      { components: { schemas: { Amount: amount } } },
    );
  expect(await gapsBetween(of('v1', 'e'), of('v2', 'e'))).toEqual([]);
  expect(await gapsBetween(of('v1', 'e'), of('v2', 'f'))).not.toEqual([]);
});

test.each([
  ['beside the key', 'owner', {}],
  ['in place of the key', 'owner_id', {}],
  ['elsewhere', 'user', { owner: objectOf({ name: text }) }],
])('a member that a lookup fills %s is checked against V2’s description', async (_, as, left) => {
  const list = (members: Json): Json => answerOf({ type: 'array', items: objectOf(members) }, {}, '200');
  const old = { ...left, [as]: objectOf({ name: text }) };
  const of = (version: string, get: Json): Json => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: { '/deals': { get } },
  });
  const book = `operations: { deals: GET /deals }
changes:
  - id: owner
    summary: s
    on: [deals]
    response: [{ lookup: '*.owner_id', get: '/users/{owner_id}', take: [name], as: ${as} }]
`;
  const { gaps } = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: of('v1', list(old)),
    v2: of('v2', list({ owner_id: integer })),
  });
  expect(gaps.map(({ text: gap }) => gap)).toEqual(
    Object.keys(left).map((name) => `V1's response 200 has /*/${name}, which V2's never has`),
  );
});

test('an envelope that only V1 has is no gap once a rule wraps the body, also with looked-up members in it', async () => {
  const of = (version: string, schema: Json): Json => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: { '/deals/{id}': { get: answerOf(schema, {}, '200') } },
  });
  const rules = ["{ lookup: owner_id, get: '/users/{owner_id}', take: [name], as: owner }", '{ wrap: data }'];
  const gapsOf = async (response: readonly string[]): Promise<readonly string[]> => {
    const book = `resource: ""
operations: { deal: "GET /deals/{id}" }
changes: [{ id: c, summary: s, on: [deal], response: [${response.join(', ')}] }]
`;
    const { gaps } = coverageOf({
      ruleBook: await bookIn(book),
      text: book,
      v1: of('v1', objectOf({ data: objectOf({ size: text, owner: objectOf({ name: text }) }) })),
      v2: of('v2', objectOf({ size: text, owner_id: text })),
    });
    return gaps.map(({ text: gap }) => gap);
  };
  expect(await gapsOf(rules)).toEqual([]);
  expect(await gapsOf(rules.slice(0, 1))).toEqual([expect.stringContaining('/data')]);
});

const HARMLESS_CASES = HARMLESS.map(
  ([what, old, young, one = {}, other = {}]) => [what, old, young, one, other] as const,
);

test.each(HARMLESS_CASES)('check finds nothing where %s', async (_, old, young, one, other) => {
  expect(await gapsBetween(description('v1', old, one), description('v2', young, other))).toEqual([]);
});

/** Resources of a service, each with an id and all the others in it. */
const GRAPH: Json = Object.fromEntries(
  Array.from({ length: 9 }, (_, at) => {
    const others = Array.from({ length: 9 }, (__, to) => [
      `of${to}`,
      { $ref: `#/components/schemas/R${to}` },
    ]);
    const kinds = { type: 'string', enum: ['a', 'b', 'c', `d${at}`] };
    return [
      `R${at}`,
      objectOf({ ...Object.fromEntries(others), id: integer, kind: kinds }, { required: ['id'] }),
    ];
  }),
);
const resource = (at: number): Json => ({ $ref: `#/components/schemas/R${at}` });

test.each([
  ['the response', answerOf(resource(0))],
  ['a list in it', answerOf({ type: 'array', items: resource(3) })],
  ['the request', { ...bodyOf(resource(0)), ...answerOf(resource(1)) }],
  ['an error', failing('default', objectOf({ error: objectOf({ message: text, source: resource(0) }) }))],
  ['a parameter', contentParameter(resource(2))],
])('check finds nothing in resources that refer to each other if they stay the same: %s', async (_, of) => {
  const more = { components: { schemas: GRAPH } };
  expect(await gapsBetween(description('v1', of, more), description('v2', of, more))).toEqual([]);
});

test('what is near in an error is found, whatever else its resources refer to', async () => {
  const error = failing('default', objectOf({ error: objectOf({ a: resource(0), z: resource(8) }) }));
  const of = (version: string, left: string): Json => {
    const { [left]: _, ...properties } = { id: integer, of0: resource(0), name: text } as Json;
    const schemas = { ...GRAPH, R8: objectOf(properties) };
    return description(version, error, { components: { schemas } });
  };
  expect(await gapsBetween(of('v1', ''), of('v2', 'name'))).toContain(
    "V1's error default has /error/z/name, which V2's never has",
  );
});

test('operations that share a response are judged each by its own rules', async () => {
  const of = (version: string, name: string): Json => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: Object.fromEntries(
      ['a', 'b', 'c'].map((path) => [`/${path}`, { get: answerOf(resource(0), {}, '200') }]),
    ),
    components: { schemas: { R0: objectOf({ [name]: text }) } },
  });
  const book = `resource: ''
operations: { a: GET /a, b: GET /b, c: GET /c }
changes:
  - { id: name, summary: s, on: [b], response: [{ rename: young, to: old }] }
`;
  const { gaps } = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: of('v1', 'old'),
    v2: of('v2', 'young'),
  });
  const lacking = "V1's response 200 has /old, which V2's never has";
  expect(gaps.map(({ operation, text: gap }) => [operation, gap])).toEqual([
    ['a', lacking],
    ['c', lacking],
  ]);
});

test('an operation that is gone is covered, and V2 need not have it', async () => {
  const of = (path: string): Json => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: { [path]: { get: { responses: {} } } },
  });
  const text = "operations: { old: { match: 'GET /old', gone: No. } }\nchanges: []\n";
  const coverage = coverageOf({ ruleBook: await bookIn(text), text, v1: of('/old'), v2: of('/young') });
  expect(coverage).toEqual({ operations: { all: 1, covered: 1 }, gaps: [] });
});

test('each place has a line with all operations that have the gap there; with --all each gap has a line', async () => {
  const item = (name: string): Json => objectOf({ id: text, [name]: text });
  const of = (version: string, name: string): Json => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://a.example/api/${version}` }],
    paths: Object.fromEntries(
      ['/a', '/b', '/c', '/d', '/e'].map((path) => [
        path,
        {
          get: answerOf(
            objectOf({ one: item(name), list: { type: 'array', items: item(name) } }),
            {},
            path === '/e' ? '201' : '200',
          ),
        },
      ]),
    ),
  });
  const book = "resource: ''\noperations: {}\nchanges: []\n";
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: of('v1', 'old'),
    v2: of('v2', 'young'),
  });
  expect(coverage.gaps).toHaveLength(10);
  expect(printCoverage(coverage, 'rules.yaml')).toBe(
    `coverage: 5 of 5 operations of V1 have a place in V2
Expected by V1's clients and never returned (2, at 10 places)
  GET /a, GET /b, GET /c and 2 more: V1's response 200 or 201 has /one/old, which V2's never has
  GET /a, GET /b, GET /c and 2 more: V1's response 200 or 201 has /list/*/old, which V2's never has
`,
  );
  expect(printCoverage(coverage, 'rules.yaml', true).split('\n')).toHaveLength(13);
});

test('a body that has only the object around its members has it, even if V1 does not say so', async () => {
  const members = { id: text, note: text };
  const book =
    "resource: ''\noperations: { make: POST /things }\nchanges: [{ id: c, summary: s, on: [make], request: [{ unwrap: data }] }]\n";
  const v1 = description('v1', bodyOf(objectOf({ data: objectOf(members, { required: ['id'] }) })));
  const v2 = description('v2', bodyOf(objectOf(members, { required: ['id', 'note'] })));
  const { gaps } = coverageOf({ ruleBook: await bookIn(book), text: book, v1, v2 });
  expect(gaps.map((gap) => gap.text)).toEqual(['V2 requires /note, which V1 does not']);
});

test('one line names the values of an enumeration, and says once that V2 never has a member', async () => {
  const state = (...values: readonly string[]): Json => ({ type: 'string', enum: values });
  const old = objectOf({ state: state('ON', 'OFF'), end: text }, { required: ['end'] });
  const young = objectOf({ state: state('ON', 'a', 'b', 'c', 'd') });
  const book = "resource: ''\noperations: { make: POST /things }\nchanges: []\n";
  const v1 = description('v1', { ...bodyOf(young), ...answerOf(old) });
  const v2 = description('v2', { ...bodyOf(old), ...answerOf(young) });
  const printed = printCoverage(coverageOf({ ruleBook: await bookIn(book), text: book, v1, v2 }), 'r.yaml');
  expect(printed.split('\n').filter((line) => /\/(?:state|end)/.test(line))).toEqual([
    '  r.yaml:2:15 make: V2 requires /end, which is never set',
    '  r.yaml:2:15 make: V2 accepts "ON", "OFF" in /state and gets "a", "b", "c" and 1 more',
    "  r.yaml:2:15 make: V1's response 201 has /end, which V2's never has",
    '  r.yaml:2:15 make: V1\'s response 201 has "ON", "OFF" in /state, and clients get "a", "b", "c" and 1 more',
  ]);
});

/** The gaps of one operation with rules, written as a list for its requests or its responses. */
async function gapsWithRules(
  side: 'request' | 'response',
  rules: string,
  v1: Json,
  v2: Json,
): Promise<readonly string[]> {
  const back = side === 'request' && rules.endsWith('inverse') ? ', response: inverse' : '';
  const book = `resource: ''
operations: { make: POST /things }
changes: [{ id: c, summary: s, on: [make], ${side}: ${rules.replace(/ inverse$/, '')}${back} }]
`;
  const sources = { v1: description('v1', v1), v2: description('v2', v2) };
  return coverageOf({ ruleBook: await bookIn(book), text: book, ...sources }).gaps.map((gap) => gap.text);
}

const NULLABLE: Json = { type: ['string', 'null'] };
const level: Json = { enum: [1, 2] };

test.each<[rules: string, v1: Json, v2: Json, gap: string | undefined]>([
  ['[{ default: { a: null } }]', { a: text }, {}, 'string in /a, and clients get null'],
  ['[{ set: { a: null } }]', { a: text }, {}, 'string in /a, and clients get null'],
  ['[{ set: { a: null } }]', { a: level }, { a: integer }, 'integer in /a, and clients get null'],
  ['[{ set: { a: null } }]', { a: objectOf({ b: text }) }, {}, 'object in /a, and clients get null'],
  ['[{ set: { o.a: null } }]', { o: objectOf({ a: text }) }, { o: objectOf({}) }, 'string in /o/a, and'],
  [
    '[{ map: { x: null }, of: a }]',
    { a: text },
    { a: { enum: ['x'] } },
    'string in /a, and clients get null',
  ],
  ['[{ set: { a: 3 } }]', { a: level }, {}, '1, 2 in /a, and clients get 3'],
  ['[{ set: { a: false } }]', { a: { enum: [true] } }, {}, 'true in /a, and clients get false'],
  ['[{ set: { a: z } }]', { a: { enum: ['x'] } }, {}, '"x" in /a, and clients get "z"'],
  ['[{ set: { a: 3 } }]', { a: text }, {}, 'string in /a, and clients get a number'],
  // Only where V2 leaves the member out do clients get the rule's value.
  ['[{ default: { a: null } }]', { a: text }, { a: text }, 'string in /a, and clients get null'],
  ['[{ default: { a: null } }]', { a: NULLABLE }, {}, undefined],
  ['[{ default: { a: null } }]', { a: { enum: ['x', null] } }, {}, undefined],
  ['[{ default: { a: null } }]', { a: {} }, {}, undefined],
  ['[{ default: { a: null } }]', { a: { anyOf: [text, { type: 'null' }] } }, {}, undefined],
  ['[{ set: { a: 2 } }]', { a: level }, {}, undefined],
])('check compares the values that response rules write with V1’s description: %s %o', async (...row) => {
  const [rules, old, young, gap] = row;
  const gaps = await gapsWithRules('response', rules, answerOf(objectOf(old)), answerOf(objectOf(young)));
  expect(gaps).toEqual(gap === undefined ? [] : [expect.stringContaining(`V1's response 201 has ${gap}`)]);
});

test.each<[rules: string, v1: Json, v2: Json, gap: string | undefined]>([
  ['[{ default: { a: null } }]', {}, { a: text }, 'V2 accepts string in /a and gets null'],
  ['[{ default: { a: null } }]', { a: text }, { a: text }, 'V2 accepts string in /a and gets null'],
  ['[{ set: { a: 3 } }]', {}, { a: level }, 'V2 accepts 1, 2 in /a and gets 3'],
  [
    '[{ map: { x: null }, of: a }]',
    { a: { enum: ['x'] } },
    { a: text },
    'V2 accepts string in /a and gets null',
  ],
  ['[{ default: { a: null } }]', {}, { a: NULLABLE }, undefined],
])('check compares the values that request rules write with V2’s description: %s %o', async (...row) => {
  const [rules, old, young, gap] = row;
  const gaps = await gapsWithRules('request', rules, bodyOf(objectOf(old)), bodyOf(objectOf(young)));
  expect(gaps).toEqual(gap === undefined ? [] : [gap]);
});

const yes = { type: 'boolean' };

test.each<[rules: string, v1: Json, v2: Json, gap: string | undefined]>([
  [
    '[{ rename: wait_min, to: waitSeconds }]',
    { wait_min: integer },
    { waitSeconds: integer },
    "V1's /wait_min is in minutes, and V2's /waitSeconds in seconds: no rule converts the value",
  ],
  [
    '[{ move: span, to: o.span }]',
    { span: { ...integer, description: 'In hours.' } },
    { o: objectOf({ span: { ...integer, description: 'In days.' } }) },
    "V1's /span is in hours, and V2's /o/span in days: no rule converts the value",
  ],
  [
    '[{ strip: other }]',
    { span: { ...integer, description: 'In hours.' }, other: yes },
    { span: { ...integer, description: 'In days.' } },
    "V1's /span is in hours, and V2's /span in days: no rule converts the value",
  ],
  [
    '[{ scale: span, by: 1/24 }]',
    { span: { type: 'number', description: 'In hours.' } },
    { span: { type: 'number', description: 'In days.' } },
    undefined,
  ],
  [
    '[{ rename: wait_min, to: waitSeconds }, { scale: waitSeconds, by: 60 }]',
    { wait_min: integer },
    { waitSeconds: integer },
    undefined,
  ],
  ['[{ rename: wait_min, to: waitMinutes }]', { wait_min: integer }, { waitMinutes: integer }, undefined],
  ['[{ rename: wait_min, to: wait }]', { wait_min: integer }, { wait: integer }, undefined],
  [
    '[{ rename: send_mail, to: suppressMail }]',
    { send_mail: yes },
    { suppressMail: yes },
    "V1's /send_mail says the contrary of V2's /suppressMail, and no rule turns true and false",
  ],
  [
    '[{ rename: send_mail, to: suppressMail }, { map: { true: false, false: true }, of: suppressMail }]',
    { send_mail: yes },
    { suppressMail: yes },
    undefined,
  ],
  ['[{ rename: send_mail, to: sendMails }]', { send_mail: yes }, { sendMails: yes }, undefined],
])(
  'check names what reaches V2, and V1’s clients, in another unit or as the contrary: %s',
  async (...row) => {
    const [rules, old, young, gap] = row;
    const expected = gap === undefined ? [] : [gap];
    const sides = [bodyOf(objectOf(old)), bodyOf(objectOf(young))] as const;
    expect(await gapsWithRules('request', rules, ...sides)).toEqual(expected);
  },
);

test.each<[rules: string, v1: Json, v2: Json, gap: string | undefined]>([
  [
    '[{ rename: waitSeconds, to: wait_min }]',
    { wait_min: integer },
    { waitSeconds: integer },
    "V1's /wait_min is in minutes, and V2's /waitSeconds in seconds: no rule converts the value",
  ],
  [
    '[{ scale: waitSeconds, by: 1/60 }, { rename: waitSeconds, to: wait_min }]',
    { wait_min: { type: 'number' } },
    { waitSeconds: integer },
    undefined,
  ],
  [
    '[{ rename: archived, to: active }]',
    { active: yes },
    { archived: yes },
    "V1's /active says the contrary of V2's /archived, and no rule turns true and false",
  ],
])('check names what V1’s clients get in another unit or as the contrary: %s', async (...row) => {
  const [rules, old, young, gap] = row;
  const sides = [answerOf(objectOf(old)), answerOf(objectOf(young))] as const;
  expect(await gapsWithRules('response', rules, ...sides)).toEqual(gap === undefined ? [] : [gap]);
});

test.each<[rules: string, old: Json, young: Json, gap: string | undefined]>([
  ['[{ unquote: id }]', integer, text, undefined],
  ['[{ unquote: id }, { scale: id, by: 100 }]', integer, text, undefined],
  ['[{ unquote: id }]', integer, { ...text, example: 'A7' }, 'clients get a string'],
  ['[{ unquote: id }]', integer, { enum: ['seven'] }, 'clients get a string'],
  ['[]', integer, text, 'clients get a string'],
])('a string that the rules make a number of, if it is one, is no gap: %s, %j, %j', async (...row) => {
  const [rules, old, young, gap] = row;
  const sides = [answerOf(objectOf({ id: old })), answerOf(objectOf({ id: young }))] as const;
  const expected = gap === undefined ? [] : [expect.stringContaining(gap)];
  expect(await gapsWithRules('response', rules, ...sides)).toEqual(expected);
});

test('nulls that stand for the rest of a schema that contains itself are no gap', async () => {
  const tree = objectOf({ name: text, child: { $ref: '#/components/schemas/Tree' } }, { required: ['name'] });
  const of = (version: string): Json =>
    description(
      version,
      {
        ...answerOf({ $ref: '#/components/schemas/Tree' }),
        ...bodyOf({ $ref: '#/components/schemas/Tree' }),
      },
      { components: { schemas: { Tree: tree } } },
    );
  expect(await gapsBetween(of('v1'), of('v2'))).toEqual([]);
});

const PRICE = objectOf(
  { amount: { type: 'number' }, currency: { enum: ['EUR', 'GBP'] } },
  { required: ['amount', 'currency'] },
);

test.each([
  '[{ move: price, to: price.amount }, { set: { price.currency: EUR } }] inverse',
  '[{ move: price, to: price.amount }, { scale: price.amount, by: 100 }, { set: { price.currency: EUR } }] inverse',
  '[{ move: price, to: price.amount }, { default: { price.currency: EUR } }] inverse',
  '[{ move: price, to: cost.amount }, { rename: cost, to: price }, { set: { price.currency: EUR } }] inverse',
  '[{ rename: price, to: amount }, { move: amount, to: price.amount }, { set: { price.currency: EUR } }] inverse',
])('a member that moves into its own name and back has V1’s type for each value of V2: %s', async (rules) => {
  const old = objectOf({ price: { type: 'number' } }, { required: ['price'] });
  const young = objectOf({ price: PRICE }, { required: ['price'] });
  const gaps = await gapsWithRules(
    'request',
    rules,
    { ...bodyOf(old), ...answerOf(old) },
    { ...bodyOf(young), ...answerOf(young) },
  );
  expect(gaps).toEqual([]);
});

test.each([
  '[{ move: price.amount, to: price }]',
  '[{ unnest: price }, { strip: currency }, { rename: amount, to: price }]',
  '[{ copy: price.amount, to: cost }, { strip: price }, { rename: cost, to: price }]',
])(
  'a response that brings a member out of an object has V1’s type for each value of V2: %s',
  async (rules) => {
    const old = answerOf(objectOf({ price: { type: 'number' } }, { required: ['price'] }));
    const young = answerOf(objectOf({ price: PRICE }, { required: ['price'] }));
    expect(await gapsWithRules('response', rules, old, young)).toEqual([]);
  },
);

test.each<[rules: string, gaps: readonly string[]]>([
  [
    '[]',
    [
      'V2 accepts the pattern ^rt_[a-z]+$ in routeId and gets "text"',
      'V2 accepts the pattern ^rt_[a-z]+$ in /routeId and gets "text"',
    ],
  ],
  ['[{ prefix: routeId, with: rt_ }]', []],
])('an id whose pattern only its own schema has, with the rules %s', async (rules, gaps) => {
  const of = (id: Json, own: Json): Json =>
    description(
      'v1',
      { ...parameter('query', { schema: id }, 'routeId'), ...bodyOf(objectOf({ routeId: id })) },
      { components: { schemas: { Route: objectOf({ id: own }) } } },
    );
  const change = `{ id: prefix, on: every, summary: P., request: ${rules}, query: ${rules}, response: [] }`;
  const book = `resource: ''\noperations: { make: POST /things }\nchanges: ${rules === '[]' ? '[]' : `[${change}]`}\n`;
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: of(text, text),
    v2: { ...of(text, { ...text, pattern: '^rt_[a-z]+$' }), servers: [{ url: 'https://a.example/api/v2' }] },
  });
  expect(coverage.gaps.map((gap) => gap.text).filter((gap) => gap.includes('gets'))).toEqual(gaps);
});

test.each<[what: string, v1: Json, gaps: readonly string[]]>([
  [
    'no body',
    { responses: { 201: { description: 'ok' } } },
    ['V1 describes no body of its responses, and clients get what V2 returns: nothing was compared'],
  ],
  [
    'only an example',
    {
      responses: {
        201: {
          description: 'ok',
          content: { 'application/json': { example: { data: { no: 'C-1', id: 7 } } } },
        },
      },
    },
    ["V1's response 201 has /data, which V2's never has"],
  ],
  ['a file', { responses: { 201: { description: 'ok', content: { 'text/csv': {} } } } }, []],
])('responses for which V1 describes %s', async (_, v1, gaps) => {
  const found = await gapsBetween(description('v1', v1), description('v2', answerOf(objectOf({ id: text }))));
  expect(found.filter((one) => /no body of|never has/.test(one))).toEqual(gaps);
});

test.each<[change: string, gaps: readonly string[]]>([
  ['', ['V2 requires a body, and gets none', 'V2 requires /initiator, which is never set']],
  ['{ id: a, summary: A., on: [make], request: [{ default: { initiator: CUSTOMER } }], response: [] }', []],
])('a body that V2 requires and V1 does not have, with the change %j', async (change, gaps) => {
  const book = `resource: ''\noperations: { make: POST /things }\nchanges: [${change}]\n`;
  const { requestBody } = bodyOf(objectOf({ initiator: text, note: text }, { required: ['initiator'] }));
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: description('v1', {}),
    v2: description('v2', { requestBody: { ...(requestBody as Json), required: true } }),
  });
  expect(coverage.gaps.map((gap) => gap.text)).toEqual(gaps);
});

test.each<[rules: string, gaps: readonly string[]]>([
  [
    '{ rename: per_page, to: limit }',
    ['without it V1 assumed 25, and V2 assumes 20', 'at most 50, and V1 100'],
  ],
  ['{ rename: per_page, to: limit }, { default: { limit: 25 } }', ['at most 50, and V1 100']],
  ['{ scale: per_page, by: 2 }, { rename: per_page, to: limit }', []],
])('the limits of a query parameter that V2 has by another name, with the rules %s', async (rules, gaps) => {
  const book = `resource: ''\noperations: { make: POST /things }\nchanges:\n  - { id: a, summary: A., on: [make], request: [], query: [${rules}], response: [] }\n`;
  const named = (version: string, name: string, schema: Json): Json =>
    description(version, parameter('query', { schema: { ...integer, ...schema } }, name));
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: named('v1', 'per_page', { default: 25, maximum: 100 }),
    v2: named('v2', 'limit', { default: 20, maximum: 50 }),
  });
  expect(coverage.gaps.map((gap) => gap.text.replace(/^.*?(?=without it|at most)/, ''))).toEqual(
    rules.startsWith('{ scale') ? [] : expect.arrayContaining([...gaps]),
  );
  expect(coverage.gaps).toHaveLength(gaps.length);
});

test.each([
  [
    '{ strip: since }',
    ['a rule leaves out the query parameter since, so V2 responds as if clients had not sent it'],
  ],
  ['{ rename: since, to: after }, { date: after, from: epoch, to: datetime }', []],
  ['{ query: since, to: x-since }', []],
])('a query parameter with the rule %s', async (rule, gaps) => {
  const list = rule.startsWith('{ query') ? 'headers' : 'query';
  const book = `operations: { make: POST /things }\nchanges:\n  - { id: a, summary: A., on: [make], request: [], ${list}: [${rule}], response: [] }\n`;
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: description(
      'v1',
      parameter('query', { schema: { ...integer, description: 'Unix seconds' } }, 'since'),
    ),
    v2: description('v2', parameter('query', { schema: { ...text, format: 'date-time' } }, 'after')),
  });
  expect(coverage.gaps.map((gap) => gap.text)).toEqual(gaps);
});

test.each([
  [
    { enum: ['cancelled', 'arrived'] },
    ['a rule leaves out /status, so V2 does the same for cancelled, arrived'],
  ],
  [{ enum: ['cancelled'] }, []],
  [text, []],
])('a rule that leaves out a member of the values %j', async (schema, gaps) => {
  const book = `operations: { make: POST /things }\nchanges:\n  - { id: a, summary: A., on: [make], request: [{ strip: status }], response: [] }\n`;
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: description('v1', bodyOf(objectOf({ status: schema, note: text }))),
    v2: description('v2', bodyOf(objectOf({ note: text }))),
  });
  expect(coverage.gaps.map((gap) => gap.text).filter((one) => one.includes('leaves out'))).toEqual(gaps);
});

test.each<[old: Json, to: string, gaps: number]>([
  [integer, '', 1],
  [integer, ", to: 'GET /things/thg_{id}'", 0],
  [{ ...text, pattern: '^thg_' }, '', 0],
])('an id of %j in the path, where V2 takes only some that begin otherwise%s', async (old, to, gaps) => {
  const of = (version: string, schema: Json): Json => ({
    ...description(version, {}),
    paths: {
      '/things/{id}': {
        get: { operationId: 'read', parameters: [{ name: 'id', in: 'path', required: true, schema }] },
      },
    },
  });
  const book = `from: /api/v1\nto: /api/v2\noperations: { read: { match: 'GET /things/{id}'${to} } }\nchanges: []\n`;
  const coverage = coverageOf({
    ruleBook: await bookIn(book),
    text: book,
    v1: of('v1', old),
    v2: of('v2', { ...text, pattern: '^thg_[0-9]+$' }),
  });
  const found = coverage.gaps.filter(({ text: gap }) => gap.includes('V2 takes only thg_…'));
  expect(found).toHaveLength(gaps);
});

test.each<[schema: Json, sample: unknown]>([
  [{ type: 'string', examples: ['SK-10042', 'SK-1'] }, 'SK-10042'],
  [{ type: 'string', examples: ['PT95M'], format: 'duration' }, 'PT95M'],
  [{ type: 'string', example: 'one', examples: ['two'] }, 'one'],
  [{ type: 'integer', examples: ['a text', 5501] }, 5501],
  [{ type: 'string', format: 'duration' }, 'PT1H30M'],
  [{ type: 'string', format: 'time' }, '10:00:00Z'],
  [{ type: 'string', format: 'ipv4' }, '192.0.2.1'],
])('a sample of %j is %j', (schema, sample) => {
  expect(sampleOf(shapeOf(schema, new Components(description('v1', {}))))).toBe(sample);
});

test.each<readonly [exports: readonly TransformDirection[], gaps: readonly string[]]>([
  [[], ['V2 requires /b, which is never set', "V1's response 201 has /a, which V2's never has"]],
  [['response'], ['V2 requires /b, which is never set']],
  [['request'], ["V1's response 201 has /a, which V2's never has"]],
  [['request', 'response'], []],
])('a transform with %j closes only the gaps of those bodies', async (exports, gaps) => {
  const book =
    "resource: ''\noperations: { make: { match: POST /things, transform: ./make.js } }\nchanges: []\n";
  const ruleBook = { ...(await bookIn(book)), modules: { './make.js': { exports } } };
  const [old, young] = [objectOf({ a: text }), objectOf({ a: text, b: text }, { required: ['b'] })];
  const v1 = description('v1', { ...bodyOf(old), ...answerOf(objectOf({ a: text })) });
  const v2 = description('v2', { ...bodyOf(young), ...answerOf(objectOf({ c: text })) });
  expect(coverageOf({ ruleBook, text: book, v1, v2 }).gaps.map((gap) => gap.text)).toEqual(gaps);
});

test.each([
  ['^a+$', 'aaa', true],
  ['^a+$', 'ab', false],
  // The platform's engine would take longer than the world is old.
  ['^(a+)+$', `${'a'.repeat(60)}b`, false],
  // Neither valid nor linear patterns are held against a value.
  ['(', 'x', true],
  ['^(?=b)', 'a', true],
])('the pattern %s matches %s: %s', (pattern, value, expected) => {
  expect(isMatch(pattern, value)).toBe(expected);
});
