import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, Socket } from 'node:net';
import { setImmediate as setTurn } from 'node:timers';
import { setTimeout as pause } from 'node:timers/promises';
import { setImmediate } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import {
  onCheckPhase,
  type ThrottledFlow,
  TickBudget,
  throwLater,
  FairQueue,
  ReadThrottle,
} from '../../src/node/fair-turns.ts';
import { gatewayFor } from '../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok } from '../support/raw-server.ts';
import { ca, securelyServed } from '../support/secure-gateway.ts';
import { watchTurns } from '../support/turn-reads.ts';
import { until } from '../support/until.ts';
import { served } from '../support/served.ts';
import { listening } from '../support/listening.ts';

const turn = (): Promise<void> =>
  new Promise((resolve) => {
    setTurn(resolve);
  });

/** The uncaught errors while `run` runs. */
async function uncaught(run: () => Promise<void>): Promise<readonly unknown[]> {
  const errors: unknown[] = [];
  const listeners = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  const note = (error: unknown): void => void errors.push(error);
  process.on('uncaughtException', note);
  await run();
  process.off('uncaughtException', note);
  for (const listener of listeners) process.on('uncaughtException', listener);
  return errors;
}

test('functions run in their order, those that are added meanwhile in the same turn', async () => {
  const done: string[] = [];
  onCheckPhase(() => {
    done.push('first');
    onCheckPhase(() => void done.push('added'));
  });
  onCheckPhase(() => void done.push('second'));
  expect(done).toEqual([]);
  await turn();
  expect(done).toEqual(['first', 'second', 'added']);
  onCheckPhase(() => void done.push('next'));
  await turn();
  expect(done.at(-1)).toBe('next');
});

test('an error of one function does not keep others from running, and is thrown later', async () => {
  const done: string[] = [];
  const error = new Error('a bug');
  const errors = await uncaught(async () => {
    onCheckPhase(() => {
      throw error;
    });
    onCheckPhase(() => void done.push('second'));
    await turn();
    expect(done).toEqual(['second']);
    throwLater(error);
    await turn();
    await turn();
  });
  expect(errors).toEqual([error, error]);
});

test('small work is done at once, and of large one little in a turn, in its order', async () => {
  const queue = new FairQueue<string>(1000);
  const order: string[] = [];
  const add = (name: string, size: number): void => queue.add('one', size, () => void order.push(name));
  add('a', 10);
  add('b', 0);
  add('c', 1000);
  expect(order).toEqual(['a', 'b', 'c']);
  add('d', 1000);
  add('e', 1000);
  add('f', 10);
  expect(order).toHaveLength(3);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  await setImmediate();
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});

test('groups take turns, and the work of each is done in its order', async () => {
  const queue = new FairQueue<string>(2);
  const order: string[] = [];
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'])
    queue.add(name.slice(0, 1), 1, () => void order.push(name));
  expect(order).toEqual(['a1', 'a2']);
  expect(queue.waiting).toBe(5);
  await setImmediate();
  expect(order.slice(2)).toEqual(['a3', 'b1']);
  await setImmediate();
  expect(order.slice(4)).toEqual(['c1', 'a4']);
  await setImmediate();
  expect(order.slice(6)).toEqual(['b2']);
  expect(queue.waiting).toBe(0);
});

const CHUNKED = 'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n';

test('bodies in tiny pieces take turns, and ended ones are skipped', async () => {
  const turns = new TickBudget();
  expect(turns.areTooSmall(200, 200)).toBe(false);
  expect(turns.areTooSmall(1000, 1_000_000)).toBe(false);
  expect(turns.areTooSmall(1000, 1000)).toBe(true);
  const order: string[] = [];
  for (const [name, destroyed] of [
    ['first', false],
    ['gone', true],
    ['second', false],
  ] as const)
    turns.wait({ destroyed, resume: () => void order.push(name) }, 1000);
  expect(order).toEqual([]);
  await until(() => order.length === 2);
  expect(order).toEqual(['first', 'second']);
});

test('large bodies read their share of a turn, and at least once', async () => {
  const turns = new TickBudget();
  const reads = Array.from({ length: 3 }, () => {
    let isPaused = false;
    const flow = {
      destroyed: false,
      pause: () => void (isPaused = true),
      resume: () => void (isPaused = false),
    };
    const throttle = new ReadThrottle(flow, turns, () => {});
    throttle.start();
    const read = (bytes: number): boolean => {
      throttle.count(bytes);
      return isPaused;
    };
    return { read, throttle, isPaused: () => isPaused };
  });
  const [first, second, third] = reads;
  const MEBIBYTE = 2 ** 20;
  // A third of eight mebibytes each.
  expect(first?.read(2 * MEBIBYTE)).toBe(false);
  expect(first?.read(MEBIBYTE)).toBe(true);
  expect(second?.read(2 * MEBIBYTE)).toBe(false);
  // With that the turn has all its bytes, so each further body reads once.
  expect(third?.read(3 * MEBIBYTE)).toBe(true);
  expect(second?.read(1)).toBe(true);
  await setImmediate();
  for (const { throttle } of reads) throttle.endTurn();
  expect(reads.map(({ isPaused }) => isPaused())).toEqual([false, false, false]);
  expect(first?.read(2 * MEBIBYTE)).toBe(false);
  for (const { throttle } of reads) throttle.end();
});

// Attack: a body in chunks of one byte, each of which costs the gateway as much as a large one, takes a whole core.
test.each(['/api/v2/x', '/api/v1/x'])('one-byte chunks on %s leave time for all other work', async (path) => {
  const v2 = createServer((incoming, outgoing) => {
    incoming.resume();
    incoming.on('end', () => outgoing.end('{}'));
  });
  const gateway = await gatewayFor(`http://127.0.0.1:${await listening(v2)}`);
  const attackers = Array.from({ length: 3 }, () => {
    const socket = connect(gateway.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const block = Buffer.from('1\r\n \r\n'.repeat(20_000));
    const more = (): void => {
      while (socket.writable && socket.write(block));
    };
    socket.on('drain', more);
    more();
    return socket;
  });
  onTestFinished(() => attackers.forEach((socket) => socket.destroy()));
  await until(() => gateway.gateway.inFlight === 3);
  const times: number[] = [];
  for (let count = 0; count < 40; count += 1) {
    // Time of the processor, which a busy machine does not add to.
    const before = processorMs();
    expect(statusOf(await exchange(gateway.port, 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n', 20_000))).toBe(
      200,
    );
    times.push(processorMs() - before);
    await pause(20);
  }
  times.sort((left, right) => left - right);
  // Without turns the fastest of 40 takes three times as long; on a busy machine many take longer with them.
  expect(times[5]).toBeLessThan(100);
});

test('when the tiny pieces of one turn are many, all bodies wait for the next one', async () => {
  const turns = new TickBudget();
  const calls: string[] = [];
  const flow = (name: string): ThrottledFlow => ({
    pauseForTick: () => void calls.push(`${name} held`),
    resumeAfterTick: () => void calls.push(`${name} released`),
  });
  const [one, other, late] = [flow('one'), flow('other'), flow('late')];
  turns.begin(one);
  const slot = turns.begin(other);
  for (let count = 0; count < 20_000; count += 1) turns.count(1000);
  expect(calls).toEqual([]);
  for (let count = 0; count < 20_000; count += 1) turns.count(1);
  turns.begin(late);
  expect(calls).toEqual(['one held', 'other held', 'late held']);
  turns.close(slot);
  await setImmediate();
  expect(calls.slice(3)).toEqual(['one released', 'late released']);
  turns.count(1);
  turns.begin(other);
  await setImmediate();
  expect(calls).toHaveLength(5);
});

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

// Attack: each connection is known for tiny pieces only when its first ones are read; very many send them at once.
test('the first chunks of one byte of many connections do not add up in one turn', async () => {
  const { gateway } = await served();
  const read = watchTurns('net.server.socket', (message) => connectionAt(gateway.port, message));
  const clients = Array.from({ length: 40 }, () => rawClient(gateway.port));
  await Promise.all(clients.map(({ socket }) => once(socket, 'connect')));
  for (const client of clients) client.write(CHUNKED);
  // All of them are accepted: the server accepts one connection in a turn.
  await until(() => gateway.gateway.inFlight === 40);
  const bytes = `${'1\r\n \r\n'.repeat(9000)}0\r\n\r\n`;
  for (const client of clients) client.write(bytes);
  await Promise.all(clients.map((client) => client.until(/200 OK/, 60_000)));
  const statuses = new Set(clients.map((client) => statusOf({ text: client.text() })));
  expect([...statuses]).toEqual([200]);
  expect(read.most()).toBeGreaterThan(0);
  expect(read.most()).toBeLessThan(10 * bytes.length);
  for (const { socket } of clients) socket.destroy();
});

// Attack: the same where head and chunks arrive in one read.
test('requests whose heads and chunks of one byte arrive in one read begin in several turns, and whole', async () => {
  const { v2, gateway } = await served((socket, text) => {
    if (text.includes('GET ')) socket.write(ok());
  });
  const clients = Array.from({ length: 40 }, () => rawClient(gateway.port));
  for (const client of clients) client.write(GET);
  await Promise.all(clients.map((client) => client.until(/200 OK/, 60_000)));
  await until(() => gateway.gateway.inFlight === 0);
  let [before, most] = [0, 0];
  const endTurn = (): void => {
    const { inFlight } = gateway.gateway;
    most = Math.max(most, inFlight - before);
    before = inFlight;
    turn = setTurn(endTurn);
  };
  let turn = setTurn(endTurn);
  onTestFinished(() => clearImmediate(turn));
  const bytes = `${CHUNKED}${'1\r\nx\r\n'.repeat(9000)}0\r\n\r\n`;
  for (const client of clients) client.write(bytes);
  await until(() => gateway.gateway.inFlight === 40);
  expect(most).toBeLessThan(20);
  const isWhole = (text: string): boolean => text.includes('x'.repeat(9000));
  await until(() => v2.received.filter(isWhole).length === 40);
});

test('such requests over TLS arrive whole, and other requests are served meanwhile', async () => {
  const { v2, gateway } = await securelyServed();
  const clients = Array.from({ length: 20 }, () => {
    const socket = connectTls({ port: gateway.port, host: 'localhost', ca: ca.cert });
    onTestFinished(() => void socket.destroy());
    return socket.on('error', () => {}).resume();
  });
  await Promise.all(clients.map((socket) => once(socket, 'secureConnect')));
  const bytes = `${CHUNKED}${'1\r\nx\r\n'.repeat(9000)}0\r\n\r\n`;
  for (const socket of clients) socket.write(bytes);
  for (const socket of clients) socket.write(GET);
  await until(() => gateway.lines.length === 40);
  expect(gateway.entries().every(({ status }) => status === 200)).toBe(true);
  const received = v2.received.join('');
  expect(received.split('x'.repeat(9000))).toHaveLength(21);
  expect(received.split('GET ')).toHaveLength(21);
});

/** The socket of a message, if it is one that a server has accepted at this port. */
function connectionAt(port: number, message: unknown): { readonly bytesRead: number } {
  const socket: unknown =
    typeof message === 'object' && message !== null && 'socket' in message ? message.socket : undefined;
  if (!(socket instanceof Socket)) throw new Error('no socket in the message');
  return socket.localPort === port ? socket : { bytesRead: 0 };
}

/** Milliseconds of the processor that this thread has taken. */
function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
