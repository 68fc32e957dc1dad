import { describe, expect, test } from 'vitest';
import { exchange } from '../../support/raw-client.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { HEADERS, rawH2, requestHead, RST_STREAM } from '../../support/raw-h2.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { ask, ca, secureGateway, session } from '../../support/secure-gateway.ts';
import { until } from '../../support/until.ts';

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n';

describe('what V2 says and Node would throw at crosses as over HTTP/1.1', () => {
  test.each([
    ['two ETags', 'ETag: "a"\r\netag: "b"\r\n', 'etag'],
    ['two dates', 'Date: a\r\nDate: b\r\n', 'date'],
    ['a name of Object.prototype', 'constructor: x\r\nconstructor: y\r\n', 'constructor'],
    ['a name that sets the prototype', '__proto__: x\r\n__proto__: y\r\n', '__proto__'],
    ['fields of HTTP/1.1 connections', 'HTTP2-Settings: x\r\nx-sum: 1\r\n', 'x-sum'],
  ])('trailers with %s', async (_what, trailers, name) => {
    const v2 = await rawServer((socket) => socket.write(`${CHUNKED}${trailers}\r\n`));
    const gateway = await secureGateway(v2.origin);
    const client = session(gateway);
    const response = await ask(client, { ':path': '/api/v2/x' });
    expect(response).toMatchObject({ body: 'a', code: 0 });
    expect(Object.getOwnPropertyNames(response.trailers ?? {})).toContain(name);
    expect((await ask(client, { ':path': '/api/v2/x' })).body).toBe('a');
    expect(gateway.surprises).toEqual([]);
  });

  test.each(['ETag', 'Date', 'Content-Type', 'Location', 'Retry-After', 'Expires', 'Last-Modified', 'Age'])(
    'two %s in the head of a response',
    async (name) => {
      const v2 = await rawServer((socket) =>
        socket.write(`HTTP/1.1 200 OK\r\n${name}: a\r\n${name}: b\r\nContent-Length: 2\r\n\r\nok`),
      );
      const gateway = await secureGateway(v2.origin);
      const raw = await rawH2(gateway.port, ca.cert);
      raw.head(1, requestHead('/api/v2/x'));
      await until(() => raw.frames.some(({ type, stream }) => type === HEADERS && stream === 1));
      expect(await ask(session(gateway), { ':path': '/api/v2/x' })).toMatchObject({ body: 'ok', code: 0 });
      expect(gateway.surprises).toEqual([]);
    },
  );

  test('a 103 with two ETags, and one that nobody defined', async () => {
    const v2 = await rawServer((socket) =>
      socket.write(`HTTP/1.1 103 Hints\r\nETag: "a"\r\nETag: "b"\r\n\r\nHTTP/1.1 199 X\r\n\r\n${ok('"z"')}`),
    );
    const gateway = await secureGateway(v2.origin);
    const response = await ask(session(gateway), { ':path': '/api/v2/x' });
    expect(response.interim.map((fields) => fields[':status'])).toEqual([103, 199]);
    expect(response.body).toBe('"z"');
    expect(gateway.surprises).toEqual([]);
  });

  test.each([
    ['HTTP/1.1 205 Reset Content\r\nContent-Length: 3\r\n\r\nabc', 205],
    ['HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n', 204],
  ])('a status without content has none: %j', async (text, status) => {
    const v2 = await rawServer((socket) => socket.write(text));
    const gateway = await secureGateway(v2.origin);
    const response = await ask(session(gateway), { ':path': '/api/v2/x' });
    expect(response).toMatchObject({ headers: { ':status': status }, body: '', code: 0 });
    expect(gateway.surprises).toEqual([]);
  });

  test.each(['600', '700', '999'])('a status of no class, %s, is a 502 on every lane', async (status) => {
    const v2 = await rawServer((socket) =>
      socket.write(`HTTP/1.1 ${status} Odd\r\nContent-Length: 2\r\n\r\nok`),
    );
    const secure = await secureGateway(v2.origin);
    expect((await ask(session(secure), { ':path': '/api/v2/x' })).headers[':status']).toBe(502);
    const plain = await gatewayFor(v2.origin);
    for (const odd of ['', 'Expect: 100-continue\r\n']) {
      const { text } = await exchange(plain.port, `GET /api/v2/x HTTP/1.1\r\nHost: g\r\n${odd}\r\n`);
      expect(text).toMatch(/^HTTP\/1\.1 502 [^]*upstream-invalid[^]*\}$/);
    }
    expect([...secure.surprises, ...plain.surprises]).toEqual([]);
  });
});

describe('the head of a request', () => {
  test('fields over the limit get a 431 that the client can read', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await secureGateway(v2.origin);
    const client = session(gateway);
    const large = await ask(client, { ':path': '/api/v2/x', 'x-large': 'v'.repeat(20_000) });
    expect(large.headers).toMatchObject({ ':status': 431, 'x-gateway-error': 'headers-too-large' });
    const fields = Array.from({ length: 300 }, (_, at): [string, string] => [`x-${at}`, 'v']);
    const many = await ask(client, { ':path': '/api/v2/x', ...Object.fromEntries(fields) });
    expect(many.headers[':status']).toBe(431);
    expect(v2.received).toEqual([]);
  });

  test('a refused HEAD has no body', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await secureGateway(v2.origin);
    const response = await ask(session(gateway), { ':path': '/other', ':method': 'HEAD' });
    expect(response).toMatchObject({ headers: { ':status': 404 }, body: '', code: 0 });
    const plain = await gatewayFor(v2.origin);
    for (const odd of ['', 'Expect: 100-continue\r\n']) {
      const { text } = await exchange(plain.port, `HEAD /other HTTP/1.1\r\nHost: g\r\n${odd}\r\n`, 300);
      expect(text).toMatch(/^HTTP\/1\.1 404 [^]*\r\n\r\n$/);
    }
  });
});

describe('what a client does is no bug', () => {
  test('a stream that is cancelled behind its body, before the response to it is written', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const gateway = await secureGateway(v2.origin);
    const raw = await rawH2(gateway.port, ca.cert);
    const cancel = Buffer.from([0, 0, 0, 8]);
    for (let stream = 1; stream < 400; stream += 2) {
      raw.socket.cork();
      raw.head(
        stream,
        [...requestHead('/api/v1/clients', 'POST'), ['content-type', 'application/json']],
        true,
      );
      raw.frame(0, 1, stream, Buffer.from('{"data":1'));
      raw.frame(RST_STREAM, 0, stream, cancel);
      raw.socket.uncork();
      if (stream % 20 === 1) await new Promise((resolve) => void setImmediate(resolve));
    }
    await until(() => gateway.gateway.inFlight === 0);
    expect(gateway.surprises).toEqual([]);
  });
});
