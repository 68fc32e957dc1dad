import { expect, test } from 'vitest';
import { mergedRollout, type WorkerRollout } from '../../../src/node/workers/worker-messages.ts';

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
};

test('what workers counted is one count', () => {
  const own = {
    requests: { v1: 0, v2: 0 },
    comparisons: { list: [] },
    bodyChecks: { isOn: true, tally: { list: () => [] }, warnings: () => [] },
  };
  const other: WorkerRollout = {
    ...worker,
    shadows: [...worker.shadows, { same: 5, different: 0, unknown: 1, fields: [] }],
  };
  const merged = mergedRollout(own, () => [worker, other]);
  expect(merged.requests).toEqual({ v1: 6, v2: 8 });
  expect(merged.comparisons.list).toEqual([
    {
      operation: 'create_client',
      same: 2,
      different: 4,
      unknown: 0,
      fields: [{ path: '/data/name', kind: 'value', count: 4 }],
    },
    { same: 5, different: 0, unknown: 1, fields: [] },
  ]);
});
