import * as fc from 'fast-check';
import type { TextMessage } from '../../src/cli/cases/text-cases.ts';
import { words } from '../support/rows.ts';

/** A V1 request, and V2's response to whatever it gets. */
export interface ArbitraryExchange {
  readonly request: TextMessage;
  readonly response: TextMessage;
}

/** Names that rules know, in V1 or V2, and one that none knows. */
const name = fc.constantFrom(
  ...words`
    data property address suburb street_address transition_type highlight_type style errors pointer
    d\u0061ta other
  `,
);

const scalar = fc.constantFrom('1.0', '1E400', '-0', '"day"', '"/data/suburb"', '"\\u00e9é"', 'null', 'true');

/** JSON text, so that spellings, duplicates and white space are random, too. */
const { json } = fc.letrec<{ json: string; object: string; array: string }>((tie) => ({
  json: fc.oneof({ depthSize: 'small', withCrossShrink: true }, scalar, tie('object'), tie('array')),
  object: fc
    .array(fc.tuple(name, tie('json')), { maxLength: 4 })
    .map((members) => `{${members.map(([key, value]) => `"${key}": ${value}`).join(',')}}`),
  array: fc.array(tie('json'), { maxLength: 3 }).map((values) => `[${values.join(' ,')}]`),
}));

const body = fc.oneof(
  { weight: 6, arbitrary: json.map((text) => `{"data":${text}}`) },
  { weight: 3, arbitrary: json },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{', '{"data":{}}x', '\ufeff{"data":{}}', '{"data":{},"more":1}'),
  },
);

const path = fc.constantFrom(
  '/clients',
  '/clients/7.json',
  '/orders/floor_plans',
  '/orders/post_productions',
  '/properties/42',
  '/things/a%2Fb',
  '/orders',
  '',
);

const query = fc.constantFrom('', '?', '?per_page=3&x=%2F', '?style=day&style=night', '?a[]=1&legacy=2');

const type = fc.constantFrom(
  'application/json',
  'application/json',
  'application/vnd.api+json; charset=UTF-8',
  'application/json; charset=utf-16',
  'text/plain',
);

const field = fc.constantFrom(
  ['x-api-version', '2025-06-30'],
  ['x-api-version', 'latest'],
  ['authorization', 'Bearer key'],
  ['cookie', 'a=1; b=2'],
  ['x-request-id', 'id-1'],
  ['traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['tracestate', 'vendor=1'],
  ['content-digest', 'sha-256=:x:'],
  ['x-custom', 'é'],
) satisfies fc.Arbitrary<string[]>;

const request = fc
  .tuple(
    fc.constantFrom('POST', 'POST', 'PATCH', 'PUT', 'GET', 'DELETE'),
    path,
    query,
    fc.option(type, { nil: undefined }),
    fc.uniqueArray(field, { maxLength: 3, selector: ([name]) => name }),
    body,
  )
  .map(([method, path, query, type, fields, body]): TextMessage => {
    const headers = fields.map(([name = '', value = '']) => [name, latin1(value)] as const);
    const hasBody = method !== 'GET' && body !== '';
    return {
      line: `${method} /api/v1${path}${query}`,
      headers: type !== undefined && hasBody ? [...headers, ['content-type', type]] : headers,
      body: hasBody ? body : '',
    };
  });

const response = fc
  .tuple(
    fc.constantFrom('200', '201', '404', '422', '500'),
    fc.constantFrom('application/json', 'application/json', 'text/html'),
    fc.constantFrom(undefined, '/api/v2/clients/7?page_size=3', '/elsewhere', '?page_size=2'),
    fc.oneof(
      json.map((text) => `{"data":${text}}`),
      json.map((text) => `{"errors":[{"source":{"pointer":"/suburb"},"detail":${text}}]}`),
      body,
    ),
  )
  .map(([line, type, location, body]): TextMessage => {
    const headers: [string, string][] = [
      ['content-type', type],
      ['etag', '"strong"'],
      ['set-cookie', 'a=1'],
    ];
    if (location !== undefined) headers.push(['location', location]);
    return { line, headers, body };
  });

/** Exchanges of V1 clients, most of them such as rules concern. */
export const exchanges: fc.Arbitrary<ArbitraryExchange> = fc.record({ request, response });

/** A value as it is on the wire: one character for each byte. */
function latin1(value: string): string {
  return Buffer.from(value, 'utf8').toString('latin1');
}
