import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  canarySums,
  currentPart,
  partOf,
  printCounts,
  readCounts,
  WINDOW_PARTS,
  windowSums,
} from '../../src/rollout/canary-texts.ts';

const WINDOW_MS = 1200;
const KEY = 'canary/hash/1/';
const START = 1_800_000_000_000;

/** The text of so many requests that were counted at one time, of a window and its stage. */
function textOf(count: number, now: number): string {
  const at = partOf(now, WINDOW_MS);
  return printCounts({ windowMs: WINDOW_MS, at, parts: new Map([[at, [count]]]), stage: [count] });
}

/** The first sum of the window and of the stage in a text of another process that was set so long ago. */
function sumsOf(text: string | undefined, ageMs: number): readonly [window: number, stage: number] {
  const counts = readCounts(text ?? '');
  if (counts === undefined) throw new Error('nobody can read it');
  return [windowSums(counts, currentPart(counts, ageMs))[0] ?? 0, counts.stage[0] ?? 0];
}

test('a window has the counts within it to within one part, even if the clocks of processes differ; a stage has all counts', () => {
  const step = fc.record({ wait: fc.nat(400), add: fc.nat(9) });
  fc.assert(
    fc.property(
      fc.array(step, { minLength: 1, maxLength: 50 }),
      fc.nat(2000),
      fc.integer({ min: -3_600_000, max: 3_600_000 }),
      (steps, ageMs, skewMs) => {
        let now = START;
        let text: string | undefined;
        const sums = canarySums(() => now + skewMs);
        const added: { readonly at: number; readonly add: number }[] = [];
        for (const { wait, add: count } of steps) {
          now += wait;
          added.push({ at: now, add: count });
          text = sums.add(() => text, new Map([[KEY, textOf(count, now + skewMs)]])).get(KEY);
        }
        const within = (age: number): number =>
          added.filter(({ at }) => at > now + ageMs - age).reduce((sum, one) => sum + one.add, 0);
        const [window, stage] = sumsOf(text, ageMs);
        const partMs = WINDOW_MS / WINDOW_PARTS;
        expect(window).toBeGreaterThanOrEqual(within(WINDOW_MS - partMs));
        expect(window).toBeLessThanOrEqual(within(WINDOW_MS + partMs));
        expect(stage).toBe(added.reduce((sum, one) => sum + one.add, 0));
      },
    ),
  );
});

test.each([0, 3_600_000, -3_600_000])(
  'the counts of an ended process keep their age in its successor, whose clock is %d ms ahead',
  (aheadMs) => {
    let now = START;
    const sums = canarySums(() => now + aheadMs);
    const left = textOf(5, now);
    now += 600;
    const own = textOf(2, now + aheadMs);
    const adopted = sums.adopt(KEY, left, 600, 'ended');
    if (typeof adopted !== 'object') throw new Error('it can be read');
    const sum = sums.add(() => own, new Map([[adopted.key, adopted.text]])).get(KEY);
    expect(sumsOf(sum, 0)).toEqual([7, 7]);
    expect(sumsOf(sum, 700)).toEqual([2, 7]);
    expect(sumsOf(sum, 1400)).toEqual([0, 7]);
  },
);

test('the text that names a process is not adopted after its end', () => {
  expect(canarySums(() => START).adopt('who', '1 1 a/1', 0, 'ended')).toBeUndefined();
});

// Attack: another user of a shared store writes any text.
test.each([
  '',
  'x',
  '1200',
  '0 1\nstage',
  '1200 1.5\nstage',
  '1200 1 2\nstage',
  '1200 1',
  '1200 1\nstage 0',
  '1200 1\nstage -1 1',
  '1200 1\nstage 0 -1',
  '1200 1\nstage 0 1e300',
  '1200 1\nstage 99999999 1',
  '1200 1\nx 0 1\nstage',
  '1200 1\n1 0 x\nstage',
])('the text %j is not read, and adds nothing', (text) => {
  expect(readCounts(text)).toBeUndefined();
  const own = textOf(3, START);
  expect(
    canarySums(() => START)
      .add(() => own, new Map([[KEY, text]]))
      .get(KEY),
  ).toBe(own);
});
