import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Exchange } from '../../../src/gateway/exchange.ts';
import { UnwritableHead } from '../../../src/gateway/upstream.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { heldConnection, RecordingHandler } from '../../support/held-connection.ts';
import { rawClient } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { responseHead } from '../../support/response-head.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const JSON_FIELDS = 'Host: g\r\nContent-Type: application/json\r\n';

/** A request is read where it is borrowed; behind an empty line (RFC 9112 §2.2), from a copy. */
const WAYS = [
  ['at once', ''],
  ['behind an empty line', '\r\n'],
] as const;

// Attack: requests whose responses are never read, each with a slot among those in flight.
describe('a client that stops reading at the end of a response', () => {
  test.each(WAYS)('is cut, and its place is free: %s', async (_who, front) => {
    const { gateway } = await served(ok(), { flags: { 'client-body-timeout': '300' } });
    const client = rawClient(gateway.port);
    client.socket.pause();
    client.write(front + 'GET /other HTTP/1.1\r\nHost: g\r\n\r\n'.repeat(40_000));
    await until(() => gateway.gateway.inFlight === 1);
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.lines.length).toBeLessThan(40_000);
    client.socket.destroy();
  });
});

test('a client that reads slowly gets all of a large response, however long it takes', async () => {
  const large = `{"data":{"new":"${'x'.repeat(9_000_000)}"}}`;
  const v2 = await rawServer((socket) => socket.write(ok(large)));
  const response = [{ rule: 'alias', path: ['data', 'new'], as: 'old', status: ['2xx'] }] as const;
  const changes = [
    { id: 'a', summary: 'A.', on: 'every', request: [], response, policies: {}, assumed: false },
  ] as const;
  const gateway = await gatewayFor(v2.origin, {
    flags: { 'client-body-timeout': '1000' },
    ruleBook: { changes },
  });
  const client = connect(gateway.port, '127.0.0.1');
  client.write(`POST /api/v1/x HTTP/1.1\r\n${JSON_FIELDS}Content-Length: 11\r\n\r\n{"data":{}}`);
  let bytes = 0;
  for await (const chunk of client) {
    bytes += (chunk as Buffer).length;
    await pause(5);
    if (bytes > 18_000_000) break;
  }
  expect(bytes).toBeGreaterThan(18_000_000);
  expect((await gateway.entry()).totalMs).toBeGreaterThan(500);
});

describe('a response to a client that reads slowly', () => {
  test('is held back once, goes on once, and ends once', async () => {
    const { client, taken } = await heldConnection();
    client.pause();
    client.write(GET);
    await until(() => taken.length === 1);
    const [exchange] = taken;
    const owner = new RecordingHandler();
    exchange?.attach(owner);
    exchange?.head(responseHead(200));
    let parts = 0;
    while (exchange?.data(Buffer.alloc(65_536)) === true) parts += 1;
    expect(exchange?.data(Buffer.alloc(10))).toBe(false);
    expect(parts).toBeGreaterThan(0);
    client.resume();
    await until(() => owner.events.length > 0);
    exchange?.end([]);
    await until(() => owner.events.length > 1);
    await pause(10);
    expect(owner.events).toEqual(['drained', 'flushed']);
  });

  test('is over once when the connection breaks', async () => {
    const { client, taken, closed } = await heldConnection();
    client.pause();
    client.write(GET);
    await until(() => taken.length === 1);
    const owner = new RecordingHandler();
    taken[0]?.attach(owner);
    taken[0]?.head(responseHead(200));
    while (taken[0]?.data(Buffer.alloc(65_536)) === true);
    taken[0]?.reset();
    taken[0]?.data(Buffer.alloc(10));
    taken[0]?.end([]);
    await until(closed);
    expect(owner.events).toEqual(['gone']);
  });
});

describe('a response that must not be written breaks the connection, and none of it is sent', () => {
  test.each([
    ['a value with a line end', (exchange: Exchange) => exchange.head(responseHead(200, ['X', 'a\r\nY: b']))],
    ['a name with a colon', (exchange: Exchange) => exchange.head(responseHead(200, ['X:', 'a']))],
    ['a reason with a line end', (exchange: Exchange) => exchange.head(responseHead(200, [], 'a\r\nY: b'))],
    // As latin1 it would be CR and LF.
    [
      'a reason that is CR and LF when it is cut to bytes',
      (exchange: Exchange) => exchange.head(responseHead(200, [], 'a\u010d\u010aY')),
    ],
  ])('%s', async (_what, response) => {
    expect(
      await textOf((exchange) => {
        expect(() => response(exchange)).toThrow(UnwritableHead);
        exchange.reset();
      }),
    ).toBe('');
  });

  test('more than the announced length', async () => {
    expect(
      await textOf((exchange) => {
        exchange.head(responseHead(200, ['Content-Length', '2']));
        exchange.data(Buffer.from('abc'));
        exchange.end([]);
      }),
    ).toBe('');
  });
});

/** What a client reads of a response before its connection is gone. */
async function textOf(respond: (exchange: Exchange) => void): Promise<string> {
  const { client, taken } = await heldConnection();
  let text = '';
  client.on('data', (chunk) => (text += chunk.toString('latin1'))).on('error', () => {});
  client.write(GET);
  await until(() => taken.length === 1);
  taken[0]?.attach(new RecordingHandler());
  for (const exchange of taken) respond(exchange);
  await until(() => client.destroyed);
  return text;
}
