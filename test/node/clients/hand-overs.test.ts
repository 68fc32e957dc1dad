import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HandOvers } from '../../../src/node/clients/hand-overs.ts';

test('small hand-overs happen at once, and large ones one in a turn, in their order', async () => {
  const handOvers = new HandOvers();
  const order: string[] = [];
  const add = (name: string, bytes: number): void => handOvers.add(bytes, () => void order.push(name));
  add('a', 500);
  add('b', 0);
  add('c', 64 * 1024);
  expect(order).toEqual(['a', 'b', 'c']);
  add('d', 64 * 1024);
  add('e', 64 * 1024);
  add('f', 10);
  expect(order).toHaveLength(3);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
