import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { ok, rawServer } from '../../support/raw-server.ts';
import { socketServer } from '../../support/socket-server.ts';
import { until } from '../../support/until.ts';
import { Call, inParts, upstreamTo, called, servedUpstream } from './upstream-calls.ts';

/** Parts of 64 KiB without an end, and how many were taken. */
class EndlessBody {
  taken = 0;
  isLetGo = false;

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        await pause(0);
        this.taken += 1;
        yield Buffer.alloc(65_536, 'x');
      }
    } finally {
      this.isLetGo = true;
    }
  }
}

describe('on the wire a body in parts', () => {
  test.each([
    [undefined, 'transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n'],
    [5, 'content-length: 5\r\n\r\nhello'],
  ])('of length %s', async (length, end) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const call = await called(upstreamTo(v2.origin), {
      method: 'POST',
      body: inParts('he', '', 'llo'),
      length,
    });
    expect(call.outcome).toBe('end');
    expect(v2.received[0]).toBe(
      `POST / HTTP/1.1\r\nhost: 127.0.0.1:${v2.port}\r\nconnection: keep-alive\r\n${end}`,
    );
  });

  test.each([
    ['longer than its length', 4],
    ['shorter than its length', 6],
  ])('%s breaks the request, which is the fault of the client', async (fault, length) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const call = await called(upstreamTo(v2.origin), { method: 'POST', body: inParts('he', 'llo'), length });
    expect(call.fault).toEqual({ kind: 'rejected', mayHaveArrived: true, cause: `body ${fault}` });
    expect((v2.received[0]?.split('\r\n\r\n')[1] ?? '').length).toBeLessThan(length);
  });
});

describe('the connection of a body in parts', () => {
  test('takes the next request when V2 has read all of it, and may have had others before', async () => {
    const { v2, upstream } = await servedUpstream();
    for (const length of [undefined, 5, undefined]) {
      await called(upstream);
      const call = await called(upstream, { method: 'POST', body: inParts('he', 'llo'), length });
      expect(call.outcome).toBe('end');
    }
    expect(v2.sockets).toHaveLength(1);
  });

  test('takes none when V2 responded before; the rest of the body is not read, and is no request', async () => {
    const text: string[] = [];
    const origin = await socketServer((socket) => {
      const index = text.push('') - 1;
      socket.on('data', (chunk) => {
        if (text[index] === '') socket.write(ok('"early"'));
        text[index] += chunk.toString('latin1');
      });
    });
    const upstream = upstreamTo(origin, { connections: 1 });
    const body = new EndlessBody();
    const early = await called(upstream, { method: 'POST', body });
    expect(early.body).toBe('"early"');
    const next = await called(upstream, { target: '/next' });
    expect(next.body).toBe('"early"');
    await until(() => body.isLetGo);
    expect(text.map((one) => one.split(' ')[1])).toEqual(['/', '/next']);
  });

  test('breaks when V2 goes away, and no more of the body is read', async () => {
    const origin = await socketServer((socket) => void socket.once('data', () => socket.destroy()));
    const body = new EndlessBody();
    const call = await called(upstreamTo(origin), { method: 'POST', body });
    expect(call.fault).toMatchObject({ kind: 'closed', mayHaveArrived: true });
    await until(() => body.isLetGo);
  });

  test('breaks when it is given up, and no more of the body is read', async () => {
    const v2 = await rawServer(() => {});
    const body = new EndlessBody();
    const call = new Call(upstreamTo(v2.origin), { method: 'POST', body });
    await until(() => body.taken > 3);
    call.abort();
    await until(() => body.isLetGo && v2.sockets[0]?.destroyed === true);
    expect(call.events).toEqual([]);
  });
});

test('a body that is echoed while it comes goes both ways at once', async () => {
  const origin = await socketServer((socket) => {
    let isBegun = false;
    socket.on('data', (chunk) => {
      const text = chunk.toString('latin1');
      const body = isBegun ? text : text.slice(text.indexOf('\r\n\r\n') + 4);
      if (!isBegun) socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      isBegun = true;
      socket.write(body);
    });
  });
  const call = await called(upstreamTo(origin), { method: 'POST', body: inParts('he', 'l', 'lo') });
  expect([call.outcome, call.body]).toEqual(['end', 'hello']);
});

test('a V2 that reads nothing is sent as much as the system buffers hold, and no more of the body is read', async () => {
  const origin = await socketServer((socket) => void socket.pause());
  const body = new EndlessBody();
  const upstream = upstreamTo(origin, { headersTimeout: 400 });
  const call = new Call(upstream, { method: 'POST', body });
  let taken = -1;
  await until(async () => {
    const before = taken;
    taken = body.taken;
    await pause(30);
    return before === taken && taken > 0;
  });
  await call.over;
  expect(body.taken).toBe(taken);
  expect(call.fault).toEqual({ kind: 'timeout', mayHaveArrived: true, cause: 'no response head in time' });
});

test('a slow body of a client does not count as delay of V2: the time for the first byte begins after it', async () => {
  const { upstream } = await servedUpstream(ok(), { headersTimeout: 100 });
  const slow = (async function* parts() {
    for (const part of 'hello') {
      await pause(70);
      yield Buffer.from(part);
    }
  })();
  const call = await called(upstream, { method: 'POST', body: slow });
  expect(call.outcome).toBe('end');
});
