import { expect, test } from 'vitest';
import { requestTrailersOf } from '../../src/http/fields.ts';

// A server that merges trailers with the header fields would take them for ones that the gateway has checked.
test.each([
  'Connection',
  'TE',
  'Upgrade',
  'Transfer-Encoding',
  'Content-Length',
  'Content-Type',
  'Authorization',
  'Host',
  'X-Api-Version',
  'X-Request-ID',
  'X-Forwarded-For',
  'Forwarded',
  'If-Match',
  'Cookie',
  'Expect',
])('a client cannot send %s as a trailer', (name) => {
  const checksum = ['Checksum', 'x'];
  expect(requestTrailersOf([name, 'x', ...checksum])).toEqual(checksum);
});
