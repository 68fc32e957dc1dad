import { expect, test } from 'vitest';
import { createRolloutAdmin, type RolloutAdmin } from '../../src/inspector/rollout-admin.ts';
import { BodyCheckTally } from '../../src/rollout/body-checks.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { initialRollout } from '../../src/rollout/rollout-state.ts';
import type { RolloutRequest } from '../../src/rollout/rollout-tally.ts';
import { testRuleBook } from '../support/rule-book.ts';

const rule = testRuleBook();

function adminOf(control: RolloutControl, onCommand?: (sentence: string) => void): RolloutAdmin {
  return createRolloutAdmin({
    control,
    counts: {
      requests: { v1: 0, v2: 0 },
      comparisons: { list: [] },
      bodyChecks: { isOn: true, tally: new BodyCheckTally(), warnings: () => [] },
    },
    hasStore: false,
    ruleBook: () => rule,
    v1Origin: 'http://v1.test',
    isSticky: true,
    names: () => new Map(),
    ...(onCommand === undefined ? {} : { onCommand }),
  });
}

test.each<readonly [request: RolloutRequest, said: readonly string[]]>([
  [
    { mode: 'observe', who: 'anna', why: 'a look first' },
    [expect.stringMatching(/^.+: chosen by anna \(a look first\)\.$/)],
  ],
  [{ mode: 'observe' }, [expect.stringContaining('an operator who gave no name')]],
  [{ mode: 'observe', force: true }, [expect.stringContaining('against a warning')]],
  [{ mode: 'observe', check: true }, []],
  [{ mode: 'canary' }, []],
])(
  'the choice of an operator is logged, and not one that was refused or only checked: %j',
  async (request, said) => {
    const sentences: string[] = [];
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const admin = adminOf(control, (sentence) => void sentences.push(sentence));
    await admin.command(request);
    expect(sentences).toEqual(said);
  },
);

test('a canary that was rolled back has the bounds of the failures of both groups', () => {
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const rollback = {
    at: '2026-11-29T08:00:00.000Z',
    share: 25,
    migrated: { requests: 20, failures: 11 },
    v1: { requests: 48, failures: 0 },
  };
  control.adopt({ ...initialRollout, revision: 1, changed: rollback.at, rollbacks: [rollback] });
  const [told] = adminOf(control).view().rollbacks;
  expect(told).toMatchObject({ ...rollback, failed: { migrated: rollback.migrated, v1: { low: 0 } } });
  const { low = 1, high = 0 } = told?.failed?.migrated ?? {};
  // The groups are apart, or it would not have been rolled back.
  expect([low < 11 / 20, high > 11 / 20, low > (told?.failed?.v1.high ?? 1)]).toEqual([true, true, true]);
});
