import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteCollector, concatBytes, newMemory } from '../../src/http/byte-collector.ts';

const parts = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 20 });

describe('parts that are collected', () => {
  test('are the concatenation of the chunks, for any announced length', () => {
    fc.assert(
      fc.property(parts, fc.nat(10_000), (list, expected) => {
        const collector = new ByteCollector(expected);
        for (const part of list) collector.add(part.slice());
        const whole = concatBytes(list);
        expect(collector.length).toBe(whole.length);
        expect(Buffer.compare(collector.take(), whole)).toBe(0);
        expect([collector.length, collector.take().length]).toEqual([0, 0]);
      }),
    );
  });

  test('are counted by the memory they take: at least their bytes, and at most twice as many', () => {
    fc.assert(
      fc.property(parts, (list) => {
        const collector = new ByteCollector();
        const held = list.reduce((sum, part) => sum + collector.add(part.slice()), 0);
        expect(held).toBeGreaterThanOrEqual(collector.length);
        expect(held).toBeLessThanOrEqual(Math.max(2 * collector.length, 1024));
      }),
    );
  });

  test('are counted once if outgrown memory has no length any more', () => {
    const collector = new ByteCollector(0, {
      ...newMemory,
      release: ({ length, buffer }) =>
        void (length > 0 && buffer instanceof ArrayBuffer && buffer.transfer(0)),
    });
    let held = 0;
    for (let count = 0; count < 100; count += 1) held += collector.add(new Uint8Array(1000), true);
    expect(held).toBe(collector.buffer.length);
  });

  test('do not change when the buffer that they came in is used again', () => {
    const collector = new ByteCollector();
    const buffer = Buffer.alloc(65_536, 'a');
    collector.add(buffer.subarray(0, 10));
    buffer.fill('b');
    collector.add(buffer.subarray(10, 20));
    expect(Buffer.from(collector.take()).toString()).toBe('aaaaaaaaaabbbbbbbbbb');
  });

  test('are not copied if there is only one, unless it would keep a larger buffer', () => {
    const part = new Uint8Array(5000);
    const collector = new ByteCollector();
    collector.add(part);
    expect(collector.take().buffer).toBe(part.buffer);
    collector.add(new Uint8Array(100_000).subarray(0, 3000));
    expect(collector.take().buffer.byteLength).toBeLessThan(10_000);
  });

  // Attack: a body sent byte by byte is kept as an object of 400 bytes for each.
  test('take no more memory if they are small', () => {
    const source = Buffer.alloc(65_536, 'x');
    const collector = new ByteCollector();
    const before = process.memoryUsage();
    for (let count = 0; count < 2_000_000; count += 1)
      collector.add(source.subarray(count % 60_000, (count % 60_000) + 1));
    const after = process.memoryUsage();
    expect(collector.length).toBe(2_000_000);
    expect(after.heapUsed - before.heapUsed + after.arrayBuffers - before.arrayBuffers).toBeLessThan(
      100_000_000,
    );
  });

  test('take exactly the announced bytes when as many arrive', () => {
    const collector = new ByteCollector(5000);
    const source = Buffer.alloc(65_536, 'x');
    let held = 0;
    for (let count = 0; count < 5000; count += 1) held += collector.add(source.subarray(count, count + 1));
    expect(held).toBe(5000);
    const large = new ByteCollector(1_000_000);
    expect(large.add(new Uint8Array(600_000)) + large.add(new Uint8Array(400_000))).toBe(1_000_000);
  });
});
