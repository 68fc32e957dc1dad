import fc from 'fast-check';
import { expect, test } from 'vitest';
import { UnclaimedRequests } from '../../src/rollout/rate-limit.ts';

const SHIELD = { requests: 60, per: 60_000, wait: 0, queue: 0 };

function sendAll(unclaimed: UnclaimedRequests, now: number, replicas: number): number {
  let sent = 0;
  while (sent < 1000 && unclaimed.isAllowed(now, replicas)) {
    unclaimed.count();
    sent += 1;
  }
  return sent;
}

test('a replica that knows nothing sends its share; one with new counts half its share of what is free', () => {
  const unclaimed = new UnclaimedRequests(SHIELD);
  expect(sendAll(unclaimed, 0, 3)).toBe(20);
  unclaimed.beginExchange();
  unclaimed.endExchange(40, 100);
  expect(sendAll(unclaimed, 101, 3)).toBe(6);
  unclaimed.beginExchange();
  unclaimed.endExchange(4, 200);
  expect(sendAll(unclaimed, 201, 3)).toBe(0);
});

test('who asks leaves what the others may send by counts of a second and a half ago', () => {
  const unclaimed = new UnclaimedRequests(SHIELD);
  expect(unclaimed.leftForOthers(3)).toBe(20);
  for (const at of [0, 500, 1000]) unclaimed.endExchange(12, at);
  expect(unclaimed.leftForOthers(3)).toBe(20);
  for (const at of [1500, 2000]) unclaimed.endExchange(12, at);
  expect(unclaimed.leftForOthers(3)).toBe(4);
  for (const at of [2500, 3500]) unclaimed.endExchange(0, at);
  expect(unclaimed.leftForOthers(3)).toBe(4);
  unclaimed.endExchange(0, 4000);
  expect(unclaimed.leftForOthers(3)).toBe(0);
});

test('replicas that exchange in any order never send more than there are free slots', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 2, max: 6 }),
      fc.integer({ min: 0, max: 30 }),
      fc.array(fc.nat(5), { maxLength: 40 }),
      (count, free, turns) => {
        const replicas = Array.from({ length: count }, () => new UnclaimedRequests(SHIELD));
        for (const at of [0, 1000, 2000, 3000]) for (const each of replicas) each.endExchange(free, at);
        const untold = replicas.map((each) => sendAll(each, 3001, count));
        let told = 0;
        for (const [turn, pick] of turns.entries()) {
          const index = pick % count;
          const each = replicas[index];
          if (each === undefined) continue;
          each.beginExchange();
          told += untold[index] ?? 0;
          each.endExchange(Math.max(0, free - told), 3002 + turn);
          untold[index] = sendAll(each, 3002 + turn, count);
        }
        expect(told + untold.reduce((sum, sent) => sum + sent, 0)).toBeLessThanOrEqual(free);
      },
    ),
  );
});
