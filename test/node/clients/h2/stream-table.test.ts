import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { StreamTable } from '../../../../src/node/clients/http2/connection.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';

test('a stream is found by its number until it is removed', () => {
  const table = new StreamTable<string>();
  expect([table.size, table.get(1), [...table]]).toEqual([0, undefined, []]);
  table.add(1, 'one');
  table.add(3, 'three');
  table.add(7, 'seven');
  expect([table.get(1), table.get(3), table.get(5), table.get(7)]).toEqual([
    'one',
    'three',
    undefined,
    'seven',
  ]);
  table.remove(3);
  table.remove(5);
  expect([table.size, table.get(3), [...table]]).toEqual([2, undefined, ['one', 'seven']]);
});

test('it has what a map has, in the same order', fuzzTime(), () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(12)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (list) => {
      const table = new StreamTable<object>();
      const map = new Map<number, object>();
      for (const [isAdded, id] of list) {
        if (!isAdded) {
          table.remove(id);
          map.delete(id);
        } else if (!map.has(id)) {
          const stream = {};
          table.add(id, stream);
          map.set(id, stream);
        }
        expect(table.size).toBe(map.size);
        expect(table.get(id)).toBe(map.get(id));
        expect([...table]).toEqual([...map.values()]);
      }
    }),
    { numRuns: fuzzRuns(500) },
  );
});
