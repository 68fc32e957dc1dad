import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { Call, upstreamTo, called, servedUpstream } from './upstream-calls.ts';
import { listening } from '../../support/listening.ts';

const poison = ok('"poison"');

/** Keeps the process busy, as a long turn does. */
function stall(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  for (let now = 0; now < end;) now = performance.now();
}

describe('bytes that V2 sends without a request are not a response to any request', () => {
  test.each(['in one write', 'right behind', 'without a request'])('a second response %s', async (when) => {
    const { v2, upstream } = await servedUpstream(
      (socket, request) => {
        const own = ok(`"${request.split(' ')[1]}"`);
        if (when === 'in one write') socket.write(own + poison);
        else socket.write(own);
        if (when === 'right behind') setImmediate(() => socket.write(poison));
        if (when === 'without a request') setTimeout(() => socket.write(poison), 5);
      },
      { connections: 1 },
    );
    const targets = ['/a', '/b', '/c'];
    if (when === 'without a request') {
      for (const target of targets) {
        const call = await called(upstream, { target });
        expect(call.body).toBe(`"${target}"`);
        await until(() => v2.sockets.every(({ destroyed }) => destroyed));
      }
    } else {
      const calls = targets.map((target) => new Call(upstream, { target }));
      await Promise.all(calls.map(({ over }) => over));
      expect(calls.map(({ body }) => body)).toEqual(targets.map((target) => `"${target}"`));
    }
    expect(v2.sockets).toHaveLength(3);
  });

  test('and from then on no connection is used twice, because further such bytes could be taken for a response', async () => {
    const { v2, upstream } = await servedUpstream((socket, _request, number) =>
      socket.write(number === 3 ? ok() + poison : ok()),
    );
    for (let count = 0; count < 6; count += 1) await called(upstream);
    expect(v2.received.map((text) => text.match(/GET/g)?.length)).toEqual([3, 1, 1, 1]);
  });

  test('the body of a response to HEAD', async () => {
    const { upstream } = await servedUpstream(ok(poison), { connections: 1 });
    const calls = [new Call(upstream, { method: 'HEAD' }), new Call(upstream)];
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ body }) => body)).toEqual(['', poison]);
  });
});

describe('a connection is kept', () => {
  test.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['HEAD', 'HTTP/1.1 200 OK\r\n\r\n'],
    ['GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n'],
    ['GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
    ['POST', 'HTTP/1.1 200 OK\r\nKeep-Alive: timeout=2\r\nContent-Length: 0\r\n\r\n'],
  ])('behind %s, response %j', async (method, bytes) => {
    const { v2, upstream } = await servedUpstream(bytes);
    for (let count = 0; count < 3; count += 1) {
      const call = await called(upstream, { method });
      expect(call.outcome).toBe('end');
    }
    expect(v2.sockets).toHaveLength(1);
  });

  test.each([
    'Connection: close',
    'Connection: x, Close',
    'Keep-Alive: timeout=1',
    'Keep-Alive: max=5, timeout=0',
  ])('but not behind %j', async (field) => {
    const { v2, upstream } = await servedUpstream(ok('', `${field}\r\n`));
    for (let count = 0; count < 2; count += 1) await called(upstream);
    expect(v2.sockets).toHaveLength(2);
  });

  test('but not when V2 responded before it had the request', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        socket.pause();
        socket.write(ok('"early"'));
      });
    });
    const port = await listening(server);
    let connections = 0;
    server.on('connection', () => {
      connections += 1;
    });
    const upstream = upstreamTo(`http://127.0.0.1:${port}`, { connections: 1 });
    const body = Buffer.alloc(20_000_000, 'x');
    const calls = [new Call(upstream, { method: 'POST', body }), new Call(upstream)];
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map((call) => call.body)).toEqual(['"early"', '"early"']);
    expect(connections).toBe(2);
  });

  test('a V2 that closes after each response without announcing it gets each order once, and each gets its response', async () => {
    const { upstream } = await servedUpstream(
      (socket, request) => socket.end(ok(request.split('\r\n\r\n')[1])),
      { connections: 2 },
    );
    const orders = Array.from({ length: 50 }, (_, number) => `"${number}"`);
    const calls = orders.map((order) => new Call(upstream, { method: 'POST', body: Buffer.from(order) }));
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ body }) => body)).toEqual(orders);
  });

  test('a connection that is given up in this turn takes no request', async () => {
    const { v2, upstream } = await servedUpstream((socket, request) => {
      if (request.startsWith('GET /a ')) socket.write(ok('"a"'));
      // What comes on the idle connection gives it up; the response on the other one comes in the same turn.
      else v2.sockets[0]?.write(poison, () => socket.write(ok('"b"')));
    });
    const calls = [new Call(upstream, { target: '/a' })];
    let third: Call | undefined;
    calls.push(
      new Call(upstream, { target: '/b' }, (event) => {
        if (event === 'end') third = new Call(upstream, { method: 'POST', target: '/b' });
      }),
    );
    await Promise.all(calls.map(({ over }) => over));
    await third?.over;
    expect(third?.body).toBe('"b"');
  });
});

test('a waiting request that is aborted when another times out gets no events', async () => {
  const { upstream } = await servedUpstream(() => {}, { connections: 1, headersTimeout: 100 });
  const calls: Call[] = [];
  const giveUp = (): void => calls.at(-1)?.abort();
  for (let count = 0; count < 4; count += 1)
    calls.push(new Call(upstream, {}, count === 1 ? giveUp : undefined));
  await Promise.all(calls.slice(0, 3).map(({ over }) => over));
  await pause(50);
  expect(calls.map(({ outcome }) => outcome)).toEqual(['fail timeout', 'fail timeout', 'fail timeout', '']);
});

describe('from within a callback', () => {
  test.each(['103', '200', 'data'])('giving up at %s ends it there', async (at) => {
    const response = `HTTP/1.1 103 Hints\r\n\r\n${ok('abc')}`;
    const { upstream } = await servedUpstream(response, { connections: 1 });
    const call = new Call(upstream, {}, (event, own) => {
      if (event === at) own.abort();
    });
    const next = await called(upstream);
    expect(call.events.at(-1)).toBe(at);
    expect(next.events).toEqual(['103', '200', 'data', 'end']);
  });

  test('the end may send, hold back and give up as it likes', async () => {
    const { v2, upstream } = await servedUpstream(ok('abc'), { connections: 1 });
    let next: Call | undefined;
    const call = new Call(upstream, {}, (event, own) => {
      if (event === 'data') own.pause();
      if (event !== 'end') return;
      next = new Call(upstream);
      own.pause();
      own.abort();
    });
    await call.over;
    await next?.over;
    expect([call.outcome, next?.outcome]).toEqual(['end', 'end']);
    expect(v2.sockets).toHaveLength(1);
  });

  test('a response that is paused before it arrives is delivered once resumed', async () => {
    const { v2, upstream } = await servedUpstream(ok('abc'));
    const call = new Call(upstream);
    call.pause();
    await until(() => v2.received[0] !== undefined && v2.received[0] !== '');
    await pause(50);
    expect(call.events).toEqual([]);
    call.resume();
    await call.over;
    expect(call.outcome).toBe('end');
  });
});

describe('time', () => {
  test('a body that goes on comes in time, however long the process was busy in between', async () => {
    const { upstream } = await servedUpstream(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n');
        for (let part = 0; part < 6; part += 1) setTimeout(() => socket.write('x'), part * 30);
      },
      { bodyTimeout: 150, headersTimeout: 10_000 },
    );
    const call = new Call(upstream, {}, (event) => {
      if (event === 'data') stall(300);
    });
    await call.over;
    expect(call.outcome).toBe('end');
  });

  test('a body that is held back is not late, but one that stops is', async () => {
    const { upstream } = await servedUpstream(
      (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc');
      },
      { bodyTimeout: 60 },
    );
    const call = new Call(upstream, {}, (event, own) => {
      if (event === 'data') own.pause();
    });
    await until(() => call.body === 'abc');
    await pause(200);
    expect(call.outcome).toBe('');
    call.resume();
    await call.over;
    expect(call.fault).toMatchObject({ kind: 'timeout', mayHaveArrived: true });
  });
});

test('a body of any size arrives as it is', async () => {
  const { v2, upstream } = await servedUpstream((socket, request) =>
    socket.write(ok(request.split('\r\n\r\n')[1])),
  );
  for (const size of [0, 1, 16_384, 16_385, 300_000]) {
    const body = 'abcdefghi\n'.repeat(size / 10 + 1).slice(0, size);
    const call = await called(upstream, { method: 'PUT', body: Buffer.from(body) });
    expect(call.body).toBe(body);
  }
  expect(v2.sockets).toHaveLength(1);
});

describe('over TLS', () => {
  const leaf = certificate({ name: 'V2', hosts: ['localhost'] });

  /** A V2 behind TLS, and whether each of its connections resumed a session. */
  interface SecureV2 {
    readonly origin: string;
    readonly resumed: boolean[];
  }

  async function secureV2(response: (socket: TLSSocket, number: number) => void): Promise<SecureV2> {
    const resumed: boolean[] = [];
    let number = 0;
    const server = createSecureServer({ cert: leaf.cert, key: leaf.key }, (socket) => {
      resumed.push(socket.isSessionReused());
      socket.on('error', () => {});
      socket.on('data', () => {
        number += 1;
        response(socket, number);
      });
      onTestFinished(() => void socket.destroy());
    });
    const port = await listening(server);
    return { origin: `https://localhost:${port}`, resumed };
  }

  test('a connection is kept, and the next one resumes its session', async () => {
    const v2 = await secureV2((socket, number) =>
      socket.write(ok('', number === 2 ? 'Connection: close\r\n' : '')),
    );
    const upstream = upstreamTo(v2.origin, { tls: { ca: leaf.cert } });
    for (let count = 0; count < 3; count += 1) {
      const call = await called(upstream);
      expect(call.outcome).toBe('end');
    }
    expect(v2.resumed).toEqual([false, true]);
  });

  test('a large response that is held back now and then comes whole and in order', async () => {
    const body = Array.from({ length: 200_000 }, (_, number) => `${number}\n`).join('');
    const v2 = await secureV2((socket) => socket.write(ok(body)));
    const upstream = upstreamTo(v2.origin, { tls: { ca: leaf.cert } });
    let parts = 0;
    const call = new Call(upstream, {}, (event, own) => {
      if (event !== 'data') return;
      parts += 1;
      if (parts % 5 !== 0) return;
      own.pause();
      setImmediate(() => own.resume());
    });
    await call.over;
    expect(call.body === body).toBe(true);
  });

  test('a V2 that goes away in the handshake is unreachable, and the next request has the place', async () => {
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => {});
      socket.once('data', () => socket.destroy());
    });
    const port = await listening(server);
    const upstream = upstreamTo(`https://localhost:${port}`, { connections: 1, connectTimeout: 200 });
    const calls = [new Call(upstream), new Call(upstream), new Call(upstream)];
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.map(({ fault }) => fault)).toEqual(
      Array.from({ length: 3 }, () =>
        expect.objectContaining({ kind: 'unreachable', mayHaveArrived: false }),
      ),
    );
    expect(connections).toBeGreaterThan(1);
    expect(connections).toBeLessThan(10);
  });
});
