import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createGzip, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Change } from '../../../src/rules/rule-book.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { responseRule } from '../../support/response-plan-of.ts';
import { memoryShares } from '../../../src/settings/read-settings.ts';
import { bodyLimit, testRuleBook } from '../../support/rule-book.ts';
import { compiledShippedRuleBook } from '../../support/shipped-rule-book.ts';
import { until } from '../../support/until.ts';
import { served } from '../../support/served.ts';

const MIB = 2 ** 20;

const FLOORS: Change = {
  id: 'floors',
  summary: 'Floors have no code.',
  on: 'every',
  request: [{ rule: 'strip', in: ['floors', '*'], members: ['code'] }],
  response: [],
  policies: {},
  assumed: false,
};

function post(body: Uint8Array, coding?: string): Buffer {
  const lines = `POST /api/v1/clients HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n`;
  const encoding = coding === undefined ? '' : `Content-Encoding: ${coding}\r\n`;
  return Buffer.concat([Buffer.from(`${lines}${encoding}Content-Length: ${body.length}\r\n\r\n`), body]);
}

async function serve(
  flags: Readonly<Record<string, string>>,
  body = 10 * MIB,
): Promise<Awaited<ReturnType<typeof gatewayFor>>> {
  const v2 = await rawServer((socket) => socket.write(ok()));
  return gatewayFor(v2.origin, {
    flags,
    ruleBook: { ...bodyLimit(body), changes: [...testRuleBook().changes, FLOORS] },
  });
}

// Attack: each value costs ten times its bytes while the rules look at it.
test.each([40_000, 400_000])(
  '%i objects in a list that rules read are counted while they are read',
  async (objects) => {
    const gateway = await serve({ 'buffer-bytes': String(4 * MIB) }, 2 * MIB);
    const body = Buffer.from(`{"data":{"floors":[${'{},'.repeat(objects)}{"code":1}]}}`);
    const response = await exchange(gateway.port, post(body));
    expect(response.text).toMatch(
      /^HTTP\/1\.1 503 [^]*x-gateway-error: buffer-full\r\n[^]*Retry-After: 1\r\n/,
    );
    await until(() => gateway.gateway.budget.held === 0);
    const small = Buffer.from('{"data":{"floors":[{"code":1},{"code":2}]}}');
    expect(statusOf(await exchange(gateway.port, post(small)))).toBe(200);
  },
);

test('a large body for which there is no memory is refused while it arrives', async () => {
  const gateway = await serve({ 'buffer-bytes': String(MIB) }, 8 * MIB);
  const body = Buffer.from(`{"data":"${'x'.repeat(4 * MIB)}"}`);
  expect(statusOf(await exchange(gateway.port, post(body)))).toBe(503);
  await until(() => gateway.gateway.inFlight === 0);
  expect(gateway.surprises).toEqual([]);
});

test('objects in a list that no rule reads take no memory', async () => {
  const gateway = await serve({ 'buffer-bytes': String(4 * MIB) }, 2 * MIB);
  for (const text of [`[${'{},'.repeat(400_000)}{}]`, `{"data":{"rooms":[${'{},'.repeat(400_000)}{}]}}`])
    expect(statusOf(await exchange(gateway.port, post(Buffer.from(text))))).toBe(200);
});

// An object of nearly limits.response, with hundreds of thousands of edits in its list and one beside it.
test.each([
  ['a list', ['rename data.list.*.new to old', 'unnest data.list.*.x'], { old: 1, y: 2 }, undefined],
  [
    'a list and the members beside it',
    ['rename data.list.*.new to old', 'unnest data.list.*.x', 'rename data.new to old'],
    { new: 1, x: { y: 2 } },
    'response-too-large',
  ],
])(
  'of the largest size, a response with rules for %s is rewritten or passes',
  async (_, rules, last, note) => {
    const elements = Array.from({ length: 380_000 }, () => '{"new":1,"x":{"y":2}}').join(',');
    const body = `{"data":{"list":[${elements}],"new":2}}`;
    const names: Change = { ...FLOORS, request: [], response: rules.map(responseRule) };
    const { gateway, send } = await served(ok(body), {
      flags: { 'buffer-bytes': String(memoryShares(64 * MIB).bufferBytes) },
      ruleBook: { changes: [...testRuleBook().changes, names] },
    });
    const { text } = await send(post(Buffer.from('{"data":{}}')));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
    const received: { data: { list: unknown[] } } = JSON.parse(text.slice(text.indexOf('{')));
    expect([received.data.list.length, received.data.list.at(-1)]).toEqual([380_000, last]);
    expect((await gateway.entry()).responseNote).toBe(note);
  },
);

const ORDERS = '/api/v1/orders/post_productions';
const ORDER = '{"id":1,"highlight_type":"x","property":{"address":{"suburb":"Y"}},"text":"';
const ORDER_IN_V1 = '{"id":1,"transition_type":"x","property":{"suburb":"Y"},"text":"';

interface Download {
  readonly status: number | undefined;
  readonly sha256: string;
  readonly bytes: number;
  readonly coding: string | undefined;
}

/** Reads a response of any size, and keeps none of it. */
async function download(port: number, path: string, onPart: () => void = () => {}): Promise<Download> {
  const sent = request({ port, host: '127.0.0.1', path, headers: { 'accept-encoding': 'gzip' } });
  sent.end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const hash = createHash('sha256');
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    hash.update(part);
    bytes += part.length;
    onPart();
  }
  return {
    status: response.statusCode,
    sha256: hash.digest('hex'),
    bytes,
    coding: response.headers['content-encoding'],
  };
}

/** A V2 that sends the same parts for each request, as fast as they are read. */
async function sends(
  parts: () => Iterable<string>,
  headers: Readonly<Record<string, string>>,
): Promise<string> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers });
    const coders = headers['content-encoding'] === undefined ? [] : [createGzip({ level: 1 })];
    void pipeline([Readable.from(parts()), ...coders, response]).catch(() => {});
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const shaOf = (text: string | Buffer): string => createHash('sha256').update(text).digest('hex');

describe('an object that is too large to be rewritten passes, and the log says so', () => {
  const large = `{"data":${ORDER}${randomBytes(30_000_000).toString('hex')}"}}`;
  const tiny = `{"data":${ORDER}","list":[${'{"a":1},'.repeat(1_000_000)}{}]}}`;
  test.each<[name: string, body: string, headers: Record<string, string>, response: number, buffer: number]>([
    ['beyond limits.response, with a length', large, { 'content-length': String(large.length) }, 10, 256],
    ['beyond limits.response, without a length', large, {}, 10, 256],
    ['beyond limits.response, in a coding', large, { 'content-encoding': 'gzip' }, 10, 256],
    [
      'beyond the memory for bodies, with a length',
      large,
      { 'content-length': String(large.length) },
      100,
      64,
    ],
    ['beyond the memory for bodies, without a length', large, {}, 100, 64],
    ['beyond the memory for bodies, in a coding', large, { 'content-encoding': 'gzip' }, 100, 64],
    ['with more members than there is memory for', tiny, {}, 10, 32],
  ])('%s', async (_, body, headers, responseMib, bufferMib) => {
    const { ruleBook } = await compiledShippedRuleBook();
    const list = { id: 'list', summary: 'A list', request: [], policies: {}, assumed: false } as const;
    const rename = responseRule('rename data.list.*.a to b');
    const gateway = await gatewayFor(await sends(() => [body], headers), {
      flags: { 'buffer-bytes': String(bufferMib * MIB) },
      ruleBook: {
        ...ruleBook,
        changes: [...ruleBook.changes, { ...list, on: ['read_post_production_order'], response: [rename] }],
        limits: { ...ruleBook.limits, response: responseMib * MIB },
      },
    });
    const { status, sha256, coding } = await download(gateway.port, `${ORDERS}/1`);
    expect([status, coding]).toEqual([200, headers['content-encoding']]);
    if (coding === undefined) expect(sha256).toBe(shaOf(body));
    const { responseNote, verdict } = await gateway.entry();
    expect([responseNote, verdict]).toEqual(['response-too-large', 'unchanged']);
    await until(() => gateway.gateway.budget.held === 0);
    expect(gateway.surprises).toEqual([]);
  });
});

test.each([
  ['', {}],
  [' in a content coding', { 'content-encoding': 'gzip' }],
])('a list of 200 MB%s is rewritten, and memory stays flat', async (_, headers) => {
  const filler = randomBytes(1500).toString('hex');
  const count = 65_000;
  function* listOf(element: string): Generator<string, void> {
    yield '{"data":[';
    for (let at = 0; at < count; at += 1) yield `${at === 0 ? '' : ','}${element}${filler}"}`;
    yield ']}';
  }
  const expected = createHash('sha256');
  for (const part of listOf(ORDER_IN_V1)) expected.update(part);
  const { ruleBook } = await compiledShippedRuleBook();
  const gateway = await gatewayFor(await sends(() => listOf(ORDER), headers), { ruleBook });
  const { budget } = gateway.gateway;
  let held = 0;
  const before = process.memoryUsage().rss;
  let rss = before;
  const { status, sha256, bytes, coding } = await download(gateway.port, ORDERS, () => {
    held = Math.max(held, budget.held);
    rss = Math.max(rss, process.memoryUsage().rss);
  });
  expect([status, coding, sha256]).toEqual([200, undefined, expected.digest('hex')]);
  expect(bytes).toBeGreaterThan(195_000_000);
  // What is collected until it is known to be longer than limits.response, and its copy.
  expect(held).toBeLessThan(2.5 * ruleBook.limits.response);
  // Client, V2 and their garbage are in this process.
  expect(rss - before).toBeLessThan(200 * MIB);
  const entry = await gateway.entry();
  expect([entry.verdict, entry.responseNote]).toEqual(['rewritten', undefined]);
  expect(gateway.surprises).toEqual([]);
});

// Attack: many bombs at once, each within the limit of one body.
test('a body is counted while it is decoded, not after it', async () => {
  const gateway = await serve({ 'buffer-bytes': String(12 * MIB) }, 4 * MIB);
  const bomb = gzipSync(Buffer.alloc(4 * MIB, ' '));
  const responses = await Promise.all(
    Array.from({ length: 8 }, () => exchange(gateway.port, post(bomb, 'gzip'))),
  );
  const refused = responses.filter((response) => statusOf(response) === 503);
  expect(refused.length).toBeGreaterThan(0);
  await until(() => gateway.gateway.budget.held === 0);
  expect(gateway.surprises).toEqual([]);
});

// Attack: each client that leaves while its body is decoded takes bytes of the budget with it, until all clients get 503.
test('a client that leaves while its body is decoded or rewritten leaves nothing behind', async () => {
  const gateway = await serve({});
  const plain = Buffer.from(`{"data":{"name":"${'x'.repeat(4 * MIB)}"}}`);
  for (const request of [post(gzipSync(plain), 'gzip'), post(plain)]) {
    for (let round = 0; round < 5; round += 1) {
      const client = rawClient(gateway.port);
      client.write(request);
      await until(() => gateway.gateway.budget.held > 0);
      await pause(round * 4);
      client.socket.resetAndDestroy();
      await until(() => gateway.gateway.inFlight === 0);
    }
  }
  await until(() => gateway.gateway.budget.held === 0);
  expect(gateway.surprises).toEqual([]);
});
