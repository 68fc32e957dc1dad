/**
 * What a server of HTTP/1.1 has to answer to requests that are odd, ambiguous or broken. The cases have the names that they have in
 * Http11Probe (MIT, Copyright (c) 2026 Diogo Martins), so that results compare: its 161 scored ones. `/api/v2/x` stands for its `/`; the
 * section is one of RFC 9110, 9112 or 6455.
 *
 * What a case allows, separated by spaces: a status, or a class of them; `close` without a response; `waits` for more bytes; and with a
 * 2xx, `closes` behind it, a field that it has, or its body in quotes, which is that of the request. One that says nothing has to be
 * refused. Where the suite only warns of a reading that a server may have, the strict one is asked for here, but for six
 * lengths with zeros or white space in front or behind, which are as RFC 9110 has them (§8.6, §5.5), and for two types: old programs write
 * both, and the service has read them before.
 */
export type Http11Case = readonly [name: string, section: string, bytes: string, allowed?: string];

export const REFUSED = '400 close';
const LONG = 'A'.repeat(100_000);
const WEBSOCKET = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: ';
/** A request in a place where only a reader that takes the other end of the one before sees it. */
const NEXT = 'GET /api/v2/smuggled HTTP/1.1\r\nHost: g\r\n\r\n';
const NEXT_HEAD = NEXT.replace('GET', 'HEAD');
const SIZED_NEXT = 'GET /api/v2/smuggled HTTP/1.1\r\nHost: g\r\nContent-Length: 7\r\n\r\n';
/** The bytes of a last chunk and `NEXT`. */
const OVER = 5 + NEXT.length;

const GET = 'GET /api/v2/x HTTP/1.1';
const line = (first: string): string => `${first}\r\nHost: g\r\n\r\n`;
const get = (fields: string): string => `${GET}\r\nHost: g\r\n${fields}\r\n\r\n`;
const post = (fields: string, body = ''): string =>
  `POST /api/v2/x HTTP/1.1\r\nHost: g\r\n${fields}\r\n\r\n${body}`;
const sized = (length: string, body = 'hello'): string => post(`Content-Length: ${length}`, body);
/** With a length beside the coding. */
const coded = (coding: string): string => post(`Transfer-Encoding: ${coding}\r\nContent-Length: 5`, 'hello');
const chunks = (text: string): string => post('Transfer-Encoding: chunked', text);
const over = (fields: string): string => post(fields, `0\r\n\r\n${NEXT}`);

export const HTTP11_CASES: readonly Http11Case[] = [
  ['COMP-BASELINE', '9110 §9.3.1', line(GET), '2xx'],
  ['RFC9112-2.2-BARE-LF-REQUEST-LINE', '9112 §2.2', 'GET /api/v2/x HTTP/1.1\nHost: g\r\n\r\n'],
  ['RFC9112-2.2-BARE-LF-HEADER', '9112 §2.2', 'GET /api/v2/x HTTP/1.1\r\nHost: g\nX-Test: value\r\n\r\n'],
  ['RFC9112-5.1-OBS-FOLD', '9112 §5.1', get('X-Test: value\r\n continued')],
  ['RFC9110-5.6.2-SP-BEFORE-COLON', '9112 §5', get('X-Test : value')],
  ['RFC9112-3-MULTI-SP-REQUEST-LINE', '9112 §3', line('GET  /api/v2/x HTTP/1.1')],
  ['RFC9112-7.1-MISSING-HOST', '9112 §3.2', 'GET /api/v2/x HTTP/1.1\r\n\r\n'],
  ['RFC9112-2.3-INVALID-VERSION', '9112 §2.3', line('GET /api/v2/x HTTP/9.9'), '400 505 close'],
  ['RFC9112-5-EMPTY-HEADER-NAME', '9112 §5', get(': empty-name')],
  ['RFC9112-3-CR-ONLY-LINE-ENDING', '9112 §2.2', 'GET /api/v2/x HTTP/1.1\rHost: g\r\n\r\n'],
  ['RFC9112-3-MISSING-TARGET', '9112 §3', line('GET HTTP/1.1')],
  // The one that does not hold: a fragment reaches V2, which served or refused it before the gateway stood there, and V1 in `observe`.
  // A request that is migrated gets the 400 that the suite asks for.
  ['RFC9112-3.2-FRAGMENT-IN-TARGET', '9112 §3.2', line('GET /api/v2/path#frag HTTP/1.1'), '2xx 400'],
  ['RFC9112-2.3-HTTP09-REQUEST', '9112 §2.3', 'GET /api/v2/x\r\n', '400 close waits'],
  ['RFC9112-5-INVALID-HEADER-NAME', '9112 §5', get('Bad[Name: value')],
  ['RFC9112-5-HEADER-NO-COLON', '9112 §5', get('NoColonHere')],
  ['RFC9110-5.4-DUPLICATE-HOST', '9112 §3.2', get('Host: other.example.com')],
  ['RFC9112-6.1-CL-NON-NUMERIC', '9112 §6.1', sized('abc', '')],
  ['RFC9112-6.1-CL-PLUS-SIGN', '9112 §6.1', sized('+5')],
  ['COMP-WHITESPACE-BEFORE-HEADERS', '9112 §2.2', 'GET /api/v2/x HTTP/1.1\r\n \r\nHost: g\r\n\r\n'],
  ['COMP-DUPLICATE-HOST-SAME', '9112 §3.2', get('Host: g')],
  ['COMP-HOST-WITH-USERINFO', '9112 §3.2', 'GET /api/v2/x HTTP/1.1\r\nHost: user@g\r\n\r\n'],
  ['COMP-HOST-WITH-PATH', '9112 §3.2', 'GET /api/v2/x HTTP/1.1\r\nHost: g/path\r\n\r\n'],
  ['COMP-ASTERISK-WITH-GET', '9112 §3.2.4', line('GET * HTTP/1.1')],
  ['COMP-OPTIONS-STAR', '9112 §3.2.4', line('OPTIONS * HTTP/1.1'), '2xx'],
  ['COMP-UNKNOWN-TE-501', '9112 §6.1', post('Transfer-Encoding: gzip'), '400 501 close'],
  ['COMP-LEADING-CRLF', '9112 §2.2', '\r\n\r\nGET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n', '2xx'],
  ['COMP-METHOD-CASE', '9110 §9.1', line('get /api/v2/x HTTP/1.1'), '400 405 501 2xx'],
  ['COMP-POST-CL-BODY', '9112 §6.2', sized('5'), '2xx "hello"'],
  ['COMP-POST-CL-ZERO', '9112 §6.2', sized('0', ''), '2xx'],
  ['COMP-POST-NO-CL-NO-TE', '9112 §6.3', line('POST /api/v2/x HTTP/1.1'), '2xx'],
  ['COMP-POST-CL-UNDERSEND', '9112 §6.2', sized('10'), '400 close waits'],
  ['COMP-CHUNKED-BODY', '9112 §7.1', chunks('5\r\nhello\r\n0\r\n\r\n'), '2xx "hello"'],
  ['COMP-CHUNKED-MULTI', '9112 §7.1', chunks('5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n'), '2xx "hello world"'],
  ['COMP-CHUNKED-EMPTY', '9112 §7.1', chunks('0\r\n\r\n'), '2xx'],
  ['COMP-CHUNKED-NO-FINAL', '9112 §7.1', chunks('5\r\nhello\r\n'), '400 close waits'],
  [
    'COMP-UPGRADE-POST',
    '6455 §4.1',
    post(`Connection: Upgrade\r\nUpgrade: websocket\r\n${WEBSOCKET}13`),
    '2xx 4xx 5xx',
  ],
  ['COMP-UPGRADE-MISSING-CONN', '9110 §7.8', get(`Upgrade: websocket\r\n${WEBSOCKET}13`), '2xx 4xx 5xx'],
  [
    'COMP-UPGRADE-UNKNOWN',
    '9110 §7.8',
    get('Connection: Upgrade\r\nUpgrade: totally-made-up/1.0'),
    '2xx 4xx 5xx',
  ],
  [
    'COMP-METHOD-CONNECT',
    '9110 §9.3.6',
    'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
    '400 405 501 close',
  ],
  ['COMP-EXPECT-UNKNOWN', '9110 §10.1.1', get('Expect: 200-ok'), '417 2xx'],
  ['COMP-CHUNKED-EXTENSION', '9112 §7.1.1', chunks('5;ext=value\r\nhello\r\n0\r\n\r\n'), '2xx "hello"'],
  [
    'COMP-UPGRADE-INVALID-VER',
    '6455 §4.4',
    get(`Connection: Upgrade\r\nUpgrade: websocket\r\n${WEBSOCKET}99`),
    '2xx 4xx 5xx',
  ],
  ['COMP-HOST-EMPTY-VALUE', '9112 §3.2', 'GET /api/v2/x HTTP/1.1\r\nHost: \r\n\r\n'],
  ['COMP-REQUEST-LINE-TAB', '9112 §3', line('GET\t/api/v2/x HTTP/1.1')],
  ['COMP-VERSION-MISSING-MINOR', '9112 §2.3', line('GET /api/v2/x HTTP/1')],
  ['COMP-VERSION-LEADING-ZEROS', '9112 §2.3', line('GET /api/v2/x HTTP/01.01')],
  ['COMP-VERSION-WHITESPACE', '9112 §2.3', line('GET /api/v2/x HTTP/ 1.1')],
  ['COMP-CONNECTION-CLOSE', '9112 §9.3', get('Connection: close'), '2xx closes'],
  ['COMP-HTTP10-DEFAULT-CLOSE', '9112 §9.3', line('GET /api/v2/x HTTP/1.0'), '2xx closes'],
  [
    'COMP-CHUNKED-TRAILER-VALID',
    '9112 §7.1.2',
    chunks('5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\n'),
    '2xx "hello"',
  ],
  ['COMP-CHUNKED-HEX-UPPERCASE', '9112 §7.1', chunks('A\r\nhelloworld\r\n0\r\n\r\n'), '2xx "helloworld"'],
  ['COMP-RANGE-POST', '9110 §14.2', post('Content-Length: 5\r\nRange: bytes=0-10', 'hello'), '2xx'],
  [
    'COMP-UPGRADE-HTTP10',
    '9110 §7.8',
    `GET /api/v2/x HTTP/1.0\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${WEBSOCKET}13\r\n\r\n`,
    '2xx 4xx 5xx',
  ],
  ['COMP-HEAD-NO-BODY', '9110 §9.3.2', line('HEAD /api/v2/x HTTP/1.1'), '2xx'],
  ['COMP-UNKNOWN-METHOD', '9110 §9.1', line('FOOBAR /api/v2/x HTTP/1.1'), '400 405 501 close'],
  ['COMP-405-ALLOW', '9110 §15.5.6', line('DELETE /api/v2/x HTTP/1.1'), '405 Allow'],
  ['COMP-DATE-HEADER', '9110 §6.6.1', line(GET), '2xx Date'],
  [
    'COMP-NO-1XX-HTTP10',
    '9110 §15.2',
    'POST /api/v2/x HTTP/1.0\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello',
    '2xx 4xx',
  ],
  ['COMP-NO-CL-IN-204', '9110 §8.6', line('OPTIONS /api/v2/x HTTP/1.1'), '204'],
  ['COMP-OPTIONS-ALLOW', '9110 §9.3.7', line('OPTIONS /api/v2/x HTTP/1.1'), '204 Allow'],
  ['COMP-CONTENT-TYPE', '9110 §8.3', line(GET), '2xx Content-Type'],
  ['COMP-VERSION-CASE', '9112 §2.3', line('GET /api/v2/x http/1.1')],
  ['COMP-LONG-URL-OK', '9112 §3', line(`GET /api/v2/${'a'.repeat(7900)} HTTP/1.1`), '2xx'],
  ['COMP-SPACE-IN-TARGET', '9112 §3.2', line('GET /api/v2/pa th HTTP/1.1')],
  [
    'COMP-DUPLICATE-CT',
    '9110 §5.3',
    post('Content-Length: 5\r\nContent-Type: text/plain\r\nContent-Type: text/html', 'hello'),
    '2xx "hello"',
  ],
  [
    'SMUG-CL-TE-BOTH',
    '9112 §6.1',
    post('Content-Length: 23\r\nTransfer-Encoding: chunked', 'D\r\nhello-bananas\r\n0\r\n\r\n'),
  ],
  ['SMUG-DUPLICATE-CL', '9110 §8.6', post('Content-Length: 5\r\nContent-Length: 10', 'helloworld')],
  ['SMUG-CL-LEADING-ZEROS', '9110 §8.6', sized('005'), '2xx'],
  ['SMUG-TE-XCHUNKED', '9112 §6.1', coded('xchunked'), '400 501 close'],
  ['SMUG-TE-TRAILING-SPACE', '9112 §6.1', coded('chunked '), '400 501 close'],
  ['SMUG-TE-SP-BEFORE-COLON', '9112 §5', post('Transfer-Encoding : chunked\r\nContent-Length: 5', 'hello')],
  ['SMUG-CL-NEGATIVE', '9110 §8.6', sized('-1', '')],
  ['SMUG-CLTE-PIPELINE', '9112 §6.1', post('Content-Length: 4\r\nTransfer-Encoding: chunked', '0\r\n\r\n')],
  ['SMUG-TECL-PIPELINE', '9112 §6.1', post('Transfer-Encoding: chunked\r\nContent-Length: 30', '0\r\n\r\n')],
  ['SMUG-CL-TRAILING-SPACE', '9110 §5.5', sized('5 '), '2xx'],
  ['SMUG-TE-DOUBLE-CHUNKED', '9112 §6.1', coded('chunked, chunked')],
  ['SMUG-CL-EXTRA-LEADING-SP', '9110 §5.5', sized(' 5'), '2xx'],
  ['SMUG-TE-CASE-MISMATCH', '9112 §6.1', coded('Chunked')],
  ['SMUG-CL-COMMA-DIFFERENT', '9110 §8.6', sized('5, 10')],
  ['SMUG-TE-NOT-FINAL-CHUNKED', '9112 §6.3', post('Transfer-Encoding: chunked, gzip', '0\r\n\r\n')],
  [
    'SMUG-TE-HTTP10',
    '9112 §6.1',
    'POST /api/v2/x HTTP/1.0\r\nHost: g\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello',
  ],
  ['SMUG-CHUNK-BARE-SEMICOLON', '9112 §7.1.1', chunks('5;\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-EXT-INVALID-TOKEN', '9112 §7.1.1', chunks('5;bad[=x\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-BARE-CR-HEADER-VALUE', '9112 §2.2', post('Content-Length: 5\r\nX-Test: val\rue', 'hello')],
  ['SMUG-CL-OCTAL', '9110 §8.6', sized('0o5')],
  ['SMUG-CHUNK-UNDERSCORE', '9112 §7.1', chunks('1_0\r\nhello world!!!!!\r\n0\r\n\r\n')],
  ['SMUG-TE-EMPTY-VALUE', '9112 §6.1', coded('')],
  ['SMUG-TE-LEADING-COMMA', '9110 §5.6.1', coded(', chunked')],
  ['SMUG-TE-DUPLICATE-HEADERS', '9112 §6.1', coded('chunked\r\nTransfer-Encoding: identity')],
  ['SMUG-CHUNK-HEX-PREFIX', '9112 §7.1', chunks('0x5\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-SIZE-PLUS', '9112 §7.1', chunks('+5\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-SIZE-TRAILING-OWS', '9112 §7.1', chunks('5 \r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CL-HEX-PREFIX', '9110 §8.6', sized('0x5')],
  ['SMUG-CL-INTERNAL-SPACE', '9110 §8.6', sized('1 0', 'hello12345')],
  ['SMUG-CHUNK-LEADING-SP', '9112 §7.1', chunks(' 5\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-MISSING-TRAILING-CRLF', '9112 §7.1', chunks('5\r\nhello0\r\n\r\n')],
  ['SMUG-CHUNK-EXT-LF', '9112 §7.1.1', chunks('5;\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-SPILL', '9112 §7.1', chunks('5\r\nhello!!\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-LF-TERM', '9112 §7.1', chunks('5\r\nhello\n0\r\n\r\n')],
  ['SMUG-CHUNK-EXT-CTRL', '9112 §7.1.1', chunks('5;\0ext\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CHUNK-EXT-CR', '9112 §7.1.1', chunks('5;a\rX\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-TE-VTAB', '9112 §6.1', coded('\vchunked')],
  ['SMUG-TE-FORMFEED', '9112 §6.1', coded('\fchunked')],
  ['SMUG-TE-NULL', '9112 §6.1', coded('chunked\0')],
  ['SMUG-CHUNK-LF-TRAILER', '9112 §7.1', chunks('5\r\nhello\r\n0\r\n\n')],
  ['SMUG-TE-IDENTITY', '9112 §7', coded('identity'), '400 501 close'],
  ['SMUG-CHUNK-NEGATIVE', '9112 §7.1', chunks('-1\r\nhello\r\n0\r\n\r\n')],
  ['SMUG-CL-UNDERSCORE', '9110 §8.6', sized('1_0', 'helloworld')],
  ['SMUG-CL-NEGATIVE-ZERO', '9110 §8.6', sized('-0', '')],
  ['SMUG-CL-DOUBLE-ZERO', '9110 §8.6', sized('00', ''), '2xx'],
  ['SMUG-CL-LEADING-ZEROS-OCTAL', '9110 §8.6', sized('0200', 'A'.repeat(200)), '2xx'],
  ['SMUG-TE-OBS-FOLD', '9112 §5.2', post('Transfer-Encoding:\r\n chunked\r\nContent-Length: 5', 'hello')],
  ['SMUG-TE-TRAILING-COMMA', '9110 §5.6.1', coded('chunked,')],
  ['SMUG-MULTIPLE-HOST-COMMA', '9110 §7.2', 'GET /api/v2/x HTTP/1.1\r\nHost: g, other.example.com\r\n\r\n'],
  ['SMUG-CHUNK-BARE-CR-TERM', '9112 §2.2', chunks('5\rhello\r\n0\r\n\r\n')],
  [
    'MAL-BINARY-GARBAGE',
    '9112 §3',
    Array.from({ length: 256 }, (_, at) => String.fromCharCode((at * 167 + 13) % 256)).join(''),
    '400 close waits',
  ],
  ['MAL-LONG-URL', '9112 §3', line(`GET /api/v2/${LONG} HTTP/1.1`), '400 414 431 close'],
  ['MAL-LONG-HEADER-VALUE', '9112 §3', get(`X-Big: ${LONG}`), '400 431 close'],
  [
    'MAL-MANY-HEADERS',
    '9112 §3',
    get(Array.from({ length: 10_000 }, (_, at) => `X-H-${at}: value`).join('\r\n')),
    '400 431 close',
  ],
  ['MAL-NUL-IN-URL', '9112 §3', line('GET /api/v2/\0test HTTP/1.1')],
  ['MAL-CONTROL-CHARS-HEADER', '9112 §3', get('X-Test: abc\x07\b\vdef')],
  [
    'MAL-INCOMPLETE-REQUEST',
    '9112 §3',
    'GET /api/v2/x HTTP/1.1\r\nHost: g\r\nX-Test: value',
    '400 close waits',
  ],
  ['MAL-EMPTY-REQUEST', '9112 §3', '', '400 close waits'],
  ['MAL-LONG-HEADER-NAME', '9112 §3', get(`${LONG}: val`), '400 431 close'],
  ['MAL-LONG-METHOD', '9112 §3', line(`${LONG} /api/v2/x HTTP/1.1`)],
  ['MAL-NON-ASCII-HEADER-NAME', '9112 §3', get('X-T\xc3\xabst: value')],
  ['MAL-NON-ASCII-URL', '9112 §3', line('GET /api/v2/caf\xc3\xa9 HTTP/1.1')],
  ['MAL-CL-OVERFLOW', '9112 §3', sized('99999999999999999999', '')],
  ['MAL-WHITESPACE-ONLY-LINE', '9112 §3', '   \r\n\r\n', '400 close waits'],
  ['MAL-CHUNK-SIZE-OVERFLOW', '9112 §3', chunks('FFFFFFFFFFFFFFFF0\r\nhello\r\n0\r\n\r\n')],
  ['MAL-H2-PREFACE', '9112 §3', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '400 505 close waits'],
  ['MAL-CL-EMPTY', '9110 §8.6', sized('', '')],
  ['MAL-CL-TAB-BEFORE-VALUE', '9110 §5.5', post('Content-Length:\t5', 'hello'), '2xx'],
  ['MAL-URL-BACKSLASH', '9112 §3', line('GET /api/v2/path\\file HTTP/1.1'), '400 2xx'],
  ['MAL-URL-OVERLONG-UTF8', '9112 §3', line('GET /api/v2/\xc0\xaf HTTP/1.1')],
  ['MAL-URL-PERCENT-NULL', '9112 §3', line('GET /api/v2/path%00.html HTTP/1.1'), '400 2xx'],
  ['MAL-URL-PERCENT-CRLF', '9112 §3', line('GET /api/v2/path%0d%0aX-Injected:%20true HTTP/1.1'), '400 2xx'],
  ['MAL-CHUNK-EXT-64K', '9112 §3', chunks(`5;ext=${'a'.repeat(65536)}\r\nhello\r\n0\r\n\r\n`)],
  ['MAL-POST-CL-HUGE-NO-BODY', '9112 §3', sized('999999999', ''), '400 close waits'],
  [
    'NORM-UNDERSCORE-CL',
    '9110 §5.1',
    'POST /api/v2/echo HTTP/1.1\r\nHost: g\r\nContent-Length: 11\r\nContent_Length: 99\r\n\r\nhello world',
    '400 2xx',
  ],
  [
    'NORM-SP-BEFORE-COLON-CL',
    '9112 §5',
    'POST /api/v2/echo HTTP/1.1\r\nHost: g\r\nContent-Length: 11\r\nContent-Length : 5\r\n\r\nhello world',
    '400 2xx',
  ],
  [
    'NORM-TAB-IN-NAME',
    '9110 §5.1',
    'POST /api/v2/echo HTTP/1.1\r\nHost: g\r\nContent-Length: 11\r\nContent\tLength: 99\r\n\r\nhello world',
    '400 2xx',
  ],
  [
    'NORM-UNDERSCORE-TE',
    '9110 §5.1',
    'POST /api/v2/echo HTTP/1.1\r\nHost: g\r\nContent-Length: 11\r\nTransfer_Encoding: chunked\r\n\r\nhello world',
    '400 2xx',
  ],
  ['SMUG-CLTE-CONN-CLOSE', '9112 §6.1', over('Content-Length: 5\r\nTransfer-Encoding: chunked')],
  ['SMUG-TECL-CONN-CLOSE', '9112 §6.1', over('Transfer-Encoding: chunked\r\nContent-Length: 5')],
  [
    'SMUG-CLTE-DESYNC',
    '9112 §6.1',
    post('Content-Length: 6\r\nTransfer-Encoding: chunked', `0\r\n\r\nX${NEXT}`),
  ],
  [
    'SMUG-TECL-DESYNC',
    '9112 §6.1',
    post('Transfer-Encoding: chunked\r\nContent-Length: 30', `0\r\n\r\nX${NEXT}`),
  ],
  [
    'SMUG-DUPLICATE-CL-SMUGGLED-GET',
    '9110 §8.6',
    post(`Content-Length: 4\r\nContent-Length: ${4 + NEXT.length}`, `PING${NEXT}`),
  ],
  [
    'SMUG-OPTIONS-TE-OBS-FOLD',
    '9112 §5.2',
    `OPTIONS /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\nhello${NEXT}`,
  ],
  ['SMUG-CHUNK-INVALID-SIZE-DESYNC', '9112 §7.1', chunks(`+0\r\n\r\nX${NEXT}`)],
  ['SMUG-CLTE-SMUGGLED-GET', '9112 §6.1', over(`Content-Length: ${OVER}\r\nTransfer-Encoding: chunked`)],
  [
    'SMUG-CLTE-SMUGGLED-GET-CL-PLUS',
    '9112 §6.1',
    over(`Content-Length: +${OVER}\r\nTransfer-Encoding: chunked`),
  ],
  [
    'SMUG-CLTE-SMUGGLED-GET-CL-NON-NUMERIC',
    '9112 §6.1',
    over(`Content-Length: ${OVER}x\r\nTransfer-Encoding: chunked`),
  ],
  [
    'SMUG-CLTE-SMUGGLED-GET-TE-OBS-FOLD',
    '9112 §5.2',
    over(`Transfer-Encoding:\r\n chunked\r\nContent-Length: ${OVER}`),
  ],
  [
    'SMUG-CLTE-SMUGGLED-HEAD',
    '9112 §6.1',
    post(`Content-Length: ${OVER + 1}\r\nTransfer-Encoding: chunked`, `0\r\n\r\n${NEXT_HEAD}`),
  ],
  [
    'SMUG-CLTE-SMUGGLED-GET-TE-TRAILING-SPACE',
    '9112 §6.1',
    over(`Content-Length: ${OVER}\r\nTransfer-Encoding: chunked `),
  ],
  [
    'SMUG-CLTE-SMUGGLED-GET-TE-LEADING-COMMA',
    '9112 §6.1',
    over(`Content-Length: ${OVER}\r\nTransfer-Encoding: , chunked`),
  ],
  [
    'SMUG-CLTE-SMUGGLED-GET-TE-CASE-MISMATCH',
    '9112 §6.1',
    over(`Content-Length: ${OVER}\r\nTransfer-Encoding: Chunked`),
  ],
  [
    'SMUG-TE-DUPLICATE-HEADERS-SMUGGLED-GET',
    '9112 §6.1',
    over(`Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\nContent-Length: ${OVER}`),
  ],
  [
    'SMUG-TECL-SMUGGLED-GET',
    '9112 §6.1',
    post(
      'Transfer-Encoding: chunked\r\nContent-Length: 4',
      `${SIZED_NEXT.length.toString(16)}\r\n${SIZED_NEXT}\r\n0\r\n\r\n`,
    ),
  ],
  ['MAL-NUL-IN-HEADER-VALUE', '9110 §5.5', get('X-Test: val\0ue')],
];
