import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { applyEdits } from '../../src/json/edit.ts';
import type { ResponseContext } from '../../src/rewrite/response-rules.ts';
import type { RequestRule, ResponseRule } from '../../src/rules/rule.ts';
import { planOf, SHIPPED } from '../support/plan-of.ts';
import { responsePlanOf, responseRule } from '../support/response-plan-of.ts';
import { bytesOf, editsOf, textOf } from './notation.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { rows } from '../support/rows.ts';

const OK: ResponseContext = { status: 200, deprecated: [], isWrapped: true };
const USED = [{ attribute: 'old', message: 'old is deprecated: it is gone in V2.' }];

/** What the rules make of a text: the new text, or `unchanged`. */
function rewritten(rules: readonly string[], text: string, context: Partial<ResponseContext> = {}): string {
  const outcome = responsePlanOf(rules.map(responseRule), SHIPPED).rewrite(bytesOf(text), {
    ...OK,
    ...context,
  });
  return outcome.verdict === 'unchanged' ? 'unchanged' : textOf(outcome.body);
}

test.each(rows`
  {"a":["x"]} → {"b":"x"}
  {"a":[]} → {"b":null}
  {"a":null} → {"b":null}
  {"a":null,"b":1} → {"b":null}
  {"a":7} → {"a":7}
`)('the first element of a list: %s becomes %s', (text, expected) => {
  const rule: ResponseRule = { rule: 'first', path: ['a'], to: 'b', status: ['2xx'] };
  expect(textOf(responsePlanOf([rule]).rewrite(bytesOf(text), OK).body)).toBe(expected);
});

describe('alias', () => {
  const rules = ['alias data.highlight_type as transition_type'];
  test.each([
    ...rows`
    {"data":{"highlight_type":"slide"}} → {"data":{"highlight_type":"slide","transition_type":"slide"}}
    {"data":{"highlight_type":1E400,"id":1}}
      {"data":{"highlight_type":1E400,"transition_type":1E400,"id":1}}
    {"data":{"highlight\u005ftype":null}} → {"data":{"highlight\u005ftype":null,"transition_type":null}}
    {"data":{"highlight_type":"a","transition_type":"b"}} → unchanged
    {"data":{"id":1}} → unchanged
    {"data":[{"highlight_type":"a"}]} → unchanged
    [] → unchanged
    "highlight_type" → unchanged
    {"data":{"highlight_type":"a"} → unchanged
  `,
    [
      '{\n  "data": {\n    "id": 1,\n    "highlight_type" : "\\u00e9"\n  }\n}',
      '{\n  "data": {\n    "id": 1,\n    "highlight_type" : "\\u00e9",\n    "transition_type" : "\\u00e9"\n  }\n}',
    ],
  ])('%s', (text, expected) => {
    expect(rewritten(rules, text)).toBe(expected);
  });

  test('a byte order mark stays', () => {
    const { body } = responsePlanOf([responseRule('alias a as b')]).rewrite(bytesOf('\u{feff}{"a":1}'), OK);
    expect(body).toEqual(bytesOf('\u{feff}{"a":1,"b":1}'));
  });

  test('the last member of a repeated name counts, as for parsers', () => {
    expect(rewritten(['alias a as b'], '{"a":1,"a":2}')).toBe('{"a":1,"a":2,"b":2}');
  });

  test('elements of lists', () => {
    expect(rewritten(['alias data.*.a as b'], '{"data":[{"a":1},2,{"x":{}},{"a":[ ]}]}')).toBe(
      '{"data":[{"a":1,"b":1},2,{"x":{}},{"a":[ ],"b":[ ]}]}',
    );
  });

  test('the records say where the value came from and went', () => {
    const outcome = responsePlanOf([responseRule('alias data.*.a as b/c')]).rewrite(
      bytesOf('{"data":[{},{"a":1}]}'),
      OK,
    );
    expect(outcome).toMatchObject({
      records: [{ change: 'change', rule: 'alias', from: '/data/1/a', path: '/data/1/b~1c' }],
    });
  });
});

describe('rename', () => {
  const rules = ['rename data.highlight_type to transition_type'];
  test.each([
    ['{"data":{"highlight_type":"slide","id":1}}', '{"data":{"transition_type":"slide","id":1}}'],
    ['{"data":{ "highlight\\u005ftype" : 1E400 }}', '{"data":{ "transition_type" : 1E400 }}'],
    // V1 had one such attribute: the value that V2 has counts, in its place.
    [
      '{"data":{"transition_type":"b", "id":1, "highlight_type":"a"}}',
      '{"data":{ "id":1, "transition_type":"a"}}',
    ],
    ['{"data":{"highlight_type":1,"highlight_type":2}}', '{"data":{"transition_type":2}}'],
    ['{"data":{"transition_type":1}}', 'unchanged'],
    ['{"data":[{"highlight_type":1}]}', 'unchanged'],
    ['{"data":null}', 'unchanged'],
  ])('%s', (text, expected) => {
    expect(rewritten(rules, text)).toBe(expected);
  });

  test('the edit is the key and nothing else', () => {
    const outcome = responsePlanOf([responseRule('rename a to bc')]).rewrite(bytesOf('{"a": 1}'), OK);
    expect(outcome.verdict === 'rewritten' && editsOf(outcome.edits)).toBe('1-4="bc"');
  });
});

describe('wrap', () => {
  test.each([
    ['wrap data', ' { "id": 1E400 }\n', ' {"data":{ "id": 1E400 }}\n'],
    ['wrap data', '{}', '{"data":{}}'],
    ['wrap data', '{"data":{"id":1}}', '{"data":{"data":{"id":1}}}'],
    ['wrap data', ' [{"id":1}, 2]', ' {"data":[{"id":1}, 2]}'],
    ['wrap data', '"id"', 'unchanged'],
    ['wrap data', '{"id":1', 'unchanged'],
    // It comes after all other rules, also those of later changes, and the second wraps the first.
    ['wrap data, rename a to b, unnest c', '{"a":1,"c":{"d":2}}', '{"data":{"b":1,"d":2}}'],
    ['wrap data, rename *.a to b', '[{"a":1}]', '{"data":[{"b":1}]}'],
    ['wrap data, wrap result', '{"a":1}', '{"result":{"data":{"a":1}}}'],
  ])('%s: %s', (rules, text, expected) => {
    expect(rewritten(rules.split(', '), text)).toBe(expected);
  });

  test('errors stay, unless the rule names their statuses', () => {
    expect(rewritten(['wrap data'], '{"id":1}', { status: 404 })).toBe('unchanged');
  });

  test('a list too large to be rewritten whole gets one envelope', () => {
    const rules = ['wrap data', 'rename *.a to b'];
    const list = Array.from({ length: 40_000 }, (_, a) => ({ a }));
    const text = rewritten(rules, JSON.stringify(list));
    expect(JSON.parse(text)).toEqual({ data: list.map(({ a }) => ({ b: a })) });
    expect(responsePlanOf(rules.map(responseRule)).pieces(OK, () => {})).toBeUndefined();
  });

  test('only the ends of the body change, and all records lead to the new places', () => {
    const plan = responsePlanOf(['wrap data', 'rename a to b'].map(responseRule));
    const outcome = plan.rewrite(bytesOf('{"a":1,"c":[2]}'), OK);
    if (outcome.verdict !== 'rewritten') expect.fail('rewritten');
    expect(editsOf(outcome.edits)).toBe('0-0={"data": 1-4="b" 15-15=}');
    expect(outcome.records).toEqual([
      { change: 'change', rule: 'rename', from: '/a', path: '/data/b' },
      { change: 'change', rule: 'wrap', from: '', path: '/data' },
    ]);
    expect(outcome.patch).toEqual([]);
  });

  test('a response is what the other rules make of it, in the member', () => {
    const inner = (text: string, rules: readonly string[]): string =>
      textOf(responsePlanOf(rules.map(responseRule)).rewrite(bytesOf(text), OK).body);
    fc.assert(
      fc.property(document, someRules, (text, rules) => {
        const wrapped = JSON.parse(inner(text, ['wrap w', ...rules]));
        const plain = JSON.parse(inner(text, rules));
        expect(wrapped).toEqual(typeof plain === 'object' && plain !== null ? { w: plain } : plain);
      }),
      { numRuns: fuzzRuns(500) },
    );
  });
});

describe('unnest', () => {
  test.each([
    // In the place of the sub-object, in its order, with the white space that is there.
    [
      'unnest data.property.address',
      '{"data":{"property":{"id":1,"address":{"suburb":"Enmore","postcode":"2042"},"client":null}}}',
      '{"data":{"property":{"id":1,"suburb":"Enmore","postcode":"2042","client":null}}}',
    ],
    [
      'unnest a',
      '{\n  "a": {\n    "x": 1.0,\n    "y" : [ ]\n  },\n  "b": 2\n}',
      '{\n  "x": 1.0,\n    "y" : [ ],\n  "b": 2\n}',
    ],
    ['unnest a', '{"a":{"x":1}}', '{"x":1}'],
    // V1 had no such object: empty or null, it goes.
    ['unnest a', '{"a":{}, "b":1}', '{ "b":1}'],
    ['unnest a', '{"b":1 , "a":null}', '{"b":1}'],
    ['unnest a x', '{"a":{}}', '{}'],
    // V2's value is the one that V1 called by this name.
    ['unnest a', '{"x":1,"a":{"x":2,"y":3}}', '{"x":2,"y":3}'],
    ['unnest a x', '{"a":{"x":2},"\\u0078":1}', '{"x":2}'],
    // Members that the rule does not name stay where they are.
    ['unnest a x', '{"a":{"x":1,"z":2},"b":3}', '{"a":{"z":2},"x":1,"b":3}'],
    ['unnest a x y', '{ "a" : {"y":1, "z":2 , "x":3} }', '{ "a" : { "z":2}, "y":1, "x":3 }'],
    ['unnest a x', '{"a":{"z":2}}', 'unchanged'],
    ['unnest a', '{"a":{"x":1,"x":2}}', '{"x":2}'],
    ['unnest a x', '{"a":{"x":1,"x":2},"a":{"x":3}}', '{"x":3}'],
    ['unnest a', '{"a":{"a":1,"b":2}}', '{"a":{"a":1},"b":2}'],
    ['unnest a', '{"a":[{"x":1}]}', 'unchanged'],
    ['unnest a', '{"a":"null"}', 'unchanged'],
    ['unnest data.*.a', '{"data":[{"a":{"x":1}},{"a":null},{}]}', '{"data":[{"x":1},{},{}]}'],
  ])('%s: %s', (rule, text, expected) => {
    expect(rewritten([rule], text)).toBe(expected);
  });

  test('later rules see a member that moved out, and a renamed member can move out', () => {
    expect(rewritten(['unnest a', 'rename b.x to y'], '{"a":{"b":{"x":1}}}')).toBe('{"b":{"y":1}}');
    expect(rewritten(['rename a.x to y', 'rename a to c', 'unnest c y'], '{"a":{"x":1}}')).toBe('{"y":1}');
    expect(rewritten(['alias a as b', 'unnest b'], '{"a":{"x":1}}')).toBe('{"a":{"x":1},"x":1}');
  });

  test('records name both places, and say why a member is gone', () => {
    const outcome = responsePlanOf([
      responseRule('unnest data.a x'),
      responseRule('rename data.x to y'),
    ]).rewrite(bytesOf('{"data":{"x":0,"a":{"x":1,"x":2}}}'), OK);
    expect(outcome).toMatchObject({
      records: [
        { rule: 'unnest', from: '/data/a/x', note: 'duplicate' },
        { rule: 'unnest', from: '/data/x', note: 'conflict' },
        { rule: 'unnest', from: '/data/a/x', path: '/data/y' },
        { rule: 'rename', from: '/data/a/x', path: '/data/y' },
      ],
      omitted: 0,
      patch: [
        { op: 'remove', path: '/data/x' },
        { op: 'move', from: '/data/a/x', path: '/data/x' },
        { op: 'remove', path: '/data/a' },
        { op: 'move', from: '/data/x', path: '/data/y' },
      ],
    });
  });

  test('the record of a move out of an object that stays names the earlier place', () => {
    const outcome = responsePlanOf([responseRule('unnest data.a x')]).rewrite(
      bytesOf('{"data":{"a":{"x":1,"z":2}}}'),
      OK,
    );
    expect(outcome).toMatchObject({
      records: [{ rule: 'unnest', from: '/data/a/x', path: '/data/x' }],
      patch: [{ op: 'move', from: '/data/a/x', path: '/data/x' }],
    });
  });
});

describe('flatten', () => {
  test.each([
    [
      'flatten data.property.address',
      '{"data":{"property":{"id":1,"address":{"suburb":"Enmore","postcode":"2042"}}}}',
      '{"data":{"property":{"id":1,"address":{"suburb":"Enmore","postcode":"2042"},"suburb":"Enmore","postcode":"2042"}}}',
    ],
    ['flatten a', '{ "a": {"x": 1, "y" : [2]}, "x": 3 }', '{ "a": {"x": 1, "y" : [2]}, "y" : [2], "x": 3 }'],
    ['flatten a y', '{"a":{"x":1,"y":2}}', '{"a":{"x":1,"y":2},"y":2}'],
    ['flatten a', '{"a":{"x":1,"x":2}}', '{"a":{"x":1,"x":2},"x":2}'],
    ['flatten a', '{"a":{"x":1},"\\u0078":2}', 'unchanged'],
    ['flatten a', '{"a":{}}', 'unchanged'],
    ['flatten a', '{"a":null}', 'unchanged'],
    ['flatten a', '{"a":[{"x":1}]}', 'unchanged'],
  ])('%s: %s', (rule, text, expected) => {
    expect(rewritten([rule], text)).toBe(expected);
  });
});

describe('deprecations', () => {
  const list = '[{"attribute":"old","message":"old is deprecated: it is gone in V2."}]';
  test.each([
    ['deprecations deprecations', '{"data":{}}', `{"data":{},"deprecations":${list}}`],
    ['deprecations meta.deprecations', '{"data":{}}', `{"data":{},"meta":{"deprecations":${list}}}`],
    ['deprecations meta.list', '{"meta":{"n":1}}', `{"meta":{"n":1,"list":${list}}}`],
    ['deprecations list', '{\n  "data": 1\n}', `{\n  "data": 1,\n  "list":${list}\n}`],
    ['deprecations list', '{}', `{"list":${list}}`],
    ['deprecations a.b', '{ }', `{"a":{"b":${list}}}`],
    ['deprecations meta.list', '{"meta":[]}', 'unchanged'],
    ['deprecations meta', '{"meta":[]}', 'unchanged'],
  ])('%s: %s', (rule, text, expected) => {
    const outcome = rewritten([rule], text, { deprecated: USED });
    expect(outcome.replace('{ "', '{"').replace(' }', '}')).toBe(expected.replace(' }', '}'));
  });

  test('a request without deprecated attributes gets no list', () => {
    expect(rewritten(['deprecations list'], '{}')).toBe('unchanged');
    expect(responsePlanOf([responseRule('deprecations list')]).appliesTo(200, false)).toBe(false);
  });
});

describe('errors', () => {
  const turned = (text: string, isWrapped = true): string =>
    rewritten(['errors'], text, { status: 422, isWrapped });
  test.each([
    ['/highlight_type', '/data/transition_type'],
    ['/property/address/suburb', '/data/property/suburb'],
    ['/property/address', '/data/property'],
    ['/property/address/unknown', '/data/property/address/unknown'],
    ['/name', '/data/name'],
    ['', '/data'],
    [String.raw`\/highlight_type`, String.raw`\/data\/transition_type`],
    [String.raw`/a\"b`, String.raw`/data/a\"b`],
    [String.raw`\/a\\\/b\n`, String.raw`\/data\/a\\\/b\n`],
    [String.raw`/a\\/b\n`, String.raw`/data/a\\/b\n`],
    [String.raw`/caf\u00e9/\ud800`, String.raw`/data/caf\u00e9/\ud800`],
    [String.raw`/property/address/a\\`, String.raw`/data/property/address/a\\`],
    [String.raw`/propert\u0079/addr\u0065ss/suburb`, String.raw`/data/propert\u0079/suburb`],
    [String.raw`/highlight\u005ftype`, '/data/transition_type'],
    [String.raw`/a\u002fhighlight_type~1\"`, String.raw`/data/a/highlight_type~1\"`],
    ['/a~2/b~', '/data/a~2/b~'],
    [String.raw`/property\/address/suburb/\u0061`, String.raw`\/data\/property\/suburb\/\u0061`],
    [
      `/property/address/suburb/${String.raw`\n`.repeat(999)}`,
      `/data/property/suburb/${String.raw`\n`.repeat(999)}`,
    ],
    [`/${String.raw`\u0061`.repeat(9999)}/b`, `/data/${String.raw`\u0061`.repeat(9999)}/b`],
  ])('pointer %s is %s for V1', (pointer, expected) => {
    const text = (at: string): string => `{"errors":[{"source":{"pointer":"${at}"}}]}`;
    expect(turned(text(pointer))).toBe(text(expected));
  });

  test('a request that was flat already keeps its pointers flat', () => {
    expect(turned('{"errors":[{"source":{"pointer":"/highlight_type"}}]}', false)).toBe(
      '{"errors":[{"source":{"pointer":"/transition_type"}}]}',
    );
  });

  test.each([
    ['highlight_type is required.', 'transition_type is required.'],
    ['property.address.suburb must be a string', 'property.suburb must be a string'],
    ['address.suburb must be a string', 'suburb must be a string'],
    ['my_highlight_type, highlight_types', 'my_highlight_type, highlight_types'],
    [String.raw`\nhighlight_type \"highlight_type\" é`, String.raw`\ntransition_type \"transition_type\" é`],
    ['The address is unknown', 'The address is unknown'],
    ['property.address must be an object', 'property must be an object'],
    ['my.property.address', 'my.property.address'],
  ])('detail: %s', (detail, expected) => {
    const text = (sentence: string): string => `{"errors":[{"status":"422","detail":"${sentence}"}]}`;
    const outcome = turned(text(detail));
    expect(outcome === 'unchanged' ? text(detail) : outcome).toBe(text(expected));
  });

  test('a V1 name with a quote is escaped, wherever an error names it', () => {
    const request: RequestRule[] = [{ rule: 'rename', member: 'a"b', in: [], to: 'ab' }];
    const text = '{"errors":[{"detail":"ab is wrong","source":{"pointer":"/ab"}}]}';
    const outcome = responsePlanOf([responseRule('errors')], request).rewrite(bytesOf(text), {
      ...OK,
      status: 422,
    });
    expect(JSON.parse(textOf(outcome.body))).toEqual({
      errors: [{ detail: 'a"b is wrong', source: { pointer: '/a"b' } }],
    });
  });

  test.each(rows`
    {"errors":{"highlight_type":["bad"]}} → {"errors":{"transition_type":["bad"]}}
    {"highlight_type":["bad"],"highlightType":1} → {"transition_type":["bad"],"transitionType":1}
    {"errors":{"property": { "address": { "suburb" :["x"] } }}}
      {"errors":{"property": { "suburb" :["x"]  }}}
    {"property":{"address":{"suburb":["x"]}}} → {"property":{"suburb":["x"]}}
    {"property":{"address":{"suburb":1,"other":2}}} → unchanged
    {"property":{"suburb":0,"address":{"suburb":1}}} → unchanged
    {"detail":[{"loc":["body","highlight_type"],"msg":"x"}]}
      {"detail":[{"loc":["body","data","transition_type"],"msg":"x"}]}
    [{"path":["property","address","suburb"]}] → [{"path":["data","property","suburb"]}]
    {"issues":[{"path":["items",0,"highlight_type"]}]}
      {"issues":[{"path":["data","items",0,"highlight_type"]}]}
    {"errors":[{"detail":"x","pointer":"#/highlight_type"}]}
      {"errors":[{"detail":"x","pointer":"#/data/transition_type"}]}
    {"errors":{"$.highlight_type":["x"]}} → {"errors":{"$.data.transition_type":["x"]}}
    {"errors":["Highlight type is bad"]} → {"errors":["Transition type is bad"]}
    {"message":"Failed: Property address suburb is bad"} → {"message":"Failed: Property suburb is bad"}
    {"violations":[{"propertyPath":"property.address.suburb"}]}
      {"violations":[{"propertyPath":"property.suburb"}]}
    {"errors":[{"field":"highlight_type","rejectedValue":"highlight_type"}]}
      {"errors":[{"field":"transition_type","rejectedValue":"highlight_type"}]}
    {"error":{"message":"highlight-type","param":"property[address][suburb]"}}
      {"error":{"message":"transition-type","param":"property[suburb]"}}
  `)('a body of another shape: %s', (text, expected) => {
    expect(turned(text)).toBe(expected);
  });

  test('a body that is not the envelope is left alone, and so is a success', () => {
    for (const text of [
      '{"errors":[1,[{}]]}',
      '{"errors":[{"detail":"x","meta":{"field":"highlight_type"}}]}',
      '{"errors":[{"source":{},"field":"highlight_type"}]}',
      '{"other":"highlight_type","code":"highlight_type","errors":[{"value":"highlight_type"}]}',
      `{"message":"${'highlight_type '.repeat(4500)}"}`,
      '{"errors":[{"detail":7}]}',
    ]) {
      expect(turned(text)).toBe('unchanged');
    }
    expect(rewritten(['errors'], '{"errors":[{"detail":"highlight_type"}]}', { status: 200 })).toBe(
      'unchanged',
    );
  });
});

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(1, null, true, 'x', 'é', ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), { maxKeys: 4 }),
  ),
})).value;
const document = fc
  .tuple(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'data'), json), fc.constantFrom(0, 1, 4))
  .map(([value, space]) => JSON.stringify(value, undefined, space));
const someRules = fc.array(
  fc.constantFrom(
    'alias a as v1',
    'alias a.b as w1',
    'alias data.*.a as v1',
    'alias v1.b as x1',
    'flatten a',
    'flatten a.b',
    'flatten data a b',
    'deprecations list.of',
    'deprecations a.list',
    'alias a.* as x',
  ),
  { maxLength: 4 },
);

describe('a response that is an array', () => {
  test.each<[rules: string[], text: string, expected: string]>([
    [['rename *.a to b'], '[ {"a":1}, 2,{"c":3}]', '[ {"b":1}, 2,{"c":3}]'],
    [['unnest *.a'], '[{"a":{"x":1}},{"a":null,"y":2}]', '[{"x":1},{"y":2}]'],
    [['alias *.a as b', 'flatten *.c'], '[{"a":1},{"c":{"d":2}}]', '[{"a":1,"b":1},{"c":{"d":2},"d":2}]'],
    [['rename *.*.a to b'], '[[{"a":1}],{"a":2}]', '[[{"b":1}],{"a":2}]'],
    [['deprecations meta.list', 'rename *.a to b'], '[{"a":1}]', '[{"b":1}]'],
    [['rename data.*.a to b', 'deprecations meta.list'], '[{"a":1}]', 'unchanged'],
    [['rename *.a to b'], '{"a":1}', 'unchanged'],
  ])('%j of %s', (rules, text, expected) => {
    expect(rewritten(rules, text, { deprecated: USED })).toBe(expected);
  });

  test('pointers begin with the index', () => {
    const outcome = responsePlanOf([responseRule('rename *.a to b')]).rewrite(bytesOf('[0,{"a":1}]'), OK);
    expect(outcome).toMatchObject({
      records: [{ from: '/1/a', path: '/1/b' }],
      patch: [{ op: 'move', from: '/1/a', path: '/1/b' }],
    });
  });
});

describe('for any response', () => {
  test('alias, then removing what it added, gives the original bytes', () => {
    fc.assert(
      fc.property(document, fc.constantFrom([], ['a'], ['a', 'b'], ['data', '*']), (text, inside) => {
        const rule = { rule: 'alias', path: [...inside, 'b'], as: 'v1', status: ['2xx'] } as const;
        const outcome = responsePlanOf([rule]).rewrite(bytesOf(text), OK);
        const back = planOf([{ rule: 'strip', members: ['v1'], in: inside }]).rewrite(outcome.body);
        expect(back.verdict !== 'refused' && textOf(back.body)).toBe(text);
      }),
    );
  });

  test('every byte outside the edits is kept, nothing is taken away, and the text stays JSON', () => {
    fc.assert(
      fc.property(document, someRules, (text, rules) => {
        const bytes = bytesOf(text);
        const plan = responsePlanOf(rules.map(responseRule));
        const outcome = plan.rewrite(bytes, { ...OK, deprecated: USED });
        if (outcome.verdict === 'unchanged') {
          expect(outcome.body).toBe(bytes);
          return;
        }
        expect(outcome.edits.every(({ start, end }) => start === end)).toBe(true);
        expect(textOf(applyEdits(bytes, outcome.edits))).toBe(textOf(outcome.body));
        expect(JSON.parse(textOf(outcome.body))).toMatchObject(JSON.parse(text));
        for (const { path } of outcome.records) {
          expect(valueAt(JSON.parse(textOf(outcome.body)), path ?? '')).toBeDefined();
        }
      }),
      { numRuns: fuzzRuns(500) },
    );
  });

  // Attack: a response of a service that was taken over costs the square of its members, or a log line of megabytes.
  test('large responses take time in proportion to their bytes, and have few records', () => {
    const members = Array.from({ length: 40_000 }, (_, n) => `"m${n}":${n}`).join(',');
    const flat = responsePlanOf([responseRule('flatten a')]).rewrite(
      bytesOf(`{"a":{${members}},${members.replaceAll('m', 'n')}}`),
      OK,
    );
    const list = Array.from({ length: 40_000 }, (_, n) => `{"a":${n}}`).join(',');
    const listed = responsePlanOf([responseRule('alias data.*.a as b')]).rewrite(
      bytesOf(`{"data":[${list}]}`),
      OK,
    );
    const nested = responsePlanOf([responseRule('unnest a')]).rewrite(
      bytesOf(`{"a":{${members}},${members},"b":1}`),
      OK,
    );
    const renamed = responsePlanOf([responseRule('rename data.*.a to b')]).rewrite(
      bytesOf(`{"data":[${list}]}`),
      OK,
    );
    expect(textOf(nested.body)).toBe(`{${members},"b":1}`);
    expect(nested.verdict === 'rewritten' && nested.omitted).toBe(80_000 - 64);
    for (const outcome of [flat, listed, nested, renamed]) {
      expect(outcome.verdict === 'rewritten' && outcome.records).toHaveLength(64);
      expect(textOf(outcome.body)).toContain('39999');
    }
    expect(Object.keys(JSON.parse(textOf(flat.body)))).toHaveLength(80_001);
  });

  test('the first edit of each rule has a record, however many come before it', () => {
    const list = Array.from({ length: 300 }, (_, n) => `{"a":${n},"s":"x"}`).join(',');
    const body = `{"data":[${list}],"c":1}`;
    const rules = ['rename data.*.a to b', 'alias data.*.s as t'].map(responseRule);
    const outcome = responsePlanOf(rules).rewrite(bytesOf(body), OK);
    if (outcome.verdict !== 'rewritten') expect.fail('rewritten');
    expect(outcome.records.slice(64).map(({ rule, from, path }) => [rule, from, path])).toEqual([
      ['alias', '/data/0/s', '/data/0/t'],
    ]);
    expect(outcome.omitted).toBe(600 - 65);
  });

  test('rules applied one by one give the same result as together', () => {
    fc.assert(
      fc.property(document, someRules, (text, rules) => {
        const context = { ...OK, deprecated: USED };
        const together = responsePlanOf(rules.map(responseRule)).rewrite(bytesOf(text), context);
        let body: Uint8Array = bytesOf(text);
        for (const rule of rules) body = responsePlanOf([responseRule(rule)]).rewrite(body, context).body;
        expect(textOf(together.body)).toBe(textOf(body));
      }),
      { numRuns: fuzzRuns(500) },
    );
  });

  test('arbitrary bytes never make it throw', () => {
    const plan = responsePlanOf(['alias a as b', 'flatten a', 'errors'].map(responseRule));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(plan.rewrite(bytes, OK).body).toBeInstanceOf(Uint8Array);
      }),
    );
  });
});

function valueAt(value: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce((at, token) => Reflect.get(Object(at), token.replaceAll('~1', '/')) as unknown, value);
}
