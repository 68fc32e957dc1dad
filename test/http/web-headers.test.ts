import { expect, test } from 'vitest';
import { requestHeaders, responseHeaders, toHeaders } from '../../src/http/web-headers.ts';

// Workers join lines of one name by a comma, which is a part of the cookie before it (RFC 6265 §5.2).
test.each([
  ['a=b', 'a=b'],
  ['a=b, c=d; e=f, $g=', 'a=b; c=d; e=f; $g='],
  ['a=1, 2, c=3', 'a=1, 2; c=3'],
  ['a={"b":1, "c=d":2}', 'a={"b":1, "c=d":2}'],
  ['a=1,b=2', 'a=1,b=2'],
])('the joined lines of cookies %j are read as %j', (joined, cookies) => {
  expect(requestHeaders(new Headers({ cookie: joined, x: 'a=b, c=d' }), undefined)).toEqual([
    'cookie',
    cookies,
    'x',
    'a=b, c=d',
  ]);
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
