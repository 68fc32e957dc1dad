import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CommandRun, commandRun } from '../../support/command-runs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const folder = temporaryFolder('draft');

function file(name: string, value: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(value));
  return path;
}

function run(...args: string[]): Promise<CommandRun> {
  return commandRun(['draft', ...args]);
}

const description = (prefix: string, schema: unknown): unknown => ({
  openapi: '3.0.3',
  info: { title: 'Orders', version: '2025-01-01' },
  paths: {
    [`${prefix}/orders`]: {
      post: {
        operationId: 'order',
        requestBody: { content: { 'application/json': { schema } } },
        responses: {},
      },
    },
  },
});

const text = { type: 'string' };
const v2Body = {
  type: 'object',
  required: ['count'],
  additionalProperties: false,
  properties: {
    count: { type: 'integer' },
    note: { type: 'string', nullable: true },
    address: { type: 'object', properties: { city: text, state: text } },
  },
};
const v2 = file('v2.json', description('/api/v2', v2Body));

const har = (...bodies: unknown[]): string =>
  file('requests.har', {
    log: {
      entries: bodies.map((body) => ({
        request: {
          method: 'POST',
          url: 'https://api.example/api/v1/orders',
          headers: [{ name: 'Content-Type', value: 'application/json' }],
          postData: { text: JSON.stringify(body) },
        },
      })),
    },
  });

test('recorded requests choose the operations of a draft, and the operations left out are named', async () => {
  const two = (prefix: string): Record<string, unknown> => {
    const one = Object(description(prefix, v2Body)) as { readonly paths: object };
    const read = { get: { operationId: 'read', responses: {} } };
    return { ...one, paths: { ...one.paths, [`${prefix}/orders/{id}`]: read, [`${prefix}/notes`]: read } };
  };
  const both = ['--v1', file('two1.json', two('/api/v1')), '--v2', file('two2.json', two('/api/v2'))];
  const used = har({ count: 1 });
  const left =
    '2 operations of V1 that no recorded request is for were left out; draft without recorded requests for all of them.';
  const { out, err } = await run(...both, '--har', used);
  expect(err).toContain(`${left}\n`);
  expect(out).toContain(`# ${left}\n`);
  expect(out).toMatch(/operations:\n {2}order: POST \/orders\n\nchanges/);
  // They are below the prefix that the descriptions tell.
  const legacy = [
    '--v1',
    file('legacy1.json', two('/legacy/v1')),
    '--v2',
    file('legacy2.json', two('/legacy/v2')),
  ];
  const below = file('legacy.har', {
    log: {
      entries: [{ request: { method: 'GET', url: 'https://api.example/legacy/v1/notes', headers: [] } }],
    },
  });
  expect((await run(...legacy, '--har', below)).out).toMatch(/operations:\n {2}\w+: GET \/notes\n\nchanges/);
  // Named operations are drafted, and requests that match no operation of V1 leave none out.
  const named = await run(...both, '--har', used, '--only', 'GET /notes');
  expect(named.out).toMatch(/operations:\n {2}\w+: GET \/notes\n\nchanges/);
  expect(named.err).not.toContain('of V1 that no recorded');
  const foreign = file('foreign.har', {
    log: { entries: [{ request: { method: 'GET', url: 'https://api.example/elsewhere', headers: [] } }] },
  });
  const all = await run(...both, '--har', foreign);
  expect(all.out).toContain('GET /notes');
  expect(all.err).not.toContain('of V1 that no recorded');
});

test('a draft from two descriptions names the recorded requests that V2 would refuse', async () => {
  const inner = {
    type: 'object',
    properties: { count: { type: 'integer' }, note: text, city: text, state: text, old: text },
  };
  const v1 = file('v1.json', description('/api/v1', { type: 'object', properties: { data: inner } }));
  const requests = har(
    { data: { count: 1, note: null, city: 'x' } },
    { data: { count: 'two', more: 1 } },
    { data: 1 },
  );
  const out = join(folder, 'rules.yaml');
  const { code, err } = await run('--v1', v1, '--v2', v2, '--har', requests, '--out', out);
  const book = readFileSync(out, 'utf8');
  expect(book).toContain('- { unwrap: data }');
  expect(book).toContain('- { nest: [city, state], under: address }');
  expect(book).toContain('- { strip: old }');
  expect(book).toMatch(
    /# confidence 0\.\d\d: V2's description does not have it; but what clients send there would be lost, and V2 would still report success\n/,
  );
  expect(book).toContain(
    '# TODO: order: count: it is required in V2 and optional in V1: V2 refuses requests without it.',
  );
  expect(err.split('\n')).toEqual([
    "3 recorded requests; 2 bodies checked against V2's schemas; 2 requests would be refused.",
    '  1 of 3  order: /count: Expected integer, not string.',
    '  1 of 3  order: the body: Member "more" is not allowed.',
    '  1 of 3  order: the gateway refuses it: wrapper-not-object at /data',
    '',
  ]);
  expect(code).toBe(1);
  expect(await commandRun(['check', '--rules', out])).toMatchObject({ code: 0, err: '' });
});

test('a draft from recorded requests and V2’s description alone', async () => {
  const requests = har({ data: { count: 1, old: true, city: 'y' } }, { data: { count: 2, state: 'z' } });
  const { code, out, err } = await run('--v2', v2, '--har', requests);
  expect([code, err]).toEqual([
    1,
    '2 recorded requests; 2 bodies checked against V2\'s schemas; 1 request would be refused.\n  1 of 2  order: the body: Member "old" is not allowed.\n',
  ]);
  expect(out).toContain('- { unwrap: data }');
  expect(out).toContain('- { nest: [city, state], under: address }');
  expect(out).toContain("V2's description does not have it; 1 of 2 recorded requests send it");
  expect(out).toContain('- { strip: old }');
  expect(out).toContain('{ only: [count, note, address] }');
});

test('values that a log does not have are not judged', async () => {
  const log = join(folder, 'rewrite.log');
  const entry = {
    time: '2026-11-22T00:00:00.000Z',
    level: 'info',
    requestId: 'r',
    route: 'migrate',
    method: 'POST',
    path: '/api/v1/orders',
    verdict: 'rewritten',
    edits: [{ change: 'c', rule: 'unwrap', from: '/data', path: '' }],
    attributes: ['/data', '/data/count', '/data/note', '/data/city', '/data/state', '/data/old'],
    bytesIn: 9,
    bytesOut: 9,
    responseBytes: 0,
    status: 200,
    totalMs: 1,
    ruleBook: '0123456789abcdef',
  };
  writeFileSync(log, `${JSON.stringify(entry)}\n`);
  const { code, out, err } = await run('--v2', v2, '--log', log);
  expect([code, err]).toEqual([
    1,
    '1 recorded request; 1 body checked against V2\'s schemas; 1 request would be refused.\n  1 of 1  order: the body: Member "old" is not allowed.\n',
  ]);
  expect(out).toContain('#     - { strip: old }');
});

const parts = '#/components/schemas';
const unusual: readonly [what: string, note: unknown, left?: string][] = [
  [
    'a pattern of Ruby',
    { type: 'string', pattern: '\\A\\w+\\z' },
    '/pattern: "\\\\A\\\\w+\\\\z" cannot be checked',
  ],
  ['a pattern with a flag', { type: 'string', pattern: '(?i)x' }, '/pattern: "(?i)x" cannot be checked'],
  [
    'a pattern with a dash in a class',
    { type: 'string', pattern: '[\\w-.]' },
    '"[\\\\w-.]" cannot be checked',
  ],
  ['a pattern of POSIX', { type: 'string', pattern: '[[:alnum:]]+' }, '"[[:alnum:]]+" cannot be checked'],
  ['an invalid pattern', { type: 'string', pattern: '(' }, '"(" cannot be checked'],
  ['a reference that leads nowhere', { $ref: `${parts}/Missing` }, 'leads to no schema of this description'],
  ['a reference to itself', { $ref: `${parts}/Circle` }, 'leads back to itself'],
  ['an id', { $id: 'https://api.example/note', $ref: `${parts}/Text` }],
  ['an invalid id', { $id: 'http://[', type: 'string' }],
];

test.each(unusual)(
  'a draft is made from a description with %s, and tried',
  async (what: string, note: unknown, left?: string) => {
    const schema = { type: 'object', properties: { count: { type: 'integer' }, note } };
    const name = what.replaceAll(' ', '-');
    const young = file(`${name}.json`, {
      ...(description('/api/v2', schema) as object),
      openapi: '3.1.0',
      components: {
        schemas: { Circle: { $ref: `${parts}/Circle2` }, Circle2: { $ref: `${parts}/Circle` }, Text: text },
      },
    });
    const { code, out, err } = await run('--v2', young, '--har', har({ data: { count: 1, note: 'x' } }));
    expect([code, out]).toEqual([0, expect.stringContaining('- { unwrap: data }')]);
    const [head, ...warnings] = err.trimEnd().split('\n');
    expect(head).toBe(
      "1 recorded request; 1 body checked against V2's schemas; 0 requests would be refused.",
    );
    // A keyword that was not checked is named.
    expect(warnings).toEqual(
      left === undefined
        ? []
        : [expect.stringMatching(/^Bodies are checked against V2's description without #\/.+\.$/)],
    );
    expect(err).toContain(left ?? '');
  },
);

test('a reference to a document that cannot be read is reported with the cause, and is a question', async () => {
  const young = file('foreign.json', description('/api/v2', { $ref: 'none.yaml#/Note' }));
  const old = file('own.json', description('/api/v1', { type: 'object', properties: { note: text } }));
  const { out, err } = await run('--v1', old, '--v2', young);
  expect(err).toMatch(
    /cannot be read whole\. .*foreign\.json refers to none\.yaml#\/Note: .*\(ENOENT\)\. It is compared without them\.\n/,
  );
  expect(out).toContain('# TODO: none.yaml#/Note is in another document and was not compared.');
});

test('a draft with faults is written, and exits with the code of check', async () => {
  const parameters = { get: { operationId: 'x', responses: {} } };
  const faulty = file('faulty.json', {
    openapi: '3.0.3',
    info: { title: 'Orders', version: 'next' },
    paths: { '/api/v2/{a}': parameters, '/api/v2/{b}': parameters },
  });
  const out = join(folder, 'faulty.yaml');
  const drafted = await run('--v1', faulty, '--v2', faulty, '--out', out);
  expect(drafted.err).toMatch(/faulty\.yaml:\d+:\d+ /);
  expect([drafted.code, (await run('--v1', faulty, '--v2', faulty, '--json')).code]).toEqual([1, 1]);
  expect((await commandRun(['check', '--rules', out])).code).toBe(2);
});

test('a description that is missing or cannot be read is named', async () => {
  expect(await run('--v2', v2)).toMatchObject({ code: 2, err: expect.stringContaining('Give --v1') });
  expect(await run('--v2', 'nothing.json')).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot be read'),
  });
  expect(await run('--v2', 'http://127.0.0.1:1/openapi.json')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/cannot be read: fetch failed: .+\./),
  });
});

/** A description with another operationId. */
const withOperationId = (id: string, described: unknown): object =>
  JSON.parse(
    JSON.stringify(described).replaceAll(/"operationId":"[^"]*"/g, `"operationId":${JSON.stringify(id)}`),
  );

test.each([
  ['no operation is in both', '/api/v3', 'no operation is in both. Compare the paths and servers'],
  ['both are the same', '/api/v1', 'no difference was found that a rule could change'],
])('an empty draft, as %s, is a failure', async (_, prefix, words) => {
  const other = prefix === '/api/v3' ? '/customers' : '';
  const { code, out, err } = await run(
    '--v1',
    file('empty-v1.json', withOperationId(`make${other}`, description(`${prefix}${other}`, v2Body))),
    '--v2',
    v2,
  );
  expect([code, err]).toEqual([1, expect.stringContaining(`The draft is empty: ${words}`)]);
  expect(out).toContain('operations:');
});

test('paths of both versions are matched wherever their prefix stands', async () => {
  const renamed = { ...v2Body, properties: { ...v2Body.properties, comment: text, note: undefined } };
  const beside = description('/api/{version}', renamed) as { readonly paths: object };
  const old = { ...beside, paths: { ...beside.paths, '/healthz': { get: {} } } };
  const young = {
    ...(description('/api/v2', v2Body) as object),
    servers: [{ url: 'https://api.example/api/v2' }],
  };
  const { out } = await run('--v1', file('param-v1.json', old), '--v2', file('served-v2.json', young));
  expect(out).toContain('order: POST /orders');
  expect(out).not.toContain('healthz');
});

describe('parts of two descriptions', () => {
  const groups = (...paths: readonly string[]): unknown => ({
    openapi: '3.0.3',
    info: { title: 'Shop', version: '1' },
    paths: Object.fromEntries(
      paths.map((path) => [
        path,
        { get: { operationId: `read${path.replaceAll(/\W/g, '_').replace(/_v\d/, '')}`, responses: {} } },
      ]),
    ),
  });
  const v1Groups = file(
    'groups-1.json',
    groups('/orders/v0/a', '/orders/v0/b', '/orders/v0/c', '/bills/v1/a'),
  );
  const v2Groups = file(
    'groups-2.json',
    groups('/orders/v1/a', '/orders/v1/b', '/orders/v1/c', '/bills/v2/a'),
  );
  const both = ['--v1', v1Groups, '--v2', v2Groups];

  test.each<readonly [options: readonly string[], from: string, to: string, operations: readonly string[]]>([
    [[], '/orders/v0', '/orders/v1', ['GET /a', 'GET /b', 'GET /c']],
    [['--from', '/bills/v1', '--to', '/bills/v2'], '/bills/v1', '/bills/v2', ['GET /a']],
    [['--only', 'read_orders_b'], '/orders/v0', '/orders/v1', ['GET /b']],
    [['--only', 'GET /a', 'GET /orders/v0/c'], '/orders/v0', '/orders/v1', ['GET /a', 'GET /c']],
  ])('draft %s', async (options, from, to, operations) => {
    const { out } = await run(...both, ...options);
    expect(out).toContain(`\nfrom: ${from}\n`);
    expect(out).toContain(`\nto: ${to}\n`);
    expect(out.match(/GET \/\w+/g)).toEqual(operations);
  });

  test('init writes the same parts', async () => {
    const dir = join(folder, 'parts');
    const chosen = ['--from', '/bills/v1', '--to', '/bills/v2', '--only', 'GET /a'];
    expect(await commandRun(['init', ...both, ...chosen, '--dir', dir])).toMatchObject({ code: 0 });
    expect(readFileSync(join(dir, 'rules.yaml'), 'utf8')).toMatch(/\nfrom: \/bills\/v1\n[^]*GET \/a/);
  });

  test.each([
    [['--from', 'v1'], '--from v1 must begin with a slash, such as /api/v1.'],
    [['--to', '/api/v2/'], '--to /api/v2/ must not end with a slash.'],
    [
      ['--only', 'read_a', 'no_such'],
      `V1's description has no operation read_a. Write its operationId, or method and path as in "POST /orders".`,
    ],
  ])('%s is refused', async (options, fault) => {
    expect(await run(...both, ...options)).toMatchObject({ code: 2, err: `${fault}\n` });
  });

  test('choosing parts needs a description of V1', async () => {
    const { code, err } = await run('--v2', v2Groups, '--har', har({ a: 1 }), '--only', 'GET /a');
    expect([code, err]).toEqual([
      2,
      "--from, --to and --only choose among the operations of V1's description: give --v1.\n",
    ]);
  });
});
