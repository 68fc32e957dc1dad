import { type ChildProcess, spawn } from 'node:child_process';
import { expect, onTestFinished, test } from 'vitest';
import { mergedRollout, type WorkerStats } from '../../../src/node/workers/worker-messages.ts';
import { mergedStats, WorkerPool, type WorkerPoolParts } from '../../../src/node/workers/worker-pool.ts';
import type { GatewayStats, ProcessStats } from '../../../src/rewrite-log/metric-families.ts';
import { until } from '../../support/until.ts';

const PROCESS = { cpuSeconds: 2, residentBytes: 1, limitBytes: 1, heapBytes: 1, startSeconds: 1 };

/** What each worker reports, again and again. */
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
    const report = () => process.send({ kind: 'stats', stats: ${JSON.stringify(REPORTED)} });
    report();
    setInterval(report, 200).unref();
    process.send({ kind: 'listening', origin: 'http://127.0.0.1:1' });
    process.on('message', ({ kind }) => kind === 'stop' && process.exit());
  });`;
  return spawn(process.execPath, ['-e', script], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
  });
}

const NO_PROGRAM = `${process.execPath}-none`;

function reportingPool(
  count: number,
  onLost?: WorkerPoolParts['onLost'],
  parts: Partial<WorkerPoolParts> = {},
): WorkerPool {
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
    ...parts,
  });
}

test('a worker that ends by itself is reported, and one that is asked to end is not', async () => {
  const lost: string[] = [];
  const pool = reportingPool(1, (number, from, how) => lost.push(`${number} ${how} ${from <= Date.now()}`));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  for (const pid of pool.pids) process.kill(pid, 'SIGKILL');
  await until(() => lost.length > 0);
  await until(() => !pool.draining);
  await pool.drain(1000);
  expect(lost).toEqual(['1 SIGKILL true']);
});

test('a worker that hangs is not ready, then replaced and reported; the others stay', async () => {
  const lost: string[] = [];
  const lines: string[] = [];
  const pool = reportingPool(2, (number, _from, how) => lost.push(`${number} ${how}`), {
    log: ({ message, event }) => lines.push(`${event} ${message}`),
  });
  onTestFinished(() => pool.drain(1000));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  const [hung = 0, other = 0] = pool.pids;
  process.kill(hung, 'SIGSTOP');
  await until(() => lost.length > 0);
  expect(pool.draining).toBe(false);
  await until(() => pool.pids.length === 2);
  expect(pool.pids).toContain(other);
  expect(pool.pids).not.toContain(hung);
  expect(lost).toEqual([expect.stringMatching(/^1 it hung: it sent no message for \d+ s$/)]);
  expect(lines).toEqual([
    expect.stringMatching(/^worker-ended worker 1 ended \(it hung: .+\); another one starts in 100 ms\.$/),
  ]);
});

test('while all workers hang, the gateway is not ready, and it is again with their successors', async () => {
  const pool = reportingPool(1);
  onTestFinished(() => pool.drain(1000));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  const [hung = 0] = pool.pids;
  process.kill(hung, 'SIGSTOP');
  await until(() => pool.draining);
  // A worker that is late comes back without another one in its place.
  process.kill(hung, 'SIGCONT');
  await until(() => !pool.draining);
  expect(pool.pids).toEqual([hung]);
  process.kill(hung, 'SIGSTOP');
  await until(() => !pool.pids.includes(hung));
  await until(() => !pool.draining);
});

test('a worker whose process cannot be created is tried again, because the kernel may have too many for a moment', async () => {
  const lines: string[] = [];
  const missing = (): ChildProcess =>
    spawn(NO_PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' });
  const forks = [reportingWorker, missing, reportingWorker];
  const pool = reportingPool(1, undefined, {
    fork: () => (forks.shift() ?? missing)(),
    log: ({ message }) => lines.push(message),
  });
  onTestFinished(() => pool.drain(1000));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  for (const pid of pool.pids) process.kill(pid, 'SIGKILL');
  await until(() => forks.length === 0 && !pool.draining);
  expect(lines).toContain(`worker 1 ended (spawn ${NO_PROGRAM} ENOENT); another one starts in 200 ms.`);
});

test('a pool that stops does not keep the process alive for a worker that would start again', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const lost: string[] = [];
  const pool = reportingPool(1, (_number, _from, how) => lost.push(how));
  await pool.listen({ host: '127.0.0.1', port: 0 });
  const before = timers();
  for (const pid of pool.pids) process.kill(pid, 'SIGKILL');
  await until(() => lost.length > 0);
  await pool.drain(1000);
  expect(timers()).toBe(before);
});

test('if the process of the first worker cannot be created, the start fails', async () => {
  const fork = (): ChildProcess => spawn(NO_PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const pool = reportingPool(1, undefined, { fork });
  await expect(pool.listen({ host: '127.0.0.1', port: 0 })).rejects.toThrow(`spawn ${NO_PROGRAM} ENOENT`);
});

test('if a later worker fails the start, no other one is left running', async () => {
  const forks = [reportingWorker, reportingWorker];
  const fork = (): ChildProcess =>
    forks.shift()?.() ?? spawn(NO_PROGRAM, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const pool = reportingPool(3, undefined, { fork });
  await expect(pool.listen({ host: '127.0.0.1', port: 0 })).rejects.toThrow(`spawn ${NO_PROGRAM} ENOENT`);
  expect(pool.pids).toEqual([]);
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

const OWN: GatewayStats = {
  version: '0.1.0',
  inFlight: 0,
  bufferedBytes: 0,
  droppedLogLines: 0,
  breaker: 'closed',
  ruleBook: { hash: 'a', version: '2025-01-01', since: 0 },
  process: {
    cpuSeconds: 1,
    residentBytes: 100,
    heapBytes: 10,
    startSeconds: 5,
    openFiles: 30,
    maxFiles: 1000,
  },
};

const worker = (process: Partial<ProcessStats>): WorkerStats => ({
  inFlight: 1,
  bufferedBytes: 0,
  breaker: 'closed',
  dropped: 0,
  earlyEnds: { handshakes: {}, proxyHeaders: {} },
  rollout: { requests: { v1: 0, v2: 0 }, shadows: [] },
  process: { cpuSeconds: 2, residentBytes: 200, heapBytes: 20, startSeconds: 6, ...process },
});

const merged = (...workers: readonly WorkerStats[]): ProcessStats | undefined =>
  mergedStats(OWN, {
    stats: workers,
    ended: { cpuSeconds: 4, earlyEnds: { handshakes: {}, proxyHeaders: {} } },
    dropped: 0,
  }).process;

test('processes add up to one gateway, whose start is the first one’s', () => {
  expect(merged(worker({}), worker({}))).toMatchObject({
    cpuSeconds: 9,
    residentBytes: 500,
    heapBytes: 50,
    startSeconds: 5,
  });
});

test('open files are those of the process nearest to its own limit, so that many workers raise no alarm', () => {
  const busy = worker({ openFiles: 400, maxFiles: 1000 });
  expect(merged(busy, busy, busy)).toMatchObject({ openFiles: 400, maxFiles: 1000 });
  expect(merged(busy, worker({ openFiles: 380, maxFiles: 400 }))).toMatchObject({
    openFiles: 380,
    maxFiles: 400,
  });
});

test('connections that ended early are those of all processes, and of those that have ended', () => {
  const ends = (closed: number, malformed: number) => ({
    handshakes: { closed },
    proxyHeaders: { malformed },
  });
  const { earlyEnds } = mergedStats(OWN, {
    stats: [
      { ...worker({}), earlyEnds: ends(1, 2) },
      { ...worker({}), earlyEnds: ends(4, 8) },
    ],
    ended: { cpuSeconds: 0, earlyEnds: ends(16, 32) },
    dropped: 0,
  });
  expect(earlyEnds).toEqual({ handshakes: { closed: 21 }, proxyHeaders: { malformed: 42 } });
});

test('the last lost line is that of all processes', () => {
  const ended = { cpuSeconds: 0, earlyEnds: { handshakes: {}, proxyHeaders: {} } };
  const lastOf = (own: number | undefined, droppedAt: number | undefined): number | undefined =>
    mergedStats({ ...OWN, lastDroppedLine: own }, { stats: [], ended, dropped: 1, droppedAt })
      .lastDroppedLine;
  expect([lastOf(undefined, undefined), lastOf(3, undefined), lastOf(undefined, 4), lastOf(3, 4)]).toEqual([
    undefined,
    3,
    4,
    4,
  ]);
});

test('if the system does not count open files, no count is shown', () => {
  const own = { ...OWN, process: { cpuSeconds: 1, residentBytes: 1, heapBytes: 1, startSeconds: 1 } };
  const { process } = mergedStats(own, {
    stats: [worker({})],
    ended: { cpuSeconds: 0, earlyEnds: { handshakes: {}, proxyHeaders: {} } },
    dropped: 0,
  });
  expect(process).toMatchObject({ openFiles: undefined, maxFiles: undefined });
});
