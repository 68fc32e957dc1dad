import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodySchemas } from '../../src/openapi/body-schemas.ts';
import type { Destination } from '../../src/rules/move.ts';
import type { Operation } from '../../src/rules/rule-book.ts';
import { referenceDescription } from '../../src/cli/draft/description-file.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

/* oxlint-disable typescript/no-explicit-any -- a description is a tree of anything */

test('it refuses exactly the bodies that another validator refuses', async () => {
  const v2 = (await referenceDescription('v2')) as any;
  const schemas = new BodySchemas(v2);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'api', components: v2.components });
  const names = words`name email property property_id address suburb latitude id client other`;
  const value = fc.letrec((tie) => ({
    any: fc.oneof(
      { depthSize: 'small' },
      fc.integer({ min: -1, max: 3 }),
      fc.constantFrom(null, 'x', true, 1.5),
      tie('object'),
    ),
    object: fc.dictionary(fc.constantFrom(...names), tie('any'), { maxKeys: 4 }),
  })).object;
  let refused = 0;
  fc.assert(
    fc.property(value, fc.constantFrom('/clients', '/orders/floor_plans', '/virtual_tours'), (body, path) => {
      const { schema } = v2.paths[`/api/v2${path}`].post.requestBody.content['application/json'];
      const located = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/'));
      const isValid = ajv.validate(located, body);
      if (!isValid) refused += 1;
      expect([body, schemas.faultsOf('POST', path, body)?.length === 0]).toEqual([body, isValid]);
    }),
    { numRuns: fuzzRuns(300) },
  );
  expect(refused).toBeGreaterThan(fuzzRuns(50));
});

test('a body that is not described gets no verdict', async () => {
  const schemas = new BodySchemas(await referenceDescription('v2'));
  expect(schemas.faultsOf('POST', '/nothing', {})).toBeUndefined();
  expect(schemas.faultsOf('GET', '/clients', {})).toBeUndefined();
});

test('a value that was not recorded is not a fault, also within an object that may be null', async () => {
  const schemas = new BodySchemas(await referenceDescription('v2'));
  const path = '/orders/floor_plans';
  expect(schemas.faultsOf('POST', path, { property: { address: { latitude: '…' } } })).toEqual([]);
  expect(
    schemas.faultsOf('POST', path, { property: { address: { latitude: '…', other: '…' } } }),
  ).toMatchObject([{ at: '/property/address/other' }]);
});

/** A description of V2 with these paths, each with a POST of an object with a name, in this kind of media. */
function described(
  paths: readonly string[],
  servers: readonly string[] = [],
  media = 'application/json',
): BodySchemas {
  const schema = { type: 'object', required: ['name'] };
  const item = { post: { requestBody: { content: { [media]: { schema } } } }, get: {} };
  return new BodySchemas({
    openapi: '3.1.0',
    servers: servers.map((url) => ({ url })),
    paths: Object.fromEntries(paths.map((path) => [path, item])),
  });
}

const CREATE: Operation = { id: 'create', method: 'POST', template: '/clients', assumed: false };

function verdict(schemas: BodySchemas, body = '{}', rest = '/clients'): unknown {
  return schemas.verdictOf('POST', rest, new TextEncoder().encode(body));
}

test.each([
  ['with the prefix', ['/api/v2/clients'], []],
  ['without one', ['/clients'], []],
  ['with the prefix in the server', ['/clients'], ['https://a.example/api/v2/']],
  ['with the prefix in server and paths', ['/api/v2/clients'], ['https://a.example/api/v2']],
  ['with a part of it in server and paths', ['/v2/clients'], ['/api/v2']],
  ['beside an unversioned path', ['/healthz', '/api/v2/clients'], ['https://a.example']],
  ['beside more unversioned paths', ['/healthz', '/readyz', '/metrics', '/api/v2/clients'], []],
  ['with the version as a parameter', ['/api/{version}/clients'], []],
  ['with the version as a parameter of the server', ['/clients'], ['https://a.example/api/{version}']],
  ['with v and a parameter', ['/v{api-version}/clients'], []],
  ['with a point', ['/rest/v2.1/clients'], []],
  ['beside V3', ['/api/v3/clients', '/api/v3/orders', '/api/v2/clients'], []],
  ['beside V1', ['/api/v1/clients', '/api/v2/clients'], ['/']],
  ['of an API with other version numbers', ['/api/v7/clients', '/api/v7/orders', '/healthz'], []],
] as const)('paths %s are matched', (_, paths, servers) => {
  const schemas = described(paths, servers);
  expect(schemas.warnings([CREATE])).toEqual([]);
  expect(verdict(schemas)).toEqual({ v2: 'invalid', at: '/name' });
});

test('a path of another version, or outside the API, is not a path of V2', () => {
  const schemas = described(['/api/v3/orders', '/api/v2/clients', '/healthz']);
  for (const rest of ['/orders', '/healthz', '/api/v3/orders'])
    expect(verdict(schemas, '{}', rest)).toEqual({ v2: 'unknown', why: 'no-schema' });
});

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'application/vnd.a+json',
  'application/*',
  '*/*',
])('a body of %s is checked', (media) => {
  expect(verdict(described(['/clients'], [], media))).toEqual({ v2: 'invalid', at: '/name' });
});

test('of several media types the most specific one counts', () => {
  const content = {
    '*/*': { schema: { required: ['any'] } },
    'application/*': { schema: { required: ['some'] } },
    'application/json': { schema: { required: ['one'] } },
  };
  const schemas = new BodySchemas({
    openapi: '3.1.0',
    paths: { '/clients': { post: { requestBody: { content } } } },
  });
  expect(verdict(schemas)).toEqual({ v2: 'invalid', at: '/one' });
});

test('a warning says if nothing can be checked with a description', () => {
  const other = described(['/api/v2/customers']).warnings([CREATE]);
  expect(other).toEqual([
    'No operation of the rule book is in V2\'s description with a JSON body: it has POST /customers (/api/v2/customers), for example, and the rule book POST /clients. So no body is checked: each verdict is "unknown". Compare the paths and servers of the description with the rule book.',
  ]);
  expect(described(['/clients'], [], 'text/plain').warnings([CREATE])).toEqual([
    'V2\'s description has no operation with a JSON body and a schema. So no body is checked: each verdict is "unknown".',
  ]);
  // A rule book without writes of its own has changes for each request.
  expect(described(['/customers']).warnings([])).toEqual([]);
  expect(described(['/customers', '/clients']).warnings([CREATE])).toEqual([]);
  expect(described(['/clients', '/clients/{id}.pdf']).warnings([CREATE])).toEqual([
    'No request matches the path /clients/{id}.pdf of V2\'s description: it contains "{id}.pdf"; a parameter is a whole segment, such as {id}.',
  ]);
});

const PEOPLE: Destination = { method: 'POST', template: '/people', path: [], query: [] };
const INVOICE: Destination = { method: 'POST', template: '/invoices/inv_{id}', path: [], query: [] };

const operation = (method: string, template: string, to?: Destination): Operation => ({
  id: `${method} ${template}`,
  method,
  template,
  assumed: false,
  ...(to === undefined ? {} : { to }),
});

/** A description whose operations each take an object with a member of its own, in these media types. */
function distinct(paths: Readonly<Record<string, string>>, media = ['application/json']): BodySchemas {
  const item = (name: string): object => ({
    post: {
      requestBody: {
        content: Object.fromEntries(
          media.map((type, at) => [
            type,
            { schema: { type: 'object', required: [at === 0 ? name : `${name}${at}`] } },
          ]),
        ),
      },
    },
  });
  return new BodySchemas({
    openapi: '3.1.0',
    paths: Object.fromEntries(Object.entries(paths).map(([path, name]) => [path, item(name)])),
  });
}

// The path, the operation of the rule book that has it, the rule book's others, and the member whose absence is the verdict.
test.each<
  readonly [
    what: string,
    paths: Readonly<Record<string, string>>,
    rest: string,
    own: Operation | undefined,
    others: readonly Operation[],
    at: string | undefined,
  ]
>([
  ['its own template', { '/clients/{id}': 'a' }, '/clients/7', operation('POST', '/clients/{id}'), [], '/a'],
  ['with another name', { '/clients/{nr}': 'a' }, '/clients/7', operation('POST', '/clients/{id}'), [], '/a'],
  ['with a slash at the end', { '/clients/': 'a' }, '/clients', operation('POST', '/clients'), [], '/a'],
  [
    'in another encoding',
    { '/gr%C3%B6%C3%9Fe': 'a' },
    '/gr%c3%b6%c3%9fe',
    operation('POST', '/gr%C3%B6%C3%9Fe'),
    [],
    '/a',
  ],
  ['where V2 has it', { '/people': 'a' }, '/people', operation('POST', '/clients', PEOPLE), [], '/a'],
  [
    'with a part of a segment',
    { '/invoices/{id}': 'a' },
    '/invoices/inv_7',
    operation('POST', '/bills/{id}', INVOICE),
    [],
    '/a',
  ],
  [
    'that V2 has at another path',
    { '/clients': 'a', '/x': 'b' },
    '/people',
    operation('POST', '/clients', PEOPLE),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'whose path matches by accident',
    { '/clients/{id}': 'a', '/x': 'b' },
    '/clients/import',
    operation('POST', '/clients/import'),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'whose path matches by accident, beside the right one',
    { '/clients/{id}': 'a' },
    '/clients/import',
    operation('POST', '/clients/import'),
    [operation('POST', '/clients/{id}')],
    undefined,
  ],
  [
    'of a name that matches by accident',
    { '/clients/import': 'a', '/x': 'b' },
    '/clients/import',
    operation('POST', '/clients/{id}'),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'whose path matches by accident, in the first segment',
    { '/{tenant}/clients': 'a', '/x': 'b' },
    '/orders/clients',
    operation('POST', '/orders/clients'),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'with another method',
    { '/clients': 'a', '/x': 'b' },
    '/clients',
    operation('PUT', '/clients'),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'that is not described',
    { '/x': 'b' },
    '/clients',
    operation('POST', '/clients'),
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'that the rule book does not name',
    { '/clients': 'a', '/x': 'b' },
    '/clients',
    undefined,
    [operation('POST', '/x')],
    '/a',
  ],
  [
    'of a rule book without writes',
    { '/clients': 'a' },
    '/clients',
    undefined,
    [operation('GET', '/x')],
    '/a',
  ],
  ['of another API', { '/clients': 'a' }, '/clients', undefined, [operation('POST', '/x')], undefined],
  ['of another API that takes anything', { '/{bucket}': 'a' }, '/x', operation('POST', '/x'), [], undefined],
  [
    'of another API that takes anything else',
    { '/{bucket}': 'a' },
    '/y',
    undefined,
    [operation('POST', '/x')],
    undefined,
  ],
  [
    'of another API with the same reads',
    { '/clients': 'a' },
    '/clients',
    undefined,
    [operation('GET', '/clients'), operation('DELETE', '/x'), operation('PUT', '/x')],
    undefined,
  ],
])(
  'a body for an operation %s has the verdict that the description can give',
  (_what, paths, rest, own, others, at) => {
    const schemas = distinct(paths);
    const operations = [...others, ...(own === undefined ? [] : [own])];
    const method = own?.to?.method ?? own?.method ?? 'POST';
    const given = schemas.verdictOf(method, rest, new TextEncoder().encode('{}'), {
      operations,
      operation: own,
      mediaType: 'application/json',
    });
    expect(given).toEqual(at === undefined ? { v2: 'unknown', why: 'no-schema' } : { v2: 'invalid', at });
    // The warning at the start about all bodies holds for each body.
    if (schemas.warnings(operations).some((sentence) => sentence.includes('each verdict is "unknown"')))
      expect(given).toMatchObject({ v2: 'unknown' });
  },
);

test.each<readonly [described: readonly string[], sent: string | undefined, at: string | undefined]>([
  [['application/json'], undefined, '/a'],
  [['application/json'], 'application/json', '/a'],
  [['application/json'], 'Application/JSON; charset=utf-8', '/a'],
  [['application/json; charset=utf-8'], 'application/json', '/a'],
  [['application/json'], 'application/merge-patch+json', undefined],
  [['application/vnd.a+json'], 'application/json', undefined],
  [['application/vnd.a+json'], undefined, '/a'],
  [['application/json', 'application/vnd.a+json'], 'application/vnd.a+json', '/a1'],
  [['application/vnd.a+json', 'application/json'], 'application/json', '/a1'],
  [['application/json', 'application/*'], 'application/vnd.a+json', '/a1'],
  [['application/json', '*/*'], 'text/json', '/a1'],
  [['application/json', 'application/*'], 'text/json', undefined],
  [['text/plain'], 'application/json', undefined],
])('of media types %j, a body of %s has the schema of its type', (media, sent, at) => {
  const schemas = distinct({ '/clients': 'a' }, [...media]);
  const given = schemas.verdictOf('POST', '/clients', new TextEncoder().encode('{}'), {
    operations: [CREATE],
    operation: CREATE,
    mediaType: sent,
  });
  expect(given).toEqual(at === undefined ? { v2: 'unknown', why: 'no-schema' } : { v2: 'invalid', at });
});

test('a keyword that cannot be used is left out and named, and the rest of the body is checked', () => {
  const properties = {
    zip: { type: 'string', pattern: '(?=a)a' },
    plan: { $ref: 'https://other.example/plan.json' },
    size: { type: 'integer' },
  };
  const content = { 'application/json': { schema: { type: 'object', properties } } };
  const schemas = new BodySchemas({
    openapi: '3.1.0',
    paths: { '/clients': { post: { requestBody: { content } } } },
  });
  expect(schemas.warnings([CREATE])).toEqual([
    'Bodies are checked against V2\'s description without #/paths/~1clients/post/requestBody/content/application~1json/schema/properties/zip/pattern: "(?=a)a" cannot be checked: it looks ahead or behind.',
    'Bodies are checked against V2\'s description without #/paths/~1clients/post/requestBody/content/application~1json/schema/properties/plan/$ref: "https://other.example/plan.json" leads to no schema of this description.',
  ]);
  expect(verdict(schemas, '{"zip":"b","plan":1,"size":2}')).toEqual({ v2: 'valid' });
  expect(verdict(schemas, '{"zip":3}')).toEqual({ v2: 'invalid', at: '/zip' });
  expect(verdict(schemas, '{"size":"x"}')).toEqual({ v2: 'invalid', at: '/size' });
});

// Attack: each of these bodies is one request; before, the first held the event loop for 3 s, and for hours with more letters.
test.each([
  ['a URL', { format: 'url' }, `"http://${'a'.repeat(28)}!"`, 'valid'],
  ['a URL as long as a body may be', { format: 'url' }, `"http://${'a'.repeat(16_000)} !"`, 'invalid'],
  ['a pattern that was written badly', { pattern: '^(a+)+$' }, `"${'a'.repeat(15_000)}!"`, 'invalid'],
  [
    'unique elements',
    { uniqueItems: true },
    JSON.stringify(Array.from({ length: 3000 }, (_, at) => at)),
    'valid',
  ],
  [
    'a pattern with a thousand states',
    { pattern: '(x+x+)+y(.?){1000}z' },
    `"${'x'.repeat(7_000)}${'y'.repeat(8_000)}"`,
    'unknown',
  ],
  ['nesting', { $ref: '#/components/schemas/List' }, '['.repeat(7000) + ']'.repeat(7000), 'unknown'],
  ['sets of an expression', { format: 'regex' }, JSON.stringify(String.raw`\p{L}`.repeat(2500)), 'unknown'],
  ['a short expression', { format: 'regex' }, JSON.stringify(String.raw`^\p{L}[a-z]{2,}$`), 'valid'],
  [
    'a text within 400 lists that are unique',
    { uniqueItems: true },
    `${'['.repeat(400)}"${'x'.repeat(14_000)}"${',1]'.repeat(400)}`,
    'unknown',
  ],
  [
    'divisions of numbers of 300 digits',
    { items: { multipleOf: 0.01 } },
    `[${'1e308,'.repeat(5500)}1]`,
    'unknown',
  ],
] as const)('%s of a client is judged in bounded time', (_, schema, body, v2) => {
  const schemas = new BodySchemas({
    openapi: '3.1.0',
    paths: { '/clients': { post: { requestBody: { content: { 'application/json': { schema } } } } } },
    components: { schemas: { List: { items: { $ref: '#/components/schemas/List' } } } },
  });
  const given = verdict(schemas, body);
  expect(given).toMatchObject({ v2 });
  if (v2 === 'unknown') expect(given).toEqual({ v2, why: 'too-slow' });
});
