import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BodyMemory } from '../../../../src/node/body-memory.ts';
import { WaitingParts } from '../../../../src/node/clients/http2/stream.ts';
import { fuzzRuns } from '../../../support/fuzz.ts';

test('in any sequence of adding and taking, bytes stay in order, and memory is given back', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(30_000), fc.integer({ min: 1, max: 20_000 }), fc.nat(20_000)), {
        maxLength: 20,
      }),
      (steps) => {
        const given: Uint8Array[] = [];
        const memory = new BodyMemory();
        const give = memory.release.bind(memory);
        memory.release = (buffer) => {
          given.push(buffer);
          give(buffer);
        };
        const parts = new WaitingParts(memory);
        const added: number[] = [];
        const taken: number[] = [];
        let filled = 0;
        for (const [length, limit, most] of steps) {
          const bytes = Uint8Array.from({ length }, () => (filled += 1) % 251);
          if (length > 0) parts.add(bytes);
          added.push(...bytes);
          // The caller may change its own bytes afterwards.
          bytes.fill(0);
          const next = parts.next(limit);
          expect(next.length).toBeLessThanOrEqual(limit);
          const count = Math.min(most, next.length);
          taken.push(...next.subarray(0, count));
          parts.consume(count);
          expect(parts.bytes).toBe(added.length - taken.length);
        }
        expect(taken).toEqual(added.slice(0, taken.length));
        parts.clear();
        expect([parts.bytes, parts.next(10).length]).toEqual([0, 0]);
        expect(given).toHaveLength(steps.filter(([length]) => length > 0).length);
      },
    ),
    { numRuns: fuzzRuns(50) },
  );
});
