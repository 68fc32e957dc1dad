import fastJsonPatch from 'fast-json-patch';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../src/json/edit.ts';
import { compilePlans } from '../../src/rewrite/plan.ts';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import type { ResponseRewrite } from '../../src/rewrite/response-rules.ts';
import type { ResponseContext } from '../../src/rewrite/response-rules.ts';
import type { Change, Operation, RuleBook } from '../../src/rules/rule-book.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { bookIn } from '../rules/reading.ts';
import { bookOf } from '../support/plan-of.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { anyDocument, ruleOf } from './documents.ts';
import { bytesOf, textOf } from './notation.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { rows } from '../support/rows.ts';

const OK: ResponseContext = { status: 200, deprecated: [], isWrapped: true };
const INVERSE: ResponseRule = { rule: 'inverse', status: ['2xx'] };

const operation = (id: string, method: string, template: string): Operation => {
  return { id, method, template, assumed: false };
};
const WRITE = operation('write', 'POST', '/things');
const READ = operation('read', 'GET', '/things/{id}');
const LIST = operation('list', 'GET', '/things');
const HOUSE = {
  ...operation('house', 'GET', '/houses/{id}'),
  embeds: [{ path: ['rooms', '*'], operation: 'write' }],
};

function change(id: string, request: readonly RequestRule[], isInverse = true): Change {
  const response = isInverse ? [INVERSE] : [];
  return { id, summary: 's', on: ['write'], request, response, policies: {}, assumed: false };
}

function book(changes: readonly Change[]): RuleBook {
  const unwrap = { ...change('wrapper', [{ rule: 'unwrap', member: 'data' }], false), on: 'every' as const };
  return { ...bookOf([]), operations: [WRITE, READ, LIST, HOUSE], changes: [unwrap, ...changes] };
}

function answered(rules: RuleBook, to: Operation, text: string): ResponseRewrite {
  return compileResponsePlans(rules).of(to, to.method).rewrite(bytesOf(text), OK);
}

test.each([READ, LIST, operation('delete', 'DELETE', '/things/{id}')])(
  'errors of $method $template have the names that writes have, and no others',
  (to) => {
    const errors: ResponseRule = { rule: 'errors', details: {}, status: ['4xx'] };
    const rename = change('rename', [{ rule: 'rename', member: 'a', in: [], to: 'b' }]);
    const rules = book([{ ...rename, response: [errors] }]);
    const plans = compileResponsePlans({ ...rules, operations: [...rules.operations, to] });
    const text = '{"errors":[{"detail":"b","source":{"pointer":"/b"}}]}';
    const context = { ...OK, status: 409, isWrapped: false };
    expect(textOf(plans.of(to, to.method).rewrite(bytesOf(text), context).body)).toBe(
      '{"errors":[{"detail":"a","source":{"pointer":"/a"}}]}',
    );
    expect(plans.of(to, to.method).appliesTo(200, false)).toBe(false);
    expect(plans.of(HOUSE, 'GET').appliesTo(409, false)).toBe(false);
  },
);

// What V1 could send has none of the names that the rules give: those are V2's.
const V1_NAMES = ['a', 'b', 'c', 'p', 'q'];
const member = fc.constantFrom(...V1_NAMES);
const inside = fc.array(fc.constantFrom('p', 'q', '*', 'N0', 'N1', 'R0', 'R1'), { maxLength: 3 });
const rule = (k: number): fc.Arbitrary<RequestRule> =>
  fc.oneof(
    ruleOf('nest', {
      members: fc.subarray([...V1_NAMES, 'R0', 'N0'], { minLength: 1 }),
      in: inside,
      under: fc.constant(`N${k}`),
    }),
    ruleOf('rename', { member: fc.oneof(member, fc.constant('N0')), in: inside, to: fc.constant(`R${k}`) }),
  );
const rules = fc
  .integer({ min: 1, max: 5 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, k) => rule(k))))
  .map((all) => all.filter((one) => 'in' in one && one.in[0] !== '*' && !isItsOwn(one)));
const isItsOwn = (one: RequestRule): boolean => one.rule === 'nest' && one.members.includes(one.under);
const space = fc.constantFrom('', '', ' ', '\n\t');
const parameters = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('0', '-0', '10.50', '1E400', '"\\u0061"', '""', '{}', '[ ]', 'null', '"é"'),
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(space, fc.constantFrom(...V1_NAMES, 'x', 'y'), space, tie('value')), {
      maxLength: 6,
      selector: ([, name]) => name,
    })
    .map((all) => `{${all.map(([a, name, b, value]) => `${a}"${name}"${b}:${a}${value}${b}`).join(',')}}`),
})).object;

/** Where a response carries the resource. */
const place = fc.constantFrom<readonly string[]>(['data'], ['_embedded', 'things'], []);

/** A response with the resource `text` there. */
function enveloped(text: string, at: readonly string[]): string {
  return at.reduceRight((value, name) => `{"meta":{},${JSON.stringify(name)}:${value}}`, text);
}

/** What V2 has stored once the gateway has migrated `text`. */
function stored(rules: RuleBook, text: string): string {
  const outcome = compilePlans(rules)
    .of(WRITE)
    .rewrite(bytesOf(`{"data":${text}}`));
  if (outcome.verdict === 'refused') throw new Error(outcome.refusal.detail);
  return textOf(outcome.body);
}

/** The body that an independent library makes of V2's with the patch in the log; copies lose the sign of -0. */
function patched(outcome: ResponseRewrite, text: string): unknown {
  if (outcome.verdict !== 'rewritten' || outcome.omitted > 0) return plain(JSON.parse(textOf(outcome.body)));
  const patch = structuredClone(outcome.patch) as fastJsonPatch.Operation[];
  return plain(fastJsonPatch.applyPatch(JSON.parse(text), patch, true, true, false).newDocument);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

describe('the inverse', () => {
  test('gives back what V1 could send, at every place of the resource in a response', () => {
    const runs = fuzzRuns(500, 200);
    let undone = 0;
    fc.assert(
      fc.property(
        rules,
        fc.integer({ min: 1, max: 3 }),
        parameters,
        parameters,
        place,
        (all, parts, one, other, at) => {
          const changes = Array.from({ length: parts }, (_, k) =>
            change(`c${k}`, all.slice(...[k, k + 1].map((part) => Math.floor((part * all.length) / parts)))),
          );
          const rules = { ...book(changes), resource: at };
          const [a, b] = [stored(rules, one), stored(rules, other)];
          const answers: readonly [Operation, string, string][] = [
            [WRITE, a, one],
            [READ, b, other],
            [LIST, `[${a}, ${b},7]`, `[${one},${other},7]`],
            [HOUSE, `{"rooms":[${a},${b}]}`, `{"rooms":[${one},${other}]}`],
            [HOUSE, `[{"rooms":[${a}]}]`, `[{"rooms":[${one}]}]`],
          ];
          for (const [operation, ...resources] of answers) {
            const [v2 = '', v1 = ''] = resources.map((text) => enveloped(text, at));
            const outcome = answered(rules, operation, v2);
            if (outcome.verdict === 'rewritten') undone += 1;
            expect(JSON.parse(textOf(outcome.body))).toEqual(JSON.parse(v1));
            expect(patched(outcome, v2)).toEqual(plain(JSON.parse(v1)));
          }
        },
      ),
      { numRuns: runs },
    );
    expect(undone).toBeGreaterThan(runs / 5);
  });

  test('finds the resource of an operation at its place, and notes a response without one', () => {
    const rules = book([change('c', [{ rule: 'rename', member: 'a', in: [], to: 'b' }])]);
    const bare = { ...LIST, id: 'bare', resource: [] };
    const inItems = { ...READ, id: 'items', resource: ['page', 'items'] };
    const all = { ...rules, operations: [...rules.operations.slice(0, 1), bare, inItems] };
    const cases: readonly [Operation, string, string | undefined][] = [
      [WRITE, '{"data":{"b":1},"b":2}', '{"data":{"a":1},"b":2}'],
      [bare, '[ {"b":10.50} , 7, {"x":[{"b":1}]} ]', '[ {"a":10.50} , 7, {"x":[{"b":1}]} ]'],
      [bare, '{"b":1,"data":{"b":2}}', '{"a":1,"data":{"b":2}}'],
      [bare, '[]', '[]'],
      [bare, '[[{"b":1}]]', '[[{"b":1}]]'],
      [bare, '"b"', undefined],
      [inItems, '{"page":{"items":[{"b":1}]},"b":2}', '{"page":{"items":[{"a":1}]},"b":2}'],
      [inItems, '{"page":{"b":1}}', undefined],
      [inItems, '{"page":[{"items":{"b":1}}]}', undefined],
      [inItems, '[{"b":1}]', undefined],
      [WRITE, '[{"b":1}]', undefined],
    ];
    for (const [to, v2, v1] of cases) {
      const outcome = answered(all, to, v2);
      expect(textOf(outcome.body)).toBe(v1 ?? v2);
      const note = 'note' in outcome ? outcome.note : undefined;
      expect(note).toBe(v1 === undefined ? 'response-no-resource' : undefined);
    }
    const [pointers] = ['[{"b":1},{"b":2}]'].map((text) => answered(all, bare, text));
    expect(pointers).toMatchObject({
      records: [
        { from: '/0/b', path: '/0/a' },
        { from: '/1/b', path: '/1/a' },
      ],
    });
  });

  test.each(rows`
    {"property":{"address":null}} → {"property":{}} → {"property":{"suburb":null,"state":null}}
    {"property":{"address":{"state":"N"},"x":1}} → {"property":{"state":"N","x":1}}
      {"property":{"state":"N","x":1,"suburb":null}}
    {"property":{"x":1}} → {"property":{"x":1}} → {"property":{"x":1,"suburb":null,"state":null}}
    {"property":null} → {"property":null} → {"property":null}
    {"x":1} → {"x":1} → {"x":1}
    [{"property":{"address":null}},7] → [{"property":{}},7] → [{"property":{"suburb":null,"state":null}},7]
  `)('gives members of a nest that V2 lacks as V1 did: %s', (v2, present, nulls) => {
    const nest: RequestRule = {
      rule: 'nest',
      members: ['suburb', 'state'],
      in: ['property'],
      under: 'address',
    };
    for (const [v1, response] of [
      [present, INVERSE],
      [nulls, { ...INVERSE, members: 'null' as const }],
    ] as const) {
      const rules = book([{ ...change('c', [nest]), response: [response] }]);
      const outcome = answered(rules, READ, `{"data":${v2}}`);
      expect(textOf(outcome.body)).toBe(`{"data":${v1}}`);
      expect(patched(outcome, `{"data":${v2}}`)).toEqual(JSON.parse(`{"data":${v1}}`));
    }
  });

  test('of renames gives back the same bytes', () => {
    fc.assert(
      fc.property(rules, parameters, (all, text) => {
        const rules = book([
          change(
            'c',
            all.filter((one) => one.rule === 'rename'),
          ),
        ]);
        const outcome = answered(rules, READ, `{"data":${stored(rules, text)}}`);
        expect(textOf(outcome.body)).toBe(`{"data":${text}}`);
      }),
      { numRuns: fuzzRuns(1_000) },
    );
  });

  test('of members side by side gives back the same bytes', () => {
    const rules = book([
      change('c', [{ rule: 'nest', members: ['suburb', 'state'], in: ['property'], under: 'address' }]),
    ]);
    const text = '{ "property" : {\n "id": 1,\n "state" : "NSW",\n "suburb":"\\u00e9" , "x":10.50 } }';
    expect(stored(rules, text)).toContain('"address":{');
    expect(textOf(answered(rules, READ, `{"data":${stored(rules, text)}}`).body)).toBe(`{"data":${text}}`);
  });
});

const someRules = fc.array(
  fc.constantFrom(
    'rename data.property.suburb to lat',
    'rename data.*.address to legacy',
    'rename property to x',
    'rename x.lat to address',
    'rename data to property',
    'unnest data.address',
    'unnest property suburb lat address',
    'unnest data.*.property x suburb',
    'unnest x',
    'unnest property.address suburb street_address',
    'alias property as data',
    'flatten address',
  ),
  { minLength: 1, maxLength: 5 },
);

describe('for any response of V2', () => {
  test('one reading equals rule by rule, and every byte outside the edits stays', () => {
    fc.assert(
      fc.property(someRules, anyDocument, (texts, text) => {
        const together = responsePlanOf(texts.map(responseRule)).rewrite(bytesOf(text), OK);
        let body: Uint8Array = bytesOf(text);
        for (const rule of texts) body = responsePlanOf([responseRule(rule)]).rewrite(body, OK).body;
        expect(textOf(together.body)).toBe(textOf(body));
        if (together.verdict === 'unchanged') return;
        expect(textOf(applyEdits(bytesOf(text), together.edits))).toBe(textOf(together.body));
        expect(() => JSON.parse(textOf(together.body))).not.toThrow();
      }),
      { numRuns: fuzzRuns(3_000) },
    );
  });

  test("the patch in the log makes the response from V2's", () => {
    fc.assert(
      fc.property(someRules, anyDocument, (texts, text) => {
        // The library refuses to write __proto__; a name that occurs twice is one member to a patch.
        if (/_proto_|\\u005f/i.test(text)) return;
        const outcome = responsePlanOf(texts.map(responseRule)).rewrite(bytesOf(text), OK);
        expect(patched(outcome, text)).toEqual(plain(JSON.parse(textOf(outcome.body))));
      }),
      { numRuns: fuzzRuns(3_000) },
    );
  });

  test('the plan kept for a shape equals the one computed for each response', () => {
    const listed = someRules.filter(
      (all) => !all.includes('unnest x') && !all.includes('unnest data.address'),
    );
    fc.assert(
      fc.property(
        listed,
        fc.array(fc.tuple(anyDocument, fc.constantFrom(200, 201, 422)), { minLength: 1, maxLength: 4 }),
        (texts, answers) => {
          const rules = texts.map(responseRule);
          const shared = responsePlanOf(rules);
          for (const [text, status] of [...answers, ...answers, ...answers]) {
            for (const one of [
              text,
              text.replaceAll(/-?\d[\d.eE+-]*/g, 'null'),
              text.replaceAll('null', '"s"'),
            ]) {
              const context = { ...OK, status };
              expect(shared.rewrite(bytesOf(one), context)).toEqual(
                responsePlanOf(rules).rewrite(bytesOf(one), context),
              );
            }
          }
        },
      ),
      { numRuns: fuzzRuns(500) },
    );
  });

  test('a shape does not say whether an object is null', () => {
    const plan = responsePlanOf([responseRule('unnest a x')]);
    for (const text of ['{"a":"x"}', '{"a":"x"}', '{"a":"x"}', '{"a":null}', '{"a":"x"}', '{"a":null}']) {
      const { body } = plan.rewrite(bytesOf(text), OK);
      expect(textOf(body)).toBe(text.includes('null') ? '{}' : text);
    }
  });
});

test.each(rows`
  problem
    {"type":"x","title":"b is bad","status":422,"detail":"address.suburb and b are required","instance":"/b","errors":[{"detail":"b is required","pointer":"#/b"},{"pointer":"#\/address\/suburb","detail":"x"},{"pointer":"/b"}],"b":"b"}
    {"type":"x","title":"a is bad","status":422,"detail":"suburb and a are required","instance":"/b","errors":[{"detail":"a is required","pointer":"#/data/a"},{"pointer":"#\/data\/suburb","detail":"x"},{"pointer":"/data/a"}],"b":"b"}
  problem → {"errors":{"b":"b"},"detail":7,"title":"b"} → {"errors":{"b":"b"},"detail":7,"title":"a"}
  { list: error.fields, pointer: field, text: [message] }
    {"error":{"fields":[{"field":"b","message":"b is bad","detail":"b"},{"field":"address.suburb"}],"message":"b"}}
    {"error":{"fields":[{"field":"a","message":"a is bad","detail":"b"},{"field":"suburb"}],"message":"b"}}
  { list: problems, pointer: at.place.path } → {"problems":[{"at":{"place":{"path":"/b"}},"detail":"b"}]}
    {"problems":[{"at":{"place":{"path":"/data/a"}},"detail":"b"}]}
  json-api → {"detail":"b","errors":[{"detail":"b","source":{"pointer":"/b"},"pointer":"/b"}]}
    {"detail":"b","errors":[{"detail":"a","source":{"pointer":"/data/a"},"pointer":"/b"}]}
`)('errors of the form %s: only the places that it names are turned back', async (form, v2, v1) => {
  const rules = await bookIn(`
version: 2025-01-01
errors: ${form}
operations: { create: POST /things }
changes:
  - { id: w, summary: s, on: every, request: [unwrap: data] }
  - id: c
    summary: s
    on: [create]
    request: [{ rename: a, to: b }, { nest: [suburb], under: address }]
    response: [errors: true]
`);
  const [to] = rules.operations;
  if (to === undefined) throw new Error('there is no operation');
  const context = { status: 422, deprecated: [], isWrapped: true };
  const outcome = compileResponsePlans(rules).of(to, 'POST').rewrite(bytesOf(v2), context);
  expect(textOf(outcome.body)).toBe(v1);
});
