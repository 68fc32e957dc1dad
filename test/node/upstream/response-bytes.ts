import * as fc from 'fast-check';
import { separatorRuns } from '../../support/separators.ts';

/** A response as a server may write it, right or wrong, and how it arrives. */
export interface WrittenResponse {
  /** Of the request. */
  readonly method: 'GET' | 'HEAD';
  /** Latin-1; the connection closes behind it. */
  readonly text: string;
  /** Where the pieces end in which it comes. */
  readonly cuts: readonly number[];
}

/** Responses that are mostly right, with something wrong in them now and then, in pieces. */
export function responses(): fc.Arbitrary<WrittenResponse> {
  return fc
    .record({
      method: fc.oneof({ weight: 5, arbitrary: fc.constant('GET' as const) }, fc.constant('HEAD' as const)),
      interims: rarely('', fc.array(fc.constantFrom(...INTERIMS), { maxLength: 3 }).map(joined)),
      statusLine: mostly(fc.constantFrom(...STATUS_LINES), fc.constantFrom(...ODD_STATUS_LINES)),
      before: fc.array(field(), { maxLength: 3 }).map(joined),
      framed: mostly(framed(), oddlyFramed()),
      after: fc.array(field(), { maxLength: 2 }).map(joined),
      behind: rarely('', fc.constantFrom(...BEHIND)),
      changes: rarely([], fc.array(change(), { minLength: 1, maxLength: 3 })),
      cuts: fc.array(fc.nat(400), { maxLength: 6 }),
    })
    .map(
      ({ method, interims, statusLine, before, framed: [fields, body], after, behind, changes, cuts }) => ({
        method,
        text: changes.reduce(
          changed,
          `${interims}${statusLine}\r\n${before}${fields}${after}\r\n${body}${behind}`,
        ),
        cuts,
      }),
    );
}

const INTERIMS = [
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 102 Processing\r\nX: 1\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nContent-Length: 3\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nContent-Length: f 3\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nTransfer-Encoding: chunked\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
];

const STATUS_LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 404 Not Found',
  'HTTP/1.1 200 ',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 599 \u00e9',
  'HTTP/1.0 200 OK',
];

const ODD_STATUS_LINES = [
  'HTTP/1.1 200',
  'HTTP/1.1 000 Zero',
  'HTTP/1.1 099 Low',
  'HTTP/1.1 999 High',
  'HTTP/1.1 1000 Long',
  'HTTP/1.1 20 Short',
  'HTTP/1.1  200 OK',
  'HTTP/1.1\t200 OK',
  'HTTP/1.1 200OK',
  'HTTP/1.1 -20 OK',
  'HTTP/1.2 200 OK',
  'HTTP/2.0 200 OK',
  'HTTP/0.9 200 OK',
  'HTTP/11 200 OK',
  'http/1.1 200 OK',
  'ICY 200 OK',
  ' HTTP/1.1 200 OK',
  '\r\nHTTP/1.1 200 OK',
  'HTTP/1.1 200 a\0b',
  'HTTP/1.1 200 a\rb',
  'hello',
  '',
];

const PLAIN_FIELDS = [
  'X: 1\r\n',
  'Set-Cookie: a=1\r\n',
  'set-cookie: b=2; Path=/\r\n',
  'Connection: keep-alive\r\n',
  'Connection: close\r\n',
  'Keep-Alive: timeout=5\r\n',
  'X-Empty:\r\n',
  'X-Space: \t a b \t\r\n',
  'X-Latin: \u00e9\u00ff\r\n',
];

const ODD_FIELDS = [
  'X : 1\r\n',
  ' X: 1\r\n',
  'X: 1\r\n folded\r\n',
  'X: 1\r\n\tfolded\r\n',
  'X\r\n',
  ': 1\r\n',
  'X: a\0b\r\n',
  'X: a\x7fb\r\n',
  'X: a\rb\r\n',
  'X: 1\n',
  'X(: 1\r\n',
  '\u00e9: 1\r\n',
  'Connection: upgrade\r\nUpgrade: h2c\r\n',
  'Proxy-Connection: close\r\n',
  'Content-Length: 3\r\n',
  'Transfer-Encoding: chunked\r\n',
];

const BEHIND = [
  '\r\n',
  'x',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison',
  'HTTP/1.1 100 Continue\r\n\r\n',
];

const ODD_LENGTHS = [
  '+3',
  '-3',
  '3, 3',
  '3,',
  '3 3',
  '0x3',
  '',
  '3;',
  '18446744073709551619',
  '3.0',
  '03',
  '3e0',
];

const CODINGS = [
  'Chunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'gzip',
  'identity',
  'chunked;q=1',
  'xchunked',
  '"chunked"',
  ',chunked',
  'chunked,',
  '',
];

const ODD_CHUNKS = [
  '3 \r\nabc\r\n',
  ' 3\r\nabc\r\n',
  '3;\r\nabc\r\n',
  '3;=1\r\nabc\r\n',
  '3;a=\r\nabc\r\n',
  '3;a="\r\nabc\r\n',
  '3;a="b"c\r\nabc\r\n',
  '3; a\r\nabc\r\n',
  '3 ;a\r\nabc\r\n',
  '3;a b\r\nabc\r\n',
  '3;a\0\r\nabc\r\n',
  '3\nabc\n',
  '3\rabc\r\n',
  '3\r\nabcd\r\n',
  '3\r\nabc\n',
  '3\r\nabc',
  '+3\r\nabc\r\n',
  '0x3\r\nabc\r\n',
  '3g\r\nabc\r\n',
  '\r\nabc\r\n',
  'ffffffffffffffff\r\nabc\r\n',
  '10000000000000003\r\nabc\r\n',
  '0000000000000003\r\nabc\r\n',
];

type Framed = readonly [fields: string, body: string];

function framed(): fc.Arbitrary<Framed> {
  const length = body().map((text): Framed => [`Content-Length: ${text.length}\r\n`, text]);
  const chunks = fc
    .tuple(fc.array(chunk(), { maxLength: 4 }), trailers())
    .map(([list, end]): Framed => ['Transfer-Encoding: chunked\r\n', `${joined(list)}${end}`]);
  return fc.oneof(
    length,
    chunks,
    body().map((text): Framed => ['', text]),
  );
}

function oddlyFramed(): fc.Arbitrary<Framed> {
  const chunks = fc.array(fc.oneof(chunk(), fc.constantFrom(...ODD_CHUNKS)), { minLength: 1, maxLength: 3 });
  return fc.oneof(
    fc.constantFrom(...ODD_LENGTHS).map((length): Framed => [`Content-Length: ${length}\r\n`, 'abc']),
    fc
      .constantFrom(...CODINGS)
      .map((coding): Framed => [`Transfer-Encoding: ${coding}\r\n`, '3\r\nabc\r\n0\r\n\r\n']),
    chunks.map((list): Framed => ['Transfer-Encoding: chunked\r\n', `${joined(list)}0\r\n\r\n`]),
    fc
      .constantFrom(...ODD_FIELDS)
      .map((line): Framed => ['Transfer-Encoding: chunked\r\n', `1\r\na\r\n0\r\n${line}\r\n`]),
    fc.nat(9).map((length): Framed => [`Content-Length: ${length}\r\n`, 'abc']),
  );
}

function body(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('', 'a', '{"data":{}}', '\r\n\r\n', '\0\xff', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n\r\n'),
    fc.nat(70).map((length) => 'y'.repeat(length)),
  );
}

function chunk(): fc.Arbitrary<string> {
  return fc
    .tuple(
      body().filter((text) => text !== ''),
      fc.constantFrom('', '', '', ';a', ';a=1', ';a="b c";d', ';a="\\""'),
      fc.constantFrom('', '0', '000'),
      fc.boolean(),
    )
    .map(([text, extension, zeros, isUpper]) => {
      const size = zeros + text.length.toString(16);
      return `${isUpper ? size.toUpperCase() : size}${extension}\r\n${text}\r\n`;
    });
}

function trailers(): fc.Arbitrary<string> {
  return fc
    .array(fc.constantFrom('X-Sum: 7\r\n', 'X-Empty:\r\n'), { maxLength: 2 })
    .map((lines) => `0\r\n${joined(lines)}\r\n`);
}

function field(): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 40, arbitrary: fc.constantFrom(...PLAIN_FIELDS) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('Link', 'Vary', 'Set-Cookie', 'Location', 'Content-Type'), separatorRuns(2000))
        .map(([name, run]) => `${name}: ${run}\r\n`),
    },
    { weight: 1, arbitrary: fc.constantFrom(...ODD_FIELDS) },
  );
}

/** One edit of the text, at a part of its length. */
interface Change {
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

function change(): fc.Arbitrary<Change> {
  const bytes = [
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    '\0',
    ':',
    ';',
    ',',
    '0',
    '1',
    'f',
    'H',
    '"',
    '\\',
    '\x7f',
    '\xff',
    '-',
    '+',
    '',
  ];
  return fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.nat(3),
    inserted: fc.constantFrom(...bytes),
  });
}

function changed(text: string, { at, removed, inserted }: Change): string {
  const start = Math.floor(at * text.length);
  return text.slice(0, start) + inserted + text.slice(start + removed);
}

function joined(parts: readonly string[]): string {
  return parts.join('');
}

function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 5, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

function rarely<T>(usual: T, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return mostly(fc.constant(usual), odd);
}

/** Messages that the gateway refuses and Node's parser accepts: two readers have read each of these differently. */
const STRICTER: readonly (readonly [rule: string, text: RegExp])[] = [
  ['the response begins with a status line of HTTP/1.0 or 1.1', /^(?!HTTP\/1\.[01] [1-5]\d\d[ \r])/],
  [
    'so does the one behind an interim response',
    /^(?:HTTP\/1\.1 1[^]*?\r\n\r\n)+(?!HTTP\/1\.[01] [1-5]\d\d[ \r])/,
  ],
  [
    'a reason holds no control characters',
    /^HTTP\/1\.\d \d{3} [\t\x20-\x7e\x80-\xff]*(?:\r[^\n]|[^\r\t\x20-\x7e\x80-\xff])/m,
  ],
  ['a length is up to 15 digits', /^content-length:(?![ \t]*\d{1,15}[ \t]*\r)/im],
  ['there is one length', /^content-length:[^]*^content-length:/im],
  ['chunked is the one coding', /^transfer-encoding:(?![ \t]*chunked[ \t]*\r)/im],
  ['it is there once, and not in a trailer', /^transfer-encoding:[^]*^transfer-encoding:/im],
  ['HTTP/1.0 has no chunks', /^HTTP\/1\.0 [^]*^transfer-encoding:/im],
  ['the size of a chunk is up to 12 digits', /^[0-9a-f]{13,}/im],
  [
    'an extension has a name, and a value behind its =',
    /^[0-9a-f]+;(?:[^\r\n]*;)?(?:=|[^=\r\n]*=(?:;|\r))/im,
  ],
];

/** The rule by which a response that Node's parser takes is refused; undefined when there is none. */
export function whyStricter(text: string): string | undefined {
  return STRICTER.find(([, pattern]) => pattern.test(text))?.[0];
}
