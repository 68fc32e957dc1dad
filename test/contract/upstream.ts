import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { HeaderList } from '../../src/http/header-list.ts';
import type {
  Upstream,
  UpstreamCall,
  UpstreamFault,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../src/gateway/upstream.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { until } from '../support/until.ts';
import type { ResponseHead } from '../../src/http/response-head.ts';

/** The options of an upstream under test. */
export type MakeUpstream = (origin: string) => Upstream;

/** Parts of the contract that the runtime of an adapter does not allow. */
export interface UpstreamLimits {
  /** Interim responses and trailers are delivered. */
  readonly interim: boolean;
  /** Order, repetition and spelling of fields are kept both ways. */
  readonly rawHeaders: boolean;
  /** The target is not read as an address; what the gateway sends is the same either way. */
  readonly rawTarget: boolean;
  /** A refused connection is distinguished from a broken one. */
  readonly knowsUnsent: boolean;
  /** `pause` and `abort` can be called from where the suite runs. */
  readonly controlled: boolean;
}

/** The events of a response. */
class RecordedResponse implements UpstreamReceiver {
  readonly interim: number[] = [];
  status = 0;
  reason = '';
  headers: HeaderList = [];
  text = '';
  trailers: HeaderList | undefined = undefined;
  fault: UpstreamFault | undefined = undefined;
  /** Ends and faults: there must be one. */
  ends = 0;
  call: UpstreamCall | undefined = undefined;

  information(status: number): void {
    this.interim.push(status);
  }

  head({ status, reason = '', headers }: ResponseHead): void {
    this.status = status;
    this.reason = reason;
    this.headers = headers;
  }

  data(chunk: Uint8Array): void {
    this.text += Buffer.from(chunk).toString('latin1');
  }

  end(trailers: HeaderList): void {
    this.trailers = trailers;
    this.ends += 1;
  }

  fail(fault: UpstreamFault): void {
    this.fault = fault;
    this.ends += 1;
  }
}

/** The suite that every upstream passes: it is the one seam to V2, on whatever runtime. */
export function upstreamContract(make: MakeUpstream, limits: UpstreamLimits): void {
  const send = async (upstream: Upstream, over: Partial<UpstreamRequest> = {}): Promise<RecordedResponse> => {
    const recorded = new RecordedResponse();
    const request = {
      method: 'GET',
      target: '/api/v2/x',
      headers: [],
      body: null,
      length: undefined,
      ...over,
    };
    recorded.call = upstream.send(request, recorded);
    await until(() => recorded.ends > 0);
    return recorded;
  };

  test('sends method, raw target, fields and body, and tells status, fields and body', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('"x"', 'Set-Cookie: a\r\nset-cookie: b\r\n')));
    const headers = ['X-A', '1', 'Content-Type', 'text/plain'];
    const target = limits.rawTarget ? '/a/%2e?b=/../' : '/a/b.c?b=/../';
    const recorded = await send(make(v2.origin), {
      method: 'POST',
      target,
      headers,
      body: Buffer.from('hi'),
    });
    expect(recorded).toMatchObject({ status: 200, text: '"x"', ends: 1, fault: undefined });
    expect(v2.received[0]?.split('\r\n')[0]).toBe(`POST ${target} HTTP/1.1`);
    expect(v2.received[0]).toMatch(/\r\n\r\nhi$/);
    expect(v2.received[0]).toMatch(/\r\nhost: 127\.0\.0\.1:\d+\r\n/i);
    if (!limits.rawHeaders) return;
    expect(v2.received[0]).toContain('\r\nX-A: 1\r\nContent-Type: text/plain\r\n');
    expect(recorded.headers).toEqual(expect.arrayContaining(['Set-Cookie', 'a', 'set-cookie', 'b']));
  });

  test.each([5, undefined])('streams a body that comes in parts, of length %s', async (length) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const body = (async function* parts() {
      yield Buffer.from('he');
      await delay(20);
      yield Buffer.from('llo');
    })();
    const recorded = await send(make(v2.origin), { method: 'POST', body, length });
    expect(recorded.status).toBe(200);
    expect(v2.received[0]).toMatch(/\r\n\r\n(?:hello|2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n)$/);
  });

  test('a body that breaks breaks the request, which never looks whole', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const body = (async function* parts() {
      yield Buffer.from('he');
      await Promise.resolve();
      throw new Error('the client went away');
    })();
    const recorded = await send(make(v2.origin), { method: 'POST', body });
    expect(recorded.fault).toBeDefined();
    expect(v2.received[0] ?? '').not.toMatch(/\r\n0\r\n\r\n$/);
  });

  test('a refused connection is unreachable, and nothing was sent', async () => {
    const v2 = await rawServer(() => {});
    const { origin } = v2;
    await new Promise((resolve) => {
      v2.server.close(resolve);
    });
    const recorded = await send(make(origin));
    const fault = limits.knowsUnsent ? { kind: 'unreachable', sent: false } : { kind: 'closed', sent: true };
    expect(recorded).toMatchObject({ ends: 1, fault });
  });

  test('a connection that closes before the response is closed, and something was sent', async () => {
    const v2 = await rawServer((socket) => socket.destroy());
    const recorded = await send(make(v2.origin), { method: 'POST', body: Buffer.from('hi') });
    expect(recorded).toMatchObject({ ends: 1, fault: { kind: 'closed', sent: true } });
    expect(v2.received).toHaveLength(1);
  });

  test.each([
    'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n',
  ])('%j: a response that is short fails, and does not end', async (bytes) => {
    const v2 = await rawServer((socket) => socket.end(bytes));
    const recorded = await send(make(v2.origin));
    expect(recorded).toMatchObject({ status: 200, text: 'abc', ends: 1, trailers: undefined });
    expect(recorded.fault).toBeDefined();
  });

  test('a redirect is a response like any other', async () => {
    const v2 = await rawServer((socket) =>
      socket.write('HTTP/1.1 307 Go\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n'),
    );
    expect((await send(make(v2.origin))).status).toBe(307);
    expect(v2.received[0]?.match(/GET /g)).toHaveLength(1);
  });

  test('a coded response keeps its coding and its bytes', async () => {
    const v2 = await rawServer((socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x00',
        'latin1',
      ),
    );
    const recorded = await send(make(v2.origin));
    expect(recorded.text).toBe('\x1f\x8b\x00');
  });

  testIf(limits.controlled)(
    'a request that is given up closes its connection, and tells nothing more',
    async () => {
      const v2 = await rawServer(() => {});
      const recorded = new RecordedResponse();
      const call = make(v2.origin).send(
        { method: 'GET', target: '/', headers: [], body: null, length: undefined },
        recorded,
      );
      await until(() => v2.received[0] !== undefined && v2.received[0] !== '');
      call.abort();
      await until(() => v2.sockets[0]?.destroyed === true);
      expect(recorded.ends).toBe(0);
    },
  );

  testIf(limits.controlled)(
    'a response that is paused is held back, and goes on when it is resumed',
    async () => {
      const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(5_000_000))));
      const recorded = new RecordedResponse();
      const call = make(v2.origin).send(
        { method: 'GET', target: '/', headers: [], body: null, length: undefined },
        recorded,
      );
      await until(() => recorded.text !== '');
      call.pause();
      const held = recorded.text.length;
      await delay(100);
      expect(recorded.text.length - held).toBeLessThan(1_000_000);
      call.resume();
      await until(() => recorded.ends === 1);
      expect(recorded.text).toHaveLength(5_000_000);
    },
  );

  testIf(limits.interim)('interim responses and trailers are delivered', async () => {
    const v2 = await rawServer((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n',
      ),
    );
    const recorded = await send(make(v2.origin));
    expect(recorded).toMatchObject({ interim: [103], status: 200, text: 'a', trailers: ['X-Sum', '7'] });
  });
}

/** A test that a runtime cannot pass is not registered: a skipped one would look forgotten. */
function testIf(condition: boolean): typeof test | ((title: string, run: () => Promise<void>) => void) {
  return condition ? test : () => {};
}
