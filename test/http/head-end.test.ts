import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { findHeadEnd } from '../../src/http/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';

test('the end of a head is where a plain search finds it, from any offset', () => {
  const part = fc.constantFrom('\r', '\n', 'a', 'bc', '\r\n', '\n\n', '\r\r', '\r\n\r\n', 'Host: a\r\n');
  fc.assert(
    fc.property(fc.array(part, { maxLength: 14 }), fc.nat(12), (parts, from) => {
      const text = parts.join('');
      expect(findHeadEnd(Buffer.from(text), from)).toBe(text.indexOf('\r\n\r\n', from));
    }),
    { numRuns: fuzzRuns(20_000) },
  );
});
