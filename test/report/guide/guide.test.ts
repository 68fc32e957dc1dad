import { expect, test } from 'vitest';
import { futureWords, type GuideBody, presentWords } from '../../../src/report/guide/guide-document.ts';
import { Guide } from '../../../src/report/guide/guide.ts';
import { guideFacts } from '../../../src/report/guide/guide-facts.ts';
import { fieldsAtV2 } from '../../../src/report/guide/guide-fields.ts';
import { guideHtml, guideMarkdown } from '../../../src/report/guide/guide-text.ts';
import { skillCases } from '../../../src/report/guide/skill.ts';
import { compileHeaderPlans } from '../../../src/rewrite/header-plan.ts';
import type { EditRecord } from '../../../src/rewrite/records.ts';
import type { ResponseRecord } from '../../../src/rewrite/response-rules.ts';
import { compilePlans } from '../../../src/rewrite/plan.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { REQUEST_RULE_NAMES } from '../../../src/rules/kinds/words.ts';
import type { RuleBook } from '../../../src/rules/rule-book.ts';
import { bytesOf } from '../../rewrite/notation.ts';
import { bookIn } from '../../rules/reading.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

async function bookOf(rules: string): Promise<RuleBook> {
  const text = `{ operations: { make: POST /things }, changes: [{ id: c, summary: S., on: [make], ${rules} }] }`;
  const reading = await readRuleBook(text, 'rules');
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  return reading.ruleBook;
}

/** The moves that a guide shows of a request with these edits. */
function movesOf(book: RuleBook, edits: readonly EditRecord[], more: object = {}): GuideBody['moves'] {
  const guide = new Guide('3fa9');
  const { attributes: _, ...entry } = sampleEntry(1, Date.UTC(2026, 10, 21));
  guide.add({ ...entry, client: '3fa90000', operation: 'make', edits, verdict: 'rewritten', ...more });
  return guide.document(book).calls[0]?.bodies[0]?.moves ?? [];
}

const shown = (moves: GuideBody['moves']): readonly string[] =>
  moves.map(({ from, to, remark }) => `${from} > ${to ?? 'leave out'}${remark === '' ? '' : `: ${remark}`}`);

/** Rules, the body of a V1 request, and what the guide says of it: what the rewriter records is the guide's own traffic. */
const RULES: readonly (readonly [rules: string, body: string, said: readonly string[]])[] = [
  ['{ unwrap: data }', '{"data":{"a":1}}', ['/data > /']],
  ['{ nest: [a], under: o }', '{"a":1}', ['/a > /o/a']],
  ['{ rename: a, to: b }', '{"a":1}', ['/a > /b']],
  ['{ move: o.a, to: b }', '{"o":{"a":1,"c":2}}', ['/o/a > /b']],
  ['{ strip: a }', '{"a":1,"b":2}', ['/a > leave out']],
  ['{ only: [b] }', '{"a":1,"b":2}', ['/a > leave out']],
  [
    '{ map: { open: outstanding, 1: one }, of: a }',
    '{"a":"open"}',
    ['/a > /a: 1 is one, open is outstanding'],
  ],
  [
    '{ map: { a: b, c: d, e: f, g: h, i: j, k: l }, of: a }',
    '{"a":"c"}',
    ['/a > /a: a is b, c is d, e is f, g is h, i is j, …'],
  ],
  ['{ set: { a: 7 } }', '{"b":1}', ['not sent > /a: V2 needs the value 7']],
  ['{ default: { a: AUD } }', '{"b":1}', ['not sent > /a: V2 needs a value; "AUD" is sent for you today']],
  ['{ scale: a, by: 100 }', '{"a":10.50}', ['/a > /a: multiply the number by 100']],
  ['{ scale: a, by: 1/60 }', '{"a":90}', ['/a > /a: divide the number by 60']],
  ['{ scale: a, by: 5/9 }', '{"a":9}', ['/a > /a: multiply the number by 5 and divide it by 9']],
  ['{ quote: a }', '{"a":7}', ['/a > /a: write the number as a text, with the same characters']],
  ['{ unquote: a }', '{"a":"7"}', ['/a > /a: write the text as a number, with the same digits']],
  ['{ prefix: a, with: inv_ }', '{"a":"7"}', ['/a > /a: put inv_ in front of the text']],
  ['{ unprefix: a, with: inv_ }', '{"a":"inv_7"}', ['/a > /a: remove inv_ from the start of the text']],
  [
    '{ date: a, from: date, to: epoch }',
    '{"a":"2026-01-31"}',
    ['/a > /a: write the date as epoch, not as date, such as 1798070400, not "2026-12-24"'],
  ],
  ['{ list: a, to: b }', '{"a":1}', ['/a > /b: now a list']],
  ["{ list: a, with: ',' }", '{"a":"x,y"}', ['/a > /a: now a list']],
  ['{ entries: a, name: k, value: v }', '{"a":{"x":1}}', ['/a > /a: now a list of pairs']],
  ['{ unlist: a, of: v }', '{"a":[{"v":1}]}', ['/a > /a: now one value']],
  ['{ copy: a.b, to: c }', '{"a":{"b":1}}', ['/a/b > /c: V2 needs it in both places']],
  [
    '{ join: [a, b], to: c, with: " " }',
    '{"a":"x","b":"y"}',
    ['/a > /c: now a part of a joined text', '/b > /c: now a part of a joined text'],
  ],
  [
    '{ split: a, to: [b, c], at: first, with: " " }',
    '{"a":"x y"}',
    ['/a > /b: a part of the text', '/a > /c: a part of the text'],
  ],
  // Two rules of one change: each has its own words, by the names of the member.
  [
    '{ rename: a, to: cents }, { scale: cents, by: 100 }, { scale: b, by: 1000 }',
    '{"a":1,"b":2}',
    ['/a > /cents: multiply the number by 100', '/b > /b: multiply the number by 1000'],
  ],
  ['{ scale: a, by: 100 }', '{"a":"ten"}', ['/a > /a: this value could not be converted']],
];

test.each(RULES)(
  'for %s with %s the guide says what moves, and what its value becomes',
  async (rules, body, said) => {
    const parsed = await bookOf(`request: [${rules}]`);
    const book = { ...parsed, policies: { ...parsed.policies, value: 'keep' as const } };
    const outcome = compilePlans(book).of(book.operations[0]).rewrite(bytesOf(body));
    if (outcome.verdict === 'refused') throw new Error(outcome.refusal.detail);
    expect(shown(movesOf(book, outcome.records))).toEqual(said);
  },
);

test('no request rule is left out of the guide', () => {
  const tried = new Set(
    RULES.flatMap(([rules]) => [...rules.matchAll(/\{ (\w+):/g)].map(([, name]) => name)),
  );
  expect(REQUEST_RULE_NAMES.filter((name) => !tried.has(name))).toEqual([]);
});

test.each([
  ['{ map: { open: outstanding }, of: a }', 'map', ['?a > ?a: open is outstanding']],
  ['{ scale: a, by: 100 }', 'scale', ['?a > ?a: multiply the number by 100']],
  [
    '{ date: a, from: date, to: epoch-ms }',
    'date',
    ['?a > ?a: write the date as epoch-ms, not as date, such as 1798070400000, not "2026-12-24"'],
  ],
  // The value may be a key of the operator's.
  ['{ set: { a: s3cret } }', 'set', ['?a > ?a: V2 needs this value']],
] as const)('for the query rule %s the guide says what the value becomes', async (rules, rule, said) => {
  const book = await bookOf(`query: [${rules}]`);
  const edits = [{ change: 'c', rule, from: '?a', path: '?a' }];
  expect(shown(movesOf(book, edits, { method: 'GET', bytesIn: 0, path: '/api/v1/things?a=…' }))).toEqual(
    said,
  );
});

const INVERSE = 'response: inverse';

// The member that the client reads today as /a is at /b in V2, or under the same name.
test.each<[rules: string, edits: readonly ResponseRecord[], said: string]>([
  [`request: [{ rename: a, to: b }], ${INVERSE}`, [edit('rename')], '/a > /b'],
  [
    `request: [{ rename: a, to: b }, { scale: b, by: 100, digits: 2 }], ${INVERSE}`,
    [edit('scale'), edit('rename')],
    "/a > /b, with other values; for today's: multiply the number by 0.01",
  ],
  [
    `request: [{ quote: a }, { prefix: a, with: inv_ }], ${INVERSE}`,
    [edit('unprefix', '/a'), edit('unquote', '/a')],
    "/a > /a, with other values; for today's: remove inv_ from the start of the text, write the text as a number, with the same digits",
  ],
  [
    `request: [{ map: { open: outstanding }, of: a }, { scale: other, by: 10 }], ${INVERSE}`,
    [edit('map', '/a')],
    "/a > /a, with other values; for today's: outstanding is open",
  ],
  [
    `request: [{ date: a, from: date, to: epoch }], ${INVERSE}`,
    [edit('date', '/a')],
    '/a > /a, with other values; for today\'s: write the date as date, not as epoch, such as "2026-12-24", not 1798070400',
  ],
  [
    'response: [{ rename: b, to: a }, { scale: a, by: 0.01, digits: 2 }]',
    [edit('scale'), edit('rename')],
    "/a > /b, with other values; for today's: multiply the number by 0.01",
  ],
  [
    'response: [{ map: { outstanding: open }, of: a }]',
    [edit('map', '/a')],
    "/a > /a, with other values; for today's: outstanding is open",
  ],
  ['response: [{ set: { a: 7 } }]', [edit('set', '/a')], '/a > /a, with other values'],
])('for responses with %s the guide says how to get today’s value', async (rules, edits, said) => {
  const guide = new Guide('3fa9');
  const entry = sampleEntry(1, Date.UTC(2026, 10, 21));
  guide.add({ ...entry, client: '3fa90000', operation: 'make', status: 201, responseEdits: edits });
  const rows = guide.document(await bookOf(rules)).calls[0]?.responses ?? [];
  expect(rows.map((row) => `${presentWords(row, String)} > ${futureWords(row, String, String)}`)).toEqual([
    said,
  ]);
  // What a program made of V2's response says nothing about where V2 has a member.
  guide.add({
    ...entry,
    client: '3fa90000',
    operation: 'make',
    status: 201,
    responseEdits: [{ change: 'transform', rule: 'transform', from: '', path: '' }],
  });
  const made = guide.document(await bookOf(rules)).calls[0]?.responses ?? [];
  const words = "today the operator's own program makes it from V2's response: ask for its logic";
  expect(made.map((row) => `${presentWords(row, String)} > ${futureWords(row, String, String)}`)).toEqual([
    `the whole body > ${words}`,
    `/a > ${words}`,
  ]);
});

function edit(rule: ResponseRecord['rule'], from = '/b'): ResponseRecord {
  return { change: 'c', rule, from, path: '/a' };
}

test.each([
  ['from: /, to: /v2', '/things?a=b', '/v2/things?a=b', '/', '/v2'],
  ['from: /v1, to: /', '/v1/things', '/things', '/v1', '/'],
  ['from: [/v1, /api/v1], to: /v2', '/api/v1/things', '/v2/things', '/v1` or `/api/v1', '/v2'],
])('a version at the root, and several prefixes: %s', async (prefixes, target, v2Target, from, to) => {
  const book = await bookIn(`{ ${prefixes}, operations: { make: POST /things }, changes: [] }`);
  const guide = new Guide('3fa9');
  const entry = {
    ...sampleEntry(1, Date.UTC(2026, 10, 21)),
    client: '3fa90000',
    operation: 'make',
    path: target,
  };
  guide.add({ ...entry, edits: [], verdict: 'rewritten' });
  const document = guide.document(book);
  expect(document.calls[0]?.bodies[0]?.after).toContain(`POST ${v2Target}\n`);
  expect(guideMarkdown(document)).toContain(`The path begins with \`${to}\` instead of \`${from}\`.`);
});

test.each([
  ["{ query: api-version, value: '2', v1: ['1'] }", 'POST /api/v2/things?a=b&api-version=2\n', undefined],
  [
    "{ accept: 'application/vnd.acme.v{}+json', value: '2' }",
    'POST /api/v2/things?a=b\n',
    { field: 'Accept', value: 'application/vnd.acme.v2+json' },
  ],
])('the place of the release at V2: %s', async (version, after, field) => {
  const book = await bookIn(`{ version: ${version}, operations: { make: POST /things }, changes: [] }`);
  const guide = new Guide('3fa9');
  const entry = { ...sampleEntry(1, Date.UTC(2026, 10, 21)), client: '3fa90000', operation: 'make' };
  guide.add({ ...entry, path: '/api/v1/things?a=b', edits: [], verdict: 'rewritten' });
  const document = guide.document(book);
  expect(document.calls[0]?.bodies[0]?.after).toContain(after);
  expect(document.version).toEqual(field);
});

const KEY = "{ rename: X-Api-Key, to: Authorization, as: 'Bearer {}' }";

/** Header rules, a request's header fields and target, and what the guide shows of them: the form of a key, and never the key. */
test.each<
  [rules: string, head: readonly string[], query: string, before: string, after: string, moves: string]
>([
  [
    KEY,
    ['X-Api-Key', 'k'],
    '',
    'X-Api-Key: …',
    'Authorization: Bearer …',
    'X-Api-Key: > Authorization: Bearer …: put "Bearer " before the key',
  ],
  [
    "{ query: key, to: Authorization, as: 'Token {};v=2' }",
    [],
    '?key=k',
    '',
    'Authorization: Token …;v=2',
    '?key > Authorization: Token …;v=2: put "Token " before and ";v=2" after the key',
  ],
  ['{ query: key, to: X-Key }', [], '?key=k', '', 'X-Key: …', '?key > X-Key:'],
  ['{ rename: X-A, to: X-B }', ['x-a', 'k'], '', 'x-a: …', 'X-B: …', 'x-a: > X-B:'],
  [
    "{ rename: X-A, to: X-B, as: '{}.v1' }",
    ['x-a', 'k'],
    '',
    'x-a: …',
    'X-B: ….v1',
    'x-a: > X-B: ….v1: put ".v1" after the key',
  ],
  [
    '{ map: { 1: one, 2: two }, of: X-A }',
    ['X-A', '1'],
    '',
    'X-A: …',
    'X-A: …',
    'X-A: > X-A:: 1 is one, 2 is two',
  ],
  ['{ strip: X-A }', ['X-A', 'k'], '', 'X-A: …', '', 'X-A: > leave out'],
  // Two rules of one change, each with its own form.
  [
    `{ rename: X-A, to: X-B, as: 'a {}' }, ${KEY}`,
    ['X-Api-Key', 'k', 'X-A', 'l'],
    '',
    'X-A: …\nX-Api-Key: …',
    'X-B: a …\nAuthorization: Bearer …',
    'X-A: > X-B: a …: put "a " before the key|X-Api-Key: > Authorization: Bearer …: put "Bearer " before the key',
  ],
])(
  'for the header rules %s the guide says the form of the value',
  async (rules, head, query, before, after, moves) => {
    const book = await bookOf(`headers: [${rules}]`);
    const plan = compileHeaderPlans(book).of(book.operations[0]);
    const outcome = plan?.request(head, query);
    if (outcome === undefined || !('records' in outcome)) throw new Error('refused');
    const guide = new Guide('3fa9');
    const entry = sampleEntry(1, Date.UTC(2026, 10, 21));
    const call = { client: '3fa90000', operation: 'make', path: '/api/v1/things', bytesIn: 0 } as const;
    guide.add({ ...entry, ...call, edits: outcome.records, verdict: 'rewritten' });
    const document = guide.document(book);
    const [body] = document.calls[0]?.bodies ?? [];
    const lines = (fields: string): string => (fields === '' ? '' : `\n${fields}`);
    expect(body).toMatchObject({
      before: `POST /api/v1/things${lines(before)}`,
      after: `POST /api/v2/things${lines(after)}`,
    });
    expect(shown(body?.moves ?? []).join('|')).toBe(moves);
    const fields = after.split('\n').filter((line) => line !== '');
    for (const text of [guideHtml(document), guideMarkdown(document)])
      for (const field of fields) expect(text).toContain(before === after ? 'X-A: 1 → one, 2 → two' : field);
    const [made] = skillCases(document);
    expect(Object.entries(made?.headers ?? {}).map(([name, form]) => `${name}: ${form}`)).toEqual(fields);
  },
);

test('a field that two rules rename has the names and the texts of both', async () => {
  const book = await bookOf(`headers: [{ rename: X-A, to: X-Api-Key, as: 'a {}' }, ${KEY}]`);
  const outcome = compileHeaderPlans(book).of(book.operations[0])?.request(['X-A', 'k'], '');
  const edits = outcome !== undefined && 'records' in outcome ? outcome.records : [];
  expect(fieldsAtV2(edits, book.changes)).toBe('\nAuthorization: Bearer a …');
});

test('the value of a header field is in no guide, and a transform is mentioned', async () => {
  const book = await bookOf('headers: [{ set: X-Key, to: s3cret }]');
  const edits: readonly EditRecord[] = [
    { change: 'c', rule: 'set', header: 'X-Key', to: 'X-Key' },
    { change: 'c', rule: 'transform', from: '', path: '' },
  ];
  const said = shown(movesOf(book, edits));
  expect(said).toEqual([
    'X-Key: > X-Key:: V2 needs this value',
    " > /: today the operator's own program converts it to V2's form: ask for its logic",
  ]);
});

/** A rule book's operation with its query rules, V1's target, the edits of the query, and what the guide shows. */
const TARGETS: readonly (readonly [
  rules: string,
  target: string,
  edits: readonly (readonly [from: string | undefined, to?: string])[],
  after: string,
])[] = [
  ['GET /things, to: GET /parts', '/api/v1/things?limit=…', [], 'GET /api/v2/parts?limit=…'],
  ['GET /things, to: GET /parts', '/api/v1/things', [], 'GET /api/v2/parts'],
  [
    'GET /things, to: GET /parts',
    '/api/v1/things?limit=…&status=…',
    [['status', 'state']],
    'GET /api/v2/parts?limit=…&state=…',
  ],
  [
    'GET /things, to: GET /parts',
    '/api/v1/things?id[]=…&id[]=…',
    [['id[]', 'ids[]']],
    'GET /api/v2/parts?ids[]=…&ids[]=…',
  ],
  ['GET /things, to: GET /parts', '/api/v1/things?limit=…&old=…', [['old']], 'GET /api/v2/parts?limit=…'],
  ['GET /things, to: GET /parts', '/api/v1/things', [[undefined, 'all']], 'GET /api/v2/parts?all=…'],
  [
    'GET /things, to: GET /parts',
    '/api/v1/things?first=…&last=…&a=…',
    [
      ['first', 'name'],
      ['last', 'name'],
    ],
    'GET /api/v2/parts?name=…&a=…',
  ],
  [
    'GET /things, to: GET /parts',
    '/api/v1/things?name=…',
    [
      ['name', 'first'],
      ['name', 'last'],
    ],
    'GET /api/v2/parts?first=…&last=…',
  ],
  ['"GET /things/{id}", to: "GET /parts/{id}"', '/api/v1/things/7?full=…', [], 'GET /api/v2/parts/7?full=…'],
  [
    '"GET /things/{id}", to: "GET /parts?id={id}"',
    '/api/v1/things/7?full=…',
    [],
    'GET /api/v2/parts?id=7&full=…',
  ],
  [
    '"GET /things?id={id}", to: "GET /parts/{id}"',
    '/api/v1/things?id=…&full=…',
    [],
    'GET /api/v2/parts/…?full=…',
  ],
  ['GET /things', '/api/v1/things?limit=…', [[undefined, 'all']], 'GET /api/v2/things?limit=…&all=…'],
];

test.each(TARGETS)('%s: %s is shown with its parameters', async (rules, path, queryEdits, after) => {
  const book = await bookIn(`{ operations: { make: { match: ${rules} } }, changes: [] }`);
  const edits = queryEdits.map(([from, to]) => ({
    change: 'c',
    rule: 'rename' as const,
    ...(from === undefined ? {} : { from: `?${from}` }),
    ...(to === undefined ? {} : { path: `?${to}` }),
  }));
  const { attributes: _, ...entry } = sampleEntry(1, Date.UTC(2026, 10, 21));
  // V1 responds, so no entry has the place at V2.
  const observed = { ...entry, client: '3fa90000', operation: 'make', method: 'GET', origin: 'v1' as const };
  const more = { verdict: 'passed' as const, would: { verdict: 'unchanged' as const }, bytesIn: 0 };
  const guide = new Guide('3fa9');
  guide.add({ ...observed, ...more, path, edits });
  expect(guide.document(book).calls[0]?.bodies[0]?.after).toBe(after);
});

test('requests with different parameters are shown separately', async () => {
  const book = await bookIn('{ operations: { make: { match: GET /things, to: GET /parts } }, changes: [] }');
  const { attributes: _, ...entry } = sampleEntry(1, Date.UTC(2026, 10, 21));
  const guide = new Guide('3fa9');
  for (const query of ['', '?limit=…', '?limit=…', '?page=…']) {
    const sent = { ...entry, client: '3fa90000', operation: 'make', method: 'GET', bytesIn: 0 };
    guide.add({ ...sent, path: `/api/v1/things${query}`, edits: [], verdict: 'unchanged' });
  }
  const bodies = guide.document(book).calls[0]?.bodies ?? [];
  expect(new Map(bodies.map(({ after, count }) => [after, count]))).toEqual(
    new Map([
      ['GET /api/v2/parts', 1],
      ['GET /api/v2/parts?limit=…', 2],
      ['GET /api/v2/parts?page=…', 1],
    ]),
  );
});

test('a call that V2 does not have comes first, and is not called a mistake', async () => {
  const book = await bookIn(
    '{ operations: { make: { match: POST /things, gone: Nobody faxes. } }, changes: [] }',
  );
  const { attributes: _, ...entry } = sampleEntry(1, Date.UTC(2026, 10, 21));
  const guide = new Guide('3fa9');
  const would = { verdict: 'refused' as const, failure: 'operation-gone' };
  const sent = { ...entry, client: '3fa90000', operation: 'make', origin: 'v1' as const, would, edits: [] };
  guide.add({ ...sent, verdict: 'passed' });
  const text = guideMarkdown(guide.document(book));
  expect(text).toContain('| `POST /things` | not in V2 | Nobody faxes. | 1 |');
  expect(text).not.toMatch(/mistake/i);
});

/** Changes of a rule book, and what a guide lists of them: one line for each fact. */
const FACTS: readonly (readonly [changes: string, facts: readonly string[]])[] = [
  [
    `- { id: n, summary: car_id is called vehicle_id., on: [make], request: [{ rename: car_id, to: vehicle_id }] }
     - { id: n-response, summary: car_id is called vehicle_id., on: [read], response: [{ rename: vehicle_id, to: car_id }] }`,
    ['car_id is called vehicle_id.'],
  ],
  [
    `- { id: s, summary: items.*.status has other values., on: [read], response: [{ map: { reserved: booked, active: out }, of: items.*.status }] }
     - { id: s-2, summary: status has other values., on: [make], response: [{ map: { reserved: booked, active: out }, of: status }] }`,
    ['status has other values: booked → reserved, out → active.'],
  ],
  // Other values of a member with the same name are another fact.
  [
    `- { id: s, summary: items.*.status has other values., on: [read], response: [{ map: { reserved: booked }, of: items.*.status }] }
     - { id: s-2, summary: status has other values., on: [make], request: [{ map: { draft: new }, of: status }] }`,
    ['status has other values: booked → reserved.', 'status has other values: draft → new.'],
  ],
  [
    `- { id: nested, summary: driver_name moves into driver., on: [make], request: [{ nest: [driver_name], under: driver }], response: inverse }
     - { id: name, summary: driver.driver_name becomes driver.name., on: [make], request: [{ rename: driver.driver_name, to: name }], response: inverse }
     - { id: name-response, summary: driver.driver_name becomes driver.name., on: [read], response: [{ rename: driver.name, to: driver_name }] }`,
    ['driver_name moves into driver.', 'driver_name becomes driver.name.'],
  ],
  [
    '- { id: town, summary: "items.*.property.suburb becomes items.*.property.town, in another form.", on: [read], response: [{ rename: items.*.property.town, to: suburb }] }',
    ['property.suburb becomes property.town, in another form.'],
  ],
  [
    `- { id: d, summary: deposit is called cents., on: [make], request: [{ rename: deposit, to: cents }, { scale: cents, by: 100 }] }
     - { id: d-response, summary: deposit is called cents., on: [read], response: [{ scale: cents, by: 0.01 }, { rename: cents, to: deposit }] }`,
    ['deposit is called cents: multiply the number by 100.'],
  ],
  [
    `- { id: key, summary: The key of X-Api-Key is in Authorization., on: every, headers: [{ rename: X-Api-Key, to: Authorization, as: 'Bearer {}' }] }`,
    ['The key of X-Api-Key is in Authorization: put "Bearer " before the key.'],
  ],
  // The rule book's own sentence is not repeated.
  [
    `- { id: q, summary: state open is active., on: [read], query: [{ map: { open: active }, of: state }] }`,
    ['state open is active.'],
  ],
  [
    `- { id: q, summary: Parameters., on: [read], query: [{ map: { a: b }, of: x }, { scale: y, by: 10 }] }`,
    ['Parameters: x: a → b; y: multiply the number by 10.'],
  ],
];

test.each(FACTS)('for the changes %s a guide lists each fact once', async (changes, facts) => {
  const book = await bookIn(
    `operations: { make: POST /things, read: GET /things }\nchanges:\n${changes.replaceAll(/^ */gm, '  ')}\n`,
  );
  expect(guideFacts(book.changes, () => true).map(({ summary }) => summary)).toEqual(facts);
  expect(guideFacts(book.changes, () => false)).toEqual([]);
});
