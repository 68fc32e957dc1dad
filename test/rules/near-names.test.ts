import { expect, test } from 'vitest';
import { nearNames } from '../../src/rules/rule-book-fault.ts';

const MANY = ['list_orders', 'read_order', ...Array.from({ length: 20 }, (_, index) => `operation_${index}`)];

test.each([
  ['a typing error', 'list_order', MANY, '; did you mean "list_orders"?'],
  ['a part of some names', 'Order', MANY, '; there are list_orders, read_order among others.'],
  ['a part of too many names', 'ation', MANY, '; the list lists all 22.'],
  ['a part of one name', 'read', MANY, '; there is read_order among others.'],
  ['far from many names', 'zzz', MANY, '; the list lists all 22.'],
  ['far from few names', 'zzz', ['a_b_c', 'd_e_f'], '; there are a_b_c, d_e_f.'],
])('the end of a message about %s', (_, written, known, end) => {
  expect(nearNames(written, known, 'the list')).toBe(end);
});
