import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { H2TickBudget, REQUEST_COST, StreamTable } from '../../../../src/node/clients/http2/connection.ts';
import { fuzzRuns, fuzzTime } from '../../../support/fuzz.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  grantedBytes,
  headerBlock,
  HEADERS,
  type RawH2,
  rawH2,
  requestHead,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
  PRIORITY,
  PING,
  GOAWAY,
  CONTINUATION,
} from '../../../support/raw-h2.ts';
import { ok } from '../../../support/raw-server.ts';
import { ca, sendRequest, session, securelyServed, servedOverH2 } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';
import { frame, head, number, setting, type Step } from './h2-cases.ts';

const PADDED = 8;
const PRIORITIZED = 32;
const ACK = 1;
const INITIAL_WINDOW_SIZE = 4;
/** Codes of RFC 9113 §7. */
const NO_ERROR = 0;
const PROTOCOL_ERROR = 1;
const FLOW_CONTROL_ERROR = 3;
const STREAM_CLOSED = 5;
const REFUSED_STREAM = 7;
const POST = requestHead('/api/v2/x', 'POST');

/** The code with which the gateway ended a stream. */
function resetCode({ frames }: RawH2, stream: number): number | undefined {
  return frames
    .find((frame) => frame.type === RST_STREAM && frame.stream === stream)
    ?.payload.readUInt32BE(0);
}

/** What the gateway sent of the body on a stream. */
function bodyOf({ frames }: RawH2, stream: number): string {
  return Buffer.concat(
    frames.flatMap((frame) => (frame.type === DATA && frame.stream === stream ? [frame.payload] : [])),
  ).toString('latin1');
}

function hasEnded({ frames }: RawH2, stream: number): boolean {
  return frames.some(
    (frame) =>
      frame.stream === stream &&
      (frame.type === DATA || frame.type === HEADERS) &&
      (frame.flags & END_STREAM) !== 0,
  );
}

/** A gateway and a connection with it; V2 responds to every request. */
async function connected(
  text = ok('"fine"'),
  settings: readonly (readonly [number, number])[] = [],
): Promise<{ gateway: TestGateway; raw: RawH2; received: readonly string[] }> {
  const { v2, gateway, raw } = await servedOverH2(text, {}, settings);
  return { gateway, raw, received: v2.received };
}

describe('frames that break their stream alone', () => {
  test.each<[what: string, code: number, ...steps: Step[]]>([
    ['a window that grows by nothing', PROTOCOL_ERROR, frame(WINDOW_UPDATE, 0, 1, number(0))],
    ['a window that grows too far', FLOW_CONTROL_ERROR, frame(WINDOW_UPDATE, 0, 1, number(0x7fff_ffff))],
    ['a body behind its end', STREAM_CLOSED, frame(DATA, END_STREAM, 1), frame(DATA, 0, 1, Buffer.from('x'))],
    ['trailers behind its end', STREAM_CLOSED, frame(DATA, END_STREAM, 1), head(1, [['x-sum', '1']])],
  ])('%s', async (_what, code, ...steps) => {
    const { gateway, raw } = await servedOverH2((socket, request) => {
      if (request.startsWith('GET')) socket.write(ok('"fine"'));
    });
    raw.head(1, POST, true);
    for (const step of steps) step(raw);
    await until(() => resetCode(raw, 1) !== undefined);
    expect(resetCode(raw, 1)).toBe(code);
    raw.head(3, requestHead('/api/v2/x'));
    await until(() => hasEnded(raw, 3));
    expect(bodyOf(raw, 3)).toBe('"fine"');
    await until(() => gateway.gateway.inFlight === 0);
  });

  test('a body that is not as long as its request says gets 400, and V2 gets no whole request', async () => {
    const { gateway, raw, received } = await connected();
    const bodies = ['x', 'xxxx', ''];
    for (const [at, body] of bodies.entries()) {
      raw.head(2 * at + 1, [...POST, ['content-length', '3']], true);
      raw.frame(DATA, END_STREAM, 2 * at + 1, Buffer.from(body));
    }
    await until(() => gateway.lines.length === bodies.length);
    expect(gateway.entries().map(({ status }) => status)).toEqual([400, 400, 400]);
    expect(received).toEqual([]);
  });

  test.each<[what: string, fields: [string, string][], body: string]>([
    ['a field of the connection', [...POST, ['connection', 'close']], ''],
    ['a body longer than its length', [...POST, ['content-length', '1']], 'xx'],
  ])(
    'a malformed request whose body stays open ends with PROTOCOL_ERROR, behind its 400: %s',
    async (_what, fields, body) => {
      const { raw, received } = await connected();
      raw.head(1, fields, true);
      if (body !== '') raw.frame(DATA, 0, 1, Buffer.from(body));
      await until(() => resetCode(raw, 1) !== undefined);
      expect(hasEnded(raw, 1)).toBe(true);
      expect(resetCode(raw, 1)).toBe(PROTOCOL_ERROR);
      expect(received).toEqual([]);
    },
  );

  test('a request that comes in one piece with its reset never reaches V2', async () => {
    const { gateway, raw, received } = await connected();
    raw.socket.cork();
    for (let stream = 1; stream < 20; stream += 2) {
      raw.head(stream, requestHead(stream % 4 === 1 ? '/api/v1/x' : '/api/v2/x'));
      raw.frame(RST_STREAM, 0, stream, number(8));
    }
    raw.head(21, requestHead('/api/v2/last'));
    raw.socket.uncork();
    await until(() => hasEnded(raw, 21) && gateway.lines.length === 11);
    expect(received.join('').match(/GET \S+/g)).toEqual(['GET /api/v2/last']);
    expect(gateway.entries().filter(({ status, sent }) => status === 0 && sent === false)).toHaveLength(10);
  });

  // Attack: a client that goes on sending after the error.
  test('behind an error of the connection no more is read than may be on its way', async () => {
    const { raw } = await connected();
    raw.frame(DATA, 0, 1, Buffer.from('x'));
    const piece = Buffer.alloc(64 * 1024);
    let sent = 0;
    while (!raw.socket.destroyed && sent < 64 * piece.length * 16) {
      sent += piece.length;
      if (!raw.socket.write(piece))
        await Promise.race([once(raw.socket, 'drain'), once(raw.socket, 'close')]);
    }
    // What the buffers of both sides hold comes on top.
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  test('a head on a stream that is closed is met with a reset, also between streams that were left out', async () => {
    const { raw } = await connected();
    raw.head(5, requestHead('/api/v2/x'));
    await until(() => hasEnded(raw, 5));
    raw.head(11, requestHead('/api/v2/x'));
    await until(() => hasEnded(raw, 11));
    for (const stream of [5, 11]) {
      raw.head(stream, requestHead('/api/v2/x'));
      await until(() => resetCode(raw, stream) !== undefined);
      expect(resetCode(raw, stream)).toBe(STREAM_CLOSED);
    }
  });

  test('more streams than the gateway allows are refused, so that they can be sent again; the others are served', async () => {
    const { connections, raw, release } = await held();
    for (let stream = 1; stream < 300; stream += 2) raw.head(stream, requestHead('/api/v2/x'));
    await until(() => raw.frames.filter(({ type }) => type === RST_STREAM).length === 22);
    expect([resetCode(raw, 255), resetCode(raw, 257)]).toEqual([undefined, REFUSED_STREAM]);
    await until(() => connections() === 128);
    release();
    await until(() => hasEnded(raw, 1) && hasEnded(raw, 255));
  });
});

/** A V2 that responds once it is released. */
async function held(): Promise<{ connections: () => number; raw: RawH2; release: () => void }> {
  const waiting: (() => void)[] = [];
  const { gateway } = await securelyServed((socket) => void waiting.push(() => socket.write(ok('"late"'))));
  return {
    connections: () => waiting.length,
    raw: await rawH2(gateway.port, ca.cert),
    release: () => {
      for (const respond of waiting) respond();
    },
  };
}

describe('what a client may do', () => {
  test('padding, priorities, blocks in many frames, unknown frames and settings, pings', async () => {
    const { raw, received } = await connected();
    const block = headerBlock([...POST, ['x-long', 'v'.repeat(1000)]]);
    const priority = Buffer.from([0x80, 0, 0, 0, 200]);
    raw.frame(
      SETTINGS,
      0,
      0,
      Buffer.concat([setting(0x42, 7), setting(1, 0), setting(3, 1), setting(6, 10)]),
    );
    raw.frame(0x42, 0xff, 7, Buffer.from('whatever'));
    raw.frame(PRIORITY, 0, 9, Buffer.alloc(5));
    raw.frame(
      HEADERS,
      PADDED | PRIORITIZED,
      1,
      Buffer.concat([Buffer.from([3]), priority, block.subarray(0, 10), Buffer.alloc(3)]),
    );
    for (let at = 10; at < block.length; at += 100) {
      raw.frame(CONTINUATION, at + 100 >= block.length ? END_HEADERS : 0, 1, block.subarray(at, at + 100));
    }
    raw.frame(DATA, PADDED, 1, Buffer.concat([Buffer.from([4]), Buffer.from('bo'), Buffer.alloc(4)]));
    raw.frame(PING, 0, 0, Buffer.from('12345678'));
    raw.frame(PING, ACK, 0, Buffer.from('87654321'));
    raw.frame(DATA, PADDED | END_STREAM, 1, Buffer.from([0, 0x64, 0x79]));
    await until(() => hasEnded(raw, 1));
    expect(received.join('')).toMatch(/^POST \/api\/v2\/x HTTP\/1\.1\r\n[^]*x-long: v{1000}\r\n[^]*body/);
    const pings = raw.frames.filter(({ type }) => type === PING);
    expect(pings.map(({ flags, payload }) => [flags, payload.toString()])).toEqual([[ACK, '12345678']]);
    expect(raw.frames.filter(({ type, flags }) => type === SETTINGS && flags === ACK)).toHaveLength(2);
  });

  test('a separate window for each stream, changed in the middle of the responses, down and up', async () => {
    const body = 'abcdefgh'.repeat(10_000);
    const { gateway, raw } = await connected(ok(body), [[INITIAL_WINDOW_SIZE, 1000]]);
    raw.head(1, requestHead('/api/v2/x'));
    raw.head(3, requestHead('/api/v2/x'));
    await until(() => bodyOf(raw, 1).length === 1000 && bodyOf(raw, 3).length === 1000);
    // 900 less than nothing: nothing goes out until that is made up for.
    raw.frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 100));
    raw.frame(WINDOW_UPDATE, 0, 1, number(900));
    raw.frame(WINDOW_UPDATE, 0, 3, number(901));
    await until(() => bodyOf(raw, 3).length === 1001);
    expect(bodyOf(raw, 1)).toHaveLength(1000);
    // The window of the connection has 63,534 left.
    raw.frame(SETTINGS, 0, 0, setting(INITIAL_WINDOW_SIZE, 1_000_000));
    await until(() => bodyOf(raw, 1).length + bodyOf(raw, 3).length === 65_535);
    // They take turns, frame by frame.
    expect(bodyOf(raw, 1).length).toBeGreaterThan(25_000);
    expect(bodyOf(raw, 3).length).toBeGreaterThan(25_000);
    raw.frame(WINDOW_UPDATE, 0, 0, number(1_000_000));
    await until(() => hasEnded(raw, 1) && hasEnded(raw, 3));
    expect([bodyOf(raw, 1) === body, bodyOf(raw, 3) === body]).toEqual([true, true]);
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.entries().map(({ status }) => status)).toEqual([200, 200]);
  });

  test('a window for one of two responses, when the other is cancelled before: it goes on at once', async () => {
    const { raw } = await connected(ok('x'.repeat(50_000)), [[INITIAL_WINDOW_SIZE, 0]]);
    raw.head(1, requestHead('/api/v2/x'));
    raw.head(3, requestHead('/api/v2/x'));
    await until(() => raw.frames.filter(({ type }) => type === HEADERS).length === 2);
    raw.frame(RST_STREAM, 0, 1, number(8));
    raw.frame(WINDOW_UPDATE, 0, 3, number(100_000));
    await until(() => hasEnded(raw, 3));
    expect(bodyOf(raw, 3)).toHaveLength(50_000);
  });

  test('a body of only its own window, until the gateway reads it; V2 decides when that is', async () => {
    const { v2, gateway, raw } = await servedOverH2(() => {});
    raw.head(1, POST, true);
    let sent = 0;
    const send = (bytes: number): void => {
      for (; bytes > 0; bytes -= 16_000) raw.frame(DATA, 0, 1, Buffer.alloc(Math.min(bytes, 16_000), 'x'));
    };
    // V2 reads nothing: the system's buffers and the gateway's fill up, and then no more is granted.
    v2.server.on('connection', (socket) => socket.pause());
    for (let quiet = 0; quiet < 20; quiet += 1) {
      const more = grantedBytes(raw, 1) - sent;
      if (more > 0) quiet = 0;
      sent += more;
      send(more);
      await pause(10);
    }
    const heldBytes = sent;
    raw.frame(DATA, 0, 1, Buffer.from('x'));
    await until(() => resetCode(raw, 1) !== undefined);
    expect(resetCode(raw, 1)).toBe(FLOW_CONTROL_ERROR);
    expect(heldBytes).toBeLessThan(16_000_000);
    await until(() => gateway.gateway.inFlight === 0);
  });

  test('endless requests whose responses it does not read: then it is not read either', async () => {
    const { gateway, raw } = await connected(
      'HTTP/1.1 204 No Content\r\nX-Long: ' + 'v'.repeat(8000) + '\r\n\r\n',
    );
    raw.socket.pause();
    let stream = -1;
    let isTaken = true;
    while (isTaken && stream < 20_000) {
      for (let count = 0; count < 50; count += 1) raw.head((stream += 2), requestHead('/api/v2/x'));
      isTaken = await Promise.race([
        once(raw.socket, 'drain').then(() => true),
        new Promise<boolean>((resolve) => void setTimeout(resolve, 2000, false)),
      ]);
    }
    // Of the hundreds that are sent in a second, those whose responses fill the buffers.
    expect(gateway.lines.length).toBeLessThan(2000);
    // The others find places.
    expect(gateway.gateway.inFlight).toBeLessThan(300);
    raw.socket.resume();
    await until(() => hasEnded(raw, stream));
    expect(raw.frames.filter(({ type }) => type === GOAWAY)).toEqual([]);
  });
});

describe('the end of a connection', () => {
  test('draining: a notice first, a request that crosses with it is served, and then the last stream', async () => {
    const waiting: (() => void)[] = [];
    const { gateway, raw } = await servedOverH2(
      (socket) => void waiting.push(() => socket.write(ok('"late"'))),
      { drain: '8000' },
    );
    raw.head(1, requestHead('/api/v2/x'));
    await until(() => waiting.length === 1);
    const stopped = gateway.stop();
    await until(() => raw.frames.some(({ type }) => type === GOAWAY));
    raw.head(3, requestHead('/api/v2/x'));
    await until(() => waiting.length === 2);
    for (const respond of waiting) respond();
    await stopped;
    await until(() => raw.socket.destroyed || raw.socket.readableEnded);
    expect([bodyOf(raw, 1), bodyOf(raw, 3)]).toEqual(['"late"', '"late"']);
    const farewells = raw.frames.filter(({ type }) => type === GOAWAY);
    expect(farewells.map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)])).toEqual([
      [0x7fff_ffff, NO_ERROR],
      [3, NO_ERROR],
    ]);
  });

  test.each(['before', 'after'])(
    'draining: a connection made %s is told to end with its first request',
    async (when) => {
      const { gateway } = await securelyServed(ok('"first"'), { 'drain-delay': '2500' });
      const early = when === 'before' ? await rawH2(gateway.port, ca.cert) : undefined;
      if (early !== undefined) await until(() => early.frames.some(({ type }) => type === SETTINGS));
      const stopped = gateway.stop();
      const raw = early ?? (await rawH2(gateway.port, ca.cert));
      raw.frame(PING, 0, 0, Buffer.alloc(8));
      await until(() => raw.frames.some(({ type }) => type === PING));
      expect(raw.frames.filter(({ type }) => type === GOAWAY)).toEqual([]);
      raw.head(1, requestHead('/api/v2/x'));
      await until(() => hasEnded(raw, 1));
      expect(raw.frames.find(({ type }) => type === GOAWAY)?.payload.readUInt32BE(0)).toBe(0x7fff_ffff);
      raw.socket.destroy();
      gateway.server.destroyAll();
      await stopped;
    },
  );

  test('draining: one accepted as the delay ends has time for its first request', async () => {
    const { gateway } = await securelyServed(ok('"first"'), { drain: '2500', 'drain-delay': '600' });
    const used = await rawH2(gateway.port, ca.cert);
    used.head(1, requestHead('/api/v2/x'));
    await until(() => hasEnded(used, 1));
    const stopped = gateway.stop();
    // One after the other; the last that is accepted is the late one, because the machine also decides when the delay ends.
    const made: RawH2[] = [];
    const isClosed = (raw: RawH2): boolean => raw.socket.destroyed || raw.socket.readableEnded;
    let accepted: readonly RawH2[] = [];
    while (!isClosed(used)) {
      accepted = made.filter(({ frames }) => frames.some(({ type }) => type === SETTINGS));
      void rawH2(gateway.port, ca.cert).then(
        (raw) => made.push(raw),
        () => {},
      );
      await pause(20);
    }
    const late = accepted.findLast((raw) => !isClosed(raw));
    late?.head(1, requestHead('/api/v2/x'));
    await until(() => late === undefined || hasEnded(late, 1) || isClosed(late));
    expect(late && bodyOf(late, 1)).toBe('"first"');
    for (const { socket } of made) socket.destroy();
    await stopped;
  });

  test.each([
    ['that sends nothing', [], undefined],
    ['that has been served', [1], undefined],
    ['with half a head', [], Buffer.from([0, 0, 9, 1])],
  ] as const)(
    'a connection %s is closed in time, and pings do not count against it',
    async (_what, streams, rest) => {
      const { gateway, raw } = await servedOverH2(ok('"fine"'), {
        'idle-timeout': '700',
        'client-headers-timeout': '900',
      });
      for (const stream of streams) raw.head(stream, requestHead('/api/v2/x'));
      for (let count = 0; count < 4; count += 1) {
        await pause(300);
        raw.frame(PING, 0, 0, Buffer.alloc(8));
      }
      await until(() => raw.frames.filter(({ type }) => type === PING).length === 4);
      if (rest !== undefined) raw.socket.write(rest);
      await once(raw.socket, 'close');
      expect(raw.frames.findLast(({ type }) => type === GOAWAY)?.payload.readUInt32BE(4)).toBe(NO_ERROR);
      const refused = gateway.entries().filter(({ verdict }) => verdict === 'refused');
      expect(refused.map(({ failure }) => failure)).toEqual(rest === undefined ? [] : ['client-timeout']);
    },
  );

  test.each([0, 100, 4095, 4096, 65_536])(
    'a client whose table of fields has %i bytes reads every response',
    async (headerTableSize) => {
      const { gateway } = await securelyServed(`HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n${ok('"z"')}`);
      const client = session(gateway, { headerTableSize });
      for (let count = 0; count < 2; count += 1)
        expect(await sendRequest(client, { ':path': '/api/v2/x' })).toMatchObject({ body: '"z"', code: 0 });
      client.settings({ headerTableSize: 10 });
      expect(await sendRequest(client, { ':path': '/api/v2/x' })).toMatchObject({ body: '"z"', code: 0 });
    },
  );
});

/** What reading costs in one turn, with the request that may be the last. */
const TURN_COST = 2048 + REQUEST_COST;
const BODY = `{"data":{"name":"${'x'.repeat(20_000)}"}}`;

/** Frames of one byte each, with their heads of nine (RFC 9113 §4.1). */
function tinyFrames(stream: number, body: string): Buffer {
  const frames = Buffer.alloc(body.length * 10);
  for (let at = 0; at < body.length; at += 1) {
    frames[at * 10 + 2] = 1;
    frames[at * 10 + 4] = at === body.length - 1 ? END_STREAM : 0;
    frames.writeUInt32BE(stream, at * 10 + 5);
    frames[at * 10 + 9] = body.charCodeAt(at);
  }
  return frames;
}

/** Watches what the turns of the event loop cost, in frames. */
function watchCosts(): { readonly most: number } {
  const seen = { most: 0 };
  const count = vi.spyOn(H2TickBudget.prototype, 'count');
  const endTurn = (): void => {
    const cost = count.mock.calls.reduce((sum, [frames]) => sum + frames, 0);
    count.mockClear();
    seen.most = Math.max(seen.most, cost);
    turn = setImmediate(endTurn);
  };
  let turn = setImmediate(endTurn);
  onTestFinished(() => {
    clearImmediate(turn);
    count.mockRestore();
  });
  return seen;
}

test('a body in frames of one byte keeps no other client waiting, and arrives whole', async () => {
  const { v2, gateway } = await securelyServed();
  const innocent = session(gateway);
  expect((await sendRequest(innocent, { ':path': '/api/v2/first' })).headers[':status']).toBe(200);
  const costs = watchCosts();
  const raw = await rawH2(gateway.port, ca.cert);
  raw.head(1, [...requestHead('/api/v1/clients', 'POST'), ['content-type', 'application/json']], true);
  raw.socket.write(tinyFrames(1, BODY));
  const isThere = (): boolean =>
    v2.received.some((text) => text.includes(`{"name":"${'x'.repeat(20_000)}"}`));
  for (let count = 0; count < 10; count += 1) {
    expect((await sendRequest(innocent, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
  }
  await until(isThere);
  await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 1));
  expect(costs.most).toBeLessThanOrEqual(TURN_COST);
});

test('connections with bodies in tiny frames take turns, and each of them gets one', async () => {
  const { v2, gateway } = await securelyServed();
  const body = '{"data":{"name":"many"}}'.padEnd(3000, ' ');
  for (let count = 0; count < 5; count += 1) {
    const raw = await rawH2(gateway.port, ca.cert);
    for (const stream of [1, 3]) {
      raw.head(
        stream,
        [...requestHead('/api/v1/clients', 'POST'), ['content-type', 'application/json']],
        true,
      );
      raw.socket.write(tinyFrames(stream, body));
    }
    // A connection that closes while it waits takes no other one's turn.
    if (count === 2) setTimeout(() => raw.socket.destroy(), 30);
  }
  await until(() => v2.received.join('').split('"many"').length - 1 >= 8);
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
});

// Attack: each connection is known for tiny frames only when its first ones are read; very many send them at once.
test('the first reads of many connections with frames of one byte do not add up in one turn', async () => {
  const { gateway } = await securelyServed();
  const costs = watchCosts();
  const frames = tinyFrames(1, 'x'.repeat(1500));
  const all = await Promise.all(Array.from({ length: 40 }, () => rawH2(gateway.port, ca.cert)));
  for (const raw of all) {
    raw.head(1, requestHead('/api/v2/clients', 'POST'), true);
    raw.socket.write(frames);
  }
  await until(() => all.every((raw) => raw.frames.some(({ type, stream }) => type === DATA && stream === 1)));
  expect(costs.most).toBeLessThanOrEqual(TURN_COST);
});

/** Sends a hundred requests in one write, so that one read brings them all. */
function sendHundred(raw: RawH2): void {
  raw.socket.cork();
  for (let stream = 1; stream < 200; stream += 2) raw.head(stream, requestHead('/api/v2/clients'));
  raw.socket.uncork();
}

/** Watches how many exchanges begin and end in a turn of the event loop. */
function watchExchanges({ gateway }: TestGateway) {
  const most = { begun: 0, ended: 0 };
  let before = 0;
  const endTurn = (): void => {
    const { inFlight } = gateway;
    most.begun = Math.max(most.begun, inFlight - before);
    most.ended = Math.max(most.ended, before - inFlight);
    before = inFlight;
    turn = setImmediate(endTurn);
  };
  let turn = setImmediate(endTurn);
  onTestFinished(() => clearImmediate(turn));
  return most;
}

// Attack: connections whose first read is the heads of a hundred requests, many of them at once, and all of them closed at once.
test('requests of many connections begin and end in several turns of the event loop', async () => {
  const { gateway } = await securelyServed(() => {});
  const all = await Promise.all(Array.from({ length: 9 }, () => rawH2(gateway.port, ca.cert)));
  const most = watchExchanges(gateway);
  for (const raw of all) sendHundred(raw);
  await until(() => gateway.gateway.inFlight === 900);
  expect(most.begun).toBeLessThanOrEqual(24);
  for (const { socket } of all) socket.destroy();
  await until(() => gateway.lines.length === 900);
  expect(most.ended).toBeLessThanOrEqual(40);
  expect(gateway.gateway.inFlight).toBe(0);
});

test('the events of a request that waits for its turn to begin are not lost', async () => {
  const { v2, gateway, raw } = await servedOverH2();
  const post = [...requestHead('/api/v1/clients', 'POST'), ['content-type', 'application/json']] as const;
  raw.socket.cork();
  for (let stream = 1; stream < 100; stream += 2) raw.head(stream, requestHead('/api/v2/clients'));
  // A body that is empty, one that is not, one with trailers, and requests that are reset with both codes.
  raw.head(101, requestHead('/api/v2/empty', 'POST'), true);
  raw.frame(DATA, END_STREAM, 101);
  raw.head(103, post, true);
  raw.frame(DATA, END_STREAM, 103, Buffer.from('{"data":{"name":"waited"}}'));
  raw.head(105, requestHead('/api/v2/trailers', 'POST'), true);
  raw.frame(DATA, 0, 105, Buffer.from('body'));
  raw.frame(HEADERS, 4 | END_STREAM, 105, headerBlock([['x-sum', '7']]));
  for (const [stream, code] of [
    [107, 0],
    [109, 8],
  ] as const) {
    raw.head(stream, requestHead('/api/v2/reset', 'POST'), true);
    raw.frame(DATA, 0, stream, Buffer.from('body'));
    raw.frame(RST_STREAM, 0, stream, Buffer.from([0, 0, 0, code]));
  }
  raw.socket.uncork();
  await until(() => gateway.lines.length === 55);
  const sent = v2.received.join('');
  expect(sent).toContain('POST /api/v2/empty');
  expect(sent).toContain('{"name":"waited"}');
  expect(sent).toMatch(/POST \/api\/v2\/trailers [^]*\r\n4\r\nbody\r\n0\r\nx-sum: 7\r\n\r\n/);
  expect(sent).not.toContain('/api/v2/reset');
  expect(gateway.entries().filter(({ status }) => status === 0)).toHaveLength(2);
  expect(gateway.gateway.inFlight).toBe(0);
});

test('requests before the bytes that break their connection are logged, and so is the fault', async () => {
  const { gateway, raw } = await servedOverH2(() => {});
  raw.socket.cork();
  sendHundred(raw);
  // A frame that ends the connection (RFC 9113 §6.5).
  raw.frame(SETTINGS, 0, 1);
  raw.socket.uncork();
  await until(() => gateway.lines.length === 101);
  expect(gateway.entries().filter(({ verdict }) => verdict === 'refused')).toHaveLength(1);
  expect(gateway.gateway.inFlight).toBe(0);
});

test('a gateway that stops ends and logs all exchanges of its connections', async () => {
  const { gateway } = await securelyServed(() => {}, { drain: '500' });
  const all = await Promise.all(Array.from({ length: 3 }, () => rawH2(gateway.port, ca.cert)));
  for (const raw of all) sendHundred(raw);
  await until(() => gateway.gateway.inFlight === 300);
  await gateway.stop();
  expect(gateway.gateway.inFlight).toBe(0);
  expect(gateway.lines).toHaveLength(300);
});

// Attack: an index of one byte is a whole field, so a block of 60 KB has as many; those of closed streams begin no request.
test('blocks of very many fields also take turns', async () => {
  const { raw } = await servedOverH2();
  raw.head(1, requestHead('/api/v2/x'));
  await until(() => raw.frames.some(({ type, stream }) => type === DATA && stream === 1));
  const costs = watchCosts();
  // The index of a field that both sides know.
  for (let count = 0; count < 50; count += 1)
    raw.frame(HEADERS, 4 | END_STREAM, 1, Buffer.alloc(16_000, 0x90));
  await until(() => raw.frames.filter(({ type }) => type === RST_STREAM).length === 50);
  // Half a turn each: the last block of a turn may go beyond it.
  expect(costs.most).toBeGreaterThan(500);
  expect(costs.most).toBeLessThanOrEqual(2048 + 501);
});

test('connections that wait are read one after the other, as far as a turn reaches, and all of them in the end', async () => {
  const turns = new H2TickBudget();
  const reads: string[] = [];
  const connection = (name: string, cost: number) => ({
    resumeRead(): void {
      reads.push(name);
      turns.count(cost);
    },
  });
  turns.count(2048);
  expect(turns.isFull).toBe(true);
  for (const [name, cost] of [
    ['a', 1952],
    ['b', 96],
    ['c', 1],
    ['d', 1],
  ] as const)
    turns.wait(connection(name, cost));
  await new Promise(setImmediate);
  expect([reads.join(''), turns.isFull]).toEqual(['ab', true]);
  // The next turn comes, even where nothing else happens.
  expect(process.getActiveResourcesInfo()).toContain('Immediate');
  turns.wait(connection('e', 1));
  await new Promise(setImmediate);
  expect([reads.join(''), turns.isFull]).toEqual(['abcde', false]);
});

test('a connection has the same streams as a map, in the same order', fuzzTime(), () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(12)), { maxLength: 60 });
  fc.assert(
    fc.property(steps, (list) => {
      const table = new StreamTable<object>();
      const map = new Map<number, object>();
      for (const [isAdded, id] of list) {
        if (!isAdded) {
          table.remove(id);
          map.delete(id);
        } else if (!map.has(id)) {
          const stream = {};
          table.add(id, stream);
          map.set(id, stream);
        }
        expect(table.size).toBe(map.size);
        expect(table.get(id)).toBe(map.get(id));
        expect([...table]).toEqual([...map.values()]);
      }
    }),
    { numRuns: fuzzRuns(500) },
  );
});
