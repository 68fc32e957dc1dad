import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { scalarOf } from '../../src/json/names.ts';
import type { WorkMemory } from '../../src/json/tape.ts';
import type { ResponseContext } from '../../src/rewrite/response-rules.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { planOf } from '../support/plan-of.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { bytesOf } from './notation.ts';

const VALUES = [{ from: scalarOf('old'), to: scalarOf('new') }];
const MAP: ResponseRule = { rule: 'map', path: ['data', '*', 'kind'], values: VALUES, status: ['2xx'] };
const STRIP: RequestRule = { rule: 'strip', members: ['a'], in: ['list', '*'] };
const OK: ResponseContext = { status: 200, deprecated: [], isWrapped: true };
const FAILED: ResponseContext = { ...OK, status: 422 };
/** More elements than a draft has room for without asking for memory. */
const MANY = 3000;

/** A list under `name` with many elements, of which each `nth` is `element` and the others are empty objects. */
function list(name: string, element: string, nth: number): string {
  const elements = Array.from({ length: MANY }, (_, k) => (k % nth === nth - 1 ? element : '{}'));
  return `{"${name}":[${elements.join(',')}]}`;
}

/** Memory that is denied from the `n`th time on. */
function memoryFor(n: number): WorkMemory {
  let left = n;
  return {
    take: () => {
      left -= 1;
      return left >= 0;
    },
  };
}

/** Rewrites with less and less memory, and returns the outcomes that are neither that with enough memory nor `isFull`. */
function wrongOutcomes<Outcome>(
  rewrite: (memory: WorkMemory | undefined) => Outcome,
  fresh: () => Outcome,
  isFull: (outcome: Outcome) => boolean,
): { readonly wrong: readonly Outcome[]; readonly full: number } {
  const expected = fresh();
  const wrong: Outcome[] = [];
  let full = 0;
  for (let n = 0; n < 16; n += 1) {
    // The second one would find what the first one left behind.
    for (const outcome of [rewrite(memoryFor(n)), rewrite(undefined)]) {
      if (isFull(outcome)) full += 1;
      else if (!isDeepStrictEqual(outcome, expected)) wrong.push(outcome);
    }
  }
  return { wrong, full };
}

test.each<readonly [string, readonly ResponseRule[], string, ResponseContext]>([
  ['rename', [responseRule('rename data.*.a to b')], list('data', '{"a":{"x":1}}', 2), OK],
  ['unnest', [responseRule('unnest data.*.in')], list('data', '{"in":{"a":1,"b":2}}', 2), OK],
  ['unnest by name', [responseRule('unnest data.*.in [a]')], list('data', '{"in":{"a":1,"b":2}}', 2), OK],
  ['alias', [responseRule('alias data.*.a as b')], list('data', '{"a":{"x":1}}', 2), OK],
  ['flatten', [responseRule('flatten data.*.in')], list('data', '{"in":{"a":1}}', 2), OK],
  ['map', [MAP], list('data', '{"kind":"old"}', 2), OK],
  ['errors', [responseRule('errors')], list('errors', '{"source":{"pointer":"/address"}}', 2), FAILED],
  [
    'all, in a few places, so that there is a patch',
    ['rename data.*.r to in', 'unnest data.*.in', 'alias data.*.a as b', 'flatten data.*.c'].map(
      responseRule,
    ),
    list('data', '{"r":{"a":{"x":1}},"c":{"d":1}}', MANY / 2),
    OK,
  ],
])(
  'a response is rewritten whole or not at all, whenever memory runs out: %s',
  (_name, rules, text, context) => {
    const body = bytesOf(text);
    const request: readonly RequestRule[] = [
      { rule: 'nest', members: ['suburb'], in: [], under: 'address' },
      { rule: 'unwrap', member: 'data' },
    ];
    const plan = responsePlanOf(rules, request);
    const { wrong, full } = wrongOutcomes(
      (memory) => plan.rewrite(body, context, memory),
      () => responsePlanOf(rules, request).rewrite(body, context),
      (outcome) => outcome.verdict === 'unchanged' && outcome.note === 'response-buffer-full',
    );
    expect(wrong).toEqual([]);
    expect(full).toBeGreaterThan(0);
  },
);

test.each<readonly [string, RequestRule, string]>([
  [
    'nest',
    { rule: 'nest', members: ['a'], in: ['list', '*'], under: 'in' },
    list('list', '{"a":1}', MANY / 2),
  ],
  ['rename', { rule: 'rename', member: 'a', in: ['list', '*'], to: 'b' }, list('list', '{"a":1}', MANY / 2)],
  ['strip', STRIP, list('list', '{"a":1}', MANY / 2)],
  ['only', { rule: 'only', members: ['b'], in: ['list', '*'] }, list('list', '{"a":1}', MANY / 2)],
  [
    'map',
    { rule: 'map', member: 'a', in: ['list', '*'], values: VALUES },
    list('list', '{"a":"old"}', MANY / 2),
  ],
  ['strip behind members that no rule names', STRIP, `{"list":[{${'"x":0,'.repeat(20 * MANY)}"a":1}]}`],
])('a request is rewritten whole or refused, whenever memory runs out: %s', (_name, rule, text) => {
  const body = bytesOf(text);
  const plan = planOf([rule]);
  const { wrong, full } = wrongOutcomes(
    (memory) => plan.rewrite(body, memory),
    () => planOf([rule]).rewrite(body),
    (outcome) => outcome.verdict === 'refused' && outcome.refusal.code === 'buffer-full',
  );
  expect(wrong).toEqual([]);
  expect(full).toBeGreaterThan(0);
});
