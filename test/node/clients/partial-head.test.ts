import { describe, expect, test } from 'vitest';
import { judgeUnusualHead, PartialHead } from '../../../src/node/clients/partial-head.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';

const LIMIT = 1024;
const judge = (text: string): string => judgeUnusualHead(Buffer.from(text, 'latin1'), LIMIT);

test.each([
  ['G', 'partial'],
  ['OPTIONS', 'partial'],
  ['GET ', 'partial'],
  ['GET /x HTTP/1', 'partial'],
  ['GET /x HTTP/1.1\r', 'partial'],
  ['GET /x HTTP/1.1\r\nHost: g\r\n\r', 'partial'],
  ['GET /x HTTP/1.0', 'unusual'],
  ['GET x', 'unusual'],
  ['\x16\x03\x01', 'unusual'],
  ['\r\nGET /x HTTP/1.1\r\n', 'unusual'],
  ['GET /x HTTP/1.1\nHost', 'unusual'],
  ['GET /x HTTP/1.1\r\nHost: g\n', 'unusual'],
  [`GET /x HTTP/1.1\r\nX: ${'x'.repeat(LIMIT)}`, 'unusual'],
  ['GET /x HTTP/1.1\r\nExpect: 100-continue\r\n\r\n', 'unusual'],
  ['GET  /x HTTP/1.1\r\nHost: g', 'malformed'],
  ['\r\nGET /x  HTTP/1.1\r\n\r\n', 'malformed'],
  ['PRI * HTTP/1.1\r\nHost: g\r\n\r\n', 'malformed'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'malformed'],
])('%j is %s', (text, expected) => {
  expect(judge(text)).toBe(expected);
});

describe('bytes that are added', () => {
  test.each([
    ['the end of the head', 'GET / HTTP/1.1\r\nHost: g\r\n\r\n'],
    ['a bare LF', 'GET / HTTP/1.1\r\nHost: g\n'],
    ['too many bytes', `GET / HTTP/1.1\r\nX: ${'x'.repeat(LIMIT - 20)}`],
  ])('are judged at %s, wherever they are cut', (_what, text) => {
    const bytes = Buffer.from(text, 'latin1');
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const head = new PartialHead(bytes.subarray(0, cut), LIMIT - 3);
      for (let at = cut; at < bytes.length - 1; at += 1) head.add(bytes.subarray(at, at + 1));
      expect(head.add(bytes.subarray(bytes.length - 1))).toBe(true);
      if (cut < bytes.length - 1) expect(head.received().equals(bytes)).toBe(true);
    }
  });

  test('cost what they hold', () => {
    const head = new PartialHead(Buffer.alloc(65_536).subarray(0, 1), LIMIT);
    expect(head.received().buffer.byteLength).toBeLessThan(65_536);
  });
});

// Attack: a request line that two readers cut in different places (RFC 9112 §3).
test.each(['GET  /api/v2/x HTTP/1.1', 'GET /api/v2/x  HTTP/1.1', 'PRI * HTTP/1.1'])(
  '%s gets a 400, and its connection closes, in one piece or byte by byte',
  async (line) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    for (const size of [1, 100]) {
      const client = rawClient(gateway.port);
      const request = `${line}\r\nHost: g\r\n\r\n`;
      for (let at = 0; at < request.length; at += size) client.write(request.slice(at, at + size));
      const response = await client.end();
      expect(statusOf(response)).toBe(400);
      expect(response.closed).toBe(true);
    }
    expect(v2.received).toEqual([]);
  },
);

test('a head that stays half gets a 408, and one whose client stops a 400', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin, { flags: { 'client-headers-timeout': '300' } });
  const [late, stopped] = [rawClient(gateway.port), rawClient(gateway.port)];
  late.write('GET /api/v2/x HTTP/1.1\r\nHost');
  stopped.write('GET /api/v2/x HTTP/1.1\r\nHost');
  stopped.socket.end();
  expect(statusOf(await stopped.end())).toBe(400);
  expect(statusOf(await late.end())).toBe(408);
});
