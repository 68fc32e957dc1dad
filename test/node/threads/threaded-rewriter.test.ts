import { expect, onTestFinished, test } from 'vitest';
import type { ResponseRewriteJob, RewriteJob } from '../../../src/gateway/body-rewriter.ts';
import { unlimitedMemory, type WorkMemory } from '../../../src/json/tape.ts';
import { ThreadedRewriter } from '../../../src/node/threads/threaded-rewriter.ts';
import { scalarOf } from '../../../src/json/names.ts';
import type { Change } from '../../../src/rules/rule-book.ts';
import type { ResponseRule } from '../../../src/rules/rule.ts';
import { compiledTestRuleBook, testRuleBook } from '../../support/rule-book.ts';

const VALUE = { from: scalarOf('old'), to: scalarOf('new') };
const CHANGE: Change = {
  id: 'floors',
  summary: 'Floors have no code.',
  on: 'every',
  request: [
    { rule: 'strip', in: ['floors', '*'], members: ['code'] },
    { rule: 'map', in: [], member: 'kind', values: [VALUE] },
  ],
  response: [{ rule: 'alias', path: ['data', 'name'], as: 'title', status: ['2xx'] }],
  policies: {},
  assumed: false,
};
const rules = compiledTestRuleBook({ changes: [...testRuleBook().changes, CHANGE] });
const operation = rules.match('POST', '/orders/floor_plans');

function rewriter(): ThreadedRewriter {
  const made = new ThreadedRewriter();
  onTestFinished(() => made.close());
  return made;
}

function jobFor(text: string, memory: WorkMemory = unlimitedMemory): RewriteJob {
  const body = new TextEncoder().encode(text);
  return { rules, operation, body, memory, failed: (error) => expect.unreachable(String(error)) };
}

function rewritten(threaded: ThreadedRewriter, job: RewriteJob): Promise<readonly [object, Uint8Array]> {
  return new Promise((resolve) =>
    threaded.request(job, (outcome, body) => resolve([outcome, body] as const)),
  );
}

function memoryOf(limit: number): { readonly memory: WorkMemory; readonly taken: () => number } {
  let taken = 0;
  const take = (bytes: number): boolean => {
    if (taken + bytes > limit) return false;
    taken += bytes;
    return true;
  };
  return { memory: { take }, taken: () => taken };
}

const textOf = (bytes: unknown): string =>
  bytes instanceof Uint8Array ? new TextDecoder().decode(bytes) : expect.unreachable();

test('a large body is rewritten beside the event loop as it would be at once, and comes back', async () => {
  const threaded = rewriter();
  const text = JSON.stringify({
    data: { kind: 'old', suburb: 'Enmore', property: { suburb: 'x'.repeat(300_000) } },
  });
  const atOnce = rules.requestPlan(operation).rewrite(jobFor(text).body);
  if (atOnce.verdict !== 'rewritten') return expect.unreachable();
  const { edits: _, body: expected, ...rest } = atOnce;
  let turns = 0;
  const turn = setImmediate(function next() {
    turns += 1;
    setImmediate(next).unref();
  });
  const [outcome, body] = await rewritten(threaded, jobFor(text));
  clearImmediate(turn);
  expect(turns).toBeGreaterThan(0);
  expect(textOf(body)).toBe(text);
  expect(outcome).toMatchObject(rest);
  expect(textOf((outcome as { readonly body: Uint8Array }).body)).toBe(textOf(expected));
});

test('bodies keep their order and their outcomes; a small one does not wait for a large one', async () => {
  const threaded = rewriter();
  const large = `{"data":{"name":"${'x'.repeat(200_000)}"}}`;
  const order: string[] = [];
  const all = ['first', 'second'].map(async (name) => {
    const [outcome] = await rewritten(threaded, jobFor(large));
    expect(outcome).toMatchObject({ verdict: 'rewritten' });
    order.push(name);
  });
  const [outcome] = await rewritten(threaded, jobFor('{"data":{}}'));
  expect(outcome).toMatchObject({ verdict: 'rewritten' });
  order.push('small');
  await Promise.all(all);
  expect(order).toEqual(['small', 'first', 'second']);
  const [faulty] = await rewritten(threaded, jobFor(`${large}x`));
  expect(faulty).toMatchObject({ verdict: 'refused', refusal: { code: 'malformed-json' } });
});

test('the memory for a body of many small objects is taken from the budget, and refused by it', async () => {
  const threaded = rewriter();
  const text = `{"data":{"floors":[${'{},'.repeat(300_000)}{"code":1}]}}`;
  const { memory, taken } = memoryOf(Number.POSITIVE_INFINITY);
  const [outcome] = await rewritten(threaded, jobFor(text, memory));
  expect(outcome).toMatchObject({ verdict: 'rewritten' });
  // 32 bytes for each value on the tape, and for each object of which a rule may change the members.
  expect(taken()).toBeGreaterThan(300_000 * (32 + 100));
  const [refused] = await rewritten(threaded, jobFor(text, memoryOf(20_000_000).memory));
  expect(refused).toMatchObject({ verdict: 'refused', refusal: { code: 'buffer-full', status: 503 } });
});

test('a large response is rewritten in the thread as it would be at once', async () => {
  const response: readonly ResponseRule[] = [
    { rule: 'inverse', status: ['2xx'] },
    { rule: 'map', path: ['data', 'kind'], values: [VALUE], status: ['2xx'] },
    { rule: 'errors', details: { Gone: 'V1 says so' }, status: ['4xx'] },
  ];
  const changes = testRuleBook().changes.map((change) => ({ ...change, response }));
  const made = compiledTestRuleBook({ changes });
  const filler = 'x'.repeat(200_000);
  const texts = [
    `{"data":{"filler":"${filler}","highlight_type":"a","property":{"address":{"suburb":1,"state":2}}}}`,
    `{"data":{"filler":"${filler}","kind":"old","property":{"address":null}}}`,
    `{"data":{"filler":"${filler}"}}`,
  ];
  const failed = `{"errors":[{"source":{"pointer":"/highlight_type"},"detail":"Gone"}],"meta":"${filler}"}`;
  const jobs = [...texts.map((text) => [200, text] as const), [422, failed] as const];
  const threaded = rewriter();
  const outcomes = await Promise.all(
    jobs.map(async ([status, text]) => {
      const post = made.match('POST', '/orders/post_productions');
      const context = { status, deprecated: [], isWrapped: true };
      const job: ResponseRewriteJob = {
        ...jobFor(text),
        rules: made,
        operation: post,
        method: 'POST',
        context,
      };
      const atOnce = made.responsePlan(post, 'POST').rewrite(job.body.slice(), context);
      const beside = await new Promise<object>((resolve) => threaded.response(job, resolve));
      const { edits: _, ...expected } = { edits: undefined, ...atOnce };
      expect(plain(beside)).toEqual(plain(expected));
      return atOnce.verdict === 'rewritten' && { patch: atOnce.patch.length, records: atOnce.records.length };
    }),
  );
  expect(outcomes).toEqual([
    { patch: 4, records: 3 },
    { patch: 0, records: 2 },
    false,
    { patch: 0, records: 2 },
  ]);
});

/** An outcome with its body as text. */
function plain(outcome: object): object {
  return 'body' in outcome ? { ...outcome, body: textOf(outcome.body) } : outcome;
}
