import v8 from 'node:v8';
import vm from 'node:vm';
import { expect, test } from 'vitest';
import { exchangeEntry, type EntryFacts } from '../../src/rewrite-log/exchange-entry.ts';
import { maskHeaders } from '../../src/rewrite-log/mask-headers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';

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

/** The head of request number `k` as a reader has it: one text, of which everything else is a part. */
function head(k: number): string {
  return Buffer.from(
    `POST /api/v1/orders/floor_plans/${k}?a=1 Bearer secret-key-of-client-${k} `.padEnd(HEAD_BYTES, 'x'),
  ).toString('latin1');
}

const facts = (target: string, requestId: string): EntryFacts => ({
  route: 'migrate',
  method: 'POST',
  target,
  requestId,
  upstreamTarget: target.slice(0, 20),
  ruleBook: '0123456789abcdef',
  verdict: 'unchanged',
  edits: [],
  bytesOut: 0,
  responseBytes: 0,
  attempts: 1,
});

// Attack: heads of 12 KiB, so that the some hundred bytes kept of each request retain all of them: 120 MiB for 10,000.
test('entries keep no head of a request alive', () => {
  const bytes = held(() => {
    const entries: Entry[] = [];
    for (let k = 0; k < COUNT; k += 1) {
      const text = head(k);
      const from = text.indexOf('/api');
      entries.push(exchangeEntry(facts(text.slice(from, from + 40), text.slice(5, 40)), undefined));
    }
    return entries;
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
