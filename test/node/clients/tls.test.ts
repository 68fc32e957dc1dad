import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { createServer, connect as tlsConnect, type TlsOptions } from 'node:tls';
import { describe, expect, test } from 'vitest';
import { certificate } from '../../support/certificates.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { sendRequest, ca, secureGateway, session, securelyServed } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';
import { listening } from '../../support/listening.ts';

const leaf = certificate({ name: 'V2', hosts: ['localhost', '127.0.0.1'], issuer: ca });
const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';

/** A V2 behind TLS. */
async function secureV2(options: TlsOptions): Promise<{ readonly port: number; readonly peers: string[] }> {
  const peers: string[] = [];
  const server = createServer(options, (socket) => {
    peers.push(String(socket.getPeerCertificate().subject?.CN ?? ''));
    socket.on('data', () => socket.write(ok('"secure"')));
    socket.on('error', () => {});
  });
  server.on('tlsClientError', () => {});
  return { port: await listening(server), peers };
}

describe('TLS to V2', () => {
  test('a private CA is trusted when the operator says so', async () => {
    const v2 = await secureV2({ cert: leaf.cert, key: leaf.key });
    const gateway = await gatewayFor(`https://localhost:${v2.port}`, {
      parts: { upstreamTls: { ca: ca.cert } },
    });
    expect((await exchange(gateway.port, GET)).text).toMatch(/"secure"$/);
  });

  test('a client certificate is sent when V2 requests one', async () => {
    const mine = certificate({ name: 'the gateway', issuer: ca });
    const v2 = await secureV2({
      cert: leaf.cert,
      key: leaf.key,
      ca: ca.cert,
      requestCert: true,
      rejectUnauthorized: true,
    });
    const gateway = await gatewayFor(`https://localhost:${v2.port}`, {
      parts: { upstreamTls: { ca: ca.cert, cert: mine.cert, key: mine.key } },
    });
    expect((await exchange(gateway.port, GET)).text).toMatch(/"secure"$/);
    expect(v2.peers).toEqual(['the gateway']);
  });

  const expired = certificate({
    name: 'V2',
    hosts: ['localhost'],
    issuer: ca,
    notAfter: new Date(Date.now() - 86_400_000),
  });
  const elsewhere = certificate({ name: 'V2', hosts: ['other.example'], issuer: ca });
  test.each([
    ['untrusted: anyone could have signed it', leaf, undefined, /SELF_SIGNED|UNABLE_TO/],
    ['expired', expired, { ca: ca.cert }, /EXPIRED/],
    ['for another name: an attacker is in between', elsewhere, { ca: ca.cert }, /ALTNAME/],
  ] as const)(
    'a certificate that is %s: 502, and no byte of the request is sent',
    async (_what, shown, trusted, cause) => {
      const v2 = await secureV2({ cert: shown.cert, key: shown.key });
      const gateway = await gatewayFor(`https://localhost:${v2.port}`, { parts: { upstreamTls: trusted } });
      expect(statusOf(await exchange(gateway.port, GET))).toBe(502);
      const entry = await gateway.entry();
      expect(entry.failure).toBe('upstream-unreachable');
      expect(entry.cause).toMatch(cause);
    },
  );

  test('the response is 502 if V2 does not speak TLS', async () => {
    const v2 = await rawServer(() => {});
    v2.server.on('connection', (socket) => socket.write(ok()));
    const gateway = await gatewayFor(`https://127.0.0.1:${v2.port}`);
    expect(statusOf(await exchange(gateway.port, GET))).toBe(502);
  });
});

describe('HTTP/2 for clients', () => {
  test('the same migration as over HTTP/1.1, and pseudo-headers become method, target and host', async () => {
    const { v2, gateway } = await securelyServed(ok('"two"', 'Set-Cookie: a\r\nset-cookie: b\r\n'), {
      forwarded: 'x-forwarded',
    });
    const response = await sendRequest(
      session(gateway),
      {
        ':method': 'POST',
        ':path': '/api/v1/clients?a=%20',
        authorization: 'Bearer k',
        'content-type': 'application/json',
        cookie: ['a=1', 'b=2'],
      },
      '{"data":{"name":"A"}}',
    );
    expect(response.headers[':status']).toBe(200);
    expect(response.headers['set-cookie']).toEqual(['a', 'b']);
    expect(response.headers['connection']).toBeUndefined();
    expect(response.body).toBe('"two"');
    expect(v2.received[0]).toMatch(/^POST \/api\/v2\/clients\?a=%20 HTTP\/1\.1\r\n/);
    expect(v2.received[0]).toMatch(/\r\n\r\n\{"name":"A"\}$/);
    expect(v2.received[0]).toContain('\r\ncookie: a=1; b=2\r\n');
    expect(v2.received[0]).toContain(
      `x-forwarded-host: localhost:${gateway.port}\r\nx-forwarded-proto: https\r\n`,
    );
    expect(await gateway.entry()).toMatchObject({ verdict: 'rewritten', status: 200 });
  });

  test('1xx, trailers, HEAD, 204 and 304', async () => {
    const v2 = await rawServer((socket, request) => {
      if (request.startsWith('HEAD')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n');
      else if (request.includes('/204')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      else if (request.includes('/304')) socket.write('HTTP/1.1 304 Not Modified\r\nETag: "x"\r\n\r\n');
      else {
        socket.write(
          'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
        );
        socket.write('1\r\na\r\n0\r\nx-sum: 7\r\n\r\n');
      }
    });
    const client = session(await secureGateway(v2.origin));
    const streamed = await sendRequest(client, { ':path': '/api/v2/x' });
    expect(streamed).toMatchObject({
      body: 'a',
      trailers: { 'x-sum': '7' },
      interim: [{ ':status': 103, link: '</a>' }],
    });
    const head = await sendRequest(client, { ':path': '/api/v2/x', ':method': 'HEAD' });
    expect(head.headers).toMatchObject({ ':status': 200, 'content-length': '9' });
    expect((await sendRequest(client, { ':path': '/api/v2/204' })).headers[':status']).toBe(204);
    expect((await sendRequest(client, { ':path': '/api/v2/304' })).headers).toMatchObject({
      ':status': 304,
      etag: '"x"',
    });
  });

  test.each([
    [{ ':path': '/api/v1/%2e%2e/v2' }, 400],
    [{ ':path': '//evil.example/api/v1' }, 400],
    [{ ':path': '/other' }, 404],
    [{ ':path': '/api/v2/x', ':authority': 'one.example', host: 'other.example' }, 400],
    [{ ':path': '/api/v2/x', content_length: '1' }, 400],
    [{ ':path': '/api/v2/x', authorization: ['Bearer a', 'Bearer b'] }, 400],
  ])('%j: %i, and nothing reaches V2', async (headers, status) => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const client = session(await secureGateway(v2.origin));
    const response = await sendRequest(client, headers as Record<string, string>).catch(() => undefined);
    // Node's own client refuses to send some of them at all.
    if (response?.headers[':status'] !== undefined) expect(response.headers[':status']).toBe(status);
    expect(v2.received).toEqual([]);
  });

  test('V2 breaks in the body: the stream is reset, not ended', async () => {
    const v2 = await rawServer((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc');
      setTimeout(() => socket.destroy(), 50);
    });
    const response = await sendRequest(session(await secureGateway(v2.origin)), { ':path': '/api/v2/x' });
    expect(response.code).not.toBe(0);
  });

  test('a stream that the client resets aborts the request to V2', async () => {
    const { v2, gateway } = await securelyServed(() => {});
    const stream = session(gateway).request({ ':path': '/api/v2/x' });
    stream.on('error', () => {});
    await until(() => v2.received.length === 1 && v2.received[0] !== '');
    stream.close(8);
    await until(() => v2.sockets[0]?.destroyed === true);
    expect((await gateway.entry()).status).toBe(0);
  });
});

test.each([
  ['http/1.0 alone, as `curl -0` offers', ['http/1.0'], 'HTTP/1.0'],
  ['no protocol at all', [], 'HTTP/1.1'],
  ['an unknown protocol beside HTTP/1.1', ['spdy/3', 'http/1.1'], 'HTTP/1.1'],
])('over TLS, a client that offers %s is served', async (_what, protocols, version) => {
  const { gateway } = await securelyServed(ok('"old"'));
  const client = tlsConnect({
    host: 'localhost',
    port: gateway.port,
    ca: ca.cert,
    ...(protocols.length > 0 && { ALPNProtocols: protocols }),
  });
  await once(client, 'secureConnect');
  client.write(`GET /api/v2/x ${version}\r\nHost: g\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of client) text += String(chunk);
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*"old"$/);
});

// OpenSSL reports an end without `close_notify` as an error: the response could be cut off (RFC 8446 §6.1).
test.each([10, 3_000_000])(
  'over TLS, the gateway says that its last response has ended: %i bytes',
  async (length) => {
    const body = JSON.stringify('x'.repeat(length));
    const { gateway } = await securelyServed(ok(body));
    const client = spawn('openssl', ['s_client', '-connect', `localhost:${gateway.port}`, '-quiet']);
    client.stdin.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n');
    const said = text(client.stderr);
    expect((await text(client.stdout)).endsWith(body)).toBe(true);
    expect(await said).not.toMatch(/unexpected eof|errno/i);
  },
);

test('over TLS, a client that offers only unknown protocols is refused in the handshake', async () => {
  const { gateway } = await securelyServed();
  const client = tlsConnect({
    host: 'localhost',
    port: gateway.port,
    ca: ca.cert,
    ALPNProtocols: ['spdy/3'],
  });
  const [error] = (await once(client, 'error')) as [Error];
  expect(error.message).toMatch(/no application protocol/i);
});

test('renewed certificates hold for new connections, and existing connections serve on', async () => {
  const { gateway } = await securelyServed();
  const old = session(gateway);
  expect((await sendRequest(old, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
  const visited = tlsConnect({ host: 'localhost', port: gateway.port, ca: ca.cert });
  const [ticket] = (await once(visited, 'session')) as [Buffer];
  visited.destroy();
  const renewed = certificate({ name: 'gateway renewed', hosts: ['localhost'], issuer: ca });
  gateway.server.renew({ cert: renewed.cert, key: renewed.key });
  const back = tlsConnect({ host: 'localhost', port: gateway.port, ca: ca.cert, session: ticket });
  await once(back, 'secureConnect');
  expect(back.isSessionReused()).toBe(true);
  back.destroy();
  const fresh = tlsConnect({ host: 'localhost', port: gateway.port, ca: ca.cert });
  await once(fresh, 'secureConnect');
  expect(fresh.getPeerCertificate().subject.CN).toBe('gateway renewed');
  fresh.destroy();
  expect((await sendRequest(old, { ':path': '/api/v2/x' })).headers[':status']).toBe(200);
});
