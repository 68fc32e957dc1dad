import fc from 'fast-check';
import { expect, test } from 'vitest';
import { bestPairs, type ScoredPair } from '../../../src/openapi/draft/best-pairs.ts';

const pair = (from: string, to: string, score: number): ScoredPair => ({ from, to, score });
const total = (pairs: readonly ScoredPair[]): number => pairs.reduce((sum, { score }) => sum + score, 0);

/** The highest score of all ways to pair, each of which is tried. */
function highest(pairs: readonly ScoredPair[]): number {
  const [first, ...rest] = pairs;
  if (first === undefined) return 0;
  const free = rest.filter(({ from, to }) => from !== first.from && to !== first.to);
  return Math.max(highest(rest), first.score + highest(free));
}

test.each([
  { about: 'nothing to pair', pairs: [], best: [] },
  { about: 'one pair', pairs: [pair('a', 'x', 1)], best: ['a x'] },
  { about: 'more of one kind', pairs: [pair('a', 'x', 1), pair('b', 'x', 2)], best: ['b x'] },
  {
    about: 'the highest pair is left where the two others have more together',
    pairs: [pair('a', 'x', 10), pair('a', 'y', 9), pair('b', 'x', 9)],
    best: ['a y', 'b x'],
  },
  {
    about: 'what nothing speaks for is no pair',
    pairs: [pair('a', 'x', 3), pair('b', 'y', 3), pair('c', 'x', 1)],
    best: ['a x', 'b y'],
  },
])('$about', ({ pairs, best }) => {
  expect(bestPairs(pairs).map(({ from, to }) => `${from} ${to}`)).toEqual(best);
});

test('no other way to pair has a higher score', () => {
  const names = fc.constantFrom('1', '2', '3', '4');
  const pairs = fc.uniqueArray(fc.record({ from: names, to: names, score: fc.integer({ min: 1, max: 9 }) }), {
    selector: ({ from, to }) => from + to,
  });
  fc.assert(
    fc.property(pairs, (all) => {
      const best = bestPairs(all);
      expect(total(best)).toBe(highest(all));
      expect(new Set(best.map(({ from }) => from)).size).toBe(best.length);
      expect(new Set(best.map(({ to }) => to)).size).toBe(best.length);
    }),
  );
});
