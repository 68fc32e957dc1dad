import type { RolloutView } from '../../src/rollout/rollout-tally.ts';

/** The view of a rollout that observes everything and has seen nothing yet, changed by `parts`. */
export function sampleRollout(parts: Partial<RolloutView> = {}): RolloutView {
  return {
    v1Origin: 'http://v1.test',
    revision: 1,
    isSticky: true,
    default: { mode: 'observe', from: 'operator' },
    operations: {},
    clients: {},
    ruleBook: { default: { mode: 'migrate' }, operations: {}, clients: {} },
    rollback: { window: 60_000, margin: 5, slower: 2, requests: 20, certainty: 99 },
    canaries: [],
    rollbacks: [],
    shadows: [],
    requests: { v1: 0, v2: 0 },
    brownouts: [],
    ...parts,
  };
}
