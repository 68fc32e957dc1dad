import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { HeaderPlan } from '../../src/rewrite/header-plan.ts';
import type { Change } from '../../src/rules/rule-book.ts';
import type { HeaderRule } from '../../src/rules/rule.ts';
import { bookIn } from '../rules/reading.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { bookOf } from '../support/plan-of.ts';
import { rows } from '../support/rows.ts';

const POLICIES = bookOf([]).policies;
const text = (from: string, to: string) => ({
  from: { isString: true, text: from },
  to: { isString: true, text: to },
});

function planOf(headers: readonly HeaderRule[], more: Partial<Change> = {}): HeaderPlan {
  const change: Change = {
    id: 'c',
    summary: 's',
    on: 'every',
    request: [],
    headers,
    response: [{ rule: 'inverse', status: ['2xx'] }],
    policies: {},
    assumed: false,
    ...more,
  };
  return new HeaderPlan([change], POLICIES);
}

type Pairs = readonly (readonly [name: string, value: string])[];

function rewritten(plan: HeaderPlan, fields: Pairs, query = ''): ReturnType<HeaderPlan['request']> {
  return plan.request(fields.flat(), query);
}

const RENAME: HeaderRule = { rule: 'rename', field: 'X-Account', to: 'X-Tenant-Id' };
const MOVE: HeaderRule = { rule: 'query', parameter: 'api_key', to: 'Authorization', as: 'Bearer {}' };

describe('a rule', () => {
  const PREFER: HeaderRule = { rule: 'set', field: 'Prefer', value: 'v' };
  const REGION: HeaderRule = { rule: 'default', field: 'X-Region', value: 'au' };
  const RULES: Readonly<Record<string, HeaderRule>> = {
    rename: RENAME,
    template: { ...RENAME, as: 'id {}!' },
    credential: { ...RENAME, to: 'Authorization' },
    set: PREFER,
    default: REGION,
    strip: { rule: 'strip', fields: ['X-Old', 'X-Older'] },
    map: { rule: 'map', field: 'X-Mode', values: [text('a', 'b')] },
  };
  // The rule, what it does, the fields before and after, and what is told; `-` is none.
  test.each(rows`
    rename → in place, each time, in any case
      A: 1|x-ACCOUNT: é|B: 2|X-Account:  x → A: 1|X-Tenant-Id: é|B: 2|X-Tenant-Id:  x
      rename x-ACCOUNT>X-Tenant-Id
    rename → drops what has the new name
      X-Tenant-Id: 1|X-Account: 2|x-tenant-id: 3 → X-Tenant-Id: 2
      rename X-Tenant-Id> conflict, rename X-Account>X-Tenant-Id conflict
    rename → leaves the new name alone without the old → X-Tenant-Id: 1 → X-Tenant-Id: 1 → -
    template → fills a template
      X-Account: $& → X-Tenant-Id: id $&! → rename X-Account>X-Tenant-Id
    credential → renames to one that is the only one
      X-Account: k → Authorization: k → rename X-Account>Authorization
    set → one that is absent → A: 1 → A: 1|Prefer: v → set Prefer>Prefer
    set → one line for all → prefer: a|A: 1|PREFER: v → prefer: v|A: 1 → set prefer>prefer
    set → nothing that is so → prefer: v → prefer: v → -
    default → adds one → - → X-Region: au → default X-Region>X-Region
    strip → every line → x-old: 1|A: 2|X-OLD: 3 → A: 2 → strip x-old>
    map → listed values → x-mode: a|X-Mode: A|X-MODE: b → x-mode: b|X-Mode: A|X-MODE: b → map x-mode>x-mode
  `)('%s: %s', (name, _what, before = '', after = '', told = '') => {
    const rule = RULES[name] ?? expect.unreachable();
    const pairs = before === '-' ? [] : before.split('|').map((line) => line.split(': ') as [string, string]);
    const outcome = rewritten(planOf([rule]), pairs);
    if ('code' in outcome) throw new Error(outcome.code);
    const lines: string[] = [];
    for (let at = 0; at < outcome.headers.length; at += 2)
      lines.push(`${outcome.headers[at]}: ${outcome.headers[at + 1]}`);
    expect(lines.join('|')).toBe(after);
    const said = outcome.records.map(
      ({ rule: word, header, to = '', note }) =>
        `${word} ${header}>${to}${note === undefined ? '' : ` ${note}`}`,
    );
    expect(said.join(', ') || '-').toBe(told);
    expect(outcome.rules).toHaveLength(outcome.records.length);
  });

  test('adds no default beside an empty value', () => {
    expect(rewritten(planOf([REGION]), [['x-region', '']])).toMatchObject({
      headers: ['x-region', ''],
      records: [],
    });
  });

  test.each<readonly [query: string, left: string, value: string | undefined]>([
    ['?api_key=k', '', 'Bearer k'],
    ['?a=1&api_key=k%2b%2F+z&b', '?a=1&b', 'Bearer k+/ z'],
    ['?api%5Fkey=$%26', '', 'Bearer $&'],
    ['?a=1', '?a=1', undefined],
    ['?api_key', '?api_key', 'refused'],
    ['?api_key=', '?api_key=', 'refused'],
    ['?api_key=a%0d%0aX-Evil:%201', '', 'refused'],
    ['?api_key=%e4%bd%a0', '', 'refused'],
    ['?api_key=+k', '', 'refused'],
    ['?api_key=a&api_key=a', '', 'refused'],
  ])('moves a credential from %s', (query, left, value) => {
    const outcome = rewritten(planOf([MOVE]), [['Host', 'g']], query);
    if ('code' in outcome) {
      expect(value).toBe('refused');
      expect(outcome.status).toBe(400);
      // Neither a value nor a part of one is recorded.
      expect(JSON.stringify(outcome)).not.toMatch(/evil|%0d|你/i);
      return;
    }
    expect(outcome.query).toBe(left);
    expect(outcome.headers).toEqual(
      value === undefined ? ['Host', 'g'] : ['Host', 'g', 'Authorization', value],
    );
    expect(outcome.records).toEqual(
      value === undefined
        ? []
        : [{ change: 'c', rule: 'move', header: 'Authorization', from: '?api_key', to: 'Authorization' }],
    );
  });

  test('of two spellings follows the policy conflict', () => {
    const fields: Pairs = [
      ['X-Tenant-Id', '1'],
      ['X-Account', '2'],
    ];
    expect(rewritten(planOf([RENAME], { policies: { conflict: 'refuse' } }), fields)).toMatchObject({
      code: 'conflicting-fields',
      status: 422,
    });
    const outcome = rewritten(planOf([RENAME], { policies: { conflict: 'forward' } }), fields);
    expect(outcome).toMatchObject({ headers: fields.flat(), records: [] });
    expect(
      rewritten(planOf([MOVE], { policies: { conflict: 'refuse' } }), [['authorization', 'x']], '?api_key=1'),
    ).toMatchObject({ code: 'conflicting-fields' });
  });

  test('never makes two credentials of one request', () => {
    const rule: HeaderRule = { rule: 'rename', field: 'X-Api-Key', to: 'authorization' };
    expect(
      rewritten(planOf([rule]), [
        ['X-Api-Key', '1'],
        ['x-api-key', '2'],
      ]),
    ).toMatchObject({
      code: 'bad-request',
      detail: 'The header x-api-key occurs twice.',
    });
  });
});

const NAMES = ['X-A', 'x-a', 'X-B', 'X-C', 'x-d', 'Y'];
const name = fc.constantFrom(...NAMES);
const value = fc.constantFrom('', 'a', 'b', 'A', 'é', 'a, b');
const fields = fc.array(fc.tuple(name, value), { maxLength: 8 });
const plain = fc.constantFrom('X-A', 'X-B', 'X-C', 'X-D', 'Y');
const rule: fc.Arbitrary<HeaderRule> = fc.oneof(
  fc
    .tuple(plain, plain)
    .filter(([field, to]) => field !== to)
    .map(([field, to]): HeaderRule => ({ rule: 'rename', field, to })),
  fc.tuple(plain, value).map(([field, text]): HeaderRule => ({ rule: 'set', field, value: text })),
  fc.tuple(plain, value).map(([field, text]): HeaderRule => ({ rule: 'default', field, value: text })),
  fc.uniqueArray(plain, { minLength: 1 }).map((names): HeaderRule => ({ rule: 'strip', fields: names })),
  plain.map((field): HeaderRule => ({ rule: 'map', field, values: [text('a', 'z'), text('b', 'a')] })),
);

/** An independent model of the rules: a list of pairs, and nothing of the plan. */
function modelled(rules: readonly HeaderRule[], given: Pairs): Pairs {
  let list: [string, string][] = given.map(([one, two]) => [one, two]);
  const is = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
  for (const one of rules) {
    const has = (wanted: string): boolean => list.some(([field]) => is(field, wanted));
    if (one.rule === 'rename' && has(one.field)) {
      list = list
        .filter(([field]) => !is(field, one.to))
        .map(([field, text]) => [is(field, one.field) ? one.to : field, text]);
    } else if (one.rule === 'strip') {
      list = list.filter(([field]) => !one.fields.some((gone) => is(gone, field)));
    } else if (one.rule === 'default' && !has(one.field)) {
      list.push([one.field, one.value]);
    } else if (one.rule === 'set') {
      const first = list.findIndex(([field]) => is(field, one.field));
      if (first === -1) list.push([one.field, one.value]);
      else {
        list = list.filter(([field], at) => at <= first || !is(field, one.field));
        list[first] = [list[first]?.[0] ?? '', one.value];
      }
    } else if (one.rule === 'map') {
      const to = new Map(one.values.map(({ from, to: changed }) => [from.text, changed.text]));
      list = list.map(([field, text]) => [field, is(field, one.field) ? (to.get(text) ?? text) : text]);
    }
  }
  return list;
}

describe('any rules on any fields', () => {
  test('do what a plain list does, and report each change', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 5 }), fields, (rules, given) => {
        const outcome = rewritten(planOf(rules), given);
        if ('code' in outcome) throw new Error(outcome.code);
        expect(outcome.headers).toEqual(modelled(rules, given).flat());
        const isChanged = JSON.stringify(outcome.headers) !== JSON.stringify(given.flat());
        if (isChanged) expect(outcome.records.length).toBeGreaterThan(0);
        if (outcome.records.length === 0) expect(isChanged).toBe(false);
        for (const record of outcome.records) expect(JSON.stringify(record)).not.toMatch(/é|a, b/);
      }),
      { numRuns: fuzzRuns(5_000) },
    );
  });

  test('renamed and mapped there and back are unchanged, if no conflict occurred', () => {
    const there: readonly HeaderRule[] = [
      { rule: 'rename', field: 'X-A', to: 'V2-A' },
      { rule: 'map', field: 'V2-A', values: [text('a', 'one'), text('b', 'two')] },
      { rule: 'rename', field: 'V2-A', to: 'V2-B' },
    ];
    const plan = planOf(there);
    fc.assert(
      fc.property(fields, fc.constantFrom(200, 404, 500), (given, status) => {
        const outcome = rewritten(plan, given);
        if ('code' in outcome) throw new Error(outcome.code);
        const back = plan.response(status, outcome.headers);
        // A field gets the rule's spelling of its name: case does not count.
        const lower = (list: readonly string[]): readonly string[] =>
          list.map((one, at) => (at % 2 === 0 ? one.toLowerCase() : one));
        expect(lower(back.headers)).toEqual(lower(given.flat()));
      }),
      { numRuns: fuzzRuns(2_000) },
    );
  });
});

test('response rules for a status apply after the inverse; other responses are left alone', async () => {
  const book = new CompiledRuleBook(
    await bookIn(`
version: 2025-01-01
operations: { a: GET /a, b: GET /b }
changes:
  - id: c
    summary: s
    on: [a]
    headers: [{ rename: X-Account, to: X-Tenant-Id }]
    response: [inverse, { headers: [{ strip: X-Account }], status: 404 }, { headers: [{ default: X-Old, to: v }] }]
`),
  );
  const [a, b] = ['/a', '/b'].map((path) => book.headerPlan(book.match('GET', path)));
  expect(b).toBeUndefined();
  expect(book.headerPlan(undefined)).toBeUndefined();
  expect(a?.response(200, ['x-tenant-id', '1']).headers).toEqual(['X-Account', '1', 'X-Old', 'v']);
  expect(a?.response(404, ['x-tenant-id', '1']).headers).toEqual(['X-Old', 'v']);
});

// RFC 9110 §12.5.5, and Fetch's Access-Control-Expose-Headers.
test.each([
  ['vary', 'Origin, x-tenant-id', 'Origin, X-Account'],
  ['Vary', '*', '*'],
  ['Vary', 'X-Tenant-Ids,Accept', 'X-Tenant-Ids,Accept'],
  ['Vary', 'X-Token', 'X-Token'],
  ['access-control-expose-headers', 'X-Tenant-Id , X-Total', 'X-Account , X-Sum'],
  ['Access-Control-Expose-Headers', 'X-Mode', 'X-Mode'],
])('%s: %s of V2 gets the names that V1 has: %s', async (name, value, told) => {
  const book = new CompiledRuleBook(
    await bookIn(`
operations: { a: GET /a }
changes:
  - id: one
    summary: s
    on: [a]
    headers: [{ rename: X-Account, to: X-Tenant-Id }, { query: token, to: X-Token }]
    response: [inverse, { headers: [{ rename: X-Total, to: X-Sum }] }]
`),
  );
  const plan = book.headerPlan(book.match('GET', '/a'));
  const { headers, records, rules } = plan?.response(200, ['A', '1', name, value]) ?? {};
  expect(headers).toEqual(['A', '1', name, told]);
  expect(records?.every(({ header, to }) => header === name && to === name)).toBe(true);
  expect(rules).toHaveLength(records?.length ?? -1);
  expect(records?.length === 0).toBe(value === told);
});

test("Vary has V1's name, even if no response rule undoes anything", () => {
  const plan = planOf([RENAME], { response: [] });
  expect(plan.hasResponseRules).toBe(true);
  expect(plan.response(304, ['Vary', 'X-Tenant-Id']).headers).toEqual(['Vary', 'X-Account']);
  expect(planOf([{ rule: 'strip', fields: ['X-Old'] }], { response: [] }).hasResponseRules).toBe(false);
});

test('on every stands for V1 requests of all methods; a book without header rules has no plan', async () => {
  const every = new CompiledRuleBook(
    await bookIn(
      'operations: { a: GET /a }\nchanges: [{ id: c, summary: s, on: every, headers: [{ strip: X-Old }] }]',
    ),
  );
  for (const operation of [undefined, every.match('GET', '/a')])
    expect(every.headerPlan(operation)?.request(['x-old', '1'], '')).toMatchObject({ headers: [] });
  expect(new CompiledRuleBook(bookOf([])).headerPlan(undefined)).toBeUndefined();
});
