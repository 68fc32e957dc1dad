import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readProxyHeader } from '../../../src/node/clients/proxy-protocol.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const line = (text: string): Buffer => Buffer.from(text, 'latin1');

/** A header of version 2. */
function binary(first: number, second: number, body: Buffer, length = body.length): Buffer {
  const front = Buffer.from('\r\n\r\n\0\r\nQUIT\n....', 'latin1');
  front.writeUInt8(first, 12);
  front.writeUInt8(second, 13);
  front.writeUInt16BE(length, 14);
  return Buffer.concat([front, body]);
}
const four = Buffer.from([203, 0, 113, 7, 10, 0, 0, 1, 0x1f, 0x90, 0, 80]);
const six = Buffer.concat([Buffer.from('20010db8000000000000000000000007', 'hex'), Buffer.alloc(20)]);

describe('a header is read', () => {
  test.each([
    ['PROXY TCP4 203.0.113.7 10.0.0.1 8080 80\r\n', '203.0.113.7'],
    ['PROXY TCP6 2001:db8::7 ::1 65535 0\r\n', '2001:db8::7'],
    ['PROXY UNKNOWN\r\n', undefined],
    ['PROXY UNKNOWN ffff:f...f:ffff 65535 65535\r\n', undefined],
  ])('%j', (text, address) => {
    expect(readProxyHeader(line(`${text}GET /`))).toEqual({ address, end: text.length });
  });

  test.each([
    ['of IPv4', binary(0x21, 0x11, four), '203.0.113.7'],
    ['of IPv6', binary(0x21, 0x21, six), '2001:db8:0:0:0:0:0:7'],
    ['with more behind it', binary(0x21, 0x11, Buffer.concat([four, Buffer.alloc(30)])), '203.0.113.7'],
    ['of the balancer itself', binary(0x20, 0x00, Buffer.alloc(0)), undefined],
    ['of a Unix socket', binary(0x21, 0x31, Buffer.alloc(216)), undefined],
  ])('version 2 %s', (_what, bytes, address) => {
    const header = readProxyHeader(Buffer.concat([bytes, line('GET /')]));
    expect(header).toEqual({ address, end: bytes.length });
    for (let at = 0; at < bytes.length; at += 1)
      expect(readProxyHeader(bytes.subarray(0, at))).toBe('partial');
  });
});

describe('bytes that are no PROXY header', () => {
  test.each([
    ['no header', 'GET / HTTP/1.1\r\n'],
    ['a line without end', `PROXY TCP4 ${'1'.repeat(100)}`],
    ['a line that ends with LF', 'PROXY UNKNOWN\nGET'],
    ['an address of the other kind', 'PROXY TCP4 ::1 ::1 1 1\r\n'],
    ['no address', 'PROXY TCP4 a b 1 1\r\n'],
    ['a port beyond', 'PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n'],
    ['lower case', 'proxy TCP4 1.1.1.1 1.1.1.1 1 1\r\n'],
    ['more than one space', 'PROXY TCP4  1.1.1.1 1.1.1.1 1 1\r\n'],
    ['another family', 'PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n'],
  ])('%s', (_what, text) => {
    expect(readProxyHeader(line(text))).toBe('malformed');
  });

  test.each([
    ['another version', binary(0x11, 0x11, four)],
    ['another command', binary(0x22, 0x11, four)],
    ['another family', binary(0x21, 0x41, four)],
    ['fewer bytes than addresses have', binary(0x21, 0x11, four.subarray(0, 11))],
    ['more bytes than anybody sends', binary(0x21, 0x11, four, 60_000)],
  ])('version 2: %s', (_what, bytes) => {
    expect(readProxyHeader(bytes)).toBe('malformed');
  });

  test('no bytes are an error, and none are read past their end', () => {
    const outcome = fc.check(
      fc.property(
        fc.constantFrom('', 'PROXY ', 'PROXY TCP4 ', '\r\n\r\n\0\r\nQUIT\n', '\r\n\r\n\0\r\nQUIT\n\x21\x11'),
        fc.uint8Array({ maxLength: 200 }),
        (front, rest) => {
          const bytes = Buffer.concat([line(front), rest]);
          const header = readProxyHeader(bytes);
          return typeof header === 'string' || header.end <= bytes.length;
        },
      ),
      { numRuns: fuzzRuns(500) },
    );
    expect(outcome.failed).toBe(false);
  });
});
