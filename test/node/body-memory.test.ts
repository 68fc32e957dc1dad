import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BodyMemory } from '../../src/node/body-memory.ts';
import { gatewayFor } from '../support/gateway.ts';
import { rawClient } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { socketServer } from '../support/socket-server.ts';
import { until } from '../support/until.ts';

describe('memory of bodies', () => {
  test('is used again once it is given back, and never twice at a time', () => {
    const memory = new BodyMemory();
    const first = memory.take(100_000);
    const second = memory.take(100_000);
    expect(first.length).toBe(128 * 1024);
    expect(second).not.toBe(first);
    memory.give(first);
    memory.give(first);
    expect(memory.take(70_000)).toBe(first);
    expect(memory.take(70_000)).not.toBe(first);
  });

  test('is of its own size where little is needed, or very much', () => {
    const memory = new BodyMemory();
    for (const size of [0, 1, 5000, 600_000]) {
      const buffer = memory.take(size);
      expect(buffer.length).toBe(size);
      memory.give(buffer);
      if (size > 0) expect(memory.take(size)).not.toBe(buffer);
    }
  });

  test('is kept up to a limit', () => {
    const memory = new BodyMemory();
    const taken = Array.from({ length: 40 }, () => memory.take(512 * 1024));
    for (const buffer of taken) memory.give(buffer);
    const again = new Set(taken.map(() => memory.take(512 * 1024)));
    expect(taken.filter((buffer) => again.has(buffer))).toHaveLength(16);
  });
});

/** Letters that no head and no size of a chunk has in a run. */
const LETTERS = 'ghijklmnopqrstuvwxyz';

/** A V2 that reads slowly, responds early, or closes, each as the target says; `onBody` gets what it receives. */
async function oddV2(onBody: (socket: Socket, letter: string, bytes: string) => void): Promise<string> {
  return socketServer((socket) => {
    let letter = '';
    let seen = '';
    socket.on('data', (bytes: Buffer) => {
      const text = bytes.toString('latin1');
      seen = (seen + text).slice(-400);
      const [, kind, own] = / \/api\/v2\/(?:clients\?)?(\w+)[/-](\w) HTTP/.exec(text) ?? [];
      if (own !== undefined) letter = own;
      onBody(socket, letter, own === undefined ? text : text.slice(text.indexOf('\r\n\r\n')));
      if (kind === 'early') socket.write(ok());
      if (kind === 'reset') socket.resetAndDestroy();
      if (kind === 'slow') {
        socket.pause();
        setTimeout(() => socket.resume(), 20);
      }
      if (kind !== 'early' && /END["}]*(?:\r\n0\r\n\r\n)?$/.test(seen)) socket.write(ok());
    });
  });
}

// Attack: a part of one client's body in the request of another.
test('no byte of a body is ever sent in the body of another', async () => {
  const foreign: string[] = [];
  const received = new Map<string, number>();
  const origin = await oddV2((_socket, letter, bytes) => {
    received.set(letter, (received.get(letter) ?? 0) + bytes.length);
    const others = bytes.match(/([g-z])\1{9}/g)?.filter((run) => !run.startsWith(letter)) ?? [];
    foreign.push(...others.map((run) => `${run} in ${letter}`));
  });
  const gateway = await gatewayFor(origin, { flags: { breaker: 'off' } });
  const uploads = fc.record({
    kind: fc.constantFrom('plain', 'plain', 'slow', 'early', 'reset'),
    letter: fc.constantFrom(...LETTERS.split('')),
    length: fc.integer({ min: 4000, max: 600_000 }),
    isChunked: fc.boolean(),
    // For V1 it is collected and rewritten, collected and sent as it is, or decoded.
    form: fc.constantFrom('v2', 'v1', 'v1', 'v1 flat', 'v1 gzip'),
    leavesAt: fc.oneof(
      { weight: 4, arbitrary: fc.constant(1) },
      { weight: 1, arbitrary: fc.double({ min: 0.1, max: 0.9, noNaN: true }) },
    ),
  });
  const upload = async ({
    kind,
    letter,
    length,
    isChunked,
    form,
    leavesAt,
  }: (typeof samples)[number]): Promise<void> => {
    const client = rawClient(gateway.port);
    const content = `${letter.repeat(length)}END`;
    const json = form === 'v1 flat' ? `{"a":"${content}"}` : `{"data":{"a":"${content}"}}`;
    const text = form === 'v2' ? content : json;
    const body = form === 'v1 gzip' ? gzipSync(text, { level: 0 }) : Buffer.from(text);
    const coding = form === 'v1 gzip' ? 'Content-Encoding: gzip\r\n' : '';
    const framed = isChunked
      ? [`Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n`, body, '\r\n0\r\n\r\n']
      : [`Content-Length: ${body.length}\r\n\r\n`, body];
    const line = form === 'v2' ? `PUT /api/v2/${kind}/${letter}` : `POST /api/v1/clients?${kind}-${letter}`;
    const head = `${line} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n${coding}`;
    const bytes = Buffer.concat([head, ...framed].map((part) => Buffer.from(part)));
    client.write(bytes.subarray(0, Math.ceil(bytes.length * leavesAt)));
    if (leavesAt === 1) await client.until(/HTTP\/1\.1 [2-5]\d\d /, 20_000);
    else await new Promise((resolve) => void setTimeout(resolve, 5));
    client.socket.destroy();
  };
  const samples = fc.sample(uploads, 300);
  const queue = [...samples];
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) await upload(next);
  };
  await Promise.all(Array.from({ length: 12 }, worker));
  await until(() => gateway.gateway.inFlight === 0);
  expect(foreign).toEqual([]);
  expect([...received.values()].reduce((sum, bytes) => sum + bytes, 0)).toBeGreaterThan(5_000_000);
  expect(gateway.surprises).toEqual([]);
}, 60_000);

// Attack: a part of one client's response in that of another.
test('no byte of a response is ever sent in another, however slowly it is read', async () => {
  const v2 = await rawServer((socket, request) => {
    const [, framing, letter = '', length] = /\/(\w+)\/(\w)\/(\d+) HTTP/.exec(request) ?? [];
    const body = letter.repeat(Number(length));
    if (framing === 'length') socket.write(ok(body));
    else
      socket.write(
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
      );
  });
  const gateway = await gatewayFor(v2.origin);
  const downloads = fc.record({
    framing: fc.constantFrom('length', 'chunks'),
    letter: fc.constantFrom(...LETTERS.split('')),
    length: fc.oneof(fc.integer({ min: 1, max: 70_000 }), fc.integer({ min: 70_000, max: 6_000_000 })),
    way: fc.constantFrom('reads', 'reads', 'pauses', 'leaves'),
  });
  const download = async ({ framing, letter, length, way }: (typeof samples)[number]): Promise<void> => {
    const client = rawClient(gateway.port);
    client.write(
      `GET /api/v2/${framing}/${letter}/${length} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n`,
    );
    if (way === 'leaves') {
      await client.until(/200 OK/);
      client.socket.destroy();
      return;
    }
    const pauses = way === 'pauses' ? 5 : 0;
    for (let count = 0; count < pauses; count += 1) {
      client.socket.pause();
      await new Promise((resolve) => void setTimeout(resolve, 10));
      client.socket.resume();
      await new Promise((resolve) => void setTimeout(resolve, 1));
    }
    const { text, reset } = await client.end(20_000);
    const body = text
      .slice(text.indexOf('\r\n\r\n') + 4)
      .replaceAll(/\r\n[0-9a-f]+\r\n|^[0-9a-f]+\r\n|\r\n/g, '');
    expect({ reset, length: body.length, isOwn: body === letter.repeat(length) }).toEqual({
      reset: false,
      length,
      isOwn: true,
    });
  };
  const samples = fc.sample(downloads, 60);
  const queue = [...samples];
  const worker = async (): Promise<void> => {
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) await download(next);
  };
  await Promise.all(Array.from({ length: 10 }, worker));
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
}, 60_000);
