import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { called, inParts } from '../node/upstream/upstream-calls.ts';
import { ok, rawServer } from '../support/raw-server.ts';

/** Parts of the contract that the runtime of an adapter does not allow. */
export interface UpstreamLimits {
  /** Order, repetition and spelling of fields are kept both ways. */
  readonly rawHeaders: boolean;
  /** The target is not read as an address; what the gateway sends is the same either way. */
  readonly rawTarget: boolean;
  /** A refused connection is distinguished from a broken one. */
  readonly knowsUnsent: boolean;
}

/** The suite that every upstream passes: it is the only seam to V2, on every runtime. */
export function upstreamContract(make: (origin: string) => Upstream, limits: UpstreamLimits): void {
  test('sends method, raw target, fields and body, and reports status, fields and body', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('"x"', 'Set-Cookie: a\r\nset-cookie: b\r\n')));
    const headers = ['X-A', '1', 'Content-Type', 'text/plain'];
    const target = limits.rawTarget ? '/a/%2e?b=/../' : '/a/b.c?b=/../';
    const call = await called(make(v2.origin), { method: 'POST', target, headers, body: Buffer.from('hi') });
    expect([call.events.at(0), call.outcome, call.body]).toEqual(['200', 'end', '"x"']);
    expect(v2.received[0]?.split('\r\n')[0]).toBe(`POST ${target} HTTP/1.1`);
    expect(v2.received[0]).toMatch(/\r\n\r\nhi$/);
    expect(v2.received[0]).toMatch(/\r\nhost: 127\.0\.0\.1:\d+\r\n/i);
    if (!limits.rawHeaders) return;
    expect(v2.received[0]).toContain('\r\nX-A: 1\r\nContent-Type: text/plain\r\n');
    expect(call.headers).toEqual(expect.arrayContaining(['Set-Cookie', 'a', 'set-cookie', 'b']));
  });

  test.each([5, undefined])('streams a body that comes in parts, of length %s', async (length) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const body = (async function* parts() {
      yield* inParts('he');
      await delay(20);
      yield* inParts('llo');
    })();
    const call = await called(make(v2.origin), { method: 'POST', body, length });
    expect(call.events.at(0)).toBe('200');
    expect(v2.received[0]).toMatch(/\r\n\r\n(?:hello|2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n)$/);
  });

  test('a body that breaks off breaks the request, which never looks whole', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const body = (async function* parts() {
      yield* inParts('he');
      throw new Error('the client went away');
    })();
    expect((await called(make(v2.origin), { method: 'POST', body })).fault).toBeDefined();
    expect(v2.received[0] ?? '').not.toMatch(/\r\n0\r\n\r\n$/);
  });

  test('a refused connection is reported as unreachable, with nothing sent', async () => {
    const v2 = await rawServer(() => {});
    await new Promise((resolve) => void v2.server.close(resolve));
    const { events, fault } = await called(make(v2.origin));
    expect(events).toHaveLength(1);
    expect(fault).toMatchObject(
      limits.knowsUnsent
        ? { kind: 'unreachable', mayHaveArrived: false }
        : { kind: 'closed', mayHaveArrived: true },
    );
  });

  test('a connection that closes before the response is reported as closed, with something sent', async () => {
    const v2 = await rawServer((socket) => socket.destroy());
    const { events, fault } = await called(make(v2.origin), { method: 'POST', body: Buffer.from('hi') });
    expect(events).toHaveLength(1);
    expect(fault).toMatchObject({ kind: 'closed', mayHaveArrived: true });
    expect(v2.received).toHaveLength(1);
  });

  test.each([
    'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
  ])('%j: a response that is short fails, and does not end', async (bytes) => {
    const v2 = await rawServer((socket) => socket.end(bytes));
    const call = await called(make(v2.origin));
    expect([call.events.at(0), call.body, call.outcome]).toEqual([
      '200',
      'abc',
      expect.stringMatching(/^fail \w+$/),
    ]);
  });

  test('a redirect is a response like any other', async () => {
    const v2 = await rawServer((socket) =>
      socket.write('HTTP/1.1 307 Go\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n'),
    );
    expect((await called(make(v2.origin))).events.at(0)).toBe('307');
    expect(v2.received[0]?.match(/GET /g)).toHaveLength(1);
  });

  test('a coded response keeps its coding and its bytes', async () => {
    const coded = 'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00';
    const v2 = await rawServer((socket) => socket.write(coded, 'latin1'));
    expect((await called(make(v2.origin))).body).toBe('\x1f\x8b\x00');
  });
}
