import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../src/node/clients/turn-queue.ts';

test('small work is done at once, and of large one little in a turn, in its order', async () => {
  const queue = new TurnQueue(1000);
  const order: string[] = [];
  const add = (name: string, size: number): void => queue.add(size, () => void order.push(name));
  add('a', 10);
  add('b', 0);
  add('c', 1000);
  expect(order).toEqual(['a', 'b', 'c']);
  add('d', 1000);
  add('e', 1000);
  add('f', 10);
  expect(order).toHaveLength(3);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
