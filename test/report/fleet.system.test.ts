import { expect, test } from 'vitest';
import { Gateway } from '../../src/gateway/gateway.ts';
import type { Upstream } from '../../src/gateway/upstream.ts';
import { decodeBody } from '../../src/node/decode-body.ts';
import {
  daysToRehearse,
  Rehearsal,
  type RehearsedBrownout,
  type RehearsedDay,
  windowSentence,
} from '../../src/report/plan/rehearse.ts';
import { Zone } from '../../src/report/plan/zone.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { Brownout, Rollout } from '../../src/rules/rollout.ts';
import { gatewayOptions, readSettings } from '../../src/settings/read-settings.ts';
import { responseHead } from '../support/response-head.ts';
import { compiledTestRuleBook } from '../support/rule-book.ts';
import { MemoryExchange } from './fleet/memory-exchange.ts';
import type { Clock } from './fleet/replicas.ts';
import { runFleet } from './fleet/run-fleet.ts';
import { simulatedFleet } from './plan/fleet.ts';

/** `npm run test:long` plays the whole fleet; otherwise a smaller one goes through the same days. */
const isWhole = Number(process.env['FUZZ'] ?? 0) >= 1;
const fleets = isWhole
  ? (['refuse', 'strip'] as const).map((unknown) => ({ clients: 300, seed: 1, unknown }))
  : [{ clients: 24, seed: 5, unknown: 'refuse' as const }];
const TIMEOUT_MS = isWhole ? 3_600_000 : 120_000;

test.each(fleets)(
  'every statement of the report is true for the clients, or is called unknown: $clients clients, V2 would $unknown',
  async (fleet) => {
    const { table, rollbacks, restarts, logs, requests, verdicts } = await runFleet(fleet);
    expect(table.faults).toEqual([]);
    expect(table.wrong).toBe(0);
    const judged = new Map(table.all.map((row) => [row.statement, row]));
    for (const statement of [
      'clients',
      'operations',
      'request changes',
      'response changes',
      'refused',
      'mistakes',
      'would fail',
      'outcomes',
      'last seen',
      'gone',
      'class',
      'proposed strips',
      'proposed strips with OpenAPI',
      'switching off',
      'guide: after',
      'guide: responses',
      'guide: mistakes',
    ])
      expect(judged.get(statement)?.right).toBeGreaterThan(5);
    expect([requests > 1000, rollbacks > 0, restarts > 5, logs > 10]).toEqual([true, true, true, true]);
    expect(verdicts[0]).toBe('no');
    expect(verdicts.at(-1)).toBe('yes');
  },
  TIMEOUT_MS,
);

/** A request of a simulated client. */
interface Sent {
  readonly time: number;
  readonly hash: string;
  readonly operation: string;
}

const NONE: Rollout = { clients: {}, brownouts: [], pins: [] };
/** Kinds of clients that run once a day, a week or a month. */
const JOBS: ReadonlySet<string> = new Set([
  'nightly',
  'nightly-utc',
  'weekly',
  'monthly',
  'newcomer',
  'gone',
]);
const RETIREMENT = new Set(['brownout', 'sunset', 'newcomer']);

/** V2 as it responds to every client. */
const ACCEPTING: Upstream = {
  send(_, receiver) {
    queueMicrotask(() => {
      receiver.head(responseHead(200, ['Content-Length', '0']));
      receiver.end([]);
    });
    return { pause: () => {}, resume: () => {}, abort: () => {} };
  },
};

/** A gateway in memory, by the clock of the test, that knows clients by their hash. */
function gatewayInMemory(clock: Clock, rollout: Rollout, operations: readonly string[]) {
  const read = readSettings({ flags: {}, environment: {}, readFile: () => '' });
  if ('faults' in read) throw new Error(read.faults.join());
  const rules = compiledTestRuleBook({
    rollout,
    changes: [],
    operations: operations.map((id) => ({ id, method: 'GET', template: `/${id}`, assumed: false })),
  });
  const entries: Entry[] = [];
  const gateway = new Gateway(
    {
      rules: () => rules,
      v2: { upstream: ACCEPTING, path: '', hosts: [] },
      record: (entry) => void entries.push(entry),
      now: () => clock.now,
      time: () => clock.now,
      newRequestId: () => 'r',
      newTraceHex: () => '0123456789abcdef'.repeat(3),
      clientOf: (key) => key.replace('Bearer ', ''),
      decode: decodeBody,
      after: () => {},
      random: () => 0,
      onUnexpectedError: (error) => {
        throw error;
      },
    },
    gatewayOptions(read.settings, { bufferBytes: 64 * 1024 * 1024 }),
  );
  const send = async ({ hash, operation }: Sent): Promise<number> => {
    const exchange = new MemoryExchange({
      method: 'GET',
      target: `/api/v1/${operation}`,
      headers: ['Host', 'g', 'Authorization', `Bearer ${hash}`],
      body: null,
    });
    void gateway.serve(gateway.receive(exchange));
    return (await exchange.response).status;
  };
  return { send, entries };
}

test('of 300 clients each window of a rehearsal refuses those, and as often, as a gateway then does', async () => {
  const zone = new Zone('Europe/Berlin');
  const DAY = 86_400_000;
  const HOUR = 3_600_000;
  // The clocks change on 25 October.
  const end = Date.parse('2026-11-03T12:00:00Z');
  const since = end - 21 * DAY;
  const fleet = simulatedFleet(7, zone, { since, now: end, end });
  expect(fleet.length).toBeGreaterThanOrEqual(300);
  // A request an hour of each client is enough.
  const traffic = fleet
    .flatMap(({ hash, operation, times }) =>
      [...new Map(times.map((time) => [Math.floor(time / HOUR), Math.floor(time)])).values()].map(
        (time): Sent => ({
          time,
          hash,
          operation,
        }),
      ),
    )
    .toSorted((one, other) => one.time - other.time);
  const operations = [...new Set(traffic.map(({ operation }) => operation))];
  const brownout = (id: string, local: string, hours: number, more: Partial<Brownout> = {}): Brownout => {
    const from = zone.utcFrom(Date.parse(`${local}Z`));
    return { id, from, until: from + hours * HOUR, share: 100, status: 410, ...more };
  };
  const some = fleet.slice(0, 40).map(({ hash }) => hash);
  const sunset = (time: number) => ({ sunset: time, links: [], attributes: false });
  const rollouts: readonly Rollout[] = [
    { ...NONE, brownouts: [brownout('office', '2026-10-27T09:00', 1)] },
    { ...NONE, brownouts: [brownout('spared', '2026-10-27T14:00', 4, { except: some })] },
    { ...NONE, brownouts: [brownout('some', '2026-10-29T00:00', 24, { clients: some })] },
    // Two hours on the wall that take three.
    {
      ...NONE,
      brownouts: [brownout('night', '2026-10-25T01:00', 3, { operations: operations.slice(0, 3) })],
    },
    {
      ...NONE,
      ends: {
        operations: { [operations[0] ?? '']: { ...sunset(end - 4 * DAY), gone: { except: some } } },
        changes: {},
      },
    },
    { ...NONE, gone: {}, signals: sunset(end - 2 * DAY) },
    { ...NONE, newcomers: { from: end - 6 * DAY, answer: 'refuse', except: some.slice(0, 3) } },
  ];
  const kindOf = new Map(fleet.map(({ hash, kind }) => [hash, kind]));
  const clock: Clock = { now: since };
  const before = gatewayInMemory(clock, NONE, operations);
  const after = rollouts.map((rollout) => gatewayInMemory(clock, rollout, operations));
  for (const sent of traffic) {
    clock.now = sent.time;
    await Promise.all([before, ...after].map(async (gateway) => gateway.send(sent)));
  }
  const log = before.entries;
  expect(log).toHaveLength(traffic.length);
  const span = { since: Date.parse(log[0]?.time ?? ''), until: Date.parse(log.at(-1)?.time ?? '') };
  for (const [at, rollout] of rollouts.entries()) {
    const windows: readonly (RehearsedBrownout | RehearsedDay)[] = [
      ...rollout.brownouts.map((one) => ({ brownout: one })),
      ...daysToRehearse(rollout, span).days,
    ];
    const rehearsal = new Rehearsal(windows, { to: '/api/v2', rollout }, zone);
    for (const entry of log.toReversed()) rehearsal.add(entry);
    const [window, ...others] = rehearsal.result(new Map());
    if (window === undefined) throw new Error('there is a window');
    expect(others).toEqual([]);
    const refused = (after[at]?.entries ?? []).filter(({ failure }) => RETIREMENT.has(failure ?? ''));
    const byClient = Map.groupBy(refused, ({ client }) => client ?? '');
    expect(new Map(window.clients.map(({ client, refused: count }) => [client, count]))).toEqual(
      new Map([...byClient].map(([client, entries]) => [client, entries.length])),
    );
    expect(window.clients.length).toBeGreaterThan(2);
    expect(window.isCovered).toBe(true);
    expect(windowSentence(window, zone)).toContain(
      `would have refused ${refused.length.toLocaleString('en')} requests of ${byClient.size} clients`,
    );
    // Who would have lost a whole run: every request of it was refused.
    const losing = window.clients.filter(({ losesRun }) => losesRun).map(({ client }) => client);
    const lost = fleet.filter(({ hash, kind }) => {
      if (!JOBS.has(kind) || rollout.brownouts.length === 0) return false;
      const gone = new Set(byClient.get(hash)?.map(({ time }) => Date.parse(time)));
      const runs: number[][] = [];
      for (const { time } of traffic.filter((one) => one.hash === hash)) {
        const before = runs.at(-1);
        if (before !== undefined && time - (before.at(-1) ?? 0) < 2 * HOUR) before.push(time);
        else runs.push([time]);
      }
      return runs.length >= 3 && runs.some((run) => run.every((time) => gone.has(time)));
    });
    // Whether a client that comes now and then is a job is not known.
    const regular = losing.filter((hash) => kindOf.get(hash) !== 'sporadic');
    expect(regular.toSorted()).toEqual(lost.map(({ hash }) => hash).toSorted());
  }
  const all = after.flatMap(({ entries }) => entries.map(({ failure }) => failure));
  for (const code of RETIREMENT) expect(all).toContain(code);
});
