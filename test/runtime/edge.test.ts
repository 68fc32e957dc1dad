/** @module-tag wrangler */
import { createHash } from 'node:crypto';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { EdgeServer } from '../../src/edge/gateway.ts';
import type { DataPoint, EdgeBindings } from '../../src/edge/bindings.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok, type RawResponse, type RawServer, rawServer } from '../support/raw-server.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { until } from '../support/until.ts';
import { bundleWorker, type RunningWorkerd, startWorkerd } from '../support/workerd.ts';
import { constants } from '../../src/settings/settings.ts';

let file = '';

beforeAll(async () => {
  const bundle = await bundleWorker(fileURLToPath(new URL('../../config/wrangler.jsonc', import.meta.url)));
  ({ file } = bundle);
});

/** A worker in workerd before a V2 that speaks bytes. */
interface Edge extends RunningWorkerd {
  readonly v2: RawServer;
  entry(count?: number): Promise<Entry>;
}

async function edgeFor(
  response: RawResponse,
  variables: Readonly<Record<string, string>> = {},
): Promise<Edge> {
  const v2 = await rawServer(response);
  const worker = await startWorkerd(file, {
    GATEWAY_UPSTREAM: v2.origin,
    GATEWAY_CLIENT_SECRET: 'a secret of the tests',
    ...variables,
  });
  const entries = (): Entry[] =>
    worker.lines.filter((line) => line.startsWith('{"time"')).map((line) => JSON.parse(line) as Entry);
  return {
    ...worker,
    v2,
    entry: async (count = 1) => {
      await until(() => entries().length >= count);
      return entries()[count - 1] as Entry;
    },
  };
}

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: a\r\n\r\n';
const order = (headers: string, body: Uint8Array | string): string =>
  `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n${headers}Content-Length: ${body.length}\r\n\r\n${Buffer.from(body).toString('latin1')}`;

// library/bundle-sizes.system.test.ts has its limit.
test('the bundle that Wrangler makes holds no YAML and no zod', () => {
  expect(readFileSync(file, 'utf8')).not.toMatch(/ZodError|YAMLParseError/);
});

test('a multipart upload streams: its fields are rewritten, its file crosses, and V2 reads its start before its end', async () => {
  const { port, v2 } = await edgeFor((socket, request) => {
    if (request.endsWith('0\r\n\r\n')) socket.write(ok());
  });
  const head = `--B\r\nContent-Disposition: form-data; name="data[name]"\r\n\r\nA\r\n--B\r\nContent-Disposition: form-data; name="data[plan]"; filename="a"\r\n\r\n`;
  const tail = '\r\n--B--\r\n';
  const size = 2_000_000;
  const client = rawClient(port);
  client.write(
    `POST /api/v1/clients HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=B\r\nContent-Length: ${head.length + size + tail.length}\r\n\r\n${head}${'x'.repeat(size)}`,
  );
  await until(() => v2.received.join('').includes('xxxx'));
  client.write(tail);
  expect(statusOf(await client.until(/\r\n\r\n/))).toBe(200);
  const received = v2.received.join('');
  expect(received).toContain('name="name"\r\n\r\nA\r\n');
  expect(received).toContain('name="plan"; filename="a"');
  expect(received.split('x').length).toBeGreaterThan(size);
  client.socket.destroy();
});

test('white space before a response crosses at once', async () => {
  const { port, v2 } = await edgeFor((socket) =>
    socket.write(
      'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n',
    ),
  );
  const client = rawClient(port);
  client.write('GET /api/v1/orders/post_productions/7 HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await client.until(/\r\n1\r\n \r\n/);
  const body = '{"data":{"highlight_type":"day"}}';
  v2.sockets[0]?.write(`${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`);
  expect((await client.until(/0\r\n\r\n$/)).text).toContain('{"data":{"transition_type":"day"}}');
  client.socket.destroy();
});

describe('the gateway keeps its promises', () => {
  test('V1’s description is derived from V2’s', async () => {
    const v2 =
      '{"openapi":"3.1.0","info":{},"paths":{"/api/v2/heartbeat":{"get":{}}},"x":9223372036854775807}';
    const edge = await edgeFor((socket) => socket.write(ok(v2)));
    const get = (headers = ''): Promise<{ readonly text: string }> =>
      exchange(edge.port, `GET /api/v1/openapi.json HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
    const { text } = await get('Authorization: Bearer k\r\nIf-None-Match: "x"\r\n');
    expect(text).toMatch(/"paths":\{"\/api\/v1\/heartbeat":\{"get":\{.*"x":9223372036854775807\}/s);
    expect(edge.v2.received[0]).toMatch(/^GET \/api\/v2\/openapi\.json /);
    expect(edge.v2.received[0]).not.toMatch(/if-none-match/i);
    const tag = /\r\netag: ([^\r]+)/i.exec(text)?.[1] ?? '';
    expect((await get(`If-None-Match: ${tag}\r\n`)).text).toMatch(/^HTTP\/1\.1 304 [^]*\r\n\r\n$/);
  });

  test('a body in gzip and in both kinds of deflate is decoded and rewritten', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    for (const [coding, encode] of [
      ['gzip', gzipSync],
      ['deflate', deflateSync],
      ['deflate', deflateRawSync],
    ] as const) {
      const body = encode('{"data":{"name":"A"}}');
      const { text } = await exchange(edge.port, order(`Content-Encoding: ${coding}\r\n`, body));
      expect([coding, text]).toEqual([coding, expect.stringMatching(/^HTTP\/1\.1 200 /)]);
    }
    const received = edge.v2.received.join('');
    expect(received.split('\r\n\r\n{"name":"A"}')).toHaveLength(4);
    expect(received).not.toMatch(/content-encoding/i);
  });

  test('a coded body that is a bomb, no gzip or half of a stream is refused, and nothing is sent', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    for (const [body, status, code] of [
      [gzipSync(`{"data":"${'x'.repeat(12_000_000)}"}`), 413, 'body-too-large'],
      [Buffer.from('nonsense'), 400, 'undecodable-body'],
      [gzipSync('{"data":{}}').subarray(0, 20), 400, 'undecodable-body'],
    ] as const) {
      const { text } = await exchange(edge.port, order('Content-Encoding: gzip\r\n', body));
      expect(text).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [^]*x-gateway-error: ${code}`));
    }
    expect(edge.v2.received.join('')).toBe('');
  });

  test('a wrong digest is refused, and a right one is removed with the body that it describes', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const body = '{"data":{"name":"A"}}';
    const sum = (algorithm: string, text: string): string =>
      createHash(algorithm).update(text).digest('base64');
    for (const [name, valueOf] of [
      ['Content-MD5', (text: string) => sum('md5', text)],
      ['Digest', (text: string) => `SHA=${sum('sha1', text)}`],
      ['Content-Digest', (text: string) => `sha-512=:${sum('sha512', text)}:`],
    ] as const) {
      const right = await exchange(edge.port, order(`${name}: ${valueOf(body)}\r\n`, body));
      expect([name, statusOf(right)]).toEqual([name, 200]);
      const wrong = await exchange(edge.port, order(`${name}: ${valueOf('{}')}\r\n`, body));
      expect(wrong.text).toMatch(/^HTTP\/1\.1 400 [^]*x-gateway-error: digest-mismatch\r\n/i);
    }
    expect(edge.v2.received.join('').match(/POST /g)).toHaveLength(3);
    expect(edge.v2.received.join('')).not.toMatch(/digest|md5/i);
    expect(await edge.entry(2)).toMatchObject({ verdict: 'refused', failure: 'digest-mismatch' });
  });

  // An attacker hopes that two keys in one request are read differently by the gateway and by V2.
  test('a header that must not be there twice is refused, though the platform joins its lines', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    for (const lines of [
      'Authorization: Bearer a\r\nAuthorization: Bearer b\r\n',
      'X-Api-Version: 2025-01-01\r\nx-api-version: 2026-01-01\r\n',
      'Host: b\r\n',
    ]) {
      const response = await exchange(edge.port, `GET /api/v2/x HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
      expect(response.text).toMatch(/^HTTP\/1\.1 400 /);
    }
    expect(edge.v2.received.join('')).toBe('');
  });

  test('lines of cookies are joined by a semicolon, and a comma in a cookie stays', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    for (const version of ['v1', 'v2']) {
      const lines = 'Cookie: a=b\r\nCookie: c=1, 2; d=e\r\ncookie: f=g\r\n';
      await exchange(edge.port, `GET /api/${version}/x HTTP/1.1\r\nHost: a\r\n${lines}\r\n`);
    }
    const cookies = edge.v2.received.join('').match(/(?<=\r\ncookie: )[^\r]*/gi);
    expect(cookies).toEqual(['a=b; c=1, 2; d=e; f=g', 'a=b; c=1, 2; d=e; f=g']);
  });

  // An attacker hopes that the address is normalised after it was judged.
  test('a target that two readers could read differently reaches no service, and others cross byte for byte', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const get = (target: string): Promise<{ readonly text: string }> =>
      exchange(edge.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    for (const target of [
      '/api/v1/../v2/x',
      '/api/v1/%2e%2e/v2/x',
      '/api/v2/a%2f..',
      '//evil/api/v2/x',
      '/api/v2/..;/b',
      '/api/v3/x',
    ])
      expect([target, (await get(target)).text]).toEqual([
        target,
        expect.stringMatching(/^HTTP\/1\.1 4\d\d /),
      ]);
    expect(edge.v2.received.join('')).toBe('');
    for (const target of ['/api/v2/a%2fb', '/api/v2/a;b', '/api/v2/a//b']) {
      await get(target);
      expect(edge.v2.received.join('')).toContain(`GET ${target} HTTP/1.1\r\n`);
    }
  });

  test('a coded response crosses still coded, and cookies stay apart', async () => {
    const body = gzipSync('{"data":{}}');
    const edge = await edgeFor((socket) => {
      socket.write(
        `HTTP/1.1 200 Fine\r\nContent-Encoding: gzip\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: ${body.length}\r\n\r\n`,
      );
      socket.write(body);
    });
    const { text } = await exchange(
      edge.port,
      'GET /api/v2/x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n',
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 Fine\r\n/);
    expect(text.match(/set-cookie: /gi)).toHaveLength(2);
    expect(Buffer.from(text.slice(text.indexOf('\r\n\r\n') + 4), 'latin1')).toEqual(body);
  });

  test('a response streams: its first part is there before V2 has sent the last', async () => {
    const edge = await edgeFor((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n');
    });
    const client = rawClient(edge.port);
    client.write(GET);
    expect((await client.until(/first/)).text).toMatch(/first/);
    edge.v2.sockets[0]?.write('4\r\nlast\r\n0\r\n\r\n');
    expect((await client.until(/\r\n0\r\n\r\n$/)).text).toMatch(/last/);
  });

  test('an upload of 96 MiB crosses without being held', async () => {
    let bytes = 0;
    const edge = await edgeFor(() => {});
    edge.v2.server.removeAllListeners('connection');
    edge.v2.server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > 96 * 1024 * 1024) socket.end(ok());
      });
    });
    const before = residentBytes(edge.pid);
    const client = rawClient(edge.port);
    client.write(`PUT /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${96 * 1024 * 1024}\r\n\r\n`);
    const part = Buffer.alloc(1024 * 1024, 'x');
    let highest = 0;
    for (let sent = 0; sent < 96; sent += 1) {
      if (!client.socket.write(part)) {
        await new Promise((resolve) => {
          client.socket.once('drain', resolve);
        });
      }
      highest = Math.max(highest, residentBytes(edge.pid));
    }
    expect((await client.until(/200 OK/)).text).toMatch(/^HTTP\/1\.1 200 OK/);
    client.socket.destroy();
    expect(highest - before).toBeLessThan(64 * 1024 * 1024);
  });

  test('a response that breaks off breaks the connection, so that no client takes the part for the whole', async () => {
    const edge = await edgeFor((socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\nabc'),
    );
    const client = rawClient(edge.port);
    client.write(GET);
    const { text, closed } = await client.end();
    expect(closed).toBe(true);
    expect(text).toMatch(/^HTTP\/1\.1 200 [^]*\r\nContent-Length: 10\r\n[^]*\r\n\r\nabc$/i);
    expect(await edge.entry(1)).toMatchObject({ status: 200, responseBytes: 3, failure: 'upstream-broken' });
    // What would be rewritten was not begun: the client learns it from the status.
    const collected = await exchange(
      edge.port,
      'GET /api/v1/orders/post_productions/1 HTTP/1.1\r\nHost: a\r\n\r\n',
    );
    expect(collected.text).toMatch(/^HTTP\/1\.1 502 [^]*\r\nx-gateway-error: upstream-closed\r\n/);
    expect(await edge.entry(2)).toMatchObject({ status: 502, failure: 'upstream-closed' });
  });

  test('a long response crosses whole and is counted by its length; one that breaks off breaks the connection, and is logged', async () => {
    const body = 'x'.repeat(100_000);
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`;
    let sent = head + body;
    const edge = await edgeFor(
      (socket) => void (sent === head + body ? socket.write(sent) : socket.end(sent)),
    );
    for (const path of ['/api/v2/x', '/api/v1/x']) {
      const { text } = await exchange(edge.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
      expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toBe(body);
    }
    expect(await edge.entry(2)).toMatchObject({ status: 200, responseBytes: 100_000 });
    sent = head + body.slice(1);
    const client = rawClient(edge.port);
    client.write(GET);
    const { text, closed } = await client.end();
    expect([closed, text.endsWith(body)]).toEqual([true, false]);
    expect(await edge.entry(3)).toMatchObject({ status: 200, responseBytes: 0, failure: 'upstream-broken' });
  });

  test('a client that goes away in the middle of a long response ends the request to V2, and is in the log', async () => {
    const edge = await edgeFor((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n${'x'.repeat(1000)}`);
      const timer = setInterval(() => socket.write('parts'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const client = rawClient(edge.port);
    client.write(GET);
    await client.until(/parts/);
    client.socket.destroy();
    const entry = await edge.entry();
    expect(entry).toMatchObject({ status: 200, verdict: 'passed', incomplete: true });
    expect(entry.failure).toBeUndefined();
    await until(() => edge.v2.sockets.every((socket) => socket.destroyed));
  });

  // The constructor of `Response` rejects these heads, and the exchange waited for ever.
  test('a response head that cannot be sent is a 502, and keeps no place', async () => {
    const heads = [
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      'HTTP/1.1 600 Odd\r\nContent-Length: 2\r\n\r\n{}',
      'HTTP/1.1 999 Odd\r\nContent-Length: 2\r\n\r\n{}',
      'HTTP/1.1 200 OK\r\nContent-Length: 9007199254740993\r\n\r\n{}',
    ];
    let head: string | undefined;
    const edge = await edgeFor((socket) => socket.write(head ?? ok()), { GATEWAY_MAX_IN_FLIGHT: '1' });
    const get = async (path: string): Promise<string> =>
      (await exchange(edge.port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)).text;
    for (const odd of heads) {
      head = odd;
      for (const path of ['/api/v2/odd', '/api/v1/odd'])
        expect([odd, await get(path)]).toEqual([
          odd,
          expect.stringMatching(/^HTTP\/1\.1 502 [^]*x-gateway-error: upstream-invalid/),
        ]);
      head = undefined;
      expect(await get('/api/v2/x')).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test('a client that goes away in the middle ends the request to V2, and is in the log', async () => {
    const edge = await edgeFor((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      const timer = setInterval(() => socket.write('5\r\nparts\r\n'), 10);
      socket.on('close', () => clearInterval(timer));
    });
    const client = rawClient(edge.port);
    client.write(GET);
    await client.until(/parts/);
    client.socket.destroy();
    expect(await edge.entry()).toMatchObject({ status: 200, verdict: 'passed' });
    await until(() => edge.v2.sockets.every((socket) => socket.destroyed));
  });

  test.each([
    ['with its length', 'Content-Length: 100\r\n\r\nabc', 3],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n', 3],
    // Bytes that the platform itself sends are not counted.
    ['that the platform sends', 'Content-Length: 100000\r\n\r\nabc', 0],
  ])(
    'clients that give up an upload %s do not count as a failure of V2, and V2 takes no part for the whole',
    async (_, upload, bytesIn) => {
      const edge = await edgeFor((socket) => socket.write(ok()));
      for (let count = 1; count <= constants.breakerFailures + 1; count += 1) {
        const client = rawClient(edge.port);
        client.write(`PUT /api/v2/x HTTP/1.1\r\nHost: a\r\n${upload}`);
        await until(() => edge.v2.sockets.length >= count);
        await sleep(50);
        client.socket.destroy();
        const entry = await edge.entry(count);
        expect(entry).toMatchObject({ status: 0, bytesIn });
        expect(entry.failure).toBeUndefined();
        await until(() => edge.v2.sockets.every(({ destroyed }) => destroyed));
      }
      expect(edge.v2.received.join('')).not.toMatch(/\r\n0\r\n/);
      const next = await exchange(edge.port, GET);
      expect(next.text).toMatch(/^HTTP\/1\.1 200 /);
    },
  );

  test.each([
    ['with its length', 'Content-Length: 6', 'x'],
    ['in chunks', 'Transfer-Encoding: chunked', '1\r\nx\r\n'],
  ])('an upload %s may take longer than V2’s first byte', async (_, framing, part) => {
    const edge = await edgeFor((socket) => socket.write(ok()), { GATEWAY_UPSTREAM_HEADERS_TIMEOUT: '400' });
    const client = rawClient(edge.port);
    client.write(`PUT /api/v2/x HTTP/1.1\r\nHost: a\r\n${framing}\r\n\r\n`);
    for (let sent = 0; sent < 6; sent += 1) {
      await sleep(150);
      client.write(part);
    }
    if (part.length > 1) client.write('0\r\n\r\n');
    expect((await client.until(/\r\n\r\n/)).text).toMatch(/^HTTP\/1\.1 200 /);
    expect(await edge.entry()).toMatchObject({ status: 200, bytesIn: 6 });
  });

  test('a V2 that does not respond in its time, which begins once an upload is whole, is a 504', async () => {
    const edge = await edgeFor(() => {}, { GATEWAY_UPSTREAM_HEADERS_TIMEOUT: '200' });
    const put = (length: number): string =>
      `PUT /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${length}\r\n\r\n${'x'.repeat(length)}`;
    for (const rest of [put(3), put(10_000), GET])
      expect((await exchange(edge.port, rest)).text).toMatch(/^HTTP\/1\.1 504 /);
  });

  test('a client that stops in the middle of an upload is a 408', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()), { GATEWAY_CLIENT_BODY_TIMEOUT: '300' });
    const client = rawClient(edge.port);
    client.write('PUT /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nabc');
    expect((await client.until(/client-timeout/)).text).toMatch(/^HTTP\/1\.1 408 /);
    expect(await edge.entry()).toMatchObject({ failure: 'client-timeout', bytesIn: 3 });
  });

  test.each([
    ['with its length', 'Content-Length: 1000\r\n\r\nabc'],
    ['in chunks', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
    ['that the platform sends', 'Content-Length: 100000\r\n\r\nabc'],
  ])('a response of a V2 that refuses an upload %s early reaches the client', async (_, upload) => {
    const edge = await edgeFor(() => {});
    edge.v2.server.removeAllListeners('connection');
    edge.v2.server.on('connection', (socket) => {
      socket.on('error', () => {});
      socket.once('data', () =>
        socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 2\r\n\r\n{}'),
      );
    });
    const client = rawClient(edge.port);
    client.write(`PUT /api/v2/x HTTP/1.1\r\nHost: a\r\n${upload}`);
    expect((await client.until(/\{\}/)).text).toMatch(/^HTTP\/1\.1 413 /);
  });

  test.each([
    ['POST', 1],
    ['GET', 2],
  ])('a V2 that hangs up on %s is a 502, and gets %d requests', async (method, times) => {
    const edge = await edgeFor((socket) => socket.destroy());
    const response = await exchange(
      edge.port,
      `${method} /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`,
    );
    expect(response.text).toMatch(/^HTTP\/1\.1 502 /);
    expect(edge.v2.received).toHaveLength(times);
  });

  test('faults in the settings refuse every request, and are all reported to the operator', async () => {
    const edge = await edgeFor(() => {}, { GATEWAY_UPSTREAM: 'ftp://x', GATEWAY_DRIAN: '1' });
    const response = await exchange(edge.port, GET);
    expect(response.text).toMatch(/^HTTP\/1\.1 500 /);
    expect(response.text).not.toContain('ftp');
    await until(() => edge.lines.some((line) => line.includes('GATEWAY_DRIAN')));
    expect(edge.lines.some((line) => line.includes('"msg":"GATEWAY_UPSTREAM must be'))).toBe(true);
  });
});

/** Rows of the README's table: each is the measured behaviour of workerd. */
describe('documented limits of the platform', () => {
  test('names are lower-cased and sorted, and lines of one name joined', async () => {
    const edge = await edgeFor((socket) => socket.write(ok('{}', 'X-Two: a\r\nX-Two: b\r\n')));
    const { text } = await exchange(
      edge.port,
      'GET /api/v2/x HTTP/1.1\r\nHost: a\r\nX-Two: 1\r\nX-A: 0\r\nx-two: 2\r\n\r\n',
    );
    expect(edge.v2.received[0]).toMatch(/\r\nx-a: 0\r\nx-two: 1, 2\r\n/);
    expect(text).toMatch(/\r\nx-two: a, b\r\n/);
  });

  test('ambiguous framing is read and not refused, but the request to V2 gets new framing', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const smuggled = 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n';
    const response = await exchange(edge.port, `PUT /api/v2/x HTTP/1.1\r\nHost: a\r\n${smuggled}`);
    expect(response.text).toMatch(/^HTTP\/1\.1 200 /);
    expect(response.text).toMatch(/\r\nConnection: close\r\n/);
    expect(edge.v2.received.join('')).toMatch(/\r\nTransfer-Encoding: chunked\r\n/);
    expect(edge.v2.received.join('')).not.toMatch(/content-length/i);
  });

  test('interim responses and trailers end at the worker', async () => {
    const edge = await edgeFor((socket) =>
      socket.write(
        'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Sum: 7\r\n\r\n',
      ),
    );
    const client = rawClient(edge.port);
    client.write(GET);
    const { text } = await client.until(/\r\n0\r\n/);
    expect(text).not.toMatch(/103|x-sum/i);
  });

  test.each([
    ['client', 'GATEWAY_CLIENT_BODY_TIMEOUT'],
    ['service', 'GATEWAY_UPSTREAM_BODY_TIMEOUT'],
  ])('a body that the platform itself forwards may pause as long as its %s does', async (who, setting) => {
    const [body, pause] = ['x'.repeat(10_000), 1000];
    const edge = await edgeFor(
      (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(1)}`);
        setTimeout(() => socket.write('x'), who === 'service' ? pause : 0);
      },
      { [setting]: '200' },
    );
    const client = rawClient(edge.port);
    client.write(
      `PUT /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(1)}`,
    );
    await sleep(who === 'client' ? pause : 0);
    client.write('x');
    expect((await client.until(/x{10000}/)).text).toMatch(/^HTTP\/1\.1 200 /);
    expect((await edge.entry()).failure).toBeUndefined();
  });

  test('a value that is not UTF-8 is lost, so it is refused; UTF-8 crosses', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const requestWith = (value: string): string =>
      `GET /api/v2/x HTTP/1.1\r\nHost: a\r\nX-Name: ${value}\r\n\r\n`;
    expect((await exchange(edge.port, requestWith('caf\xe9'))).text).toMatch(/^HTTP\/1\.1 400 /);
    expect((await exchange(edge.port, requestWith('caf\xc3\xa9'))).text).toMatch(/^HTTP\/1\.1 200 /);
    expect(edge.v2.received.join('')).toContain('caf\xc3\xa9');
  });

  test('a refused connection cannot be told from a broken one, so only idempotent requests are sent again', async () => {
    const edge = await edgeFor(() => {}, { GATEWAY_UPSTREAM: 'http://127.0.0.1:1' });
    expect((await exchange(edge.port, order('', '{}'))).text).toContain('x-gateway-error: upstream-closed');
    expect(await edge.entry()).toMatchObject({
      failure: 'upstream-closed',
      cause: 'Network connection lost.',
    });
  });

  test('that a client left before the response begins is noticed only when the response begins', async () => {
    const edge = await edgeFor(() => {});
    const client = rawClient(edge.port);
    client.write(GET);
    await until(() => (edge.v2.received[0] ?? '') !== '');
    client.socket.destroy();
    await sleep(200);
    expect(edge.v2.sockets[0]?.destroyed).toBe(false);
    edge.v2.sockets[0]?.write(ok());
    expect((await edge.entry()).verdict).toBe('passed');
  });

  test('Brotli, which Workers cannot decode, is refused with the supported codings', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const body = brotliCompressSync('{"data":{}}');
    const response = await exchange(edge.port, order('Content-Encoding: br\r\n', body));
    expect(response.text).toMatch(/^HTTP\/1\.1 415 [^]*\r\naccept-encoding: gzip, deflate\r\n/i);
    expect(edge.v2.received.join('')).toBe('');
  });

  test('gzip in several members cannot be decoded, and is refused', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const body = Buffer.concat([gzipSync('{"data":'), gzipSync('{}}')]);
    const response = await exchange(edge.port, order('Content-Encoding: gzip\r\n', body));
    expect(response.text).toMatch(/^HTTP\/1\.1 400 [^]*\r\nx-gateway-error: undecodable-body\r\n/i);
    expect(edge.v2.received.join('')).toBe('');
  });

  test('a few characters of a target are percent-encoded, or refused by the platform', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const get = (target: string): Promise<{ readonly text: string }> =>
      exchange(edge.port, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await get(`/api/v2/"{}^'|[]!$()*,;:@~?{}^'|[]!$()*,;:@~\``);
    expect(edge.v2.received[0]?.split(' ')[1]).toBe(
      "/api/v2/%22%7B%7D%5E'|[]!$()*,;:@~?{}^%27|[]!$()*,;:@~`",
    );
    for (const target of ['/api/v2/<', '/api/v2/>', '/api/v2/`', '/api/v2/?<', '/api/v2/?>', '/api/v2/?"'])
      expect((await get(target)).text).toMatch(/^HTTP\/1\.1 400 [^]*\r\n\r\ninvalid URI$/);
  });

  test('a GET with a body cannot be sent', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    const response = await exchange(
      edge.port,
      'GET /api/v2/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}',
    );
    expect(response.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(edge.v2.received.join('')).toBe('');
  });

  test('a fragment is dropped, and an absolute address read as a path', async () => {
    const edge = await edgeFor((socket) => socket.write(ok()));
    await exchange(edge.port, 'GET http://evil/api/v2/x#y HTTP/1.1\r\nHost: a\r\n\r\n');
    expect(edge.v2.received[0]).toMatch(/^GET \/api\/v2\/x HTTP\/1\.1\r\n/);
  });
});

test('npm run edge serves the worker before the embedded V2', async () => {
  const root = fileURLToPath(new URL('../../', import.meta.url));
  const child = spawn(
    process.execPath,
    ['config/edge.ts', '--ip', '127.0.0.1', '--port', '0', '--inspector-port', '0'],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  }
  const exit = once(child, 'exit');
  const ready = /Ready on http:\/\/127\.0\.0\.1:(\d+)/;
  for (let wait = 0; wait < 400 && !ready.test(said) && child.exitCode === null; wait += 1) {
    await sleep(100);
  }
  const response = await exchange(
    Number(ready.exec(said)?.[1]),
    order('Authorization: Bearer k\r\n', '{"data":{"name":"A"}}'),
    15_000,
  );
  expect(response.text).toMatch(/^HTTP\/1\.1 201 /);
  const token = /GATEWAY_ADMIN_TOKEN=(\w+) /.exec(said)?.[1] ?? '';
  const rollout = await fetch(`http://localhost:${ready.exec(said)?.[1]}/rollout`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"mode":"observe"}',
  });
  expect(await rollout.json()).toMatchObject({ default: { mode: 'observe', from: 'operator' } });
  child.kill('SIGTERM');
  await exit;
});

describe('bindings', () => {
  test('every entry goes to the queue and to Analytics Engine, and the response waits for neither', async () => {
    const v2 = await rawServer((socket) => socket.write(ok()));
    const queued: Entry[] = [];
    const points: DataPoint[] = [];
    const work: Promise<unknown>[] = [];
    const bindings: EdgeBindings & Record<string, unknown> = {
      GATEWAY_UPSTREAM: v2.origin,
      GATEWAY_CLIENT_SECRET: 'a secret of the tests',
      REWRITE_LOG_QUEUE: {
        send: (entry) => {
          queued.push(entry);
          return Promise.reject(new Error('the queue is full'));
        },
      },
      REWRITE_LOG_ANALYTICS: { writeDataPoint: (point) => void points.push(point) },
    };
    const lines: string[] = [];
    const server = new EdgeServer({
      bindings,
      ruleBook: testRuleBook(),
      print: (line) => void lines.push(line),
      later: (promise) => void work.push(promise),
    });
    onTestFinished(async () => {
      await Promise.allSettled(work);
    });
    const request = new Request('http://a/api/v1/clients', {
      method: 'POST',
      headers: { Authorization: 'Bearer key', 'Content-Type': 'application/json', Host: 'a' },
      body: '{"data":{"name":"A"}}',
    });
    request.headers.set('host', 'a');
    const response = await server.fetch(request);
    expect(await response.text()).toBe('{"data":{}}');
    const logged = (): string | undefined => lines.find((line) => line.includes('"route":'));
    await until(() => logged() !== undefined);
    await Promise.all(work);
    const entry = JSON.parse(logged() ?? '') as Entry;
    expect(queued).toEqual([entry]);
    expect(points[0]).toMatchObject({
      indexes: [entry.client],
      blobs: ['migrate', 'rewritten', 'create_client', '', 'body-wrapper', 'absent', entry.ruleBook, 'POST'],
    });
  });
});

function residentBytes(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
}
