import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Slots } from '../../src/gateway/limits.ts';

test('holds what was added and not removed, in no more slots than were in use at once', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { nil: undefined })), (steps) => {
      const slots = new Slots<number>();
      const held = new Map<number, number>();
      let most = 0;
      for (const [item, step] of steps.entries()) {
        const [, ...taken] = [undefined, ...held.keys()];
        const slot = step === undefined ? undefined : taken[step % Math.max(1, taken.length)];
        if (slot === undefined) held.set(slots.add(item), item);
        else {
          slots.remove(slot);
          held.delete(slot);
        }
        most = Math.max(most, held.size);
      }
      expect([...slots].toSorted((a, b) => a - b)).toEqual([...held.values()].toSorted((a, b) => a - b));
      expect(slots.size).toBe(held.size);
      expect(Math.max(-1, ...held.keys())).toBeLessThan(most);
    }),
  );
});
