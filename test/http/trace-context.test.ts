import { expect, test } from 'vitest';
import { newTrace, readTraceparent } from '../../src/http/forwarding.ts';

test.each([
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, true],
  [`01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`, true],
  [`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01-more`, false],
  [`ff-${'a'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'0'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  [`00-${'A'.repeat(32)}-${'b'.repeat(16)}-01`, false],
  ['', false],
])('traceparent %j: %s', (value, valid) => {
  expect(readTraceparent(value) !== undefined).toBe(valid);
});

test('a generated trace reads back as itself', () => {
  const made = newTrace('c'.repeat(48));
  expect(readTraceparent(made.header)).toEqual(made);
});
