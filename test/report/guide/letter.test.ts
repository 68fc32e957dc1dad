import { expect, test } from 'vitest';
import type { GuideDocument } from '../../../src/report/guide/guide-document.ts';
import { guideMail, guideMessage } from '../../../src/report/guide/guide-letter.ts';
import { guideHtml, guideMarkdown } from '../../../src/report/guide/guide-text.ts';
import { Guide } from '../../../src/report/guide/guide.ts';
import { SampleReader } from '../../../src/report/guide/guide-samples.ts';
import { type Block, letterOf } from '../../../src/report/guide/letter.ts';
import type { KeptBody, KeptExchange } from '../../../src/rewrite-log/capture.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import type { EditRecord } from '../../../src/rewrite/records.ts';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import { compilePlans } from '../../../src/rewrite/plan.ts';
import type { RuleBook } from '../../../src/rules/rule-book.ts';
import { bytesOf } from '../../rewrite/notation.ts';
import { bookIn } from '../../rules/reading.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

const CLIENT = '3fa9000000000000';
const OPERATIONS =
  "{ list: GET /bills, make: POST /bills, replace: 'PUT /bills/{id}', get: { match: 'GET /bills/{id}', to: 'GET /invoices/inv_{id}' } }";

function bookOf(changes: string, more = ''): Promise<RuleBook> {
  return bookIn(`{ operations: ${OPERATIONS}, changes: [${changes}] ${more} }`);
}

let minute = 0;

/** A request with its edits by a rule book; later than those before it. */
function sent(book: RuleBook, operation: string, body: object, more: Partial<Entry> = {}): Entry {
  const found = book.operations.find(({ id }) => id === operation);
  const hasBody = found?.method === 'POST' || found?.method === 'PUT';
  const outcome = compilePlans(book)
    .of(found)
    .rewrite(bytesOf(JSON.stringify(body)));
  if (outcome.verdict === 'refused') throw new Error(outcome.refusal.detail);
  const path = `/api/v1${found?.template.replace('{id}', '4711') ?? ''}`;
  minute += 1;
  const { attributes: _, ...entry } = sampleEntry(1, Date.UTC(2026, 10, 21));
  return {
    ...entry,
    time: new Date(Date.UTC(2026, 10, 21, 0, minute)).toISOString(),
    client: CLIENT,
    operation,
    method: found?.method ?? 'GET',
    path,
    upstreamPath: path.replace('v1', 'v2'),
    status: 200,
    verdict: 'rewritten',
    edits: hasBody ? outcome.records : [],
    ruleBook: book.hash,
    ...(hasBody ? { attributes: pointersIn(body, '') } : { bytesIn: 0 }),
    ...more,
  };
}

function pointersIn(value: unknown, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inside]) => [
    `${at}/${name}`,
    ...pointersIn(inside, `${at}/${name}`),
  ]);
}

function documentOf(book: RuleBook, entries: readonly Entry[]): GuideDocument {
  const guide = new Guide('3fa9');
  for (const entry of entries) guide.add(entry);
  return guide.document(book, 'Acme');
}

/** The lines of all examples, with their marks. */
function examplesOf(document: GuideDocument): readonly (readonly string[])[] {
  return letterOf(document).details.flatMap((block) =>
    block.kind === 'example'
      ? [block.lines.map(({ sign, text }) => `${sign} ${text.trim().replace(/,$/, '')}`)]
      : [],
  );
}

const RENAME =
  '{ id: n, summary: Names are titles., on: [make, replace], request: [{ rename: name, to: title }] }';

/** Bodies that a client sends, each with the rule book of its time, and the lines of the one example that stands for them. */
const TOGETHER: readonly (readonly [
  name: string,
  books: readonly string[],
  bodies: readonly (readonly [book: number, body: object])[],
  lines: readonly string[],
])[] = [
  [
    'one body before and after a change of the rules: by the newest rules',
    [RENAME, RENAME.replace('to: title', 'to: label')],
    [
      [0, { name: 1 }],
      [0, { name: 1 }],
      [1, { name: 1 }],
    ],
    ['- "name": …', '+ "label": …'],
  ],
  [
    'a body that a rule of the earlier book alone changed',
    ['{ id: f, summary: F., on: [make], request: [{ strip: fax }] }', RENAME],
    [
      [0, { fax: 1, name: 2 }],
      [1, { fax: 1, name: 2 }],
    ],
    ['- "name": …', '+ "title": …'],
  ],
  [
    'bodies with other members: all of them',
    [RENAME],
    [
      [0, { name: 1 }],
      [0, { amount: 1 }],
      [0, { name: 1, note: 2 }],
    ],
    ['- "name": …', '+ "title": …'],
  ],
  [
    'a value that a rule maps, and one that it leaves',
    ['{ id: s, summary: S., on: [make], request: [{ map: { open: due }, of: status }] }'],
    [
      [0, { status: 'open' }],
      [0, { status: 'void' }],
    ],
    ['- "status": "open"', '+ "status": "due"'],
  ],
];

test.each(TOGETHER)('one example stands for %s', async (_, changes, bodies, marked) => {
  const books = await Promise.all(changes.map((text) => bookOf(text)));
  const entries = bodies.map(([at, body]) => sent(books[at] ?? (books[0] as RuleBook), 'make', body));
  const document = documentOf(books.at(-1) as RuleBook, entries);
  const [lines = [], ...others] = examplesOf(document);
  expect(others).toEqual([]);
  expect(lines.filter((line) => !line.startsWith(' ')).slice(2)).toEqual(marked);
  const members = new Set(bodies.flatMap(([, body]) => Object.keys(body)));
  for (const member of members) expect(lines.join('\n')).toContain(`"${member}"`);
});

test('a member that was last sent under earlier rules is shown by these, and the letter says so', async () => {
  const before = await bookOf('{ id: f, summary: F., on: [make], request: [{ strip: fax }] }');
  const now = await bookOf(RENAME);
  const document = documentOf(now, [
    sent(before, 'make', { fax: 1, name: 1 }),
    sent(now, 'make', { name: 1 }),
  ]);
  const [lines] = examplesOf(document);
  expect(lines).toEqual(expect.arrayContaining(['- "name": …', '- "fax": …', '+ "title": …']));
  expect(guideMarkdown(document)).toContain(
    'Not sent since the rules of this migration changed, and shown by the earlier ones: `fax`.',
  );
});

/** Rules of a request, its V1 body, and the values of the example: the log has none. */
test.each([
  ['{ scale: a, by: 100 }', { a: 1 }, '10.5', '1050'],
  ['{ scale: a, by: 0.01 }', { a: 100 }, '1050', '10.5'],
  ['{ quote: a }, { prefix: a, with: inv_ }', { a: 1 }, '7', '"inv_7"'],
  ['{ unprefix: a, with: inv_ }, { unquote: a }', { a: 'inv_1' }, '"inv_7"', '7'],
  ['{ date: a, from: date, to: epoch }', { a: '2026-01-31' }, '"2026-12-24"', '1798070400'],
  ['{ date: a, from: dd/MM/yyyy, to: date }', { a: '31/01/2026' }, '"24/12/2026"', '"2026-12-24"'],
  ['{ map: { open: due }, of: a }', { a: 'open' }, '"open"', '"due"'],
  ['{ map: { open: due, 1: 2 }, of: a }', { a: 'open' }, '"1 | open"', '"2 | due"'],
])('an example shows what the rules %s make of a value', async (rules, body, v1, v2) => {
  const book = await bookOf(`{ id: c, summary: S., on: [make], request: [${rules}], response: inverse }`);
  const edits: readonly EditRecord[] = [{ change: 'c', rule: 'scale', from: '/a', path: '/a' }];
  const entry = sent(book, 'make', body, { responseEdits: edits.map((edit) => ({ ...edit, rule: 'map' })) });
  const document = documentOf(book, [entry]);
  for (const lines of examplesOf(document))
    expect(lines.filter((line) => line.includes('"a"'))).toEqual([`- "a": ${v1}`, `+ "a": ${v2}`]);
  expect(examplesOf(document)).toHaveLength(2);
});

/** A kept exchange with these bodies. */
function keptWith(target: string, bodies: Partial<Record<'v1' | 'v2' | 'client', object>>): KeptExchange {
  const body = (value: object | undefined): KeptBody =>
    value === undefined ? { state: 'none' } : { state: 'values', bytes: bytesOf(JSON.stringify(value)) };
  const response = (value: object | undefined) => ({
    status: 200,
    bodyBytes: 1,
    headers: [],
    body: body(value),
  });
  return {
    v1Request: { method: 'POST', target, headers: [], body: body(bodies.v1) },
    v2Response: response(bodies.v2),
    clientResponse: response(bodies.client),
  };
}

test('a value of a list is the one that the client sent and got most, if it is kept, and otherwise none', async () => {
  const map = 'map: { card: credit_card, cheque: cash }, of: method';
  const book = await bookOf(
    `{ id: c, summary: S., on: [make], query: [{ ${map} }], request: [{ ${map} }, { scale: a, by: 100 }], response: inverse }`,
  );
  const edits: readonly EditRecord[] = [
    { change: 'c', rule: 'map', from: '?method', path: '?method' },
    { change: 'c', rule: 'map', from: '/method', path: '/method' },
    { change: 'c', rule: 'scale', from: '/a', path: '/a' },
  ];
  const entry = sent(book, 'make', { method: 'x', a: 1 }, { path: '/api/v1/bills?method=…', edits });
  const responseEdits = [{ change: 'c', rule: 'map', from: '/method', path: '/method' }] as const;
  const target = '/api/v1/bills?method=cheque';
  const kept = keptWith(target, { v1: { method: 'cheque', a: 4711 }, client: { method: 'cheque' } });
  const guide = new Guide('3fa9');
  const reader = new SampleReader();
  const other = keptWith(target, { v1: { method: 'card' }, client: { method: 'card' } });
  for (const one of [other, kept, kept]) {
    guide.add({ ...entry, responseEdits });
    reader.add({ ...entry, responseEdits }, one);
  }
  const lines = (document: GuideDocument): readonly string[] =>
    examplesOf(document)
      .flat()
      .filter((line) => line.includes('method') || line.includes('"a"'));
  expect(lines(guide.document(book, 'Acme', { samples: reader.result() }))).toEqual([
    '- POST /api/v1/bills?method=cheque',
    '+ POST /api/v2/bills?method=cash',
    '- "method": "cheque"',
    '- "a": 10.5',
    '+ "method": "cash"',
    '+ "a": 1050',
    '- "method": "cheque"',
    '+ "method": "cash"',
  ]);
  const unknown = guide.document(book, 'Acme');
  expect(lines(unknown)).toEqual([
    '- POST /api/v1/bills?method=card|cheque',
    '+ POST /api/v2/bills?method=credit_card|cash',
    '- "method": "card | cheque"',
    '- "a": 10.5',
    '+ "method": "credit_card | cash"',
    '+ "a": 1050',
    '- "method": "card | cheque"',
    '+ "method": "credit_card | cash"',
  ]);
});

test("a response that the operator's program makes is shown by a kept one, without its values", async () => {
  const book = await bookOf('');
  const responseEdits = [{ change: 'transform', rule: 'transform', from: '', path: '' }] as const;
  const entry = sent(book, 'list', {}, { responseEdits });
  const guide = new Guide('3fa9');
  guide.add(entry);
  const reader = new SampleReader();
  const v2 = [
    { amount_cents: 1050, member: { number: 'M1' } },
    { amount_cents: 1, member: { number: 'M2' } },
  ];
  const client = { data: [{ amount: 10.5, member_no: 'M1' }] };
  reader.add(entry, keptWith('/api/v1/bills', { v2, client }));
  const text = guideMarkdown(guide.document(book, 'Acme', { samples: reader.result() }));
  expect(text).toContain('-   "data": [{');
  expect(text).toContain('"amount_cents": …');
  expect(text).not.toMatch(/M1|1050|ask the API/);
  expect(guideMarkdown(guide.document(book))).toContain("ask the API's team for its logic");
});

test('a member that V2 lacks, and the gateway adds, is gone in V2', async () => {
  const rules = 'response: [{ default: { key: null } }, { set: { kind: bill } }, { set: { old: 1 } }]';
  const wrap = '{ id: w, summary: W., on: [get], response: [{ wrap: data }] }';
  const book = await bookOf(`{ id: c, summary: S., on: [get], ${rules} }, ${wrap}`);
  const compiled = new CompiledRuleBook(book);
  const operation = book.operations.find(({ id }) => id === 'get');
  if (operation === undefined) throw new Error('the book has the operation');
  const served = compiled
    .responsePlan(operation, 'GET')
    .rewrite(bytesOf('{"kind":"invoice"}'), compiled.responseContext(200, []));
  const responseEdits = served.verdict === 'rewritten' ? served.records : [];
  const document = documentOf(book, [sent(book, 'get', {}, { responseEdits })]);
  const [request, lines = []] = examplesOf(document);
  expect(request).toEqual(['- GET /api/v1/bills/{id}', '+ GET /api/v2/invoices/inv_{id}']);
  const shown = lines.filter((line) => /key|kind|old/.test(line));
  expect(shown).toEqual(['- "key": null', '- "kind": "bill"', '- "old": 1', '+ "kind": …']);
  expect(guideMarkdown(document)).not.toContain('has other values in V2');
});

test.each([
  ['V2 has accepted requests like each of these.', {}, {}],
  ['V2 or its schema has accepted requests like each of these.', {}, { v2: 'valid' as const }],
  [
    'V2 or its schema has accepted requests like each of these.',
    { v2: 'valid' as const },
    { v2: 'valid' as const },
  ],
  ['No section is verified yet.', {}, { v2: 'unknown' as const }],
])('the letter says who has accepted its requests: %s', async (sentence, first, second) => {
  const book = await bookOf(RENAME);
  const by = (would: { readonly v2?: 'valid' | 'unknown' }): Partial<Entry> =>
    would.v2 === undefined
      ? {}
      : { origin: 'v1', mode: 'observe', verdict: 'passed', would: { verdict: 'rewritten', ...would } };
  const entries = [sent(book, 'make', { name: 1 }, by(first)), sent(book, 'make', { note: 1 }, by(second))];
  expect(guideMarkdown(documentOf(book, entries))).toContain(sentence);
});

test('a query shows the values that a rule maps, and a key of the operator is in no example', async () => {
  const rules =
    'query: [{ map: { open: due }, of: status }, { set: { key: s3cret } }], request: [{ default: { to: AUD } }]';
  const book = await bookOf(`{ id: c, summary: S., on: [make], ${rules} }`);
  const edits: readonly EditRecord[] = [
    { change: 'c', rule: 'map', from: '?status', path: '?status' },
    { change: 'c', rule: 'set', path: '?key' },
    { change: 'c', rule: 'default', path: '/to' },
  ];
  const document = documentOf(book, [
    sent(book, 'make', { a: 1 }, { path: '/api/v1/bills?status=…', edits }),
  ]);
  const [lines = []] = examplesOf(document);
  expect(lines.slice(0, 2)).toEqual([
    '- POST /api/v1/bills?status=open',
    '+ POST /api/v2/bills?status=due&key=…',
  ]);
  expect(lines).toContain('+ "to": "AUD"');
  expect(JSON.stringify(document)).not.toContain('s3cret');
});

test('ids of the log are in no letter: the rule book has the paths', async () => {
  const book = await bookOf(RENAME);
  const entries = [
    sent(book, 'get', {}),
    sent(book, 'get', {}, { operation: undefined, path: '/api/v1/accounts/4711/lines' }),
  ];
  const text = guideMarkdown(documentOf(book, entries));
  expect(text).toContain('| `GET /bills/{id}` | `GET /invoices/inv_{id}` | nothing | 1 |');
  expect(text).toContain('| `GET /accounts/…/lines` |');
  expect(text).not.toContain('4711');
});

test('what all calls share, and what an earlier section shows, is said once', async () => {
  const head = '{ id: k, summary: The key moves., on: every, headers: [{ rename: X-Key, to: X-Api-Key }] }';
  const [status, responseEdits] = [
    200,
    [{ change: 'n', rule: 'rename', from: '/title', path: '/name' }],
  ] as const;
  const book = await bookOf(`${head}, ${RENAME.replace(' }', ' }').replace(/ }$/, ', response: inverse }')}`);
  const moved: EditRecord = { change: 'k', rule: 'rename', header: 'X-Key', to: 'X-Api-Key' };
  const entries = (['replace', 'make', 'make', 'list'] as const).map((operation) => {
    const entry = sent(book, operation, { name: 1 }, { status, responseEdits });
    return { ...entry, edits: [moved, ...entry.edits] };
  });
  const text = guideMarkdown(documentOf(book, entries));
  for (const once of ['X-Api-Key', 'Names are titles.', '+   "title": …\n  }\n```\n\n## '])
    expect(text.split(once)).toHaveLength(2);
  expect(text).toContain('- Send `X-Api-Key: …` instead of `X-Key: …`.');
  expect(text).not.toContain('The key moves.');
  expect(text.split('As that of `POST /bills`.')).toHaveLength(3);
  // Of a call that changes in nothing else, there is only its row.
  expect(text.indexOf('| `POST /bills` |')).toBeLessThan(text.indexOf('| `PUT /bills/{id}` |'));
});

test('brownouts that differ in their times are one sentence, without those that are over', async () => {
  const windows = [
    "{ id: a, from: '2026-11-01T09:00:00Z', until: '2026-11-01T10:00:00Z' }",
    "{ id: b, from: '2027-03-02T09:00:00+11:00', until: '2027-03-02T10:00:25+11:00' }",
    "{ id: c, from: '2027-04-06T09:00:00+10:00', until: '2027-04-07T09:00:00+10:00' }",
    "{ id: d, operations: [make], share: 20, status: 503, message: Soon., from: '2027-05-01T09:00:00+10:00' }",
  ];
  const ends = 'get: { match: "GET /bills/{id}", sunset: 2027-01-31 }';
  const book = await bookIn(
    `{ zone: Australia/Sydney, deprecation: '2026-11-30T13:00:00Z', sunset: { at: '2027-06-29T14:00:00Z', after: gone }, brownouts: [${windows.join(', ')}], operations: { make: POST /bills, ${ends} }, changes: [] }`,
  );
  const { end } = documentOf(book, [sent(book, 'make', { a: 1 }), sent(book, 'get', {})]);
  expect(end.map(({ text, times }) => [text, ...(times ?? [])])).toEqual([
    ['V1 is deprecated as of 1 December 2026.'],
    ['GET /bills/{id} ends on 31 January 2027.'],
    [
      'At these times all V1 requests get 410 on purpose, as notice of the end of V1:',
      '2 March 2027, 09:00 to 10:00:25 (Australia/Sydney)',
      '6 April 2027, 09:00 to 7 April 2027, 09:00 (Australia/Sydney)',
    ],
    [
      'From 1 May 2027, 09:00 (Australia/Sydney) on: 20 % of the V1 requests of POST /bills get 503 on purpose (Soon), as notice of the end of V1.',
    ],
    ['V1 ends on 30 June 2027. From then on these requests get 410.'],
  ]);
});

/** What a letter says about V1's end, by its state at noon on 21 November. */
const TENSES: readonly (readonly [
  state: string,
  rollout: string,
  present: readonly string[],
  absent: readonly RegExp[],
])[] = [
  ['no date', '', ['V1 has no end date yet.', 'Please move this call to V2'], [/ends? on|by then/]],
  [
    'a date ahead',
    'sunset: { at: 2026-11-30, after: gone }',
    [
      'V1 ends on 30 November 2026. From then on these requests get 410.',
      'Please move this call to V2 by then',
    ],
    [/ended|still served/],
  ],
  [
    'a brownout under way',
    "sunset: 2026-11-30, brownouts: [{ id: a, from: '2026-11-21T11:59:00Z', until: '2026-11-21T12:00:30Z' }]",
    [
      'V1 ends on 30 November 2026.',
      String.raw`At present, until 21 November 2026, 12:00:30 \(UTC\): all V1 requests get 410 on purpose`,
    ],
    [/ended|11:59/],
  ],
  [
    'a brownout that is over',
    "sunset: 2026-11-30, brownouts: [{ id: a, from: '2026-11-21T11:58:00Z', until: '2026-11-21T12:00:00Z' }]",
    ['V1 ends on 30 November 2026.'],
    [/on purpose/],
  ],
  [
    'the end, with 410',
    'sunset: { at: 2026-11-21, after: gone }',
    ['V1 ended on 21 November 2026: these requests have got 410 since.', 'Please move this call to V2'],
    [/ends|by then|From then on/],
  ],
  [
    'the end, without 410',
    'sunset: 2026-11-21',
    ['V1 ended on 21 November 2026: these requests are still served.', 'Please move this call to V2'],
    [/ends|by then|From then on/],
  ],
  [
    'an end to come that excepts the client',
    'sunset: { at: 2026-11-30, after: gone, except: [3fa9000000000000] }',
    ['V1 ends on 30 November 2026, but not for your client: these requests are served after that, too.'],
    [/by then|From then on|410/],
  ],
  [
    'an end that excepted the client',
    'sunset: { at: 2026-11-21, after: gone, except: [3fa9000000000000] }',
    ['V1 ended on 21 November 2026, but not for your client: these requests are served after that, too.'],
    [/ends|by then|From then on|410/],
  ],
  [
    'the end of an operation',
    'operations: { make: { match: POST /bills, sunset: 2026-11-21 } }',
    ['POST /bills ended on 21 November 2026', 'V1 has no end date yet.'],
    [/ends on/],
  ],
];

test.each(TENSES)('tells the state of the end of V1: %s', async (_, rollout, present, absent) => {
  const operations = rollout.startsWith('operations:') ? '' : 'operations: { make: POST /bills }, ';
  const book = await bookIn(`{ ${operations}changes: []${rollout === '' ? '' : `, ${rollout}`} }`);
  const guide = new Guide('3fa9');
  guide.add(sent(book, 'make', { a: 1 }));
  const document = guide.document(book, 'Acme', { now: '2026-11-21T12:00:00.000Z' });
  for (const text of [guideMarkdown(document), guideMail(document).replaceAll(/[()]/g, String.raw`\$&`)]) {
    for (const sentence of present) expect(text).toContain(sentence);
    for (const sentence of absent) expect(text).not.toMatch(sentence);
  }
});

test('a member that V2 does not know is left out, and the letter says so with the counts', async () => {
  const book = await bookOf(RENAME);
  const refused = { origin: 'v1', would: { verdict: 'rewritten', v2: 'invalid', at: '/reference' } } as const;
  const guide = new Guide('3fa9');
  for (const more of [refused, { status: 422 }])
    guide.add(sent(book, 'make', { name: 1, reference: 2 }, more));
  const strip = { operation: 'make', member: 'reference', why: 'sent 2×, refused 1×', clients: [] };
  const letter = (strips: readonly (typeof strip)[]): string =>
    guideMarkdown(guide.document(book, 'Acme', { unknown: strips }));
  const text = letter([strip]);
  expect(text).toMatch(
    /- `reference` is not known to V2: leave it out \\\(all clients: sent 2×, refused 1×\\\)\./,
  );
  expect(text).toMatch(/-\s+"reference": …/);
  expect(text).toContain(
    'it would have failed on V2. The reason: reference is not known to V2: leave it out.',
  );
  expect(text).not.toContain('the gateway sends this, and V2 does not accept it');
  // A mail has no examples: it says what its owner can do.
  const mail = guideMail(guide.document(book, 'Acme', { unknown: [strip] }));
  expect(mail).toContain('The reason: reference is not known to V2: leave it out.');
  // Without evidence, or with that about another operation, nothing is certain.
  for (const none of [[], [{ ...strip, operation: 'replace' }]]) {
    expect(letter(none)).not.toContain('is not known to V2');
    expect(letter(none)).toContain('the gateway sends this, and V2 does not accept it');
    expect(letter(none)).toContain('The reason: V2 refuses reference.');
  }
});

/** A read that V1 served, and shadow asked V2 for. */
const COMPARED: Partial<Entry> = {
  origin: 'v1',
  status: 200,
  would: { verdict: 'unchanged' },
  comparison: { verdict: 'different', status: { v1: 200, v2: 404 }, differences: [], noise: 0, extra: 0 },
};

/** What services made of calls that no operation fits, and the row of the letter. */
const UNSERVED: readonly (readonly [
  name: string,
  call: string,
  outcomes: readonly Partial<Entry>[],
  row: string | undefined,
])[] = [
  [
    'that both services do not have',
    'GET /bill_list',
    [{ origin: 'v1', status: 404 }, { status: 404 }, { status: 404 }],
    'neither V1 nor V2 has this address (404 by V2 2×, 404 by V1 1×): this call has not worked since 21 November 2026 or before; remove it or use one of `GET /bills` and `GET /invoices/inv_{id}`',
  ],
  [
    'for whose method both have nothing',
    'POST /bill_list',
    [{ origin: 'v1', status: 405 }, { status: 404 }],
    'neither V1 nor V2 has this address (405 by V1 1×, 404 by V2 1×): this call has not worked since 21 November 2026 or before; remove it or use `POST /bills`',
  ],
  [
    'that V1 does not have, and V2 never got',
    'GET /bill_list',
    [{ origin: 'v1', status: 404 }],
    'V1 does not have this address (404 by V1 1×): this call has not worked since 21 November 2026 or before; remove it or use one of `GET /bills` and `GET /invoices/inv_{id}`',
  ],
  [
    'with an id, whose resource may be missing',
    'PATCH /files/7',
    [{ status: 404 }],
    'V2 does not have anything at such an address (404 by V2 1×): this call has not worked since 21 November 2026 or before; remove it',
  ],
  [
    'that V1 has, and V2 has not',
    'GET /bill_list',
    [{ origin: 'v1', status: 200 }, { status: 404 }],
    'V2 does not have this address (404 for 1 of 1 request that V2 got), and it is not known what takes its place: ask; similar in V2: `GET /bills` and `GET /invoices/inv_{id}`',
  ],
  [
    'that V1 has, and V2 has not, by shadow reads alone',
    'GET /bill_list',
    [COMPARED, COMPARED],
    'V2 does not have this address (404 for 2 of 2 requests), and it is not known what takes its place: ask; similar in V2: `GET /bills` and `GET /invoices/inv_{id}`',
  ],
  ['that V1 has, and V2 never got', 'GET /bill_list', [{ origin: 'v1', status: 200 }], undefined],
  ['that V2 had once', 'GET /bill_list', [{ status: 200 }, { status: 404 }], undefined],
  ['that V2 refuses otherwise', 'GET /bill_list', [{ status: 403 }, { status: 404 }], undefined],
  ['that only the gateway refused', 'GET /bill_list', [{ status: 404, failure: 'newcomer' }], undefined],
];

test.each(UNSERVED)('a call %s', async (_, call, outcomes, row) => {
  const book = await bookOf(RENAME);
  const [method = '', path = ''] = call.split(' ');
  const entries = outcomes.map((more) =>
    sent(book, '(none)', {}, { operation: undefined, method, path: `/api/v1${path}`, ...more }),
  );
  const name = path === '/files/7' ? 'PATCH /files/*' : call;
  const alone = documentOf(book, entries);
  expect(alone.unserved?.map((one) => one.name)).toEqual(row === undefined ? undefined : [name]);
  const text = guideMarkdown(alone);
  // V1's address is never shown as V2's, unless V2 has it.
  const isInV2 = outcomes.some(({ origin, status }) => origin === undefined && status === 200);
  expect(text.includes('Please move this call to V2')).toBe(isInV2);
  expect(text.includes(`| \`${name}\` | \`${name}\` |`)).toBe(isInV2);
  expect(text.includes(`It is not known where V2 has \`${name}\`: ask before you move it.`)).toBe(
    row === undefined && !isInV2,
  );
  if (row === undefined) return;
  const cell = row.replace('(', String.raw`\(`).replace(')', String.raw`\)`);
  expect(text).toContain(`| \`${name}\` | not in V2 | ${cell} | ${entries.length} |`);
  expect(text).toContain('None of your calls can be moved to V2, as the table says.');
  expect(text).not.toContain('The path begins with');
  // Beside a call that works, only that one is to be moved.
  const both = guideMarkdown(documentOf(book, [...entries, sent(book, 'get', {})]));
  expect(both).toContain('Please move one call to V2');
  expect(both).toContain(`V2 does not have \`${name}\`.`);
  expect(both).toContain(cell);
});

test('requests that an operation fits since a new rule are in one row with its own', async () => {
  const before = { operation: undefined, method: 'GET', path: '/api/v1/bills/4711/lines', status: 404 };
  const book = await bookIn(
    `{ operations: { lines: { match: 'GET /bills/{id}/lines', to: 'GET /lines/{id}' } }, changes: [] }`,
  );
  const missing = sent(book, '(none)', {}, before);
  const served = sent(book, 'lines', {}, { path: before.path });
  for (const entries of [[missing], [missing, served], [served, missing]]) {
    const { calls, unserved } = documentOf(book, entries);
    expect(calls).toMatchObject([{ name: 'lines', count: entries.length }]);
    expect(unserved).toBeUndefined();
    const text = guideMarkdown(documentOf(book, entries));
    expect(text).toContain('| `GET /bills/{id}/lines` | `GET /lines/{id}` |');
    expect(text).not.toContain('did not succeed');
  }
});

test('requests for an operation that is gone are in one row, whoever got them', async () => {
  const book = await bookIn(`{ operations: { old: { match: GET /old, gone: Use the list. } }, changes: [] }`);
  const refused = { verdict: 'refused', status: 410 } as const;
  const document = documentOf(book, [
    sent(book, 'old', {}, { ...refused, failure: 'operation-gone' }),
    sent(book, 'old', {}, { ...refused, failure: 'brownout', status: 503 }),
    sent(book, 'old', {}, { origin: 'v1' }),
  ]);
  expect(document).toMatchObject({ calls: [], mistakes: [{ call: 'old', count: 3 }] });
  const text = guideMarkdown(document);
  expect(text).toContain('| `GET /old` | not in V2 | Use the list. | 3 |');
  expect(text).toContain('1 request to GET /old was refused with 410, because V2 does not have it.');
  expect(text).toContain('None of your calls can be moved to V2, as the table says.');
});

test('a client on V2 reads what became of its requests there, beside those that were checked', async () => {
  const book = await bookOf(RENAME);
  const checked = { origin: 'v1', would: { verdict: 'rewritten', v2: 'valid' } } as const;
  const invalid = { origin: 'v1', would: { verdict: 'rewritten', v2: 'invalid', at: '/title' } } as const;
  const invalidOnBoth = { ...invalid, status: 422 };
  const unreachable = { status: 502, failure: 'upstream-unreachable' } as const;
  const onPurpose = { verdict: 'refused', status: 503, failure: 'brownout' } as const;
  const rows: readonly (readonly [entries: readonly Partial<Entry>[], sentences: string])[] = [
    [
      [checked, checked],
      'Your requests were checked before they go to V2: none of 2 checked requests would fail after the migration.',
    ],
    [
      [checked, {}, { status: 404 }, { status: 500 }, unreachable, onPurpose],
      String.raw`Since 21 November 2026 V2 has served your requests to V1: 1 of 3 succeeded, 1 refused \(404 1×\), 1 failed on our side \(500 1×\). V2 did not respond to 1 other request: the gateway responded to it \(502 1×\). 1 other request was checked, by the rules now in force, while V1 served it: none would have failed on V2. 1 request was refused on purpose: 503 in a brownout 1×.`,
    ],
    [
      [unreachable, { status: 503, failure: 'circuit-open' }],
      String.raw`Since 21 November 2026 V2 did not respond to 2 requests: the gateway responded to them \(502 1×, 503 1×\).`,
    ],
    [[{}, { origin: 'v1' }], 'V2 served your requests to V1: 1 of 1 succeeded.'],
    [
      [{}, { origin: 'v1' }, { origin: 'v1' }, {}, { origin: 'v1' }],
      'V2 served your requests to V1, apart from 2 that V1 served: 2 of 2 succeeded.',
    ],
    [
      [checked, invalidOnBoth, invalidOnBoth, {}],
      '3 other requests were checked, by the rules now in force, while V1 served them: none would have failed on V2, apart from 2 that V1 refuses as well.',
    ],
    [
      [invalidOnBoth, invalidOnBoth, {}],
      '2 other requests were checked, by the rules now in force, while V1 served them: V1 refused all of them as well.',
    ],
    [[invalidOnBoth, {}], 'while V1 served it: V1 refused it as well.'],
    [
      [{}, invalid, invalid],
      '2 other requests were checked, by the rules now in force, while V1 served them: all would have failed on V2. The reason: V2 refuses title.',
    ],
    [
      [onPurpose, { ...onPurpose, status: 410, failure: 'sunset' }],
      '2 requests were refused on purpose: 503 in a brownout 1×, 410 after the end 1×.',
    ],
  ];
  for (const [entries, sentences] of rows) {
    minute = 0;
    const time = '2026-11-21T00:00:30.000Z';
    const sentAll = entries.map((more, at) =>
      sent(book, 'make', { name: 1 }, { time: time.replace('30', String(30 + at)), ...more }),
    );
    const text = guideMarkdown(documentOf(book, sentAll));
    expect(text).toContain(sentences);
    // What was refused on purpose is said once, and not of each call.
    expect(text.split('in a brownout').length).toBeLessThan(3);
  }
});

test('the prose of a call names each member that V2 does not have, also one that only shadow missed', async () => {
  const book = await bookOf(
    '{ id: c, summary: The colour is gone., on: [make, get], request: [{ strip: color }] }',
  );
  const missing = {
    origin: 'v1',
    would: { verdict: 'unchanged' },
    responseWould: [],
    comparison: {
      verdict: 'different',
      differences: [
        { path: '/data/*/shade', kind: 'missing' },
        { path: '/data/*/size', kind: 'value' },
      ],
      noise: 0,
      extra: 0,
    },
  } as const;
  const document = documentOf(book, [
    sent(book, 'make', { color: 1, name: 2 }),
    sent(book, 'get', {}, missing),
  ]);
  const text = guideMarkdown(document);
  expect(text).toContain('V2 does not take `color` any more.');
  // As HTML and as text, above the calls: a mail of which only the text is read names the member, too.
  const where = "Missing in V2's responses, also where a request succeeds";
  expect(guideMail(document)).toContain(`${where}:\n\n- shade in GET /bills/{id}\n`);
  expect(guideHtml(document)).toContain(
    `<h2>${where.replace("'", '&#39;')}</h2>\n<ul><li><code>shade</code> in <code>GET /bills/{id}</code></li></ul>`,
  );
  expect(text).not.toContain('size');
  expect(examplesOf(document).flat()).toContain('- "shade": …');
  // Later rule books, and reads on V2, do not take it back; a comparison that finds it does.
  const older = { ...missing, ruleBook: '0123' };
  const noBody = { ...older.comparison, status: { v1: 200, v2: 404 }, differences: [] };
  const found = { ...older.comparison, verdict: 'same', differences: [] } as const;
  for (const [later, isGone] of [
    [{}, true],
    [{ ...missing, comparison: undefined }, true],
    [{ ...missing, comparison: noBody }, true],
    [{ ...missing, comparison: found }, false],
  ] as const) {
    const reads = [sent(book, 'get', {}, older), sent(book, 'get', {}, later)];
    expect(guideMarkdown(documentOf(book, reads)).includes('`shade`')).toBe(isGone);
  }
});

test('until a response is compared, a letter says what the rules make of it', async () => {
  const rule = (rules: string): string => `{ id: w, summary: Weights are in grams., on: [make], ${rules} }`;
  const scaled = 'request: [{ scale: weight, by: 1000 }], response: inverse';
  for (const [rules, cell, words] of [
    [
      scaled,
      'response',
      'By the rules of this migration: Weights are in grams: multiply the number by 1000.',
    ],
    ['request: [{ strip: fax }]', 'response not compared', 'No rule of this migration changes it.'],
  ] as const) {
    const read = { origin: 'v1', would: { verdict: 'rewritten' } } as const;
    const text = guideMarkdown(
      documentOf(await bookOf(rule(rules)), [sent(await bookOf(rule(rules)), 'make', { name: 1 }, read)]),
    );
    expect(text).toMatch(new RegExp(`\\| ${cell} \\| 1 \\|`));
    expect(text).toContain(`${words} No response of V1 has been compared with V2's yet.`);
  }
});

test('the prose of a call says what a conversion does, of which an example shows one value', async () => {
  const book = await bookOf(
    '{ id: w, summary: weight becomes grams., on: [make], request: [{ rename: weight, to: grams }, { scale: grams, by: 1000 }] }',
  );
  const text = guideMarkdown(documentOf(book, [sent(book, 'make', { weight: 1 })]));
  expect(text).toContain('weight becomes grams: multiply the number by 1000.');
});

test('both sides of an example are JSON, whichever members leave', async () => {
  const book = await bookOf(
    '{ id: c, summary: C., on: [make], request: [{ unwrap: data }, { strip: z }, { strip: a }] }',
  );
  for (const data of [
    { a: 1, b: 2 },
    { b: 1, z: 2 },
    { a: 1, b: { c: 1 }, z: 2 },
  ]) {
    const { details } = letterOf(documentOf(book, [sent(book, 'make', { data })]));
    for (const block of details) {
      if (block.kind !== 'example') continue;
      for (const side of ['-', '+']) {
        const lines = block.lines.filter(({ sign }) => sign === ' ' || sign === side);
        expect(() =>
          JSON.parse(
            lines
              .map(({ text }) => text.replaceAll('…', '"…"'))
              .slice(1)
              .join('\n'),
          ),
        ).not.toThrow();
      }
    }
    expect(details.some(({ kind }) => kind === 'example')).toBe(true);
  }
});

test('a letter says where V2 is, and where the key goes', async () => {
  const moves = 'headers: [{ rename: X-Key, to: X-Api-Key }]';
  const kept = await bookOf(RENAME);
  const moved = await bookOf(`{ id: k, summary: K., on: every, ${moves} }`, ', client: { header: X-Key }');
  for (const [book, words] of [
    [kept, 'The host stays the same, and your API key stays in `Authorization`.'],
    [moved, 'The host stays the same; your API key moves from `X-Key` to `X-Api-Key`.'],
  ] as const) {
    const document = documentOf(book, [sent(book, 'make', { name: 1 })]);
    expect(guideMarkdown(document)).toContain(words);
  }
});

test('a client without a name is called by its User-Agent, which its owner knows', async () => {
  const guide = new Guide('3fa9');
  guide.add(sent(await bookOf(RENAME), 'make', { name: 1 }));
  const document = { ...guide.document(await bookOf(RENAME)), agent: 'Lots/1.0' };
  expect(guideMarkdown(document)).toContain('# From V1 to V2: Lots/1.0');
  expect(guideMarkdown(document)).toContain('Your client with the User-Agent Lots/1.0 still uses V1');
  expect(guideMail(document)).toContain('Subject: Lots/1.0: move from V1');
  expect(guideMail({ ...document, name: 'Acme' })).not.toContain('Lots/1.0');
});

test('a mail whose table is wider than a line has an item for each call', async () => {
  const gone = 'A sentence of the operator about what takes the place of this operation in V2.';
  const book = await bookIn(`{ operations: { old: { match: GET /old, gone: ${gone} } }, changes: [] }`);
  const refused = { verdict: 'refused', status: 410, failure: 'operation-gone' } as const;
  const mail = guideMail(documentOf(book, [sent(book, 'old', {}, refused)]));
  expect(mail).toContain(`- GET /old\n  not in V2\n  what else changes: ${gone}\n  requests: 1\n`);
  expect(
    guideMail(documentOf(await bookOf(RENAME), [sent(await bookOf(RENAME), 'make', { name: 1 })])),
  ).toContain('TODAY        IN V2        WHAT ELSE CHANGES  REQUESTS');
});

test('every format has every part of the letter, also a mail that is copied', async () => {
  const book = await bookOf(RENAME);
  const document = documentOf(book, [sent(book, 'make', { name: 1 }), sent(book, 'get', {})]);
  const { summary, details } = letterOf(document);
  const mail = guideMessage(document).split('--=_guide')[1] ?? '';
  const text = Buffer.from(mail.slice(mail.indexOf('\r\n\r\n')), 'base64').toString();
  for (const sentence of [...summary, ...details].flatMap(sentencesOf)) {
    expect(text).toContain(sentence);
    expect(guideMail(document)).toContain(sentence);
    expect(guideHtml(document).replaceAll(/<\/?\w[^>]*>/g, '')).toContain(sentence.replaceAll("'", '&#39;'));
  }
});

function sentencesOf(block: Block): readonly string[] {
  if (block.kind !== 'paragraph') return [];
  return [
    block.text.map((one) => (typeof one === 'string' ? one : 'code' in one ? one.code : one.link)).join(''),
  ];
}

test('a call that has never worked begins with that', async () => {
  const book = await bookOf(RENAME);
  const refused = { status: 422, errorPointers: ['/title'] };
  const never = guideMarkdown(documentOf(book, [sent(book, 'make', { name: 1 }, refused)]));
  expect(never).toContain(
    '## `POST /bills`\n\nNone of these requests has succeeded: 422 by V2 1× \\(/title 1×\\).\n',
  );
  const some = guideMarkdown(
    documentOf(book, [sent(book, 'make', { name: 1 }, refused), sent(book, 'make', { name: 1 })]),
  );
  expect(some).toContain('Some of these requests did not succeed: 422 by V2 1×');
  expect(some).not.toContain('None of these');
});

test.each<[string, Partial<Entry>, string]>([
  [
    'in its own words',
    { status: 422, errorPointers: ['/title'] },
    'name dbox is not one of standard and stereo.',
  ],
  [
    'by its description',
    { origin: 'v1', would: { verdict: 'rewritten', v2: 'invalid', at: '/title' } },
    `V2's description does not accept "dbox" as name.`,
  ],
])('a guide says which value V2 refuses, %s', async (_, more, words) => {
  const book = await bookOf(RENAME);
  const entry = sent(book, 'make', { name: 'dbox' }, more);
  const guide = new Guide('3fa9');
  guide.add(entry);
  const reader = new SampleReader();
  const v2 = { errors: [{ detail: 'name dbox is not one of standard and stereo' }] };
  reader.add(entry, keptWith('/api/v1/bills', { v1: { name: 'dbox' }, v2 }));
  const text = guideMarkdown(guide.document(book, 'Acme', { samples: reader.result() }));
  expect(text.replaceAll('\\', '')).toContain(`**What V2 refuses**\n\n- ${words}\n`);
  expect(guideMarkdown(guide.document(book, 'Acme'))).not.toContain('dbox');
});

test('members of different objects are not on one line of a response', async () => {
  const book = await bookOf(
    '{ id: a, summary: Moved., on: [get], response: [{ unnest: address, members: [street, city] }] }, { id: w, summary: Bare., on: [get], response: [{ wrap: data }] }',
  );
  const responseEdits = ['street', 'city'].map((name) => ({
    change: 'a',
    rule: 'unnest',
    from: `/address/${name}`,
    path: `/data/${name}`,
  }));
  const wrapped = { change: 'w', rule: 'wrap', from: '', path: '/data' };
  const text = guideMarkdown(
    documentOf(book, [
      sent(
        book,
        'get',
        {},
        { responseEdits: [...responseEdits, wrapped] as Entry['responseEdits'] & object },
      ),
    ]),
  );
  const lines = text.split('\n').filter((line) => /street|city/.test(line));
  expect(lines).toEqual(['-     "street": …,', '-     "city": …', '+     "street": …,', '+     "city": …']);
});

test('the requests that no example shows are counted, whichever they are', async () => {
  const book = await bookOf(RENAME);
  const refused = { status: 422, errorPointers: [] };
  // Lists, without names of members; they are the most.
  const unreadable = { status: 400, edits: [], attributes: [] };
  const guide = documentOf(book, [
    ...Array.from({ length: 3 }, () => sent(book, 'make', {}, unreadable)),
    sent(book, 'make', { name: 'Ann' }, refused),
  ]);
  expect(guideMarkdown(guide)).toContain('Not shown: 3 requests with other bodies.');
});

test('a body that is no JSON, and that a service refused, is a mistake of the client, not a shape of its requests', async () => {
  const book = await bookOf(RENAME);
  const malformed = { note: 'malformed-json', edits: [], attributes: [] };
  const guide = documentOf(book, [
    ...[400, 422].map((status) => sent(book, 'make', {}, { ...malformed, status })),
    sent(book, 'make', { name: 'Ann' }, { status: 422, errorPointers: [] }),
  ]);
  expect(guide.calls).toMatchObject([{ name: 'make', count: 1 }]);
  const text = guideMarkdown(guide);
  expect(text).toMatch(
    /- `POST \/bills`: 2 requests refused as malformed-json, the last on .* Send valid JSON in UTF-8\./,
  );
  expect(text).not.toContain('unless a section says');
  expect(text).toContain('No section is verified yet.');
});
