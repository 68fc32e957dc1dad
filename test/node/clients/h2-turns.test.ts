import type { ServerHttp2Stream } from 'node:http2';
import { expect, test } from 'vitest';
import { DATA, END_STREAM, rawH2, requestHead } from '../../support/raw-h2.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { sendRequest, ca, secureGateway, session } from '../../support/secure-gateway.ts';
import { watchTurns } from '../../support/turn-reads.ts';
import { until } from '../../support/until.ts';

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

test('a body in frames of one byte keeps nobody waiting, and arrives whole', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await secureGateway(v2.origin);
  const innocent = session(gateway);
  expect((await sendRequest(innocent, { ':path': '/api/v2/first' })).headers[':status']).toBe(200);
  const read = watchTurns('http2.server.stream.start', connectionOf);
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
  // Half of the body's frames at most in one turn of the event loop.
  expect(read.most()).toBeLessThan((BODY.length * 10) / 2);
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
  const read = watchTurns('http2.server.stream.start', connectionOf);
  const frames = tinyFrames(1, 'x'.repeat(1500));
  const all = await Promise.all(Array.from({ length: 40 }, () => rawH2(gateway.port, ca.cert)));
  for (const raw of all) {
    raw.head(1, requestHead('/api/v2/clients', 'POST'), true);
    raw.socket.write(frames);
  }
  await until(() => all.every((raw) => raw.frames.some(({ type, stream }) => type === DATA && stream === 1)));
  expect(read.begun()).toBe(40);
  expect(read.most()).toBeLessThan(8 * frames.length);
  expect(gateway.surprises).toEqual([]);
});

function connectionOf(message: unknown): { readonly bytesRead: number } {
  const stream: unknown =
    typeof message === 'object' && message !== null && 'stream' in message ? message.stream : undefined;
  const { session } = stream as ServerHttp2Stream;
  if (session === undefined) throw new Error('no connection of the stream');
  return session.socket;
}
