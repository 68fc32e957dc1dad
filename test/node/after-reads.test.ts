import { expect, test } from 'vitest';
import { afterReads, throwLater } from '../../src/node/clients/fair-turns.ts';

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

/** The errors that nobody caught while `run` runs. */
async function uncaught(run: () => Promise<void>): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const note = (error: unknown): void => void errors.push(error);
  process.on('uncaughtException', note);
  await run();
  process.off('uncaughtException', note);
  for (const listener of listeners) process.on('uncaughtException', listener);
  return errors;
}

test('functions run in their order, those that are added meanwhile in the same turn', async () => {
  const done: string[] = [];
  afterReads(() => {
    done.push('first');
    afterReads(() => void done.push('added'));
  });
  afterReads(() => void done.push('second'));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['first', 'second', 'added']);
  afterReads(() => void done.push('next'));
  await turn();
  expect(done.at(-1)).toBe('next');
});

test('an error of one keeps no other from running, and is thrown later', async () => {
  const done: string[] = [];
  const error = new Error('a bug');
  const errors = await uncaught(async () => {
    afterReads(() => {
      throw error;
    });
    afterReads(() => void done.push('second'));
    await turn();
    expect(done).toEqual(['second']);
    throwLater(error);
    await turn();
    await turn();
  });
  expect(errors).toEqual([error, error]);
});
