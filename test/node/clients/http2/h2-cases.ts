import { headerBlock, type RawH2, requestHead } from '../../../support/raw-h2.ts';

/**
 * What a server of HTTP/2 has to answer to frames that are right, odd or broken: the 147 cases that h2spec (MIT, Copyright (c) 2014 Moto
 * Ishizawa) names, written from the sections of RFC 9113 and RFC 7541. The first number is the section of h2spec, so that results compare:
 * those of its own generic part have a `g` in front, and those of RFC 7540 §8.1.2 stand in RFC 9113 §8.2 and §8.3.
 *
 * `expected` is what h2spec takes for right; `instead` is what RFC 9113 allows beside that, and where.
 */
export interface H2Case {
  readonly name: string;
  readonly settings?: readonly (readonly [number, number])[];
  /** Bytes in place of the preface. */
  readonly preface?: string;
  readonly send: (raw: RawH2) => void;
  /** Each is enough. */
  readonly expected: readonly string[];
  readonly instead?: readonly [outcome: string, section: string];
}

const [DATA, HEADERS, PRIORITY, RST, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];
const [END_STREAM, ACK, END_HEADERS, PADDED, PRIORITIZED] = [1, 1, 4, 8, 0x20];
const [PROTOCOL, FLOW, CLOSED, SIZE, REFUSED, CANCEL, COMPRESSION] = [1, 3, 5, 6, 7, 8, 9];

const GET = requestHead('/api/v2/x');
const POST = requestHead('/api/v2/x', 'POST');
/** V2 never responds to it. */
const SLOW = requestHead('/api/v2/slow');
const BODY = Buffer.from('test');
/** A response says that all was understood. */
const SERVED = ['200 on 1'];
const SERVED_3 = ['200 on 3'];
/** RFC 9113 §8.1.1: a server may respond to a malformed request before it resets the stream. */
const REFUSAL = ['400 on 1', 'RFC 9113 §8.1.1'] as const;
/** RFC 9113 §5.3.2: priorities are deprecated, and what they say has no effect. */
const NO_PRIORITIES = ['200 on 1', 'RFC 9113 §5.3.2'] as const;

function number(value: number, bytes = 4): Buffer {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value % 2 ** 32, Math.max(0, bytes - 4), Math.min(4, bytes));
  return buffer;
}

function setting(id: number, value: number): Buffer {
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

const ping = ({ frame }: RawH2): void => frame(PING, 0, 0, Buffer.from('h2 cases'));
const get = (raw: RawH2, stream = 1): void => raw.head(stream, GET);
const open = (raw: RawH2, stream = 1): void => raw.head(stream, POST, true);
const slow = (raw: RawH2): void => raw.head(1, SLOW);
/** A stream that the client has closed in both directions. */
const cancelled = (raw: RawH2): void => {
  open(raw);
  raw.frame(RST, 0, 1, number(CANCEL));
};

/** A request whose block is of these bytes behind its pseudo fields. */
function block(...bytes: readonly (number | Uint8Array)[]): Buffer {
  return Buffer.concat([
    headerBlock(GET),
    ...bytes.map((part) => (typeof part === 'number' ? Buffer.of(part) : part)),
  ]);
}

function sendBlock(payload: Uint8Array): (raw: RawH2) => void {
  return ({ frame }) => frame(HEADERS, END_HEADERS | END_STREAM, 1, payload);
}

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

function malformed(name: string, fields: readonly (readonly [string, string])[]): H2Case {
  return { name, send: (raw) => raw.head(1, fields), expected: reset(1, PROTOCOL), instead: REFUSAL };
}

const without = (name: string): [string, string][] => GET.filter(([own]) => own !== name);
const twice = (name: string): [string, string][] => [...GET.filter(([own]) => own === name), ...GET];

export const H2_CASES: readonly H2Case[] = [
  { name: 'g1/1 the preface', send: ping, expected: ['pong'] },
  {
    name: 'g2/1 PRIORITY on an idle stream',
    send: (raw) => {
      raw.frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 0, 15));
      get(raw);
    },
    expected: SERVED,
  },
  {
    name: 'g2/2 WINDOW_UPDATE on a half-closed stream',
    settings: [[4, 0]],
    send: (raw) => {
      get(raw);
      raw.frame(WINDOW, 0, 1, number(100));
    },
    expected: SERVED,
  },
  {
    name: 'g2/3 PRIORITY on a half-closed stream',
    send: (raw) => {
      get(raw);
      raw.frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 0, 15));
    },
    expected: SERVED,
  },
  {
    name: 'g2/4 RST_STREAM on a half-closed stream',
    send: (raw) => {
      slow(raw);
      raw.frame(RST, 0, 1, number(CANCEL));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: 'g2/5 PRIORITY on a closed stream',
    send: (raw) => {
      cancelled(raw);
      raw.frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 0, 15));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: 'g3.1/1 DATA',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: SERVED,
  },
  {
    name: 'g3.1/2 DATA twice',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, 0, 1, BODY);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: SERVED,
  },
  {
    name: 'g3.1/3 DATA with padding',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM | PADDED, 1, Buffer.concat([Buffer.of(6), BODY, Buffer.alloc(6)]));
    },
    expected: SERVED,
  },
  { name: 'g3.2/1 HEADERS', send: get, expected: SERVED },
  {
    name: 'g3.2/2 HEADERS with padding',
    send: ({ frame }) =>
      frame(
        HEADERS,
        END_STREAM | END_HEADERS | PADDED,
        1,
        Buffer.concat([Buffer.of(6), block(), Buffer.alloc(6)]),
      ),
    expected: SERVED,
  },
  {
    name: 'g3.2/3 HEADERS with a priority',
    send: ({ frame }) =>
      frame(
        HEADERS,
        END_STREAM | END_HEADERS | PRIORITIZED,
        1,
        Buffer.concat([Buffer.of(0, 0, 0, 0, 255), block()]),
      ),
    expected: SERVED,
  },
  ...(
    [
      ['1 weight 1', 0, 0],
      ['2 weight 256', 0, 255],
      ['3 a dependency', 5, 15],
      ['4 an exclusive one', 0x8000_0005, 15],
    ] as const
  ).map(([what, on, weight]): H2Case => ({
    name: `g3.3/${what}`,
    send: (raw) => {
      raw.frame(PRIORITY, 0, 1, Buffer.concat([number(on), Buffer.of(weight)]));
      get(raw);
    },
    expected: SERVED,
  })),
  {
    name: 'g3.3/5 PRIORITY of a stream above the one that opens',
    send: (raw) => {
      raw.frame(PRIORITY, 0, 3, Buffer.of(0, 0, 0, 0, 15));
      get(raw);
    },
    expected: SERVED,
  },
  {
    name: 'g3.4/1 RST_STREAM',
    send: (raw) => {
      cancelled(raw);
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: 'g3.5/1 SETTINGS',
    send: ({ frame }) => frame(SETTINGS, 0, 0, setting(3, 100)),
    expected: ['2 settings acks'],
  },
  { name: 'g3.7/1 PING', send: ping, expected: ['pong'] },
  {
    name: 'g3.8/1 GOAWAY',
    send: (raw) => {
      raw.frame(GOAWAY, 0, 0, Buffer.alloc(8));
      ping(raw);
    },
    expected: ['pong', 'goaway 0', 'close'],
  },
  {
    name: 'g3.9/1 WINDOW_UPDATE of the connection',
    send: (raw) => {
      raw.frame(WINDOW, 0, 0, number(1));
      get(raw);
    },
    expected: SERVED,
  },
  {
    name: 'g3.9/2 WINDOW_UPDATE of a stream',
    send: (raw) => {
      open(raw);
      raw.frame(WINDOW, 0, 1, number(1));
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: SERVED,
  },
  {
    name: 'g3.10/1 CONTINUATION',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block().subarray(0, 9));
      frame(CONTINUATION, END_HEADERS, 1, block().subarray(9));
    },
    expected: SERVED,
  },
  {
    name: 'g3.10/2 CONTINUATION twice',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block().subarray(0, 9));
      frame(CONTINUATION, 0, 1, block().subarray(9, 20));
      frame(CONTINUATION, END_HEADERS, 1, block().subarray(20));
    },
    expected: SERVED,
  },
  { name: 'g4/1 GET', send: get, expected: SERVED },
  { name: 'g4/2 HEAD', send: (raw) => raw.head(1, requestHead('/api/v2/x', 'HEAD')), expected: SERVED },
  {
    name: 'g4/3 POST',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: SERVED,
  },
  {
    name: 'g4/4 POST with trailers',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, 0, 1, BODY);
      raw.head(1, [['x-sum', '1']]);
    },
    expected: SERVED,
  },
  ...(
    [
      // `accept-encoding: gzip, deflate` is the entry 16 of the static table.
      ['indexed field', Buffer.of(0x80 | 16)],
      ...literals('literal with indexing', 0x40, 6),
      ...literals('literal without indexing', 0, 4),
      ...literals('literal never indexed', 0x10, 4),
    ] as const
  ).map(([what, bytes], at): H2Case => ({
    name: `g5/${at + 1} ${what}`,
    send: sendBlock(block(bytes)),
    expected: SERVED,
  })),
  {
    name: 'g5/14 update of the size of the table',
    send: sendBlock(Buffer.concat([Buffer.of(0x20 | 30), block()])),
    expected: SERVED,
  },
  {
    name: 'g5/15 two updates',
    send: sendBlock(Buffer.concat([Buffer.of(0x20, 0x20 | 30), block()])),
    expected: SERVED,
  },

  { name: '3.5/1 the preface', send: ping, expected: ['pong'] },
  {
    name: '3.5/2 another preface',
    preface: 'INVALID CONNECTION PREFACE\r\n\r\n',
    send: () => {},
    expected: ['close', ...broken(PROTOCOL)],
  },
  {
    name: '4.1/1 a frame of an unknown type',
    send: (raw) => {
      raw.frame(22, 0, 0, Buffer.alloc(8));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: '4.1/2 unknown flags',
    send: ({ frame }) => frame(PING, 0x16, 0, Buffer.from('h2 cases')),
    expected: ['pong'],
  },
  {
    name: '4.1/3 the reserved bit',
    send: ({ frame }) => frame(PING, 0, 0x8000_0000, Buffer.from('h2 cases')),
    expected: ['pong'],
  },
  {
    name: '4.2/1 DATA of 2^14 bytes',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM, 1, Buffer.alloc(16_384));
    },
    expected: SERVED,
  },
  {
    name: '4.2/2 DATA of more',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM, 1, Buffer.alloc(16_385));
    },
    expected: reset(1, SIZE),
  },
  {
    name: '4.2/3 HEADERS of more',
    send: ({ frame }) => frame(HEADERS, END_STREAM | END_HEADERS, 1, Buffer.alloc(16_385)),
    expected: broken(SIZE),
  },
  { name: '4.3/1 a block that is none', send: sendBlock(Buffer.of(0x40)), expected: broken(COMPRESSION) },
  {
    name: '4.3/2 PRIORITY in a block',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block());
      frame(PRIORITY, 0, 1, Buffer.alloc(5));
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '4.3/3 HEADERS of another stream in a block',
    send: (raw) => {
      raw.frame(HEADERS, END_STREAM, 1, block());
      get(raw, 3);
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1/1 idle: DATA',
    send: ({ frame }) => frame(DATA, END_STREAM, 1, BODY),
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1/2 idle: RST_STREAM',
    send: ({ frame }) => frame(RST, 0, 1, number(CANCEL)),
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1/3 idle: WINDOW_UPDATE',
    send: ({ frame }) => frame(WINDOW, 0, 1, number(100)),
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1/4 idle: CONTINUATION',
    send: ({ frame }) => frame(CONTINUATION, END_HEADERS, 1, block()),
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1/5 half-closed: DATA',
    send: (raw) => {
      slow(raw);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: reset(1, CLOSED),
  },
  {
    name: '5.1/6 half-closed: HEADERS',
    send: (raw) => {
      slow(raw);
      raw.head(1, GET);
    },
    expected: reset(1, CLOSED),
  },
  {
    name: '5.1/7 half-closed: CONTINUATION',
    send: (raw) => {
      slow(raw);
      raw.frame(CONTINUATION, END_HEADERS, 1, block());
    },
    expected: broken(CLOSED, PROTOCOL),
  },
  {
    name: '5.1/8 reset: DATA',
    send: (raw) => {
      cancelled(raw);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: reset(1, CLOSED),
  },
  {
    name: '5.1/9 reset: HEADERS',
    send: (raw) => {
      cancelled(raw);
      raw.head(1, GET);
    },
    expected: reset(1, CLOSED),
  },
  {
    name: '5.1/10 reset: CONTINUATION',
    send: (raw) => {
      cancelled(raw);
      raw.frame(CONTINUATION, END_HEADERS, 1, block());
    },
    expected: broken(CLOSED, PROTOCOL),
  },
  ...(
    [
      ['11 closed: DATA', DATA],
      ['12 closed: HEADERS', HEADERS],
      ['13 closed: CONTINUATION', CONTINUATION],
    ] as const
  ).map(([what, type]): H2Case => ({
    name: `5.1/${what}`,
    send: (raw) => {
      get(raw);
      behind(raw, '200 on 1', () =>
        raw.frame(
          type,
          type === DATA ? END_STREAM : END_HEADERS | END_STREAM,
          1,
          type === DATA ? BODY : block(),
        ),
      );
    },
    expected: type === CONTINUATION ? broken(CLOSED, PROTOCOL) : reset(1, CLOSED),
  })),
  { name: '5.1.1/1 an even stream', send: (raw) => get(raw, 2), expected: broken(PROTOCOL) },
  {
    name: '5.1.1/2 a lower stream',
    send: (raw) => {
      raw.head(5, SLOW);
      get(raw, 3);
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '5.1.2/1 more streams than allowed',
    send: (raw) => {
      for (let stream = 1; stream < 1200; stream += 2) raw.head(stream, SLOW);
    },
    expected: ['some refused', ...broken(PROTOCOL, REFUSED)],
  },
  {
    name: '5.3.1/1 HEADERS that depend on themselves',
    send: ({ frame }) =>
      frame(
        HEADERS,
        END_STREAM | END_HEADERS | PRIORITIZED,
        1,
        Buffer.concat([Buffer.of(0, 0, 0, 1, 255), block()]),
      ),
    expected: reset(1, PROTOCOL),
    instead: NO_PRIORITIES,
  },
  {
    name: '5.3.1/2 PRIORITY that depends on itself',
    send: (raw) => {
      raw.frame(PRIORITY, 0, 1, Buffer.of(0, 0, 0, 1, 255));
      get(raw);
    },
    expected: reset(1, PROTOCOL),
    instead: NO_PRIORITIES,
  },
  {
    name: '5.4.1/1 the connection closes behind its error',
    send: ({ frame }) => frame(PING, 0, 3, Buffer.alloc(8)),
    expected: ['close'],
  },
  {
    name: '5.4.1/2 the error stands in GOAWAY',
    send: ({ frame }) => frame(PING, 0, 3, Buffer.alloc(8)),
    expected: broken(PROTOCOL),
  },
  {
    name: '5.5/1 an unknown frame',
    send: (raw) => {
      raw.frame(22, 0, 0, Buffer.alloc(8));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: '5.5/2 an unknown frame in a block',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block());
      frame(22, 0, 1, Buffer.alloc(8));
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.1/1 DATA on the connection',
    send: ({ frame }) => frame(DATA, 0, 0, BODY),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.1/2 DATA on a stream that is not open',
    send: (raw) => {
      slow(raw);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: reset(1, CLOSED),
  },
  {
    name: '6.1/3 more padding than DATA',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, END_STREAM | PADDED, 1, Buffer.concat([Buffer.of(6), BODY]));
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.2/1 PRIORITY behind open HEADERS',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block());
      frame(PRIORITY, 0, 1, Buffer.alloc(5));
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.2/2 HEADERS of another stream behind open ones',
    send: (raw) => {
      raw.frame(HEADERS, 0, 1, block());
      get(raw, 3);
    },
    expected: broken(PROTOCOL),
  },
  { name: '6.2/3 HEADERS on the connection', send: (raw) => get(raw, 0), expected: broken(PROTOCOL) },
  {
    name: '6.2/4 more padding than HEADERS',
    send: ({ frame }) =>
      frame(HEADERS, END_STREAM | END_HEADERS | PADDED, 1, Buffer.concat([Buffer.of(255), block()])),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.3/1 PRIORITY on the connection',
    send: ({ frame }) => frame(PRIORITY, 0, 0, Buffer.alloc(5)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.3/2 PRIORITY of another size',
    send: (raw) => {
      open(raw);
      raw.frame(PRIORITY, 0, 1, Buffer.alloc(4));
    },
    expected: reset(1, SIZE),
  },
  {
    name: '6.4/1 RST_STREAM on the connection',
    send: ({ frame }) => frame(RST, 0, 0, number(CANCEL)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.4/2 RST_STREAM of an idle stream',
    send: ({ frame }) => frame(RST, 0, 1, number(CANCEL)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.4/3 RST_STREAM of another size',
    send: (raw) => {
      open(raw);
      raw.frame(RST, 0, 1, Buffer.alloc(3));
    },
    expected: broken(SIZE),
  },
  {
    name: '6.5/1 an acknowledgement with settings',
    send: ({ frame }) => frame(SETTINGS, ACK, 0, setting(3, 1)),
    expected: broken(SIZE),
  },
  {
    name: '6.5/2 SETTINGS on a stream',
    send: ({ frame }) => frame(SETTINGS, 0, 1, setting(3, 1)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.5/3 SETTINGS of another size',
    send: ({ frame }) => frame(SETTINGS, 0, 0, Buffer.alloc(3)),
    expected: broken(SIZE),
  },
  ...(
    [
      ['1 ENABLE_PUSH 2', 2, 2, PROTOCOL],
      ['2 INITIAL_WINDOW_SIZE 2^31', 4, 0x8000_0000, FLOW],
      ['3 MAX_FRAME_SIZE 2^14 - 1', 5, 16_383, PROTOCOL],
      ['4 MAX_FRAME_SIZE 2^24', 5, 0x100_0000, PROTOCOL],
    ] as const
  ).map(([what, id, value, code]): H2Case => ({
    name: `6.5.2/${what}`,
    send: ({ frame }) => frame(SETTINGS, 0, 0, setting(id, value)),
    expected: broken(code),
  })),
  {
    name: '6.5.2/5 an unknown setting',
    send: (raw) => {
      raw.frame(SETTINGS, 0, 0, setting(0xff, 1));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: '6.5.3/1 one setting twice: the last one holds',
    send: (raw) => {
      raw.frame(SETTINGS, 0, 0, Buffer.concat([setting(4, 100), setting(4, 1)]));
      get(raw);
    },
    expected: ['1 byte on 1'],
  },
  {
    name: '6.5.3/2 SETTINGS are acknowledged',
    send: ({ frame }) => frame(SETTINGS, 0, 0, setting(3, 1)),
    expected: ['2 settings acks'],
  },
  { name: '6.7/1 PING', send: ping, expected: ['pong'] },
  {
    name: '6.7/2 an acknowledged PING is not answered',
    send: (raw) => {
      raw.frame(PING, ACK, 0, Buffer.from('ignored!'));
      ping(raw);
    },
    expected: ['pong'],
  },
  {
    name: '6.7/3 PING on a stream',
    send: ({ frame }) => frame(PING, 0, 1, Buffer.alloc(8)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.7/4 PING of another size',
    send: ({ frame }) => frame(PING, 0, 0, Buffer.alloc(6)),
    expected: broken(SIZE),
  },
  {
    name: '6.8/1 GOAWAY on a stream',
    send: ({ frame }) => frame(GOAWAY, 0, 1, Buffer.alloc(8)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.9/1 WINDOW_UPDATE by 0',
    send: ({ frame }) => frame(WINDOW, 0, 0, number(0)),
    expected: broken(PROTOCOL),
  },
  {
    name: '6.9/2 WINDOW_UPDATE by 0 of a stream',
    send: (raw) => {
      open(raw);
      raw.frame(WINDOW, 0, 1, number(0));
    },
    expected: reset(1, PROTOCOL),
  },
  {
    name: '6.9/3 WINDOW_UPDATE of another size',
    send: ({ frame }) => frame(WINDOW, 0, 0, Buffer.alloc(3)),
    expected: broken(SIZE),
  },
  { name: '6.9.1/1 no more DATA than the window', settings: [[4, 1]], send: get, expected: ['1 byte on 1'] },
  {
    name: '6.9.1/2 the window of the connection grows too far',
    send: ({ frame }) => {
      frame(WINDOW, 0, 0, number(0x7fff_ffff));
      frame(WINDOW, 0, 0, number(0x7fff_ffff));
    },
    expected: broken(FLOW),
  },
  {
    name: '6.9.1/3 that of a stream',
    send: (raw) => {
      open(raw);
      raw.frame(WINDOW, 0, 1, number(0x7fff_ffff));
      raw.frame(WINDOW, 0, 1, number(0x7fff_ffff));
    },
    expected: reset(1, FLOW),
  },
  {
    name: '6.9.2/1 a window that opens by a setting',
    settings: [[4, 0]],
    send: (raw) => {
      get(raw);
      raw.frame(SETTINGS, 0, 0, setting(4, 1));
    },
    expected: ['1 byte on 1'],
  },
  {
    name: '6.9.2/2 a window below zero',
    settings: [[4, 3]],
    send: (raw) => {
      get(raw);
      behind(raw, '3 byte on 1', () => {
        raw.frame(SETTINGS, 0, 0, setting(4, 2));
        raw.frame(WINDOW, 0, 1, number(2));
      });
    },
    expected: ['4 byte on 1'],
  },
  {
    name: '6.9.2/3 a setting above 2^31 - 1',
    send: ({ frame }) => frame(SETTINGS, 0, 0, setting(4, 0x8000_0000)),
    expected: broken(FLOW),
  },
  {
    name: '6.10/1 CONTINUATION twice',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block().subarray(0, 9));
      frame(CONTINUATION, 0, 1, block().subarray(9, 20));
      frame(CONTINUATION, END_HEADERS, 1, block().subarray(20));
    },
    expected: SERVED,
  },
  {
    name: '6.10/2 DATA behind an open CONTINUATION',
    send: ({ frame }) => {
      frame(HEADERS, 0, 1, block().subarray(0, 9));
      frame(CONTINUATION, 0, 1, block().subarray(9));
      frame(DATA, END_STREAM, 1, BODY);
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.10/3 CONTINUATION on the connection',
    send: ({ frame }) => {
      frame(HEADERS, END_STREAM, 1, block().subarray(0, 9));
      frame(CONTINUATION, END_HEADERS, 0, block().subarray(9));
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.10/4 CONTINUATION behind whole HEADERS',
    send: (raw) => {
      open(raw);
      raw.frame(CONTINUATION, END_HEADERS, 1, block());
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.10/5 CONTINUATION behind the last one',
    send: ({ frame }) => {
      frame(HEADERS, 0, 1, block().subarray(0, 9));
      frame(CONTINUATION, END_HEADERS, 1, block().subarray(9));
      frame(CONTINUATION, END_HEADERS, 1, block());
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '6.10/6 CONTINUATION behind DATA',
    send: (raw) => {
      open(raw);
      raw.frame(DATA, 0, 1, BODY);
      raw.frame(CONTINUATION, END_HEADERS, 1, block());
    },
    expected: broken(PROTOCOL),
  },
  {
    name: '7/1 GOAWAY with an unknown code',
    send: (raw) => {
      raw.frame(GOAWAY, 0, 0, Buffer.concat([number(0), number(0xff)]));
      ping(raw);
    },
    expected: ['pong', 'goaway 0', 'close'],
  },
  {
    name: '7/2 RST_STREAM with an unknown code',
    send: (raw) => {
      open(raw);
      raw.frame(RST, 0, 1, number(0xff));
      get(raw, 3);
    },
    expected: SERVED_3,
  },
  {
    name: '8.1/1 trailers that do not end the stream',
    send: (raw) => {
      open(raw);
      raw.head(1, [['x-sum', '1']], true);
    },
    expected: reset(1, PROTOCOL),
    instead: REFUSAL,
  },
  malformed('8.1.2/1 a name in upper case', [...GET, ['X-A', 'b']]),
  malformed('8.1.2.1/1 an unknown pseudo field', [[':x', 'b'], ...GET]),
  malformed('8.1.2.1/2 the pseudo field of a response', [[':status', '200'], ...GET]),
  {
    name: '8.1.2.1/3 a pseudo field in trailers',
    send: (raw) => {
      open(raw);
      raw.head(1, [[':method', 'GET']]);
    },
    expected: reset(1, PROTOCOL),
    instead: REFUSAL,
  },
  malformed('8.1.2.1/4 a pseudo field behind another one', [
    ...without(':path'),
    ['x-a', 'b'],
    [':path', '/api/v2/x'],
  ]),
  malformed('8.1.2.2/1 a field of the connection', [...GET, ['connection', 'keep-alive']]),
  malformed('8.1.2.2/2 TE with more than trailers', [...GET, ['te', 'trailers, deflate']]),
  malformed('8.1.2.3/1 an empty :path', [...without(':path'), [':path', '']]),
  malformed('8.1.2.3/2 no :method', without(':method')),
  malformed('8.1.2.3/3 no :scheme', without(':scheme')),
  malformed('8.1.2.3/4 no :path', without(':path')),
  malformed('8.1.2.3/5 :method twice', twice(':method')),
  malformed('8.1.2.3/6 :scheme twice', twice(':scheme')),
  malformed('8.1.2.3/7 :path twice', twice(':path')),
  {
    name: '8.1.2.6/1 another length than that of the body',
    send: (raw) => {
      raw.head(1, [...POST, ['content-length', '1']], true);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: reset(1, PROTOCOL),
    instead: REFUSAL,
  },
  {
    name: '8.1.2.6/2 another length than that of all DATA',
    send: (raw) => {
      raw.head(1, [...POST, ['content-length', '5']], true);
      raw.frame(DATA, 0, 1, BODY);
      raw.frame(DATA, END_STREAM, 1, BODY);
    },
    expected: reset(1, PROTOCOL),
    instead: REFUSAL,
  },
  {
    name: '8.2/1 PUSH_PROMISE',
    send: ({ frame }) => frame(PUSH, END_HEADERS, 1, Buffer.concat([number(2), block()])),
    expected: broken(PROTOCOL),
  },

  {
    name: 'hpack 2.3.3/1 an index that the table has not',
    send: sendBlock(block(0x80 | 70)),
    expected: broken(COMPRESSION),
  },
  {
    name: 'hpack 2.3.3/2 that of a name',
    send: sendBlock(block(0x40 | 62, VALUE)),
    expected: broken(COMPRESSION),
  },
  {
    name: 'hpack 4.2/1 an update of the size behind a field',
    send: sendBlock(block(0x21)),
    expected: broken(COMPRESSION),
  },
  {
    name: 'hpack 5.2/1 padding of more than 7 bits',
    send: sendBlock(block(0, NAME, Buffer.of(0x82, 0b1000_1111, 0xff))),
    expected: broken(COMPRESSION),
  },
  {
    name: 'hpack 5.2/2 padding of zeros',
    send: sendBlock(block(0, NAME, Buffer.of(0x81, 0b1000_1100))),
    expected: broken(COMPRESSION),
  },
  {
    name: 'hpack 5.2/3 the end of the string',
    send: sendBlock(block(0, NAME, Buffer.of(0x84, 0xff, 0xff, 0xff, 0xff))),
    expected: broken(COMPRESSION),
  },
  { name: 'hpack 6.1/1 the index 0', send: sendBlock(block(0x80)), expected: broken(COMPRESSION) },
  // 4097 is 31, and 4066 in two bytes of seven bits (RFC 7541 §5.1).
  {
    name: 'hpack 6.3/1 a larger table than allowed',
    send: sendBlock(Buffer.concat([Buffer.of(0x3f, 0xe2, 0x1f), block()])),
    expected: broken(COMPRESSION),
  },
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

/** Runs `send` once the gateway has done that. */
function behind(raw: RawH2, outcome: string, send: () => void): void {
  const look = (): void => {
    if (!outcomesOf(raw).has(outcome)) return;
    raw.socket.off('data', look);
    send();
  };
  raw.socket.on('data', look);
}
