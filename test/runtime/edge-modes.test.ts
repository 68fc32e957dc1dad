/** @module-tag wrangler */
import { createHmac } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { createClientHash } from '../../src/node/runtime.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { shareOf } from '../../src/rollout/modes-in-force.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { lookupRules } from '../support/rule-book.ts';
import { ok, type RawResponse, rawServer, type RawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { bundleWorkerWith, type RunningWorkerd, startWorkerd } from '../support/workerd.ts';

const SECRET = 'a secret of the tests';
const clientOf = createClientHash(SECRET);
const keys = Array.from({ length: 200 }, (_, number) => `key-${number}`);
const shareOfKey = (key: string): number => shareOf(clientOf(key));
/** A key below the canary's share of 50 %, and one above. */
const inside = keys.find((key) => shareOfKey(key) < 50) ?? '';
const outside = keys.find((key) => shareOfKey(key) >= 50) ?? '';

/** What the rule book says; each operation has its own mode. */
const ROLLOUT = `
clients: { pinned: ${clientOf('pinned')}, brown: ${clientOf('brown')} }
modes:
  default: migrate
  operations:
    create_client: observe
    order_floor_plan: { canary: 50 }
    list_clients: shadow
    read_client: { verify: 100 }
  rollback: { window: 1m, margin: 5, requests: 4 }
pins: [{ version: 2025-06-01, clients: [pinned] }]
brownouts: [{ id: first, clients: [brown], share: 100, status: 503, message: V1 ends soon. }]
shield: { requests: 3, per: 1s, wait: 20s, queue: 20 }
`;

let file = '';

beforeAll(async () => {
  const rules = join(temporaryFolder('modes'), 'rules.yaml');
  const shipped = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');
  writeFileSync(rules, `${shipped}${ROLLOUT}`);
  file = await bundleWorkerWith(rules);
});

interface Edge extends RunningWorkerd {
  readonly v1: RawServer;
  readonly v2: RawServer;
  entries(count: number): Promise<readonly Entry[]>;
}

async function edgeFor(
  responses: { readonly v1?: RawResponse; readonly v2?: RawResponse } = {},
): Promise<Edge> {
  const v1 = await rawServer(responses.v1 ?? ((socket) => socket.write(ok('{"data":{"from":"v1"}}'))));
  const v2 = await rawServer(responses.v2 ?? ((socket) => socket.write(ok('{"data":{"from":"v2"}}'))));
  const worker = await startWorkerd(file, {
    GATEWAY_UPSTREAM: v2.origin,
    GATEWAY_V1_UPSTREAM: v1.origin,
    GATEWAY_CLIENT_SECRET: SECRET,
  });
  const entries = (): Entry[] =>
    worker.lines.filter((line) => line.startsWith('{"time"')).map((line) => JSON.parse(line) as Entry);
  return {
    ...worker,
    v1,
    v2,
    entries: async (count) => {
      await until(() => entries().length >= count);
      return entries();
    },
  };
}

const get = (path: string, key = 'k'): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\n\r\n`;
const post = (path: string, key = 'k', body = '{"data":{"name":"A"}}'): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

test('observe: V1 gets the request as it came, and the log has the edits', async () => {
  const edge = await edgeFor();
  expect((await exchange(edge.port, post('/api/v1/clients'))).text).toContain('"v1"');
  expect(edge.v1.received[0]).toMatch(/\{"data":\{"name":"A"\}\}$/);
  expect(edge.v2.received).toEqual([]);
  expect((await edge.entries(1))[0]).toMatchObject({
    mode: 'observe',
    origin: 'v1',
    would: { verdict: 'rewritten' },
    edits: [{ change: 'body-wrapper' }],
  });
});

test('shadow: a read is compared, though its client does not wait for the comparison', async () => {
  const edge = await edgeFor();
  expect((await exchange(edge.port, get('/api/v1/clients'))).text).toContain('"v1"');
  const [entry] = await edge.entries(1);
  expect(entry).toMatchObject({
    mode: 'shadow',
    comparison: { verdict: 'different', differences: [{ path: '/data/from', kind: 'value' }] },
  });
  expect([edge.v1.received.join('').match(/GET /g)?.length, edge.v2.received.length]).toEqual([2, 1]);
});

test('verify: the client has the response of V2, and that of V1 is compared with it', async () => {
  const edge = await edgeFor();
  expect((await exchange(edge.port, get('/api/v1/clients/1'))).text).toContain('"v2"');
  expect((await edge.entries(1))[0]).toMatchObject({
    mode: 'verify',
    comparison: { verdict: 'different', differences: [{ path: '/data/from', kind: 'value' }] },
  });
});

test('canary: the same clients as on Node are migrated', async () => {
  const edge = await edgeFor();
  expect((await exchange(edge.port, post('/api/v1/orders/floor_plans', inside))).text).toContain('"v2"');
  expect((await exchange(edge.port, post('/api/v1/orders/floor_plans', outside))).text).toContain('"v1"');
});

test('pins and brownouts apply', async () => {
  const edge = await edgeFor();
  await exchange(edge.port, get('/api/v1/heartbeat', 'pinned'));
  expect(edge.v2.received[0]).toMatch(/\r\nx-api-version: 2025-06-01\r\n/i);
  const refused = await exchange(edge.port, get('/api/v1/heartbeat', 'brown'));
  expect(statusOf(refused)).toBe(503);
  expect(refused.text).toContain('V1 ends soon.');
});

test('the rate limit holds requests back in order, though in an isolate no request may act for another', async () => {
  const edge = await edgeFor();
  const responses = await Promise.all(
    Array.from({ length: 10 }, () => exchange(edge.port, get('/api/v1/heartbeat'))),
  );
  expect(responses.map(statusOf)).toEqual(Array.from({ length: 10 }, () => 200));
  const entries = await edge.entries(10);
  // On a slow machine some of them come late enough to find a free slot.
  const held = entries.filter(({ heldMs = 0 }) => heldMs > 0);
  expect(held.length).toBeGreaterThanOrEqual(1);
  expect(held.length).toBeLessThanOrEqual(7);
});

test('webhooks: V2 posts them to the worker, which checks, rewrites and signs them, and the response goes back', async () => {
  const subscriber = await rawServer((socket) =>
    socket.write('HTTP/1.1 302 Found\r\nLocation: https://elsewhere.test/\r\nContent-Length: 5\r\n\r\ntaken'),
  );
  const rules = join(temporaryFolder('webhooks'), 'rules.yaml');
  writeFileSync(
    rules,
    `version: 2025-01-01
operations: { get_order: 'GET /orders/{id}' }
changes: [{ id: kind, summary: A name., on: [get_order], response: [{ rename: data.kind, to: type }] }]
webhooks: { orders: { to: '${subscriber.origin}/hook?a=b', as: get_order, sign: { scheme: standard-webhooks, verify: OF_V2, with: OWN } } }
`,
  );
  const [ofV2, own] = ['1', '2'].map((digit) => `whsec_${Buffer.from(digit.repeat(24)).toString('base64')}`);
  if (ofV2 === undefined || own === undefined) throw new Error('a secret is missing');
  const worker = await startWorkerd(await bundleWorkerWith(rules), {
    GATEWAY_UPSTREAM: 'http://127.0.0.1:1',
    OF_V2: ofV2,
    OWN: own,
  });
  const timestamp = String(Math.floor(Date.now() / 1000));
  const sign = (secret: string, body: string): string => {
    const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`m.${timestamp}.${body}`).digest('base64')}`;
  };
  const deliver = (signature: string): ReturnType<typeof exchange> => {
    const body = '{"data":{"kind":"x"}}';
    return exchange(
      worker.port,
      `POST /webhooks/orders HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nWebhook-Id: m\r\nWebhook-Timestamp: ${timestamp}\r\nWebhook-Signature: ${signature}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  };
  const refused = await deliver(sign(own, '{"data":{"kind":"x"}}'));
  expect([statusOf(refused), subscriber.received.join('')]).toEqual([401, '']);
  expect(refused.text).toMatch(/x-gateway-error: bad-signature/i);
  for (let round = 1; round <= 2; round++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const delivered = await deliver(sign(ofV2, '{"data":{"kind":"x"}}'));
    expect(statusOf(delivered)).toBe(302);
    expect(delivered.text).toMatch(/taken/);
  }
  const received = subscriber.received.join('');
  expect(received.split('POST /hook?a=b HTTP')).toHaveLength(3);
  expect(received.split('{"data":{"type":"x"}}')).toHaveLength(3);
  expect(received.toLowerCase()).toContain(
    `webhook-signature: ${sign(own, '{"data":{"type":"x"}}')}`.toLowerCase(),
  );
  await until(() => worker.lines.filter((line) => line.includes('"route":"webhook"')).length === 3);
});

test('lookups ask V2 with the credentials of the client, and end when their time is over', async () => {
  const rules = join(temporaryFolder('lookups'), 'rules.yaml');
  writeFileSync(rules, `limits: { lookup-time: 1500 }${lookupRules("get: '/users/{}'")}`);
  // More than the six connections that a worker has at a time.
  const ids = Array.from({ length: 20 }, (_, at) => at + 1);
  const v2 = await rawServer((socket, request) => {
    const id = /^GET \/api\/v2\/users\/(\d+) /.exec(request)?.[1];
    if (id === undefined) socket.write(ok(`{"data":[${ids.map((one) => `{"owner_id":${one}}`).join()}]}`));
    else if (id !== '20') socket.write(ok(`{"data":{"name":"of ${id}"}}`));
  });
  const worker = await startWorkerd(await bundleWorkerWith(rules), {
    GATEWAY_UPSTREAM: v2.origin,
    GATEWAY_CLIENT_SECRET: SECRET,
  });
  const response = await exchange(
    worker.port,
    'GET /api/v1/deals HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer k\r\nConnection: close\r\n\r\n',
  );
  expect(statusOf(response)).toBe(200);
  for (const id of ids.slice(0, -1))
    expect(response.text).toContain(`{"owner_id":${id},"owner":{"name":"of ${id}"}}`);
  expect(response.text).toContain('{"owner_id":20}');
  expect(v2.received.join('').match(/authorization: Bearer k/gi)).toHaveLength(ids.length + 1);
  await until(() => worker.lines.some((line) => line.includes('"lookups":')));
  const logged = worker.lines.find((line) => line.includes('"lookups":')) ?? '';
  expect(logged).toContain('"status":200,"count":19');
  expect(logged).toContain('"cause":"timeout","count":1');
});
