import { expect, test } from 'vitest';
import { playReplicas } from './virtual-replicas/play.ts';

const LOAD = { replicas: 30, clients: 500, rate: 10 };

test('near their store, many replicas follow a choice and roll a canary back once, within a second', async () => {
  const outcome = await playReplicas({ ...LOAD, network: { minMs: 0.5, tailMs: 1, loss: 0 } }, 7);
  // Virtual milliseconds: the same on every machine.
  expect(outcome.choiceMs).toBeLessThan(1000);
  expect(outcome.bothMs).toBeLessThan(1000);
  expect(outcome.rollbackMs).toBeLessThan(1000);
  expect(outcome).toMatchObject({ rollbacks: 1, alone: 9, backWhileHeld: 0 });
});

test('far from it, with calls and notices lost, they end in one state, and no client is moved back', async () => {
  const outcome = await playReplicas({ ...LOAD, network: { minMs: 30, tailMs: 15, loss: 0.02 } }, 7);
  expect(outcome).toMatchObject({ rollbacks: 1, alone: 9, backWhileHeld: 0 });
  expect(Math.max(outcome.choiceMs, outcome.rollbackMs, outcome.healedMs, outcome.togetherMs)).toBeLessThan(
    10_000,
  );
});
