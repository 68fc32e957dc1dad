import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyKnowledge } from '../../src/rules/body-knowledge.ts';
import type { StalePart } from '../../src/rules/kinds/book.ts';
import { scalarOf } from '../../src/json/names.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { planOf } from '../support/plan-of.ts';
import { responsePlanOf } from '../support/response-plan-of.ts';
import { bookIn, faultsIn, messagesIn, withChanges } from './reading.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { rows } from '../support/rows.ts';

describe('a request rule is stale', () => {
  test.each(rows`
    strip, then rename → strip: x, { rename: x, to: y }
      rename of "x" has no effect: change "one" strips "x" already; remove one of the two, or put this rule before change "one"
    strip, then strip → strip: [x], strip: [y, x]
      strip of "x" has no effect: change "one" strips "x" already; remove one of the two, or put this rule before change "one"
    a name twice in one list → strip: [], strip: [x, x]
      strip of "x" has no effect: "x" is in the list already; remove it
    unwrap, then unwrap → unwrap: data, unwrap: data
      this unwrap has no effect: change "one" unwraps "data" already; remove one of the two, or put this rule before change "one"
    unwrap, then inside the wrapper → unwrap: data, strip: data.p.x
      this strip has no effect: change "one" unwraps "data" already: "data.p" is now "p"; name that, or put this rule before change "one"
    rename, then rename otherwise → { rename: x, to: y }, { rename: x, to: z }
      rename of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    rename, then the same again → { rename: x, to: y }, { rename: x, to: y }
      rename of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    rename of the object around → { rename: p, to: q }, strip: p.x
      this strip has no effect: change "one" renames "p" already: "p" is now "q"; name that, or put this rule before change "one"
    strip, then nest in it → strip: p, { nest: [x], in: p, under: y }
      this nest has no effect: change "one" strips "p" already; remove one of the two, or put this rule before change "one"
    nest, then strip a moved member
      { nest: [suburb], in: property, under: address }, strip: property.suburb
      strip of "property.suburb" has no effect: change "one" moves "property.suburb" already: "property.suburb" is now "property.address.suburb"; name that, or put this rule before change "one"
    nest, then the same again → { nest: [x], under: y }, { nest: [x], under: y }
      nest of "x" has no effect: change "one" moves "x" already: "x" is now "y.x"; name that, or put this rule before change "one"
    only, then a member that it left out → { only: [x], in: p }, strip: p.y
      strip of "p.y" has no effect: change "one" leaves no "p.y"; list it there, or remove this rule
    only, then no less → { only: [x, y] }, { only: [y, x] }
      this only has no effect: change "one" leaves nothing else in the body; remove one of the two
    nest, then elements → { nest: [x], in: p, under: q }, strip: p.q.*.z
      this strip has no effect: "p.q" is an object since change "one", and * is any element of an array; name a member of it
    move, then strip → { move: p.x, to: q.y }, strip: p.x
      strip of "p.x" has no effect: change "one" moves "p.x" already: "p.x" is now "q.y"; name that, or put this rule before change "one"
    unlist, then rename → { unlist: x, of: v, to: y }, { rename: x, to: z }
      rename of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    rename, then entries → { rename: x, to: y }, { entries: x, name: k, value: v }
      entries of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    rename, then copy → { rename: x, to: y }, { copy: x, to: z }
      copy of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    before unwrap, beside the wrapper → strip: x, unwrap: data
      strip of "x" has no effect: change "two" unwraps "data" after it and drops the members beside it; name "data.x", or put the rule after that one
    before unwrap, beside the wrapper, deeper → { rename: p.x, to: y }, unwrap: data
      rename of "p.x" has no effect: change "two" unwraps "data" after it and drops the members beside it; name "data.p.x", or put the rule after that one
    rename, then map → { rename: x, to: y }, { map: { a: b }, of: x }
      map of "x" has no effect: change "one" renames "x" already: "x" is now "y"; name that, or put this rule before change "one"
    map, then map of a value that is gone → { map: { a: b, 1: a }, of: x }, { map: { a: c, 1: d }, of: x }
      map of "x" from 1 has no effect: change "one" replaces that value already; remove one of the two
    map before unwrap, beside the wrapper → { map: { a: b }, of: x }, unwrap: data
      map of "x" has no effect: change "two" unwraps "data" after it and drops the members beside it; name "data.x", or put the rule after that one
  `)('%s', async (_, rules, reason) => {
    const messages = await messagesIn(inTurn(rules));
    expect(messages.map((message) => message.replace(/^change "(?:one|two)": /, ''))).toEqual([reason]);
  });

  test('and is reported at its place, each member by itself', async () => {
    const text = withChanges(`- id: one
  summary: s
  on: every
  request:
    - strip: [x, p.y]
- id: two
  summary: s
  on: every
  request:
    - strip: [z, x, p.z, p.y]
    - { nest: [q], in: x, under: r }
`);
    expect((await faultsIn(text)).map((fault) => fault.split(' ')[0])).toEqual(['13:18', '13:26', '14:24']);
  });

  test('if a member has moved more than once, by its present place', async () => {
    const [message] = await messagesIn(
      withChanges(`- id: c
  summary: s
  on: every
  request:
    - { nest: [suburb], in: data.property, under: address }
    - { rename: data.property.address, to: place }
    - unwrap: data
    - { rename: property, to: estate }
    - strip: data.property.suburb
`),
    );
    expect(message).toContain('"data.property" is now "estate"');
  });

  test('for one of the operations of a list, but not if it applies to all other requests', async () => {
    const strip = '- { id: one, summary: s, on: [a], request: [ strip: x ] }\n';
    const rename = (on: string): string =>
      `- { id: two, summary: s, on: ${on}, request: [ { rename: x, to: y } ] }`;
    expect(await messagesIn(withChanges(strip + rename('[b, a]')))).toEqual([
      'change "two": rename of "x" has no effect for a: change "one" strips "x" already; remove one of the two, or put this rule before change "one"',
    ]);
    expect(await messagesIn(withChanges(strip + rename('[b]')))).toEqual([]);
    expect(await messagesIn(withChanges(strip + rename('every')))).toEqual([]);
  });

  test('only after the rule that makes it stale', async () => {
    const text = inTurn('strip: x, { rename: y, to: x }, strip: x, { rename: z, to: x }');
    expect(await messagesIn(text)).toEqual([]);
  });

  test.each([
    ['{ nest: [x], under: y }, strip: y.x'],
    ['{ rename: x, to: y }, { rename: y, to: z }'],
    ['{ rename: x, to: y }, { rename: y, to: x }'],
    ['strip: y, { nest: [x], under: y }'],
    ['{ only: [x, y] }, { only: [x] }'],
    ['{ only: [x] }, strip: x.y'],
    ['unwrap: data, unwrap: attributes'],
    ['strip: data.x, unwrap: data, strip: x'],
    ['{ rename: payload, to: data }, unwrap: data'],
    ['{ rename: payload, to: wrapped }, { rename: wrapped, to: data }, unwrap: data'],
    ['{ nest: [x, y], under: data }, unwrap: data'],
    ['strip: p.*.x, strip: p.x'],
  ])('but not: %s', async (rules) => {
    expect(await messagesIn(inTurn(rules))).toEqual([]);
  });

  test('but not before an unwrap whose policy reads the members beside the wrapper', async () => {
    const text = inTurn('strip: x, unwrap: data');
    expect(await messagesIn(`${text}\npolicies: { siblings: refuse }`)).toEqual([]);
  });
});

describe('a query rule is stale', () => {
  test.each(rows`
    { rename: a, to: b }, { rename: a, to: c }
      rename of the query parameter "a" has no effect: change "one" renames "a" to "b" already; remove one of the two
    strip: [a], { map: { x: y }, of: a }
      map of the query parameter "a" has no effect: change "one" strips "a" already; remove one of the two
    { map: { x: y }, of: a }, { map: { y: z, x: w }, of: a }
      map of the query parameter "a" from "x" has no effect: change "one" replaces that value already; remove one of the two
    strip: [], strip: [a, a]
      strip of the query parameter "a" has no effect: "a" is in the list already; remove one of the two
    { set: { a: x } }, { default: { a: y } }
      default of the query parameter "a" has no effect: change "one" sets it already; remove one of the two
  `)('%s', async (rules, message) => {
    expect(await messagesIn(inTurn(rules, 'query'))).toEqual([`change "two": ${message}`]);
  });

  test.each([
    ['{ rename: a, to: b }, { rename: b, to: a }'],
    ['{ rename: a, to: b }, { map: { x: y }, of: b }'],
    ['strip: [a], { rename: b, to: a }'],
  ])('but not: %s', async (rules) => {
    expect(await messagesIn(inTurn(rules, 'query'))).toEqual([]);
  });

  test('and is reported at its place', async () => {
    const text = withChanges(`- id: one
  summary: s
  on: [g]
  query:
    - strip: [a]
    - strip:
        - b
        - a
    - map: { x: y }
      of: a
`);
    expect((await faultsIn(text)).map((fault) => fault.split(' ')[0])).toEqual(['11:11', '13:11']);
  });
});

describe('a response rule is stale', () => {
  test.each([
    ...rows`
    { map: { a: b }, of: d.x }, { map: { a: c }, of: d.x }
      change "two": this map has no effect: change "one" maps "d.x" already; remove one of the two
    { alias: d.x, as: y }, { alias: d.x, as: y, status: 201 }
      change "two": this alias has no effect: change "one" adds "d.y" already; remove one of the two
    { wrap: d }, { wrap: d }
      change "two": this wrap has no effect: change "one" wraps the body in "d" already; remove one of the two
    { flatten: d.x, members: [a, b] }, { flatten: d.x, members: [b, a] }
      change "two": this flatten has no effect: change "one" flattens "d.x" already; remove one of the two
    deprecations: d.x, deprecations: d.x
      change "two": this deprecations has no effect: change "one" lists them at "d.x" already; remove one of the two
    errors: true, { errors: true, status: 4xx }
      change "two": this errors has no effect: change "one" converts errors to V1 already; remove one of the two
    { rename: items, to: data }, { rename: items.*.a, to: b }
      change "two": this rename has no effect: change "one" renames "items" already: "items.*.a" is now "data.*.a"; name that, or put this rule before change "one"
    { rename: items, to: data, status: [200, 201] }, { map: { a: b }, of: items.*.a, status: [200, 201] }
      change "two": this map has no effect: change "one" renames "items" already: "items.*.a" is now "data.*.a"; name that, or put this rule before change "one"
    { move: capacity, to: data.capacity }, { move: capacity.lane, to: lane }
      change "two": this move has no effect: change "one" moves "capacity" already: "capacity.lane" is now "data.capacity.lane"; name that, or put this rule before change "one"
    { move: a.b, to: c }, { move: a.b, to: d }
      change "two": this move has no effect: change "one" moves "a.b" already: "a.b" is now "c"; name that, or put this rule before change "one"
    { rename: d.x, to: y }, { rename: d.x, to: z }
      change "two": this rename has no effect: change "one" renames "d.x" already: "d.x" is now "d.y"; name that, or put this rule before change "one"
    { strip: d.x }, { strip: d.x }
      change "two": this strip has no effect: change "one" strips "d.x" already; remove one of the two, or put this rule before change "one"
    { strip: a }, { unnest: a }
      change "two": this unnest has no effect: change "one" strips "a" already; remove one of the two, or put this rule before change "one"
    { rename: a, to: b }, { alias: a, as: c }
      change "two": this alias has no effect: change "one" renames "a" already: "a" is now "b"; name that, or put this rule before change "one"
  `,
    ...(
      [
        ['{ list: d.x, to: y }, { list: d.x, to: z }', 'list', 'makes "d.x" a list'],
        ['{ first: d.x, to: y }, { first: d.x, to: z }', 'first', 'takes the first of "d.x"'],
        [
          "{ join: [a, b], to: c, with: ' ' }, { join: [a, b], to: d, with: ' ' }",
          'join',
          'joins "a" and "b"',
        ],
        [
          "{ split: d.x, to: [a, b], with: ' ' }, { split: d.x, to: [c, d], with: ' ' }",
          'split',
          'splits "d.x"',
        ],
        ['{ copy: a.b, to: c }, { copy: a.b, to: c }', 'copy', 'copies "a.b"'],
        ['{ set: { d.x: 1 } }, { set: { d.x: 1 } }', 'set', 'gives "d.x" a value'],
        ['{ default: { d.x: 1 } }, { default: { d.x: 2 } }', 'default', 'gives "d.x" a value'],
      ] as const
    ).map(([rules, rule, effect]): [string, string] => [
      rules,
      `change "two": this ${rule} has no effect: change "one" ${effect} already; remove one of the two`,
    ]),
  ])('%s', async (rules, message) => {
    expect(await messagesIn(inTurn(rules, 'response'))).toEqual([message]);
  });

  test.each([
    ['{ alias: d.x, as: y, status: 201 }, { alias: d.x, as: y }'],
    ['{ alias: d.x, as: y }, { alias: d.x, as: z }'],
    ['{ alias: d.x, as: y }, { alias: d.z, as: y }'],
    ['{ set: { d.x: 1 } }, { set: { d.x: 2 } }'],
    ['{ map: { A: a }, of: d.x }, { map: { A: b, B: c }, of: d.x }'],
    ['{ map: { A: B, B: A }, of: d.x }, { map: { B: c }, of: d.x }'],
    ['{ map: { A: a }, of: d.x, status: 201 }, { map: { A: b }, of: d.x }'],
    ["{ join: [a, b], to: c, with: ' ' }, { join: [b, e], to: d, with: ' ' }"],
    ['{ move: a.b, to: c }, { move: a.c, to: d }'],
    ['{ rename: items, to: data, status: 201 }, { rename: items.*.a, to: b }'],
    ['{ rename: items, to: data, status: 200 }, { rename: items.*.a, to: b, status: 201 }'],
    ['{ strip: a.x }, { unnest: a }, { strip: x }'],
    ['{ rename: x, to: a }, { unnest: d }, { rename: x, to: b }'],
    ['{ rename: x, to: a }, { alias: y, as: x }, { rename: x, to: b }'],
    ['{ rename: x, to: a }, { set: { x: 1 } }, { rename: x, to: b }'],
    ['{ move: x, to: x.y }, { strip: x }'],
    ['{ copy: a.b, to: c }, { copy: a.b, to: d }'],
    ["{ unlist: d.a, of: v }, { unlist: d.a, with: ',' }"],
  ])('but not: %s', async (rules) => {
    expect(await messagesIn(inTurn(rules, 'response'))).toEqual([]);
  });

  test('for one of the operations of a list', async () => {
    const env = '- { id: one, summary: s, on: [a], response: [{ rename: items, to: data }] }\n';
    const own = '- { id: two, summary: s, on: [b, a], response: [{ strip: items.x }] }';
    expect(await messagesIn(withChanges(env + own))).toEqual([
      'change "two": this strip has no effect for a: change "one" renames "items" already: "items.x" is now "data.x"; name that, or put this rule before change "one"',
    ]);
    expect(await messagesIn(withChanges(own.replace('b, a', 'b') + '\n' + env))).toEqual([]);
  });

  test('on a list of operations, but not on every, where a list has it first', async () => {
    const on = (id: string, list: string): string =>
      `- { id: ${id}, summary: s, on: ${list}, response: [ errors: true ] }\n`;
    expect(await messagesIn(withChanges(on('one', '[g]') + on('two', 'every')))).toEqual([]);
    expect(await messagesIn(withChanges(on('one', '[a]') + on('two', 'every')))).toEqual([]);
    expect(await messagesIn(withChanges(on('one', 'every') + on('two', '[g]')))).toEqual([]);
    expect(await messagesIn(withChanges(on('one', 'every') + on('two', '[a]')))).toHaveLength(1);
  });
});

test('many operations with the same changes are examined once', async () => {
  const operations = Array.from({ length: 10_000 }, (_, at) => `  op${at}: POST /things/${at}/{id}`);
  const rules = Array.from({ length: 500 }, (_, at) => `    - strip: x${at}`);
  const book = await bookIn(
    `version: 2025-01-01\noperations:\n${operations.join('\n')}\nchanges:\n- id: c\n  summary: s\n  on: every\n  request:\n${rules.join('\n')}\n`,
  );
  expect(book.operations).toHaveLength(10_000);
});

const name = fc.constantFrom('a', 'b', 'c', 'data');
const names = fc.uniqueArray(name, { minLength: 1, maxLength: 3 });
const path = fc
  .array(fc.oneof({ weight: 4, arbitrary: name }, fc.constant('*')), { maxLength: 2 })
  .filter(([first]) => first !== '*');
const rule: fc.Arbitrary<RequestRule> = fc.oneof(
  { weight: 1, arbitrary: name.map((member) => ({ rule: 'unwrap' as const, member })) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom('nest', 'rename', 'strip', 'only', 'map'), names, path, name)
      .filter(
        ([kind, members, , other]) => !members.includes(other) || ['strip', 'only', 'map'].includes(kind),
      )
      .map(([kind, members, inside, other]) => ruleOf(kind, members, inside, other)),
  },
);

const back: fc.Arbitrary<ResponseRule> = fc
  .tuple(
    fc.constantFrom(
      'rename',
      'strip',
      'move',
      'copy',
      'set',
      'default',
      'map',
      'alias',
      'flatten',
      'unnest',
      'first',
      'list',
      'join',
    ),
    path,
    fc.uniqueArray(name, { minLength: 3, maxLength: 3 }),
  )
  .map(([kind, inside, [a = '', b = '', c = '']]): ResponseRule => {
    const at = { path: [...inside, a], status: ['2xx' as const] };
    switch (kind) {
      case 'rename':
        return { rule: kind, ...at, to: b };
      case 'first':
      case 'list':
        return { rule: kind, ...at, to: b };
      case 'move':
      case 'copy':
        return { rule: kind, path: inside, from: [a], to: [b, c], status: at.status };
      case 'set':
      case 'default':
        return { rule: kind, ...at, json: '1', value: 1 };
      case 'map':
        return { rule: 'map', ...at, values: [{ from: scalarOf(1), to: scalarOf(2) }] };
      case 'alias':
        return { rule: 'alias', ...at, as: b };
      case 'join':
        return {
          rule: 'join',
          path: inside,
          members: [a, b],
          to: c,
          with: ' ',
          at: 'first',
          status: at.status,
        };
      case 'strip':
        return { rule: 'strip', ...at };
      case 'flatten':
      case 'unnest':
        return { rule: kind, ...at, members: c === 'c' ? undefined : [b, c] };
    }
  });

const value = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  object: fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.nat(9),
    tie('object'),
    fc.array(tie('object'), { maxLength: 2 }),
  ),
})).object;

test('a stale rule changes no body, after any rules', () => {
  let stale = 0;
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 2, maxLength: 6 }),
      fc.array(value, { minLength: 1, maxLength: 6 }),
      (rules, bodies) => {
        const last = rules.at(-1);
        if (last === undefined) return;
        const knowledge = new BodyKnowledge();
        const before = rules.slice(0, -1);
        if (before.flatMap((earlier) => knowledge.apply(earlier, 'change', true)).some(isGuess)) return;
        const parts = knowledge.apply(last, 'change', true);
        if (parts.some(isGuess)) return;
        if (parts.length === 0) return;
        stale += 1;
        const without = [
          ...before,
          ...lively(
            last,
            parts.map(({ part }) => part),
          ),
        ];
        for (const body of bodies) expect(outcome(rules, body)).toEqual(outcome(without, body));
      },
    ),
    { numRuns: fuzzRuns(20_000) },
  );
  expect(stale).toBeGreaterThan(fuzzRuns(500));
});

const OK = { status: 200, deprecated: [], isWrapped: true };

test('a stale rule changes no response, after any rules', () => {
  let stale = 0;
  fc.assert(
    fc.property(
      fc.array(back, { minLength: 2, maxLength: 6 }),
      fc.array(value, { minLength: 1, maxLength: 6 }),
      (rules, bodies) => {
        const knowledge = new BodyKnowledge();
        const reasons = rules.map((one) => ('path' in one ? knowledge.applyBack(one, 'change') : undefined));
        const reason = reasons.at(-1);
        if (
          reason === undefined ||
          reasons.some((one) => one !== undefined && isGuess({ part: 0, reason: one }))
        )
          return;
        stale += 1;
        for (const body of bodies) {
          const bytes = new TextEncoder().encode(JSON.stringify(body));
          const after = (list: readonly ResponseRule[]): string =>
            new TextDecoder().decode(
              list.reduce<Uint8Array>((text, one) => responsePlanOf([one]).rewrite(text, OK).body, bytes),
            );
          expect(after(rules)).toBe(after(rules.slice(0, -1)));
        }
      },
    ),
    { numRuns: fuzzRuns(10_000) },
  );
  expect(stale).toBeGreaterThan(0);
});

/** Two kinds of rules are stale by the likely intent of the operator, not because they can never apply. */
function isGuess({ reason }: StalePart): boolean {
  return /unwraps|is an object since/.test(reason);
}

/** The body after each rule is applied by itself to the result of the one before: the meaning of rules. */
function outcome(rules: readonly RequestRule[], body: unknown): unknown {
  let bytes: Uint8Array = new TextEncoder().encode(JSON.stringify(body));
  for (const one of rules) {
    const rewrite = planOf([one]).rewrite(bytes);
    if (rewrite.verdict === 'refused') return rewrite.refusal.code;
    bytes = Uint8Array.from(rewrite.body);
  }
  return new TextDecoder().decode(bytes);
}

/** A rule without its stale parts. */
function lively(last: RequestRule, parts: readonly (number | 'inside')[]): readonly RequestRule[] {
  if (last.rule === 'map') {
    const values = last.values.filter((_, at) => !parts.includes(at + 1));
    return parts.includes('inside') || parts.includes(0) || values.length === 0 ? [] : [{ ...last, values }];
  }
  if (parts.includes('inside') || !('members' in last)) return [];
  const members = last.members.filter((_, at) => !parts.includes(at));
  return members.length === 0 && last.rule !== 'only' ? [] : [{ ...last, members }];
}

function ruleOf(
  kind: string,
  members: readonly string[],
  inside: readonly string[],
  other: string,
): RequestRule {
  switch (kind) {
    case 'nest':
      return { rule: 'nest', members, in: inside, under: other };
    case 'rename':
      return { rule: 'rename', member: members[0] ?? '', in: inside, to: other };
    case 'strip':
      return { rule: 'strip', members, in: inside };
    case 'map': {
      const values = members.map((_, at) => ({
        from: scalarOf(at),
        to: scalarOf(other === 'a' ? at + 1 : 8),
      }));
      return { rule: 'map', member: other, in: inside, values };
    }
    default:
      return { rule: 'only', members, in: inside };
  }
}

/** A book of one change for each rule in `rules`, as a YAML list without its brackets: one, two, three, four. */
function inTurn(rules: string, direction = 'request'): string {
  const separate = rules.split(/, (?=\{|strip:|unwrap:|deprecations:)/);
  const ids = ['one', 'two', 'three', 'four'];
  return withChanges(
    separate
      .map((one, at) => `- { id: ${ids[at] ?? ''}, summary: s, on: every, ${direction}: [ ${one} ] }`)
      .join('\n'),
  );
}
