import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { NodeUpstream } from '../../../src/node/upstream/origin.ts';
import { ok, type RawResponse, type RawServer, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { Call, inParts, upstreamTo, called, servedUpstream } from './upstream-calls.ts';

/** A V2 that counts the connections that are open at once. */
interface CountingV2 extends RawServer {
  readonly most: () => number;
}

/**
 * Starts one. A connection counts from when it is accepted until its end is read. Who closes one and opens another has both in the
 * system's queues at once, in this order, so the count is taken when those have been read: two turns later.
 */
async function countingV2(response: RawResponse): Promise<CountingV2> {
  const v2 = await rawServer(response);
  const open = new Set<object>();
  let most = 0;
  const count = (): void => {
    most = Math.max(most, open.size);
  };
  v2.server.on('connection', (socket) => {
    open.add(socket);
    for (const event of ['end', 'close']) socket.on(event, () => open.delete(socket));
    setImmediate(() => setImmediate(count));
  });
  return { ...v2, most: () => most };
}

/** A body in new parts for each call, framed by its length or by chunks. */
function streamed(number: number): { method: string; body: AsyncIterable<Buffer>; length?: number } {
  const body = inParts('he', 'l', 'lo');
  return { method: 'POST', body, ...(number % 2 === 0 && { length: 5 }) };
}

/** The same body, there at once. */
function whole(): { method: string; body: Buffer } {
  return { method: 'POST', body: Buffer.from('hello') };
}

function targetOf(request: string): string {
  return request.split(' ')[1] ?? '';
}

describe('bodies that come in parts and those that are whole have one budget of connections', () => {
  test.each([1, 3])('of %i: V2 never sees more, and every request gets a response', async (connections) => {
    const v2 = await countingV2((socket, request, number) => {
      setTimeout(() => socket.write(ok(targetOf(request))), number % 4);
    });
    const upstream = upstreamTo(v2.origin, { connections });
    const calls = Array.from({ length: 120 }, (_, number) => {
      const target = `/${number}`;
      return new Call(upstream, number % 3 === 0 ? { ...streamed(number), target } : { target });
    });
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ body }) => body)).toEqual(calls.map((_, number) => `/${number}`));
    expect(v2.most()).toBe(connections);
  });

  test('waiting requests are served in order, with any body', async () => {
    const v2 = await countingV2((socket, request) => socket.write(ok(targetOf(request))));
    const upstream = upstreamTo(v2.origin, { connections: 1 });
    const order: number[] = [];
    const calls = Array.from({ length: 20 }, (_, number) => {
      const body = number % 3 === 0 ? streamed(number) : {};
      return new Call(upstream, { ...body, target: `/${number}` }, (event) => {
        if (event === 'end') order.push(number);
      });
    });
    await Promise.all(calls.map(({ over }) => over));
    expect(order).toEqual(calls.map((_, number) => number));
    expect(v2.most()).toBe(1);
  });

  test('a request waits for a connection no longer than for a first byte, and none of its body is read meanwhile', async () => {
    const v2 = await countingV2(() => {});
    const upstream = upstreamTo(v2.origin, { connections: 1, headersTimeout: 150 });
    let read = 0;
    const body = (async function* parts() {
      read += 1;
      yield* inParts('x');
    })();
    const calls = [new Call(upstream), new Call(upstream, { method: 'POST', body }), new Call(upstream)];
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ fault }) => fault)).toEqual([
      { kind: 'timeout', mayHaveArrived: true, cause: 'no response head in time' },
      { kind: 'timeout', mayHaveArrived: false, cause: 'no connection free' },
      { kind: 'timeout', mayHaveArrived: false, cause: 'no connection free' },
    ]);
    expect(read).toBe(0);
    expect(v2.most()).toBe(1);
  });

  test('a request that waits behind streamed bodies times out as well, even if no other connection has a timer', async () => {
    const v2 = await countingV2(() => {});
    const upstream = upstreamTo(v2.origin, { connections: 1, headersTimeout: 150 });
    const calls = [new Call(upstream, streamed(0)), new Call(upstream), new Call(upstream, streamed(1))];
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => 'fail timeout'));
    expect(calls.map(({ fault }) => fault?.mayHaveArrived)).toEqual([true, false, false]);
  });
});

describe('clients that send their bodies slowly', () => {
  /** A V2 that responds to whole requests, but for `/silent`, and the targets that it got. */
  async function slowClients(
    connections: number,
    count: number,
  ): Promise<{ upstream: NodeUpstream; targets: () => string[]; finish: ((last: Buffer) => void)[] }> {
    const { v2, upstream } = await servedUpstream(
      (socket, request) => {
        if (targetOf(request) !== '/silent') socket.write(ok(targetOf(request)));
      },
      { connections },
    );
    const finish: ((last: Buffer) => void)[] = [];
    for (let number = 0; number < count; number += 1) {
      const { promise, resolve } = Promise.withResolvers<Buffer>();
      finish.push(resolve);
      const body = (async function* parts() {
        yield Buffer.from('x');
        yield await promise;
      })();
      void new Call(upstream, { method: 'POST', target: `/slow${number}`, body, length: 2 });
    }
    onTestFinished(() => {
      for (const resolve of finish) resolve(Buffer.from('x'));
    });
    const targets = (): string[] =>
      v2.received
        .join('')
        .match(/(?<=(?:GET|POST) )\S+/g)
        ?.toSorted() ?? [];
    return { upstream, targets, finish };
  }

  // Attack: forty uploads of a few bytes a second each, on all connections.
  test.each([
    [2, 1],
    [4, 3],
    [16, 14],
  ])('of %i connections have %i at most, and others are served meanwhile', async (connections, most) => {
    const { upstream, targets } = await slowClients(connections, 40);
    await until(() => targets().length === most);
    const calls = Array.from({ length: 100 }, () => new Call(upstream));
    await Promise.all(calls.map(({ over }) => over));
    expect(targets().filter((target) => target.startsWith('/slow'))).toHaveLength(most);
  });

  test('have half of the connections while others wait, and the oldest is next', async () => {
    const { upstream, targets, finish } = await slowClients(4, 5);
    await until(() => targets().length === 3);
    void new Call(upstream, { target: '/silent' });
    void new Call(upstream, { target: '/silent' });
    await until(() => targets().length === 4);
    finish[0]?.(Buffer.from('x'));
    await until(() => targets().length === 5);
    expect(targets()).toEqual(['/silent', '/silent', '/slow0', '/slow1', '/slow2']);
    void new Call(upstream, { target: '/late' });
    finish[1]?.(Buffer.from('x'));
    await until(() => targets().length === 6);
    expect(targets()).toContain('/slow3');
  });
});

describe.each([
  ['in parts', streamed],
  ['whole', whole],
] as const)('a request with a body that is %s gives its place back, once', (_how, bodyOf) => {
  test('when it is aborted while it waits, while it connects, while it is written, and while its response arrives', async () => {
    const v2 = await countingV2((socket, request) => {
      if (targetOf(request) !== '/silent') socket.write(ok().slice(0, -1));
    });
    const resolved: (() => void)[] = [];
    let isSlow = true;
    const upstream = upstreamTo(`http://v2.example:${v2.port}`, {
      connections: 1,
      lookup: (_name, _options, done) => {
        const response = (): void => done(null, [{ address: '127.0.0.1', family: 4 }]);
        if (isSlow) resolved.push(response);
        else response();
      },
    });
    const connecting = new Call(upstream, bodyOf(0));
    const waiting = new Call(upstream, bodyOf(1));
    await until(() => resolved.length === 1);
    waiting.abort();
    connecting.abort();
    isSlow = false;
    for (const response of resolved) response();
    const stalled = Promise.withResolvers<void>();
    onTestFinished(() => stalled.resolve());
    const body = (async function* parts() {
      yield Buffer.from('x');
      await stalled.promise;
    })();
    const written = new Call(upstream, { method: 'POST', body });
    await until(() => v2.received.some((text) => text.includes('\r\nx')));
    written.abort();
    const silent = new Call(upstream, { ...bodyOf(2), target: '/silent' });
    await until(() => v2.received.some((text) => text.startsWith('POST /silent ') && text.endsWith('hello')));
    silent.abort();
    const responding = new Call(upstream, bodyOf(3));
    await until(() => responding.body !== '');
    responding.abort();
    const last = new Call(upstream, bodyOf(4));
    await until(() => last.body !== '');
    for (const call of [connecting, waiting, written, silent]) expect(call.events).toEqual([]);
    expect(v2.most()).toBe(1);
  });

  test('when V2 cannot be reached, dies, talks nonsense or responds before it has the body', async () => {
    const responses = ['', 'nonsense', ok()];
    const v2 = await countingV2(() => {});
    v2.server.on('connection', (socket) => {
      const response = responses.shift() ?? '';
      socket.on('data', () => socket.end(response));
    });
    const upstream = upstreamTo(v2.origin, { connections: 1 });
    const outcomes: string[] = [];
    for (let count = 0; count < 3; count += 1) {
      const call = await called(upstream, bodyOf(count));
      outcomes.push(call.outcome);
    }
    expect(outcomes).toEqual(['fail closed', 'fail invalid', 'end']);
    await new Promise((resolve) => {
      v2.server.close(resolve);
    });
    const calls = Array.from({ length: 5 }, (_, number) => new Call(upstream, bodyOf(number)));
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ outcome }) => outcome)).toEqual(calls.map(() => 'fail unreachable'));
    expect(v2.most()).toBe(1);
  });

  test('when connecting takes too long', async () => {
    const upstream = upstreamTo('http://v2.example:81', {
      connections: 1,
      connectTimeout: 60,
      lookup: () => {},
    });
    const calls = Array.from({ length: 3 }, (_, number) => new Call(upstream, bodyOf(number)));
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ fault }) => fault)).toEqual(
      calls.map(() => ({ kind: 'timeout', mayHaveArrived: false, cause: 'no connection in time' })),
    );
  });

  test('when the upstream closes, which notifies each of them and waits for their sockets', async () => {
    const v2 = await countingV2((socket) => socket.write(ok().slice(0, -1)));
    const upstream = upstreamTo(v2.origin, { connections: 2 });
    const calls = Array.from({ length: 4 }, (_, number) => new Call(upstream, bodyOf(number)));
    await until(() => calls[0]?.body !== '' && calls[1]?.body !== '');
    await upstream.close();
    expect(calls.map(({ outcome }) => outcome)).toEqual([
      'fail closed',
      'fail closed',
      'fail unreachable',
      'fail unreachable',
    ]);
    await until(() => v2.sockets.every(({ destroyed }) => destroyed));
    expect(new Call(upstream, bodyOf(0)).fault).toEqual({
      kind: 'unreachable',
      mayHaveArrived: false,
      cause: 'closed',
    });
  });
});

test('the response to a body in parts that is held back before it is sent comes when it may', async () => {
  const v2 = await countingV2((socket) => socket.write(ok('abc')));
  const upstream = upstreamTo(v2.origin);
  const call = new Call(upstream, streamed(0));
  call.pause();
  await until(() => v2.received[0]?.endsWith('hello') === true);
  await pause(50);
  expect(call.events).toEqual([]);
  call.resume();
  await call.over;
  expect(call.body).toBe('abc');
});

test('a body in parts waits for a V2 that is not there yet, and none of it is read before', async () => {
  const gone = await rawServer(() => {});
  const { port } = gone;
  await new Promise((resolve) => {
    gone.server.close(resolve);
  });
  const upstream = upstreamTo(`http://127.0.0.1:${port}`);
  let isRead = false;
  const body = (async function* parts() {
    isRead = true;
    yield* inParts('he', 'llo');
  })();
  const call = new Call(upstream, { method: 'POST', body });
  await pause(300);
  expect([isRead, call.outcome]).toEqual([false, '']);
  const v2 = await rawServer((socket) => socket.write(ok('"late"')), { host: '127.0.0.1', port });
  await call.over;
  expect(call.body).toBe('"late"');
  expect(v2.received).toHaveLength(1);
});
