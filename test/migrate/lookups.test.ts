import { describe, expect, test } from 'vitest';
import { createMigration, type HeaderFields } from '../../src/library/capture-gateway.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';

const encoder = new TextEncoder();

async function bookWith(rules: string, more = ''): Promise<RuleBook> {
  const text = `
operations: { list_deals: GET /deals, show_deal: 'GET /deals/{id}' }
${more}
changes:
  - id: owners
    summary: Deals had their owner.
    on: [list_deals, show_deal]
    response:
${rules
  .trim()
  .split('\n')
  .map((line) => `      - ${line.trim()}`)
  .join('\n')}
`;
  const reading = await readRuleBook(text, 'rules.yaml');
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  return reading.ruleBook;
}

/** What V2 answers at each address; a number is a status without a body. */
type Answers = Readonly<Record<string, string | number>>;

interface Looked {
  readonly body: string;
  readonly note: string | undefined;
  /** Addresses below V2's prefix, in their order. */
  readonly asked: readonly string[];
  readonly fields: readonly HeaderFields[];
}

async function lookedUp(
  book: RuleBook,
  body: string,
  answers: Answers,
  target = '/api/v1/deals',
  headers: HeaderFields = [['authorization', 'Bearer k']],
): Promise<Looked> {
  const asked: string[] = [];
  const fields: HeaderFields[] = [];
  const migration = createMigration(book, {
    lookup: (address, sent) => {
      asked.push(address.replace('/api/v2', ''));
      fields.push(sent);
      const answer = answers[address.replace('/api/v2', '')] ?? 404;
      return typeof answer === 'number'
        ? new Response('{"data":{"name":"of an error"}}', { status: answer })
        : new Response(answer, { headers: { 'content-type': 'application/json' } });
    },
  });
  const request = migration.request('GET', target, headers);
  if (!('edits' in request)) throw new Error(request.verdict);
  const started = migration.startResponse(request, 200, { 'content-type': 'application/json' });
  if (started.action !== 'collect') throw new Error(started.action);
  const end = await started.settle(encoder.encode(body));
  return {
    body: new TextDecoder().decode(end.body ?? undefined),
    note: end.verdict === 'refused' ? `refused: ${end.code}` : end.note,
    asked,
    fields,
  };
}

const LIST = `{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [name, email], as: owner }`;
const ANN = '{"data":{"id":7,"name":"Ann","email":"a@x.example","rate":1.50}}';
const BO = '{"data":{"id":8,"name":"Bo"}}';

describe('lookup', () => {
  test.each<[title: string, rules: string, body: string, answers: Answers, result: string, asked: string[]]>([
    [
      'in a list: each address once, members with their bytes',
      `{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [name, rate], as: owner }`,
      '{ "data": [ {"id":1,"owner_id":7}, {"id":2,"owner_id":8,"x":1.0}, {"owner_id":7} ] }',
      { '/users/7': ANN, '/users/8': BO },
      '{ "data": [ {"id":1,"owner_id":7,"owner":{"name":"Ann","rate":1.50}}, {"id":2,"owner_id":8,"x":1.0,"owner":{"name":"Bo"}}, {"owner_id":7,"owner":{"name":"Ann","rate":1.50}} ] }',
      ['/users/7', '/users/8'],
    ],
    [
      'in an object, by its place',
      `{ lookup: owner_id, in: data.meta, get: '/users/{owner_id}', take: [name], as: owner }`,
      '{"data":{"meta":{"owner_id":"7"}}}',
      { '/users/7': ANN },
      '{"data":{"meta":{"owner_id":"7","owner":{"name":"Ann"}}}}',
      ['/users/7'],
    ],
    [
      'in the place of the key',
      `{ lookup: data.*.owner_id, get: '/users/{}', take: [id, name], as: owner_id }`,
      '{"data":[{"owner_id":7,"x":1}]}',
      { '/users/7': ANN },
      '{"data":[{"owner_id":{"id":7,"name":"Ann"},"x":1}]}',
      ['/users/7'],
    ],
    [
      'rules before it name the key, and rules after it rename the found members',
      `{ rename: data.*.owner_id, to: user_id }
       { lookup: data.*.user_id, get: '/users/{user_id}', take: [name], as: user }
       { move: data.*.user.name, to: data.*.user_name }`,
      '{"data":[{"owner_id":7}]}',
      { '/users/7': ANN },
      '{"data":[{"user_id":7,"user_name":"Ann"}]}',
      ['/users/7'],
    ],
    [
      'a lookup uses what an earlier one found',
      `{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [team], as: owner }
       { lookup: data.*.owner.team, get: '/teams/{team}', take: [title], as: crew }`,
      '{"data":[{"owner_id":7}]}',
      { '/users/7': '{"data":{"team":"t-1"}}', '/teams/t-1': '{"data":{"title":"Blue"}}' },
      '{"data":[{"owner_id":7,"owner":{"team":"t-1","crew":{"title":"Blue"}}}]}',
      ['/users/7', '/teams/t-1'],
    ],
    [
      'many: all keys in one request, items by their key',
      `{ lookup: data.*.owner_id, many: '/users?ids={}&full=1', take: [name], as: owner }`,
      '{"data":[{"owner_id":8},{"owner_id":7},{"owner_id":9},{"owner_id":8}]}',
      { '/users?ids=8,7,9&full=1': '{"data":[{"id":7,"name":"Ann"},{"id":"8","name":"Bo"}]}' },
      '{"data":[{"owner_id":8,"owner":{"name":"Bo"}},{"owner_id":7,"owner":{"name":"Ann"}},{"owner_id":9},{"owner_id":8,"owner":{"name":"Bo"}}]}',
      ['/users?ids=8,7,9&full=1'],
    ],
    [
      'many with another key, and another place in the response',
      `{ lookup: data.*.owner, many: '/users?emails={owner}', by: email, resource: items.users, take: [name], as: owner }`,
      '{"data":[{"owner":"a+b@x.example"}]}',
      { '/users?emails=a%2Bb%40x.example': '{"items":{"users":[{"email":"a+b@x.example","name":"Ann"}]}}' },
      '{"data":[{"owner":{"name":"Ann"}}]}',
      ['/users?emails=a%2Bb%40x.example'],
    ],
    [
      'in a body that is a list',
      `{ lookup: '*.owner_id', get: '/users/{owner_id}', resource: '', take: [name], as: owner }`,
      '[{"owner_id":7},{"owner_id":8}]',
      { '/users/7': '{"name":"Ann"}', '/users/8': '{"name":"Bo"}' },
      '[{"owner_id":7,"owner":{"name":"Ann"}},{"owner_id":8,"owner":{"name":"Bo"}}]',
      ['/users/7', '/users/8'],
    ],
    [
      'one address for two rules, once',
      `{ lookup: data.owner_id, get: '/users/{owner_id}', take: [name], as: owner }
       { lookup: data.creator, get: '/users/{creator}', take: [rate], as: creator }`,
      '{"data":{"owner_id":7,"creator":"7"}}',
      { '/users/7': ANN },
      '{"data":{"owner_id":7,"creator":{"rate":1.50},"owner":{"name":"Ann"}}}',
      ['/users/7'],
    ],
    [
      'a response without a wrapper',
      `{ lookup: data.owner_id, get: '/users/{owner_id}', resource: '', take: [name], as: owner }`,
      '{"data":{"owner_id":7}}',
      { '/users/7': '{"name":"Ann"}' },
      '{"data":{"owner_id":7,"owner":{"name":"Ann"}}}',
      ['/users/7'],
    ],
    [
      'null for a missing object',
      `{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [name], as: owner, absent: null }`,
      '{"data":[{"owner_id":null},{"owner_id":9},{"owner_id":{}},{}]}',
      {},
      '{"data":[{"owner_id":null,"owner":null},{"owner_id":9,"owner":null},{"owner_id":{},"owner":null},{}]}',
      ['/users/9'],
    ],
    [
      'the new member takes the place of another of its name',
      `{ lookup: data.owner_id, get: '/users/{owner_id}', take: [name], as: owner }`,
      '{"data":{"owner":1,"owner_id":7,"owner":2}}',
      { '/users/7': ANN },
      '{"data":{"owner_id":7,"owner":{"name":"Ann"}}}',
      ['/users/7'],
    ],
    [
      'names and values that JSON escapes, and a value that is a list',
      `{ lookup: data.owner_id, get: '/users/{owner_id}', take: ['a"b', list], as: owner }`,
      String.raw`{"data":{"owner_id":"\u0037"}}`,
      { '/users/7': String.raw`{"data":{"a\u0022b":"\u00e9","list":[1, 2.0]}}` },
      String.raw`{"data":{"owner_id":"\u0037","owner":{"a\"b":"\u00e9","list":[1, 2.0]}}}`,
      ['/users/7'],
    ],
  ])('%s', async (_, rules, body, answers, result, asked) => {
    const looked = await lookedUp(await bookWith(rules), body, answers);
    expect(looked.asked).toEqual(asked);
    expect(looked.body).toBe(result);
  });

  test.each<[title: string, answer: string | number]>([
    ['a 404', 404],
    ['a 500', 500],
    ['a redirect', 302],
    ['no JSON', '<html>'],
    ['an empty body', ''],
    ['no object', '{"data":[]}'],
    ['no resource', '{"user":{"name":"Ann"}}'],
    ['more than a mebibyte', `{"data":{"name":"${'x'.repeat(1024 * 1024)}"}}`],
  ])('%s is not an object: the member is omitted or null, or the response is a 502', async (_, answer) => {
    const body = '{"data":[{"owner_id":7},{"owner_id":8}]}';
    const answers = { '/users/7': answer, '/users/8': BO };
    const omitted = await lookedUp(await bookWith(LIST), body, answers);
    expect(omitted).toMatchObject({
      body: '{"data":[{"owner_id":7},{"owner_id":8,"owner":{"name":"Bo"}}]}',
      note: 'lookup-failed',
    });
    const failing = await bookWith(LIST.replace(' }', ', absent: fail }'));
    const failed = await lookedUp(failing, body, answers);
    expect(failed.note).toBe('refused: lookup-failed');
    expect(failed.body).not.toContain('Bo');
    const all = await lookedUp(failing, body, { ...answers, '/users/7': ANN });
    expect(all.note).toBeUndefined();
  });

  test.each([
    '"a/b"',
    '".."',
    '"."',
    '"..."',
    '"%2e%2e"',
    '"a;b"',
    '"a?b"',
    '"a#b"',
    String.raw`"a\\b"`,
    '""',
    'true',
    '[7]',
    String.raw`"\n"`,
    String.raw`"\ud800"`,
    `"${'7'.repeat(300)}"`,
  ])('%s cannot be a segment of a path, and V2 is not asked', async (key) => {
    const body = `{"data":[{"owner_id":${key}}]}`;
    const looked = await lookedUp(await bookWith(LIST), body, {});
    expect(looked).toMatchObject({ asked: [], body, note: 'lookup-failed' });
  });

  test.each([
    ['1.50', '/users/1.50'],
    ['-0', '/users/-0'],
    ['12345678901234567890', '/users/12345678901234567890'],
    ['"é &=+"', '/users/%C3%A9%20%26%3D%2B'],
    ['"a.b"', '/users/a.b'],
  ])('the key %s leads to %s', async (key, address) => {
    const { asked } = await lookedUp(await bookWith(LIST), `{"data":[{"owner_id":${key}}]}`, {});
    expect(asked).toEqual([address]);
  });

  test('no more requests than the limit, and those that are left out are noted', async () => {
    const book = await bookWith(LIST, 'limits: { lookup-requests: 3, lookup-parallel: 2, lookup-time: 900 }');
    const items = Array.from({ length: 1000 }, (__, at) => `{"owner_id":${at % 20}}`);
    const answers = Object.fromEntries(Array.from({ length: 20 }, (__, at) => [`/users/${at}`, BO]));
    const looked = await lookedUp(book, `{"data":[${items.join()}]}`, answers);
    expect(looked.asked).toEqual(['/users/0', '/users/1', '/users/2']);
    expect(looked.body.split('"owner":').length - 1).toBe(150);
    expect(looked.note).toBe('lookup-failed');
  });

  test('a response with very many keys asks for at most the limit, and the rest stays unchanged', async () => {
    const items = Array.from({ length: 50_000 }, (__, at) => `{"owner_id":${at}}`);
    const body = `{"data":[${items.join()}]}`;
    const looked = await lookedUp(await bookWith(LIST), body, {});
    expect(looked.asked).toHaveLength(100);
    expect(looked).toMatchObject({ body, note: 'lookup-failed' });
  });

  test('many keys take several requests, each of which has room for them', async () => {
    const book = await bookWith(
      `{ lookup: data.*.owner_id, many: '/users?ids={}', take: [name], as: owner }`,
    );
    const items = Array.from({ length: 1000 }, (__, at) => `{"owner_id":"user-${at}"}`);
    const { asked } = await lookedUp(book, `{"data":[${items.join()}]}`, {});
    expect(asked.every((address) => address.length < 4200)).toBe(true);
    expect(asked.flatMap((address) => address.replace('/users?ids=', '').split(',')).length).toBe(1000);
    expect(asked.length).toBe(3);
  });

  test('a lookup has the client’s fields, its key in the query and the release, but no field that asks for less than a whole response', async () => {
    const book = await bookWith(
      LIST,
      `client: { query: api_token }\nversion: { query: v, value: '7', form: text }`,
    );
    const headers: HeaderFields = [
      ['authorization', 'Bearer k'],
      ['cookie', 'a=1'],
      ['accept-encoding', 'br'],
      ...'if-none-match if-match if-modified-since if-unmodified-since if-range range idempotency-key content-type content-encoding content-language content-location content-disposition content-md5 content-digest repr-digest digest want-digest want-content-digest want-repr-digest x-http-method-override x-http-method x-method-override'
        .split(' ')
        .map((name): [string, string] => [name, '"x"']),
    ];
    const target = '/api/v1/deals?api_token=s%2Fx&limit=5';
    const looked = await lookedUp(book, '{"data":[{"owner_id":7}]}', {}, target, headers);
    expect(looked.asked).toEqual(['/users/7?api_token=s%2Fx&v=7']);
    const names = looked.fields.flat().map(([name]) => name.toLowerCase());
    expect(names.sort()).toEqual(['accept-encoding', 'authorization', 'cookie']);
    expect(looked.fields.flat().find(([name]) => name.toLowerCase() === 'accept-encoding')?.[1]).toBe(
      'identity',
    );
  });

  test('keys that a transform made are looked up as well', async () => {
    const book = await bookWith(`{ lookup: data.*.owner, get: '/users/{owner}', take: [name], as: owner }`);
    const [list, ...others] = book.operations;
    if (list === undefined) throw new Error('the book has no operations');
    const operations = [{ ...list, transform: './made.js' }, ...others];
    const migration = createMigration(
      { ...book, operations },
      {
        transforms: { './made.js': { response: () => ({ body: { data: [{ owner: 7 }] } }) } },
        lookup: () => new Response(ANN, { headers: { 'content-type': 'application/json' } }),
      },
    );
    const request = migration.request('GET', '/api/v1/deals', {});
    if (!('edits' in request)) throw new Error(request.verdict);
    const started = migration.startResponse(request, 200, { 'content-type': 'application/json' });
    if (started.action !== 'collect') throw new Error(started.action);
    const end = await started.settle(encoder.encode('{"items":[]}'));
    expect(new TextDecoder().decode(end.body ?? undefined)).toBe('{"data":[{"owner":{"name":"Ann"}}]}');
  });

  test('if the driver does not ask V2, the response says what it lacks', async () => {
    const migration = createMigration(await bookWith(LIST));
    const request = migration.request('GET', '/api/v1/deals', {});
    if (!('edits' in request)) throw new Error(request.verdict);
    const body = '{"data":[{"owner_id":7}]}';
    const response = migration.response(request, 200, { 'content-type': 'application/json' }, body);
    expect(response).toMatchObject({ verdict: 'rewritten', note: 'lookup-unasked' });
  });

  test('a lookup that is late counts as failed, and its request is aborted', async () => {
    let isAborted = false;
    const migration = createMigration(await bookWith(LIST, 'limits: { lookup-time: 20 }'), {
      lookup: (_, __, signal) =>
        new Promise(() => signal.addEventListener('abort', () => (isAborted = true))),
    });
    const request = migration.request('GET', '/api/v1/deals', {});
    if (!('edits' in request)) throw new Error(request.verdict);
    const started = migration.startResponse(request, 200, { 'content-type': 'application/json' });
    if (started.action !== 'collect') throw new Error(started.action);
    const end = await started.settle(encoder.encode('{"data":[{"owner_id":7}]}'));
    expect(end).toMatchObject({ note: 'lookup-failed' });
    expect(isAborted).toBe(true);
  });
});

describe('check', () => {
  const faultsOf = async (rule: string, more = ''): Promise<readonly string[]> => {
    const reading = await readRuleBook(
      `operations: { list: GET /deals, one: 'GET /users/{id}', add: POST /deals }\n${more}changes:\n  - { id: c, summary: S., on: [list], response: [${rule}] }\n`,
      'r.yaml',
    );
    return reading.ok ? [] : reading.faults.map(({ message }) => message);
  };
  const rule = (keys: string): string => `{ lookup: data.*.owner_id, take: [name], as: owner, ${keys} }`;
  test.each([
    [rule('get: users'), 'does not begin with a slash'],
    [rule("get: '/api/v2/users/{}'"), 'contains the prefix'],
    [rule("get: '/users'"), 'write {owner_id} once'],
    [rule("get: '/users/{}/{}'"), 'write {owner_id} once'],
    [rule("get: '/users/{id}'"), 'write {owner_id} or {} for the key'],
    [rule("get: '/a/../{}'"), 'dot segment'],
    [rule("get: '//users/{}'"), 'empty segment'],
    [rule("get: 'https://other.example/{}'"), 'does not begin with a slash'],
    [rule("get: '/users/{}#x'"), 'fragment'],
    [rule("get: '/us ers/{}'"), 'space'],
    [rule("many: '/users?{}'"), 'name=value'],
    [rule("get: '/u/{}', many: '/u?ids={}'"), 'two addresses'],
    [rule("get: '/u/{}', by: id"), 'no use for by'],
    ['{ lookup: data.*.owner_id, take: [name], as: owner }', 'no address'],
    [rule("get: '/u/{}', absent: maybe"), 'omit, null or fail'],
  ])('%s', async (text, message) => {
    expect((await faultsOf(text)).join('\n')).toContain(message);
  });

  test('the address of the operation itself, a failing write, and a webhook are refused', async () => {
    const of = async (on: string, keys: string, more = ''): Promise<string> => {
      const reading = await readRuleBook(
        `operations: { list: GET /deals, one: 'GET /users/{id}', add: POST /deals }\n${more}changes:\n  - { id: c, summary: S., on: ${on}, response: [${rule(keys)}] }\n`,
        'r.yaml',
      );
      return reading.ok ? '' : reading.faults.map(({ message }) => message).join('\n');
    };
    expect(await of('[one]', "get: '/users/{}'")).toContain('the address of operation "one" itself');
    expect(await of('[list]', "get: '/users/{}'")).toBe('');
    expect(await of('[add]', "get: '/users/{}', absent: fail")).toContain('must not fail for "add"');
    expect(await of('every', "get: '/users/{}', absent: fail")).toContain('must not fail for "every"');
    expect(await of('[list]', "get: '/users/{}', absent: fail")).toBe('');
    const hook =
      'webhooks: { w: { to: https://s.example/x, as: list, sign: { scheme: standard-webhooks, verify: A, with: B } } }\n';
    expect(await of('[list]', "get: '/users/{}'", hook)).toContain('no client whose credentials');
  });
});
