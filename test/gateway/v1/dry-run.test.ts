import { expect, test } from 'vitest';
import { DryRun, type DryRunOutcome } from '../../../src/gateway/v1/dry-run.ts';
import { readTarget, type Target } from '../../../src/http/target.ts';
import type { MigrateDecision } from '../../../src/migrate/decision.ts';
import type { Body } from '../../../src/gateway/exchange.ts';
import { compiledTestRuleBook } from '../../support/rule-book.ts';

const BODY = Buffer.from('{"data":{"property":{"suburb":"Enmore"}}}');

interface Run {
  readonly forwarded: Buffer;
  readonly outcome: DryRunOutcome | undefined;
  /** Bytes taken from the budget. */
  readonly taken: number;
}

/** Runs on a body that comes in `parts`, whose memory is filled with something else once they are forwarded. */
async function run(parts: readonly Uint8Array[], bodyLimit = 10_000_000, budget = Infinity): Promise<Run> {
  const rules = compiledTestRuleBook();
  const target = readTarget('/api/v1/orders/floor_plans');
  expect(target.fault).toBeUndefined();
  const decision: MigrateDecision = {
    route: 'migrate',
    target: target as Target,
    operation: rules.match('POST', '/orders/floor_plans'),
    query: { query: '', records: [], rules: [] },
    bodyLimit,
    body: { action: 'rewrite', coding: undefined },
  };
  let taken = 0;
  const outcomes: DryRunOutcome[] = [];
  const dryRun = new DryRun(decision, {
    take: (bytes) => {
      taken += bytes;
      return taken <= budget;
    },
    decode: () => expect.unreachable(),
    rewrite: (body, done) => done(rules.requestPlan(decision.operation).rewrite(body), body),
    done: (outcome) => outcomes.push(outcome),
    over: () => {},
    lost: () => expect.unreachable(),
    copyLost: () => expect.unreachable(),
  });
  const { promise, resolve } = Promise.withResolvers<Body>();
  dryRun.run(
    (async function* () {
      yield* parts;
    })(),
    resolve,
  );
  const body = await promise;
  if (body === null || body instanceof Uint8Array) return expect.unreachable();
  const forwarded: Buffer[] = [];
  for await (const chunk of body) {
    if (parts.length < 1000) forwarded.push(Buffer.from(chunk));
    chunk.fill(0);
  }
  expect(outcomes.length).toBeLessThanOrEqual(1);
  return { forwarded: Buffer.concat(forwarded), outcome: outcomes[0], taken };
}

const bytewise = (body: Uint8Array): Uint8Array[] => Array.from(body, (byte) => Uint8Array.of(byte));

test('a body in parts crosses as it came, and is read once its last part has gone', async () => {
  for (const parts of [
    bytewise(BODY),
    [Buffer.from(BODY)],
    // `slice` of a buffer is a view, and this one fills its memory.
    [inMemoryOfItsOwn(BODY)],
    [BODY.subarray(0, 9), BODY.subarray(9)].map(copy),
  ]) {
    const { forwarded, outcome } = await run(parts);
    expect(forwarded.equals(BODY)).toBe(true);
    expect(outcome).toMatchObject({ would: { verdict: 'rewritten' }, edits: [{}, {}] });
  }
});

test('a body beyond the limit crosses, and would have been refused', async () => {
  const { forwarded, outcome, taken } = await run(bytewise(BODY), 20);
  expect(forwarded.equals(BODY)).toBe(true);
  expect(outcome?.would).toEqual({ verdict: 'refused', failure: 'body-too-large' });
  expect(taken).toBeLessThanOrEqual(1024);
});

test('a body that the budget has no room for crosses, and nothing is said of it', async () => {
  const { forwarded, outcome } = await run(bytewise(BODY), undefined, 10);
  expect(forwarded.equals(BODY)).toBe(true);
  expect(outcome).toBeUndefined();
});

// Attack: whoever sends a body byte by byte has each byte copied as an object of its own, and the budget counts the bytes alone.
test('what a copy takes is taken from the budget, and no more than twice the body in however many parts', async () => {
  const body = Buffer.from(`{"data":{"note":"${'x'.repeat(300_000)}"}}`);
  const { outcome, taken } = await run(bytewise(body));
  expect(outcome?.would.verdict).toBe('rewritten');
  expect(taken).toBeGreaterThanOrEqual(body.length);
  expect(taken).toBeLessThanOrEqual(2 * body.length);
});

function inMemoryOfItsOwn(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}

function copy(part: Uint8Array): Uint8Array {
  return new Uint8Array(part);
}
