import fc from 'fast-check';
import type { RuleBookSource } from '../../src/rules/rule-book-source.ts';
import { words } from '../support/rows.ts';

/** Names that parsers misread: numbers, words of YAML 1.1, indicators, spaces, members of Object.prototype. */
const ODDITIES = [
  ...words`no Yes 0x1F 1_000 2025-01-01 null ~ constructor`,
  ' a ',
  '#x',
  '- y',
  'k: v',
  'ü',
  '😀',
  '"',
  "'",
  '\u2028',
  '&a',
  '*a',
];

const name = fc.tuple(fc.constantFrom(...ODDITIES, 'property', 'suburb', 'x'), fc.nat({ max: 99 }));

type ChangeSource = RuleBookSource['changes'][number];

/** Sources of rule books without faults: no name is in two rules, so none of them is stale. */
export const sources: fc.Arbitrary<RuleBookSource> = fc
  .record({
    methods: fc.array(fc.constantFrom('POST', 'PATCH', 'PUT', 'GET'), { maxLength: 5 }),
    assumed: fc.boolean(),
    changes: fc.array(
      fc.record({
        on: fc.constantFrom('every', 'all'),
        kinds: fc.array(
          fc.tuple(
            fc.constantFrom('nest', 'rename', 'strip', 'only', 'map', 'query', 'alias', 'flatten'),
            name,
            name,
          ),
          { maxLength: 3 },
        ),
        summary: fc.string({ minLength: 1 }).map((text) => `${text}.`),
      }),
      { maxLength: 4 },
    ),
    policies: fc.record(
      {
        flat: fc.constantFrom('migrate' as const, 'refuse' as const, 'forward' as const),
        duplicate: fc.constantFrom('last' as const, 'refuse' as const),
        malformed: fc.constantFrom('forward' as const, 'refuse' as const),
      },
      { requiredKeys: [] },
    ),
    limits: fc.record({ depth: fc.integer({ min: 1, max: 1_000 }) }, { requiredKeys: [] }),
  })
  .map(({ methods, assumed, changes, policies, limits }) => {
    const operations = Object.fromEntries(
      methods.map((method, at) => {
        const match = `${method} /things${at}/{id}`;
        return [`${method.toLowerCase()}_${at}`, assumed ? { match, assumed } : match];
      }),
    );
    const written = Object.keys(operations).filter((id) => !id.startsWith('get'));
    return {
      version: '2025-01-01',
      operations,
      changes: changes.map(({ on, kinds, summary }, at): ChangeSource => {
        const rules = kinds.map(([kind, one, other], index) =>
          ruleOf(kind, one.join(''), other.join(''), `${at}_${index}`),
        );
        return {
          id: `change-${at}`,
          summary,
          on: on === 'every' || written.length === 0 ? 'every' : written,
          request: rules.flatMap((rule) => ('request' in rule ? [rule.request] : [])),
          query: rules.flatMap((rule) => ('query' in rule ? rule.query : [])),
          response: rules.flatMap((rule) => ('response' in rule ? [rule.response] : [])),
        };
      }),
      policies,
      limits,
    };
  });

type RuleOf =
  | { request: NonNullable<ChangeSource['request']>[number] }
  | { query: NonNullable<ChangeSource['query']> }
  | { response: Exclude<NonNullable<ChangeSource['response']>, 'inverse'>[number] };

function ruleOf(kind: string, one: string, other: string, own: string): RuleOf {
  switch (kind) {
    case 'nest':
      return { request: { nest: [`${one}m`, `${other}n`], in: `in${own}`, under: `u ${one}` } };
    case 'rename':
      return { request: { rename: `${one}${own}`, in: `p${own}.*`, to: `${other}t` } };
    case 'strip':
      return { request: { strip: [`${one}${own}`, `${other}s${own}.${one}`] } };
    case 'only':
      return { request: { only: [`${one}o`, `${other}p`], in: `${other}q${own}` } };
    case 'map':
      return { request: { map: { [`${one}v`]: other, [`${one}w`]: 1.5 }, of: `m${own}.${one}m` } };
    case 'query':
      return {
        query: [
          { rename: `${one}${own}`, to: `${other}y${own}` },
          { map: { [`${one}v`]: null }, of: `z${own}` },
        ],
      };
    case 'alias':
      return { response: { alias: `data.${one}${own}`, as: `${other}v`, status: [201, '4xx'] } };
    default:
      return { response: { flatten: `data.${one}f${own}`, members: [other] } };
  }
}
