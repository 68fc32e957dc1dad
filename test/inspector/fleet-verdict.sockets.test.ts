import { setTimeout as pause } from 'node:timers/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Overview, SeriesView, State, Status } from '../../src/inspector/api.ts';
import { commandRuns } from '../support/command-runs.ts';
import { inspectGateway, type InspectedGateway } from '../support/inspected-gateway.ts';
import { ok, rawServer } from '../support/raw-server.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

/** Milliseconds between two looks: more often, the admin listener refuses them. */
const LOOK_MS = 50;

test('replicas that share a store give one verdict: on each page, in /status, and in the command', async () => {
  let isDown = false;
  const v2 = await rawServer((socket) =>
    socket.write(isDown ? 'HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n' : ok()),
  );
  const flags = {
    upstream: v2.origin,
    store: `file:${join(temporaryFolder('fleet-verdict'), 'store')}`,
    breaker: 'off',
  };
  const gateways = await Promise.all([inspectGateway(flags), inspectGateway(flags)]);
  const [a, b] = gateways;
  onTestFinished(async () => {
    await Promise.all(gateways.map((one) => one.stop()));
  });
  const order = async (gateway: InspectedGateway, times: number): Promise<void> => {
    for (let sent = 0; sent < times; sent += 1)
      await gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}');
  };
  const statusOf = (gateway: InspectedGateway): Promise<Status> => gateway.readJson<Status>('/status');
  const saysAll = async (words: RegExp): Promise<boolean> => {
    await pause(LOOK_MS);
    const [one, other] = await Promise.all(
      gateways.map(async (gateway) => (await statusOf(gateway)).verdict),
    );
    return words.test(one?.sentence ?? '') && one?.sentence === other?.sentence;
  };
  await order(a, 20);
  await order(b, 10);
  await until(() => saysAll(/^All well for less than a minute at 2 replicas\.$/));
  isDown = true;
  // One replica alone saw too few failures to judge by them.
  await order(b, 3);
  await order(a, 9);
  await until(() =>
    saysAll(
      /^create_client fails(?: for .+)?: 12 of 12 requests since \S+Z\. Before that, 0 of 30 failed\.$/,
    ),
  );
  // What fails at one counts at both from then on.
  await order(b, 4);
  await until(() => saysAll(/^create_client fails(?: for .+)?: 16 of 16 requests since/));
  const [one, other] = await Promise.all(gateways.map(statusOf));
  expect(one?.conditions).toEqual(other?.conditions);
  expect(one?.verdict.evidence).toMatchObject({
    now: { requests: 16, failures: 16 },
    before: { requests: 30 },
  });
  for (const gateway of gateways) {
    const { state, whose } = await gateway.readJson<Overview>('/overview');
    expect(state.verdict).toMatchObject(one?.verdict ?? {});
    expect(state.counts).toMatch(/^46 requests since the start at \S+: 46 sent to V2\. 16 failed\.$/);
    expect(whose).toMatch(/^Counted by 2 replicas; /);
  }
  const told = await commandRuns(gateways.map(({ adminOrigin }) => ['status', '--admin', adminOrigin]));
  for (const { code, out } of told) {
    expect(code).toBe(1);
    expect(out).toContain(one?.verdict.sentence ?? 'told');
  }
});

test('after a roll-back to V1 the trouble is reported as over at once: in /status, on the page and by the command', async () => {
  const v1 = await rawServer((socket) => socket.write(ok('{"from":"v1"}')));
  const v2 = await rawServer((socket) => socket.write('HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n'));
  const gateway = await inspectGateway({ upstream: v2.origin, 'v1-upstream': v1.origin });
  onTestFinished(() => gateway.stop());
  const order = (): Promise<number> => gateway.send('POST', '/api/v1/clients', '{"data":{"name":"A"}}');
  await gateway.postJson('/rollout', { mode: 'migrate', force: true });
  for (let sent = 0; sent < 9; sent += 1) expect(await order()).toBeGreaterThanOrEqual(500);
  const level = async (): Promise<string> => {
    await pause(LOOK_MS);
    return (await gateway.readJson<Status>('/status')).verdict.level;
  };
  await until(async () => (await level()) === 'bad');
  await gateway.postJson('/rollout', { mode: 'observe' });
  expect(await order()).toBe(200);
  await until(async () => (await level()) !== 'bad');
  const { verdict, conditions } = await gateway.readJson<Status>('/status');
  expect(verdict.sentence).toMatch(/ V1 serves it now\.$/);
  expect(conditions.filter(({ level }) => level === 'bad')).toEqual([]);
  expect((await gateway.readJson<Overview>('/overview')).state.verdict).toMatchObject(verdict);
  expect((await gateway.readJson<State>('/state')).verdict).toMatchObject(verdict);
  const [told] = await commandRuns([['status', '--admin', gateway.adminOrigin]]);
  expect(told).toMatchObject({ code: 0 });
  expect(told?.out).toContain(verdict.sentence);
  // The operator's changes and the fault are marked on the axis of the traffic.
  const { marks } = await gateway.readJson<SeriesView>('/series');
  expect(marks.map(({ what }) => what)).toEqual([
    'Migrate everything',
    'create_client began to fail for node: 9 of 9 requests',
    'Send everything to V1',
  ]);
});
