import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { NodeUpstream } from '../../../src/node/upstream/origin.ts';
import { ok, type RawServer, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { Call, upstreamTo, called, servedUpstream } from './upstream-calls.ts';

/** A V2 that closes connections which are idle for so long, without a word of it in its responses. */
function closingV2(idleMs: number): Promise<RawServer> {
  const timers = new Map<Socket, NodeJS.Timeout>();
  return rawServer((socket, request) => {
    clearTimeout(timers.get(socket));
    socket.write(ok(request.split('\r\n\r\n')[1]));
    timers.set(
      socket,
      setTimeout(() => socket.end(), idleMs),
    );
  });
}

async function send(upstream: NodeUpstream, method: string): Promise<Call> {
  const call = await called(upstream, { method });
  return call;
}

test('a connection is kept as long as the setting says', async () => {
  const { v2, upstream } = await servedUpstream(ok(), { idleTimeout: 300 });
  let second: Call | undefined;
  // In the turn of the first response, so that no time is over between them.
  const first = new Call(upstream, {}, (event) => {
    if (event === 'end') second = new Call(upstream);
  });
  await first.over;
  await second?.over;
  expect(second?.outcome).toBe('end');
  expect(v2.sockets).toHaveLength(1);
  await until(() => v2.sockets[0]?.destroyed === true);
  await send(upstream, 'GET');
  expect(v2.sockets).toHaveLength(2);
});

test('a connection takes no request once it is as old as the setting says, however busy it is', async () => {
  const { v2, upstream } = await servedUpstream(ok(), { maxAge: 200 });
  await until(async () => {
    await send(upstream, 'GET');
    return v2.sockets.length === 4;
  });
  // Each took as many as came in its time.
  expect(v2.received.some((text) => (text.match(/GET/g)?.length ?? 0) > 1)).toBe(true);
});

describe('a V2 that closes idle connections and does not say when', () => {
  test('teaches its idle time: a POST takes no connection that is about to be closed, a GET may', async () => {
    const v2 = await closingV2(1000);
    const upstream = await learnt(v2, 1000);
    const before = v2.sockets.length;
    await send(upstream, 'POST');
    await pause(870);
    await send(upstream, 'POST');
    expect(v2.sockets).toHaveLength(before + 2);
    await send(upstream, 'POST');
    await send(upstream, 'GET');
    expect(v2.sockets).toHaveLength(before + 2);
  });

  test('with a limit of one connection, a POST that takes no idle connection opens another in its place', async () => {
    const v2 = await closingV2(1000);
    const upstream = await learnt(v2, 1000, { connections: 1 });
    await send(upstream, 'GET');
    await pause(850);
    expect((await send(upstream, 'POST')).outcome).toBe('end');
  });

  test('bursts of POSTs around that time lose none once it is learnt, and none comes twice', async () => {
    const v2 = await closingV2(500);
    const upstream = await learnt(v2, 500, { connections: 20 });
    const lost: number[] = [];
    let number = 0;
    for (let burst = 0; burst < 8; burst += 1) {
      const calls = Array.from({ length: 10 }, () => {
        number += 1;
        return new Call(upstream, { method: 'POST', body: Buffer.from(`<${number}>`) });
      });
      await Promise.all(calls.map(({ over }) => over));
      lost.push(calls.filter(({ outcome }) => outcome !== 'end').length);
      await pause(500 - 10 + burst * 2);
    }
    const came = v2.received.join('').match(/<\d+>/g) ?? [];
    expect(came).toHaveLength(number);
    expect(new Set(came).size).toBe(came.length);
    expect(lost).toEqual(lost.map(() => 0));
  });
});

/**
 * Returns an upstream that has seen how long V2 keeps idle connections. Where the machine stood still meanwhile, one that saw it wrong
 * is not it.
 */
async function learnt(
  v2: RawServer,
  idleMs: number,
  over: Parameters<typeof upstreamTo>[1] = {},
): Promise<NodeUpstream> {
  for (;;) {
    const upstream = upstreamTo(v2.origin, over);
    await send(upstream, 'POST');
    const since = performance.now();
    await until(() => v2.sockets.every(({ destroyed }) => destroyed));
    if (performance.now() - since < idleMs * 1.1) return upstream;
  }
}
