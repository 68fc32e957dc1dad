import { createServer, type IncomingMessage } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gatewayFor } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { secureGateway, sendRequest, session } from '../support/secure-gateway.ts';
import { served } from '../support/served.ts';

const linesNamed = (name: string, text: string | undefined): string[] =>
  (text ?? '')
    .split('\r\n\r\n', 1)
    .join('')
    .split('\r\n')
    .filter((line) => line.toLowerCase().startsWith(`${name}:`));

const get = (target: string, fields = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: g\r\n${fields}Connection: close\r\n\r\n`;

describe('Via (RFC 9110 §7.6.3)', () => {
  test.each(['/api/v2/x', '/api/v1/x'])(
    '%s: the gateway adds its own after existing ones, in both directions',
    async (target) => {
      const { v2, send } = await served(ok().replace('\r\n', '\r\nVia: 1.0 old\r\n'));
      const { text } = await send(get(target, 'VIA: 1.1 a (b, c)\r\nX: y\r\nvia: 2 d\r\n'));
      expect(linesNamed('via', v2.received[0])).toEqual([
        'VIA: 1.1 a (b, c)',
        'via: 2 d',
        'via: 1.1 capture-gateway',
      ]);
      expect(linesNamed('via', text)).toEqual(['Via: 1.0 old', 'Via: 1.1 capture-gateway']);
    },
  );

  test.each(['/api/v2/x', '/api/v1/x'])(
    '%s: names the version of a response over HTTP/1.0',
    async (target) => {
      const { send } = await served(ok().replace('HTTP/1.1', 'HTTP/1.0'));
      const { text } = await send(get(target));
      expect(linesNamed('via', text)).toEqual(['Via: 1.0 capture-gateway']);
      expect(linesNamed('date', text)).toHaveLength(1);
    },
  );

  test('no client can remove it with Connection', async () => {
    const { v2, send } = await served();
    const fields = 'Via: 1.1 a\r\nConnection: via\r\n';
    await send(`GET /api/v2/x HTTP/1.1\r\nHost: g\r\n${fields}Connection: close\r\n\r\n`);
    expect(linesNamed('via', v2.received[0])).toEqual(['Via: 1.1 a', 'via: 1.1 capture-gateway']);
  });

  test('a request that was here before is a loop', async () => {
    const { v2, gateway, send } = await served();
    const { text } = await send(get('/api/v1/x', 'Via: 1.1 a\r\nVia: 1.1 capture-gateway\r\n'));
    expect(text).toMatch(/^HTTP\/1\.1 508 [^]*x-gateway-error: loop-detected\r\n/);
    expect(linesNamed('via', text)).toEqual([]);
    expect(v2.received).toEqual([]);
    const { verdict, failure, status } = await gateway.entry();
    expect([verdict, failure, status]).toEqual(['refused', 'loop-detected', 508]);
  });

  test('the name is a setting; with off, none is added or looked for', async () => {
    const named = await served(ok(), { flags: { via: 'edge-1' } });
    await named.send(get('/api/v2/x', 'Via: 1.1 capture-gateway\r\n'));
    expect(linesNamed('via', named.v2.received[0])).toEqual(['Via: 1.1 capture-gateway', 'via: 1.1 edge-1']);
    const off = await served(ok(), { flags: { via: 'off' } });
    const { text } = await off.send(get('/api/v2/x', 'Via: 1.1 off\r\n'));
    expect([linesNamed('via', off.v2.received[0]), linesNamed('via', text)]).toEqual([['Via: 1.1 off'], []]);
  });
});

test('two gateways in front of each other: the request is refused when it comes back', async () => {
  let port = 0;
  const front = createServer((incoming, outgoing) => {
    relay(incoming, port).then(
      ({ status, body }) => outgoing.writeHead(status).end(body),
      () => outgoing.destroy(),
    );
  });
  const gateway = await gatewayFor(`http://127.0.0.1:${await listening(front)}`);
  onTestFinished(() => void front.close());
  ({ port } = gateway);
  expect(statusOf(await exchange(gateway.port, get('/api/v2/x')))).toBe(508);
  expect(gateway.entries().map(({ status }) => status)).toEqual([508, 508]);
});

async function relay(incoming: IncomingMessage, port: number): Promise<{ status: number; body: string }> {
  const via = incoming.headers.via ?? '';
  const { text } = await exchange(port, get(incoming.url ?? '', `Via: ${via}\r\n`));
  return { status: statusOf({ text }), body: text };
}

test('the version in Via is that of the request', async () => {
  const { v2, send } = await served();
  await send('GET /api/v2/x HTTP/1.0\r\nHost: g\r\n\r\n');
  const secure = await secureGateway(v2.origin);
  const response = await sendRequest(session(secure), { ':path': '/api/v2/x' });
  expect(v2.received.join('').match(/via:.*/g)).toEqual([
    'via: 1.0 capture-gateway',
    'via: 2 capture-gateway',
  ]);
  expect(response.headers).toMatchObject({ via: '1.1 capture-gateway' });
});

describe('Date (RFC 9110 §6.6.1)', () => {
  test.each(['/api/v2/x', '/api/v1/x', '/api/v1/clients/1'])(
    '%s gets one if V2 sent none',
    async (target) => {
      const { send } = await served();
      const { text } = await send(get(target));
      const dates = linesNamed('date', text);
      expect(dates).toHaveLength(1);
      expect(Math.abs(Date.parse(dates[0]?.slice(6) ?? '') - Date.now())).toBeLessThan(60_000);
    },
  );

  test.each(['/api/v2/x', '/api/v1/x'])('%s keeps that of V2', async (target) => {
    const date = 'dAtE: Sat, 01 Jan 2000 00:00:00 GMT';
    const { send } = await served(ok().replace('\r\n', `\r\n${date}\r\n`));
    const { text } = await send(get(target));
    expect(linesNamed('date', text)).toEqual([date]);
  });
});

describe('OPTIONS and TRACE', () => {
  const ask = (line: string, fields = ''): string =>
    `${line} HTTP/1.1\r\nHost: g\r\n${fields}Connection: close\r\n\r\n`;

  test.each(['OPTIONS *', 'OPTIONS http://g'])('%s gets 204 from the gateway', async (line) => {
    const { v2, gateway, send } = await served();
    const { text } = await send(ask(line));
    expect(text).toMatch(/^HTTP\/1\.1 204 [^]*Allow: GET, [^]*OPTIONS\r\n/);
    expect(linesNamed('content-length', text)).toEqual([]);
    expect(linesNamed('date', text)).toHaveLength(1);
    expect(v2.received).toEqual([]);
    expect(await gateway.entry()).toMatchObject({ verdict: 'served', status: 204 });
  });

  test.each(['/api/v2/x', '/api/v1/x'])('%s: Max-Forwards is counted down', async (target) => {
    const { v2, send } = await served();
    for (const method of ['OPTIONS', 'TRACE'])
      await send(ask(`${method} ${target}`, 'A: b\r\nMax-Forwards: 10\r\nC: d\r\n'));
    expect(v2.received.join('').match(/max-forwards:.*/gi)).toEqual(['Max-Forwards: 9', 'Max-Forwards: 9']);
  });

  test.each(['0', 'x', '1\r\nMax-Forwards: 2'])(
    'Max-Forwards of a GET is forwarded unchanged: %j',
    async (value) => {
      const { v2, send } = await served();
      await send(ask('GET /api/v2/x', `Max-Forwards: ${value}\r\n`));
      expect(v2.received[0]).toContain(`\r\nMax-Forwards: ${value}\r\n`);
    },
  );
});

test('OPTIONS * over HTTP/2', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const client = session(await secureGateway(v2.origin));
  const asked = await sendRequest(client, { ':method': 'OPTIONS', ':path': '*' });
  const absolute = await sendRequest(client, { ':path': 'https://localhost/api/v2/x' });
  expect([asked.headers[':status'], absolute.headers[':status']]).toEqual([204, 400]);
  expect(v2.received).toEqual([]);
});

describe('the absolute form (RFC 9112 §3.2.2)', () => {
  test.each([
    ['http://g/api/v2/a%2Fb?c=d', 'GET /api/v2/a%2Fb?c=d HTTP/1.1\r\n'],
    ['HTTPS://g/api/v1/x?y', 'GET /api/v2/x?y HTTP/1.1\r\n'],
  ])('%s crosses in origin form', async (target, line) => {
    const { v2, send } = await served();
    expect(statusOf(await send(get(target)))).toBe(200);
    expect(v2.received[0]).toMatch(line);
  });
});

describe('Trailer of a request', () => {
  const chunked = (target: string, body: string): string =>
    `POST ${target} HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\nX-Sum: 7\r\n\r\n`;

  test('crosses with its trailers', async () => {
    const { v2, gateway } = await served();
    const client = rawClient(gateway.port);
    client.write(chunked('/api/v2/x', 'y'.repeat(100_000)));
    expect(statusOf(await client.until(/\}$/))).toBe(200);
    client.socket.destroy();
    const received = v2.received.join('');
    expect(linesNamed('trailer', received)).toEqual(['Trailer: X-Sum']);
    expect(received).toMatch(/\r\n0\r\nX-Sum: 7\r\n\r\n$/);
  });

  test('does not cross without them, when the body is rewritten and has a length', async () => {
    const { v2, gateway } = await served();
    const client = rawClient(gateway.port);
    client.write(chunked('/api/v1/clients', '{"data":{"name":"a"}}'));
    expect(statusOf(await client.until(/\}$/))).toBe(200);
    client.socket.destroy();
    const received = v2.received.join('');
    expect(received).not.toContain('X-Sum');
    expect(linesNamed('trailer', received)).toEqual([]);
    expect(linesNamed('content-length', received)).toHaveLength(1);
  });
});
