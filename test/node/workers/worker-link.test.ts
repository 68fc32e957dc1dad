import { expect, test } from 'vitest';
import { MemoryStore } from '../../../src/rollout/store.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import type { CapturedExchange } from '../../../src/rewrite-log/observer.ts';
import { EntryReader, type FromWorker } from '../../../src/node/workers/worker-messages.ts';
import { WorkerLink } from '../../../src/node/workers/worker-link.ts';
import { sampleEntry } from '../../support/sample-entries.ts';

/** A link whose messages are only with the first process when `take` is called. */
function slowLink() {
  const waiting: (() => void)[] = [];
  const reports: Extract<FromWorker, { kind: 'seen' }>[] = [];
  const link = new WorkerLink({
    send: (message, done) => {
      if (message.kind === 'seen') reports.push(structuredClone(message));
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
  const arrived = (): readonly Entry[] => {
    const reader = new EntryReader();
    return reports.flatMap((report) => reader.read(report));
  };
  return { link, reports, arrived, take };
}

test('entries wait for a slow first process, up to a limit; entries beyond it are counted', async () => {
  const { link, arrived, take } = slowLink();
  const entry: Entry = { ...sampleEntry(1, 0), path: `/${'x'.repeat(4000)}` };
  for (let count = 0; count < 4000; count += 1) {
    link.record(entry);
    link.observe(entry);
  }
  expect(link.dropped).toBeGreaterThan(1500);
  expect(link.dropped).toBeLessThan(2500);
  const { dropped } = link;
  take();
  link.record(sampleEntry(2, 0));
  const flushed = link.flush(1000);
  take();
  await flushed;
  expect(link.dropped).toBe(dropped);
  expect(arrived()).toHaveLength(4000 - dropped + 1);
  expect(arrived().at(-1)).toEqual(sampleEntry(2, 0));
});

test('an entry is sent once for log and observer, with its content where it was captured', async () => {
  const { link, reports, arrived, take } = slowLink();
  const captured: CapturedExchange = { v1Request: { method: 'GET', target: '/', headers: [] } };
  const [refused, seen, plain] = [0, 1, 2].map((n) => sampleEntry(n, n));
  if (refused === undefined || seen === undefined || plain === undefined) throw new Error('no entries');
  link.record(refused);
  link.record(seen);
  link.observe(seen, captured);
  link.record(plain);
  link.observe(plain);
  const flushed = link.flush(1000);
  take();
  await flushed;
  expect(arrived()).toEqual([refused, seen, plain]);
  expect(reports.map((report) => [report.unobserved, [...report.captured]])).toEqual([
    [[0], [[1, captured]]],
  ]);
});
