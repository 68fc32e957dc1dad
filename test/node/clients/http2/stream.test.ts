import { setTimeout as delay } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { isFieldValue } from '../../../../src/http/header-list.ts';
import { writeFieldLines } from '../../../../src/http/raw-headers.ts';
import { HpackDecoder } from '../../../../src/node/clients/http2/hpack.ts';
import { writeBlock } from '../../../../src/node/clients/http2/stream.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import { gatewayFor } from '../../../support/gateway.ts';
import { readWithPause } from '../../../support/paused-reading.ts';
import { exchange, rawClient } from '../../../support/raw-client.ts';
import {
  DATA,
  END_STREAM,
  grantedBytes,
  type H2Frame,
  HEADERS,
  requestHead,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from '../../../support/raw-h2.ts';
import { ok, rawServer } from '../../../support/raw-server.ts';
import {
  secureGateway,
  sendRequest,
  session,
  securelyServed,
  servedOverH2,
} from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';

/** A setting of RFC 9113 §6.5.2. */
const INITIAL_WINDOW_SIZE = 4;
const JSON_TYPE = ['content-type', 'application/json'] as const;
const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n';

/** `NO_ERROR` and `CANCEL`, as the payload of a reset. */
const CODES = [Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 0, 8])];

describe('responses of V2 at which Node would throw cross as over HTTP/1.1', () => {
  test.each([
    ['two ETags', 'ETag: "a"\r\netag: "b"\r\n', 'etag'],
    ['two dates', 'Date: a\r\nDate: b\r\n', 'date'],
    ['a name of Object.prototype', 'constructor: x\r\nconstructor: y\r\n', 'constructor'],
    ['a name that sets the prototype', '__proto__: x\r\n__proto__: y\r\n', '__proto__'],
    ['fields of HTTP/1.1 connections', 'HTTP2-Settings: x\r\nx-sum: 1\r\n', 'x-sum'],
  ])('trailers with %s', async (_what, trailers, name) => {
    const { gateway } = await securelyServed(`${CHUNKED}${trailers}\r\n`);
    const client = session(gateway);
    const response = await sendRequest(client, { ':path': '/api/v2/x' });
    expect(response).toMatchObject({ body: 'a', code: 0 });
    expect(Object.getOwnPropertyNames(response.trailers ?? {})).toContain(name);
    expect((await sendRequest(client, { ':path': '/api/v2/x' })).body).toBe('a');
  });

  test('two of each field in the head of a response that Node has once', async () => {
    const names = [
      'ETag',
      'Date',
      'Content-Type',
      'Location',
      'Retry-After',
      'Expires',
      'Last-Modified',
      'Age',
    ];
    const { gateway, raw } = await servedOverH2((socket, request) => {
      const [, name = ''] = /\/api\/v2\/(\S+)/.exec(request) ?? [];
      socket.write(`HTTP/1.1 200 OK\r\n${name}: a\r\n${name}: b\r\nContent-Length: 2\r\n\r\nok`);
    });
    const client = session(gateway);
    for (const [at, name] of names.entries()) {
      raw.head(2 * at + 1, requestHead(`/api/v2/${name}`));
      await until(() => raw.frames.some(({ type, stream }) => type === HEADERS && stream === 2 * at + 1));
      const response = await sendRequest(client, { ':path': `/api/v2/${name}` });
      expect([name, response.body, response.code]).toEqual([name, 'ok', 0]);
    }
  });

  test('a 103 with two ETags, and an undefined 1xx', async () => {
    const { gateway } = await securelyServed(
      `HTTP/1.1 103 Hints\r\nETag: "a"\r\nETag: "b"\r\n\r\nHTTP/1.1 199 X\r\n\r\n${ok('"z"')}`,
    );
    const response = await sendRequest(session(gateway), { ':path': '/api/v2/x' });
    expect(response.interim.map((fields) => fields[':status'])).toEqual([103, 199]);
    expect(response.body).toBe('"z"');
  });

  test.each([
    ['HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\nabc', 205],
    ['HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n', 204],
  ])('a status without content has none: %j', async (text, status) => {
    const { gateway } = await securelyServed(text);
    const response = await sendRequest(session(gateway), { ':path': '/api/v2/x' });
    expect(response).toMatchObject({ headers: { ':status': status }, body: '', code: 0 });
  });

  test.each(['600', '700', '999'])(
    'a status outside all classes, %s, of V2 is a 502 on every lane',
    async (status) => {
      const v2 = await rawServer((socket) =>
        socket.write(`HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nok`),
      );
      const secure = await secureGateway(v2.origin);
      expect((await sendRequest(session(secure), { ':path': '/api/v2/x' })).headers[':status']).toBe(502);
      const plain = await gatewayFor(v2.origin);
      for (const odd of ['', 'Proxy-Connection: keep-alive\r\n']) {
        const { text } = await exchange(plain.port, `GET /api/v2/x HTTP/1.1\r\nHost: g\r\n${odd}\r\n`);
        expect(text).toMatch(/^HTTP\/1\.1 502 [^]*upstream-invalid[^]*\}$/);
      }
      expect([...secure.surprises, ...plain.surprises]).toEqual([]);
    },
  );
});

describe('the head of a request', () => {
  test('fields over the limit get a 431 that the client can read', async () => {
    const { v2, gateway } = await securelyServed();
    const client = session(gateway);
    const large = await sendRequest(client, { ':path': '/api/v2/x', 'x-large': 'v'.repeat(20_000) });
    expect(large.headers).toMatchObject({ ':status': 431, 'x-gateway-error': 'headers-too-large' });
    const fields = Array.from({ length: 300 }, (_, at): [string, string] => [`x-${at}`, 'v']);
    const many = await sendRequest(client, { ':path': '/api/v2/x', ...Object.fromEntries(fields) });
    expect(many.headers[':status']).toBe(431);
    // As over HTTP/1.1, the target counts.
    const long = await sendRequest(client, { ':path': `/api/v2/${'x'.repeat(20_000)}` });
    expect(long.headers).toMatchObject({ ':status': 431, 'x-gateway-error': 'headers-too-large' });
    expect(v2.received).toEqual([]);
  });

  test('a refused HEAD has no body', async () => {
    const { v2, gateway } = await securelyServed();
    const response = await sendRequest(session(gateway), { ':path': '/other', ':method': 'HEAD' });
    expect(response).toMatchObject({ headers: { ':status': 404 }, body: '', code: 0 });
    const plain = await gatewayFor(v2.origin);
    for (const odd of ['', 'Proxy-Connection: keep-alive\r\n']) {
      const next = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
      const client = rawClient(plain.port);
      client.write(`HEAD /other HTTP/1.1\r\nHost: g\r\n${odd}\r\n${next}`);
      // The response to it ends where the next one begins.
      await client.until(/ 404 [^]* 200 OK/);
      client.socket.destroy();
      const text = client.text().split('HTTP/1.1 200 OK')[0];
      expect(text).toMatch(/^HTTP\/1\.1 404 [^]*\r\n\r\n$/);
    }
  });
});

describe('a stream that is reset', () => {
  test.each(CODES)('in its body never gives V2 a short body that looks whole: %j', async (code) => {
    const { v2, gateway, raw } = await servedOverH2();
    let stream = -1;
    for (const path of ['/api/v1/clients', '/api/v2/clients']) {
      for (const pause of [0, 0, 2, 4]) {
        for (const body of ['{"data":{}}', 'x'.repeat(12_000)]) {
          stream += 2;
          raw.head(stream, [...requestHead(path, 'POST'), JSON_TYPE], true);
          raw.frame(DATA, 0, stream, Buffer.from(body));
          if (pause > 0) await delay(pause);
          raw.frame(RST_STREAM, 0, stream, code);
        }
      }
    }
    raw.head(stream + 2, requestHead('/api/v2/last'));
    await until(() => v2.received.some((text) => text.includes('/last')));
    await until(() => gateway.gateway.inFlight === 0);
    expect(v2.received.join('')).not.toMatch(/content-length: [1-9]|\r\n0\r\n\r\n/);
  });
});

test.each(CODES)(
  'a stream that is reset before its body is read is over while its connection lives: %j',
  async (code) => {
    const { gateway, raw } = await servedOverH2();
    let stream = -1;
    for (const path of ['/other', '/api/v1/clients', '/api/v2/x']) {
      for (const end of [0, 1]) {
        for (const pause of [0, 2]) {
          stream += 2;
          raw.socket.cork();
          raw.head(stream, [...requestHead(path, 'POST'), JSON_TYPE], true);
          raw.frame(DATA, end, stream, Buffer.alloc(16_000, 'x'));
          if (pause > 0) raw.socket.uncork();
          if (pause > 0) await delay(pause);
          raw.frame(RST_STREAM, 0, stream, code);
          if (pause === 0) raw.socket.uncork();
        }
      }
    }
    await until(() => gateway.lines.length === 12);
    expect(gateway.gateway.inFlight).toBe(0);
    expect(raw.socket.destroyed).toBe(false);
  },
);

test('a response that is whole before its request is read whole, and holds no place', async () => {
  const large = 'x'.repeat(200_000);
  const play = async (path: string, status: number, length: number, sum?: string): Promise<void> => {
    const v2 = await rawServer(() => {});
    v2.server.on('connection', (socket) =>
      socket.once('data', (head) => {
        if (!head.includes('chunks')) socket.write(ok(large).replace('200 OK', '413 Large'));
        else
          socket.write(
            `HTTP/1.1 413 L\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n${large}\r\n0\r\nx-sum: 7\r\n\r\n`,
          );
      }),
    );
    const gateway = await secureGateway(v2.origin);
    const stream = session(gateway).request({ ':path': path, ':method': 'POST' }, { endStream: false });
    let text = '';
    let trailers: unknown;
    stream.on('error', () => {}).on('trailers', (fields) => (trailers = fields['x-sum']));
    stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    // More than is read before a body takes a connection to V2.
    stream.write('x'.repeat(200_000));
    await until(() => stream.closed);
    await until(() => gateway.gateway.inFlight === 0);
    expect((await gateway.entry()).status).toBe(status);
    expect([path, text.length >= length, trailers, stream.rstCode]).toEqual([path, true, sum, 0]);
  };
  // The rest of each request is waited for, for five seconds.
  await Promise.all([
    play('/other', 404, 1),
    play('/api/v2/length', 413, large.length),
    play('/api/v2/chunks', 413, large.length, '7'),
  ]);
});

// No more than 1 MiB of the rest is read and dropped: the stream then ends without a reset, which some clients take for a failure. Otherwise it
// is reset with NO_ERROR (RFC 9113 §8.1), after five seconds also where little was to come. HTTP/1.1 keeps or closes its connection likewise.
describe('a response that is whole before its request', () => {
  test.each([
    ['little is to come: it is read to its end', 200_000, undefined],
    ['much is to come: the client has to stop', 3_000_000, 0],
  ])('%s', async (_what, bytes, code) => {
    const { gateway, raw } = await servedOverH2(() => {});
    raw.head(1, [...requestHead('/other', 'POST'), ['content-length', String(bytes)]], true);
    await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 1));
    await until(() => gateway.gateway.inFlight === 0);
    const reset = (): H2Frame | undefined => raw.frames.find(({ type }) => type === RST_STREAM);
    if (code === undefined) {
      // As much as the window allows at a time.
      let sent = 0;
      while (sent < bytes) {
        const part = Math.min(16_000, bytes - sent, grantedBytes(raw, 1) - sent);
        if (part > 0) raw.frame(DATA, sent + part === bytes ? END_STREAM : 0, 1, Buffer.alloc(part, 'x'));
        sent += part;
        if (part <= 0) await new Promise(setImmediate);
      }
    } else {
      await until(() => reset() !== undefined);
    }
    raw.head(3, requestHead('/other'));
    await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 3));
    expect(reset()?.payload.readUInt32BE(0)).toBe(code);
    expect((await gateway.entry()).status).toBe(404);
  });

  test.each([
    ['much is to come', { 'content-length': '6000000' }],
    ['its length is not known', {}],
  ])('a client of a library reads it: %s', async (_what, length) => {
    const v2 = await rawServer(() => {});
    v2.server.on('connection', (socket) =>
      socket.once('data', () => socket.write(ok('"no"').replace('200 OK', '401 No'))),
    );
    const gateway = await secureGateway(v2.origin);
    const fields = { ':path': '/api/v2/x', ':method': 'POST', ...length };
    const { headers, body } = await sendRequest(session(gateway), fields, Buffer.alloc(6_000_000));
    expect([headers[':status'], body]).toEqual([401, '"no"']);
  });

  test('of a body without a length no more is read than of one with a length', async () => {
    const { raw } = await servedOverH2(() => {});
    raw.head(1, requestHead('/other', 'POST'), true);
    await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 1));
    let sent = 0;
    while (!raw.frames.some(({ type }) => type === RST_STREAM)) {
      const part = Math.min(16_000, grantedBytes(raw, 1) - sent);
      if (part > 0) raw.frame(DATA, 0, 1, Buffer.alloc(part, 'x'));
      sent += Math.max(0, part);
      await delay(part > 0 ? 0 : 20);
    }
    expect(sent).toBeGreaterThan(1_000_000);
    expect(sent).toBeLessThan(1_400_000);
  });

  test('the rest is awaited only for a limited time, and a client may reset it', async () => {
    const { gateway, raw } = await servedOverH2(() => {});
    for (const stream of [1, 3])
      raw.head(stream, [...requestHead('/other', 'POST'), ['content-length', '5']], true);
    await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 3));
    raw.frame(RST_STREAM, 0, 3, Buffer.from([0, 0, 0, 8]));
    await until(() => raw.frames.some(({ type }) => type === RST_STREAM));
    const resets = raw.frames.filter(({ type }) => type === RST_STREAM);
    expect(resets.map(({ stream, payload }) => [stream, payload.readUInt32BE(0)])).toEqual([[1, 0]]);
    expect(gateway.entries().map(({ status }) => status)).toEqual([404, 404]);
  });
});

describe('a client that does not read its response', () => {
  test.each([
    ['small', 20],
    ['of some kilobytes', 1100],
    ['large', 400_000],
  ])(
    'over HTTP/2, with a window of 0: its stream is reset and its place is free: %s',
    async (_what, bytes) => {
      const { v2, gateway, raw } = await servedOverH2(
        ok('x'.repeat(bytes)),
        {
          'min-data-rate': '5000',
          'min-data-rate-grace': '300',
          'client-body-timeout': '1000',
        },
        [[INITIAL_WINDOW_SIZE, 0]],
      );
      for (let stream = 1; stream < 12; stream += 2) raw.head(stream, requestHead('/api/v2/x'));
      await until(() => v2.received.length === 6);
      await until(() => gateway.gateway.inFlight === 0);
      await until(() => raw.frames.filter(({ type }) => type === RST_STREAM).length === 6);
      expect(gateway.surprises).toEqual([]);
    },
  );

  test('over HTTP/2, a stream that is paused for longer than the grace, behind megabytes that were read, goes on', async () => {
    const { gateway } = await securelyServed(ok('x'.repeat(8_000_000)), {
      'min-data-rate': '200000',
      'min-data-rate-grace': '300',
    });
    const stream = session(gateway).request({ ':path': '/api/v2/x' });
    expect(await readWithPause(stream)).toBe(8_000_000);
    expect((await gateway.entry()).incomplete).toBeUndefined();
  });

  test('over HTTP/2, one stream that is not read costs the others of its connection nothing', async () => {
    const { gateway } = await securelyServed(ok('x'.repeat(100_000)), { 'min-data-rate-grace': '200' });
    const client = session(gateway, { initialWindowSize: 1000 });
    const stalled = client.request({ ':path': '/api/v2/x' });
    stalled.on('error', () => {});
    stalled.pause();
    expect((await sendRequest(client, { ':path': '/api/v2/x' })).body).toHaveLength(100_000);
  });
});

const MEMORY_BYTES = 16 * 1024;

/** Reads what is written, on a connection that has read other blocks before; undefined when nothing is written. */
function written(
  status: number | undefined,
  fields: readonly string[],
  connection = new HpackDecoder(),
  write = writeBlock,
): string[] | undefined {
  const block = write(status, fields);
  if (block === undefined) return undefined;
  const read: string[] = [];
  const invalid: string[] = [];
  const isRead = connection.read(block, 0, block.length, {
    field: (name, value, isValid) => {
      read.push(name, value);
      if (!isValid) invalid.push(name);
    },
  });
  expect({ isRead, invalid }).toEqual({ isRead: true, invalid: [] });
  return read;
}

const CONNECTION_FIELDS = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

test.each(CONNECTION_FIELDS)('%s is left out, in any case', (name) => {
  const fields = ['a', 'b', name, 'c', name.toUpperCase(), 'd', `${name}s`, 'e'];
  expect(written(200, fields)).toEqual([':status', '200', 'a', 'b', `${name}s`, 'e']);
});

test('names and values of any length survive', () => {
  const lengths = [0, 1, 14, 15, 126, 127, 128, 254, 255, 16_383, 16_384, 16_511, 16_512, 100_000, 3_000_000];
  for (const length of lengths) {
    const fields = [
      'x',
      'y'.repeat(length),
      `z${'-'.repeat(length)}`,
      '1',
      'server',
      'y'.repeat(length),
      'a',
      'b',
    ];
    expect(written(200, fields)).toEqual([':status', '200', ...fields]);
  }
});

test('sections just as large as the memory for them survive', async () => {
  for (let spare = 0; spare < 64; spare += 1) {
    // Memory that has become larger stays so.
    vi.resetModules();
    const { writeBlock } = await import('../../../../src/node/clients/http2/stream.ts');
    const fields = ['x'.repeat(300), 'y'.repeat(MEMORY_BYTES - 300 - spare), 'a', 'b', 'server', 'c'];
    expect(written(302, fields, new HpackDecoder(), writeBlock)).toEqual([':status', '302', ...fields]);
  }
});

test('many fields survive', () => {
  const fields = Array.from({ length: 20_000 }, (_, at) => (at % 2 === 0 ? `name-${at}` : `value ${at}`));
  expect(written(200, fields)).toEqual([':status', '200', ...fields]);
});

test(
  'fields that can be written as lines of HTTP/1.1 come back, in lower case and in order',
  fuzzTime(),
  () => {
    const characters = (codes: fc.Arbitrary<number>): fc.Arbitrary<string> =>
      codes.map((code) => String.fromCharCode(code));
    const names = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.string({
          unit: fc.constantFrom(..."aZ09!#$%&'*+-.^_`|~".split('')),
          minLength: 1,
          maxLength: 30,
        }),
      },
      {
        weight: 4,
        arbitrary: fc.constantFrom('Content-Type', 'ETag', 'date', 'SET-COOKIE', 'Via', 'x-request-id'),
      },
      { weight: 1, arbitrary: fc.constantFrom(...CONNECTION_FIELDS, 'Connection', 'Transfer-Encoding') },
    );
    const values = fc
      .oneof(
        fc.string({ unit: characters(fc.integer({ min: 0x20, max: 0x7e })) }),
        fc.string({ unit: characters(fc.constantFrom(0x09, 0x20, 0x21, 0x7e, 0x80, 0xa0, 0xff)) }),
        fc.nat(20_000).map((length) => 'v'.repeat(length)),
      )
      // White space around a value is not part of it, and no reader of HTTP/1.1 keeps it.
      .map((value) => value.replaceAll(/^[\t ]+|[\t ]+$/g, ''));
    const faults = fc.string({ unit: characters(fc.integer({ min: 0, max: 0x180 })), maxLength: 4 });
    const fields = fc.oneof(
      { weight: 20, arbitrary: fc.tuple(names, values) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          names,
          faults.map((fault) => `x${fault}x`),
        ),
      },
      { weight: 1, arbitrary: fc.tuple(faults, values) },
    );
    const statuses = fc.option(fc.integer({ min: 100, max: 599 }), { nil: undefined });
    const sections = fc.array(fc.tuple(statuses, fc.array(fields, { maxLength: 8 })), { maxLength: 4 });
    const runs = fuzzRuns(500, 200);
    let accepted = 0;
    fc.assert(
      fc.property(sections, (list) => {
        const connection = new HpackDecoder();
        for (const [status, section] of list) {
          const read = written(status, section.flat(), connection);
          expect(read !== undefined).toBe(writeFieldLines(section.flat()) !== undefined);
          if (read === undefined) continue;
          accepted += 1;
          const own = section
            // A control character is a blank in HTTP/2.
            .map(([name, value]) => [name.toLowerCase(), withBlanks(value)] as const)
            .filter(([name]) => !CONNECTION_FIELDS.includes(name));
          expect(read).toEqual([...(status === undefined ? [] : [':status', String(status)]), ...own.flat()]);
        }
      }),
      { numRuns: runs },
    );
    expect(accepted).toBeGreaterThan(runs / 4);
  },
);

function withBlanks(value: string): string {
  return isFieldValue(value)
    ? value
    : Array.from(value, (character) => (isFieldValue(character) ? character : ' '))
        .join('')
        .trim();
}

// h2spec 6.9.2/2 takes the first order for granted; a response that V2 gives late is in the second, and as right.
test.each([
  ['before the window shrinks: it is below zero, and opens by what is left', 'before', [3, 1]],
  ['behind that: it gets the window that is left, and then what is added', 'behind', [2, 2]],
] as const)('a window that a setting shrinks, with a response of V2 %s', async (_what, order, lengths) => {
  const waiting: (() => void)[] = [];
  const { raw } = await servedOverH2((socket) => void waiting.push(() => socket.write(ok('"fine"'))), {}, [
    [INITIAL_WINDOW_SIZE, 3],
  ]);
  const lengthsOfData = (): readonly number[] =>
    raw.frames.filter(({ type }) => type === DATA).map(({ payload }) => payload.length);
  const acknowledged = (): number =>
    raw.frames.filter(({ type, flags }) => type === SETTINGS && flags === END_STREAM).length;
  raw.head(1, requestHead('/api/v2/x'));
  await until(() => waiting.length === 1 && acknowledged() === 1);
  if (order === 'before') {
    waiting[0]?.();
    await until(() => lengthsOfData().length === 1);
  }
  raw.frame(SETTINGS, 0, 0, Buffer.from([0, INITIAL_WINDOW_SIZE, 0, 0, 0, 2]));
  await until(() => acknowledged() === 2);
  if (order === 'behind') {
    waiting[0]?.();
    await until(() => lengthsOfData().length === 1);
  }
  raw.frame(WINDOW_UPDATE, 0, 1, Buffer.from([0, 0, 0, 2]));
  await until(() => lengthsOfData().length === 2);
  expect(lengthsOfData()).toEqual(lengths);
});
