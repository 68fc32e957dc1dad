import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { exchange } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { type SpawnedGateway, spawnGateway, spawnMain } from '../support/spawn-gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folder = (): string => temporaryFolder('rollout');

async function origins(): Promise<{ readonly upstream: string; readonly 'v1-upstream': string }> {
  const [v1, v2] = [
    await rawServer((socket) => socket.write(ok('{"from":"v1"}'))),
    await rawServer((socket) => socket.write(ok('{"from":"v2"}'))),
  ];
  return { upstream: v2.origin, 'v1-upstream': v1.origin };
}

const SECRET = { 'client-secret': 'the same for every replica' };
const shipped = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');

async function rollout(
  gateway: SpawnedGateway,
  ...args: string[]
): Promise<{ code: number | null; out: string; err: string }> {
  const running = command(['rollout', ...args, '--admin', `http://127.0.0.1:${gateway.adminPort}`]);
  const code = await running.exit;
  return { code, out: running.stdout(), err: running.stderr() };
}

const sendRequest = async (gateway: SpawnedGateway): Promise<string> =>
  (await exchange(gateway.port, 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\n\r\n'))
    .text;
const metric = async (gateway: SpawnedGateway, name: string): Promise<string> =>
  (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text())
    .split('\n')
    .filter((line) => line.startsWith(name))
    .join('\n');

test('commands change what V1 traffic goes through, and a restart keeps it', async () => {
  const at = { ...(await origins()), ...SECRET, store: `file:${join(folder(), 'rollout.json')}` };
  const first = await spawnGateway(at);
  expect(await sendRequest(first)).toContain('"v2"');
  expect((await rollout(first)).out).toMatch(/^V1 origin {3}http.*\ndefault {5}migrate \(built-in default\)/);
  const observed = await rollout(first, 'observe');
  expect(observed).toMatchObject({
    code: 0,
    out: expect.stringContaining('default     observe (chosen by an operator)'),
  });
  expect(await sendRequest(first)).toContain('"v1"');
  expect(await metric(first, 'gateway_rollout_mode')).toBe(
    'gateway_rollout_mode{stage="(default)",mode="observe"} 1',
  );
  expect(await metric(first, 'gateway_rollout_requests_total{origin="v1"}')).toMatch(/ 1$/);
  const canary = await rollout(first, 'canary', '10%', '--operation', 'order_floor_plan');
  expect(canary.out).toContain(
    'operation   order_floor_plan: canary 10 % of the clients (chosen by an operator)',
  );
  await rollout(first, 'migrate', '--client', '0123456789abcdef');
  first.child.kill('SIGTERM');
  await first.exit();
  const second = await spawnGateway(at);
  expect(await sendRequest(second)).toContain('"v1"');
  const { out } = await rollout(second, 'show', '--format', 'json');
  expect(JSON.parse(out)).toMatchObject({
    revision: 3,
    isSticky: true,
    default: { mode: 'observe', from: 'operator' },
    operations: { order_floor_plan: { mode: 'canary', share: 10, from: 'operator' } },
    clients: { '0123456789abcdef': { mode: 'migrate' } },
  });
  expect((await rollout(second, 'clear')).out).toContain('default     migrate (built-in default)');
});

test('a replica without its store serves, and says since when it is alone', async () => {
  const { upstream, ...v1 } = await origins();
  const gateway = await spawnGateway({
    upstream,
    ...v1,
    ...SECRET,
    store: `redis://127.0.0.1:${await freePort()}`,
  });
  expect(await sendRequest(gateway)).toContain('"v2"');
  const { out } = await rollout(gateway, 'observe');
  expect(out).toMatch(
    /^alone {7}since \S+Z \(connect ECONNREFUSED .+\): the last known state holds; 1 choice waits for the store, and holds on this replica only$/m,
  );
  expect(out).toContain('default     observe (chosen by an operator)');
  expect(await sendRequest(gateway)).toContain('"v1"');
  const ready = await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([
    200,
    { data: { status: 'ready', aloneSince: expect.stringMatching(/^2.+Z$/) } },
  ]);
  expect(await metric(gateway, 'gateway_store_')).toMatch(
    /^gateway_store_reachable 0\ngateway_store_alone_since_seconds 1\d{9}[.\d]*\ngateway_store_waiting_changes 1$/,
  );
});

test.each([
  [
    ['observe', '--operation', 'order_floor_plans'],
    /no operation order_floor_plans; did you mean "order_floor_plan"/,
  ],
  [['observe', '--operation', 'create_client', '--client', 'x'], /not both/],
  [['observe', '--client', 'acme'], /No client is called acme/],
])('rollout %j is refused in a sentence, and changes nothing', async (args, sentence) => {
  const gateway = await spawnGateway({ ...(await origins()), ...SECRET });
  const { code, err } = await rollout(gateway, ...args);
  expect(code).toBe(1);
  expect(err).toMatch(sentence);
  expect((await rollout(gateway)).out).toContain('default     migrate');
});

const NO_SHARE = /argument 'percent'. It must be a number above 0, and of at most 100/;
test.each([
  [['canary', '0'], NO_SHARE],
  [['canary', 'ten'], NO_SHARE],
  [['canary', '101'], NO_SHARE],
  [['canary', '1e1'], NO_SHARE],
  [['canry', '10'], /unknown command 'canry'; did you mean "canary"/],
  [['show', '--admin', '127.0.0.1:8081'], /It must be an address such as http:\/\/127\.0\.0\.1:8081/],
])('rollout %j is refused before anything is asked', async (args, sentence) => {
  const running = command(['rollout', ...args]);
  expect(await running.exit).toBe(2);
  expect(running.stderr()).toMatch(sentence);
});

test("the listener of clients is told from the operators'", async () => {
  const gateway = await spawnGateway({ ...(await origins()), ...SECRET });
  const running = command(['rollout', '--admin', `http://127.0.0.1:${gateway.port}`]);
  expect(await running.exit).toBe(2);
  expect(running.stderr()).toMatch(/:\d+ is not the admin listener; name that with --admin\./);
});

test.each(['<!doctype html>', '{}', 'null'])(
  'a server that responds with %s is not the admin listener',
  async (body) => {
    const other = await rawServer((socket) => socket.write(ok(body)));
    const running = command(['rollout', '--admin', other.origin]);
    expect(await running.exit).toBe(2);
    expect(running.stderr()).toBe(`${other.origin} is not the admin listener; name that with --admin.\n`);
  },
);

test('says why an address sends no response', async () => {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const running = command(['rollout', '--admin', origin]);
  expect(await running.exit).toBe(2);
  expect(running.stderr()).toBe(
    `No response from ${origin} (ECONNREFUSED); name the admin listener with --admin.\n`,
  );
});

test('a name that two clients have chooses neither', async () => {
  const names = join(folder(), 'names.yaml');
  writeFileSync(names, '0123456789abcdef: Acme\nfedcba9876543210: Acme\n');
  const gateway = await spawnGateway({ ...(await origins()), ...SECRET, 'client-names': names });
  const refused = await rollout(gateway, 'observe', '--client', 'Acme');
  expect(refused.code).toBe(1);
  expect(refused.err).toContain(
    '2 clients are called Acme: 0123456789abcdef, fedcba9876543210; give the hash of one.',
  );
  const chosen = await rollout(gateway, 'observe', '--client', 'fedcba9876543210');
  expect(chosen.out.match(/^client .*$/gm)).toEqual([
    'client      Acme (fedcba9876543210): observe (chosen by an operator)',
  ]);
});

test('without V1 there is nothing but migrating, and a random secret is told', async () => {
  const { upstream, ...v1 } = await origins();
  const alone = await spawnGateway({ upstream, ...SECRET });
  expect((await rollout(alone, 'observe')).err).toMatch(/start the gateway with GATEWAY_V1_UPSTREAM/);
  const random = await spawnGateway({ upstream, ...v1 });
  expect(random.stderr()).toMatch(
    /client hashes are new at each start.*GATEWAY_CLIENT_SECRET to the same value on every replica/,
  );
  expect((await rollout(random)).out).toContain('careful');
});

test('modes without V1 stop the start, and a reload to them is refused', async () => {
  const rules = join(folder(), 'rules.yaml');
  writeFileSync(rules, `${shipped}\nmodes: observe\n`);
  const { upstream } = await origins();
  const child = spawnMain([
    'serve',
    '--listen',
    '127.0.0.1:0',
    '--admin-listen',
    '127.0.0.1:0',
    '--upstream',
    upstream,
    '--rules',
    rules,
  ]);
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise((resolve) => {
    child.once('close', resolve);
  });
  expect(code).toBe(2);
  expect(err).toMatch(/modes send requests to V1; set GATEWAY_V1_UPSTREAM/);
  writeFileSync(rules, shipped);
  const gateway = await spawnGateway({ upstream, rules, ...SECRET });
  writeFileSync(rules, `${shipped}\nmodes: observe\n`);
  gateway.child.kill('SIGHUP');
  for (let wait = 0; wait < 250 && !gateway.stderr().includes('refused'); wait += 1) {
    await pause(20);
  }
  expect(gateway.stderr()).toMatch(/rule book refused: Some modes send requests to V1/);
  expect(await sendRequest(gateway)).toContain('"v2"');
});

// Attack: a page of another site posts a form to the admin listener of the operator who visits it.
test('commands need JSON from the same site, and the token where there is one', async () => {
  const at = { ...(await origins()), ...SECRET, 'admin-token': 'a token of the tests' };
  const gateway = await spawnGateway(at);
  const url = `http://127.0.0.1:${gateway.adminPort}/rollout`;
  const authorization = 'Bearer a token of the tests';
  const post = async (headers: Record<string, string>, body = '{"mode":"observe"}'): Promise<number> =>
    (await fetch(url, { method: 'POST', headers, body })).status;
  const json = { 'content-type': 'application/json' };
  expect(await post(json)).toBe(401);
  expect(await post({ authorization, 'content-type': 'text/plain' })).toBe(400);
  expect(await post({ authorization, ...json, origin: 'https://evil.test' })).toBe(403);
  for (const body of [
    '',
    '[]',
    '{"mode":"all"}',
    '{"mode":"observe","else":1}',
    '{"mode":"canary","share":"10"}',
  ]) {
    expect(await post({ authorization, ...json }, body)).toBe(400);
  }
  expect(await post({ authorization, ...json }, 'x'.repeat(5000))).toBe(413);
  expect(await post({ authorization, ...json }, '{"mode":"canary"}')).toBe(422);
  expect(await sendRequest(gateway)).toContain('"v2"');
  expect(await post({ authorization, ...json })).toBe(200);
  expect(await sendRequest(gateway)).toContain('"v1"');
});

test('a canary waits for bodies that V2’s schema accepts, unless it is forced', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"data":{}}')));
  const gateway = await spawnGateway({ 'v1-upstream': v1.origin, ...SECRET });
  await rollout(gateway, 'observe');
  // The embedded reference is V2, and has a description of its own.
  await until(async () => {
    await fetch(`http://127.0.0.1:${gateway.port}/api/v1/clients`, {
      method: 'POST',
      headers: { authorization: 'Bearer k', 'content-type': 'application/json' },
      body: '{"data":{"name":"x","colour":"red"}}',
    });
    return gateway.stdout().includes('"v2":"invalid","at":"/colour"');
  });
  const refused = await rollout(gateway, 'canary', '10%');
  expect(refused.code).toBe(1);
  expect(refused.err).toMatch(
    /^V2's schema refuses (\d+) of \1 checked bod(?:y|ies).*Client [0-9a-f]{16}, create_client: \1, at \/colour \1×.*--force/,
  );
  expect((await rollout(gateway, 'migrate', '--operation', 'create_client')).code).toBe(1);
  expect((await rollout(gateway, 'migrate', '--operation', 'create_booking')).code).toBe(0);
  const { out } = await rollout(gateway);
  expect(out).toContain('default     observe');
  expect(out).toMatch(/V2's schema [0-9a-f]{16} create_client: \d+ refused that V1 accepted, 0 accepted/);
  expect(out).toMatch(/ {14}\/colour: \d+ times/);
  expect(await metric(gateway, 'gateway_dry_runs_total')).toMatch(
    /\{operation="create_client",verdict="rewritten",v2="invalid"\} [1-9]/,
  );
  const forced = await rollout(gateway, 'canary', '10%', '--force');
  expect(forced).toMatchObject({ code: 0, err: '' });
  expect(forced.out).toContain('default     canary 10 % of the clients');
});

test('a description of V2 that is none stops the start; an address that does not respond does not', async () => {
  const at = { ...(await origins()), ...SECRET };
  const child = spawnMain(
    [
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--admin-listen',
      '127.0.0.1:0',
      '--upstream',
      at.upstream,
      '--v1-upstream',
      at['v1-upstream'],
    ],
    { GATEWAY_V2_OPENAPI: join(folder(), 'none.json') },
  );
  let err = '';
  child.stderr?.on('data', (chunk: Buffer) => (err += chunk.toString()));
  const code = await new Promise((resolve) => {
    child.once('close', resolve);
  });
  expect(code).toBe(2);
  expect(err).toMatch(/GATEWAY_V2_OPENAPI: The description \S*none\.json cannot be read: /);
  const gateway = await spawnGateway({ ...at, 'v2-openapi': 'http://127.0.0.1:9/openapi.json' });
  await until(() => gateway.stderr().includes('No body is checked against it.'));
  expect(await sendRequest(gateway)).toContain('"v2"');
});
