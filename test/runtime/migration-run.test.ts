import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startReference } from '../../src/node/reference.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { RolloutRequest, RolloutView } from '../../src/rollout/rollout-tally.ts';
import { spawnGateway } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { once } from 'node:events';
import { createServer, request } from 'node:http';

const clients = Array.from({ length: 60 }, (_, n) => `client-${n}`);

/** A write that was sent: its name, its client, its stage, and its outcome. */
interface Write {
  readonly name: string;
  readonly stage: string;
  readonly status: number;
}

async function reference(dialect: 'v1' | 'v2'): Promise<string> {
  const running = await startReference({ dialects: [dialect] });
  onTestFinished(() => running.close());
  return running.origin;
}

/** The names of all clients that a service has stored. */
async function stored(origin: string, version: 'v1' | 'v2'): Promise<string[]> {
  const names: string[] = [];
  for (let page = 1; ; page += 1) {
    const response = await fetch(`${origin}/api/${version}/clients?page=${page}&per_page=100`, {
      headers: { authorization: 'Bearer k' },
    });
    const { data } = (await response.json()) as { readonly data: readonly { readonly name: string }[] };
    if (data.length === 0) return names;
    names.push(...data.map(({ name }) => name));
  }
}

test('observe, canary 10 %, canary 50 %, a fault, rolled back, fixed, migrate: under load, each write at one origin', async () => {
  const folder = temporaryFolder('run');
  const [v1, v2] = [await reference('v1'), await reference('v2')];
  const front = await faultyFront(v2);
  const log = join(folder, 'rewrite.log');
  const gateway = await spawnGateway({
    upstream: front.origin,
    'v1-upstream': v1,
    'client-secret': 'the secret of this run',
    store: `file:${join(folder, 'rollout.json')}`,
    'log-file': log,
  });
  const origin = `http://127.0.0.1:${gateway.port}`;
  const admin = `http://127.0.0.1:${gateway.adminPort}/rollout`;
  const view = async (): Promise<RolloutView> => (await (await fetch(admin)).json()) as RolloutView;
  let stage = 'as it started';
  let choices = 0;
  /** Writes without a response yet. */
  const open = new Set<{ readonly stage: string }>();
  const choose = async (request: RolloutRequest): Promise<void> => {
    // What is sent while the mode changes is of neither stage, and what was sent before has its response.
    choices += 1;
    stage = `before choice ${choices}`;
    await until(() => [...open].every((begun) => begun.stage === stage));
    const body = JSON.stringify(request);
    const response = await fetch(admin, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(response.status).toBe(200);
  };

  const writes: Write[] = [];
  const loading = { isOn: true };
  const write = async (client: string, number: number): Promise<void> => {
    const name = `${client}/${number}`;
    const begun = { stage };
    open.add(begun);
    const response = await fetch(`${origin}/api/v1/clients`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${client}`,
        'content-type': 'application/json',
        'x-request-id': name,
      },
      body: JSON.stringify({ data: { name } }),
    });
    await response.arrayBuffer();
    open.delete(begun);
    writes.push({ name, stage: begun.stage, status: response.status });
  };
  const load = Promise.all(
    Array.from({ length: 12 }, async (_, worker) => {
      for (let number = 0; loading.isOn; number += 1) {
        const client = clients[(worker + number * 12) % clients.length] ?? '';
        await write(client, worker * 1_000_000 + number);
      }
    }),
  );
  const reached = (count: number): Promise<void> => {
    const from = writes.length;
    return until(() => writes.length >= from + count);
  };

  await choose({ mode: 'observe' });
  stage = 'observe';
  await reached(200);
  await choose({ mode: 'canary', share: 10 });
  stage = 'canary 10';
  await reached(300);
  await choose({ mode: 'canary', share: 50 });
  stage = 'canary 50';
  await reached(300);
  front.faulty = true;
  await until(() => gateway.stderr().includes('rolled back'));
  stage = 'rolled back';
  await reached(200);
  expect((await view()).default).toEqual({ mode: 'observe', from: 'roll-back' });
  expect(gateway.stderr()).toMatch(
    /rollout: canary of 50 % rolled back to observe by \S+: \d+ of \d+ compared requests failed on V2, 0 of \d+ on V1/,
  );
  front.faulty = false;
  await reached(100);
  // No operator acted, so it stays.
  expect((await view()).default.mode).toBe('observe');
  await choose({ mode: 'canary', share: 50 });
  stage = 'canary 50 again';
  await reached(200);
  await choose({ mode: 'migrate' });
  stage = 'migrate';
  await reached(200);
  loading.isOn = false;
  await load;
  gateway.child.kill('SIGTERM');
  expect((await gateway.exit()).code).toBe(0);

  const atV1 = await stored(v1, 'v1');
  const atV2 = await stored(v2, 'v2');
  const acknowledged = writes.filter(({ status }) => status === 201).map(({ name }) => name);
  expect([...atV1, ...atV2].toSorted()).toEqual(acknowledged.toSorted());
  expect(new Set([...atV1, ...atV2]).size).toBe(atV1.length + atV2.length);
  expect(atV2.length).toBeGreaterThan(200);
  expect(writes.filter(({ status }) => status !== 201).every(({ status }) => status === 500)).toBe(true);

  const entries = readFileSync(log, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
  expect(entries).toHaveLength(writes.length);
  expect(
    entries.filter((entry) => entry.origin === 'v1').every((entry) => entry.would?.verdict === 'rewritten'),
  ).toBe(true);
  const stageOf = new Map(writes.map((each) => [each.name, each.stage]));
  const moves = new Map<string, { origin: string; count: number }>();
  for (const entry of entries.toSorted((one, other) => one.time.localeCompare(other.time))) {
    const key = `${entry.client ?? ''} ${stageOf.get(entry.requestId) ?? ''}`;
    const origin = entry.origin ?? 'v2';
    const known = moves.get(key);
    if (known === undefined) moves.set(key, { origin, count: 0 });
    else if (known.origin !== origin) moves.set(key, { origin, count: known.count + 1 });
  }
  // A stage ends while requests are under way: a client moves once then, and never back.
  expect([...moves.values()].every(({ count }) => count <= 1)).toBe(true);
  const movedIn = (name: string): number =>
    new Set(
      entries
        .filter((entry) => stageOf.get(entry.requestId) === name && entry.origin === undefined)
        .map(({ client }) => client),
    ).size;
  expect(movedIn('canary 10')).toBeGreaterThan(0);
  expect(movedIn('canary 10')).toBeLessThan(movedIn('canary 50'));
  expect(movedIn('migrate')).toBe(clients.length);
});

/** Stands in front of a service, and while it is faulty responds with 500 to every request. */
interface FaultyFront {
  readonly origin: string;
  faulty: boolean;
}

/** Starts one; it ends with the test. */
async function faultyFront(service: string): Promise<FaultyFront> {
  const server = createServer((incoming, outgoing) => {
    if (front.faulty) {
      incoming.resume();
      outgoing.writeHead(500, { 'content-type': 'application/json' });
      outgoing.end('{"errors":[{"status":"500","title":"Internal Server Error","detail":"A fault."}]}');
      return;
    }
    const { method, url, rawHeaders } = incoming;
    const sent = request(new URL(url ?? '/', service), { method, headers: rawHeaders }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.rawHeaders);
      response.pipe(outgoing);
    });
    sent.on('error', () => outgoing.destroy());
    incoming.pipe(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const front: FaultyFront = { origin: `http://127.0.0.1:${port}`, faulty: false };
  return front;
}
