import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeHuffman } from '../../../../src/node/clients/http2/hpack.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';

/** The code of each byte, and of the end of the text behind them, with a 1 in front of its bits (RFC 7541, appendix B). */
const CODES = [
  0x3ff8, 0xffffd8, 0x1fffffe2, 0x1fffffe3, 0x1fffffe4, 0x1fffffe5, 0x1fffffe6, 0x1fffffe7, 0x1fffffe8,
  0x1ffffea, 0x7ffffffc, 0x1fffffe9, 0x1fffffea, 0x7ffffffd, 0x1fffffeb, 0x1fffffec, 0x1fffffed, 0x1fffffee,
  0x1fffffef, 0x1ffffff0, 0x1ffffff1, 0x1ffffff2, 0x7ffffffe, 0x1ffffff3, 0x1ffffff4, 0x1ffffff5, 0x1ffffff6,
  0x1ffffff7, 0x1ffffff8, 0x1ffffff9, 0x1ffffffa, 0x1ffffffb, 0x54, 0x7f8, 0x7f9, 0x1ffa, 0x3ff9, 0x55, 0x1f8,
  0xffa, 0x7fa, 0x7fb, 0x1f9, 0xffb, 0x1fa, 0x56, 0x57, 0x58, 0x20, 0x21, 0x22, 0x59, 0x5a, 0x5b, 0x5c, 0x5d,
  0x5e, 0x5f, 0xdc, 0x1fb, 0xfffc, 0x60, 0x1ffb, 0x7fc, 0x3ffa, 0x61, 0xdd, 0xde, 0xdf, 0xe0, 0xe1, 0xe2,
  0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf2, 0x1fc, 0xf3,
  0x1fd, 0x3ffb, 0xffff0, 0x3ffc, 0x7ffc, 0x62, 0xfffd, 0x23, 0x63, 0x24, 0x64, 0x25, 0x65, 0x66, 0x67, 0x26,
  0xf4, 0xf5, 0x68, 0x69, 0x6a, 0x27, 0x6b, 0xf6, 0x6c, 0x28, 0x29, 0x6d, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb,
  0xfffe, 0xffc, 0x7ffd, 0x3ffd, 0x1ffffffc, 0x1fffe6, 0x7fffd2, 0x1fffe7, 0x1fffe8, 0x7fffd3, 0x7fffd4,
  0x7fffd5, 0xffffd9, 0x7fffd6, 0xffffda, 0xffffdb, 0xffffdc, 0xffffdd, 0xffffde, 0x1ffffeb, 0xffffdf,
  0x1ffffec, 0x1ffffed, 0x7fffd7, 0xffffe0, 0x1ffffee, 0xffffe1, 0xffffe2, 0xffffe3, 0xffffe4, 0x3fffdc,
  0x7fffd8, 0xffffe5, 0x7fffd9, 0xffffe6, 0xffffe7, 0x1ffffef, 0x7fffda, 0x3fffdd, 0x1fffe9, 0x7fffdb,
  0x7fffdc, 0xffffe8, 0xffffe9, 0x3fffde, 0xffffea, 0x7fffdd, 0x7fffde, 0x1fffff0, 0x3fffdf, 0x7fffdf,
  0xffffeb, 0xffffec, 0x3fffe0, 0x3fffe1, 0x7fffe0, 0x3fffe2, 0xffffed, 0x7fffe1, 0xffffee, 0xffffef,
  0x1fffea, 0x7fffe2, 0x7fffe3, 0x7fffe4, 0xfffff0, 0x7fffe5, 0x7fffe6, 0xfffff1, 0x7ffffe0, 0x7ffffe1,
  0x1fffeb, 0xffff1, 0x7fffe7, 0xfffff2, 0x7fffe8, 0x3ffffec, 0x7ffffe2, 0x7ffffe3, 0x7ffffe4, 0xfffffde,
  0xfffffdf, 0x7ffffe5, 0x1fffff1, 0x3ffffed, 0xffff2, 0x3fffe3, 0x7ffffe6, 0xfffffe0, 0xfffffe1, 0x7ffffe7,
  0xfffffe2, 0x1fffff2, 0x3fffe4, 0x3fffe5, 0x7ffffe8, 0x7ffffe9, 0x1ffffffd, 0xfffffe3, 0xfffffe4, 0xfffffe5,
  0x1fffec, 0x1fffff3, 0x1fffed, 0x3fffe6, 0x7fffe9, 0x3fffe7, 0x3fffe8, 0xfffff3, 0x7fffea, 0x7fffeb,
  0x3ffffee, 0x3ffffef, 0x1fffff4, 0x1fffff5, 0x7ffffea, 0xfffff4, 0x7ffffeb, 0xfffffe6, 0x7ffffec, 0x7ffffed,
  0xfffffe7, 0xfffffe8, 0xfffffe9, 0xfffffea, 0xfffffeb, 0x1ffffffe, 0xfffffec, 0xfffffed, 0xfffffee,
  0xfffffef, 0xffffff0, 0x7ffffee, 0x7fffffff,
];
const codes = CODES.map((code) => code.toString(2).slice(1));
const symbols = new Map(codes.map((code, symbol) => [code, symbol]));
const END_OF_TEXT = 256;
const OVERWRITTEN = 0x21;

const bitsOf = (text: Uint8Array): string => Array.from(text, (byte) => codes[byte] ?? '').join('');

/** Bytes of as many bits as there are, which are filled up with ones. */
function packed(bits: string): Buffer {
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(whole.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

/** What a text says, read code by code; undefined for one that is none. */
function readSlowly(bytes: Uint8Array): number[] | undefined {
  const text: number[] = [];
  let bits = '';
  for (const bit of Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')) {
    bits += bit;
    const symbol = symbols.get(bits);
    if (symbol === END_OF_TEXT) return undefined;
    if (symbol === undefined) continue;
    text.push(symbol);
    bits = '';
  }
  return /^1{0,7}$/.test(bits) ? text : undefined;
}

/** Decodes bytes that stand among others, into just enough room. */
function decode(bytes: Uint8Array, before = 0, after = 0): number[] | undefined {
  const among = Buffer.concat([Buffer.alloc(before, 0x55), bytes, Buffer.alloc(after, 0xaa)]);
  const room = Math.ceil((bytes.length * 8) / 5);
  const target = Buffer.alloc(room + 8, OVERWRITTEN);
  const length = decodeHuffman(among, before, before + bytes.length, target);
  expect(target.subarray(room)).toEqual(Buffer.alloc(8, OVERWRITTEN));
  return length < 0 ? undefined : [...target.subarray(0, length)];
}

const decodeHex = (hex: string): string | undefined => {
  const text = decode(Buffer.from(hex, 'hex'));
  return text === undefined ? undefined : Buffer.from(text).toString('latin1');
};

// RFC 7541, C.4 and C.6.
test.each([
  ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
  ['a8eb10649cbf', 'no-cache'],
  ['25a849e95ba97d7f', 'custom-key'],
  ['25a849e95bb8e8b4bf', 'custom-value'],
  ['6402', '302'],
  ['640eff', '307'],
  ['aec3771a4b', 'private'],
  ['d07abe941054d444a8200595040b8166e082a62d1bff', 'Mon, 21 Oct 2013 20:13:21 GMT'],
  ['d07abe941054d444a8200595040b8166e084a62d1bff', 'Mon, 21 Oct 2013 20:13:22 GMT'],
  ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
  ['9bd9ab', 'gzip'],
  [
    '94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
  ['', ''],
])('%s is %j', (hex, text) => {
  expect(decodeHex(hex)).toBe(text);
});

describe('what is no text gives -1', () => {
  test.each([
    ['padding of zeros', '00011000'],
    ['padding that ends with a zero', '00011110'],
    ['padding of a whole byte', '0001111111111111'],
    ['padding of a byte and nothing else', '11111111'],
    ['eight bits of padding behind a code of eight', '1111100011111111'],
    ['the end of the text', codes[END_OF_TEXT] ?? ''],
    ['the end of the text behind a byte', `${codes[0x61]}${codes[END_OF_TEXT]}`],
    ['the end of the text before a byte', `${codes[END_OF_TEXT]}${codes[0x61]}`],
    ['half of a long code', (codes[0] ?? '').slice(0, 8)],
  ])('%s', (_title, bits) => {
    expect(decode(packed(bits))).toBeUndefined();
  });
});

test('each byte has its code, wherever that begins', () => {
  // The code of the letter a has five bits: all offsets in a byte occur.
  const letter = codes[0x61] ?? '';
  for (const [byte, code] of codes.slice(0, END_OF_TEXT).entries()) {
    for (let letters = 0; letters < 8; letters += 1) {
      const text = [...Array.from({ length: letters }, () => 0x61), byte, byte];
      expect(decode(packed(letter.repeat(letters) + code + code))).toEqual(text);
    }
  }
});

test('whatever bytes are encoded come back, and nothing around them counts', fuzzTime(), () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(9), fc.nat(9), (text, before, after) => {
      expect(decode(packed(bitsOf(text)), before, after)).toEqual([...text]);
    }),
    { numRuns: fuzzRuns(3000) },
  );
});

test(
  'codes that are cut, changed or spoilt are read as a slow reader reads them, or not at all',
  fuzzTime(),
  () => {
    const pieces = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...codes) },
      { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom('0', '1'), maxLength: 12 }) },
    );
    const filling = fc.constantFrom('', '', '0', '1', '11111111', '1111111');
    const texts = fc.oneof(
      fc
        .tuple(fc.array(pieces, { maxLength: 20 }), filling)
        .map(([bits, end]) => packed(bits.join('') + end)),
      fc.uint8Array({ maxLength: 12 }),
    );
    const runs = fuzzRuns(5000);
    let read = 0;
    fc.assert(
      fc.property(texts, (bytes) => {
        const text = readSlowly(bytes);
        if (text !== undefined) read += 1;
        expect(decode(bytes)).toEqual(text);
      }),
      { numRuns: runs },
    );
    expect(read).toBeGreaterThan(runs / 10);
    expect(read).toBeLessThan(runs - runs / 10);
  },
);
