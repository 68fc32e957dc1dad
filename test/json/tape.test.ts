import { expect, test } from 'vitest';
import { Tape } from '../../src/json/tape.ts';

// Otherwise one large body would hold memory for ever that no budget counts.
test('the memory of a large text is released, and that of a small one is kept for the next', () => {
  const tape = new Tape();
  let taken = 0;
  const takenFor = (nodes: number): number => {
    taken = 0;
    tape.clear({ take: (bytes) => (taken += bytes) > 0 });
    for (let node = 0; node < nodes; node += 1) tape.push(-1, 0, 0, 0, 0);
    return taken;
  };
  const large = takenFor(200_000);
  expect(large).toBeGreaterThan(1_000_000);
  expect(takenFor(10)).toBe(0);
  expect(takenFor(200_000)).toBe(large);
  expect(takenFor(200_000)).toBe(large);
});
