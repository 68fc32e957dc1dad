import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { certificate } from '../support/certificates.ts';
import { rawClient } from '../support/raw-client.ts';
import { DATA, END_STREAM, HEADERS, type RawH2, rawH2, requestHead } from '../support/raw-h2.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { type SpawnedGateway, spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
/** The type of a frame that is acknowledged (RFC 9113 §6.7). */
const PING = 6;
const HALF = 'x'.repeat(10_000);
const POST = `POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: 20000\r\n\r\n${HALF}`;
const OK = /^HTTP\/1\.1 200 [^]*\}$/;

/** Stops the process for longer than the limits of a test, and sends meanwhile what comes in time. */
async function standStill({ child }: SpawnedGateway, send: () => void): Promise<void> {
  await pause(300);
  child.kill('SIGSTOP');
  send();
  await pause(3500);
  child.kill('SIGCONT');
}

// A process that is suspended for longer than its limits, as with its machine, first reads what came in the meantime.

test('the rest of a request, within the limit on the whole of it', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'client-headers-timeout': '2000',
    'client-body-timeout': '2000',
    'min-data-rate': '0',
  });
  const [own, behind] = [rawClient(gateway.port), rawClient(gateway.port)];
  own.write(POST);
  behind.write(`\r\n${POST}`);
  await standStill(gateway, () => {
    own.write(HALF);
    behind.write(HALF);
  });
  for (const client of [own, behind]) {
    expect((await client.until(OK)).text).toMatch(/^HTTP\/1\.1 200 /);
    client.write(GET);
    await client.until(/\}HTTP\/1\.1 200 [^]*\}$/);
  }
});

test('the rest of a head, on either reader, and behind a request', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'client-headers-timeout': '2000',
    'proxy-protocol': 'on',
    'trusted-proxies': '127.0.0.1/32',
  });
  const proxied = 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n';
  const [own, behind, second, header] = [0, 1, 2, 3].map(() => rawClient(gateway.port));
  own?.write(`${proxied}${GET.slice(0, 20)}`);
  behind?.write(`${proxied}\r\n${GET.slice(0, 20)}`);
  second?.write(`${proxied}\r\n${GET}${GET.slice(0, 20)}`);
  header?.write(proxied.slice(0, 10));
  await second?.until(OK);
  await standStill(gateway, () => {
    for (const client of [own, behind, second]) client?.write(GET.slice(20));
    header?.write(`${proxied.slice(10)}${GET}`);
  });
  for (const client of [own, behind, header]) expect((await client?.until(OK))?.text).toMatch(OK);
  expect((await second?.until(/\}HTTP\/1\.1 200 [^]*\}$/))?.text).toMatch(/\}HTTP\/1\.1 200 /);
});

test('the next request on a kept-alive connection', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({ upstream: v2.origin, 'idle-timeout': '1000' });
  const [own, behind] = [rawClient(gateway.port), rawClient(gateway.port)];
  own.write(GET);
  behind.write(`\r\n${GET}`);
  for (const client of [own, behind]) await client.until(OK);
  await standStill(gateway, () => {
    own.write(GET);
    behind.write(GET);
  });
  for (const client of [own, behind])
    expect((await client.until(/\}HTTP\/1\.1 200 [^]*\}$/)).text).toMatch(/\}HTTP\/1\.1 200 /);
});

test('over HTTP/2: the rest of a frame and of a body, and the next request', async () => {
  const folder = temporaryFolder('standstill');
  const ca = certificate({ name: 'private CA' });
  const own = certificate({ name: 'gateway', hosts: ['localhost'], issuer: ca });
  writeFileSync(`${folder}/cert.pem`, own.cert);
  writeFileSync(`${folder}/key.pem`, own.key);
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'tls-cert': `${folder}/cert.pem`,
    'tls-key': `${folder}/key.pem`,
    'client-headers-timeout': '2000',
    'client-body-timeout': '2000',
    'min-data-rate': '0',
    'idle-timeout': '1500',
  });
  const open = (): Promise<RawH2> => rawH2(gateway.port, ca.cert);
  const [part, body, idle] = [await open(), await open(), await open()];
  const has = (client: RawH2, type: number, stream: number): boolean =>
    client.frames.some((frame) => frame.type === type && frame.stream === stream);
  idle.head(1, requestHead('/api/v2/x'));
  await until(() => has(idle, HEADERS, 1));
  body.head(1, requestHead('/api/v2/x', 'POST'), true);
  body.frame(DATA, 0, 1, Buffer.from(HALF));
  part.socket.write(Buffer.from([0, 0, 8]));
  await standStill(gateway, () => {
    body.frame(DATA, END_STREAM, 1, Buffer.from(HALF));
    idle.head(3, requestHead('/api/v2/x'));
    part.socket.write(Buffer.from([PING, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]));
  });
  await until(() => has(body, HEADERS, 1) || body.socket.closed);
  await until(() => has(idle, HEADERS, 3) || idle.socket.closed);
  await until(() => has(part, PING, 0) || part.socket.closed);
  expect([has(body, HEADERS, 1), has(idle, HEADERS, 3), has(part, PING, 0)]).toEqual([true, true, true]);
  expect(gateway.stdout()).not.toContain('client-timeout');
});
