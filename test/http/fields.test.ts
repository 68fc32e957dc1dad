import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  codedResponseFields,
  countedDown,
  endToEnd,
  hasCloseOption,
  hasKeepAliveOption,
  HopFields,
  interimFields,
  kindOfName,
  markTags,
  requestTrailersOf,
  rewrittenResponseFields,
  tagsOfRules,
  tagsOfState,
  trailersOf,
} from '../../src/http/fields.ts';
import { kindOfBytes } from '../../src/http/raw-headers.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

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
  '%j does not close it',
  (value) => {
    expect(hasCloseOption(value)).toBe(false);
  },
);

test.each([
  ['keep-alive', true],
  ['Keep-Alive , x', true],
  ['x,\tKEEP-ALIVE', true],
  ['keep-alive2', false],
  ['x keep-alive', false],
  ['close', false],
])('%j keeps the connection of an old client: %s', (value, isKept) => {
  expect(hasKeepAliveOption(value)).toBe(isKept);
});

/** Fields in words, `Name: value` joined by bars. */
const fieldsOf = (text: string): string[] =>
  text === '' ? [] : text.split('|').flatMap((field) => field.split(': '));
const textOfFields = (fields: readonly string[]): string =>
  fields.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${fields[at + 1]}`] : [])).join('|');

// RFC 9110 §7.6.1. What is listed and protected stays: a peer could strip what others check.
test.each([
  ['A: 1|B: 2', 'A: 1|B: 2'],
  ['A: 1|Connection: keep-alive|B: 2', 'A: 1|B: 2'],
  ['Connection: B, c ,close|A: 1|b: 2|C: 3|B: 4', 'A: 1'],
  ['A: 1|Connection: a|Connection: D|D: 4', ''],
  ['Connection: date, content-type, authorization|Date: x|Content-Type: y', 'Date: x|Content-Type: y'],
  [
    'Keep-Alive: timeout=5|Proxy-Connection: x|Transfer-Encoding: chunked|Upgrade: h2c|TE: trailers|A: 1',
    'A: 1',
  ],
  ['A: 1|trailer: B|C: 3', 'A: 1|C: 3'],
])('of a response with %s %s crosses', (received, kept) => {
  expect(textOfFields(endToEnd(fieldsOf(received), false))).toBe(kept);
  const withTrailer = textOfFields(endToEnd(fieldsOf(received), true));
  expect(withTrailer).toBe(received.includes('trailer: B') ? 'A: 1|trailer: B|C: 3' : kept);
});

test('trailers and interim responses lose the fields that they must not have', () => {
  expect(trailersOf([])).toEqual([]);
  expect(textOfFields(trailersOf(fieldsOf('A: 1|Host: x|content-LENGTH: 9|Connection: b|B: 2|C: 3')))).toBe(
    'A: 1|C: 3',
  );
  expect(textOfFields(interimFields(fieldsOf('Link: a|Content-Length: 0|Connection: close|X: 1')))).toBe(
    'Link: a|X: 1',
  );
});

const OF_BODY =
  'Content-Encoding: br|Content-MD5: m|Content-Digest: d|Digest: e|Repr-Digest: r|Accept-Ranges: bytes|Trailer: x';

test('a rewritten body has its own length, no digests of the other, and a weak tag', () => {
  const received = fieldsOf(`A: 1|ETag: "a"|Content-Length: 9|${OF_BODY}|B: 2`);
  expect(textOfFields(rewrittenResponseFields(received, 7))).toBe('A: 1|ETag: W/"a"|B: 2|Content-Length: 7');
  expect(textOfFields(rewrittenResponseFields(['ETag', 'W/"a"'], 7))).toBe('ETag: W/"a"|Content-Length: 7');
});

test.each([
  ['', true],
  ['Vary: origin', true],
  ['Vary: *', false],
  ['Vary: Origin|vary: x, Accept-Encoding', false],
  ['Vary: accept-encoding-x', true],
])('a coded response with %j varies by Accept-Encoding, which is added: %s', (vary, isAdded) => {
  const received = [...fieldsOf(vary), 'Content-Length', '9'];
  expect(textOfFields(codedResponseFields(received, 'gzip', 4))).toBe(
    `${vary === '' ? '' : `${vary}|`}Content-Encoding: gzip|Content-Length: 4${isAdded ? '|Vary: Accept-Encoding' : ''}`,
  );
});

// RFC 9110 §8.8.3 and §13.1: a client sends back what it was given.
test('tags name the rules of a representation, and V2 is asked with its own tags', () => {
  const hash = '0123456789abcdef';
  const headers = fieldsOf('A: "x"|ETag: "a,b"|etag: W/"c"|ETag: none|ETag: "a"x');
  markTags(headers, hash);
  const [, , , strong = '', , weak = ''] = headers;
  expect(headers.filter((_, at) => at % 2 === 1)).toEqual(['"x"', strong, weak, 'none', '"a"x']);
  expect(strong).toMatch(/^"a,b;rules=[\w-]{8}"$/);
  expect(weak).toMatch(/^W\/"c;rules=[\w-]{8}"$/);
  expect(tagsOfRules(`${strong}, "other", ${weak}`, hash)).toBe('"a,b", W/"c"');
  expect(tagsOfRules(strong, 'f123456789abcdef')).toBeUndefined();
  expect(tagsOfRules('"a"', hash)).toBeUndefined();
  expect(tagsOfRules(' * ', hash)).toBe(' * ');
  expect(tagsOfState(`${strong}, ${weak}, W/"d"`)).toBe('"a,b", "c", "d"');
});

test.each([
  ['0', -1],
  ['1', 0],
  ['010', 9],
  ['99999999999', 2 ** 31 - 1],
  ['', undefined],
  ['-1', undefined],
  ['1, 2', undefined],
  ['1.5', undefined],
])('Max-Forwards %j is sent on as %s (RFC 9110 §7.6.2)', (received, sent) => {
  expect(countedDown(received)).toBe(sent);
});

describe('the fields of a hop', () => {
  let time = 1000;
  const hop = new HopFields('Gateway', () => time);

  // RFC 9110 §7.6.3: the version is that of the message as it was received.
  test.each([
    ['1.0', 'via: 1.0 Gateway'],
    ['1.1', 'via: 1.1 Gateway'],
    ['2', 'via: 2 Gateway'],
    ['3', 'via: 3 Gateway'],
    ['other', 'via: 1.1 Gateway'],
  ])('of a request over %s are %s', (version, text) => {
    const { fields, text: line } = hop.ofRequest(version);
    expect(textOfFields(fields)).toBe(text);
    expect(line).toBe(`${text}\r\n`);
  });

  test('of a response add a missing date, that of this second', () => {
    time = 1999;
    expect(textOfFields(hop.ofResponse(true).fields)).toBe('Via: 1.1 Gateway');
    expect(textOfFields(hop.ofResponse(true, true).fields)).toBe('Via: 1.0 Gateway');
    const first = hop.ofResponse(false);
    expect(textOfFields(first.fields)).toBe('Date: Thu, 01 Jan 1970 00:00:01 GMT|Via: 1.1 Gateway');
    expect(hop.ofResponse(false)).toBe(first);
    time = 2000;
    expect(hop.ofResponse(false).text).toBe('Date: Thu, 01 Jan 1970 00:00:02 GMT\r\nVia: 1.1 Gateway\r\n');
    expect(textOfFields(hop.ofResponse(false, true).fields)).toBe(
      'Date: Thu, 01 Jan 1970 00:00:02 GMT|Via: 1.0 Gateway',
    );
    const headers = ['A', '1'];
    hop.addTo(headers);
    expect(textOfFields(headers)).toBe('A: 1|Date: Thu, 01 Jan 1970 00:00:02 GMT|Via: 1.1 Gateway');
    const dated = ['date', 'x'];
    hop.addTo(dated);
    expect(textOfFields(dated)).toBe('date: x|Via: 1.1 Gateway');
  });

  test('without a name for Via add only a date', () => {
    const nameless = new HopFields('', () => 0);
    expect(nameless.ofRequest('1.1')).toEqual({ fields: [], text: '' });
    expect(textOfFields(nameless.ofResponse(false).fields)).toBe('Date: Thu, 01 Jan 1970 00:00:00 GMT');
    expect(nameless.isLoop('1.1 x, 1.1')).toBe(false);
  });

  test.each([
    ['1.1 gateway', true],
    ['1.0 fred, HTTP/1.1\t GATEWAY (a comment)', true],
    ['1.1 gateway2', false],
    ['1.1 fred (gateway)', false],
    ['gateway', false],
    ['1.1 my-gateway, 1.1', false],
  ])('show a loop in %j: %s', (via, isLoop) => {
    expect(hop.isLoop(via)).toBe(isLoop);
  });
});

// A server that merges trailers with the header fields would take them for ones that the gateway has checked.
test.each(words`
  Connection TE Upgrade Transfer-Encoding Content-Length Content-Type Authorization Host
  X-Api-Version X-Request-ID X-Forwarded-For Forwarded If-Match Cookie Expect
`)('a client cannot send %s as a trailer', (name) => {
  const checksum = ['Checksum', 'x'];
  expect(requestTrailersOf([name, 'x', ...checksum])).toEqual(checksum);
});

const BEFORE = 'x'.repeat(100);
const known = (name: string) =>
  kindOfBytes(Buffer.from(`${BEFORE}${name}y`), BEFORE.length, BEFORE.length + name.length);
const kindOf = (name: string) => known(name) ?? kindOfName(name);

test.each([
  ['Host', 'host'],
  ['AUTHORIZATION', 'authorization'],
  ['content-Type', 'content-type'],
  ['X-Api-Version', 'x-api-version'],
  ['Keep-Alive', 'keep-alive'],
  ['Origin', 'origin'],
  ['TE', 'hop-by-hop'],
  ['Http2-Settings', 'hop-by-hop'],
  ['X-Forwarded-For', 'forwarding'],
  ['x-forwarded-anything', 'forwarding'],
  ['Forwarded', 'forwarding'],
  ['Content-MD5', 'digest'],
  ['content-digest', 'digest'],
  ['X-Content-SHA256', 'body'],
  ['x-amz-content-sha256', 'body'],
  ['X-Checksum', 'body'],
  ['X-Checksum-Sha1', 'body'],
  ['x-amz-checksum-crc32c', 'body'],
  ['X-Body-Hash', 'body'],
  ['X-Payload-Digest', 'body'],
  ['x-ms-content-crc64', 'body'],
  ['X-Content-Type-Options', 'other'],
  ['X-Hash', 'other'],
  ['X-Hub-Signature-256', 'signature'],
  ['Accept-Signature', 'other'],
  ['Tracestate', 'tracestate'],
  ['Content-Location', 'link'],
  ['link', 'link'],
  ['Operation-Location', 'link'],
  ['Azure-AsyncOperation', 'link'],
  ['refresh', 'link'],
  ['x_a-location', 'link'],
  ['If-Range', 'if-range'],
  ['If-Match', 'if-match'],
  ['X_Api_Version', 'alias'],
  ['Content_Length', 'alias'],
  ['x_forwarded_for', 'claimed-alias'],
  ['Keep_Alive', 'claimed-alias'],
  ['X_Other', 'other'],
  ['Expec_', 'other'],
  ['User-Agent', 'other'],
  ['x-anything', 'other'],
  ['x', 'other'],
])('%s is %s', (name, kind) => {
  expect([kindOfName(name), kindOf(name)]).toEqual([kind, kind]);
});

test('a name has the same kind as text and as bytes', () => {
  const names = words`host content-length x-forwarded- keep-alive proxy-connection te x-api-version`;
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
