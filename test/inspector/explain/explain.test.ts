import { beforeAll, describe, expect, test } from 'vitest';
import { explainText } from '../../../src/cli/explain/explain.ts';
import { PLAIN } from '../../../src/cli/terminal.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { editReason, rulesView } from '../../../src/inspector/explain/explain-rules.ts';
import { scopeWords } from '../../../src/rules/kinds/head-words.ts';
import { decodeBody } from '../../../src/node/decode-body.ts';
import { hashBody } from '../../../src/node/runtime.ts';
import type { EditRecord } from '../../../src/rewrite/records.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import type { ExplainRequest, Explanation } from '../../../src/inspector/api.ts';
import { explain } from '../../../src/inspector/explain/explain.ts';
import { GatewayTotals } from '../../../src/report/report-totals.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import { bookIn } from '../../rules/reading.ts';
import { requestRulesBook } from '../../support/request-rules-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';

let rules: CompiledRuleBook;

beforeAll(async () => {
  rules = await compiledShippedRuleBook();
});

const JSON_TYPE = ['Content-Type', 'application/json'] as const;

async function explained(
  request: ExplainRequest,
  book = rules,
  limits: { readonly selfService?: string } = {},
): Promise<Explanation> {
  const result = await explain(request, {
    rules: book,
    limits: { count: 100, bytes: 16_384, bodyLimit: undefined, ...limits },
    decode: decodeBody,
    hash: hashBody,
    gatewayOrigin: 'http://127.0.0.1:8080',
    origin: 'https://v2.example',
  });
  if ('fault' in result) throw new Error(result.fault);
  return result;
}

const production = (body: string): ExplainRequest => ({ operation: 'order_post_production', body });
const client = (body: string): ExplainRequest => ({ operation: 'create_client', body });
/** A body without a length, and without content. */
const CHUNKED: ExplainRequest = {
  operation: 'create_client',
  headers: [JSON_TYPE, ['Transfer-Encoding', 'chunked']],
  body: '',
};
const ORDER = '{"data":{"property":{"suburb":"Enmore"}},"source":"CRM"}';

describe('an explanation', () => {
  test('has the delivery that the subscriber of a webhook gets, by the webhook’s rules and with its links', async () => {
    const book = await bookIn(`operations: { get_order: 'GET /orders/{id}' }
body-links: follow
changes: [{ id: name, summary: A name., on: [get_order], response: [{ rename: new, to: old }] }]
webhooks:
  orders: { to: 'https://x.test/', as: get_order, sign: { scheme: standard-webhooks, verify: A, with: B } }
  plain: { to: 'https://x.test/', sign: { scheme: standard-webhooks, verify: A, with: B } }`);
    const posted = { method: 'POST', body: '{"new":"https://v2.example/api/v2/orders/7"}' };
    const result = await explained({ ...posted, target: '/webhooks/orders' }, new CompiledRuleBook(book));
    expect(result.verdict).toBe('passed');
    expect(result.delivery).toMatchObject({
      to: 'https://x.test/',
      edits: [{ change: 'name', from: '/new', path: '/old' }, { path: '/old' }],
      body: '{"old":"/api/v1/orders/7"}',
    });
    const plain = await explained({ ...posted, target: '/webhooks/plain' }, new CompiledRuleBook(book));
    expect(plain.delivery).toEqual({ to: 'https://x.test/', edits: [], body: posted.body });
    const broken = await explained(
      { ...posted, body: '{', target: '/webhooks/orders' },
      new CompiledRuleBook(book),
    );
    expect(broken.delivery).toMatchObject({ edits: [], note: 'response-malformed', body: '{' });
  });

  test('has the edits, the exact V2 body, the policies and every rule with a reason', async () => {
    const result = await explained({ operation: 'order_floor_plan', body: ORDER });
    expect(result).toMatchObject({
      verdict: 'rewritten',
      operation: 'order_floor_plan',
      v2Body: '{"property":{"address":{"suburb":"Enmore"}}}',
      v2Request: { method: 'POST', target: '/api/v2/orders/floor_plans' },
    });
    expect(result.policies.filter(({ used }) => used).map(({ policy }) => policy)).toEqual(['siblings']);
    const outcomes = result.rules.map(({ change, applied, why }) => [change, applied, why]);
    expect(outcomes).toContainEqual(['body-wrapper', true, '2 edits.']);
    expect(outcomes).toContainEqual(['property-address', true, '1 edit.']);
    expect(outcomes).toContainEqual([
      'highlight-type',
      false,
      'The change concerns order_post_production, not order_floor_plan.',
    ]);
  });

  test.each([
    [production('{"data":{}}'), 'highlight-type', 'The body has no member transition_type.'],
    [production('{"data":{}}'), 'property-address', 'There is no property.'],
    [production('{"data":{"property":{"a":1}}}'), 'property-address', 'property has none of street_address'],
    [production('{"data":{"property":{}}}'), 'property-address', 'property has none of street_address'],
    ...['null', '[{"suburb":1}]', '"suburb"'].map((property): [object, string, string] => [
      production(`{"data":{"property":${property}}}`),
      'property-address',
      'property is not an object.',
    ]),
    [client('{"name":"x"}'), 'body-wrapper', 'There is no member data: the body is already flat.'],
    [
      { method: 'POST', target: '/api/v1/clients', headers: [['Content-Type', 'text/plain']], body: 'x' },
      'body-wrapper',
      'text/plain is not JSON.',
    ],
    [
      { method: 'PUT', target: '/api/v1/clients/1', body: '{}' },
      'body-wrapper',
      'Bodies of PUT are read only for an operation that a change with request rules names.',
    ],
    [
      { method: 'POST', target: '/api/v2/clients', body: '{"data":{}}' },
      'body-wrapper',
      'V2 traffic is not read.',
    ],
    [{ operation: 'create_client' }, 'body-wrapper', 'There is no body.'],
    [
      { method: 'DELETE', target: '/api/v1/clients/1', body: '{}' },
      'body-wrapper',
      'Bodies of DELETE are read only for an operation that a change with request rules names.',
    ],
    [
      { method: 'POST', target: '/api/v1/clients', headers: [], body: '{}' },
      'body-wrapper',
      'The body is not read: there is no Content-Type.',
    ],
    [client('{"data":1}'), 'body-wrapper', 'The request was refused.'],
    [
      { method: 'POST', target: '/api/v1/unknown', body: '{"data":{}}' },
      'highlight-type',
      'The change concerns order_post_production, not this POST.',
    ],
  ] satisfies [ExplainRequest, string, string][])(
    'of %j says why %s did nothing',
    async (request, change, why) => {
      const outcome = (await explained(request)).rules.find((rule) => rule.change === change);
      expect(outcome?.applied).toBe(false);
      expect(outcome?.why).toContain(why);
    },
  );

  const BOOK = `version: 2025-01-01
operations: { create_client: POST /clients }
changes:
  - { id: wrapper, summary: W., on: every, request: [{ unwrap: data }] }
  - { id: schema, summary: S., on: [create_client], request: [{ only: [name] }] }
policies: { unsupported: forward }`;

  test.each<[ExplainRequest, change: string, why: string]>([
    [client('{"data":{"name":"Ada"}}'), 'schema', 'The body has no other members.'],
    [CHUNKED, 'wrapper', 'The body is empty.'],
    [CHUNKED, 'schema', 'The body is empty.'],
    [client(' [{"data":{}}]'), 'wrapper', 'The body is not an object.'],
    [client('5'), 'schema', 'The body is not an object.'],
    [
      {
        operation: 'create_client',
        headers: [['Content-Type', 'application/json; charset=utf-16']],
        body: '{}',
      },
      'wrapper',
      'The charset or the content coding cannot be read, and the policy unsupported says forward.',
    ],
    [
      { method: 'GET', target: '/api/v1/migration' },
      'wrapper',
      'The gateway itself responds, with the report of the client.',
    ],
  ])('of %j by another rule book says why %s did nothing: %s', async (request, change, why) => {
    const { rules: outcomes, verdict } = await explained(request, new CompiledRuleBook(await bookIn(BOOK)), {
      selfService: '/migration',
    });
    const outcome = outcomes.find((rule) => rule.change === change);
    expect(outcome).toMatchObject({ applied: false, why });
    expect(verdict === 'served').toBe(request.target === '/api/v1/migration');
  });

  test.each<[ExplainRequest, string]>([
    [{}, 'Name an operation, or give a method and a target.'],
    [{ operation: 'create_client', bodyBase64: '*' }, 'The bodyBase64 is not Base64.'],
  ])('of %j cannot be made: %s', async (request, fault) => {
    await expect(explained(request)).rejects.toThrow(fault);
  });

  // The gateway serves two prefixes and nothing else, and an explanation must not be kinder than it is.
  test.each([
    [{ method: 'POST', target: '/foo', body: '{}' }, 404, 'not-found'],
    [{ method: 'POST', target: '/api/v1/%2e%2e/v2/x', body: '{}' }, 400, 'bad-target'],
    [{ method: 'POST', target: 'http://other/api/v1/clients', body: '{}' }, 400, 'bad-target'],
    [
      {
        operation: 'create_client',
        headers: [
          ['Content-Type', 'application/json'],
          ['Content-Encoding', 'zstd'],
        ],
        body: '{}',
      },
      415,
      'unsupported-coding',
    ],
    [{ operation: 'create_client', body: `{"data":"${'x'.repeat(11_000_000)}"}` }, 413, 'body-too-large'],
  ] satisfies [ExplainRequest, number, string][])(
    'refuses %.80j as live: %i %s',
    async (request, status, code) => {
      const { verdict, refusal, v2Request } = await explained(request);
      expect([verdict, refusal?.status, refusal?.code, v2Request]).toEqual([
        'refused',
        status,
        code,
        undefined,
      ]);
    },
  );

  test('shows no credentials, and gives commands that keep the body', async () => {
    const body = `{"data":{"name":"it's"}}`;
    const result = await explained({
      operation: 'create_client',
      headers: [
        ['Authorization', 'Bearer hunter2'],
        ['Content-Type', 'application/json'],
      ],
      body,
    });
    expect(JSON.stringify(result)).not.toContain('hunter2');
    expect(result.curl.v1).toContain(String.raw`--data-raw '{"data":{"name":"it'\''s"}}'`);
    expect(result.curl.v2).toContain(`'https://v2.example/api/v2/clients'`.replaceAll("'", ''));
    expect(result.curl.v1).toContain('"Authorization: Bearer $API_KEY"');
  });
});

describe('an explanation of maps and query rules', () => {
  test.each<[request: ExplainRequest, rule: string, why: string]>([
    [{ method: 'GET', target: '/api/v1/tours?look=day' }, 'rename ?look to ?filter[style]', '1 edit.'],
    [{ method: 'GET', target: '/api/v1/tours' }, 'rename ?look to ?filter[style]', 'The query has no look.'],
    [
      { method: 'GET', target: '/api/v1/tours?x' },
      'strip ?legacy, ?old[]',
      'The query has no legacy, old[].',
    ],
    [
      { method: 'GET', target: '/api/v1/tours?look=x' },
      'map ?filter[style]: day to light, night to dark & stormy',
      'The query has no filter[style] with one of these values.',
    ],
    [
      { method: 'GET', target: '/api/v1/tours?per_page=1' },
      'rename ?per_page to ?page_size',
      'The change concerns every POST and PATCH, not list_tours.',
    ],
    [
      { method: 'PUT', target: '/api/v1/tours/7', body: '{"data":{}}' },
      'unwrap data',
      'The change concerns every POST and PATCH, not replace_tour.',
    ],
    [
      { method: 'PUT', target: '/api/v1/homes/7', body: '{"data":{}}' },
      'unwrap data',
      'Bodies of PUT are read only for an operation that a change with request rules names.',
    ],
    [
      { operation: 'create_tour', body: '{"rooms":[{"kind":"old"}]}' },
      'map kind in rooms.*: "old" to "new"',
      '1 edit.',
    ],
    [
      { operation: 'create_tour', body: '{"rooms":[{"kind":"x"}]}' },
      'map kind in rooms.*: "old" to "new"',
      'rooms.* has no kind with one of these values.',
    ],
  ])('%j: %s', async (request, rule, why) => {
    const headers = [['Content-Type', 'application/json']] as const;
    const { rules: outcomes } = await explained({ headers, ...request }, await requestRulesBook());
    expect(outcomes.find(({ text }) => text === rule)).toMatchObject({ text: rule, why });
  });

  test('has the release that is pinned for an operation', async () => {
    const book = await bookIn(`version: 2025-01-01
operations: { create_client: POST /clients, order_post_production: POST /orders/post_productions }
pins: [{ version: 2025-06-01, operations: [order_post_production] }]
changes: []
`);
    const pinned = new CompiledRuleBook(book);
    for (const [request, version] of [
      [production('{}'), '2025-06-01'],
      [client('{}'), '2025-01-01'],
    ] as const) {
      const { v2Request } = await explained(request, pinned);
      expect(v2Request?.headers.find(({ name }) => name === 'x-api-version')?.value).toBe(version);
    }
  });

  test('refuses a body whose digest is wrong, as live traffic does', async () => {
    const headers = [JSON_TYPE, ['Content-MD5', 'AAAAAAAAAAAAAAAAAAAAAA==']] as const;
    const wrong = { ...client('{"data":{"name":"A"}}'), headers };
    expect(await explained(wrong)).toMatchObject({
      verdict: 'refused',
      refusal: {
        code: 'digest-mismatch',
        status: 400,
        detail: 'The body does not match its content-md5 (md5).',
      },
    });
    expect(await explained({ ...wrong, body: '[1]' })).toMatchObject({ verdict: 'unchanged' });
  });

  test('has edits of the query in front, and a reason for each place', async () => {
    const { verdict, edits, patch, v2Request, diff } = await explained(
      {
        method: 'POST',
        target: '/api/v1/tours?look=day',
        headers: [['Content-Type', 'application/json']],
        body: '{"data":{"style":"day"}}',
      },
      await requestRulesBook(),
    );
    expect(verdict).toBe('rewritten');
    expect(v2Request?.target).toBe('/api/v2/tours?filter%5Bstyle%5D=light');
    expect(edits.map(({ rule, from, path }) => [rule, from, path])).toEqual([
      ['rename', '?look', '?filter[style]'],
      ['map', '?look', '?filter[style]'],
      ['unwrap', '/data', ''],
      ['map', '/data/style', '/style'],
    ]);
    expect(patch.at(-1)).toEqual({ op: 'replace', path: '/style', value: 'light' });
    const summary = 'Styles have other names, and are numbered no longer.';
    expect(diff?.marks.map(({ reason }) => reason)).toEqual([
      `The query parameter look is now called filter[style]. ${summary}`,
      `A value of the query parameter look becomes V2's value for it. ${summary}`,
      'The wrapper data is removed. Parameters are no longer wrapped in a data object.',
      `The value of style becomes V2's value for it. ${summary}`,
    ]);
    const { before = '', marks = [] } = diff ?? {};
    const [span] = marks.at(-1)?.before ?? [];
    expect(before.slice(span?.start, span?.end)).toBe('"style": "day"');
  });
});

describe('each rule of a book is reported with its own effect', () => {
  const RULES = `
version: 2025-01-01
operations: { create_bill: POST /bills }
changes:
  - id: customer
    summary: The customer is an object.
    on: [create_bill]
    request:
      - { rename: customer_name, to: name }
      - { nest: [name, email], under: customer }
      - { nest: [street], under: address }
      - { rename: due, to: due_date }
  - id: later
    summary: It is called buyer.
    on: [create_bill]
    request:
      - { rename: customer, to: buyer }
      - { nest: [fax], in: buyer, under: old }
`;

  async function told(body: string): Promise<readonly (readonly [string, boolean, string])[]> {
    const book = new CompiledRuleBook(await bookIn(RULES));
    const { rules: outcomes } = await explained({ operation: 'create_bill', body }, book);
    return outcomes.map(({ text, applied, why }) => [text, applied, why]);
  }

  test('a rule after another that renamed its member is listed with the edits, not with the rules that did nothing', async () => {
    expect(await told('{"customer_name":"Acme","amount":1}')).toEqual([
      ['rename customer_name to name', true, '1 edit.'],
      ['nest name, email under customer', true, '1 edit.'],
      ['nest street under address', false, 'The body has none of street.'],
      ['rename due to due_date', false, 'The body has no member due.'],
      ['rename customer to buyer', true, '1 edit.'],
      ['nest fax in buyer under old', false, 'buyer has none of fax.'],
    ]);
  });

  test('the reason is about the body as the rule found it', async () => {
    const rules = await told('{"due":1,"email":{"a":1}}');
    expect(rules[0]).toEqual([
      'rename customer_name to name',
      false,
      'The body has no member customer_name.',
    ]);
    expect(rules[3]).toEqual(['rename due to due_date', true, '1 edit.']);
  });
});

const FORM_TYPE = ['Content-Type', 'application/x-www-form-urlencoded'] as const;
const SENT = '{"weight_kg":1.5,"left":1}';

/** What `curl -d` sends without a type, in the spellings of its clients. */
test.each([
  ['as it is', SENT],
  ['with an equals sign at its end', `${SENT}=`],
  ['escaped', encodeURIComponent(SENT)],
  ['partly escaped', SENT.replaceAll('"', '%22')],
])('JSON in the media type of a form has the outcomes of JSON: %s', async (_, body) => {
  const book = new CompiledRuleBook(
    await bookIn(`operations: { ship: POST /shipments }
changes: [{ id: grams, summary: s, on: [ship], request: [{ rename: weight_kg, to: weight_grams }, { scale: weight_grams, by: 1000 }, { strip: gone }] }]`),
  );
  const request = { method: 'POST', target: '/api/v1/shipments', body };
  const [plain, form] = await Promise.all([
    explained({ ...request, body: SENT, headers: [JSON_TYPE] }, book),
    explained({ ...request, headers: [FORM_TYPE] }, book),
  ]);
  expect(plain.rules.map(({ applied }) => applied)).toEqual([true, true, false]);
  expect(form.rules).toEqual(plain.rules);
});

/** A change on every request, and where its rules apply: only those of bodies need one. */
const SCOPES: readonly (readonly [rules: string, on: string, scope: string])[] = [
  ['headers: [{ rename: X-Key, to: X-Token }]', 'every', 'every request'],
  ["headers: [{ query: key, to: Authorization, as: 'Bearer {}' }]", 'every', 'every request'],
  ['query: [{ rename: a, to: b }]', 'every', 'every POST and PATCH'],
  ['request: [{ rename: a, to: b }]', 'every', 'every POST and PATCH with a JSON body'],
  ['response: [{ rename: b, to: a }]', 'every', 'every POST and PATCH with a JSON body'],
  [
    'headers: [{ strip: X-A }], request: [{ rename: a, to: b }]',
    'every',
    'every request (header fields), every POST and PATCH with a JSON body (body)',
  ],
  ['headers: [{ rename: X-Key, to: X-Token }]', '[make, list]', 'make, list'],
];

test.each(SCOPES)('a change with the rules %s on %s concerns %s', async (rules, on, scope) => {
  const book = await bookIn(
    `{ operations: { make: POST /things, list: GET /things }, changes: [{ id: c, summary: S., on: ${on}, ${rules} }] }`,
  );
  const [change] = book.changes;
  expect(change && scopeWords(change)).toBe(scope);
  const view = rulesView({
    rules: new CompiledRuleBook(book),
    since: 0,
    text: '',
    totals: new GatewayTotals(new Tally(), 0),
  });
  expect(view.changes[0]?.scope).toBe(scope);
  const ofGet = view.operations.find(({ id }) => id === 'list')?.changes ?? [];
  expect(ofGet).toEqual(scope.startsWith('every request') || on !== 'every' ? ['c'] : []);
});

test('a text counts the rules of other operations, and shows values that a rule changed', async () => {
  const book = new CompiledRuleBook(
    await bookIn(`
operations: { list: GET /cars, make: POST /cars, change: 'PUT /cars/{id}' }
changes:
  - { id: key, summary: K., on: every, headers: [{ rename: X-Key, to: X-Token }] }
  - { id: names, summary: N., on: [make, change], request: [{ rename: a, to: b }, { rename: c, to: d }] }
  - id: class
    summary: C.
    on: [list]
    query: [{ rename: class, to: category }, { map: { economy: ECONOMY }, of: category }, { rename: x, to: y }]
  - { id: rate, summary: R., on: [make], request: [{ scale: rate, by: 100 }] }
`),
  );
  const listed = await explained({ method: 'GET', target: '/api/v1/cars?class=economy' }, book);
  const text = explainText('request', listed, PLAIN);
  expect(text).toMatch(/^ {2}class +map +\?class=economy +\?category=ECONOMY$/m);
  expect(text).toMatch(/^ {2}class +rename +\?class +\?category$/m);
  expect(text).toMatch(/^3 rules are for other operations than list\.$/m);
  expect(text).not.toContain('The change concerns');
  expect(text).toContain('The query has no x.');
  const made = await explained({ operation: 'make', body: '{"rate":49.9}' }, book);
  const scaled = explainText('request', made, PLAIN);
  expect(scaled).toMatch(/^ {2}rate +scale +\/rate: 49\.9 +\/rate: 4990$/m);
  expect(scaled).toMatch(/^3 rules are for other operations than make\.$/m);
});

test('the reason of an edit says how a value is converted', async () => {
  const book = await bookIn(`operations: { make: POST /things }
changes: [{ id: c, summary: Cents., on: [make], request: [{ rename: deposit, to: cents }, { scale: cents, by: 100 }] }]`);
  const [change] = book.changes;
  const edit = { change: 'c', rule: 'scale', from: '/deposit', path: '/cents' } as const;
  expect(editReason(edit, change)).toBe(
    "The value of deposit is converted to V2's form: scale deposit by 100. Cents.",
  );
  expect(editReason(edit, undefined)).toBe("The value of deposit is converted to V2's form (scale).");
});

test('a change counts the requests and the responses that its rules edited, without those of dry runs', async () => {
  const book = await bookIn(`
operations: { make: POST /things, show: 'GET /things/{id}' }
changes:
  - { id: note, summary: S., on: [make], request: [{ strip: [note] }] }
  - { id: name, summary: S., on: [make], request: [{ rename: a, to: b }], response: inverse }
  - { id: more, summary: S., on: [show], response: [{ strip: [secret] }] }
  - { id: field, summary: S., on: [show], headers: [{ rename: X-Key, to: X-Token }], response: inverse }
`);
  const tally = new Tally();
  const exchange = { ...sampleEntry(1, 0), operation: 'make', edits: [], origin: undefined };
  const of = (change: string, at: object): EditRecord => ({ change, rule: 'rename', ...at });
  for (const one of [
    { edits: [of('note', { from: '/note' })] },
    { origin: 'v1', responseWould: [{ change: 'note', path: '/note' }] },
    { origin: 'v1', responseWould: [{ change: 'name', path: '/a', from: '/b' }] },
    {
      edits: [of('name', { from: '/a', path: '/b' })],
      responseEdits: [of('name', { from: '/b', path: '/a' })],
    },
    { operation: 'show', responseEdits: [of('more', { from: '/secret' })] },
    { operation: 'show', responseEdits: [of('field', { header: 'X-Token', to: 'X-Key' })] },
    { operation: 'show', responseEdits: [{ change: 'name', rule: 'errors', from: '/b', path: '/a' }] },
  ] as const)
    tally.add({ ...exchange, ...one } as TallyEntry);
  const view = rulesView({
    rules: new CompiledRuleBook(book),
    since: 0,
    text: '',
    totals: new GatewayTotals(tally, 0),
  });
  expect(view.changes.map(({ id, hits, responses }) => [id, hits, responses.hits])).toEqual([
    ['note', 1, 0],
    ['name', 1, 1],
    ['more', 0, 1],
    ['field', 0, 1],
  ]);
});
