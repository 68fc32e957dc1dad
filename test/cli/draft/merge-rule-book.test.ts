import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { isDescription } from '../../../src/openapi/description.ts';
import { mergeRuleBook } from '../../../src/cli/draft/merge-rule-book.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';

/** The draft of the example, whose descriptions name these servers. */
function invoicing(servers?: readonly [v1: readonly string[], v2: readonly string[]]): ProposedRuleBook {
  const [v1, v2] = ['v1', 'v2'].map((name): unknown =>
    parse(readFileSync(`examples/invoicing/${name}.yaml`, 'utf8')),
  );
  if (!isDescription(v1) || !isDescription(v2)) throw new Error('the example has no descriptions');
  if (servers === undefined) return proposeRuleBook(v1, v2);
  const [one, other] = servers.map((urls) => ({ servers: urls.map((url) => ({ url })) }));
  return proposeRuleBook({ ...v1, ...one }, { ...v2, ...other });
}

const WRITTEN = `# Ours.
resource: ''

operations:
    # The first one that moved.
    make: {match: POST /bills,   to: POST /invoices}   # by hand

changes:
    - id: removed-attributes   # not the id that a draft may use
      summary: Nobody sends a fax.
      on: [make]
      request: [ {strip: fax} ]
    - id: cents
      summary: Amounts are cents.
      on: [make]
      request:
        - { rename: amount, to: amount_cents } # agreed with finance
        - { scale: amount_cents, by: 100 }
      response: inverse
# The end.
`;

async function isSound(text: string): Promise<boolean> {
  const reading = await readRuleBook(text, 'rules.yaml');
  return reading.ok;
}

test('a merge adds new operations and changes, and keeps what a person wrote byte for byte', async () => {
  const { text, operations, changes } = mergeRuleBook(WRITTEN, invoicing());
  expect(operations).toBe(5);
  expect(changes).toBeGreaterThan(3);
  const lines = text.split('\n');
  let from = 0;
  for (const line of WRITTEN.trimEnd().split('\n')) {
    const at = lines.indexOf(line, from);
    expect([line, at >= from]).toEqual([line, true]);
    from = at + 1;
  }
  expect(text).toContain(
    '\n    listLines: { match: "GET /bills/{id}/lines", to: "GET /lines?invoice=inv_{id}" }',
  );
  expect(text).toMatch(
    /\n {4}getBill:\n {6}match: "GET \/bills\/\{id\}"\n {6}# .*\n {6}# to: "GET \/invoices\/inv_\{id\}"\n/,
  );
  expect(text).not.toContain('createBill');
  // For the other operation that writes, fax and amount are still open.
  expect(text).toMatch(/- id: removed-attributes-2\n.*summary: .*\n.*on: \[replaceBill\]/);
  expect(text).toMatch(/# - id: amount-cents-name\n.*\n.*on: \[replaceBill\]/);
  expect(await isSound(text)).toBe(true);
});

test('a second merge adds nothing, and repeats no open question', () => {
  const once = mergeRuleBook(WRITTEN, invoicing());
  expect(mergeRuleBook(once.text, invoicing())).toEqual({ text: once.text, operations: 0, changes: 0 });
  const drafted = printRuleBook(invoicing());
  expect(mergeRuleBook(drafted, invoicing())).toEqual({ text: drafted, operations: 0, changes: 0 });
});

test('a missing top-level key becomes a question once, and existing keys stay', () => {
  const { text } = mergeRuleBook(WRITTEN, invoicing());
  expect(text).toContain("# TODO: does refusals hold? V1's description has its errors in this form");
  expect(text).toContain('\n# refusals: problem\n');
  expect(text).toContain('\n#   malformed: forward # a body that is not JSON\n');
  expect(text).not.toContain('# resource');
  const decided = mergeRuleBook(`refusals: rails\npolicies: { value: keep }\n${WRITTEN}`, invoicing());
  expect(decided.text).not.toContain('refusals: problem');
  expect(decided.text).not.toContain('malformed');
});

test('a merge asks only about prefixes that a description has, each by its name', () => {
  const asked = (text: string): readonly string[] =>
    text.match(/# TODO: does (?:from|to) hold\?.*\n#.*/g) ?? [];
  const one = mergeRuleBook(WRITTEN, invoicing([[], ['https://h/v3']]));
  expect(asked(one.text)).toEqual([expect.stringMatching(/^# TODO: does to hold\? .*\n# to: \/v3$/)]);
  const both = mergeRuleBook(one.text, invoicing([['https://h/v2'], ['https://h/v3']]));
  expect(asked(both.text)).toHaveLength(2);
  expect(both.text).toContain('\n# from: /v2\n');
});

test.each([
  'operations: {}\nchanges: []\n',
  'changes: []\n',
  '# Nothing yet.\nchanges: []\noperations: {}\n',
])('into %j', async (empty) => {
  const { text } = mergeRuleBook(`${empty}resource: ''\n`, invoicing());
  expect(await isSound(text)).toBe(true);
  expect(text).toContain('createBill');
  expect(text).toContain('nested-customer');
});

test('a merge makes no id twice, asks each question in the book, and names nothing as gone that the book has', () => {
  const answer = (properties: Record<string, unknown>): unknown => ({
    responses: { 200: { content: { 'application/json': { schema: { type: 'object', properties } } } } },
  });
  const text = { type: 'string' };
  const of = (version: string, paths: Record<string, unknown>): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, get]) => [`/api/${version}/${path}`, { get }]),
    ),
  });
  const old = {
    a: answer({ fax: text, id: text }),
    b: answer({ fax: text, id: text }),
    c: answer({}),
    d: answer({}),
  };
  const proposed = proposeRuleBook(
    of('v1', old),
    of('v2', { a: answer({ id: text }), b: answer({ id: text }) }),
  );
  const book = `from: /api/v1
to: /api/v2
resource: ''
operations:
  get_a: GET /a
  c: { match: GET /c, gone: No more. }
changes:
  # TODO: does removed-attributes-response hold? Remove its marks, or delete it.
  # - id: removed-attributes-response
  #   summary: tel is gone.
  #   on: [get_a]
  #   response:
  #     - { default: { tel: null } }
  - { id: own, summary: Own., on: [get_a], response: [{ strip: more }] }
`;
  const merged = mergeRuleBook(book, proposed).text;
  const ids = [...merged.matchAll(/^[ #]*- \{? *id: ([\w-]+)/gm)].map(([, id]) => id);
  expect(ids).toEqual(['removed-attributes-response', 'own', 'removed-attributes-response-2']);
  expect(merged).toContain('TODO: does removed-attributes-response-2 hold?');
  expect(merged).toContain('# TODO: where is GET /d?');
  expect(merged).not.toContain('where is GET /c');
});

test('a merge asks nothing about a parameter or a member for which the book has a rule of another kind', () => {
  const of = (version: string, names: readonly string[], members: object): Record<string, unknown> => {
    const schema = { type: 'object', properties: { id: { type: 'string' }, ...members } };
    const parameters = names.map((name) => ({ name, in: 'query', schema: { type: 'string' } }));
    const get = { parameters, responses: { 200: { content: { 'application/json': { schema } } } } };
    return {
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: { [`/api/${version}/a`]: { get } },
    };
  };
  const proposed = proposeRuleBook(of('v1', ['sort'], { fax: { type: 'string' } }), of('v2', [], {}));
  const written = (rules: string): string =>
    `from: /api/v1\nto: /api/v2\nresource: ''\noperations:\n  get_a: GET /a\nchanges:\n  - id: own\n    summary: Own.\n    on: [get_a]\n${rules}`;
  const asked = (rules: string): readonly string[] =>
    mergeRuleBook(written(rules), proposed).text.match(/(?<=# {3}- id: )\S+|(?<=# - id: )\S+/g) ?? [];
  expect(asked('    response: [{ strip: more }]\n')).toEqual([
    'sort-parameter-gone',
    'removed-attributes-response',
  ]);
  expect(asked('    query: [{ set: { sort: "" } }]\n    response: [{ set: { fax: none } }]\n')).toEqual([]);
});
