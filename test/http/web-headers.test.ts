import { expect, test } from 'vitest';
import { requestHeaders } from '../../src/http/web-headers.ts';

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
