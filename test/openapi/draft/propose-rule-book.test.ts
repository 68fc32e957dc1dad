import { expect, test } from 'vitest';
import { type FoundRule, isProposed } from '../../../src/openapi/draft/found-rules.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { successShape } from '../../../src/openapi/draft/bodies.ts';
import { Components } from '../../../src/openapi/components.ts';
import { describedVersions, operationsBelow } from '../../../src/openapi/description.ts';
import { draftQuestions } from '../../../src/openapi/draft/draft-questions.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { compilePlans } from '../../../src/rewrite/plan.ts';
import { ruleBookWarnings } from '../../../src/rules/check-rule-book.ts';
import { compileResponsePlans } from '../../../src/rewrite/response-plan.ts';
import { bytesOf, rewritten, textOf } from '../../rewrite/notation.ts';
import { randomPair } from '../random-pairs.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { bookIn } from '../../rules/reading.ts';

/** The rules of each operation, or those that apply, as text that ignores the order of members and values. */
function rulesIn(book: ProposedRuleBook, isSureOnly: boolean): ReadonlyMap<string, readonly string[]> {
  return new Map(
    book.operations.map(({ id }) => [
      id,
      book.changes
        .filter(({ on }) => on === 'every' || on.includes(id))
        .flatMap(({ rules }) => rules.filter((rule) => !isSureOnly || isProposed(rule)))
        .flatMap((rule) => [rule.found, ...(isSureOnly ? [] : (rule.others ?? []))])
        .map((found) => ruleText(found)),
    ]),
  );
}

const proposedRules = (book: ProposedRuleBook): ReadonlyMap<string, readonly string[]> => rulesIn(book, true);

function ruleText(rule: FoundRule): string {
  const sorted = rule.rule === 'nest' ? { ...rule, members: rule.members.toSorted() } : rule;
  const values =
    sorted.rule === 'map' ? { values: sorted.values.map((pair) => pair.join('>')).toSorted() } : {};
  const entries = Object.entries({ ...sorted, ...values });
  return JSON.stringify(Object.fromEntries(entries.toSorted(([one], [other]) => (one < other ? -1 : 1))));
}

test('at least 95 % of the changes of 60 random pairs are in the draft, and at most 2 % of those that apply are false', () => {
  let [known, found, applied, right] = [0, 0, 0, 0];
  const missed: string[] = [];
  const wrong: string[] = [];
  for (let seed = 1; seed <= 60; seed += 1) {
    const pair = randomPair(seed);
    const book = proposeRuleBook(pair.v1, pair.v2);
    const [rules, sure] = [rulesIn(book, false), proposedRules(book)];
    for (const [id, changes] of pair.known) {
      const expected = changes.map((change) => ruleText(change));
      const [all, active] = [rules.get(id) ?? [], sure.get(id) ?? []];
      known += expected.length;
      applied += active.length;
      found += expected.filter((rule) => all.includes(rule)).length;
      right += expected.filter((rule) => active.includes(rule)).length;
      missed.push(...expected.filter((rule) => !all.includes(rule)).map((rule) => `${seed} ${id} ${rule}`));
      wrong.push(...active.filter((rule) => !expected.includes(rule)).map((rule) => `${seed} ${id} ${rule}`));
    }
  }
  const share = (part: number, all: number): string => `${((part / all) * 100).toFixed(1)} %`;
  console.log(
    `found ${found} of ${known} changes (${share(found, known)}), ${right} of them applied (${share(right, known)}); ${wrong.length} of ${applied} applied rules false (${share(wrong.length, applied)})`,
  );
  expect(known).toBeGreaterThan(300);
  expect(found / known).toBeGreaterThanOrEqual(0.95);
  expect(wrong.length / applied).toBeLessThanOrEqual(0.02);
});

/** A description of one path with these operations by method. */
const described = (version: string, path: string, methods: object): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '2025-01-01' },
  paths: { [`/api/${version}${path}`]: methods },
});

const operationWith = (operationId: string, schema: unknown): object => ({
  operationId,
  requestBody: { content: { 'application/json': { schema } } },
  responses: {},
});

const pathsWith = (version: string, schema: unknown, path = '/things'): Record<string, unknown> =>
  described(version, path, { post: operationWith('create', schema) });

/** A description of one operation for each method, with the same body. */
const methodsWith = (version: string, schema: unknown, ...methods: string[]): Record<string, unknown> =>
  described(
    version,
    '/things',
    Object.fromEntries(methods.map((method) => [method, operationWith(method, schema)])),
  );

const objectOf = (properties: Record<string, unknown>, required: string[] = []): unknown => ({
  type: 'object',
  properties,
  required,
});

const text = { type: 'string' };

function bookOf(v1: unknown, v2: unknown): ProposedRuleBook {
  return proposeRuleBook(pathsWith('v1', v1), pathsWith('v2', v2));
}

/** The questions of a draft that no rule asks, and why its rules that do not apply are questions. */
const questionsOf = ({ questions, changes }: ProposedRuleBook): readonly string[] => [
  ...[...questions.values()].flat().map(({ path, text: asked }) => [...path, asked].join(': ')),
  ...changes.flatMap(({ rules, response = [] }) =>
    [...rules, ...response].flatMap(({ doubt }) => doubt ?? []),
  ),
];

test('a question shows the descriptions of both versions where they differ', () => {
  type Member = readonly [name: string, type: string, description: string];
  const of = ([name, type, description]: Member): unknown =>
    objectOf({ [name]: { type, description }, city: text, name: text });
  const printed = (old: Member, young: Member): string => printRuleBook(bookOf(of(old), of(young)));
  const words = 'V1 describes it as "What the owner owes", and V2 as "Credit of the client"';
  const [owes, credit] = ['What the  owner\nowes', 'Credit of the client'] as const;
  expect(printed(['owner_balance', 'number', owes], ['client_balance', 'number', credit])).toContain(words);
  expect(printed(['balance', 'number', owes], ['balance', 'object', credit])).toContain(
    `it is number in V1 and object in V2: say how to convert it. ${words}.`,
  );
  expect(printed(['balance', 'number', owes], ['balance', 'object', owes])).not.toContain('V1 describes');
});

test('no name is offered by its type alone for a text that is no day, or for what is no identifier', () => {
  const named = (others: Record<string, unknown>, member: string): string =>
    printRuleBook(bookOf(objectOf({ [member]: text, kept: text }), objectOf({ kept: text, ...others })));
  const day = { ...text, format: 'date' };
  const many = { shape: text, colour: text };
  expect(named({ ...many, implanted: day }, 'notes')).not.toContain('implanted');
  expect(named({ ...many, implanted: day }, 'started_on')).toContain('to: implanted');
  expect(named({ ...many, owner_ref: text }, 'notes')).not.toContain('owner_ref');
});

test.each<
  [what: string, v1: Record<string, unknown>, v2: Record<string, unknown>, offered: readonly string[]]
>([
  [
    'the words of addresses',
    { street: text, zip: text, notes: text },
    { address: objectOf({ line1: text, postal_code: text, kind: text }) },
    ['{ move: street, to: address.line1 }', '{ move: zip, to: address.postal_code }'],
  ],
  [
    'the name of another gone member',
    { patient_id: { type: 'integer' }, patient_name: text },
    { patient: objectOf({ patientId: { type: 'integer' }, displayName: text }) },
    ['{ move: patient_name, to: patient.displayName }'],
  ],
  [
    'the values of an enumeration',
    { sex: { enum: ['m', 'f', 'x'] }, note: text },
    { gender: { enum: ['male', 'female', 'other', 'unknown'] } },
    ['{ rename: sex, to: gender } { map: { m: male, f: female }, of: gender }'],
  ],
  [
    'only the number of values',
    { status: { enum: ['cancelled', 'arrived'] }, mood: text },
    { doneBy: { enum: ['PATIENT', 'CLINIC'] }, more: { type: 'integer' } },
    [],
  ],
])('members with %s in common are offered, and others are not', (_, v1, v2, offered) => {
  const book = bookOf(objectOf({ kept: text, ...v1 }), objectOf({ kept: text, ...v2 }));
  const all = draftQuestions(book).flatMap(({ parts }) => parts.flatMap(({ answers: each }) => each));
  const found = all.map(({ lines }) =>
    lines.filter((line) => !/strip|default|patient_id|patientId/.test(line)).join(' '),
  );
  expect([...new Set(found)].filter((line) => line !== '').toSorted()).toEqual(offered.toSorted());
});

test('a change that it cannot decide is a question, and no rule', () => {
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
    'colour: V1 allows "blue", "grey", V2 does not. Which values of V2 do they mean?',
    'what clients send there would be lost, and V2 would still report success',
    'what clients send there would be lost, and V2 would still report success',
    'it is string in V1 and integer in V2',
    'owner is required in V2 and not in V1: V2 refuses requests without it',
  ]);
  const printed = printRuleBook(book);
  expect(printed).toContain('changes: []');
  // One question for both members, without names of V2: their types alone say nothing.
  expect(printed).toMatch(/# {5}- \{ strip: size \}\n.*# {5}- \{ strip: count \}\n/);
  expect(printed).not.toMatch(/rename: (?:size|count)/);
  expect(printed.match(/TODO: does removed/g)).toHaveLength(1);
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
    { rule: 'nest', in: ['items', '*'], members: ['address_city', 'address_zip'], under: 'address' },
    { rule: 'rename', in: ['items', '*', 'address'], member: 'address_city', to: 'city' },
    { rule: 'rename', in: ['items', '*', 'address'], member: 'address_zip', to: 'zip' },
  ]);
});

/** A description of operations, each as `METHOD /path name`, with a required query parameter behind a `?`. */
function operations(version: string, ...all: string[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const one of all) {
    const [method = '', target = '', operationId = ''] = one.split(' ');
    const [path = '', query] = target.split('?');
    const parameters =
      query === undefined ? [] : [{ name: query, in: 'query', required: true, schema: text }];
    (paths[`/api/${version}${path}`] ??= {})[method.toLowerCase()] = {
      ...(operationId !== '' && { operationId }),
      parameters,
      responses: {},
    };
  }
  return { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths };
}

const BILLS = ['GET /bills listBills', 'GET /bills/{id} getBill', 'POST /bills createBill'];
const INVOICES = [
  'GET /invoices listInvoices',
  'GET /invoices/{key} getInvoice',
  'POST /invoices createInvoice',
];

test.each([
  [
    'many operations with another word',
    BILLS,
    INVOICES,
    ['GET /invoices', 'POST /invoices', 'GET /invoices/{id}'],
    [true, true, true],
  ],
  [
    'an operationId that names no resource',
    ['GET /bills list'],
    ['GET /invoices list'],
    ['GET /invoices'],
    [true],
  ],
  [
    'the same operationId',
    ['GET /bills/phases/{id} billPhase'],
    ['GET /phases/{id} billPhase', 'GET /bills/{id} bill'],
    ['GET /phases/{id}'],
    [false],
  ],
  [
    'the same operationId, and a parameter that stands for another thing',
    ['GET /boards/{id}/phases/{phase_id} phaseOfBoard'],
    ['GET /phases/{id} phaseOfBoard'],
    ['GET /phases/{phase_id}'],
    [true],
  ],
  [
    'other numbers, cases and separators',
    ['GET /floor_plan/{id} a', 'DELETE /floor_plan/{id} b'],
    ['GET /floorPlans/{planId} c', 'DELETE /floorPlans/{planId} d'],
    ['GET /floorPlans/{id}', 'DELETE /floorPlans/{id}'],
    [false, false],
  ],
  ['one path alone says nothing', ['GET /bills listBills'], ['GET /cats pet'], [], []],
  [
    'two words that explain as much',
    BILLS.slice(0, 2),
    ['GET /a x', 'GET /a/{id} y', 'GET /b x', 'GET /b/{id} y'],
    ['GET /a', 'GET /a/{id}'],
    [true, true],
  ],
  [
    'a parameter of the path that is one of the query',
    ['GET /bills/{id}/lines listLines'],
    ['GET /lines?invoice listLines'],
    ['GET /lines?invoice={id}'],
    [false],
  ],
  [
    'a parameter of the path that is none of the query, as V1 has that of its own',
    ['GET /phases?board_id listPhases', 'GET /phases/{id} getPhase'],
    ['GET /steps?board_id getPhase'],
    ['GET /steps'],
    [true],
  ],
  [
    'a method that is another one',
    ['PUT /bills/{id} saveBill', 'GET /bills/{id} getBill'],
    ['PATCH /invoices/{id} saveInvoice', 'GET /invoices/{id} getInvoice'],
    ['GET /invoices/{id}', 'PATCH /invoices/{id}'],
    [true, true],
  ],
  [
    'other resources with the same verbs',
    ['notes', 'goals', 'files'].flatMap((name) => [`GET /${name} list`, `GET /${name}/{id} get`]),
    ['deals', 'leads', 'teams'].flatMap((name) => [`GET /${name} all`, `GET /${name}/{id} one`]),
    [],
    [],
  ],
  [
    'names that say the same only with the words that the paths have in common',
    ['GET /deals/{id}/files listFilesOfDeal', 'GET /deals/{id}/notes listNotesOfDeal'],
    ['GET /deals/{id}/products listProductsOfDeal', 'GET /deals/{id}/offers listOffersOfDeal'],
    [],
    [],
  ],
  [
    'names that say the same only with words that most names have',
    ['notes', 'goals', 'files', 'boards'].map((name) => `GET /${name} sync_${name}_from_device`),
    ['deals', 'leads', 'teams', 'offers'].map((name) => `GET /${name} sync_${name}_from_device`),
    [],
    [],
  ],
  [
    'a query parameter of another resource of V1',
    ['GET /deals getDeals', 'GET /persons/{id}/products listProducts'],
    ['GET /deals getDeals', 'GET /products?deal_ids listProducts'],
    [undefined, 'GET /products'],
    [false, true],
  ],
  [
    'no operation without the parameter',
    ['GET /teams/{id}/files listFiles'],
    ['GET /teams listFile'],
    [],
    [],
  ],
  ['a DELETE that is none of reading', ['DELETE /teams/{id} a'], ['GET /teams/{id} b'], [], []],
] as const)('operations that moved: %s', (_, v1, v2, moved, isAsked) => {
  const book = proposeRuleBook(operations('v1', ...v1), operations('v2', ...v2));
  // A move that is not proven is a question, with what may be it, and applies nowhere.
  expect(book.operations.map((operation) => operation.moved?.to)).toEqual(moved);
  expect(book.operations.map((operation) => operation.moved?.doubt !== undefined)).toEqual(isAsked);
  expect(book.gone?.length).toBe(v1.length - moved.length);
});

test.each([
  ['another action on the resource', ['GET /notes/{id}/copy'], ['GET /notes/{id}/log'], []],
  [
    'the place of another operation of V1',
    ['GET /notes/{id}/zip a', 'GET /notes/{id} noteOf'],
    ['GET /notes/{id} b', 'GET /old/{id} noteOf'],
    [],
  ],
  ['a path without a word', ['GET /notes/{id}/zip'], ['GET /notes/{id}'], ['GET /notes/{id}']],
])('an operation of V1 that is gone may be %s', (_, v1, v2, places) => {
  const book = proposeRuleBook(operations('v1', ...v1), operations('v2', ...v2));
  expect(book.gone?.map(({ candidates }) => candidates)).toEqual([places]);
});

test.each([
  ['of V1, wherever it is in V2', 'PUT /bills/{id} save', 'PUT /invoices/{id} saveInvoice', 'save'],
  ['of V2 for the same path', 'PUT /bills/{id}', 'PUT /bills/{key} saveBill', 'saveBill'],
  // V2's name would say what is a question, and would stay where the answer is no.
  ['by method and path where it moved', 'PUT /bills/{id}', 'PUT /invoices/{id} saveInvoice', 'put_bills_id'],
])('an operation has the name %s', (_, v1, v2, name) => {
  const resource = v2.includes('invoices') ? 'invoices' : 'bills';
  const [old, young] = ['bills', resource].map((one) => [`GET /${one} list`, `GET /${one}/{id} get`]);
  const book = proposeRuleBook(operations('v1', v1, ...(old ?? [])), operations('v2', v2, ...(young ?? [])));
  expect(book.operations.map(({ id }) => id)).toContain(name);
});

test.each<readonly [why: string, v1: readonly string[], v2: readonly string[], status: string | undefined]>([
  ['another one', ['200', '404'], ['204', 'default'], '204: 200'],
  ['the same', ['200'], ['200', '400'], undefined],
  ['several, of which each may mean another', ['200', '201'], ['200'], undefined],
  ['a family', ['200'], ['2XX'], undefined],
  ['none', ['200'], ['default'], undefined],
])('clients get the status of success of V1 where V2 has %s', async (_, v1, v2, status) => {
  const [old, young] = (
    [
      ['v1', v1],
      ['v2', v2],
    ] as const
  ).map(([version, statuses]) =>
    described(version, '/things', {
      head: { operationId: 'count', responses: Object.fromEntries(statuses.map((one) => [one, {}])) },
    }),
  );
  const text = printRuleBook(proposeRuleBook(old ?? {}, young ?? {}));
  const line =
    status === undefined ? 'count: HEAD /things' : `count: { match: HEAD /things, status: { ${status} } }`;
  expect(text).toContain(`  ${line}\n`);
  expect((await readRuleBook(text, 'draft')).ok).toBe(true);
});

test.each([
  ['get', { required: true }, 'V2 requires a body, and V1 describes none, so that nothing was compared.'],
  ['get', {}, undefined],
  ['post', {}, 'V2 takes a body, and V1 describes none, so that nothing was compared.'],
])('a %s for which V1 describes no body, and V2 %j', (method, body, question) => {
  const content = { 'application/json': { schema: objectOf({ a: text }) } };
  const [old, young] = [{}, { requestBody: { ...body, content } }].map((more, at) =>
    described(`v${at + 1}`, '/things', { [method]: { operationId: 'one', responses: {}, ...more } }),
  );
  const { questions } = proposeRuleBook(old ?? {}, young ?? {});
  expect(questions.get('one')?.map((one) => one.text) ?? []).toEqual(
    question === undefined ? [] : [question],
  );
});

test.each([
  ['alone is that of success', {}, ['a', 'b']],
  ['beside one of success is an error', { 200: {} }, undefined],
])('a default response %s', (_, responses, names) => {
  const schema = objectOf(Object.fromEntries(['a', 'b'].map((name) => [name, text])));
  const described200 = described('v1', '/things', {
    get: {
      operationId: 'list',
      responses: { ...responses, default: { content: { 'application/json': { schema } } } },
    },
  });
  const components = new Components(described200);
  const [operation] = operationsBelow(described200, '/api/v1', 'v1');
  const shape = operation && successShape(operation, components);
  expect(shape && [...shape.members.keys()]).toEqual(names);
});

test.each([
  ['start', ['cursor'], /V2 pages by cursor, which no rule can make of it/, /to: cursor/],
  ['page', ['page_token'], /V2 pages by page_token, /, /to: page_token/],
  ['start', ['begin_at'], /as if the client had not sent it/, /no rule can make/],
  ['owner', ['cursor'], /as if the client had not sent it/, /to: cursor/],
  ['from', ['cursor'], /as if the client had not sent it/, /pages by cursor/],
])('the query parameter %s where V2 has %j', (name, names, said, unsaid) => {
  const [v1, v2] = [[name], names].map((all, at) =>
    described(`v${at + 1}`, '/things', {
      get: {
        operationId: 'list',
        parameters: all.map((one) => ({
          name: one,
          in: 'query',
          schema: at === 0 ? { type: 'integer' } : text,
        })),
        responses: {},
      },
    }),
  );
  const draft = printRuleBook(proposeRuleBook(v1 ?? {}, v2 ?? {}));
  expect(draft).toMatch(said);
  expect(draft).not.toMatch(unsaid);
});

test('a question says which attributes are gone, up to a few', () => {
  const gone = (...names: string[]): string => {
    const bodyOf = (...members: readonly string[]): unknown =>
      objectOf(Object.fromEntries(members.map((name) => [name, { type: 'boolean' }])));
    const book = proposeRuleBook(pathsWith('v1', bodyOf('id', ...names)), pathsWith('v2', bodyOf('id')));
    return book.changes.map(({ summary }) => summary).join();
  };
  expect([gone('a'), gone('a', 'b'), gone('a', 'b', 'c', 'd'), gone('a', 'b', 'c', 'd', 'e')]).toEqual([
    'a is gone.',
    'a and b are gone.',
    'a, b, c and d are gone.',
    'a, b, c and 2 more are gone.',
  ]);
});

const number = { type: 'number' };
const integer = { type: 'integer' };
const ofFormat = (format: string): object => ({ ...text, format });
const idOf = (pattern: string): object => ({ type: 'string', pattern });

test.each<[what: string, old: object, young: object, ...stripped: readonly string[]]>([
  [
    'whatever its type, required or not',
    {},
    { next: text, risks: { type: 'array', items: text }, at: objectOf({ a: text }) },
    'next',
    'risks',
    'at',
  ],
  [
    'an object of which V1 has one member',
    { total_price: integer },
    { total: objectOf({ amount: integer, currency: text }) },
    'total',
  ],
  [
    'nothing of an object of which V1 has all',
    { total_price: integer },
    { total: objectOf({ price: integer }) },
  ],
  [
    'what is in an object of both',
    { a: objectOf({ b: text }) },
    { a: objectOf({ b: text, c: text }) },
    'a.c',
  ],
  ['nothing that may be a member of V1', { invoice_no: text }, { invoiceNo: text }],
])('a draft asks about what is new in responses: %s', async (_, old, young, ...stripped) => {
  const one = (own: object): Parameters<typeof reading>[1] => ({ '/a': { members: { id: text, ...own } } });
  const book = await soundDraft(proposeRuleBook(reading('v1', one(old)), reading('v2', one(young))));
  const lines = printRuleBook(book, undefined, 'unmarked').split('\n');
  const at = lines.flatMap((line) => /- \{ strip: "?([\w.]+)"? \}/.exec(line)?.[1] ?? []);
  expect(at).toEqual(stripped);
  // The rule comes after those that take a value of V1 from there.
  const last = lines.findLastIndex((line) => /- \{ (?:move|rename): /.test(line));
  expect(stripped.length === 0 || last < lines.findIndex((line) => line.includes('{ strip:'))).toBe(true);
});

test.each<[what: string, old: unknown, isNull: boolean, isWritten: boolean, line: string, member?: string]>([
  ['only reads', { type: ['string', 'null'] }, true, false, '{ default: { paid: null } }'],
  [
    'only reads its name',
    { type: ['string', 'null'] },
    true,
    false,
    '{ default: { amount: null } }',
    'amount',
  ],
  ['only reads its name, and V1 has no null', text, true, false, '', 'amount'],
  ['writes its name', { type: ['string', 'null'] }, true, true, 'members: null', 'amount'],
  ['only reads, and V1 has no null', text, true, false, ''],
  ['only reads, and V2 has no null', { type: ['string', 'null'] }, false, false, ''],
  [
    'writes as well',
    { type: ['string', 'null'] },
    true,
    true,
    'response: [{ inverse: true, members: null }]',
  ],
])(
  'null in place of an object of V2 is null for a client that %s',
  async (_, paid, isNull, isWritten, line, member = 'paid') => {
    const isNamed = member === 'amount';
    const money = objectOf({ amount: isNamed ? text : integer, currency: text }, ['amount', 'currency']);
    const claims = (version: string, own: Record<string, unknown>): Record<string, unknown> => {
      const schema = objectOf({ id: text, ...own });
      const content = { 'application/json': { schema } };
      const responses = { 200: { content } };
      const requestBody = { content };
      return described(version, '/claims/{id}', {
        get: { operationId: 'get', responses },
        ...(isWritten && { put: { operationId: 'put', requestBody, responses } }),
      });
    };
    const young = isNull ? { oneOf: [money, { type: 'null' }] } : money;
    const book = proposeRuleBook(claims('v1', { [member]: paid }), claims('v2', { paidAmount: young }));
    const printed = printRuleBook(await soundDraft(book), undefined, 'unmarked');
    const [write, read] = isNamed
      ? ['{ nest: [amount], under: paidAmount }', 'unnest: paidAmount']
      : ['{ move: paid, to: paidAmount.amount }', 'move: paidAmount.amount'];
    expect(printed).toContain(isWritten ? write : read);
    if (line === '') expect(printed).not.toMatch(/(?:paid|amount): null|members: null/);
    else expect(printed).toContain(line);
  },
);

test.each([
  [
    'amount',
    number,
    'amount_cents',
    integer,
    ['{ rename: amount, to: amount_cents }', '{ scale: amount_cents, by: 100, digits: 2 }'],
  ],
  [
    'due',
    ofFormat('date'),
    'due',
    ofFormat('date-time'),
    ['{ date: due, from: date, to: datetime, zone: UTC }'],
  ],
  [
    'due',
    ofFormat('date'),
    'due',
    { ...ofFormat('date-time'), description: 'In Sydney time.' },
    ['{ date: due, from: date, to: datetime, zone: Australia/Sydney }'],
  ],
  [
    'valid_until',
    ofFormat('date'),
    'valid_until',
    ofFormat('date-time'),
    ['{ date: valid_until, from: date, to: datetime, zone: UTC, at: "23:59:59" }'],
  ],
  [
    'due',
    ofFormat('date'),
    'due',
    { ...text, example: '31/12/2025' },
    ['{ date: due, from: date, to: dd/MM/yyyy }'],
  ],
  [
    'starts_at',
    { ...text, example: '2025-01-20 15:00:00', description: 'Copenhagen time' },
    'startsAt',
    ofFormat('date-time'),
    [
      '{ rename: starts_at, to: startsAt }',
      '{ date: startsAt, from: "yyyy-MM-dd HH:mm:ss", to: datetime, zone: Europe/Copenhagen }',
    ],
  ],
  [
    'due',
    { ...text, description: 'A day, `DD/MM/YYYY`.' },
    'due',
    { ...text, example: '2025-01-20' },
    ['{ date: due, from: dd/MM/yyyy, to: date }'],
  ],
  [
    'at',
    { ...text, example: '20.01.2025 15:00' },
    'at',
    { ...text, example: '2025-01-20T14:00:00Z' },
    ['{ date: at, from: "dd.MM.yyyy HH:mm", to: datetime, zone: UTC }'],
  ],
  [
    'at',
    { ...text, description: "Local time (UTC+2), `yyyy-MM-dd'T'HH:mm:ss`." },
    'at',
    ofFormat('date-time'),
    ['{ date: at, from: "yyyy-MM-ddTHH:mm:ss", to: datetime, zone: "+02:00" }'],
  ],
  [
    'seen',
    ofFormat('date-time'),
    'seen_epoch',
    integer,
    ['{ rename: seen, to: seen_epoch }', '{ date: seen_epoch, from: datetime, to: epoch }'],
  ],
  ['id', integer, 'id', idOf('^inv_[0-9]+$'), ['{ quote: id }', '{ prefix: id, with: inv_ }']],
  ['id', integer, 'id', idOf('^[0-9]+$'), ['{ quote: id }']],
  ['id', text, 'id', integer, ['{ unquote: id }']],
] as const)(
  'the value of %s has another form: a question with its conversion',
  (from, old, to, young, rules) => {
    const book = bookOf(objectOf({ name: text, [from]: old }), objectOf({ name: text, [to]: young }));
    expect(proposedRules(book).get('create')).toEqual([]);
    const lines = printRuleBook(book)
      .split('\n')
      .map((line) => line.replace(/^ *# +- /, ''));
    expect(lines.filter((line) => line.startsWith('{'))).toEqual(rules);
  },
);

test.each(['2025-01-20 3:00', '25/12/2025 02:30 PM', "`yyyy-MM-dd'T'HH:mm:ss'Z'`", '2025-01-20 hh:mm p.m.'])(
  'a time that is written in a form that is not read whole gets no conversion: %s',
  (description) => {
    const [old, young] = [
      objectOf({ at: { ...text, description } }),
      objectOf({ at: ofFormat('date-time') }),
    ];
    expect(printRuleBook(bookOf(old, young))).not.toContain('date:');
  },
);

test('a member that V2 requires and V1 does not have is a question with its default', () => {
  const v2 = objectOf({ name: text, currency: { type: 'string', default: 'AUD' }, kind: text }, [
    'currency',
    'kind',
  ]);
  const draft = printRuleBook(bookOf(objectOf({ name: text }), v2));
  expect(draft).toContain('#     - { default: { currency: AUD } }');
  expect(draft).toContain('#     - { default: { kind: "…" } }');
  expect(draft.match(/TODO: does .*-default hold/g)?.length).toBe(2);
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
  const names = [...`a.b|c\\d|yes|null|1| x |it's|"q"|é\u2028|a: b|# c|-|{x}`.split('|'), '\ud800', 'Ω\n'];
  const v1 = objectOf(Object.fromEntries(names.map((name) => [name, { ...text, deprecated: true }])));
  const book = bookOf(v1, objectOf({ kept: { type: 'integer' } }));
  const ruleBook = await bookIn(printRuleBook(book, undefined, 'unmarked'));
  const stripped = ruleBook.changes.flatMap(({ request }) =>
    request.flatMap((rule) => ('members' in rule ? rule.members : [])),
  );
  expect(stripped.toSorted()).toEqual(names.toSorted());
});

test('every draft is a sound rule book, as it is, and once all its marks are gone', async () => {
  for (let seed = 1; seed <= fuzzRuns(40, 15); seed += 1) {
    const pair = randomPair(seed);
    const draft = printRuleBook(await soundDraft(proposeRuleBook(pair.v1, pair.v2)));
    for (const book of [draft, answered(draft)]) {
      const reading = await readRuleBook(book, 'draft');
      expect([seed, reading.ok ? [] : reading.faults.map(({ message }) => message)]).toEqual([seed, []]);
    }
  }
});

test('query parameters that V2 calls otherwise are renamed, and others are asked about', async () => {
  const withQuery = (version: string, ...parameters: readonly unknown[]): Record<string, unknown> =>
    described(version, '/things', { get: { operationId: 'list', parameters, responses: {} } });
  const query = (name: string, type: string): unknown => ({ name, in: 'query', schema: { type } });
  const [page, flag] = [query('page', 'integer'), query('flag', 'boolean')];
  const v1 = withQuery('v1', page, query('old_kind', 'string'), flag);
  const v2 = withQuery('v2', page, query('kind', 'string'));
  const book = proposeRuleBook(v1, v2);
  expect(printRuleBook(book)).toContain('#     - { strip: flag }');
  const ruleBook = await bookIn(printRuleBook(book));
  expect(ruleBook.changes.map(({ on, query: rules }) => [on, rules])).toEqual([
    [['list'], [{ rule: 'rename', parameter: 'old_kind', to: 'kind' }]],
  ]);
});

/** The rules of a draft that apply, and those that are comments, as a rule book has them. */
function printedRules(book: ProposedRuleBook): {
  readonly active: readonly string[];
  readonly asked: readonly string[];
} {
  const lines = printRuleBook(book).split('\n');
  const matches = (pattern: RegExp): readonly string[] =>
    lines.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  return { active: matches(/^ {6}- (\{.*\})$/), asked: matches(/^ {2}# {5}- (\{.*\})$/) };
}

/** A description of one operation that reads, with the response. */
const readWith = (version: string, path: string, schema: unknown): Record<string, unknown> => {
  const ok = { content: { 'application/json': { schema } } };
  const responses = { 200: ok, 404: { content: { 'application/problem+json': {} } } };
  return described(version, path, { get: { operationId: 'listLines', responses } });
};

const listOf = (items: unknown): unknown => ({ type: 'array', items });

/** V1's line and V2's, and a value of V2 with what V1's clients read of it. */
const OLD_LINE = objectOf({
  id: { type: 'integer' },
  state: { enum: ['in_use', 'gone'] },
  town_name: { type: 'string' },
  town_code: { type: 'string' },
  amount: { type: 'number' },
  day: { type: 'string', format: 'date' },
});
const YOUNG_LINE = objectOf(
  {
    id: { type: 'string', pattern: '^line_[0-9]+$' },
    state: { enum: ['IN_USE', 'GONE'] },
    town: objectOf({ name: { type: 'string' }, code: { type: 'string' } }),
    amount_cents: { type: 'integer' },
    day: { type: 'string', format: 'date-time' },
    currency: { type: 'string' },
  },
  ['currency'],
);
const YOUNG =
  '{"id":"line_7","state":"IN_USE","town":{"name":"A","code":"B"},"amount_cents":1050,"day":"2026-01-31T00:00:00Z","currency":"AUD"}';
const OLD = '{"id":7,"state":"in_use","town_name":"A","town_code":"B","amount":10.50,"day":"2026-01-31"}';

/** A draft once each question is answered with yes. */
function answered(draft: string): string {
  return draft
    .replaceAll(/^ *# TODO: .*\n/gm, '')
    .replaceAll(/^( *)# (- id: |  |policies:|to: )/gm, '$1$2')
    .replace(/changes: \[\](?=[^]*\n {2}- id: )/, 'changes:');
}

test.each<[where: string, schema: (one: unknown) => unknown, body: (one: string) => string]>([
  ['the body', (one) => one, (one) => one],
  ['a list', listOf, (one) => `[${one}]`],
  ['data', (one) => objectOf({ data: one }), (one) => `{"data":${one},"meta":{"id":"line_1"}}`],
  ['a list in data', (one) => objectOf({ data: listOf(one) }), (one) => `{"data":[${one},${one}]}`],
  [
    'a list of another name',
    (one) => objectOf({ rows: listOf(one) }),
    (one) => `{"rows":[${one}],"currency":"USD"}`,
  ],
])('what nothing writes has response rules, which are a question: in %s', async (_, schema, body) => {
  const draft = printRuleBook(
    proposeRuleBook(readWith('v1', '/lines', schema(OLD_LINE)), readWith('v2', '/lines', schema(YOUNG_LINE))),
  );
  expect(draft).toMatch(/# TODO: does (?:data-)?amount-cents-name-response hold\?/);
  const ruleBook = await bookIn(answered(draft));
  expect(ruleBook).toMatchObject({ refusals: 'problem', policies: { malformed: 'forward' } });
  const [read] = ruleBook.operations;
  const plan = compileResponsePlans(ruleBook).of(read, 'GET');
  const outcome = plan.rewrite(bytesOf(body(YOUNG)), { status: 200, deprecated: [], isWrapped: true });
  expect(textOf(outcome.body)).toBe(body(OLD));
});

test.each([
  // V2's paths have another word, and so has the name: certain, as nothing else differs.
  [
    '/bills',
    '/invoices',
    { bill_id: text },
    { invoice_id: text },
    ['{ rename: invoice_id, to: bill_id }'],
    [],
    [],
  ],
  [
    '/bills',
    '/bills',
    { id: text, odd: text },
    { id: text },
    [],
    ['{ default: { odd: null } }'],
    ['clients get null for it, and no such member without the rule'],
  ],
  ['/bills', '/bills', { id: text }, { id: text }, [], [], []],
] as const)('response rules of %s, which V2 has as %s', (from, to, old, young, active, asked, why) => {
  const book = proposeRuleBook(readWith('v1', from, objectOf(old)), readWith('v2', to, objectOf(young)));
  expect(printedRules(book)).toEqual({ active, asked });
  expect(questionsOf(book)).toEqual(why);
});

test.each<
  [what: string, id: string | undefined, remark: unknown, active: readonly string[], asked: readonly string[]]
>([
  ['is certain', 'readNote', text, ['{ rename: remark_id, to: note_id }'], []],
  ['is a question', undefined, text, [], ['{ rename: remark_id, to: note_id }']],
  ['is certain, and the value another one', 'readNote', objectOf({ city: text }), [], []],
])('a member that has the word of a path, where the move %s', (_, id, remark, active, asked) => {
  const of = (version: string, noun: string, key: string, member: unknown): Record<string, unknown> => {
    const get = (schema: unknown, operationId?: string): object => ({
      get: { operationId, responses: { 200: { content: { 'application/json': { schema } } } } },
    });
    const note = objectOf({ id: text, ink: text, paper: text, margin: text });
    return {
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: {
        [`/api/${version}/${noun}`]: get(listOf(note), id && `${id}s`),
        [`/api/${version}/${noun}/{id}`]: get(note, id),
        [`/api/${version}/bills/{id}`]: get(objectOf({ id: text, [key]: member })),
      },
    };
  };
  const v1 = of('v1', 'notes', 'note_id', text);
  const printed = printRuleBook(proposeRuleBook(v1, of('v2', 'remarks', 'remark_id', remark))).split('\n');
  const rules = (marks: RegExp): readonly string[] =>
    printed
      .filter((line) => marks.test(line) && line.includes('note_id }'))
      .map((line) => line.replace(marks, ''));
  expect([rules(/^ +- /), rules(/^ +# +- /)]).toEqual([active, asked]);
});

test('what requests need undoes responses, and is not asked about again', () => {
  const both = (version: string, schema: unknown): Record<string, unknown> => {
    const described = readWith(version, '/lines', schema);
    Object.assign(described['paths'] as object, pathsWith(version, schema, '/lines/{id}')['paths']);
    return described;
  };
  const book = proposeRuleBook(both('v1', OLD_LINE), both('v2', YOUNG_LINE));
  expect(book.changes.map(({ response }) => response).filter((rules) => rules !== undefined)).toEqual([]);
});

test('a member that gets the name of another one is nested first, and renamed in its new place', async () => {
  const v1 = objectOf({ name: text, email: text, customer_name: text, customer_email: text });
  const v2 = objectOf({ name: text, email: text, customer: objectOf({ name: text, email: text }) });
  const book = bookOf(v1, v2);
  expect(printedRules(book)).toEqual({
    active: [
      '{ nest: [customer_name, customer_email], under: customer }',
      '{ rename: customer.customer_name, to: name }',
      '{ rename: customer.customer_email, to: email }',
    ],
    asked: [],
  });
  const ruleBook = await bookIn(printRuleBook(book));
  const plan = compilePlans(ruleBook).of(ruleBook.operations[0]);
  expect(rewritten(plan, '{"name":"Invoice 5","customer_name":"Acme"}')).toBe(
    '{"name":"Invoice 5","customer":{"name":"Acme"}}',
  );
  expect(ruleBookWarnings(ruleBook)).toEqual([]);
});

test('responses have the members of V1 back, the one of the same name among them', async () => {
  const withRead = (version: string, schema: unknown): Record<string, unknown> => {
    const described = pathsWith(version, schema);
    const content = { 'application/json': { schema: objectOf({ data: schema }) } };
    const paths = described['paths'] as Record<string, unknown>;
    paths[`/api/${version}/things/{id}`] = { get: { operationId: 'read', responses: { 200: { content } } } };
    return described;
  };
  const v1 = withRead('v1', objectOf({ name: text, customer_name: text }));
  const v2 = withRead('v2', objectOf({ name: text, customer: objectOf({ name: text }) }));
  const ruleBook = await bookIn(printRuleBook(proposeRuleBook(v1, v2)));
  const [, read] = ruleBook.operations;
  const plan = compileResponsePlans(ruleBook).of(read, 'GET');
  const body = '{"data":{"name":"Invoice 5","customer":{"name":"Acme"}}}';
  const outcome = plan.rewrite(bytesOf(body), { status: 200, deprecated: [], isWrapped: true });
  expect(textOf(outcome.body)).toBe('{"data":{"name":"Invoice 5","customer_name":"Acme"}}');
});

const inUnit = (unit: string): object => ({ ...number, description: `In ${unit}` });
const upTo = (maximum: number): object => ({ ...number, maximum });
const priceOf = (amount: object): unknown => objectOf({ amount, tax: number });
const CENTS = 'the unit in its name is none in V1 and cents in V2';
const TYPES = 'it is number in V1 and integer in V2';

test.each<[old: string, one: unknown, young: string, other: unknown, reason: string]>([
  ['amount', number, 'amount_cents', integer, `${TYPES}; ${CENTS}`],
  ['amount', integer, 'amount_cents', integer, CENTS],
  ['delay_s', integer, 'delay_ms', integer, 'the unit in its name is seconds in V1 and ms in V2'],
  ['timeout', integer, 'timeoutMs', integer, 'the unit in its name is none in V1 and ms in V2'],
  [
    'total',
    inUnit('euros'),
    'total_sum',
    inUnit('cents'),
    'the unit in its description is euros in V1 and cents in V2',
  ],
  [
    'due',
    ofFormat('date'),
    'due_at',
    ofFormat('date-time'),
    'written as date in V1 and as datetime in V2, and neither description says the time zone',
  ],
  ['share', upTo(100), 'share_part', upTo(1), 'its limit is maximum 100 in V1 and maximum 1 in V2'],
  ['price', priceOf(number), 'unit_price', priceOf(integer), `of its amount, ${TYPES}`],
  ['amounts', listOf(number), 'amounts_list', listOf(integer), TYPES],
  ['fax', text, 'website', text, 'neither name, description nor content says that they are the same'],
])('a rename is a question with its reason: %s, %j, and %s, %j: %s', (old, one, young, other, reason) => {
  const book = bookOf(
    objectOf({ id: text, [old]: one, end: text }),
    objectOf({ id: text, [young]: other, end: text }),
  );
  const { active, asked } = printedRules(book);
  expect(active).toEqual([]);
  expect(asked).toContain(`{ rename: ${old}, to: ${young} }`);
  expect(printRuleBook(book)).toContain(reason);
  expect(questionsOf(book).length).toBeGreaterThan(0);
});

test('a request body that only one version has as a list is a question, and has no rules', () => {
  const one = objectOf({ shelf: text, width: number });
  for (const [old, young] of [
    [listOf(one), one],
    [one, listOf(one)],
  ] as const) {
    const book = bookOf(old, young);
    expect(book.changes.filter(({ rules }) => rules.length > 0)).toEqual([]);
    expect(printRuleBook(book)).toContain("only one version's body is a list. Write a transform");
  }
});

test.each<[what: string, old: object, young: object]>([
  ['the prefix of a unit has a capital letter', inUnit('KiloBytes'), inUnit('kilobytes')],
  [
    'the values are names',
    { ...text, enum: ['daily', 'weekly'], description: 'Days are in UTC.' },
    { ...text, enum: ['daily', 'weekly'], description: 'Weeks start on Monday.' },
  ],
])('a member has no other unit if %s', (_, old, young) => {
  const book = bookOf(objectOf({ id: text, size: old }), objectOf({ id: text, size: young }));
  expect(printRuleBook(book)).not.toContain('the unit in its description');
});

test.each([
  ['address', text, 'pit', ofFormat('date-time'), false],
  ['pit', ofFormat('date-time'), 'address', text, false],
  ['fax', text, 'website', ofFormat('uri'), false],
  ['ref', ofFormat('uuid'), 'mail', ofFormat('email'), false],
  ['fax', text, 'website', text, true],
  ['since', ofFormat('date-time'), 'pit', ofFormat('date-time'), true],
  ['created', text, 'created_at', ofFormat('date-time'), true],
])('a query parameter %s %j may be %s %j by its format: %s', (old, one, young, other, mayBe) => {
  const reads = (version: string, name: string, schema: unknown): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: {
      [`/api/${version}/things`]: {
        get: {
          operationId: 'list',
          parameters: [
            { name: 'page', in: 'query', schema: integer },
            { name, in: 'query', schema },
            { name: 'size', in: 'query', schema: integer },
          ],
          responses: {},
        },
      },
    },
  });
  const draft = printRuleBook(proposeRuleBook(reads('v1', old, one), reads('v2', young, other)));
  expect(draft.includes(`{ rename: ${old}, to: ${young} }`)).toBe(mayBe);
});

test.each([
  ['a number', 'total', text, 'total_minor', integer],
  ['a list', 'phone', text, 'phones', { type: 'array', items: text }],
  ['an object', 'price', number, 'price_with_tax', objectOf({ value: integer })],
  ['a flag', 'archived_state', text, 'archived', { type: 'boolean' }],
  [
    'an object that was a list',
    'position',
    { type: 'array', items: number },
    'location',
    objectOf({ lat: number }),
  ],
  ['a map that was a list', 'tags', { type: 'array', items: text }, 'labels', { type: 'object' }],
  ['what replaces a deprecated one', 'amount', { ...text, deprecated: true }, 'amount_in_cents', integer],
])('a member that V2 may have as %s of a similar name is never stripped', (_, old, one, young, other) => {
  const book = bookOf(objectOf({ id: text, [old]: one }), objectOf({ id: text, [young]: other }));
  const { active, asked } = printedRules(book);
  expect(active).toEqual([]);
  expect(asked.some((rule) => rule.includes(old))).toBe(true);
  expect(asked.some((rule) => rule.includes(young)) || questionsOf(book).join().includes(young)).toBe(true);
});

test.each<[what: string, v1: unknown, v2: unknown, rules: readonly string[]]>([
  [
    'short forms of words',
    objectOf({ LossDesc: text, PaidAmt: number, LossDate: text }),
    objectOf({ lossDescription: text, paidAmount: number, lossDate: { ...text, format: 'date' } }),
    [
      '{ rename: LossDesc, to: lossDescription }',
      '{ rename: PaidAmt, to: paidAmount }',
      '{ rename: LossDate, to: lossDate }',
    ],
  ],
  [
    'a name in which "in" is no unit',
    objectOf({ double_optin: { type: 'boolean' } }),
    objectOf({ double_opt_in: { type: 'boolean' } }),
    ['{ rename: double_optin, to: double_opt_in }'],
  ],
  [
    'a wrapper whose members are in another case',
    objectOf({ Item: objectOf({ ItemName: text, ItemSize: integer }) }),
    objectOf({ itemName: text, itemSize: integer }),
    ['{ unwrap: Item }', '{ rename: ItemName, to: itemName }', '{ rename: ItemSize, to: itemSize }'],
  ],
])('a rule applies for names that only write it otherwise: %s', (_, v1, v2, rules) => {
  const { active, asked } = printedRules(bookOf(v1, v2));
  expect([active.toSorted(), asked]).toEqual([rules.toSorted(), []]);
});

test('an integer may become a number, and a name another style', () => {
  const v1 = objectOf({ itemCount: integer, id: text });
  expect(printedRules(bookOf(v1, objectOf({ item_count: number, id: text }))).active).toEqual([
    '{ rename: itemCount, to: item_count }',
  ]);
});

test('values that V2 spells otherwise are mapped, and others are asked about', () => {
  const v1 = objectOf({ status: { type: 'string', enum: ['inProgress', 'open', 'A+', '1-5'] } });
  const v2 = objectOf({ status: { type: 'string', enum: ['IN_PROGRESS', 'outstanding', 'A-', '15'] } });
  expect(printedRules(bookOf(v1, v2))).toEqual({
    active: ['{ map: { inProgress: IN_PROGRESS }, of: status }'],
    asked: ['{ map: { open: outstanding, "A+": "A-", "1-5": "15" }, of: status }'],
  });
});

test.each<[old: readonly string[], young: readonly string[], pairs: string]>([
  [
    ['Business', 'Correspondence', 'DeliveryTo', 'MailTo', 'POBox', 'Statement'],
    ['BIZ', 'DLVY', 'MLTO', 'PBOX', 'CORR', 'STAT'],
    'Correspondence: CORR, DeliveryTo: DLVY, MailTo: MLTO, POBox: PBOX, Statement: STAT, Business: BIZ',
  ],
  [['bought', 'shipped'], ['B', 'S'], 'bought: B, shipped: S'],
  [['open', 'closed'], ['CLSD', 'OPN'], 'open: OPN, closed: CLSD'],
])('values %j that are %j in V2', (old, young, pairs) => {
  const of = (values: readonly string[]): unknown => objectOf({ status: { ...text, enum: values } });
  expect(printedRules(bookOf(of(old), of(young))).asked).toEqual([`{ map: { ${pairs} }, of: status }`]);
});

test('PUT has the rules of POST and PATCH, and is named beside every', async () => {
  const wrapped = objectOf({ data: objectOf({ due: text, id: text }) });
  const v1 = methodsWith('v1', wrapped, 'post', 'patch', 'put');
  const v2 = methodsWith('v2', objectOf({ due_date: text, id: text }), 'post', 'patch', 'put');
  const ruleBook = await bookIn(printRuleBook(proposeRuleBook(v1, v2)));
  expect(ruleBook.changes.map(({ on, request }) => [on, request[0]?.rule])).toEqual([
    ['every', 'unwrap'],
    [['put'], 'unwrap'],
    [['put', 'post', 'patch'], 'rename'],
  ]);
  for (const operation of ruleBook.operations)
    expect(rewritten(compilePlans(ruleBook).of(operation), '{"data":{"due":"x","id":"1"}}')).toBe(
      '{"due_date":"x","id":"1"}',
    );
});

test('a body that one version does not describe is a question, and that of a DELETE is compared', () => {
  const [v1, v2] = [
    methodsWith('v1', objectOf({ due: text }), 'delete', 'post'),
    methodsWith('v2', objectOf({ due_date: text }), 'delete'),
  ];
  const paths = v2['paths'] as Record<string, Record<string, unknown>>;
  (paths['/api/v2/things'] ?? {})['post'] = { operationId: 'post', responses: {} };
  expect(questionsOf(proposeRuleBook(v1, v2))).toEqual([
    'V2 describes no body for it, so that nothing was compared.',
  ]);
});

const KIND = objectOf({ kind: text }) as object;
const CLAWS = objectOf({ claws: text });
const animal = {
  Animal: { ...KIND, discriminator: { propertyName: 'kind', mapping: { cat: 'Cat' } } },
  Cat: { allOf: [{ $ref: '#/components/schemas/Animal' }, CLAWS] },
  Dog: { allOf: [{ $ref: '#/components/schemas/Animal' }, objectOf({ bark: text })] },
  Base: KIND,
};

test.each([
  ['in another document', { allOf: [KIND, { $ref: 'other.yaml#/Cat' }] }],
  ['wholly in another document', { $ref: 'other.yaml#/Cat' }],
  ['where a reference leads nowhere', { anyOf: [KIND, { $ref: '#/components/schemas/None' }] }],
  ['beside a reference', { $ref: '#/components/schemas/Base', properties: { claws: text } }],
  ['in a subtype of a mapping', { $ref: '#/components/schemas/Animal' }],
  [
    'in the second of two schemas for a member',
    { oneOf: [objectOf({ kind: text, in: objectOf({ a: text }) }), objectOf({ in: CLAWS })] },
  ],
  ['under a condition', { ...KIND, else: CLAWS }],
  ['under a member that it depends on', { ...KIND, dependentSchemas: { kind: CLAWS } }],
  ['as one of further members', { ...KIND, additionalProperties: text }],
  ['by a pattern', { ...KIND, patternProperties: { '^c': text } }],
  [
    'in an object where V1 had it beside',
    objectOf({ kind: text, paw: objectOf({ claws: text, size: text }) }),
  ],
])('what V2 describes %s is never stripped', (_, schema) => {
  const v2 = pathsWith('v2', schema);
  v2['components'] = { schemas: animal };
  for (const v1 of [objectOf({ kind: text, claws: text }), objectOf({ kind: text, paw: CLAWS })])
    expect(
      printedRules(proposeRuleBook(pathsWith('v1', v1), v2)).active.filter((rule) => rule.includes('strip')),
    ).toEqual([]);
});

test('a path item in another document is reported', () => {
  const v2 = { ...pathsWith('v2', text), paths: { '/api/v2/things': { $ref: 'things.yaml' } } };
  expect(questionsOf(proposeRuleBook(pathsWith('v1', text), v2))).toEqual([
    "V2's /api/v2/things is things.yaml, which could not be read or compared.",
  ]);
});

test('ids have one style, and summaries their article', () => {
  const v1 = objectOf({ order: objectOf({ sizeCode: text, customer_name: text, n: integer }) });
  const v2 = objectOf({ size_code: text, customer: objectOf({ name: text }), n: integer });
  expect(bookOf(v1, v2).changes.map(({ id, summary }) => [id, summary])).toEqual([
    ['body-wrapper', 'Parameters are no longer wrapped in an order object.'],
    ['size-code-name', 'sizeCode becomes size_code.'],
    ['nested-customer', 'customer_name moves into customer.'],
    ['customer-name', 'customer.customer_name becomes customer.name.'],
  ]);
});

test.each(['2025-06-01', '2.0'])('the version %s of a description is no release of the API', (version) => {
  const v2 = { ...pathsWith('v2', objectOf({ a: text })), info: { title: 'T', version } };
  const draft = printRuleBook(proposeRuleBook(pathsWith('v1', objectOf({ a: text })), v2));
  expect(draft).not.toContain('version:');
});

test.each([
  [
    'a date',
    '/orders/v0/orders',
    '/orders/2026-01-01/orders',
    ['from: /orders/v0', 'to: /orders/2026-01-01'],
  ],
  ['the same prefix', '/v1/orders', '/v1/orders', ['# from: /v1', '# to: /v1']],
  ['no prefix of V1', '/orders', '/v2/orders', ['from: /', 'to: /v2']],
  ['no prefix of V2', '/v1/orders', '/orders', ['from: /v1', 'to: /']],
  ['no prefix', '/orders', '/orders', ['# from: /v1', '# to: /v2']],
])('prefixes: %s', (_, old, young, lines) => {
  const of = (path: string): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: { [path]: { get: { operationId: 'list', responses: {} } } },
  });
  expect(printRuleBook(proposeRuleBook(of(old), of(young))).split('\n')).toEqual(
    expect.arrayContaining(lines),
  );
});

test.each([
  ['/crm/v3/objects', '/crm/objects/2026-03', '/crm/v3/objects', '/crm/objects/2026-03'],
  ['/crm/v1', '/crm/v2/objects', '/crm/v1', '/crm/v2/objects'],
  // One prefix in the other would take its requests.
  ['/v1', '/v1/shop', '/v1', '/v1'],
])('the prefixes of %s and %s', (old, young, from, to) => {
  const of = (prefix: string): Record<string, unknown> => {
    const item = { get: { responses: {} }, delete: { responses: {} } };
    const paths = ['/deals', '/deals/{id}', '/deals/{id}/notes'].map((path) => [`${prefix}${path}`, item]);
    return { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths: Object.fromEntries(paths) };
  };
  const found = describedVersions(of(old), of(young));
  expect([found.from, found.to]).toEqual([from, to]);
  const { operations } = proposeRuleBook(of(old), of(young));
  expect(operations).toHaveLength(from === to ? 0 : 6);
});

test.each([
  ['', '/', undefined],
  ['/v1', '/v1', undefined],
  ['/v1', '/v1', 'Api-Version'],
])('versions below %s on hosts of their own', async (path, prefix, field) => {
  const of = (host: string, parameters: object[]): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    servers: [{ url: `https://${host}.acme.example${path}` }],
    paths: { '/things': { get: { operationId: 'list', parameters, responses: {} } } },
  });
  const own = field === undefined ? [] : [{ name: field, in: 'header', schema: { ...text, example: '7' } }];
  const draft = await soundDraft(proposeRuleBook(of('v1', []), of('v2', own)));
  const lines = printRuleBook(draft).split('\n');
  expect(lines).toEqual(expect.arrayContaining([`# from: ${prefix}`, `# to: ${prefix}`]));
  expect(lines.join('\n').includes('on different hosts: v1.acme.example and v2.acme.example')).toBe(
    field === undefined,
  );
  await bookIn(printRuleBook(draft, undefined, 'unmarked'));
});

test('header fields that are gone are one question, and one that is now a query parameter is described as such', async () => {
  const of = (version: string, place: string, ...names: readonly string[]): Record<string, unknown> => {
    const get = (operationId: string, ...own: readonly string[]): object => ({
      get: { operationId, parameters: own.map((name) => ({ name, in: place, schema: text })), responses: {} },
    });
    return {
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: {
        [`/api/${version}/jobs`]: get('listJobs', ...names),
        [`/api/${version}/files`]: get('listFiles', ...names.slice(0, 1), ...names),
        [`/api/${version}/notes`]: get('listNotes', 'group'),
      },
    };
  };
  const v2 = of('v2', 'query', 'pageSize');
  const draft = await soundDraft(proposeRuleBook(of('v1', 'header', 'page_size', 'tag'), v2));
  const printed = printRuleBook(draft);
  expect(printed.match(/TODO: does .*/g)).toEqual([
    'TODO: does several-header-gone hold? Remove its marks, or delete it.',
  ]);
  expect(printed).toContain('Goes with several-header-gone: remove these marks if you keep that change');
  expect(printed).toContain('V2 has a query parameter of that name, where no rule puts a header field');
  await bookIn(printRuleBook(draft, undefined, 'unmarked'));
});

test('members that V2 nests in another order are one change', () => {
  const of = (version: string, ...orders: readonly (readonly string[])[]): Record<string, unknown> =>
    described(
      version,
      '/things',
      Object.fromEntries(
        orders.map((names, at) => {
          const members = Object.fromEntries(names.map((name) => [name, text]));
          const schema = objectOf({
            kind: text,
            ...(version === 'v1' ? members : { owner: objectOf(members) }),
          });
          return [at === 0 ? 'post' : 'patch', operationWith(`write${at}`, schema)];
        }),
      ),
    );
  const orders = [
    ['id', 'href', 'name'],
    ['href', 'id', 'name'],
  ];
  const { changes } = proposeRuleBook(of('v1', ...orders), of('v2', ...orders));
  expect(changes.map(({ id, on }) => [id, on])).toEqual([['nested-owner', ['write0', 'write1']]]);
});

test('an unknown release does not hide other questions', async () => {
  const of = (version: string, name: string, more: object): Record<string, unknown> =>
    described(version, '/things', {
      post: { ...operationWith('create', objectOf({ [name]: text })), ...more },
    });
  const release = { parameters: [{ name: 'Api-Version', in: 'header', schema: text }] };
  const draft = await soundDraft(proposeRuleBook(of('v1', 'note', {}), of('v2', 'remark', release)));
  const lines = printRuleBook(draft).split('\n');
  expect(lines).toContain(
    '# TODO: which release of V2 do these rules lead to? V2 has Api-Version, and V1 does not have it. Write the value and remove the marks, or delete these lines.',
  );
  expect(lines).toContain('# version: { header: Api-Version, value: "…", form: text }');
  expect(lines.filter((line) => line.startsWith('  # - id: '))).toHaveLength(1);
  await bookIn(printRuleBook(draft, undefined, 'unmarked'));
});

const resourcesOf = (version: string, ...nouns: readonly string[]): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  paths: Object.fromEntries(
    nouns.flatMap((noun) => {
      const own = { [`${noun}_size`]: text, [`${noun}_end`]: text };
      const one = objectOf({ sid: text, account_sid: text, region: text, ...own });
      const answer = (schema: unknown): object => ({
        responses: { 200: { content: { 'application/json': { schema } } } },
      });
      return [
        [`/api/${version}/${noun}`, { get: answer(listOf(one)), post: answer(one) }],
        [`/api/${version}/${noun}/{id}`, { get: answer(one) }],
      ];
    }),
  ),
});

test.each<[what: string, old: string, young: string, isAsked: boolean]>([
  ['names that most resources have tell none of them', 'calls', 'flows', false],
  ['a word that is within the other one tells it', 'salesOrders', 'orders', true],
])('%s', (_, old, young, isAsked) => {
  const others = ['ships', 'ports', 'crews', 'docks'];
  const draft = proposeRuleBook(
    resourcesOf('v1', old, ...others),
    resourcesOf('v2', young, ...others, 'goods', 'lanes'),
  );
  const moves = draft.operations.filter(({ moved }) => moved !== undefined);
  expect(moves.map(({ moved }) => moved?.doubt === undefined)).toEqual(isAsked ? [false, false, false] : []);
});

const told = (description: string, more: object = text): object => ({ ...more, description });

test.each<
  [what: string, old: Record<string, unknown>, young: Record<string, unknown>, gone: string, why: RegExp]
>([
  [
    'in a relationship of JSON:API',
    { data: objectOf({ attributes: objectOf({ list_id: text, name: text }) }) },
    {
      data: objectOf({
        attributes: objectOf({ name: text }),
        relationships: objectOf({ list: objectOf({ data: objectOf({ id: text }) }) }),
      }),
    },
    'data.attributes.list_id',
    /is it data\.relationships\.list\.data\.id/,
  ],
  [
    'under the name of another one',
    { labels: listOf(text), properties: told('Pairs.', { type: 'object' }) },
    { labels: told('Pairs.', { type: 'object' }) },
    'properties',
    /is it labels in V2/,
  ],
  [
    'in words of its description',
    {
      references: told('The only valid reference is a Namespace.', { ...text, type: 'array' }),
      size: text,
    },
    { namespace: text, size: text },
    'references',
    /speaks of namespace/,
  ],
  [
    'where its description says to look',
    {
      id_number: { ...told('Deprecated: use `document.number` instead.'), deprecated: true },
      document: objectOf({ number: text }),
    },
    { document: objectOf({ number: text }) },
    'id_number',
    /says to use document\.number instead/,
  ],
  [
    'where an extension says to look',
    {
      id_number: { ...text, deprecated: true, 'x-deprecated-reason': 'Use document.number instead.' },
      document: objectOf({ number: text }),
    },
    { document: objectOf({ number: text }) },
    'id_number',
    /says to use document\.number instead/,
  ],
])('what V2 has %s is never stripped', (_, old, young, gone, why) => {
  const book = bookOf(objectOf(old), objectOf(young));
  expect(printedRules(book).active.filter((rule) => rule.includes('strip'))).toEqual([]);
  expect(printRuleBook(book)).toContain(gone);
  expect(questionsOf(book).join('\n')).toMatch(why);
});

test.each<[old: string, young: string, isLinked: boolean]>([
  ['project_id', 'priority', false],
  ['priority', 'project_id', false],
  ['txid', 'id', true],
  ['owner', 'owner_id', true],
  ['order_no', 'order_id', true],
  ['paid', 'settled', true],
])('that %s is called %s is a guess of a kind: %s', (old, young, isLinked) => {
  const of = (name: string): unknown => objectOf({ a: text, [name]: text, b: text });
  const rules = rulesIn(bookOf(of(old), of(young)), false).get('create') ?? [];
  const isFirst = rules[0]?.includes(`"to":"${young}"`) === true;
  expect([rules, isFirst]).toEqual([rules, isLinked]);
});

test('of many places a question offers the likeliest', () => {
  const names = 'visa amex jcb maestro diners swish twint vipps ideal'.split(' ');
  const cards = Object.fromEntries(names.map((name) => [name, objectOf({ [`${name}_on`]: text })]));
  const of = (version: string, one: Record<string, unknown>): Record<string, unknown> =>
    reading(version, { '/cards': { members: { data: listOf(objectOf({ id: text, ...one })) } } });
  // A text as well, so that it is no object whose members left it.
  const method = { type: ['object', 'string'], properties: cards };
  const draft = printRuleBook(proposeRuleBook(of('v1', { PaymentMethod: method }), of('v2', cards)));
  expect(draft).toContain('to: PaymentMethod }');
  expect(draft.match(/or instead:\n.*- \{ rename/g)?.length ?? 0).toBeLessThanOrEqual(5);
});

test('what only V1 describes inside an object of its responses is a question', () => {
  const of = (version: string, spec: unknown): Record<string, unknown> =>
    reading(version, { '/runs': { members: { id: text, spec } } });
  const v1 = of('v1', objectOf({ name: text, kind: text }));
  const asked = questionsOf(proposeRuleBook(v1, of('v2', { type: 'object' })));
  expect(asked).toEqual([
    'spec: in responses, V2 does not describe what is in it, and V1 has name, kind there: look whether V2 returns them.',
  ]);
  expect(questionsOf(proposeRuleBook(of('v1', { type: 'object' }), v1))).toEqual([]);
});

test.each<[what: string, old: readonly [object, object], young: readonly [object, object], isAsked: boolean]>(
  [
    [
      'descriptions',
      [told('The login.'), told('The full name.')],
      [told('The full name.'), told('The login.')],
      true,
    ],
    [
      'formats',
      [
        { ...text, format: 'uri' },
        { ...text, format: 'email' },
      ],
      [
        { ...text, format: 'email' },
        { ...text, format: 'uri' },
      ],
      true,
    ],
    ['values', [{ enum: ['a', 'b'] }, { enum: ['c'] }], [{ enum: ['c'] }, { enum: ['a', 'b'] }], true],
    [
      'one new description',
      [told('The login.'), told('The full name.')],
      [told('The login.'), told('The login.')],
      false,
    ],
    ['nothing', [text, { type: 'integer' }], [{ type: 'integer' }, text], false],
  ],
)('two members whose names are swapped, as %s tell, are a question', (_, old, young, isAsked) => {
  const of = ([login, name]: readonly [object, object]): unknown => objectOf({ id: text, login, name });
  const asked = questionsOf(bookOf(of(old), of(young))).filter((question) => question.includes('swapped'));
  expect(asked).toEqual(
    isAsked
      ? [
          "login: V2's description of it is V1's of name, and the other way round: are the names swapped? Three renames swap them back.",
        ]
      : [],
  );
});

test.each<[old: string, one: object, young: string, other: object, question: string | undefined]>([
  ['user_handle', text, 'user_id', text, 'V2 has {user_id} in the path where V1 has {user_handle}'],
  ['key', text, 'api_key_id', text, 'V2 has {api_key_id} in the path where V1 has {key}'],
  ['username', text, 'id', text, 'V2 has {id} in the path where V1 has {username}'],
  ['id', text, 'id', { type: 'integer' }, '{id} of the path is string in V1, and integer in V2'],
  [
    'id',
    { type: 'integer' },
    'id',
    { ...text, format: 'uuid' },
    '{id} of the path is integer in V1, and uuid in V2',
  ],
  [
    'id',
    { type: 'integer' },
    'id',
    { ...text, pattern: '^thg_[0-9]+$' },
    "V2 takes only thg_… in the path where V1 has {id}. Does V1's value follow the prefix?",
  ],
  ['id', { ...text, pattern: '^thg_' }, 'thing_id', { ...text, pattern: '^thg_[0-9]+$' }, undefined],
  ['id', { type: 'integer' }, 'thing_id', text, undefined],
  ['thing', text, 'uuid', text, undefined],
])('a path with {%s: %o} that has {%s: %o} in V2', (old, one, young, other, question) => {
  const of = (version: string, noun: string, name: string, schema: object): Record<string, unknown> => {
    const operation = { operationId: 'readThing', parameters: [{ name, in: 'path', schema }], responses: {} };
    return described(version, `/${noun}/{${name}}`, { get: operation });
  };
  const book = proposeRuleBook(of('v1', 'things', old, one), of('v2', 'things', young, other));
  const prefixes = draftQuestions(book).filter(({ about }) => about === 'key');
  const asked = [...questionsOf(book), ...prefixes.map((prefix) => prefix.text)];
  expect(asked.map((words) => words.split(':')[0])).toEqual(question === undefined ? [] : [question]);
  const moved = proposeRuleBook(of('v1', 'thing', old, one), of('v2', 'things', young, other)).operations;
  const isOther = question?.startsWith('V2 has {') === true;
  expect(moved.map((operation) => operation.moved?.doubt)).toEqual([isOther ? question : undefined]);
});

const listAndPage = (name: string, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  [name]: listOf(objectOf({ id: text, size: text })),
  ...more,
});
const failed = { errors: listOf(objectOf({ code: text, text })) };

test.each<
  [
    what: string,
    v1: Record<string, unknown>,
    v2: Record<string, unknown>,
    active: readonly string[],
    asked: readonly string[],
  ]
>([
  [
    'a list by the name of the path',
    listAndPage('orders', { shop: text }),
    listAndPage('allOrders', { shop: text }),
    ['resource: allOrders', '{ rename: allOrders, to: orders }'],
    [],
  ],
  [
    'a list with nothing but pages beside it',
    listAndPage('bills', { total_count: integer, nextPage: text }),
    listAndPage('cases', { total_count: integer, nextPage: text }),
    ['resource: cases', '{ rename: cases, to: bills }'],
    [],
  ],
  [
    'lists of what went wrong, in an envelope and beside the list',
    { payload: objectOf(listAndPage('Orders', { NextToken: text })), ...failed },
    listAndPage('orders', failed),
    ['resource: orders'],
    ['{ move: orders, to: payload.Orders }'],
  ],
  [
    'an envelope that says nothing of what is in it, and one named as the path',
    { payload: objectOf({ id: text, size: text }), ...failed },
    { order: objectOf({ id: text, size: text }), ...failed },
    ['resource: order', '{ rename: order, to: payload }'],
    [],
  ],
  [
    'an envelope of V1 only, around one thing',
    { payload: objectOf({ id: text, size: text }) },
    { id: text, size: text },
    ['resource: ""', '{ wrap: payload }'],
    [],
  ],
  [
    'an envelope of V1 only, with another member',
    { data: objectOf({ id: text, size: text }), trace: text },
    { id: text, size: text },
    ['resource: ""'],
    ['{ wrap: data }'],
  ],
  [
    'a list among the settings of one thing',
    { theme: text, seals: listOf(objectOf({ id: text })) },
    { theme: text, marks: listOf(objectOf({ id: text })), zone: text },
    ['resource: ""'],
    [],
  ],
])('what a response is about: %s', async (_, v1, v2, active, asked) => {
  const draft = await soundDraft(
    proposeRuleBook(
      reading('v1', { '/orders': { members: v1 } }),
      reading('v2', { '/orders': { members: v2 } }),
    ),
  );
  const lines = printRuleBook(draft).split('\n');
  for (const line of active) expect(lines.map((one) => one.replace(/^ +- /, ''))).toContain(line);
  for (const line of asked) expect(lines.map((one) => one.replace(/^ +# +- /, ''))).toContain(line);
  const rules = lines.filter((line) => /^ +- \{/.test(line));
  expect(rules).toHaveLength(active.length - 1);
});

test('a list does not replace an object, and an operation that only bodies identify is compared once a person says that it moved', () => {
  const found = { id: text, size: text, colour: text };
  const of = (version: string, path: string, members: Record<string, unknown>): Record<string, unknown> =>
    described(version, path, {
      get: { responses: { 200: { content: { 'application/json': { schema: objectOf(members) } } } } },
    });
  const v1 = of('v1', '/pots/{id}/lids', { data: listOf(objectOf({ ...found, old: text })) });
  const draft = (young: Record<string, unknown>, path: string): string =>
    printRuleBook(proposeRuleBook(v1, of('v2', path, young)));
  expect(draft({ data: objectOf(found) }, '/lids/{id}')).toContain('operations: {}');
  const guess = draft({ data: listOf(objectOf(found)) }, '/pots/{id}/hats');
  expect(guess).toContain('# to: "GET /pots/{id}/hats"');
  expect(guess).toContain('Then draft into this book: its bodies were not compared.');
  expect(guess).not.toContain('old');
});

const served = (server: object, operation: object = {}): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  servers: [server],
  paths: { '/orders': { get: { operationId: 'list', responses: {}, ...operation } } },
});
const variable = (value: string): object => ({
  url: 'https://{region}.example.com:{port}/shop/{release}',
  variables: { region: { enum: ['eu'] }, release: { default: value, enum: ['v1', 'v2'] } },
});
const media = (type: string): object => ({
  responses: { 200: { content: { [type]: { schema: objectOf({ id: text }) } } } },
});
const releaseIn = (place: string, name: string, value: unknown): object => ({
  parameters: [{ name, in: place, schema: { enum: [value] } }],
});
const root = { url: 'https://api.example.com' };

test.each<[what: string, old: object, young: object, lines: readonly string[]]>([
  [
    'a variable of the server',
    served(variable('v1')),
    served(variable('v2')),
    ['from: /shop/v1', 'to: /shop/v2'],
  ],
  [
    'a media type',
    served(root, media('application/vnd.acme.v1+json')),
    served(root, media('application/vnd.acme.v2+json')),
    ['# from: /', '# to: /', '# version: { accept: "application/vnd.acme.v{}+json", value: "2", v1: ["1"] }'],
  ],
  [
    'a header field',
    served({ url: '/api' }, releaseIn('header', 'Api-Version', '1')),
    served({ url: '/api' }, releaseIn('header', 'Api-Version', '2')),
    ['# from: /api', '# to: /api', '# version: { header: Api-Version, value: "2", form: text, v1: ["1"] }'],
  ],
  [
    'a query parameter, besides the prefix',
    served({ url: '/v1' }, releaseIn('query', 'api-version', '2024-01-01')),
    served({ url: '/v2' }, releaseIn('query', 'api-version', '2025-01-01')),
    ['from: /v1', 'to: /v2', '# version: { query: api-version, value: 2025-01-01, v1: [2024-01-01] }'],
  ],
])('the difference between the versions: %s', async (_, old, young, lines) => {
  const draft = await soundDraft(proposeRuleBook({ ...old }, { ...young }));
  expect(printRuleBook(draft).split('\n')).toEqual(expect.arrayContaining([...lines]));
  await bookIn(printRuleBook(draft, undefined, 'unmarked'));
});

test('for an operation whose path is not V1’s, the draft says where its id is in V2', () => {
  const get = (operationId: string, method = 'get'): object => ({
    [method]: { operationId, responses: {} },
  });
  const v1 = described('v1', '/things', get('readThing'));
  const draft = printRuleBook(proposeRuleBook(v1, described('v2', '/boxes/{no}/one', get('readThing'))));
  expect(draft).toContain('# TODO: where is GET /things (V2 has readThing at GET /boxes/{no}/one)');
  const others = proposeRuleBook(v1, described('v2', '/things', get('other', 'delete')));
  expect(printRuleBook(others)).toContain('# TODO: where is GET /things (V2 has DELETE there)');
});

test.each<[old: object, young: object, ...rules: readonly string[]]>([
  [{ explode: false, schema: listOf(text) }, { schema: listOf(text) }, '{ list: tags, with: "," }'],
  [
    { schema: listOf(text) },
    { style: 'pipeDelimited', explode: false, schema: listOf(text) },
    '{ unlist: tags, with: "|" }',
  ],
  [
    { schema: text, description: 'Separated by commas.' },
    { schema: listOf(text) },
    '{ list: tags, with: "," }',
  ],
  [{ schema: listOf(text) }, { schema: { ...text, example: 'a;b' } }, '{ unlist: tags, with: ";" }'],
  [{ schema: listOf(text) }, { schema: listOf(text) }],
  [
    { explode: false, schema: listOf(text) },
    { schema: text, description: 'Comma-separated.' },
  ],
  [{ schema: text }, { schema: listOf(text) }],
  [
    { style: 'pipeDelimited', explode: false, schema: listOf(text) },
    { explode: false, schema: listOf(text) },
    '{ list: tags, with: "|" }',
    '{ unlist: tags, with: "," }',
  ],
  [
    { style: 'spaceDelimited', explode: false, schema: listOf(text) },
    { schema: text, example: 'a b' },
  ],
])(
  'a list in a query is a question where both versions tell how they write it: %o, %o',
  async (old, young, ...rules) => {
    const of = (version: string, parameter: object): Record<string, unknown> =>
      described(version, '/things', {
        get: {
          operationId: 'list',
          parameters: [{ name: 'tags', in: 'query', ...parameter }],
          responses: {},
        },
      });
    const draft = await soundDraft(proposeRuleBook(of('v1', old), of('v2', young)));
    const lines = printRuleBook(draft)
      .split('\n')
      .filter((line) => line.includes('list: tags'));
    expect(lines.map((line) => line.replace(/^ +# +- /, ''))).toEqual(rules);
    await bookIn(printRuleBook(draft, undefined, 'unmarked'));
  },
);

test('cookies and fields of responses that are gone are questions', () => {
  const get = (cookie: string, ...fields: string[]): object => ({
    get: {
      operationId: 'read',
      parameters: [{ name: cookie, in: 'cookie', schema: text }],
      responses: { 200: { headers: Object.fromEntries(fields.map((field) => [field, { schema: text }])) } },
    },
  });
  const book = proposeRuleBook(
    described('v1', '/things', get('sid', 'X-Total', 'Etag')),
    described('v2', '/things', get('session', 'etag', 'Total')),
  );
  expect(questionsOf(book)).toEqual([
    'V2 does not describe the cookie sid, and no rule moves one: say who does.',
    "V2's responses are not described to have the header field X-Total. If V2 has it by another name, write { headers: [{ rename: …, to: X-Total }] } among the rules of a response.",
  ]);
});

test.each([
  ['start_date', 'end_date'],
  ['priceMin', 'priceMax'],
  ['created_by', 'updated_by'],
  ['is_public', 'is_private'],
])('%s is not %s, with any descriptions', (old, young) => {
  const date = { ...text, format: 'date', description: 'The value.' };
  const book = bookOf(objectOf({ id: text, [old]: date }), objectOf({ id: text, [young]: date }));
  expect(printedRules(book).active).toEqual([]);
  expect(questionsOf(book).join('\n')).toMatch(/ is not /);
});

test('of several groups of paths the one whose version changes is drafted, and the others are named', () => {
  const of = (...paths: readonly string[]): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(paths.map((path) => [path, { get: { responses: {} } }])),
  });
  const v1 = of('/api/v1/pods', '/api/v1/nodes', '/apis/apps/v1beta1/sets');
  const draft = printRuleBook(proposeRuleBook(v1, of('/api/v1/pods', '/api/v1/nodes', '/apis/apps/v1/sets')));
  for (const line of ['from: /apis/apps/v1beta1', 'to: /apis/apps/v1'])
    expect(draft.split('\n')).toContain(line);
  expect(draft).toContain('# TODO: /api/v1 (2 paths) is the same prefix in V2');
});

test('schemas that all refer to each other end, and what differs in one of them is asked once', () => {
  const names = Array.from({ length: 12 }, (_, at) => `S${at}`);
  const of = (version: string, extra: string): Record<string, unknown> => {
    const members = Object.fromEntries(names.map((name) => [name, { $ref: `#/components/schemas/${name}` }]));
    const schemas = names.map((name) => [
      name,
      objectOf(name === 'S5' ? { ...members, [extra]: text } : members),
    ]);
    return {
      ...pathsWith(version, { $ref: '#/components/schemas/S0' }),
      components: { schemas: Object.fromEntries(schemas) },
    };
  };
  const lines = printRuleBook(proposeRuleBook(of('v1', 'colourCode'), of('v2', 'colour_code'))).split('\n');
  expect(lines.filter((line) => line.includes('TODO'))).toHaveLength(1);
  expect(lines.some((line) => line.includes('{ rename: colourCode, in: "**", to: colour_code }'))).toBe(true);
});

/** Descriptions of operations that get one object with these members, each with its query parameters. */
const reading = (
  version: string,
  all: Record<string, { readonly query?: readonly string[]; readonly members: Record<string, unknown> }>,
): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  paths: Object.fromEntries(
    Object.entries(all).map(([path, { query = [], members }]) => [
      `/api/${version}${path}`,
      {
        get: {
          operationId: path.slice(1),
          parameters: query.map((name) => ({ name, in: 'query', schema: text })),
          responses: { 200: { content: { 'application/json': { schema: objectOf(members) } } } },
        },
      },
    ]),
  ),
});

const values = (...all: readonly string[]): object => ({ ...text, enum: all });

test('of several candidates the one with most common words in its names comes first, and bodies may decide alone', () => {
  const channel = { id: text, is_archived: text, num_members: text, topic: text };
  const [list, one] = [
    { channels: { type: 'array', items: objectOf(channel) } },
    { channel: objectOf(channel) },
  ];
  const paging = { response_metadata: objectOf({ next_cursor: text }) };
  const book = proposeRuleBook(
    reading('v1', { '/channels.list': { members: list }, '/channels.info': { members: one } }),
    reading('v2', {
      '/conversations.info': { members: one },
      '/conversations.list': { members: { ...list, ...paging } },
    }),
  );
  expect(book.operations.map(({ moved }) => [moved?.to, moved?.doubt !== undefined])).toEqual([
    ['GET /conversations.list', true],
    ['GET /conversations.info', true],
  ]);
});

test('a member is renamed only where no other new name has its words', () => {
  const v2 = { current_total_price: text, total_price_set: objectOf({ amount: text }) };
  const book = bookOf(objectOf({ total_price: text, id: text }), objectOf({ id: text, ...v2 }));
  expect(proposedRules(book).get('create')).toEqual([]);
  expect(questionsOf(book)).toContain('V2 has total_price_set as well');
});

/** Two text members in one object of responses, by their names and descriptions, and what both versions have beside them. */
type WordedRow = [what: string, old: object, young: object, beside: object, doubt: string | undefined];

test.each<WordedRow>([
  [
    'V2 still has the old name elsewhere',
    { paymentData: { ...text, description: 'A value to submit.' } },
    { threeDSPaymentData: { ...text, description: 'A value to submit as `paymentData`.' } },
    { action: objectOf({ paymentData: text }) },
    'V2 still has action.paymentData, which may be it',
  ],
  [
    'V2 still has the old name elsewhere, and no text says more',
    { payment_data: text },
    { card_payment_data: text },
    { action: objectOf({ payment_data: text }) },
    'V2 still has action.payment_data, which may be it',
  ],
  [
    'V1 says to use another one',
    { billing_name: { ...text, description: 'Deprecated: use `payer.full_name` instead.' } },
    { billing_name_line: text },
    { payer: objectOf({ full_name: text }) },
    "V1's description says to use payer.full_name instead, and V2 has that",
  ],
  [
    'the descriptions are equal, whatever else has the name',
    { billing_name: { ...text, description: 'Who pays.' } },
    { billing_full_name: { ...text, description: 'Who pays.' } },
    { payer: objectOf({ billing_name: text }) },
    undefined,
  ],
  [
    'V1 says to use the new one',
    { billing_name: { ...text, description: 'Deprecated: use billing_full_name instead.' } },
    { billing_full_name: text },
    {},
    undefined,
  ],
  [
    'the name is another spelling',
    { customerID: text },
    { customer_id: text },
    { payer: objectOf({ customerID: text }) },
    undefined,
  ],
])(
  'a rename by words alone is a question where a word speaks against it: %s',
  (_, old, young, beside, doubt) => {
    const members = (own: object): Record<string, unknown> => ({ id: text, ...own, note: text, ...beside });
    const book = bookOf(objectOf(members(old)), objectOf(members(young)));
    expect(proposedRules(book).get('create')).toHaveLength(doubt === undefined ? 1 : 0);
    expect(questionsOf(book)).toEqual(doubt === undefined ? [] : [doubt]);
  },
);

test('a body that becomes a member is not a wrapper, with any schema inside', () => {
  const ticket = {
    type: 'object',
    properties: { id: text, subject: text, parent: { $ref: '#/components/schemas/T' } },
  };
  const withTicket = (version: string, schema: unknown): Record<string, unknown> => ({
    ...pathsWith(version, schema),
    components: { schemas: { T: ticket } },
  });
  const reference = { $ref: '#/components/schemas/T' };
  const book = proposeRuleBook(
    withTicket('v1', reference),
    withTicket('v2', objectOf({ ticket: reference })),
  );
  expect(book.changes.flatMap(({ rules }) => rules.map(({ found }) => found.rule))).not.toContain('unwrap');
});

test('another form of the body, and values of a query that V2 takes in another form, are questions', () => {
  const operation = (version: string, media: string, schema: unknown): Record<string, unknown> =>
    described(version, '/things', {
      post: {
        operationId: 'create',
        parameters: [{ name: 'page', in: 'query', schema }],
        requestBody: { content: { [media]: { schema: objectOf({ one: text }) } } },
        responses: {},
      },
    });
  const asked = (young: unknown): readonly string[] =>
    questionsOf(
      proposeRuleBook(
        operation('v1', 'application/x-www-form-urlencoded', text),
        operation('v2', 'application/json', young),
      ),
    );
  const form = 'V1 accepts a form, and V2 accepts JSON: decide who converts it.';
  const converted = (type: string): string =>
    `page: as a query parameter it is string in V1 and ${type} in V2: say how to convert it.`;
  expect(asked({ type: 'integer' })).toEqual([form, converted('integer')]);
  expect(asked(objectOf({ size: text }))).toEqual([form, converted('object')]);
  expect(asked({ type: 'array', items: text })).toEqual([form]);
});

test.each<
  [
    what: string,
    v1: Parameters<typeof reading>[1],
    v2: Parameters<typeof reading>[1],
    questions: readonly RegExp[],
  ]
>([
  [
    'members whose type changes alike',
    { '/a': { members: { one: text, two: text } }, '/b': { members: { three: text } } },
    {
      '/a': { members: { one: { type: 'boolean' }, two: { type: 'boolean' } } },
      '/b': { members: { three: { type: 'boolean' } } },
    },
    [
      /of each of these, in responses, it is string in V1 and boolean in V2: say how to convert it\.\n# - a: one\n# - a: two\n# - b: three\n/,
    ],
  ],
  [
    'what V2 answers is narrower',
    { '/a': { members: { one: { type: 'number' }, two: values('x', 'y') } } },
    { '/a': { members: { one: { type: 'integer' }, two: values('x') } } },
    [],
  ],
  [
    'values that only V2 answers',
    { '/a': { members: { one: values('x', 'yy') } }, '/b': { members: { two: values('x', 'yy') } } },
    {
      '/a': { members: { one: values('x', 'yy', 'zzz') } },
      '/b': { members: { two: values('x', 'yy', 'www') } },
    },
    [
      /TODO: a: one: in responses, V2 returns "zzz", which V1 never returned/,
      /TODO: b: two: in responses, V2 returns "www", which V1 never returned/,
    ],
  ],
  [
    'query parameters that are gone',
    {
      '/a': { query: ['q', 'sort'], members: {} },
      '/b': { query: ['q'], members: {} },
      '/c': { query: ['flag'], members: {} },
    },
    { '/a': { members: {} }, '/b': { members: {} }, '/c': { members: {} } },
    [
      /does q-parameter-gone hold\? .*\n(?:.*\n)*?.*strip: q(?:.*\n)*?.*Goes with q-parameter-gone(?:.*\n)*?.*strip: sort/,
    ],
  ],
  [
    'members that are gone from responses',
    {
      '/a': { members: { one: text, two: text } },
      '/b': { members: { one: text, three: text } },
      '/c': { members: { four: text } },
    },
    {
      '/a': { members: { kept: text } },
      '/b': { members: { kept: text } },
      '/c': { members: { kept: text } },
    },
    // One for each operation with a member that none before it lacks.
    [
      /removed-attributes-response hold\?(?:.*\n)*?.*on: \[a\](?:.*\n)*?.*two: null/,
      /removed-attributes-response-3 hold\?(?:.*\n)*?.*on: \[b\](?:.*\n)*?.*three: null/,
      /removed-attributes-response-4 hold\?(?:.*\n)*?.*on: \[c\](?:.*\n)*?.*four: null/,
      /new-attributes-response hold\?(?:.*\n)*?.*on: \[a, b\](?:.*\n)*?.*strip: kept/,
    ],
  ],
  [
    'members that are in one object of V2 now',
    { '/a': { members: { location: text, location_city: text, location_zip: text } } },
    { '/a': { members: { location: objectOf({ city: text, zip: text, street: text }) } } },
    [
      /location-places-response hold\?(?:.*\n)*?.*move: location.city, to: location_city(?:.*\n)*?.*move: location.zip, to: location_zip/,
      /location: in responses, it is string in V1 and object in V2/,
    ],
  ],
  [
    'responses that V2 does not describe',
    { '/a': { members: { one: text } }, '/b': { members: { two: text } } },
    { '/a': { members: {} }, '/b': { members: {} } },
    [/TODO: a, b: V1 describes a response, and V2 describes none, /],
  ],
])('one question for one decision: %s', async (_, v1, v2, questions) => {
  const printed = printRuleBook(await soundDraft(proposeRuleBook(reading('v1', v1), reading('v2', v2))));
  for (const question of questions) expect(printed).toMatch(question);
  expect(printed.match(/TODO:/g) ?? []).toHaveLength(questions.length);
});

test('an object that a client may ask for instead of its id is followed once, and each schema is asked about somewhere', async () => {
  const names = 'abcdefghijklmnop'.split('');
  const graph = (version: string, gone: string): Record<string, unknown> => ({
    ...reading(version, { '/a': { members: { id: text } } }),
    components: {
      schemas: Object.fromEntries(
        names.map((name) => [
          name,
          objectOf({
            [`${name}_${gone}`]: text,
            ...Object.fromEntries(
              names.map((other) => [
                `to_${other}`,
                { anyOf: [text, { $ref: `#/components/schemas/${other}` }] },
              ]),
            ),
          }),
        ]),
      ),
    },
  });
  const withRoot = (description: Record<string, unknown>, version: string): Record<string, unknown> => {
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/a' } } };
    const get = { operationId: 'a', responses: { 200: { content } } };
    return { ...description, paths: { [`/api/${version}/a`]: { get } } };
  };
  const book = proposeRuleBook(withRoot(graph('v1', 'old'), 'v1'), withRoot(graph('v2', '2'), 'v2'));
  const printed = printRuleBook(await soundDraft(book));
  for (const name of names) expect(printed).toContain(`${name}_old`);
  expect(printed.split('\n').length).toBeLessThan(2000);
  expect(printed).not.toMatch(/to_\w\.to_\w\.to_\w/);
});

test('the body of a form is compared, and its values are texts', () => {
  const of = (version: string, properties: Record<string, unknown>): Record<string, unknown> =>
    described(version, '/charges', {
      post: {
        operationId: 'charge',
        requestBody: { content: { 'application/x-www-form-urlencoded': { schema: objectOf(properties) } } },
        responses: {},
      },
    });
  const book = proposeRuleBook(
    of('v1', { amount: integer, paymentSource: text }),
    of('v2', { amount: text, payment_source: text }),
  );
  expect(printedRules(book)).toEqual({
    active: ['{ rename: paymentSource, to: payment_source }'],
    asked: [],
  });
});

test('a member that becomes a list of one, a key that moves, and members of several operations are one question each', () => {
  const read = (version: string, properties: Record<string, unknown>): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [
        `/api/${version}/${name}`,
        {
          get: {
            operationId: name,
            responses: {
              200: { content: { 'application/json': { schema: { $ref: '#/components/schemas/E' } } } },
            },
          },
        },
      ]),
    ),
    components: {
      schemas: { E: objectOf(properties) },
      securitySchemes: {
        key: {
          type: 'apiKey',
          name: version === 'v1' ? 'token' : 'x-token',
          in: version === 'v1' ? 'query' : 'header',
        },
        more: { type: 'oauth2' },
      },
    },
  });
  const v1 = read('v1', { id: integer, gone: text, old: text, storeId: text });
  const draft = printRuleBook(proposeRuleBook(v1, read('v2', { id: integer, storeIds: listOf(text) })));
  expect(draft).toContain('{ first: storeIds, to: storeId }');
  expect(draft).toContain('{ query: token, to: x-token }');
  expect(draft.match(/TODO/g)).toHaveLength(3);
});

test.each<
  [what: string, v1: (one: unknown) => unknown, v2: (one: unknown) => unknown, rules: readonly string[]]
>([
  [
    'V1 has a list of one',
    listOf,
    (one) => one,
    ['{ rename: data.id, to: txid }', '{ list: data, to: data }'],
  ],
  [
    'V2 has a list of one',
    (one) => one,
    listOf,
    ['{ rename: "data.*.id", to: txid }', '{ first: data, to: data }'],
  ],
])(
  'what differs within a value that is a list in one version is a rule as well: %s',
  async (_, v1, v2, rules) => {
    const read = (version: string, data: unknown): Record<string, unknown> => ({
      openapi: '3.1.0',
      info: { title: 'T', version: '1' },
      paths: {
        [`/api/${version}/a`]: {
          post: {
            operationId: 'a',
            responses: { 200: { content: { 'application/json': { schema: objectOf({ data }) } } } },
          },
        },
      },
    });
    const one = (id: string): unknown =>
      objectOf({ [id]: integer, reference: text, amount: integer, date: text });
    const draft = await soundDraft(proposeRuleBook(read('v1', v1(one('txid'))), read('v2', v2(one('id')))));
    const unmarked = printRuleBook(draft, undefined, 'unmarked');
    // The rule for what is inside names the place that it has in V2, and so comes first.
    expect(rules.map((rule) => unmarked.indexOf(rule)).every((at) => at > 0)).toBe(true);
    expect(unmarked.indexOf(rules[0] ?? '')).toBeLessThan(unmarked.indexOf(rules[1] ?? ''));
  },
);

/** Query parameters of a list in both versions, and the answers to each part of the questions about them. */
type FilterRow = [what: string, v1: object, v2: object, answers: readonly (readonly string[])[]];

const stateMap = '{ map: { open: opened, shut: closed }, of: state }';

test.each<FilterRow>([
  [
    'of common names',
    { q: text, per_page: integer },
    { search: text, limit: integer },
    [
      ['{ rename: q, to: search }', '{ strip: q }'],
      ['{ rename: per_page, to: limit }', '{ strip: per_page }'],
    ],
  ],
  [
    'with other values',
    { status: { enum: ['open', 'shut', 'gone'] } },
    { state: { enum: ['opened', 'closed', 'gone'] } },
    [[`{ rename: status, to: state } ${stateMap}`, '{ rename: status, to: state }', '{ strip: status }']],
  ],
  [
    'without a likely name',
    { q: text, flag: text },
    { limit: integer },
    [['{ strip: q }'], ['{ strip: flag }']],
  ],
  ['of which V2 has a cursor', { page: integer }, { cursor: text }, [['{ strip: page }']]],
  [
    'that are limits of a time, beside a page',
    { page: integer, from: { ...integer, description: 'Unix seconds' }, to: { ...text, format: 'date' } },
    { cursor: text, startsAfter: ofFormat('date-time'), startsBefore: ofFormat('date-time') },
    [
      ['{ strip: page }'],
      [
        '{ rename: from, to: startsAfter } { date: startsAfter, from: epoch, to: datetime }',
        '{ strip: from }',
      ],
      [
        '{ rename: to, to: startsBefore } { date: startsBefore, from: date, to: datetime, zone: UTC, at: "23:59:59" }',
        '{ rename: to, to: startsBefore } { date: startsBefore, from: date, to: datetime, zone: UTC }',
        '{ strip: to }',
      ],
    ],
  ],
  [
    'that are an offset and a size, by the name of a limit',
    { from: integer, size: integer },
    { cursor: text, since: ofFormat('date-time') },
    [['{ strip: from }'], ['{ strip: size }']],
  ],
  ['of another type', { size: integer }, { take: { type: 'boolean' } }, [['{ strip: size }']]],
  ['of a name that another one has', { q: text, search: text }, { search: text }, [['{ strip: q }']]],
])('each filter has an answer, a likely name of V2 first: %s', async (_, v1, v2, answers) => {
  const filtered = (version: string, properties: object): Record<string, unknown> =>
    described(version, '/things', {
      get: {
        operationId: 'list',
        parameters: Object.entries(properties).map(([name, schema]) => ({
          name,
          in: 'query',
          schema: schema as unknown,
        })),
        responses: {},
      },
    });
  const book = await soundDraft(proposeRuleBook(filtered('v1', v1), filtered('v2', v2)));
  const parts = draftQuestions(book).flatMap((question) => question.parts);
  expect(
    parts.map((part) => part.answers.map(({ lines }) => lines.join(' ')).filter((line) => line !== '')),
  ).toEqual(answers);
  expect(printRuleBook(book)).not.toContain('it has the same values');
});

test('errors of one form are one question, and another status of refusals is one', () => {
  const body = (type: string, ...names: string[]): object => ({
    description: 'no',
    content: { [type]: { schema: objectOf(Object.fromEntries(names.map((name) => [name, text]))) } },
  });
  const of = (version: string, ...responses: readonly object[]): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(
      responses.map((one, at) => [
        `/api/${version}/r${at}`,
        { get: { operationId: `op${at}`, responses: one } },
      ]),
    ),
  });
  const [old, young] = [
    body('application/json', 'message'),
    body('application/problem+json', 'detail', 'title'),
  ];
  const book = proposeRuleBook(
    of('v1', { 422: old }, { default: old }, {}),
    of('v2', { 400: young }, { default: young }, { 404: young }),
  );
  expect(book.changes.filter(({ id }) => id.startsWith('errors')).map(({ on }) => on)).toEqual([
    ['op0', 'op1', 'op2'],
  ]);
  expect([...book.questions].flatMap(([id, all]) => all.map((one) => [id, one.text]))).toEqual([
    ['op0', expect.stringContaining('status: { 400: 422 }')],
  ]);
});

test.each<[what: string, schema: object, isChoice: boolean]>([
  ['whose values choose between them', { enum: ['cancelled', 'arrived'] }, true],
  ['with one value', { enum: ['cancelled'] }, false],
  ['of which one of them has a value', { enum: ['PATIENT', 'CLINIC'] }, false],
  ['of any value', text, false],
])('where two operations of V2 may be one of V1, with a member %s', async (_, schema, isChoice) => {
  const writes = (paths: Record<string, Record<string, unknown>>): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(paths).map(([path, members]) => [
        path,
        {
          [path.startsWith('/api/v1') ? 'put' : 'post']: operationWith(
            path.split('/').at(-1) ?? '',
            objectOf(members),
          ),
        },
      ]),
    );
  const of = (paths: Record<string, unknown>): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths,
  });
  const book = await soundDraft(
    proposeRuleBook(
      of(writes({ '/api/v1/visits/{id}/status': { status: schema } })),
      of(
        writes({
          '/api/v2/visits/{id}/cancellation': { by: { enum: ['patient', 'clinic'] } },
          '/api/v2/visits/{id}/check-in': { note: text },
        }),
      ),
    ),
  );
  const [question] = draftQuestions(book);
  const [part] = question?.parts ?? [];
  expect(part?.why.includes('no rule can choose a path by a body')).toBe(isChoice);
  const words = part?.answers.filter(({ lines }) => /check-in/.test(lines.join())).map((one) => one.words);
  expect(words).toEqual([isChoice ? 'It is this one, which is new in V2' : 'It moved to this one']);
});

test('a page is asked about apart from filters, and the title of a question names each parameter', () => {
  const listed = (version: string, ...all: readonly (readonly string[])[]): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: Object.fromEntries(
      all.map((names, at) => [
        `/api/${version}/things${at}`,
        {
          get: {
            operationId: `list${at}`,
            parameters: names.map((name) => ({ name, in: 'query', schema: integer })),
            responses: {},
          },
        },
      ]),
    ),
  });
  const questions = draftQuestions(
    proposeRuleBook(
      listed('v1', ['page', 'owner'], ['page'], ['colour']),
      listed('v2', ['cursor'], ['cursor'], []),
    ),
  );
  expect(questions.map(({ text: title }) => title)).toEqual([
    'V2 does not describe the query parameter page. What is it in V2?',
    'V2 does not describe the query parameters owner, colour. What are they in V2?',
  ]);
});

test('a filter for a resource has the word that V2 has for it in paths', async () => {
  const listed = (version: string, noun: string, name: string, schema: object): Record<string, unknown> => ({
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: {
      [`/api/${version}/${noun}`]: {
        get: { operationId: `list${noun}`, summary: 'All of them', responses: {} },
        post: operationWith(`make${noun}`, objectOf({ chip: text, weight: text, coat: text })),
      },
      [`/api/${version}/visits`]: {
        get: { operationId: 'visits', parameters: [{ name, in: 'query', schema }], responses: {} },
      },
    },
  });
  const book = await soundDraft(
    proposeRuleBook(
      listed('v1', 'animals', 'animal_id', integer),
      listed('v2', 'patients', 'patientId', { ...text, pattern: '^pat_[0-9]+$' }),
    ),
  );
  expect(printRuleBook(book)).toMatch(
    /- \{ rename: animal_id, to: patientId \}\n.*- \{ prefix: patientId, with: pat_ \}\n.*or instead:\n.*- \{ strip: animal_id \}/,
  );
});

test.each<[what: string, name: string, old: object, young: object, lines: readonly string[], why: string]>([
  [
    'under another name',
    'limit',
    { default: 25, maximum: 100 },
    { default: 20, maximum: 50 },
    ['{ rename: per_page, to: limit }', '{ default: { limit: 25 } }'],
    'without it V1 assumes 25, and V2 20; V2 accepts at most 50, and V1 100',
  ],
  [
    'under the same name',
    'per_page',
    { default: 25 },
    { default: 20 },
    ['{ default: { per_page: 25 } }'],
    'without it V1 assumes 25, and V2 20',
  ],
  [
    'that V2 assumes as well',
    'limit',
    { default: 25 },
    { default: 25 },
    ['{ rename: per_page, to: limit }'],
    '',
  ],
  [
    'with values of other names',
    'per_page',
    { type: 'string', enum: ['small', 'LARGE'], default: 'small' },
    { type: 'string', enum: ['SMALL', 'LARGE'], default: 'LARGE' },
    ['{ default: { per_page: SMALL } }'],
    'without it V1 assumes small, and V2 LARGE',
  ],
])('the default of a parameter %s is asked', (_, name, old, young, lines, why) => {
  const of = (version: string, called: string, schema: object): Record<string, unknown> =>
    described(version, '/things', {
      get: {
        operationId: 'list',
        parameters: [{ name: called, in: 'query', schema: { type: 'integer', ...schema } }],
        responses: {},
      },
    });
  const [question, ...more] = draftQuestions(
    proposeRuleBook(of('v1', 'per_page', old), of('v2', name, young)),
  );
  expect(more).toEqual([]);
  expect(question?.parts[0]?.answers[0]?.lines).toEqual(lines);
  expect(question?.parts[0]?.isOpen).toBe(true);
  expect(question?.parts[0]?.why).toContain(why);
});

test('responses that V1 shows only by an example are compared, and no rule for them applies unasked', () => {
  const [shown, told] = [
    { id: 7, label: 'Kelp', meta: { page: 1 }, tags: [{ a: 'x' }, { b: null }] },
    objectOf({
      id: text,
      name: text,
      meta: objectOf({ pageNo: integer }),
      tags: { type: 'array', items: objectOf({ a: text }) },
    }),
  ];
  const read = (content: object): object => ({
    get: { operationId: 'read', responses: { 200: { content: { 'application/json': content } } } },
  });
  const gets = (version: string, content: object, own: object): Record<string, unknown> => {
    const { paths, ...description } = described(version, '/cargo/{id}', read(content));
    return { ...description, paths: { ...Object(paths), [`/api/${version}/routes/{id}`]: { get: own } } };
  };
  const book = proposeRuleBook(
    gets('v1', { example: { data: shown } }, { operationId: 'route', responses: { 200: {} } }),
    gets(
      'v2',
      { schema: told },
      {
        operationId: 'route',
        responses: { 200: { content: { 'application/json': { schema: told } } } },
      },
    ),
  );
  const lines = printRuleBook(book);
  expect(lines).toContain('only an example shows it, and no schema');
  expect(lines).toMatch(/# .*rename: name, to: label/);
  expect(lines).toMatch(/# .*wrap: data/);
  expect(lines).toContain('changes: [] #');
  expect(book.questions.get('route')?.map(({ text: asked }) => asked)).toEqual([
    'V1 describes no body of its responses, so that nothing was compared: clients get what V2 returns.',
  ]);
});

test.each<[what: string, operation: object, isAsked: boolean]>([
  ['no body', {}, true],
  ['a body that could not be read', { requestBody: { content: { 'text/plain': {} } } }, false],
])('the members of a body that V2 requires are asked where V1 has %s', (_, operation, isAsked) => {
  const initiator = { type: 'string', enum: ['CUSTOMER', 'OPERATOR'] };
  const cancelled = (version: string, own: object): Record<string, unknown> =>
    described(version, '/orders/{id}/cancel', { post: { operationId: 'cancel', responses: {}, ...own } });
  const body = {
    required: true,
    content: {
      'application/json': {
        schema: {
          ...Object(objectOf({ initiator, count: integer, note: text })),
          required: ['initiator', 'count'],
        },
      },
    },
  };
  const book = proposeRuleBook(cancelled('v1', operation), cancelled('v2', { requestBody: body }));
  const asked = draftQuestions(book);
  expect(asked.map(({ text: sentence }) => sentence)).toEqual(
    isAsked
      ? ['V2 requires initiator: what should it be?', 'V2 requires count: what should it be?']
      : [expect.stringContaining('V1 describes no body that could be read')],
  );
  if (!isAsked) return;
  expect(asked[0]?.parts[0]?.why).toContain('V1 does not have it, and V2 accepts CUSTOMER, OPERATOR');
  expect(asked[1]?.parts[0]?.why).toContain('V1 does not have it, and V2 accepts integer');
  expect(asked[0]?.parts[0]?.answers[0]?.lines).toEqual(['{ default: { initiator: "…" } }']);
});

test('the prefix of an id that one schema of V2 describes is asked at each place of the id', () => {
  const of = (version: string, name: string, id: object, own: object): Record<string, unknown> => ({
    ...described(version, '/things', { post: operationWith('create', objectOf({ [name]: id, kind: text })) }),
    components: { schemas: { Route: objectOf({ id: own }) } },
  });
  const withParameters = (
    version: string,
    name: string,
    id: object,
    own: object,
  ): Record<string, unknown> => {
    const parameter = (place: string, called: string): object => ({ name: called, in: place, schema: id });
    const get = (operationId: string, ...parameters: object[]): object => ({
      get: { operationId, parameters, responses: {} },
    });
    const { paths, ...description } = of(version, name, id, own);
    return {
      ...description,
      paths: {
        ...Object(paths),
        [`/api/${version}/sailings`]: get('list', parameter('query', name)),
        [`/api/${version}/routes/{${name}}`]: get('read', parameter('path', name)),
        [`/api/${version}/routes/{id}/ports`]: get('ports', parameter('path', 'id')),
      },
    };
  };
  const old = [integer, integer] as const;
  const young = [text, idOf('^rt_[0-9]+$')] as const;
  const draft = (name: string): string => {
    const book = proposeRuleBook(
      withParameters('v1', 'route_id', ...old),
      withParameters('v2', name, ...young),
    );
    return `${printRuleBook(book)}${questionsOf(book).join('\n')}`;
  };
  for (const name of ['routeId', 'route_id']) {
    const lines = draft(name);
    // In the body and in the query.
    expect(lines.split(`- { prefix: ${name}, with: rt_ }`)).toHaveLength(3);
    expect(lines).toContain('V2 takes only rt_… in the path where V1 has {route_id}');
    expect(lines).toContain('V2 takes only rt_… in the path where V1 has {id}');
    expect(lines).toMatch(
      / {4}# to: "GET \/routes\/rt_\{route_id\}"\n(?:.*\n)* {4}# to: "GET \/routes\/rt_\{id\}\/ports"/,
    );
  }
});

test.each<[what: string, old: unknown, young: unknown, rules: readonly string[], note: string | undefined]>([
  [
    'the body is the list',
    { type: 'array', items: objectOf({ kind: text, ts: text }) },
    objectOf({ data: { type: 'array', items: objectOf({ kind: text, at: text }) } }),
    [],
    'What is in it was not compared.',
  ],
  [
    'the list has the name of the path, and of something beside a list',
    objectOf({
      messages: { type: 'array', items: objectOf({ kind: text, ItemSize: text }) },
      count: integer,
    }),
    objectOf({ data: { type: 'array', items: objectOf({ kind: text, item_size: text }) }, count: integer }),
    ['{ rename: "data.*.item_size", to: ItemSize }', '{ rename: data, to: messages }'],
    undefined,
  ],
  [
    'the list is deeper',
    objectOf({
      all: objectOf({ items: { type: 'array', items: objectOf({ kind: text, ItemSize: text }) } }),
    }),
    objectOf({ data: { type: 'array', items: objectOf({ kind: text, item_size: text }) } }),
    ['{ rename: "data.*.item_size", to: ItemSize }'],
    undefined,
  ],
])(
  'a list of V2 is compared with that of V1, unless only a transform makes it of the other: %s',
  (_, old, young, rules, note) => {
    const get = (schema: unknown): object => ({
      get: { operationId: 'list', responses: { 200: { content: { 'application/json': { schema } } } } },
    });
    const book = proposeRuleBook(
      described('v1', '/messages', get(old)),
      described('v2', '/messages', get(young)),
    );
    const printed = printRuleBook(book).split('\n');
    const active = printed.flatMap((line) => (/^ +- \{/.test(line) ? [line.trim().slice(2)] : []));
    expect(active).toEqual(rules);
    const notes = [...book.questions.values()].flat().map(({ text: said }) => said);
    expect(notes.map((said) => note !== undefined && said.includes(note))).toEqual(
      note === undefined ? [] : [true],
    );
  },
);

test.each([
  ['application/json', 'application/merge-patch+json', true],
  ['application/json', 'application/json; charset=utf-8', false],
  ['application/json', '*/*', false],
  ['application/vnd.acme.v1+json', 'application/vnd.acme.v2+json', false],
])('a body of %s that V2 takes as %s is asked about: %s', (one, other, isAsked) => {
  const patched = (version: string, type: string): Record<string, unknown> =>
    described(version, '/things', {
      patch: {
        operationId: 'edit',
        requestBody: { content: { [type]: { schema: objectOf({ a: text }) } } },
        responses: {},
      },
    });
  const asked = questionsOf(proposeRuleBook(patched('v1', one), patched('v2', other)));
  const sentence = `V1 accepts a body of ${one}, and V2 of ${other}, and no rule changes the media type of a request: let V2 take V1's as well.`;
  expect(asked).toEqual(isAsked ? [sentence] : []);
});
