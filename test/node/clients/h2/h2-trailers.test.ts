import { describe, expect, test } from 'vitest';
import { H2Trailers, type SectionLimits } from '../../../../src/node/clients/http2/request-section.ts';

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
