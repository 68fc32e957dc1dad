import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/rewrite-log/answers.ts';
import { OperationHealth, type OperationTrouble } from '../../src/rewrite-log/operation-health.ts';
import { sampleEntry } from '../support/sample-entries.ts';

/** An operation that is watched while time passes. */
class Operation {
  readonly harms: OperationTrouble[] = [];
  now = 0;
  private readonly health = new OperationHealth(undefined, (trouble) => void this.harms.push(trouble));

  see(requests: number, answer: Answer, origin?: 'v1'): this {
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
          client: 'a',
        },
        this.now,
        answer,
      );
    }
    return this;
  }

  get troubles(): readonly OperationTrouble[] {
    return this.health.troubles(this.now);
  }
}

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
    ['fails always, and did not', (one) => one.see(100, 'well').see(30, 'failed'), 1],
    ['fails always, and is not known from before', (one) => one.see(30, 'failed'), 0],
    ['fails always, as on V1', (one) => one.see(100, 'failed', 'v1').see(30, 'failed'), 0],
    ['did well on V1', (one) => one.see(100, 'well', 'v1').see(30, 'failed'), 1],
    ['fails once', (one) => one.see(100, 'well').see(1, 'failed').see(100, 'well'), 0],
    [
      'fails again after it was over',
      (one) => one.see(100, 'well').see(30, 'failed').see(60, 'well').see(30, 'failed'),
      2,
    ],
  ])('is told once, where it %s', (_, play, harms) => {
    const operation = play(new Operation());
    expect(operation.harms).toHaveLength(harms);
    for (const { evidence } of operation.harms) expect(evidence.isHarm).toBe(true);
  });

  test('is over once V1 serves it again', () => {
    const operation = new Operation().see(100, 'well').see(30, 'failed').see(25, 'well', 'v1');
    expect(operation.troubles).toMatchObject([{ requests: 30, failed: 30, until: 131_000 }]);
  });

  // The test allows a look at any time: an operation whose share does not change is not harmed.
  test('is not told while its share stays the same, however long one looks', () => {
    const operation = new Operation();
    for (let round = 0; round < 400; round += 1) operation.see(9, 'well').see(1, 'failed');
    expect(operation.harms).toEqual([]);
  });
});
