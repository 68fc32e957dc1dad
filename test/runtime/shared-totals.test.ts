/** @module-tag redis */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Report } from '../../src/report/report.ts';
import { playedRedis } from '../support/played-redis.ts';
import { PROGRAM } from '../support/product.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { CountingService } from './replicas/counting-service.ts';
import { ReplicaProcess } from './replicas/replica-process.ts';

const HOUR_MS = 3_600_000;

/** Milliseconds for which a replica is stopped: the others end it, and take over what it has counted. */
const STOPPED_MS = 75_000;

test('three gateways on a real Redis, an hour apart, one killed, one stopped for a minute, and Redis restarted: nothing counts twice, and nothing that was shared is lost', async () => {
  const kept = ['--appendonly', 'yes', '--appendfsync', 'always', '--dir', temporaryFolder('aof')];
  const redis = await playedRedis(kept);
  const [v1, v2] = [new CountingService(), new CountingService()];
  onTestFinished(() => [v1, v2].forEach((service) => service.close()));
  const flags = {
    upstream: await v2.listen(),
    'v1-upstream': await v1.listen(),
    'client-secret': 'the same for every replica',
    store: redis.url,
  };
  const start = async (aheadMs: number): Promise<ReplicaProcess> => {
    const replica = await ReplicaProcess.start(flags, PROGRAM, aheadMs);
    onTestFinished(() => replica.kill());
    return replica;
  };
  const [first, killed, stopped] = [await start(0), await start(HOUR_MS), await start(-HOUR_MS)];
  let sent = 0;
  const send = async ({ url }: ReplicaProcess, count: number): Promise<void> => {
    for (let order = 0; order < count; order += 1) {
      const response = await fetch(`${url}/api/v1/clients`, {
        method: 'POST',
        headers: { authorization: `Bearer key-${order % 3}`, 'content-type': 'application/json' },
        body: `{"data":{"name":"order-${sent}"}}`,
      });
      expect(response.status).toBe(201);
      sent += 1;
    }
  };
  const totalOf = async (replica: ReplicaProcess): Promise<number> => {
    const { v1: total, coverage } = JSON.parse(await replica.admin('/report?format=json')) as Report;
    expect(total).toBeLessThanOrEqual(sent);
    return coverage?.kind === 'fleet' ? total : -1;
  };

  await first.command({ mode: 'observe' });
  for (const replica of [first, killed, stopped]) await send(replica, 20);
  for (const replica of [first, killed, stopped]) await until(async () => (await totalOf(replica)) === sent);
  const { replica: view } = await first.rollout();
  expect([view?.replicas, view?.others?.length]).toEqual([3, 2]);

  await killed.kill();
  stopped.child.kill('SIGSTOP');
  await send(first, 10);
  await redis.kill();
  await send(first, 10);
  await redis.restart();
  const end = Date.now() + STOPPED_MS;
  while (Date.now() < end) {
    await send(first, 1);
    await totalOf(first);
    await pause(1000);
  }
  const late = await start(2 * HOUR_MS);
  await first.command({ mode: 'shadow' });
  await until(async () => (await late.rollout()).default.mode === 'shadow');
  stopped.child.kill('SIGCONT');
  await until(async () => (await stopped.rollout()).default.mode === 'shadow');
  for (const replica of [first, stopped, late]) await send(replica, 5);
  for (const replica of [first, stopped, late]) {
    await until(async () => (await totalOf(replica)) === sent);
    await until(async () => (await replica.rollout()).replica?.replicas === 3);
  }
}, 240_000);
