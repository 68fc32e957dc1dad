import { expect, test } from 'vitest';
import { createEdgeGateway, EdgeServer } from '../../src/edge/gateway.ts';
import type { EdgeBindings } from '../../src/edge/bindings.ts';
import type { TransformModule } from '../../src/migrate/transform.ts';
import type { RuleBook } from '../../src/rules/rule-book.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { compiledShippedRuleBook } from '../support/shipped-rule-book.ts';
import { until } from '../support/until.ts';

const SILENT = { print: () => {}, later: () => {} };

test('everything that prevents a worker from serving is a fault, and all faults are named at once', async () => {
  const bindings: object = {
    GATEWAY_V1_UPSTREAM: 'unix:/run/v1.sock',
    GATEWAY_SELF_SERVICE: 'on',
    GATEWAY_STORE: 'file:/tmp/store.json',
    GATEWAY_ADMIN_HOSTS: 'admin.test',
    GATEWAY_UPSTREAM_HOST: 'v2.test',
    GATEWAY_RULES: 'rules.yaml',
    GATEWAY_LOG_FILE: 'log.ndjson',
    GATEWAY_CONFIG: 'gateway.yaml',
  };
  const { ruleBook } = await compiledShippedRuleBook();
  expect(await createEdgeGateway({ ...SILENT, bindings, ruleBook })).toMatchObject({
    faults: [
      'Unset GATEWAY_RULES, GATEWAY_UPSTREAM_HOST: it has no effect at the edge.',
      'Unset GATEWAY_CONFIG: there are no files at the edge; its variables are its settings.',
      'Unset GATEWAY_LOG_FILE, or set it to off: there are no files at the edge.',
      'Unset GATEWAY_SELF_SERVICE: an isolate at the edge keeps no report.',
      'Unset GATEWAY_STORE: at the edge the Durable Object ROLLOUT is the store.',
      'There are no Unix sockets at the edge; set an http or https address.',
      'GATEWAY_ADMIN_HOSTS is set; set the secret GATEWAY_ADMIN_TOKEN as well.',
      'Set GATEWAY_UPSTREAM: there is no embedded V2 at the edge.',
    ],
  });
});

test.each([
  [
    'a token is missing, so that anyone could steer',
    {},
    /^GATEWAY_ADMIN_HOSTS is set; set the secret GATEWAY_ADMIN_TOKEN/,
  ],
  [
    'an object is missing, so that a choice would hold in one isolate',
    { GATEWAY_ADMIN_TOKEN: 'a token of the tests' },
    /^GATEWAY_ADMIN_HOSTS is set, but the Durable Object ROLLOUT is not bound/,
  ],
])('a host for operators: %s', async (_, more, fault) => {
  const bindings: object = {
    GATEWAY_UPSTREAM: 'https://v2.test',
    GATEWAY_ADMIN_HOSTS: 'admin.test',
    ...more,
  };
  const { ruleBook } = await compiledShippedRuleBook();
  const outcome = await createEdgeGateway({ ...SILENT, bindings, ruleBook });
  expect(outcome).toMatchObject({ faults: [expect.stringMatching(fault)] });
});

test('a rule book that refuses newcomers needs an object that all isolates share', async () => {
  const bindings: object = { GATEWAY_UPSTREAM: 'https://v2.test' };
  const newcomers = { from: 0, answer: 'refuse', except: [] } as const;
  const ruleBook = { ...testRuleBook(), rollout: { clients: {}, brownouts: [], pins: [], newcomers } };
  const outcome = await createEdgeGateway({ ...SILENT, bindings, ruleBook });
  expect(outcome).toMatchObject({
    faults: [
      expect.stringMatching(/newcomers: bind the Durable Object ROLLOUT/),
      expect.stringMatching(/newcomers: set GATEWAY_CLIENT_SECRET/),
    ],
  });
});

test('a rule book with webhooks is refused without their secrets', async () => {
  const sign = { scheme: 'standard-webhooks', verify: ['A'], with: ['B'] } as const;
  const ruleBook = { ...testRuleBook(), webhooks: { orders: { to: 'https://subscriber.test/', sign } } };
  const bindings: object = { GATEWAY_UPSTREAM: 'https://v2.test' };
  expect(await createEdgeGateway({ ...SILENT, bindings, ruleBook })).toEqual({
    faults: [
      'The rule book has the webhook "orders": set A to its secret.',
      'The rule book has the webhook "orders": set B to its secret.',
    ],
  });
});

test('a transform of the bundle makes queries and bodies; one that waits too long is a 502, and V2 gets nothing', async () => {
  const v2 = await rawServer((socket) => socket.write(ok('{"data":[],"total":41}')));
  const module = './pages.js';
  const operation = { id: 'list', method: 'GET', template: '/bills', assumed: false, transform: module };
  const book: RuleBook = {
    ...testRuleBook(),
    operations: [operation],
    changes: [],
    limits: { ...testRuleBook().limits, transform: 200 },
    modules: { [module]: { exports: ['request', 'response'] } },
  };
  const work: Promise<unknown>[] = [];
  const serve = (transforms: Readonly<Record<string, TransformModule>>): EdgeServer => {
    const bindings: object = { GATEWAY_UPSTREAM: v2.origin, GATEWAY_CLIENT_SECRET: 'a secret of the tests' };
    const later = (promise: Promise<unknown>): void => void work.push(promise);
    return new EdgeServer({ bindings, ruleBook: book, transforms, print: () => {}, later });
  };
  const request = (): Request => {
    const made = new Request('http://a/api/v1/bills?page=2');
    made.headers.set('host', 'a');
    return made;
  };
  const waiting: TransformModule = { request: () => new Promise(() => {}) };
  const failed = await serve({ [module]: waiting }).fetch(request());
  expect([failed.status, failed.headers.get('x-gateway-error')]).toEqual([502, 'transform-failed']);
  expect(v2.received.join('')).toBe('');
  const pages: TransformModule = {
    request: (_, { query }) => ({ query: { cursor: btoa(query.get('page') ?? '') } }),
    response: (body, { query }) => ({ body: { body, page: query.get('page') } }),
  };
  const response = await serve({ [module]: pages }).fetch(request());
  expect(await response.json()).toEqual({ body: { data: [], total: 41 }, page: '2' });
  expect(v2.received.join('')).toMatch(/^GET \/api\/v2\/bills\?cursor=Mg%3D%3D /);
  await Promise.allSettled(work);
});

test('an isolate loads the code for forms and patches with its first form or patch, and rewrites that one', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const work: Promise<unknown>[] = [];
  const boundary = 'a boundary';
  const part = (name: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nslide\r\n--${boundary}--\r\n`;
  for (const [type, body, sent] of [
    ['application/json', '{"transition_type":"slide"}', '{"highlight_type":"slide"}'],
    ['application/x-www-form-urlencoded', 'transition_type=slide', 'highlight_type=slide'],
    [`multipart/form-data; boundary="${boundary}"`, part('transition_type'), part('highlight_type')],
    ['application/merge-patch+json', '{"transition_type":null}', '{"highlight_type":null}'],
    [
      'application/json-patch+json',
      '[{"op":"remove","path":"/transition_type"}]',
      '[{"op":"remove","path":"/highlight_type"}]',
    ],
  ] as const) {
    const bindings: object = { GATEWAY_UPSTREAM: v2.origin, GATEWAY_CLIENT_SECRET: 'a secret of the tests' };
    // Another isolate for each, so that each is the first.
    const isolate = new EdgeServer({
      bindings,
      ruleBook: testRuleBook(),
      print: () => {},
      later: (promise) => void work.push(promise),
    });
    for (const round of ['first', 'next']) {
      const headers = { 'content-type': type, 'content-length': String(body.length), host: 'a' };
      const request = new Request('http://a/api/v1/orders/post_productions', {
        method: 'POST',
        headers,
        body,
      });
      request.headers.set('host', 'a');
      const { status } = await isolate.fetch(request);
      expect([type, round, status]).toEqual([type, round, 200]);
      expect(v2.received.splice(0).join('').split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(sent);
    }
  }
  await Promise.allSettled(work);
});

test('lookups ask V2, and end when their time is over', async () => {
  const v2 = await rawServer((socket, request) => {
    if (request.startsWith('GET /api/v2/deals')) socket.write(ok('{"data":[{"owner_id":7},{"owner_id":8}]}'));
    else if (request.startsWith('GET /api/v2/users/7')) socket.write(ok('{"data":{"name":"Ann"}}'));
  });
  const book: RuleBook = {
    ...testRuleBook(),
    operations: [{ id: 'list', method: 'GET', template: '/deals', assumed: false }],
    changes: [
      {
        id: 'owners',
        summary: 'Deals had their owner.',
        on: ['list'],
        request: [],
        response: [
          {
            rule: 'lookup',
            path: ['data', '*', 'owner_id'],
            address: { before: '/users/', after: '' },
            take: ['name'],
            as: 'owner',
            absent: 'null',
            status: ['2xx'],
          },
        ],
        policies: {},
        assumed: false,
      },
    ],
    limits: { ...testRuleBook().limits, 'lookup-time': 500 },
  };
  const work: Promise<unknown>[] = [];
  const lines: string[] = [];
  const bindings: object = { GATEWAY_UPSTREAM: v2.origin, GATEWAY_CLIENT_SECRET: 'a secret of the tests' };
  const server = new EdgeServer({
    bindings,
    ruleBook: book,
    transforms: {},
    print: (line) => void lines.push(line),
    later: (promise) => void work.push(promise),
  });
  const request = new Request('http://a/api/v1/deals', { headers: { authorization: 'Bearer k' } });
  request.headers.set('host', 'a');
  const response = await server.fetch(request);
  expect(await response.text()).toBe(
    '{"data":[{"owner_id":7,"owner":{"name":"Ann"}},{"owner_id":8,"owner":null}]}',
  );
  expect(v2.received.join('').match(/authorization: Bearer k/gi)).toHaveLength(3);
  await Promise.allSettled(work);
  expect(lines.join('')).toContain('"cause":"timeout"');
});

test('bindings that throw are reported once, cost no response, and are not reported as bugs', async () => {
  const v2 = await rawServer((socket) => socket.write(ok()));
  const lines: string[] = [];
  const work: Promise<unknown>[] = [];
  const fail = (): never => {
    throw new Error('it is gone');
  };
  const server = new EdgeServer({
    bindings: {
      GATEWAY_UPSTREAM: v2.origin,
      REWRITE_LOG_QUEUE: { send: fail },
      REWRITE_LOG_ANALYTICS: { writeDataPoint: fail },
      ROLLOUT: { idFromName: (name) => name, get: fail },
      ROLLOUT_COPY: { get: fail, put: fail },
    } as EdgeBindings,
    ruleBook: testRuleBook(),
    print: (line) => void lines.push(line),
    later: (promise) => void work.push(promise),
  });
  for (let round = 0; round < 2; round++) {
    const request = new Request('http://a/api/v1/clients', { headers: { Host: 'a' } });
    const response = await server.fetch(request);
    expect(await response.text()).toBe('{"data":{}}');
  }
  const parsed = (): Record<string, unknown>[] =>
    lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  await until(() => parsed().filter(({ status }) => status === 200).length === 2);
  await Promise.all(work);
  const said = parsed().filter(({ event }) => event !== undefined);
  expect(
    said
      .map(({ event, binding }) => String(binding ?? event))
      .toSorted((one, other) => one.localeCompare(other)),
  ).toEqual(['REWRITE_LOG_ANALYTICS', 'REWRITE_LOG_QUEUE', 'ROLLOUT_COPY', 'store-lost']);
  for (const { msg } of said)
    expect(msg).toMatch(/binding (?:REWRITE_LOG_\w+|ROLLOUT(?:_COPY)?) fails.*it is gone/);
});
