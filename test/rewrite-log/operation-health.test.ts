import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { OperationHealth } from '../../src/rewrite-log/health/operation-health.ts';
import { type OperationTrouble } from '../../src/rewrite-log/health/trouble.ts';
import { sampleEntry } from '../support/sample-entries.ts';

/** An operation that is watched while time passes. */
class Operation {
  readonly harms: OperationTrouble[] = [];
  now = 0;
  private readonly health = new OperationHealth(undefined, (trouble) => void this.harms.push(trouble));

  see(requests: number, answer: Answer, origin?: 'v1', failure?: Entry['failure'], client = 'a'): this {
    for (let at = 0; at < requests; at += 1) {
      this.now += 1000;
      const status = answer === 'failed' ? 500 : 200;
      this.health.add(
        {
          ...sampleEntry(1, this.now),
          operation: 'read_bill',
          route: 'migrate',
          status,
          origin,
          failure,
          totalMs: 0,
          client,
        },
        this.now,
        answer,
      );
    }
    return this;
  }

  get wellSince(): number | undefined {
    return this.health.wellSince;
  }

  get troubles(): readonly OperationTrouble[] {
    return this.health.troubles(this.now);
  }
}

describe('clients that fail among others', () => {
  const fails = (all: Operation, client: string, requests = 1): Operation =>
    all.see(19, 'well').see(requests, 'failed', undefined, undefined, client);
  const failing = ({ troubles }: Operation): readonly unknown[] => troubles.map(({ clients }) => clients);

  test('are found, however many others failed once before', () => {
    const all = new Operation().see(200, 'well');
    for (let other = 0; other < 250; other += 1) fails(all, `other ${other}`);
    for (let round = 0; round < 5; round += 1) fails(all, 'b');
    expect(failing(all)).toEqual([['b']]);
  });

  test('are told for an hour after they were well again', () => {
    const all = new Operation().see(200, 'well');
    for (let round = 0; round < 5; round += 1) fails(all, 'b');
    expect(all.wellSince).toBe(all.now);
    all.see(19, 'well', undefined, undefined, 'b');
    expect(all.troubles).toMatchObject([{ clients: ['b'], requests: 24, failed: 5, until: undefined }]);
    all.see(1, 'well', undefined, undefined, 'b');
    const until = all.now - 20_000;
    expect(all.troubles).toMatchObject([{ clients: ['b'], requests: 5, failed: 5, until }]);
    all.now += 3_600_000;
    expect(all.troubles).toEqual([]);
    expect(all.wellSince).toBe(until);
  });

  test('are well once no larger share of their requests fails than failed for all before', () => {
    const all = new Operation();
    const atTimes = (times: number): void => {
      for (let time = 0; time < times; time += 1)
        all.see(1, 'failed', undefined, undefined, 'b').see(5, 'well', undefined, undefined, 'b');
    };
    atTimes(100);
    for (let round = 0; round < 5; round += 1) fails(all, 'b');
    expect(failing(all)).toEqual([['b']]);
    atTimes(20);
    expect(all.troubles).toMatchObject([{ clients: ['b'], until: expect.any(Number) }]);
  });
});

describe('an operation that fails', () => {
  test('has the shares before and now, with bounds, as the test of a canary sees them', () => {
    const [trouble] = new Operation().see(200, 'well').see(30, 'failed').troubles;
    expect(trouble?.evidence).toMatchObject({
      before: { requests: 200, failures: 0, low: 0 },
      now: { requests: 30, failures: 30, high: 1 },
      isHarm: true,
    });
    expect(trouble?.evidence.before.high).toBeLessThan(0.06);
    expect(trouble?.evidence.now.low).toBeGreaterThan(0.7);
  });

  test.each<[past: string, (operation: Operation) => Operation, harms: number]>([
    ['always fails, and did not before', (one) => one.see(100, 'well').see(30, 'failed'), 1],
    ['always fails, and has no known past', (one) => one.see(30, 'failed'), 0],
    ['always fails, as on V1', (one) => one.see(100, 'failed', 'v1').see(30, 'failed'), 0],
    ['did well on V1', (one) => one.see(100, 'well', 'v1').see(30, 'failed'), 1],
    ['fails once', (one) => one.see(100, 'well').see(1, 'failed').see(100, 'well'), 0],
    [
      'fails again after it was over',
      (one) => one.see(100, 'well').see(30, 'failed').see(60, 'well').see(30, 'failed'),
      2,
    ],
  ])('is reported once, if it %s', (_, play, harms) => {
    const operation = play(new Operation());
    expect(operation.harms).toHaveLength(harms);
    for (const { evidence } of operation.harms) expect(evidence.isHarm).toBe(true);
  });

  test('that always failed at times is not blamed for an outage, and is no longer reported when the outage is over', () => {
    const operation = new Operation();
    const atTimes = (times: number): void => {
      for (let time = 0; time < times; time += 1) operation.see(1, 'failed').see(5, 'well');
    };
    atTimes(40);
    operation.see(18, 'failed', undefined, 'upstream-unreachable');
    expect(operation.troubles).toMatchObject([{ unanswered: 18, isOwn: false, until: undefined }]);
    atTimes(20);
    // Its own failures move neither the beginning of the outage nor its end.
    const outage = { since: 241_000, last: 258_000, until: 259_000 };
    expect(operation.troubles).toMatchObject([{ unanswered: 18, outage, isOwn: false, until: 279_000 }]);
    operation.see(30, 'failed');
    expect(operation.troubles).toMatchObject([{ unanswered: 0, isOwn: true, until: undefined }]);
  });

  test('is over once no larger share of it fails than before', () => {
    const operation = new Operation();
    for (let time = 0; time < 40; time += 1) operation.see(1, 'failed').see(9, 'well');
    for (let time = 0; time < 40; time += 1) operation.see(5, 'failed').see(5, 'well');
    expect(operation.troubles).toMatchObject([{ kind: 'more', isOwn: true, until: undefined }]);
    for (let time = 0; time < 20; time += 1) operation.see(1, 'failed').see(9, 'well');
    const [trouble] = operation.troubles;
    expect(trouble?.until).toBeGreaterThan(800_000);
    expect(trouble?.until).toBeLessThan(910_000);
  });

  test('is over once V1 serves it again', () => {
    const operation = new Operation().see(100, 'well').see(30, 'failed').see(25, 'well', 'v1');
    expect(operation.troubles).toMatchObject([{ requests: 30, failed: 30, until: 130_000 }]);
  });

  // The test allows a look at any time: an operation whose share does not change is not harmed.
  test('is not reported while its share stays the same, however often it is tested', () => {
    const operation = new Operation();
    for (let round = 0; round < 400; round += 1) operation.see(9, 'well').see(1, 'failed');
    expect(operation.harms).toEqual([]);
  });
});
