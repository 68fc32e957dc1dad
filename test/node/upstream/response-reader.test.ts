import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ResponseReader } from '../../../src/node/upstream/response-reader.ts';
import { fuzzRuns, fuzzTime } from '../../support/fuzz.ts';

const STRICT = { headerBytes: 1000, headerCount: 10 };
const LIMITS = { ...STRICT, isLenient: true };

/** The events for `text`, which arrives in pieces that end at `cuts`: one line an event, data joined. The end follows a last part at once. */
function eventsOf(text: string, cuts: readonly number[] = [], method = 'GET'): string {
  const lines: string[] = [];
  let body = '';
  let isEndDue = false;
  const reader = new ResponseReader(LIMITS, {
    information: (status, headers) => lines.push(`${status} ${headers.join('|')}`),
    head: ({ status, reason, headers }) => lines.push(`${status} ${reason} ${headers.join('|')}`),
    data: (chunk, isLast) => {
      expect(isEndDue).toBe(false);
      isEndDue = isLast;
      body += chunk.toString('latin1');
    },
    complete: (trailers, keptFor) => {
      isEndDue = false;
      lines.push(`end ${trailers.join('|')} ${keptFor}`);
    },
  });
  reader.expect(method);
  const bytes = Buffer.from(text, 'latin1');
  let at = 0;
  for (const cut of [...cuts].sort((a, b) => a - b).concat(bytes.length)) {
    const piece = Buffer.from(bytes.subarray(at, Math.max(at, Math.min(cut, bytes.length))));
    at = Math.max(at, Math.min(cut, bytes.length));
    const fault = reader.read(piece);
    expect(isEndDue).toBe(false);
    // The input is overwritten, as the buffer of a socket is.
    piece.fill(0x21);
    if (fault !== undefined) return [...lines, body, fault].join('\n');
  }
  return [...lines, body, ...(reader.isUntilClose ? ['until close'] : [])].join('\n');
}

const RESPONSES: readonly (readonly [text: string, lines: string])[] = [
  ['HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi', '200 OK Content-Length|2\nend  Infinity\nhi'],
  ['HTTP/1.1 204\r\n\r\n', '204  \nend  Infinity\n'],
  [
    'HTTP/1.1 200 \r\nX:\t\u00e9 \r\ncontent-length:0\r\n\r\n',
    '200  X|\u00e9|content-length|0\nend  Infinity\n',
  ],
  ['HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n', '200 OK Content-Length|0\nend  0\n'],
  [
    'HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n',
    '200 OK Connection|x, Close|Content-Length|0\nend  0\n',
  ],
  [
    'HTTP/1.1 200 OK\r\nConnection: not close\r\nContent-Length: 0\r\n\r\n',
    '200 OK Connection|not close|Content-Length|0\nend  Infinity\n',
  ],
  [
    'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=3, max=9\r\nContent-Length: 0\r\n\r\n',
    '200 OK Keep-Alive|timeout=3, max=9|Content-Length|0\nend  2000\n',
  ],
  [
    'HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 304 No\r\nContent-Length: 9\r\n\r\n',
    '103 Link|a\n304 No Content-Length|9\nend  Infinity\n',
  ],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;a="b"\r\nhi\r\n001\r\n!\r\n0\r\nX-T: 1\r\n\r\n',
    '200 OK Transfer-Encoding|Chunked\nend X-T|1 Infinity\nhi!',
  ],
  ['HTTP/1.1 200 OK\r\n\r\nall that comes', '200 OK \nall that comes\nuntil close'],
];

/** Read leniently: each ends its connection, which `end … 0` says. */
const SLOPPY_RESPONSES: readonly (readonly [text: string, lines: string])[] = [
  ['HTTP/1.1 200 OK\nX: 1\nContent-Length: 2\n\nhi', '200 OK X|1|Content-Length|2\nend  0\nhi'],
  ['HTTP/1.1 200 OK\nContent-Length: 6\n\na\r\n\r\nb', '200 OK Content-Length|6\nend  0\na\r\n\r\nb'],
  ['HTTP/1.1 200 OK\n\r\nall', '200 OK \nall\nuntil close'],
  ['\r\n\nHTTP/1.1 204 No\r\n\r\n', '204 No \nend  0\n'],
  ['HTTP/1.1  600\r\nContent-Length: 0\r\n\r\n', '600  Content-Length|0\nend  0\n'],
  ['HTTP/1.1 200 a\x00b\x7f\r\nContent-Length: 0\r\n\r\n', '200 a b Content-Length|0\nend  0\n'],
  [
    'HTTP/1.1 200 OK\r\nX : a\x7fb\r\nFold: 1\r\n\t2\r\n  3 \r\nContent-Length: 0\r\n\r\n',
    '200 OK X|a\x7fb|Fold|1 2 3|Content-Length|0\nend  0\n',
  ],
  [
    'HTTP/1.1 200 OK\r\nContent-Length: 02\r\nX: 1\r\ncontent-length: 2, 2\r\n\r\nhi',
    '200 OK Content-Length|2|X|1\nend  0\nhi',
  ],
  [
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    '200 OK Transfer-Encoding|chunked\nend  0\na',
  ],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1  \r\na\r\n02 \nbc\n0\n\n',
    '200 OK Transfer-Encoding|chunked\nend  0\nabc',
  ],
  [
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nContent-Length: 1\r\nX: 1\n\n',
    '200 OK Transfer-Encoding|chunked\nend X|1 0\na',
  ],
];

describe('responses', () => {
  test.each([...RESPONSES, ...SLOPPY_RESPONSES])('%j', (text, lines) => {
    expect(eventsOf(text)).toBe(lines);
  });

  test('however the bytes are cut, the events are the same', fuzzTime(), () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...RESPONSES, ...SLOPPY_RESPONSES),
        fc.array(fc.nat(120), { maxLength: 12 }),
        ([text, lines], cuts) => {
          expect(eventsOf(text, cuts)).toBe(lines);
        },
      ),
      { numRuns: fuzzRuns(2000) },
    );
  });

  test('a response to HEAD has no body, even if its head announces one', () => {
    expect(eventsOf('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n', [], 'HEAD')).toContain('end  Infinity');
  });
});

test.each(SLOPPY_RESPONSES.filter(([, lines]) => lines.includes('end')))(
  'bytes after %j are not a response to any request',
  (text, lines) => {
    expect(eventsOf(`${text}HTTP/1.1 200 Poison\r\n\r\n`)).toBe(lines);
  },
);

test.each(SLOPPY_RESPONSES)('%j is refused of a service that is judged strictly', (text) => {
  let isWhole = false;
  const reader = new ResponseReader(STRICT, {
    information: () => {},
    head: () => {},
    data: () => {},
    complete: () => {
      isWhole = true;
    },
  });
  reader.expect('GET');
  expect(reader.read(Buffer.from(text, 'latin1'))).toMatch(/^(?:not HTTP|invalid framing|invalid chunk)$/);
  expect(isWhole).toBe(false);
});

test('bytes after a response are not the response to a request that is sent when it ends', () => {
  const statuses: number[] = [];
  const keptFor: number[] = [];
  const reader: ResponseReader = new ResponseReader(LIMITS, {
    information: () => {},
    head: ({ status }) => statuses.push(status),
    data: () => {},
    complete: (_trailers, time) => {
      keptFor.push(time);
      reader.expect('GET');
    },
  });
  reader.expect('GET');
  const one = 'HTTP/1.1 201 One\r\nContent-Length: 1\r\n\r\na';
  const two = 'HTTP/1.1 202 Poison\r\nContent-Length: 0\r\n\r\n';
  expect(reader.read(Buffer.from(one + two))).toBe('unsolicited bytes');
  expect(statuses).toEqual([201]);
  expect(keptFor).toEqual([0]);
});

// Refused when they come, without waiting for the time limit of the response.
test.each([
  ['HELLO', 'not HTTP'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;a\n\r\nhi', 'invalid chunk'],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2 2\r\nhi', 'invalid chunk'],
  ['\n'.repeat(1001), 'head too large'],
  [`HTTP/1.1 200 OK\nX: ${'y'.repeat(1000)}`, 'head too large'],
  [`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(1000)}`, 'head too large'],
  [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'x'.repeat(5000)}`, 'invalid chunk'],
  [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ${'y'.repeat(1000)}`, 'head too large'],
])('%j is refused before it ends: %s', (text, fault) => {
  expect(eventsOf(text).split('\n').at(-1)).toBe(fault);
  const everyByte = Array.from({ length: text.length }, (_, at) => at);
  expect(eventsOf(text, everyByte).split('\n').at(-1)).toBe(fault);
});

test('interim responses are forwarded up to the size of one head, in total', () => {
  const interim = 'HTTP/1.1 102 Processing\r\n\r\n';
  const most = Math.floor(LIMITS.headerBytes / interim.length);
  const response = 'HTTP/1.1 204 No\r\n\r\n';
  expect(eventsOf(interim.repeat(most) + response)).toMatch(/end {2}Infinity\n$/);
  expect(eventsOf(interim.repeat(most + 1) + response)).toMatch(/head too large$/);
});

// Each of these is read in two ways by two readers: the bytes after it would be the response to another client's request. `messages.md` has
// all of them, through a whole gateway.
test.each([
  ['HTTP/2 200 OK\r\n\r\n', 'not HTTP'],
  ['HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\na', 'invalid framing'],
  ['HTTP/1.1 103 Early Hints\r\nContent-Length: f 3\r\n\r\n', 'invalid framing'],
  ['HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab', 'unsolicited bytes'],
  [`HTTP/1.1 200 OK\r\nX: ${'y'.repeat(1000)}\r\n\r\n`, 'head too large'],
  [`HTTP/1.1 200 OK\r\n${'x: 1\r\n'.repeat(11)}\r\n`, 'too many header fields'],
  ['HTTP/1.1 101 Switching Protocols\r\n\r\n', 'unrequested upgrade'],
])('%j is refused: %s', (text, fault) => {
  expect(eventsOf(text).split('\n').at(-1)).toBe(fault);
});

// A service that writes its response byte by byte makes a write to the client of each otherwise.
test('chunks that arrive in one read are delivered as one part', () => {
  const parts: string[] = [];
  const reader = new ResponseReader(LIMITS, {
    information: () => {},
    head: () => {},
    data: (chunk, isLast) => parts.push(`${chunk.toString('latin1')}${isLast ? ' last' : ''}`),
    complete: () => parts.push('end'),
  });
  reader.expect('GET');
  reader.read(
    Buffer.from('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n02;x\r\nbc\r\n5\r\nde'),
  );
  reader.read(Buffer.from('fgh\r\n1\r\ni\r\n0\r\n\r\n'));
  expect(parts).toEqual(['abcde', 'fghi last', 'end']);
});
