import { expect, test } from 'vitest';
import { answeredDraft, draftQuestions } from '../../../src/openapi/draft/draft-questions.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { bookIn } from '../../rules/reading.ts';

const text = { type: 'string' };
const integer = { type: 'integer' };
const listOf = (items: unknown): object => ({ type: 'array', items });
const objectOf = (properties: Record<string, unknown>, ...required: string[]): object => ({
  type: 'object',
  properties,
  required,
});
const mapOf = (additionalProperties: unknown): object => ({ type: 'object', additionalProperties });

interface Version {
  readonly request?: unknown;
  /** The query parameters. */
  readonly query?: Readonly<Record<string, unknown>>;
  readonly response?: unknown;
  /** Further paths, with what a GET of each answers. */
  readonly gets?: Readonly<Record<string, unknown>>;
  readonly schemas?: Readonly<Record<string, unknown>>;
}

const contentOf = (schema: unknown): object => ({ content: { 'application/json': { schema } } });

function describe(
  version: string,
  { request, query = {}, response, gets = {}, schemas = {} }: Version,
): Record<string, unknown> {
  const answers = (schema: unknown): object => ({ responses: { 200: contentOf(schema) } });
  const post = {
    operationId: 'save',
    parameters: Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema })),
    ...(request === undefined ? {} : { requestBody: contentOf(request) }),
    ...(response === undefined ? { responses: {} } : answers(response)),
  };
  const further = Object.entries(gets).map(([path, schema]) => [
    `/api/${version}${path}`,
    { get: { operationId: path.replaceAll(/\W+/g, '_'), ...answers(schema) } },
  ]);
  return {
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: { [`/api/${version}/things`]: { post }, ...Object.fromEntries(further) },
    components: { schemas },
  };
}

async function draftOf(v1: Version, v2: Version): Promise<ProposedRuleBook> {
  return soundDraft(proposeRuleBook(describe('v1', v1), describe('v2', v2)));
}

/** The answers to the questions of a draft, those of each part in their order. Each makes a sound book. */
async function answersIn(book: ProposedRuleBook): Promise<readonly (readonly string[])[]> {
  const asked: (readonly string[])[] = [];
  for (const { id, about, text: question, parts } of draftQuestions(book)) {
    // What is left of V2's objects has a question of its own.
    if (about !== 'change' || / new in V2\?$|other questions leave/.test(question)) continue;
    for (const [at, { answers }] of parts.entries()) {
      asked.push(answers.map(({ lines }) => lines.join(' ')).filter((line) => line !== ''));
      for (const { key } of answers) {
        const chosen = parts.map((_, other) => (other === at ? key : 'no'));
        const answered = answeredDraft(book, new Map([[id, { chosen, value: '7' }]]));
        await bookIn(printRuleBook(answered));
      }
    }
  }
  return asked;
}

/** The answers to the only question of a draft, the likeliest first. */
type Row = [what: string, v1: Version, v2: Version, answers: readonly string[]];

const sent = (properties: Record<string, unknown>, ...required: string[]): Version => ({
  request: objectOf({ id: text, ...properties }, ...required),
});
const answered = (properties: Record<string, unknown>, gets: Version['gets'] = {}): Version => ({
  response: objectOf({ id: text, ...properties }),
  gets,
});
const commas = { ...text, description: 'Comma-separated.' };
const pair = objectOf({ name: text, value: text });
const kindsBy = (propertyName: string, ...values: readonly string[]): object => ({
  ...objectOf({ id: text, [propertyName]: text }),
  discriminator: { propertyName, mapping: Object.fromEntries(values.map((value) => [value, '#/x'])) },
});
const money = (amount: object = integer): object => objectOf({ amount, currency: text });
const email = objectOf({ type: text, email: text });
const user = objectOf({ data: objectOf({ id: integer, name: text, mail: text }) });
const node = (properties: Record<string, unknown>): Version => ({
  request: { $ref: '#/components/schemas/N' },
  schemas: { N: objectOf({ ...properties, parts: listOf({ $ref: '#/components/schemas/N' }) }) },
});
const schemaNamed = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
const pairOf = (properties: Record<string, unknown>): Version => ({
  request: schemaNamed('A'),
  schemas: {
    A: objectOf({ id: text, b: schemaNamed('B') }),
    B: objectOf({ a: schemaNamed('A'), ...properties }),
  },
});
const ringWith = (properties: Record<string, unknown>): Version => ({
  request: objectOf({ top: schemaNamed('C'), a: schemaNamed('A') }),
  schemas: {
    A: objectOf({ id: text, c: schemaNamed('C'), a: schemaNamed('A') }),
    C: objectOf(properties),
  },
});
const deep = (name: string): Version =>
  sent({ [name]: text, a: objectOf({ [name]: text, b: objectOf({ [name]: text }) }) });

const oneOf = (...values: readonly string[]): object => ({ ...text, enum: values });
const ofFormat = (format: string): object => ({ ...text, format });
const way = { direction: oneOf('asc', 'desc') };

const number = { type: 'number' };
const mail = { ...text, format: 'email' };
const saying = (description: string, schema: object): object => ({ ...schema, description });

test.each<Row>([
  [
    'a sort whose values have a sign, and V2 the direction beside it',
    { query: { sort: oneOf('last_name', '-created_at', 'created_at') } },
    { query: { orderBy: oneOf('familyName', 'createdAt'), ...way } },
    [
      '{ rename: sort, to: orderBy } { copy: orderBy, to: direction } { map: { last_name: asc, "-created_at": desc, created_at: asc }, of: direction } { map: { last_name: familyName, "-created_at": createdAt, created_at: createdAt }, of: orderBy }',
      '{ strip: sort }',
    ],
  ],
  [
    'a sort of the same name whose values say the direction in a word',
    { query: { sort: oneOf('name:asc', 'name:desc') } },
    { query: { sort: oneOf('name'), order: oneOf('DESC', 'ASC') } },
    [
      '{ copy: sort, to: order } { map: { "name:asc": ASC, "name:desc": DESC }, of: order } { map: { "name:asc": name, "name:desc": name }, of: sort }',
    ],
  ],
  [
    'the last day of a filter of the same name, where V2 has a time',
    { query: { until: ofFormat('date') } },
    { query: { until: ofFormat('date-time') } },
    [
      '{ date: until, from: date, to: datetime, zone: UTC, at: "23:59:59" }',
      '{ date: until, from: date, to: datetime, zone: UTC }',
    ],
  ],
  [
    'a percentage that V2 has as a fraction of 1, which only its request says',
    {
      request: objectOf({ id: text, discount_percent: number }),
      response: objectOf({ id: text, discount_percent: number }),
    },
    {
      request: objectOf({ id: text, discountRate: { ...number, maximum: 1 } }),
      response: objectOf({ id: text, discountRate: number }),
    },
    [
      '{ rename: discount_percent, to: discountRate } { scale: discountRate, by: 0.01 }',
      '{ strip: discount_percent }',
    ],
  ],
  [
    'a whole number that V2 has as a fraction of 1',
    answered({ attendance: integer, a: text }),
    answered({ attendanceRate: { ...number, maximum: 1 }, a: text }),
    ['{ scale: attendanceRate, by: 100 } { rename: attendanceRate, to: attendance }'],
  ],
  [
    'a day of which no form is shown, and a time',
    answered({ returned_on: {} }),
    answered({ returnedAt: ofFormat('date-time') }),
    ['{ date: returnedAt, from: datetime, to: date, zone: UTC } { rename: returnedAt, to: returned_on }'],
  ],
  [
    'a number in a unit of the only kind that is new',
    answered({ seats: integer, duration: saying('minutes per lesson', integer) }),
    answered({ seats: integer, places: integer, lessonSeconds: integer }),
    ['{ scale: lessonSeconds, by: "1/60" } { rename: lessonSeconds, to: duration }'],
  ],
  [
    'what is free, and what is taken',
    answered({ seats_free: integer }),
    answered({ placesTaken: integer }),
    ['{ default: { seats_free: null } }'],
  ],
  [
    'numbers with nothing in common but their place',
    answered({ name: text, duration: integer, weight: integer }),
    answered({ name: text, capacity: integer }),
    ['{ default: { duration: null } } { default: { weight: null } }'],
  ],
  [
    'a page where V2 has only the number of elements',
    { query: { page: integer } },
    { query: { limit: integer, cursor: text } },
    ['{ strip: page }'],
  ],
  [
    'a sort whose values have a sign, for which V2 has none',
    { query: { sort: oneOf('name', '-name') } },
    { query: { orderBy: oneOf('name', 'size') } },
    ['{ rename: sort, to: orderBy }', '{ strip: sort }'],
  ],
  [
    'a name of a person, and its parts in an object',
    sent({ full_name: text, fax: integer }),
    sent({ name: objectOf({ given: text, family: text }), fax: integer }),
    [
      '{ strip: full_name }',
      '{ split: full_name, to: [given, family], with: " " } { nest: [given, family], under: name }',
    ],
  ],
  [
    'a name of a person, and its parts beside it in responses',
    answered({ ownerName: text }),
    answered({ firstName: text, lastName: text }),
    ['{ default: { ownerName: null } }', '{ join: [firstName, lastName], to: ownerName, with: " " }'],
  ],
  [
    'a text and a list, whose name is one for several',
    sent({ tags: text }),
    sent({ tags: listOf(text) }),
    ['{ list: tags, with: "," }', '{ list: tags, to: tags }'],
  ],
  [
    'a text and a list of texts, whose name is one for one',
    sent({ phone: text }),
    sent({ phone: listOf(text) }),
    ['{ list: phone, to: phone }', '{ list: phone, with: "," }'],
  ],
  [
    'a text whose description tells the separator',
    sent({ scope: { ...text, description: 'Delimited by spaces.' } }),
    sent({ scope: listOf(text) }),
    ['{ list: scope, with: " " }', '{ list: scope, to: scope }'],
  ],
  [
    'a text whose pattern tells the separator',
    sent({ scope: { ...text, pattern: '^\\w+(;\\w+)*$' } }),
    sent({ scope: listOf(text) }),
    ['{ list: scope, with: ";" }', '{ list: scope, to: scope }'],
  ],
  [
    'a list whose description tells the separator of old',
    sent({ scope: text }),
    sent({ scope: { ...listOf(text), description: 'Was joined by a pipe.' } }),
    ['{ list: scope, with: "|" }', '{ list: scope, to: scope }'],
  ],
  [
    'a text with a sentence as its example',
    sent({ remark: { ...text, example: 'Well, yes, and no' } }),
    sent({ remark: listOf(text) }),
    ['{ list: remark, to: remark }', '{ list: remark, with: "," }'],
  ],
  [
    'one value of a list of values',
    sent({ state: { ...text, enum: ['a', 'b'] } }),
    sent({ state: listOf({ ...text, enum: ['a', 'b'] }) }),
    ['{ list: state, to: state }'],
  ],
  [
    'a text and a list of another name',
    sent({ tag_list: commas }),
    sent({ tags: listOf(text) }),
    [
      '{ rename: tag_list, to: tags } { list: tags, with: "," }',
      '{ list: tag_list, to: tags }',
      '{ strip: tag_list }',
    ],
  ],
  [
    'a list and a text, of which an example tells the separator',
    sent({ tags: listOf(text) }),
    sent({ tags: { ...text, example: 'a;b;c' } }),
    ['{ unlist: tags, with: ";" }'],
  ],
  [
    'a text and a list in responses',
    answered({ tags: commas }),
    answered({ tags: listOf(text) }),
    ['{ unlist: tags, with: "," }', '{ first: tags, to: tags }'],
  ],
  [
    'values and objects with one fitting member',
    sent({ tags: listOf(text) }),
    sent({ tags: listOf(objectOf({ at: integer, value: text })) }),
    ['{ list: tags, of: value }'],
  ],
  [
    'values and objects with several, of another name',
    sent({ emails: listOf(text) }),
    sent({ email_addresses: listOf(email) }),
    [
      '{ rename: emails, to: email_addresses } { list: email_addresses, of: email }',
      '{ rename: emails, to: email_addresses } { list: email_addresses, of: type }',
      '{ strip: emails }',
    ],
  ],
  [
    'objects and values',
    sent({ emails: listOf(email) }),
    sent({ emails: listOf(text) }),
    ['{ unlist: emails, of: email }', '{ unlist: emails, of: type }'],
  ],
  [
    'objects and values in responses',
    answered({ emails: listOf(email) }),
    answered({ emails: listOf(text) }),
    ['{ list: emails, of: email }', '{ list: emails, of: type }'],
  ],
  [
    'values and objects that require one of several members',
    sent({ to: listOf(text) }),
    sent({ to: listOf(objectOf({ name: text, email: text }, 'email')) }),
    ['{ list: to, of: email }', '{ list: to, of: name }'],
  ],
  [
    'seconds since 1970, and a time',
    answered({ created: integer }),
    answered({ created_at: { ...text, format: 'date-time' } }),
    ['{ date: created_at, from: datetime, to: epoch } { rename: created_at, to: created }'],
  ],
  [
    'milliseconds since 1970, and a time',
    sent({ at: { ...integer, description: 'Unix time in milliseconds' } }),
    sent({ at: { ...text, format: 'date-time' } }),
    ['{ date: at, from: epoch-ms, to: datetime }'],
  ],
  [
    'a number, and a text of a format that no number has',
    sent({ interval_s: integer }),
    sent({ interval: { ...text, format: 'duration' } }),
    ['{ strip: interval_s }'],
  ],
  ['a text with a number', sent({ total: text }), sent({ total: number }), ['{ unquote: total }']],
  [
    'keys of another type',
    answered({ mid: integer }),
    answered({ uid: text }),
    ['{ unquote: uid } { rename: uid, to: mid }'],
  ],
  [
    'what tells the kinds of an object apart',
    { request: kindsBy('type', 'A', 'B') },
    { request: kindsBy('kind', 'a', 'b') },
    ['{ rename: type, to: kind }', '{ strip: type }'],
  ],
  [
    'a text whose name is like that of a map, and a text of another name',
    sent({ label: text }, 'label'),
    sent({ name: text, labels: mapOf(text) }, 'name'),
    ['{ rename: label, to: name }', '{ strip: label }'],
  ],
  [
    'any members and a list of pairs',
    sent({ fields: mapOf(text) }),
    sent({ fields: listOf(pair) }),
    ['{ entries: fields, name: name, value: value }', '{ list: fields, to: fields }'],
  ],
  [
    'any members and a list of pairs in responses',
    answered({ metadata: mapOf(text) }),
    answered({ metadata: listOf(objectOf({ key: text, content: text })) }),
    ['{ unlist: metadata, name: key, value: content }', '{ first: metadata, to: metadata }'],
  ],
  [
    'a list of pairs and any members',
    sent({ fields: listOf(pair) }),
    sent({ fields: mapOf(text) }),
    ['{ unlist: fields, name: name, value: value }'],
  ],
  [
    'what V2 requires and has elsewhere as well',
    sent({ account: objectOf({ id: text }) }),
    sent({ account: objectOf({ id: text }), accountId: text }, 'accountId'),
    ['{ copy: account.id, to: accountId }', '{ default: { accountId: "…" } }'],
  ],
  [
    'an object that V2 requires, of which it has all elsewhere as well',
    sent({ accountId: text }),
    sent({ accountId: text, account: objectOf({ id: text, name: text }, 'id') }, 'account'),
    ['{ copy: accountId, to: account.id }'],
  ],
  [
    "what V2's description says to be the same",
    sent({ email: text }),
    sent({ email: text, login: { ...text, description: 'The same as `email`.' } }, 'login'),
    ['{ copy: email, to: login }', '{ default: { login: "…" } }'],
  ],
  [
    'what V2 requires, with a default in quotes of its own',
    sent({}),
    sent({ kind: { ...text, default: '"plain"' } }, 'kind'),
    ['{ default: { kind: plain } }'],
  ],
  [
    'what V1 sends twice',
    sent({ account: objectOf({ id: text }), accountId: text }),
    sent({ account: objectOf({ id: text }) }),
    ['{ strip: accountId }', '{ move: accountId, to: account.id }'],
  ],
  [
    'what V1 answers twice',
    answered({ account: objectOf({ id: text }), accountId: text }),
    answered({ account: objectOf({ id: text }) }),
    ['{ copy: account.id, to: accountId }'],
  ],
  [
    'an object of which V2 has the key, and a GET of that name before one of that content',
    answered({ owner: objectOf({ id: integer, name: text, eMail: text }) }),
    answered(
      { owner_id: integer },
      {
        '/people/{id}': objectOf({ id: integer, name: text, e_mail: text }),
        '/owners/{no}': objectOf({ name: text }),
      },
    ),
    [
      '{ lookup: owner_id, get: "/owners/{owner_id}", take: [name], as: owner }',
      '{ lookup: owner_id, get: "/people/{owner_id}", take: [id, name, e_mail], as: owner } { rename: owner.e_mail, to: eMail }',
    ],
  ],
  [
    'an object that is its key in V2',
    answered({ user_id: objectOf({ value: integer, name: text }) }),
    answered({ user_id: integer }, { '/users/{id}': user }),
    [
      '{ lookup: user_id, get: "/users/{user_id}", resource: data, take: [id, name], as: user_id } { rename: user_id.id, to: value }',
    ],
  ],
  [
    'objects in a list, and GETs of something else and of more than one key',
    answered({ lines: listOf(objectOf({ user: objectOf({ name: text, mail: text }) })) }),
    answered(
      { lines: listOf(objectOf({ userId: integer })) },
      { '/users/{id}': user, '/files/{id}': objectOf({ size: integer }), '/teams/{id}/users/{no}': user },
    ),
    ['{ lookup: "lines.*.userId", get: "/users/{userId}", resource: data, take: [name, mail], as: user }'],
  ],
  [
    'a member in an object of V2, in another form',
    sent({ location: text, location_zip: text }),
    sent({ location: { anyOf: [text, objectOf({ zip: integer })] } }),
    ['{ move: location_zip, to: location.zip } { unquote: location.zip }', '{ strip: location_zip }'],
  ],
  [
    'what requests and responses have by another name, and V2 requires',
    {
      request: objectOf({ id: text, total: text }),
      response: objectOf({ data: objectOf({ id: text, total: text }) }),
    },
    {
      request: objectOf({ id: text, total_cents: integer }, 'total_cents'),
      response: objectOf({ data: objectOf({ id: text, total_cents: integer }) }),
    },
    [
      '{ rename: total, to: total_cents } { unquote: total_cents } { scale: total_cents, by: 100, digits: 2 }',
      '{ strip: total }',
      '{ default: { total_cents: "…" } }',
    ],
  ],
  [
    'a price, and an object with its amount in a unit that nothing tells',
    sent({ price: number }),
    sent({ price: money() }),
    [
      '{ move: price, to: price.amount } { scale: price.amount, by: 100, digits: 2 }',
      '{ move: price, to: price.amount }',
    ],
  ],
  [
    'a whole price, which may be in minor units already',
    sent({ price: integer }),
    sent({ price: money() }),
    [
      '{ move: price, to: price.amount }',
      '{ move: price, to: price.amount } { scale: price.amount, by: 100, digits: 2 }',
    ],
  ],
  [
    'a price as a text, and an object whose description tells the unit',
    sent({ price: text }),
    sent({ price: money(saying('In cents.', integer)) }),
    [
      '{ move: price, to: price.amount } { unquote: price.amount } { scale: price.amount, by: 100, digits: 2 }',
    ],
  ],
  [
    'a price, and an object whose name tells the unit',
    sent({ fee: number }),
    sent({ fee: objectOf({ amountMinor: integer, currency: text }) }),
    ['{ move: fee, to: fee.amountMinor } { scale: fee.amountMinor, by: 100, digits: 2 }'],
  ],
  [
    'an amount, and two objects of V2 with amounts, of which only one has a name for it',
    answered({ vat: number }),
    answered({ totals: objectOf({ tax: money(number), gross: money(number) }) }),
    ['{ move: totals.tax.amount, to: vat }'],
  ],
  [
    'a price, and an object with decimals',
    sent({ price: number }),
    sent({ price: money(number) }),
    ['{ move: price, to: price.amount }'],
  ],
  [
    'a price in responses',
    answered({ price: number }),
    answered({ price: money() }),
    [
      '{ scale: price.amount, by: 0.01, digits: 2 } { move: price.amount, to: price }',
      '{ move: price.amount, to: price }',
    ],
  ],
  [
    'an object with an amount, and the amount with its currency beside it, which V2 requires',
    sent({ price: money(text) }),
    sent({ price: saying('In cents.', integer), currency: text }, 'currency'),
    [
      '{ move: price.currency, to: currency } { move: price.amount, to: price_amount } { strip: price } { rename: price_amount, to: price } { unquote: price } { scale: price, by: 100, digits: 2 }',
    ],
  ],
  [
    'an object in responses, and its key',
    answered({ owner: objectOf({ id: text, name: text }) }),
    answered({ owner: text }),
    ['{ move: owner, to: owner.id }', '{ move: owner, to: owner.name }'],
  ],
  [
    'a key, and an object that has one',
    sent({ owner: integer }),
    sent({ owner: objectOf({ id: integer, name: text }) }),
    ['{ move: owner, to: owner.id }'],
  ],
  [
    'a text, and an object in responses, in lists',
    answered({ lines: listOf(objectOf({ category: text })) }),
    answered({ lines: listOf(objectOf({ category: objectOf({ id: text, name: text, rank: text }) })) }),
    [
      '{ move: "lines.*.category.id", to: "lines.*.category" }',
      '{ move: "lines.*.category.name", to: "lines.*.category" }',
    ],
  ],
  [
    'another unit in the description',
    sent({ delay: { ...integer, description: 'In seconds.' } }),
    sent({ delay: { ...integer, description: 'In milliseconds.' } }),
    ['{ scale: delay, by: 1000 }'],
  ],
  [
    'true and false, and a list of two values that say so',
    answered({ active: { type: 'boolean' } }),
    answered({ active: { ...text, enum: ['N', 'Y'] } }),
    ['{ map: { "Y": true, "N": false }, of: active }'],
  ],
  [
    'two values that say yes and no, and true and false',
    sent({ active: { ...integer, enum: [0, 1] } }),
    sent({ active: { type: 'boolean' } }),
    ['{ map: { 1: true, 0: false }, of: active }'],
  ],
  [
    'a name in one of two schemas that refer to each other',
    pairOf({ old_size: text, kind: text }),
    pairOf({ oldSize: text, kind: text }),
    ['{ rename: old_size, in: "**", to: oldSize }'],
  ],
  [
    'a name in a schema inside one that is within itself',
    ringWith({ old_size: text, kind: text }),
    ringWith({ oldSize: text, kind: text }),
    ['{ rename: old_size, in: "**", to: oldSize }'],
  ],
  [
    'a boolean that is one of two values',
    sent({ urgent: { type: 'boolean' } }),
    sent({ priority: { ...text, enum: ['routine', 'urgent'] } }),
    [
      '{ rename: urgent, to: priority } { map: { true: urgent, false: routine }, of: priority }',
      '{ strip: urgent }',
    ],
  ],
  [
    'a boolean that is one of two values in an object',
    sent({ isUrgent: { type: 'boolean' } }),
    sent({ queue: objectOf({ priority: { ...text, enum: ['urgent', 'routine'] } }) }),
    [
      '{ move: isUrgent, to: queue.priority } { map: { true: urgent, false: routine }, of: priority, in: queue }',
      '{ strip: isUrgent }',
    ],
  ],
  [
    'one of two values that is a boolean',
    sent({ priority: { ...text, enum: ['routine', 'urgent'] } }),
    sent({ urgent: { type: 'boolean' } }),
    [
      '{ rename: priority, to: urgent } { map: { urgent: true, routine: false }, of: urgent }',
      '{ strip: priority }',
    ],
  ],
  [
    'a name at several depths',
    deep('old_name'),
    deep('name2'),
    [
      '{ rename: old_name, to: name2 } { rename: a.old_name, to: name2 } { rename: a.b.old_name, to: name2 }',
      '{ rename: old_name, in: "**", to: name2 }',
      '{ strip: old_name } { strip: a.old_name } { strip: a.b.old_name }',
    ],
  ],
  [
    'a name in a schema that is within itself',
    node({ qty: text }),
    node({ quantity: { ...text, description: 'Formerly `qty`.' } }),
    ['{ rename: qty, in: "**", to: quantity }'],
  ],
])('a draft offers the rules that lead from one form to the other: %s', async (_, v1, v2, answers) => {
  const book = await draftOf(v1, v2);
  const active = printRuleBook(book)
    .split('\n')
    .filter((line) => /^ +- \{/.test(line));
  expect(active).toEqual([]);
  expect(await answersIn(book)).toEqual([answers]);
});

/** One member in both versions, with the factor between them: 0 for none. */
type UnitRow = [old: string, v1: object, young: string, v2: object, by: readonly (number | string)[]];

test.each<UnitRow>([
  ['weight_kg', number, 'weight_grams', integer, [1000]],
  ['weight_g', number, 'weight_kg', number, [0.001]],
  ['weightKilograms', number, 'weightG', integer, [1000]],
  ['dose_mg', number, 'dose_g', number, [0.001]],
  ['length_m', number, 'length_cm', number, [100]],
  ['length_cm', number, 'length_mm', integer, [10]],
  ['distance_meters', integer, 'distance_km', number, [0.001]],
  ['timeout_s', integer, 'timeout_ms', integer, [1000]],
  ['timeout_millis', integer, 'timeout_seconds', number, [0.001]],
  ['delay_us', integer, 'delay_ms', number, [0.001]],
  ['price_cents', integer, 'price_dollars', number, [0.01]],
  ['price_cents', integer, 'price', number, [0.01]],
  ['price', number, 'price_cents', integer, [100]],
  ['price_usd', number, 'price_usd_cents', integer, [100]],
  ['price', saying('in dollars', number), 'price_micros', integer, [1_000_000]],
  ['discount_percent', number, 'discount_ratio', number, [0.01]],
  ['discount_fraction', number, 'discount_bps', integer, [10_000]],
  ['discount_percent', number, 'discount', { ...number, maximum: 1 }, [0.01]],
  ['size_bytes', integer, 'size_kb', number, [0.001, 0.0009765625]],
  ['size_mb', number, 'size_bytes', integer, [1_000_000, 1_048_576]],
  ['size_kib', number, 'size_bytes', integer, [1024]],
  ['volume_l', number, 'volume_ml', integer, [1000]],
  ['weight_lbs', number, 'weight_oz', number, [16]],
  ['weight_kg', saying('Weight in kg.', number), 'weight_grams', saying('Grams.', integer), [1000]],
  ['timeout_minutes', integer, 'timeout_seconds', integer, [60]],
  ['reminder_hours', integer, 'reminderMinutes', integer, [60]],
  ['timeout_s', integer, 'timeout_h', number, ['"1/3600"']],
  ['age_days', integer, 'age_weeks', number, ['"1/7"']],
  ['wait_hours', integer, 'wait_days', number, ['"1/24"']],
])('scales a value whose unit is another one: %s %j is %s %j', async (old, v1, young, v2, factors) => {
  const book = await draftOf(sent({ [old]: v1 }), sent({ [young]: v2 }));
  const [answers = []] = await answersIn(book);
  const rename = `{ rename: ${old}, to: ${young} }`;
  const isCents = (by: number | string): boolean => by === 100 || by === 0.01;
  const isMoney = /price/.test(old);
  const scaled = factors.map(
    (by) => `${rename} { scale: ${young}, by: ${by}${isCents(by) && isMoney ? ', digits: 2' : ''} }`,
  );
  expect(answers.slice(0, scaled.length)).toEqual(scaled);
  expect(answers).not.toContain(rename);
});

test.each([
  ['temperature_celsius', 'temperature_fahrenheit', 'in fahrenheit, and V1 temperature_celsius in celsius'],
  ['period_months', 'period_days', 'in days, and V1 period_months in months'],
])('offers no name for a value that no factor converts: %s, %s', async (old, young, why) => {
  const book = await draftOf(sent({ [old]: number }), sent({ [young]: number }));
  expect(await answersIn(book)).toEqual([[`{ strip: ${old} }`]]);
  expect(printRuleBook(book)).toContain(`V2 has ${young} ${why}: write a transform that converts it`);
});

const bool = { type: 'boolean' };

test.each([
  ['send_receipt', 'suppressReceipt'],
  ['opt_in', 'optOut'],
  ['enabled', 'disabled'],
  ['newsletter', 'marketingOptOut'],
  ['active', 'archived'],
  ['discontinued', 'active'],
  ['open', 'closed'],
  ['is_public', 'private'],
  ['verified', 'unverified'],
  ['visible', 'is_hidden'],
  ['skip_checks', 'checks'],
  ['mail', 'noMail'],
])('a boolean becomes its contrary: %s, %s', async (old, young) => {
  const turned = (name: string): string => `{ map: { true: false, false: true }, of: ${name} }`;
  for (const [one, other] of [
    [old, young],
    [young, old],
  ] as const) {
    const asked = await answersIn(await draftOf(sent({ [one]: bool }), sent({ [other]: bool })));
    expect(asked).toEqual([[`{ rename: ${one}, to: ${other} } ${turned(other)}`, `{ strip: ${one} }`]]);
    const given = (
      await answersIn(await draftOf(answered({ [one]: bool }), answered({ [other]: bool })))
    ).flat();
    expect(given.filter((line) => line.includes('rename'))).toEqual([
      `{ map: { false: true, true: false }, of: ${other} } { rename: ${other}, to: ${one} }`,
    ]);
  }
  const inside = await draftOf(sent({ [old]: bool }), sent({ more: objectOf({ [young]: bool, a: text }) }));
  for (const line of (await answersIn(inside)).flat().filter((one) => one.includes('move')))
    expect(line).toContain(`{ map: { true: false, false: true }, of: ${young}, in: more }`);
});

test.each<[old: string, young: string]>([
  ['sort', 'orderBy'],
  ['sort', 'sort'],
])('an order %s that only a description shows is said to stay whole in %s', async (old, young) => {
  const described = saying('`name`, or `-name` for the last first', text);
  const book = await draftOf({ query: { [old]: described } }, { query: { [young]: oneOf('name'), ...way } });
  expect(printRuleBook(book)).toContain(
    "V1's values tell the direction, which V2 has in direction: no rule splits values that V1 does not list",
  );
});

test('names that have no word in common are not called similar', async () => {
  const [old, young] = [answered({ discontinued: bool }), answered({ active: bool })];
  const printed = printRuleBook(await draftOf(old, young));
  expect(printed).toContain('{ rename: active, to: discontinued }');
  expect(printed).not.toContain('the names are similar');
});

test('a boolean whose name says the same is not turned', async () => {
  const asked = await answersIn(await draftOf(sent({ send_mail: bool }), sent({ notifyByMail: bool })));
  expect(asked.flat().join()).not.toContain('map');
});

test.each<
  [
    what: string,
    v1: Record<string, unknown>,
    v2: Record<string, unknown>,
    answers: readonly (readonly string[])[],
  ]
>([
  [
    'the description is equal',
    { email: saying('Who gets mails', mail), street: text },
    {
      notify: saying('Who gets mails', listOf(mail)),
      place: objectOf({ address: objectOf({ street: text }) }),
    },
    [
      ['{ list: email, to: notify }', '{ strip: email }'],
      ['{ move: street, to: place.address.street }', '{ strip: street }'],
    ],
  ],
  [
    'only one new member has the format',
    { email: mail, street: text },
    { notify: listOf(mail), place: objectOf({ address: objectOf({ street: text }) }) },
    [
      ['{ list: email, to: notify }', '{ strip: email }'],
      ['{ move: street, to: place.address.street }', '{ strip: street }'],
    ],
  ],
  [
    'a place is of another format, another unit or of few words',
    { email: mail, cost: saying('in dollars', number) },
    {
      link: { ...text, format: 'uri' },
      kind: { ...text, enum: ['a', 'b'] },
      weight_grams: number,
    },
    [['{ strip: email } { strip: cost }']],
  ],
])('offers for what is gone the members that may be it: %s', async (_, v1, v2, answers) => {
  const asked = await answersIn(await draftOf(sent(v1), sent(v2)));
  const inOrder = (all: readonly (readonly string[])[]): readonly string[] =>
    all.map((one) => one.join(' ')).toSorted();
  expect(inOrder(asked)).toEqual(inOrder(answers));
});

test('offers no place that certainly belongs to another member', async () => {
  const book = await draftOf(
    sent({ size: integer, site: objectOf({ rank_no: integer }) }),
    sent({ site: objectOf({ rankNo: integer }) }),
  );
  const lines = printRuleBook(book);
  expect(lines).toContain('  - { rename: site.rank_no, to: rankNo }');
  expect(lines).not.toContain('to: site.rankNo');
});

test('chooses no answer that could lose or distort a value, and asks once about a moved member', async () => {
  const address = objectOf({ street: text }, 'street');
  const book = await draftOf(
    sent({ timeout_minutes: integer, street: text, tip: text }),
    sent({ timeout_seconds: integer, place: objectOf({ address }, 'address'), currency: text }, 'place'),
  );
  const questions = draftQuestions(book);
  const openParts = questions.flatMap(({ parts }) => parts).filter(({ isOpen }) => isOpen);
  expect(openParts.map(({ answers }) => answers[0]?.lines)).toEqual([
    ['{ rename: timeout_minutes, to: timeout_seconds }', '{ scale: timeout_seconds, by: 60 }'],
    ['{ strip: tip }'],
    ['{ move: street, to: place.address.street }'],
  ]);
  expect(questions.filter(({ about }) => about === 'note')).toEqual([]);
});

const minorMoney = objectOf({ minorUnits: integer, currency: text }, 'minorUnits', 'currency');
const dateTime = { type: 'string', format: 'date-time' };

test.each<
  [what: string, old: Record<string, unknown>, young: Record<string, unknown>, first: readonly string[]]
>([
  [
    'other words for a name',
    { first_name: text, last_name: text },
    { name: objectOf({ given: text, family: text }, 'given', 'family') },
    ['{ move: first_name, to: name.given }', '{ move: last_name, to: name.family }'],
  ],
  [
    'another word',
    { plate: text, a: integer },
    { registration: text },
    ['{ rename: plate, to: registration }'],
  ],
  [
    'an equal example',
    { booking_ref: { ...text, example: 'SK-10042' } },
    { orderId: { ...text, examples: ['SK-10042'] }, origin: text },
    ['{ rename: booking_ref, to: orderId }'],
  ],
  [
    'times with names of one root',
    { departs_at: dateTime },
    { departure: objectOf({ scheduledAt: dateTime }) },
    ['{ move: departs_at, to: departure.scheduledAt }'],
  ],
  [
    'an amount',
    { price: number },
    { fare: minorMoney },
    ['{ move: price, to: fare.minorUnits } { scale: fare.minorUnits, by: 100, digits: 2 }'],
  ],
  [
    'an amount whose currency moves by itself',
    { total: number, currency: text },
    { totalPrice: minorMoney },
    ['{ move: total, to: totalPrice.minorUnits } { scale: totalPrice.minorUnits, by: 100, digits: 2 }'],
  ],
  [
    'the first letters of two words',
    { po_number: text },
    { purchaseOrder: text },
    ['{ rename: po_number, to: purchaseOrder }'],
  ],
  [
    'the only part that is left beside those of V1',
    { net: number, gst: number },
    { amounts: objectOf({ net: minorMoney, tax: minorMoney }) },
    ['{ move: gst, to: amounts.tax.minorUnits } { scale: amounts.tax.minorUnits, by: 100, digits: 2 }'],
  ],
  [
    'a boolean that is one of three values',
    { paid: { type: 'boolean' } },
    { status: { type: 'string', enum: ['PAID', 'UNPAID', 'PART_PAID'] } },
    ['{ rename: paid, to: status } { map: { true: PAID, false: UNPAID }, of: status }'],
  ],
  [
    'a day by another name, without its format',
    { due_on: { ...text, format: 'date' } },
    { dueDate: text, madeBy: text },
    ['{ rename: due_on, to: dueDate }'],
  ],
])('a likely partner comes before "is it gone": %s', async (_, old, young, first) => {
  const [v1, v2] = [old, young].map((members) => sent({ id: text, size: text, ...members })) as [
    Version,
    Version,
  ];
  const offered = (await answersIn(await draftOf(v1, v2))).map(([likeliest]) => likeliest);
  expect(offered).toEqual(expect.arrayContaining([...first]));
  expect(offered.filter((line) => Object.keys(old).some((name) => line === `{ strip: ${name} }`))).toEqual(
    'a' in old ? ['{ strip: a }'] : [],
  );
  // Neither is a partner certain.
  expect(printRuleBook(await draftOf(v1, v2))).not.toMatch(
    /^ {6}- \{ (?:move|rename): (?:first_name|plate|booking_ref|departs_at|price|total|po_|gst|paid|due)/m,
  );
});

test('asks once for what V2 requires in all objects that answers create', async () => {
  const amounts = { unit_price: number };
  const currency = { ...text, enum: ['AUD'] };
  const amount = objectOf({ amountMinor: integer, currency }, 'amountMinor', 'currency');
  const book = await draftOf(
    sent({ fee: number, credit_limit: number, lines: listOf(objectOf(amounts)), street: text }),
    sent({
      fee: amount,
      creditLimit: amount,
      lines: listOf(objectOf({ unitPrice: amount })),
      place: objectOf({ street: text, zone: { ...text, default: 'A' } }, 'street', 'zone'),
    }),
  );
  const asked = (await answersIn(book)).flat().filter((line) => line.includes('default'));
  expect(asked).toEqual([
    '{ default: { place.zone: A } }',
    '{ default: { creditLimit.currency: AUD } } { default: { fee.currency: AUD } } { default: { "lines.*.unitPrice.currency": AUD } }',
  ]);
});

test('calls no member new that another question is about', async () => {
  const creditLimit = objectOf({ amountMinor: integer, currency: text });
  const book = await draftOf(
    { response: objectOf({ size: text, credit_limit: number }) },
    { response: objectOf({ size: text, creditLimit, madeBy: text }) },
  );
  const texts = draftQuestions(book).map(({ text: question }) => question);
  expect(texts).toContain('Leave out madeBy, which is new in V2?');
  expect(texts).toContain('Leave out what other questions leave of creditLimit?');
});

test('leaves out no member in one operation that another one has by a new name', async () => {
  const twice = (version: string, own: Version, other: object): object => {
    const described = describe(version, own) as { paths: object };
    const post = { operationId: 'quote', requestBody: contentOf(other), responses: {} };
    return { ...described, paths: { ...described.paths, [`/api/${version}/quotes`]: { post } } };
  };
  const note = { a: text, b: { type: 'boolean' } };
  const v1 = twice(
    'v1',
    sent({ a: text, customer: integer, c: text }, 'customer'),
    objectOf({ customer: integer, pages: integer, ...note }, 'customer'),
  );
  const v2 = twice(
    'v2',
    sent({ a: text, holderAccount: integer, c: text }, 'holderAccount'),
    objectOf({ holderAccount: integer, size: integer, ...note }, 'holderAccount'),
  );
  const book = await soundDraft(
    proposeRuleBook(v1 as Record<string, unknown>, v2 as Record<string, unknown>),
  );
  expect(await answersIn(book)).toEqual([
    ['{ rename: customer, to: holderAccount }', '{ strip: customer }'],
    ['{ strip: pages }'],
  ]);
});

test('names V2’s operation below the same path that takes a gone member', async () => {
  const [v1, v2] = [sent({ size: text, delivery_date: text, notes: text }), sent({ size: text })];
  const described = describe('v2', v2) as { paths: object };
  const put = { requestBody: contentOf(objectOf({ date: text })), responses: {} };
  const paths = { ...described.paths, '/api/v2/things/{id}/delivery': { put } };
  const book = await soundDraft(proposeRuleBook(describe('v1', v1), { ...described, paths }));
  const whys = draftQuestions(book).flatMap(({ parts }) => parts.map(({ why }) => why));
  expect(whys.join()).toContain(
    'V2 takes date at PUT /things/{id}/delivery instead, and no rule sends it there',
  );
  expect(whys.join().match(/instead/g)).toHaveLength(1);
});

test('answers name what they say, and values without a partner', async () => {
  const kinds = (...values: string[]): object => ({ type: 'string', enum: values });
  const book = await draftOf(
    sent({ id: text, size: text, kind: kinds('car', 'van', 'motorbike'), tip: text }),
    sent({ id: text, size: text, type: kinds('CAR', 'VAN', 'MOTORCYCLE', 'CAMPER') }),
  );
  const [kind, tip] = draftQuestions(book).flatMap(({ parts }) => parts);
  expect(kind?.why).toContain('V2 has no value for motorbike');
  expect(kind?.answers.map(({ words }) => words)).toEqual([
    'It is type',
    'It is gone: leave it out',
    'No rule',
  ]);
  expect(tip?.why).toContain('what clients send there would be lost, and V2 would still report success');
  expect(tip?.answers.map(({ words }) => words)).toEqual(['It is gone: leave it out', 'No rule']);
});

interface Hinted {
  /** What the description says of the path's parameter beside its name. */
  readonly parameter?: object;
  /** An example of the response. */
  readonly example?: object;
}

test.each<[what: string, names: readonly [old: string, young: string], v1: Hinted, v2: Hinted]>([
  ['paths have the names of both', ['voucher', 'locator'], {}, {}],
  [
    'a parameter has an example that the other body shows',
    ['ref', 'id'],
    { parameter: { name: 'voucher', example: 'SK-10042' } },
    { example: { locator: 'SK-10042' } },
  ],
  [
    'both bodies have an example with one value',
    ['ref', 'id'],
    { example: { data: { voucher: 'SK-10042' } } },
    { example: { locator: 'SK-10042' } },
  ],
])('a member is offered V2’s name where %s', async (_, [old, young], v1, v2) => {
  const of = (version: string, name: string, member: string, hinted: Hinted): Record<string, unknown> => {
    const parameters = [{ name, in: 'path', required: true, schema: text }];
    const shown = hinted.parameter === undefined ? [] : [{ in: 'query', schema: text, ...hinted.parameter }];
    const others = version === 'v1' ? { pier: text } : { desk: text, origin: text, channel: text };
    const schema = objectOf({ ...others, [member]: text, paid: integer, size: text });
    const content = { 'application/json': { schema, example: hinted.example } };
    const get = { operationId: 'read', parameters: shown, responses: { 200: { content } } };
    const paths = { [`/api/${version}/bookings/{${name}}`]: { parameters, get } };
    return { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths };
  };
  const book = await soundDraft(
    proposeRuleBook(of('v1', old, 'voucher', v1), of('v2', young, 'locator', v2)),
  );
  const offered = (await answersIn(book)).map(([likeliest]) => likeliest);
  expect(offered).toContain('{ rename: locator, to: voucher }');
  expect(printRuleBook(book)).not.toMatch(/^ {6}- \{ rename/m);
});
