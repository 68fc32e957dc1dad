import { expect, test } from 'vitest';
import {
  API_METHODS,
  expectsContent,
  isIdempotent,
  isRead,
  methodLabel,
} from '../../src/http/request-head.ts';

test('methods are what RFC 9110 and RFC 5789 say of them', () => {
  expect(API_METHODS.filter(isIdempotent)).toEqual(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS']);
  expect(API_METHODS.filter(isRead)).toEqual(['GET', 'HEAD']);
  expect(API_METHODS.filter(expectsContent)).toEqual(['POST', 'PUT', 'PATCH']);
});

// Attack: ever new methods, each of which makes a series of metrics.
test.each([
  ['PATCH', 'PATCH'],
  ['TRACE', 'TRACE'],
  ['get', '_OTHER'],
  ['X1', '_OTHER'],
])('the label of %s is %s', (method, label) => {
  expect(methodLabel(method)).toBe(label);
});
