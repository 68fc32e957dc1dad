import { describe, expect, test } from 'vitest';
import type { Policies } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { refusalText } from '../../src/rewrite/records.ts';
import { planOf } from '../support/plan-of.ts';
import { bytesOf, editsOf, recordsOf, rewritten } from './notation.ts';

// The table of the rewriting contract, section 2, row by row.

const UNWRAP: RequestRule = { rule: 'unwrap', member: 'data' };
const NEST: RequestRule = {
  rule: 'nest',
  members: ['street', 'suburb', 'lat'],
  in: ['property'],
  under: 'address',
};
const nestBody: RequestRule = { ...NEST, in: [] };
const RENAME: RequestRule = { rule: 'rename', member: 'old', in: [], to: 'new' };
const STRIP: RequestRule = { rule: 'strip', members: ['a', 'b'], in: [] };

type Case = [before: string, after: string];

function cases(
  title: string,
  rules: readonly RequestRule[],
  rows: readonly Case[],
  policies: Partial<Policies> = {},
): void {
  describe(title, () => {
    test.each(rows)('%s', (before, after) => {
      expect(rewritten(planOf(rules, policies), before)).toBe(after);
    });
  });
}

cases(
  'an absent member: the rule does nothing',
  [UNWRAP, NEST, RENAME, STRIP],
  [
    ['{"data":{}}', '{}'],
    ['{"data":{"x":1}}', '{"x":1}'],
    ['{"data":{"property":{"x":1}}}', '{"property":{"x":1}}'],
    ['{"data":{"property":[1]}}', '{"property":[1]}'],
  ],
);

for (const value of ['null', 'false', '0', '""', '[]', '{}', '-0', '1E400', '"\\u00e9\\/"']) {
  cases(
    `the value ${value} is a value like any other`,
    [UNWRAP, NEST, RENAME, STRIP],
    [
      [`{"data":{"old":${value},"x":1}}`, `{"new":${value},"x":1}`],
      [`{"data":{"a":${value}}}`, '{}'],
      [`{"data":{"property":{"street":${value}}}}`, `{"property":{"address":{"street":${value}}}}`],
    ],
  );
}

cases(
  'no data member: already flat, other rules still apply',
  [UNWRAP, RENAME],
  [
    ['{"old":1}', '{"new":1}'],
    ['{}', '{}'],
  ],
);
test('an already flat body is logged as such', () => {
  expect(recordsOf(planOf([UNWRAP, RENAME]), '{"x":1}')).toEqual(['unwrap  ->  (already-flat)']);
});

cases(
  'members beside data are dropped',
  [UNWRAP],
  [
    ['{"x":1,"data":{"y":2},"z":3}', '{"y":2}'],
    [' {"data" : { "y" : 2 } , "z":3} ', ' { "y" : 2 } '],
  ],
);
test('each member beside data is logged as a strip', () => {
  expect(recordsOf(planOf([UNWRAP]), '{"x":1,"data":{"y":2},"z/~":3}')).toEqual([
    'strip /x ->  (sibling)',
    'strip /z~1~0 ->  (sibling)',
    'unwrap /data -> ',
  ]);
});

cases(
  'data that is not an object is refused',
  [UNWRAP],
  [
    ['{"data":[]}', 'refused 422 wrapper-not-object /data'],
    ['{"data":null}', 'refused 422 wrapper-not-object /data'],
    ['{"data":"{}"}', 'refused 422 wrapper-not-object /data'],
  ],
);

cases(
  'rename: the value keeps its bytes and its place',
  [RENAME],
  [
    ['{"x":1,"old" : 10.50,"y":2}', '{"x":1,"new" : 10.50,"y":2}'],
    ['{"ol\\u0064":1}', '{"new":1}'],
  ],
);
cases(
  'rename: on a conflict the old value wins',
  [RENAME],
  [
    ['{"new":1,"old":2}', '{"new":2}'],
    ['{"old":2,"new":1,"x":3}', '{"new":2,"x":3}'],
  ],
);
test('a conflict is logged, with the dropped member', () => {
  expect(recordsOf(planOf([RENAME]), '{"new":1,"old":2}')).toEqual([
    'rename /new ->  (conflict)',
    'rename /old -> /new (conflict)',
  ]);
});

cases(
  'nest: none of the members, no empty address',
  [nestBody],
  [
    ['{"x":1}', '{"x":1}'],
    ['{"address":7}', '{"address":7}'],
  ],
);
cases(
  'nest: an object that is there gets the members',
  [nestBody],
  [
    ['{"street":1,"address":{"lat":2},"x":3}', '{"address":{"lat":2,"street":1},"x":3}'],
    ['{"address":{},"street":1}', '{"address":{"street":1}}'],
    ['{"address":{"street":1,"z":2},"street":9}', '{"address":{"z":2,"street":9}}'],
  ],
);
cases(
  'nest: something else gives way, when there are flat members',
  [nestBody],
  [
    ['{"address":"x","street":1}', '{"address":{"street":1}}'],
    ['{"street":1,"address":null,"lat":2}', '{"address":{"street":1,"lat":2}}'],
  ],
);
test('nest logs the member that is dropped as a conflict', () => {
  expect(recordsOf(planOf([nestBody]), '{"address":"x","street":1}')).toEqual([
    'nest /address ->  (conflict)',
    'nest /street -> /address/street',
  ]);
});
cases(
  'nest: the new object stands at the place of the first member moved',
  [nestBody],
  [
    ['{"x":1,"suburb":2,"y":3,"street":4,"z":5}', '{"x":1,"address":{"suburb":2,"street":4},"y":3,"z":5}'],
    ['{ "street":1, "lat":2, "x":3 }', '{ "address":{"street":1, "lat":2}, "x":3 }'],
  ],
);
test('nest puts brackets around members that follow each other', () => {
  const outcome = planOf([nestBody]).rewrite(bytesOf('{"street":1, "lat":2,"x":3}'));
  expect(outcome.verdict === 'rewritten' && editsOf(outcome.edits)).toBe('1-1="address":{ 20-20=}');
});

cases(
  'a named member twice in one object is refused, however spelled',
  [UNWRAP, NEST, RENAME, STRIP],
  [
    ['{"data":{},"d\\u0061ta":{}}', 'refused 400 duplicate-member /data'],
    ['{"data":{"a":1,"a":2}}', 'refused 400 duplicate-member /data/a'],
    ['{"data":{"old":1,"\\u006fld":2}}', 'refused 400 duplicate-member /data/old'],
    ['{"data":{"new":1,"new":2}}', 'refused 400 duplicate-member /data/new'],
    ['{"data":{"property":{},"property":{}}}', 'refused 400 duplicate-member /data/property'],
    ['{"data":{"property":{"lat":1,"lat":1}}}', 'refused 400 duplicate-member /data/property/lat'],
    [
      '{"data":{"property":{"address":{},"address":{}}}}',
      'refused 400 duplicate-member /data/property/address',
    ],
  ],
);
cases(
  'policy duplicate: last',
  [UNWRAP, NEST, RENAME, STRIP],
  [
    ['{"data":{"x":1},"data":{"x":2}}', '{"x":2}'],
    ['{"data":{"old":1,"y":0,"old":2}}', '{"y":0,"new":2}'],
    ['{"data":{"property":{"lat":1,"lat":2}}}', '{"property":{"address":{"lat":2}}}'],
  ],
  { duplicate: 'last' },
);
cases(
  'a duplicated member that no rule names is copied, all of them',
  [UNWRAP, RENAME],
  [['{"data":{"x":1,"x":2,"old":3,"x":4}}', '{"x":1,"x":2,"new":3,"x":4}']],
);

cases(
  'an array, a scalar and an empty body are forwarded untouched',
  [UNWRAP, STRIP],
  [
    ['[{"data":{}}]', '[{"data":{}}]'],
    ['"data"', '"data"'],
    [' null ', ' null '],
    ['', ''],
  ],
);

test('a text that is not JSON is refused with byte offset, line and column', () => {
  const outcome = planOf([UNWRAP]).rewrite(bytesOf('{"é":1,\n  "x":01}'));
  expect(outcome).toMatchObject({
    verdict: 'refused',
    refusal: { code: 'malformed-json', status: 400, position: { offset: 16, line: 2, column: 8 } },
  });
  expect(outcome.verdict === 'refused' && refusalText(outcome.refusal)).toBe(
    'The body is not valid JSON: send one JSON object. Byte 16, line 2, column 8: a comma or a closing bracket is expected here.',
  );
});
test('a text that is not UTF-8 is refused at its first invalid byte', () => {
  const outcome = planOf([UNWRAP]).rewrite(Uint8Array.of(0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d));
  const detail = 'The body is not UTF-8: send JSON in UTF-8.';
  const position = { offset: 2, line: 1, column: 3 };
  expect(outcome).toMatchObject({ refusal: { status: 400, detail, position } });
});

test('nesting is refused beyond the limit, and no depth exhausts the stack', () => {
  const nested = (depth: number): Uint8Array => bytesOf('['.repeat(depth) + ']'.repeat(depth));
  expect(planOf([]).rewrite(nested(512)).verdict).toBe('unchanged');
  expect(planOf([]).rewrite(nested(513))).toMatchObject({ refusal: { code: 'too-deep', status: 400 } });
  expect(planOf([]).rewrite(nested(5_000_000))).toMatchObject({ refusal: { code: 'too-deep' } });
  expect(planOf([], {}, 1_000_000).rewrite(nested(1_000_000)).verdict).toBe('unchanged');
});

test('a byte order mark is dropped and logged', () => {
  const plan = planOf([UNWRAP]);
  const outcome = plan.rewrite(bytesOf('\ufeff{"x":1}'));
  expect(outcome.verdict === 'rewritten' && editsOf(outcome.edits)).toBe('0-3=');
  expect(recordsOf(plan, '\ufeff{"data":{}}')).toEqual(['strip  ->  (byte-order-mark)', 'unwrap /data -> ']);
});

cases(
  'strip takes exactly one comma; an emptied object stays {}',
  [STRIP],
  [
    ['{"a":1}', '{}'],
    ['{ "a":1, "b":2 }', '{}'],
    ['{"a":1,"x":2}', '{"x":2}'],
    ['{"x":2,"a":1}', '{"x":2}'],
    ['{"x":1,"a":2,"y":3}', '{"x":1,"y":3}'],
    ['{\n  "x": 1,\n  "a": 2\n}', '{\n  "x": 1\n}'],
    ['{\n  "a": 1,\n  "x": 2\n}', '{\n  "x": 2\n}'],
  ],
);

cases(
  'only removes every member that is not listed',
  [{ rule: 'only', members: ['x', 'y'], in: ['p'] }],
  [
    ['{"q":1,"p":{"z":0,"x":1,"w":2,"y":3,"z":4}}', '{"q":1,"p":{"x":1,"y":3}}'],
    ['{"p":{"z":0}}', '{"p":{}}'],
    ['{"p":{"x":0,"x":1}}', 'refused 400 duplicate-member /p/x'],
  ],
);

cases(
  'a body that is an array is met by rules whose path begins with *',
  [
    UNWRAP,
    { ...RENAME, in: ['*'] },
    { ...NEST, in: ['*', 'property'] },
    { rule: 'strip', members: ['k'], in: ['*', '*'] },
    STRIP,
  ],
  [
    ['[{"old":1},2,{ "old" : 10.50 , "a":1}]', '[{"new":1},2,{ "new" : 10.50 , "a":1}]'],
    ['[{"property":{"x":0,"lat":1}}] ', '[{"property":{"x":0,"address":{"lat":1}}}] '],
    ['[[{"k":1}],[],{"k":2}]', '[[{}],[],{"k":2}]'],
    ['[ ]', '[ ]'],
    ['[{"x":1},{"old":1,"old":2}]', 'refused 400 duplicate-member /1/old'],
    ['{"data":{"old":1,"property":[{"k":1}],"a":2}}', '{"old":1,"property":[{"k":1}]}'],
  ],
);
test('pointers begin with the index of the element', () => {
  const plan = planOf([UNWRAP, { ...NEST, in: ['*'] }]);
  expect(recordsOf(plan, '[0,{"lat":1}]')).toEqual(['nest /1/lat -> /1/address/lat']);
});

cases(
  'array wildcards',
  [
    { ...NEST, in: ['properties', '*'] },
    { rule: 'strip', members: ['k'], in: ['m', '*', '*'] },
  ],
  [
    [
      '{"properties":[{"lat":1},2,{"x":{}},{"suburb":3,"z":4}]}',
      '{"properties":[{"address":{"lat":1}},2,{"x":{}},{"address":{"suburb":3},"z":4}]}',
    ],
    ['{"properties":{"0":{"lat":1}}}', '{"properties":{"0":{"lat":1}}}'],
    ['{"m":[[{"k":1}],[],[[{"k":1}],{"k":2,"l":3}]]}', '{"m":[[{}],[],[[{"k":1}],{"l":3}]]}'],
  ],
);
test('pointers name the element of the array', () => {
  expect(recordsOf(planOf([{ ...NEST, in: ['p', '*'] }]), '{"p":[0,{"lat":1}]}')).toEqual([
    'nest /p/1/lat -> /p/1/address/lat',
  ]);
});

cases(
  'each rule sees the body as the one before left it',
  [
    UNWRAP,
    RENAME,
    { rule: 'nest', members: ['new'], in: [], under: 'box' },
    { rule: 'rename', member: 'new', in: ['box'], to: 'newest' },
  ],
  [['{"data":{"old":1}}', '{"box":{"newest":1}}']],
);
test('pointers lead from the V1 body to the V2 body, through any rules between', () => {
  const plan = planOf([
    UNWRAP,
    RENAME,
    { rule: 'nest', members: ['new'], in: [], under: 'box' },
    { rule: 'rename', member: 'box', in: [], to: 'crate' },
  ]);
  expect(recordsOf(plan, '{"data":{"old":1}}')).toEqual([
    'unwrap /data -> ',
    'rename /data/old -> /crate/new',
    'nest /data/old -> /crate/new',
    'rename  -> /crate',
  ]);
});

test('texts that re-encoding would damage survive', () => {
  const odd =
    '"n":12345678901234567890,"m":10.50,"e":1E400,"z":-0,"l":[],"o":{},"s":"\\u00e9\\/\\ud800","10":1,"2":2,"__proto__":3,"t":true,"t":false';
  expect(rewritten(planOf([UNWRAP, RENAME]), `{"data":{${odd},"old":1}}`)).toBe(`{${odd},"new":1}`);
});

test.each<[policy: keyof Policies, choice: string, rules: RequestRule[], before: string, after: string]>([
  ['flat', 'refuse', [UNWRAP], '{"x":1}', 'refused 422 not-wrapped /data'],
  ['flat', 'forward', [UNWRAP, RENAME], '{"old":1}', '{"old":1}'],
  ['siblings', 'refuse', [UNWRAP], '{"x":1,"data":{}}', 'refused 422 wrapper-siblings /x'],
  ['siblings', 'forward', [UNWRAP], '{"x":1,"data":{}}', '{"x":1,"data":{}}'],
  ['wrapper', 'forward', [UNWRAP, RENAME], '{"data":1,"old":2}', '{"data":1,"old":2}'],
  ['conflict', 'refuse', [RENAME], '{"new":1,"old":2}', 'refused 422 conflicting-members /new'],
  ['conflict', 'forward', [UNWRAP, RENAME], '{"data":{"new":1,"old":2}}', '{"data":{"new":1,"old":2}}'],
  ['duplicate', 'forward', [UNWRAP, RENAME], '{"data":{"old":1,"old":2}}', '{"data":{"old":1,"old":2}}'],
  ['malformed', 'forward', [UNWRAP], '{"data":', '{"data":'],
])('policy %s: %s', (policy, choice, rules, before, after) => {
  expect(rewritten(planOf(rules, { [policy]: choice }), before)).toBe(after);
});
