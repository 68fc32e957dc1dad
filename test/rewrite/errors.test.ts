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

const LIST = '{ list: errors, pointer: field, text: [message] }';
const FIELDS = '{ list: error.fields, pointer: field, text: [message] }';

/** A form, an error of V2, rules that give it V1's form, and what the client gets. */
const FORMED: readonly (readonly [form: string, v2: string, rules: readonly string[], v1: string])[] = [
  [
    LIST,
    '{"errors":[{"code":"bad","field":"highlight_type","message":"highlight_type is bad"}]}',
    [
      '{ first: errors, to: problem, status: 4xx }',
      '{ unnest: problem, members: [code, message], status: 4xx }',
      '{ rename: message, to: error, status: 4xx }',
      '{ strip: problem, status: 4xx }',
    ],
    '{"code":"bad","error":"transition_type is bad"}',
  ],
  [
    LIST,
    '{"errors":[{"field":"highlight_type","message":"highlight_type is bad"}]}',
    ['{ rename: errors.*.message, to: text, status: 4xx }', '{ rename: errors, to: faults, status: 4xx }'],
    '{"faults":[{"field":"transition_type","text":"transition_type is bad"}]}',
  ],
  [
    FIELDS,
    '{"error":{"fields":[{"field":"address.suburb","message":"address.suburb is bad"}]}}',
    ['{ move: error.fields, to: faults, status: 4xx }'],
    '{"faults":[{"field":"suburb","message":"suburb is bad"}]}',
  ],
  [
    'json-api',
    '{"errors":[{"detail":"highlight_type is bad","source":{"pointer":"/highlight_type"}}]}',
    [
      '{ move: errors.*.source.pointer, to: errors.*.field, status: 4xx }',
      '{ rename: errors, to: faults, status: 4xx }',
    ],
    '{"faults":[{"detail":"transition_type is bad","field":"/data/transition_type"}]}',
  ],
  [
    'problem',
    '{"detail":"highlight_type is bad","errors":[{"detail":"highlight_type is bad","pointer":"#/highlight_type"}]}',
    ['{ rename: detail, to: error, status: 4xx }', '{ rename: errors, to: faults, status: 4xx }'],
    '{"error":"transition_type is bad","faults":[{"detail":"transition_type is bad","pointer":"#/data/transition_type"}]}',
  ],
  [
    'rails',
    '{"errors":{"highlight_type":["is bad"]}}',
    ['{ rename: errors, to: faults, status: 4xx }'],
    '{"faults":{"transition_type":["is bad"]}}',
  ],
  // A value is replaced by the text that the client would see.
  [
    LIST,
    '{"errors":[{"field":"highlight_type","message":"m"}]}',
    ['{ map: { transition_type: type }, of: errors.*.field, status: 4xx }'],
    '{"errors":[{"field":"type","message":"m"}]}',
  ],
];

test.each(
  FORMED.flatMap(([form, v2, rules, v1]) =>
    [rules, ['{ errors: true, status: 4xx }', ...rules], [...rules, '{ errors: true, status: 4xx }']].map(
      (response) => [form, response.join(', '), v2, v1] as const,
    ),
  ),
)('with the form %s, names are turned back before the rules %s', async (form, rules, v2, v1) => {
  const book = await bookOf({ top: `errors: ${form}`, response: `response: [${rules}]` });
  expect(turned(book, 'create', v2)).toBe(v1);
});

test('without a form, names are turned back where the rule stands', async () => {
  const rules = '{ first: errors, to: problem, status: 4xx }, { errors: true, status: 4xx }';
  const book = await bookOf({ response: `response: [${rules}]` });
  const v2 = '{"errors":[{"field":"highlight_type","message":"highlight_type is bad"}]}';
  expect(turned(book, 'create', v2)).toContain('"problem":{"field":"');
});

test.each([
  ['#/address/street%20name', '#/data/street'],
  ['#/address/stra%C3%9Fe', '#/data/stra%C3%9Fe'],
  ['#%2Faddress%2fstreet%20name', '#/data/street'],
  ['#/sub%20urb', '#/data/suburb%25'],
  ['#/%22%5C', '#/data/%22%5C'],
  ['#/100%', '#/data/100%'],
])('a pointer in a fragment is decoded, and encoded again: %s becomes %s', async (v2, v1) => {
  const request = `request:
      - unwrap: data
      - { nest: [street, 'straße'], under: address }
      - { rename: address.street, to: street name }
      - { rename: 'suburb%', to: sub urb }`;
  const book = await bookIn(
    `errors: problem\n${OPERATIONS}\nchanges:\n  - id: c\n    summary: s\n    on: [create]\n    ${request}\n`,
  );
  const error = (pointer: string): string => `{"errors":[{"detail":"bad","pointer":"${pointer}"}]}`;
  expect(turned(book, 'create', error(v2))).toBe(error(v1));
  expect(turned(book, 'create', error(v2.replaceAll('/', String.raw`\/`)))).toMatch(/data/);
});
