import { expect, test } from 'vitest';
import { createClientHash as createEdgeHash } from '../../src/edge/gateway.ts';
import { OperatorView } from '../../src/inspector/operator-view.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { maskHeaders } from '../../src/rewrite-log/masks.ts';
import { apiKeyOf, rememberedHash, closeEntry, openEntry } from '../../src/rewrite-log/observer.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { heldBeyond } from '../support/held-heap.ts';

test.each([
  ['Bearer key', 'key'],
  ['bearer   key ', 'key'],
  ['Basic a2V5', 'Basic a2V5'],
  ['Bearer', 'Bearer'],
  ['', ''],
])('the API key of %j is %j', (authorization, key) => {
  expect(apiKeyOf(authorization)).toBe(key);
});

test('Node and the edge give a client the same name', async () => {
  const name = createClientHash('secret')('Bearer kéy');
  expect(name).toMatch(/^[0-9a-f]{16}$/);
  expect(await createEdgeHash('secret')('bearer kéy')).toBe(name);
});

test('a key in use is hashed once while ever new ones pass', () => {
  const hashed = new Map<string, number>();
  const nameOf = rememberedHash((key) => {
    hashed.set(key, (hashed.get(key) ?? 0) + 1);
    return key;
  });
  for (let number = 0; number < 50_000; number += 1) {
    nameOf(`Bearer new-${number}`);
    if (number % 100 === 0) expect(nameOf('Bearer regular')).toBe('regular');
  }
  expect(hashed.get('regular')).toBe(1);
});

test('a hash that failed is made again for the next request', async () => {
  let calls = 0;
  const nameOf = rememberedHash((key) => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error('no key')) : Promise.resolve(key);
  });
  await expect(nameOf('Bearer a')).rejects.toThrow('no key');
  expect(await nameOf('Bearer a')).toBe('a');
  // One that is known is waited for no more.
  expect(nameOf('Bearer a')).toBe('a');
  expect(calls).toBe(2);
});

// Attack: requests with ever new keys, each in a head of 12 KiB, make the cache of their hashes fill the memory.
test('the cache of hashes does not retain the heads that keys were cut from', () => {
  expect(
    heldBeyond(
      () => {
        const nameOf = rememberedHash((key) => key.length);
        for (let number = 0; number < 5000; number += 1) {
          const head = `Authorization: Bearer key-number-${number}\r\nX: ${'x'.repeat(12_000)}`;
          nameOf(Buffer.from(head, 'latin1').toString('latin1').slice(15, 40));
        }
        return nameOf;
      },
      { most: 10e6 },
    ),
  ).toBeUndefined();
});

// Attack: the keys themselves are 12 KiB each.
test('the cache of hashes is bounded by its characters', () => {
  expect(
    heldBeyond(
      () => {
        const nameOf = rememberedHash((key) => key.length);
        for (let number = 0; number < 2000; number += 1) nameOf(`Bearer ${number} ${'k'.repeat(12_000)}`);
        return nameOf;
      },
      { most: 10e6 },
    ),
  ).toBeUndefined();
});

const COUNT = 1000;
const HEAD_BYTES = 12_000;

/** A number in letters: a segment with digits has no separate name in the report. */
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
test('without copies, entries would keep heads alive', () => {
  expect(
    heldBeyond(() => Array.from({ length: COUNT }, (_, k) => entryOf(k)), {
      least: (COUNT * HEAD_BYTES) / 2,
    }),
  ).toBeUndefined();
});

test('entries in the operator view keep no head of a request alive', () => {
  const options = { mode: 'off', maxEntries: 0, maxBytes: 0, bodyLimit: 0, structurePerSecond: 0 } as const;
  const work = (): OperatorView => {
    const view = new OperatorView({
      entries: COUNT,
      capture: { ...options, masks: [], now: () => 0 },
      time: () => 0,
    });
    for (let k = 0; k < COUNT; k += 1) view.observe(entryOf(k));
    return view;
  };
  // An entry itself is a quarter of it; a head that is kept would be all of it.
  expect(heldBeyond(work, { most: (COUNT * HEAD_BYTES) / 3 })).toBeUndefined();
});

test('a request counts in the minute in which it began, as in Traffic and in the log', () => {
  const options = { mode: 'off', maxEntries: 0, maxBytes: 0, bodyLimit: 0, structurePerSecond: 0 } as const;
  const began = Date.parse('2026-11-30T12:04:59.900Z');
  const view = new OperatorView({
    entries: COUNT,
    capture: { ...options, masks: [], now: () => 0 },
    time: () => began + 200,
  });
  view.observe({ ...sampleEntry(1, began), route: 'migrate', verdict: 'rewritten', totalMs: 200 });
  const busy = view.series
    .points('minute', began + 60_000, began)
    .filter(({ ofV1 }) => ofV1 > 0)
    .map(({ time }) => time);
  expect(busy).toEqual(['2026-11-30T12:04:00.000Z']);
});

test('the agent of a client is known, also of one outside the addresses of the rule book, but not that of a key in an unread request', () => {
  const options = { mode: 'off', maxEntries: 0, maxBytes: 0, bodyLimit: 0, structurePerSecond: 0 } as const;
  const view = new OperatorView({
    entries: COUNT,
    capture: { ...options, masks: [], now: () => 0 },
    time: () => 0,
  });
  const captured = { v1Request: { method: 'GET', target: '/clients', headers: [], body: undefined } };
  view.observe({ ...sampleEntry(1, 0), client: 'operator', route: 'none' }, captured);
  view.observe({ ...sampleEntry(2, 0), client: 'client', route: 'pass' }, captured);
  const outside = { verdict: 'refused', failure: 'not-found', status: 404, path: '/v1/films' } as const;
  view.observe({ ...sampleEntry(3, 0), ...outside, client: 'outside', route: 'none' }, captured);
  expect([...view.traces.all.keys()]).toEqual(['client', 'outside']);
});

test('captured headers keep no head of a request alive', () => {
  const work = (): unknown =>
    Array.from({ length: COUNT }, (_, k) => {
      const text = head(k);
      return maskHeaders([text.slice(0, 20), text.slice(20, 60)], true);
    });
  expect(heldBeyond(work, { most: (COUNT * HEAD_BYTES) / 4 })).toBeUndefined();
});

const FIRST = {
  route: 'migrate',
  method: 'POST',
  requestId: 'r',
  verdict: 'unchanged',
  ruleBook: 'h',
} as const;
const LAST = { time: 0, target: '/api/v1/x', upstreamTarget: undefined, attempts: 1 } as const;

test.each([
  [200, undefined, 'info'],
  [503, undefined, 'info'],
  [422, 'wrapper-not-object', 'warn'],
  [0, 'client-timeout', 'warn'],
  [500, 'internal', 'error'],
  [502, 'upstream-unreachable', 'error'],
  [200, 'upstream-broken', 'error'],
])('the level of an exchange with the status %d and the failure %s: %s', (status, failure, level) => {
  const entry = Object.assign(openEntry(FIRST), { status, failure });
  expect(closeEntry(entry, LAST).level).toBe(level);
});
