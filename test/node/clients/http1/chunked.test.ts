import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ChunkedBody } from '../../../../src/node/clients/http1/chunked.ts';
import { fuzzRuns } from '../../../support/fuzz.ts';

const LIMIT = 2048;

/** The result of a reader for some bytes. */
type Reading = 'partial' | 'faulty' | { body: string; trailers: readonly string[]; rest: number };

/** The reading of a body that arrives in these parts. */
function read(...parts: readonly string[]): Reading {
  const body = new ChunkedBody(new Socket(), LIMIT);
  let text = '';
  body.on('data', (part) => {
    text += Buffer.from(part).toString('latin1');
  });
  body.on('end', () => {
    text += '.';
  });
  let rest = '';
  for (const part of parts) {
    if (body.isFaulty) break;
    rest += body.isComplete ? part : body.receive(Buffer.from(part, 'latin1')).toString('latin1');
  }
  if (body.isFaulty) return 'faulty';
  if (!body.isComplete) return 'partial';
  expect(text.endsWith('.')).toBe(true);
  return { body: text.slice(0, -1), trailers: body.rawTrailers, rest: rest.length };
}

/** A text cut at every byte. */
function bytesOf(text: string): readonly string[] {
  return text.split('');
}

test('the data of all chunks of one read is one part', () => {
  const body = new ChunkedBody(new Socket(), LIMIT);
  const parts: string[] = [];
  body.on('data', (part) => void parts.push(Buffer.from(part).toString('latin1')));
  body.on('end', () => void parts.push('end'));
  const rest = body.receive(Buffer.from(`${'1\r\nx\r\n'.repeat(1000)}2;a=b\r\nyz\r\n0\r\n\r\nGET`));
  expect(parts).toEqual([`${'x'.repeat(1000)}yz`, 'end']);
  expect(rest.toString()).toBe('GET');
  expect(body.pieces).toBe(1002);
});

test('parts that arrive before there is a listener are kept, and reading pauses', async () => {
  const socket = new Socket();
  const body = new ChunkedBody(socket, LIMIT);
  body.receive(Buffer.from('1\r\nx\r\n1\r\ny'));
  body.receive(Buffer.from('\r\n0\r\nt: 1\r\n\r\n'));
  expect(socket.isPaused()).toBe(true);
  let text = '';
  body.on('data', (part) => void (text += Buffer.from(part).toString()));
  const whole = new Promise<void>((resolve) => body.on('end', resolve));
  await whole;
  expect(text).toBe('xy');
  expect(socket.isPaused()).toBe(false);
  expect(body.rawTrailers).toEqual(['t', '1']);
});

/** Both readers get the same bytes. */
describe("chunks are read as Node's parser reads them", () => {
  let server: Server;
  let finish: (reading: Reading) => void = () => {};

  beforeAll(() => {
    server = createServer({ maxHeaderSize: LIMIT, requireHostHeader: false }, note);
    server.on('clientError', () => finish('faulty'));
  });
  afterAll(() => void server.close());

  function note(incoming: IncomingMessage, outgoing: ServerResponse): void {
    let body = '';
    incoming.on('data', (chunk: Buffer) => void (body += chunk.toString('latin1')));
    incoming.on('end', () => {
      outgoing.end();
      finish({ body, trailers: incoming.rawTrailers, rest: 0 });
    });
  }

  async function readByNode(text: string): Promise<Reading> {
    const connection = new Duplex({ read: () => {}, write: (_chunk, _coding, done) => done() });
    const reading = new Promise<Reading>((resolve) => {
      finish = resolve;
    });
    server.emit('connection', connection);
    connection.push(Buffer.from(`POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n${text}`, 'latin1'));
    // Node reads all bytes at once; the end of the body is reported some turns later.
    setImmediate(() => setImmediate(() => setImmediate(() => setImmediate(() => finish('partial')))));
    const result = await reading;
    connection.destroy();
    return result;
  }

  async function expectAlike(text: string): Promise<Reading> {
    const own = read(text);
    const node = await readByNode(text);
    // Bytes behind the body are the next request.
    if (typeof own === 'object' && own.rest > 0) return own;
    expect({ text, own }).toEqual({ text, own: node });
    return own;
  }

  // Lines, and trailers below, that stand apart by a vertical bar.
  const lines = [
    '0|00000000000000000000001|ffffffffffffffff|10000000000000000|0ffffffffffffffff|1_|+1|-1|0x1|g||1\r|1;a\n',
    '1;|1;a|1;;|1;a;|1;=|1;a=|1;a==|1;a=b|1;a="b"|1;a=b"c"|1;a="b"c|1;a="\\"|1;a="\\""|1;a="b";|1;a="";b|1;"a"',
    '1 |1\t| 1|1; a|1;a =b|1;a= b|1;a="b" |1;a="\t \x80\xff"|1;a="\x7f"|1;a="\\\x01"|1;a,b|1;\xe9|1;a="b";c=d;e',
  ].flatMap((list) => list.split('|'));
  test.each(lines)('the line %j', async (line) => {
    const reading = await expectAlike(`${line}\r\nx\r\n0\r\n\r\n`);
    expect(read(...bytesOf(`${line}\r\nx\r\n0\r\n\r\n`))).toEqual(reading);
  });

  const sections = [
    'a:b|a: b \t|a:|a : b|:b|a| a: b|a: b\r\n c|a: \x7f|a: \xff|a\xff: b|a: b\rc|a: b\nc|a: b\r\nA: c|a: b\r\n\r',
    'Content-Length: 1|content-length:|Transfer-Encoding: chunked|transfer-encoding: x|Content-Length-X: 1',
    '__proto__: x|Host: g\r\nAuthorization: x',
  ].flatMap((list) => list.split('|'));
  test.each(sections)('the trailers %j', async (trailers) => {
    const reading = await expectAlike(`1\r\nx\r\n0\r\n${trailers}\r\n\r\n`);
    expect(read(...bytesOf(`1\r\nx\r\n0\r\n${trailers}\r\n\r\n`))).toEqual(reading);
  });

  test('the limits are the same to the byte', async () => {
    for (const size of [16_382, 16_383, 16_384, 16_385, 20_000]) {
      await expectAlike(`1;a=${'b'.repeat(size - 1)}\r\nx\r\n0\r\n\r\n`);
      await expectAlike(`1;${'b'.repeat(size - 4)};c="d"\r\nx\r\n1;efg\r\nx\r\n0\r\n\r\n`);
    }
    for (const size of [LIMIT - 2, LIMIT - 1, LIMIT, LIMIT + 1]) {
      await expectAlike(`0\r\na:  ${'b'.repeat(size - 1)}\r\n\r\n`);
      await expectAlike(`0\r\na: ${'b'.repeat(size - 5)}\r\nc: def\r\n\r\n`);
    }
    expect(read(`1;a=${'b'.repeat(16_384)}\r\nx\r\n0\r\n\r\n`)).toBe('faulty');
    expect(read(`0\r\na: ${'b'.repeat(LIMIT)}\r\n\r\n`)).toBe('faulty');
  });

  // Attack: bytes that are neither data nor names, without end, each of which costs a step (as CVE-2024-22019).
  test.each([
    ['1', ';', 'a\r\nx\r\n0\r\n\r\n'],
    ['1', ';=', '\r\nx\r\n0\r\n\r\n'],
    ['', '0', '1\r\nx\r\n0\r\n\r\n'],
    ['0\r\na:', ' ', 'b\r\n\r\n'],
    ['0\r\na:', '\t', '\r\n\r\n'],
  ])('endless %j and %j are refused at a limit, although Node reads on', (start, piece, end) => {
    expect(read(start + piece.repeat(LIMIT / 2 - 1) + end)).not.toBe('faulty');
    expect(read(start + piece.repeat(40_000))).toBe('faulty');
  });

  const oddities = [
    '\r',
    '\n',
    '\r\n',
    ' ',
    '\t',
    '\0',
    ';',
    '=',
    '"',
    '\\',
    ':',
    '0',
    'a',
    'g',
    '\x7f',
    '\xff',
  ];
  const chunk = fc
    .tuple(
      fc.string({ maxLength: 20 }),
      fc.constantFrom('', '', ';a', ';a=b', ';a="b\\";c"', ';=;'),
      fc.nat(3),
    )
    .map(([data, extension, zeros]) => {
      const bytes = Buffer.from(data).toString('latin1');
      return bytes === ''
        ? ''
        : `${'0'.repeat(zeros)}${bytes.length.toString(16)}${extension}\r\n${bytes}\r\n`;
    });
  const trailers = fc.constantFrom('', '', 'a: b\r\n', 'a:b\r\nc:\r\n', 'Content-Length: 1\r\n');
  const bodies = fc
    .record({
      chunks: fc.array(chunk, { maxLength: 6 }),
      trailers,
      mutations: fc.array(fc.tuple(fc.nat(), fc.option(fc.constantFrom(...oddities), { nil: undefined })), {
        maxLength: 2,
      }),
      length: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat() }),
    })
    .map(({ chunks, trailers: fields, mutations, length }) => {
      let text = `${chunks.join('')}0\r\n${fields}\r\n`;
      for (const [place, oddity] of mutations) {
        const at = place % text.length;
        text = text.slice(0, at) + (oddity ?? '') + text.slice(oddity === undefined ? at + 1 : at);
      }
      return length === null ? text : text.slice(0, length % text.length);
    });

  test('random and mutated chunks, wherever they are cut', async () => {
    const runs = fuzzRuns(3000, 600);
    const counts = { partial: 0, faulty: 0, whole: 0 };
    await fc.assert(
      fc.asyncProperty(bodies, fc.array(fc.nat(), { maxLength: 4 }), async (text, cuts) => {
        const own = await expectAlike(text);
        counts[typeof own === 'string' ? own : 'whole'] += 1;
        const places = [
          0,
          ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b),
          text.length,
        ];
        expect(read(...places.slice(1).map((place, at) => text.slice(places[at], place)))).toEqual(own);
        expect(read(...bytesOf(text))).toEqual(own);
      }),
      { numRuns: runs },
    );
    expect(Math.min(counts.partial, counts.faulty, counts.whole)).toBeGreaterThan(runs / 60);
  });
});
