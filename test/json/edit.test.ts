import fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEdits, type Edit } from '../../src/json/edit.ts';
import { bytesOf, textOf } from '../rewrite/notation.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const edit = (start: number, end: number, insert = ''): Edit => ({ start, end, insert: bytesOf(insert) });

test.each([
  ['none', [], '0123456789'],
  ['one', [edit(2, 4, 'ab')], '01ab456789'],
  ['side by side', [edit(2, 4), edit(4, 5, 'x')], '01x56789'],
  ['two of no bytes at one place', [edit(3, 3, 'a'), edit(3, 3, 'b')], '012ab3456789'],
  ['at both ends', [edit(0, 0, 'a'), edit(10, 10, 'b')], 'a0123456789b'],
  ['all', [edit(0, 10)], ''],
])('edits: %s', (_, edits, expected) => {
  expect(textOf(applyEdits(bytesOf('0123456789'), edits))).toBe(expected);
});

test.each([
  ['overlapping', [edit(2, 5), edit(4, 6)]],
  ['one inside another', [edit(2, 8), edit(3, 3, 'x')]],
  ['the same twice', [edit(2, 5, 'a'), edit(2, 5, 'b')]],
  ['out of order', [edit(4, 6), edit(2, 3)]],
  ['backwards', [edit(4, 3)]],
  ['before the start', [edit(-1, 3)]],
  ['behind the end', [edit(8, 11)]],
])('refuses edits: %s', (_, edits) => {
  expect(() => applyEdits(bytesOf('0123456789'), edits)).toThrow(/^An edit /);
});

test('either each byte outside the edits is kept, or there is no result', () => {
  const any = fc.array(
    fc.record({
      start: fc.integer({ min: 0, max: 12 }),
      end: fc.integer({ min: 0, max: 12 }),
      insert: fc.string(),
    }),
    { maxLength: 3 },
  );
  fc.assert(
    fc.property(any, (edits) => {
      const ends = edits.flatMap(({ start, end }) => [start, end]);
      const isSound = ends.every((end, at) => end <= 10 && end >= (ends[at - 1] ?? 0));
      const apply = (): string =>
        textOf(
          applyEdits(
            bytesOf('0123456789'),
            edits.map(({ start, end, insert }) => edit(start, end, insert)),
          ),
        );
      if (!isSound) expect(apply).toThrow(/^An edit /);
      else
        expect(apply()).toBe(
          edits.reduceRight(
            (text, { start, end, insert }) => text.slice(0, start) + insert + text.slice(end),
            '0123456789',
          ),
        );
    }),
    { numRuns: fuzzRuns(2000) },
  );
});
