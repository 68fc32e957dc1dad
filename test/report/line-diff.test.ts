import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { lineDiff, unifiedDiff } from '../../src/report/line-diff.ts';
import { fuzzRuns } from '../support/fuzz.ts';

/** Applies a patch as POSIX `patch` does, strictly: every context line and every number must be right. */
function applied(before: string, patch: string): string {
  const lines = before.split(/(?<=\n)/);
  const out: string[] = [];
  let at = 0;
  for (const [, head = '', body = ''] of patch.matchAll(/^(@@ .*? @@)\n((?:[ +\-\\].*\n)*)/gm)) {
    const [, start = '', length = '', newStart = '', newLength = ''] =
      /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@$/.exec(head) ?? [];
    const from = Number(start) - (length === '0' ? 0 : 1);
    out.push(...lines.slice(at, from));
    at = from;
    expect(out.length).toBe(Number(newStart) - (newLength === '0' ? 0 : 1));
    let [old, now] = [0, 0];
    for (const [, sign, text = '', unended] of body.matchAll(/^([ +-])(.*)\n(\\.*\n)?/gm)) {
      const line = unended === undefined ? `${text}\n` : text;
      if (sign !== '+') expect(lines[at]).toBe(line);
      if (sign !== '+') at += 1;
      if (sign !== '+') old += 1;
      if (sign !== '-') now += 1;
      if (sign !== '-') out.push(line);
    }
    expect([old, now]).toEqual([Number(length), Number(newLength)]);
  }
  return [...out, ...lines.slice(at)].join('');
}

const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', '', ' c', '-d', '+', '@@')), fc.boolean())
  .map(([lines, isEnded]) => lines.join('\n') + (isEnded && lines.length > 0 ? '\n' : ''));

test('a patch leads from one text to another, for any texts', () => {
  fc.assert(
    fc.property(text, text, (before, after) => {
      const patch = unifiedDiff('rules.yaml', before, after);
      expect(patch === '').toBe(before === after);
      expect(applied(before, patch)).toBe(after);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

describe('a line diff', () => {
  test('gives both texts again', () => {
    const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd,'), { maxLength: 12 });
    fc.assert(
      fc.property(lines, lines, (old, now) => {
        const diff = lineDiff(old.join('\n'), now.join('\n'));
        const bare = (text: string): string => text.replace(/,$/, '');
        expect(
          diff
            .filter(({ sign }) => sign !== '+')
            .map(({ text }) => bare(text))
            .join('\n'),
        ).toBe(old.map(bare).join('\n'));
        expect(
          diff
            .filter(({ sign }) => sign !== '-')
            .map(({ text }) => text)
            .join('\n'),
        ).toBe(now.join('\n'));
      }),
    );
  });
});
