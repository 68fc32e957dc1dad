import { expect, test } from 'vitest';
import { flushOnCheckPhase } from '../../../src/node/clients/http1/exchange.ts';

test('heads are flushed once in the turn, in their order', async () => {
  const flushed: string[] = [];
  flushOnCheckPhase({ flushHeld: () => void flushed.push('first') });
  flushOnCheckPhase({ flushHeld: () => void flushed.push('second') });
  expect(flushed).toEqual([]);
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  expect(flushed).toEqual(['first', 'second']);
});
