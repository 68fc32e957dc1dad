import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { BodyRewriter } from '../../../src/gateway/body-rewriter.ts';
import { causeFilter } from '../../../src/inspector/gateway-conditions.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../../../src/rewrite-log/filter.ts';
import { shareOf } from '../../../src/rollout/modes-in-force.ts';
import { RolloutControl } from '../../../src/rollout/rollout-control.ts';
import { createClientHash } from '../../../src/node/runtime.ts';
import type { Mode } from '../../../src/rules/rollout.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, type RawResponse } from '../../support/raw-server.ts';
import { until } from '../../support/until.ts';
import { bodyLimit } from '../../support/rule-book.ts';
import { rolloutOf, twoServices as serve, type TwoServices as Run } from '../../support/two-services.ts';

/** A request of any client. */
const KEYLESS = { client: undefined, operation: undefined, pointer: undefined };

const clientOf = createClientHash('a secret of the tests');
const ORDER = '{"data":{"property":{"suburb":"Enmore"}}}';
const post = (body = ORDER, more = '', path = '/api/v1/orders/floor_plans'): string =>
  `POST ${path} HTTP/1.1\r\nHost: g\r\n${more}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
const get = (path = '/api/v1/clients?page=1', more = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: g\r\n${more}\r\n`;
const as = (key: string): string => `Authorization: Bearer ${key}\r\n`;
const bodyOf = (text: string): string => text.slice(text.indexOf('\r\n\r\n') + 4);

/** What servers may each read differently: V1 and V2 had their own reading before the gateway stood there. */
describe('a request that its service served before', () => {
  const odd = [
    ['raw UTF-8', '/x/caf\u00c3\u00a9?q=\u00c3\u00a9', ''],
    ['raw Latin-1', '/x?name=Ren\u00e9', ''],
    ['a fragment', '/x?a=1#top', ''],
    ['an alias', '/x', 'X_Api_Version: 2020-01-01\r\n'],
    ['an alias beside its twin', '/x', 'X_Request_Id: a\r\nX-Request-Id: b\r\n'],
    ['an alias of a type', '/x', 'Content_Type: text/plain\r\n'],
    ['two types', '/x', 'Content-Type: application/json\r\ncontent-type: text/plain\r\n'],
    ['one release twice', '/x', 'X-Api-Version: 2025-01-01\r\nx-api-version: 2025-01-01\r\n'],
  ] as const;
  const observe = { default: { mode: 'observe' } } as const;
  const written = (text: string) => Buffer.from(text, 'latin1');

  test.each(odd)('%s crosses byte for byte to V2, and to V1 while it is observed', async (_, rest, field) => {
    const { v1, v2, gateway, send } = await serve(observe);
    expect(statusOf(await send(written(get(`/api/v2${rest}`, field))))).toBe(200);
    expect(statusOf(await send(written(get(`/api/v1${rest}`, field))))).toBe(200);
    for (const [{ received }, version] of [
      [v2, 'v2'],
      [v1, 'v1'],
    ] as const) {
      expect(received).toHaveLength(1);
      expect(received[0]).toContain(`GET /api/${version}${rest} HTTP/1.1\r\n`);
      expect(received[0]).toContain(field);
    }
    expect(gateway.entries()).toHaveLength(2);
  });

  test.each(odd.slice(0, 3))('%s is not migrated', async (_, rest, field) => {
    const { v2, send } = await serve({});
    expect((await send(written(get(`/api/v1${rest}`, field)))).text).toMatch(
      /^HTTP\/1\.1 400 [^]*x-gateway-error: bad-(?:target|request)\r\n/,
    );
    expect(v2.received).toEqual([]);
  });

  // V1 read the first type and release, and no name with an underscore: so does V2.
  test.each<readonly [fields: string, crossing: readonly string[]]>([
    [
      'Content-Type: application/json\r\ncontent-type: application/json\r\n',
      ['Content-Type: application/json'],
    ],
    [
      'content-type: Application/JSON\r\nContent-Type: application/json; charset=utf-8\r\n',
      ['content-type: Application/JSON'],
    ],
    ['Content-Type: application/json\r\nContent-Type: text/plain\r\n', ['Content-Type: application/json']],
    ['content_type: text/plain\r\nContent-Type: application/json\r\n', ['Content-Type: application/json']],
    [
      'Content_Type: text/plain\r\nContent-Type: application/json\r\ncontent_type: x\r\n',
      ['Content-Type: application/json'],
    ],
    [
      'Content-Type: application/json\r\nX_Api_Version: 2020-01-01\r\nx_request_id: a\r\nX_HTTP_Method_Override: DELETE\r\n',
      ['Content-Type: application/json'],
    ],
    [
      'Content-Type: application/json\r\nX_Forwarded_For: 10.0.0.1\r\nKeep_Alive: 5\r\n',
      ['Content-Type: application/json'],
    ],
    [
      'X-Api-Version: 2025-06-01\r\nx-api-version: 2025-06-01\r\nContent-Type: application/json\r\n',
      ['X-Api-Version: 2025-06-01', 'Content-Type: application/json'],
    ],
    [
      'X-Custom: 1\r\nX-Custom: 2\r\nX_Custom: 3\r\nContent-Type: application/json\r\n',
      ['X-Custom: 1', 'X-Custom: 2', 'X_Custom: 3', 'Content-Type: application/json'],
    ],
  ])('%j is migrated as V1 read it', async (fields, crossing) => {
    const { v2, gateway, send } = await serve({});
    const body = '{"data":{"a":1}}';
    const { text } = await send(
      `POST /api/v1/x HTTP/1.1\r\nHost: g\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const [head = '', sent] = (v2.received[0] ?? '').split('\r\n\r\n');
    expect(
      head
        .split('\r\n')
        .filter((line) => /^(?:content.type|x.custom|x_.*|keep_alive|x-api-version: 2025-06-01)/i.test(line)),
    ).toEqual(crossing);
    expect(head.match(/^x-api-version: /gim)).toHaveLength(1);
    expect(sent).toBe('{"a":1}');
    expect((await gateway.entry()).verdict).toBe('rewritten');
  });
});

describe('observe', () => {
  const observe = { default: { mode: 'observe' } } as const;

  test('a request that a brownout refuses does not go to V1, and the log does not say that it did', async () => {
    const brownout = { id: 'reminder', share: 100, status: 503 } as const;
    const { v1, gateway, send } = await serve(observe, {}, { rollout: { brownouts: [brownout] } });
    expect((await send(post())).text).toMatch(/^HTTP\/1\.1 503 /);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({
      verdict: 'refused',
      failure: 'brownout',
      note: 'reminder',
      mode: 'observe',
    });
    expect(entry.origin).toBeUndefined();
    expect(v1.received).toEqual([]);
  });

  test('trailers of a request that streams are forwarded to V1', async () => {
    const { v1, gateway, send } = await serve(observe);
    const order = ORDER + ' '.repeat(300_000);
    const head = 'POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n';
    const chunks = `${order.length.toString(16)}\r\n${order}\r\n0\r\nX-Sum: 7\r\n\r\n`;
    await send(`${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`);
    await until(() => v1.received.join('').endsWith('\r\n0\r\nX-Sum: 7\r\n\r\n'));
    const { note, would } = await gateway.entry();
    expect(would).toEqual({ verdict: 'rewritten' });
    expect(note).toBeUndefined();
  });

  test('V1 gets the request untouched and responds; the log says what migrating would have done', async () => {
    const { v1, v2, gateway, send } = await serve(observe);
    const response = await send(post(ORDER, 'X-Own: a\r\nx-own: b\r\n'));
    expect(bodyOf(response.text)).toBe('{"from":"v1"}');
    expect(v1.received[0]).toBe(
      `POST /api/v1/orders/floor_plans HTTP/1.1\r\nhost: 127.0.0.1:${v1.port}\r\nconnection: keep-alive\r\nX-Own: a\r\nx-own: b\r\nContent-Type: application/json\r\nvia: 1.1 capture-gateway\r\ncontent-length: ${ORDER.length}\r\n\r\n${ORDER}`,
    );
    expect(v2.received).toEqual([]);
    expect(await gateway.entry()).toMatchObject({
      mode: 'observe',
      origin: 'v1',
      verdict: 'passed',
      upstreamPath: '/api/v1/orders/floor_plans',
      would: { verdict: 'rewritten' },
      edits: [
        { change: 'body-wrapper', rule: 'unwrap' },
        { change: 'property-address', rule: 'nest', from: '/data/property/suburb' },
      ],
      bytesOut: ORDER.length,
    });
  });

  test.each([
    ['not JSON', '{', { failure: 'malformed-json' }],
    ['a wrapper that is no object', '{"data":1}', { failure: 'wrapper-not-object', pointer: '/data' }],
  ])(
    'a request that would have been refused is forwarded, and the log says so: %s',
    async (_, body, refusal) => {
      const { v1, gateway, send } = await serve(observe);
      expect(statusOf(await send(post(body)))).toBe(200);
      expect(v1.received[0]).toMatch(new RegExp(`${body.replaceAll(/[{}]/g, String.raw`\$&`)}$`));
      const entry = await gateway.entry();
      expect(entry).toMatchObject({ verdict: 'passed', would: { verdict: 'refused', ...refusal } });
      expect(entry).not.toHaveProperty('failure');
    },
  );

  test('an encoded body is judged decoded, and sent unchanged', async () => {
    const body = gzipSync(ORDER).toString('latin1');
    const { v1, gateway, send } = await serve(observe);
    await send(post(body, 'Content-Encoding: gzip\r\n'));
    expect(v1.received[0]?.endsWith(body)).toBe(true);
    expect(await gateway.entry()).toMatchObject({ would: { verdict: 'rewritten' } });
  });

  test('a body that comes in parts streams, and is looked at when its last part has gone', async () => {
    const { v1, gateway } = await serve(observe);
    const client = rawClient(gateway.port);
    client.write(
      'POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    // A body streams when it is larger than the read-ahead.
    client.write(`40005\r\n${' '.repeat(0x40000)}${ORDER.slice(0, 5)}\r\n`);
    await until(() => v1.received.join('').includes(ORDER.slice(0, 5)));
    client.write(`${(ORDER.length - 5).toString(16)}\r\n${ORDER.slice(5)}\r\n0\r\n\r\n`);
    expect(statusOf(await client.until(/"v1"/))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ would: { verdict: 'rewritten' }, edits: [{}, {}] });
  });

  test('the log waits for a streamed body that is decoded when the client has its response', async () => {
    const { gateway } = await serve(observe, {
      v1: (socket, text) => {
        if (text.endsWith('0\r\n\r\n')) socket.write(ok('{"from":"v1"}'));
      },
    });
    const filler = randomBytes(200_000).toString('hex') + 'a'.repeat(8_000_000);
    const body = gzipSync(`{"data":{"property":{"suburb":"Enmore"},"notes":"${filler}"}}`);
    const client = rawClient(gateway.port);
    client.write(
      'POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n',
    );
    client.write(Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body]));
    client.write('\r\n0\r\n\r\n');
    expect(statusOf(await client.until(/"v1"/))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ would: { verdict: 'rewritten' }, edits: [{}, {}] });
  });

  test.each([
    ['whole', post(`{"data":{"notes":"${'n'.repeat(20_000)}"}}`), 500],
    [
      'streamed',
      `POST /api/v1/orders/floor_plans HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n40002\r\n${' '.repeat(0x40000)}{}\r\n0\r\n\r\n`,
      200,
    ],
  ])('a %s body that is lost while it is rewritten ends its exchange', async (_, request, status) => {
    const { gateway, send } = await serve(observe, {
      v1: (socket, text) => {
        if (text.endsWith('0\r\n\r\n')) socket.write(ok('{"from":"v1"}'));
      },
    });
    const error = new Error('the thread has ended');
    const rewriter: BodyRewriter = {
      request: ({ failed }) => void setTimeout(() => failed(error), 50),
      response: () => expect.unreachable(),
    };
    Object.assign(gateway.gateway, { rewriter });
    expect(statusOf(await send(request))).toBe(status);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ status, mode: 'observe' });
    expect(entry).not.toHaveProperty('would');
    expect(gateway.surprises).toEqual([error]);
    expect(gateway.gateway.inFlight).toBe(0);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  test('a body beyond the limit crosses, and would have been refused', async () => {
    const { v1, gateway, send } = await serve(observe, {}, { ruleBook: bodyLimit(10) });
    expect(statusOf(await send(post()))).toBe(200);
    expect(v1.received[0]).toContain(ORDER);
    expect(await gateway.entry()).toMatchObject({ would: { verdict: 'refused', failure: 'body-too-large' } });
  });

  test('addresses of V1 lead back to the gateway, and the end of V1 is announced', async () => {
    let origin = '';
    const { v1, send } = await serve(
      observe,
      { v1: (socket) => socket.write(ok('{}', `Location: ${origin}/api/v1/x\r\n`)) },
      { rollout: { signals: { attributes: true, since: 1_796_083_200_000, links: [] } } },
    );
    origin = v1.origin;
    const { text } = await send(post());
    expect(text).toContain('Location: http://g/api/v1/x\r\n');
    expect(text).toContain('Deprecation: @1796083200\r\n');
    expect(text).toContain('x-deprecated-attributes: property.suburb\r\n');
  });

  test('V2 requests go to V2', async () => {
    const { send } = await serve(observe);
    expect((await send(get('/api/v2/x'))).body).toBe('{"from":"v2"}');
  });

  test('without a V1 origin the request is refused, and never migrated by surprise', async () => {
    const { v2, send } = await serve(observe, {}, { parts: { v1Origin: undefined } });
    const response = await send(post());
    expect(statusOf(response)).toBe(503);
    expect(response.text).toContain('x-gateway-error: no-v1-origin');
    expect(v2.received).toEqual([]);
  });

  test('a V1 that is down does not open the circuit of V2', async () => {
    const { v1, send } = await serve(
      { operations: { order_floor_plan: { mode: 'observe' } } },
      {},
      { flags: { 'breaker-failures': '2', 'upstream-connect-timeout': '300' } },
    );
    v1.server.close();
    for (const socket of v1.sockets) socket.destroy();
    for (let n = 0; n < 4; n += 1) expect(statusOf(await send(post()))).toBeGreaterThan(501);
    expect(statusOf(await send(post(ORDER, '', '/api/v1/clients')))).toBe(200);
  });
});

describe('the route of each client', () => {
  const keys = Array.from({ length: 40 }, (_, n) => `key-${n}`);
  const originOf = async ({ gateway }: Run, key: string): Promise<string> =>
    bodyOf((await exchange(gateway.port, post(ORDER, as(key)))).text).slice(9, 11);

  test('a canary moves its share of the clients, by their hash alone; the larger share holds the smaller', async () => {
    const small = await serve({ default: { mode: 'canary', share: 25 } });
    const large = await serve({ default: { mode: 'canary', share: 60 } });
    for (const key of keys) {
      const place = shareOf(clientOf(key));
      expect(await originOf(small, key)).toBe(place < 25 ? 'v2' : 'v1');
      expect(await originOf(large, key)).toBe(place < 60 ? 'v2' : 'v1');
    }
    expect(keys.filter((key) => shareOf(clientOf(key)) < 25).length).toBeGreaterThan(2);
  });

  test('hashes spread evenly over the shares', () => {
    const places = Array.from({ length: 4000 }, (_, n) => shareOf(clientOf(`spread-${n}`)));
    for (const share of [10, 50, 90]) {
      const moved = places.filter((place) => place < share).length / 40;
      expect(Math.abs(moved - share)).toBeLessThan(3);
    }
  });

  test.each([
    [99, 'v1'],
    [100, 'v2'],
  ])('a request without a key is only in a share of 100 %%: of %d %% it is at %s', async (share, origin) => {
    const { send } = await serve({ default: { mode: 'canary', share } });
    expect((await send(post())).body).toContain(origin);
  });

  test('client before operation before default', async () => {
    const run = await serve({
      default: { mode: 'observe' },
      operations: { order_floor_plan: { mode: 'migrate' } },
      clients: { [clientOf('out')]: { mode: 'observe' }, [clientOf('in')]: { mode: 'migrate' } },
    });
    const origin = async (key: string, path: string): Promise<string> =>
      (await run.send(post(ORDER, as(key), path))).body.slice(9, 11);
    expect(await origin('other', '/api/v1/orders/floor_plans')).toBe('v2');
    expect(await origin('other', '/api/v1/clients')).toBe('v1');
    expect(await origin('out', '/api/v1/orders/floor_plans')).toBe('v1');
    expect(await origin('in', '/api/v1/clients')).toBe('v2');
  });

  test('a mode chosen at run time overrides the rule book, for requests from then on', async () => {
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const run = await serve({ default: { mode: 'observe' } }, {}, { parts: { rollout: control } });
    expect(await originOf(run, 'a')).toBe('v1');
    control.command({ mode: { mode: 'migrate' } });
    expect(await originOf(run, 'a')).toBe('v2');
    control.command({ mode: { mode: 'observe' }, client: clientOf('a') });
    expect(await originOf(run, 'a')).toBe('v1');
    expect(await originOf(run, 'b')).toBe('v2');
    control.command({});
    control.command({ client: clientOf('a') });
    expect(await originOf(run, 'b')).toBe('v1');
  });

  test('operations named like members of Object.prototype choose nothing', async () => {
    const { send } = await serve(
      { default: { mode: 'observe' } },
      {},
      {
        ruleBook: {
          operations: [{ id: 'constructor', method: 'POST', template: '/clients', assumed: false }],
        },
      },
    );
    expect((await send(post(ORDER, '', '/api/v1/clients'))).body).toContain('v1');
  });
});

/** Responds with the bodies in turn, and with the last one from then on. */
const respondingWith =
  (...bodies: readonly string[]): RawResponse =>
  (socket, _, number) =>
    socket.write(ok(bodies[Math.min(number, bodies.length) - 1] ?? ''));

const failing: RawResponse = (socket) => socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 2\r\n\r\n{}');

describe('shadow', () => {
  const shadow = { default: { mode: 'shadow' } } as const;

  test('the client gets the response of V1, both are compared, and V1 gets the request again to learn the noise', async () => {
    const { v1, v2, gateway, send } = await serve(shadow, {
      v1: respondingWith('{"data":[{"id":1,"age":1,"name":"a"}]}', '{"data":[{"id":1,"age":2,"name":"a"}]}'),
      v2: respondingWith('{"data":[{"id":1.0,"age":3,"name":"b","extra":true}]}'),
    });
    expect((await send(get())).body).toBe('{"data":[{"id":1,"age":1,"name":"a"}]}');
    const entry = await gateway.entry();
    expect(entry).toMatchObject({
      mode: 'shadow',
      origin: 'v1',
      comparison: {
        verdict: 'different',
        differences: [{ path: '/data/*/name', kind: 'value' }],
        noise: 1,
        extra: 1,
      },
    });
    expect(v1.received.join('').match(/GET \/api\/v1\/clients\?page=1 /g)).toHaveLength(2);
    expect(v2.received.join('').match(/GET \/api\/v2\/clients\?page=1 /g)).toHaveLength(1);
    expect(v2.received[0]).toContain('x-api-version: 2025-01-01');
    expect(gateway.gateway.comparisons.list).toEqual([
      {
        same: 0,
        different: 1,
        unknown: 0,
        last: expect.any(String),
        lastDifferent: expect.any(String),
        fields: [{ path: '/data/*/name', kind: 'value', count: 1 }],
      },
    ]);
  });

  const plain: RawResponse = (socket) =>
    socket.write('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 9\r\n\r\n{"new":1}');
  test.each<[what: string, v1: RawResponse, v2: RawResponse, extra: number]>([
    ['after response rules', respondingWith('{"old":1}'), respondingWith('{"new":1}'), 1],
    ['as it came, where it is not rewritten', plain, plain, 0],
  ])('a response is compared as a V1 client would get it: %s', async (_, v1, v2, extra) => {
    const operations = [{ id: 'read', method: 'GET', template: '/clients', assumed: false }];
    const change = { id: 'c', summary: 's', on: ['read'], request: [], policies: {}, assumed: false };
    const alias = { rule: 'alias', path: ['new'], as: 'old', status: ['2xx'] } as const;
    const changes = [{ ...change, response: [alias] }];
    const { gateway, send } = await serve(shadow, { v1, v2 }, { ruleBook: { operations, changes } });
    await send(get('/api/v1/clients'));
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ operation: 'read', comparison: { verdict: 'same', extra } });
    expect(entry).not.toHaveProperty('responseEdits');
  });

  test('statuses are compared too, and encoded responses are decoded', async () => {
    const packed = gzipSync('{"a":1}');
    const { gateway, send } = await serve(shadow, {
      v1: respondingWith('{"a":1}'),
      v2: (socket) => {
        socket.write(
          `HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${packed.length}\r\n\r\n`,
        );
        socket.write(packed);
      },
    });
    await send(get());
    expect(await gateway.entry()).toMatchObject({
      status: 200,
      comparison: { verdict: 'different', status: { v1: 200, v2: 404 }, differences: [] },
    });
  });

  // Not an attack, but the worst mistake of a shadow: an order that is placed twice.
  test('a POST, PATCH, PUT or DELETE and a GET with a body go to V1 alone', async () => {
    const { v1, v2, gateway, send } = await serve(shadow);
    const methods = ['POST', 'PATCH', 'PUT', 'DELETE', 'GET'];
    for (const method of methods) await send(post().replace('POST', method));
    expect((await gateway.entry(methods.length)).mode).toBe('shadow');
    expect(v1.received.join('').match(/[A-Z]+(?= \S+ HTTP\/1\.1\r\n)/g)).toEqual(methods);
    expect(v2.received).toEqual([]);
  });

  test('a read that the migration refuses goes to V1 alone, and counts once', async () => {
    const operations = [
      { id: 'zones', method: 'GET', template: '/zones', assumed: false, gone: 'Zones are part of a depot.' },
    ];
    const { v1, v2, gateway, send } = await serve(shadow, {}, { ruleBook: { operations } });
    expect(statusOf(await send(get('/api/v1/zones')))).toBe(200);
    const entry = await gateway.entry();
    expect(entry).toMatchObject({ operation: 'zones', would: { failure: 'operation-gone' } });
    expect(entry).not.toHaveProperty('comparison');
    expect(v1.received.join('').match(/GET \/api\/v1\/zones /g)).toHaveLength(1);
    expect(v2.received).toEqual([]);
    expect(gateway.gateway.comparisons.list).toEqual([]);
  });

  test('a V2 that breaks or is silent affects no client', async () => {
    const { gateway, send } = await serve(
      shadow,
      { v2: (socket) => socket.destroy() },
      { flags: { 'upstream-headers-timeout': '300' } },
    );
    expect(statusOf(await send(get()))).toBe(200);
    expect(await gateway.entry()).toMatchObject({
      status: 200,
      comparison: { verdict: 'unknown', why: 'closed' },
    });
    expect(gateway.gateway.inFlight).toBe(0);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  // Not an attack, but a silent V2 that is only shadowed must not affect V1's clients.
  test('a silent V2 takes no place in flight and no time of the clients', async () => {
    const { gateway, send } = await serve(
      shadow,
      { v1: respondingWith('{"a":1}'), v2: () => {} },
      { flags: { 'upstream-headers-timeout': '2500', 'max-in-flight': '2' } },
    );
    for (let count = 0; count < 6; count += 1) expect(statusOf(await send(get()))).toBe(200);
    expect(gateway.gateway.inFlight).toBe(0);
    const entry = await gateway.entry(6);
    expect(entry).toMatchObject({ status: 200, comparison: { verdict: 'unknown' } });
    for (const { totalMs } of gateway.entries()) expect(totalMs).toBeLessThan(2500);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  test('a shadow that is under way is aborted for a client that needs its connection', async () => {
    const { gateway, send } = await serve(
      { operations: { read: { mode: 'shadow' } }, default: { mode: 'migrate' } },
      {
        v1: respondingWith('{"a":1}'),
        v2: (socket, request) => {
          if (request.startsWith('POST')) socket.write(ok('{"data":{}}'));
        },
      },
      {
        flags: { 'upstream-connections': '1' },
        ruleBook: {
          operations: [{ id: 'read', method: 'GET', template: '/clients', assumed: false }],
        },
      },
    );
    expect(statusOf(await send(get('/api/v1/clients')))).toBe(200);
    expect(statusOf(await send(post()))).toBe(200);
    expect(gateway.entries().find(({ mode }) => mode === 'shadow')).toMatchObject({
      comparison: { verdict: 'unknown', why: 'crowded' },
    });
  });

  test('a shadow sends nothing through an open circuit', async () => {
    const { v2, gateway, send } = await serve(shadow, {
      v1: respondingWith('{"a":1}'),
      v2: (socket) => socket.destroy(),
    });
    for (let count = 0; count < 20; count += 1) gateway.gateway.v2.breaker.failed();
    await send(get());
    expect(await gateway.entry()).toMatchObject({ comparison: { verdict: 'unknown', why: 'unreachable' } });
    expect(v2.received).toEqual([]);
  });

  test('responses beyond limits.response are not compared', async () => {
    const large = `{"a":"${'x'.repeat(500)}"}`;
    const { gateway, send } = await serve(
      shadow,
      { v2: respondingWith(large) },
      { ruleBook: { limits: { depth: 9, body: 99, response: 100 } } },
    );
    await send(get());
    expect(await gateway.entry()).toMatchObject({ comparison: { verdict: 'unknown', why: 'too-large' } });
  });
});

describe('verify', () => {
  const verify = { default: { mode: 'verify', share: 100 } } as const;

  test('the client gets the response of V2, which is compared with what V1 responds to the same request', async () => {
    const { v1, v2, gateway, send } = await serve(verify, {
      v1: respondingWith('{"data":[{"id":1,"age":1,"name":"a"}]}', '{"data":[{"id":1,"age":2,"name":"a"}]}'),
      v2: respondingWith('{"data":[{"id":1,"age":3,"name":"b","extra":true}]}'),
    });
    expect((await send(get(undefined, as('k')))).body).toContain('"name":"b"');
    const entry = await gateway.entry();
    expect(entry).toMatchObject({
      mode: 'verify',
      comparison: {
        verdict: 'different',
        differences: [{ path: '/data/*/name', kind: 'value' }],
        noise: 1,
        extra: 1,
      },
    });
    expect(entry).not.toHaveProperty('origin');
    expect(v1.received.join('').match(/GET \/api\/v1\/clients\?page=1 /g)).toHaveLength(2);
    expect(v1.received.join('').match(/authorization: Bearer k/gi)).toHaveLength(2);
    expect(v2.received.join('').match(/GET \/api\/v2\/clients\?page=1 /g)).toHaveLength(1);
    expect(gateway.gateway.comparisons.list).toEqual([
      {
        verified: true,
        last: expect.any(String),
        lastDifferent: expect.any(String),
        same: 0,
        different: 1,
        unknown: 0,
        fields: [{ path: '/data/*/name', kind: 'value', count: 1 }],
      },
    ]);
    expect(gateway.gateway.comparisons.verifying).toBe(0);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  test('a write, a GET with a body, for a part or with a condition goes to V2 alone', async () => {
    const { v1, gateway, send } = await serve(verify);
    const requests = [
      ...['POST', 'PATCH', 'PUT', 'DELETE', 'GET'].map((method) => post().replace('POST', method)),
      get(undefined, 'Range: bytes=0-1\r\n'),
      get(undefined, 'If-None-Match: "1"\r\n'),
    ];
    for (const request of requests) expect(statusOf(await send(request))).toBe(200);
    await gateway.entry(requests.length);
    for (const entry of gateway.entries()) expect(entry).not.toHaveProperty('comparison');
    expect(v1.received).toEqual([]);
  });

  test.each<[name: string, v1: RawResponse, why: string]>([
    ['breaks', (socket) => socket.destroy(), 'closed'],
    ['is silent', () => {}, 'timeout'],
    ['breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'), 'closed'],
  ])('a V1 that %s costs the client nothing', async (_, v1, why) => {
    const { gateway, send } = await serve(
      verify,
      { v1, v2: respondingWith('{"a":1}') },
      { flags: { 'upstream-headers-timeout': '300', 'max-in-flight': '2' } },
    );
    for (let n = 0; n < 6; n += 1) expect((await send(get())).body).toBe('{"a":1}');
    expect(gateway.gateway.inFlight).toBe(0);
    const entry = await gateway.entry(6);
    expect(entry).toMatchObject({ status: 200, comparison: { verdict: 'unknown', why } });
    expect(gateway.gateway.v1?.breaker.state).toBe('closed');
    expect(gateway.gateway.comparisons.verifying).toBe(0);
    expect(gateway.gateway.budget.held).toBe(0);
  });

  test('a V1 that fails where V2 does not is a difference of the statuses', async () => {
    const { gateway, send } = await serve(verify, { v1: failing });
    expect(statusOf(await send(get()))).toBe(200);
    expect(await gateway.entry()).toMatchObject({ comparison: { status: { v1: 500, v2: 200 } } });
  });

  test('a slow V1 holds at most 64 reads, and the log says of others that they were not compared', async () => {
    const held = new Set<Socket>();
    let isOver = false;
    const v1 = (socket: Socket): unknown => (isOver ? socket.destroy() : held.add(socket));
    const { gateway, send } = await serve(verify, { v1 });
    for (let n = 0; n < 70; n += 1) await send(get());
    expect(gateway.gateway.comparisons.verifying).toBe(64);
    isOver = true;
    for (const socket of held) socket.destroy();
    await gateway.entry(70);
    const reasons = gateway.entries().map(({ comparison }) => comparison?.why);
    expect(reasons.filter((why) => why === 'budget')).not.toEqual([]);
    expect(gateway.gateway.comparisons.verifying).toBe(0);
  });

  test('only the chosen share of the reads is verified', async () => {
    const { v1, gateway, send } = await serve({ default: { mode: 'verify', share: 50 } });
    for (let n = 0; n < 60; n += 1) await send(get());
    await gateway.entry(60);
    const compared = gateway.entries().filter(({ comparison }) => comparison !== undefined);
    expect(compared.length).toBeGreaterThan(5);
    expect(compared.length).toBeLessThan(55);
    expect(v1.received.join('').match(/GET /g)?.length).toBe(2 * compared.length);
  });
});

describe('roll-back', () => {
  const rollback = { window: 60_000, margin: 10, slower: 2, requests: 10, certainty: 99 };
  const keys = Array.from({ length: 30 }, (_, n) => `k${n}`);
  const canary: Mode = { mode: 'canary', share: 50 };

  const runAll = async ({ gateway }: Run): Promise<void> => {
    for (const key of keys) await exchange(gateway.port, post(ORDER, as(key)));
  };

  test('a canary that fails more often than V1 goes back by itself, says so, and stays', async () => {
    const notices: string[] = [];
    const control = new RolloutControl({ time: Date.now, onNotice: (sentence) => notices.push(sentence) });
    const run = await serve({ default: canary, rollback }, { v2: failing }, { parts: { rollout: control } });
    await runAll(run);
    await runAll(run);
    const sent = run.v2.received.join('').match(/POST /g)?.length ?? 0;
    expect(sent).toBeGreaterThanOrEqual(rollback.requests);
    expect(sent).toBeLessThan(16);
    expect(control.state).toMatchObject({
      default: { mode: 'observe' },
      rollbacks: [{ share: 50, migrated: { requests: sent, failures: sent }, v1: { failures: 0 } }],
    });
    expect(notices).toEqual([
      expect.stringMatching(
        /^canary of 50 % rolled back to observe: (1\d) of \1 compared requests failed on V2/,
      ),
    ]);
    control.command({ mode: canary });
    expect(control.state.rollbacks[0]).toHaveProperty('resolved');
    await runAll(run);
    expect(control.state.default).toEqual({ mode: 'observe' });
    expect(run.v2.received.join('').match(/POST /g)).toHaveLength(2 * sent);
  });

  test('failures that V1 has as well roll nothing back', async () => {
    const run = await serve({ default: canary, rollback }, { v1: failing, v2: failing });
    await runAll(run);
    expect(run.gateway.rollout.state.rollbacks).toEqual([]);
  });

  test.each(['301 Moved', '422 No'])(
    'a %s that V2 gives to all clients and V1 to none rolls back; one that both give does not',
    async (status) => {
      const answering: RawResponse = (socket) =>
        socket.write(`HTTP/1.1 ${status}\r\nLocation: /login\r\nContent-Length: 2\r\n\r\n{}`);
      const broken = await serve({ default: canary, rollback }, { v2: answering });
      await runAll(broken);
      const [rolledBack] = broken.gateway.rollout.state.rollbacks;
      expect(rolledBack).toMatchObject({ v1: { failures: 0 } });
      expect(rolledBack?.migrated.failures).toBe(rolledBack?.migrated.requests);
      const alike = await serve({ default: canary, rollback }, { v1: answering, v2: answering });
      await runAll(alike);
      expect(alike.gateway.rollout.state.rollbacks).toEqual([]);
    },
  );

  test('a client that V1 refused while it was observed rolls nothing back when V2 refuses it too', async () => {
    const refusal = 'HTTP/1.1 422 No\r\nContent-Type: application/json\r\n';
    const choosy: RawResponse = (socket, request) => {
      const body = '{"errors":[{"source":{"pointer":"/data/suburb"},"detail":"no"}]}';
      socket.write(
        /Bearer bad/.test(request) ? `${refusal}Content-Length: ${body.length}\r\n\r\n${body}` : ok('{}'),
      );
    };
    const run = await serve({ default: { mode: 'observe' }, rollback }, { v1: choosy, v2: choosy });
    const { rollout } = run.gateway;
    for (let n = 0; n < 3; n += 1) await run.send(post(ORDER, as('bad')));
    rollout.command({ mode: { mode: 'canary', share: 100 } });
    await runAll(run);
    for (let n = 0; n < 12; n += 1) await run.send(post(ORDER, as('bad')));
    expect(rollout.state.rollbacks).toEqual([]);
    for (let n = 0; n < 60; n += 1) await run.send(post(ORDER, as('bad newcomer')));
    expect(rollout.state.rollbacks).toMatchObject([
      { cause: { status: '422', operation: 'order_floor_plan' } },
    ]);
  });

  test('of clients whose truth is known, a roll-back names the one that V2 alone fails, its error and share, and leads to its exchanges', async () => {
    const refusing =
      (keys: RegExp, pointer: string): RawResponse =>
      (socket, request) => {
        const body = JSON.stringify({ errors: [{ source: { pointer }, detail: 'no' }] });
        socket.write(
          keys.test(request)
            ? `HTTP/1.1 422 No\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
            : ok('{}'),
        );
      };
    const isIn = (key: string): boolean => shareOf(clientOf(key)) < 50;
    const named = (name: string): string =>
      Array.from({ length: 99 }, (_, n) => `${name}${n}`).find(isIn) ?? '';
    // V1 and V2 refuse the one, V2 alone the other, the gateway alone the third, and no side the rest.
    const [both, harmed, malformed] = [named('both'), named('harmed'), named('malformed')];
    const run = await serve(
      { default: { mode: 'observe' }, rollback },
      {
        v1: refusing(/Bearer both/, '/data/suburb'),
        v2: refusing(/Bearer (?:both|harmed)/, '/property/suburb'),
      },
    );
    const { gateway } = run;
    const { rollout } = gateway;
    let sent = 0;
    const send = async (key: string, body = ORDER): Promise<void> => {
      await exchange(gateway.port, post(body, as(key)));
      sent += 1;
    };
    const round = async (): Promise<void> => {
      for (const key of [...keys, both, both, both, harmed, harmed, harmed]) await send(key);
      await send(malformed, '{"data":');
    };
    for (let n = 0; n < 3; n += 1) await round();
    rollout.command({ mode: canary });
    for (let n = 0; n < 30 && rollout.state.rollbacks.length === 0; n += 1) await round();
    await gateway.entry(sent);
    const entries = gateway.entries();
    const failed = (key: string): readonly Entry[] =>
      entries.filter(
        ({ client, status, mode, origin }) =>
          client === clientOf(key) && status >= 400 && mode === 'canary' && origin !== 'v1',
      );
    const [rolledBack, ...more] = rollout.state.rollbacks;
    expect(more).toEqual([]);
    expect(rolledBack?.v1.failures).toBe(0);
    expect(failed(both).length).toBeGreaterThan(2);
    expect(failed(malformed).length).toBeGreaterThan(0);
    expect(rolledBack?.migrated.failures).toBe(failed(harmed).length + failed(malformed).length);
    expect(rolledBack?.cause).toEqual({
      status: '422',
      client: clientOf(harmed),
      operation: 'order_floor_plan',
      count: failed(harmed).length,
    });
    const filter = parseFilter(rolledBack?.cause === undefined ? '' : causeFilter(rolledBack.cause));
    if (isFilterFault(filter)) throw new Error(filter.message);
    expect(entries.filter((entry) => filter.accepts(entry))).toEqual(failed(harmed));
  });

  test('a request that V2 refuses where V1 does not has failed', async () => {
    const refusing: RawResponse = (socket) => socket.write('HTTP/1.1 422 No\r\nContent-Length: 2\r\n\r\n{}');
    const run = await serve({ operations: { order_floor_plan: canary }, rollback }, { v2: refusing });
    await runAll(run);
    expect(run.gateway.rollout.state).toMatchObject({
      operations: { order_floor_plan: { mode: 'observe' } },
      rollbacks: [{ operation: 'order_floor_plan' }],
    });
    expect(run.gateway.rollout.state).not.toHaveProperty('default');
  });

  test('failures that are older than the window count for the stage', () => {
    let time = 1_000_000;
    const control = new RolloutControl({ time: () => time, onNotice: () => {} });
    const modes = control.modes({ rollout: rolloutOf({ default: canary, rollback }) } as never);
    const choice = {
      mode: canary,
      origin: 'v2',
      canary: { operation: undefined, share: 50 },
      modes,
    } as const;
    for (let n = 0; n < 9; n += 1) control.count(choice, '5xx', KEYLESS);
    time += 70_000;
    expect(control.counts.get(undefined)).toMatchObject({
      migrated: { requests: 0 },
      evidence: { migrated: 9 },
    });
    for (let n = 0; n < 9; n += 1) control.count(choice, '5xx', KEYLESS);
    expect(control.state.rollbacks).toHaveLength(1);
  });

  test('requests that began before a change do not count for the current mode', () => {
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const book = { rollout: rolloutOf({ default: canary, rollback }) } as never;
    const modes = control.modes(book);
    control.command({ mode: { mode: 'canary', share: 60 } });
    control.modes(book);
    const choice = {
      mode: canary,
      origin: 'v2',
      canary: { operation: undefined, share: 50 },
      modes,
    } as const;
    for (let n = 0; n < 50; n += 1) control.count(choice, '5xx', KEYLESS);
    expect(control.state.rollbacks).toEqual([]);
  });
});
