import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  carryOutStoreCall,
  type EntryBatch,
  EntryReader,
  EntryWriter,
  mergedRollout,
  StoreLink,
  type WorkerRollout,
  type FromWorker,
  WorkerLink,
} from '../../../src/node/workers/worker-messages.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { MemoryState, type SharedState } from '../../../src/rollout/shared-state.ts';
import { stateContract } from '../../rollout/state-contract.ts';
import { arbitraryEntry } from '../../support/arbitrary-entry.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import type { CapturedExchange } from '../../../src/rewrite-log/observer.ts';

/** Writes batches and reads them on the other side of a channel between processes. */
function channel() {
  const [writer, reader] = [new EntryWriter(), new EntryReader()];
  const batches: EntryBatch[] = [];
  const pass = (entries: readonly Entry[]): readonly Entry[] => {
    for (const entry of entries) writer.add(entry);
    const batch = structuredClone(writer.take());
    batches.push(batch);
    return reader.read(batch);
  };
  return { pass, batches };
}

test('entries with any members arrive unchanged', fuzzTime(), () => {
  const batches = fc.array(fc.array(arbitraryEntry, { maxLength: 8 }), { maxLength: 5 });
  fc.assert(
    fc.property(batches, (list) => {
      const { pass } = channel();
      for (const entries of list) expect(pass(entries)).toEqual(entries);
    }),
    { numRuns: fuzzRuns(100) },
  );
});

test('a list that entries share is sent once and stays shared, so that anything derived from it is derived once', () => {
  const { pass, batches } = channel();
  const { edits } = sampleEntry(1, 0);
  const shared = [0, 1].map((n): Entry => ({
    ...sampleEntry(n, 0),
    edits,
    attributes: undefined,
    responseEdits: undefined,
    responsePatch: undefined,
    patch: undefined,
  }));
  const [first, second] = pass(shared);
  const [third] = pass(shared);
  expect(first?.edits).toEqual(edits);
  expect(second?.edits).toBe(first?.edits);
  expect(third?.edits).toBe(first?.edits);
  expect(batches.map(({ lists }) => lists.length)).toEqual([1, 0]);
});

test('lists of ever new shapes are forgotten, on both sides', () => {
  const { pass, batches } = channel();
  for (let batch = 0; batch < 60; batch += 1) {
    const attributes = Array.from({ length: 1000 }, (_, n) => `/data/${batch}/${n}`);
    const entry: Entry = { ...sampleEntry(batch, 0), attributes };
    expect(pass([entry, entry])).toEqual([entry, entry]);
  }
  expect(batches.filter(({ from }) => from === 0)).toHaveLength(3);
});

const worker: WorkerRollout = {
  requests: { v1: 3, v2: 4 },
  shadows: [
    {
      operation: 'create_client',
      same: 1,
      different: 2,
      unknown: 0,
      fields: [{ path: '/data/name', kind: 'value', count: 2 }],
    },
  ],
};

test('the counts of workers are added up', () => {
  const own = {
    requests: { v1: 0, v2: 0 },
    comparisons: { list: [] },
    bodyChecks: { isOn: true, tally: { list: () => [] }, warnings: () => [] },
  };
  const other: WorkerRollout = {
    ...worker,
    shadows: [...worker.shadows, { same: 5, different: 0, unknown: 1, fields: [] }],
  };
  const merged = mergedRollout(own, () => [worker, other]);
  expect(merged.requests).toEqual({ v1: 6, v2: 8 });
  expect(merged.comparisons.list).toEqual([
    {
      operation: 'create_client',
      same: 2,
      different: 4,
      unknown: 0,
      fields: [{ path: '/data/name', kind: 'value', count: 4 }],
    },
    { same: 5, different: 0, unknown: 1, fields: [] },
  ]);
});

/** A worker's link to a store of the first process; messages are copied, as a channel does. */
function linkTo(store: SharedState): StoreLink {
  const link: StoreLink = new StoreLink((id, call) => {
    void carryOutStoreCall(store, structuredClone(call)).then((outcome) =>
      link.settle(id, structuredClone(outcome)),
    );
  });
  store.subscribe('state', () => link.changed('state'));
  return link;
}

stateContract(async () => {
  let time = 1_800_000_000_000;
  const store = new MemoryState(() => time);
  return {
    open: async () => linkTo(store),
    pass: async (milliseconds) => {
      time += milliseconds;
    },
    close: () => store.close(),
  };
});

test('a worker learns why the store of the first process is out of reach', async () => {
  const link = linkTo({
    read: () => Promise.reject(new Error('connect ECONNREFUSED')),
    compareAndSet: () => Promise.reject(new Error('x')),
    exchange: () => Promise.reject(new Error('x')),
    subscribe: () => () => {},
    close: () => Promise.resolve(),
  });
  await expect(link.read('state')).rejects.toThrow('connect ECONNREFUSED');
});

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
    store: new MemoryState(Date.now),
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
