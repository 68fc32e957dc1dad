import { createServer, type IncomingMessage } from 'node:http';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { type RawClient, rawClient } from '../support/raw-client.ts';
import { listening } from '../support/listening.ts';
import { fuzzRuns } from '../support/fuzz.ts';
import { words } from '../support/rows.ts';

/** The request as V2 sees it. */
interface Seen {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly string[];
  readonly body: string;
}

/** A V2 that keeps the requests it gets, and responds as each request says. */
async function seeingV2(): Promise<{ readonly port: number; readonly seen: Seen[] }> {
  const seen: Seen[] = [];
  const server = createServer((incoming, outgoing) => {
    void bodyOf(incoming).then((body) => {
      const headers: string[] = [];
      for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
        const name = incoming.rawHeaders[at] ?? '';
        if (!OF_THE_HOP.has(name.toLowerCase())) headers.push(`${name}: ${incoming.rawHeaders[at + 1]}`);
      }
      seen.push({ method: incoming.method ?? '', target: incoming.url ?? '', headers, body });
      outgoing.end('"seen"');
    });
  });
  server.keepAliveTimeout = 60_000;
  return { port: await listening(server), seen };
}

/** Framing and connection belong to the hop; the length that stands for the framing is compared by the body. */
const OF_THE_HOP = new Set(words`host connection keep-alive transfer-encoding content-length te trailer via`);

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of incoming) text += (chunk as Buffer).toString('latin1');
  return text;
}

const pathCharacter = fc.constantFrom(
  ..."abcXYZ019-._~!$&'()*+,=:@".split(''),
  ...words`%20 %C3%A9 %7e " | { } ^`,
);
const segment = fc
  .array(pathCharacter, { minLength: 1, maxLength: 8 })
  .map((characters) => characters.join(''))
  .filter((text) => text !== '.' && text !== '..');
const query = fc
  .array(fc.constantFrom(...'abc=&?/;:@[]|\\"\'{}.~+'.split(''), '%20', '%00', '..', '//'), { maxLength: 12 })
  .map((characters) => characters.join(''));
const target = fc
  .tuple(fc.array(segment, { maxLength: 4 }), fc.boolean(), fc.option(query, { nil: undefined }))
  .map(
    ([segments, slash, text]) =>
      `/api/v2${segments.map((part) => `/${part}`).join('')}${slash ? '/' : ''}${text === undefined ? '' : `?${text}`}`,
  );
const token = fc
  .string({ unit: fc.constantFrom(..."abcXYZ019!#$%&'*+-.^`|~".split('')), minLength: 1, maxLength: 10 })
  .map((text) => `x-${text}`);
const value = fc
  .string({ unit: fc.constantFrom(...'abc XYZ\t;,="\'(){}\u00e9\u00ff'.split('')), maxLength: 20 })
  .map((text) => text.trim());
const known = fc.constantFrom(
  ...words`
    Accept accept-encoding Cookie User-Agent Authorization IF-MATCH Range x-api-version
    Content-Encoding
  `,
);
const headers = fc.array(fc.tuple(fc.oneof(token, known), value), { maxLength: 12 }).map((fields) => {
  const once = new Set<string>();
  return fields.filter(([name]) => {
    const lower = name.toLowerCase();
    if (lower !== 'authorization' && lower !== 'x-api-version') return true;
    if (once.has(lower)) return false;
    once.add(lower);
    return true;
  });
});
const body = fc.oneof(
  fc.constant(undefined),
  fc.string({
    unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
    maxLength: 300,
  }),
);
const requests = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'REPORT'),
  target,
  headers,
  body,
  chunks: fc.option(fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 }), {
    nil: undefined,
  }),
  pieces: fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 4 }),
});

test('for random requests, V2 sees the same through the gateway as directly, but for the hop and Host', async () => {
  const v2 = await seeingV2();
  const gateway = await gatewayFor(`http://127.0.0.1:${v2.port}`);
  // Connections are kept, except those that a failing run has left in another state.
  const clients = new Map<number, RawClient>();
  const clientOf = (port: number): RawClient => {
    const kept = clients.get(port);
    if (kept !== undefined) return kept;
    const fresh = rawClient(port);
    clients.set(port, fresh);
    return fresh;
  };
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(requests, async (request) => {
      const bytes = Buffer.from(write(request), 'latin1');
      for (const port of [v2.port, gateway.port]) {
        const client = clientOf(port);
        clients.delete(port);
        const before = v2.seen.length;
        const text = client.text().length;
        for (const piece of cut(bytes, request.pieces)) {
          client.write(piece);
          await new Promise((resolve) => {
            setImmediate(resolve);
          });
        }
        const received = {
          test: (all: string) => all.slice(text).endsWith('"seen"') || all.slice(text).includes(' 400 '),
        } as RegExp;
        await client.until(received);
        expect(client.text().slice(text)).toContain('200 OK');
        expect(v2.seen).toHaveLength(before + 1);
        clients.set(port, client);
      }
      expect(v2.seen.at(-1)).toEqual(v2.seen.at(-2));
      runs += 1;
    }),
    { numRuns: fuzzRuns(1000) },
  );
  expect(runs).toBe(fuzzRuns(1000));
  for (const { socket } of clients.values()) socket.destroy();
});

interface Generated {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: string | undefined;
  readonly chunks: readonly number[] | undefined;
}

function write({ method, target, headers, body, chunks }: Generated): string {
  const lines = headers.map(([name, text]) => `${name}: ${text}\r\n`).join('');
  const head = `${method} ${target} HTTP/1.1\r\nHost: somewhere.example\r\n${lines}`;
  if (body === undefined) return `${head}\r\n`;
  if (chunks === undefined) return `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
  return `${head}Transfer-Encoding: chunked\r\n\r\n${chunked(body, chunks)}0\r\n\r\n`;
}

function chunked(body: string, sizes: readonly number[]): string {
  let text = '';
  for (let at = 0, index = 0; at < body.length; index += 1) {
    const part = body.slice(at, at + (sizes[index % sizes.length] ?? 1));
    text += `${part.length.toString(16)}\r\n${part}\r\n`;
    at += part.length;
  }
  return text;
}

function* cut(bytes: Buffer, pieces: readonly number[]): Iterable<Buffer> {
  for (let at = 0, index = 0; at < bytes.length; index += 1) {
    // The last size takes the rest, so that long requests do not become hundreds of packets.
    const size = index < pieces.length ? (pieces[index] ?? 1) : bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}
