import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import type { Change } from '../../../src/rules/rule-book.ts';
import { gatewayFor } from '../../support/gateway.ts';
import { exchange, rawClient, statusOf } from '../../support/raw-client.ts';
import { ok, rawServer } from '../../support/raw-server.ts';
import { responseRule } from '../../support/response-plan-of.ts';
import { memoryShares } from '../../../src/settings/read-settings.ts';
import { bodyLimit, testRuleBook } from '../../support/rule-book.ts';
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
    'a list and what is beside it',
    ['rename data.list.*.new to old', 'unnest data.list.*.x', 'rename data.new to old'],
    { new: 1, x: { y: 2 } },
    'response-buffer-full',
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

// Attack: each client that leaves while its body is decoded takes bytes of the budget with it, until everybody gets 503.
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
