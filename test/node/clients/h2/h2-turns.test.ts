import { expect, onTestFinished, test, vi } from 'vitest';
import { H2Turns, REQUEST_COST } from '../../../../src/node/clients/http2/connection.ts';
import {
  DATA,
  END_STREAM,
  headerBlock,
  HEADERS,
  type RawH2,
  rawH2,
  requestHead,
  RST_STREAM,
  SETTINGS,
} from '../../../support/raw-h2.ts';
import { ok, rawServer } from '../../../support/raw-server.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import { sendRequest, ca, secureGateway, session } from '../../../support/secure-gateway.ts';
import { until } from '../../../support/until.ts';

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
  const count = vi.spyOn(H2Turns.prototype, 'count');
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

test('a body in frames of one byte keeps nobody waiting, and arrives whole', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
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
  expect(gateway.surprises).toEqual([]);
});

test('connections with bodies in tiny frames have their turns one after the other, and all of them have one', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
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
    // One that goes away while it waits takes nobody's turn.
    if (count === 2) setTimeout(() => raw.socket.destroy(), 30);
  }
  await until(() => v2.received.join('').split('"many"').length - 1 >= 8);
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
});

// Attack: each connection is known for tiny frames only when its first ones are read; very many send them at once.
test('the first reads of many connections with frames of one byte do not add up in one turn', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
  const costs = watchCosts();
  const frames = tinyFrames(1, 'x'.repeat(1500));
  const all = await Promise.all(Array.from({ length: 40 }, () => rawH2(gateway.port, ca.cert)));
  for (const raw of all) {
    raw.head(1, requestHead('/api/v2/clients', 'POST'), true);
    raw.socket.write(frames);
  }
  await until(() => all.every((raw) => raw.frames.some(({ type, stream }) => type === DATA && stream === 1)));
  expect(costs.most).toBeLessThanOrEqual(TURN_COST);
  expect(gateway.surprises).toEqual([]);
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
  const v2 = await rawServer(() => {});
  const gateway = await secureGateway(v2.origin);
  const all = await Promise.all(Array.from({ length: 9 }, () => rawH2(gateway.port, ca.cert)));
  const most = watchExchanges(gateway);
  for (const raw of all) sendHundred(raw);
  await until(() => gateway.gateway.inFlight === 900);
  expect(most.begun).toBeLessThanOrEqual(24);
  for (const { socket } of all) socket.destroy();
  await until(() => gateway.lines.length === 900);
  expect(most.ended).toBeLessThanOrEqual(40);
  expect(gateway.gateway.inFlight).toBe(0);
  expect(gateway.surprises).toEqual([]);
});

test('the events of a request that waits for its turn to begin are not lost', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
  const raw = await rawH2(gateway.port, ca.cert);
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
  expect(gateway.surprises).toEqual([]);
});

test('requests before the bytes that break their connection are logged, and so is that', async () => {
  const v2 = await rawServer(() => {});
  const gateway = await secureGateway(v2.origin);
  const raw = await rawH2(gateway.port, ca.cert);
  raw.socket.cork();
  sendHundred(raw);
  // A frame that ends the connection (RFC 9113 §6.5).
  raw.frame(SETTINGS, 0, 1);
  raw.socket.uncork();
  await until(() => gateway.lines.length === 101);
  expect(gateway.entries().filter(({ verdict }) => verdict === 'refused')).toHaveLength(1);
  expect(gateway.gateway.inFlight).toBe(0);
  expect(gateway.surprises).toEqual([]);
});

test('a gateway that stops ends and logs all exchanges of its connections', async () => {
  const v2 = await rawServer(() => {});
  const gateway = await secureGateway(v2.origin, { drain: '500' });
  const all = await Promise.all(Array.from({ length: 3 }, () => rawH2(gateway.port, ca.cert)));
  for (const raw of all) sendHundred(raw);
  await until(() => gateway.gateway.inFlight === 300);
  await gateway.stop();
  expect(gateway.gateway.inFlight).toBe(0);
  expect(gateway.lines).toHaveLength(300);
  expect(gateway.surprises).toEqual([]);
});

// Attack: an index of one byte is a whole field, so a block of 60 KB has as many; those of closed streams begin no request.
test('blocks of very many fields have their turns, too', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
  const raw = await rawH2(gateway.port, ca.cert);
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
  const turns = new H2Turns();
  const reads: string[] = [];
  const connection = (name: string, cost: number) => ({
    readOn(): void {
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
