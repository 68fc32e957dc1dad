import { expect, test } from 'vitest';
import { createMigration } from '../../../src/library/capture-gateway.ts';
import { draftQuestions } from '../../../src/openapi/draft/draft-questions.ts';
import { printRuleBook, type ProposedRuleBook } from '../../../src/openapi/draft/print-rule-book.ts';
import { proposeRuleBook } from '../../../src/openapi/draft/propose-rule-book.ts';
import { soundDraft } from '../../../src/openapi/draft/sound-draft.ts';
import { bookIn } from '../../rules/reading.ts';

type Members = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const integer = { type: 'integer' };
const objectOf = (properties: Members, more: object = {}): object => ({
  type: 'object',
  properties,
  ...more,
});
const listOf = (items: unknown): object => ({ type: 'array', items });

/** A description of a POST that takes and returns an object with these members. */
function described(version: string, members: Members): Record<string, unknown> {
  const content = { 'application/json': { schema: objectOf({ id: text, ...members }) } };
  const post = {
    operationId: 'save',
    requestBody: { content },
    responses: { 200: { description: 'ok', content } },
  };
  return {
    openapi: '3.1.0',
    info: { title: 'T', version: '1' },
    paths: { [`/api/${version}/things`]: { post } },
  };
}

async function draftOf(v1: Members, v2: Members): Promise<ProposedRuleBook> {
  return soundDraft(proposeRuleBook(described('v1', v1), described('v2', v2)));
}

/** What V2 gets for a body, and what the client gets for the same body of V2's response. */
async function migrated(
  book: ProposedRuleBook,
  body: object,
): Promise<readonly [sent: unknown, got: unknown]> {
  const migration = createMigration(await bookIn(printRuleBook(book)));
  const fields = ['Host', 'a', 'Content-Type', 'application/json'];
  const sent = migration.request('POST', '/api/v1/things', fields, JSON.stringify(body));
  if (sent.verdict === 'passed' || sent.verdict === 'refused') throw new Error(sent.verdict);
  const got = migration.response(sent, 200, fields, sent.body);
  return [sent, got].map((one) => JSON.parse(new TextDecoder().decode(one.body ?? undefined))) as [
    unknown,
    unknown,
  ];
}

const person = objectOf({ name: text, email: text });

test.each<[what: string, v1: Members, v2: Members, body: object, sent: object]>([
  [
    'with the name of the object',
    { customer: person },
    { customer_name: text, customer_email: text },
    { customer: { name: 'a', email: 'b' } },
    { customer_name: 'a', customer_email: 'b' },
  ],
  [
    'in another spelling',
    { 'bill-to': objectOf({ full_name: text }) },
    { billToFullName: text },
    { 'bill-to': { full_name: 'a' } },
    { billToFullName: 'a' },
  ],
  [
    'with capitals in a row',
    { taxInfo: objectOf({ VATNumber: text, id: text }) },
    { tax_info_vat_number: text, tax_info_id: text },
    { taxInfo: { VATNumber: 'a', id: 'b' } },
    { tax_info_vat_number: 'a', tax_info_id: 'b' },
  ],
  [
    'from objects within each other',
    { order: objectOf({ note: text, customer: objectOf({ name: text }) }) },
    { order_note: text, order_customer_name: text },
    { order: { note: 'a', customer: { name: 'b' } } },
    { order_note: 'a', order_customer_name: 'b' },
  ],
  [
    'as an object and a list',
    { customer: objectOf({ home: person, tags: listOf(text) }) },
    { customer_home: person, customer_tags: listOf(text) },
    { customer: { home: { name: 'a' }, tags: ['b'] } },
    { customer_home: { name: 'a' }, customer_tags: ['b'] },
  ],
  [
    'out of an object that stays',
    { customer: objectOf({ name: text, phone: text }) },
    { customer: objectOf({ phone: text }), customer_name: text },
    { customer: { name: 'a', phone: 'b' } },
    { customer: { phone: 'b' }, customer_name: 'a' },
  ],
  [
    'in each element of a list',
    { lines: listOf(objectOf({ price: objectOf({ amount: integer, currency: text }) })) },
    { lines: listOf(objectOf({ price_amount: integer, price_currency: text })) },
    { lines: [{ price: { amount: 1, currency: 'a' } }, { price: { amount: 2, currency: 'b' } }] },
    {
      lines: [
        { price_amount: 1, price_currency: 'a' },
        { price_amount: 2, price_currency: 'b' },
      ],
    },
  ],
  [
    'without the name of the object, all of it',
    { customer: person },
    { name: text, email: text },
    { customer: { name: 'a', email: 'b' } },
    { name: 'a', email: 'b' },
  ],
  [
    'of two objects, with the name of each',
    { billing: objectOf({ city: text }), shipping: objectOf({ city: text }) },
    { billing_city: text, shipping_city: text },
    { billing: { city: 'a' }, shipping: { city: 'b' } },
    { billing_city: 'a', shipping_city: 'b' },
  ],
])('members leave the object around them, and come back: %s', async (_, v1, v2, body, sent) => {
  const book = await draftOf(v1, v2);
  expect(draftQuestions(book)).toEqual([]);
  expect(await migrated(book, { id: '1', ...body })).toEqual([
    { id: '1', ...sent },
    { id: '1', ...body },
  ]);
});

test.each<[what: string, v1: Members, v2: Members, lines: readonly string[], why: string]>([
  [
    'V2 has no place for one of them',
    { address: objectOf({ city: text, zip: text }) },
    { address_city: text },
    ['{ move: address.city, to: address_city }', '{ strip: address }'],
    'V2 has no place for address.zip',
  ],
  [
    'the object may be null',
    { customer: { ...person, type: ['object', 'null'] } },
    { customer_name: text, customer_email: text },
    [
      '{ move: customer.name, to: customer_name }',
      '{ move: customer.email, to: customer_email }',
      '{ strip: customer }',
    ],
    'customer may be null, which V2 would not get',
  ],
  [
    'clients may send more in it',
    { customer: objectOf({ name: text }, { additionalProperties: true }) },
    { customer_name: text },
    ['{ move: customer.name, to: customer_name }', '{ strip: customer }'],
    'V1 may have more in customer, which V2 would not get',
  ],
  [
    'a value is of another type',
    { price: objectOf({ amount: { type: 'number' } }) },
    { price_amount: integer },
    ['{ move: price.amount, to: price_amount }', '{ strip: price }'],
    'of price.amount, it is number in V1 and integer in V2',
  ],
  [
    'V2 has one of the names elsewhere as well',
    { customer: person },
    { customer_name: text, customer_email: text, party: objectOf({ customer_name: text }) },
    [
      '{ move: customer.name, to: customer_name }',
      '{ move: customer.email, to: customer_email }',
      '{ strip: customer }',
    ],
    'V2 has party.customer_name as well',
  ],
  [
    'a name without that of the object may be another member’s',
    { customer: person, title: text },
    { name: text, email: text },
    ['{ move: customer.name, to: name }', '{ move: customer.email, to: email }', '{ strip: customer }'],
    'one of them may be title',
  ],
])('a draft asks whether members left their object where %s', async (_, v1, v2, lines, why) => {
  const book = await draftOf(v1, v2);
  const parts = draftQuestions(book).flatMap((question) => question.parts);
  const part = parts.find(({ answers }) => answers[0]?.lines.join() === lines.join());
  expect([part?.why, printRuleBook(book).match(/^ +- \{ move/gm)]).toEqual([
    expect.stringContaining(why),
    null,
  ]);
});

test.each<[what: string, v1: Members, v2: Members]>([
  ['two objects have it', { a: person, b: person }, { name: text, email: text }],
  ['only one of its names is new', { customer: objectOf({ name: text, age: integer }) }, { name: text }],
  ['another member has the same words', { customer: person, customerName: text }, { customer_name: text }],
  ['V2 has a list of that name', { customer: person }, { customer: listOf(text), customer_name: text }],
  ['another type has the name', { customer: objectOf({ name: text }) }, { customer_name: integer }],
])('a draft moves nothing out of an object where %s', async (_, v1, v2) => {
  expect(printRuleBook(await draftOf(v1, v2))).not.toMatch(/^ +- \{ move: customer/m);
});
