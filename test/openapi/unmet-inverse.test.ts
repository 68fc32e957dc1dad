import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { missingDestinations, unmetRules } from '../../src/openapi/unmet-inverse.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { commandRuns } from '../support/command-runs.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const RULES = `
version: 2025-01-01
operations: { create_bill: POST /bills, read_bill: 'GET /bills/{id}', list_bills: GET /bills, ping: GET /ping }
changes:
  - id: due-date
    summary: due is called due_date.
    on: [create_bill]
    request: [{ rename: due, to: due_date }]
    response: inverse
`;

const BILL = { type: 'object', properties: { id: { type: 'integer' }, due_date: { type: 'string' } } };

/** V2, whose read of one bill responds with this schema. */
function v2(schema: object): Parameters<typeof unmetRules>[1] {
  const operation = (body: object): object => ({
    responses: {
      200: { description: 'ok', content: { 'application/json': { schema: body } } },
      404: { description: 'no', content: { 'application/json': { schema: { properties: { errors: {} } } } } },
    },
  });
  const wrapped = { type: 'object', properties: { data: BILL } };
  return {
    openapi: '3.1.0',
    info: { title: 'V2', version: '2' },
    paths: {
      '/api/v2/bills': { post: operation(wrapped), get: operation(wrapped) },
      '/api/v2/bills/{bill}': { get: operation(schema) },
      '/api/v2/ping': { get: operation(BILL) },
    },
    components: { schemas: { Bill: BILL } },
  };
}

const READ = 'operation "read_bill": inverse of due-date meets no member: V2\'s response 200 has no data';

test.each<readonly [what: string, schema: object, found: RegExp | undefined]>([
  ['a wrapped resource', { type: 'object', properties: { data: { type: 'array', items: BILL } } }, undefined],
  ['a bare resource', BILL, /\(it has id, due_date\)/],
  ['one behind a reference', { $ref: '#/components/schemas/Bill' }, /\(it has id, due_date\)/],
  ['a list', { type: 'array', items: BILL }, /\(it is a list\)/],
  ['another wrapper', { allOf: [{ properties: { items: BILL } }] }, /\(it has items\)/],
  ['a schema that tells nothing', {}, undefined],
])(
  '%s: an inverse that can find no member is reported, by the description of V2',
  async (_, schema, found) => {
    const warnings = unmetRules(await bookIn(RULES), v2(schema));
    expect(warnings).toHaveLength(found === undefined ? 0 : 1);
    if (found === undefined) return;
    expect(warnings[0]).toMatch(found);
    expect(warnings[0]?.startsWith(READ)).toBe(true);
  },
);

test.each<readonly [what: string, resource: string, schema: object, found: RegExp | undefined]>([
  ['an item of a list', 'items', { properties: { items: { type: 'array', items: BILL } } }, undefined],
  ['a path', '_embedded.bills', { properties: { _embedded: { properties: { bills: BILL } } } }, undefined],
  [
    'half a path',
    '_embedded.bills',
    { properties: { _embedded: { properties: { x: {} } } } },
    /has no _embedded\.bills/,
  ],
  ['the body', "''", BILL, undefined],
  ['the body, a list', "''", { type: 'array', items: BILL }, undefined],
  ['a body without the member', "''", { properties: { data: BILL } }, /has no "due_date" \(it has data\)/],
  [
    'a list without the member',
    "''",
    { type: 'array', items: { properties: { id: {} } } },
    /has no "due_date" \(it is a list\)/,
  ],
  [
    'data, where the book says items',
    'items',
    { properties: { data: BILL } },
    /has no items \(it has data\)/,
  ],
])('%s: resource of an operation says where its inverse looks', async (_, resource, schema, found) => {
  const rules = RULES.replace("'GET /bills/{id}'", `{ match: 'GET /bills/{id}', resource: ${resource} }`);
  const warnings = unmetRules(await bookIn(rules), v2(schema));
  expect(warnings).toHaveLength(found === undefined ? 0 : 1);
  if (found !== undefined) expect(warnings[0]).toMatch(found);
});

test('an inverse that moves members of the body itself meets it', async () => {
  const rules = RULES.replace('{ rename: due, to: due_date }', '{ move: due, to: dates.due }').replace(
    "'GET /bills/{id}'",
    "{ match: 'GET /bills/{id}', resource: '' }",
  );
  const shown = { properties: { dates: { type: 'object', properties: { due: {} } } } };
  expect(unmetRules(await bookIn(rules), v2(shown)).filter((one) => one.includes('read_bill'))).toEqual([]);
});

test.each<readonly [what: string, rule: string, has: object, found: RegExp | undefined]>([
  ['a moved member', '{ move: due, to: terms.due }', { terms: {} }, undefined],
  [
    'a moved member that V2 lacks',
    '{ move: due, to: terms.due }',
    { id: {} },
    /has no "terms\.due" \(it has id\)/,
  ],
  ['a nested member', '{ nest: [due], under: terms }', { terms: {} }, undefined],
  ['a split member', "{ split: due, to: [day, time], with: ' ' }", { day: {}, time: {} }, undefined],
  [
    'a split one that V2 lacks',
    "{ split: due, to: [day, time], with: ' ' }",
    { id: {} },
    /has no "day" and no "time"/,
  ],
])('%s: an inverse looks for each member that its rules read', async (_, rule, properties, found) => {
  const rules = `resource: ''\n${RULES.replace('{ rename: due, to: due_date }', rule)}`;
  const warnings = unmetRules(await bookIn(rules), v2({ properties })).filter((one) =>
    one.includes('read_bill'),
  );
  expect(warnings).toHaveLength(found === undefined ? 0 : 1);
  if (found !== undefined) expect(warnings[0]).toMatch(found);
});

test('what a transform makes of a response is not looked for in the description of V2', async () => {
  const rules = RULES.replace("'GET /bills/{id}'", "{ match: 'GET /bills/{id}', transform: ./bill.js }");
  const folder = temporaryFolder('unmet-inverse-transform');
  const [path, module] = [join(folder, 'rules.yaml'), join(folder, 'bill.js')];
  writeFileSync(path, rules);
  writeFileSync(module, 'export function response({ id }) { return { body: { data: { id } } }; }');
  const reading = await readRuleBook(rules, path);
  expect(reading.ok && unmetRules(reading.ruleBook, v2(BILL))).toEqual([]);
});

test('a resource at the top of the rule book is that of every operation', async () => {
  const warnings = unmetRules(await bookIn(`${RULES}\nresource: items\n`), v2(BILL));
  expect(warnings.map((warning) => warning.slice(0, 24))).toEqual([
    'operation "create_bill":',
    'operation "read_bill": i',
    'operation "list_bills": ',
  ]);
});

test.each<readonly [what: string, rule: string, schema: object, isMet: boolean]>([
  ['the wrapper that V2 lacks', '{ rename: data.due_date, to: due }', BILL, false],
  [
    'a member of V2 with the name of the wrapper',
    '{ rename: data.due_date, to: due }',
    { properties: { data: BILL } },
    true,
  ],
  ['a member without the wrapper', '{ rename: due_date, to: due }', BILL, true],
  ['the wrapper of errors', '{ rename: error.due_date, to: due }', BILL, true],
  ['an error', '{ strip: data.due_date, status: [404] }', BILL, true],
  ['a member that V2 may have', '{ strip: data.due_date }', {}, true],
])('a rule for a wrapped response that names %s is reported: %j', async (_, rule, schema, isMet) => {
  const rules = `
operations: { read_bill: 'GET /bills/{id}', ping: GET /ping }
changes:
  - { id: due, summary: due is called due_date., on: [read_bill], response: [${rule}] }
  - { id: wrapper, summary: V2 has no wrapper., on: every, response: [{ wrap: data }, { wrap: error, status: [404] }] }
`;
  expect(unmetRules(await bookIn(rules), v2(schema))).toEqual(
    isMet
      ? []
      : [
          `operation "read_bill": due names "data.due_date", and V2's response has no data: wrap puts the body there after all other rules, so name "due_date"`,
        ],
  );
});

test('check reports it with the other warnings', async () => {
  const folder = temporaryFolder('unmet-inverse');
  const [rules, description] = [join(folder, 'rules.yaml'), join(folder, 'v2.json')];
  writeFileSync(rules, RULES);
  writeFileSync(description, JSON.stringify(v2(BILL)));
  const args = [
    'check',
    '--rules',
    rules,
    '--v2-openapi',
    description,
    '--v1-upstream',
    'http://127.0.0.1:9',
  ];
  const [text, json] = await commandRuns([args, [...args, '--json']]);
  expect([text?.code, text?.err]).toEqual([0, '']);
  expect(text?.out.replaceAll(/\s+/g, ' ')).toContain(READ);
  const { warnings } = JSON.parse(json?.out ?? '') as { readonly warnings: readonly string[] };
  expect(warnings.some((warning) => warning.startsWith(READ))).toBe(true);
});

test.each([
  ['to: GET /things', []],
  ["to: 'GET /things?kind=bill'", []],
  [
    'to: DELETE /things',
    ['operation "a": V2\'s description has no DELETE /things below /api/v2; it has GET, POST there'],
  ],
  [
    'to: GET /thing',
    [
      'operation "a": V2\'s description has no GET /thing below /api/v2; correct to, or the description if it lacks the operation',
    ],
  ],
])('a moved operation that V2 describes, or not: %s', async (to, expected) => {
  const operation = { responses: { 200: { description: 'ok' } } };
  const description = { openapi: '3.1.0', paths: { '/api/v2/things': { post: operation, get: operation } } };
  const book = await bookIn(
    `version: 2025-01-01\noperations: { a: { match: GET /a, ${to} } }\nchanges: []\n`,
  );
  expect(missingDestinations(book, description)).toEqual(expected);
});
