import { type ChildProcess, spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { mergedRollout, type WorkerStats } from '../../../src/node/workers/worker-messages.ts';
import { mergedStats, WorkerPool, type WorkerPoolParts } from '../../../src/node/workers/worker-pool.ts';
import { until } from '../../support/until.ts';

const PROCESS = { cpuSeconds: 2, residentBytes: 1, limitBytes: 1, heapBytes: 1, startSeconds: 1 };

/** What each worker reports at its start, and never again. */
const REPORTED: WorkerStats = {
  inFlight: 0,
  bufferedBytes: 0,
  breaker: 'closed',
  process: PROCESS,
  dropped: 3,
  earlyEnds: { handshakes: { closed: 1 }, proxyHeaders: {} },
  rollout: { requests: { v1: 5, v2: 7 }, shadows: [{ same: 1, different: 0, unknown: 0, fields: [] }] },
};

/** A process that says it listens, once it has reported. */
function reportingWorker(): ChildProcess {
  const script = `process.once('message', () => {
    process.send({ kind: 'stats', stats: ${JSON.stringify(REPORTED)} });
    process.send({ kind: 'listening', origin: 'http://127.0.0.1:1' });
    process.on('message', () => process.exit());
  });`;
  return spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
}

function reportingPool(count: number, onLost?: WorkerPoolParts['onLost']): WorkerPool {
  return new WorkerPool({
    count,
    fork: reportingWorker,
    flags: {},
    record: () => {},
    observe: () => {},
    ownReport: () => Promise.resolve({ kind: 'busy' }),
    store: undefined,
    onLost,
    log: () => {},
  });
}

test('a worker that ends by itself is told, and one that is asked to end is not', async () => {
  const lost: string[] = [];
  const pool = reportingPool(1, (number, from, how) => lost.push(`${number} ${how} ${from <= Date.now()}`));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  for (const pid of pool.pids) process.kill(pid, 'SIGKILL');
  await until(() => lost.length > 0);
  await until(() => !pool.draining);
  await pool.drain(1000);
  expect(lost).toEqual(['1 SIGKILL true']);
});

test('no count falls when a worker ends', async () => {
  const pool = reportingPool(2);
  onTestFinished(() => pool.drain(1000));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  const counts = mergedRollout(
    {
      requests: { v1: 0, v2: 0 },
      comparisons: { list: [] },
      bodyChecks: { isOn: false, tally: { list: () => [] }, warnings: () => [] },
    },
    () => pool.rollouts,
  );
  const own = {
    version: '',
    inFlight: 0,
    droppedLogLines: 0,
    bufferedBytes: 0,
    breaker: 'closed',
    ruleBook: { hash: '', version: '', since: 0 },
  } as const;
  const counted = (): unknown => {
    const { process: sums, droppedLogLines } = mergedStats(own, pool);
    const shadows = counts.comparisons.list.map(({ same }) => same);
    return [counts.requests, shadows, sums?.cpuSeconds, droppedLogLines];
  };
  const ofWorkers = (count: number): unknown => [
    { v1: 5 * count, v2: 7 * count },
    [count],
    2 * count,
    3 * count,
  ];
  expect(counted()).toEqual(ofWorkers(2));
  const [first = 0] = pool.pids;
  process.kill(first, 'SIGKILL');
  await until(() => !pool.pids.includes(first));
  expect(counted()).toEqual(ofWorkers(2));
  // The one that takes its place begins at zero.
  await until(() => pool.stats.length === 2);
  expect(counted()).toEqual(ofWorkers(3));
});
