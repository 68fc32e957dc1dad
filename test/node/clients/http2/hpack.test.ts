import { once } from 'node:events';
import { type ClientHttp2Session, connect, sensitiveHeaders } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  FrameReader,
  writeFrameHead,
} from '../../../../src/node/clients/http2/frames.ts';
import { decodeHuffman, HpackDecoder } from '../../../../src/node/clients/http2/hpack.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { heldBeyond } from '../../../support/held-heap.ts';
import { until } from '../../../support/until.ts';

const TABLE_BYTES = 4096;

/** The fields of a block, a line each, with a question mark in front of an invalid one; undefined for bytes that are not a block. */
function linesOf(
  bytes: Buffer,
  blocks = new HpackDecoder(),
  from = 0,
  to = bytes.length,
): string[] | undefined {
  const lines: string[] = [];
  const isRead = blocks.read(bytes, from, to, {
    field: (name, value, isValid) => void lines.push(`${isValid ? '' : '?'}${name}: ${value}`),
  });
  return isRead ? lines : undefined;
}

const hex = (digits: string): Buffer => Buffer.from(digits, 'hex');

/** Writes a number behind bits that share its first byte (RFC 7541 §5.1), however large it is. */
function number(value: number, mask: number, bits = 0): Buffer {
  if (value < mask) return Buffer.of(bits | value);
  const bytes = [bits | mask];
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.from([...bytes, rest]);
}

const indexed = (index: number): Buffer => number(index, 0x7f, 0x80);
const sizeUpdate = (bytes: number): Buffer => number(bytes, 0x1f, 0x20);
const text = (value: string): Buffer =>
  Buffer.concat([number(value.length, 0x7f), Buffer.from(value, 'latin1')]);
/** A field whose first byte says what becomes of it. */
const literal = (name: string, value: string, first = 0): Buffer =>
  Buffer.concat([Buffer.of(first), text(name), text(value)]);
const remembered = (name: string, value: string): Buffer => literal(name, value, 0x40);

const REQUESTS = [
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
  [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
  [
    ':method: GET',
    ':scheme: https',
    ':path: /index.html',
    ':authority: www.example.com',
    'custom-key: custom-value',
  ],
];
const PLACE = 'location: https://www.example.com';
const RESPONSES = [
  [':status: 302', 'cache-control: private', 'date: Mon, 21 Oct 2013 20:13:21 GMT', PLACE],
  [':status: 307', 'cache-control: private', 'date: Mon, 21 Oct 2013 20:13:21 GMT', PLACE],
  [
    ':status: 200',
    'cache-control: private',
    'date: Mon, 21 Oct 2013 20:13:22 GMT',
    PLACE,
    'content-encoding: gzip',
    'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
  ],
];

/** Blocks of one connection each, from appendix C of RFC 7541. The table of the responses has 256 bytes. */
const EXAMPLES: readonly (readonly [
  title: string,
  tableBytes: number,
  blocks: readonly string[],
  lines: readonly (readonly string[])[],
])[] = [
  ['C.2.1', 4096, ['400a637573746f6d2d6b65790d637573746f6d2d686561646572'], [['custom-key: custom-header']]],
  ['C.2.2', 4096, ['040c2f73616d706c652f70617468'], [[':path: /sample/path']]],
  ['C.2.3', 4096, ['100870617373776f726406736563726574'], [['password: secret']]],
  ['C.2.4', 4096, ['82'], [[':method: GET']]],
  [
    'C.3',
    4096,
    [
      '828684410f7777772e6578616d706c652e636f6d',
      '828684be58086e6f2d6361636865',
      '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565',
    ],
    REQUESTS,
  ],
  [
    'C.4',
    4096,
    [
      '828684418cf1e3c2e5f23a6ba0ab90f4ff',
      '828684be5886a8eb10649cbf',
      '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf',
    ],
    REQUESTS,
  ],
  [
    'C.5',
    256,
    [
      '4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54' +
        '6e1768747470733a2f2f7777772e6578616d706c652e636f6d',
      '4803333037c1c0bf',
      '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738' +
        '666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
    ],
    RESPONSES,
  ],
  [
    'C.6',
    256,
    [
      '488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
      '4883640effc1c0bf',
      '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdf' +
        'cd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
    ],
    RESPONSES,
  ],
];

describe('the examples of RFC 7541', () => {
  test.each(EXAMPLES)('%s', (_title, tableBytes, blocks, lines) => {
    const connection = new HpackDecoder();
    expect(linesOf(sizeUpdate(tableBytes), connection)).toEqual([]);
    expect(blocks.map((block) => linesOf(hex(block), connection))).toEqual(lines);
  });

  test('the table holds the fields that fit, the latest first', () => {
    const connection = new HpackDecoder();
    linesOf(sizeUpdate(256), connection);
    for (const block of EXAMPLES.find(([title]) => title === 'C.5')?.[2] ?? [])
      linesOf(hex(block), connection);
    const [, , , , coding, cookie] = RESPONSES[2] ?? [];
    expect(linesOf(hex('bebfc0'), connection)).toEqual([cookie, coding, RESPONSES[2]?.[2]]);
    expect(linesOf(hex('c1'), connection)).toBeUndefined();
  });
});

test('both sides know 61 fields (RFC 7541, appendix A)', () => {
  const known =
    ':authority|:method GET|:method POST|:path /|:path /index.html|:scheme http|:scheme https|:status 200|' +
    ':status 204|:status 206|:status 304|:status 400|:status 404|:status 500|accept-charset|' +
    'accept-encoding gzip, deflate|accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|' +
    'authorization|cache-control|content-disposition|content-encoding|content-language|content-length|' +
    'content-location|content-range|content-type|cookie|date|etag|expect|expires|from|host|if-match|' +
    'if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|link|location|max-forwards|' +
    'proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie|' +
    'strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate';
  const lines = known.split('|').map((field) => field.replace(/ |$/, ': '));
  expect(linesOf(Buffer.concat(lines.map((_, at) => indexed(at + 1))))).toEqual(lines);
});

// A number that is 2^32 too large is a small one for a reader whose numbers wrap around.
const WRAPPED = 2 ** 32;
describe('bytes that are not a header block', () => {
  test.each([
    ['index 0', hex('80')],
    ['an index beyond the fields that both sides know', hex('be')],
    ['a name beyond the fields that both sides know', hex('7e0161')],
    ['a name beyond them, of a field that is not remembered', Buffer.concat([number(62, 0x0f), text('a')])],
    ['an index that wraps around to one', indexed(WRAPPED + 2)],
    ['an index that wraps around to another table', indexed(2 ** 31 + 2)],
    ['a name whose index wraps around to one', Buffer.concat([number(WRAPPED + 32, 0x3f, 0x40), text('a')])],
    ['a length that wraps around to one', Buffer.concat([hex('04'), number(WRAPPED + 1, 0x7f), text('ab')])],
    ['a number without an end', hex('ffffffffffffffffffff')],
    ['a number with more zeros than it needs', hex('047f8080808080808000')],
    ['a value that goes on behind the block', Buffer.concat([hex('0403'), Buffer.from('/a')])],
    ['a name that goes on behind the block', Buffer.concat([hex('0003'), Buffer.from('ab')])],
    ['a name without a value', Buffer.concat([hex('00'), text('ab')])],
    ['nothing behind an index', hex('44')],
    ['a value with a wrong code', hex('0484ffffffff')],
    ['a table larger than the gateway allows', sizeUpdate(4097)],
    ['a table whose size wraps around', sizeUpdate(WRAPPED + 256)],
    ['a size of the table behind a field', hex('8220')],
    ['half of the size of a table', hex('3fe1')],
    ['a size of the table without an end', hex('3fffffffff')],
  ])('%s', (_title, block) => {
    const connection = new HpackDecoder();
    expect(linesOf(block, connection)).toBeUndefined();
    // The content of the client's table is no longer known.
    expect(linesOf(hex('82'), connection)).toBeUndefined();
    // Nor does what stands behind it help.
    const among = Buffer.concat([block, Buffer.alloc(40, 0x01)]);
    expect(linesOf(among, new HpackDecoder(), 0, block.length)).toBeUndefined();
  });

  test('an empty block has no fields', () => {
    expect(linesOf(hex('8282'), new HpackDecoder(), 1, 1)).toEqual([]);
  });
});

describe('the fields that a table keeps', () => {
  const afterwards = (...blocks: readonly Buffer[]): string[] | undefined => {
    const connection = new HpackDecoder();
    for (const block of blocks) expect(linesOf(block, connection)).toBeDefined();
    return linesOf(indexed(62), connection);
  };
  const a = remembered('a', 'b');

  test.each([
    ['a field that is to be indexed', ['a: b'], [a]],
    ['no field without indexing', undefined, [literal('a', 'b')]],
    ['no field that is never indexed', undefined, [literal('a', 'b', 0x10)]],
    ['no field after the table was emptied', undefined, [a, sizeUpdate(0)]],
    ['no field in a table of size 0', undefined, [sizeUpdate(0), a]],
    [
      'a field after two changes of the size',
      ['a: b'],
      [Buffer.concat([sizeUpdate(0), sizeUpdate(TABLE_BYTES), a])],
    ],
    ['a field that fills the table', ['a: b'], [sizeUpdate(34), a]],
    ['no field that is one byte too large', undefined, [sizeUpdate(33), a]],
    [
      'nothing beside a field that is larger than the table',
      undefined,
      [a, remembered('a', 'b'.repeat(4064))],
    ],
    ['a name whose own field is evicted for it', ['a: c'], [sizeUpdate(34), a, hex('7e0163')]],
  ])('%s', (_title, lines, blocks) => {
    expect(afterwards(...blocks)).toEqual(lines);
  });
});

describe('fields that make their message malformed (RFC 9113 §8.2.1)', () => {
  const names = ['', ':', 'A', 'aB', 'a b', ' a', 'a ', 'a:b', '::a', ':A', 'a\0', 'a\r', 'a\n', 'a\t'];
  test.each([...names, 'a\x7f', 'a\x80', '\xe9', 'a,', 'a"', 'a(', 'a/', 'a@', 'a{'])(
    'the name %j',
    (name) => {
      expect(linesOf(Buffer.concat([literal(name, 'b'), hex('82')]))).toEqual([
        `?${name}: b`,
        ':method: GET',
      ]);
    },
  );

  const values = ['\r', '\n', '\0', '\x7f', '\x1b', '\x01', '\x1f', 'a\r\nb: c', 'a\0b', 'a\x7f'];
  test.each([...values, ' a', 'a ', '\ta', 'a\t', ' ', '\t'])('the value %j', (value) => {
    expect(linesOf(literal('a', value))).toEqual([`?a: ${value}`]);
    expect(linesOf(Buffer.concat([hex('04'), text(value)]))).toEqual([`?:path: ${value}`]);
  });

  test('a name and a value in Huffman codes', () => {
    expect(linesOf(hex('0081870162'))).toEqual(['?A: b']);
    expect(linesOf(hex('00016184fffffff7'))).toEqual(['?a: \r']);
  });

  test.each(['a', ':a', '0', "!#$%&'*+-.^_`|~", 'x_y'])('but not the name %j', (name) => {
    expect(linesOf(literal(name, ''))).toEqual([`${name}: `]);
  });

  test.each(['', 'a b', 'a\tb', '\x80\xff', '!~', ':a', 'A'])('but not the value %j', (value) => {
    expect(linesOf(literal('a', value))).toEqual([`a: ${value}`]);
  });

  test('an indexed one is a fault each time; its name alone only if the fault is in the name', () => {
    const connection = new HpackDecoder();
    linesOf(Buffer.concat([remembered('a', ' b'), remembered('A', 'b')]), connection);
    const block = Buffer.concat([
      indexed(62),
      indexed(63),
      number(63, 0x0f),
      text('c'),
      number(62, 0x0f),
      text('c'),
    ]);
    expect(linesOf(block, connection)).toEqual(['?A: b', '?a:  b', 'a: c', '?A: c']);
    linesOf(Buffer.concat([number(63, 0x3f, 0x40), text('c')]), connection);
    expect(linesOf(Buffer.concat([indexed(62), number(62, 0x0f), text('\r')]), connection)).toEqual([
      'a: c',
      '?a: \r',
    ]);
  });
});

test('texts of any length are read, coded and not', () => {
  const lengths = [0, 1, 126, 127, 128, 254, 255, 256, 16_383, 16_384, 60_000];
  const plain = lengths.map((length) => literal('a', 'b'.repeat(length)));
  expect(linesOf(Buffer.concat(plain))).toEqual(lengths.map((length) => `a: ${'b'.repeat(length)}`));
  // Eight times the letter a, whose code has five bits.
  const coded = Buffer.concat(Array.from({ length: 8000 }, () => hex('18c6318c63')));
  const block = Buffer.concat([hex('04'), number(coded.length, 0x7f, 0x80), coded]);
  expect(linesOf(block)).toEqual([`:path: ${'a'.repeat(64_000)}`]);
});

describe('bytes that no client sends', () => {
  const pieces = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...EXAMPLES.flatMap(([, , blocks]) => blocks.map(hex))) },
    { weight: 2, arbitrary: fc.nat(70).map(indexed) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.nat(70), fc.string({ maxLength: 9 }))
        .map(([at, value]) => Buffer.concat([number(at, 0x3f, 0x40), text(value)])),
    },
    { weight: 1, arbitrary: fc.constantFrom(0, 33, 256, 4096, 4097).map(sizeUpdate) },
    { weight: 2, arbitrary: fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)) },
  );
  const blocks = fc
    .tuple(fc.array(pieces, { maxLength: 6 }), fc.nat(), fc.nat(3))
    .map(([parts, cut, isCut]) => {
      const block = Buffer.concat(parts);
      return isCut === 0 ? block.subarray(0, cut % (block.length + 1)) : block;
    });

  test('bytes around a block make no difference', fuzzTime(), () => {
    fc.assert(
      fc.property(fc.array(blocks, { maxLength: 4 }), fc.uint8Array({ maxLength: 9 }), (parts, around) => {
        const [alone, among] = [new HpackDecoder(), new HpackDecoder()];
        for (const block of parts) {
          const lines = linesOf(Buffer.from(block), alone);
          const bytes = Buffer.concat([around, block, around]);
          const from = around.length;
          expect(linesOf(bytes, among, from, from + block.length)).toEqual(lines);
        }
      }),
      { numRuns: fuzzRuns(3000) },
    );
  });

  const cutBlocks = EXAMPLES.flatMap(([title, tableBytes, examples, lines]) =>
    examples.map(
      (_, at) => [`${title}.${at + 1}`, tableBytes, examples.slice(0, at + 1), lines[at]] as const,
    ),
  );
  test.each(cutBlocks)('wherever %s is cut, it has the first of its fields, or is none', (...example) => {
    const [, tableBytes, examples, lines] = example;
    const block = hex(examples.at(-1) ?? '');
    for (let cut = 0; cut < block.length; cut += 1) {
      const connection = new HpackDecoder();
      linesOf(sizeUpdate(tableBytes), connection);
      for (const earlier of examples.slice(0, -1)) linesOf(hex(earlier), connection);
      const read = linesOf(block, connection, 0, cut) ?? [];
      expect(read).toEqual(lines?.slice(0, read.length));
    }
  });
});

// Attack: fields of some bytes in blocks of many, none of which is forgotten while a part of it is remembered.
test.each([
  ['what is remembered', 20, 80],
  ['an idle connection', 1000, 1],
])('%s keeps no block alive', (_title, connections, blocks) => {
  const rest = literal('x', 'y'.repeat(16_000));
  const work = (): readonly HpackDecoder[] =>
    Array.from({ length: connections }, () => {
      const connection = new HpackDecoder();
      for (let at = 0; at < blocks; at += 1)
        linesOf(Buffer.concat([remembered('name-of-a-field', `value ${at} of a field`), rest]), connection);
      return connection;
    });
  expect(heldBeyond(work, { most: connections * blocks * 4000 })).toBeUndefined();
});

/** What Node's client sends, nghttp2 has written. */
describe('the blocks that another client writes are read back', () => {
  let server: Server;
  let port = 0;
  let socket: Socket | undefined;

  beforeAll(async () => {
    server = createServer((accepted) => {
      socket = accepted;
      accepted.on('error', () => {});
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  /** Collects the blocks that arrive, each of one stream. */
  function blocksFrom(socket: Socket): readonly Buffer[] {
    const blocks: Buffer[] = [];
    let block: Buffer[] = [];
    const reader = new FrameReader({
      isStopped: false,
      frame: (type, flags, _stream, bytes, from, to) => {
        if (type !== FRAME.headers && type !== FRAME.continuation) return;
        block.push(Buffer.from(bytes.subarray(from, to)));
        if ((flags & FLAG.endHeaders) === 0) return;
        blocks.push(Buffer.concat(block));
        block = [];
      },
      data: () => {},
      fail: (code) => expect(code).toBeUndefined(),
    });
    socket.on('data', (bytes: Buffer) => void reader.read(bytes));
    return blocks;
  }

  /** Tells the client how large its table may be. */
  async function setTable(client: ClientHttp2Session, bytes: number): Promise<void> {
    const frame = Buffer.alloc(FRAME_HEAD_BYTES + 6);
    writeFrameHead(frame, 0, 6, FRAME.settings, 0, 0);
    frame.writeUInt16BE(1, FRAME_HEAD_BYTES);
    frame.writeUInt32BE(bytes, FRAME_HEAD_BYTES + 2);
    const set = once(client, 'remoteSettings');
    socket?.write(frame);
    await set;
  }

  const repeatable = [
    'x-a',
    'x-b',
    'x-c',
    'accept',
    'cookie',
    'via',
    'accept-language',
    `x-${'long'.repeat(50)}`,
  ];
  const single = ['authorization', 'user-agent', 'content-type', 'referer', 'if-none-match'];
  const latin1 = fc.oneof(
    fc.integer({ min: 0x21, max: 0x7e }),
    fc.constantFrom(0x09, 0x20),
    fc.integer({ min: 0x80, max: 0xff }),
  );
  const names = fc.oneof(
    fc.constantFrom(...repeatable, ...single),
    fc
      .string({ unit: fc.constantFrom(..."abz09!#$%&'*+-.^_`|~".split('')), maxLength: 20 })
      .map((name) => `x-${name}`),
  );
  const values = fc.oneof(
    fc.constantFrom(
      '',
      'a',
      'b',
      'text/html',
      'c'.repeat(60),
      'd'.repeat(126),
      'e'.repeat(2000),
      'f'.repeat(5000),
    ),
    fc
      .array(latin1, { maxLength: 60 })
      .map((codes) => String.fromCharCode(...codes).replaceAll(/^[\t ]+|[\t ]+$/g, '')),
  );
  const requests = fc.record({
    tableBytes: fc.option(fc.constantFrom(0, 33, 100, 256, 1000, 4096, 65_536), { freq: 4, nil: undefined }),
    path: fc.constantFrom('/', '/index.html', '/api/v1/orders?a=b', `/${'p'.repeat(300)}`),
    fields: fc
      .array(fc.tuple(names, values), { maxLength: 8 })
      // Node writes no second field of some names.
      .map((fields) =>
        fields.filter(
          ([name], at) => !single.includes(name) || fields.findIndex(([other]) => other === name) === at,
        ),
      ),
    secret: fc.subarray([...repeatable, ...single]),
  });

  const fieldsOf = (path: string): [string, string][] => [
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'g'],
    [':path', path],
  ];

  test('several requests on one connection', fuzzTime(), async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(requests, { minLength: 1, maxLength: 8 }), async (sent) => {
        socket = undefined;
        const client = connect(`http://127.0.0.1:${port}`);
        client.on('error', () => {});
        await until(() => socket !== undefined);
        const blocks = blocksFrom(socket as unknown as Socket);
        for (const { tableBytes, path, fields, secret } of sent) {
          if (tableBytes !== undefined) await setTable(client, tableBytes);
          const raw = Object.assign([...fieldsOf(path), ...fields].flat(), { [sensitiveHeaders]: secret });
          client.request(raw).on('error', () => {});
        }
        await until(() => blocks.length === sent.length);
        client.destroy();
        const connection = new HpackDecoder();
        expect(blocks.map((block) => linesOf(block, connection))).toEqual(
          sent.map(({ path, fields }) =>
            [...fieldsOf(path), ...fields].map(([name, value]) => `${name}: ${value}`),
          ),
        );
      }),
      { numRuns: fuzzRuns(200) },
    );
  });
});

/** The code of each byte, and of the end of the text behind them, with a 1 in front of its bits (RFC 7541, appendix B). */
const CODES = [
  0x3ff8, 0xffffd8, 0x1fffffe2, 0x1fffffe3, 0x1fffffe4, 0x1fffffe5, 0x1fffffe6, 0x1fffffe7, 0x1fffffe8,
  0x1ffffea, 0x7ffffffc, 0x1fffffe9, 0x1fffffea, 0x7ffffffd, 0x1fffffeb, 0x1fffffec, 0x1fffffed, 0x1fffffee,
  0x1fffffef, 0x1ffffff0, 0x1ffffff1, 0x1ffffff2, 0x7ffffffe, 0x1ffffff3, 0x1ffffff4, 0x1ffffff5, 0x1ffffff6,
  0x1ffffff7, 0x1ffffff8, 0x1ffffff9, 0x1ffffffa, 0x1ffffffb, 0x54, 0x7f8, 0x7f9, 0x1ffa, 0x3ff9, 0x55, 0x1f8,
  0xffa, 0x7fa, 0x7fb, 0x1f9, 0xffb, 0x1fa, 0x56, 0x57, 0x58, 0x20, 0x21, 0x22, 0x59, 0x5a, 0x5b, 0x5c, 0x5d,
  0x5e, 0x5f, 0xdc, 0x1fb, 0xfffc, 0x60, 0x1ffb, 0x7fc, 0x3ffa, 0x61, 0xdd, 0xde, 0xdf, 0xe0, 0xe1, 0xe2,
  0xe3, 0xe4, 0xe5, 0xe6, 0xe7, 0xe8, 0xe9, 0xea, 0xeb, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf2, 0x1fc, 0xf3,
  0x1fd, 0x3ffb, 0xffff0, 0x3ffc, 0x7ffc, 0x62, 0xfffd, 0x23, 0x63, 0x24, 0x64, 0x25, 0x65, 0x66, 0x67, 0x26,
  0xf4, 0xf5, 0x68, 0x69, 0x6a, 0x27, 0x6b, 0xf6, 0x6c, 0x28, 0x29, 0x6d, 0xf7, 0xf8, 0xf9, 0xfa, 0xfb,
  0xfffe, 0xffc, 0x7ffd, 0x3ffd, 0x1ffffffc, 0x1fffe6, 0x7fffd2, 0x1fffe7, 0x1fffe8, 0x7fffd3, 0x7fffd4,
  0x7fffd5, 0xffffd9, 0x7fffd6, 0xffffda, 0xffffdb, 0xffffdc, 0xffffdd, 0xffffde, 0x1ffffeb, 0xffffdf,
  0x1ffffec, 0x1ffffed, 0x7fffd7, 0xffffe0, 0x1ffffee, 0xffffe1, 0xffffe2, 0xffffe3, 0xffffe4, 0x3fffdc,
  0x7fffd8, 0xffffe5, 0x7fffd9, 0xffffe6, 0xffffe7, 0x1ffffef, 0x7fffda, 0x3fffdd, 0x1fffe9, 0x7fffdb,
  0x7fffdc, 0xffffe8, 0xffffe9, 0x3fffde, 0xffffea, 0x7fffdd, 0x7fffde, 0x1fffff0, 0x3fffdf, 0x7fffdf,
  0xffffeb, 0xffffec, 0x3fffe0, 0x3fffe1, 0x7fffe0, 0x3fffe2, 0xffffed, 0x7fffe1, 0xffffee, 0xffffef,
  0x1fffea, 0x7fffe2, 0x7fffe3, 0x7fffe4, 0xfffff0, 0x7fffe5, 0x7fffe6, 0xfffff1, 0x7ffffe0, 0x7ffffe1,
  0x1fffeb, 0xffff1, 0x7fffe7, 0xfffff2, 0x7fffe8, 0x3ffffec, 0x7ffffe2, 0x7ffffe3, 0x7ffffe4, 0xfffffde,
  0xfffffdf, 0x7ffffe5, 0x1fffff1, 0x3ffffed, 0xffff2, 0x3fffe3, 0x7ffffe6, 0xfffffe0, 0xfffffe1, 0x7ffffe7,
  0xfffffe2, 0x1fffff2, 0x3fffe4, 0x3fffe5, 0x7ffffe8, 0x7ffffe9, 0x1ffffffd, 0xfffffe3, 0xfffffe4, 0xfffffe5,
  0x1fffec, 0x1fffff3, 0x1fffed, 0x3fffe6, 0x7fffe9, 0x3fffe7, 0x3fffe8, 0xfffff3, 0x7fffea, 0x7fffeb,
  0x3ffffee, 0x3ffffef, 0x1fffff4, 0x1fffff5, 0x7ffffea, 0xfffff4, 0x7ffffeb, 0xfffffe6, 0x7ffffec, 0x7ffffed,
  0xfffffe7, 0xfffffe8, 0xfffffe9, 0xfffffea, 0xfffffeb, 0x1ffffffe, 0xfffffec, 0xfffffed, 0xfffffee,
  0xfffffef, 0xffffff0, 0x7ffffee, 0x7fffffff,
];
const codes = CODES.map((code) => code.toString(2).slice(1));
const symbols = new Map(codes.map((code, symbol) => [code, symbol]));
const END_OF_TEXT = 256;
const OVERWRITTEN = 0x21;

/** Bytes of as many bits as there are, which are filled up with ones. */
function packed(bits: string): Buffer {
  const whole = bits.padEnd(Math.ceil(bits.length / 8) * 8, '1');
  return Buffer.from(whole.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? []);
}

/** The characters of a text, read code by code; undefined if it is invalid. */
function readSlowly(bytes: Uint8Array): number[] | undefined {
  const text: number[] = [];
  let bits = '';
  for (const bit of Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')) {
    bits += bit;
    const symbol = symbols.get(bits);
    if (symbol === END_OF_TEXT) return undefined;
    if (symbol === undefined) continue;
    text.push(symbol);
    bits = '';
  }
  return /^1{0,7}$/.test(bits) ? text : undefined;
}

/** Decodes bytes that stand among others, into just enough room. */
function decode(bytes: Uint8Array, before = 0, after = 0): number[] | undefined {
  const among = Buffer.concat([Buffer.alloc(before, 0x55), bytes, Buffer.alloc(after, 0xaa)]);
  const room = Math.ceil((bytes.length * 8) / 5);
  const target = Buffer.alloc(room + 8, OVERWRITTEN);
  const length = decodeHuffman(among, before, before + bytes.length, target);
  expect(target.subarray(room)).toEqual(Buffer.alloc(8, OVERWRITTEN));
  return length < 0 ? undefined : [...target.subarray(0, length)];
}

test('each byte has its code, wherever that begins', () => {
  // The code of the letter a has five bits: all offsets in a byte occur.
  const letter = codes[0x61] ?? '';
  for (const [byte, code] of codes.slice(0, END_OF_TEXT).entries()) {
    for (let letters = 0; letters < 8; letters += 1) {
      const text = [...Array.from({ length: letters }, () => 0x61), byte, byte];
      expect(decode(packed(letter.repeat(letters) + code + code))).toEqual(text);
    }
  }
});

test(
  'codes that are cut, changed or damaged are read as by a slow reader, or not at all, between any bytes',
  fuzzTime(),
  () => {
    const pieces = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...codes) },
      { weight: 1, arbitrary: fc.string({ unit: fc.constantFrom('0', '1'), maxLength: 12 }) },
    );
    const filling = fc.constantFrom('', '', '0', '1', '11111111', '1111111');
    const texts = fc.oneof(
      fc
        .tuple(fc.array(pieces, { maxLength: 20 }), filling)
        .map(([bits, end]) => packed(bits.join('') + end)),
      fc.uint8Array({ maxLength: 12 }),
    );
    const runs = fuzzRuns(5000);
    let read = 0;
    fc.assert(
      fc.property(texts, fc.nat(9), fc.nat(9), (bytes, before, after) => {
        const text = readSlowly(bytes);
        if (text !== undefined) read += 1;
        expect(decode(bytes, before, after)).toEqual(text);
      }),
      { numRuns: runs },
    );
    expect(read).toBeGreaterThan(runs / 10);
    expect(read).toBeLessThan(runs - runs / 10);
  },
);
