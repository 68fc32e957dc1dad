import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { TurnQueue } from '../../../src/node/clients/fair-turns.ts';

test('small work is done at once, and of large one little in a turn, in its order', async () => {
  const queue = new TurnQueue<string>(1000);
  const order: string[] = [];
  const add = (name: string, size: number): void => queue.add('one', size, () => void order.push(name));
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

test('groups take turns, and the work of each is done in its order', async () => {
  const queue = new TurnQueue<string>(2);
  const order: string[] = [];
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
    queue.add(name.slice(0, 1), 1, () => void order.push(name));
  expect(order).toEqual(['a1', 'a2']);
  expect(queue.waiting).toBe(5);
  await setImmediate();
  expect(order.slice(2)).toEqual(['a3', 'b1']);
  await setImmediate();
  expect(order.slice(4)).toEqual(['c1', 'a4']);
  await setImmediate();
  expect(order.slice(6)).toEqual(['b2']);
  expect(queue.waiting).toBe(0);
});
