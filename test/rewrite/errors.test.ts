import { describe, expect, test } from 'vitest';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import { bookIn } from '../rules/reading.ts';
import { bytesOf, textOf } from './notation.ts';

const OPERATIONS =
  "operations: { create: POST /orders, update: 'PATCH /orders/{id}', read: 'GET /orders/{id}', pay: POST /payments }";
const REQUEST = `request:
      - unwrap: data
      - { nest: [suburb], under: address }
      - { rename: transition_type, to: highlight_type }`;

interface BookParts {
  readonly top?: string;
  readonly on?: string;
  readonly response?: string;
}

async function bookOf({ top = '', on = '[create, update]', response = '' }: BookParts): Promise<RuleBook> {
  return bookIn(
    `${top}\n${OPERATIONS}\nchanges:\n  - id: c\n    summary: s\n    on: ${on}\n    ${REQUEST}\n    ${response}\n`,
  );
}

function turned(book: RuleBook, id: string | undefined, text: string, status = 422): string {
  const operation = book.operations.find((one) => one.id === id);
  const context = { status, deprecated: [], isWrapped: true };
  const plan = compileResponsePlans(book).of(operation, id === 'read' ? 'GET' : 'POST');
  return textOf(plan.rewrite(bytesOf(text), context).body);
}

const V2 = {
  problem:
    '{"title":"highlight_type is bad","errors":[{"detail":"address.suburb is bad","pointer":"#/highlight_type"}]}',
  'json-api': '{"errors":[{"detail":"highlight_type is bad","source":{"pointer":"/address/suburb"}}]}',
  rails: '{"errors":{"highlight_type":["is bad"],"address.suburb":["is bad"]}}',
  '{ list: error.fields, pointer: field, text: [message] }':
    '{"error":{"fields":[{"field":"highlight_type","message":"highlight_type is bad"}]}}',
} as const;
const V1 = {
  problem:
    '{"title":"transition_type is bad","errors":[{"detail":"suburb is bad","pointer":"#/data/transition_type"}]}',
  'json-api': '{"errors":[{"detail":"transition_type is bad","source":{"pointer":"/data/suburb"}}]}',
  rails: '{"errors":{"transition_type":["is bad"],"suburb":["is bad"]}}',
  '{ list: error.fields, pointer: field, text: [message] }':
    '{"error":{"fields":[{"field":"transition_type","message":"transition_type is bad"}]}}',
} as const;
const FORMS = [
  'problem',
  'json-api',
  'rails',
  '{ list: error.fields, pointer: field, text: [message] }',
] as const;

describe('a book with errors at the top turns names back without a rule for it', () => {
  test.each(
    FORMS.flatMap((form) =>
      [
        '',
        'response: [inverse]',
        'response: [{ errors: true }]',
        'response: [inverse, { errors: true }]',
      ].map((response) => [form, response] as const),
    ),
  )('%s, %j', async (form, response) => {
    const book = await bookOf({ top: `errors: ${form}`, response });
    for (const id of ['create', 'update']) expect(turned(book, id, V2[form])).toBe(V1[form]);
    expect(turned(book, 'create', V2[form], 503)).toBe(V1[form]);
    // Its reads have the names of its writes; another resource has its own.
    expect(turned(book, 'read', V2[form])).toBe(V1[form]);
    expect(turned(book, 'pay', V2[form])).toBe(V2[form]);
    expect(turned(book, 'create', V2[form], 200)).toBe(V2[form]);
  });

  test.each(FORMS)('%s, in the operations that the book does not name', async (form) => {
    const book = await bookOf({ top: `errors: ${form}`, on: 'every', response: 'response: [inverse]' });
    for (const id of ['create', 'read', 'pay', undefined]) expect(turned(book, id, V2[form])).toBe(V1[form]);
  });
});

test.each(FORMS)('a book without errors at the top needs a rule: %s stays', async (form) => {
  const book = await bookOf({ response: 'response: [inverse]' });
  for (const id of ['create', 'read']) expect(turned(book, id, V2[form])).toBe(V2[form]);
});

test('a rule of the operation says in which statuses', async () => {
  const book = await bookOf({ top: 'errors: rails', response: 'response: [{ errors: true, status: 409 }]' });
  expect(turned(book, 'create', V2.rails, 409)).toBe(V1.rails);
  expect(turned(book, 'create', V2.rails, 422)).toBe(V2.rails);
});
