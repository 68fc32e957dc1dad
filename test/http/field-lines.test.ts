import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readFieldLines, writeFieldLines } from '../../src/http/field-lines.ts';

const name = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,20}$/);
const value = fc.stringMatching(/^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]{0,30}[!-~\x80-\xff])?)?$/);
const fields = fc.array(fc.tuple(name, value), { maxLength: 12 }).map((pairs) => pairs.flat());

describe('field lines', () => {
  test('written fields are read back, whatever precedes them', () => {
    fc.assert(
      fc.property(fields, fc.string({ unit: 'binary' }), (list, before) => {
        const text = writeFieldLines(list);
        expect(text).toBeDefined();
        expect(readFieldLines(before + text, before.length)).toEqual(list);
      }),
      { numRuns: 200 },
    );
  });

  test('white space around a value is not of it', () => {
    expect(readFieldLines('A: \t b\t c \t\r\nB:\r\nC: \r\n', 0)).toEqual(['A', 'b\t c', 'B', '', 'C', '']);
  });

  test('a line is read as one line or not at all, as one strict pattern would have it', () => {
    const single = 'aA:- \t\r\n\0\x7f\x80\xff('.split('');
    const byte = fc.constantFrom(...single, '\r\n', ': ', 'x: y\r\n');
    const strict = /^(?:[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*$/;
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 12 }), (bytes) => {
        const text = bytes.join('');
        expect(readFieldLines(text, 0) !== undefined).toBe(strict.test(text));
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['A', 'b\r\nC: d'],
    ['A', 'b\n'],
    ['A', 'b\0'],
    ['A', '\u010dc'],
    ['A B', 'c'],
    ['A:', 'b'],
    ['', 'b'],
  ])('%j: %j is not written', (...field) => {
    expect(writeFieldLines(field)).toBeUndefined();
  });
});
