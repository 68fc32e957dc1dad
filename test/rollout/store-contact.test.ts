import { expect, test } from 'vitest';
import { StoreContact } from '../../src/rollout/store-contact.ts';

const MINUTE = 60_000;

test('a store that is lost again within some minutes comes and goes, as one trouble', async () => {
  let now = 0;
  const clock = { time: () => now, after: () => () => {}, random: () => 0 };
  const contact = new StoreContact({ clock, timeoutMs: 1000, onLost: () => {}, onFound: () => {} });
  const at = async (minute: number, works: boolean): Promise<unknown> => {
    now = minute * MINUTE;
    await contact.attempt('rollout', () => (works ? Promise.resolve() : Promise.reject(new Error('slow'))));
    return contact.unsteady;
  };
  expect(await at(1, true)).toBeUndefined();
  expect(await at(2, false)).toBeUndefined();
  expect(await at(3, true)).toBeUndefined();
  const twice = { since: 2 * MINUTE, times: 2, reason: 'slow' };
  expect(await at(5, false)).toEqual(twice);
  expect(await at(6, true)).toEqual(twice);
  expect(await at(10, false)).toEqual({ ...twice, times: 3 });
  expect(await at(11, true)).toEqual({ ...twice, times: 3 });
  expect(await at(16, true)).toBeUndefined();
  expect(await at(17, false)).toBeUndefined();
});
