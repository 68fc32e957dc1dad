import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readHead } from '../../../../src/http/request-head.ts';
import {
  TrailerBlock,
  noFields,
  RequestHeaderBlock,
  type HeaderBlockLimits,
} from '../../../../src/node/clients/http2/header-block.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { separatorRuns } from '../../../support/separators.ts';

type Fields = readonly (readonly [name: string, value: string])[];

const LIMITS: HeaderBlockLimits = { headerBytes: 16 * 1024, headerCount: 100 };

describe('trailers', () => {
  const readTrailers = (fields: Fields, limits = LIMITS): TrailerBlock => {
    const trailers = new TrailerBlock(limits);
    for (const [name, value] of fields) trailers.field(name, value, true);
    return trailers;
  };

  test('are fields in their order', () => {
    const trailers = readTrailers([
      ['b', '1'],
      ['a', '2'],
      ['b', ''],
    ]);
    expect(trailers).toMatchObject({ fields: ['b', '1', 'a', '2', 'b', ''], isMalformed: false });
  });

  test.each([':status', ':path', ':x', 'connection', 'transfer-encoding', 'upgrade', 'keep-alive'])(
    'are malformed with %s, wherever it stands',
    (name) => {
      expect(
        readTrailers([
          [name, 'x'],
          ['a', 'b'],
        ]).isMalformed,
      ).toBe(true);
      expect(
        readTrailers([
          ['a', 'b'],
          [name, 'x'],
        ]).isMalformed,
      ).toBe(true);
    },
  );

  test('are malformed with a field that is not valid', () => {
    const trailers = new TrailerBlock(LIMITS);
    trailers.field('A', 'b', false);
    trailers.field('a', 'b', true);
    expect(trailers.isMalformed).toBe(true);
  });

  test.each<[title: string, fields: Fields, isMalformed: boolean]>([
    ['as many fields as may be', Array.from({ length: 3 }, () => ['a', '']), false],
    ['one field more', Array.from({ length: 4 }, () => ['a', '']), true],
    ['many more', Array.from({ length: 10_000 }, () => ['a', '']), true],
    ['as many bytes as may be', [['a', 'b'.repeat(95)]], false],
    ['a byte more', [['a', 'b'.repeat(96)]], true],
  ])('are malformed beyond the limits of a header: %s', (_title, fields, isMalformed) => {
    const trailers = readTrailers(fields, { headerBytes: 100, headerCount: 3 });
    expect(trailers.isMalformed).toBe(isMalformed);
    expect(trailers.fields.length).toBeLessThanOrEqual(6);
  });
});

const METHOD = [':method', 'POST'] as const;
const SCHEME = [':scheme', 'https'] as const;
const AUTHORITY = [':authority', 'g'] as const;
const PATH = [':path', '/x?y'] as const;
const HEAD: Fields = [METHOD, SCHEME, AUTHORITY, PATH];

function blockOf(fields: Fields, isWhole = false, limits = LIMITS): RequestHeaderBlock {
  const block = new RequestHeaderBlock(limits);
  for (const [name, value] of fields) block.field(name, value, true);
  block.finish(isWhole);
  return block;
}

describe('a section that is well-formed', () => {
  test('has its method, its target, and its fields in their order, with the authority as the host', () => {
    const block = blockOf([...HEAD, ['x-b', '1'], ['x-a', ''], ['x-b', '2']]);
    expect(block).toMatchObject({
      method: 'POST',
      target: '/x?y',
      fields: ['x-b', '1', 'x-a', '', 'x-b', '2', 'host', 'g'],
      contentLength: undefined,
      expectsContinue: false,
      isMalformed: false,
    });
  });

  test.each<[title: string, fields: Fields, list: readonly string[]]>([
    ['pseudo-header fields in another order', [PATH, AUTHORITY, SCHEME, METHOD], ['host', 'g']],
    ['a host and no authority', [METHOD, SCHEME, PATH, ['host', 'g']], ['host', 'g']],
    ['neither host nor authority', [METHOD, SCHEME, PATH], []],
    ['a host like the authority', [...HEAD, ['host', 'g'], ['a', 'b']], ['host', 'g', 'a', 'b']],
    ['a host beside another authority, both', [...HEAD, ['host', 'h']], ['host', 'h', 'host', 'g']],
    ['two hosts, both', [...HEAD, ['host', 'g'], ['host', 'g']], ['host', 'g', 'host', 'g']],
    [
      'two hosts beside an authority',
      [...HEAD, ['host', 'g'], ['host', 'h']],
      ['host', 'g', 'host', 'h', 'host', 'g'],
    ],
    ['TE with trailers', [...HEAD, ['te', 'Trailers']], ['te', 'Trailers', 'host', 'g']],
    [
      'the parts of a cookie as one, in the place of the first',
      [...HEAD, ['cookie', 'a=1'], ['x', 'y'], ['cookie', 'b=2'], ['cookie', 'c=3']],
      ['cookie', 'a=1; b=2; c=3', 'x', 'y', 'host', 'g'],
    ],
    ['one cookie as it is', [...HEAD, ['cookie', 'a=1; b=2']], ['cookie', 'a=1; b=2', 'host', 'g']],
  ])('%s', (_title, fields, list) => {
    const block = blockOf(fields);
    expect(block.isMalformed).toBe(false);
    expect(block.fields).toEqual(list);
  });

  test.each<[Fields, boolean, number | undefined]>([
    [[['content-length', '5']], false, 5],
    [[['content-length', '0']], false, 0],
    [[['content-length', '0']], true, 0],
    [[], false, undefined],
    [[], true, undefined],
  ])('%j, with the whole request: %j', (fields, isWhole, contentLength) => {
    expect(blockOf([...HEAD, ...fields], isWhole)).toMatchObject({ contentLength, isMalformed: false });
  });

  test('a client may wait for 100 Continue', () => {
    expect(blockOf([...HEAD, ['expect', '100-continue']]).expectsContinue).toBe(true);
  });

  test('a tunnel has an authority and nothing else (RFC 9113 §8.5)', () => {
    const block = blockOf([
      [':method', 'CONNECT'],
      [':authority', 'g:80'],
    ]);
    expect(block).toMatchObject({ method: 'CONNECT', target: 'g:80', isMalformed: false });
  });
});

// It gets 400, and nothing of it reaches V2: names with upper case or characters that no name has, values with control characters or white space
// around them, fields of the connection, pseudo-header fields that are missing, unknown, repeated or late.
describe('a section that is malformed (RFC 9113 §8.1.1)', () => {
  const without = (field: readonly [string, string]): Fields => HEAD.filter((other) => other !== field);

  test.each<[title: string, fields: Fields, isWhole?: boolean]>([
    ['nothing', []],
    ['no method', without(METHOD)],
    ['no scheme', without(SCHEME)],
    ['no path', without(PATH)],
    ['an empty path', [...without(PATH), [':path', '']]],
    ['an empty method', [...without(METHOD), [':method', '']]],
    ['a method of two words', [...without(METHOD), [':method', 'GET /']]],
    ['a method that is no token', [...without(METHOD), [':method', 'G\xe9T']]],
    ['two methods', [...HEAD, METHOD]],
    ['two schemes', [...HEAD, SCHEME]],
    ['two paths', [...HEAD, PATH]],
    ['two authorities', [...HEAD, AUTHORITY]],
    ['a pseudo-header field of a response', [...HEAD, [':status', '200']]],
    ['an unknown pseudo-header field', [...HEAD, [':protocol', 'websocket']]],
    ['a pseudo-header field behind another field', [...without(PATH), ['a', 'b'], PATH]],
    ['a pseudo-header field behind a cookie', [...without(PATH), ['cookie', 'b'], PATH]],
    ['a tunnel without an authority', [[':method', 'CONNECT']]],
    ...['connection', 'http2-settings', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
      (name): [string, Fields] => [`${name}, which is one of connections`, [...HEAD, [name, 'x']]],
    ),
    ['TE with anything else', [...HEAD, ['te', 'gzip']]],
    ['TE with more than trailers', [...HEAD, ['te', 'trailers, gzip']]],
    ['an empty TE', [...HEAD, ['te', '']]],
    ['two lengths', [...HEAD, ['content-length', '5'], ['content-length', '6']]],
    ['a length twice', [...HEAD, ['content-length', '5'], ['content-length', '5']]],
    ['a length twice, of nothing', [...HEAD, ['content-length', '0'], ['content-length', '0']], true],
    ...['', '-1', '+5', '0x5', '5, 5', '5.0', '1e3', '1000000000000000', '\xb2'].map(
      (value): [string, Fields] => [
        `a length of ${JSON.stringify(value)}`,
        [...HEAD, ['content-length', value]],
      ],
    ),
    ['a length without a body', [...HEAD, ['content-length', '5']], true],
  ])('%s', (_title, fields, isWhole = false) => {
    expect(blockOf(fields, isWhole).isMalformed).toBe(true);
    // Later fields do not change that.
    if (fields.length > 0) expect(blockOf([...fields, ['z', 'z']], isWhole).isMalformed).toBe(true);
  });

  test('has an invalid field at any place', () => {
    for (let at = 0; at <= HEAD.length; at += 1) {
      const block = new RequestHeaderBlock(LIMITS);
      for (const [index, [name, value]] of HEAD.entries()) {
        if (index === at) block.field('a', ' b', false);
        block.field(name, value, true);
      }
      if (at === HEAD.length) block.field('a', ' b', false);
      block.finish(true);
      expect(block.isMalformed).toBe(true);
      expect(block.fields).not.toContain(' b');
    }
  });
});

describe('a section that is too large', () => {
  const limits: HeaderBlockLimits = { headerBytes: 100, headerCount: 5 };
  /** The status that the gateway refuses a section with. */
  const refusal = (
    { fields }: RequestHeaderBlock,
    { headerBytes, headerCount }: HeaderBlockLimits,
  ): number | undefined => readHead(fields, { bytes: headerBytes, count: headerCount }, false).fault?.status;
  const many = (count: number): Fields => Array.from({ length: count }, () => ['a', 'b']);

  test('just within the limit has all of its fields', () => {
    // The host is the fifth.
    expect(blockOf([...HEAD, ...many(4)], true, limits).fields).toHaveLength(10);
    expect(refusal(blockOf([...HEAD, ...many(4)], true, limits), limits)).toBeUndefined();
    // With the four bytes of separators, and nine of the host.
    const one = blockOf([...HEAD, ['a', 'b'.repeat(100 - 5 - 9)]], true, limits);
    expect(refusal(one, limits)).toBeUndefined();
  });

  test.each<[title: string, fields: Fields]>([
    ['by a field', many(5)],
    ['by many', many(10_000)],
    ['by a byte', [['a', 'b'.repeat(100 - 5 - 9 + 1)]]],
    ['by one field of many bytes', [['a', 'b'.repeat(100_000)]]],
    ['by a cookie in many parts', Array.from({ length: 1000 }, () => ['cookie', 'a=b'] as const)],
  ])('%s: some of its fields are kept, and those get it refused', (_title, fields) => {
    const block = blockOf([...HEAD, ...fields], true, limits);
    expect(block.fields.length).toBeLessThanOrEqual(2 * (limits.headerCount + 2));
    expect(refusal(block, limits)).toBe(431);
  });

  test('the rest of the section is checked for faults, but its fields are dropped', () => {
    const block = blockOf([...HEAD, ...many(20), ['content-length', '5'], ['expect', 'x']], true, limits);
    expect(block).toMatchObject({ contentLength: undefined, expectsContinue: false });
    expect(blockOf([...HEAD, ...many(20), PATH], true, limits).isMalformed).toBe(true);
  });

  // A field that goes missing might be the one that says who the client is.
  test('no section is served without a field that its client has sent', fuzzTime(), () => {
    const fields = fc.tuple(
      fc.constantFrom('cookie', 'cookie', 'cookie', 'a', 'authorization', 'content-length', 'host', 'te'),
      fc.oneof(fc.constantFrom('', 'b', 'c=d', '5', 'g', 'trailers', 'e'.repeat(30)), separatorRuns(200)),
    );
    const sizes = fc.record({
      headerBytes: fc.integer({ min: 1, max: 300 }),
      headerCount: fc.integer({ min: 1, max: 12 }),
    });
    fc.assert(
      fc.property(fc.array(fields, { maxLength: 30 }), sizes, (list, limits) => {
        const block = blockOf([...HEAD, ...list], false, limits);
        if (block.isMalformed || refusal(block, limits) !== undefined) return;
        expect(block.fields).toEqual(blockOf([...HEAD, ...list]).fields);
      }),
      { numRuns: fuzzRuns(5000) },
    );
  });
});

test('the fields of a section that is not needed are dropped', () => {
  expect(noFields.field('a', 'b', true)).toBeUndefined();
});
