import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { draftQuestions } from '../../../src/openapi/draft/draft-questions.ts';
import { printRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { bookIn } from '../../rules/reading.ts';

const text = { type: 'string' };
const objectOf = (properties: Record<string, unknown>): object => ({ type: 'object', properties });
const listOf = (items: unknown): object => ({ type: 'array', items });

/** A description of one operation that reads an object with these members, and fails with such an error. */
const reading = (
  version: string,
  members: Record<string, unknown>,
  error?: unknown,
  media = 'application/json',
): Record<string, unknown> => ({
  openapi: '3.1.0',
  info: { title: 'T', version: '1' },
  paths: {
    [`/btl/${version}/a`]: {
      post: {
        operationId: 'save',
        requestBody: { content: { 'application/json': { schema: objectOf(members) } } },
        responses: {
          200: { content: { 'application/json': { schema: objectOf(members) } } },
          ...(error === undefined ? {} : { default: { content: { [media]: { schema: error } } } }),
        },
      },
    },
  },
});

async function draftOf(v1: Record<string, unknown>, v2: Record<string, unknown>): Promise<string> {
  const draft = await soundDraft(proposeRuleBook(v1, v2));
  // With the answer yes to all of its questions it is a book as well.
  await bookIn(printRuleBook(draft, undefined, 'unmarked'));
  return printRuleBook(draft);
}

const [OLD, YOUNG] = [{ due_on: text }, { dueOn: text }];
const PROBLEM = 'application/problem+json';

test.each<[what: string, one: unknown, media: string, expected: string]>([
  ['RFC 9457', objectOf({ title: text }), PROBLEM, 'errors: problem\n'],
  [
    'JSON:API',
    objectOf({ errors: listOf(objectOf({ source: objectOf({ pointer: text }), detail: text })) }),
    'application/json',
    'errors: json-api\n',
  ],
  [
    'names with sentences',
    objectOf({ errors: { type: 'object', additionalProperties: listOf(text) } }),
    'application/json',
    'errors: rails\n',
  ],
  [
    'its own list, which is a question',
    objectOf({ error: objectOf({ fields: listOf(objectOf({ field: text, message: text, code: text })) }) }),
    'application/json',
    '# errors: { list: error.fields, pointer: field, text: [message] }\n',
  ],
  [
    'RFC 9457, with pointers',
    objectOf({ title: text, errors: listOf(objectOf({ pointer: text, detail: text })) }),
    PROBLEM,
    '\nerrors: problem\n',
  ],
  [
    'RFC 9457, with a list of its own, which is a question',
    objectOf({ title: text, violations: listOf(objectOf({ field: text, message: text })) }),
    PROBLEM,
    "# TODO: do V2's errors name members of a request in this form? Remove the marks, or delete these lines.\n# errors: { list: violations, pointer: field, text: [message] }\n",
  ],
  [
    'RFC 9457, with sentences by name, which is a question',
    objectOf({ title: text, errors: { type: 'object', additionalProperties: listOf(text) } }),
    PROBLEM,
    '\n# errors: rails\n',
  ],
])("V2's errors have their form: %s", async (_, error, media, expected) => {
  expect(await draftOf(reading('v1', OLD), reading('v2', YOUNG, error, media))).toContain(expected);
});

test.each<[what: string, one: unknown, media: string, expected: string]>([
  ['RFC 9457', objectOf({ title: text }), PROBLEM, '\nrefusals: problem\n'],
  [
    'names with sentences',
    objectOf({ errors: { type: 'object', additionalProperties: listOf(text) } }),
    'application/json',
    '\nrefusals: rails\n',
  ],
  [
    'its own object',
    objectOf({
      ok: { type: 'boolean' },
      error: objectOf({ errorCode: text, message: text, request_id: text }),
    }),
    'application/json',
    "# refusals:\n#   body: { error: { errorCode: '{code}', message: '{detail}', request_id: '{id}' } }\n",
  ],
  [
    'another media type',
    objectOf({ status: { type: 'integer' }, msg: text }),
    'application/vnd.acme+json',
    "# refusals:\n#   type: \"application/vnd.acme+json\"\n#   body: { status: '{status}', msg: '{detail}' }\n",
  ],
  ...['*/*', 'application/*'].map((range): [string, unknown, string, string] => [
    `a range of media types, ${range}`,
    objectOf({ message: text }),
    range,
    "# refusals:\n#   body: { message: '{detail}' }\n",
  ]),
  [
    'a list',
    objectOf({ errors: listOf(objectOf({ message: text, field: text })) }),
    'application/json',
    "# refusals:\n#   body: { errors: [{ message: '{detail}', field: '{field}' }] }\n",
  ],
])("the gateway's own errors have V1's form: %s", async (_, error, media, expected) => {
  expect(await draftOf(reading('v1', OLD, error, media), reading('v2', YOUNG))).toContain(expected);
});

const integer = { type: 'integer' };
const problem = objectOf({ title: text, detail: text, status: integer });

test.each<[what: string, old: object, young: object, media: string, response: readonly string[]]>([
  [
    'a text and a code',
    objectOf({ error: text, code: integer }),
    problem,
    PROBLEM,
    ['{ rename: detail, to: error', '{ rename: status, to: code', '{ strip: title'],
  ],
  [
    'a text in an object',
    objectOf({ error: objectOf({ message: text }) }),
    problem,
    PROBLEM,
    ['{ move: detail, to: error.message', '{ strip: title', '{ strip: status'],
  ],
  [
    'only a title',
    objectOf({ msg: text }),
    objectOf({ title: text }),
    'application/json',
    ['{ rename: title, to: msg'],
  ],
  [
    'the same names',
    objectOf({ message: text }),
    objectOf({ message: text, id: text }),
    'application/json',
    [],
  ],
  ['other types', objectOf({ message: integer }), objectOf({ detail: text }), 'application/json', []],
])("V2's errors get the members of V1's: %s", async (_, old, young, media, response) => {
  const draft = await draftOf(reading('v1', OLD, old), reading('v2', YOUNG, young, media));
  const lines = draft.split('\n').flatMap((line) => /#\s+- (\{.*status: .*)$/.exec(line)?.[1] ?? []);
  expect(lines).toEqual(
    ['4xx', '5xx'].flatMap((status) => response.map((rule) => `${rule}, status: ${status} }`)),
  );
  const isOtherType = media === PROBLEM;
  if (isOtherType) expect(draft).toContain('errors: { form: problem, as: { type: application/json } }\n');
});

test('the address of a kind of error is asked about by itself, and the summary names what is left out', async () => {
  const [old, young] = [
    objectOf({ code: text, message: text }),
    objectOf({ type: text, title: text, detail: text }),
  ];
  const [v1, v2] = [reading('v1', OLD, old), reading('v2', YOUNG, young, PROBLEM)];
  const questions = draftQuestions(proposeRuleBook(v1, v2));
  const asked = questions.find(({ text: words }) => words.startsWith('Should errors'));
  expect(asked?.text).toBe('Should errors have type as code, detail as message, and no title?');
  expect(asked?.parts.map(({ answers }) => answers.map(({ lines }) => lines[0]))).toEqual([
    ['{ rename: detail, to: message, status: 4xx }', undefined],
    ['{ rename: type, to: code, status: 4xx }', '{ strip: type, status: 4xx }', undefined],
  ]);
});

test('the codes of V1 are mapped from the addresses that V2 shows, and named', () => {
  const codes = { type: 'string', enum: ['not_found', 'sold_out'] };
  const kind = { ...text, examples: ['https://a.example/problems/sold-out'] };
  const [v1, v2] = [
    reading('v1', OLD, objectOf({ code: codes, message: text })),
    reading('v2', YOUNG, objectOf({ type: kind, title: text, detail: text }), PROBLEM),
  ];
  const asked = draftQuestions(proposeRuleBook(v1, v2)).find(({ text: words }) =>
    words.startsWith('Should errors'),
  );
  const [, part] = asked?.parts ?? [];
  expect(part?.answers[0]?.lines.slice(0, 2)).toEqual([
    '{ map: { "https://a.example/problems/sold-out": sold_out }, of: type, status: 4xx }',
    '{ rename: type, to: code, status: 4xx }',
  ]);
  expect(part?.why).toContain('V1 lists not_found, sold_out: map each address to one');
});

test("V1's clients get their names and their type where a problem has a list of its own, and another has none", async () => {
  const list = objectOf({ title: text, violations: listOf(objectOf({ field: text, message: text })) });
  const bare = { content: { [PROBLEM]: { schema: objectOf({ title: text }) } } };
  const [v1, v2] = [reading('v1', OLD, list), reading('v2', YOUNG, list, PROBLEM)];
  Object(v2['paths'])['/btl/v2/a'].post.responses[404] = bare;
  const book = printRuleBook(await soundDraft(proposeRuleBook(v1, v2)), undefined, 'unmarked');
  expect(book).toContain(
    '\nerrors: { list: violations, pointer: field, text: [message], as: { type: application/json } }\n',
  );
  const sent = { title: 'No', violations: [{ field: 'dueOn', message: 'dueOn is late' }] };
  expect(await answeredWith(book, sent, PROBLEM)).toEqual({
    title: 'No',
    violations: [{ field: 'due_on', message: 'due_on is late' }],
  });
});

const errorsWith = (members: Record<string, unknown>): object =>
  objectOf({ errors: listOf(objectOf(members)) });

/** What the drafted rules, with the answer yes, make of an error of V2. */
async function errorOf(old: object, young: object, sent: unknown): Promise<unknown> {
  const draft = await soundDraft(proposeRuleBook(reading('v1', OLD, old), reading('v2', YOUNG, young)));
  return answeredWith(printRuleBook(draft, undefined, 'unmarked'), sent);
}

/** What V1's clients get by a rule book for an error of V2. */
async function answeredWith(book: string, sent: unknown, media = 'application/json'): Promise<unknown> {
  const migration = createMigration(await bookIn(book));
  const request = migration.request('POST', '/btl/v1/a', ['Content-Type', 'application/json'], '{}');
  if (request.verdict === 'passed' || request.verdict === 'refused') throw new Error(request.verdict);
  const fields = ['Content-Type', media];
  const { body } = migration.response(request, 422, fields, JSON.stringify(sent));
  return JSON.parse(new TextDecoder().decode(body ?? new Uint8Array()));
}

const ONE = { code: 'late', message: 'Too late.', field: 'due_on' };
const V2_LIST = errorsWith({ code: text, message: text, field: text });

test.each<[what: string, old: object, young: object, sent: unknown, expected: unknown]>([
  [
    'a list, where V1 has members of the body',
    objectOf({ error: text, code: text }),
    V2_LIST,
    { errors: [ONE, ONE] },
    { error: 'Too late.', code: 'late' },
  ],
  [
    'a list, and the text has one name',
    objectOf({ message: text }),
    errorsWith({ code: text, message: text }),
    { errors: [ONE] },
    { message: 'Too late.' },
  ],
  [
    'a list beside other members',
    objectOf({ message: text }),
    objectOf({ errors: listOf(objectOf({ detail: text })), trace: text }),
    { errors: [{ detail: 'Too late.' }], trace: 'a' },
    { message: 'Too late.' },
  ],
  [
    'a list, where V1 has an object',
    objectOf({ error: objectOf({ msg: text, code: text }) }),
    V2_LIST,
    { errors: [ONE] },
    { error: { msg: 'Too late.', code: 'late' } },
  ],
  [
    'a list under the name of the object',
    objectOf({ error: objectOf({ message: text, code: text }) }),
    objectOf({ error: listOf(objectOf({ code: text, message: text })) }),
    { error: [{ code: 'late', message: 'Too late.' }] },
    { error: { code: 'late', message: 'Too late.' } },
  ],
  [
    'a list with other names',
    errorsWith({ path: text, msg: text }),
    objectOf({ problems: listOf(objectOf({ field: text, detail: text, hint: text })) }),
    { problems: [{ field: 'due_on', detail: 'Too late.', hint: 'b' }] },
    { errors: [{ path: 'due_on', msg: 'Too late.' }] },
  ],
  [
    'an object, where V1 has members of the body',
    objectOf({ error: text, code: text }),
    objectOf({ error: objectOf({ message: text, code: text }) }),
    { error: { message: 'Too late.', code: 'late' } },
    { error: 'Too late.', code: 'late' },
  ],
])('V2 has its errors in %s', async (_, old, young, sent, expected) => {
  expect(await errorOf(old, young, sent)).toEqual(expected);
});

test('whether both versions refuse in the same words is asked only where their errors have the same members', async () => {
  const flat = objectOf({ error: text, code: text });
  const draft = (young: object): Promise<string> =>
    draftOf(reading('v1', OLD, flat), reading('v2', YOUNG, young));
  expect(await draft(flat)).toContain('does V2 refuse the same requests as V1');
  expect(await draft(V2_LIST)).not.toContain('does V2 refuse the same requests as V1');
});

test('an operation without described errors gets the rules of all others', async () => {
  const both = [reading('v1', OLD, objectOf({ error: text })), reading('v2', YOUNG, V2_LIST)].map(
    (one, at) => ({
      ...one,
      paths: {
        ...Object(one['paths']),
        [`/btl/v${at + 1}/b`]: { delete: { operationId: 'drop', responses: {} } },
      },
    }),
  );
  const [v1 = {}, v2 = {}] = both;
  expect(await draftOf(v1, v2)).toMatch(/# - id: errors-?\w*\n.*\n.*on: \[save, drop\]\n/);
});

test('errors without words, of several forms or of none are no form', async () => {
  const draft = await draftOf(
    reading('v1', OLD, objectOf({ number: { type: 'integer' } })),
    reading('v2', YOUNG, text),
  );
  expect(draft).not.toMatch(/refusals|errors:/);
});

const address = { type: 'string', format: 'uri' };

test.each<[what: string, members: Record<string, unknown>, link: string | undefined]>([
  ['HAL', { _links: objectOf({ next: objectOf({ href: text }) }) }, '_links.next.href'],
  ['JSON:API', { links: objectOf({ next: text }) }, 'links.next'],
  ['a list', { links: listOf(objectOf({ rel: text, href: text })) }, 'links.*.href'],
  ['pages', { items: listOf(text), next: address }, 'next'],
  ['an address of something else', { avatar: address }, undefined],
  ['a word', { next: text }, undefined],
])('links in bodies lead back where V2 describes them: %s', async (_, members, link) => {
  const draft = await draftOf(reading('v3', members), reading('v4', members));
  if (link === undefined) expect(draft).not.toContain('body-links');
  else expect(draft).toContain(`such as ${link} of save`);
  expect((await bookIn(draft)).followsBodyLinks).toBe(true);
});

test("a response's rename that is not certain may be V1's name beside V2's", async () => {
  const read = (version: string, name: string): Record<string, unknown> => ({
    ...reading(version, {}),
    paths: {
      [`/btl/${version}/a`]: {
        get: {
          operationId: 'read',
          responses: {
            200: {
              content: { 'application/json': { schema: objectOf({ id: text, [name]: text, size: text }) } },
            },
          },
        },
      },
    },
  });
  const draft = await draftOf(read('v1', 'total_amount'), read('v2', 'amount_cents'));
  expect(draft).toMatch(
    /rename: amount_cents, to: total_amount \}\n.*or instead:\n.*- \{ alias: amount_cents, as: total_amount \}/,
  );
});
