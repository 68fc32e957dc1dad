import { expect, test } from 'vitest';
import { ExchangeMemory } from '../../src/gateway/limits.ts';

test('what an exchange took is given back once: when it is outgrown, or at the end', () => {
  const given: Uint8Array[] = [];
  const memory = new ExchangeMemory({
    take: (bytes) => new Uint8Array(bytes),
    give: (buffer) => void given.push(buffer),
    adopt: (part) => part,
  });
  const [outgrown, kept] = [memory.take(10), memory.take(20)];
  memory.give(outgrown);
  expect(given).toEqual([outgrown]);
  memory.giveAll();
  memory.giveAll();
  expect(given).toEqual([outgrown, kept]);
  expect(given.map(({ length }) => length)).toEqual([10, 20]);
  memory.take(30);
  memory.abandon();
  memory.giveAll();
  expect(given).toHaveLength(2);
});
