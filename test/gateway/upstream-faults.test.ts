import { type AddressInfo, createServer } from 'node:net';
import { once } from 'node:events';
import { createServer as createSecureServer } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { GatewayNotice } from '../../src/gateway/resilience.ts';
import { certificate } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { gatewayFor } from '../support/gateway.ts';
import { socketServer } from '../support/socket-server.ts';
import { ownTime } from '../support/own-time.ts';
import { exchange, rawClient, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { until } from '../support/until.ts';
import { served } from '../support/served.ts';

const GET = 'GET /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n';
const ORDER = '{"data":{"a":1}}';
const post = `POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${ORDER.length}\r\n\r\n${ORDER}`;

const SHORT_CONNECT = { flags: { 'upstream-connect-timeout': '300' } };

describe('V2 cannot be reached', () => {
  test('refused: 502 once the connect timeout is over, and the client does not learn where V2 is', async () => {
    const port = await freePort();
    const gateway = await gatewayFor(`http://127.0.0.1:${port}`, SHORT_CONNECT);
    const response = await exchange(gateway.port, post);
    expect(statusOf(response)).toBe(502);
    expect(response.text).toContain('x-gateway-error: upstream-unreachable');
    expect(response.text).not.toContain(String(port));
    expect(await gateway.entry()).toMatchObject({
      failure: 'upstream-unreachable',
      cause: 'ECONNREFUSED',
    });
    expect((await gateway.entry()).attempts).toBeUndefined();
  });

  test('refused for as long as a response may take: 504, and the log has the cause of the refusals', async () => {
    const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
      flags: { 'upstream-headers-timeout': '300' },
    });
    const response = await exchange(gateway.port, post);
    expect(statusOf(response)).toBe(504);
    expect(response.text).toContain('did not reach the service in time, and sent it nothing');
    expect(await gateway.entry()).toMatchObject({
      failure: 'upstream-timeout',
      cause: 'ECONNREFUSED',
      sent: false,
    });
  });

  test('the circuit is open: an order that is refused has no edits, and its version was not sent', async () => {
    const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
      flags: { ...SHORT_CONNECT.flags, 'breaker-failures': '1', 'breaker-open': '60000' },
    });
    await until(async () => (await exchange(gateway.port, post)).text.includes('circuit-open'));
    const entry = gateway.entries().at(-1);
    expect(entry).toMatchObject({ verdict: 'refused', failure: 'circuit-open', edits: [] });
    expect(entry).not.toHaveProperty('patch');
    expect(entry).not.toHaveProperty('apiVersion');
  });

  test('refused, then back: an order that was not sent yet is sent', async () => {
    const port = await freePort();
    const gateway = await gatewayFor(`http://127.0.0.1:${port}`);
    const response = exchange(gateway.port, post);
    const server = createServer((socket) => {
      socket.on('data', () => socket.write(ok('"late"')));
      socket.on('error', () => {});
    });
    await delay(700);
    server.listen(port, '127.0.0.1');
    onTestFinished(() => void server.close());
    expect((await response).text).toContain('"late"');
  });

  test('its name does not resolve: 502', async () => {
    const gateway = await gatewayFor('http://does-not-exist.invalid:81', SHORT_CONNECT);
    expect(statusOf(await exchange(gateway.port, GET))).toBe(502);
    expect((await gateway.entry()).cause).toMatch(/^E/);
  });

  test('connecting takes too long: 504', async () => {
    // An address for documentation (RFC 5737) swallows packets, or is refused at once where there is no route.
    const gateway = await gatewayFor('http://192.0.2.1:81', { flags: { 'upstream-connect-timeout': '100' } });
    const response = await exchange(gateway.port, GET);
    const entry = await gateway.entry();
    expect(statusOf(response)).toBe(entry.cause === 'no connection in time' ? 504 : 502);
  });
});

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

describe('V2 responds something else', () => {
  test.each([
    ['', 'upstream-closed', 'closed without a word'],
    [`${HEAD}Content-Le`, 'upstream-closed', 'closed in the head'],
    ['HELLO\r\n\r\n', 'upstream-invalid', 'no HTTP'],
    [`${HEAD}Content-Length: x\r\n\r\n`, 'upstream-invalid', 'a length that is none'],
    [`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, 'upstream-invalid', 'two lengths'],
    [`${HEAD}Content-Length: x\r\n${CHUNKED}0\r\n\r\n`, 'upstream-invalid', 'chunks and an invalid length'],
    [`${HEAD}X: ${'y'.repeat(70_000)}\r\n\r\n`, 'upstream-invalid', 'a head beyond the limit'],
    [`${HEAD}${'x: 1\r\n'.repeat(1001)}\r\n`, 'upstream-invalid', 'more fields than the limit'],
  ])('%j: 502 %s, %s', async (bytes, code) => {
    const { v2, gateway, send } = await served((socket) => socket.end(bytes));
    const response = await send(post);
    expect(statusOf(response)).toBe(502);
    expect(response.text).toContain(`x-gateway-error: ${code}\r\n`);
    expect(v2.received.filter((text) => text.includes('POST'))).toHaveLength(1);
    expect(gateway.surprises).toEqual([]);
  });

  test('reset before a response: 502', async () => {
    const { v2, send } = await served((socket) => socket.resetAndDestroy());
    expect(statusOf(await send(post))).toBe(502);
    expect(v2.received).toHaveLength(1);
  });

  test.each(['request', 'accept'])(
    'half-open: if V2 closes its side on %s and goes on reading, the client gets 502, and an order is sent once',
    async (when) => {
      let bytes = '';
      let connections = 0;
      const server = createServer({ allowHalfOpen: true }, (socket) => {
        connections += 1;
        socket.on('error', () => {});
        socket.on('data', (chunk) => {
          bytes += chunk.toString('latin1');
          if (when === 'request') socket.end();
        });
        if (when === 'accept') socket.end();
        onTestFinished(() => void socket.destroy());
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      onTestFinished(() => void server.close());
      const { port } = server.address() as AddressInfo;
      const gateway = await gatewayFor(`http://127.0.0.1:${port}`);
      const response = await exchange(gateway.port, post);
      expect(statusOf(response)).toBe(502);
      expect(bytes.match(/POST /g)?.length ?? 0).toBeLessThanOrEqual(1);
      if (when === 'request') expect(connections).toBe(1);
      expect((await gateway.entry()).status).toBe(502);
    },
  );

  test('closed at a DELETE, and unreachable when it is sent again: the failure does not say that nothing was sent', async () => {
    const notices: GatewayNotice[] = [];
    const { v2, gateway, send } = await served(
      (socket) => {
        v2.server.close();
        socket.destroy();
      },
      {
        ...SHORT_CONNECT,
        parts: { onNotice: (notice) => void notices.push(notice) },
      },
    );
    const response = await send('DELETE /api/v2/x HTTP/1.1\r\nHost: g\r\n\r\n');
    expect(v2.received).toHaveLength(1);
    expect(response.text).toContain('x-gateway-error: upstream-closed\r\n');
    expect(response.text).not.toContain('nothing was sent');
    expect(await gateway.entry()).toMatchObject({ cause: 'ECONNREFUSED', sent: true, attempts: 2 });
    expect(notices).toMatchObject([{ event: 'upstream-fault', fault: { mayHaveArrived: true } }]);
  });

  test('no first byte in time: 504, not sent again', async () => {
    const { v2, gateway, send } = await served(() => {}, { flags: { 'upstream-headers-timeout': '150' } });
    const response = await send(GET);
    expect(statusOf(response)).toBe(504);
    expect(response.text).toContain('it may or may not have carried out the request');
    expect(v2.received).toHaveLength(1);
    expect(await gateway.entry()).toMatchObject({
      failure: 'upstream-timeout',
      cause: 'no response head in time',
    });
    await until(() => v2.sockets[0]?.destroyed === true);
  });

  test('a head that drips: 504 when its time is over, however often a byte comes', async () => {
    const { gateway, send } = await served(
      (socket) => {
        const head = 'HTTP/1.1 200 OK\r\nX: ';
        socket.write(head);
        const drip = setInterval(() => socket.write('y'), 20);
        socket.on('close', () => clearInterval(drip));
      },
      { flags: { 'upstream-headers-timeout': '200' } },
    );
    expect(statusOf(await send(GET))).toBe(504);
    expect((await gateway.entry()).cause).toBe('no response head in time');
  });

  test('an upgrade without a request for one: 502 as an invalid response, and the read is not sent again', async () => {
    const { v2, gateway, send } = await served(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    );
    expect(statusOf(await send(GET))).toBe(502);
    expect(v2.received).toHaveLength(1);
    expect(await gateway.entry()).toMatchObject({
      failure: 'upstream-invalid',
      cause: 'unrequested upgrade',
    });
  });
});

describe('V2 breaks in the body of its response: so does the connection of the client', () => {
  test.each([
    [`${HEAD}Content-Length: 10\r\n\r\nabc`, 'short of its length'],
    [`${HEAD}${CHUNKED}3\r\nabc\r\n`, 'without its last chunk'],
    [`${HEAD}${CHUNKED}3\r\nabc\r\nzz\r\n`, 'with a chunk that is none'],
  ])('%j: %s', async (bytes) => {
    const { gateway } = await served((socket) => {
      socket.write(bytes);
      setTimeout(() => socket.destroy(), 50);
    });
    for (const version of ['1.1', '1.0']) {
      const client = rawClient(gateway.port);
      client.write(GET.replace('1.1', version));
      const { text, closed, reset } = await client.end();
      expect(closed).toBe(true);
      expect(text).not.toMatch(/\r\n0\r\n\r\n$/);
      // Without length and chunks only a reset tells a broken response from a whole one.
      if (!/content-length|chunked/i.test(text)) expect(reset).toBe(true);
    }
    expect(await gateway.entry()).toMatchObject({ failure: 'upstream-broken', status: 200, level: 'error' });
  });

  test('no next byte in time', async () => {
    const { gateway } = await served('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc', {
      flags: { 'upstream-body-timeout': '200' },
    });
    const client = rawClient(gateway.port);
    client.write(GET);
    const { closed, text } = await client.end();
    expect(closed).toBe(true);
    expect(text).toMatch(/abc$/);
    expect(await gateway.entry()).toMatchObject({
      failure: 'upstream-broken',
      cause: 'no next byte in time',
    });
  });

  test('longer than its length: the client gets the announced bytes, and the rest is dropped', async () => {
    const { send } = await served((socket, _request, number) => {
      socket.write(
        number === 1 ? `${ok('"one"')}HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"poison"` : ok('"two"'),
      );
    });
    expect((await send(GET)).text).toMatch(/"one"$/);
    expect((await send(GET)).text).toMatch(/"two"$/);
  });

  test('unsolicited bytes on an idle connection are never a response (response queue poisoning, CVE-2026-48931)', async () => {
    const { v2, send } = await served((socket, _request, number) => socket.write(ok(`"${number}"`)));
    expect((await send(GET)).text).toMatch(/"1"$/);
    v2.sockets[0]?.write('HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"poison"');
    await until(() => v2.sockets[0]?.destroyed === true);
    expect((await send(GET)).text).toMatch(/"2"$/);
  });
});

describe('a kept connection that V2 closes as a request arrives', () => {
  test.each(['GET', 'HEAD', 'PUT'])('%s is sent again, once', async (method) => {
    const { gateway, send } = await served((socket, _request, number) => {
      if (number === 2) socket.destroy();
      else socket.write(ok(method === 'HEAD' ? '' : `"${number}"`));
    });
    await send(GET);
    const response = await send(GET.replace('GET', method));
    expect(statusOf(response)).toBe(200);
    expect(await gateway.entry(2)).toMatchObject({ attempts: 2, status: 200 });
  });

  test.each([
    ['POST', '/api/v1/x'],
    ['PATCH', '/api/v2/x'],
  ])('%s %s is never sent again: an order must not be placed twice', async (method, path) => {
    const { v2, send } = await served((socket, _request, number) => {
      if (number >= 2) socket.destroy();
      else socket.write(ok());
    });
    await send(GET);
    const response = await send(post.replace('POST', method).replace('/api/v1/x', path));
    expect(statusOf(response)).toBe(502);
    expect(v2.received.join('').match(new RegExp(`${method} /`, 'g'))).toHaveLength(1);
  });
});

test('a server that dies at each byte of its response never gets a POST twice', async () => {
  const whole = ok('{"data":{"id":1}}');
  let posts = 0;
  let cut = 0;
  const { gateway } = await served(
    (socket, request) => {
      if (request.startsWith('POST')) posts += 1;
      socket.end(whole.slice(0, cut));
    },
    { flags: { breaker: 'off' } },
  );
  for (cut = 0; cut <= whole.length; cut += 1) {
    const client = rawClient(gateway.port);
    client.write(post);
    const { text } = await client.until(/\}\]?\}$/);
    const head = whole.indexOf('\r\n\r\n') + 4;
    if (cut < head) expect(statusOf({ text })).toBe(502);
    else expect(statusOf({ text })).toBe(200);
    if (cut >= head && cut < whole.length) expect(text).not.toMatch(/\}\}$/);
    client.socket.destroy();
  }
  expect(posts).toBe(whole.length + 1);
});

test('a server that dies at each byte of the request never gets a POST twice, nor a part of one again', async () => {
  const gatewayOf = async (after: number) => {
    let connections = 0;
    const origin = await socketServer((socket) => {
      connections += 1;
      let seen = 0;
      socket.on('data', (chunk) => {
        seen += chunk.length;
        if (seen >= after) socket.resetAndDestroy();
      });
    });
    const gateway = await gatewayFor(origin, { flags: { breaker: 'off' } });
    expect(statusOf(await exchange(gateway.port, post))).toBe(502);
    expect(connections).toBe(1);
  };
  for (let after = 1; after < 200; after += 13) await gatewayOf(after);
});

test('the statuses of V2 pass on with their bodies, 429 and its Retry-After too', async () => {
  for (const status of ['400 Bad Request', '429 Too Many Requests', '500 Oops', '503 Service Unavailable']) {
    const { v2, send } = await served(ok('{"errors":[]}', 'Retry-After: 7\r\n').replace('200 OK', status));
    const response = await send(post);
    expect(response.text).toMatch(
      new RegExp(`^HTTP/1.1 ${status}\r\n[^]*Retry-After: 7\r\n[^]*\\{"errors":\\[\\]\\}$`),
    );
    expect(response.text).not.toContain('x-gateway-error');
    expect(v2.received).toHaveLength(1);
  }
});

test('a circuit opens when V2 fails again and again, then 503 at once, and closes when V2 is back', async () => {
  let sick = true;
  const { v2, send } = await served(
    (socket) => {
      if (sick) socket.destroy();
      else socket.write(ok());
    },
    { flags: { 'breaker-failures': '3', 'breaker-open': '600' } },
  );
  // Three that open it and the probe that follows at once; one more is a probe if it comes 100 ms later, then 200, then 400.
  for (let count = 0; count < 4; count += 1) expect(statusOf(await send(post))).toBe(502);
  let sent = 0;
  let open = { text: '' };
  await until(async () => {
    sent = v2.received.length;
    open = await send(post);
    return statusOf(open) !== 502;
  });
  expect(open.text).toMatch(/^HTTP\/1\.1 503 [^]*x-gateway-error: circuit-open\r\n[^]*Retry-After: 1\r\n/);
  expect(v2.received).toHaveLength(sent);
  sick = false;
  await until(async () => statusOf(await send(post)) === 200);
  expect(statusOf(await send(post))).toBe(200);
});

describe('V2 accepts no connection for the connect time: it is known to be away', () => {
  const retryable = /^HTTP\/1\.1 503 [^]*x-gateway-error: circuit-open\r\n[^]*Retry-After: 1\r\n/;

  test('one failed request is enough: the next ones get 503 at once, and none is a probe', async () => {
    const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
      flags: { 'upstream-connect-timeout': '1500' },
    });
    expect(statusOf(await exchange(gateway.port, post))).toBe(502);
    const spent = ownTime();
    // More than 100 ms apart, so that a circuit that tests with requests would send some of them.
    for (let count = 0; count < 5; count += 1) {
      expect((await exchange(gateway.port, post)).text).toMatch(retryable);
      await delay(150);
    }
    expect(spent()).toBeLessThan(5 * 150 + 1500);
    expect(gateway.gateway.v2.breaker.state).not.toBe('closed');
    expect(await gateway.entry(3)).toMatchObject({ verdict: 'refused', sent: false, cause: 'ECONNREFUSED' });
  });

  test('the gateway itself finds that it is back, and serves every request from then on', async () => {
    const port = await freePort();
    const gateway = await gatewayFor(`http://127.0.0.1:${port}`, SHORT_CONNECT);
    expect(statusOf(await exchange(gateway.port, post))).toBe(502);
    expect((await exchange(gateway.port, post)).text).toMatch(retryable);
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.on('data', () => socket.write(ok()));
      socket.on('error', () => {});
    });
    server.listen(port, '127.0.0.1');
    onTestFinished(() => void server.close());
    // No request has come meanwhile.
    await until(() => connections > 0 && gateway.gateway.v2.breaker.state === 'closed');
    const responses = await Promise.all(Array.from({ length: 20 }, () => exchange(gateway.port, post)));
    expect(responses.map(statusOf)).toEqual(responses.map(() => 200));
  });

  test('an attempt that hangs delays no other: V2 is back once it accepts one', async () => {
    let isBack = false;
    let attempts = 0;
    const { cert, key } = certificate({ name: 'V2', hosts: ['127.0.0.1'] });
    const secure = createSecureServer({ cert, key }, (socket) => {
      socket.on('data', () => socket.write(ok()));
      socket.on('error', () => {});
    });
    // Until it is back it answers no handshake, and keeps the connections: each attempt hangs for the whole connect time.
    const front = await socketServer((socket) => {
      attempts += 1;
      if (isBack) secure.emit('connection', socket);
    });
    const gateway = await gatewayFor(front.replace('http:', 'https:'), {
      flags: { 'upstream-connect-timeout': '1000' },
      parts: { upstreamTls: { ca: cert } },
    });
    expect(statusOf(await exchange(gateway.port, GET))).toBe(504);
    isBack = true;
    const before = attempts;
    await until(() => gateway.gateway.v2.breaker.state === 'closed' && attempts > before);
    expect(attempts).toBeGreaterThan(before);
    expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
  });

  test('with the circuit off too', async () => {
    const gateway = await gatewayFor(`http://127.0.0.1:${await freePort()}`, {
      flags: { ...SHORT_CONNECT.flags, breaker: 'off' },
    });
    expect(statusOf(await exchange(gateway.port, GET))).toBe(502);
    for (let count = 0; count < 3; count += 1)
      expect((await exchange(gateway.port, GET)).text).toMatch(retryable);
  });
});

test('probes whose clients disconnect do not keep a circuit open', async () => {
  const flags = { 'breaker-failures': '1', 'breaker-open': '600000' };
  const { v2, gateway, send } = await served(
    (socket, request) => {
      if (request.includes('/api/v2/fail')) socket.destroy();
      else if (!request.includes('/api/v2/hang')) socket.write(ok());
    },
    { flags },
  );
  const fail = 'POST /api/v2/fail HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n';
  expect(statusOf(await send(fail))).toBe(502);
  for (let count = 2; count < 10; count += 1) {
    await until(async () => {
      const client = rawClient(gateway.port);
      client.write('GET /api/v2/hang HTTP/1.1\r\nHost: g\r\n\r\n');
      await until(() => v2.received.length === count || client.text() !== '');
      client.socket.destroy();
      await until(() => gateway.gateway.inFlight === 0);
      return v2.received.length === count;
    });
  }
  await until(async () => statusOf(await send(GET)) === 200);
  expect(gateway.gateway.v2.breaker.state).toBe('closed');
});

test('the circuit counts requests, however often each was sent', async () => {
  const { send } = await served((socket) => socket.destroy(), {
    flags: { 'breaker-failures': '3' },
  });
  const codes: string[] = [];
  const code = async (): Promise<string> => {
    const { text } = await send(GET);
    codes.push(/x-gateway-error: (\S+)/.exec(text)?.[1] ?? '');
    return codes.at(-1) ?? '';
  };
  for (let count = 0; count < 4; count += 1) await code();
  expect(codes).toEqual(codes.map(() => 'upstream-closed'));
  // At once, or after one more probe where the machine took 100 ms for the way here.
  await until(async () => (await code()) !== 'upstream-closed');
  expect(codes.at(-1)).toBe('circuit-open');
});

test('a V2 that resets everything gets no storm: of 100 reads no more than 20 are sent again', async () => {
  let requests = 0;
  const { send } = await served(
    (socket) => {
      requests += 1;
      socket.resetAndDestroy();
    },
    { flags: { breaker: 'off' } },
  );
  const responses = await Promise.all(Array.from({ length: 100 }, () => send(GET)));
  expect(responses.map(statusOf)).toEqual(responses.map(() => 502));
  expect(requests).toBeGreaterThan(100);
  expect(requests).toBeLessThanOrEqual(120);
});

describe('all attempts together take no longer than one limit', () => {
  test.each([
    ['accepts, but never completes the TLS handshake', 504],
    ['refuses', 502],
  ])('connecting to a V2 that %s', async (what, status) => {
    const origin =
      what === 'refuses'
        ? `http://127.0.0.1:${await freePort()}`
        : (await rawServer(() => {})).origin.replace('http:', 'https:');
    const gateway = await gatewayFor(origin, {
      flags: { 'upstream-connect-timeout': '500', 'upstream-connections': '2' },
    });
    const [began, spent] = [performance.now(), ownTime()];
    const responses = await Promise.all([1, 2, 3].map(() => exchange(gateway.port, post)));
    expect(performance.now() - began).toBeGreaterThan(450);
    expect(Math.min(...responses.map(statusOf))).toBe(status);
    expect(spent()).toBeLessThan(1200);
  });

  test('a request that waits for a connection that is free', async () => {
    const { send } = await served(() => {}, {
      flags: { 'upstream-headers-timeout': '500', 'upstream-connections': '1' },
    });
    const spent = ownTime();
    const responses = await Promise.all([1, 2, 3].map(() => send(GET)));
    expect(responses.map(statusOf)).toEqual([504, 504, 504]);
    expect(spent()).toBeLessThan(1200);
  });
});

test('an early 413 with a reset, again and again, is about the bodies, and never opens the circuit', async () => {
  const origin = await socketServer((socket) => {
    socket.once('data', (chunk) => {
      if (chunk.toString('latin1').startsWith('GET')) {
        socket.write(ok());
        return;
      }
      socket.pause();
      socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
      setTimeout(() => socket.resetAndDestroy(), 2);
    });
  });
  const gateway = await gatewayFor(origin, { flags: { 'breaker-failures': '2' } });
  const body = `{"data":{"a":"${'x'.repeat(3_000_000)}"}}`;
  const large = `POST /api/v1/x HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  for (let count = 0; count < 6; count += 1)
    expect([413, 502]).toContain(statusOf(await exchange(gateway.port, large)));
  expect(statusOf(await exchange(gateway.port, GET))).toBe(200);
});

test('the log distinguishes a request that was sent to a V2 that died from one that was not', async () => {
  const { v2, gateway, send } = await served((socket) => socket.destroy(), SHORT_CONNECT);
  await send(post);
  v2.server.close();
  await send(post);
  expect([await gateway.entry(1), await gateway.entry(2)]).toMatchObject([
    { failure: 'upstream-closed', status: 502, sent: true },
    { failure: 'upstream-unreachable', status: 502, sent: false },
  ]);
});

test('more requests than may wait for a V2 that is away get 503 at once, with Retry-After', async () => {
  const port = await freePort();
  const gateway = await gatewayFor(`http://127.0.0.1:${port}`, {
    flags: {
      'upstream-connect-timeout': '2500',
      'max-in-flight': '10',
      'buffer-bytes': '1000',
      breaker: 'off',
    },
  });
  let isOver = false;
  const first = exchange(gateway.port, GET).finally(() => {
    isOver = true;
  });
  await until(() => gateway.gateway.inFlight === 1);
  const large = 'x'.repeat(2000);
  const response = await exchange(
    gateway.port,
    `POST /api/v2/x HTTP/1.1\r\nHost: g\r\nContent-Length: ${large.length}\r\n\r\n${large}`,
  );
  expect(response.text).toMatch(/^HTTP\/1\.1 503 [^]*x-gateway-error: overloaded\r\n[^]*Retry-After: 1\r\n/);
  expect(isOver).toBe(false);
  expect(statusOf(await first)).toBe(502);
});
