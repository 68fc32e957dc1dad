import { inspect } from 'node:util';
import fastJsonPatch from 'fast-json-patch';
import { describe, expect, test } from 'vitest';
import { compilePlans } from '../../src/rewrite/plan.ts';
import { compileResponsePlans } from '../../src/rewrite/response-plan.ts';
import { ruleBookWarnings } from '../../src/rules/check-rule-book.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { bookIn } from '../rules/reading.ts';
import { bytesOf, recordsOf, rewritten, textOf } from './notation.ts';

/** A rule book whose one change has these request rules, and these response rules. */
async function bookWith(request: string, response = 'inverse', policies = '{}'): Promise<RuleBook> {
  return bookIn(`version: 2025-01-01
operations: { write: POST /things, read: 'GET /things/{id}' }
policies: ${policies}
changes:
  - { id: change, summary: s, on: [write], request: [${request}], response: ${response} }
`);
}

async function sent(request: string, text: string, policies?: string): Promise<string> {
  const book = await bookWith(request, '[]', policies);
  return rewritten(compilePlans(book).of(book.operations[0]), text);
}

/** What a V1 client reads of a resource that V2 has as `text`: by a GET, or in response to the POST where rules name that. */
async function read(request: string, text: string, response?: string): Promise<string> {
  const book = await bookWith(request, response);
  const operation = book.operations[response === undefined ? 1 : 0];
  const plan = compileResponsePlans(book).of(operation, operation?.method ?? '');
  const context = { status: 200, deprecated: [], isWrapped: false };
  const { body } = plan.rewrite(bytesOf(`{"data":${text}}`), context);
  return textOf(body).slice('{"data":'.length, -1);
}

const there: readonly (readonly [rules: string, v1: string, v2: string])[] = [
  // set
  ['{ set: { a: 1.50 } }', '{ "x": 1 }', '{ "x": 1,"a":1.50 }'],
  ['{ set: { a: 1.50 } }', '{}', '{"a":1.50}'],
  ['{ set: { a: 12345678901234567890 } }', '{ }', '{"a":12345678901234567890 }'],
  ['{ set: { a: 1 } }', '{"x":1, "\\u0061" : null,"y":2}', '{"x":1, "\\u0061" : 1,"y":2}'],
  [
    '{ set: { a: { b: [1, { c: null }], d: "é\\"" } } }',
    '{"a":[0]}',
    '{"a":{"b":[1,{"c":null}],"d":"é\\""}}',
  ],
  ['{ set: { a.b: 1, a.c: 2 } }', '{"a":{}}', '{"a":{"b":1,"c":2}}'],
  ['{ set: { a.b: 1 } }', '{"a":null}', '{"a":null}'],
  ['{ set: { a.b: 1 } }', '{"x":1}', '{"x":1}'],
  ['{ set: { b: 1 }, in: a.* }', '{"a":[{},1,{"b":2}]}', '{"a":[{"b":1},1,{"b":1}]}'],
  ['{ set: { a: {} } }, { set: { a.b: 1 } }', '{"a":5}', '{"a":{"b":1}}'],
  ['{ set: { a: [{}, 0] } }, { set: { a.*.b: 1 } }', '{}', '{"a":[{"b":1},0]}'],
  ['{ set: { a: 1 } }', '[]', '[]'],
  ['{ set: { a: 1 } }', '{"a":1,"a":2}', 'refused 400 duplicate-member /a'],
  ['{ set: { a: [7] } }, { map: { 7: 8 }, of: a }', '{"a":7}', '{"a":[7]}'],
  ['{ list: a, to: a }, { map: { 7: 8 }, of: a }', '{"a":7}', '{"a":[7]}'],
  // default
  ['{ default: { a: 1 } }', '{"x":0}', '{"x":0,"a":1}'],
  ['{ default: { a: 1 } }', '{"a":null}', '{"a":null}'],
  ['{ default: { a: {} } }, { default: { a.b: 1 } }', '{}', '{"a":{"b":1}}'],
  ['{ default: { a: {} } }, { default: { a.b: 1 } }', '{"a":{"b":2}}', '{"a":{"b":2}}'],
  ['{ default: { a: 1 } }, { rename: a, to: b }', '{"b":3}', '{"b":1}'],
  // move
  [
    '{ move: n, to: c.name }, { move: e, to: c.mail }',
    '{"id":1, "n": "N", "x":0, "e" : "E"}',
    '{"id":1, "c":{"name": "N", "mail" : "E"}, "x":0}',
  ],
  ['{ move: n, to: c.name }', '{"c":{"x":1},"n":2}', '{"c":{"x":1,"name":2}}'],
  ['{ move: n, to: c.name }', '{"c":{},"n":2}', '{"c":{"name":2}}'],
  ['{ move: n, to: c.name }', '{"n":2,"c":{"name":1}}', '{"c":{"name":2}}'],
  ['{ move: n, to: c.name }', '{"n":2,"c":[]}', '{"c":{"name":2}}'],
  ['{ move: n, to: c.name }', '{"c":null}', '{"c":null}'],
  ['{ move: n, to: c.name }', '{"n":null}', '{"c":{"name":null}}'],
  ['{ move: c.name, to: n }', '{"c":{"name":1},"x":2}', '{"c":{},"x":2,"n":1}'],
  ['{ move: c.name, to: n }', '{"c":{"x":0, "name" : {"y":[]}}}', '{"c":{"x":0}, "n" : {"y":[]}}'],
  ['{ move: c.name, to: n }', '{"c":{}}', '{"c":{}}'],
  ['{ move: c.name, to: n }', '{"c":5}', '{"c":5}'],
  ['{ move: n, to: n.first }', '{"x":1,"n" : "N"}', '{"x":1,"n":{"first" : "N"}}'],
  ['{ move: a.b.c, to: d.e.f }', '{"a":{"b":{"c":1}}}', '{"a":{"b":{}},"d":{"e":{"f":1}}}'],
  [
    '{ move: l.*.a, to: l.*.b.c }',
    '{"l":[{"a":1},2,{"x":0,"a":3}]}',
    '{"l":[{"b":{"c":1}},2,{"x":0,"b":{"c":3}}]}',
  ],
  ['{ move: l.*.b.c, to: l.*.a }', '{"l":[{"b":{"c":1}}]}', '{"l":[{"b":{},"a":1}]}'],
  ['{ move: c.n, to: d.n }', '{"c":{"n":1,"n":2}}', 'refused 400 duplicate-member /c/n'],
  ['{ move: n, to: c.n }', '{"n":1,"c":{},"c":{}}', 'refused 400 duplicate-member /c'],
  ['{ move: n, to: c.n }, { rename: n, in: c, to: m }', '{"n":1}', '{"c":{"m":1}}'],
  ['{ move: a.b, to: c }, { strip: c.d.e }', '{"a":{"b":{"d":{"e":1,"f":2}}}}', '{"a":{},"c":{"d":{"f":2}}}'],
  // copy
  [
    '{ copy: b.id, to: bId }',
    '{ "b" : {"id" : "1", "x":0}, "y":1 }',
    '{ "b" : {"id" : "1", "x":0}, "y":1,"bId" : "1" }',
  ],
  ['{ copy: a, to: b }', '{"a": [1.50, {"x":null}]}', '{"a": [1.50, {"x":null}],"b": [1.50, {"x":null}]}'],
  ['{ copy: a, to: b }', '{"a":null}', '{"a":null,"b":null}'],
  ['{ copy: a, to: b }', '{"x":1}', '{"x":1}'],
  ['{ copy: a, to: b }', '{}', '{}'],
  ['{ copy: a, to: b }', '[{"a":1}]', '[{"a":1}]'],
  ['{ copy: a, to: b }', '{"b":0,"a":1}', '{"a":1,"b":1}'],
  ['{ copy: a, to: b }', '{"\\u0061":"\\u0062"}', '{"\\u0061":"\\u0062","b":"\\u0062"}'],
  ['{ copy: a, to: b }', '{"a":1,"a":2}', 'refused 400 duplicate-member /a'],
  ['{ copy: a, to: b }', '{"a":1,"b":2,"b":3}', 'refused 400 duplicate-member /b'],
  ['{ copy: a.b, to: c }', '{"a":5}', '{"a":5}'],
  ['{ copy: a.b, to: c }', '{"a":[{"b":1}]}', '{"a":[{"b":1}]}'],
  ['{ copy: a.b, to: c }', '{"a":{"b":1},"a":{}}', 'refused 400 duplicate-member /a'],
  ['{ copy: a, to: c.d.e }', '{"a":1}', '{"a":1,"c":{"d":{"e":1}}}'],
  ['{ copy: a, to: c.d }', '{"c":{ },"a":1}', '{"c":{"d":1 },"a":1}'],
  ['{ copy: a, to: c.d }', '{"c":{"x":0,"d":0},"a":1}', '{"c":{"x":0,"d":1},"a":1}'],
  ['{ copy: a, to: c.d }', '{"c":null,"a":1}', '{"a":1,"c":{"d":1}}'],
  ['{ copy: a, to: c.d }', '{"a":1,"c":{},"c":{}}', 'refused 400 duplicate-member /c'],
  ['{ copy: l.*.a, to: l.*.b.c }', '{"l":[{"a":1},2,{"x":0}]}', '{"l":[{"a":1,"b":{"c":1}},2,{"x":0}]}'],
  ['{ copy: "*.a", to: "*.b" }', '[{"a":1}]', '[{"a":1,"b":1}]'],
  ['{ copy: a, to: b }, { quote: b }', '{"a":1}', '{"a":1,"b":"1"}'],
  ['{ copy: a, to: b }, { rename: x, to: y, in: b }', '{"a":{"x":1}}', '{"a":{"x":1},"b":{"y":1}}'],
  ['{ copy: a, to: b }, { rename: x, to: y, in: a }', '{"a":{"x":1}}', '{"a":{"y":1},"b":{"x":1}}'],
  ['{ rename: x, to: y, in: a }, { copy: a, to: b }', '{"a":{"x":1}}', '{"a":{"y":1},"b":{"y":1}}'],
  ['{ copy: a, to: b }, { copy: a, to: c }, { strip: a }', '{"a":{"x":1}}', '{"b":{"x":1},"c":{"x":1}}'],
  // scale
  ['{ scale: a, by: 100 }', '{ "a" : 10.50 }', '{ "a" : 1050 }'],
  ['{ scale: a, by: 0.01, digits: 2 }', '{"a":1050}', '{"a":10.50}'],
  ['{ scale: a, by: 60 }', '{"a":20}', '{"a":1200}'],
  ['{ scale: a, by: 1/60 }', '{"a":90}', '{"a":1.5}'],
  ['{ scale: a, by: 1/60 }', '{"a":100}', '{"a":1.666666666667}'],
  ['{ scale: a, by: 100, digits: 2 }', '{"a":-0.125}', '{"a":-12.5}'],
  ['{ scale: a, by: 100 }', '{"a":null}', '{"a":null}'],
  ['{ scale: a, by: 100 }', '{"x":1}', '{"x":1}'],
  ['{ scale: a, by: 100 }', '{"a":"1"}', 'refused 422 unconvertible-value /a'],
  ['{ scale: a, by: 100 }', '{"a":[1]}', 'refused 422 unconvertible-value /a'],
  ['{ scale: a, by: 100 }', '{"a":1e999999999}', 'refused 422 unconvertible-value /a'],
  ['{ scale: l.*.a, by: 1000 }', '{"l":[{"a":1},{"a":0.5},3]}', '{"l":[{"a":1000},{"a":500},3]}'],
  ['{ scale: a, by: 100 }, { rename: a, to: b }', '{"a":1}', '{"b":100}'],
  ['{ scale: a, by: 100 }', '{"a":1,"a":2}', 'refused 400 duplicate-member /a'],
  // quote, unquote, prefix, unprefix
  ['{ quote: a }, { prefix: a, with: inv_ }', '{"a": 7}', '{"a": "inv_7"}'],
  ['{ quote: a }', '{"a":-1.50E3}', '{"a":"-1.50E3"}'],
  ['{ quote: a }', '{"a":"7"}', 'refused 422 unconvertible-value /a'],
  ['{ quote: a }', '{"a":true}', 'refused 422 unconvertible-value /a'],
  ['{ unquote: a }', '{"a":"\\u0037.50"}', '{"a":7.50}'],
  ['{ unquote: a }', '{"a":"007"}', 'refused 422 unconvertible-value /a'],
  ['{ prefix: a, with: é" }', '{"a":"\\u0078\\/"}', '{"a":"é\\"\\u0078\\/"}'],
  ['{ unprefix: a, with: inv_ }', '{"a":"\\u0069nv_\\u0037"}', '{"a":"\\u0037"}'],
  ['{ unprefix: a, with: inv_ }', '{"a":"7"}', 'refused 422 unconvertible-value /a'],
  // date
  ['{ date: a, from: date, to: epoch }', '{"a":"2025-01-31"}', '{"a":1738281600}'],
  ['{ date: a, from: epoch, to: date }', '{"a":1738281600}', '{"a":"2025-01-31"}'],
  ['{ date: a, from: DD/MM/YYYY, to: date }', '{"a":"31/01/2025"}', '{"a":"2025-01-31"}'],
  ['{ date: a, from: DD/MM/YYYY, to: date }', '{"a":"31/02/2025"}', 'refused 422 unconvertible-value /a'],
  ['{ date: a, from: epoch, to: date }', '{"a":"1738281600"}', '{"a":"2025-01-31"}'],
  ['{ date: a, from: epoch, to: date }', '{"a":"1738281600x"}', 'refused 422 unconvertible-value /a'],
  [
    '{ date: a, from: d MMM yyyy h:mm a, to: datetime, zone: Australia/Sydney }',
    '{"a":"31 jan 2025 9:05 pm"}',
    '{"a":"2025-01-31T21:05:00+11:00"}',
  ],
  [
    '{ date: a, from: date, to: datetime, zone: Australia/Sydney, at: "09:30" }',
    '{"a":"2025-01-31"}',
    '{"a":"2025-01-31T09:30:00+11:00"}',
  ],
  // list
  ['{ list: a, to: b }', '{"x":0, "a" : 1.50,"y":2}', '{"x":0, "b" : [1.50],"y":2}'],
  ['{ list: a }', '{"a":{"b":[]}}', '{"a":[{"b":[]}]}'],
  ['{ list: a }', '{"a":[1]}', '{"a":[[1]]}'],
  ['{ list: a, to: b }', '{"a":null}', '{"b":[]}'],
  ['{ list: a, to: b }', '{"b":0,"a":1}', '{"b":[1]}'],
  ['{ list: a, to: b }, { set: { b.*.c: 1 } }', '{"a":{"c":0}}', '{"b":[{"c":1}]}'],
  ['{ list: a, to: b }, { strip: b.*.*.c }', '{"a":[{"c":0,"d":1}]}', '{"b":[[{"d":1}]]}'],
  ['{ list: l.*.a }', '{"l":[{"a":1},{}]}', '{"l":[{"a":[1]},{}]}'],
  // list with
  ["{ list: a, with: ',' }", '{"x":0, "a" : "p,q","y":1}', '{"x":0, "a" : ["p","q"],"y":1}'],
  ["{ list: a, with: ',', to: b }", '{"a":"p"}', '{"b":["p"]}'],
  ["{ list: a, with: ',', to: b }", '{"a":"p","b":0}', '{"b":["p"]}'],
  ["{ list: a, with: ',' }", '{"a":""}', '{"a":[]}'],
  ["{ list: a, with: ',' }", '{"a":","}', '{"a":["",""]}'],
  ["{ list: a, with: ',' }", '{"a":null}', '{"a":null}'],
  ["{ list: a, with: ',', to: b }", '{"a":null}', '{"b":null}'],
  ["{ list: a, with: ',' }", '{"a":"p, q"}', '{"a":["p"," q"]}'],
  ["{ list: a, with: ', ' }", '{"a":"p, q,r"}', '{"a":["p","q,r"]}'],
  [
    "{ list: a, with: ',' }",
    '{"a":"\\u00e9\\u002c\\"é\\\\,\\ud83d"}',
    '{"a":["\\u00e9","\\"é\\\\","\\ud83d"]}',
  ],
  ["{ list: a, with: '\"' }", '{"a":"p\\"q\\u0022r"}', '{"a":["p","q","r"]}'],
  ['{ list: a, with: aa }', '{"a":"aaa"}', '{"a":["","a"]}'],
  ["{ list: a, with: ',' }", '{"a":7}', 'refused 422 unconvertible-value /a'],
  ["{ list: a, with: ',' }", '{"a":["p"]}', 'refused 422 unconvertible-value /a'],
  ["{ list: a, with: ',' }", '{"a":{}}', 'refused 422 unconvertible-value /a'],
  ["{ list: a, with: ',' }", '{"a":"p","a":"q"}', 'refused 400 duplicate-member /a'],
  ["{ list: l.*.a, with: ',' }", '{"l":[{"a":"p,q"},{},1]}', '{"l":[{"a":["p","q"]},{},1]}'],
  ["{ list: a, with: ',' }, { list: a, of: n }", '{"a":"p,q"}', '{"a":[{"n":"p"},{"n":"q"}]}'],
  [
    "{ list: a, with: ',' }, { list: a, of: n }, { rename: n, to: m, in: a.* }",
    '{"a":"p,q"}',
    '{"a":[{"m":"p"},{"m":"q"}]}',
  ],
  // unlist with
  ["{ unlist: a, with: ',' }", '{"x":0, "a" : [ "p" , "\\u00e9" ]}', '{"x":0, "a" : "p,\\u00e9"}'],
  ["{ unlist: a, with: ',', to: b }", '{"a":[]}', '{"b":""}'],
  ["{ unlist: a, with: ',' }", '{"a":null}', '{"a":null}'],
  ["{ unlist: a, with: '\"' }", '{"a":["p","q"]}', '{"a":"p\\"q"}'],
  ["{ unlist: a, with: ',' }", '{"a":["p,q","r"]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":["p\\u002cq"]}', 'refused 422 unconvertible-value /a'],
  ['{ unlist: a, with: -- }', '{"a":["p-","q"]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":[""]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":["p",1]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":["p",null]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":["p",["q"]]}', 'refused 422 unconvertible-value /a'],
  ["{ unlist: a, with: ',' }", '{"a":"p"}', 'refused 422 unconvertible-value /a'],
  // list of
  [
    '{ list: a, of: v }',
    '{"a" : [ "p" , 1.50,null,{ "x": 1 } ,[ ] ]}',
    '{"a" : [ {"v":"p"} , {"v":1.50},{"v":null},{"v":{ "x": 1 }} ,{"v":[ ]} ]}',
  ],
  ['{ list: a, of: v, to: b }', '{"a":[],"b":1}', '{"b":[]}'],
  ['{ list: a, of: v }', '{"a":null}', '{"a":null}'],
  ['{ list: a, of: v }', '{"a":"p"}', 'refused 422 unconvertible-value /a'],
  ['{ list: a, of: v }', '{"a":{"v":1}}', 'refused 422 unconvertible-value /a'],
  ['{ list: a, of: a }', '{"a":[{"a":[1]}]}', '{"a":[{"a":{"a":[1]}}]}'],
  [
    '{ list: a, of: v }, { rename: x, to: y, in: a.*.v }',
    '{"a":[{"x":1},{}]}',
    '{"a":[{"v":{"y":1}},{"v":{}}]}',
  ],
  ['{ rename: x, to: y, in: a.* }, { list: a, of: v }', '{"a":[{"x":1},2]}', '{"a":[{"v":{"y":1}},{"v":2}]}'],
  ['{ list: a, of: v }, { map: { p: q }, of: v, in: a.* }', '{"a":["p","r"]}', '{"a":[{"v":"q"},{"v":"r"}]}'],
  ['{ list: a, of: v }, { move: a.*.v, to: a.*.w.v }', '{"a":["p"]}', '{"a":[{"w":{"v":"p"}}]}'],
  ['{ list: a, of: v }, { unlist: a, of: v }', '{"a":[ "p" , {"x":1} ]}', '{"a":[ "p" , {"x":1} ]}'],
  ['{ list: a }, { list: a, of: v }', '{"a":{"x":1}}', '{"a":[{"v":{"x":1}}]}'],
  // unlist of
  [
    '{ unlist: a, of: v }',
    '{"a" : [ {"v":"p"} , { "v" : 1.50},{"v":null},{"v":{ "x": 1 }} ]}',
    '{"a" : [ "p" , 1.50,null,{ "x": 1 } ]}',
  ],
  ['{ unlist: a, of: v, to: b }', '{"a":[]}', '{"b":[]}'],
  ['{ unlist: a, of: v }', '{"a":[{"v":1,"w":2}]}', 'refused 422 unconvertible-value /a'],
  ['{ unlist: a, of: v }', '{"a":[{"v":1},{}]}', 'refused 422 unconvertible-value /a'],
  ['{ unlist: a, of: v }', '{"a":[{"v":1},2]}', 'refused 422 unconvertible-value /a'],
  ['{ unlist: a, of: v }', '{"a":[{"v":1,"\\u0076":2}]}', 'refused 400 duplicate-member /a/0/v'],
  ['{ unlist: a, of: v }, { rename: x, to: y, in: a.* }', '{"a":[{"v":{"x":1}}]}', '{"a":[{"y":1}]}'],
  ["{ unlist: a, of: v }, { unlist: a, with: ',' }", '{"a":[{"v":"p"},{"v":"q"}]}', '{"a":"p,q"}'],
  [
    '{ unlist: a, of: v }, { list: a, of: w }',
    '{"a":[{"v":{"x":1}},{"v":2}]}',
    '{"a":[{"w":{"x":1}},{"w":2}]}',
  ],
  // entries
  [
    '{ entries: f, name: key, value: value }',
    '{"x":0, "f" : { "b" : 1.50 , "\\u0061\\"" :{"y": [ ]}, "":null }}',
    '{"x":0, "f" : [{"key":"b","value" : 1.50},{"key":"\\u0061\\"","value" :{"y": [ ]}},{"key":"","value":null}]}',
  ],
  ['{ entries: f, name: k, value: v, to: g }', '{"f":{},"g":1}', '{"g":[]}'],
  ['{ entries: f, name: k, value: v }', '{"f":null}', '{"f":null}'],
  ['{ entries: f, name: k, value: v, to: g }', '{"f":null}', '{"g":null}'],
  ['{ entries: f, name: k, value: v }', '{"f":[]}', 'refused 422 unconvertible-value /f'],
  ['{ entries: f, name: k, value: v }', '{"f":"x"}', 'refused 422 unconvertible-value /f'],
  ['{ entries: f, name: k, value: v }', '{"f":{"k":1,"v":2}}', '{"f":[{"k":"k","v":1},{"k":"v","v":2}]}'],
  ['{ entries: f, name: k, value: v }', '{"f":{},"f":{}}', 'refused 400 duplicate-member /f'],
  [
    '{ rename: x, to: y, in: f }, { entries: f, name: k, value: v }, { rename: p, to: q, in: f.*.v }',
    '{"f":{"x":{"p":1},"z":{"p":2}}}',
    '{"f":[{"k":"y","v":{"q":1}},{"k":"z","v":{"q":2}}]}',
  ],
  [
    '{ entries: f, name: k, value: v }, { map: { a: b }, of: k, in: f.* }',
    '{"f":{"a":1}}',
    '{"f":[{"k":"b","v":1}]}',
  ],
  [
    '{ set: { f: { a: { b: 1 } } } }, { entries: f, name: k, value: v }',
    '{}',
    '{"f":[{"k":"a","v":{"b":1}}]}',
  ],
  // unlist with pairs
  [
    '{ unlist: f, name: k, value: v }',
    '{"f" : [ { "v" : 1.50, "k":"b\\u0061"}, {"k":"","v":{"y": [ ]}} ]}',
    '{"f" : {"b\\u0061":1.50,"":{"y": [ ]}}}',
  ],
  ['{ unlist: f, name: k, value: v, to: g }', '{"f":[]}', '{"g":{}}'],
  [
    '{ unlist: f, name: k, value: v }',
    '{"f":[{"k":"a","v":1},{"k":"\\u0061","v":2}]}',
    'refused 400 duplicate-member /f/1/v',
  ],
  ['{ unlist: f, name: k, value: v }', '{"f":[{"k":1,"v":1}]}', 'refused 422 unconvertible-value /f'],
  ['{ unlist: f, name: k, value: v }', '{"f":[{"k":"a"}]}', 'refused 422 unconvertible-value /f'],
  [
    '{ unlist: f, name: k, value: v }',
    '{"f":[{"k":"a","v":1,"id":7}]}',
    'refused 422 unconvertible-value /f',
  ],
  ['{ unlist: f, name: k, value: v }', '{"f":{"k":"a","v":1}}', 'refused 422 unconvertible-value /f'],
  [
    '{ unlist: f, name: k, value: v }, { rename: a, to: b, in: f }, { strip: f.b.x }',
    '{"f":[{"k":"\\u0061","v":{"x":1,"y":2}},{"k":"c","v":0}]}',
    '{"f":{"b":{"y":2},"c":0}}',
  ],
  [
    '{ unlist: f, name: k, value: v }, { entries: f, name: n, value: w }',
    '{"f":[{"k":"a","v":[1]}]}',
    '{"f":[{"n":"a","w":[1]}]}',
  ],
  // at any depth
  [
    "{ rename: a, to: b, in: '**' }",
    '{ "a" : {"a":[{"a":1},2,[{"x":{"a":null}}]]}, "a.b":{"\\u0061":2},"y":3}',
    '{ "b" : {"b":[{"b":1},2,[{"x":{"b":null}}]]}, "a.b":{"b":2},"y":3}',
  ],
  ["{ rename: a, to: b, in: '**' }", '[{"a":1},[{"a":2}],3]', '[{"b":1},[{"b":2}],3]'],
  ["{ rename: a, to: b, in: '**' }", '{"x":{"a":1,"b":2},"b":0}', '{"x":{"b":1},"b":0}'],
  ["{ rename: a, to: b, in: '**' }", '{"x":{"y":{"a":1,"a":2}}}', 'refused 400 duplicate-member /x/y/a'],
  ["{ rename: a, to: b, in: '**' }", '{"x":1,"y":[{"z":[]}]}', '{"x":1,"y":[{"z":[]}]}'],
  ["{ rename: x.a, to: b, in: '**' }", '{"x":{"a":1,"x":{"a":2}},"a":3}', '{"x":{"b":1,"x":{"b":2}},"a":3}'],
  [
    "{ strip: [a, x.c], in: '**' }",
    '{"a":{"a":1},"x":{"c":1,"d":{"a":2}},"l":[{"a":3}]}',
    '{"x":{"d":{}},"l":[{}]}',
  ],
  [
    "{ map: { p: q }, of: a, in: '**' }",
    '{"a":"p","x":[{"a":"p"},{"a":"r"}]}',
    '{"a":"q","x":[{"a":"q"},{"a":"r"}]}',
  ],
  ["{ quote: a, in: '**' }", '{"a":1,"x":{"a":{"a":2}}}', 'refused 422 unconvertible-value /x/a'],
  ["{ quote: a, in: '**' }", '{"a":1,"x":[{"a":2.50}]}', '{"a":"1","x":[{"a":"2.50"}]}'],
  ["{ nest: [a], under: n, in: '**' }", '{"a":{"a":1},"x":{"y":2}}', '{"n":{"a":{"n":{"a":1}}},"x":{"y":2}}'],
  ["{ move: a, to: n.a, in: '**' }", '{"a":1,"x":{"a":2}}', '{"n":{"a":1},"x":{"n":{"a":2}}}'],
  ["{ copy: a, to: b, in: '**' }", '{"x":{"a":{"a":1}}}', '{"x":{"a":{"a":1,"b":1},"b":{"a":1,"b":1}}}'],
  ["{ list: a, with: ',', in: '**' }", '{"a":"p,q","x":[{"a":"r"}]}', '{"a":["p","q"],"x":[{"a":["r"]}]}'],
  [
    "{ entries: f, name: k, value: v, in: '**' }",
    '{"f":{"f":{"a":1}}}',
    '{"f":[{"k":"f","v":[{"k":"a","v":1}]}]}',
  ],
  [
    "{ rename: a, to: b, in: '**' }, { rename: b, to: c, in: x }",
    '{"a":1,"x":{"a":2}}',
    '{"b":1,"x":{"c":2}}',
  ],
  ["{ unwrap: data }, { rename: a, to: b, in: '**' }", '{"data":{"x":{"a":1}}}', '{"x":{"b":1}}'],
  ["{ join: [f, l], to: n, with: ' ', in: '**' }", '{"x":{"f":"F","l":"L"}}', '{"x":{"n":"F L"}}'],
  // join, split
  ['{ join: [f, l], to: n, with: " " }', '{"x":0, "l" : "L","f":"\\u0046"}', '{"x":0, "n" : "\\u0046 L"}'],
  ['{ join: [f, l], to: n, with: " " }', '{"f":"F","l":null}', '{"n":"F"}'],
  ['{ join: [f, l], to: n, with: " " }', '{"f":null}', '{"n":null}'],
  ['{ join: [f, l], to: f, with: " " }', '{"f":"F","l":"L"}', '{"f":"F L"}'],
  ['{ join: [f, l], to: n, with: " " }', '{"f":"F","l":1}', 'refused 422 unconvertible-value /l'],
  ['{ join: [f, l], to: n, with: " " }', '{"n":0,"f":"F"}', '{"n":"F"}'],
  ['{ split: n, to: [f, l], with: " " }', '{"n" : "A B C","x":0}', '{"f" : "A B","x":0,"l":"C"}'],
  ['{ split: n, to: [f, l], with: " ", at: first }', '{"n":"A B C"}', '{"f":"A","l":"B C"}'],
  ['{ split: n, to: [f, n], with: "," }', '{"n":"\\u002c\\n"}', '{"f":"","n":"\\n"}'],
  ['{ split: n, to: [f, l], with: " " }', '{"n":null}', '{"f":null,"l":null}'],
  ['{ split: n, to: [f, l], with: " " }', '{"n":"A"}', 'refused 422 unconvertible-value /n'],
];

const unsaid: typeof there = [
  ["{ rename: a, to: b, in: '**' }", '{"x":{"a":1},"x":{"a":2}}', '{"x":{"b":1},"x":{"b":2}}'],
  ['{ entries: f, name: k, value: v }', '{"f":{"a":1,"a":2}}', '{"f":[{"k":"a","v":1},{"k":"a","v":2}]}'],
  [
    '{ entries: f, name: k, value: v }',
    '{"f":{"__proto__":1,"0":2}}',
    '{"f":[{"k":"__proto__","v":1},{"k":"0","v":2}]}',
  ],
];

describe('requests', () => {
  test.each([...there, ...unsaid])('%s: %s', async (rules, v1, v2) => {
    expect(await sent(rules, v1)).toBe(v2);
  });

  test.each(there)('the patch of the log makes the same: %s: %s', async (rules, v1) => {
    const book = await bookWith(rules, '[]');
    const plan = compilePlans(book).of(book.operations[0]);
    for (const _ of [1, 2, 3]) {
      const outcome = plan.rewrite(bytesOf(v1));
      if (outcome.verdict !== 'rewritten') return;
      const patch = structuredClone(outcome.patch) as fastJsonPatch.Operation[];
      const { newDocument } = fastJsonPatch.applyPatch(JSON.parse(v1), patch, true, true, false);
      expect(newDocument).toEqual(JSON.parse(textOf(outcome.body)));
    }
  });

  test.each([
    ['{ move: n, to: c.name }', 'refuse', 'refused 422 conflicting-members /c/name'],
    ['{ move: n, to: c.name }', 'forward', '{"c":{"name":1},"n":2}'],
    ['{ copy: n, to: c.name }', 'refuse', 'refused 422 conflicting-members /c/name'],
    ['{ copy: n, to: c.name }', 'forward', '{"c":{"name":1},"n":2}'],
  ])('%s under the policy conflict: %s', async (rules, policy, outcome) => {
    expect(await sent(rules, '{"c":{"name":1},"n":2}', `{ conflict: ${policy} }`)).toBe(outcome);
  });

  test.each([
    ['{ scale: a, by: 100 }', '{"a":"x","b":1}', '{"a":"x","b":1}', 'scale /a -> /a (value)'],
    ['{ join: [a, b], to: c, with: " " }', '{"a":"x","b":1}', '{"a":"x","b":1}', 'join /b -> /b (value)'],
    ['{ split: a, to: [c, d], with: " " }', '{"a":"x","b":1}', '{"a":"x","b":1}', 'split /a -> /a (value)'],
    ['{ list: a, with: ",", to: c }', '{"a":[1],"b":1}', '{"a":[1],"b":1}', 'list /a -> /a (value)'],
    ['{ unlist: a, of: v }', '{"a":[{"v":1},2],"b":1}', '{"a":[{"v":1},2],"b":1}', 'unlist /a -> /a (value)'],
    ['{ entries: a, name: k, value: v }', '{"a":"x"}', '{"a":"x"}', 'entries /a -> /a (value)'],
  ])('%s under the policy value: keep', async (rules, before, after, record) => {
    expect(await sent(rules, before, '{ value: keep }')).toBe(after);
    const book = await bookWith(rules, '[]', '{ value: keep }');
    expect(recordsOf(compilePlans(book).of(book.operations[0]), before)).toEqual([record]);
    expect(await sent(rules, before, '{ value: forward }')).toBe(before);
  });

  test('have no patch for a number beyond those of JavaScript', async () => {
    const book = await bookWith('{ scale: a, by: 100 }');
    const outcome = compilePlans(book).of(book.operations[0]).rewrite(bytesOf('{"a":1E400}'));
    expect(outcome).toMatchObject({ verdict: 'rewritten', patch: [] });
    expect(outcome.verdict === 'rewritten' ? textOf(outcome.body) : '').toBe('{"a":1E402}');
  });

  test('are logged with both places, and an added member with its own', async () => {
    const book = await bookWith('{ set: { a: 1 } }, { default: { b: 1 } }, { move: n, to: c.name }');
    const plan = compilePlans(book).of(book.operations[0]);
    expect(recordsOf(plan, '{"a":0,"n":1,"c":1}')).toEqual([
      'set /a -> /a',
      'default  -> /b',
      'move /c ->  (conflict)',
      'move /n -> /c/name (conflict)',
    ]);
  });

  test('are logged by the place that a copy is made from, even if later rules change it', async () => {
    const book = await bookWith('{ copy: a.b, to: c.d }, { quote: c.d }, { rename: d, to: e, in: c }');
    const plan = compilePlans(book).of(book.operations[0]);
    expect(recordsOf(plan, '{"a":{"b":1},"c":0}')).toEqual([
      'copy /c ->  (conflict)',
      'copy /a/b -> /c/e',
      'quote /a/b -> /c/e',
      'rename /a/b -> /c/e',
    ]);
  });
});

const back: readonly (readonly [rules: string, v2: string, v1: string])[] = [
  ["{ list: a, with: ',' }", '{"x":1,"a": [ "p" , "q" ]}', '{"x":1,"a": "p,q"}'],
  ["{ move: a, to: n.a, in: '**' }", '{"n":{"a":1},"x":[{"n":{"a":2}}]}', '{"x":[{"a":2}],"a":1}'],
  ["{ list: a, with: ',', to: b }", '{"b":[]}', '{"a":""}'],
  ["{ list: a, with: ',', to: b }", '{"b":null}', '{"a":null}'],
  ["{ list: a, with: ',', to: b }", '{"b":[""]}', '{"a":""}'],
  ["{ list: a, with: ',', to: b }", '{"b":["p,q"]}', '{"b":["p,q"]}'],
  ["{ list: a, with: ',', to: b }", '{"b":[1]}', '{"b":[1]}'],
  ["{ list: a, with: ',', to: b }", '{"b":"p"}', '{"b":"p"}'],
  ["{ list: a, with: ',', to: b }", '{"b":["p"],"a":0}', '{"a":"p"}'],
  ["{ unlist: a, with: ',', to: b }", '{"b":"p,q"}', '{"a":["p","q"]}'],
  ['{ list: a, of: v }', '{"a":[ {"v":"p"} , {"v":1} ]}', '{"a":[ "p" , 1 ]}'],
  ['{ list: a, of: v }', '{"a":[{"id":7,"v":"p","w":0},{"v":1}]}', '{"a":["p",1]}'],
  ['{ list: a, of: v }', '{"a":[{"v":"p","v":"q"}]}', '{"a":["q"]}'],
  ['{ list: a, of: v, to: b }', '{"b":[{"w":1}]}', '{"b":[{"w":1}]}'],
  ['{ list: a, of: v, to: b }', '{"b":["p"]}', '{"b":["p"]}'],
  ['{ list: a, of: v, to: b }', '{"b":null}', '{"a":null}'],
  ['{ unlist: a, of: v, to: b }', '{"b":["p",null]}', '{"a":[{"v":"p"},{"v":null}]}'],
  [
    '{ entries: f, name: k, value: v }',
    '{"f":[{"k":"a","v":{"x":1}},{"v":2,"k":"\\"b"}]}',
    '{"f":{"a":{"x":1},"\\"b":2}}',
  ],
  ['{ entries: f, name: k, value: v }', '{"f":[{"k":"a","v":1},{"k":"a","v":2}]}', '{"f":{"a":1}}'],
  ['{ entries: f, name: k, value: v }', '{"f":[{"id":7,"k":"a","v":1}]}', '{"f":{"a":1}}'],
  ['{ entries: f, name: k, value: v, to: g }', '{"g":[]}', '{"f":{}}'],
  ['{ entries: f, name: k, value: v, to: g }', '{"g":[{"k":null,"v":1}]}', '{"g":[{"k":null,"v":1}]}'],
  ['{ entries: f, name: k, value: v, to: g }', '{"g":{}}', '{"g":{}}'],
  [
    '{ unlist: f, name: k, value: v, to: g }',
    '{"g":{"a":1,"a":2}}',
    '{"f":[{"k":"a","v":1},{"k":"a","v":2}]}',
  ],
  ["{ list: a, with: ',' }, { list: a, of: n }", '{"a":[{"n":"p"},{"n":"q","id":1}]}', '{"a":"p,q"}'],
  [
    '{ rename: x, to: y, in: f }, { entries: f, name: k, value: v }',
    '{"f":[{"k":"y","v":1},{"k":"z","v":2}]}',
    '{"f":{"x":1,"z":2}}',
  ],
  ['{ set: { a: 1 } }', '{"x":0,"a":2,"y":3}', '{"x":0,"y":3}'],
  ['{ default: { a: 1 } }', '{"x":0,"a":1}', '{"x":0}'],
  ['{ unquote: a }, { date: a, from: epoch, to: date }', '{"a":"2025-01-31"}', '{"a":"1738281600"}'],
  ['{ date: a, from: d MMM yyyy h:mm a, to: epoch }', '{"a":1738357500}', '{"a":"31 Jan 2025 9:05 PM"}'],
  [
    '{ date: a, from: rfc-1123, to: datetime }',
    '{"a":"2025-01-31T11:00:00+01:00"}',
    '{"a":"Fri, 31 Jan 2025 10:00:00 GMT"}',
  ],
  ['{ default: { a: 1 } }', '{"x":0,"a":2}', '{"x":0,"a":2}'],
  ['{ default: { a: x } }', '{"a":"\\u0078"}', '{}'],
  [
    '{ move: n, to: c.name }, { move: e, to: c.mail }',
    '{"c":{"name":1,"mail":2},"x":3}',
    '{"x":3,"e":2,"n":1}',
  ],
  ['{ move: n, to: c.name }', '{"c":{"name":1,"more":2}}', '{"c":{"more":2},"n":1}'],
  ['{ move: n, to: c.name }', '{"c":null,"x":1}', '{"x":1}'],
  ['{ move: n, to: c.name }', '{"c":{},"x":1}', '{"x":1}'],
  ['{ move: n, to: c.name }', '{"c":5}', '{"c":5}'],
  ['{ move: n, to: c.name }', '{"n":0,"c":{"name":1}}', '{"n":1}'],
  ['{ move: c.name, to: n }', '{"x":0,"n":1}', '{"x":0,"c":{"name":1}}'],
  ['{ move: c.name, to: n }', '{"c":{},"n":1}', '{"c":{"name":1}}'],
  ['{ move: n, to: n.first }', '{"n":{"first":1},"x":0}', '{"n":1,"x":0}'],
  ['{ move: n, to: n.first }', '{"n":{"first":1,"more":2},"x":0}', '{"n":1,"x":0}'],
  ['{ move: n, to: n.a.b }', '{"n":{"z":1,"a":{"b":3,"y":2}}}', '{"n":3}'],
  ['{ move: l.*.a, to: l.*.b.c }', '{"l":[{"b":{"c":1}},{}]}', '{"l":[{"a":1},{}]}'],
  ['{ copy: b.id, to: bId }', '{"b":{"id":1},"bId":2,"x":3}', '{"b":{"id":1},"x":3}'],
  ['{ copy: b.id, to: bId }', '{"bId":null}', '{}'],
  ['{ copy: b.id, to: bId }', '{"b":{"id":1}}', '{"b":{"id":1}}'],
  ['{ copy: a, to: c.d.e }', '{"a":1,"c":{"d":{"e":1}}}', '{"a":1}'],
  ['{ copy: a, to: c.d.e }', '{"a":1,"c":{"d":{"e":1},"x":2}}', '{"a":1,"c":{"x":2}}'],
  ['{ copy: a, to: c.d }', '{"a":1,"c":{}}', '{"a":1,"c":{}}'],
  ['{ copy: a, to: c.d }', '{"a":1,"c":null}', '{"a":1,"c":null}'],
  ['{ copy: l.*.a, to: l.*.b.c }', '{"l":[{"a":1,"b":{"c":1}},{}]}', '{"l":[{"a":1},{}]}'],
  ['{ scale: a, by: 100, digits: 2 }', '{"a":1050}', '{"a":10.50}'],
  ['{ scale: a, by: 100 }', '{"a":1050}', '{"a":10.5}'],
  ['{ scale: a, by: 100, digits: 2 }', '{"a":1050.5}', '{"a":10.505}'],
  ['{ scale: a, by: 100 }', '{"a":"x"}', '{"a":"x"}'],
  ['{ scale: a, by: 60 }', '{"a":1200}', '{"a":20}'],
  ['{ scale: a, by: 60 }', '{"a":100}', '{"a":1.666666666667}'],
  ['{ scale: a, by: 1/60 }', '{"a":1.5}', '{"a":90}'],
  ['{ quote: a }, { prefix: a, with: inv_ }', '{"a" : "inv_7"}', '{"a" : 7}'],
  ['{ quote: a }, { prefix: a, with: inv_ }', '{"a":"x"}', '{"a":"x"}'],
  ['{ date: a, from: date, to: epoch }', '{"a":1738281600}', '{"a":"2025-01-31"}'],
  ['{ date: a, from: date, to: datetime }', '{"a":"2025-01-31T10:00:00+11:00"}', '{"a":"2025-01-30"}'],
  ['{ list: a, to: b }', '{"b" : [1.50, 2]}', '{"a" : 1.50}'],
  ['{ list: a, to: b }', '{"b":[ {"c":[]} ]}', '{"a":{"c":[]}}'],
  ['{ list: a, to: b }', '{"b":[]}', '{"a":null}'],
  ['{ list: a, to: b }', '{"b":5}', '{"b":5}'],
  ['{ join: [f, l], to: n, with: " " }', '{"n":"A B C","x":0}', '{"f":"A B","x":0,"l":"C"}'],
  ['{ join: [f, l], to: n, with: " ", at: first }', '{"n":"A B C"}', '{"f":"A","l":"B C"}'],
  ['{ join: [f, l], to: n, with: " " }', '{"n":"A"}', '{"n":"A"}'],
  ['{ split: n, to: [f, l], with: " " }', '{"f":"A B","x":0,"l":"C"}', '{"n":"A B C","x":0}'],
];

test.each([
  ['{ scale: a, by: 100 }, { list: b, to: c }, { split: d, to: [e, f], with: " " }', undefined],
  ['{ set: { a: 1 } }, { move: b, to: c.d }, { date: e, from: date, to: epoch }', undefined],
  [
    '{ date: a, from: datetime, to: epoch }',
    /date of "a" is not exact: epoch keeps the time, but not the zone/,
  ],
  [
    '{ date: a, from: epoch, to: date }',
    /date of "a" is not exact: date has fewer parts of a date than epoch/,
  ],
  ['{ join: [a, b], to: c, with: " " }', /join to "c" is not exact: a text with more of " " is split/],
  ['{ default: { a: 1 } }', /default of "a" is not exact/],
  ['{ scale: a, by: 60 }', /scale of "a" is not exact: a quotient that no decimal can hold is rounded/],
  ['{ scale: a, by: 1/60 }', /scale of "a" is not exact/],
  ['{ default: { a: {} } }, { rename: b, to: c }', /default of "a" has no inverse/],
  ['{ move: a, to: b }, { move: b, to: c }', /"a" is moved to "b", which change "change" then moves to "c"/],
  ['{ copy: a.b, to: c }, { copy: a.b, to: d }', undefined],
  ["{ rename: b, to: a }, { list: a, with: ',' }", undefined],
  [
    "{ rename: a, to: b, in: '**' }, { rename: b, to: c, in: x }",
    /"\*\*\.a" is renamed to "\*\*\.b", which change "change" then renames to "c"/,
  ],
  ["{ rename: a, to: b, in: '**' }, { only: [x], in: y }, { rename: d, to: e, in: '**' }", undefined],
  ['{ list: a, of: v }, { unlist: b, of: v }, { entries: c, name: k, value: v }', undefined],
  ["{ entries: a, name: k, value: v, in: '**' }", /entries of "\*\*\.a" is not exact/],
  ["{ move: b.b, to: c, in: '**' }", /move of "\*\*\.b\.b" is not exact/],
  ["{ move: b, to: c, in: '**' }", undefined],
  [
    '{ entries: a, name: k, value: v, to: b }, { strip: b }',
    /"a" is put to "b", which change "change" then strips/,
  ],
  ['{ copy: a, to: b }, { rename: a, to: c }', undefined],
  [
    '{ copy: a, to: b }, { rename: b, to: c }',
    /"a" is copied to "b", which change "change" then renames to "c"/,
  ],
  ['{ list: a, to: b }, { strip: b }', /"a" is put to "b", which change "change" then strips/],
])('check says which inverse is not exact: %s', async (rules, warning) => {
  const warnings = ruleBookWarnings(await bookWith(rules)).filter(
    (text) => !text.includes('has no inverse: responses lack'),
  );
  if (warning === undefined) expect(warnings).toEqual([]);
  else expect(warnings).toContainEqual(expect.stringMatching(warning));
});

test.each([
  ['[update]', true],
  ['every', true],
  ['[write]', false],
])('check warns for a join on %s that a PATCH of one part loses the others: %s', async (on, isWarned) => {
  const book = await bookIn(`operations: { write: POST /things, update: 'PATCH /things/{id}' }
changes: [{ id: c, summary: s, on: ${on}, request: [ { join: [a, b], to: c, with: " " } ] }]
`);
  const lost =
    /a PATCH of "update" with only some of a and b replaces the whole of "c", so V2 loses the others/;
  expect(ruleBookWarnings(book).some((text) => lost.test(text))).toBe(isWarned);
});

test.each([
  [
    "{ rename: a, to: b, in: '**' }",
    'inverse',
    '{"b":{"b":1},"l":[{"x":{"b":2}}],"a":0}',
    '{"a":{"a":1},"l":[{"x":{"a":2}}]}',
  ],
  ["{ nest: [a], under: n, in: '**' }", 'inverse', '{"n":{"a":{"n":{"a":1}}}}', '{"a":{"a":1}}'],
  ["{ scale: a, by: 10, in: '**' }", 'inverse', '{"a":10,"l":[{"a":20}]}', '{"a":1,"l":[{"a":2}]}'],
  ["{ rename: a, to: b, in: '**' }, { unwrap: p }", 'inverse', '{"x":{"b":1}}', '{"x":{"a":1}}'],
  ['', "[{ rename: b, in: '**', to: a }]", '{"b":[{"b":1}]}', '{"a":[{"a":1}]}'],
  ['', "[{ map: { p: q }, of: a, in: '**' }]", '{"x":{"a":"p"}}', '{"x":{"a":"q"}}'],
  ['', "[{ strip: [a, x.b], in: '**' }]", '{"a":1,"y":{"x":{"b":1,"a":2}}}', '{"y":{"x":{}}}'],
  ['', "[{ move: a.b, to: b, in: '**' }]", '{"x":{"a":{"b":1}}}', '{"x":{"b":1}}'],
  ['', "[{ unlist: a, of: v, in: '**' }]", '{"x":{"a":[{"v":1}]}}', '{"x":{"a":[1]}}'],
  ['', "[{ alias: b, as: a, in: '**' }]", '{"x":{"b":1}}', '{"x":{"b":1,"a":1}}'],
  ['', "[{ unnest: n, in: '**' }]", '{"n":{"a":{"n":{"b":1}}}}', '{"a":{"b":1}}'],
  ['', "[{ first: a, in: '**' }]", '{"x":{"a":[1]}}', '{"x":{"a":1}}'],
])('responses at any depth: %s, %s: %s', async (request, response, v2, v1) => {
  const of = response === 'inverse' ? undefined : response;
  expect(await read(request, v2, of)).toBe(v1);
  expect(await read(request, `[${v2}]`, of)).toBe(`[${v1}]`);
});

test('a rule for any depth takes time in proportion to the body, and no stack for its levels', async () => {
  const book = await bookIn(`version: 2025-01-01
operations: { write: POST /things }
limits: { depth: 1000 }
changes:
  - { id: c, summary: s, on: [write], request: [{ rename: a, to: b, in: '**' }], response: inverse }
`);
  const deep = (name: string): string => `${`{"${name}":`.repeat(990)}1${'}'.repeat(990)}`;
  const wide = (name: string): string =>
    `{"x":[${Array(20_000).fill(`{"y":1,"z":"t","${name}":2}`).join(',')}]}`;
  for (const body of [deep, wide]) {
    const operation = book.operations[0];
    const sent = compilePlans(book)
      .of(operation)
      .rewrite(bytesOf(body('a')));
    expect(sent.verdict === 'rewritten' && textOf(sent.body) === body('b')).toBe(true);
    const text = `{"data":${body('b')}}`;
    const context = { status: 200, deprecated: [], isWrapped: false };
    const { body: back } = compileResponsePlans(book).of(operation, 'POST').rewrite(bytesOf(text), context);
    expect(textOf(back) === `{"data":${body('a')}}`).toBe(true);
  }
});

test.each([
  ['{ entries: f, name: k, value: v, to: g }', true],
  ['{ unlist: f, name: k, value: v }', false],
  ['{ list: f, of: v }', false],
])('check warns for %s that a PATCH of one part loses the others: %s', async (rule, isWarned) => {
  const book = await bookIn(`operations: { write: POST /things, update: 'PATCH /things/{id}' }
changes: [{ id: c, summary: s, on: [write, update], request: [${rule}] }]
`);
  const lost =
    /a PATCH of "update" with only some members of "f" replaces the whole list "g", so V2 loses the others/;
  expect(ruleBookWarnings(book).some((text) => lost.test(text))).toBe(isWarned);
});

describe('responses', () => {
  test.each(back)('inverse of %s: %s', async (rules, v2, v1) => {
    expect(await read(rules, v2)).toBe(v1);
    expect(await read(rules, `[${v2}]`)).toBe(`[${v1}]`);
  });

  test.each(back)('a patch, where there is one, makes the same: inverse of %s: %s', async (rules, v2) => {
    const book = await bookWith(rules);
    const plan = compileResponsePlans(book).of(book.operations[0], 'POST');
    for (const text of [`{"data":${v2}}`, `{"data":[${v2}]}`]) {
      const outcome = plan.rewrite(bytesOf(text), { status: 200, deprecated: [], isWrapped: true });
      if (outcome.verdict !== 'rewritten' || textOf(outcome.body) === text) continue;
      // A list and its first element have no value in their patch.
      const isSaid = /^\{ (?:list: \w+, to|list: \w+, of|unlist: \w+, of|move|copy|set|default)/;
      expect(outcome.patch.length > 0).toBe(isSaid.test(rules) || v2.includes('null}'));
      if (outcome.patch.length === 0) continue;
      const patch = structuredClone(outcome.patch) as fastJsonPatch.Operation[];
      const { newDocument } = fastJsonPatch.applyPatch(JSON.parse(text), patch, true, true, false);
      expect(newDocument).toEqual(JSON.parse(textOf(outcome.body)));
    }
  });

  test.each([
    ['[{ list: data.a, to: b }]', '{"a":1.5,"x":0}', '{"b":[1.5],"x":0}'],
    ['[{ list: data.a }]', '{"a":{"c":1}}', '{"a":[{"c":1}]}'],
    ['[{ first: data.a }]', '{"a":[[1],2]}', '{"a":[1]}'],
    ['[{ first: data.a, to: b }, { list: data.b, to: c }]', '{"b":0,"a":[7]}', '{"c":[7]}'],
  ])('a patch makes the same: %s by hand: %s', async (rules, v2, v1) => {
    const book = await bookWith('', rules);
    const outcome = compileResponsePlans(book)
      .of(book.operations[0], 'POST')
      .rewrite(bytesOf(`{"data":${v2}}`), { status: 200, deprecated: [], isWrapped: true });
    expect(textOf(outcome.body)).toBe(`{"data":${v1}}`);
    const patch = structuredClone(outcome.verdict === 'rewritten' ? outcome.patch : []);
    const { newDocument } = fastJsonPatch.applyPatch(
      JSON.parse(`{"data":${v2}}`),
      patch as fastJsonPatch.Operation[],
      true,
      true,
      false,
    );
    expect(newDocument).toEqual(JSON.parse(`{"data":${v1}}`));
  });

  test.each([
    ['[{ set: { data.a: 1 } }]', '{"a":0}', '{"a":1}'],
    ['[{ set: { data.a: 1 } }]', '{"x":0}', '{"x":0,"a":1}'],
    ['[{ set: { data.a: 1 } }]', '{"a":0,"x":1,"a":2}', '{"x":1,"a":1}'],
    ['[{ default: { data.a: [] } }]', '{"a":0}', '{"a":0}'],
    ['[{ default: { data.a: [] } }]', '{}', '{"a":[]}'],
    ['[{ strip: [data.a, data.b.c] }]', '{"a":0,"b":{"c":1},"a":2}', '{"b":{}}'],
    ['[{ move: data.c.n, to: data.n }]', '{"c":{"n":1}}', '{"n":1}'],
  ])('%s by hand: %s', async (rules, v2, v1) => {
    expect(await read('', v2, rules)).toBe(v1);
  });
});

test('rules for other operations add no step to a plan', async () => {
  const own = `operations: { order: POST /orders, other: POST /others }
changes:
  - { id: own, summary: s, on: [order], request: [ { unwrap: data }, { rename: a, to: b } ], response: inverse }
`;
  const more = `${own}  - id: more
    summary: s
    on: [other]
    request: [ { set: { s: 1 } }, { move: m, to: n.m }, { scale: x, by: 100 }, { quote: q }, { list: l, to: ls }, { date: d, from: date, to: epoch } ]
    headers: [ { rename: X-A, to: X-B } ]
    response: inverse
`;
  const books = [await bookIn(own), await bookIn(more)];
  const plans = books.map((book) => {
    const order = book.operations.find(({ id }) => id === 'order');
    const other = book.operations.find(({ id }) => id === 'other');
    const [requests, responses] = [compilePlans(book), compileResponsePlans(book)];
    return {
      order: inspect([requests.of(order), responses.of(order, 'POST')], { depth: Infinity }),
      other: inspect([requests.of(other), responses.of(other, 'POST')], { depth: Infinity }),
    };
  });
  expect(plans[1]?.order).toBe(plans[0]?.order);
  expect(plans[1]?.other).not.toBe(plans[0]?.other);
});
