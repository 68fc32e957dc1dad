import { expect, test } from 'vitest';
import { mergedRollout, type WorkerRollout } from '../../../src/node/workers/merged-rollout.ts';

const check = {
  operation: 'create_client',
  client: '0123456789abcdef',
  valid: 2,
  invalid: 3,
  refusedByBoth: 1,
  unknown: 0,
  pointers: [{ at: '/name', count: 3 }],
};

const worker: WorkerRollout = {
  requests: { v1: 3, v2: 4 },
  shadows: [
    {
      operation: 'create_client',
      same: 1,
      different: 2,
      unknown: 0,
      fields: [{ path: '/data/name', kind: 'value', count: 2 }],
    },
  ],
  ruleBook: 'now',
  bodyChecks: [check],
};

test('what workers counted is one count; checks under another rule book are none', () => {
  const own = {
    requests: { v1: 0, v2: 0 },
    comparisons: { list: [] },
    bodyChecks: { isOn: true, tally: { list: () => [] } },
  };
  const old: WorkerRollout = { ...worker, ruleBook: 'before' };
  const other: WorkerRollout = {
    ...worker,
    shadows: [...worker.shadows, { same: 5, different: 0, unknown: 1, fields: [] }],
    bodyChecks: [{ ...check, pointers: [{ at: '', count: 4 }] }],
  };
  const merged = mergedRollout(own, () => [worker, other, old]);
  expect(merged.requests).toEqual({ v1: 9, v2: 12 });
  expect(merged.comparisons.list).toEqual([
    {
      operation: 'create_client',
      same: 3,
      different: 6,
      unknown: 0,
      fields: [{ path: '/data/name', kind: 'value', count: 6 }],
    },
    { same: 5, different: 0, unknown: 1, fields: [] },
  ]);
  expect(merged.bodyChecks.tally.list('now')).toEqual([
    {
      ...check,
      valid: 4,
      invalid: 6,
      refusedByBoth: 2,
      pointers: [
        { at: '', count: 4 },
        { at: '/name', count: 3 },
      ],
    },
  ]);
});
