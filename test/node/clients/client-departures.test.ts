import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { accountOf } from '../../../src/inspector/entries/entry-words.ts';
import { freePort } from '../../support/free-port.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, type RawServer, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';
import { testRuleBook } from '../../support/rule-book.ts';

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc') as () => void;

const CHUNKED =
  'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n';
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
const WAYS = [
  ['at once', ''],
  ['behind an empty line', '\r\n'],
] as const;

// A client that ends its sending side (shutdown) and one that gave up and closed its connection send the same FIN. The gateway takes both for
// gone, as nginx and Node do, unless the response has begun (RFC 9112 §9.6). V2 may still carry out what it had received.
test('a client that closes its side while V2 handles its request has gone away: the request is aborted', async () => {
  const { v2, gateway } = await served(() => {});
  for (const [index, [, front]] of WAYS.entries()) {
    const client = rawClient(gateway.port);
    client.write(front + GET);
    await until(() => v2.received.length === index + 1);
    client.socket.end();
    expect(await gateway.entry(index + 1)).toMatchObject({ status: 0, verdict: 'passed' });
    await until(() => v2.sockets[index]?.destroyed === true);
    expect((await client.end()).text).toBe('');
  }
});

describe('with half-close: answer', () => {
  const answering = async (v2: RawServer) =>
    await gatewayFor(v2.origin, {
      ruleBook: { policies: { ...testRuleBook().policies, 'half-close': 'answer' } },
    });
  const LAST = 'GET /api/v1/last HTTP/1.1\r\nHost: g\r\n\r\n';

  test.each([
    ['one request', GET, 1],
    ['one with a body', CHUNKED, 1],
    ['one behind an empty line', `\r\n${GET}`, 1],
    ['several, pipelined', GET + CHUNKED + LAST, 3],
  ])('%s gets its response before the connection closes', async (_, bytes, count) => {
    const v2 = await rawServer((socket) => void setTimeout(() => socket.write(ok()), 30));
    const gateway = await answering(v2);
    const client = rawClient(gateway.port);
    client.socket.end(bytes);
    const { text } = await client.end();
    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(count);
    await gateway.entry(count);
    expect(gateway.entries().map(({ status }) => status)).toEqual(Array.from({ length: count }, () => 200));
    expect(gateway.gateway.inFlight).toBe(0);
  });

  test('a body that is not whole, or only a head, is no request', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await answering(v2);
    for (const bytes of [
      'POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 5\r\n\r\nhel',
      GET.slice(0, 20),
    ]) {
      const client = rawClient(gateway.port);
      client.socket.end(bytes);
      expect((await client.end()).text).not.toContain(' 200 ');
    }
    expect(v2.received.join('')).not.toContain('GET');
    expect(gateway.gateway.inFlight).toBe(0);
  });

  test('a client that is gone is noticed when the response is written, and costs no connection', async () => {
    const v2 = await rawServer((socket) => void setTimeout(() => socket.write(ok()), 60));
    const gateway = await answering(v2);
    const client = rawClient(gateway.port);
    client.write(GET);
    await until(() => v2.received.length === 1);
    client.socket.end();
    client.socket.destroy();
    expect(await gateway.entry()).toMatchObject({ verdict: 'passed' });
    await until(() => gateway.gateway.inFlight === 0);
  });
});

describe('a client that resets its connection while it is not read has gone away', () => {
  const upload = Buffer.concat([
    Buffer.from('POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 100000000\r\n\r\n'),
    Buffer.alloc(30_000_000),
  ]);
  const pipelined = Buffer.from(GET.replace('\r\n\r\n', `\r\nX: ${'x'.repeat(4000)}\r\n\r\n`).repeat(60));

  test.each([
    ['V2 takes no more of its body', 'at once', '', upload],
    ['V2 takes no more of its body', 'behind an empty line', '\r\n', upload],
    ['many requests wait behind one', 'at once', '', pipelined],
  ])('%s: %s', async (_why, _reader, front, bytes) => {
    const v2 = await rawServer(() => {});
    v2.server.on('connection', (socket) => {
      if (bytes === upload) socket.pause();
    });
    const gateway = await gatewayFor(v2.origin);
    const client = rawClient(gateway.port);
    client.write(front);
    client.write(bytes);
    await until(() => v2.sockets.length === 1);
    await pause(500);
    client.socket.resetAndDestroy();
    expect(await gateway.entry()).toMatchObject({ status: 0, verdict: 'passed' });
    expect(gateway.entries()[0]).not.toHaveProperty('failure');
    v2.sockets[0]?.resume();
    await until(() => v2.sockets[0]?.destroyed === true);
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.gateway.v2.breaker.state).toBe('closed');
  });
});

describe('a client that leaves while the rest of its refused body is dropped', () => {
  const REQUESTS = 400;

  // Attack: each such request was kept for ever, with its head.
  test.each(WAYS)('is held no longer: %s', async (_, begin) => {
    const gateway = await gatewayFor('http://127.0.0.1:9');
    const head = `POST /other HTTP/1.1\r\nHost: g\r\nX-Long: ${'x'.repeat(8000)}\r\nContent-Length: 100000\r\n\r\nabc`;
    const play = async (): Promise<number> => {
      for (let count = 0; count < REQUESTS; count += 1) {
        const client = rawClient(gateway.port);
        client.write(begin + head);
        await client.until(/404/);
        client.socket.destroy();
      }
      await pause(200);
      collect();
      return process.memoryUsage().heapUsed;
    };
    await play();
    // The process has played other files, whose compilation and garbage are measured as well, but not each time.
    const held: number[] = [];
    for (let count = 0; count < 4 && !(Math.min(...held) < 4000); count += 1) {
      const before = await play();
      held.push(((await play()) - before) / REQUESTS);
    }
    expect(Math.min(...held)).toBeLessThan(4000);
  });
});

describe('a client that goes away', () => {
  test.each(WAYS)(
    'in the middle of its response has not got all of it, and the log says so: %s',
    async (_reader, first) => {
      const entry = await entryOfReset(first, 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
      expect(entry).toMatchObject({ status: 200, incomplete: true, responseBytes: 3 });
      expect(entry.failure).toBeUndefined();
      expect(accountOf(entry).at(-1)).toBe(
        'The exchange with the client ended before the end of the response.',
      );
    },
  );

  test.each(WAYS)(
    'with its whole response leaves no mark of an incomplete one: %s',
    async (_reader, first) => {
      const entry = await entryOfReset(first, ok());
      expect(entry).toMatchObject({ status: 200 });
      expect(entry.incomplete).toBeUndefined();
    },
  );

  test.each([
    ['V2', `POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi`],
    [
      'V1',
      'POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{"data":{"a":1}}',
    ],
  ])(
    'while its request waits for a connection: nothing of it was sent, a %s request',
    async (_api, request) => {
      const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`);
      const client = rawClient(gateway.port);
      client.write(request);
      await until(() => gateway.gateway.inFlight === 1);
      await pause(50);
      client.socket.resetAndDestroy();
      const entry = await gateway.entry();
      expect(entry).toMatchObject({ status: 0, sent: false, bytesOut: 0 });
      expect(accountOf(entry)).toEqual([
        'The exchange with the client ended while its request waited for a connection to V2. Nothing was sent.',
      ]);
    },
  );
});

/** The entry of a request whose client resets the connection with the first bytes of V2's response. */
async function entryOfReset(first: string, response: string): Promise<Entry> {
  const { gateway } = await served(response);
  const client = rawClient(gateway.port);
  client.write(`${first}${GET}`);
  await once(client.socket, 'data');
  client.socket.resetAndDestroy();
  return gateway.entry();
}
