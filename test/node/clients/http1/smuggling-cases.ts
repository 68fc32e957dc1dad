/**
 * Requests that some reader takes for two. Each has the second one, `next`, in a place where RFC 9112 sees content of the first one, or has
 * no reading at all: whoever sends it on as a request of its own was smuggled through. Made from the spellings below instead of listed
 * one by one, as the public corpora are.
 */
interface SmugglingCase {
  readonly name: string;
  /** The target of the first request is `x` below the prefix, which stands in it first. */
  readonly bytes: string;
  /** True where a reader of RFC 9112 has to refuse it. */
  readonly isRefused: boolean;
}

/** The request that must never be seen. */
export function nextRequest(prefix: string): string {
  return `GET ${prefix}/smuggled HTTP/1.1\r\nHost: g\r\n\r\n`;
}

const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const LAST = '0\r\n\r\n';

/** Spellings of a name of two words that some reader takes for it, and some other for another one or none (RFC 9112 §5). */
function namesLike(first: string, second: string): readonly string[] {
  const name = `${first}-${second}`;
  return [
    ...[':', ' :', '\t:', '::', '\0:', '\x0b:', '\r:', '\xa0:'].map((end) => `${name}${end}`),
    ...[' ', '\t', 'X: x\n', 'X: x\r', 'X: x\r\n '].map((front) => `${front}${name}:`),
    `"${name}":`,
    `${first}_${second}:`,
    `${first} ${second}:`,
    `${first}\r\n -${second}:`,
  ];
}

/** Texts around a value that some reader takes for nothing; `#` is the value. */
const AROUND = [
  ' # ',
  '\t#',
  '\x0b#',
  '#\x0b',
  '\x0c#',
  '\0#',
  '#\0',
  '#\x7f',
  '#\xa0',
  '"#"',
  "'#'",
  '\n#',
  '\r#',
  '#\r',
];

/** Lines that some reader takes for `Transfer-Encoding: chunked` and some other for nothing (RFC 9112 §5, §6.1). */
const CODINGS: readonly string[] = [
  ...[
    ...namesLike('Transfer', 'Encoding'),
    'transfer-encoding:',
    '\0Transfer-Encoding:',
    'Transfer-Encoding\x0c:',
    '\xef\xbb\xbfTransfer-Encoding:',
    'Transfer-Encoding =',
    'X: x\r\n\tTransfer-Encoding:',
    'X: x\0\r\nTransfer-Encoding:',
  ].map((name) => `${name} chunked`),
  'TRANSFER-ENCODING:chunked',
  ...[
    ...AROUND.filter((text) => text !== '\n#').map((text) => text.replace('#', 'chunked')),
    'Chunked',
    'CHUNKED',
    'chunked\t',
    'chunked\x0c',
    'chun\0ked',
    '\xa0chunked',
    '\x85chunked',
    '\xffchunked',
    'chunked,',
    ',chunked',
    'chunked,,',
    'chunked, chunked',
    'chunked, identity',
    'identity, chunked',
    'identity,chunked',
    'gzip, chunked',
    'chunked, gzip',
    'chunked;q=1',
    'chunked; a=b',
    'chunked ;',
    'xchunked',
    'x-chunked',
    'chunkedx',
    'chunked chunked',
    'chunk',
    'identity',
    'trailers',
    'cow',
    '',
    ' ',
    '\r\n chunked',
    '\r\n\tchunked',
    '\n chunked',
    'chunked\r\n ',
    'chunked\r\n , identity',
    'identity\r\nTransfer-Encoding: chunked',
    'chunked\r\nTransfer-Encoding: identity',
    'chunked\r\nTransfer-Encoding: chunked',
    'chunked\r\nTransfer-Encoding: cow',
    'chunked\r\nTransfer-Encoding:',
    'chunked\r\nTransfer_Encoding: identity',
  ].map((value) => `Transfer-Encoding: ${value}`),
];

/** Lines that some reader takes for the length `#`, and some other for another one or none (RFC 9110 §8.6). */
const LENGTHS: readonly string[] = [
  ...namesLike('Content', 'Length').map((name) => `${name} #`),
  'content-length:#',
  ...[
    ...AROUND,
    '+#',
    '-#',
    '0#',
    '000000000000000000000#',
    '# #',
    '#,#',
    '#, #',
    '#,0',
    '0,#',
    '#;',
    '#;a=b',
    '#.0',
    '#e0',
    '0x#',
    '#_0',
    '',
    'NaN',
    '\xb2#',
    '18446744073709551616',
    '18446744073709551616#',
    '4294967296',
    '\r\n #',
    '#\r\n 0',
    '0\r\nContent-Length: #',
    '#\r\nContent-Length: 0',
    '#\r\nContent-Length: #',
    '#\r\nContent_Length: 0',
    '#\r\ncontent-length: 0',
  ].map((value) => `Content-Length: ${value}`),
];

/** Lines that some reader takes for the size `#` of a chunk (RFC 9112 §7.1). */
const SIZES: readonly string[] = [
  '#\r\n',
  '0#\r\n',
  '00000000000000000#\r\n',
  '#;\r\n',
  '#;a\r\n',
  '#;a=b\r\n',
  '#;a="b"\r\n',
  '#;a="b\r\n',
  '#;a="\n"\r\n',
  '#;\n\r\n',
  '#;a\nb\r\n',
  '#;a\rb\r\n',
  '#;a\0\r\n',
  '#;\n',
  '#;a\r',
  '# ;a\r\n',
  '# \r\n',
  '#\t\r\n',
  ' #\r\n',
  '\t#\r\n',
  '#\n',
  '#\r',
  '#\r\r\n',
  '#\n\r\n',
  '#\0\r\n',
  '#\x0b\r\n',
  '#\xa0\r\n',
  '#,\r\n',
  '#.0\r\n',
  '#_\r\n',
  '#g\r\n',
  '# #\r\n',
  '+#\r\n',
  '-#\r\n',
  '0x#\r\n',
  '0X#\r\n',
  '"#"\r\n',
  '\r\n#\r\n',
  '\n#\r\n',
  'ffffffffffffffff\r\n',
  '10000000000000000\r\n',
  '1000000000000000#\r\n',
  '100000000#\r\n',
];

/** What stands between the data of a chunk and the next size, where only CR LF may. */
const CHUNK_ENDS: readonly string[] = ['', '\n', '\r', '\r\r\n', '\n\n', ' \r\n', 'xx', '\0\0', '\r\n\r\n'];

/** Invalid last chunks, after which some reader sees the next request. */
const FALSE_LASTS: readonly string[] = [
  '0\n\n',
  '0\r\r',
  '0\n\r\n',
  '0\r\n\n',
  '0\r\r\n\r\n',
  '0 \r\n\r\n',
  '-0\r\n\r\n',
  '+0\r\n\r\n',
  '0x0\r\n\r\n',
  '0;\n\r\n\r\n',
  '0\0\r\n\r\n',
  '\r\n\r\n',
  '0\r\n \r\n\r\n',
  '0\r\nX\r\n\r\n',
  '0\r\nX : 1\r\n\r\n',
  '0\r\nX: 1\n\r\n',
  '0\r\nX: 1\r\n Y: 1\r\n\r\n',
  '0\r\n: 1\r\n\r\n',
];

/** Ends of a head that are invalid, or that only some readers take for an end. */
const FALSE_ENDS: readonly string[] = [
  'X: a\n\n',
  'X: a\r\r',
  'X: a\r\n\n',
  'X: a\n\r\n',
  'X: a\r\n\r',
  'X: a\r\n \r\n\r\n',
  'X: a\r\n\t\r\n\r\n',
  'X: a\0\r\n\r\n',
  'X\r\n\r\n',
  ': a\r\n\r\n',
  'X y: a\r\n\r\n',
  'Host: h\r\n\r\n',
  'X: a\r\n\x0b\r\n\r\n',
];

/** Heads with a right length and a field that makes some reader forget it. */
const DISTRACTIONS: readonly string[] = [
  'Connection: Content-Length',
  'Connection: close, Content-Length',
  'Connection: keep-alive, Transfer-Encoding',
  'Keep-Alive: timeout=5',
  'Expect: 100-continue',
  'Expect: y 100-continue',
  'Expect:\t100-continue',
  'Expect: 100-Continue, x',
  'Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA',
  'Upgrade: websocket\r\nConnection: Upgrade',
  'X-HTTP-Method-Override: HEAD',
  'X-HTTP-Method: GET',
  'Content-Encoding: chunked',
  'TE: trailers, chunked',
  'Trailer: Content-Length',
  'Content-Range: bytes 0-0/1',
  'Proxy-Connection: close',
  'X-Content-Length: 0',
  'Content-Length-X: 0',
];

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PUT', 'PATCH', 'TRACE', 'get', 'FOO'] as const;

const LINES: readonly string[] = [
  'POST /p/x HTTP/1.1\n',
  'POST  /p/x HTTP/1.1\r\n',
  'POST\t/p/x HTTP/1.1\r\n',
  'POST /p/x  HTTP/1.1\r\n',
  'POST /p/x HTTP/1.1 HTTP/1.1\r\n',
  'POST /p/x HTTP/1.10\r\n',
  'POST /p/x HTTP/01.1\r\n',
  'POST /p/x http/1.1\r\n',
  'POST /p/x HTTP/2.0\r\n',
  'POST /p/x HTTP/1.1\0\r\n',
  'POST /p/x\x0bHTTP/1.1\r\n',
  'POST /p/x\r\n',
  'POST /p/x\r HTTP/1.1\r\n',
  '\0POST /p/x HTTP/1.1\r\n',
  ' POST /p/x HTTP/1.1\r\n',
];

function shown(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function sized(line: string, body: string): string {
  return `${line.replaceAll('#', String(body.length))}\r\n\r\n${body}`;
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

/** All of HTTP/1.1, each under its own name. */
export function smugglingCases(prefix: string): readonly SmugglingCase[] {
  const next = nextRequest(prefix);
  const GET = `GET ${prefix}/x HTTP/1.1\r\nHost: g\r\n`;
  const POST = `POST ${prefix}/x HTTP/1.1\r\nHost: g\r\n`;
  const codings = CODINGS.flatMap((line): SmugglingCase[] => {
    const body = `${LAST}${next}`;
    const inChunk = `${chunk(next)}${LAST}`;
    const first = inChunk.indexOf(next);
    return [
      {
        name: `CL.TE ${shown(line)}`,
        bytes: `${POST}${line}\r\n${sized('Content-Length: #', body)}`,
        isRefused: true,
      },
      {
        name: `TE.CL ${shown(line)}`,
        bytes: `${POST}Content-Length: ${first}\r\n${line}\r\n\r\n${inChunk}`,
        isRefused: true,
      },
      { name: `TE ${shown(line)}`, bytes: `${POST}${line}\r\n\r\n${inChunk}`, isRefused: false },
      { name: `0.TE ${shown(line)}`, bytes: `${GET}${line}\r\n\r\n${inChunk}`, isRefused: false },
    ];
  });
  const lengths = LENGTHS.flatMap((line): SmugglingCase[] => [
    { name: `CL.0 ${shown(line)}`, bytes: `${POST}${sized(line, next)}`, isRefused: false },
    { name: `0.CL ${shown(line)}`, bytes: `${GET}${sized(line, next)}`, isRefused: false },
  ]);
  const size = next.length.toString(16);
  const open = `${POST}${CHUNKED}\r\n`;
  return [
    ...codings,
    ...lengths,
    ...METHODS.map((method) => ({
      name: `CL.0 ${method}`,
      bytes: `${method} ${prefix}/x HTTP/1.1\r\nHost: g\r\n${sized('Content-Length: #', next)}`,
      isRefused: false,
    })),
    ...SIZES.map((line) => ({
      name: `chunk size ${shown(line)}`,
      bytes: `${open}${line.replaceAll('#', size)}${next}\r\n${LAST}`,
      isRefused: false,
    })),
    ...CHUNK_ENDS.map((end) => ({
      name: `end of a chunk ${shown(end)}`,
      bytes: `${open}1\r\nx${end}${chunk(next)}${LAST}`,
      isRefused: true,
    })),
    ...FALSE_LASTS.map((last) => ({
      name: `last chunk ${shown(last)}`,
      bytes: `${open}1\r\nx\r\n${last}${next}`,
      isRefused: true,
    })),
    ...FALSE_ENDS.map((end) => ({
      name: `end of a head ${shown(end)}`,
      bytes: `${GET}${end}${next}`,
      isRefused: true,
    })),
    ...DISTRACTIONS.map((field) => ({
      name: `beside ${shown(field)}`,
      bytes: `${POST}${field}\r\n${sized('Content-Length: #', next)}`,
      isRefused: false,
    })),
    ...LINES.map((line) => ({
      name: `line ${shown(line)}`,
      bytes: `${line.replace('/p', prefix)}Host: g\r\n${sized('Content-Length: #', next)}`,
      isRefused: true,
    })),
    {
      name: 'HTTP/1.0 with chunks',
      bytes: `${POST.replace('HTTP/1.1', 'HTTP/1.0')}${CHUNKED}\r\n${chunk(next)}${LAST}`,
      isRefused: true,
    },
  ];
}

/** A request of HTTP/2 that becomes two where its fields are copied into a head of HTTP/1.1 (RFC 9113 §8.2.1, §8.3.1, §10.3). */
interface DowngradeCase {
  readonly name: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly body: string;
}

/** All of HTTP/2, each under its own name. */
export function downgradeCases(prefix: string): readonly DowngradeCase[] {
  const next = nextRequest(prefix);
  const pseudo = { ':method': 'POST', ':scheme': 'https', ':authority': 'g', ':path': `${prefix}/x` };
  const head = (changed: Partial<typeof pseudo> = {}): [string, string][] =>
    Object.entries({ ...pseudo, ...changed });
  const content = `${LAST}${next}`;
  const beside = (name: string, value: string): DowngradeCase => ({
    name: `${shown(name)}: ${shown(value)}`,
    fields: [...head(), [name, value]],
    body: content,
  });
  const injected = `x\r\n\r\n${next}`;
  const line = `x HTTP/1.1\r\nHost: g\r\n\r\n${next}`;
  return [
    ...['chunked', 'Chunked', 'identity', 'chunked, identity', ' chunked', ''].map((value) =>
      beside('transfer-encoding', value),
    ),
    ...[
      'transfer-encoding ',
      ' transfer-encoding',
      'transfer_encoding',
      'Transfer-Encoding',
      'transfer-encoding:',
      'transfer-encoding\0',
      'x\r\ntransfer-encoding',
      'x: 1\r\ntransfer-encoding',
      'x\ntransfer-encoding',
      'x\rtransfer-encoding',
    ].map((name) => beside(name, 'chunked')),
    ...['0', '5', '+5', '-1', '0x5', '5, 5', '1000', ' 5', '05', '5\0', ''].map((value) =>
      beside('content-length', value),
    ),
    ...['content_length', 'Content-Length', 'content-length ', 'x\r\ncontent-length'].map((name) =>
      beside(name, '0'),
    ),
    ...['\r\n', '\n', '\r', '\0', '\r\n ', '\n\n'].map((end) =>
      beside('x-a', `x${end}transfer-encoding: chunked`),
    ),
    beside('x-a', injected),
    beside('cookie', `a=b\r\n\r\n${next}`),
    beside('authorization', `Bearer x\r\n\r\n${next}`),
    beside(injected, 'x'),
    beside(`x: ${injected}`, 'x'),
    beside('', 'x'),
    beside(':', 'x'),
    beside(':path', `${prefix}/y`),
    beside('host', `g\r\n\r\n${next}`),
    beside('connection', 'transfer-encoding'),
    beside('connection', 'content-length'),
    beside('upgrade', 'h2c'),
    beside('keep-alive', 'timeout=5'),
    beside('expect', '100-continue'),
    ...[line, line.replaceAll('\r', ''), `x ${next}`, 'x\t', 'x\0', 'x\x7f'].map((rest) => ({
      name: `:path ${shown(rest)}`,
      fields: head({ ':path': `${prefix}/${rest}` }),
      body: content,
    })),
    ...[`GET ${prefix}/smuggled HTTP/1.1\r\nHost: g\r\n\r\nPOST`, 'POST /x', 'POST\r\n', ' POST', ''].map(
      (method) => ({
        name: `:method ${shown(method)}`,
        fields: head({ ':method': method }),
        body: content,
      }),
    ),
    ...[injected, 'g\r\nTransfer-Encoding: chunked', 'g g', 'u@g', ''].map((authority) => ({
      name: `:authority ${shown(authority)}`,
      fields: head({ ':authority': authority }),
      body: content,
    })),
    ...[`https\r\n\r\n${next}`, 'http:', ''].map((scheme) => ({
      name: `:scheme ${shown(scheme)}`,
      fields: head({ ':scheme': scheme }),
      body: content,
    })),
  ];
}
