import { createServer, type IncomingMessage, METHODS, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChunkedBody } from '../../../../src/node/clients/http1/chunked.ts';
import {
  emptyLinesAt,
  type H1Request,
  PartialHead,
  readRequest,
  RefusedHead,
} from '../../../../src/node/clients/http1/request.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { separatorRuns } from '../../../support/separators.ts';

const LIMIT = 16 * 1024;
const outcome = (text: string): ReturnType<typeof readRequest> =>
  readRequest(Buffer.from(text, 'latin1'), LIMIT);
const read = (text: string): H1Request | undefined => {
  const request = outcome(text);
  return request instanceof RefusedHead ? undefined : request;
};
/** The status that a text is refused with, or what it is. */
const verdict = (text: string): number | string => {
  const request = outcome(text);
  if (request === undefined) return 'partial';
  return request instanceof RefusedHead ? request.failure.status : 'read';
};
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

describe('heads', () => {
  const heads: readonly (readonly [text: string, verdict: number | string, title: string])[] = [
    ['', 'partial', 'nothing'],
    ['G', 'partial', 'part of a method'],
    ['OPTIONS', 'partial', 'a method'],
    ['GET ', 'partial', 'no target yet'],
    ['GET /x HTTP/1', 'partial', 'part of a version'],
    ['GET /x HTTP/1.1\r', 'partial', 'half a CRLF'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n', 'partial', 'a head that is not whole'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n\r', 'partial', 'half an empty line'],
    ['\r', 'partial', 'half an empty line in front'],
    ['\x16\x03\x01', 400, 'TLS'],
    ['GET\t/x', 400, 'a tab behind the method'],
    ['GET /x HTTP/1.1\nHost', 400, 'a bare LF, before the head is whole'],
    ['GET /x HTTP/1.1\r\nHost: g\n', 400, 'a bare LF behind a field, before the head is whole'],
    ['GET  /x HTTP/1.1\r\nHost: g', 400, 'two spaces, before the head is whole'],
    ['GET /x HTTP/3.0\r\n', 505, 'another version, before the head is whole'],
    ['GET /x\r\n', 400, 'HTTP/0.9, which has nothing else'],
    ['A'.repeat(257), 400, 'the beginning of a method that is none'],
    [`${'A'.repeat(257)} /x HTTP/1.1\r\n`, 400, 'a method that is none'],
    [`GET /x HTTP/1.1\r\nX: ${'x'.repeat(LIMIT + 1024)}`, 431, 'more bytes than a head may have'],
    ['GET /x HTTP/1.0\r\n\r\n', 'read', 'HTTP/1.0'],
    ['GET /x HTTP/1.2\r\n\r\n', 505, 'a version that does not exist'],
    ['GET /x HTTP/2.0\r\n\r\n', 505, 'a version of other frames'],
    ['GET /x HTTP/1.10\r\n\r\n', 400, 'a version of three digits'],
    ['GET /x http/1.1\r\n\r\n', 400, 'a version in lower case'],
    ['GET /x\r\n\r\n', 400, 'HTTP/0.9'],
    ['GET\r\n\r\n', 400, 'a method alone'],
    [' /x HTTP/1.1\r\n\r\n', 400, 'no method'],
    ['GET  HTTP/1.1\r\n\r\n', 400, 'no target'],
    ['GET  /x HTTP/1.1\r\n\r\n', 400, 'two spaces'],
    ['GET /x  HTTP/1.1\r\n\r\n', 400, 'two spaces before the version'],
    ['GET /x y HTTP/1.1\r\n\r\n', 400, 'a space in the target'],
    ['GET\t/x HTTP/1.1\r\n\r\n', 400, 'a tab'],
    ['GET /x HTTP/1.1 \r\n\r\n', 400, 'a space behind the version'],
    ['PRI * HTTP/2.0\r\n\r\n', 505, 'the preface of HTTP/2'],
    ['PRI * HTTP/2.0\r\n', 505, 'the preface of HTTP/2, before it is whole'],
    ['PRI * HTTP/1.1\r\n\r\n', 400, 'the preface of HTTP/2, with this version'],
    ['get /x HTTP/1.1\r\n\r\n', 'read', 'a method in lower case, which is another one'],
    ['CONNECT g:80 HTTP/1.1\r\n\r\n', 'read', 'a tunnel, which the decision refuses'],
    ['REPORT /x HTTP/1.1\r\n\r\n', 'read', 'another method'],
    ["X!#$%&'*+-.^_`|~9 /x HTTP/1.1\r\n\r\n", 'read', 'any token as a method (RFC 9110 §9.1)'],
    ['G(T /x HTTP/1.1\r\n\r\n', 400, 'a method that is no token'],
    ['OPTIONS * HTTP/1.1\r\n\r\n', 'read', 'the asterisk form'],
    ['OPTIONS *x HTTP/1.1\r\n\r\n', 400, 'more than an asterisk'],
    ['GET http://g/x HTTP/1.1\r\n\r\n', 'read', 'the absolute form'],
    ['GET g:80 HTTP/1.1\r\n\r\n', 400, 'the authority form'],
    ['GET /\x7f HTTP/1.1\r\n\r\n', 400, 'a control character in the target'],
    ['GET /\xe9 HTTP/1.1\r\n\r\n', 'read', 'a target beyond ASCII, which the decision knows'],
    ['GET /x HTTP/1.1\nHost: g\r\n\r\n', 400, 'a bare LF'],
    ['GET /x HTTP/1.1\r\nHost: g\n\r\n\r\n', 400, 'a bare LF behind a field'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n\n', 400, 'a bare LF as the empty line'],
    ['GET /x HTTP/1.1\r\nHost: g\rX: 1\r\n\r\n', 400, 'a bare CR'],
    ['GET /x HTTP/1.1\r\nHost: g\r\n X: 1\r\n\r\n', 400, 'obs-fold'],
    ['GET /x HTTP/1.1\r\n Host: g\r\n\r\n', 400, 'white space before the first field'],
    ['GET /x HTTP/1.1\r\nHost : g\r\n\r\n', 400, 'a space before the colon'],
    ['GET /x HTTP/1.1\r\nHost\r\n\r\n', 400, 'a field without a colon'],
    ['GET /x HTTP/1.1\r\n: g\r\n\r\n', 400, 'a field without a name'],
    ['GET /x HTTP/1.1\r\nX: a\0b\r\n\r\n', 400, 'NUL'],
    ['GET /x HTTP/1.1\r\nX\xe9: a\r\n\r\n', 400, 'a name beyond ASCII'],
    [`${HEAD}Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`, 400, 'a coding around chunks'],
    [`${HEAD}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`, 400, 'chunks and a length'],
    [`${HEAD}Content-Length: 5\r\nTransfer-Encoding: identity\r\n\r\nhello`, 400, 'a length and a coding'],
    [`${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`, 400, 'a length twice'],
    [`${HEAD}Content-Length: 5\r\ncontent-length: 6\r\n\r\nhello!`, 400, 'two lengths'],
    ...['', '+5', '-5', '0x5', '5,5', '5, 5', '5 5', '5.0', '5e1', '1000000000000000', '5;'].map(
      (length) => [`${HEAD}Content-Length: ${length}\r\n\r\nhello`, 400, `a length of ${length}`] as const,
    ),
  ];
  test.each(heads)('%j: %s, %s', (text, expected) => {
    expect(verdict(text)).toBe(expected);
  });

  // A request that the decision refuses has no body: its connection closes, and nothing after the head is read.
  test.each([
    [`${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    [`${HEAD}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    [`${HEAD}transfer-ENCODING:\r\n\r\n`],
    [`${HEAD.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['CONNECT g:80 HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhello'],
  ])('%j: its end is not known', (text) => {
    const request = read(text);
    expect(request?.end).toBe(request?.bodyAt);
    expect(request?.isLast).toBe(true);
  });

  test.each([
    ['', true],
    ['Connection: keep-alive\r\n', false],
    ['Connection: x, Keep-Alive\r\n', false],
    ['Connection: keep-alive, close\r\n', true],
    ['Proxy-Connection: keep-alive\r\n', true],
  ])('HTTP/1.0 with %j: the connection closes: %s', (fields, isLast) => {
    expect(read(`GET /x HTTP/1.0\r\n${fields}\r\n`)).toMatchObject({ version: '1.0', isLast });
  });

  test('an expectation holds for HTTP/1.1 alone, and Proxy-Connection is no Connection', () => {
    expect(read(`${HEAD}Expect: 200-ok\r\nContent-Length: 5\r\n\r\n`)?.expectsContinue).toBe(true);
    expect(
      read(`${HEAD.replace('1.1', '1.0')}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`)?.expectsContinue,
    ).toBe(false);
    expect(read(`${HEAD}Proxy-Connection: close\r\n\r\n`)?.isLast).toBe(false);
  });

  test.each([
    ['GET', 0],
    ['\r\nGET', 2],
    ['\r\n\n\r\n', 5],
    ['\rGET', 0],
    ['\r\n\r', 2],
  ])('%j begins with %i bytes of empty lines', (text, length) => {
    expect(emptyLinesAt(Buffer.from(text))).toBe(length);
  });

  test('a refused HEAD is known as a HEAD', () => {
    expect(outcome('HEAD g:80 HTTP/1.1\r\n\r\n')).toMatchObject({ isHead: true });
    expect(outcome('HEADS g:80 HTTP/1.1\r\n\r\n')).toMatchObject({ isHead: false });
  });

  test('a request with a long body is read, whether the body has arrived or not', () => {
    expect(read(`${HEAD}Content-Length: 999999999999999\r\n\r\n`)?.end).toBeGreaterThan(999_999_999_999_999);
    expect(read(`${HEAD}Content-Length: 65537\r\n\r\n${'x'.repeat(65_537)}`)?.end).toBeGreaterThan(65_537);
  });

  test('target, names and values of a head may have as many bytes as the limit, less one', () => {
    const of = (bytes: number): string => `GET /x HTTP/1.1\r\nX: ${'x'.repeat(bytes - '/xX'.length)}\r\n\r\n`;
    expect(verdict(of(LIMIT - 1))).toBe('read');
    expect(verdict(of(LIMIT))).toBe(431);
  });
});

describe('bytes that are added to a partial head', () => {
  test.each([
    ['the end of the head', 'GET / HTTP/1.1\r\nHost: g\r\n\r\n'],
    ['a bare LF', 'GET / HTTP/1.1\r\nHost: g\n'],
    ['the end of the request line', 'GET / HTTP/1.1\r\n'],
    ['too many bytes', `GET / HTTP/1.1\r\nX: ${'x'.repeat(1000)}`],
  ])('are judged at %s, wherever they are cut', (_what, text) => {
    const bytes = Buffer.from(text, 'latin1');
    for (let cut = 1; cut < bytes.length; cut += 1) {
      const head = new PartialHead(bytes.subarray(0, cut), 1000);
      for (let at = cut; at < bytes.length - 1; at += 1) head.add(bytes.subarray(at, at + 1));
      expect(head.add(bytes.subarray(bytes.length - 1))).toBe(true);
      if (cut < bytes.length - 1) expect(head.received().equals(bytes)).toBe(true);
    }
  });

  test('take memory for themselves, not for the buffer that they came in', () => {
    const head = new PartialHead(Buffer.alloc(65_536).subarray(0, 1), LIMIT);
    expect(head.received().buffer.byteLength).toBeLessThan(65_536);
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

/** Where the gateway reads a request that Node's parser reads in another way, with the reason. */
const DIFFERENCES: readonly (readonly [
  why: string,
  differs: (text: string, request: H1Request) => boolean,
])[] = [
  [
    'any token is a method (RFC 9110 §9.1); Node has a list',
    (_text, { method }) => !METHODS.includes(method),
  ],
  [
    'Proxy-Connection is no Connection (RFC 9112 appendix C.2.2)',
    (text) => /^proxy-connection:/im.test(text),
  ],
  ['a target beyond ASCII is for the decision', (_text, { target }) => /[\x80-\xff]/.test(target)],
  [
    'so is the authority of an absolute target',
    (_text, { target }) => !/^(?:\/|\*$|http:\/\/g\/$)/.test(target),
  ],
  [
    'Node responds to any other expectation itself',
    (text) => /^expect:(?![ \t]*100-continue[ \t]*\r?$)/im.test(text),
  ],
  [
    'a coding that is refused has no body',
    (text, { end, bodyAt }) => end === bodyAt && /^transfer-encoding:/im.test(text),
  ],
  [
    'close goes before keep-alive in HTTP/1.0 as well',
    (text, { version }) => version === '1.0' && /^connection:.*close/im.test(text),
  ],
  [
    'a trailer says nothing about the connection (RFC 9110 §6.5.1)',
    (text, { bodyAt, end }) => !Number.isFinite(end) && /^connection:/im.test(text.slice(bodyAt)),
  ],
];

/** Lines that the gateway refuses though Node's parser reads a request, each with the reason. */
const REFUSALS: readonly (readonly [why: string, refuses: (line: string) => boolean])[] = [
  [
    'other versions have other rules (RFC 9112 §2.3); Node reads 2.0, and a line without a version',
    (line) => !/ HTTP\/1\.[01]$/.test(line),
  ],
  ['one space stands between the parts of a line (§3); Node skips several', (line) => line.includes('  ')],
  ['the asterisk form is an asterisk alone (§3.2.4)', (line) => /^\S+ \*\S/.test(line)],
  ['a CR without its LF ends no line (§2.2)', (line) => line.startsWith('\r')],
  ['nor does an LF without its CR; Node lets it end a line without a version', (line) => line.includes('\n')],
];

/** Both readers get the same bytes: Node must read every request as the gateway does, and the gateway every request as Node does. */
describe('Node reads every request as the gateway does', () => {
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
  function bodyIn(bytes: Buffer, { bodyAt, end }: H1Request): { body: string; end: number } | undefined {
    if (Number.isFinite(end))
      return end > bytes.length ? undefined : { body: bytes.toString('latin1', bodyAt, end), end };
    const chunks = new ChunkedBody(new Socket(), LIMIT);
    let body = '';
    chunks.on('data', (part) => {
      body += Buffer.from(part).toString('latin1');
    });
    chunks.on('end', () => {});
    const rest = chunks.receive(Buffer.from(bytes.subarray(bodyAt)));
    return chunks.isComplete ? { body, end: bytes.length - rest.length } : undefined;
  }

  const runs = fuzzRuns(5000);
  test('random and mutated requests', fuzzTime(), async () => {
    let accepted = 0;
    let refused = 0;
    await fc.assert(
      fc.asyncProperty(requests, async (text) => {
        const sent = Buffer.from(text, 'latin1');
        // As a connection does with the lines in front of a request.
        const bytes = sent.subarray(emptyLinesAt(sent));
        const request = readRequest(bytes, LIMIT);
        if (request === undefined) return;
        if (request instanceof RefusedHead) {
          const [line = ''] = bytes.toString('latin1').split('\r\n', 1);
          if (REFUSALS.some(([, refuses]) => refuses(line))) return;
          refused += 1;
          const [first] = await readByNode(bytes);
          expect(first).toBeUndefined();
          return;
        }
        const read = bodyIn(bytes, request);
        if (read === undefined || DIFFERENCES.some(([, differs]) => differs(text, request))) return;
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
    expect(Math.min(accepted, refused * 4)).toBeGreaterThan(runs / 10);
  });
});
