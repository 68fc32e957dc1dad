import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createClientHash as createEdgeHash } from '../../src/edge/gateway.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import { apiKeyOf, rememberedHash } from '../../src/rewrite-log/observer.ts';

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
  expect(await nameOf('Bearer a')).toBe('a');
  expect(calls).toBe(2);
});

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Bytes of heap that are held after `work`. */
function heldBy(work: () => unknown): number {
  collect();
  const before = process.memoryUsage().heapUsed;
  const kept = work();
  collect();
  const held = process.memoryUsage().heapUsed - before;
  expect(kept).toBeDefined();
  return held;
}

// Attack: requests with ever new keys, each in a head of 12 KiB, make the cache of their hashes fill the memory.
test('the cache does not retain the heads that keys were cut from', () => {
  const held = heldBy(() => {
    const nameOf = rememberedHash((key) => key.length);
    for (let number = 0; number < 20_000; number += 1) {
      const head = `Authorization: Bearer key-number-${number}\r\nX: ${'x'.repeat(12_000)}`;
      nameOf(Buffer.from(head, 'latin1').toString('latin1').slice(15, 40));
    }
    return nameOf;
  });
  expect(held).toBeLessThan(10e6);
});

// Attack: the keys themselves are 12 KiB each.
test('the cache is bounded by its characters', () => {
  const held = heldBy(() => {
    const nameOf = rememberedHash((key) => key.length);
    for (let number = 0; number < 2000; number += 1) nameOf(`Bearer ${number} ${'k'.repeat(12_000)}`);
    return nameOf;
  });
  expect(held).toBeLessThan(10e6);
});
