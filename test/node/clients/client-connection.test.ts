import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Exchange, ExchangeOwner } from '../../../src/gateway/exchange.ts';
import { UnwritableHead } from '../../../src/gateway/unwritable-head.ts';
import { ClientConnection, type ClientConnectionOwner } from '../../../src/node/clients/client-connection.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { type RawClient, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, type RawServer, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, milliseconds));
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const JSON_FIELDS = 'Host: g\r\nContent-Type: application/json\r\n';

/** Requests of every kind, usual and unusual, that leave their connection open; `#` is the number of the request. */
const kinds: readonly string[] = [
  'GET /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/chunks/# HTTP/1.1\r\nHost: g\r\nCookie: a=b\r\n\r\n',
  'HEAD /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'DELETE /api/v2/204/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'GET /api/v2/trailers/# HTTP/1.1\r\nHost: g\r\nTE: trailers\r\n\r\n',
  'GET /other/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'POST /other/# HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhello',
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 21\r\n\r\n{"data":{"name":"A"}}`,
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 3\r\n\r\n{,}`,
  `PATCH /api/v1/chunks/# HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 0\r\n\r\n`,
  `PUT /api/v2/length/# HTTP/1.1\r\nHost: g\r\nContent-Length: 38\r\n\r\nGET /api/v2/smuggled HTTP/1.1\r\nHost: g\r\n`,
  `POST /api/v1/length/# HTTP/1.1\r\n${JSON_FIELDS}Transfer-Encoding: chunked\r\n\r\nb;x=y\r\n{"data":{}}\r\n0\r\nt: 1\r\n\r\n`,
  'POST /api/v2/length/# HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
  'POST /api/v2/length/# HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi',
  '\r\nOPTIONS /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
  'REPORT /api/v2/length/# HTTP/1.1\r\nHost: g\r\n\r\n',
];
const large = `PUT /api/v2/length/# HTTP/1.1\r\nHost: g\r\nContent-Length: 70000\r\n\r\n${'x'.repeat(70_000)}`;
/** Requests that are the last on their connection. */
const LASTS: readonly string[] = [
  'GET /api/v2/length/# HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n',
  'GET /api/v2/chunks/# HTTP/1.0\r\n\r\n',
  'POST /api/v2/length/# HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello',
  'rubbish\r\n\r\n',
];

/** A V2 whose response is named by the target, and says the number of the request. */
function numberedV2(): Promise<RawServer> {
  return rawServer((socket, request) => {
    const [, kind, number] = /^\S+ \/api\/v2\/(\w+)\/(\d+)/.exec(request) ?? [];
    const body = `{"number":${number}}`;
    const chunked = 'Transfer-Encoding: chunked\r\n\r\n';
    const size = body.length.toString(16);
    if (kind === '204') socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    else if (kind === 'chunks')
      socket.write(`HTTP/1.1 201 Made\r\n${chunked}${size}\r\n${body}\r\n0\r\n\r\n`);
    else if (kind === 'trailers')
      socket.write(
        `HTTP/1.1 200 OK\r\nTrailer: t\r\n${chunked}${size}\r\n${body}\r\n0\r\nt: ${number}\r\n\r\n`,
      );
    else if (request.startsWith('HEAD')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n');
    else socket.write(ok(body));
  });
}

function settled(text: string): string {
  return text.replaceAll(/\r\nDate: [^\r]+/g, '\r\nDate: then');
}

/** What an entry says of its request, whenever and wherever it came. */
type Said = Pick<
  Entry,
  'method' | 'path' | 'verdict' | 'status' | 'failure' | 'bytesIn' | 'bytesOut' | 'responseBytes' | 'edits'
>;

function said(line: string): Said {
  const entry = JSON.parse(line) as Entry;
  const { method, path, verdict, status, failure, bytesOut, responseBytes, edits } = entry;
  // A refusal that needs no body does not wait for one.
  const bytesIn = verdict === 'refused' ? 0 : entry.bytesIn;
  return { method, path, verdict, status, failure, bytesIn, bytesOut, responseBytes, edits };
}

function byTarget(left: Said, right: Said): number {
  return left.path < right.path ? -1 : 1;
}

interface Stream {
  readonly bytes: Buffer;
  /** What its requests are answered with when each is alone, one behind the other. */
  readonly text: string;
  readonly entries: readonly Said[];
}

/** Sends each request on a connection of its own. */
async function streamOf(gateway: TestGateway, requests: readonly string[]): Promise<Stream> {
  const from = gateway.lines.length;
  let text = '';
  for (const [index, request] of requests.entries()) {
    const client = rawClient(gateway.port);
    client.write(request);
    await client.until(whole(1));
    await until(() => gateway.lines.length > from + index);
    client.socket.destroy();
    text += settled(client.text());
  }
  return {
    bytes: Buffer.from(requests.join(''), 'latin1'),
    text,
    entries: gateway.lines.slice(from).map(said),
  };
}

/** Sends them on one connection, with a wait before each place of `cuts`, and expects the same of all. */
async function hold(
  { bytes, text, entries }: Stream,
  gateway: TestGateway,
  v2: RawServer,
  cuts: readonly (readonly [place: number, wait: number])[],
): Promise<void> {
  const from = gateway.lines.length;
  const heard = v2.received.map(({ length }) => length);
  const client = rawClient(gateway.port);
  let at = 0;
  for (const [place, wait] of cuts) {
    if (place > at) client.write(bytes.subarray(at, place));
    at = place;
    await pause(wait);
  }
  if (at < bytes.length) client.write(bytes.subarray(at));
  await client.until(whole(entries.length));
  await until(() => gateway.lines.length >= from + entries.length);
  client.socket.destroy();
  expect(settled(client.text())).toBe(text);
  // What the parser of Node refuses is told before the end of the response that it waits for.
  const found = gateway.lines.slice(from).map(said);
  expect(found.toSorted(byTarget)).toEqual(entries.toSorted(byTarget));
  const sent = v2.received.map((all, index) => all.slice(heard[index] ?? 0)).join('');
  for (const { method, path, verdict } of entries) {
    const times = verdict === 'refused' ? 0 : 1;
    expect(sent.split(`${method} ${path.replace('/v1/', '/v2/')} HTTP/1.1\r\n`)).toHaveLength(times + 1);
  }
}

function whole(count: number): RegExp {
  return { test: (text: string): boolean => wholeResponses(text) >= count } as RegExp;
}

/** Responses whose end is there, in a text that begins with one. */
function wholeResponses(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length;) {
    const end = text.indexOf('\r\n\r\n', at);
    if (end === -1) return count;
    const head = text.slice(at, end + 2);
    const status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    at = end + 4;
    if (status < 200) continue;
    if (status === 204 || length === '99') count += 1;
    else if (length !== undefined) {
      at += Number(length);
      if (at <= text.length) count += 1;
    } else if (head.includes('chunked')) {
      const last = /\r\n0\r\n(?:[^\r\n]+\r\n)*\r\n/.exec(text.slice(at - 2));
      if (last === null) return count;
      at += last.index + last[0].length - 2;
      count += 1;
    } else return text.endsWith('}') ? count + 1 : count;
  }
  return count;
}

const numbered = (requests: readonly string[]): string[] =>
  requests.map((request, index) => request.replace('#', String(index)));

const usual = kinds.slice(0, 11);

describe('a stream of requests gives what each gives alone, wherever it is cut', () => {
  test.each([
    ['usual ones', [usual[1], usual[6], usual[2], usual[7], usual[10], LASTS[0]]],
    ['an unusual one among them', [usual[5], kinds[11], usual[7], kinds[13], LASTS[1]]],
  ])(
    'at every byte: %s',
    async (_what, requests) => {
      const v2 = await numberedV2();
      const gateway = await gatewayFor(v2.origin);
      const stream = await streamOf(gateway, numbered(requests.map((request) => request ?? '')));
      for (let at = 1; at < stream.bytes.length; at += 1) await hold(stream, gateway, v2, [[at, 1]]);
      expect(gateway.surprises).toEqual([]);
    },
    120_000,
  );

  test('at random places, with waits around the patience for a body', async () => {
    const v2 = await numberedV2();
    const gateway = await gatewayFor(v2.origin);
    const streams = fc.record({
      requests: fc.array(fc.constantFrom(...usual, ...kinds, large), { minLength: 1, maxLength: 9 }),
      last: fc.option(fc.constantFrom(...LASTS), { nil: undefined }),
      cuts: fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.constantFrom(0, 0, 1, 3, 24, 26, 40)),
        { maxLength: 5 },
      ),
    });
    await fc.assert(
      fc.asyncProperty(streams, async ({ requests, last, cuts }) => {
        const stream = await streamOf(gateway, numbered(last === undefined ? requests : [...requests, last]));
        const places = cuts
          .map(([part, wait]) => [Math.floor(part * stream.bytes.length), wait] as const)
          .toSorted(([left], [right]) => left - right);
        await hold(stream, gateway, v2, places);
      }),
      { numRuns: 60 },
    );
    expect(gateway.surprises).toEqual([]);
  }, 120_000);
});

/** The first byte of a stream decides who reads it: an empty line is for Node's server. */
const WAYS = [
  ['the gateway itself', ''],
  ["Node's server", '\r\n'],
] as const;

describe('a client that goes away in the middle of a body is in the log once', () => {
  test.each([
    ['resets', 5, 'passed', 0],
    ['closes', 5, 'passed', 0],
    ['resets', 40, 'passed', 0],
    ['closes', 40, 'passed', 0],
  ])('%s after %i ms', async (how, wait, verdict, status) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    client.write('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhel');
    await pause(wait);
    if (how === 'resets') client.socket.resetAndDestroy();
    else client.socket.end();
    expect(await gateway.entry()).toMatchObject({ verdict, status, bytesIn: 3 });
    await pause(50);
    expect(gateway.lines).toHaveLength(1);
    expect(gateway.gateway.inFlight).toBe(0);
    expect(v2.received.join('')).not.toContain('hello');
    client.socket.destroy();
  });

  test('a path that is not served is answered before', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    client.write('POST /other HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhel');
    client.socket.end();
    expect(statusOf(await client.end())).toBe(404);
    expect(await gateway.entry()).toMatchObject({ status: 404 });
    expect(gateway.lines).toHaveLength(1);
  });
});

test('a client that closes its side while V2 is asked went away: V2 is left alone', async () => {
  const v2 = await rawServer(() => {});
  const gateway = await gatewayFor(v2.origin);
  for (const [index, [, front]] of WAYS.entries()) {
    const client = rawClient(gateway.port);
    client.write(front + GET);
    await until(() => v2.received.length === index + 1);
    client.socket.end();
    expect(await gateway.entry(index + 1)).toMatchObject({ status: 0, verdict: 'passed' });
    await until(() => v2.sockets[index]?.destroyed === true);
    expect((await client.end()).text).toBe('');
  }
});

test('what is unusual behind a slow response comes after it, whole and in order, however much it is', async () => {
  const response: (() => void)[] = [];
  const v2 = await rawServer((socket) => void response.push(() => socket.write(ok())));
  const gateway = await gatewayFor(v2.origin);
  const client = rawClient(gateway.port);
  const body = Array.from({ length: 100_000 }, (_, index) => String.fromCharCode(97 + (index % 26))).join('');
  client.write(GET);
  await until(() => response.length === 1);
  const chunks = body.match(/.{1,5000}/g)?.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`);
  client.write(
    `PUT /api/v2/y HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n${chunks?.join('')}0\r\n\r\n${GET}`,
  );
  await pause(20);
  expect(response).toHaveLength(1);
  for (let count = 0; count < 3; count += 1) {
    await until(() => response.length === count + 1);
    response[count]?.();
  }
  await client.until(whole(3));
  client.socket.destroy();
  expect(gateway.entries().map(({ path, bytesIn }) => [path, bytesIn])).toEqual([
    ['/api/v2/x', 0],
    ['/api/v2/y', body.length],
    ['/api/v2/x', 0],
  ]);
});

test('a request that comes with the end of its connection is unusual or not: it is over at once', async () => {
  const v2 = await rawServer(() => {});
  const gateway = await gatewayFor(v2.origin);
  for (const [index, request] of [
    GET,
    `\r\n${GET}`,
    (kinds[12] ?? '').replace('#', ''),
    GET.slice(0, 20),
  ].entries()) {
    const client = connect(gateway.port, '127.0.0.1');
    client.end(request);
    client.resume();
    await once(client, 'close');
    if (index < 3) expect((await gateway.entry(index + 1)).status).toBe(0);
  }
  expect(gateway.gateway.inFlight).toBe(0);
});

// Attack: a body that a front proxy forwards is read as a request, because what stood before it was lost.
test('behind an offer of an upgrade that is ignored nothing is read in the middle', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await gatewayFor(v2.origin);
  for (const [index, [, front]] of WAYS.entries()) {
    const client = rawClient(gateway.port);
    client.write(
      `${front}GET /api/v2/a HTTP/1.1\r\nHost: g\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n` +
        'POST /api/v2/b HTTP/1.1\r\nHost: g\r\nContent-Length: 46\r\n\r\n',
    );
    await client.until(whole(1));
    client.write('GET /api/v2/smuggled HTTP/1.1\r\nHost: g\r\nX: 1\r\n\r\n');
    await client.until(whole(2), 100);
    client.socket.destroy();
    expect(wholeResponses(client.text())).toBe(index === 0 ? 2 : 1);
  }
  expect(v2.received.join('')).not.toContain('GET /api/v2/smuggled HTTP/1.1\r\nhost');
});

describe('many requests at once', () => {
  const flood = Array.from({ length: 1000 }, (_, index) => `GET /${index} HTTP/1.1\r\nHost: g\r\n\r\n`);

  test('they are answered in order, and others have their turn in between', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    const [first, second] = [rawClient(gateway.port), rawClient(gateway.port)];
    await Promise.all([once(first.socket, 'connect'), once(second.socket, 'connect')]);
    await pause(20);
    first.write(flood.join(''));
    second.write('GET /second HTTP/1.1\r\nHost: g\r\n\r\n');
    await first.until(whole(1000));
    await gateway.entry(1001);
    const paths = gateway.entries().map(({ path }) => path);
    expect(paths.indexOf('/second')).toBeLessThan(900);
    expect(paths.filter((path) => path !== '/second')).toEqual(flood.map((_, index) => `/${index}`));
    first.socket.destroy();
    second.socket.destroy();
  });

  test('a client that goes away in between is heard no more', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    client.write(flood.join(''));
    client.socket.end();
    expect((await client.end()).closed).toBe(true);
    await pause(50);
    expect(gateway.lines.length).toBeLessThan(1000);
    expect(gateway.surprises).toEqual([]);
  });
});

// Attack: requests whose responses nobody reads, each with a place among those in flight.
describe('a client that stops reading at the end of a response', () => {
  test.each(WAYS)('is cut, and its place is free: %s', async (_who, front) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, { flags: { 'client-body-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.socket.pause();
    client.write(front + 'GET /other HTTP/1.1\r\nHost: g\r\n\r\n'.repeat(40_000));
    await until(() => gateway.gateway.inFlight === 1);
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.lines.length).toBeLessThan(40_000);
    client.socket.destroy();
  });
});

test('a client that reads slowly gets all of a large response, however long it takes', async () => {
  const large = `{"data":{"new":"${'x'.repeat(9_000_000)}"}}`;
  const v2 = await rawServer((socket) => socket.write(ok(large)));
  const response = [{ rule: 'alias', path: ['data', 'new'], as: 'old', status: ['2xx'] }] as const;
  const changes = [
    { id: 'a', summary: 'A.', on: 'every', request: [], response, policies: {}, assumed: false },
  ] as const;
  const gateway = await gatewayFor(v2.origin, {
    flags: { 'client-body-timeout': '250' },
    ruleBook: { changes },
  });
  const client = connect(gateway.port, '127.0.0.1');
  client.write(`POST /api/v1/x HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 11\r\n\r\n{"data":{}}`);
  let bytes = 0;
  for await (const chunk of client) {
    bytes += (chunk as Buffer).length;
    await pause(5);
    if (bytes > 18_000_000) break;
  }
  expect(bytes).toBeGreaterThan(18_000_000);
  expect((await gateway.entry()).totalMs).toBeGreaterThan(500);
});

/** A connection whose exchanges the test holds. */
async function heldConnection(): Promise<{
  client: Socket;
  served: Socket;
  taken: Exchange[];
  closed: () => boolean;
}> {
  const taken: Exchange[] = [];
  let isClosed = false;
  const owner: ClientConnectionOwner = {
    headerBytes: 16_384,
    readerLimits: { bodyTimeout: 0, minDataRate: 0, minDataRateGrace: 0 },
    keepAliveLines: '',
    draining: false,
    take: (exchange) => void taken.push(exchange),
    addressOf: () => '127.0.0.1',
    refuse: () => {},
    linger: () => {},
    handOver: () => {},
    awaitBody: () => {},
    closed: () => {
      isClosed = true;
    },
  };
  const server = createServer({ allowHalfOpen: true, highWaterMark: 65_536 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  const client = connect(typeof bound === 'object' && bound !== null ? bound.port : 0, '127.0.0.1');
  const [served] = (await once(server, 'connection')) as [Socket];
  expect(new ClientConnection(served, owner).isIdle).toBe(true);
  onTestFinished(() => {
    client.destroy();
    served.destroy();
    server.close();
  });
  return { client, served, taken, closed: () => isClosed };
}

class Told implements ExchangeOwner {
  readonly events: string[] = [];
  acceptChunk(): boolean {
    return true;
  }
  onWholeBody(): void {
    this.events.push('collected');
  }
  onBody(): void {
    this.events.push('opened');
  }
  drained(): void {
    this.events.push('drained');
  }
  onClientFault(): void {
    this.events.push('faulted');
  }
  disconnected(): void {
    this.events.push('gone');
  }
  flushed(): void {
    this.events.push('flushed');
  }
}

// Attack: requests without end, each of them small, that nobody could response as fast as they are read.
test('a client that sends on and on is read no faster than it is answered', async () => {
  const { client, served, taken } = await heldConnection();
  client.write(GET.repeat(20_000));
  client.resume();
  for (let count = 1; count <= 300; count += 1) {
    await until(() => taken.length === count);
    // Nothing else is asked of the connection, so that what can be read is.
    if (count % 50 === 0) await pause(5);
    expect(served.bytesRead - count * GET.length).toBeLessThan(300_000);
    const exchange = taken[count - 1];
    exchange?.attach(new Told());
    exchange?.head(204, undefined, []);
    exchange?.end([]);
  }
});

describe('a response to a client that reads slowly', () => {
  test('is held back once, goes on once, and ends once', async () => {
    const { client, taken } = await heldConnection();
    client.pause();
    client.write(GET);
    await until(() => taken.length === 1);
    const [exchange] = taken;
    const told = new Told();
    exchange?.attach(told);
    exchange?.head(200, undefined, []);
    let parts = 0;
    while (exchange?.data(Buffer.alloc(65_536)) === true) parts += 1;
    expect(exchange?.data(Buffer.alloc(10))).toBe(false);
    expect(parts).toBeGreaterThan(0);
    client.resume();
    await until(() => told.events.length > 0);
    exchange?.end([]);
    await until(() => told.events.length > 1);
    await pause(10);
    expect(told.events).toEqual(['drained', 'flushed']);
  });

  test('is over once when the connection breaks', async () => {
    const { client, taken, closed } = await heldConnection();
    client.pause();
    client.write(GET);
    await until(() => taken.length === 1);
    const told = new Told();
    taken[0]?.attach(told);
    taken[0]?.head(200, undefined, []);
    while (taken[0]?.data(Buffer.alloc(65_536)) === true);
    taken[0]?.reset();
    taken[0]?.data(Buffer.alloc(10));
    taken[0]?.end([]);
    await until(closed);
    expect(told.events).toEqual(['gone']);
  });
});

describe('what may not be written breaks the connection, and nothing of it stands there', () => {
  test.each([
    ['a value with a line end', (exchange: Exchange) => exchange.head(200, undefined, ['X', 'a\r\nY: b'])],
    ['a name with a colon', (exchange: Exchange) => exchange.head(200, undefined, ['X:', 'a'])],
    ['a reason with a line end', (exchange: Exchange) => exchange.head(200, 'a\r\nY: b', [])],
    // As latin1 it would be CR and LF.
    [
      'a reason that is CR and LF when it is cut to bytes',
      (exchange: Exchange) => exchange.head(200, 'a\u010d\u010aY', []),
    ],
  ])('%s', async (_what, response) => {
    const { client, taken } = await heldConnection();
    let text = '';
    client.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    client.on('error', () => {});
    client.write(GET);
    await until(() => taken.length === 1);
    const [exchange] = taken;
    exchange?.attach(new Told());
    expect(() => exchange && response(exchange)).toThrow(UnwritableHead);
    exchange?.reset();
    await until(() => client.destroyed);
    expect(text).toBe('');
  });

  test('more than the length that was told', async () => {
    const { client, taken } = await heldConnection();
    let text = '';
    client.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    client.on('error', () => {});
    client.write(GET);
    await until(() => taken.length === 1);
    taken[0]?.attach(new Told());
    taken[0]?.head(200, undefined, ['Content-Length', '2']);
    taken[0]?.data(Buffer.from('abc'));
    taken[0]?.end([]);
    await until(() => client.destroyed);
    expect(text).toBe('');
  });
});

describe('times', () => {
  test('a client that says nothing gets a 408', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, { flags: { 'client-headers-timeout': '300' } });
    const client = rawClient(gateway.port);
    expect(statusOf(await client.end())).toBe(408);
    expect(client.text()).toMatch(/\r\nConnection: close\r\n/);
    expect(await gateway.entry()).toMatchObject({ failure: 'client-timeout', verdict: 'refused' });
    client.socket.destroy();
  });

  test.each(WAYS)('a kept connection closes after its idle time: %s', async (_who, front) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, { flags: { 'idle-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.write(front + GET);
    await client.until(whole(1));
    expect(await client.end(4000)).toMatchObject({ closed: true, reset: false });
    client.socket.destroy();
  });

  test('a head that does not end, on a connection that was kept, gets a 408', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await gatewayFor(v2.origin, { flags: { 'client-headers-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.write(GET);
    await client.until(whole(1));
    client.write(GET.slice(0, -2));
    const { text, closed } = await client.end();
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*HTTP\/1\.1 408 /);
    expect(closed).toBe(true);
    expect(gateway.entries().map(({ status }) => status)).toEqual([200, 408]);
  });

  test('a connection that is idle closes when the gateway stops, and one that works when it is done', async () => {
    const response: (() => void)[] = [];
    const v2 = await rawServer((socket, _request, number) => {
      if (number <= 2) socket.write(ok());
      else response.push(() => socket.write(ok()));
    });
    const gateway = await gatewayFor(v2.origin);
    const clients = Array.from({ length: 4 }, () => rawClient(gateway.port));
    const [silent, idle, given, busy] = clients as [RawClient, RawClient, RawClient, RawClient];
    idle.write(GET);
    given.write(`\r\n${GET}`);
    await Promise.all([idle.until(whole(1)), given.until(whole(1))]);
    busy.write(GET);
    await until(() => response.length === 1);
    const stopped = gateway.stop();
    for (const client of [silent, idle, given]) expect((await client.end()).closed).toBe(true);
    expect(busy.text()).toBe('');
    response[0]?.();
    const { text, closed } = await busy.end();
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*\r\nConnection: close\r\n\r\n\{"data":\{\}\}$/);
    expect(closed).toBe(true);
    await stopped;
  });
});
