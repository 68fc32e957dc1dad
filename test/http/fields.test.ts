import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasCloseOption, requestTrailersOf, kindOfBytes, kindOfName } from '../../src/http/fields.ts';
import { fuzzRuns } from '../support/fuzz.ts';

test.each([
  'close',
  'CLOSE',
  ' close\t',
  'x, Close',
  'close ,x',
  ',close,',
  'keep-alive,\tclose',
  'a,,close',
])('%j closes the connection', (value) => {
  expect(hasCloseOption(value)).toBe(true);
});

test.each(['', 'keep-alive', 'closed', 'x-close', 'not close', 'close x', 'x\tclose', 'close;x', '"close"'])(
  '%j does not',
  (value) => {
    expect(hasCloseOption(value)).toBe(false);
  },
);

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

const known = (name: string) => kindOfBytes(Buffer.from(`x${name}y`), 1, name.length + 1);
const kindOf = (name: string) => known(name) ?? kindOfName(name);

test.each([
  ['Host', 'host'],
  ['AUTHORIZATION', 'authorization'],
  ['content-Type', 'content-type'],
  ['X-Api-Version', 'x-api-version'],
  ['Keep-Alive', 'keep-alive'],
  ['TE', 'hop-by-hop'],
  ['Http2-Settings', 'hop-by-hop'],
  ['X-Forwarded-For', 'forwarding'],
  ['x-forwarded-anything', 'forwarding'],
  ['Forwarded', 'forwarding'],
  ['Content-MD5', 'body'],
  ['content-digest', 'body'],
  ['Tracestate', 'tracestate'],
  ['Content-Location', 'link'],
  ['link', 'link'],
  ['If-Range', 'if-range'],
  ['If-Match', 'if-match'],
  ['X_Api_Version', 'alias'],
  ['x_forwarded_for', 'alias'],
  ['X_Other', 'other'],
  ['Expec_', 'other'],
  ['User-Agent', 'other'],
  ['x-anything', 'other'],
  ['x', 'other'],
])('%s is %s', (name, kind) => {
  expect([kindOfName(name), kindOf(name)]).toEqual([kind, kind]);
});

test('a name has the same kind as text and as bytes', () => {
  const names = [
    'host',
    'content-length',
    'x-forwarded-',
    'keep-alive',
    'proxy-connection',
    'te',
    'x-api-version',
  ];
  const part = fc.constantFrom(...names, '-', '_', 'X', 'a', '^', '~', '|', '1');
  const joined = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(''));
  const name = fc.oneof(fc.constantFrom(...names), joined);
  const anyCase = fc.tuple(name, fc.infiniteStream(fc.boolean())).map(([text, upper]) => {
    return Array.from(text, (character) => (upper.next().value ? character.toUpperCase() : character)).join(
      '',
    );
  });
  let found = 0;
  fc.assert(
    fc.property(anyCase, (text) => {
      const kind = known(text);
      if (kind === undefined) return;
      found += 1;
      expect(kind).toBe(kindOfName(text));
    }),
    { numRuns: fuzzRuns(5000) },
  );
  expect(found).toBeGreaterThan(fuzzRuns(500));
});
