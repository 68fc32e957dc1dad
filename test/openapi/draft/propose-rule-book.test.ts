import { expect, test } from 'vitest';
import { type FoundRule, PROPOSED_FROM } from '../../../src/openapi/draft/finding.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { randomPair } from '../random-pairs.ts';

/** The proposed rules of each operation, as text that ignores the order of members and values. */
function proposedRules(book: ProposedRuleBook, from = PROPOSED_FROM): ReadonlyMap<string, readonly string[]> {
  return new Map(
    book.operations.map(({ id }) => [
      id,
      book.changes
        .filter(({ on }) => on === 'every' || on.includes(id))
        .flatMap(({ rules }) => rules.filter(({ confidence }) => confidence >= from))
        .map(({ found }) => ruleText(found)),
    ]),
  );
}

function ruleText(rule: FoundRule): string {
  const sorted = rule.rule === 'nest' ? { ...rule, members: rule.members.toSorted() } : rule;
  const values =
    sorted.rule === 'map' ? { values: sorted.values.map((pair) => pair.join('>')).toSorted() } : {};
  const entries = Object.entries({ ...sorted, ...values });
  return JSON.stringify(Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

test('at least 95 % of the changes of 60 random pairs are found, and at most 2 % of the rules are false', () => {
  let [known, found, proposed] = [0, 0, 0];
  const missed: string[] = [];
  const wrong: string[] = [];
  for (let seed = 1; seed <= 60; seed += 1) {
    const pair = randomPair(seed);
    const rules = proposedRules(proposeRuleBook(pair.v1, pair.v2));
    for (const [id, changes] of pair.known) {
      const expected = changes.map((change) => ruleText(change));
      const actual = rules.get(id) ?? [];
      known += expected.length;
      proposed += actual.length;
      found += expected.filter((rule) => actual.includes(rule)).length;
      missed.push(
        ...expected.filter((rule) => !actual.includes(rule)).map((rule) => `${seed} ${id} ${rule}`),
      );
      wrong.push(...actual.filter((rule) => !expected.includes(rule)).map((rule) => `${seed} ${id} ${rule}`));
    }
  }
  const share = (part: number, all: number): string => `${((part / all) * 100).toFixed(1)} %`;
  console.log(
    `found ${found} of ${known} changes (${share(found, known)}); ${wrong.length} of ${proposed} rules false (${share(wrong.length, proposed)})`,
  );
  expect(known).toBeGreaterThan(300);
  expect(found / known).toBeGreaterThanOrEqual(0.95);
  expect(wrong.length / proposed).toBeLessThanOrEqual(0.02);
});

const pathsWith = (version: string, schema: unknown, path = '/things'): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '2025-01-01' },
  paths: {
    [`/api/${version}${path}`]: {
      post: {
        operationId: 'create',
        requestBody: { content: { 'application/json': { schema } } },
        responses: {},
      },
    },
  },
});

const objectOf = (properties: Record<string, unknown>, required: string[] = []): unknown => ({
  type: 'object',
  properties,
  required,
});

const text = { type: 'string' };

function bookOf(v1: unknown, v2: unknown): ProposedRuleBook {
  return proposeRuleBook(pathsWith('v1', v1), pathsWith('v2', v2));
}

const questionsOf = ({ questions }: ProposedRuleBook): readonly string[] => [...questions.values()].flat();

test('what it cannot decide is a question, and no rule', () => {
  const book = bookOf(
    objectOf({
      kind: text,
      size: text,
      count: text,
      colour: { type: 'string', enum: ['red', 'blue', 'grey'] },
    }),
    objectOf(
      {
        kind: { type: 'integer' },
        weight: text,
        height: text,
        colour: { type: 'string', enum: ['red', 'green', 'black', 'white'] },
        owner: text,
      },
      ['owner'],
    ),
  );
  expect(proposedRules(book).get('create')).toEqual([]);
  expect(questionsOf(book)).toEqual([
    expect.stringMatching(/^size: is it called \w+ in V2.*, or gone\?$/),
    expect.stringMatching(/^count: is it called \w+ in V2.*, or gone\?$/),
    'owner is required in V2 and not in V1: V2 refuses requests without it.',
    'kind is string in V1 and number in V2: no rule changes the type of a value.',
    'colour: V1 allows "blue", "grey", V2 does not. Which values of V2 do they mean?',
  ]);
  const printed = printRuleBook(book);
  expect(printed).toContain('changes: []');
  expect(printed).toMatch(/# {3}- \{ strip: size \}|# {5}- \{ strip: size \}/);
});

test('members that move and change their names, in lists too', () => {
  const v1 = objectOf({
    items: { type: 'array', items: objectOf({ sku: text, address_city: text, address_zip: text }) },
  });
  const v2 = objectOf({
    items: { type: 'array', items: objectOf({ sku: text, address: objectOf({ city: text, zip: text }) }) },
  });
  expect(
    proposedRules(bookOf(v1, v2))
      .get('create')
      ?.map((rule) => JSON.parse(rule) as object),
  ).toEqual([
    { rule: 'rename', in: ['items', '*'], member: 'address_city', to: 'city' },
    { rule: 'rename', in: ['items', '*'], member: 'address_zip', to: 'zip' },
    { rule: 'nest', in: ['items', '*'], members: ['city', 'zip'], under: 'address' },
  ]);
});

test('an operation that only V1 has is a question', () => {
  const book = proposeRuleBook(pathsWith('v1', text, '/things'), pathsWith('v2', text, '/objects'));
  expect(questionsOf(book)).toEqual([
    'V2 does not describe POST /things, and no rule changes a path. POST /objects has the same operationId.',
  ]);
});

test('a schema within itself ends, and one in another document is named', () => {
  const recursive = { ...pathsWith('v1', { $ref: '#/components/schemas/Node' }) };
  recursive['components'] = {
    schemas: { Node: objectOf({ name: text, child: { $ref: '#/components/schemas/Node' } }) },
  };
  const foreign = pathsWith('v2', { $ref: 'other.yaml#/Node' });
  expect(questionsOf(proposeRuleBook(recursive, foreign))).toContain(
    'other.yaml#/Node is in another document and was not compared.',
  );
  expect(proposeRuleBook(recursive, recursive).changes).toEqual([]);
});

test('names of any kind are printed so that the rule book reads them as they are', async () => {
  const names = [
    'a.b',
    'c\\d',
    'yes',
    'null',
    '1',
    ' x ',
    "it's",
    '"q"',
    'é\u2028',
    'a: b',
    '# c',
    '-',
    '{x}',
    '\ud800',
    'Ω\n',
  ];
  const v1 = objectOf(Object.fromEntries(names.map((name) => [name, { ...text, deprecated: true }])));
  const reading = await readRuleBook(
    printRuleBook(bookOf(v1, objectOf({ kept: { type: 'integer' } }))),
    'draft',
  );
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  const stripped = reading.ruleBook.changes.flatMap(({ request }) =>
    request.flatMap((rule) => ('members' in rule ? rule.members : [])),
  );
  expect(stripped.toSorted()).toEqual(names.toSorted());
});

test('every draft is a sound rule book', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const pair = randomPair(seed);
    const reading = await readRuleBook(printRuleBook(proposeRuleBook(pair.v1, pair.v2)), 'draft');
    expect([seed, reading.ok ? [] : reading.faults.map(({ message }) => message)]).toEqual([seed, []]);
  }
});

test('query parameters that V2 calls otherwise are renamed, and others are asked about', async () => {
  const withQuery = (version: string, parameters: readonly unknown[]): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '2025-01-01' },
    paths: { [`/api/${version}/things`]: { get: { operationId: 'list', parameters, responses: {} } } },
  });
  const query = (name: string, type: string): unknown => ({ name, in: 'query', schema: { type } });
  const v1 = withQuery('v1', [
    query('page', 'integer'),
    query('old_kind', 'string'),
    query('flag', 'boolean'),
  ]);
  const v2 = withQuery('v2', [query('page', 'integer'), query('kind', 'string')]);
  const book = proposeRuleBook(v1, v2);
  expect(questionsOf(book)).toEqual(['list: V2 does not describe the query parameter flag.']);
  const reading = await readRuleBook(printRuleBook(book), 'draft');
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  expect(reading.ruleBook.changes.map(({ on, query: rules }) => [on, rules])).toEqual([
    [['list'], [{ rule: 'rename', parameter: 'old_kind', to: 'kind' }]],
  ]);
});
