import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { readScalar } from '../../src/json/names.ts';
import type { MappedValue, RequestRule } from '../../src/rules/rule.ts';
import { planOf } from '../support/plan-of.ts';
import { bytesOf } from './notation.ts';

const RULES: readonly RequestRule[] = [
  { rule: 'unwrap', member: 'data' },
  { rule: 'nest', members: ['street', 'suburb'], in: ['property'], under: 'address' },
  { rule: 'rename', member: 'old', in: ['list', '*'], to: 'new' },
  { rule: 'strip', members: ['legacy'], in: [] },
];

/** Those of `texts` that a plan rewrites otherwise when it has seen them all, again and again, than when it sees that one. */
function confused(texts: readonly string[], rules = RULES): readonly string[] {
  const shared = planOf(rules);
  const alone = new Map(texts.map((text) => [text, planOf(rules).rewrite(bytesOf(text))]));
  return [...texts, ...texts, ...texts, ...texts.toReversed()].filter(
    (text) => !isDeepStrictEqual(shared.rewrite(bytesOf(text)), alone.get(text)),
  );
}

test('bodies with the same nodes in another nesting are distinguished', () => {
  expect(
    confused([
      '{"data":{"property":{"street":1,"suburb":2},"legacy":3}}',
      '{"data":{"property":{"street":1},"suburb":2,"legacy":3}}',
      '{"data":{"property":{"street":1,"suburb":2,"legacy":3}}}',
      '{"data":{"property":{},"street":1,"suburb":2},"legacy":3}',
      '{"data":{"property":{"street":1,"suburb":2}},"legacy":3}',
    ]),
  ).toEqual([]);
});

test('bodies whose members are other containers are distinguished', () => {
  expect(
    confused([
      '{"data":{"property":{"street":1,"address":{}}}}',
      '{"data":{"property":{"street":1,"address":[]}}}',
      '{"data":{"property":{"street":1,"address":null}}}',
      '{"data":{"property":{"street":1,"address":"a"}}}',
      '{"data":[]}',
      '{"data":null}',
      '[{"data":{}}]',
      '{}',
      '""',
      '0',
    ]),
  ).toEqual([]);
});

test('bodies of one shape keep their own values, spelling, white space and byte order mark', () => {
  expect(
    confused([
      '{"data":{"property":{"street":1,"suburb":2},"legacy":3}}',
      ' { "data" : { "property" : { "street" : "é" , "suburb" : null } , "legacy" : "\\u0000" } } ',
      '\uFEFF{"data":{"property":{"\\u0073treet":1e5,"suburb":"}"},"legacy":true}}\n',
    ]),
  ).toEqual([]);
});

test('names that no rule looks for are those of the body at hand', () => {
  expect(confused(['{"a":1,"data":{}}', '{"b":1,"data":{}}'])).toEqual([]);
  const only: readonly RequestRule[] = [{ rule: 'only', members: ['x'], in: [] }];
  expect(confused(['{"x":1,"a":2}', '{"x":1,"b":2}'], only)).toEqual([]);
});

test('indexes are those of the body at hand', () => {
  expect(
    confused([
      '{"list":[{"old":1},{"x":1}]}',
      '{"list":[{"x":1},{"old":1}]}',
      '{"list":[0,{"x":1},{"old":1}]}',
      '{"list":[[{"old":1}],{"old":1}]}',
    ]),
  ).toEqual([]);
});

test('values that maps look up are those of the body at hand, also where a map reads what another wrote', () => {
  const values = (...pairs: readonly [string, string][]): readonly MappedValue[] =>
    pairs.map(([from, to]) => ({ from: readScalar(from), to: readScalar(to) }));
  const rules: readonly RequestRule[] = [
    { rule: 'unwrap', member: 'data' },
    { rule: 'map', member: 'a', in: [], values: values(['x', 'y'], ['1', '2']) },
    { rule: 'rename', member: 'a', in: [], to: 'b' },
    { rule: 'map', member: 'b', in: [], values: values(['y', 'z'], ['2', '"2"'], ['w', 'v']) },
    { rule: 'map', member: 'c', in: ['list', '*'], values: values(['null', 'true'], ['""', 'empty']) },
  ];
  const texts = ['"x"', '"y"', '"w"', '1', '2', '"1"', '"\\u0078"', '1.0', '{}', '[]'].flatMap((value) => [
    `{"data":{"a":${value}}}`,
    `{"data":{"b":${value}}}`,
    `{"data":{"list":[{"c":null},{"c":"" },{"c":${value}}],"a":${value}}}`,
  ]);
  expect(confused(texts, rules)).toEqual([]);
});

test('values beyond the kept number are still mapped', () => {
  const members = Array.from({ length: 8 }, (_, k) => `m${k}`);
  const rules = members.map((member): RequestRule => ({
    rule: 'map',
    member,
    in: [],
    values: [{ from: readScalar('1'), to: readScalar('one') }],
  }));
  const texts = Array.from({ length: 200 }, (_, k) => {
    const bits = k.toString(2).padStart(8, '0');
    return `{${members.map((member, at) => `"${member}":${bits.charAt(at)}`).join(',')}}`;
  });
  expect(confused(texts, rules)).toEqual([]);
});

test('bodies beyond the kept number of shapes are still rewritten', () => {
  const digits = Array.from({ length: 1500 }, (_, k) => k.toString(2).padStart(11, '0'));
  const member = (digit: string, k: number): string => `"m${k}":${digit === '1' ? '{}' : '[]'}`;
  expect(
    confused(digits.map((bits) => `{"data":{"legacy":0,${Array.from(bits, member).join(',')}}}`)),
  ).toEqual([]);
});
