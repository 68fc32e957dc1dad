import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { writeFieldLines } from '../../src/http/field-lines.ts';
import { readHead, readHeadLines } from '../../src/http/request-head.ts';
import { arbitraryLines } from '../support/field-lines.ts';
import { fuzzRuns } from '../support/fuzz.ts';

test('the lines of a request that go on are those of the fields that do', () => {
  let known = 0;
  fc.assert(
    fc.property(arbitraryLines, fc.boolean(), (received, isTrusted) => {
      const head = readHeadLines(received, { count: 100, bytes: 16_384 }, isTrusted, 0);
      const ofList = readHead(received.fields, { count: 100, bytes: 16_384 }, isTrusted);
      expect(head).toMatchObject({
        fault: ofList.fault,
        host: ofList.host,
        authorization: ofList.authorization,
        contentLength: ofList.contentLength,
        apiVersion: ofList.apiVersion,
        expect: ofList.expect,
        forwardedHeaders: ofList.forwardedHeaders,
      });
      if (head.forwardedLines === undefined) return;
      known += 1;
      expect(head.forwardedLines).toBe(writeFieldLines(ofList.forwardedHeaders));
    }),
    { numRuns: fuzzRuns(3000) },
  );
  expect(known).toBeGreaterThan(fuzzRuns(500));
});
