import { expect, onTestFinished, test } from 'vitest';
import type { TransformJob, TransformOutcome } from '../../../src/migrate/transform.ts';
import {
  startingMs,
  type ThreadTimes,
  TransformThreads,
} from '../../../src/node/threads/transform-thread.ts';
import { bytesOf, textOf } from '../../rewrite/notation.ts';
import { testRuleBook } from '../../support/rule-book.ts';

const MIB = 2 ** 20;
/** Longer than anything here takes: what ends is not ended by its time. */
const LONG_MS = 60_000;

type Call = (body: object, direction?: TransformJob['direction']) => Promise<TransformOutcome>;

/** Calls of one module, in its own thread. */
function callsOf(text: string, transform: number): Call {
  const { limits } = testRuleBook();
  const modules = { './m.js': { text, exports: ['request', 'response'] as const } };
  const book = testRuleBook({ modules, limits: { ...limits, transform } });
  const threads = new TransformThreads();
  onTestFinished(() => threads.close());
  return (body, direction = 'request') =>
    threads.run(book, {
      direction,
      module: './m.js',
      operation: 'x',
      method: 'POST',
      path: {},
      query: '',
      status: undefined,
      body: bytesOf(JSON.stringify(body)),
    });
}

const bodyOf = (outcome: TransformOutcome): unknown =>
  'why' in outcome ? outcome.why : JSON.parse(textOf(outcome.body ?? new Uint8Array()));

// Attack: one client's body has the module leave something behind, which meets the calls of all others.
test.each([
  ['a rejection that is not awaited', 'void Promise.reject(new Error("left"));'],
  ['an error in a timer', 'setTimeout(() => { throw new Error("left"); }, 0);'],
  ['an error in each turn', 'setInterval(() => { throw new Error("left"); }, 1);'],
  ['a loop', 'setImmediate(() => { for (;;); });'],
  ['an end of the thread', 'setImmediate(() => process.exit(1));'],
  ['more values than there is memory', 'setImmediate(() => { const all = []; for (;;) all.push({}); });'],
])('work that a call leaves running costs no other call its result: %s', async (_what, left) => {
  const call = callsOf(
    `export const request = (body) => {
      if (body.leave) { ${left} }
      return { body: { ...body, done: true } };
    };`,
    300,
  );
  const all = await Promise.all([{ leave: true }, { n: 1 }, { n: 2 }].map((body) => call(body)));
  expect(all.map(bodyOf)).toEqual([
    { leave: true, done: true },
    { n: 1, done: true },
    { n: 2, done: true },
  ]);
  expect(bodyOf(await call({ n: 3 }))).toEqual({ n: 3, done: true });
});

test('a module whose threads all end before a call begins fails the call, and not for ever', async () => {
  const call = callsOf(
    'setImmediate(() => process.exit(1)); export const request = (body) => ({ body });',
    LONG_MS,
  );
  const outcomes = await Promise.all([call({}), call({})]);
  for (const outcome of outcomes) expect(bodyOf(outcome)).toContain('request of ./m.js ended its thread');
});

test('a call that has begun is not repeated, because it may be what ends its thread', async () => {
  const call = callsOf(
    `export const request = (body) => { if (body.end) process.exit(1); return { body: { done: true } }; };`,
    LONG_MS,
  );
  const [ending, next] = await Promise.all([call({ end: true }), call({ n: 1 })]);
  expect(bodyOf(ending)).toContain('request of ./m.js ended its thread');
  expect(bodyOf(next)).toEqual({ done: true });
});

const REFUSED = 'request of ./m.js threw RangeError at line 1';
const ENDED = 'request of ./m.js ended its thread, or took too much memory';

// Attack: memory outside the heap, which no limit of a thread counts, until the container is killed.
test.each([
  ['one array', 'new Uint8Array(900 * MIB).fill(1)', REFUSED],
  ['one array of numbers', 'new Float64Array(110 * MIB).fill(1)', REFUSED],
  ['one array like another', 'new Uint8Array({ length: 900 * MIB })', REFUSED],
  ['one array of a subclass', 'new (class extends Uint8Array {})(900 * MIB).fill(1)', REFUSED],
  ['one buffer of Node', 'Buffer.alloc(900 * MIB, 1)', REFUSED],
  ['one buffer of Node without zeros', 'Buffer.allocUnsafe(900 * MIB).fill(1)', REFUSED],
  ['one buffer', 'new Uint8Array(new ArrayBuffer(900 * MIB)).fill(1)', REFUSED],
  ['one shared buffer', 'new Uint8Array(new SharedArrayBuffer(900 * MIB)).fill(1)', REFUSED],
  ['the memory of WebAssembly', 'new WebAssembly.Memory({ initial: 14_400 })', REFUSED],
  ['many large ones', 'for (;;) kept.push(new Uint8Array(8 * MIB).fill(1))', REFUSED],
  ['many copies', 'const one = new Uint8Array(8 * MIB).fill(1); for (;;) kept.push(one.slice())', REFUSED],
  ['many of Node', 'for (;;) kept.push(Buffer.alloc(8 * MIB, 1))', REFUSED],
  ['many small ones', 'for (;;) kept.push(new Uint8Array(64 * 1024).fill(1))', ENDED],
])('memory outside the heap is bounded: %s', async (_what, code, why) => {
  const call = callsOf(
    `const MIB = 2 ** 20; const kept = []; export const request = (body) => { if (body.take) { ${code}; } return { body: { done: true } }; };`,
    LONG_MS,
  );
  await call({});
  const before = process.memoryUsage.rss();
  let most = 0;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
  const outcome = await call({ take: true });
  clearInterval(watch);
  expect(bodyOf(outcome)).toBe(why);
  expect((most - before) / MIB).toBeLessThan(400);
  expect(bodyOf(await call({}))).toEqual({ done: true });
});

test('memory that calls keep outside the heap is bounded over all calls', async () => {
  const call = callsOf(
    `const kept = []; export const request = () => { for (let n = 0; n < 320; n += 1) kept.push(new Uint8Array(64 * 1024).fill(1)); return { body: kept.length }; };`,
    LONG_MS,
  );
  const kept: unknown[] = [];
  for (let n = 0; n < 12; n += 1) kept.push(bodyOf(await call({})));
  // Each has its result, and a new thread has kept nothing.
  for (const count of kept) expect(count).toBeTypeOf('number');
  expect(kept.filter((count) => count === 320).length).toBeGreaterThan(1);
});

test('a call can allocate buffers within the bound again and again', async () => {
  const call = callsOf(
    `export const request = () => {
      const one = new Uint8Array(4 * 2 ** 20).fill(65);
      const text = new TextDecoder().decode(Buffer.concat([one, Buffer.from('end')]));
      return { body: [text.length, one.slice() instanceof Uint8Array, one.constructor === Uint8Array, new Uint16Array([1, 2]).length] };
    };`,
    LONG_MS,
  );
  for (let n = 0; n < 20; n += 1) expect(bodyOf(await call({}))).toEqual([4 * MIB + 3, true, true, 2]);
});

test.each<[string, ThreadTimes, number]>([
  ['a module that loops', { workedMs: 5000, idleMs: 0 }, 5000],
  ['one that waits', { workedMs: 30, idleMs: 4970 }, 5000],
  ['a thread without a processor', { workedMs: 30, idleMs: 0 }, 30],
  ['one that does not run yet', 'unborn', 0],
  ['a runtime that reports no times', undefined, 20_000],
])('%s has used this much of the 20 s for loading', (_, times, used) => {
  expect(startingMs(20_000, times)).toBe(used);
});
