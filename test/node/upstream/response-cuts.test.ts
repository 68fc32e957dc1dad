import { expect, test } from 'vitest';
import { ok } from '../../support/raw-server.ts';
import { type Call, called, servedUpstream } from './upstream-calls.ts';

const INTERIM = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const CHUNKS =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a="b"\r\nabc\r\n02\r\nde\r\n0\r\nX-Sum: 7\r\n\r\n';

const responses: readonly (readonly [title: string, bytes: string, events: string, body: string])[] = [
  ['a length', ok('abcde'), '200 data end', 'abcde'],
  ['chunks', CHUNKS, '200 data end', 'abcde'],
  ['an interim response and a length', INTERIM + ok('abcde'), '103 200 data end', 'abcde'],
  ['an interim response and chunks', INTERIM + CHUNKS, '103 200 data end', 'abcde'],
  ['no body', 'HTTP/1.1 204 No Content\r\nX: 1\r\n\r\n', '204 end', ''],
];

/** The recorded events, with the parts of a body joined. */
function eventsOf({ events }: Call): string {
  return events.filter((event, index) => event !== 'data' || events[index - 1] !== 'data').join(' ');
}

test.each(responses)(
  '%s: cut off after each byte, a response fails once and never ends',
  async (_what, bytes, events, body) => {
    let cut = 0;
    const { v2, upstream } = await servedUpstream((socket) => socket.end(bytes.slice(0, cut)));
    for (; cut < bytes.length; cut += 1) {
      const call = await called(upstream, { method: 'POST', body: Buffer.from('x') });
      expect(`${cut}: ${call.outcome}`).toBe(`${cut}: fail closed`);
      expect(body.startsWith(call.body)).toBe(true);
      expect(call.fault?.mayHaveArrived).toBe(true);
    }
    const whole = await called(upstream);
    expect(eventsOf(whole)).toBe(events);
    expect(v2.received.filter((text) => text.startsWith('POST '))).toHaveLength(bytes.length);
  },
);

test.each(['GET', 'HEAD'])(
  'a response to %s that ends with its connection is whole then, and broken by a reset',
  async (method) => {
    let isReset = false;
    const { upstream } = await servedUpstream((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\nabc', () => {
        if (isReset) setTimeout(() => socket.resetAndDestroy(), 20);
        else socket.end();
      });
    });
    for (isReset of [false, true]) {
      const call = await called(upstream, { method });
      expect(call.outcome).toBe(isReset && method === 'GET' ? 'fail closed' : 'end');
      expect(call.body).toBe(method === 'GET' ? 'abc' : '');
    }
  },
);
