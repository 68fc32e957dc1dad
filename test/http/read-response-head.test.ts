import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeFieldLines } from '../../src/http/field-lines.ts';
import { HopFields } from '../../src/http/hop-fields.ts';
import { endToEnd } from '../../src/http/fields.ts';
import { ReadResponseHead } from '../../src/http/response-head.ts';
import { arbitraryLines, linesOf } from '../support/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const hop = new HopFields('here', () => 7000);

test('the lines of a response that go on are those of its end-to-end fields', () => {
  let known = 0;
  fc.assert(
    fc.property(arbitraryLines, (received) => {
      const head = new ReadResponseHead(200, 'OK', received).forwarded(hop);
      if (head === undefined) return;
      known += 1;
      const own = endToEnd(received.fields, true);
      const hasDate = own.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'date');
      const date = hasDate ? [] : ['Date', 'Thu, 01 Jan 1970 00:00:07 GMT'];
      expect(head.headers).toEqual([...own, ...date, 'Via', '1.1 here']);
      expect(head.fieldText).toBe(writeFieldLines(head.headers));
    }),
    { numRuns: fuzzRuns(3000) },
  );
  expect(known).toBeGreaterThan(fuzzRuns(500));
});

test('a response without a body has no length to the client', () => {
  const received = linesOf('Content-Length: 5\r\n');
  expect(new ReadResponseHead(204, '', received).forwarded(hop)).toBeUndefined();
});
