import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { PartBuffer } from '../../../src/node/clients/part-buffer.ts';

test('added parts come out in order, and take at most twice their bytes', () => {
  const parts = fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(parts, fc.nat(100_000), (all, expected) => {
      const buffer = new PartBuffer(expected);
      let held = 0;
      for (const part of all) held += buffer.add(part);
      const whole = Buffer.concat(all);
      expect(buffer.length).toBe(whole.length);
      expect(held).toBeGreaterThanOrEqual(whole.length);
      expect(held).toBeLessThanOrEqual(Math.max(1024, 2 * whole.length));
      expect(Buffer.from(buffer.take()).equals(whole)).toBe(true);
      expect(buffer.length).toBe(0);
    }),
  );
});

test('a part that is alone is not copied, unless it would keep a larger buffer', () => {
  const part = new Uint8Array(5000);
  const buffer = new PartBuffer();
  buffer.add(part);
  expect(buffer.take()).toEqual(part);
  buffer.add(new Uint8Array(100_000).subarray(0, 3000));
  expect(buffer.take().buffer.byteLength).toBeLessThan(10_000);
});

test('with a known length, exactly that is taken in the end', () => {
  const buffer = new PartBuffer(1_000_000);
  let held = buffer.add(new Uint8Array(600_000));
  held += buffer.add(new Uint8Array(400_000));
  expect(held).toBe(1_000_000);
});
