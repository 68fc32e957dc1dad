import { once } from 'node:events';
import { createServer, connect as tlsConnect } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { RENEWALS, type RenewedFolder } from '../support/changed-files.ts';
import { type Certificate, certificate } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { playedRedis } from '../support/played-redis.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { type SpawnedGateway, spawnGateway } from '../support/spawn-gateway.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const WRAPPED = '{"data":{"name":"A"}}';
const POST = `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\nContent-Type: application/json\r\nContent-Length: ${WRAPPED.length}\r\n\r\n${WRAPPED}`;

// How a file is renewed is the same for all of them; test/node/watched-files.test.ts has every way.
describe('a renewal', () => {
  test.for([1, 2])('of certificate and key serves new connections, with %i workers', async (workers) => {
    const folder = renewed(pemOf(made('first')));
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({
      upstream: v2.origin,
      'tls-cert': folder.path('tls.crt'),
      'tls-key': folder.path('tls.key'),
      workers: String(workers),
    });
    expect(await namesShown(gateway)).toEqual(['first']);
    // One after the other, as renewers write them.
    const second = made('second');
    folder.renew({ 'tls.crt': second.cert });
    expect(await namesShown(gateway)).toEqual(['first']);
    folder.renew({ 'tls.key': second.key });
    await expect.poll(() => namesShown(gateway)).toEqual(['second']);
    await expect
      .poll(() => gateway.stderr())
      .toContain('certificate: new connections use the renewed certificate for clients.');
    expect(gateway.stderr()).not.toContain('refused');
    folder.renew({ 'tls.crt': 'nonsense' });
    await expect.poll(() => gateway.stderr()).toContain('The current one stays in use.');
    expect(await namesShown(gateway)).toEqual(['second']);
    const ended = certificate({ name: 'ended', hosts: ['localhost'], notAfter: new Date(Date.now() - 1000) });
    folder.renew({ 'tls.crt': ended.cert, 'tls.key': ended.key });
    await expect.poll(() => gateway.stderr()).toContain('has a certificate that ended at');
    expect(await namesShown(gateway)).toEqual(['second']);
  });

  test.for([1, 2])("of V2's authorities holds for new connections, with %i workers", async (workers) => {
    const [first, second] = [made('first'), made('second')];
    const v2 = createServer({ ...first }, (socket) => socket.on('data', () => socket.end(ok())));
    onTestFinished(() => void v2.close());
    await once(v2.listen(0, '127.0.0.1'), 'listening');
    const bound = v2.address();
    const port = typeof bound === 'object' ? bound?.port : undefined;
    const folder = renewed({ 'ca.crt': first.cert });
    const gateway = await spawnGateway({
      upstream: `https://localhost:${port}`,
      'upstream-ca': folder.path('ca.crt'),
      'upstream-connect-timeout': '1000',
      breaker: 'off',
      workers: String(workers),
    });
    const status = async (): Promise<number> => statusOf(await exchange(gateway.port, GET));
    expect(await status()).toBe(200);
    v2.setSecureContext({ ...second });
    await expect.poll(status).toBe(502);
    folder.renew({ 'ca.crt': second.cert });
    await expect.poll(status).toBe(200);
    folder.renew({ 'ca.crt': 'nonsense' });
    await expect.poll(() => gateway.stderr()).toContain('certificate refused: --upstream-ca names a file');
    expect(await status()).toBe(200);
  });

  test('of secrets: the new token and the new key of the hashes hold, and a bad one is refused', async () => {
    const folder = renewed({ token: 'the-first-admin-token', key: 'the-first-client-key' });
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, workers: '2' }, undefined, {
      GATEWAY_ADMIN_TOKEN_FILE: folder.path('token'),
      GATEWAY_CLIENT_SECRET_FILE: folder.path('key'),
    });
    const admin = async (token: string): Promise<number> =>
      statusOf(
        await exchange(
          gateway.adminPort,
          `GET /state HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`,
        ),
      );
    expect(await admin('the-first-admin-token')).toBe(200);
    folder.renew({ token: 'the-second-admin-token' });
    // Ten wrong tokens at once would be too many.
    await expect.poll(() => admin('the-second-admin-token'), { interval: 500 }).toBe(200);
    expect(await admin('the-first-admin-token')).toBe(401);
    const client = async (): Promise<string> => {
      const { length } = entriesOf(gateway);
      await exchange(gateway.port, POST);
      await expect.poll(() => entriesOf(gateway)).toHaveLength(length + 1);
      return String(entriesOf(gateway).at(-1)?.client);
    };
    const before = await client();
    expect(await client()).toBe(before);
    folder.renew({ key: 'the-second-client-key' });
    await expect.poll(client).not.toBe(before);
    folder.renew({ token: 'short' });
    await expect
      .poll(() => gateway.stderr())
      .toMatch(
        /secret refused: GATEWAY_ADMIN_TOKEN_FILE must have at least 16 characters\. The previous one stays/,
      );
    expect(await admin('the-second-admin-token')).toBe(200);
  });

  test('of the names of clients: a faulty file is reported, and the names stay', async () => {
    const folder = renewed({ 'names.yaml': '3fa9c1d2e4b50617: Harcourts\n' });
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({ upstream: v2.origin, 'client-names': folder.path('names.yaml') });
    folder.renew({ 'names.yaml': 'nonsense' });
    await expect.poll(() => gateway.stderr()).toMatch(/names refused: .* The previous names stay\./);
  });

  test("of V2's description: every process checks bodies against the new one", async () => {
    const folder = renewed({ 'v2.json': descriptionWith('name') });
    const [v1, v2] = [
      await rawServer((socket) => socket.write(ok())),
      await rawServer((socket) => socket.write(ok())),
    ];
    const gateway = await spawnGateway({
      upstream: v2.origin,
      'v1-upstream': v1.origin,
      'v2-openapi': folder.path('v2.json'),
      workers: '2',
    });
    folder.renew({ 'v2.json': '{"openapi": ' });
    await expect.poll(() => gateway.stderr()).toContain('The previous one stays in force.');
    folder.renew({ 'v2.json': descriptionWith('another') });
    await expect.poll(() => gateway.stderr()).toContain("V2's OpenAPI: the renewed description is in use.");
  });
});

test(
  'a Redis store is checked against renewed authorities when it is connected again',
  { tags: ['redis'] },
  async () => {
    const [first, second] = [certificate({ name: 'first CA' }), certificate({ name: 'second CA' })];
    const server = (issuer: Certificate): Certificate =>
      certificate({ name: 'redis', hosts: ['127.0.0.1'], issuer });
    const [before, after] = [server(first), server(second)];
    const folder = renewed({ ca: first.cert, crt: before.cert, key: before.key });
    const files = ['--tls-cert-file', folder.path('crt'), '--tls-key-file', folder.path('key')];
    const port = await freePort();
    const redis = await playedRedis([
      '--tls-port',
      String(port),
      ...files,
      '--tls-ca-cert-file',
      folder.path('ca'),
      '--tls-auth-clients',
      'no',
    ]);
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await spawnGateway({
      upstream: v2.origin,
      store: `rediss://127.0.0.1:${port}?ca=${folder.path('ca')}`,
    });
    await redis.kill();
    await expect.poll(() => gateway.stderr()).toContain('store');
    folder.renew({ ca: second.cert, crt: after.cert, key: after.key });
    await redis.restart();
    await expect
      .poll(
        async () =>
          (
            await exchange(
              gateway.adminPort,
              'GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
            )
          ).text,
      )
      .not.toContain('aloneSince');
  },
);

test('a certificate that ends within two weeks is reported at the start, and its end is a metric', async () => {
  const end = new Date(Math.floor(Date.now() / 1000) * 1000 + 10 * 86_400_000);
  const folder = renewed(pemOf(certificate({ name: 'gateway', hosts: ['localhost'], notAfter: end })));
  const v2 = await rawServer((socket) => socket.write(ok()));
  const gateway = await spawnGateway({
    upstream: v2.origin,
    'tls-cert': folder.path('tls.crt'),
    'tls-key': folder.path('tls.key'),
    workers: '2',
  });
  const told = `certificate: the certificate for clients ends at ${end.toISOString()}, in 10 days`;
  expect(gateway.stderr().split(told)).toHaveLength(2);
  const metric = async (): Promise<string | undefined> =>
    /^gateway_certificate_not_after_timestamp_seconds\{use="clients"\} (\d+)$/m.exec(
      (
        await exchange(
          gateway.adminPort,
          'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n',
        )
      ).text,
    )?.[1];
  expect(await metric()).toBe(String(end.getTime() / 1000));
  const later = new Date(end.getTime() + 90 * 86_400_000);
  folder.renew(pemOf(certificate({ name: 'gateway', hosts: ['localhost'], notAfter: later })));
  await expect.poll(metric).toBe(String(later.getTime() / 1000));
  expect(gateway.stderr().split('certificate: the certificate for clients ends')).toHaveLength(2);
});

/** A folder whose files are renewed as the kubelet does it. */
function renewed(texts: Readonly<Record<string, string>>): RenewedFolder {
  const make = RENEWALS['the kubelet swaps ..data'];
  if (make === undefined) throw new Error('no such renewal');
  return make(texts);
}

function made(name: string): Certificate {
  return certificate({ name, hosts: ['localhost'] });
}

function pemOf({ cert, key }: Certificate): Readonly<Record<string, string>> {
  return { 'tls.crt': cert, 'tls.key': key };
}

/** The names of the certificates that eight new connections get, from any worker. */
async function namesShown({ port }: SpawnedGateway): Promise<readonly string[]> {
  const names = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const socket = tlsConnect({
        port,
        host: 'localhost',
        rejectUnauthorized: false,
        ALPNProtocols: ['h2'],
      });
      await once(socket, 'secureConnect');
      expect(socket.alpnProtocol).toBe('h2');
      const name = String(socket.getPeerCertificate().subject.CN);
      socket.destroy();
      return name;
    }),
  );
  return [...new Set(names)];
}

function entriesOf(gateway: SpawnedGateway): readonly Entry[] {
  return gateway
    .stdout()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Entry);
}

function descriptionWith(member: string): string {
  const schema = {
    type: 'object',
    properties: { [member]: { type: 'string' } },
    additionalProperties: false,
  };
  const requestBody = { content: { 'application/json': { schema } } };
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title: 'V2', version: '2' },
    paths: { '/api/v2/clients': { post: { requestBody, responses: {} } } },
  });
}
