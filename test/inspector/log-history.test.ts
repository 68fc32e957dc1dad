import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type {
  ClientsScreen,
  ClientsTable,
  ProblemsView,
  Report,
  SeriesView,
  Status,
  Timeline,
} from '../../src/inspector/api.ts';
import { LogHistory } from '../../src/inspector/log-history.ts';
import { entryLine } from '../../src/rewrite-log/entry-line.ts';
import { inspected, type Inspected } from '../support/inspected.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const DAY = 86_400_000;
const CLIENT = 'c'.repeat(16);

/** A gateway that starts with a log of 40 orders of ten days, one of which failed each day, and gets two more. */
async function restarted(): Promise<Inspected> {
  const logFile = join(temporaryFolder('log-history'), 'rewrite.log');
  const now = Date.now();
  const lines = Array.from({ length: 40 }, (_, n) =>
    entryLine({
      ...sampleEntry(1, now - DAY * (1 + Math.floor(n / 4)) - n),
      operation: 'order_floor_plan',
      client: CLIENT,
      status: n % 4 === 0 ? 500 : 201,
    }),
  );
  await writeFile(logFile, lines.reverse().join(''));
  const gateway = await inspected({ 'log-file': logFile });
  for (let n = 1; n <= 2; n += 1) {
    await gateway.post('/orders/floor_plans', '{"data":{}}');
    await gateway.entry(n);
  }
  return gateway;
}

test('what an operator sees goes back as far as the log, and each number is the same everywhere', async () => {
  const gateway = await restarted();
  const series = await gateway.readJson<SeriesView>('/series?by=day');
  const report = await gateway.readJson<Report>('/report');
  const table = await gateway.readJson<ClientsTable>('/clients/table?sort=requests');
  const { opened } = await gateway.readJson<ClientsScreen>(`/clients/table?open=${CLIENT}`);
  const sum = (of: (point: SeriesView['points'][number]) => number): number =>
    series.points.reduce((all, point) => all + of(point), 0);
  expect([sum(({ ofV1 }) => ofV1), sum(({ failed }) => failed)]).toEqual([42, 10]);
  expect([report.v1, report.entries, report.days.reduce((all, { v1 }) => all + v1, 0)]).toEqual([42, 42, 42]);
  expect(report.days.length).toBe(11);
  expect(table).toMatchObject({
    all: 2,
    matching: 2,
    rows: [{ client: CLIENT, v1: 40, failed: 10 }, { v1: 2 }],
  });
  expect(opened[0]?.operations).toMatchObject([{ operation: 'order_floor_plan', count: 40, failed: 10 }]);
  expect(opened[0]?.trend.reduce((all, { failed }) => all + failed, 0)).toBe(10);
  expect(table.known).toMatch(
    /^Counts of this gateway alone, since \S+: those before its start at \S+ are from \S+rewrite\.log\.$/,
  );
  expect(series.known).toMatch(/before that, since \S+, from \S+rewrite\.log\.$/);
  // It is not known whether the gateway ran in the day before it started.
  expect(report.gaps?.map(({ kind }) => kind)).toContain('silent');
  expect((await gateway.readJson<Timeline>('/timeline')).marks.map(({ kind }) => kind)).toContain('sunset');
});

test('problems go back as far as the log', async () => {
  const logFile = join(temporaryFolder('log-problems'), 'rewrite.log');
  const [now, minute] = [Date.now(), 60_000];
  // One operation failed and was well again, another failed until the stop.
  const lines = Array.from({ length: 50 }, (_, n) =>
    entryLine({
      ...sampleEntry(1, now - (50 - n) * minute),
      totalMs: 40,
      operation: n < 10 || n >= 45 ? 'order_floor_plan' : 'create_booking',
      client: CLIENT,
      ...(n < 10
        ? { status: 201 }
        : n < 15
          ? { status: 422, failure: 'duplicate-member', verdict: 'refused', pointer: '/data/a' }
          : { status: n < 45 ? 201 : 500 }),
    }),
  );
  await writeFile(logFile, lines.join(''));
  const gateway = await inspected({ 'log-file': logFile });
  const { since, problems } = await gateway.readJson<ProblemsView>('/problems');
  expect(Date.parse(since)).toBe(now - 50 * minute);
  expect(problems).toMatchObject([
    { operation: 'order_floor_plan', status: 500, state: 'new', count: 5, client: CLIENT },
    { operation: 'create_booking', code: 'duplicate-member', pointer: '/data/a', state: 'over', count: 5 },
  ]);
  expect(problems[1]?.until).toBe(new Date(now - 35 * minute + 40).toISOString());
});

test('a fault that lasts since before a restart is told since its first failure, with all of its requests', async () => {
  const logFile = join(temporaryFolder('log-fault'), 'rewrite.log');
  const [now, second] = [Date.now(), 1000];
  const lines = Array.from({ length: 100 }, (_, n) =>
    entryLine({
      ...sampleEntry(1, now - (100 - n) * second),
      operation: 'order_floor_plan',
      client: CLIENT,
      totalMs: 0,
      status: n < 60 ? 201 : 500,
    }),
  );
  await writeFile(logFile, lines.join(''));
  const gateway = await inspected({ 'log-file': logFile }, '{}', undefined, undefined, 500);
  for (let n = 1; n <= 8; n += 1) {
    await gateway.post('/orders/floor_plans', '{"data":{}}');
    await gateway.entry(n);
  }
  await gateway.readJson('/problems');
  const { verdict } = await gateway.readJson<Status>('/status');
  const since = new Date(now - 40 * second).toISOString();
  expect(verdict.sentence).toContain(`: 48 of 48 requests since ${since}. Before that, 0 of 60 failed.`);
});

/** A gateway that migrates everything, in front of a V2 that refuses, with a log of orders that V1 answered so. */
async function afterV1(statuses: readonly number[]): Promise<Inspected> {
  const logFile = join(temporaryFolder('log-answers'), 'rewrite.log');
  const now = Date.now();
  const lines = statuses.map((status, n) =>
    entryLine({
      ...sampleEntry(1, now - (statuses.length - n) * 1000),
      operation: 'order_floor_plan',
      client: CLIENT,
      origin: 'v1',
      mode: 'observe',
      status,
    }),
  );
  await writeFile(logFile, lines.join(''));
  const errors = '{"errors":[{"detail":"floors are missing"}]}';
  const gateway = await inspected({ 'log-file': logFile }, errors, undefined, undefined, 422);
  for (let n = 1; n <= 10; n += 1) {
    await gateway.post('/orders/floor_plans', '{"data":{}}');
    await gateway.entry(n);
    // The log is read in a thread.
    if (n === 1) await gateway.readJson('/problems');
  }
  return gateway;
}

test.each<[string, statuses: readonly number[], failed: number, level: string]>([
  ['had refused so often', Array.from({ length: 60 }, () => 422), 0, 'good'],
  ['had not refused', Array.from({ length: 60 }, () => 201), 9, 'bad'],
  ['is not in the log', [], 9, 'note'],
])(
  'after a restart into migrate, refusals are compared with V1 by the log, where V1 %s',
  async (_, statuses, failed, level) => {
    const gateway = await afterV1(statuses);
    const { verdict } = await gateway.readJson<Status>('/status');
    expect(verdict.level).toBe(level);
    if (statuses.length === 0)
      expect(verdict.sentence).toContain('Too little is known about the time before.');
    const { problems } = await gateway.readJson<ProblemsView>('/problems');
    expect(problems.reduce((sum, { count }) => sum + count, 0)).toBe(failed);
  },
);

test('without a log, counts begin with the gateway', async () => {
  const gateway = await inspected();
  await gateway.post('/orders/floor_plans', '{"data":{}}');
  await gateway.entry(1);
  const table = await gateway.readJson<ClientsTable>('/clients/table');
  expect(table).toMatchObject({ all: 1, rows: [{ client: '-', v1: 1, trend: { length: 14 } }] });
  expect(table.known).toMatch(/^Counts of this gateway alone, since \S+: no store is set\.$/);
  expect((await gateway.readJson<Timeline>('/timeline')).noProposal).toMatch(/writes no log file/);
});

test('a log that could be added only in part is not added again', async () => {
  let added = 0;
  const view = {
    series: {
      merge: () => {
        added += 1;
        throw new TypeError('damaged');
      },
    },
  };
  const history = new LogHistory({
    view: view as never,
    startedAt: 0,
    keepMs: 1,
    judged: () => ({}) as never,
    run: () => Promise.resolve({ status: 200, bytes: new TextEncoder().encode('{}') } as never),
  });
  expect([await history.read(), await history.read()]).toEqual([undefined, undefined]);
  expect(added).toBe(1);
});
