import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LoggedHistory } from '../../../src/inspector/log-history.ts';
import { historyOfLog } from '../../../src/node/log/history-of-log.ts';
import { ClientTrends } from '../../../src/report/tally/client-trends.ts';
import { readShard } from '../../../src/report/fleet/client-shard.ts';
import { CLIENTS } from '../../../src/report/fleet/fleet-texts.ts';
import { AnswerJudge } from '../../../src/rewrite-log/answers.ts';
import { DEFAULT_ROLLBACK } from '../../../src/rules/declared-rollout.ts';
import { OperationHealth } from '../../../src/rewrite-log/health/operation-health.ts';
import { modesInForce } from '../../../src/rollout/modes-in-force.ts';
import { entryLine } from '../../../src/rewrite-log/entry-line.ts';
import type { Entry } from '../../../src/rewrite-log/entry.ts';
import { History } from '../../../src/rewrite-log/history.ts';
import { TrafficSeries } from '../../../src/rewrite-log/traffic-series.ts';
import { sampleEntry } from '../../support/sample-entries.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const START = Date.UTC(2026, 10, 20, 9);
const UNTIL = START + 1000 * 60_000;
const WORK = { kind: 'history', keepMs: 180 * 86_400_000, rule: DEFAULT_ROLLBACK, moves: [] } as const;

/** A minute apart: well, refused by V2, failed, on V1, refused on purpose, left, of V2's clients, and under neither prefix. */
const entries: readonly Entry[] = Array.from({ length: 1200 }, (_, n): Entry => {
  const entry = { ...sampleEntry(n, START + n * 60_000), totalMs: n + 0.125, upstreamMs: n / 2 };
  const kinds: readonly Partial<Entry>[] = [
    {},
    { origin: 'v1', mode: 'observe' },
    { status: 422 },
    { status: 404 },
    { status: 502, failure: 'upstream-unreachable', verdict: 'refused' },
    { status: 200, failure: 'upstream-broken', incomplete: true },
    { status: 500, failure: 'internal', cause: 'no progress', incomplete: true },
    { status: 503, failure: 'brownout', verdict: 'refused', note: 'first' },
    { status: 0 },
    { route: 'other', path: '/favicon.ico', operation: undefined, client: undefined },
    { route: 'none', path: '/api/v1/%00', verdict: 'refused', status: 400, operation: undefined },
  ];
  return { ...entry, ...kinds[n % kinds.length] };
});

const logFile = join(temporaryFolder('history-of-log'), 'rewrite.log');

async function historyUntil(until: number, most?: number): Promise<LoggedHistory> {
  await writeFile(logFile, entries.map((entry) => entryLine(entry)).join(''));
  const { value } = await historyOfLog({ ...WORK, logFile, until }, most);
  return JSON.parse(JSON.stringify(value)) as LoggedHistory;
}

test('a log says what a gateway that ran all the time would have counted', async () => {
  const history = await historyUntil(UNTIL);
  const [judge, series, trends] = [new AnswerJudge(), new TrafficSeries(), new ClientTrends()];
  const minutes = new History();
  for (const entry of entries) {
    if (Date.parse(entry.time) > UNTIL) continue;
    const answer = judge.judge(entry);
    series.add(entry, Date.parse(entry.time), answer);
    trends.add(entry, answer);
    // A log line has the time at which its request began, as if it had lasted no time.
    minutes.add({ ...entry, totalMs: 0 }, Date.parse(entry.time), answer);
  }
  const { v1, v2 } = minutes.recentFailures(UNTIL, 2);
  expect(v2.outage).toBeDefined();
  expect(history.outages.findLast(({ service }) => service === 'v2')).toEqual({
    service: 'v2',
    ...v2.outage,
  });
  expect(history.outages.filter(({ service }) => service === 'v1')).toEqual(
    v1.outage === undefined ? [] : [{ service: 'v1', ...v1.outage }],
  );
  expect(history.notices).toEqual(minutes.notices.counts);
  expect(Object.keys(history.notices)).toEqual(['first']);
  expect(history.series).toEqual(JSON.parse(JSON.stringify(series.data)));
  expect(history.trends).toEqual(JSON.parse(JSON.stringify(trends.data)));
  const failed = series.points('day', UNTIL, START).reduce((sum, point) => sum + point.failed, 0);
  expect(failed).toBeGreaterThan(300);
  const ofTrends = history.trends.flatMap(({ calls }) => calls.map(([, count]) => count));
  const clients = Object.entries(history.texts).flatMap(([key, text]) =>
    key.startsWith(CLIENTS) ? [...(readShard(text)?.values() ?? [])] : [],
  );
  expect(clients.reduce((sum, one) => sum + one.failed, 0)).toBe(
    ofTrends.reduce((sum, count) => sum + count, 0),
  );
  const ofV2Clients = entries.filter(
    ({ route, status, time, failure, incomplete }) =>
      route === 'pass' &&
      failure !== 'brownout' &&
      Date.parse(time) <= UNTIL &&
      (status >= 500 || incomplete === true),
  );
  expect(ofTrends.reduce((sum, count) => sum + count, 0)).toBe(failed - ofV2Clients.length);
});

test('a history leaves out this run, and says what was not read', async () => {
  const history = await historyUntil(UNTIL);
  expect(history).toMatchObject({
    since: entries[0]?.time,
    until: new Date(UNTIL).toISOString(),
    unread: [],
  });
  const cut = await historyUntil(UNTIL, 64 * 1024);
  expect(cut.entries).toBeLessThan(history.entries);
  expect(cut.unread).toEqual(['The log is larger: only its newest 1 MiB are read.']);
});

test('what failed in a log ends with a change of modes, and with an operation that fits the call', async () => {
  const failing = (n: number, more: Partial<Entry>): Entry => ({
    ...sampleEntry(1, START + n * 60_000),
    status: 500,
    ...more,
  });
  const path = '/api/v1/parcels/3';
  const told = [
    ...Array.from({ length: 8 }, (_, n) => failing(n, { operation: 'moved' })),
    ...Array.from({ length: 8 }, (_, n) => failing(n, { operation: undefined, path, ruleBook: 'old' })),
    failing(20, { operation: 'read_parcel', method: 'POST', path, ruleBook: 'new', status: 200 }),
    ...Array.from({ length: 3 }, (_, n) => failing(30 + n, { operation: 'moved' })),
  ];
  await writeFile(logFile, told.map((entry) => entryLine(entry)).join(''));
  const migrate = modesInForce(undefined, undefined);
  const observe = { ...migrate, operations: { moved: { mode: 'observe' as const } } };
  const moves = [
    { at: START + 25 * 60_000, after: migrate },
    { at: START + 10 * 60_000, after: observe },
  ];
  const { value } = await historyOfLog({ ...WORK, moves, logFile, until: UNTIL });
  const health = new OperationHealth(undefined, undefined, () => true);
  health.learn((JSON.parse(JSON.stringify(value)) as LoggedHistory).health);
  const at = START + 7 * 60_000 + Math.round(sampleEntry(1, START).totalMs ?? 0);
  expect(health.troubles(START + 33 * 60_000)).toMatchObject([
    { operation: 'moved', failed: 8, until: at },
    { operation: 'POST /parcels/*', failed: 8, until: at },
  ]);
});

test('a fault ends with a change of modes after the last request of the log', async () => {
  const failing = Array.from({ length: 8 }, (_, n) => ({
    ...sampleEntry(1, START + n * 60_000),
    status: 500,
    operation: 'moved',
  }));
  await writeFile(logFile, failing.map((entry) => entryLine(entry)).join(''));
  const migrate = modesInForce(undefined, undefined);
  const observe = { ...migrate, operations: { moved: { mode: 'observe' as const } } };
  const moves = [
    { at: START + 9 * 60_000, after: migrate },
    { at: START + 8 * 60_000, after: observe },
  ];
  const { value } = await historyOfLog({ ...WORK, moves, logFile, until: UNTIL });
  const health = new OperationHealth(undefined, undefined, () => true);
  health.learn((JSON.parse(JSON.stringify(value)) as LoggedHistory).health);
  expect(health.troubles(START + 10 * 60_000)).toMatchObject([{ failed: 8, isMoved: true }]);
  const { problems } = value as LoggedHistory;
  expect(problems.groups.map(({ leftAt }) => leftAt)).toEqual([START + 8 * 60_000]);
});

test('a missing log has no history', async () => {
  const { value } = await historyOfLog({
    ...WORK,
    logFile: `${logFile}.none`,
    until: UNTIL,
  });
  expect(value).toMatchObject({ entries: 0, texts: {}, trends: [], health: '{"all":[],"unfit":[]}' });
});
