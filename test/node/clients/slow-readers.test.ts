import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor, type TestGateway } from '../../support/gateway.ts';
import { readWithPause } from '../../support/paused-reading.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ca, secureGateway } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';

const FLAGS = { 'min-data-rate': '200000', 'min-data-rate-grace': '400' };

interface Lane {
  readonly gateway: TestGateway;
  readonly client: Socket;
}

/** The versions of HTTP/1, and TLS. */
const LANES = {
  'HTTP/1.1': (origin: string) => plain(origin, '1.1'),
  'HTTP/1.0': (origin: string) => plain(origin, '1.0'),
  TLS: async (origin: string): Promise<Lane> => {
    const gateway = await secureGateway(origin, FLAGS);
    const client = tlsConnect({ port: gateway.port, host: 'localhost', ca: ca.cert });
    return asking(gateway, client, '1.1');
  },
};

async function plain(origin: string, version: string): Promise<Lane> {
  const gateway = await gatewayFor(origin, { flags: FLAGS });
  return asking(gateway, connect({ port: gateway.port, host: '127.0.0.1' }), version);
}

function asking(gateway: TestGateway, client: Socket, version: string): Lane {
  client.on('error', () => {});
  client.pause();
  client.write(`GET /api/v2/x HTTP/${version}\r\nHost: g\r\n\r\n`);
  onTestFinished(() => void client.destroy());
  return { gateway, client };
}

describe.each(Object.entries(LANES))('%s', (_who, lane) => {
  test('a client that requests megabytes and reads nothing is reset, and its slot is free', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(40_000_000))));
    const { gateway, client } = await lane(v2.origin);
    await until(() => gateway.gateway.inFlight === 1);
    await until(() => gateway.gateway.inFlight === 0);
    client.resume();
    await until(() => client.destroyed);
    expect(client.bytesRead).toBeLessThan(40_000_000);
  });

  test('a client that reads slower than that, and without a stop, is reset too', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(40_000_000))));
    const { gateway, client } = await lane(v2.origin);
    await until(() => gateway.gateway.inFlight === 1);
    const trickle = setInterval(() => client.read(1000), 20);
    await until(() => gateway.gateway.inFlight === 0);
    clearInterval(trickle);
    expect((await gateway.entry()).totalMs).toBeLessThan(5000);
  });

  test('a client that pauses for longer than the grace, behind megabytes that it read, gets all of it', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(20_000_000))));
    const { gateway, client } = await lane(v2.origin);
    expect(await readWithPause(client, 20_000_000)).toBeGreaterThan(20_000_000);
    expect((await gateway.entry()).incomplete).toBeUndefined();
  });

  test('a client that reads steadily, twice as fast as that, is not reset', async () => {
    const v2 = await rawServer((socket) => socket.write(ok('x'.repeat(20_000_000))));
    const { gateway, client } = await lane(v2.origin);
    const end = performance.now() + 3000;
    let bytes = 0;
    for await (const chunk of client) {
      bytes += (chunk as Buffer).length;
      // Faster, where the machine was slow.
      while (performance.now() < end && bytes > (performance.now() - end + 3000) * 400) await pause(5);
      if (bytes > 20_000_000) break;
    }
    expect(bytes).toBeGreaterThan(20_000_000);
    expect((await gateway.entry()).incomplete).toBeUndefined();
  });

  test('a V2 that is slow costs the client nothing', async () => {
    const v2 = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n');
      for (const [at, part] of 'slow'.split('').entries())
        setTimeout(() => socket.write(part), (at + 1) * 300);
    });
    const { gateway, client } = await lane(v2.origin);
    let text = '';
    client.on('data', (chunk: Buffer) => (text += chunk.toString('latin1'))).resume();
    await until(() => text.endsWith('slow'));
    expect((await gateway.entry()).status).toBe(200);
  });
});
