import { expect, test } from 'vitest';
import { socketServer } from '../../support/socket-server.ts';
import { Call, upstreamTo } from './upstream-calls.ts';

async function* endlessBody(): AsyncGenerator<Buffer, void> {
  for (;;) {
    await new Promise((resolve) => {
      setTimeout(resolve, 0);
    });
    yield Buffer.alloc(65_536, 'x');
  }
}

// nginx delivers a sixth of such responses, HAProxy two thirds.
test.each(['in parts', 'whole'])(
  'the early response of a V2 that closes over a body which comes %s is read before the reset',
  async (how) => {
    const origin = await socketServer((socket) => {
      socket.once('data', () => {
        socket.pause();
        const response = 'HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig';
        socket.write(response, () => socket.destroy());
      });
    });
    const upstream = upstreamTo(origin);
    const calls = Array.from({ length: 100 }, () => {
      const body = how === 'whole' ? Buffer.alloc(8_000_000, 'x') : endlessBody();
      return new Call(upstream, { method: 'POST', body });
    });
    await Promise.all(calls.map(({ over }) => over));
    expect(calls.filter(({ events }) => events.join(' ') === '413 data end')).toHaveLength(100);
  },
);
