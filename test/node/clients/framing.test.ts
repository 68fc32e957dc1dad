import { describe, expect, test } from 'vitest';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf, ended } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { served } from '../../support/served.ts';

const HEAD = 'POST /api/v2/x HTTP/1.1\r\nHost: g\r\n';

/**
 * Requests with the attack that each is, one for each way in which a request is refused; more are in `http1/http11-cases.ts`. None may reach
 * V2, and each closes the connection.
 */
const refused: readonly (readonly [bytes: string, status: number, attack: string])[] = [
  [
    `${HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    400,
    'two ends of a request (CL.TE)',
  ],
  [
    `${HEAD}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`,
    400,
    'a length twice: some readers join them',
  ],
  [`${HEAD}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`, 501, 'a coding that looks like chunked (TE.TE)'],
  [`${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`, 501, 'a coding that cannot be read'],
  [`${HEAD}Content_Length: 5\r\n\r\n`, 400, 'an alias of Content-Length for servers that follow CGI'],
  [`${HEAD}Transfer_Encoding: chunked\r\n\r\n`, 400, 'an alias of Transfer-Encoding'],
  [`${HEAD}Transfer-Encoding: chunked\r\n\r\nx\r\n`, 400, 'a chunk size that is none'],
  ['POST /api/v2/x HTTP/1.1\r\n\r\n', 400, 'no Host'],
  [
    'POST /api/v2/x HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    400,
    'chunks in HTTP/1.0, which has none',
  ],
  ['POST /api/v2/x HTTP/1.2\r\nHost: g\r\n\r\n', 505, 'a version that does not exist'],
  ['\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400, 'TLS on a plain port'],
  ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'the preface of HTTP/2 without TLS'],
  [`${HEAD}Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n`, 400, 'two keys'],
  [`${HEAD}x-api-version: 2025-01-01\r\nX-API-Version: 2026-01-01\r\n\r\n`, 400, 'two versions'],
  [
    `${HEAD}Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    501,
    'an upgrade: bytes behind it are not HTTP',
  ],
  ['CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n', 501, 'a tunnel'],
  [`${HEAD}Expect: 200-ok\r\n\r\n`, 417, 'an expectation that nobody meets'],
  [`${HEAD}X: ${'y'.repeat(20_000)}\r\n\r\n`, 431, 'a header section beyond the limit'],
  [`${HEAD}${'x: 1\r\n'.repeat(101)}Authorization: k\r\n\r\n`, 431, 'more fields than the limit'],
];

describe('a request that is not one request for everyone is refused, and its connection closes', () => {
  test.each(refused)('%j: %i, %s', async (bytes, status) => {
    const { v2, gateway } = await served();
    const response = await ended(gateway.port, bytes);
    expect(statusOf(response)).toBe(status);
    expect(response.text).toMatch(/\r\nx-gateway-error: /i);
    expect(response.text).toMatch(/\r\nconnection: close\r\n/i);
    expect(response.text).toContain('{"errors":[{"status":"');
    expect(response.closed).toBe(true);
    expect(v2.received.join('')).not.toMatch(/\r\n\r\n[^]*HTTP\/1/);
    expect((await gateway.entry()).verdict).toBe('refused');
  });
});

test('pipelined requests run in order: the second may depend on the first', async () => {
  const order: string[] = [];
  const { gateway } = await served((socket, request) => {
    const target = request.split(' ')[1] ?? '';
    order.push(target);
    const response = (): void => {
      order.push('answered');
      socket.write(ok(`"${target}"`));
    };
    setTimeout(response, target.includes('/slow') ? 100 : 1);
  });
  const client = rawClient(gateway.port);
  const fast = Array.from({ length: 40 }, (_, index) => `/api/v2/fast/${index}`);
  const targets = ['/api/v2/slow', ...fast];
  client.write(
    targets.map((target) => `POST ${target} HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi`).join(''),
  );
  const { text } = await client.until(/fast\/39"$/);
  expect([...text.matchAll(/"(\/api[^"]*)"/g)].map(([, target]) => target)).toEqual(targets);
  expect(order).toEqual(targets.flatMap((target) => [target, 'answered']));
});

test('bytes after a request with Connection: close are not a request: they could be smuggled', async () => {
  const { v2, gateway } = await served();
  const { text, closed } = await ended(
    gateway.port,
    'GET /api/v2/a HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\nGET /api/v2/b HTTP/1.1\r\nHost: g\r\n\r\n',
  );
  expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(1);
  expect(closed).toBe(true);
  expect(v2.received.join('')).not.toContain('/api/v2/b');
});

test('chunks get new framing: extensions and trailers of the client stop here', async () => {
  const { v2, gateway } = await served();
  const response = await exchange(
    gateway.port,
    `${HEAD}Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n02\r\nde\r\n0\r\n\r\n`,
  );
  expect(statusOf(response)).toBe(200);
  expect(v2.received[0]).toMatch(/content-length: 5\r\n\r\nabcde$/);
});

test('a HTTP/1.0 client gets a response that ends with its connection, without chunks', async () => {
  const { gateway } = await served(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n',
  );
  const { text, closed } = await ended(gateway.port, 'GET /api/v2/x HTTP/1.0\r\n\r\n');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:(?!chunked)[^])*\r\n\r\nabc$/);
  expect(closed).toBe(true);
});

test('HEAD, 204 and 304 have no body, and keep the connection', async () => {
  const { gateway } = await served((socket, request) => {
    if (request.startsWith('HEAD'))
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99\r\nETag: "a"\r\n\r\n');
    else if (request.includes('/204')) socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    else socket.write('HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n');
  });
  const client = rawClient(gateway.port);
  client.write('HEAD /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/\r\n\r\n/)).text).toMatch(/Content-Length: 99\r\nETag: "a"\r\n/);
  client.write('GET /api/v2/204 HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/ 204 [^]*\r\n\r\n/)).text).not.toContain('chunked');
  client.write('GET /api/v2/304 HTTP/1.1\r\nHost: g\r\n\r\n');
  const { text, closed } = await client.until(/ 304 [^]*\r\n\r\n/);
  expect(text).toMatch(/ 304 Not Modified\r\nContent-Length: 99\r\n/);
  expect(closed).toBe(false);
});

test('the gateway responds to Expect: 100-continue only when it reads the body, and never forwards it', async () => {
  const { v2, gateway } = await served();
  const client = rawClient(gateway.port);
  client.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
  expect((await client.until(/100 Continue\r\n\r\n/)).text).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
  client.write('hi');
  expect((await client.until(/200 OK[^]*\}$/)).text).toContain('200 OK');
  expect(v2.received[0]).not.toMatch(/expect/i);
  const unwanted = await exchange(
    gateway.port,
    'POST /x HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  );
  expect(unwanted.text).toMatch(/^HTTP\/1\.1 404 /);
});

test('1xx of V2 cross as they come, and trailers too', async () => {
  const { gateway } = await served((socket) => {
    socket.write('HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n');
    setTimeout(() => {
      socket.write(
        'HTTP/1.1 200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nx-sum: 7\r\n\r\n',
      );
    }, 50);
  });
  const client = rawClient(gateway.port);
  client.write('GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
  const { text } = await client.until(/x-sum: 7\r\n\r\n$/);
  expect(text).toMatch(
    /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>; rel=preload\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
  );
  expect(text).toMatch(/Trailer: x-sum\r\n/);
  expect(text).toMatch(/\r\n0\r\nx-sum: 7\r\n\r\n$/);
});

test.each([
  ['', 'read by the gateway itself'],
  ['Transfer-Encoding: chunked\r\n', 'with a body that streams'],
])(
  'trailers that are for one hop stop here, and framing in them breaks the response: %j, %s',
  async (framing) => {
    let trailers = 'Keep-Alive: timeout=9\r\nx-sum: 7\r\nHost: b\r\n';
    const { gateway } = await served((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n${trailers}\r\n`);
    });
    const sendRequest = (): ReturnType<typeof rawClient> => {
      const client = rawClient(gateway.port);
      client.write(`POST /api/v2/x HTTP/1.1\r\nHost: g\r\n${framing}\r\n`);
      if (framing !== '') setTimeout(() => client.write('1\r\na\r\n0\r\n\r\n'), 20);
      return client;
    };
    const { text } = await sendRequest().until(/\r\n0\r\n[^]*\r\n\r\n$/);
    expect(text).toMatch(/\r\n0\r\nx-sum: 7\r\n\r\n$/);
    trailers = 'Content-Length: 9\r\n';
    const broken = await sendRequest().end();
    expect(broken.reset).toBe(true);
  },
);

test('an early response reaches a client that is still sending, and its connection serves on', async () => {
  const v2 = await rawServer(() => {});
  v2.server.on('connection', (socket) => {
    socket.once('data', () => socket.write(ok('"no"').replace('200 OK', '403 Forbidden')));
  });
  const gateway = await gatewayFor(v2.origin);
  const client = rawClient(gateway.port);
  client.write(`${HEAD}Content-Length: 400000\r\n\r\n${'x'.repeat(200_000)}`);
  const early = await client.until(/"no"/);
  expect(statusOf(early)).toBe(403);
  client.write('x'.repeat(200_000));
  client.write('GET /other HTTP/1.1\r\nHost: g\r\n\r\n');
  expect((await client.until(/ 404 /)).text).toMatch(/ 404 /);
});
