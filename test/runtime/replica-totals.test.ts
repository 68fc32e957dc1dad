/** @module-tag redis */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { CountingService } from './replicas/counting-service.ts';
import { ReplicaProcess } from './replicas/replica-process.ts';
import type { OwnReport } from '../../src/report/own-report.ts';
import type { Report } from '../../src/report/report.ts';
import { createClientHash } from '../../src/node/runtime.ts';
import { playedRedis } from '../support/played-redis.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const SECRET = 'the same for every replica';
const hashOf = createClientHash(SECRET);

/** Starts gateways on one store, each when asked; they end with the test. */
async function fleetOn(
  store: string,
  over: Readonly<Record<string, string>> = {},
): Promise<() => Promise<ReplicaProcess>> {
  const v2 = new CountingService();
  const flags = {
    upstream: await v2.listen(),
    'client-secret': SECRET,
    'self-service': 'on',
    store,
    ...over,
  };
  onTestFinished(() => v2.close());
  return async () => {
    const replica = await ReplicaProcess.start(flags);
    onTestFinished(() => replica.kill());
    return replica;
  };
}

async function send({ url }: ReplicaProcess, key: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/clients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: '{"data":{"name":"order-1"}}',
  });
  await response.arrayBuffer();
  return response.status;
}

async function reportOf(replica: ReplicaProcess): Promise<Report> {
  return JSON.parse(await replica.admin('/report?format=json')) as Report;
}

/** V1 requests by key, as a replica reports them. */
async function countsOf(replica: ReplicaProcess, keys: readonly string[]): Promise<readonly number[]> {
  const { clients } = await reportOf(replica);
  return keys.map((key) => clients.find(({ client }) => client === hashOf(`Bearer ${key}`))?.v1 ?? 0);
}

/** Waits until every replica reports these counts. */
async function untilAll(
  replicas: readonly ReplicaProcess[],
  counts: Readonly<Record<string, number>>,
): Promise<void> {
  const keys = Object.keys(counts);
  for (const replica of replicas)
    await until(async () => String(await countsOf(replica, keys)) === String(Object.values(counts)));
}

test('each of three gateways on a real Redis server reports all clients; a kill and a start count nothing twice and lose nothing that was added', async () => {
  const redis = await playedRedis();
  const start = await fleetOn(redis.url);
  const [first, second, third] = [await start(), await start(), await start()];
  for (const [replica, own] of [
    [first, 'one'],
    [second, 'two'],
    [third, 'three'],
  ] as const)
    for (const key of [own, 'all']) expect(await send(replica, key)).toBe(201);
  const counts = { one: 1, two: 1, three: 1, all: 3 };
  await untilAll([first, second, third], counts);
  await until(async () => (await reportOf(first)).coverage?.replicas === 3);
  const { coverage, switchOff, v1, days, census } = await reportOf(third);
  expect(coverage?.sentence).toMatch(/^Counts of 3 replicas, since \S+Z; the oldest is \d+ s old\.$/);
  expect(switchOff.verdict).toBe('no');
  expect([v1, days[0]?.clients, census.exchanges]).toEqual([6, 4, 6]);
  expect(await third.admin('/report?format=md')).toContain('Counts of 3 replicas, since ');
  expect(await third.admin('/rules')).toContain('"counts":"Counts of 3 replicas, since ');

  const own = await fetch(`${third.url}/api/v1/migration`, { headers: { authorization: 'Bearer one' } });
  const { data } = (await own.json()) as { data: OwnReport };
  expect(data).toMatchObject({ coverage: 'fleet', report: { v1: 1, class: 'unwrap-only' } });

  await first.kill();
  const again = await start();
  await untilAll([second, third, again], counts);
  // Its last counts are added while it stops.
  for (const key of ['all', 'last']) expect(await send(again, key)).toBe(201);
  await again.stop();
  await untilAll([second, third], { ...counts, all: 4, last: 1 });

  redis.hang();
  expect(await send(second, 'two')).toBe(201);
  await until(async () => (await reportOf(second)).coverage?.kind === 'alone');
  const alone = await reportOf(second);
  expect(alone.coverage?.sentence).toMatch(
    /^This replica is alone since \S+Z \(.+\); the counts of the others are of \S+Z\.$/,
  );
  expect(await countsOf(second, ['one', 'two', 'all'])).toEqual([1, 2, 4]);
  expect(alone.gaps?.map(({ log }) => log)).toContain('store');
  redis.resume();
  await untilAll([second, third], { ...counts, two: 2, all: 4, last: 1 });
}, 240_000);

test('replicas on one machine share a file, and a start finds what was counted before', async () => {
  const folder = temporaryFolder('totals');
  const start = await fleetOn(`file:${join(folder, 'rollout.json')}`, { workers: '2' });
  const [first, second] = [await start(), await start()];
  expect(await send(first, 'one')).toBe(201);
  expect(await send(second, 'two')).toBe(201);
  await untilAll([first, second], { one: 1, two: 1 });
  await Promise.all([first.stop(), second.stop()]);
  expect(existsSync(join(folder, 'rollout.json.report-1'))).toBe(true);
  const third = await start();
  await untilAll([third], { one: 1, two: 1 });
  // On a busy machine one may end before it has said so: then it counts as live for half a minute.
  const ended = /^Counts of 1 replica and of 2 that ended, since /;
  await until(async () => ended.test((await reportOf(third)).coverage?.sentence ?? ''));
}, 240_000);

test('without a store a gateway says that it counts alone', async () => {
  const start = await fleetOn('memory');
  const only = await start();
  expect((await reportOf(only)).coverage).toEqual({
    kind: 'gateway',
    sentence: expect.stringMatching(
      /^Counts of this gateway alone, since \S+Z: no store is set\.$/,
    ) as string,
  });
}, 60_000);
