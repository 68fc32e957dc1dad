import { exchange } from '../support/raw-client.ts';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type GatewayNotice, noticeLine } from '../../src/gateway/resilience.ts';
import type { EntryDetail } from '../../src/inspector/api.ts';
import { readEntry } from '../../src/rewrite-log/read-entry.ts';
import type { NodeGatewayParts } from '../../src/node/start-gateway.ts';
import { CompiledRuleBook } from '../../src/rewrite/compiled-rule-book.ts';
import { freePort } from '../support/free-port.ts';
import { gatewayFor, type TestGateway } from '../support/gateway.ts';
import { listening } from '../support/listening.ts';
import { watchedServices } from '../support/watched-services.ts';
import { bookIn } from '../rules/reading.ts';

const [OF_V2, OLD_OF_V2, OF_SUBSCRIBER, NEXT_OF_SUBSCRIBER, UNKNOWN] = [1, 2, 3, 4, 5].map(
  () => `whsec_${randomBytes(24).toString('base64')}`,
) as [string, string, string, string, string];

const ENVIRONMENT = {
  V2_SECRET: OF_V2,
  V2_OLD_SECRET: OLD_OF_V2,
  HOOK_SECRET: OF_SUBSCRIBER,
  HOOK_NEXT_SECRET: NEXT_OF_SUBSCRIBER,
};

const BODY = '{"type":"order.done","data":{"id":7, "highlight_type":"fade"},"extra":1.50}';
const IN_V1 = '{"type":"order.done","data":{"id":7, "transition_type":"fade"},"extra":1.50}';

const EVENT = '{"type":"x","data":{"object":{"client":1,"n":2.0}},"client":3}';
const EVENT_IN_V1 = EVENT.replace('client', 'customer');
const PADDING = ' '.repeat(512 * 1024);

/** A request as the subscriber received it. */
interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A subscriber that answers with `answer`; `requests` are those that it received. */
async function subscriberWith({ status = 200, headers = {}, body = 'thanks' }: Answer = {}): Promise<{
  readonly address: string;
  readonly requests: readonly Received[];
}> {
  const requests: Received[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      requests.push({ url: request.url, headers: request.headers, body: Buffer.concat(parts) });
      response.writeHead(status, headers).end(body);
    });
  });
  return { address: `http://127.0.0.1:${await listening(server)}`, requests };
}

async function gatewayWith(
  address: string,
  more = '',
  parts: Partial<NodeGatewayParts> = {},
): Promise<TestGateway> {
  const text = `version: 2025-01-01
operations:
  get_order: GET /orders/{id}
  list_orders: GET /orders
  create_order: POST /orders
  order_event: { match: POST /events/order, resource: data.object }
changes:
  - { id: highlight, summary: A name., on: [get_order], response: [ { rename: data.highlight_type, to: transition_type } ] }
  - { id: customer, summary: A name., on: [create_order, order_event], request: [ { rename: customer, to: client } ], response: inverse }
webhooks:
  events: { to: '${address}', as: order_event, sign: { scheme: standard-webhooks, verify: V2_SECRET, with: HOOK_SECRET } }
  orders: { to: '${address}/hooks/orders?from=v2', as: get_order, sign: { scheme: standard-webhooks, verify: V2_SECRET, with: HOOK_SECRET } }
  plain: { to: '${address}/plain', sign: { scheme: standard-webhooks, verify: [V2_SECRET, V2_OLD_SECRET], with: [HOOK_NEXT_SECRET, HOOK_SECRET] } }
  ruleless: { to: '${address}', as: list_orders, sign: { scheme: standard-webhooks, verify: V2_SECRET, with: HOOK_SECRET } }
${more}`;
  const ruleBook = await bookIn(text);
  // V2 is asked nothing.
  return gatewayFor('http://127.0.0.1:1', {
    rules: new CompiledRuleBook(ruleBook),
    flags: { 'upstream-connect-timeout': '500' },
    parts: { environment: ENVIRONMENT, ...parts },
  });
}

/** A subscriber, and a gateway that delivers to it. */
async function subscribed(answer: Answer = {}, more = '') {
  const subscriber = await subscriberWith(answer);
  return { subscriber, gateway: await gatewayWith(subscriber.address, more) };
}

/** The signature as a sender or subscriber makes it, with another implementation than the gateway's. */
function mac(secret: string, id: string, timestamp: string, body: string | Uint8Array): string {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

const now = (offset = 0): string => String(Math.floor(Date.now() / 1000) + offset);

interface Delivery {
  readonly path?: string;
  readonly method?: string;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** The signatures, by the secrets that make them, or as they are. */
  readonly by?: readonly string[];
  readonly timestamp?: string;
}

async function post(gateway: Pick<TestGateway, 'origin'>, delivery: Delivery = {}): Promise<Response> {
  const {
    path = '/webhooks/orders',
    method = 'POST',
    body = BODY,
    by = [OF_V2],
    timestamp = now(),
  } = delivery;
  const signed = {
    'content-type': 'application/json',
    'webhook-id': 'msg_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': by
      .map((one) => (one.startsWith('whsec_') ? mac(one, 'msg_1', timestamp, body) : one))
      .join(' '),
    ...delivery.headers,
  };
  const headers = Object.entries(signed).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return fetch(`${gateway.origin}${path}`, {
    method,
    headers,
    redirect: 'manual',
    ...(method === 'GET' ? {} : { body }),
  });
}

/** True where the subscriber's own check takes the delivery. */
function isSignedFor(secret: string, received: Received | undefined): boolean {
  if (received === undefined) return false;
  const { headers, body } = received;
  const [id, timestamp, signature] = ['id', 'timestamp', 'signature'].map((name) =>
    String(headers[`webhook-${name}`]),
  ) as [string, string, string];
  return signature.split(' ').includes(mac(secret, id, timestamp, body));
}

describe('a delivery that is signed by V2', () => {
  test('reaches the subscriber in V1 form, with a new signature over that form, and with id and time of V2', async () => {
    const answer = { status: 202, headers: { 'x-own': 'yes' }, body: 'taken' };
    const { subscriber, gateway } = await subscribed(answer);
    const timestamp = now(-60);
    const response = await post(gateway, { timestamp, headers: { 'content-md5': 'x', 'x-kept': '1' } });
    expect([response.status, response.headers.get('x-own'), await response.text()]).toEqual([
      202,
      'yes',
      'taken',
    ]);
    const [received] = subscriber.requests;
    expect(received?.body.toString()).toBe(IN_V1);
    expect(received?.url).toBe('/hooks/orders?from=v2');
    expect(received?.headers).toMatchObject({
      'webhook-id': 'msg_1',
      'webhook-timestamp': timestamp,
      'x-kept': '1',
      host: new URL(subscriber.address).host,
      'content-length': String(IN_V1.length),
    });
    expect(received?.headers['content-md5']).toBeUndefined();
    expect(isSignedFor(OF_SUBSCRIBER, received)).toBe(true);
    expect(subscriber.requests).toHaveLength(1);
    expect(gateway.surprises).toEqual([]);
  });

  test('keeps its id and time where the sender lists them in Connection', async () => {
    const { subscriber, gateway } = await subscribed();
    const timestamp = now();
    const fields = [
      `POST /webhooks/orders HTTP/1.1`,
      'Host: g',
      'Content-Type: application/json',
      `Content-Length: ${BODY.length}`,
      'Connection: close, webhook-id, webhook-timestamp',
      'webhook-id: msg_1',
      `webhook-timestamp: ${timestamp}`,
      `webhook-signature: ${mac(OF_V2, 'msg_1', timestamp, BODY)}`,
    ];
    await exchange(gateway.port, `${fields.join('\r\n')}\r\n\r\n${BODY}`);
    const [received] = subscriber.requests;
    expect(received?.headers).toMatchObject({ 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp });
    expect(isSignedFor(OF_SUBSCRIBER, received)).toBe(true);
  });

  test('is a webhook in the log, without a client and without a secret', async () => {
    const { gateway } = await subscribed();
    await post(gateway, { headers: { authorization: 'Bearer of-v2' } });
    const entry = await gateway.entry();
    expect(entry).toMatchObject({
      route: 'webhook',
      verdict: 'rewritten',
      method: 'POST',
      path: '/webhooks/orders',
      upstreamPath: '/hooks/orders?from=…',
      status: 200,
      responseEdits: [{ change: 'highlight', rule: 'rename' }],
    });
    expect(entry.client).toBeUndefined();
    expect(readEntry(entry)).toMatchObject({ route: 'webhook' });
    for (const secret of Object.values(ENVIRONMENT)) {
      expect(gateway.lines.join()).not.toContain(secret);
      expect(gateway.lines.join()).not.toContain(secret.slice('whsec_'.length));
    }
  });

  test.each<[string, Delivery, string]>([
    ['by one of two signatures', { by: [UNKNOWN, OF_V2] }, IN_V1],
    ['beside a signature of another version', { by: ['v1a,AAAA', OF_V2, 'v1,!'] }, IN_V1],
    ['by the secret before a rotation', { path: '/webhooks/plain', by: [OLD_OF_V2] }, BODY],
    ['by the secret after it', { path: '/webhooks/plain', by: [OF_V2] }, BODY],
    ['where no rules apply', { path: '/webhooks/ruleless' }, BODY],
    ['of another media type', { headers: { 'content-type': 'text/plain' } }, BODY],
    ['that is no JSON', { body: '{"data":' }, '{"data":'],
    ['without a body', { body: '' }, ''],
    ['whose operation has its own resource', { path: '/webhooks/events', body: EVENT }, EVENT_IN_V1],
    ['of half a megabyte', { body: BODY + PADDING }, IN_V1 + PADDING],
    ['almost 5 minutes ago', { timestamp: now(-240) }, IN_V1],
    ['almost 5 minutes ahead', { timestamp: now(240) }, IN_V1],
  ])('is delivered once: %s', async (_, delivery, expected) => {
    const { subscriber, gateway } = await subscribed();
    expect((await post(gateway, delivery)).status).toBe(200);
    expect(subscriber.requests.map(({ body }) => body.toString())).toEqual([expected]);
    expect(subscriber.requests.every((received) => isSignedFor(OF_SUBSCRIBER, received))).toBe(true);
    expect(gateway.surprises).toEqual([]);
  });

  test('has a signature by each secret of the subscriber', async () => {
    const { subscriber, gateway } = await subscribed();
    await post(gateway, { path: '/webhooks/plain' });
    const [received] = subscriber.requests;
    expect(String(received?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect([OF_SUBSCRIBER, NEXT_OF_SUBSCRIBER, OF_V2].map((secret) => isSignedFor(secret, received))).toEqual(
      [true, true, false],
    );
  });

  test('is decoded if rules apply, and the signature is over the bytes that were sent', async () => {
    const { subscriber, gateway } = await subscribed();
    const body = new Uint8Array(gzipSync(BODY));
    const headers = { 'content-encoding': 'gzip' };
    expect((await post(gateway, { body, headers })).status).toBe(200);
    expect((await post(gateway, { path: '/webhooks/plain', body, headers })).status).toBe(200);
    const [decoded, kept] = subscriber.requests;
    expect([decoded?.body.toString(), decoded?.headers['content-encoding']]).toEqual([IN_V1, undefined]);
    expect([kept?.body, kept?.headers['content-encoding']]).toEqual([Buffer.from(body), 'gzip']);
    expect(subscriber.requests.every((received) => isSignedFor(OF_SUBSCRIBER, received))).toBe(true);
  });

  test.each([
    ['the gateway as V2 knows it', '', (origin: string) => origin],
    [
      'the gateway as the subscriber knows it',
      ", gateway: 'https://api.example'",
      () => 'https://api.example',
    ],
  ])('has links that lead to V1, at %s', async (_, written, addressOf) => {
    const subscriber = await subscriberWith();
    const sign = '{ scheme: standard-webhooks, verify: V2_SECRET, with: HOOK_SECRET }';
    const gateway = await gatewayWith(
      subscriber.address,
      `  links: { to: '${subscriber.address}', as: get_order${written}, sign: ${sign} }
body-links: follow`,
    );
    const linksOf = (api: string): string =>
      `{"data":{"links":["${api}/orders/7?a=%20","https://other.example/api/v2/x"]}}`;
    const body = linksOf('http://127.0.0.1:1/api/v2');
    expect((await post(gateway, { path: '/webhooks/links', body })).status).toBe(200);
    const [received] = subscriber.requests;
    expect(received?.body.toString()).toBe(linksOf(`${addressOf(gateway.origin)}/api/v1`));
    expect(isSignedFor(OF_SUBSCRIBER, received)).toBe(true);
  });
});

test('the page shows what the subscriber received, and does not send it again', async () => {
  const subscriber = await subscriberWith();
  const ruleBook = await bookIn(`version: 2025-01-01
operations: { get_order: 'GET /orders/{id}' }
changes: [{ id: highlight, summary: A name., on: [get_order], response: [{ rename: data.highlight_type, to: transition_type }] }]
webhooks: { orders: { to: '${subscriber.address}/a', as: get_order, sign: { scheme: standard-webhooks, verify: V2_SECRET, with: HOOK_SECRET } } }
`);
  const { gateway } = await watchedServices(
    {},
    {},
    {
      flags: { capture: 'bodies', 'inspector-resend': 'v2' },
      ruleBook,
      parts: { environment: ENVIRONMENT },
    },
  );
  expect((await post(gateway)).status).toBe(200);
  await gateway.entry();
  const detail = (await (await fetch(`${gateway.adminOrigin}/entries/1`)).json()) as EntryDetail;
  expect(JSON.parse(detail.v1Request?.body.text ?? '')).toEqual(JSON.parse(BODY));
  expect(JSON.parse(detail.v2Request?.body.text ?? '')).toEqual(JSON.parse(IN_V1));
  expect(detail.curl).not.toHaveProperty('v2');
  const again = await fetch(`${gateway.adminOrigin}/entries/1/resend`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"key":"k"}',
  });
  expect([again.status, await again.text()]).toEqual([
    422,
    expect.stringContaining('Only V2 can send a webhook again'),
  ]);
  expect(subscriber.requests).toHaveLength(1);
});

describe('a delivery that is not', () => {
  test.each<[string, Delivery, number, string]>([
    ['by another secret', { by: [UNKNOWN] }, 401, 'bad-signature'],
    ["by the subscriber's own secret", { by: [OF_SUBSCRIBER] }, 401, 'bad-signature'],
    ['by the old secret, after the new one replaced it', { by: [OLD_OF_V2] }, 401, 'bad-signature'],
    ['over another body', { by: [mac(OF_V2, 'msg_1', now(), '{}')] }, 401, 'bad-signature'],
    ['with another id', { headers: { 'webhook-id': 'msg_2' } }, 401, 'bad-signature'],
    ['more than 5 minutes ago', { timestamp: now(-330) }, 401, 'bad-signature'],
    ['more than 5 minutes ahead', { timestamp: now(330) }, 401, 'bad-signature'],
    ['at an invalid time', { timestamp: 'yesterday' }, 401, 'bad-signature'],
    ['without an id', { headers: { 'webhook-id': undefined } }, 401, 'bad-signature'],
    ['without a time', { headers: { 'webhook-timestamp': undefined } }, 401, 'bad-signature'],
    ['without a signature', { headers: { 'webhook-signature': undefined } }, 401, 'bad-signature'],
    ['cut short', { by: [mac(OF_V2, 'msg_1', now(), BODY).slice(0, -8)] }, 401, 'bad-signature'],
    ['a GET', { method: 'GET' }, 405, 'only-post'],
    ['for a webhook that does not exist', { path: '/webhooks/others' }, 404, 'not-found'],
  ])('is refused, and nothing is sent: %s', async (_, delivery, status, code) => {
    const { subscriber, gateway } = await subscribed();
    const response = await post(gateway, delivery);
    expect([response.status, response.headers.get('x-gateway-error')]).toEqual([status, code]);
    expect(response.headers.has('www-authenticate')).toBe(status === 401);
    expect(subscriber.requests).toEqual([]);
    expect(await gateway.entry()).toMatchObject({ verdict: 'refused', failure: code, status });
    expect(gateway.surprises).toEqual([]);
  });

  test.each(['whole', 'in parts'])('is refused where its body is too large: %s', async (how) => {
    const { subscriber, gateway } = await subscribed({}, 'limits: { body: 1000 }');
    const body = `{"data":"${'x'.repeat(1000)}"}`;
    const coded = { body: new Uint8Array(gzipSync(body)), headers: { 'content-encoding': 'gzip' } };
    const response = await post(gateway, how === 'whole' ? { body } : coded);
    expect([response.status, response.headers.get('x-gateway-error')]).toEqual([413, 'body-too-large']);
    expect(subscriber.requests).toEqual([]);
  });
});

describe("the subscriber's response", () => {
  test.each([204, 307, 410, 503])('goes back to V2 unchanged: %i', async (status) => {
    const other = await subscriberWith();
    const answer = { status, headers: { location: other.address }, body: '' };
    const { subscriber, gateway } = await subscribed(answer);
    const response = await post(gateway);
    expect([response.status, response.headers.get('location')]).toEqual([status, other.address]);
    expect(response.headers.get('x-gateway-error')).toBeNull();
    // Neither followed nor sent again.
    expect([subscriber.requests.length, other.requests.length]).toEqual([1, 0]);
    expect(await gateway.entry()).toMatchObject({ route: 'webhook', status });
  });

  test('is 502 if there is none, and does not count as a failure of V2', async () => {
    const notices: GatewayNotice[] = [];
    const port = await freePort();
    const gateway = await gatewayWith(`http://127.0.0.1:${port}`, '', {
      onNotice: (notice) => void notices.push(notice),
    });
    const response = await post(gateway);
    expect([response.status, response.headers.get('x-gateway-error')]).toEqual([502, 'upstream-unreachable']);
    expect(await gateway.entry()).toMatchObject({
      route: 'webhook',
      failure: 'upstream-unreachable',
      sent: false,
    });
    expect(gateway.gateway.v2.breaker.state).toBe('closed');
    const [line] = notices.map(noticeLine);
    expect(line?.message).toContain(`the subscriber 127.0.0.1:${port} failed (unreachable`);
    expect(line?.fields).toMatchObject({ origin: 'webhook', host: `127.0.0.1:${port}` });
  });

  test('is 502 where it hangs up, and the delivery is not sent again', async () => {
    let count = 0;
    const server = createServer((request) => {
      count += 1;
      request.socket.destroy();
    });
    const gateway = await gatewayWith(`http://127.0.0.1:${await listening(server)}`);
    const response = await post(gateway);
    expect([response.status, response.headers.get('x-gateway-error'), count]).toEqual([
      502,
      'upstream-closed',
      1,
    ]);
    server.close();
    await once(server, 'close');
  });
});
