import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChunkedBody } from '../../../src/node/clients/http1/chunked.ts';
import { type FastPathRequest, readFastPathRequest } from '../../../src/node/clients/fast-path-request.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';
import { separatorRuns } from '../../support/separators.ts';

const LIMIT = 16 * 1024;
const read = (text: string): ReturnType<typeof readFastPathRequest> =>
  readFastPathRequest(Buffer.from(text, 'latin1'), LIMIT);
const HEAD = 'POST /x HTTP/1.1\r\nHost: g\r\n';

test('method, target, fields as they stand, body and what follows', () => {
  const text = `${HEAD}X-a:  b\t\r\nx-A:\r\ncontent-LENGTH: 005\r\n\r\nhelloGET`;
  const request = read(text);
  expect(request).toMatchObject({
    method: 'POST',
    target: '/x',
    bodyAt: text.indexOf('hello'),
    end: text.indexOf('GET'),
    expectsContinue: false,
    isLast: false,
  });
  expect(request?.lines.fields).toEqual(['Host', 'g', 'X-a', 'b', 'x-A', '', 'content-LENGTH', '005']);
  expect(request?.lines.kinds).toEqual(['host', 'other', 'other', 'content-length']);
});

test('a body that is not whole ends beyond the bytes', () => {
  const text = `${HEAD}Content-Length: 5\r\n\r\nhe`;
  expect(read(text)?.end).toBe(text.length + 3);
});

test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('%s is usual', (method) => {
  expect(read(`${method} /x HTTP/1.1\r\n\r\n`)).toMatchObject({
    method,
    target: '/x',
    lines: { fields: [] },
  });
});

test.each([
  ['close', true],
  ['Close', true],
  ['keep-alive, CLOSE', true],
  ['close ,x', true],
  ['keep-alive', false],
  ['', false],
  ['closed', false],
  ['x-close', false],
  ['Upgrade, HTTP2-Settings', false],
])('Connection: %s has the connection closed: %s', (value, isLast) => {
  expect(read(`${HEAD}Connection: ${value}\r\n\r\n`)?.isLast).toBe(isLast);
});

test('a body in chunks has no end yet, and a client may wait for 100 Continue', () => {
  expect(read(`${HEAD}transfer-encoding: Chunked\r\n\r\n`)).toMatchObject({ end: Infinity });
  expect(read(`${HEAD}EXPECT: 100-Continue\r\nContent-Length: 5\r\n\r\n`)).toMatchObject({
    expectsContinue: true,
  });
});

test('one Connection line of several says close', () => {
  expect(read(`${HEAD}Connection: close\r\nConnection: keep-alive\r\n\r\n`)?.isLast).toBe(true);
});

describe("requests that are left to Node's server", () => {
  const unusual: readonly (readonly [text: string, title: string])[] = [
    ['', 'nothing'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n', 'a head that is not whole'],
    ['\r\nGET /x HTTP/1.1\r\n\r\n', 'an empty line in front (RFC 9112 §2.2)'],
    ['GET /x HTTP/1.0\r\n\r\n', 'HTTP/1.0'],
    ['GET /x HTTP/1.2\r\n\r\n', 'a version that does not exist'],
    ['GET /x\r\n\r\n', 'HTTP/0.9'],
    ['GET  /x HTTP/1.1\r\n\r\n', 'two spaces'],
    ['GET\t/x HTTP/1.1\r\n\r\n', 'a tab'],
    ['GET /x HTTP/1.1 \r\n\r\n', 'a space behind the version'],
    ['get /x HTTP/1.1\r\n\r\n', 'a method in lower case'],
    ['CONNECT /x HTTP/1.1\r\n\r\n', 'a tunnel'],
    ['REPORT /x HTTP/1.1\r\n\r\n', 'another method'],
    ['OPTIONS * HTTP/1.1\r\n\r\n', 'the asterisk form'],
    ['GET http://g/x HTTP/1.1\r\n\r\n', 'the absolute form'],
    ['GET g:80 HTTP/1.1\r\n\r\n', 'the authority form'],
    ['GET /\x7f HTTP/1.1\r\n\r\n', 'a control character in the target'],
    ['GET /\xe9 HTTP/1.1\r\n\r\n', 'a target beyond ASCII'],
    ['GET /x HTTP/1.1\nHost: g\r\n\r\n', 'a bare LF'],
    ['GET /x HTTP/1.1\r\nHost: g\n\r\n\r\n', 'a bare LF behind a field'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n\n', 'a bare LF as the empty line'],
    ['GET /x HTTP/1.1\r\nHost: g\rX: 1\r\n\r\n', 'a bare CR'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n X: 1\r\n\r\n', 'obs-fold'],
    ['GET /x HTTP/1.1\r\n Host: g\r\n\r\n', 'white space before the first field'],
    ['GET /x HTTP/1.1\r\nHost : g\r\n\r\n', 'a space before the colon'],
    ['GET /x HTTP/1.1\r\nHost\r\n\r\n', 'a field without a colon'],
    ['GET /x HTTP/1.1\r\n: g\r\n\r\n', 'a field without a name'],
    ['GET /x HTTP/1.1\r\nX: a\0b\r\n\r\n', 'NUL'],
    ['GET /x HTTP/1.1\r\nX\xe9: a\r\n\r\n', 'a name beyond ASCII'],
    [`${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 'a coding within chunks'],
    [`${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 'chunks twice'],
    [`${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`, 'chunks and a length'],
    [`${HEAD}transfer-ENCODING:\r\n\r\n`, 'a coding without a name'],
    [`${HEAD}Content-Length: 5\r\nTransfer-Encoding: identity\r\n\r\nhello`, 'a length and a coding'],
    [`${HEAD}Expect: 200-ok\r\nContent-Length: 5\r\n\r\n`, 'another expectation'],
    [`${HEAD}Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n`, 'an expectation twice'],
    [`${HEAD}Proxy-Connection: close\r\n\r\n`, 'a field that Node reads as Connection'],
    [`${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`, 'a length twice'],
    [`${HEAD}Content-Length: 5\r\ncontent-length: 6\r\n\r\nhello!`, 'two lengths'],
    ...['', '+5', '-5', '0x5', '5,5', '5, 5', '5 5', '5.0', '5e1', '\u0665', '1000000000000000', '5;'].map(
      (length) => [`${HEAD}Content-Length: ${length}\r\n\r\nhello`, `a length of ${length}`] as const,
    ),
  ];
  test.each(unusual)('%j: %s', (text) => {
    expect(read(text)).toBeUndefined();
  });

  test('but not a long body, whether it is there or not', () => {
    expect(read(`${HEAD}Content-Length: 999999999999999\r\n\r\n`)?.end).toBeGreaterThan(999_999_999_999_999);
    expect(read(`${HEAD}Content-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`)?.end).toBeGreaterThan(65_537);
  });

  test('a head larger than the limit, without its empty line', () => {
    const of = (bytes: number): string => {
      const front = 'GET /x HTTP/1.1\r\nX: ';
      return `${front}${'x'.repeat(bytes - front.length)}\r\n\r\n`;
    };
    expect(read(of(LIMIT))).toBeDefined();
    expect(read(of(LIMIT + 1))).toBeUndefined();
  });
});

/** The requests that Node's server read from bytes. */
interface Seen {
  readonly method: string | undefined;
  readonly target: string | undefined;
  readonly headers: readonly string[];
  readonly body: string;
  readonly isLast: boolean;
}

/** Both readers get the same bytes: a request that the gateway reads itself, Node must read alike. */
describe('whatever is read as a usual request, Node reads alike', () => {
  let server: Server;
  let seen: Seen[] = [];
  let isMet = (): void => {};

  beforeAll(() => {
    server = createServer({ maxHeaderSize: LIMIT, requireHostHeader: false }, note);
    server.on('clientError', () => isMet());
  });
  afterAll(() => void server.close());

  function note(incoming: IncomingMessage, outgoing: ServerResponse): void {
    let body = '';
    incoming.on('data', (chunk: Buffer) => {
      body += chunk.toString('latin1');
    });
    incoming.on('end', () => {
      const { method, url: target, rawHeaders: headers } = incoming;
      const isLast = !outgoing.shouldKeepAlive;
      seen.push({ method, target, headers, body, isLast });
      outgoing.end();
      if (target === '/marker' || isLast) isMet();
    });
  }

  /** Node's reading of a request, with a marker behind it that must be the next. */
  async function readByNode(bytes: Buffer): Promise<readonly Seen[]> {
    seen = [];
    const connection = new Duplex({ read: () => {}, write: (_chunk, _coding, done) => done() });
    const met = new Promise<void>((resolve) => {
      isMet = resolve;
    });
    server.emit('connection', connection);
    connection.push(Buffer.concat([bytes, Buffer.from('GET /marker HTTP/1.1\r\n\r\n')]));
    const late = setTimeout(isMet, 1000);
    await met;
    clearTimeout(late);
    connection.destroy();
    return seen;
  }

  // Parts that stand apart by a vertical bar.
  const oddities = [
    '\r|\n|\r\n|\r\n\r\n|\n\n|\0|\t| |\x0b|\x7f|\x80|\xff|:|,|;|#|##|?|/|\\|"|%|{|^|`|_|0|+|-|\r\n ',
    'close|, close|Content-Length: 3\r\n|Transfer-Encoding: chunked\r\n|Connection: close\r\n|Expect: x\r\n',
    'Upgrade: h2c\r\nConnection: upgrade\r\n',
  ].flatMap((list) => list.split('|'));
  const known = [
    'Host: g|Accept: */*|X:|X : y|X: \xe9|Cookie: a=b; c="d\\""|TE: trailers|Trailer: x|Keep-Alive: timeout=5',
    'Connection: close|Connection: keep-alive|connection: x, close|Connection: close x|Connection: x close',
    'Connection:\tclose|Connection: keep-alive,\tclose|Connection: closed|Connection: ,close,|CONNECTION: Close',
    'Connection: close\t|Connection: close \t, x|Connection: close, keep-alive|Proxy-Connection: close',
    'Connection: upgrade|Upgrade: h2c|Upgrade: websocket|HTTP2-Settings: AAMAAABkAAQAAP__|Expect: 100-continue',
    'Content-Length: 3|Content-Length: 03|Content-Length:3|Content-Length: 0|Content-Length: 3\t|Content-Length: 12',
    'Content-Length: 3 |Content-Length: +3|Content-Length: 3,3|Transfer_Encoding: chunked',
    'Transfer-Encoding: chunked|Transfer-Encoding: identity',
  ].flatMap((list) => list.split('|'));
  const fields = fc.oneof(
    fc.constantFrom(...known),
    fc
      .tuple(
        fc.string({ unit: fc.constantFrom(..."aZ09!#$%&'*+-.^_`|~".split('')), minLength: 1, maxLength: 18 }),
        fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)) }),
      )
      .map(([name, value]) => `${name}: ${value.replaceAll('\x7f', '')}`),
    fc
      .tuple(
        fc.constantFrom('Connection', 'Cookie', 'Accept', 'TE', 'Forwarded', 'Host'),
        separatorRuns(3000),
      )
      .map(([name, run]) => `${name}: ${run}`),
  );
  const targets = fc
    .string({
      unit: fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code)),
      maxLength: 12,
    })
    .map((text) => `/${text}`);
  const requests = fc
    .record({
      method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'get'),
      target: fc.oneof(
        targets,
        separatorRuns(3000).map((run) => `/${run}`),
        fc.constantFrom('/', '//', '/x?y#z', '*', 'http://g/', '/##', '/?#?#', '//g/x'),
      ),
      version: fc.constantFrom('1.1', '1.1', '1.1', '1.1', '1.0', '1.2', '2.0'),
      fields: fc.array(fields, { maxLength: 5 }),
      body: fc.constantFrom('', '', 'abc', 'abcdefghijkl', '3\r\nabc\r\n0\r\n\r\n'),
      // Where something odd is put, or a byte is taken away.
      mutations: fc.array(fc.tuple(fc.nat(), fc.option(fc.constantFrom(...oddities), { nil: undefined })), {
        maxLength: 2,
      }),
    })
    .map(({ method, target, version, fields: lines, body, mutations }) => {
      let text = `${method} ${target} HTTP/${version}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;
      for (const [place, oddity] of mutations) {
        const at = place % text.length;
        text = text.slice(0, at) + (oddity ?? '') + text.slice(oddity === undefined ? at + 1 : at);
      }
      return text;
    });

  /** The body behind a head, and where it ends; undefined when it is incomplete or faulty. */
  function bodyIn(
    bytes: Buffer,
    { bodyAt, end }: FastPathRequest,
  ): { body: string; end: number } | undefined {
    if (Number.isFinite(end))
      return end > bytes.length ? undefined : { body: bytes.toString('latin1', bodyAt, end), end };
    const chunks = new ChunkedBody(new Socket(), LIMIT);
    let body = '';
    chunks.on('data', (part) => {
      body += Buffer.from(part).toString('latin1');
    });
    chunks.on('end', () => {});
    const rest = chunks.take(Buffer.from(bytes.subarray(bodyAt)));
    return chunks.isComplete ? { body, end: bytes.length - rest.length } : undefined;
  }

  const runs = fuzzRuns(5000);
  test('random and mutated requests', fuzzTime(), async () => {
    let accepted = 0;
    await fc.assert(
      fc.asyncProperty(requests, async (text) => {
        const bytes = Buffer.from(text, 'latin1');
        const request = readFastPathRequest(bytes, LIMIT);
        const read = request === undefined ? undefined : bodyIn(bytes, request);
        if (request === undefined || read === undefined) return;
        accepted += 1;
        const { method, target, lines, isLast } = request;
        const { body, end } = read;
        const [first, second, ...more] = await readByNode(bytes.subarray(0, end));
        expect(first).toEqual({ method, target, headers: lines.fields, body, isLast });
        // Node drops bytes that arrive together with an offer that it ignores, and would read on in the middle of them.
        if (/^upgrade:/im.test(text)) return;
        expect([second?.target, ...more]).toEqual([isLast ? undefined : '/marker']);
      }),
      { numRuns: runs },
    );
    expect(accepted).toBeGreaterThan(runs / 10);
  });
});
