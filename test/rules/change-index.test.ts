import { expect, test } from 'vitest';
import { type Change, ChangeIndex } from '../../src/rules/rule-book.ts';

function change(id: string, on: Change['on']): Change {
  return { id, summary: '', assumed: false, on, policies: {}, request: [], response: [] };
}

const index = new ChangeIndex([
  change('a', ['order', 'client']),
  change('b', 'every'),
  change('c', ['client', 'client']),
  change('d', 'every'),
]);

test.each([
  ['client', true, 'abcd'],
  ['client', false, 'ac'],
  ['order', true, 'abd'],
  ['unknown', true, 'bd'],
  ['unknown', false, ''],
  [undefined, true, 'bd'],
  [undefined, false, ''],
])('the changes of %s, with every: %s, are %j, in the order of the rule book', (id, isEvery, ids) => {
  expect(index.of(id, isEvery).map((found) => found.id)).toEqual(ids.split('').filter(Boolean));
});
