import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { conditionsOf } from '../../src/inspector/conditions.ts';
import {
  addFacts,
  type FleetFacts,
  printFacts,
  readFacts,
  type ReplicaFacts,
  toldTroubles,
} from '../../src/inspector/fleet-facts.ts';
import { operationEvents } from '../../src/inspector/operation-conditions.ts';
import { History } from '../../src/rewrite-log/history.ts';
import { OperationHealth } from '../../src/rewrite-log/health/operation-health.ts';
import type { OperationTrouble } from '../../src/rewrite-log/health/trouble.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { DEFAULT_ROLLBACK } from '../../src/rules/declared-rollout.ts';
import { sampleRollout } from '../support/sample-rollout.ts';
import { ACME, OTHER, WATCH_START, WatchedTraffic } from '../support/watched-traffic.ts';

const START = WATCH_START;
const HOUR = 3_600_000;

/** The facts of a replica that saw such statuses of one operation, a second apart. */
function replica(
  statuses: readonly number[],
  more: Partial<ReplicaFacts> = {},
  client = ACME,
  later = 0,
): ReplicaFacts {
  const [history, health] = [new History(), new OperationHealth()];
  const { now } = new WatchedTraffic((entry, time, answer) => {
    history.add(entry, time, answer);
    health.add(entry, time, answer);
  }).see(statuses.length, (number) => ({ client, status: statuses[number] ?? 201 }));
  health.watch(['order_floor_plan'], now);
  return {
    startedAt: START,
    sums: history.sums,
    notices: history.notices.counts,
    countedFrom: START,
    recent: history.recentFailures(now, 2),
    lastResponses: history.lastResponses,
    lastHour: history.lastHour(now),
    wellSince: health.wellSince,
    agents: {},
    operations: health.troubles(now + later, Infinity),
    watched: health.watched,
    stats: { breaker: 'closed', v1Breaker: 'closed', droppedLogLines: 0 },
    ruleBook: 'one',
    ruleBookSince: START,
    refusal: undefined,
    ...more,
  };
}

function added(...all: readonly ReplicaFacts[]): FleetFacts {
  const [first, ...others] = all;
  return addFacts(first ?? expect.fail('there is one'), others, DEFAULT_ROLLBACK);
}

/** The conditions of all replicas, but for those that are well. */
function told(all: readonly ReplicaFacts[], rollout: Partial<RolloutView> = {}): readonly string[] {
  const facts = added(...all);
  return conditionsOf({
    ...facts,
    refusal: facts.refusal,
    fleet: { ...facts, silent: [] },
    names: new Map([[ACME, 'acme']]),
    now: START + 60_000,
    rollout: sampleRollout({ default: { mode: 'migrate', from: 'operator' }, ...rollout }),
  }).flatMap(({ level, sentence, isRepeated }) =>
    (level === 'bad' || level === 'note') && isRepeated !== true ? [`${level}: ${sentence}`] : [],
  );
}

const times = (status: number, count: number): readonly number[] =>
  Array.from({ length: count }, () => status);
const WELL = replica(times(201, 20));

describe('the facts of replicas', () => {
  test.each<[name: string, all: readonly ReplicaFacts[], conditions: readonly string[]]>([
    ['all are well', [WELL, WELL, WELL], []],
    [
      'an operation fails at all of them',
      [
        replica([...times(201, 20), ...times(500, 9)]),
        replica([...times(201, 30), ...times(500, 6)], {}, OTHER),
      ],
      [
        'bad: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 15 of 15 requests since 2026-11-29T08:00:21.000Z. Before that, 0 of 50 failed.',
      ],
    ],
    [
      'it fails at one of them for a client that the other has not seen',
      [replica([...times(201, 20), ...times(500, 9)]), replica([])],
      [
        'bad: order_floor_plan fails for acme: 9 of 9 requests since 2026-11-29T08:00:21.000Z. Before that, 0 of 20 failed.',
      ],
    ],
    [
      'it fails at one, and too few requests failed at the other',
      [replica([...times(201, 20), ...times(500, 9)]), replica([...times(201, 30), ...times(500, 3)])],
      [
        'bad: order_floor_plan fails: 12 of 12 requests since 2026-11-29T08:00:21.000Z. Before that, 0 of 50 failed.',
      ],
    ],
    [
      'it fails at one, and is over at the other',
      [
        replica([...times(201, 20), ...times(500, 9)]),
        replica([...times(201, 20), ...times(500, 7), ...times(201, 25)]),
      ],
      [
        'bad: order_floor_plan fails for acme: 9 of 9 requests since 2026-11-29T08:00:21.000Z. Before that, 7 of 72 failed.',
      ],
    ],
    [
      'it was over at both',
      [
        replica([...times(201, 20), ...times(500, 7), ...times(201, 25)]),
        replica([...times(201, 20), ...times(500, 8), ...times(201, 25)]),
      ],
      [
        'note: order_floor_plan failed for acme: 15 of 15 requests from 2026-11-29T08:00:21.000Z until 2026-11-29T08:00:28.000Z. Before that, 0 of 40 failed.',
      ],
    ],
    [
      'the circuit is open at one',
      [{ ...WELL, stats: { breaker: 'open', droppedLogLines: 0 } }, WELL, WELL],
      [
        'bad: V2 keeps failing, so the circuit is open at 1 of 3 replicas: requests to it get 503 until it responds to a probe. 0 of 60 requests to V2 failed in the last two minutes.',
      ],
    ],
    [
      'the circuit is open at all',
      [
        { ...WELL, stats: { breaker: 'open', droppedLogLines: 0 } },
        { ...WELL, stats: { breaker: 'probing', droppedLogLines: 0 } },
      ],
      [
        'bad: V2 keeps failing, so the circuit is open: requests to it get 503 until it responds to a probe. 0 of 40 requests to V2 failed in the last two minutes.',
      ],
    ],
    [
      'one refused its rule book',
      [WELL, { ...WELL, refusal: { faults: 2, at: START } }],
      ['bad: The rule book on disk has 2 faults and was refused; the one before it, one, stays in force.'],
    ],
    [
      'one has another rule book',
      [WELL, { ...WELL, ruleBook: 'another', ruleBookSince: START + 7000 }],
      ['note: Replicas have had different rule books in force since 2026-11-29T08:00:07.000Z: another, one.'],
    ],
    [
      'both lost lines of their logs',
      [2, 3].map((droppedLogLines) => ({
        ...WELL,
        stats: { breaker: 'closed', droppedLogLines, lastDroppedLine: START + droppedLogLines * 1000 },
      })),
      [
        'note: 5 lines of the rewrite log were lost since the start, the last at 2026-11-29T08:00:03.000Z, because its reader was too slow; reports from it have gaps.',
      ],
    ],
    [
      'their certificates end at different times',
      [2, 1].map((days) => ({
        ...WELL,
        stats: {
          breaker: 'closed',
          droppedLogLines: 0,
          certificates: [{ use: 'clients', notAfter: START + days * 24 * HOUR + 60_000 }],
        },
      })),
      [
        'note: The certificate for clients ends at 2026-11-30T08:01:00.000Z, in 24 hours; renew its file, and the running gateway reads it again.',
      ],
    ],
  ])('if %s', (_, all, conditions) => {
    expect(told(all)).toEqual(conditions);
    // Every replica gives the same conditions.
    expect(told(all.toReversed())).toEqual(conditions);
  });

  test('are sums of what each counted', () => {
    const [one, other] = [replica([...times(201, 20), 404, ...times(500, 9)]), replica(times(201, 7))];
    const { sums, lastHour, recent, replicas } = added(one, other);
    expect(sums).toMatchObject({ all: 37, migrated: 37, failed: 9, refusedByV2: 1 });
    const lastFailed = expect.any(Number);
    expect([lastHour, replicas]).toEqual([{ failed: 9, lastFailed, asV2SentIt: 0 }, 2]);
    expect(recent.v2).toMatchObject({ requests: 37, failed: 9, refused: 0 });
    // Some of the last ones failed, and others did not.
    expect(recent.v2.inARow.requests).toBe(0);
  });

  test('say of a service that went back to V1 when its failures ended, by the clock of the reader', () => {
    const facts = replica(times(500, 4));
    const [since, last] = [START + 1000, START + 4000];
    const counts = { requests: 4, failed: 4, upToLast: 4, unanswered: 0 };
    const past = { last, spell: { ...counts, since, lastFailed: last } };
    const none = { failed: false, requests: 0, since: 0, last: START + 4000 };
    const recent = {
      ...facts.recent,
      v2: { requests: 0, failed: 0, refused: 0, kept: 0, inARow: none, past },
    };
    const v2Contact = { isAway: false, since: START + 5000 };
    const stats = { ...facts.stats, v2Contact };
    const left = {
      ...facts,
      recent,
      stats,
      lastResponses: { v2: START + 3000 },
      operations: [],
      watched: [],
    };
    const other = readFacts(printFacts(left, START), START + 20_000) ?? expect.fail('read');
    expect(told([left, other])).toEqual([
      'note: V2 failed 8 of 8 requests from 2026-11-29T08:00:01.000Z until 2026-11-29T08:00:24.000Z; no request has gone to it since. V2 has accepted connections again since 2026-11-29T08:00:25.000Z; it has had no request since.',
    ]);
  });

  test('are the same in any order of adding', () => {
    const statuses = fc.array(fc.constantFrom(201, 201, 201, 404, 422, 500), { maxLength: 60 });
    fc.assert(
      fc.property(fc.array(statuses, { minLength: 2, maxLength: 4 }), (all) => {
        const replicas = all.map((one, at) => replica(one, {}, at % 2 === 0 ? ACME : OTHER));
        expect(added(...replicas.toReversed())).toEqual(added(...replicas));
      }),
    );
  });

  test('have times by the clock of their reader, with any clock of their writer', () => {
    const facts = replica([...times(201, 20), ...times(500, 9)], {
      refusal: { faults: 1, at: START },
      stats: { breaker: 'closed', droppedLogLines: 1, lastDroppedLine: START + 9 },
    });
    const now = START + 60_000;
    const read = readFacts(printFacts(facts, now), now + HOUR);
    expect(read?.startedAt).toBe(START + HOUR);
    expect(read?.refusal?.at).toBe(START + HOUR);
    expect([read?.ruleBookSince, read?.stats.lastDroppedLine]).toEqual([START + HOUR, START + HOUR + 9]);
    expect(read?.operations[0]?.since).toBe(START + 21_000 + HOUR);
    expect(read?.recent.v2.inARow.since).toBe(START + 21_000 + HOUR);
    // A text that took some seconds is no clock that differs: all replicas tell one failure by the same time.
    for (const later of [0, 3000])
      expect(readFacts(printFacts(facts, now), now + later)).toEqual(JSON.parse(JSON.stringify(facts)));
  });

  // Of this version, but written by another program.
  const DAMAGED = printFacts({} as ReplicaFacts, 0);

  test.each(['', '{', 'null', '[]', '{"format":0,"now":1,"facts":{}}', DAMAGED])(
    'in another form are not read: %j',
    (text) => {
      expect(readFacts(text, 0)).toBeUndefined();
    },
  );
});

test.each<
  [
    string,
    spans: readonly (readonly [since: number, last: number])[],
    joined: readonly [number, number, number],
  ]
>([
  [
    'of different days',
    [
      [0, 60],
      [24 * 3600, 24 * 3600 + 30],
    ],
    [24 * 3600, 24 * 3600 + 30, 1],
  ],
  [
    'of one time',
    [
      [10, 60],
      [0, 50],
    ],
    [0, 60, 2],
  ],
  [
    'that follow one another within ten minutes',
    [
      [0, 60],
      [1100, 1200],
      [600, 700],
    ],
    [0, 1200, 3],
  ],
  [
    'after a pause of more than ten minutes',
    [
      [0, 60],
      [700, 800],
      [900, 1000],
    ],
    [700, 1000, 2],
  ],
])('only the last outage is told of those that replicas saw: %s', (_, spans, [since, last, requests]) => {
  const seen = spans.map(([from, to]): ReplicaFacts => {
    const outage = { requests: 1, kept: 0, since: from * 1000, last: to * 1000, responded: 0 };
    return { ...WELL, recent: { ...WELL.recent, v2: { ...WELL.recent.v2, outage } } };
  });
  expect(added(...seen).recent.v2.outage).toMatchObject({ since: since * 1000, last: last * 1000, requests });
});

test('a brownout says how many requests it has refused at all replicas, and since when they are counted', () => {
  const refusing = (countedFrom: number, ...clients: readonly string[]): ReplicaFacts =>
    replica(times(201, 20), { countedFrom, notices: { first: { requests: 3, clients } } });
  const from = new Date(START + HOUR).toISOString();
  const brownouts = [{ id: 'first', state: 'on', share: 40, status: 503, from }] as const;
  const said = (...all: readonly ReplicaFacts[]): readonly string[] => told(all, { brownouts });
  const words = 'note: The brownout first responds to 40 % of its V1 requests with 503, on purpose.';
  expect(said(refusing(START, 'a'), refusing(START, 'a', 'b'))).toEqual([
    `${words} It has refused 6 requests of 2 clients so far.`,
  ]);
  // The second has been restarted, and its log is not read.
  expect(said(refusing(START), refusing(START + 2 * HOUR))).toEqual([
    `${words} It has refused 6 requests since the restart at 2026-11-29T10:00:00.000Z.`,
  ]);
});

test('what failed before an outage of V2, or until V1 took over, is told so of all replicas, too', () => {
  const own = replica([...Array<number>(30).fill(201), ...Array<number>(9).fill(500)]);
  for (const told of [{ isEarlier: true }, { isMoved: true }] as const) {
    const operations = own.operations.map((one) => ({ ...one, ...told, until: one.last }));
    expect(operations).toHaveLength(1);
    for (const others of [[], [replica(Array<number>(30).fill(201))]])
      expect(added({ ...own, operations }, ...others).operations).toMatchObject([told]);
  }
});

test('what has been over for an hour at another replica stays a mark of charts, and is no condition', () => {
  const failed = [...times(201, 20), ...times(500, 8), ...times(201, 25)];
  const [old, now] = [replica(failed, {}, OTHER, 2 * HOUR), START + 2 * HOUR];
  const heard = readFacts(printFacts(old, now), now) ?? expect.fail('it can be read');
  const own = replica([]);
  const marks = (...all: readonly ReplicaFacts[]): readonly unknown[] => {
    const facts = added(...all);
    const rollout = sampleRollout({ default: { mode: 'migrate', from: 'operator' } });
    const known = { ...facts, refusal: facts.refusal, names: new Map([[OTHER, 'globex']]), now, rollout };
    const conditions = conditionsOf(known).filter(({ about }) => about === 'operation');
    return [
      conditions.length,
      ...operationEvents(known).map(({ at, what }) => `${at.slice(11, 19)} ${what}`),
    ];
  };
  const first = [
    '08:00:21 order_floor_plan began to fail for globex: 8 of 8 requests',
    '08:00:28 order_floor_plan stopped failing for globex',
  ];
  expect(marks(own, heard)).toEqual([0, ...first]);
  // Trouble of another replica an hour later is another incident.
  const operations = heard.operations.map((one) => ({
    ...one,
    since: one.since + HOUR,
    last: one.last + HOUR,
    until: one.until && one.until + HOUR,
  }));
  expect(marks({ ...own, operations }, heard)).toEqual([
    1,
    ...first,
    ...first.map((words) => words.replace('08:', '09:')),
  ]);
});

test('a client that fails at several replicas is one client', () => {
  const failing = (...clients: readonly string[]): ReplicaFacts => {
    const health = new OperationHealth();
    const traffic = new WatchedTraffic((entry, time, answer) => {
      health.add(entry, time, answer);
    });
    traffic.see(100, { client: 'c'.repeat(16) });
    for (let round = 0; round < 6; round += 1) {
      traffic.see(90, { client: 'c'.repeat(16) });
      for (const client of clients) traffic.see(1, { client, status: 500 });
    }
    return { ...WELL, operations: health.troubles(traffic.now) };
  };
  const clientsOf = (...all: readonly ReplicaFacts[]): readonly unknown[] =>
    added(...all).operations.map(({ hit, clients }) => [hit, clients]);
  expect(clientsOf(failing(ACME), failing(ACME))).toEqual([[[ACME], [ACME]]]);
  expect(clientsOf(failing(ACME, OTHER), failing(OTHER))).toEqual([
    [
      [ACME, OTHER],
      [ACME, OTHER],
    ],
  ]);
});

test('clients that always fail stay apart from the outage of their operation', () => {
  const health = new OperationHealth();
  const traffic = new WatchedTraffic((entry, time, answer) => {
    health.add(entry, time, answer);
  });
  traffic.see(30).see(10, { status: 502, failure: 'upstream-unreachable', verdict: 'refused' });
  for (let round = 0; round < 6; round += 1) traffic.see(9, { client: OTHER }).see(1, { status: 422 });
  const { operations } = addFacts(
    { ...WELL, operations: health.troubles(traffic.now) },
    [WELL],
    DEFAULT_ROLLBACK,
  );
  const told = operations.map(({ clients, requests, failed, isOutage }) => ({
    clients,
    requests,
    failed,
    isOutage,
  }));
  expect(told).toContainEqual({ clients: [ACME], requests: 6, failed: 6, isOutage: false });
  expect(told).toContainEqual(expect.objectContaining({ clients: undefined, failed: 10, isOutage: true }));
});

test('a replica tells others of faults that are long over only what charts mark: the latest, and no outage of V2', () => {
  const [fault] = replica([...times(201, 20), ...times(500, 8), ...times(201, 25)]).operations;
  if (fault === undefined) expect.fail('there is one');
  const at = (hour: number, more: Partial<OperationTrouble> = {}): OperationTrouble => {
    const since = START + hour * HOUR;
    return { ...fault, since, last: since + 9, until: since + 9, ...more };
  };
  const faults = Array.from({ length: 70 }, (_, hour) => at(hour));
  const outage = ['a', 'b', 'c'].map((operation) => at(30, { operation, isOutage: true }));
  const alone = at(60, { isOutage: true });
  const lasting = at(3, { until: undefined });
  const all = [...faults, ...outage, alone, lasting].toSorted((one, other) => one.since - other.since);
  const told = toldTroubles(all, START + 69 * HOUR);
  expect(told.filter((one) => faults.includes(one))).toEqual(faults.slice(-50));
  expect(told.filter((one) => !faults.includes(one))).toEqual([alone, lasting]);
});
