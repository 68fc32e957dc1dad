import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchLoopDelay } from '../../../src/node/admin/admin-server.ts';

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

test('every reader sees the full length of a stall, long after it', async () => {
  const delaySeconds = watchLoopDelay();
  await delay(120);
  block(400);
  expect(delaySeconds()).toBeGreaterThan(0.3);
  await delay(1200);
  expect(delaySeconds()).toBeGreaterThan(0.3);
  expect(delaySeconds()).toBeGreaterThan(0.3);
});

test('after a minute a stall is forgotten, and an idle loop is hardly late', () => {
  let time = 5000;
  const delaySeconds = watchLoopDelay(() => time);
  time += 3050;
  expect(delaySeconds()).toBe(3);
  time += 59_000;
  // The fake clock leapt: that is one more stall.
  expect(delaySeconds()).toBeCloseTo(58.95);
  for (let second = 0; second < 61; second += 1) {
    time += 1000;
    delaySeconds();
  }
  expect(delaySeconds()).toBeLessThan(1);
});
