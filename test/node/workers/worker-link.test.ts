import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/rollout/memory-store.ts';
import { WorkerLink } from '../../../src/node/workers/worker-link.ts';

/** A link whose messages are only with the first process when `take` is called. */
function slowLink() {
  const waiting: (() => void)[] = [];
  const lines: string[] = [];
  const link = new WorkerLink({
    send: (message, done) => {
      if (message.kind === 'seen') lines.push(...message.lines);
      waiting.push(done);
    },
    wanted: () => 'nothing',
    bodyLimit: 0,
    ownReport: () => Promise.resolve({ kind: 'busy' }),
    store: new MemoryStore(Date.now),
  });
  const take = (): void => {
    for (const done of waiting.splice(0)) done();
  };
  return { link, lines, take };
}

test('lines wait for a slow first process, up to a limit; lines beyond it are counted', async () => {
  const { link, lines, take } = slowLink();
  const line = `${'x'.repeat(1023)}\n`;
  for (let count = 0; count < 12_000; count += 1) link.write(line);
  expect(link.dropped).toBeGreaterThan(3000);
  expect(link.dropped).toBeLessThan(4000);
  const { dropped } = link;
  take();
  link.write('again\n');
  const flushed = link.flush(1000);
  take();
  await flushed;
  expect(link.dropped).toBe(dropped);
  expect(lines).toHaveLength(12_000 - dropped + 1);
  expect(lines.at(-1)).toBe('again\n');
});
