import { frameBytes, headerBlock, type H2Fields, type RawH2, requestHead } from '../../../support/raw-h2.ts';

/** One thing that a client does. */
export type Step = (raw: RawH2) => void;

/** `expected` is what h2spec takes for right; `instead` is what RFC 9113 allows beside that, and where. */
export interface H2Case {
  readonly name: string;
  readonly settings?: readonly (readonly [number, number])[];
  /** Bytes in place of the preface. */
  readonly preface?: string;
  readonly steps: readonly Step[];
  /** Each is enough. */
  readonly expected: readonly string[];
  readonly instead?: readonly [outcome: string, section: string];
}

const [DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];
const [END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED] = [1, 1, 4, 8, 0x20];
const WHOLE = END_STREAM | END_HEADERS;
const [PROTOCOL, FLOW, CLOSED, SIZE, REFUSED, CANCEL, COMPRESSION, CALM] = [1, 3, 5, 6, 7, 8, 9, 11];

const GET = requestHead('/api/v2/x');
const POST = requestHead('/api/v2/x', 'POST');
/** V2 never responds to it. */
const SLOW = requestHead('/api/v2/slow');
const BODY = Buffer.from('test');
const EIGHT = Buffer.alloc(8);
/** A response says that all was understood. */
const SERVED = ['200 on 1'];
const ACKED = ['2 settings acks'];
const PONG = ['pong'];
/** RFC 9113 §8.1.1: a server may respond to a malformed request before it resets the stream. */
const REFUSAL = { instead: ['400 on 1', 'RFC 9113 §8.1.1'] } as const;
/** RFC 9113 §5.3.2: priorities are deprecated, and what they say has no effect. */
const NO_PRIORITIES = { instead: ['200 on 1', 'RFC 9113 §5.3.2'] } as const;

export function number(value: number, bytes = 4): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value % 2 ** 32, Math.max(0, bytes - 4), Math.min(4, bytes));
  return buffer;
}

export function setting(id: number, value: number): Buffer {
  return Buffer.concat([number(id, 2), number(value)]);
}

/** The error of a connection, as its last frame. */
function broken(...codes: readonly number[]): readonly string[] {
  return codes.map((code) => `goaway ${code}`);
}

/** The error of a stream, or of its connection. */
function reset(stream: number, ...codes: readonly number[]): readonly string[] {
  return codes.flatMap((code) => [`reset ${stream} ${code}`, `goaway ${code}`]);
}

export const frame =
  (type: number, flags: number, stream: number, payload?: Uint8Array): Step =>
  (raw) =>
    raw.frame(type, flags, stream, payload);
export const head =
  (stream: number, fields: H2Fields, isOpen = false): Step =>
  (raw) =>
    raw.head(stream, fields, isOpen);
const set = (...values: readonly Buffer[]): Step => frame(SETTINGS, 0, 0, Buffer.concat(values));
const ping = frame(PING, 0, 0, Buffer.from('h2 cases'));
const get = head(1, GET);
const open = head(1, POST, true);
const slow = head(1, SLOW);
const body = frame(DATA, END_STREAM, 1, BODY);
/** A stream that the client has closed in both directions. */
const cancelled = [open, frame(RST, 0, 1, number(CANCEL))];
/** What a priority depends on, and its weight. */
const priority = (on: number, weight = 15): Buffer => Buffer.concat([number(on), Buffer.of(weight)]);
const padded = (length: number, bytes: Uint8Array, padding = length): Buffer =>
  Buffer.concat([Buffer.of(length), bytes, Buffer.alloc(padding)]);

/** A request whose block is of these bytes behind its pseudo fields. */
function block(...bytes: readonly (number | Uint8Array)[]): Buffer {
  return Buffer.concat([
    headerBlock(GET),
    ...bytes.map((part) => (typeof part === 'number' ? Buffer.of(part) : part)),
  ]);
}

const sendBlock = (...bytes: readonly Uint8Array[]): Step => frame(HEADERS, WHOLE, 1, Buffer.concat(bytes));
/** A block in as many parts; the flags are those of the first. */
const parts = (flags: number, ...cuts: readonly number[]): Step[] => {
  const ends = [...cuts, block().length];
  return ends.map((end, at) => {
    const isLast = at === cuts.length ? END_HEADERS : 0;
    const part = block().subarray(ends[at - 1] ?? 0, end);
    return at === 0 ? frame(HEADERS, flags | isLast, 1, part) : frame(CONTINUATION, isLast, 1, part);
  });
};

/** `x-a: b`, each text as it is or in Huffman's code (RFC 7541 §5.2, Appendix B). */
const NAME = Buffer.concat([Buffer.of(3), Buffer.from('x-a')]);
const VALUE = Buffer.of(1, 0x62);
/** `x` 1111001, `-` 010110, `a` 00011, and six bits of padding; `b` 100011, and two. */
const CODED_NAME = Buffer.of(0x83, 0b1111_0010, 0b1011_0000, 0b1111_1111);
const CODED_VALUE = Buffer.of(0x81, 0b1000_1111);

/** The four spellings of a literal with this first byte: the name by its index (`user-agent`, 58), or new. */
function literals(what: string, prefix: number, bits: number): readonly (readonly [string, Buffer])[] {
  const indexed = bits === 6 ? Buffer.of(prefix | 58) : Buffer.of(prefix | 15, 58 - 15);
  return [
    [`${what}, indexed name`, Buffer.concat([indexed, VALUE])],
    [`${what}, indexed name, Huffman`, Buffer.concat([indexed, CODED_VALUE])],
    [`${what}, new name`, Buffer.concat([Buffer.of(prefix), NAME, VALUE])],
    [`${what}, new name, Huffman`, Buffer.concat([Buffer.of(prefix), CODED_NAME, CODED_VALUE])],
  ];
}

type More = Partial<Pick<H2Case, 'settings' | 'preface' | 'instead'>>;

function one(name: string, expected: readonly string[], steps: readonly Step[], more: More = {}): H2Case {
  return { name, expected, steps, ...more };
}

function malformed(name: string, ...steps: readonly Step[]): H2Case {
  return one(name, reset(1, PROTOCOL), steps, REFUSAL);
}

const without = (name: string): [string, string][] => GET.filter(([own]) => own !== name);
const twice = (name: string): [string, string][] => [...GET.filter(([own]) => own === name), ...GET];

/**
 * What a server of HTTP/2 has to answer to frames that are right, odd or broken: the 147 cases that h2spec (MIT, Copyright (c) 2014 Moto
 * Ishizawa) names, written from the sections of RFC 9113 and RFC 7541. The first number is the section of h2spec, so that results compare:
 * those of its own generic part have a `g` in front, and those of RFC 7540 §8.1.2 stand in RFC 9113 §8.2 and §8.3.
 */
export const H2_CASES: readonly H2Case[] = [
  one('g1/1 the preface', PONG, [ping]),
  one('g2/1 PRIORITY on an idle stream', SERVED, [frame(PRIORITY, 0, 1, priority(0)), get]),
  one('g2/2 WINDOW_UPDATE on a half-closed stream', SERVED, [get, frame(WINDOW, 0, 1, number(100))], {
    settings: [[4, 0]],
  }),
  one('g2/3 PRIORITY on a half-closed stream', SERVED, [get, frame(PRIORITY, 0, 1, priority(0))]),
  one('g2/4 RST_STREAM on a half-closed stream', PONG, [slow, frame(RST, 0, 1, number(CANCEL)), ping]),
  one('g2/5 PRIORITY on a closed stream', PONG, [...cancelled, frame(PRIORITY, 0, 1, priority(0)), ping]),
  one('g3.1/1 DATA', SERVED, [open, body]),
  one('g3.1/2 DATA twice', SERVED, [open, frame(DATA, 0, 1, BODY), body]),
  one('g3.1/3 DATA with padding', SERVED, [open, frame(DATA, END_STREAM | PADDED, 1, padded(6, BODY))]),
  one('g3.2/1 HEADERS', SERVED, [get]),
  one('g3.2/2 HEADERS with padding', SERVED, [frame(HEADERS, WHOLE | PADDED, 1, padded(6, block()))]),
  one('g3.2/3 HEADERS with a priority', SERVED, [
    frame(HEADERS, WHOLE | PRIORITIZED, 1, Buffer.concat([priority(0, 255), block()])),
  ]),
  one('g3.3/1 weight 1', SERVED, [frame(PRIORITY, 0, 1, priority(0, 0)), get]),
  one('g3.3/2 weight 256', SERVED, [frame(PRIORITY, 0, 1, priority(0, 255)), get]),
  one('g3.3/3 a dependency', SERVED, [frame(PRIORITY, 0, 1, priority(5)), get]),
  one('g3.3/4 an exclusive one', SERVED, [frame(PRIORITY, 0, 1, priority(0x8000_0005)), get]),
  one('g3.3/5 PRIORITY of a stream above the one that opens', SERVED, [
    frame(PRIORITY, 0, 3, priority(0)),
    get,
  ]),
  one('g3.4/1 RST_STREAM', PONG, [...cancelled, ping]),
  one('g3.5/1 SETTINGS', ACKED, [set(setting(3, 100))]),
  one('g3.7/1 PING', PONG, [ping]),
  one('g3.8/1 GOAWAY', ['pong', 'goaway 0', 'close'], [frame(GOAWAY, 0, 0, EIGHT), ping]),
  one('g3.9/1 WINDOW_UPDATE of the connection', SERVED, [frame(WINDOW, 0, 0, number(1)), get]),
  one('g3.9/2 WINDOW_UPDATE of a stream', SERVED, [open, frame(WINDOW, 0, 1, number(1)), body]),
  one('g3.10/1 CONTINUATION', SERVED, parts(END_STREAM, 9)),
  one('g3.10/2 CONTINUATION twice', SERVED, parts(END_STREAM, 9, 20)),
  one('g4/1 GET', SERVED, [get]),
  one('g4/2 HEAD', SERVED, [head(1, requestHead('/api/v2/x', 'HEAD'))]),
  one('g4/3 POST', SERVED, [open, body]),
  one('g4/4 POST with trailers', SERVED, [open, frame(DATA, 0, 1, BODY), head(1, [['x-sum', '1']])]),
  ...(
    [
      // `accept-encoding: gzip, deflate` is the entry 16 of the static table.
      ['indexed field', Buffer.of(0x80 | 16)],
      ...literals('literal with indexing', 0x40, 6),
      ...literals('literal without indexing', 0, 4),
      ...literals('literal never indexed', 0x10, 4),
    ] as const
  ).map(([what, bytes], at) => one(`g5/${at + 1} ${what}`, SERVED, [sendBlock(block(bytes))])),
  one('g5/14 update of the size of the table', SERVED, [sendBlock(Buffer.of(0x20 | 30), block())]),
  one('g5/15 two updates', SERVED, [sendBlock(Buffer.of(0x20, 0x20 | 30), block())]),

  one('3.5/1 the preface', PONG, [ping]),
  one('3.5/2 another preface', ['close', ...broken(PROTOCOL)], [], {
    preface: 'INVALID CONNECTION PREFACE\r\n\r\n',
  }),
  one('4.1/1 a frame of an unknown type', PONG, [frame(22, 0, 0, EIGHT), ping]),
  one('4.1/2 unknown flags', PONG, [frame(PING, 0x16, 0, Buffer.from('h2 cases'))]),
  one('4.1/3 the reserved bit', PONG, [frame(PING, 0, 0x8000_0000, Buffer.from('h2 cases'))]),
  one('4.2/1 DATA of 2^14 bytes', SERVED, [open, frame(DATA, END_STREAM, 1, Buffer.alloc(16_384))]),
  one('4.2/2 DATA of more', reset(1, SIZE), [open, frame(DATA, END_STREAM, 1, Buffer.alloc(16_385))]),
  one('4.2/3 HEADERS of more', broken(SIZE), [frame(HEADERS, WHOLE, 1, Buffer.alloc(16_385))]),
  one('4.3/1 a block that is none', broken(COMPRESSION), [sendBlock(Buffer.of(0x40))]),
  one('4.3/2 PRIORITY in a block', broken(PROTOCOL), [
    frame(HEADERS, END_STREAM, 1, block()),
    frame(PRIORITY, 0, 1, Buffer.alloc(5)),
  ]),
  one('4.3/3 HEADERS of another stream in a block', broken(PROTOCOL), [
    frame(HEADERS, END_STREAM, 1, block()),
    head(3, GET),
  ]),
  one('5.1/1 idle: DATA', broken(PROTOCOL), [body]),
  one('5.1/2 idle: RST_STREAM', broken(PROTOCOL), [frame(RST, 0, 1, number(CANCEL))]),
  one('5.1/3 idle: WINDOW_UPDATE', broken(PROTOCOL), [frame(WINDOW, 0, 1, number(100))]),
  one('5.1/4 idle: CONTINUATION', broken(PROTOCOL), [frame(CONTINUATION, END_HEADERS, 1, block())]),
  ...(
    [
      ['half-closed', [slow]],
      ['reset', cancelled],
    ] as const
  ).flatMap(([state, steps], at) => [
    one(`5.1/${3 * at + 5} ${state}: DATA`, reset(1, CLOSED), [...steps, body]),
    one(`5.1/${3 * at + 6} ${state}: HEADERS`, reset(1, CLOSED), [...steps, get]),
    one(`5.1/${3 * at + 7} ${state}: CONTINUATION`, broken(CLOSED, PROTOCOL), [
      ...steps,
      frame(CONTINUATION, END_HEADERS, 1, block()),
    ]),
  ]),
  one('5.1/11 closed: DATA', reset(1, CLOSED), [get, behind('200 on 1', body)]),
  one('5.1/12 closed: HEADERS', reset(1, CLOSED), [get, behind('200 on 1', sendBlock(block()))]),
  one('5.1/13 closed: CONTINUATION', broken(CLOSED, PROTOCOL), [
    get,
    behind('200 on 1', frame(CONTINUATION, WHOLE, 1, block())),
  ]),
  one('5.1.1/1 an even stream', broken(PROTOCOL), [head(2, GET)]),
  one('5.1.1/2 a lower stream', broken(PROTOCOL), [head(5, SLOW), head(3, GET)]),
  one(
    '5.1.2/1 more streams than allowed',
    ['some refused', ...broken(PROTOCOL, REFUSED)],
    Array.from({ length: 600 }, (_, at) => head(2 * at + 1, SLOW)),
  ),
  one(
    '5.3.1/1 HEADERS that depend on themselves',
    reset(1, PROTOCOL),
    [frame(HEADERS, WHOLE | PRIORITIZED, 1, Buffer.concat([priority(1, 255), block()]))],
    NO_PRIORITIES,
  ),
  one(
    '5.3.1/2 PRIORITY that depends on itself',
    reset(1, PROTOCOL),
    [frame(PRIORITY, 0, 1, priority(1, 255)), get],
    NO_PRIORITIES,
  ),
  one('5.4.1/1 the connection closes behind its error', ['close'], [frame(PING, 0, 3, EIGHT)]),
  one('5.4.1/2 the error stands in GOAWAY', broken(PROTOCOL), [frame(PING, 0, 3, EIGHT)]),
  one('5.5/1 an unknown frame', PONG, [frame(22, 0, 0, EIGHT), ping]),
  one('5.5/2 an unknown frame in a block', broken(PROTOCOL), [
    frame(HEADERS, END_STREAM, 1, block()),
    frame(22, 0, 1, EIGHT),
  ]),
  one('6.1/1 DATA on the connection', broken(PROTOCOL), [frame(DATA, 0, 0, BODY)]),
  one('6.1/2 DATA on a stream that is not open', reset(1, CLOSED), [slow, body]),
  one('6.1/3 more padding than DATA', broken(PROTOCOL), [
    open,
    frame(DATA, END_STREAM | PADDED, 1, padded(6, BODY, 0)),
  ]),
  one('6.2/1 PRIORITY behind open HEADERS', broken(PROTOCOL), [
    frame(HEADERS, END_STREAM, 1, block()),
    frame(PRIORITY, 0, 1, Buffer.alloc(5)),
  ]),
  one('6.2/2 HEADERS of another stream behind open ones', broken(PROTOCOL), [
    frame(HEADERS, 0, 1, block()),
    head(3, GET),
  ]),
  one('6.2/3 HEADERS on the connection', broken(PROTOCOL), [head(0, GET)]),
  one('6.2/4 more padding than HEADERS', broken(PROTOCOL), [
    frame(HEADERS, WHOLE | PADDED, 1, padded(255, block(), 0)),
  ]),
  one('6.3/1 PRIORITY on the connection', broken(PROTOCOL), [frame(PRIORITY, 0, 0, Buffer.alloc(5))]),
  one('6.3/2 PRIORITY of another size', reset(1, SIZE), [open, frame(PRIORITY, 0, 1, Buffer.alloc(4))]),
  one('6.4/1 RST_STREAM on the connection', broken(PROTOCOL), [frame(RST, 0, 0, number(CANCEL))]),
  one('6.4/2 RST_STREAM of an idle stream', broken(PROTOCOL), [frame(RST, 0, 1, number(CANCEL))]),
  one('6.4/3 RST_STREAM of another size', broken(SIZE), [open, frame(RST, 0, 1, Buffer.alloc(3))]),
  one('6.5/1 an acknowledgement with settings', broken(SIZE), [frame(SETTINGS, ACK, 0, setting(3, 1))]),
  one('6.5/2 SETTINGS on a stream', broken(PROTOCOL), [frame(SETTINGS, 0, 1, setting(3, 1))]),
  one('6.5/3 SETTINGS of another size', broken(SIZE), [set(Buffer.alloc(3))]),
  one('6.5.2/1 ENABLE_PUSH 2', broken(PROTOCOL), [set(setting(2, 2))]),
  one('6.5.2/2 INITIAL_WINDOW_SIZE 2^31', broken(FLOW), [set(setting(4, 0x8000_0000))]),
  one('6.5.2/3 MAX_FRAME_SIZE 2^14 - 1', broken(PROTOCOL), [set(setting(5, 16_383))]),
  one('6.5.2/4 MAX_FRAME_SIZE 2^24', broken(PROTOCOL), [set(setting(5, 0x100_0000))]),
  one('6.5.2/5 an unknown setting', PONG, [set(setting(0xff, 1)), ping]),
  one(
    '6.5.3/1 one setting twice: the last one holds',
    ['1 byte on 1'],
    [set(setting(4, 100), setting(4, 1)), get],
  ),
  one('6.5.3/2 SETTINGS are acknowledged', ACKED, [set(setting(3, 1))]),
  one('6.7/1 PING', PONG, [ping]),
  one('6.7/2 an acknowledged PING is not answered', PONG, [
    frame(PING, ACK, 0, Buffer.from('ignored!')),
    ping,
  ]),
  one('6.7/3 PING on a stream', broken(PROTOCOL), [frame(PING, 0, 1, EIGHT)]),
  one('6.7/4 PING of another size', broken(SIZE), [frame(PING, 0, 0, Buffer.alloc(6))]),
  one('6.8/1 GOAWAY on a stream', broken(PROTOCOL), [frame(GOAWAY, 0, 1, EIGHT)]),
  one('6.9/1 WINDOW_UPDATE by 0', broken(PROTOCOL), [frame(WINDOW, 0, 0, number(0))]),
  one('6.9/2 WINDOW_UPDATE by 0 of a stream', reset(1, PROTOCOL), [open, frame(WINDOW, 0, 1, number(0))]),
  one('6.9/3 WINDOW_UPDATE of another size', broken(SIZE), [frame(WINDOW, 0, 0, Buffer.alloc(3))]),
  one('6.9.1/1 no more DATA than the window', ['1 byte on 1'], [get], { settings: [[4, 1]] }),
  one('6.9.1/2 the window of the connection grows too far', broken(FLOW), [
    frame(WINDOW, 0, 0, number(0x7fff_ffff)),
    frame(WINDOW, 0, 0, number(0x7fff_ffff)),
  ]),
  one('6.9.1/3 that of a stream', reset(1, FLOW), [
    open,
    frame(WINDOW, 0, 1, number(0x7fff_ffff)),
    frame(WINDOW, 0, 1, number(0x7fff_ffff)),
  ]),
  one('6.9.2/1 a window that opens by a setting', ['1 byte on 1'], [get, set(setting(4, 1))], {
    settings: [[4, 0]],
  }),
  one(
    '6.9.2/2 a window below zero',
    ['4 byte on 1'],
    [get, behind('3 byte on 1', set(setting(4, 2)), frame(WINDOW, 0, 1, number(2)))],
    { settings: [[4, 3]] },
  ),
  one('6.9.2/3 a setting above 2^31 - 1', broken(FLOW), [set(setting(4, 0x8000_0000))]),
  one('6.10/1 CONTINUATION twice', SERVED, parts(END_STREAM, 9, 20)),
  one('6.10/2 DATA behind an open CONTINUATION', broken(PROTOCOL), [
    frame(HEADERS, 0, 1, block().subarray(0, 9)),
    frame(CONTINUATION, 0, 1, block().subarray(9)),
    body,
  ]),
  one('6.10/3 CONTINUATION on the connection', broken(PROTOCOL), [
    frame(HEADERS, END_STREAM, 1, block().subarray(0, 9)),
    frame(CONTINUATION, END_HEADERS, 0, block().subarray(9)),
  ]),
  one('6.10/4 CONTINUATION behind whole HEADERS', broken(PROTOCOL), [
    open,
    frame(CONTINUATION, END_HEADERS, 1, block()),
  ]),
  one('6.10/5 CONTINUATION behind the last one', broken(PROTOCOL), [
    ...parts(0, 9),
    frame(CONTINUATION, END_HEADERS, 1, block()),
  ]),
  one('6.10/6 CONTINUATION behind DATA', broken(PROTOCOL), [
    open,
    frame(DATA, 0, 1, BODY),
    frame(CONTINUATION, END_HEADERS, 1, block()),
  ]),
  one(
    '7/1 GOAWAY with an unknown code',
    ['pong', 'goaway 0', 'close'],
    [frame(GOAWAY, 0, 0, Buffer.concat([number(0), number(0xff)])), ping],
  ),
  one(
    '7/2 RST_STREAM with an unknown code',
    ['200 on 3'],
    [open, frame(RST, 0, 1, number(0xff)), head(3, GET)],
  ),
  malformed('8.1/1 trailers that do not end the stream', open, head(1, [['x-sum', '1']], true)),
  malformed('8.1.2/1 a name in upper case', head(1, [...GET, ['X-A', 'b']])),
  malformed('8.1.2.1/1 an unknown pseudo field', head(1, [[':x', 'b'], ...GET])),
  malformed('8.1.2.1/2 the pseudo field of a response', head(1, [[':status', '200'], ...GET])),
  malformed('8.1.2.1/3 a pseudo field in trailers', open, head(1, [[':method', 'GET']])),
  malformed(
    '8.1.2.1/4 a pseudo field behind another one',
    head(1, [...without(':path'), ['x-a', 'b'], [':path', '/api/v2/x']]),
  ),
  malformed('8.1.2.2/1 a field of the connection', head(1, [...GET, ['connection', 'keep-alive']])),
  malformed('8.1.2.2/2 TE with more than trailers', head(1, [...GET, ['te', 'trailers, deflate']])),
  malformed('8.1.2.3/1 an empty :path', head(1, [...without(':path'), [':path', '']])),
  ...[':method', ':scheme', ':path'].map((name, at) =>
    malformed(`8.1.2.3/${at + 2} no ${name}`, head(1, without(name))),
  ),
  ...[':method', ':scheme', ':path'].map((name, at) =>
    malformed(`8.1.2.3/${at + 5} ${name} twice`, head(1, twice(name))),
  ),
  malformed(
    '8.1.2.6/1 another length than that of the body',
    head(1, [...POST, ['content-length', '1']], true),
    body,
  ),
  malformed(
    '8.1.2.6/2 another length than that of all DATA',
    head(1, [...POST, ['content-length', '5']], true),
    frame(DATA, 0, 1, BODY),
    body,
  ),
  one('8.2/1 PUSH_PROMISE', broken(PROTOCOL), [
    frame(PUSH, END_HEADERS, 1, Buffer.concat([number(2), block()])),
  ]),

  ...(
    [
      ['2.3.3/1 an index that the table has not', block(0x80 | 70)],
      ['2.3.3/2 that of a name', block(0x40 | 62, VALUE)],
      ['4.2/1 an update of the size behind a field', block(0x21)],
      ['5.2/1 padding of more than 7 bits', block(0, NAME, Buffer.of(0x82, 0b1000_1111, 0xff))],
      ['5.2/2 padding of zeros', block(0, NAME, Buffer.of(0x81, 0b1000_1100))],
      ['5.2/3 the end of the string', block(0, NAME, Buffer.of(0x84, 0xff, 0xff, 0xff, 0xff))],
      ['6.1/1 the index 0', block(0x80)],
      // 4097 is 31, and 4066 in two bytes of seven bits (RFC 7541 §5.1).
      ['6.3/1 a larger table than allowed', Buffer.concat([Buffer.of(0x3f, 0xe2, 0x1f), block()])],
    ] as const
  ).map(([what, bytes]) => one(`hpack ${what}`, broken(COMPRESSION), [sendBlock(bytes)])),
];

const lower = [head(1, POST, true), head(7, POST, true)];

/** What else breaks a connection. */
export const FURTHER_CASES: readonly H2Case[] = [
  one('DATA on a lower stream that nobody opened', broken(PROTOCOL), [
    ...lower,
    frame(DATA, END_STREAM, 3, BODY),
  ]),
  one('RST_STREAM on a lower stream that nobody opened', broken(PROTOCOL), [
    ...lower,
    frame(RST, 0, 3, number(0)),
  ]),
  one('WINDOW_UPDATE on a lower stream that nobody opened', broken(PROTOCOL), [
    ...lower,
    frame(WINDOW, 0, 3, number(1)),
  ]),
  one('CONTINUATION of another stream', broken(PROTOCOL), [
    frame(HEADERS, 0, 1, block()),
    frame(CONTINUATION, END_HEADERS, 3),
  ]),
  one('a block of fields in very many frames', broken(CALM), [
    frame(HEADERS, 0, 1, block()),
    ...Array.from({ length: 100 }, () => frame(CONTINUATION, 0, 1)),
  ]),
  one('a block of fields of 100 KB', broken(CALM), [
    frame(HEADERS, 0, 1, block()),
    ...Array.from({ length: 10 }, () => frame(CONTINUATION, 0, 1, Buffer.alloc(10_000))),
  ]),
  one('trailers that are no block', broken(COMPRESSION), [open, sendBlock(Buffer.of(0x80))]),
  one('a setting by which the window of an open stream grows too far', broken(FLOW), [
    open,
    frame(WINDOW, 0, 1, number(0x7fff_0000)),
    set(setting(4, 0x7fff_ffff)),
  ]),
  one('no SETTINGS behind the preface', ['close', ...broken(PROTOCOL)], [], {
    preface: `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${frameBytes(PING, 0, 0, EIGHT).toString('latin1')}`,
  }),
];

/** What the gateway did so far, in the words of the cases. */
export function outcomesOf({ frames, socket }: RawH2): ReadonlySet<string> {
  const seen = new Set<string>();
  const bytes = new Map<number, number>();
  let acks = 0;
  let refused = 0;
  for (const { type, flags, stream, payload } of frames) {
    if (type === GOAWAY) seen.add(`goaway ${payload.readUInt32BE(4)}`);
    if (type === RST) seen.add(`reset ${stream} ${payload.readUInt32BE(0)}`);
    if (type === RST && payload.readUInt32BE(0) === REFUSED) refused += 1;
    if (type === PING && (flags & ACK) !== 0 && payload.toString() === 'h2 cases') seen.add('pong');
    if (type === SETTINGS && (flags & ACK) !== 0) acks += 1;
    // The entries 8 and 12 of the static table.
    if (type === HEADERS)
      seen.add(`${payload[0] === 0x88 ? 200 : payload[0] === 0x8c ? 400 : 'another'} on ${stream}`);
    if (type === DATA) bytes.set(stream, (bytes.get(stream) ?? 0) + payload.length);
  }
  if (refused > 0) seen.add('some refused');
  if (socket.destroyed || socket.readableEnded) seen.add('close');
  seen.add(`${acks} settings acks`);
  for (const [stream, count] of bytes) seen.add(`${count} byte on ${stream}`);
  return seen;
}

/** Takes these steps once the gateway has done that. */
function behind(outcome: string, ...steps: readonly Step[]): Step {
  return (raw) => {
    const look = (): void => {
      if (!outcomesOf(raw).has(outcome)) return;
      raw.socket.off('data', look);
      for (const step of steps) step(raw);
    };
    raw.socket.on('data', look);
  };
}
