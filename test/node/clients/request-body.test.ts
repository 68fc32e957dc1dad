import { describe, expect, test } from 'vitest';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const CHUNKED = 'Host: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n';

// Attack: kept chunk by chunk, a body takes 400 times its bytes: one connection takes gigabytes.
test.each(['/api/v1/x', '/api/v2/x'])(
  'a body in one-byte chunks takes its own bytes only: %s',
  async (path) => {
    const { gateway } = await served();
    const bytes = 400_000;
    const client = rawClient(gateway.port);
    const wire = Buffer.from(`1\r\n{\r\n${'1\r\n \r\n'.repeat(bytes)}1\r\n}\r\n0\r\n\r\n`);
    const memory = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
    globalThis.gc?.();
    const before = memory();
    let most = 0;
    let mostHeld = 0;
    const watch = setInterval(() => {
      most = Math.max(most, memory() - before);
      mostHeld = Math.max(mostHeld, gateway.gateway.budget.held);
    }, 10);
    client.write(`POST ${path} HTTP/1.1\r\n${CHUNKED}`);
    client.write(wire);
    expect(statusOf(await client.until(/200 OK[^]*\}$/))).toBe(200);
    clearInterval(watch);
    client.socket.destroy();
    // Two copies, in buffers of at most twice their size.
    expect(mostHeld).toBeLessThanOrEqual(4 * bytes);
    // Buffers that wait for their collection are in it; kept one by one they were 400 bytes each.
    expect(most).toBeLessThan(250 * bytes);
    await until(() => gateway.gateway.budget.held === 0);
  },
);

describe('a body that trickles in', () => {
  // Attack: bodies of a byte now and then, each with a connection to V2 that all other clients wait for.
  test('takes no connection to V2 before it is worth one', async () => {
    const { v2, gateway } = await served(ok(), { flags: { 'upstream-connections': '2' } });
    const trickling = Array.from({ length: 64 }, () => rawClient(gateway.port));
    for (const client of trickling) client.write(`POST /api/v2/x HTTP/1.1\r\n${CHUNKED}1\r\n{\r\n`);
    await until(() => gateway.gateway.inFlight === 64);
    for (let count = 0; count < 20; count += 1) expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
    expect(v2.sockets.length).toBeLessThanOrEqual(2);
    for (const client of trickling) client.socket.destroy();
    await until(() => gateway.gateway.inFlight === 0);
  });

  test.each(['/api/v1/x', '/api/v2/x'])('below the minimum rate gets a 408: %s', async (path) => {
    const { v2, gateway } = await served(ok(), { flags: { 'min-data-rate-grace': '300' } });
    const client = rawClient(gateway.port);
    client.write(`POST ${path} HTTP/1.1\r\n${CHUNKED}`);
    const trickle = setInterval(() => client.write('1\r\n \r\n'), 50);
    const response = await client.end();
    clearInterval(trickle);
    expect(statusOf(response)).toBe(408);
    expect(response).toMatchObject({ closed: true, reset: false });
    expect(await gateway.entry()).toMatchObject({ failure: 'client-timeout' });
    expect(v2.received).toEqual([]);
  });

  test('behind enough to be worth one, is ended when others wait for it', async () => {
    const { v2, gateway } = await served(ok(), { flags: { 'upstream-connections': '4' } });
    const front = `30000\r\n${' '.repeat(0x30000)}\r\n`;
    const trickling = Array.from({ length: 4 }, () => rawClient(gateway.port));
    for (const client of trickling) client.write(`POST /api/v2/x HTTP/1.1\r\n${CHUNKED}${front}`);
    // The fourth waits: one connection is for others.
    await until(() => v2.sockets.length === 3);
    const trickle = setInterval(() => {
      for (const client of trickling)
        if (client.socket.writable) client.write(`100\r\n${' '.repeat(256)}\r\n`);
    }, 100);
    expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
    clearInterval(trickle);
    // One for each that waited: the fourth, and perhaps the other request.
    await until(() => trickling.some((client) => / 503 /.test(client.text())));
    expect(trickling.filter((client) => client.text() !== '').length).toBeLessThanOrEqual(2);
    expect(gateway.gateway.v2.breaker.state).toBe('closed');
    for (const client of trickling) client.socket.destroy();
    await until(() => gateway.gateway.inFlight === 0);
  });
});
