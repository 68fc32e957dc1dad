import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import { bookIn } from '../rules/reading.ts';
import { CODE_POINT } from '../support/code-point.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { bytesOf, textOf } from './notation.ts';
import { rows } from '../support/rows.ts';

const BOOK = `
errors: rails
operations: { order: POST /orders, read: 'GET /orders/{id}' }
changes:
  - id: order
    summary: s
    on: [order]
    request:
      - unwrap: data
      - { nest: [suburb, state], in: property, under: address }
      - { rename: transition_type, to: highlight_type }
      - { rename: items.*.sku, to: product_code }
      - { rename: client, to: customer_id }
      - { nest: [first, last], under: person }
      - { rename: person.first, to: given_name }
      - { move: note, to: meta.note }
    response: [{ errors: true }]
`;

const book = await bookIn(BOOK);

function turned(text: string, rules = book): string {
  const [operation] = rules.operations;
  const context = { status: 422, deprecated: [], isWrapped: true };
  return textOf(compileResponsePlans(rules).of(operation, 'POST').rewrite(bytesOf(text), context).body);
}

test.each([
  ...rows`
  {"errors":{"property.address.suburb":["is bad"]}} → {"errors":{"property.suburb":["is bad"]}}
  {"errors":{"address.suburb":["is bad"]}} → {"errors":{"suburb":["is bad"]}}
  {"errors":{"items[0].product_code":["x"],"items.1.product_code":["x"]}}
    {"errors":{"items[0].sku":["x"],"items.1.sku":["x"]}}
  {"errors":{"property[address][suburb]":["x"]}} → {"errors":{"property[suburb]":["x"]}}
  {"errors":{"meta.note":["x"],"person.given_name":["x"]}} → {"errors":{"note":["x"],"first":["x"]}}
  {"errors":{"address":{"suburb":["x"]},"items":[{"product_code":["x"]}]}}
    {"errors":{"address":{"suburb":["x"]},"items":[{"sku":["x"]}]}}
  {"errors":{"base":["highlight_type is bad"]}} → {"errors":{"base":["transition_type is bad"]}}
  {"errors":{"highlight\u005ftype":"is bad"}} → {"errors":{"transition_type":"is bad"}}
  {"errors":{"suburb":[ ] , "address.suburb":[ "highlight_type" ]}}
    {"errors":{"suburb":[ "transition_type"]}}
  {"errors":{"address.suburb":"a","suburb":"b"}} → {"errors":{"address.suburb":"a","suburb":"b"}}
  {"errors":["Customer must exist","Customers are many","Person given name is bad"]}
    {"errors":["Client must exist","Customers are many","First is bad"]}
  {"errors":["Items product code is bad","Meta note is bad","Product code is bad"]}
    {"errors":["Items sku is bad","Note is bad","Sku is bad"]}
  {"errors":"Highlight type is bad"} → {"errors":"Transition type is bad"}
  {"error":"highlight_type is bad","message":"address.suburb","status":422}
    {"error":"transition_type is bad","message":"suburb","status":422}
  {"errors":null,"highlight_type":["x"]} → {"errors":null,"highlight_type":["x"]}
  {"errors":{"a[":["x"],"highlight_type[":["x"]}} → {"errors":{"a[":["x"],"highlight_type[":["x"]}}
`,
  // Names as keys; those of lists, of nested objects, and in brackets.
  ['{"errors":{"highlight_type":["is bad"]}}', '{"errors":{"transition_type":["is bad"]}}'],
  // Bytes outside of names stay.
  [
    ' { "errors" : {\t"highlight_type" : [ "is \\u0062ad" , 1.50 ] ,"x":1e400} , "status" : 422 }',
    ' { "errors" : {\t"transition_type" : [ "is \\u0062ad" , 1.50 ] ,"x":1e400} , "status" : 422 }',
  ],
  // Two names of V2 that are one of V1.
  [
    '{"errors":{"address.suburb":["a"],"x":[],"suburb":["b","c"]}}',
    '{"errors":{"suburb":["a","b","c"],"x":[]}}',
  ],
  // Sentences.
  [
    `{"errors":["Highlight type can't be blank","Property address suburb is too long","Address suburb is bad"]}`,
    `{"errors":["Transition type can't be blank","Property suburb is too long","Suburb is bad"]}`,
  ],
  // Other shapes: names in texts.
  [
    '{"errors":[{"detail":"x","source":{"pointer":"/highlight_type"}}]}',
    '{"errors":[{"detail":"x","source":{"pointer":"/transition_type"}}]}',
  ],
])('%s', (v2, v1) => {
  expect(turned(v2)).toBe(v1);
});

test('a sentence of details is replaced whole, before a name in it', async () => {
  const rules = await bookIn(
    BOOK.replace('errors: true', 'errors: { details: { Customer is frozen: Client sleeps } }'),
  );
  expect(turned('{"errors":["Customer is frozen","Customer is bad"]}', rules)).toBe(
    '{"errors":["Client sleeps","Client is bad"]}',
  );
});

test('names in errors of reads are turned back like those of writes', () => {
  const [, read] = book.operations;
  const context = { status: 404, deprecated: [], isWrapped: false };
  const { body } = compileResponsePlans(book)
    .of(read, 'GET')
    .rewrite(bytesOf('{"errors":{"highlight_type":["x"]}}'), context);
  expect(textOf(body)).toBe('{"errors":{"transition_type":["x"]}}');
});

/** An oracle that parses and prints: V1's name of each key, lists of one name joined. */
const V1_NAMES: Readonly<Record<string, string>> = {
  highlight_type: 'transition_type',
  'address.suburb': 'suburb',
  'items[3].product_code': 'items[3].sku',
};

test('the values are those that an independent reading finds, for any keys', () => {
  const key = fc.constantFrom(...Object.keys(V1_NAMES), 'suburb', 'transition_type', 'base', 'x');
  const message = fc
    .string({ unit: CODE_POINT })
    .filter((text) => !/highlight_type|address|product_code|person|meta|customer_id|given_name/.test(text));
  const errors = fc.uniqueArray(fc.tuple(key, fc.array(message, { maxLength: 3 })), {
    selector: ([name]) => name,
  });
  fc.assert(
    fc.property(errors, fc.constantFrom(undefined, 2), (entries, space) => {
      const expected = new Map<string, string[]>();
      for (const [name, messages] of entries) {
        const v1 = V1_NAMES[name] ?? name;
        expected.set(v1, [...(expected.get(v1) ?? []), ...messages]);
      }
      const text = JSON.stringify({ errors: Object.fromEntries(entries), status: 422 }, undefined, space);
      const found = JSON.parse(turned(text)) as { errors: Record<string, string[]> };
      expect(found).toEqual({ errors: Object.fromEntries(expected), status: 422 });
      expect(Object.keys(found.errors)).toEqual([...expected.keys()]);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

const CHAIN = `
operations: { order: POST /orders }
changes:
  - id: order
    summary: s
    on: [order]
    request:
      - { nest: [suburb, state], under: address }
      - { rename: address.suburb, to: locality }
      - { rename: address, to: location }
      - { split: name, with: ' ', to: [first, last] }
    response: [{ errors: true }]
`;

test.each(rows`
  {"errors":{"location":{"locality":["is bad"]}}} → {"errors":{"suburb":["is bad"]}}
  {"errors":{"location":{"locality":["a"],"state":["b"]}}} → {"errors":{"suburb":["a"],"state":["b"]}}
  {"errors":{ "location" : { "locality" : ["a"] } ,"x":1}} → {"errors":{ "suburb" : ["a"]  ,"x":1}}
  {"errors":{"location":{"locality":["a"]},"suburb":["b"]}} → {"errors":{"location":{"suburb":["a"]},"suburb":["b"]}}
  {"errors":{"first":["a"],"last":["b"]}} → {"errors":{"name":["a","b"]}}
  {"errors":{"first":[{"locality":["a"]}],"last":[{"locality":["location.locality"]}]}}
    {"errors":{"name":[{"suburb":["a"]},{"suburb":["suburb"]}]}}
  {"errors":{"x":{"first":[1],"last":[{"location":{"locality":["a"]}}]}}}
    {"errors":{"x":{"name":[1,{"suburb":["a"]}]}}}
  {"errors":{"location":{"first":["a"],"last":["b"]}}} → {"errors":{"location":{"name":["a","b"]}}}
`)('a container that is renamed after it was made, and parts of one member: %s', async (v2, v1) => {
  expect(turned(v2, await bookIn(CHAIN))).toBe(v1);
});

/** Rules that make, rename and empty the same few objects, in any order. */
const anyRule = (() => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const inside = fc.constantFrom('', 'd.', 'e.');
  return fc.oneof(
    fc
      .tuple(fc.subarray(['a', 'b', 'c'], { minLength: 1 }), fc.constantFrom('d', 'e'))
      .map(([members, under]) => `{ nest: [${members.join(', ')}], under: ${under} }`),
    fc
      .tuple(inside, name, fc.constantFrom('e', 'f', 'g'))
      .map(([at, member, to]) => `{ rename: ${at}${member}, to: ${to} }`),
    fc.tuple(name, fc.constantFrom('d.a', 'g.h', 'e.f')).map(([from, to]) => `{ move: ${from}, to: ${to} }`),
    name.map((member) => `{ split: ${member}, with: ' ', to: [${member}1, f] }`),
    fc.constantFrom('{ join: [a, b], with: " ", to: f }', '{ list: c, to: g }'),
  );
})();

const anyErrors = (() => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'a1', 'b1', 'd.a', 'e[f]', 'loc');
  const { errors } = fc.letrec<{ errors: unknown }>((tie) => ({
    errors: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom('d.a is bad', '/d/a', 'e[f]', 'f', 7, null),
      fc.array(tie('errors'), { maxLength: 3 }),
      fc.dictionary(name, tie('errors'), { maxKeys: 4 }),
    ),
  }));
  return errors;
})();

/** How many strings and scalars stand in a value. */
function leaves(value: unknown): number {
  if (value === null || typeof value !== 'object') return 1;
  return Object.values(value).reduce<number>((count, inner) => count + leaves(inner), 0);
}

test('any rules turn any errors into JSON that still has all of them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRule, { minLength: 1, maxLength: 4 }),
      fc.constantFrom('json-api', 'rails', 'problem'),
      fc.array(anyErrors, { minLength: 1, maxLength: 6 }),
      fc.constantFrom(undefined, 1),
      async (rules, form, bodies, space) => {
        const source = CHAIN.replace(
          /(request:\n)[^]*?(?=\n {4}response)/,
          `$1${rules.map((rule) => `      - ${rule}`).join('\n')}`,
        );
        const read = await bookIn(`errors: ${form}${source}`).catch(() => undefined);
        fc.pre(read !== undefined);
        for (const errors of bodies) {
          const body = { errors, detail: 'd.a is bad', invalid_params: errors };
          const found: unknown = JSON.parse(turned(JSON.stringify(body, undefined, space), read));
          expect(leaves(found)).toBe(leaves(body));
        }
      },
    ),
    { numRuns: fuzzRuns(300) },
  );
});
