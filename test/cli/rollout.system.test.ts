import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { endedCommand } from '../support/command.ts';
import { type CommandRun, commandRun } from '../support/command-runs.ts';
import { freePort } from '../support/free-port.ts';
import { exchange } from '../support/raw-client.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { type SpawnedGateway, spawnGateway } from '../support/spawn-gateway.ts';
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

const ANY_PORT = ['--listen', '127.0.0.1:0', '--admin-listen', '127.0.0.1:0'];
const SECRET = { 'client-secret': 'the same for every replica' };
const shipped = readFileSync(new URL('../../config/rules.yaml', import.meta.url), 'utf8');

const rollout = (gateway: SpawnedGateway, ...args: string[]): Promise<CommandRun> =>
  commandRun(['rollout', ...args, '--admin', `http://127.0.0.1:${gateway.adminPort}`]);

const sendRequest = async (gateway: SpawnedGateway): Promise<string> =>
  (await exchange(gateway.port, 'GET /api/v1/clients HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer k\r\n\r\n'))
    .text;
const metric = async (gateway: SpawnedGateway, name: string): Promise<string> =>
  (await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text())
    .split('\n')
    .filter((line) => line.startsWith(name))
    .join('\n');

test('commands change the modes of V1 traffic, and a restart keeps them', async () => {
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
    /^alone {7}since \S+Z \(connect ECONNREFUSED .+\): the last known state applies; 1 choice waits for the store, and applies on this replica only$/m,
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

const NO_SHARE = /argument 'percent'. It must be above 0 and at most 100, such as 5/;

test('an impossible choice is refused with a sentence, and changes nothing', async () => {
  const gateway = await spawnGateway({ ...(await origins()), ...SECRET });
  for (const [args, code, sentence] of [
    [['observe', '--operation', 'order_floor_plans'], 1, /did you mean "order_floor_plan"\?\n$/],
    [['observe', '--operation', 'create_client', '--client', 'x'], 1, /not both/],
    [['canary', '0'], 2, NO_SHARE],
    [['canary', 'ten'], 2, NO_SHARE],
    [['canary', '101'], 2, NO_SHARE],
    [['canary', '1e1'], 2, NO_SHARE],
    [['canry', '10'], 2, /unknown command 'canry'; did you mean "canary"/],
  ] as const)
    expect([args, await rollout(gateway, ...args)]).toEqual([
      args,
      { code, out: '', err: expect.stringMatching(sentence) },
    ]);
  expect((await rollout(gateway)).out).toContain('default     migrate');
});

test('a name that two clients share chooses neither', async () => {
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
    'client      Acme (fedcba9876543210): observe (chosen by an operator); to end this: rollout clear --client fedcba9876543210',
  ]);
});

test('modes without V1 stop the start, and a reload to them is refused', async () => {
  const rules = join(folder(), 'rules.yaml');
  writeFileSync(rules, `${shipped}\nmodes: observe\n`);
  const { upstream } = await origins();
  const start = await endedCommand(['serve', ...ANY_PORT, '--upstream', upstream, '--rules', rules]);
  expect(start).toMatchObject({
    code: 2,
    err: expect.stringContaining('modes send requests to V1; set GATEWAY_V1_UPSTREAM'),
  });
  writeFileSync(rules, shipped);
  const gateway = await spawnGateway({ upstream, rules, ...SECRET });
  writeFileSync(rules, `${shipped}\nmodes: observe\n`);
  gateway.child.kill('SIGHUP');
  await until(() => gateway.stderr().includes('refused'));
  expect(gateway.stderr()).toMatch(/rule book refused: Some modes send requests to V1/);
  expect(await sendRequest(gateway)).toContain('"v2"');
});
