import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { BodyMemory, SMALL_WRITE_BYTES, writeTogether } from '../../src/node/body-memory.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import type { ResponseRule } from '../../src/rules/rule.ts';
import { ok } from '../support/raw-server.ts';
import { bodyLimit, testRuleBook } from '../support/rule-book.ts';
import { until } from '../support/until.ts';
import { served } from '../support/served.ts';
import { socketPair } from '../support/socket-pair.ts';

test('no bytes are copied by `slice()`, which makes a view of a Buffer', () => {
  const folder = fileURLToPath(new URL('../../src/', import.meta.url));
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.tsx?$/.test(name),
  );
  expect(sources.length).toBeGreaterThan(300);
  expect(sources.filter((name) => readFileSync(join(folder, name), 'utf8').includes('.slice()'))).toEqual([]);
});

describe('memory of bodies', () => {
  test('is used again once it is given back, and never twice at a time', () => {
    const memory = new BodyMemory();
    const first = memory.acquire(100_000);
    const second = memory.acquire(100_000);
    expect(first.length).toBe(128 * 1024);
    expect(second).not.toBe(first);
    memory.release(first);
    memory.release(first);
    expect(memory.acquire(70_000)).toBe(first);
    expect(memory.acquire(70_000)).not.toBe(first);
  });

  test('has exactly the needed size if little is needed, or very much', () => {
    const memory = new BodyMemory();
    for (const size of [0, 1, 5000, 600_000]) {
      const buffer = memory.acquire(size);
      expect(buffer.length).toBe(size);
      memory.release(buffer);
      if (size > 0) expect(memory.acquire(size)).not.toBe(buffer);
    }
  });

  test('goes back to the system at once where it is large', () => {
    const memory = new BodyMemory();
    const large = memory.acquire(600_000);
    memory.release(large);
    expect(large.buffer.byteLength).toBe(0);
    memory.release(large);
    const own = Buffer.alloc(600_000);
    memory.release(own);
    expect(own.buffer.byteLength).toBe(600_000);
  });

  test('is used again after it was moved to another thread and back', () => {
    const memory = new BodyMemory();
    const body = memory.acquire(100_000).subarray(0, 100_000);
    const { port1, port2 } = new MessageChannel();
    port1.postMessage(body, [body.buffer as ArrayBuffer]);
    const moved = (receiveMessageOnPort(port2)?.message ?? body) as Uint8Array;
    port1.close();
    memory.release(body);
    const whole = memory.own(moved);
    expect(whole.length).toBe(128 * 1024);
    memory.release(whole);
    expect(memory.acquire(100_000)).toBe(whole);
  });

  test('is kept up to a limit', () => {
    const memory = new BodyMemory();
    const taken = Array.from({ length: 40 }, () => memory.acquire(512 * 1024));
    for (const buffer of taken) memory.release(buffer);
    const again = new Set(taken.map(() => memory.acquire(512 * 1024)));
    expect(taken.filter((buffer) => again.has(buffer))).toHaveLength(16);
  });
});

const ALIAS: ResponseRule = { rule: 'alias', path: ['data', 'new'], as: 'old', status: ['2xx'] };
/** Changes with a rule that adds `old` to every response that has `new`. */
const ALIASED = testRuleBook().changes.map((change) =>
  change.on === 'every' ? { ...change, response: [ALIAS] } : change,
);

test.each([
  ['a request', 'POST /api/v1/clients', `{"data":{"a":"${'x'.repeat(2_000_000)}"}}`, '{}'],
  ['a response', 'POST /api/v1/things', '{"data":{}}', `{"data":{"new":"${'x'.repeat(2_000_000)}"}}`],
])('%s of two megabytes that is rewritten leaves no memory behind', async (_name, line, body, response) => {
  const taken = vi.spyOn(BodyMemory.prototype, 'acquire');
  const adopted = vi.spyOn(BodyMemory.prototype, 'own');
  onTestFinished(() => void vi.restoreAllMocks());
  const { gateway } = await served(ok(response), { ruleBook: { changes: ALIASED } });
  const head = `${line} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  expect(statusOf(await exchange(gateway.port, head + body))).toBe(200);
  expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten' });
  const large = [
    ...taken.mock.results.filter((_result, at) => Number(taken.mock.calls[at]?.[0]) > 1_000_000),
    ...adopted.mock.results,
  ].map(({ value }) => value as Buffer);
  expect(large.length).toBeGreaterThan(2);
  await until(() => large.every(({ buffer }) => buffer.byteLength === 0));
});

// Attack: the decoder reads memory that has been given back.
test('a body whose decoding is given up keeps its memory', async () => {
  const taken = vi.spyOn(BodyMemory.prototype, 'acquire');
  onTestFinished(() => void vi.restoreAllMocks());
  const { gateway } = await served(ok(), { ruleBook: bodyLimit(2 ** 20) });
  const body = gzipSync(Buffer.alloc(4 * 2 ** 20, 'x'), { level: 0 }).subarray(0, 2 ** 20);
  const head = `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`;
  const response = await exchange(gateway.port, Buffer.concat([Buffer.from(head), body]));
  expect(statusOf(response)).toBe(400);
  await until(() => gateway.gateway.inFlight === 0);
  const [last] = taken.mock.results.slice(-1).map(({ value }) => value as Buffer);
  expect(last?.length).toBe(2 ** 20);
});

function received(socket: Socket): () => string {
  let text = '';
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  socket.resume();
  return () => text;
}

// Attack: a client that does not read, so that its responses stay in memory that the next one is written to.
test('a write that the system has not taken is not overwritten by the next', async () => {
  const [[slowFar, slow], [quickFar, quick]] = [
    await socketPair({ pauseOnConnect: true }),
    await socketPair({ pauseOnConnect: true }),
  ];
  let count = 0;
  let pending = 0;
  for (; pending < 20; count += 1) {
    const isRoom = writeTogether(slow, 's', Buffer.alloc(2000, 's'), 's', () => {});
    writeTogether(quick, 'q', Buffer.from('q'), 'q');
    if (!isRoom) pending += 1;
  }
  expect(slow.writableLength).toBeGreaterThan(0);
  const [slowly, quickly] = [received(slowFar), received(quickFar)];
  await until(() => slowly().length === count * 2002 && quickly().length === count * 3);
  expect([slowly, quickly].map((text) => [...new Set(text())].join(''))).toEqual(['s', 'q']);
});

test('texts and bytes are one write, of any size, in latin1', async () => {
  const [far, socket] = await socketPair({ pauseOnConnect: true });
  const sizes = [0, SMALL_WRITE_BYTES - 3, SMALL_WRITE_BYTES + 1];
  for (const size of sizes) writeTogether(socket, 'é', Buffer.alloc(size, 'x'), 'ü\n');
  const text = received(far);
  const expected = sizes.map((size) => `é${'x'.repeat(size)}ü\n`).join('');
  await until(() => text().length === expected.length);
  expect(text()).toBe(expected);
});
