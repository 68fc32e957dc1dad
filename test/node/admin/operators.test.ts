import { expect, test } from 'vitest';
import { RecentRuleBooks } from '../../../src/node/admin/operators.ts';
import { compiledTestRuleBook } from '../../support/rule-book.ts';

const books = Array.from({ length: 9 }, (_, number) => compiledTestRuleBook({ hash: `book ${number}` }));

test('the eight rule books that were last in force are kept', () => {
  const recent = new RecentRuleBooks();
  for (const book of books) recent.add(book);
  expect(recent.get('book 0')).toBeUndefined();
  expect(recent.get('book 1')).toBe(books[1]);
  expect(recent.get('book 8')).toBe(books[8]);
});

test('a rule book that is in force again is the newest', () => {
  const recent = new RecentRuleBooks();
  const [first] = books;
  if (first === undefined) throw new Error('there is no rule book');
  for (const book of [...books.slice(0, 8), first, ...books.slice(8)]) recent.add(book);
  expect(recent.get('book 0')).toBe(first);
  expect(recent.get('book 1')).toBeUndefined();
});
