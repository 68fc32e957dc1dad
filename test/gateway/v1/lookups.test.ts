import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CompiledRuleBook } from '../../../src/rewrite/compiled-rule-book.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import { entrySchema } from '../../../src/rewrite-log/entry-schema.ts';
import { readRuleBook } from '../../../src/rules/read-rule-book.ts';
import { gatewayFor, type TestGateway, type TestGatewayOptions } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { until } from '../../support/until.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Services {
  readonly gateway: TestGateway;
  /** Targets that V2 was asked for, below its prefix, with method and Authorization. */
  readonly asked: { readonly line: string; readonly key: string | undefined }[];
  /** Requests under way at V2, and the most that were at a time. */
  readonly load: { now: number; most: number; closed: number };
  /** Lets V2 accept no more connections. */
  readonly stop: () => void;
  /** GETs a path of V1. */
  readonly get: (path?: string, more?: string) => ReturnType<typeof exchange>;
}

const OWNERS = `{ lookup: data.*.owner_id, get: '/users/{owner_id}', take: [name], as: owner }`;
const ONE = '{"data":[{"owner_id":7}]}';

async function servicesWith(
  rule: string,
  deals: string | Handler,
  users: Handler,
  more = '',
  options: TestGatewayOptions = {},
): Promise<Services> {
  const asked: Services['asked'] = [];
  const load = { now: 0, most: 0, closed: 0 };
  const server = createServer((request, response) => {
    const line = `${request.method} ${request.url?.replace(/^\/api\/v\d/, '')}`;
    asked.push({ line, key: request.headers.authorization });
    if (request.url?.includes('/deals') === true) {
      if (typeof deals === 'string') json(deals)(request, response);
      else deals(request, response);
      return;
    }
    load.now += 1;
    load.most = Math.max(load.most, load.now);
    response.on('close', () => {
      load.now -= 1;
      if (!response.writableFinished) load.closed += 1;
    });
    users(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no address');
  const origin = `http://127.0.0.1:${address.port}`;
  const reading = await readRuleBook(
    `operations: { list: GET /deals, show: 'GET /users/{id}' }\n${more}\nchanges:\n  - { id: owners, summary: S., on: [list], response: [${rule}] }\n`,
    'rules.yaml',
  );
  if (!reading.ok) throw new Error(reading.faults.map(({ message }) => message).join('\n'));
  const isBeside = 'rollout' in reading.ruleBook;
  const gateway = await gatewayFor(origin, {
    rules: new CompiledRuleBook(reading.ruleBook),
    ...options,
    parts: { ...(isBeside ? { v1Origin: { origin, path: '' } } : {}), ...options.parts },
  });
  const get: Services['get'] = (path = '/deals', fields = 'Authorization: Bearer k\r\n') =>
    exchange(gateway.port, `GET /api/v1${path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n${fields}\r\n`);
  return { gateway, asked, load, get, stop: () => void server.close() };
}

const json =
  (body: string | Buffer, status = 200, fields: Readonly<Record<string, string>> = {}): Handler =>
  (_, response) => {
    const length = String(Buffer.byteLength(body));
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...fields });
    response.end(body);
  };
const later =
  (milliseconds: number, then: Handler): Handler =>
  (request, response) =>
    void setTimeout(() => then(request, response), milliseconds);
const user: Handler = (request, response) =>
  json(`{"data":{"name":"of ${request.url?.split('/').at(-1)}"}}`)(request, response);
const bodyOf = ({ text }: { readonly text: string }): string => text.slice(text.indexOf('\r\n\r\n') + 4);
const lookupsOf = async (gateway: TestGateway): Promise<Entry> => {
  const entry = await gateway.entry();
  expect(entrySchema.safeParse(JSON.parse(entryLine(entry))).success).toBe(true);
  return entry;
};

describe('lookups', () => {
  test('20 addresses for 1,000 elements: each once, with the credentials, a few at a time', async () => {
    const items = Array.from({ length: 1000 }, (_, at) => `{"id":${at},"owner_id":${at % 20}}`);
    const { gateway, asked, load, get } = await servicesWith(
      OWNERS,
      `{"data":[${items.join()}]}`,
      later(5, user),
    );
    const response = await get();
    expect(statusOf(response)).toBe(200);
    const owned = items.map((item, at) => item.replace('}', `,"owner":{"name":"of ${at % 20}"}}`));
    expect(bodyOf(response)).toBe(`{"data":[${owned.join()}]}`);
    const lines = asked.map(({ line }) => line).toSorted();
    expect(lines).toEqual(
      ['GET /deals', ...Array.from({ length: 20 }, (_, at) => `GET /users/${at}`)].toSorted(),
    );
    expect(new Set(asked.map(({ key }) => key))).toEqual(new Set(['Bearer k']));
    expect(load.most).toBeLessThanOrEqual(6);
    const { lookups, responseNote, responseEdits } = await lookupsOf(gateway);
    expect(lookups).toEqual([
      {
        address: '/api/v2/users/{}',
        status: 200,
        count: 20,
        ms: expect.any(Number),
        bytes: expect.any(Number),
      },
    ]);
    expect(responseNote).toBeUndefined();
    expect(responseEdits?.[0]).toEqual({ change: 'owners', rule: 'lookup', path: '/data/0/owner' });
  });

  test('with many, one request asks for all', async () => {
    const { asked, get } = await servicesWith(
      `{ lookup: data.*.owner_id, many: '/users?ids={}', take: [name], as: owner }`,
      '{"data":[{"owner_id":1},{"owner_id":2},{"owner_id":1}]}',
      json('{"data":[{"id":2,"name":"Bo"},{"id":1,"name":"Ann"}]}'),
    );
    expect(bodyOf(await get())).toBe(
      '{"data":[{"owner_id":1,"owner":{"name":"Ann"}},{"owner_id":2,"owner":{"name":"Bo"}},{"owner_id":1,"owner":{"name":"Ann"}}]}',
    );
    expect(asked.map(({ line }) => line)).toEqual(['GET /deals', 'GET /users?ids=1,2']);
  });

  const faults: readonly (readonly [title: string, users: Handler, told: object])[] = [
    ['responds with 404', json('{"data":{"name":"nobody"}}', 404), { status: 404 }],
    ['responds with 500', json('{}', 500), { status: 500 }],
    ['redirects', json('{}', 302, { location: '/api/v2/users/8' }), { status: 302 }],
    [
      'responds with 10 MB',
      json(`{"data":{"name":"${'x'.repeat(10_000_000)}"}}`),
      { status: 200, cause: 'too-large' },
    ],
    ['does not respond with JSON', json('<html>'), { status: 200, cause: 'not JSON' }],
    ['never responds', () => {}, { cause: 'timeout' }],
    [
      'begins to respond, and never ends',
      (_, response) => void response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":'),
      { cause: 'timeout' },
    ],
    ['closes the connection', ({ socket }) => void socket.destroy(), { cause: expect.any(String) }],
    [
      'closes it within the response',
      ({ socket }, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('{"data":', () => socket.destroy());
      },
      { status: 200, cause: expect.any(String) },
    ],
  ];
  test.each(faults)('a V2 that %s: the member is omitted, and the log says why', async (_, users, told) => {
    const { gateway, get, load } = await servicesWith(
      OWNERS,
      ONE,
      users,
      `limits: { lookup-time: ${'cause' in told && told.cause === 'timeout' ? 300 : 10_000} }`,
    );
    const response = await get();
    expect(statusOf(response)).toBe(200);
    expect(bodyOf(response)).toBe(ONE);
    const entry = await lookupsOf(gateway);
    expect(entry.responseNote).toBe('lookup-failed');
    expect(entry.lookups).toEqual([
      expect.objectContaining({ address: '/api/v2/users/{}', count: 1, ...told }),
    ]);
    await until(() => load.now === 0);
    // Nothing is held once it is over.
    await until(() => gateway.gateway.budget.held === 0);
  });

  test.each(faults)('a V2 that %s: 502 for all of the response, where absent says fail', async (_, users) => {
    const { gateway, get } = await servicesWith(
      OWNERS.replace(' }', ', absent: fail }'),
      '{"data":[{"owner_id":7},{"secret":1}]}',
      users,
      'limits: { lookup-time: 300 }',
    );
    const response = await get();
    expect(statusOf(response)).toBe(502);
    expect(response.text).toContain('x-gateway-error: lookup-failed');
    expect(response.text).not.toContain('secret');
    expect(await lookupsOf(gateway)).toMatchObject({
      failure: 'lookup-failed',
      cause: expect.stringMatching(/^lookup of \/api\/v2\/users\/\{\}: /),
    });
  });

  test('a connection that closes is tried once more, as that of any GET', async () => {
    let count = 0;
    const { gateway, get } = await servicesWith(OWNERS, ONE, (request, response) => {
      count += 1;
      if (count === 1) request.socket.destroy();
      else user(request, response);
    });
    expect(bodyOf(await get())).toBe('{"data":[{"owner_id":7,"owner":{"name":"of 7"}}]}');
    expect(count).toBe(2);
    expect((await lookupsOf(gateway)).lookups).toMatchObject([{ status: 200, count: 1 }]);
  });

  test('a response that V2 encodes without being asked to is decoded', async () => {
    const body = gzipSync('{"data":{"name":"Ann"}}');
    const { get } = await servicesWith(OWNERS, ONE, json(body, 200, { 'content-encoding': 'gzip' }));
    expect(bodyOf(await get())).toBe('{"data":[{"owner_id":7,"owner":{"name":"Ann"}}]}');
  });

  test('a response of a megabyte, rewritten in a thread, looks up as well', async () => {
    const items = Array.from({ length: 20_000 }, (_, at) => `{"owner_id":${at % 3},"x":"${'y'.repeat(40)}"}`);
    const { get, asked } = await servicesWith(OWNERS, `{"data":[${items.join()}]}`, user);
    const body = bodyOf(await get());
    expect(body.split('"owner":{"name":"of 1"}').length - 1).toBe(6667);
    expect(asked).toHaveLength(4);
  });

  test('a client that goes away ends the lookups, and V2 sees that', async () => {
    const { gateway, load } = await servicesWith(
      OWNERS,
      '{"data":[{"owner_id":1},{"owner_id":2}]}',
      () => {},
    );
    const { socket } = rawClient(gateway.port);
    socket.write('GET /api/v1/deals HTTP/1.1\r\nHost: g\r\n\r\n');
    await until(() => load.now === 2);
    socket.destroy();
    await until(() => load.closed === 2);
    expect(await gateway.entry()).toMatchObject({ status: 0 });
    await until(() => gateway.gateway.budget.held === 0);
  });

  test('a V2 that refuses connections meanwhile: the member is omitted', async () => {
    const { gateway, get, stop } = await servicesWith(
      OWNERS,
      (request, response) => {
        stop();
        json(ONE, 200, { connection: 'close' })(request, response);
      },
      user,
      'limits: { lookup-time: 500 }',
    );
    expect(bodyOf(await get())).toBe(ONE);
    expect(await lookupsOf(gateway)).toMatchObject({
      responseNote: 'lookup-failed',
      lookups: [{ count: 1, cause: expect.any(String) }],
    });
  });

  test.each([
    ['with the same', 'of 7', 'same'],
    ['with another', 'of 8', 'different'],
  ])('a shadow makes its own lookups, and compares %s', async (_, name, verdict) => {
    const v1 = `{"data":[{"owner_id":7,"owner":{"name":"${name}"}}]}`;
    const { gateway, get, asked } = await servicesWith(
      OWNERS,
      (request, response) => json(request.url?.startsWith('/api/v1') === true ? v1 : ONE)(request, response),
      user,
      'modes: shadow',
    );
    expect(bodyOf(await get())).toBe(v1);
    expect(await lookupsOf(gateway)).toMatchObject({
      origin: 'v1',
      comparison: { verdict },
      lookups: [{ address: '/api/v2/users/{}', status: 200, count: 1 }],
    });
    expect(asked.filter(({ line }) => line.includes('/users/'))).toEqual([
      { line: 'GET /users/7', key: 'Bearer k' },
    ]);
  });

  test('observe looks nothing up, because V2 gets no request', async () => {
    const { gateway, get, asked } = await servicesWith(OWNERS, ONE, user, 'modes: observe');
    expect(bodyOf(await get())).toBe(ONE);
    expect(await gateway.entry()).not.toHaveProperty('lookups');
    expect(asked.map(({ line }) => line)).toEqual(['GET /deals']);
  });
});
