import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeFieldLines } from '../../src/http/field-lines.ts';
import { endToEnd } from '../../src/http/hop-by-hop.ts';
import { ReadResponseHead } from '../../src/http/read-response-head.ts';
import { arbitraryLines, linesOf } from '../support/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';

test('the lines of a response that go on are those of its end-to-end fields', () => {
  let known = 0;
  fc.assert(
    fc.property(arbitraryLines, (received) => {
      const head = new ReadResponseHead(200, 'OK', received).endToEnd();
      if (head === undefined) return;
      known += 1;
      expect(head.headers).toEqual(endToEnd(received.fields, true));
      expect(head.fieldText).toBe(writeFieldLines(head.headers));
    }),
    { numRuns: fuzzRuns(3000) },
  );
  expect(known).toBeGreaterThan(fuzzRuns(500));
});

test('a response without a body has no length to the client', () => {
  const received = linesOf('Content-Length: 5\r\n');
  expect(new ReadResponseHead(204, '', received).endToEnd()).toBeUndefined();
});
