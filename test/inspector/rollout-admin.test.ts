import { expect, test } from 'vitest';
import { createRolloutAdmin } from '../../src/inspector/rollout-admin.ts';
import { BodyCheckTally } from '../../src/rollout/body-checks.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import type { RolloutRequest } from '../../src/rollout/rollout-tally.ts';
import { testRuleBook } from '../support/rule-book.ts';

const rule = testRuleBook();

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
  'what an operator chose is said, and nothing that was refused or only checked: %j',
  async (request, said) => {
    const sentences: string[] = [];
    const admin = createRolloutAdmin({
      control: new RolloutControl({ time: Date.now, onNotice: () => {} }),
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
      onCommand: (sentence) => void sentences.push(sentence),
    });
    await admin.command(request);
    expect(sentences).toEqual(said);
  },
);
