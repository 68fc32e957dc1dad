import fastJsonPatch from 'fast-json-patch';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { JsonScalar } from '../../src/json/document.ts';
import { applyEdits } from '../../src/json/edit.ts';
import { compilePlans, type Plan } from '../../src/rewrite/plan.ts';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import type { Conversion } from '../../src/rules/conversion.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { undoingOf } from '../../src/rules/check-rule-book.ts';
import { fuzzRuns, fuzzTime } from '../support/fuzz.ts';
import { bookOf, planOf } from '../support/plan-of.ts';
import { applyRules, meaning, parse, Refused, type Value } from '../support/value-model.ts';
import { bytesOf, textOf } from './notation.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const name = fc.constantFrom(...NAMES);
const inside = fc.array(fc.constantFrom(...NAMES, '*'), { maxLength: 2 }).filter(([first]) => first !== '*');
const path = fc.array(name, { minLength: 1, maxLength: 3 });

const conversion: fc.Arbitrary<Conversion> = fc.constantFrom<Conversion>(
  { rule: 'scale', by: '100', digits: 2 },
  { rule: 'scale', by: '0.4', digits: 0 },
  { rule: 'quote' },
  { rule: 'unquote' },
  { rule: 'prefix', with: '7"' },
  { rule: 'unprefix', with: '7' },
  { rule: 'date', from: 'date', to: 'epoch', zone: 'UTC', at: 0 },
  { rule: 'date', from: 'epoch', to: 'date', zone: 'UTC', at: 0 },
);
const json = fc.constantFrom('1.50', '"x"', 'null', '{}', '{"a":[{"b":1}],"c":{}}', '[1,{"a":2}]');
const separated = { with: fc.constantFrom(' ', 'b'), at: fc.constantFrom('first' as const, 'last' as const) };
const setRule = fc
  .record({ rule: fc.constantFrom('set' as const, 'default' as const), member: name, in: inside, json })
  .map((rule): RequestRule => ({ ...rule, value: JSON.parse(rule.json) as unknown }));
const convertRule = fc
  .record({ conversion, member: name, in: inside })
  .map((rule): RequestRule => ({ rule: rule.conversion.rule, ...rule }));
const startsWith = (one: readonly string[], other: readonly string[]): boolean =>
  other.every((step, index) => one[index] === step);
/** Values that maps begin with. */
const MAPPED: JsonScalar[] = [
  { isString: false, text: '7' },
  { isString: true, text: 'x b y' },
  { isString: false, text: 'null' },
];
const scalars = fc.array(fc.constantFrom(...MAPPED, { isString: true, text: '7"' }), { maxLength: 3 });
const anyRule: fc.Arbitrary<RequestRule> = fc.oneof(
  setRule,
  convertRule,
  convertRule,
  fc
    .record({ rule: fc.constant('move' as const), in: inside, from: path, to: path })
    .filter(({ from, to }) => !startsWith(from, to)),
  fc
    .record({ rule: fc.constant('rename' as const), member: name, in: inside, to: name })
    .filter(({ member, to }) => member !== to),
  fc.record({ rule: fc.constant('list' as const), member: name, in: inside, to: name }),
  fc.record({ rule: fc.constant('unwrap' as const), member: name }),
  fc.record({
    rule: fc.constantFrom('strip' as const, 'only' as const),
    members: fc.shuffledSubarray(NAMES, { minLength: 1 }),
    in: inside,
  }),
  fc
    .record({
      rule: fc.constant('nest' as const),
      members: fc.shuffledSubarray(NAMES, { minLength: 1, maxLength: 3 }),
      in: inside,
      under: name,
    })
    .filter(({ members, under }) => !members.includes(under)),
  fc
    .record({ from: fc.shuffledSubarray(MAPPED, { minLength: 1 }), to: scalars, member: name, in: inside })
    .map(({ from, to, ...place }): RequestRule => {
      const values = from.map((one, at) => ({ from: one, to: to[at] ?? one }));
      return { rule: 'map', ...place, values };
    }),
  fc.record({
    rule: fc.constant('join' as const),
    members: fc.shuffledSubarray(NAMES, { minLength: 2 }),
    in: inside,
    to: name,
    ...separated,
  }),
  fc.record({
    rule: fc.constant('split' as const),
    member: name,
    in: inside,
    to: fc.shuffledSubarray(NAMES, { minLength: 2, maxLength: 3 }),
    ...separated,
  }),
);

const leaf = fc.constantFrom(
  '0',
  '-0',
  '10.50',
  '7',
  '-1e3',
  '12345678901234567890.125',
  '"7"',
  '"\\u0037\\" 1"',
  '"x b y"',
  '" "',
  '"2025-01-31"',
  '"2025-02-30"',
  '""',
  'null',
  'true',
  '{}',
  '[ ]',
);
const space = fc.constantFrom('', '', ' ', '\n');
const document = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    tie('object'),
    fc.array(tie('value'), { maxLength: 3 }).map((items) => `[${items.join(' , ')}]`),
  ),
  object: fc
    .uniqueArray(fc.tuple(space, fc.constantFrom(...NAMES, 'x', 'y'), space, tie('value')), {
      maxLength: 5,
      selector: ([, key]) => key,
    })
    .map((all) => `{${all.map(([s, key, t, value]) => `${s}"${key}"${t}:${s}${value}${t}`).join(',')}}`),
})).object;

const plans = new Map<string, Plan>();

/** Plans are shared between runs, so that what they remember of one body meets the next. */
function planFor(rules: readonly RequestRule[], value: 'refuse' | 'keep'): Plan {
  const key = JSON.stringify([rules, value]);
  const known = plans.get(key) ?? planOf(rules, { value });
  plans.set(key, known);
  return known;
}

function modelled(rules: readonly RequestRule[], text: string, value: 'refuse' | 'keep'): string {
  try {
    return meaning(applyRules(rules, parse(text), value === 'keep'));
  } catch (error) {
    if (error instanceof Refused) return 'refused';
    throw error;
  }
}

test('rules mean what a plain model on parsed values says', fuzzTime(), () => {
  fc.assert(
    fc.property(
      fc.array(anyRule, { minLength: 1, maxLength: 4 }),
      document,
      fc.constantFrom('refuse' as const, 'keep' as const),
      (rules, text, value) => {
        const outcome = planFor(rules, value).rewrite(bytesOf(text));
        const found = outcome.verdict === 'refused' ? 'refused' : meaning(parse(textOf(outcome.body)));
        expect(found).toBe(modelled(rules, text, value));
        if (outcome.verdict !== 'rewritten') return;
        expect(textOf(applyEdits(bytesOf(text), outcome.edits))).toBe(textOf(outcome.body));
        if (outcome.patch.length === 0) return;
        const patch = structuredClone(outcome.patch) as fastJsonPatch.Operation[];
        const { newDocument } = fastJsonPatch.applyPatch(plain(text), patch, true, true, false);
        expect(plain(JSON.stringify(newDocument))).toEqual(plain(textOf(outcome.body)));
      },
    ),
    { numRuns: fuzzRuns(50_000) },
  );
});

/** The sign of zero and the digits beyond a double are no matter of a patch. */
function plain(text: string): unknown {
  return JSON.parse(text, (_, value: unknown) => (value === 0 ? 0 : value));
}

const INVERSE: ResponseRule = { rule: 'inverse', status: ['2xx'] };

/** Rules whose new names and values no V1 body has; some lose what is not known again. */
const undoneRule = (k: number): fc.Arbitrary<RequestRule> =>
  fc.oneof(
    convertRule,
    convertRule,
    fc.record({
      rule: fc.constant('rename' as const),
      member: name,
      in: inside,
      to: fc.constant(`R${k}`),
    }),
    fc.record({
      rule: fc.constant('nest' as const),
      members: fc.shuffledSubarray(NAMES, { minLength: 1, maxLength: 3 }),
      in: inside,
      under: fc.constant(`U${k}`),
    }),
    fc
      .record({
        from: fc.shuffledSubarray(MAPPED, { minLength: 1 }),
        to: fc.nat(2),
        member: name,
        in: inside,
      })
      .map(({ from, to, ...place }): RequestRule => {
        // Where two lead to one value, check knows that it is not undone.
        const values = from.map((one, at) => ({
          from: one,
          to: { isString: true, text: `V${k}-${at === to ? 0 : at}` },
        }));
        return { rule: 'map', ...place, values };
      }),
    fc.record({
      rule: fc.constant('join' as const),
      members: fc.shuffledSubarray(NAMES, { minLength: 2 }),
      in: inside,
      to: fc.constant(`J${k}`),
      ...separated,
    }),
    fc.record({
      rule: fc.constant('move' as const),
      in: inside,
      from: path,
      to: fc.constantFrom([`N${k}`], [`N${k}`, 'x'], ['N', `N${k}`], ['N', 'M', `N${k}`]),
    }),
    fc.record({ rule: fc.constant('list' as const), member: name, in: inside, to: fc.constant(`L${k}`) }),
    fc.record({
      rule: fc.constant('split' as const),
      member: name,
      in: inside,
      to: fc.constant([`F${k}`, `G${k}`]),
      ...separated,
    }),
    fc
      .record({ rule: fc.constant('set' as const), member: fc.constant(`S${k}`), in: inside, json })
      .map((rule): RequestRule => ({ ...rule, value: JSON.parse(rule.json) as unknown })),
  );
const undoneRules = fc
  .integer({ min: 1, max: 4 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, k) => undoneRule(k))));

test(
  'what rules do to a request, their inverse undoes in the response, wherever check calls it exact',
  fuzzTime(),
  () => {
    let exact = 0;
    fc.assert(
      fc.property(undoneRules, document, (rules, text) => {
        const [first] = bookOf(rules).changes;
        if (first === undefined) throw new Error('The book has no change.');
        const change = { ...first, response: [INVERSE] };
        if (undoingOf(change)?.inverse !== 'exact') return;
        exact += 1;
        const book = { ...bookOf(rules), changes: [change] };
        const sent = compilePlans(book).of(undefined).rewrite(bytesOf(text));
        if (sent.verdict === 'refused') return;
        const context = { status: 200, deprecated: [], isWrapped: false };
        const stored = `{"data":${textOf(sent.body)}}`;
        const read = compileResponsePlans(book).of(undefined, 'POST').rewrite(bytesOf(stored), context);
        const data = (parse(textOf(read.body)) as ReadonlyMap<string, Value>).get('data') ?? null;
        expect(meaning(data)).toBe(meaning(parse(text)));
      }),
      { numRuns: fuzzRuns(50_000) },
    );
    expect(exact).toBeGreaterThan(fuzzRuns(10_000));
  },
);
