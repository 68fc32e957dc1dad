import { expect, test } from 'vitest';
import type { GatewayStats, ProcessStats } from '../../../src/rewrite-log/metric-families.ts';
import { mergedStats } from '../../../src/node/workers/worker-pool.ts';
import type { WorkerStats } from '../../../src/node/workers/worker-messages.ts';

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

test('open files are those of the process nearest to its own limit: many workers are no reason for an alarm', () => {
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

test('where the system tells no files, none are told', () => {
  const own = { ...OWN, process: { cpuSeconds: 1, residentBytes: 1, heapBytes: 1, startSeconds: 1 } };
  const { process } = mergedStats(own, {
    stats: [worker({})],
    ended: { cpuSeconds: 0, earlyEnds: { handshakes: {}, proxyHeaders: {} } },
    dropped: 0,
  });
  expect(process).toMatchObject({ openFiles: undefined, maxFiles: undefined });
});
