import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readHead } from '../../../../src/http/request-head.ts';
import {
  H2Trailers,
  noFields,
  RequestSection,
  type SectionLimits,
} from '../../../../src/node/clients/http2/request-section.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { separatorRuns } from '../../../support/separators.ts';

type Fields = readonly (readonly [name: string, value: string])[];

const LIMITS: SectionLimits = { headerBytes: 16 * 1024, headerCount: 100 };

describe('trailers', () => {
  const readTrailers = (fields: Fields, limits = LIMITS): H2Trailers => {
    const trailers = new H2Trailers(limits);
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
    const trailers = new H2Trailers(LIMITS);
    trailers.field('A', 'b', false);
    trailers.field('a', 'b', true);
    expect(trailers.isMalformed).toBe(true);
  });

  test.each<[title: string, fields: Fields, isMalformed: boolean]>([
    ['as many fields as may be', Array.from({ length: 3 }, () => ['a', '']), false],
    ['one more', Array.from({ length: 4 }, () => ['a', '']), true],
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

function sectionOf(fields: Fields, isWhole = false, limits = LIMITS): RequestSection {
  const section = new RequestSection(limits);
  for (const [name, value] of fields) section.field(name, value, true);
  section.finish(isWhole);
  return section;
}

describe('a section that is well-formed', () => {
  test('has its method, its target, and its fields in their order, with the authority as the host', () => {
    const section = sectionOf([...HEAD, ['x-b', '1'], ['x-a', ''], ['x-b', '2']]);
    expect(section).toMatchObject({
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
    const section = sectionOf(fields);
    expect(section.isMalformed).toBe(false);
    expect(section.fields).toEqual(list);
  });

  test.each<[Fields, boolean, number | undefined]>([
    [[['content-length', '5']], false, 5],
    [[['content-length', '0']], false, 0],
    [[['content-length', '0']], true, 0],
    [[], false, undefined],
    [[], true, undefined],
  ])('%j, with the whole request: %j', (fields, isWhole, contentLength) => {
    expect(sectionOf([...HEAD, ...fields], isWhole)).toMatchObject({ contentLength, isMalformed: false });
  });

  test('a client may wait for 100 Continue', () => {
    expect(sectionOf([...HEAD, ['expect', '100-continue']]).expectsContinue).toBe(true);
  });

  test('a tunnel has an authority and nothing else (RFC 9113 §8.5)', () => {
    const section = sectionOf([
      [':method', 'CONNECT'],
      [':authority', 'g:80'],
    ]);
    expect(section).toMatchObject({ method: 'CONNECT', target: 'g:80', isMalformed: false });
  });
});

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
    ['a pseudo-header field that nobody knows', [...HEAD, [':protocol', 'websocket']]],
    ['a pseudo-header field behind another field', [...without(PATH), ['a', 'b'], PATH]],
    ['a pseudo-header field behind a cookie', [...without(PATH), ['cookie', 'b'], PATH]],
    ['a tunnel to nowhere', [[':method', 'CONNECT']]],
    ...['connection', 'http2-settings', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'].map(
      (name): [string, Fields] => [`${name}, which is one of connections`, [...HEAD, [name, 'x']]],
    ),
    ['TE with anything else', [...HEAD, ['te', 'gzip']]],
    ['TE with more than trailers', [...HEAD, ['te', 'trailers, gzip']]],
    ['TE with nothing', [...HEAD, ['te', '']]],
    ['two lengths', [...HEAD, ['content-length', '5'], ['content-length', '6']]],
    ['a length twice', [...HEAD, ['content-length', '5'], ['content-length', '5']]],
    ['a length twice, of nothing', [...HEAD, ['content-length', '0'], ['content-length', '0']], true],
    ...['', '-1', '+5', '0x5', '5, 5', '5.0', '1e3', '1000000000000000', '\xb2'].map(
      (value): [string, Fields] => [
        `a length of ${JSON.stringify(value)}`,
        [...HEAD, ['content-length', value]],
      ],
    ),
    ['a length, and no body', [...HEAD, ['content-length', '5']], true],
  ])('%s', (_title, fields, isWhole = false) => {
    expect(sectionOf(fields, isWhole).isMalformed).toBe(true);
    // Whatever comes behind it.
    if (fields.length > 0) expect(sectionOf([...fields, ['z', 'z']], isWhole).isMalformed).toBe(true);
  });

  test('one with a field that is not valid, wherever it stands', () => {
    for (let at = 0; at <= HEAD.length; at += 1) {
      const section = new RequestSection(LIMITS);
      for (const [index, [name, value]] of HEAD.entries()) {
        if (index === at) section.field('a', ' b', false);
        section.field(name, value, true);
      }
      if (at === HEAD.length) section.field('a', ' b', false);
      section.finish(true);
      expect(section.isMalformed).toBe(true);
      expect(section.fields).not.toContain(' b');
    }
  });
});

describe('a section that is too large', () => {
  const limits: SectionLimits = { headerBytes: 100, headerCount: 5 };
  /** The status that the gateway refuses a section with. */
  const refusal = (
    { fields }: RequestSection,
    { headerBytes, headerCount }: SectionLimits,
  ): number | undefined => readHead(fields, { bytes: headerBytes, count: headerCount }, false).fault?.status;
  const many = (count: number): Fields => Array.from({ length: count }, () => ['a', 'b']);

  test('just not: all of its fields are there', () => {
    // The host is the fifth.
    expect(sectionOf([...HEAD, ...many(4)], true, limits).fields).toHaveLength(10);
    expect(refusal(sectionOf([...HEAD, ...many(4)], true, limits), limits)).toBeUndefined();
    // With the four bytes of separators, and nine of the host.
    const one = sectionOf([...HEAD, ['a', 'b'.repeat(100 - 5 - 9)]], true, limits);
    expect(refusal(one, limits)).toBeUndefined();
  });

  test.each<[title: string, fields: Fields]>([
    ['by a field', many(5)],
    ['by many', many(10_000)],
    ['by a byte', [['a', 'b'.repeat(100 - 5 - 9 + 1)]]],
    ['by one field of many bytes', [['a', 'b'.repeat(100_000)]]],
    ['by a cookie in many parts', Array.from({ length: 1000 }, () => ['cookie', 'a=b'] as const)],
  ])('%s: some of its fields are kept, and those get it refused', (_title, fields) => {
    const section = sectionOf([...HEAD, ...fields], true, limits);
    expect(section.fields.length).toBeLessThanOrEqual(2 * (limits.headerCount + 2));
    expect(refusal(section, limits)).toBe(431);
  });

  test('what stands behind is read for faults, but not for fields', () => {
    const section = sectionOf([...HEAD, ...many(20), ['content-length', '5'], ['expect', 'x']], true, limits);
    expect(section).toMatchObject({ contentLength: undefined, expectsContinue: false });
    expect(sectionOf([...HEAD, ...many(20), PATH], true, limits).isMalformed).toBe(true);
  });

  // A field that goes missing might be the one that says who the client is.
  test('never is one served without a field that its client has sent', fuzzTime(), () => {
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
        const section = sectionOf([...HEAD, ...list], false, limits);
        if (section.isMalformed || refusal(section, limits) !== undefined) return;
        expect(section.fields).toEqual(sectionOf([...HEAD, ...list]).fields);
      }),
      { numRuns: fuzzRuns(5000) },
    );
  });
});

test('the fields of a section that nobody asked for go nowhere', () => {
  expect(noFields.field('a', 'b', true)).toBeUndefined();
});
