import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, test } from 'vitest';
import { deriveV1 } from '../../../src/openapi/derive/derive-v1.ts';
import { printJsonText, readJsonText } from '../../../src/openapi/description.ts';
import type { RuleBook } from '../../../src/rules/rule-book.ts';
import { bookIn } from '../../rules/reading.ts';

/* oxlint-disable typescript/no-explicit-any -- a description is a tree of anything */

async function rulesOf(changes: string): Promise<RuleBook> {
  const operations = '{ create: POST /things, read: "GET /things/{id}", other: POST /others }';
  return await bookIn(`{ version: 2025-01-01, operations: ${operations}, changes: [${changes}] }`);
}

const json = (schema: unknown, more: object = {}): unknown => ({ 'application/json': { schema, ...more } });
const ref = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
const text = { type: 'string' };

/** V2's description of POST /things with this body, and GET /things/{id} that responds with it as `data`. */
function v2(body: unknown, schemas: object = {}, more: object = {}): any {
  const one = { type: 'object', properties: { data: body } };
  return {
    openapi: '3.1.0',
    info: { title: 'Things V2', version: '2025-01-01' },
    paths: {
      '/api/v2/things': {
        post: {
          requestBody: { content: json(body, more) },
          responses: { 201: { description: 'Created', content: json(one) } },
        },
      },
      '/api/v2/things/{thing}': { get: { responses: { 200: { description: 'OK', content: json(one) } } } },
      '/api/v2/others': { post: { requestBody: { content: json(body) }, responses: {} } },
    },
    components: { schemas },
  };
}

/** The request body of POST /things, or of another path, as V1 has it. */
async function v1Body(body: unknown, changes: string, schemas: object = {}): Promise<any> {
  return requestOf(await derived(v2(body, schemas), changes));
}

/** The description that V1 has of one of V2, by these changes. */
const derived = async (description: any, changes: string): Promise<any> =>
  deriveV1(description, await rulesOf(changes)).description;

const requestOf = (description: any, path = '/api/v1/things'): any =>
  description.paths[path].post.requestBody.content['application/json'].schema;

const on = (request: string): string => `{ id: c, summary: s, on: [create], request: [${request}] }`;

test('a response that is wrapped comes into the member after all other rules', async () => {
  const thing = { type: 'object', properties: { kind: text } };
  const one = v2(thing);
  const read = one.paths['/api/v2/things/{thing}'].get.responses[200];
  read.content = json(thing, { example: { kind: 'x' } });
  const changes = `{ id: w, summary: s, on: [read], response: [{ wrap: data }] },
    { id: c, summary: s, on: [read], response: [{ rename: kind, to: type }] }`;
  const described = (await derived(one, changes)).paths['/api/v1/things/{thing}'].get.responses[200];
  expect(described.content['application/json']).toEqual({
    schema: {
      type: 'object',
      required: ['data'],
      properties: { data: { type: 'object', properties: { type: { ...text, 'x-change': ['c'] } } } },
      'x-change': ['w'],
    },
    example: { data: { type: 'x' } },
  });
});

test('unwrap becomes a wrapper, rename the old name in its place, and nest members in the object around it', async () => {
  const address = { type: 'object', required: ['city'], properties: { city: text, unit: text } };
  const body = {
    type: 'object',
    required: ['address', 'kind'],
    properties: { kind: text, address, note: text },
  };
  const rules = on('{ unwrap: data }, { rename: type, to: kind }, { nest: [city], under: address }');
  const v1 = await v1Body(body, rules);
  const mark = { 'x-change': ['c'] };
  expect(v1).toEqual({
    type: 'object',
    required: ['data'],
    properties: {
      data: {
        type: 'object',
        required: ['address', 'type', 'city'],
        properties: {
          type: { ...text, ...mark },
          address: { type: 'object', properties: { unit: text }, ...mark },
          city: { ...text, ...mark },
          note: text,
        },
      },
    },
    ...mark,
  });
  expect(Object.keys(v1.properties.data.properties)).toEqual(['type', 'address', 'city', 'note']);
});

test('an object that loses all of its members is gone, with its requirement', async () => {
  const address = {
    anyOf: [{ type: 'object', required: ['city'], properties: { city: text } }, { type: 'null' }],
  };
  const v1 = await v1Body(
    { type: 'object', required: ['address'], properties: { address } },
    on('{ nest: [city], under: address }'),
  );
  // Optional in V1, as an address of null has no city.
  expect(v1).toEqual({ type: 'object', properties: { city: { ...text, 'x-change': ['c'] } } });
});

test.each([
  ['{ move: price, to: price.amount }', 'price', ['price'], ['amount'], true],
  ['{ move: price, to: price.amount }', 'price', [], ['amount'], false],
  ['{ move: price, to: price.amount }', 'price', [], [], false],
  ['{ move: cost, to: price.amount }', 'cost', ['price'], ['amount'], true],
  ['{ move: cost, to: price.amount }', 'cost', [], ['amount'], false],
  ['{ nest: [amount], under: price }', 'amount', ['price'], ['amount'], true],
  ['{ nest: [amount], under: price }', 'amount', [], ['amount'], false],
  ['{ rename: cost, to: amount }, { move: amount, to: price.amount }', 'cost', ['price'], ['amount'], true],
  ['{ rename: cost, to: amount }, { move: amount, to: price.amount }', 'cost', [], ['amount'], false],
])(
  'a member that V2 has in an object is required in V1 if both are in V2: %s, %s %j %j',
  async (rules, name, around, inside, isRequired) => {
    const price = { type: 'object', required: inside, properties: { amount: { type: 'number' } } };
    const body = { type: 'object', required: around, properties: { price } };
    const v1 = await v1Body(body, on(rules));
    expect(v1.properties).toEqual({ [name]: { type: 'number', 'x-change': ['c'] } });
    expect((v1.required ?? []).includes(name)).toBe(isRequired);
  },
);

test('strip adds a deprecated member, and only lets the object have others', async () => {
  const closed = { type: 'object', additionalProperties: false, properties: { name: text } };
  expect(await v1Body(closed, on('{ strip: legacy }'))).toEqual({
    ...closed,
    properties: { name: text, legacy: { deprecated: true, 'x-change': ['c'] } },
  });
  expect(await v1Body(closed, on('{ only: [name] }'))).toEqual({
    type: 'object',
    properties: { name: text },
    'x-change': ['c'],
  });
});

test.each([
  ['the value of a default is removed again', '{ default: { a: x } }', { a: text }, [], { a: text }],
  [
    'a list may be empty',
    '{ list: b, to: a }',
    { a: { type: 'array', items: text } },
    ['b'],
    { b: { anyOf: [{ ...text, 'x-change': ['c'] }, { enum: [null] }], 'x-change': ['c'] } },
  ],
])('a response lacks what its inverse may not find: %s', async (_, rule, properties, required, expected) => {
  const changes = on(rule).replace(/ }$/, ', response: inverse }');
  const description = await derived(v2({ type: 'object', required: ['a'], properties }), changes);
  const { get } = description.paths['/api/v1/things/{thing}'];
  const { data } = get.responses[200].content['application/json'].schema.properties;
  expect([data.required ?? [], data.properties]).toMatchObject([required, expected]);
});

test('an edited component leaves other users of it alone', async () => {
  const schemas = {
    Thing: { type: 'object', properties: { kind: text, owner: ref('Owner') } },
    Owner: { type: 'object' },
  };
  const description = await derived(v2(ref('Thing'), schemas), on('{ rename: type, to: kind }'));
  const { components, paths } = description;
  expect(requestOf(description, '/api/v1/others')).toEqual(ref('Thing'));
  expect(requestOf(description)).toEqual(ref('ThingV1'));
  expect(components.schemas.Thing).toEqual(schemas.Thing);
  expect(Object.keys(components.schemas.ThingV1.properties)).toEqual(['type', 'owner']);
  expect(paths['/api/v1/things/{thing}'].get['x-change']).toBeUndefined();
  expect(paths['/api/v1/things'].post['x-change']).toEqual(['c']);
});

test('a component that every user needs edited keeps its name, and one without users is removed', async () => {
  const schemas = {
    Thing: { type: 'object', properties: { address: ref('Address') } },
    Address: { type: 'object', properties: { city: text } },
    Unused: text,
  };
  const everywhere = `{ id: c, summary: s, on: [create, other], request: [{ nest: [city], under: address }] },
    { id: r, summary: s, on: [create, read], response: [{ flatten: data.address }] }`;
  const changed = deriveV1(v2(ref('Thing'), schemas), await rulesOf(everywhere)).description as any;
  expect(changed.components.schemas).toEqual({
    Thing: { type: 'object', properties: { city: { ...text, 'x-change': ['c'] } } },
    ThingV1: {
      type: 'object',
      properties: { address: ref('Address'), city: { ...text, 'x-change': ['r'] } },
    },
    Address: schemas.Address,
    Unused: text,
  });
  const request = `{ id: c, summary: s, on: [create, other], request: [{ nest: [city], under: address }] }`;
  const bodies = v2(ref('Thing'), schemas);
  delete bodies.paths['/api/v2/things/{thing}'];
  bodies.paths['/api/v2/things'].post.responses = {};
  const gone = await derived(bodies, request);
  expect(Object.keys(gone.components.schemas)).toEqual(['Thing', 'Unused']);
});

test('a member that V1 had as null where V2 leaves it out may be null', async () => {
  const thing = {
    type: 'object',
    properties: { address: { type: 'object', properties: { city: text } }, kind: text },
  };
  const rules = `{ id: c, summary: s, on: [create], request: [{ unwrap: data }, { nest: [city, zip], under: address }],
    response: [{ inverse: true, members: null }] }`;
  const bodies = v2({ type: 'object' });
  const content = { 'application/json': { schema: { type: 'object', properties: { data: thing } } } };
  bodies.paths['/api/v2/things'].post.responses = { 201: { description: 'Created', content } };
  const v1 = await derived(bodies, rules);
  const { responses } = v1.paths['/api/v1/things'].post;
  expect(responses[201].content['application/json'].schema.properties.data.properties).toEqual({
    city: { anyOf: [{ ...text, 'x-change': ['c'] }, { enum: [null] }], 'x-change': ['c'] },
    zip: { 'x-change': ['c'] },
    kind: text,
  });
});

test('schemas that refer to themselves, to parts and to alternatives are edited to the depth of the path', async () => {
  const schemas = {
    Node: {
      allOf: [ref('Base'), { type: 'object', required: ['kind'], properties: { child: ref('Node') } }],
    },
    Base: { type: 'object', properties: { kind: text } },
    Loop: { anyOf: [ref('Loop'), ref('Node')] },
  };
  const v1 = deriveV1(v2(ref('Loop'), schemas), await rulesOf(on('{ rename: child.type, to: kind }')))
    .description as any;
  const { components } = v1;
  expect(requestOf(v1)).toEqual(ref('LoopV1'));
  expect(components.schemas.LoopV1).toEqual({ anyOf: [ref('LoopV1'), ref('NodeV1')] });
  // Two levels: the one that holds the child, and the child itself.
  expect(components.schemas.NodeV1.allOf[1].properties.child).toEqual(ref('NodeV1_2'));
  expect(components.schemas.NodeV1_2.allOf[0]).toEqual(ref('BaseV1'));
  expect(components.schemas.NodeV1_2.allOf[1].required).toEqual(['type']);
  expect(Object.keys(components.schemas.BaseV1.properties)).toEqual(['type']);
});

test('examples, defaults and discriminators follow', async () => {
  const body = {
    type: 'object',
    discriminator: { propertyName: 'kind', mapping: { a: '#/components/schemas/A' } },
    properties: { kind: text, address: { type: 'object', properties: { city: text } } },
    example: { kind: 'a', address: { city: 'x' } },
  };
  const description = v2(
    body,
    { A: text },
    { example: { address: { city: 'y' }, kind: 'b' }, examples: { one: { value: { kind: 'c' } } } },
  );
  const rules = on('{ unwrap: data }, { rename: type, to: kind }, { nest: [city], under: address }');
  const v1 = await derived(description, rules);
  const media = v1.paths['/api/v1/things'].post.requestBody.content['application/json'];
  expect(media.example).toEqual({ data: { city: 'y', type: 'b' } });
  expect(media.examples.one.value).toEqual({ data: { type: 'c' } });
  expect(media.schema.properties.data.example).toEqual({ type: 'a', city: 'x' });
  expect(media.schema.properties.data.discriminator.propertyName).toBe('type');
});

test('referenced bodies, parameters, responses and headers are followed', async () => {
  const description = v2({ type: 'object', properties: { kind: text } });
  const { post } = description.paths['/api/v2/things'];
  description.components = {
    requestBodies: { Thing: post.requestBody },
    parameters: {
      version: { name: 'X-Api-Version', in: 'header', schema: text },
      page: { name: 'page', in: 'query', schema: text },
    },
    headers: { version: { schema: text } },
    responses: {
      Created: {
        description: 'Created',
        headers: { 'x-api-version': { $ref: '#/components/headers/version' } },
      },
    },
  };
  post.requestBody = { $ref: '#/components/requestBodies/Thing' };
  post.parameters = [{ $ref: '#/components/parameters/version' }, { $ref: '#/components/parameters/page' }];
  post.responses = {
    201: { $ref: '#/components/responses/Created' },
    default: { $ref: '#/components/responses/Created' },
  };
  const v1 = await derived(description, on('{ rename: type, to: kind }'));
  expect(requestOf(v1).properties).toEqual({ type: { ...text, 'x-change': ['c'] } });
  expect(v1.paths['/api/v1/things'].post.parameters).toEqual([{ $ref: '#/components/parameters/page' }]);
  expect(v1.paths['/api/v1/things'].post.responses[201]).toEqual({ description: 'Created', headers: {} });
  expect(Object.keys(v1.components)).toEqual(['parameters']);
});

test('a parameter of V2’s path becomes one of V1’s query, and several become one again', async () => {
  const operations = `{
    of: { match: 'GET /runs?project_id={id}', to: 'GET /things/{id}' },
    split: { match: 'GET /names/{name}', to: 'GET /teams/{team}/names/{own}', parameters: [{ split: name, with: /, to: [team, own] }] } }`;
  const integer = { type: 'integer' };
  const description = v2(text);
  const named = (...names: readonly string[]) =>
    names.map((name) => ({ name, in: 'path', required: true, schema: integer }));
  description.paths['/api/v2/things/{thing}'].get.parameters = named('thing');
  description.paths['/api/v2/teams/{a}/names/{b}'] = { get: { parameters: named('a', 'b'), responses: {} } };
  const book = await bookIn(`{ operations: ${operations}, changes: [] }`);
  const { paths } = (deriveV1(description, book) as any).description;
  expect(paths['/api/v1/runs'].get.parameters).toEqual([
    { name: 'project_id', in: 'query', required: true, schema: integer },
  ]);
  expect(paths['/api/v1/names/{name}'].get.parameters).toEqual([
    { name: 'name', in: 'path', required: true, schema: { type: 'string' } },
  ]);
});

test('an operation that is gone is described with its sentence, even if V2 has something at its path', async () => {
  const operations =
    "{ create: { match: POST /things, gone: Use it. }, old: { match: 'GET /old/{id}', gone: Gone. } }";
  const { paths } = (deriveV1(v2(text), await bookIn(`{ operations: ${operations}, changes: [] }`)) as any)
    .description;
  expect(paths['/api/v1/things'].post).toEqual({
    operationId: 'create',
    deprecated: true,
    responses: { 410: { description: 'Use it.' } },
  });
  expect(paths['/api/v1/old/{id}'].get).toMatchObject({ operationId: 'old', parameters: [{ name: 'id' }] });
});

test('the release in the query goes, and media types are those of V1', async () => {
  const content = { 'application/vnd.a.v2+json; charset=utf-8': { schema: text }, 'application/json': {} };
  const description = {
    ...v2(text),
    paths: {
      '/api/v2/things': {
        get: {
          parameters: [
            { name: 'v', in: 'query', schema: text },
            { name: 'w', in: 'query', schema: text },
          ],
          responses: { 200: { description: 'OK', content } },
        },
      },
    },
  };
  const of = async (version: string): Promise<any> =>
    (deriveV1(description, await bookIn(`{ version: ${version}, changes: [] }`)) as any).description.paths[
      '/api/v1/things'
    ].get;
  const byQuery = await of("{ query: v, value: '2' }");
  expect(byQuery.parameters.map(({ name }: any) => name)).toEqual(['w']);
  const byMedia = await of("{ accept: 'application/vnd.a.v{}+json', value: '2', v1: ['1', '0'] }");
  expect(byMedia.parameters.length).toBe(2);
  expect(Object.keys(byMedia.responses[200].content)).toEqual([
    'application/vnd.a.v1+json; charset=utf-8',
    'application/json',
  ]);
});

test.each([
  [{ from: '', to: '/api/v2' }, ['/things'], ['https://api.example', '/']],
  [{ from: '', to: '/api/v2' }, ['/'], [], '/api/v2'],
  [{ from: '/v1', to: '' }, ['/v1/api/v2/things'], ['https://api.example/api/v2', '/api/v2']],
  [{ from: '/v1', to: '' }, ['/v1'], [], '/'],
])('of a version at the root, %j', async (prefixes, paths, servers, path = '/api/v2/things') => {
  const description = {
    ...v2(text),
    servers: [{ url: 'https://api.example/api/v2' }, { url: '/api/v2' }],
    paths: { [path]: { get: { responses: {} } } },
  };
  const v1 = deriveV1(description, { ...(await rulesOf('')), ...prefixes }) as any;
  expect(Object.keys(v1.description.paths)).toEqual(paths);
  if (servers.length > 0) expect(v1.description.servers.map(({ url }: any) => url)).toEqual(servers);
  expect(v1.notes).toEqual([]);
});

test('prefix and servers change, and everything else stays as in V2', async () => {
  const description = v2(text);
  description.servers = [{ url: 'https://api.example/api/v2' }, { url: '/' }];
  description.paths['/api/v2/things'].post.callbacks = {
    x: { '{$url}': { post: { operationRef: '#/paths/~1api~1v2~1things/post' } } },
  };
  const v1 = deriveV1(description, await rulesOf(on('{ rename: type, to: kind }'))) as any;
  expect(v1.description.servers).toEqual([{ url: 'https://api.example/api/v1' }, { url: '/' }]);
  expect(Object.keys(v1.description.paths)).toEqual([
    '/api/v1/things',
    '/api/v1/things/{thing}',
    '/api/v1/others',
  ]);
  expect(JSON.stringify(v1.description.paths['/api/v1/things'].post.callbacks)).toContain(
    '#/paths/~1api~1v1~1things/post',
  );
  expect(v1.notes).toEqual(['change "c": V2\'s description does not show kind, which its rename names']);
  expect(v1.description.info).toEqual({
    title: 'Things V1',
    version: '2025-01-01',
    'x-derived-from': { release: '2025-01-01', 'rule-book': expect.stringMatching(/^[0-9a-f]{16}$/) },
  });
});

test('parts that cannot be read are named', async () => {
  const description = v2({ $ref: 'other.json#/Thing' });
  description.paths = { '/things': description.paths['/api/v2/things'] };
  const { notes } = deriveV1(description, await rulesOf(on('{ unwrap: data }, { rename: type, to: kind }')));
  expect(notes).toEqual([
    'neither a path nor a server of the description is below /api/v2; its paths are taken as relative to it',
    'other.json#/Thing is in another document and was not read',
    'change "c": V2\'s description does not show kind, which its rename names',
  ]);
});

test('data and members with the names of keywords are not taken for keywords', async () => {
  const member = { $ref: '#/components/schemas/Thing' };
  const body = {
    type: 'object',
    properties: { default: member, value: member, enum: member, kind: text },
    example: { $ref: '#/components/schemas/Gone' },
  };
  const v1 = deriveV1(
    v2(body, { Thing: { type: 'object', properties: { kind: text } } }),
    await rulesOf(on('{ rename: default.type, to: kind }')),
  ).description;
  const { properties, example } = requestOf(v1);
  expect([properties.default, properties.value, properties.enum]).toEqual([ref('ThingV1'), member, member]);
  expect(example).toEqual({ $ref: '#/components/schemas/Gone' });
});

test('a member called __proto__ is a member', async () => {
  const body = readJsonText(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"kind":{"type":"string"}}}',
  );
  const v1 = await v1Body(body, on('{ rename: type, to: kind }'));
  expect(Object.keys(v1.properties)).toEqual(['__proto__', 'type']);
  expect(({} as any).type).toBeUndefined();
});

test('numbers beyond a double keep their text', () => {
  const text =
    '{"maximum":9223372036854775807,"exclusiveMaximum":18446744073709551616,"minimum":1.5,"x":1e3}';
  expect(printJsonText(readJsonText(text))).toBe(text.replace('1e3', '1000'));
  expect(readJsonText('{')).toBeUndefined();
});

test('a derived description is valid OpenAPI 3.0 and 3.1', async () => {
  const rules = await rulesOf(
    on('{ unwrap: data }, { rename: type, to: kind }, { nest: [city], under: address }, { strip: old }'),
  );
  for (const openapi of ['3.0.3', '3.1.0']) {
    const schemas = {
      Thing: { type: 'object', properties: { kind: ref('Kind'), address: ref('Address') } },
      Kind: text,
      Address: { type: 'object', properties: { city: ref('Kind') } },
    };
    const description = { ...v2(ref('Thing'), schemas), openapi };
    description.paths['/api/v2/others'].post.responses = { 200: { description: 'OK' } };
    description.paths['/api/v2/things/{thing}'].get.parameters = [
      { name: 'thing', in: 'path', required: true, schema: text },
    ];
    const outcome = await new Validator().validate(deriveV1(description, rules).description);
    expect(outcome.errors ?? []).toEqual([]);
    expect(outcome.valid).toBe(true);
  }
});

test('mapped values and query parameters are V1’s again', async () => {
  const kind = { type: 'string', enum: ['a', 'b', 'z'], default: 'a' };
  const description = v2(
    { type: 'object', properties: { kind, nested: { $ref: '#/components/schemas/Kind' } } },
    { Kind: kind },
  );
  description.paths['/api/v2/things/{thing}'].get.parameters = [
    { name: 'sort_by', in: 'query', schema: { type: 'string', enum: ['up', 'down'] } },
    { name: 'sort', in: 'header', schema: text },
  ];
  const rules =
    await rulesOf(`{ id: m, summary: s, on: [create], request: [{ map: { one: a, two: b, 2: b }, of: kind }, { map: { one: a }, of: nested }], response: inverse },
    { id: q, summary: s, on: [read], query: [{ rename: order, to: sort_by }, { map: { asc: up }, of: sort_by }, { strip: old }] }`);
  const { description: derived, notes } = deriveV1(description, rules);
  const v1 = derived as any;
  expect(notes).toEqual([]);
  const { properties } = requestOf(v1);
  expect(properties.kind).toEqual({
    ...kind,
    enum: ['one', 2, 'two', 'z'],
    default: 'one',
    'x-change': ['m'],
  });
  expect(properties.nested).toEqual(ref('KindV1'));
  expect(v1.components.schemas.KindV1.enum).toEqual(['one', 'b', 'z']);
  const { get } = v1.paths['/api/v1/things/{thing}'];
  // Two values of V1 lead to b: which one a response means is not known.
  const answered = get.responses[200].content['application/json'].schema.properties.data.properties.kind;
  expect(answered.enum).toEqual(['one', 'b', 'z']);
  expect(get.parameters).toEqual([
    { name: 'order', in: 'query', schema: { type: 'string', enum: ['asc', 'down'] }, 'x-change': ['q'] },
    { name: 'sort', in: 'header', schema: text },
    { name: 'old', in: 'query', deprecated: true, schema: {}, 'x-change': ['q'] },
  ]);
  expect(get['x-change']).toEqual(['q', 'm']);
});

test('a default response has the statuses that no other key names, and a range of media types is JSON', async () => {
  const rules = await rulesOf(
    '{ id: n, summary: s, on: [create], request: [{ rename: old, to: young }], response: inverse }',
  );
  const body = { type: 'object', properties: { young: text } };
  const one = { type: 'object', properties: { data: body } };
  const respond = (responses: object): string => {
    const description = v2(body);
    description.paths['/api/v2/things'].post.responses = responses;
    return JSON.stringify(
      (deriveV1(description, rules).description as any).paths['/api/v1/things'].post.responses,
    );
  };
  for (const media of ['application/json', 'application/*', '*/*']) {
    expect(respond({ default: { content: { [media]: { schema: one } } } })).toContain('"old"');
  }
  // A response of V2 other than its successes is not a resource.
  const listed = { '2XX': { content: json(one) }, default: { content: json(one) } };
  expect(respond(listed).match(/"old"/g)).toHaveLength(1);
});

test.each<readonly [resource: string, wrapped: (schema: object) => object]>([
  ["''", (schema) => schema],
  ["''", (schema) => ({ type: 'array', items: schema })],
  ['page.items', (items) => ({ properties: { page: { properties: { items } } } })],
])('an inverse follows resource: %s', async (resource, wrapped) => {
  const bill = (name: string, schema: object): object => ({ type: 'object', properties: { [name]: schema } });
  const described = v2({});
  described.paths['/api/v2/things/{thing}'].get.responses[200].content = json(wrapped(bill('young', text)));
  const ruleBook =
    await bookIn(`{ version: 2025-01-01, resource: ${resource}, operations: { create: POST /things, read: 'GET /things/{id}' },
       changes: [{ id: c, summary: s, on: [create], request: [{ rename: old, to: young }], response: inverse }] }`);
  const { description } = deriveV1(described, ruleBook);
  const derived = (description as any).paths['/api/v1/things/{thing}'].get.responses[200].content;
  expect(derived['application/json'].schema).toEqual(wrapped(bill('old', { ...text, 'x-change': ['c'] })));
});

test('header parameters have the names and values of V1, of every method', async () => {
  const described = v2({});
  const header = (name: string, schema: object = text): object => ({ name, in: 'header', schema });
  described.paths['/api/v2/things/{thing}'].get.parameters = [
    header('x-tenant-id'),
    header('Prefer'),
    header('X-Mode', { enum: ['express', 'slow'] }),
    header('Authorization'),
    header('X-Other'),
    header('X-Rev'),
  ];
  const ruleBook =
    await bookIn(`{ version: { header: X-Rev, value: v7, form: text }, operations: { read: 'GET /things/{id}' },
       changes: [{ id: c, summary: s, on: every, headers: [{ rename: X-Account, to: X-Tenant-Id }, { set: Prefer, to: v },
         { map: { fast: express }, of: X-Mode }, { query: api_key, to: Authorization }] }] }`);
  const { description } = deriveV1(described, ruleBook);
  const { parameters } = (description as any).paths['/api/v1/things/{thing}'].get;
  const mark = { 'x-change': ['c'] };
  expect(parameters).toEqual([
    { ...header('X-Account'), ...mark },
    expect.objectContaining({ name: 'X-Mode', schema: expect.objectContaining({ enum: ['fast', 'slow'] }) }),
    { ...header('Authorization'), name: 'api_key', in: 'query', ...mark },
    header('X-Other'),
  ]);
});

test('an operation that moved is described where V1 had it', async () => {
  const ruleBook = await bookIn(`version: 2025-01-01
operations:
  create: { match: POST /bills, to: POST /invoices, status: { 201: 200 } }
  lines: { match: 'GET /bills/{id}/lines', to: 'GET /lines?invoice={id}&kind=bill' }
  close: { match: 'POST /bills/{no}/close', to: 'PATCH /invoices/inv_{no}' }
  read: GET /bills
changes:
  - { id: n, summary: s, on: [create], request: [{ rename: old, to: young }], response: inverse }
`);
  const thing = { type: 'object', properties: { young: text } };
  const wrapped = { content: json({ type: 'object', properties: { data: thing } }) };
  const id = { name: 'invoice_id', in: 'path', required: true, schema: { type: 'string', minLength: 5 } };
  const description = {
    openapi: '3.1.0',
    info: { title: 'V2', version: '2' },
    paths: {
      '/api/v2/invoices': {
        post: { requestBody: { content: json(thing) }, responses: { 201: wrapped, 422: {} } },
      },
      '/api/v2/invoices/{invoice_id}': { parameters: [id], patch: { responses: {} }, get: { responses: {} } },
      '/api/v2/lines': {
        get: {
          parameters: [
            { name: 'invoice', in: 'query', schema: { type: 'integer' } },
            { name: 'kind', in: 'query', schema: text },
            { name: 'page', in: 'query', schema: text },
          ],
          responses: {},
        },
      },
      '/api/v2/bills': { get: { responses: {} } },
    },
  };
  const { paths } = deriveV1(description, ruleBook).description as any;
  expect(Object.keys(paths).sort()).toEqual([
    '/api/v1/bills',
    '/api/v1/bills/{id}/lines',
    '/api/v1/bills/{no}/close',
    '/api/v1/invoices/{invoice_id}',
  ]);
  expect(Object.keys(paths['/api/v1/bills']).sort()).toEqual(['get', 'post']);
  const { post } = paths['/api/v1/bills'];
  expect(JSON.stringify(post.requestBody)).toContain('"old"');
  expect(Object.keys(post.responses)).toEqual(['200', '422']);
  expect(JSON.stringify(post.responses[200])).toContain('"old"');
  expect(paths['/api/v1/bills/{id}/lines'].get.parameters).toEqual([
    { name: 'id', in: 'path', required: true, schema: { type: 'integer' } },
    { name: 'page', in: 'query', schema: text },
  ]);
  expect(paths['/api/v1/bills/{no}/close'].post.parameters).toEqual([{ ...id, name: 'no' }]);
  expect(Object.keys(paths['/api/v1/invoices/{invoice_id}'])).toEqual(['parameters', 'get']);
});

test.each<[string, object | undefined, object | undefined]>([
  ['by reference', { cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog' }, undefined],
  ['by name', { cat: 'Cat', dog: 'Dog' }, undefined],
  ['by the name of the component alone', undefined, { Cat: 'CatV1', Dog: undefined }],
])('a discriminator that maps %s leads to the variants of V1', async (_name, mapping, implied) => {
  const pet = (name: string): object => ({ type: 'object', properties: { kind: text, [name]: text } });
  const body = {
    oneOf: [ref('Cat'), ref('Dog')],
    discriminator: { propertyName: 'kind', ...(mapping === undefined ? {} : { mapping }) },
  };
  const description = await derived(
    v2(body, { Cat: pet('young'), Dog: pet('tail') }),
    on('{ rename: old, to: young }'),
  );
  const { oneOf, discriminator } = requestOf(description);
  // Another operation has V2's form, and so its name.
  expect(oneOf).toEqual([ref('CatV1'), ref('Dog')]);
  const { components }: any = description;
  expect(components.schemas.CatV1.properties.old).toMatchObject(text);
  expect(discriminator.mapping).toEqual(
    implied === undefined
      ? { cat: '#/components/schemas/CatV1', dog: expect.stringMatching(/Dog$/) }
      : { Cat: '#/components/schemas/CatV1' },
  );
  const other = requestOf(description, '/api/v1/others');
  expect(other.discriminator).toEqual(body.discriminator);
});

test('a discriminator of a schema that others extend leads to their variants', async () => {
  const schemas = {
    Pet: {
      type: 'object',
      properties: { kind: text, young: text },
      discriminator: { propertyName: 'kind', mapping: { cat: '#/components/schemas/Cat' } },
    },
    Cat: { allOf: [ref('Pet'), { properties: { fur: text } }] },
  };
  const description = await derived(v2(ref('Pet'), schemas), on('{ rename: old, to: young }'));
  const { components }: any = description;
  const { PetV1, CatV1, Pet } = components.schemas;
  expect(PetV1.discriminator.mapping).toEqual({ cat: '#/components/schemas/CatV1' });
  expect(CatV1.allOf[0]).toEqual(ref('PetV1'));
  expect(Pet.discriminator).toEqual(schemas.Pet.discriminator);
});

test('the values that a discriminator chooses by are those of V1', async () => {
  const body = {
    type: 'object',
    properties: { kind: { enum: ['feline', 'dog'] } },
    discriminator: { propertyName: 'kind', mapping: { feline: '#/components/schemas/Cat' } },
  };
  const { discriminator } = await v1Body(body, on('{ map: { cat: feline }, of: kind }'), { Cat: text });
  expect(discriminator.mapping).toEqual({ cat: '#/components/schemas/Cat' });
});

test('a rule for any depth is undone at every depth, and in what refers to itself', async () => {
  const node = (name: string): object => ({
    type: 'object',
    properties: { [name]: text, children: { type: 'array', items: ref('Node') } },
    example: { [name]: 'x', children: [{ [name]: 'y' }] },
  });
  const body = {
    type: 'object',
    properties: { b: text, tree: ref('Node'), x: { type: 'object', properties: { b: text } } },
  };
  const description = await derived(v2(body, { Node: node('b') }), on("{ rename: a, to: b, in: '**' }"));
  const v1 = requestOf(description);
  const mark = { 'x-change': ['c'] };
  expect(v1.properties.a).toEqual({ ...text, ...mark });
  expect(v1.properties.x.properties).toEqual({ a: { ...text, ...mark } });
  const name = v1.properties.tree.$ref.split('/').at(-1);
  const tree = description.components.schemas[name];
  expect(tree.properties).toEqual({ a: { ...text, ...mark }, children: { type: 'array', items: ref(name) } });
  expect(tree.example).toEqual({ a: 'x', children: [{ a: 'y' }] });
});

test.each<[rule: string, v2: object, v1: object]>([
  ["{ list: a, with: ',' }", { name: 'a', style: 'form', explode: true }, { explode: false }],
  ["{ list: a, with: '|', to: 'a[]' }", { name: 'a[]' }, { style: 'pipeDelimited', explode: false }],
  ["{ list: a, with: '; ' }", { name: 'a' }, { schema: text }],
  ["{ unlist: a, with: ',' }", { name: 'a', explode: false }, { style: 'form', explode: true }],
  ["{ unlist: a, with: ',', to: b }", { name: 'b', schema: text }, { style: 'form', explode: true }],
])('a list in a query is written as V1 has it: %s', async (rule, young, old) => {
  const description = v2({ type: 'object' });
  const list = { in: 'query', schema: { type: 'array', items: text } };
  description.paths['/api/v2/things'].post.parameters = [{ ...list, ...young }];
  const book = `{ id: c, summary: s, on: [create], query: [${rule}] }`;
  const { paths } = await derived(description, book);
  expect(paths['/api/v1/things'].post.parameters).toEqual([
    expect.objectContaining({ ...list, name: 'a', ...old }),
  ]);
});

test('a copy of a query parameter is in V2 alone', async () => {
  const description = v2({ type: 'object' });
  const parameter = (name: string): object => ({ name, in: 'query', schema: text });
  description.paths['/api/v2/things'].post.parameters = [parameter('a'), parameter('b')];
  const book = `{ id: c, summary: s, on: [create], query: [{ copy: a, to: b }, { copy: a, to: x }] }`;
  const { paths } = await derived(description, book);
  expect(paths['/api/v1/things'].post.parameters).toEqual([parameter('a')]);
});

test('a list is described as in V1, in both directions', async () => {
  const email = { type: 'object', required: ['address'], properties: { address: text, id: text } };
  const pair = { type: 'object', properties: { key: text, value: ref('Value') } };
  const body = {
    type: 'object',
    required: ['tags'],
    properties: {
      tags: { type: ['array', 'null'], description: 'Tags', items: text, example: ['a', 'b'] },
      emails: { type: 'array', items: ref('Email'), examples: [[{ address: 'x' }]] },
      fields: { type: 'array', items: pair, example: [{ key: 'a', value: 1 }] },
    },
  };
  const rules = `{ list: tags, with: ',' }, { list: mails, of: address, to: emails }, { entries: fields, name: key, value: value }`;
  const schemas = { Email: email, Value: { type: 'number' } };
  const mark = { 'x-change': ['c'] };
  const v1 = await v1Body(body, on(rules), schemas);
  expect(v1).toEqual({
    type: 'object',
    required: ['tags'],
    properties: {
      tags: { type: ['string', 'null'], description: 'Tags', ...mark },
      mails: { type: 'array', items: text, ...mark },
      fields: { type: 'object', additionalProperties: ref('Value'), ...mark },
    },
  });
  const back = `{ unlist: tags, with: ',' }, { unlist: mails, of: address }, { unlist: fields, name: key, value: value }`;
  const plain = {
    type: 'object',
    properties: {
      tags: text,
      mails: { type: 'array', items: text },
      fields: { type: 'object', additionalProperties: ref('Value') },
    },
  };
  expect(await v1Body(plain, on(back), schemas)).toEqual({
    type: 'object',
    properties: {
      tags: { type: 'array', items: text, ...mark },
      mails: {
        type: 'array',
        items: { type: 'object', required: ['address'], properties: { address: text } },
        ...mark,
      },
      fields: {
        type: 'array',
        items: {
          type: 'object',
          required: ['key', 'value'],
          properties: { key: text, value: ref('Value') },
        },
        ...mark,
      },
    },
  });
});

test('a copy is only in V2, and one that a response rule makes only in V1', async () => {
  const agent = { type: 'object', required: ['id'], properties: { id: text } };
  const object = (properties: object): object => ({ type: 'object', properties });
  const v1 = await v1Body(
    object({ agent, agentId: text, meta: object({ agent: text }) }),
    on('{ copy: agent.id, to: agentId }, { copy: agent.id, to: meta.agent }'),
  );
  expect(v1).toEqual(object({ agent }));
  const book = `{ id: c, summary: s, on: [create], request: [{ copy: agent.id, to: meta.agent }], response: inverse },
    { id: d, summary: s, on: [read], response: [{ copy: data.agent.id, to: data.agentId }] }`;
  const { paths } = await derived(v2(object({ agent, meta: object({ agent: text }) })), book);
  const read = paths['/api/v1/things/{thing}'].get.responses[200].content['application/json'].schema;
  expect(read.properties.data).toEqual({
    type: 'object',
    properties: { agent, agentId: { ...text, 'x-change': ['d'] } },
  });
});
