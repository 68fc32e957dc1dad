import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeFieldLines } from '../../src/http/raw-headers.ts';
import { endToEnd, HopFields } from '../../src/http/fields.ts';
import { ReadResponseHead, readStatusLine } from '../../src/http/response-head.ts';
import { arbitraryLines, linesOf } from '../support/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';

const hop = new HopFields('here', () => 7000);

test('the forwarded lines of a response are those of its end-to-end fields', () => {
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

/** RFC 9112 §4, with statuses of the five classes. */
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?$/;

/** Mostly `right`, now and then something else. */
function mostly(right: fc.Arbitrary<string>, ...wrong: readonly string[]): fc.Arbitrary<string> {
  return fc.oneof({ weight: 6, arbitrary: right }, { weight: 1, arbitrary: fc.constantFrom(...wrong) });
}

const likely = fc
  .tuple(
    mostly(fc.constantFrom('HTTP/1.1', 'HTTP/1.0'), 'HTTP/1.2', 'HTTP/2.0', 'http/1.1', 'RTSP/1.0', ''),
    mostly(fc.constant(' '), '', '  ', '\t'),
    mostly(fc.integer({ min: 90, max: 610 }).map(String), '099', '20', '2O0', '+20', '1e2', ''),
    mostly(fc.constant(' '), '', '  ', '\t', '-'),
    mostly(fc.constantFrom('', 'OK', 'Not Found', 'é'), 'a\u0000', 'a\r', 'Ā'),
  )
  .map((parts) => parts.join(''));

test('reads exactly the heads that the grammar accepts', () => {
  let accepted = 0;
  fc.assert(
    fc.property(fc.oneof(likely, fc.string()), (line) => {
      const [whole, version, status, reason = ''] = STATUS_LINE.exec(line) ?? [];
      accepted += whole === undefined ? 0 : 1;
      expect(readStatusLine(line)).toEqual(
        whole === undefined ? undefined : { status: Number(status), reason, isKept: version === '1' },
      );
    }),
    { numRuns: fuzzRuns(5000) },
  );
  expect(accepted).toBeGreaterThan(fuzzRuns(100));
});
