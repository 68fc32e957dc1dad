import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, test } from 'vitest';
import { OperatorView } from '../../src/inspector/operator-view.ts';
import { maskHeaders } from '../../src/rewrite-log/masks.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { closeEntry, openEntry } from '../../src/rewrite-log/open-entry.ts';
import { ownEntry } from '../../src/rewrite-log/observer.ts';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void;

/** Bytes of heap that `keep` holds on to. */
function held(keep: () => unknown): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = keep();
  collect();
  const bytes = process.memoryUsage().heapUsed - before;
  // It lives until here.
  expect(kept).toBeDefined();
  return bytes;
}

const COUNT = 2000;
const HEAD_BYTES = 12_000;

/** A number in letters: a segment with digits has no name of its own in the report. */
function letters(k: number): string {
  return String(k).replaceAll(/\d/g, (digit) => 'abcdefghij'.charAt(Number(digit)));
}

/** The head of request number `k` as a reader has it: one text, of which everything else is a part. */
function head(k: number): string {
  return Buffer.from(
    `POST /api/v1/a-call-without-an-operation-${letters(k)} Bearer secret-key-of-client-${k} `.padEnd(
      HEAD_BYTES,
      'x',
    ),
  ).toString('latin1');
}

/** The entry of request number `k`, whose texts are parts of its head. */
function entryOf(k: number): Entry {
  const text = head(k);
  const from = text.indexOf('/api');
  const target = text.slice(from, from + 60);
  const entry = openEntry({
    route: 'migrate',
    method: 'POST',
    requestId: text.slice(5, 40),
    ruleBook: '0123456789abcdef',
    verdict: 'unchanged',
  });
  entry.traceId = text.slice(20, 52);
  entry.isSampled = true;
  entry.client = `client ${k}`;
  const upstreamTarget = target.slice(0, 20);
  return closeEntry(entry, { time: k, target, upstreamTarget, attempts: 1 });
}

// Attack: heads of 12 KiB, so that the some hundred bytes kept of each request retain all of them: 120 MiB for 10,000.
test('kept entries keep no head of a request alive', () => {
  const bytes = held(() => Array.from({ length: COUNT }, (_, k) => ownEntry(entryOf(k))));
  expect(bytes).toBeLessThan((COUNT * HEAD_BYTES) / 4);
});

test('other entries do', () => {
  const bytes = held(() => Array.from({ length: COUNT }, (_, k) => entryOf(k)));
  expect(bytes).toBeGreaterThan((COUNT * HEAD_BYTES) / 2);
});

test('neither does what the operator view keeps of them', () => {
  const options = { mode: 'off', maxEntries: 0, maxBytes: 0, bodyLimit: 0, structurePerSecond: 0 } as const;
  const bytes = held(() => {
    const view = new OperatorView({
      entries: COUNT,
      capture: { ...options, masks: [], now: () => 0 },
      time: () => 0,
    });
    for (let k = 0; k < COUNT; k += 1) view.observe(entryOf(k));
    return view;
  });
  expect(bytes).toBeLessThan((COUNT * HEAD_BYTES) / 4);
});

test('nor do the headers that are kept', () => {
  const bytes = held(() =>
    Array.from({ length: COUNT }, (_, k) => {
      const text = head(k);
      return maskHeaders([text.slice(0, 20), text.slice(20, 60)], true);
    }),
  );
  expect(bytes).toBeLessThan((COUNT * HEAD_BYTES) / 4);
});
