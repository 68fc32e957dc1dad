import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Change, ChangeIndex, type Operation, OperationTable } from '../../src/rules/rule-book.ts';
import { templateFault, templateShape } from '../../src/rules/rule.ts';
import { bookIn } from './reading.ts';
import { fuzzRuns } from '../support/fuzz.ts';

function change(id: string, on: Change['on']): Change {
  return { id, summary: '', assumed: false, on, policies: {}, request: [], response: [] };
}

const index = new ChangeIndex([
  change('a', ['order', 'client']),
  change('b', 'every'),
  change('c', ['client', 'client']),
  change('d', 'every'),
]);

test.each([
  ['client', true, 'abcd'],
  ['client', false, 'ac'],
  ['order', true, 'abd'],
  ['unknown', true, 'bd'],
  ['unknown', false, ''],
  [undefined, true, 'bd'],
  [undefined, false, ''],
])('the changes of %s, with every: %s, are %j, in the order of the rule book', (id, isEvery, ids) => {
  expect(index.of(id, isEvery).map((found) => found.id)).toEqual(ids.split('').filter(Boolean));
});

const table = tableOf({
  create_client: 'POST /clients',
  list_clients: 'GET /clients',
  order_floor_plan: 'POST /orders/floor_plans',
  update_property: 'PATCH /properties/{id}',
  update_own: 'PATCH /properties/own',
  share: 'PATCH /properties/{id}/shares/{share}',
  share_own: 'PATCH /properties/own/links/{link}',
});

describe('an operation is found', () => {
  test.each([
    ['POST', '/clients', 'create_client'],
    ['GET', '/clients', 'list_clients'],
    ['POST', '/clients/', 'create_client'],
    ['POST', '/clients.json', 'create_client'],
    ['POST', '/clients.json/', 'create_client'],
    ['POST', '/orders/floor_plans', 'order_floor_plan'],
    ['PATCH', '/properties/42', 'update_property'],
    ['PATCH', '/properties/42.json', 'update_property'],
    ['PATCH', '/properties/4.2/', 'update_property'],
    ['PATCH', '/properties/a%20b', 'update_property'],
    ['PATCH', '/properties/own', 'update_own'],
    ['PATCH', '/properties/own.json', 'update_own'],
    ['PATCH', '/properties/own/links/1', 'share_own'],
    ['PATCH', '/properties/own/shares/1', 'share'],
    ['PATCH', '/properties/owner', 'update_property'],
  ])('%s %s is %s', (method, path, id) => {
    expect(table.match(method, path)?.id).toBe(id);
  });

  // Attack: the client writes a letter of the path as %63, so that V2 reads the path and the gateway's rules do not.
  test.each(['/%63lients', '/client%73', '/clients%2Ejson', '/clients%2ejson/', '/%63%6c%69%65%6E%74%73'])(
    'however it is spelled: %s',
    (path) => {
      expect(table.match('POST', path)?.id).toBe('create_client');
    },
  );

  // Attack: the client writes the path so that V2 reads another one than the rules do.
  test.each([
    ['POST', '/clients//', 'create_client'],
    ['POST', '//clients', 'create_client'],
    ['POST', '/clients;v=1', 'create_client'],
    ['POST', '/clients%3Bv=1/', 'create_client'],
    ['POST', '/orders%2Ffloor_plans', 'order_floor_plan'],
    ['POST', '/orders;a/%2f/floor_plans;b.json', 'order_floor_plan'],
    ['PATCH', '/properties/a%2Fb', 'update_property'],
    ['PATCH', '/properties/1%2Fshares/2', 'share'],
  ])('in the way that a service reads it: %s %s', (method, path, id) => {
    expect(table.match(method, path)?.id).toBe(id);
  });

  test.each([
    ['PUT', '/clients'],
    ['post', '/clients'],
    ['POST', ''],
    ['POST', '/'],
    ['POST', '/client'],
    ['POST', '/clients/1'],
    ['POST', '/Clients'],
    ['POST', '/clients/.json'],
    ['POST', '/clients.json.json'],
    ['POST', '/clients.jsonx'],
    ['PATCH', '/properties'],
    ['PATCH', '/properties/'],
    ['PATCH', '/properties/.json'],
    ['PATCH', '/properties/1/2'],
    ['PATCH', `/properties/1${'/shares'.repeat(5_000)}`],
  ])('but not for %s %s', (method, path) => {
    expect(table.match(method, path)).toBeUndefined();
  });
});

test('reserved characters keep their encoding, in whichever case its digits are', () => {
  const encoded = tableOf({ a: 'GET /x%3ay', b: 'GET /x:y' });
  expect(['/x%3Ay', '/x%3ay', '/x:y', '/%78:y'].map((path) => encoded.match('GET', path)?.id)).toEqual([
    'a',
    'a',
    'b',
    'b',
  ]);
});

test('the root of the API can be an operation', () => {
  const root = tableOf({ root: 'GET /' });
  expect(['', '/', '//', '/.json', '/x'].map((path) => root.match('GET', path)?.id)).toEqual([
    'root',
    'root',
    'root',
    undefined,
    undefined,
  ]);
});

test('among ten thousand operations, each is found', () => {
  const declared: Record<string, string> = {};
  for (let k = 0; k < 10_000; k += 1) declared[`op_${k}`] = `POST /things/${k}/parts/{id}`;
  const large = tableOf(declared);
  for (let k = 0; k < 10_000; k += 1)
    expect(large.match('POST', `/things/${k}/parts/7.json`)?.id).toBe(`op_${k}`);
});

test('the table finds the same operation as a search through all', () => {
  const segment = fc.constantFrom('a', 'b', '{x}', '{y}', 'a.b');
  const template = fc.array(segment, { maxLength: 4 }).map((segments) => `/${segments.join('/')}`);
  const piece = fc.constantFrom('a', 'b', 'c', 'a.b', '%61', '%62', 'c.json', '', '%2e', '.json');
  const path = fc
    .tuple(fc.array(piece, { maxLength: 5 }), fc.constantFrom('', '/', '.json', '.json/', '%2Ejson', '//'))
    .map(([pieces, end]) => `/${pieces.join('/')}${end}`);
  let found = 0;
  fc.assert(
    fc.property(
      fc.array(template, { maxLength: 8 }),
      fc.array(path, { minLength: 1, maxLength: 8 }),
      (templates, paths) => {
        const shapes = new Map(
          templates.filter((one) => templateFault(one) === undefined).map((one) => [templateShape(one), one]),
        );
        const operations = [...shapes.values()].map((one) => operation(one, `POST ${one}`));
        const subject = new OperationTable(operations);
        for (const one of paths) {
          const expected = search(operations, one) ?? search(operations, one.replaceAll(/\/+/g, '/'));
          if (expected !== undefined) found += 1;
          expect(subject.match('POST', one)?.id).toBe(expected?.id);
        }
      },
    ),
    { numRuns: fuzzRuns(20_000) },
  );
  expect(found).toBeGreaterThan(fuzzRuns(10_000));
});

/** Tries every template; where several match, the one that is spelled out further to the left is meant. */
function search(operations: readonly Operation[], path: string): Operation | undefined {
  const plain = path
    .replaceAll('%61', 'a')
    .replaceAll('%62', 'b')
    .replace(/%2e/gi, '.')
    .replace(/\/$/, '')
    .replace(/\.json$/, '');
  const matching = operations.filter(({ template }) => {
    const source = template === '/' ? '' : template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+');
    return new RegExp(`^${source}$`).test(plain);
  });
  const rank = ({ template }: Operation): string =>
    template.replaceAll(/\{\w+\}/g, '1').replaceAll(/[ab][.ab]*/g, '0');
  return matching.toSorted((one, other) => (rank(one) < rank(other) ? -1 : 1))[0];
}

function tableOf(declared: Readonly<Record<string, string>>): OperationTable {
  return new OperationTable(Object.entries(declared).map(([id, match]) => operation(id, match)));
}

function operation(id: string, match: string): Operation {
  const [method = '', template = ''] = match.split(' ');
  return { id, method, template, assumed: false };
}

describe('operations that name parameters of the query', () => {
  const table = async () => {
    const { operations } = await bookIn(`operations:
  all: GET /runs
  of: 'GET /runs?p={id}'
  open: 'GET /runs?s=open&p={id}'
  one: 'GET /{kind}?q={id}'
changes: []`);
    return new OperationTable(operations);
  };

  test.each([
    ['/runs', '', 'all'],
    ['/runs', '?', 'all'],
    ['/runs', '?p=7', 'of'],
    ['/runs/', '?x&%70=7&y', 'of'],
    ['/runs.json', '?p=7&s=open', 'open'],
    ['/runs', '?s=op%65n&p=7', 'open'],
    ['/runs', '?s=closed&p=7', 'of'],
    ['/runs', '?s=open', 'all'],
    ['/runs', '?p=', 'all'],
    ['/runs', '?p=..', 'all'],
    ['/runs', '?p=1&p=2', 'all'],
    ['/runs', '?p=1&p=%31', 'of'],
    ['/runs', '?P=1', 'all'],
    ['/tags', '?q=1', 'one'],
    ['/runs', '?q=1', 'all'],
    ['/tags', '', undefined],
  ])('%s%s is %s', async (path, query, id) => {
    expect((await table()).match('GET', path, query)?.id).toBe(id);
  });
});
