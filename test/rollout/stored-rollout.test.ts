import fc from 'fast-check';
import { expect, test } from 'vitest';
import { commanded, initialRollout, rolledBack, type RolloutState } from '../../src/rollout/rollout-state.ts';
import { readRollout, rolloutText } from '../../src/rollout/stored-rollout.ts';
import type { Mode } from '../../src/rules/rollout.ts';

const AT = '2026-11-22T08:00:00.000Z';
const mode: fc.Arbitrary<Mode> = fc.oneof(
  fc.constantFrom<Mode>({ mode: 'migrate' }, { mode: 'observe' }, { mode: 'shadow' }),
  fc.integer({ min: 1, max: 100 }).map((share): Mode => ({ mode: 'canary', share })),
);
const count = fc.record({ requests: fc.nat(), failures: fc.nat() });
const step: fc.Arbitrary<(state: RolloutState) => RolloutState> = fc.oneof(
  fc
    .record({
      mode: fc.option(mode, { nil: undefined }),
      operation: fc.option(fc.string(), { nil: undefined }),
      by: fc.option(fc.string(), { nil: undefined }),
      who: fc.option(fc.string(), { nil: undefined }),
      why: fc.option(fc.string(), { nil: undefined }),
    })
    .map((command) => (state: RolloutState) => commanded(state, command, AT)),
  fc.tuple(fc.stringMatching(/^[0-9a-f]{16}$/), mode).map(
    ([client, chosen]) =>
      (state: RolloutState) =>
        commanded(state, { client, mode: chosen }, AT),
  ),
  fc
    .record({ share: fc.integer({ min: 1, max: 100 }), migrated: count, v1: count, by: fc.string() })
    .map((rollback) => (state: RolloutState) => rolledBack(state, { at: AT, ...rollback })),
);

test('every state that commands and roll-backs can make is read as it was written', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
      const state = steps.reduce((so, next) => next(so), initialRollout);
      const text = rolloutText(state);
      const read = readRollout(JSON.parse(text));
      expect(read).toEqual(state);
      expect(read && rolloutText(read)).toBe(text);
    }),
  );
});

test('a text that is not a state is not read', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(readRollout(value)).toBe(undefined);
    }),
  );
  const sound = JSON.parse(
    rolloutText(commanded(initialRollout, { mode: { mode: 'observe' } }, AT)),
  ) as object;
  expect(readRollout(sound)).toBeDefined();
  for (const damage of [
    { format: 2 },
    { revision: 0 },
    { revision: '1' },
    { changed: 'today' },
    { by: 1 },
    { default: { mode: 'canary' } },
    { default: { mode: 'observe', share: 1 } },
    { default: { mode: 'canary', share: 101 } },
    { operations: [] },
    { clients: { short: { mode: 'observe' } } },
    { rollbacks: [{ at: AT }] },
    { stages: [] },
    { history: {} },
    { history: [{ at: 'today' }] },
    { history: [{ at: AT, mode: { mode: 'canary' } }] },
    { history: [{ at: AT, who: 7 }] },
    { history: [{ at: AT, more: 1 }] },
    { stages: { '': -1 } },
    { more: true },
  ])
    expect(readRollout({ ...sound, ...damage })).toBe(undefined);
});

test('the next choice and the next roll-back are readable, however large the stored revision is', () => {
  for (const revision of [1, 2 ** 31, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER]) {
    const first = commanded(initialRollout, { mode: { mode: 'canary', share: 5 } }, AT);
    const stored = { ...first, revision };
    const count = { requests: 100, failures: 50 };
    for (const next of [
      commanded(stored, { mode: { mode: 'observe' } }, AT),
      rolledBack(stored, { at: AT, share: 5, migrated: count, v1: count }),
    ]) {
      expect(readRollout(JSON.parse(rolloutText(next)))).toEqual(next);
      expect(next.revision).toBeGreaterThanOrEqual(revision);
    }
  }
});
