import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, type RawServer, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { whole } from '../../support/whole-responses.ts';
import { fuzzRuns } from '../../support/fuzz.ts';

const JSON_FIELDS = 'Host: g\r\nContent-Type: application/json\r\n';

/** Requests of every kind, usual and unusual, that leave their connection open; `#` is the number of the request. */
const kinds: readonly string[] = [
  'GET /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/chunks/# HTTP/1.1\r\nHost: g\r\nCookie: a=b\r\n\r\n',
  'HEAD /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'DELETE /api/v2/204/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/trailers/# HTTP/1.1\r\nHost: g\r\nTE: trailers\r\n\r\n',
  'GET /other/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'POST /other/# HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhello',
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 21\r\n\r\n{"data":{"name":"A"}}`,
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 3\r\n\r\n{,}`,
  `PATCH /api/v1/chunks/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 0\r\n\r\n`,
  `PUT /api/v2/length/# HTTP/1.1\r\nHost: g\r\nContent-Length: 38\r\n\r\nGET /api/v2/smuggled HTTP/1.1\r\nHost: g\r\n`,
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Transfer-Encoding: chunked\r\n\r\nb;x=y\r\n{"data":{}}\r\n0\r\nt: 1\r\n\r\n`,
  'POST /api/v2/length/# HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
  'POST /api/v2/length/# HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi',
  '\r\nOPTIONS /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'REPORT /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
];
const large = `PUT /api/v2/length/# HTTP/1.1\r\nHost: g\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`;
/** Requests that are the last on their connection. */
const LASTS: readonly string[] = [
  'GET /api/v2/length/# HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
  'GET /api/v2/chunks/# HTTP/1.0\r\n\r\n',
  'POST /api/v2/length/# HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello',
  'rubbish\r\n\r\n',
];

/** A V2 whose response is named by the target, and contains the number of the request. */
function numberedV2(): Promise<RawServer> {
  return rawServer((socket, request) => {
    const [, kind, number] = /^\S+ \/api\/v2\/(\w+)\/(\d+)/.exec(request) ?? [];
    const body = `{"number":${number}}`;
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
    const size = body.length.toString(16);
    if (kind === '204') socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    else if (kind === 'chunks')
      socket.write(`HTTP/1.1 201 Made\r\n${chunked}${size}\r\n${body}\r\n0\r\n\r\n`);
    else if (kind === 'trailers')
      socket.write(
        `HTTP/1.1 200 OK\r\nTrailer: t\r\n${chunked}${size}\r\n${body}\r\n0\r\nt: ${number}\r\n\r\n`,
      );
    else if (request.startsWith('HEAD')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n');
    else socket.write(ok(body));
  });
}

function settled(text: string): string {
  return text.replaceAll(/\r\nDate: [^\r]+/g, '\r\nDate: then');
}

/** The parts of an entry that do not depend on time and connection. */
type Said = Pick<
  Entry,
  'method' | 'path' | 'verdict' | 'status' | 'failure' | 'bytesIn' | 'bytesOut' | 'responseBytes' | 'edits'
>;

function said(line: string): Said {
  const entry = JSON.parse(line) as Entry;
  const { method, path, verdict, status, failure, bytesOut, responseBytes, edits } = entry;
  // A refusal that needs no body does not wait for one.
  const bytesIn = verdict === 'refused' ? 0 : entry.bytesIn;
  return { method, path, verdict, status, failure, bytesIn, bytesOut, responseBytes, edits };
}

function byTarget(left: Said, right: Said): number {
  return left.path < right.path ? -1 : 1;
}

interface Stream {
  readonly bytes: Buffer;
  /** The responses to its requests when each is sent alone, one after the other. */
  readonly text: string;
  readonly entries: readonly Said[];
}

/** Sends each request on its own connection. */
async function streamOf(gateway: TestGateway, requests: readonly string[]): Promise<Stream> {
  const from = gateway.lines.length;
  let text = '';
  for (const [index, request] of requests.entries()) {
    const client = rawClient(gateway.port);
    client.write(request);
    await client.until(whole(1));
    await until(() => gateway.lines.length > from + index);
    client.socket.destroy();
    text += settled(client.text());
  }
  return {
    bytes: Buffer.from(requests.join(''), 'latin1'),
    text,
    entries: gateway.lines.slice(from).map(said),
  };
}

/** Sends them on one connection, with a wait before each place of `cuts`, and expects the same of all. */
async function hold(
  { bytes, text, entries }: Stream,
  gateway: TestGateway,
  v2: RawServer,
  cuts: readonly (readonly [place: number, wait: number])[],
): Promise<void> {
  const from = gateway.lines.length;
  const heard = v2.received.map(({ length }) => length);
  const client = rawClient(gateway.port);
  let at = 0;
  for (const [place, wait] of cuts) {
    if (place > at) client.write(bytes.subarray(at, place));
    at = place;
    await pause(wait);
  }
  if (at < bytes.length) client.write(bytes.subarray(at));
  await client.until(whole(entries.length));
  await until(() => gateway.lines.length >= from + entries.length);
  client.socket.destroy();
  expect(settled(client.text())).toBe(text);
  // Node's parser reports a refused request before the end of the response that it waits for.
  const found = gateway.lines.slice(from).map(said);
  expect(found.toSorted(byTarget)).toEqual(entries.toSorted(byTarget));
  const sent = v2.received.map((all, index) => all.slice(heard[index] ?? 0)).join('');
  for (const { method, path, verdict } of entries) {
    const times = verdict === 'refused' ? 0 : 1;
    expect(sent.split(`${method} ${path.replace('/v1/', '/v2/')} HTTP/1.1\r\n`)).toHaveLength(times + 1);
  }
}

const numbered = (requests: readonly string[]): string[] =>
  requests.map((request, index) => request.replace('#', String(index)));

const usual = kinds.slice(0, 11);

describe('a stream of requests gives the same responses as each request alone, wherever it is cut', () => {
  test.each([
    ['usual ones', [usual[1], usual[6], usual[2], usual[7], usual[10], LASTS[0]]],
    ['an unusual one among them', [usual[5], kinds[11], usual[7], kinds[13], LASTS[1]]],
  ])(
    'at every byte: %s',
    async (_what, requests) => {
      const v2 = await numberedV2();
      const gateway = await gatewayFor(v2.origin);
      const stream = await streamOf(gateway, numbered(requests.map((request) => request ?? '')));
      for (let at = 1; at < stream.bytes.length; at += 1) await hold(stream, gateway, v2, [[at, 1]]);
      expect(gateway.surprises).toEqual([]);
    },
    120_000,
  );

  test('at random places, with waits around the patience for a body', async () => {
    const v2 = await numberedV2();
    const gateway = await gatewayFor(v2.origin);
    const streams = fc.record({
      requests: fc.array(fc.constantFrom(...usual, ...kinds, large), { minLength: 1, maxLength: 9 }),
      last: fc.option(fc.constantFrom(...LASTS), { nil: undefined }),
      cuts: fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0, 1, 3, 24, 26, 40)),
        { maxLength: 5 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(streams, async ({ requests, last, cuts }) => {
        const stream = await streamOf(gateway, numbered(last === undefined ? requests : [...requests, last]));
        const places = cuts
          .map(([part, wait]) => [Math.floor(part * stream.bytes.length), wait] as const)
          .toSorted(([left], [right]) => left - right);
        await hold(stream, gateway, v2, places);
      }),
      { numRuns: fuzzRuns(60) },
    );
    expect(gateway.surprises).toEqual([]);
  });
});
