import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FieldLines, readFieldLines, writeFieldLines } from '../../src/http/field-lines.ts';
import { endToEnd } from '../../src/http/hop-by-hop.ts';
import { ReadResponseHead } from '../../src/http/read-response-head.ts';
import { readHeadLines } from '../../src/http/request-head-lines.ts';
import { readHead } from '../../src/http/request-head.ts';

const name = fc.constantFrom(
  'Host',
  'Content-Length',
  'content-type',
  'Connection',
  'Keep-Alive',
  'TE',
  'Trailer',
  'Transfer-Encoding',
  'X-Forwarded-For',
  'forwarded',
  'X-Api-Version',
  'X_Api_Version',
  'X-Gone',
  'Authorization',
  'Expect',
  'x',
);
const value = fc.constantFrom('', '1', 'chunked', 'keep-alive', 'X-Gone', 'close, keep-alive', 'caf\u00e9 x');
const separator = fc.constantFrom(': ', ': ', ': ', ': ', ': ', ': ', ': ', ':', ':  ');
const lines = fc
  .array(fc.tuple(name, separator, value), { maxLength: 6 })
  .map((all) => read(all.map((parts) => `${parts.join('')}\r\n`).join('')));

function read(text: string): FieldLines {
  const start = 'first line\r\n';
  const found = readFieldLines(start + text, start.length, Buffer.from(start + text, 'latin1'));
  if (found === undefined) throw new Error(`not lines: ${text}`);
  return found;
}

test('the lines of a request that go on are those of the fields that do', () => {
  let known = 0;
  fc.assert(
    fc.property(lines, fc.boolean(), (received, isTrusted) => {
      const head = readHeadLines(received, { count: 100, bytes: 16_384 }, isTrusted);
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
    { numRuns: 3000 },
  );
  expect(known).toBeGreaterThan(500);
});

test('the lines of a response that go on are those of its end-to-end fields', () => {
  let known = 0;
  fc.assert(
    fc.property(lines, (received) => {
      const head = new ReadResponseHead(200, 'OK', received).endToEnd();
      if (head === undefined) return;
      known += 1;
      expect(head.headers).toEqual(endToEnd(received.fields, true));
      expect(head.fieldText).toBe(writeFieldLines(head.headers));
    }),
    { numRuns: 3000 },
  );
  expect(known).toBeGreaterThan(500);
});

test('a response without a body has no length to the client', () => {
  const received = read('Content-Length: 5\r\n');
  expect(new ReadResponseHead(204, '', received).endToEnd()).toBeUndefined();
});
