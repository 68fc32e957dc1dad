import type { Operation, Policies, RuleBook } from '../../src/rules/rule-book.ts';
import { readRuleBook } from '../../src/rules/read-rule-book.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';

const POLICIES: Policies = {
  flat: 'migrate',
  siblings: 'drop',
  conflict: 'v1',
  duplicate: 'refuse',
  wrapper: 'refuse',
  value: 'refuse',
  malformed: 'refuse',
  unsupported: 'refuse',
  forms: 'rewrite',
  media: 'known',
  signed: 'forward',
  'half-close': 'abort',
  future: 'forward',
};

const OPERATIONS: readonly Operation[] = [
  { id: 'create_client', method: 'POST', template: '/clients', assumed: false },
  { id: 'order_floor_plan', method: 'POST', template: '/orders/floor_plans', assumed: false },
  { id: 'order_post_production', method: 'POST', template: '/orders/post_productions', assumed: true },
];

/** A rule book of the specification's changes, for tests that are not about reading rule books. */
export function testRuleBook(over: Partial<RuleBook> = {}): RuleBook {
  const change = { response: [], policies: {}, assumed: false };
  return {
    from: '/api/v1',
    to: '/api/v2',
    other: 'refuse',
    override: 'follow',
    followsBodyLinks: false,
    version: '2025-01-01',
    operations: OPERATIONS,
    changes: [
      {
        ...change,
        id: 'body-wrapper',
        summary: 'No wrapper.',
        on: 'every',
        request: [{ rule: 'unwrap', member: 'data' }],
      },
      {
        ...change,
        id: 'property-address',
        summary: 'The address is nested.',
        on: ['order_floor_plan', 'order_post_production'],
        request: [
          {
            rule: 'nest',
            members: ['street_address', 'suburb', 'state', 'postcode', 'country', 'latitude', 'longitude'],
            in: ['property'],
            under: 'address',
          },
        ],
      },
      {
        ...change,
        id: 'highlight-type',
        summary: 'A new name.',
        on: ['order_post_production'],
        request: [{ rule: 'rename', member: 'transition_type', in: [], to: 'highlight_type' }],
      },
    ],
    policies: POLICIES,
    limits: { depth: 512, body: 10 * 1024 * 1024, response: 10 * 1024 * 1024 },
    hash: '0123456789abcdef',
    ...over,
  };
}

/** The rule book of `testRuleBook`, compiled. */
export function compiledTestRuleBook(over: Partial<RuleBook> = {}): CompiledRuleBook {
  return new CompiledRuleBook(testRuleBook(over));
}

/** The limits of a rule book of tests, with another one for bodies of requests. */
export function bodyLimit(body: number): Pick<RuleBook, 'limits'> {
  return { limits: { ...testRuleBook().limits, body } };
}

/** A book whose list of deals has its owners looked up: `how` says where, as `get` or `many` of the rule. */
export function lookupRules(how: string): string {
  return `
operations: { list: GET /deals }
changes:
  - id: owners
    summary: Deals had their owner in them.
    on: [list]
    response:
      - { lookup: data.*.owner_id, ${how}, take: [name], as: owner }
`;
}

/** The same, read. */
export async function bookWithLookup(how: string): Promise<RuleBook> {
  const reading = await readRuleBook(lookupRules(how), 'rules.yaml');
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  return reading.ruleBook;
}
