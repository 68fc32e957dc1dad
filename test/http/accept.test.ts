import { expect, test } from 'vitest';
import { preferredType } from '../../src/http/content.ts';

test.each([
  [undefined, 'application/json'],
  ['', 'application/json'],
  ['*/*', 'application/json'],
  ['text/html', 'text/html'],
  ['TEXT/HTML; charset=utf-8', 'text/html'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
  ['text/html;q=0.5, application/json;q=0.4', 'text/html'],
  ['text/*, application/json;q=0.9', 'text/html'],
  ['*/*;q=0.5, application/json;q=0', 'text/html'],
  ['text/html;q=0, */*;q=0.1', 'application/json'],
  ['text/html;q=2', 'application/json'],
  ['image/png', 'application/json'],
  [`${'a/b,'.repeat(60)}text/html`, 'application/json'],
])('Accept: %s gets %s', (accept, type) => {
  expect(preferredType(accept, ['application/json', 'text/html'])).toBe(type);
});
