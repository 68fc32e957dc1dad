import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { encodedLine, entryLine } from '../../src/rewrite-log/entry-line.ts';
import { redactTarget } from '../../src/rewrite-log/masks.ts';
import { arbitraryEntry } from '../support/arbitrary-entry.ts';
import { fuzzRuns } from '../support/fuzz.ts';

test('a line is the entry in printable ASCII, for any texts', () => {
  fc.assert(
    fc.property(arbitraryEntry, (entry) => {
      const line = entryLine(entry);
      expect(line).toMatch(/^[ -~]+\n$/);
      expect(JSON.parse(line)).toEqual(entry);
    }),
  );
});

test('the log has the same line in parts as bytes, of the same entry as often as it is asked for', () => {
  fc.assert(
    fc.property(fc.array(arbitraryEntry, { maxLength: 4 }), (entries) => {
      for (const entry of entries.flatMap((one) => [one, one, { ...one }]))
        expect(Buffer.concat(encodedLine(entry)).toString()).toBe(entryLine(entry));
    }),
  );
});

test('times are printed as JSON has them', () => {
  const [base] = fc.sample(arbitraryEntry, 1);
  const times = fc.oneof(
    fc.nat({ max: 2_000_000_000 }).map((count) => Math.round(count) / 1000),
    fc.double({ min: 0, max: 1e22, noNaN: true }),
    fc.constantFrom(0, 0.001, 0.1, 1, 999.999, 1e-7, 1e21, Number.MAX_SAFE_INTEGER),
  );
  fc.assert(
    fc.property(times, (totalMs) => {
      const line = entryLine({ ...base, totalMs, upstreamMs: totalMs } as Entry);
      const text = JSON.stringify(totalMs);
      expect(line).toContain(`"upstreamMs":${text},"totalMs":${text},`);
    }),
    { numRuns: fuzzRuns(2000) },
  );
});

describe('query values and user information are not logged', () => {
  test.each([
    ['/api/v1/x', '/api/v1/x'],
    ['/api/v1/x?', '/api/v1/x?'],
    ['/api/v1/x?a=1&b=2&&=c', '/api/v1/x?a=…&b=…&&=…'],
    ['/api/v1/x?secret', '/api/v1/x?…'],
    ['/x?a==b&a=c?d=e', '/x?a=…&a=…'],
    ['http://u:p@h/x?a=1', 'http://…@h/x?a=…'],
    ['//u:p@h/x', '//…@h/x'],
    ['/x#access_token=k', '/x#…'],
    ['/x?a=1#access_token=k', '/x?a=…'],
    ['https://h/x#access_token=k', 'https://h/x#…'],
    ['/x;jsessionid=k/y', '/x;jsessionid=…'],
    ['/x;a=b/y', '/x;a=b/y'],
  ])('%s', (target, redacted) => {
    expect(redactTarget(target)).toBe(redacted);
  });

  test('a long target is cut', () => {
    expect(redactTarget(`/${'x'.repeat(5000)}`)).toHaveLength(2049);
  });
});
