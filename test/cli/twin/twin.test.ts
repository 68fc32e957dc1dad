import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differingExcerpts, valueExcerpt } from '../../../src/cli/twin.ts';

const LEFT_OUT = /\(… ([\d,]+) characters? …\)/g;

/** The characters that an excerpt shows, and the number that it says are left out. */
function partsOf(excerpt: string): { readonly shown: string; readonly leftOut: number } {
  const shown = excerpt.replaceAll(/^\(…[^)]*…\) | \(…[^)]*…\)$/g, '');
  const counts = Array.from(excerpt.matchAll(LEFT_OUT), ([, text = '']) => Number(text.replaceAll(',', '')));
  return { shown, leftOut: counts.reduce((sum, each) => sum + each, 0) };
}

describe('excerpts of two values', () => {
  test('are the values themselves while they are short', () => {
    expect(differingExcerpts('"slide"', '"fade"')).toEqual(['"slide"', '"fade"']);
    expect(differingExcerpts('', 'x')).toEqual(['(empty)', 'x']);
    const almost = `"${'a'.repeat(80)}"`;
    expect(differingExcerpts(almost, '1')[0]).toBe(almost);
  });

  test('show the first difference in both, and say how much is left out', () => {
    const [one, other] = differingExcerpts(
      `"${'a'.repeat(5000)}Enmore${'b'.repeat(2000)}"`,
      `"${'a'.repeat(5000)}Newtown"`,
    );
    const before = 'a'.repeat(20);
    expect(one).toBe(`(… 4,981 characters …) ${before}Enmore${'b'.repeat(38)} (… 1,963 characters …)`);
    expect(other).toBe(`(… 4,981 characters …) ${before}Newtown"`);
  });

  test('differ wherever the values do, and account for every character', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', '🏠'), maxLength: 400 });
    fc.assert(
      fc.property(text, text, text, (start, one, other) => {
        fc.pre(one !== other);
        const values = [start + one, start + other] as const;
        const excerpts = differingExcerpts(...values);
        expect(excerpts[0]).not.toBe(excerpts[1]);
        for (const [at, value] of values.entries()) {
          if (value === '') continue;
          const { shown, leftOut } = partsOf(excerpts[at] ?? '');
          expect(shown.length + leftOut).toBe(value.length);
          expect(value).toContain(shown);
          // A character of two halves is never cut: a lone half would be escaped.
          expect(shown).not.toContain('\\u');
        }
      }),
    );
  });

  test('are escaped for a terminal', () => {
    expect(differingExcerpts('\u001B[2J', 'a\u202E')).toEqual([String.raw`\u001b[2J`, String.raw`a\u202e`]);
    expect(valueExcerpt(`{"a":"${'x'.repeat(1000)}"}`)).toMatch(/^\{"a":"x+ \(… 944 characters …\)$/);
  });
});
