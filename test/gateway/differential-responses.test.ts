import { Agent, request } from 'node:http';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { fuzzRuns } from '../support/fuzz.ts';
import { served } from '../support/served.ts';
import { words } from '../support/rows.ts';

const token = fc
  .string({ unit: fc.constantFrom(...'abcXYZ019-_.'.split('')), minLength: 1, maxLength: 10 })
  .map((text) => `x-${text}`);
const known = fc.constantFrom(...words`Set-Cookie Content-Type Date ETag Server Vary Retry-After Location`);
const value = fc
  .string({ unit: fc.constantFrom(...'abc XYZ\t;,="\'(){}\u00e9\u00ff'.split('')), maxLength: 20 })
  .map((text) => text.trim());
const responses = fc.record({
  method: fc.constantFrom('GET', 'HEAD', 'POST'),
  status: fc.oneof(fc.integer({ min: 200, max: 599 }), fc.constantFrom(200, 204, 304)),
  reason: fc
    .string({ unit: fc.constantFrom(...'abc XYZ'.split('')), maxLength: 12 })
    .map((text) => text.trim()),
  headers: fc.array(fc.tuple(fc.oneof(token, known), value), { maxLength: 10 }),
  body: fc.string({
    unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
    maxLength: 300,
  }),
  framing: fc.constantFrom('length', 'chunks', 'close'),
  pieces: fc.integer({ min: 1, max: 400 }),
});

type Generated = typeof responses extends fc.Arbitrary<infer Value> ? Value : never;

function write({ method, status, reason, headers, body, framing }: Generated): string {
  const lines = headers.map(([name, text]) => `${name}: ${text}\r\n`).join('');
  const start = `HTTP/1.1 ${status} ${reason}\r\n${lines}`;
  if (status === 204) return `${start}\r\n`;
  if (method === 'HEAD' || status === 304) return `${start}Content-Length: ${body.length}\r\n\r\n`;
  if (framing === 'length') return `${start}Content-Length: ${body.length}\r\n\r\n${body}`;
  if (framing === 'close') return `${start}Connection: close\r\n\r\n${body}`;
  const chunk = body === '' ? '' : `${body.length.toString(16)};x=y\r\n${body}\r\n`;
  return `${start}Transfer-Encoding: chunked\r\n\r\n${chunk}0\r\nx-trailer: 1\r\n\r\n`;
}

test('for random responses, a client reads the same through the gateway as directly, but for the hop', async () => {
  let response: Generated | undefined;
  const { v2, gateway } = await served((socket) => {
    if (response === undefined) return;
    const bytes = Buffer.from(write(response), 'latin1');
    socket.write(bytes.subarray(0, response.pieces));
    const { framing, method, status } = response;
    setImmediate(() => {
      socket.write(bytes.subarray(response?.pieces));
      if (framing === 'close' && method !== 'HEAD' && status !== 204 && status !== 304) socket.end();
    });
  });
  const agent = new Agent({ keepAlive: true });
  onTestFinished(() => agent.destroy());
  await fc.assert(
    fc.asyncProperty(responses, async (generated) => {
      response = generated;
      const direct = await read(agent, v2.port, generated.method);
      const through = await read(agent, gateway.port, generated.method);
      // The gateway adds a date if V2 sent none.
      const dated = [...through.headers];
      if (!generated.headers.some(([name]) => name === 'Date'))
        expect(dated.splice(dated.findIndex(isDate), 1).filter(isDate)).toHaveLength(1);
      expect({ ...through, headers: dated }).toEqual(direct);
    }),
    { numRuns: fuzzRuns(500) },
  );
});

/** Framing and connection are the hop's. */
const OF_THE_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'via']);

function isDate(line: string): boolean {
  return line.startsWith('Date: ');
}

/** What a client reads. */
interface Read {
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly headers: readonly string[];
  readonly body: string;
  readonly trailers: readonly string[];
}

function read(agent: Agent, port: number, method: string): Promise<Read> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ agent, port, host: '127.0.0.1', method, path: '/api/v2/x' }, (incoming) => {
      let body = '';
      incoming.setEncoding('latin1');
      incoming.on('data', (chunk: string) => {
        body += chunk;
      });
      incoming.on('error', reject);
      incoming.on('end', () => {
        const headers: string[] = [];
        for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
          const name = incoming.rawHeaders[at] ?? '';
          if (!OF_THE_HOP.has(name.toLowerCase())) headers.push(`${name}: ${incoming.rawHeaders[at + 1]}`);
        }
        resolve({
          status: incoming.statusCode,
          reason: incoming.statusMessage,
          headers,
          body,
          trailers: incoming.rawTrailers,
        });
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}
