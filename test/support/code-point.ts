import * as fc from 'fast-check';

const SURROGATES_FROM = 0xd800;
const SURROGATES = 0x800;

/**
 * Any character, as the unit of `fc.string`. fast-check's own, `binary`, keeps a table of all of them: each worker took a second and a
 * hundred megabytes for it.
 */
export const CODE_POINT: fc.Arbitrary<string> = fc.nat({ max: 0x10_ffff - SURROGATES }).map(
  (number) => String.fromCodePoint(number < SURROGATES_FROM ? number : number + SURROGATES),
  (text) => {
    const point = typeof text === 'string' ? text.codePointAt(0) : undefined;
    if (point === undefined || text !== String.fromCodePoint(point)) throw new Error('it is no character');
    return point < SURROGATES_FROM ? point : point - SURROGATES;
  },
);
