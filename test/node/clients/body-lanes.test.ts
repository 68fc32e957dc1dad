import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

/** A request is read where it is borrowed; behind an empty line, from a copy. */
const LANES = { own: '', copied: '\r\n' } as const;

/** A request with a body in parts, on its own or behind another, with bytes changed, and the places where it is cut. */
interface Play {
  readonly request: string;
  readonly isSecond: boolean;
  readonly cuts: readonly number[];
}

const oddities = ['\r', '\n', '\r\n', ' ', '\0', ';', '=', '"', '0', '1', 'g', '\x7f'];
const json = fc.constantFrom('{"data":{"name":"A"}}', '{"data":[]}', '{,}', '{"data":{"name":"\u00e9"}}', '');
const target = fc.constantFrom(
  'POST /api/v1/clients/#',
  'PATCH /api/v1/clients/#',
  'POST /api/v2/x/#',
  'PUT /api/v1/x/#',
  'GET /api/v2/x/#',
  'POST /other/#',
  'POST /api/v1/%2e%2e/#',
);
const fields = fc.constantFrom(
  '',
  'Expect: 100-continue\r\n',
  'Connection: close\r\n',
  'Expect: 100-Continue\r\nConnection: close\r\n',
  'Expect: 200-ok\r\n',
  'X_Api_Version: 1\r\n',
);
const extensions = fc.constantFrom('', '', ';a', ';a="b\\";c"', ' ');
const trailers = fc.constantFrom('', '', 'X-Sum: 7\r\nHost: evil\r\n', 'Content-Length: 3\r\n', 'x\r\n');

function chunked(body: string, size: number, extension: string, last: string): string {
  const text = Buffer.from(body).toString('latin1');
  let chunks = '';
  for (let at = 0; at < text.length; at += size) {
    const part = text.slice(at, at + size);
    chunks += `${part.length.toString(16)}${extension}\r\n${part}\r\n`;
  }
  return `Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n${last}\r\n`;
}

const framed = fc.oneof(
  fc
    .tuple(json, fc.integer({ min: 1, max: 30 }), extensions, trailers)
    .map(([body, size, extension, last]) => chunked(body, size, extension, last)),
  json.map(
    (body) => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${Buffer.from(body).toString('latin1')}`,
  ),
  fc
    .integer({ min: 1, max: 5000 })
    .map((size) => chunked('x'.repeat(200_000), size * 20, '', 'X-Sum: 7\r\n')),
);
const mutations = fc.array(fc.tuple(fc.nat(), fc.option(fc.constantFrom(...oddities))), { maxLength: 1 });

const plays: fc.Arbitrary<Play> = fc
  .tuple(target, fields, framed, mutations, fc.boolean(), fc.array(fc.nat(), { maxLength: 4 }))
  .map(([line, more, rest, changes, isSecond, cuts]) => {
    const type = rest.includes('xxx') ? 'text/plain' : 'application/json';
    const head = `${line} HTTP/1.1\r\nHost: g\r\nContent-Type: ${type}\r\n${more}`;
    let text = rest;
    for (const [place, oddity] of changes) {
      // The field that frames the body stays.
      const from = text.indexOf('\r\n\r\n') + 4;
      const at = from + (place % (text.length - from + 1));
      text = text.slice(0, at) + (oddity ?? '') + text.slice(oddity === null ? at + 1 : at);
    }
    const isRefused = /\/other|%2e|200-ok|_Api/.test(head);
    return { request: head + text, isSecond: isSecond && !isRefused, cuts };
  });

/** The bytes without values that differ from run to run, and with whole bodies instead of chunks. */
function settled(text: string): string {
  return text
    .replaceAll(/\r\nDate: [^\r]+/g, '\r\nDate: then')
    .replaceAll(/(host|traceparent|x-request-id): [^\r]+/g, '$1: some')
    .replaceAll(/(?<=x|\r\n)\r\n[0-9a-f]+\r\n(?=x)/g, '')
    .replaceAll(/x{100,}/g, (run) => `${run.length} times x`);
}

test('a body in chunks, or one that its client holds back, is read alike, borrowed or copied', async () => {
  const requests = new Map<string, string>();
  const v2 = await rawServer((socket, request) => {
    requests.set(/\/(\d+) HTTP/.exec(request)?.[1] ?? '', settled(request));
    socket.write(ok());
  });
  // Long enough for a busy machine: no body is late, unless the rest of it never comes.
  const gateway = await gatewayFor(v2.origin, { flags: { 'client-body-timeout': '4000', breaker: 'off' } });
  let number = 0;
  const play = async (lane: keyof typeof LANES, { request, isSecond, cuts }: Play) => {
    number += 1;
    const id = String(number);
    const client = rawClient(gateway.port);
    const before = isSecond ? 'GET /api/v2/before HTTP/1.1\r\nHost: g\r\n\r\n' : '';
    const behind = 'GET /api/v2/last HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n';
    const bytes = `${LANES[lane]}${before}${request.replace('#', id)}${behind}`;
    const from = LANES[lane].length;
    const places = cuts.map((cut) => from + (cut % (bytes.length - from))).toSorted((a, b) => a - b);
    let at = 0;
    for (const place of [...places, bytes.length]) {
      client.write(bytes.slice(at, place));
      at = place;
      await new Promise((resolve) => void setImmediate(resolve));
    }
    const { text, closed, reset } = await client.end(20_000);
    client.socket.destroy();
    return { text: settled(text), closed, reset, request: requests.get(id)?.replace(`/${id} `, '/# ') };
  };
  const outcomes = new Map<string, number>();
  await Promise.all(
    fc.sample(plays, 150).map(async (one) => {
      const [own, copied] = await Promise.all([play('own', one), play('copied', one)]);
      expect({ one, ...own }).toEqual({ one, ...copied });
      expect(own.closed).toBe(true);
      const status = /(?:^|\}|\r\n)HTTP\/1\.1 ([2-5]\d\d)/.exec(own.text)?.[1] ?? 'none';
      outcomes.set(status, (outcomes.get(status) ?? 0) + 1);
    }),
  );
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(['200', '400', '404']));
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
}, 60_000);
