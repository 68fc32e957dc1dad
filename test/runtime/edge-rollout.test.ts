/** @module-tag wrangler */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createClientHash } from '../../src/node/runtime.ts';
import { shareOf } from '../../src/rollout/modes-in-force.ts';
import type { RolloutRequest, RolloutView } from '../../src/rollout/rollout-tally.ts';
import { type EdgeFleet, edgeFleet, type EdgeFleetOptions } from '../support/edge-fleet.ts';
import { exchange, statusOf } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { bundleWorkerWith } from '../support/workerd.ts';
import { PROGRAM } from '../support/product.ts';

const SECRET = 'a secret of the tests';
const TOKEN = 'a token of the tests';
const clientOf = createClientHash(SECRET);

let file = '';

beforeAll(async () => {
  const rules = join(temporaryFolder('shared'), 'rules.yaml');
  const shipped = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');
  const modes = 'modes: { default: observe, rollback: { window: 1m, margin: 5, requests: 10 } }';
  const shield = 'shield: { requests: 200, per: 20s, wait: 20s, queue: 20 }';
  writeFileSync(rules, `${shipped}${modes}\n${shield}\n`);
  file = await bundleWorkerWith(rules);
});

/** Isolates between two services that store the orders that they get. */
interface Run extends EdgeFleet {
  readonly v1: Set<string>;
  readonly v2: Set<string>;
  /** Makes V2 refuse all orders. */
  readonly v2Fails: { now: boolean };
  /** Sends an order of a client to an isolate; resolves to the service that took it, or to the status. */
  order(isolate: number, client: string): Promise<'v1' | 'v2' | number>;
  /** Steers through an isolate; resolves to the view, or to the status. */
  steer(isolate: number, request?: RolloutRequest): Promise<RolloutView | number>;
}

async function run(options: Partial<EdgeFleetOptions> = {}): Promise<Run> {
  const stores = { v1: new Set<string>(), v2: new Set<string>() };
  const v2Fails = { now: false };
  const serverOf = async (name: 'v1' | 'v2'): Promise<string> => {
    const { origin } = await rawServer((socket, request) => {
      const id = /"name":"([^"]+)"/.exec(request)?.[1] ?? '';
      if (name === 'v2' && v2Fails.now) {
        socket.write(ok('{"errors":[]}').replace('200 OK', '500 Broken'));
        return;
      }
      stores[name].add(id);
      socket.write(ok(`{"data":{"from":"${name}"}}`));
    });
    return origin;
  };
  const fleet = await edgeFleet({
    file,
    isolates: 3,
    variables: {
      GATEWAY_V1_UPSTREAM: await serverOf('v1'),
      GATEWAY_UPSTREAM: await serverOf('v2'),
      GATEWAY_CLIENT_SECRET: SECRET,
      GATEWAY_ADMIN_TOKEN: TOKEN,
      GATEWAY_ADMIN_HOSTS: 'localhost',
    },
    ...options,
  });
  onTestFinished(() => fleet.stop());
  let orders = 0;
  const portOf = (isolate: number): number => fleet.ports[isolate] ?? 0;
  return {
    ...fleet,
    ...stores,
    v2Fails,
    order: async (isolate, client) => {
      orders += 1;
      const body = `{"data":{"name":"order-${orders}"}}`;
      const head = `POST /api/v1/clients HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${client}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
      const response = await exchange(portOf(isolate), head + body, 20_000);
      const from = /"from":"(v[12])"/.exec(response.text)?.[1];
      return from === 'v1' || from === 'v2' ? from : statusOf(response);
    },
    steer: async (isolate, request) => {
      const response = await fetch(`http://localhost:${portOf(isolate)}/rollout`, {
        method: request === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        ...(request === undefined ? {} : { body: JSON.stringify(request) }),
      });
      return response.status === 200 ? ((await response.json()) as RolloutView) : response.status;
    },
  };
}

const keys = Array.from({ length: 200 }, (_, number) => `key-${number}`);
const shareOfKey = (key: string): number => shareOf(clientOf(key));
const inside = keys.filter((key) => shareOfKey(key) < 20);
const outside = keys.filter((key) => shareOfKey(key) >= 20);
const pick = (of: readonly string[], number: number): string => of[number % of.length] ?? '';

test('a choice made through one isolate holds in all of them, and `rollout` makes it', async () => {
  const fleet = await run();
  const [one, other] = [pick(inside, 0), pick(outside, 0)];
  for (const isolate of [0, 1, 2]) expect(await fleet.order(isolate, one)).toBe('v1');
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [PROGRAM, 'rollout', 'canary', '20', '--admin', `http://localhost:${fleet.ports[0]}`],
    {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: { ...process.env, GATEWAY_ADMIN_TOKEN: TOKEN },
    },
  );
  expect(stdout).toContain('default     canary 20 % of the clients (chosen by an operator)');
  const since = Date.now();
  for (const isolate of [0, 1, 2]) await until(async () => (await fleet.order(isolate, one)) === 'v2');
  console.log(`in force in all isolates ${Date.now() - since} ms after the choice`);
  for (const isolate of [0, 1, 2]) expect(await fleet.order(isolate, other)).toBe('v1');
});

test('the operators’ host needs the token and does not reach the service, and other hosts do not reach operators', async () => {
  const fleet = await run({ isolates: 1 });
  const ask = async (host: string, path: string, more = ''): Promise<number> =>
    statusOf(
      await exchange(fleet.ports[0] ?? 0, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${more}\r\n`, 5000),
    );
  const bearer = `Authorization: Bearer ${TOKEN}\r\n`;
  expect(await ask('localhost', '/rollout')).toBe(401);
  expect(await ask('localhost', '/rollout', 'Authorization: Bearer wrong\r\n')).toBe(401);
  expect(await ask('localhost', '/rollout', `${bearer}Origin: http://evil\r\n`)).toBe(403);
  expect(await ask('localhost', '/api/v1/clients', bearer)).toBe(404);
  expect(await ask('LOCALHOST:80', '/rollout', bearer)).toBe(200);
  expect(await ask('a', '/rollout', bearer)).toBe(404);
  expect([fleet.v1.size, fleet.v2.size]).toEqual([0, 0]);
});

test('wrong tokens from one address keep no operator at another from steering', async () => {
  const fleet = await run({ isolates: 1 });
  const ask = async (address: string, token: string): Promise<number> =>
    statusOf(
      await exchange(
        fleet.ports[0] ?? 0,
        `GET /rollout HTTP/1.1\r\nHost: localhost\r\nCF-Connecting-IP: ${address}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
        5000,
      ),
    );
  const statuses: number[] = [];
  for (let count = 0; count < 12; count += 1) statuses.push(await ask('192.0.2.6', `wrong${count}`));
  expect(statuses.at(-1)).toBe(429);
  // Nor the operator whose address others guess from.
  expect(await ask('192.0.2.6', TOKEN)).toBe(200);
  expect(await ask('192.0.2.1', TOKEN)).toBe(200);
});

test('under load: a canary whose V2 breaks is rolled back once, by the sums of all isolates, everywhere', async () => {
  const fleet = await run();
  // Of each client at each isolate: isolates learn of a choice one after the other.
  const moves = new Map<string, string[]>();
  const loading = { isOver: false };
  const failed: number[] = [];
  const load = async (isolate: number): Promise<void> => {
    for (let number = isolate; !loading.isOver; number += 3) {
      const client = number % 2 === 0 ? pick(inside, number) : pick(outside, number);
      const to = await fleet.order(isolate, client);
      if (typeof to === 'number') {
        failed.push(to);
        continue;
      }
      const path = moves.get(`${client} at ${isolate}`) ?? [];
      if (path.at(-1) !== to) path.push(to);
      moves.set(`${client} at ${isolate}`, path);
    }
  };
  const loads = [0, 1, 2].map(load);
  await until(() => fleet.v1.size > 30);
  expect(await fleet.steer(0, { mode: 'canary', share: 20 })).toMatchObject({ default: { mode: 'canary' } });
  await until(() => fleet.v2.size > 30);
  expect(failed).toEqual([]);
  fleet.v2Fails.now = true;
  const since = Date.now();
  const toldBy = (): readonly string[] =>
    fleet.lines.filter((line) => line.includes('"event":"rollout-rolled-back"'));
  await until(() => toldBy().length === 3);
  const took = Date.now() - since;
  fleet.v2Fails.now = false;
  // An order may still be on its way to V2.
  await thirtyMore(fleet.v1);
  const atRollback = fleet.v2.size;
  await thirtyMore(fleet.v1);
  loading.isOver = true;
  await Promise.all(loads);
  console.log(`rolled back in all isolates ${took} ms after V2 broke`);
  const views = await Promise.all([0, 1, 2].map((isolate) => fleet.steer(isolate)));
  for (const view of views) {
    expect(view).toMatchObject({ default: { mode: 'observe', from: 'roll-back' } });
    expect((view as RolloutView).rollbacks).toHaveLength(1);
  }
  // Each isolate names the one that decided, and the same counts.
  expect(new Set(toldBy().map((line) => (JSON.parse(line) as { readonly msg: string }).msg)).size).toBe(1);
  expect(toldBy()[0]).toMatch(/by isolate [0-9a-f]{8}: \d+ of \d+ compared requests failed on V2/);
  expect(fleet.v2.size).toBe(atRollback);
  expect([...fleet.v1].filter((id) => fleet.v2.has(id))).toEqual([]);
  for (const [client, path] of moves)
    expect([client, path.join()]).toEqual([
      client,
      expect.stringMatching(/^(?:v1|v2|v1,v2|v1,v2,v1|v2,v1)$/),
    ]);
  for (const client of outside)
    for (const isolate of [0, 1, 2]) expect(moves.get(`${client} at ${isolate}`) ?? ['v1']).toEqual(['v1']);
});

test.each(['down', 'hung'] as const)(
  'while the object is %s, no request fails, the known state holds, and operators are notified',
  async (state) => {
    const fleet = await run({ isolates: 2 });
    const client = pick(inside, 0);
    expect(await fleet.steer(0, { mode: 'canary', share: 20 })).toMatchObject({ revision: 1 });
    await until(async () => (await fleet.order(1, client)) === 'v2');
    await fleet.setObject(state);
    for (let number = 0; number < 20; number += 1) expect(await fleet.order(number % 2, client)).toBe('v2');
    await until(async () => {
      // Slower than the limit of a client.
      await pass(150);
      expect(await fleet.order(0, client)).toBe('v2');
      return fleet.lines.some((line) => line.includes('"event":"store-lost"'));
    });
    expect(await fleet.steer(0, { mode: 'observe' })).toBe(503);
    expect(await fleet.order(0, client)).toBe('v2');
    await fleet.setObject('up');
    await until(async () => {
      // Slower than the limit of a client.
      await pass(150);
      expect(await fleet.order(0, client)).toBe('v2');
      return fleet.lines.some((line) => line.includes('"event":"store-found"'));
    });
    expect(await fleet.steer(1, { mode: 'observe' })).toMatchObject({ default: { mode: 'observe' } });
    await until(async () => (await fleet.order(0, client)) === 'v1');
  },
);

test('an isolate that starts while the object hangs takes the copy in KV; without one, the rule book', async () => {
  for (const hasCopy of [true, false]) {
    const fleet = await run({ isolates: 2, hasCopy });
    expect(await fleet.steer(0, { mode: 'canary', share: 20 })).toMatchObject({ revision: 1 });
    await fleet.setObject('hung');
    // The first request does not wait for a copy that takes long.
    await until(async () => (await fleet.order(1, pick(inside, 0))) === (hasCopy ? 'v2' : 'v1'));
    expect(await fleet.order(1, pick(outside, 0))).toBe('v1');
  }
});

test('isolates divide the limit of a client', async () => {
  const fleet = await run({ isolates: 2 });
  const client = pick(outside, 1);
  expect(await fleet.steer(0, { mode: 'migrate', client: clientOf(client) })).toMatchObject({ revision: 1 });
  await until(async () => {
    for (const isolate of [0, 1]) await fleet.order(isolate, pick(outside, 2));
    const view = await fleet.steer(0);
    return typeof view !== 'number' && view.rateLimit?.each === 100;
  });
  await until(async () => (await fleet.order(1, client)) === 'v2');
  await Promise.all(Array.from({ length: 100 }, () => fleet.order(0, client)));
  let isHeld = true;
  const next = fleet.order(0, client).then(() => {
    isHeld = false;
  });
  // The other isolate has its own part, and other clients go on.
  expect(await fleet.order(1, client)).toBe('v2');
  expect(await fleet.order(0, pick(outside, 3))).toBe('v1');
  expect(isHeld).toBe(true);
  await next;
});

function thirtyMore(orders: ReadonlySet<string>): Promise<void> {
  const before = orders.size;
  return until(() => orders.size >= before + 30);
}
