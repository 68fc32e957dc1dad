import { connect, type Socket } from 'node:net';
import { onTestFinished, expect, test } from 'vitest';
import { socketServer } from '../support/socket-server.ts';
import { spawnMain } from '../support/spawn-gateway.ts';
import { until } from '../support/until.ts';

const CONNECTIONS = 300;
const WAVES = 40;
/** V8 decides where to allocate at the largest size of its young generation: the smaller, the sooner. */
const FLAGS = ['--trace-pretenuring-statistics', '--max-semi-space-size=1'];

/** V8's flag, and with it the trace, is of the process: what it decides in hundreds of exchanges at a time is read from there. */
test('objects of exchanges in flight are never allocated in the old generation', async () => {
  const v2 = await socketServer((socket) => {
    socket.on('data', () => {
      setTimeout(() => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'), 5);
    });
  });
  const args = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0', '--upstream', v2];
  const child = spawnMain(['serve', ...args, '--log-file', '/dev/null'], {}, undefined, FLAGS);
  let [stdout, stderr] = ['', ''];
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  await until(() => stderr.includes('-d '));
  const port = Number(/clients +http:\/\/[^:]+:(\d+)/.exec(stderr)?.[1]);
  const clients = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
  onTestFinished(() => {
    for (const client of clients) client.destroy();
  });
  // What its start has decided concerns no exchange.
  stdout = '';
  for (let wave = 0; wave < WAVES; wave += 1) await Promise.all(clients.map(exchange));
  expect(stderr).not.toContain('flag');
  expect(stdout).not.toContain('tenure');
});

async function exchange(client: Socket): Promise<void> {
  const response = new Promise((resolve) => {
    client.once('data', resolve);
  });
  client.write('GET /api/v2/bookings HTTP/1.1\r\nHost: gateway.test\r\nx-api-version: 2025-01-01\r\n\r\n');
  await response;
}
