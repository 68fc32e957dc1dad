import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isReleaseDate } from '../../src/rules/rule-book.ts';
import { ALL_BOOKS } from '../../src/rules/kinds/books.ts';
import { ruleBookForm, wordsOf } from '../../src/rules/rule-book-source.ts';
import { REQUEST_RULE_NAMES, RESPONSE_RULE_NAMES } from '../../src/rules/kinds/words.ts';
import { changesValue } from '../../src/rules/kinds/kinds.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';
import { VALUE_CHECKS } from '../../src/rules/value-checks.ts';

/** The same, as JavaScript's calendar has it. */
function existsInCalendar(text: string, first: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null || text < first) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function dateText(year: number, month: number, day: number): string {
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}`;
}

test('exactly the days of the calendar are release dates, over more than four hundred years', () => {
  const wrong: string[] = [];
  for (let year = 1990; year <= 2430; year += 1)
    for (let month = 0; month <= 13; month += 1)
      for (let day = 0; day <= 32; day += 1) {
        const text = dateText(year, month, day);
        if (isReleaseDate(text) !== existsInCalendar(text, '2025-01-01')) wrong.push(text);
        if (isReleaseDate(text, 'x-rev') !== existsInCalendar(text, '0001-01-01')) wrong.push(text);
      }
  expect(wrong).toEqual([]);
});

test('texts that are almost a date are release dates only where the calendar has them', () => {
  const part = (max: number): fc.Arbitrary<number> => fc.integer({ min: 0, max });
  const dates = fc.tuple(part(9999), part(14), part(33)).map(([...parts]) => dateText(...parts));
  const other = fc.oneof(
    fc.constantFrom('', '-', ' ', '\n', '+', '.', 'e', '٣', '/', ':', '0', '9', '\0'),
    fc.string(),
  );
  // A date with up to two characters replaced by other text.
  const nearly = fc.tuple(dates, part(10), part(2), other).map(([date, at, length, text]) => {
    return date.slice(0, at) + text + date.slice(at + length);
  });
  fc.assert(
    fc.property(fc.oneof(dates, nearly, fc.string()), (text) => {
      expect(isReleaseDate(text)).toBe(existsInCalendar(text, '2025-01-01'));
      expect(isReleaseDate(text, 'x-rev')).toBe(existsInCalendar(text, '0001-01-01'));
    }),
    { numRuns: fuzzRuns(20_000) },
  );
});

test('exactly the rules of the schema can be written', () => {
  const { request, response } = wordsOf(ruleBookForm(ALL_BOOKS, VALUE_CHECKS).forms);
  expect(request.toSorted()).toEqual(REQUEST_RULE_NAMES.toSorted());
  expect(response.toSorted()).toEqual([...RESPONSE_RULE_NAMES, 'headers', 'inverse'].toSorted());
});

test('the rules that give a member another value are those that do not only move, rename or remove it', () => {
  const names = new Set([...REQUEST_RULE_NAMES, ...RESPONSE_RULE_NAMES]);
  expect([...names].filter((name) => !changesValue(name)).sort()).toEqual(
    words`alias copy deprecations errors flatten lookup move nest only rename strip unnest unwrap wrap`,
  );
});
