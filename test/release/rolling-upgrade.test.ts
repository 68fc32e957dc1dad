/**
 * The last release, as its tarball was packed, and the working tree: one store, one log, one rollout file, in both directions.
 *
 * @module-tag redis
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { PREVIOUS_PACKAGE } from '../../config/release/release.ts';
import type { Report } from '../../src/report/report.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { CountingService } from '../runtime/replicas/counting-service.ts';
import { playReplicas } from '../runtime/replicas/play-replicas.ts';
import { ReplicaProcess } from '../runtime/replicas/replica-process.ts';
import { playedRedis } from '../support/played-redis.ts';
import { PROGRAM } from '../support/product.ts';
import { PROGRAM_ENVIRONMENT } from '../support/program-environment.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const root = new URL('../../', import.meta.url);
const unpacked = temporaryFolder('previous');
execFileSync('tar', ['-xzf', fileURLToPath(new URL(PREVIOUS_PACKAGE, root)), '-C', unpacked]);
// The client of Redis is a package that users install beside it.
symlinkSync(fileURLToPath(new URL('node_modules', root)), join(unpacked, 'node_modules'));

const NOW = PROGRAM;
const BEFORE = join(unpacked, 'package/dist/cli/capture-gateway.js');
/** Upgrade and downgrade: the version that is there, and the one that takes its place. */
const DIRECTIONS = [
  ['an upgrade', BEFORE, NOW],
  ['a downgrade', NOW, BEFORE],
] as const;

test('both versions behind one Redis: one roll-back everywhere, no request fails, and a newer replica joins', async () => {
  const play = await playReplicas(await playedRedis(), {
    hangMs: 500,
    clients: 12,
    programs: [BEFORE, NOW, BEFORE, NOW],
  });
  expect(play.rollbacks).toHaveLength(1);
  // Each version has the same counts of the same roll-back, whoever decided it, in its own words.
  expect(play.rollbackLines.map((lines) => lines.length)).toEqual([1, 1, 1]);
  const counts = play.rollbackLines.flat().map((line) => line.match(/\d+ of \d+/g));
  expect(new Set(counts.map((all) => String(all)))).toHaveLength(1);
  expect(play.afterRollback).toBe(0);
  expect([play.failedWithoutStore, play.failedBesideKilled]).toEqual([[], []]);
  expect(play.modes).toEqual(['canary', 'canary', 'canary']);
  expect([play.lost, play.twice]).toEqual([[], []]);
});

test.each(DIRECTIONS)(
  '%s on one rollout file and one log: choices, counts and entries of one version are the other’s',
  async (_, from, to) => {
    const folder = temporaryFolder('shared');
    const [store, log] = [join(folder, 'rollout.json'), join(folder, 'rewrite.log')];
    const start = await starter({ store: `file:${store}`, 'log-file': log });
    const [first, second] = [await start(from), await start(from)];

    await first.command({ mode: 'observe', why: 'before the first' });
    await modeOf([first, second], 'observe');
    expect([await send(first, 'acme'), await send(second, 'acme')]).toEqual([201, 201]);

    // One replica at a time: it stops as a deployment stops it, and the other version starts in its place.
    await second.stop();
    const third = await start(to);
    await modeOf([first, third], 'observe');
    await third.command({ mode: 'canary', share: 20, why: 'by the one that came' });
    await modeOf([first, third], 'canary');
    await first.command({ operation: 'create_client', mode: 'shadow', why: 'by the one that goes' });
    await until(async () => (await third.rollout()).operations['create_client']?.mode === 'shadow');
    expect([await send(first, 'acme'), await send(third, 'acme'), await send(third, 'new')]).toEqual([
      201, 201, 201,
    ]);
    // Both count for the fleet: what a replica counted that ended, what the other counts, and what its own requests are.
    for (const replica of [first, third])
      await until(async () => String(await totalsOf(replica)) === String(['fleet', 2, 5]));

    await first.stop();
    const fourth = await start(to);
    const { changes } = await fourth.rollout();
    // Who made a choice is said once a replica knows of others.
    await expect.poll(async () => (await third.rollout()).changes).toEqual(changes);
    expect(changes?.map(({ why }) => why)).toEqual([
      'by the one that goes',
      'by the one that came',
      'before the first',
    ]);
    await until(async () => String(await totalsOf(fourth)) === String(['fleet', 2, 5]));
    await Promise.all([third, fourth].map((replica) => replica.stop()));

    // Either version reads the one log of both; the file has no line that broke.
    const lines = readFileSync(log, 'utf8').trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { readonly operation: string }).operation)).toEqual(
      Array.from({ length: 5 }, () => 'create_client'),
    );
    const tail = ['tail', '--json', log];
    expect(outputOf(BEFORE, tail)).toEqual(outputOf(NOW, tail));
    // The newer one finds the same in it, and may find more, or say it in other words.
    const report = ['report', '--json', '--at', '2099-01-01', log];
    const before = JSON.parse(outputOf(BEFORE, report), (key, value: unknown) =>
      key === 'sentence' ? undefined : value,
    );
    expect(JSON.parse(outputOf(NOW, report))).toMatchObject(before);
  },
  240_000,
);

/** Starts gateways of either version with the same settings; they end with the test. */
async function starter(
  shared: Readonly<Record<string, string>>,
): Promise<(program: string) => Promise<ReplicaProcess>> {
  const [v1, v2] = [new CountingService(), new CountingService()];
  onTestFinished(() => [v1, v2].forEach((service) => service.close()));
  const flags = {
    upstream: await v2.listen(),
    'v1-upstream': await v1.listen(),
    'client-secret': 'the same for every replica',
    ...shared,
  };
  return async (program) => {
    const replica = await ReplicaProcess.start(flags, program);
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

async function modeOf(
  replicas: readonly ReplicaProcess[],
  mode: RolloutView['default']['mode'],
): Promise<void> {
  for (const replica of replicas) await until(async () => (await replica.rollout()).default.mode === mode);
}

/** Whose traffic a replica reports, how many clients, and how many V1 requests. */
async function totalsOf(replica: ReplicaProcess): Promise<readonly unknown[]> {
  const { coverage, clients, v1 } = JSON.parse(await replica.admin('/report?format=json')) as Report;
  return [coverage?.kind, clients.length, v1];
}

/** What a command of a version prints. */
function outputOf(program: string, given: readonly string[]): string {
  return execFileSync(process.execPath, [program, ...given], {
    cwd: fileURLToPath(root),
    env: PROGRAM_ENVIRONMENT,
    encoding: 'utf8',
  });
}
