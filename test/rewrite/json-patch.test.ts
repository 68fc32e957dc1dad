import * as fc from 'fast-check';
import fastJsonPatch, { type Operation } from 'fast-json-patch';
import { describe, expect, test } from 'vitest';
import { scalarOf } from '../../src/json/names.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { JsonPatchPlan } from '../../src/rewrite/json-patch.ts';
import type { Policies } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { bookOf, planOf } from '../support/plan-of.ts';
import { bytesOf, textOf } from './notation.ts';
import { rows, words } from '../support/rows.ts';

const RULES: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  { rule: 'nest', members: ['street', 'suburb'], in: ['property'], under: 'address' },
  { rule: 'rename', member: 'old', in: [], to: 'new' },
  { rule: 'rename', member: 'q', in: ['lines', '*'], to: 'quantity' },
  { rule: 'strip', members: ['legacy'], in: [] },
  {
    rule: 'map',
    member: 'kind',
    in: [],
    values: [{ from: { isString: true, text: 'day' }, to: { isString: true, text: 'daylight' } }],
  },
  { rule: 'default', member: 'currency', in: [], json: '"AUD"', value: 'AUD' },
];

function planFor(policies: Partial<Policies> = {}, rules = RULES): JsonPatchPlan {
  const book = bookOf(rules, policies);
  return new JsonPatchPlan(book, book.changes);
}

function outcomeOf(text: string, plan = planFor()): string {
  const body = bytesOf(text);
  const outcome = plan.rewrite(body);
  if (outcome.verdict === 'refused') return `${outcome.refusal.code} ${outcome.refusal.pointer ?? ''}`;
  if (outcome.verdict === 'rewritten' && outcome.patch.length > 0)
    expect(textOf(applyEdits(body, outcome.edits))).toBe(textOf(outcome.body));
  return textOf(outcome.body);
}

describe('pointers and values follow the rules', () => {
  test.each(rows`
    {"op":"replace","path":"/data/old","value":1.0} → {"op":"replace","path":"/new","value":1.0}
    {"op":"remove","path":"/old"} → {"op":"remove","path":"/new"}
    { "path" : "/data/property/suburb" ,"op":"add","value": "é"}
      { "path" : "/property/address/suburb" ,"op":"add","value": "é"}
    {"op":"add","path":"/data/lines/-","value":{"q":1,"x":[]}}
      {"op":"add","path":"/lines/-","value":{"quantity":1,"x":[]}}
    {"op":"replace","path":"/data/lines/12/q","value":2}
      {"op":"replace","path":"/lines/12/quantity","value":2}
    {"op":"move","from":"/data/old","path":"/data/other"} → {"op":"move","from":"/new","path":"/other"}
    {"op":"copy","from":"/data/property/street","path":"/data/old"}
      {"op":"copy","from":"/property/address/street","path":"/new"}
    {"op":"test","path":"/data/kind","value":"day"} → {"op":"test","path":"/kind","value":"daylight"}
    {"op":"replace","path":"/data","value":{"old":1}} → {"op":"replace","path":"","value":{"new":1}}
    {"op":"replace","path":"/data/property","value":{"suburb":"x","b":1}}
      {"op":"replace","path":"/property","value":{"address":{"suburb":"x"},"b":1}}
    {"op":"remove","path":"\/data\/a~1b"} → {"op":"remove","path":"/a~1b"}
    {"op":"remove","path":"/property/lot","value":1} → {"op":"remove","path":"/property/lot","value":1}
  `)('%s becomes %s', (before, after) => {
    expect(outcomeOf(`[${before}]`)).toBe(`[${after}]`);
  });

  test.each(rows`
    {"op":"replace","path":"/years/2024","value":1} → {"op":"replace","path":"/years/this","value":1}
    {"op":"remove","path":"/years/2023"} → {"op":"remove","path":"/years/2023"}
    {"op":"add","path":"/lines/7/size","value":1} → {"op":"add","path":"/lines/7/length","value":1}
    {"op":"add","path":"/lines/7/sums/1","value":2} → {"op":"add","path":"/lines/7/sums/net","value":2}
    {"op":"test","path":"/prices/1","value":"a"} → {"op":"test","path":"/prices/1","value":"b"}
    {"op":"move","from":"/years/2024","path":"/lines/-/size"}
      {"op":"move","from":"/years/this","path":"/lines/-/length"}
    {"op":"remove","path":"/0"} → {"op":"remove","path":"/first"}
  `)('a number is the name of a member if the rules name it: %s becomes %s', (before, after) => {
    const plan = planFor({}, [
      { rule: 'rename', member: '2024', in: ['years'], to: 'this' },
      { rule: 'rename', member: '0', in: [], to: 'first' },
      { rule: 'rename', member: 'size', in: ['lines', '*'], to: 'length' },
      { rule: 'rename', member: '1', in: ['lines', '*', 'sums'], to: 'net' },
      { rule: 'map', member: '1', in: ['prices'], values: [{ from: scalarOf('a'), to: scalarOf('b') }] },
    ]);
    expect(outcomeOf(`[${before}]`, plan)).toBe(`[${after}]`);
  });

  test('a place whose null has another value in V2 stays the same place', () => {
    const values = [{ from: scalarOf(null), to: scalarOf('none') }];
    const plan = planFor({}, [{ rule: 'map', member: 'kind', in: [], values }]);
    const operation = '[{"op":"remove","path":"/kind"}]';
    expect(outcomeOf(operation, plan)).toBe(operation);
  });

  test.each([
    ['{"op":"replace","path":"/tags","value":"a,b"}', '{"op":"replace","path":"/words","value":["a","b"]}'],
    ['{"op":"remove","path":"/tags"}', '{"op":"remove","path":"/words"}'],
    [
      '{"op":"test","path":"/fields","value":{"a":1}}',
      '{"op":"test","path":"/fields","value":[{"k":"a","v":1}]}',
    ],
    ['{"op":"add","path":"/fields/a","value":1}', 'unconvertible-value /0/path'],
    ['{"op":"add","path":"/mails/-","value":1}', 'unconvertible-value /0/path'],
    ['{"op":"move","from":"/mails/0","path":"/x"}', 'unconvertible-value /0/from'],
    ['{"op":"add","path":"/mails","value":[1]}', '{"op":"add","path":"/mails","value":[{"v":1}]}'],
  ])('a list that a value becomes can only be replaced as a whole: %s', (operation, outcome) => {
    const plan = planFor({}, [
      { rule: 'list', member: 'tags', in: [], to: 'words', elements: { are: 'texts', with: ',' } },
      { rule: 'list', member: 'mails', in: [], to: 'mails', elements: { are: 'objects', of: 'v' } },
      {
        rule: 'entries',
        member: 'fields',
        in: [],
        to: 'fields',
        elements: { are: 'pairs', name: 'k', value: 'v' },
      },
    ]);
    expect(outcomeOf(`[${operation}]`, plan)).toBe(outcome.startsWith('{') ? `[${outcome}]` : outcome);
  });

  test.each(rows`
    {"op":"add","path":"/customer/name","value":"A"} → {"op":"add","path":"/customer_name","value":"A"}
    {"op":"remove","path":"/customer/name"} → {"op":"remove","path":"/customer_name"}
    {"op":"test","path":"/customer/name","value":{}} → {"op":"test","path":"/customer_name","value":{}}
    {"op":"add","path":"/customer/name","value":[{}]} → {"op":"add","path":"/customer_name","value":[{}]}
    {"op":"add","path":"/a/b/c","value":{"x":1}} → {"op":"add","path":"/d/e","value":{"x":1}}
    {"op":"add","path":"/a/b/c/0/z","value":1} → {"op":"add","path":"/d/e/0/z","value":1}
    {"op":"copy","from":"/customer/name","path":"/flat"}
      {"op":"copy","from":"/customer_name","path":"/deep/x"}
    {"op":"add","path":"/lines/3/of/sku","value":1} → {"op":"add","path":"/lines/3/sku","value":1}
    {"op":"add","path":"/customer","value":{"id":1,"x":{}}}
      {"op":"add","path":"/customer","value":{"id":1,"x":{}}}
    {"op":"add","path":"/customer","value":{}} → {"op":"add","path":"/customer","value":{}}
    {"op":"add","path":"/customer","value":{"name":1}} → unconvertible-value /0/value
    {"op":"add","path":"/customer","value":{"name":{}}} → unconvertible-value /0/value
    {"op":"add","path":"/a","value":{"b":{"c":{}}}} → unconvertible-value /0/value
  `)('a member that leaves its object: %s', (operation, outcome) => {
    const move = (from: string, to: string, inside = ''): RequestRule => {
      const [path, source, target] = [inside, from, to].map((text) => text.split('.').filter(Boolean));
      return { rule: 'move', in: path ?? [], from: source ?? [], to: target ?? [] };
    };
    const plan = planFor({}, [
      move('customer.name', 'customer_name'),
      move('a.b.c', 'd.e'),
      move('flat', 'deep.x'),
      move('of.sku', 'sku', 'lines.*'),
    ]);
    expect(outcomeOf(`[${operation}]`, plan)).toBe(outcome.startsWith('{') ? `[${outcome}]` : outcome);
  });

  test.each([
    ['{"op":"remove","path":"/old"}', '{"op":"remove","path":"/new"}'],
    ['{"op":"remove","path":"/other"}', '{"op":"remove","path":"/other"}'],
  ])('a byte order mark goes: %s', (before, after) => {
    const outcome = planFor().rewrite(bytesOf(`\ufeff[${before}]`));
    expect([outcomeOf(`\ufeff[${before}]`), 'records' in outcome && outcome.records[0]]).toEqual([
      `[${after}]`,
      { change: 'byte-order-mark', rule: 'strip', note: 'byte-order-mark' },
    ]);
  });

  test('an operation on a place that V2 does not have is dropped, with one comma', () => {
    const keep = '{"op":"remove","path":"/a"}';
    const drop = '{"op":"remove","path":"/data/legacy"}';
    expect(outcomeOf(`[ ${drop} , ${keep} , ${drop},${drop} ,${keep} ]`)).toBe(`[ ${keep} ,${keep} ]`);
    expect(outcomeOf(`[ ${drop} ]`)).toBe('[  ]');
    const outcome = planFor().rewrite(bytesOf(`[${drop},${keep},${drop}]`));
    expect('records' in outcome && outcome.records).toEqual([
      { change: 'change', rule: 'unwrap', from: '/data', path: '' },
      { change: 'change', rule: 'strip', from: '/data/legacy' },
      { change: 'change', rule: 'unwrap', from: '', path: '', note: 'already-flat' },
    ]);
    expect('patch' in outcome && outcome.patch).toEqual([
      { op: 'remove', path: '/0' },
      { op: 'remove', path: '/1' },
    ]);
  });
});

describe('what cannot be migrated is refused', () => {
  test.each([
    ['{"op":"add"}', 'malformed-patch '],
    ['[1]', 'malformed-patch /0'],
    ['[{"op":"remove","path":"/a"},{"op":"merge","path":"/a"}]', 'malformed-patch /1/op'],
    ['[{"op":"remove","path":"a"}]', 'malformed-patch /0/path'],
    ['[{"op":"move","path":"/a"}]', 'malformed-patch /0/from'],
    ['[{"op":"add","path":"/a"}]', 'malformed-patch /0'],
    [String.raw`[{"op":"remove","path":"/a","p\u0061th":"/b"}]`, 'duplicate-member /0/path'],
    ['[', 'malformed-json '],
  ])('%s: %s', (text, refusal) => {
    expect(outcomeOf(text)).toBe(refusal);
    expect(outcomeOf(text, planFor({ malformed: 'forward' }))).toBe(text);
  });

  test('by a rule, with its place in the patch', () => {
    expect(outcomeOf('[{"op":"replace","path":"/data","value":1}]')).toBe('wrapper-not-object /0/value');
    const scale: RequestRule = { rule: 'move', from: ['who', 'name'], to: ['name'], in: [] } as never;
    expect(outcomeOf('[{"op":"add","path":"/who","value":{"name":1,"b":2}}]', planFor({}, [scale]))).toBe(
      'unconvertible-value /0/value',
    );
    const separated = { in: [], with: ', ', at: 'last' } as const;
    const split: RequestRule = { rule: 'split', member: 'name', to: ['first', 'last'], ...separated };
    const join: RequestRule = { rule: 'join', members: ['first', 'last'], to: 'name', ...separated };
    for (const operation of ['"op":"replace","value":"a, b",', '"op":"remove",', '"op":"test","value":"",']) {
      const parts = planFor({}, [split]);
      expect(outcomeOf(`[{${operation}"path":"/name"}]`, parts)).toBe('unconvertible-value /0/path');
      expect(outcomeOf(`[{${operation}"path":"/last"}]`, planFor({}, [join]))).toBe(
        'unconvertible-value /0/path',
      );
    }
    expect(outcomeOf('[{"op":"move","from":"/name","path":"/x"}]', planFor({}, [split]))).toBe(
      'unconvertible-value /0/from',
    );
    expect(outcomeOf('[{"op":"add","path":"/x","value":{"old":1,"old":2}}]')).toBe(
      '[{"op":"add","path":"/x","value":{"old":1,"old":2}}]',
    );
    expect(outcomeOf('[{"op":"add","path":"/data","value":{"old":1,"old":2}}]')).toBe(
      'duplicate-member /0/value/old',
    );
  });
});

test('a merge patch names what changes: nothing is added to it', () => {
  const outcome = planFor().merge.rewrite(bytesOf('{"data":{"old":null}}'));
  expect(textOf(outcome.verdict === 'refused' ? new Uint8Array() : outcome.body)).toBe('{"new":null}');
});

const value = fc.oneof(fc.integer(), fc.constantFrom<unknown>('day', null, 'x', [], {}));
const address = fc.record({ street: value, suburb: value });
const resource = fc.record({
  old: value,
  kind: value,
  legacy: value,
  other: value,
  property: address,
  lines: fc.array(fc.record({ q: value }), { minLength: 2, maxLength: 3 }),
});
const pointer = fc.constantFrom(
  ...words`/old /kind /legacy /other /property/street /property/suburb /lines/0/q /lines/1/q`,
);
const operation = fc.oneof(
  fc
    .tuple(fc.constantFrom('add', 'replace'), pointer, value)
    .map(([op, path, given]) => ({ op, path, value: given })),
  fc.tuple(fc.record({ q: value })).map(([given]) => ({ op: 'add', path: '/lines/-', value: given })),
  // A value is mapped at its own place; a copy of it at another place is another value.
  fc.constantFrom(
    { op: 'copy', from: '/old', path: '/property/street' },
    { op: 'copy', from: '/lines/0/q', path: '/other' },
  ),
) as fc.Arbitrary<Operation>;

test('a patch that is migrated and applied in V2 gives V2’s form of the resource that V1 would have', () => {
  const rules = RULES.filter(({ rule }) => rule !== 'default');
  const [plan, body] = [planFor({}, rules), planOf(rules)];
  const v2 = (given: unknown): unknown => {
    const outcome = body.rewrite(bytesOf(JSON.stringify({ data: given })));
    return outcome.verdict === 'refused' ? outcome.refusal : JSON.parse(textOf(outcome.body));
  };
  fc.assert(
    fc.property(
      resource,
      fc.array(operation, { maxLength: 5 }),
      fc.boolean(),
      (before, operations, isWrapped) => {
        const after = fastJsonPatch.applyPatch(structuredClone(before), operations).newDocument;
        const prefix = isWrapped ? '/data' : '';
        const sent = operations.map((one) => ({
          ...one,
          path: prefix + one.path,
          ...('from' in one ? { from: prefix + one.from } : {}),
        }));
        const outcome = plan.rewrite(bytesOf(JSON.stringify(sent)));
        if (outcome.verdict === 'refused') throw new Error(outcome.refusal.detail);
        const migrated = JSON.parse(textOf(outcome.body)) as Operation[];
        expect(fastJsonPatch.applyPatch(v2(before), migrated).newDocument).toEqual(v2(after));
        if (outcome.verdict === 'rewritten' && outcome.patch.length > 0)
          expect(
            fastJsonPatch.applyPatch<unknown>(structuredClone(sent), [...outcome.patch] as Operation[])
              .newDocument,
          ).toEqual(migrated);
      },
    ),
    { numRuns: fuzzRuns(500) },
  );
});

test('any bytes get a verdict', () => {
  const plan = planFor();
  fc.assert(
    fc.property(fc.oneof(fc.json(), fc.string()), (text) => {
      expect(['rewritten', 'unchanged', 'refused']).toContain(plan.rewrite(bytesOf(text)).verdict);
    }),
    { numRuns: fuzzRuns(500) },
  );
});
