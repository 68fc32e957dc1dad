import { build } from 'esbuild';
import { afterAll, describe, expect, test } from 'vitest';
import { TransformThreads } from '../../../src/node/threads/transform-thread.ts';
import type { TransformJob, TransformOutcome } from '../../../src/migrate/transform.ts';
import { testRuleBook } from '../../support/rule-book.ts';

const threads = new TransformThreads();
afterAll(() => threads.close());

const MODULE = './t.js';

/** A thread with a module; bodies of V2 go through its `response`. */
function thread(text: string): (body: unknown) => Promise<TransformOutcome> {
  const book = testRuleBook({
    hash: String(text.length),
    operations: [],
    changes: [],
    modules: { [MODULE]: { text, exports: ['response'] } },
  });
  const job: TransformJob = {
    module: MODULE,
    operation: 'a',
    direction: 'response',
    method: 'GET',
    path: {},
    query: '',
    status: 200,
    body: undefined,
  };
  return (body) => threads.run(book, { ...job, body: Buffer.from(JSON.stringify(body)) });
}

function bodyOf(outcome: TransformOutcome): unknown {
  return 'why' in outcome || outcome.body === undefined
    ? outcome
    : JSON.parse(Buffer.from(outcome.body).toString());
}

/** Merges as many libraries once did, and returns everything that its values inherit. */
const NAIVE = `
function merge(target, source) {
  for (const key of Object.keys(source)) {
    const known = target[key];
    const isInside = source[key] !== null && typeof source[key] === 'object';
    if (isInside && known !== null && (typeof known === 'object' || typeof known === 'function')) merge(known, source[key]);
    else target[key] = source[key];
  }
  return target;
}
const kinds = () => ({
  object: {}, list: [], text: '', number: 1, query: new URLSearchParams(), date: new Date(0), map: new Map(), set: new Set(),
  pattern: /a/, promise: Promise.resolve(), error: new Error('x'), call: () => {}, later: async () => {}, steps: [].values(),
  generator: (function* () {})(), bytes: new Uint8Array(1), symbol: Symbol('x'), big: 1n, format: new Intl.NumberFormat('en'),
});
export function response(body) {
  const into = kinds();
  const told = [];
  if (body.merge !== undefined) merge(into, body.merge);
  else
    for (const [name, value] of Object.entries(into)) {
      for (const key in value) told.push(name + '.' + key);
      if (value.stolen !== undefined) told.push(name + ' has ' + value.stolen);
      for (const known of ['toString', 'constructor', 'valueOf', 'next', 'then', 'map'])
        if (typeof value[known] === 'string' || value[known]?.stolen !== undefined) told.push(name + ' lost ' + known);
    }
  for (const known of [Object.keys, Object.assign, Array.isArray, JSON.parse, Math.max, Function.prototype.call])
    if (typeof known !== 'function' || known.stolen !== undefined) told.push('lost a function');
  return { body: { told } };
}`;

const STOLEN = { stolen: 'the body of client A' };

describe('a module that merges naively gives client B nothing of client A', () => {
  const call = thread(NAIVE);
  const kinds = [
    'object',
    'list',
    'text',
    'number',
    'query',
    'date',
    'map',
    'set',
    'pattern',
    'promise',
    'error',
    'call',
  ];
  kinds.push('later', 'steps', 'generator', 'bytes', 'symbol', 'big', 'format');
  const parsed = (json: string): unknown => JSON.parse(json.replaceAll('STOLEN', JSON.stringify(STOLEN)));

  test.each<readonly [name: string, json: string]>([
    ...kinds.map((kind) => [`${kind}.__proto__`, `{"${kind}":{"__proto__":STOLEN}}`] as const),
    ...kinds.map((kind) => [`${kind}.constructor`, `{"${kind}":{"constructor":STOLEN}}`] as const),
    ...kinds.map(
      (kind) =>
        [`${kind}.constructor.prototype`, `{"${kind}":{"constructor":{"prototype":STOLEN}}}`] as const,
    ),
    ['__proto__ of the whole', '{"__proto__":STOLEN}'],
    ['the prototype of a prototype', '{"list":{"__proto__":{"__proto__":STOLEN}}}'],
    ['the prototype of iterators', '{"steps":{"__proto__":{"__proto__":STOLEN}}}'],
    ['the constructor of functions', '{"constructor":{"constructor":{"prototype":STOLEN}}}'],
    ['a method that is inherited', '{"object":{"toString":STOLEN}}'],
    ['a method in place of one', '{"object":{"__proto__":{"toString":"A","valueOf":"A"}}}'],
    ['functions of Object', '{"object":{"constructor":{"keys":"A","assign":"A"}}}'],
    ['functions of Array', '{"list":{"constructor":{"isArray":STOLEN}}}'],
    ['methods of promises', '{"promise":{"__proto__":{"then":"A"}}}'],
    ['methods of lists', '{"list":{"__proto__":{"map":"A","stolen":1}}}'],
  ])('%s', async (_, json) => {
    // All rows share one thread, so that the leftovers of one row fail the next ones as well.
    const clean = bodyOf(await call({}));
    expect(clean).toHaveProperty('told');
    expect(JSON.stringify(clean)).not.toMatch(/stolen|client A|lost/);
    await call({ merge: parsed(json) });
    expect(bodyOf(await call({}))).toEqual(clean);
  });
});

test('a call that would change a prototype fails, with its line', async () => {
  const call = thread('export function response(body) {\n  Object.assign({}.__proto__, body);\n}');
  expect(await call(STOLEN)).toMatchObject({ why: `response of ${MODULE} threw TypeError at line 2` });
});

test('names that objects inherit are assigned as everywhere else', async () => {
  const call = thread(`
class Refused extends Error { constructor(message) { super(message); this.name = 'Refused'; this.message = 'own ' + message; } }
function Old() { this.toString = () => 'old'; }
Old.prototype = Object.create(Array.prototype);
Old.prototype.constructor = Old;
Old.prototype.map = () => 'mapped';
class Lists extends Array {}
Lists.from = () => 'from';
Lists.prototype.push = () => 'pushed';
const bound = () => 1;
bound.call = () => 'called';
bound.toString = () => 'bound';
const list = [1];
list.concat = () => 'joined';
const record = Object.assign({}, { hasOwnProperty: 1, valueOf: 2 });
Error.stackTraceLimit = 4;
export function response() {
  return { body: [
    String(new Refused('x')), Object.keys(record), String(new Old()), new Old().map(), new Old().constructor === Old,
    Lists.from(), new Lists().push(), bound.call(), String(bound), list.concat(), Lists.of(1, 2).length, [3, 1].toSorted(),
    new Error('x').stack.split('\\n').length > 1,
  ] };
}`);
  expect(bodyOf(await call({}))).toEqual([
    'Refused: own x',
    ['hasOwnProperty', 'valueOf'],
    'old',
    'mapped',
    true,
    'from',
    'pushed',
    'called',
    'bound',
    'joined',
    2,
    [1, 3],
    true,
  ]);
});

// Real packages, old and new in style: none of them changes what it finds.
test.each([
  ['yaml', "all.parse('a: [1, 2]')", { a: [1, 2] }],
  ['zod', 'all.z.object({ a: all.z.number() }).parse({ a: 1 })', { a: 1 }],
  [
    'fast-json-patch',
    "all.applyPatch({ a: 1 }, [{ op: 'add', path: '/b', value: 2 }]).newDocument",
    { a: 1, b: 2 },
  ],
  ['semver', "all.default.coerce('v1.2').version", '1.2.0'],
])('%s loads and works', async (name, expression, value) => {
  const { outputFiles } = await build({
    stdin: {
      contents: `import * as all from '${name}';\nexport const response = () => ({ body: ${expression} });`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    write: false,
  });
  expect(bodyOf(await thread(outputFiles[0]?.text ?? '')({}))).toEqual(value);
});
