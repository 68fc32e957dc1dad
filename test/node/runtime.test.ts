import { expect, test } from 'vitest';
import { randomHex, randomUuids } from '../../src/node/runtime.ts';

/** More than are drawn from one pool. */
const COUNT = 2000;

test('random UUIDs are of version 4 (RFC 9562 §5.4), and each is drawn once', () => {
  const draw = randomUuids();
  const drawn = Array.from({ length: COUNT }, draw);
  for (const uuid of drawn)
    expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(new Set(drawn).size).toBe(COUNT);
  // Each digit but that of the version takes every value that it may have.
  for (let at = 0; at < 36; at += 1) {
    const values = new Set(drawn.map((uuid) => uuid[at]));
    expect(values.size).toBe([8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16);
  }
});

test('random hex digits are drawn once', () => {
  const draw = randomHex(24);
  const drawn = Array.from({ length: COUNT }, draw);
  for (const hex of drawn) expect(hex).toMatch(/^[0-9a-f]{48}$/);
  expect(new Set(drawn).size).toBe(COUNT);
});
