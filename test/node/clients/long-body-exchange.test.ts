import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { rawClient, ended } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { fuzzRuns } from '../../support/fuzz.ts';
import { bodyLimit } from '../../support/rule-book.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/next HTTP/1.1\r\nHost: g\r\n\r\n';

/** A request with a body of `length` bytes, each as its place tells. */
function upload(length: number, path = '/api/v2/x', fields = ''): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n${fields}Content-Length: ${length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), bodyOf(length)]);
}

const bytesByPlace = Buffer.from(
  Uint8Array.from({ length: 400_000 }, (_, at) => 33 + ((at * 7 + (at >> 8)) % 90)),
);

function bodyOf(length: number): Buffer {
  return length <= bytesByPlace.length
    ? bytesByPlace.subarray(0, length)
    : Buffer.alloc(length, bytesByPlace);
}

describe('a body that is on its way when its exchange begins', () => {
  test('reaches V2 byte for byte however it is cut, and the connection serves the next request', async () => {
    const { v2, gateway } = await served();
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 65_537, max: 400_000 }),
        fc.array(fc.integer({ min: 1, max: 200_000 }), { maxLength: 5 }),
        async (length, cuts) => {
          const from = v2.received.map((text) => text.length);
          const client = rawClient(gateway.port);
          const bytes = Buffer.concat([upload(length), Buffer.from(GET)]);
          let at = 0;
          for (const cut of cuts) {
            client.write(bytes.subarray(at, at + cut));
            at += cut;
            await pause(1);
          }
          client.write(bytes.subarray(at));
          await client.until(/(?:200 OK[^]*){2}\}$/);
          client.socket.destroy();
          const got = v2.received.map((text, index) => text.slice(from[index] ?? 0)).join('');
          expect(got).toContain(bodyOf(length).toString('latin1'));
          expect(got).toContain('GET /api/v2/next');
        },
      ),
      { numRuns: fuzzRuns(25) },
    );
  });

  test('refused with much of it to come, closes its connection, and the client reads why', async () => {
    const { gateway } = await served(ok(), { ruleBook: bodyLimit(100_000) });
    const { text, closed, reset } = await ended(
      gateway.port,
      upload(3_000_000, '/api/v1/orders/floor_plans'),
    );
    expect(text).toMatch(/^HTTP\/1\.1 413 [^]*connection: close\r\n/i);
    expect({ closed, reset }).toEqual({ closed: true, reset: false });
  });

  test('that stops midway gets 408, with a length that a small body has too', async () => {
    const { gateway } = await served(ok(), { flags: { 'client-body-timeout': '200' } });
    for (const length of [100, 100_000]) {
      const { text, closed } = await ended(gateway.port, upload(length).subarray(0, -1));
      expect(text).toMatch(/^HTTP\/1\.1 408 [^]*connection: close\r\n/i);
      expect(closed).toBe(true);
    }
  });
});
