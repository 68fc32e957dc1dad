import { expect, test } from 'vitest';
import { LogBooks } from '../../src/report/log-books.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { bookIn } from '../rules/reading.ts';

const BOOK = await bookIn('{ operations: { make: POST /things, list: GET /things }, changes: [] }');

type Row = readonly [
  what: string,
  entries: readonly (readonly [ruleBook: string | undefined, operation: string | undefined])[],
  isShipped: boolean,
  said: string | undefined,
];

const OTHER = 'The requests of the log were handled by the rule book 0123';
const SHIPPED = `${OTHER}, and not by the package's own (${BOOK.hash}), which is used if none is named: name the right one with --rules.`;
const NAMED = `${OTHER}, and this one (${BOOK.hash}) has none of their operations: name the right one with --rules.`;

const ROWS: readonly Row[] = [
  ['no entry', [], true, undefined],
  ['its own entries', [[BOOK.hash, 'make']], true, undefined],
  [
    'its own entries among others',
    [
      ['0123', 'ship'],
      [BOOK.hash, 'make'],
    ],
    true,
    undefined,
  ],
  ['entries without a rule book', [[undefined, 'ship']], true, undefined],
  ['the shipped book for operations of another', [['0123', 'ship']], true, SHIPPED],
  ['the shipped book, though an operation has the same name', [['0123', 'make']], true, SHIPPED],
  [
    'a named book that was edited since',
    [
      ['0123', 'make'],
      ['0123', 'gone since'],
    ],
    false,
    undefined,
  ],
  ['a named book of another API', [['0123', 'ship']], false, NAMED],
  ['a named book, and requests of no operation', [['0123', undefined]], false, undefined],
  [
    'many books',
    ['1', '2', '3', '4'].map((hash) => [hash, 'ship'] as const),
    false,
    `The requests of the log were handled by the rule books 1, 2, 3, …, and this one (${BOOK.hash}) has none of their operations: name the right one with --rules.`,
  ],
];

function faultOf(book: RuleBook, [, entries, isShipped]: Row): string | undefined {
  const books = new LogBooks();
  for (const [ruleBook, operation] of entries) books.add({ route: 'migrate', ruleBook, operation });
  // Requests of V2's own clients say nothing about V1.
  books.add({ route: 'pass', ruleBook: 'f00d', operation: 'other' });
  return books.faultOf({ book, isShipped });
}

test.each(ROWS)('%s', (...row) => {
  expect(faultOf(BOOK, row)).toBe(row[3]);
});
