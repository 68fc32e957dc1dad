/** @module-tag redis */
import { expect, test } from 'vitest';
import { playReplicas } from './replicas/play-replicas.ts';
import { playedRedis } from '../support/played-redis.ts';

test('three gateways on a real Redis server: one roll-back everywhere, and no request fails by the store', async () => {
  const play = await playReplicas(await playedRedis(), { hangMs: 2000, clients: 12 });
  expect(play.rollbacks).toHaveLength(1);
  const [rollback] = play.rollbacks;
  // Each log says who decided, and why; one replica decided for all.
  for (const lines of play.rollbackLines)
    expect(lines).toEqual([
      expect.stringMatching(
        /^rollout: canary of 20 % rolled back to observe by \S+\/\d+: \d+ of \d+ compared requests failed on V2, 0 of \d+ on V1\./,
      ),
    ]);
  expect(new Set(play.rollbackLines.flat())).toHaveLength(1);
  expect(play.rollbackLines[0]?.[0]).toContain(` by ${rollback?.by}: `);
  expect(rollback?.migrated.failures).toBeGreaterThan(0);
  expect(play.afterRollback).toBe(0);
  expect(play.failedWithoutStore).toEqual([]);
  expect(play.ready).toEqual([
    expect.stringMatching(/^\{"data":\{"status":"ready","aloneSince":"[^"]+Z"\}\}$/),
    '{"data":{"status":"ready"}}',
  ]);
  expect(play.failedBesideKilled).toEqual([]);
  expect(play.modes).toEqual(['canary', 'canary', 'canary']);
  expect([play.lost, play.twice]).toEqual([[], []]);
  console.log(
    `choice everywhere after ${play.choiceMs} ms, roll-back after ${play.rollbackMs.join(', ')} ms`,
  );
});
