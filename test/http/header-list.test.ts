import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  isWritableTarget,
  readDecimal,
  requestHeaders,
  responseHeaders,
  toHeaders,
} from '../../src/http/header-list.ts';

test('reads as numbers exactly the texts that a digit pattern accepts', () => {
  const likely = fc.string({ unit: fc.constantFrom(...Array.from('0123456789+-. eE_x０')), maxLength: 17 });
  fc.assert(
    fc.property(fc.oneof(likely, fc.string(), fc.nat().map(String)), (text) => {
      expect(readDecimal(text)).toBe(/^[0-9]{1,15}$/.test(text) ? Number(text) : undefined);
    }),
  );
});

test.each([
  ['0', 0],
  ['007', 7],
  ['999999999999999', 999_999_999_999_999],
  ['1000000000000000', undefined],
  ['', undefined],
  ['1\n', undefined],
])('%j', (text, expected) => {
  expect(readDecimal(text)).toBe(expected);
});

test('accepts exactly visible ASCII and bytes beyond ASCII', () => {
  const likely = fc.string({
    unit: fc.constantFrom('!', '~', '/', 'a', ' ', '\u007f', '\n', 'é'),
    maxLength: 5,
  });
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (text) => {
      expect(isWritableTarget(text)).toBe(/^[!-~\x80-\xff]+$/.test(text) && !text.endsWith('\n'));
    }),
  );
});

// Workers join lines of one name by a comma, which is a part of the cookie before it (RFC 6265 §5.2).
test.each([
  ['a=b', 'a=b'],
  ['a=b, c=d; e=f, $g=', 'a=b; c=d; e=f; $g='],
  ['a=1, 2, c=3', 'a=1, 2; c=3'],
  ['a={"b":1, "c=d":2}', 'a={"b":1, "c=d":2}'],
  ['a=1,b=2', 'a=1,b=2'],
])('the cookies %j are joined to %j', (joined, cookies) => {
  expect(requestHeaders(new Headers({ cookie: joined, x: 'a=b, c=d' }), undefined)).toEqual([
    'cookie',
    cookies,
    'x',
    'a=b, c=d',
  ]);
});

test('codings are those that the client named, where the platform has others in their place', () => {
  const headers = new Headers({ 'accept-encoding': 'br, gzip', x: 'y' });
  expect(requestHeaders(headers, 'identity')).toEqual(['accept-encoding', 'identity', 'x', 'y']);
  expect(requestHeaders(headers, undefined)).toEqual(['accept-encoding', 'br, gzip', 'x', 'y']);
});

// A call has fewer arguments than such a field has bytes.
test.each([10, 500_000])('a field of %i characters beyond ASCII comes back as it was', (length) => {
  const value = 'é'.repeat(length);
  const lists = [requestHeaders(new Headers(), undefined), responseHeaders(new Headers())];
  expect(lists).toEqual([[], []]);
  const headers = toHeaders(['x-name', Buffer.from(value).toString('latin1')]);
  expect(headers.get('x-name')).toBe(value);
  for (const list of [requestHeaders(headers, undefined), responseHeaders(headers)])
    expect(list[1] === Buffer.from(value).toString('latin1')).toBe(true);
});
