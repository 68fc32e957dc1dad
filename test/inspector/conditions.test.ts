import { expect, test } from 'vitest';
import { type ConditionFacts, RECENT_MINUTES } from '../../src/inspector/condition.ts';
import { conditionsOf } from '../../src/inspector/conditions.ts';
import { causeFilter } from '../../src/inspector/gateway-conditions.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { History, type OriginFailures } from '../../src/rewrite-log/history.ts';
import { type RollbackCause, SEVERAL } from '../../src/rollout/rollout-state.ts';
import type { RollbackView } from '../../src/rollout/rollout-tally.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

const ROLLOUT = sampleRollout();
const ROLLBACK = {
  target: 'everything',
  at: '2026-11-25T10:00:00.000Z',
  share: 10,
  migrated: { requests: 26, failures: 9 },
  v1: { requests: 12, failures: 0 },
};
const NOW = Date.UTC(2026, 10, 29, 12);
const SERVED = { failed: false, requests: 9, since: 0, last: NOW };

const QUIET: ConditionFacts = {
  stats: { breaker: 'closed', v1Breaker: 'closed', droppedLogLines: 0 },
  recent: {
    v1: { requests: 9, failed: 0, refused: 0, kept: 0, inARow: SERVED },
    v2: { requests: 9, failed: 0, refused: 0, kept: 0, inARow: SERVED },
  },
  operations: [],
  lastResponses: {},
  agents: {},
  names: new Map(),
  now: NOW,
  ruleBook: '0123456789abcdef',
  refusal: undefined,
  rollout: ROLLOUT,
};

const v2 = (
  requests: number,
  failed: number,
  inARow: OriginFailures['v2']['inARow'] = SERVED,
  refused = 0,
): Partial<ConditionFacts> => ({
  recent: { ...QUIET.recent, v2: { requests, failed, refused, kept: 0, inARow } },
});

test('if all is well, every part says so', () => {
  expect(conditionsOf(QUIET).map(({ level, label }) => `${level}: ${label}`)).toEqual([
    'good: V2 responds',
    'good: V1 responds',
    'good: No roll-back',
    'good: Rule book in force',
  ]);
});

test('the header has every part, the worst first', () => {
  const all = conditionsOf({
    ...QUIET,
    stats: { breaker: 'open', v1Breaker: 'closed', droppedLogLines: 2, lastDroppedLine: NOW },
    rollout: {
      ...ROLLOUT,
      brownouts: [{ id: 'one', state: 'on', share: 20, status: 503 }],
      replica: { name: 'b', waiting: 0, replicas: 3 },
    },
  });
  expect(all.map(({ level, label }) => `${level}: ${label}`)).toEqual([
    'bad: V2 does not respond',
    'note: Brownout',
    'note: 2 log lines dropped',
    'good: V1 responds',
    'good: No roll-back',
    'good: Rule book in force',
    'good: 3 replicas',
  ]);
});

test.each<[name: string, facts: Partial<ConditionFacts>, worst: string]>([
  ['an open circuit', { stats: { breaker: 'open', droppedLogLines: 0 } }, 'bad: V2 does not respond'],
  ['a probe', { stats: { breaker: 'probing', droppedLogLines: 0 } }, 'bad: V2 does not respond'],
  [
    'the circuit to V1',
    { stats: { breaker: 'closed', v1Breaker: 'open', droppedLogLines: 0 } },
    'bad: V1 does not respond',
  ],
  ['V2 that fails half of its requests', v2(10, 5, { ...SERVED, requests: 1 }), 'bad: V2 fails'],
  ['V2 that fails one in twenty', v2(100, 5), 'note: V2 fails at times'],
  ['V2 that fails one of two', v2(2, 1, { ...SERVED, requests: 1 }), 'note: V2 fails at times'],
  [
    'V2 that fails the only three',
    v2(3, 3, { failed: true, requests: 3, since: 0, last: NOW }),
    'note: V2 fails',
  ],
  ['V2 that fails one of many', v2(100, 1), 'good: V2 responds'],
  [
    'V2 that went down a moment ago',
    v2(200, 9, { failed: true, requests: 9, since: 0, last: NOW }),
    'bad: V2 fails',
  ],
  [
    'V2 that is back',
    v2(200, 180, { failed: false, requests: 20, since: 0, last: NOW }),
    'note: V2 failed lately',
  ],
  [
    'V2 that refuses all',
    v2(9, 9, { failed: true, requests: 9, since: 0, last: NOW }, 9),
    'note: V2 refuses requests',
  ],
  ['V2 that refuses one in twenty', v2(100, 5, SERVED, 5), 'note: V2 refuses some requests'],
  ['V2 that refuses one of many', v2(100, 1, SERVED, 1), 'good: V2 responds'],
  [
    'V2 that refuses some, and then fails',
    v2(50, 9, { failed: true, requests: 9, since: 0, last: NOW }, 4),
    'bad: V2 fails',
  ],
  [
    'an open circuit without requests, because V1 serves the clients',
    {
      ...v2(0, 0, { failed: true, requests: 9, since: 0, last: NOW - 60_000 }),
      stats: { breaker: 'open', droppedLogLines: 0 },
    },
    'note: V2 did not respond, not asked since',
  ],
  [
    'a probe whose outcome no request waits for any more',
    {
      ...v2(9, 9, { failed: true, requests: 9, since: 0, last: NOW - 90_000 }),
      stats: { breaker: 'probing', droppedLogLines: 0 },
    },
    'note: V2 did not respond, not asked since',
  ],
  ['V2 without a request', v2(0, 0), 'unknown: V2 idle'],
  ['a refused rule book', { refusal: { faults: 2, at: 0 } }, 'bad: Rule book refused'],
  [
    'lost lines',
    { stats: { breaker: 'closed', droppedLogLines: 1, lastDroppedLine: NOW - 1000 } },
    'note: 1 log line dropped',
  ],
  [
    'lines that were lost an hour ago',
    { stats: { breaker: 'closed', droppedLogLines: 1, lastDroppedLine: NOW - 3_600_000 } },
    'good: V2 responds',
  ],
  [
    'a roll-back',
    {
      rollout: {
        ...ROLLOUT,
        rollbacks: [ROLLBACK],
      },
    },
    'bad: Rolled back',
  ],
  [
    'a brownout',
    { rollout: { ...ROLLOUT, brownouts: [{ id: 'one', state: 'on', share: 20, status: 503 }] } },
    'note: Brownout',
  ],
  [
    'a brownout to come',
    { rollout: { ...ROLLOUT, brownouts: [{ id: 'one', state: 'to-come', share: 20, status: 503 }] } },
    'good: V2 responds',
  ],
  [
    'an unreachable store',
    {
      rollout: {
        ...ROLLOUT,
        replica: {
          name: 'b',
          waiting: 0,
          aloneSince: '2026-11-25T10:00:00.000Z',
          aloneReason: 'ECONNREFUSED',
        },
      },
    },
    'bad: Store unreachable',
  ],
])('%s comes first', (_, facts, worst) => {
  const [first] = conditionsOf({ ...QUIET, ...facts });
  expect(`${first?.level}: ${first?.label}`).toBe(worst);
  expect(first?.sentence).toMatch(/\.$/);
});

const REFUSED: Partial<Entry> = { status: 422, verdict: 'rewritten', errorPointers: ['/name'] };
const UNREACHABLE: Partial<Entry> = { status: 502, failure: 'upstream-unreachable' };

test.each<[cause: Omit<RollbackCause, 'count'>, entry: Partial<Entry>, others: readonly Partial<Entry>[]]>([
  [
    { status: '422', client: 'abcd', operation: 'create_client', pointer: '/name' },
    REFUSED,
    [
      { ...REFUSED, errorPointers: ['/zip'] },
      { ...REFUSED, client: 'abce' },
      { ...REFUSED, operation: 'heartbeat' },
      { ...REFUSED, origin: 'v1' },
      { ...REFUSED, status: 400 },
      UNREACHABLE,
    ],
  ],
  [
    { status: '502 upstream-unreachable', client: 'abcd', operation: 'create_client' },
    UNREACHABLE,
    [{ ...UNREACHABLE, failure: 'upstream-closed' }, { status: 502 }, { ...UNREACHABLE, client: 'abce' }],
  ],
  [
    { status: '400 malformed-json', client: 'abcd', operation: 'create_client', pointer: '' },
    { status: 400, failure: 'malformed-json', pointer: '', verdict: 'refused', sent: false },
    [
      { status: 400 },
      { status: 400, failure: 'malformed-json', pointer: '/a', verdict: 'refused', sent: false },
    ],
  ],
  [
    { status: '500', client: SEVERAL, operation: SEVERAL },
    { status: 500, client: 'abce', operation: 'heartbeat' },
    [{ status: 500, origin: 'v1' }, { status: 502 }],
  ],
  [
    { status: '5xx', client: 'abcd', operation: 'create_client' },
    { status: 507 },
    [{ status: 507, origin: 'v1' }, { status: 422 }],
  ],
  [
    { status: '301', client: 'abcd', operation: 'create_client' },
    { status: 301 },
    [{ status: 301, origin: 'v1' }, { status: 302 }],
  ],
  [
    { status: '404', pointer: '/it\'s "a", b' },
    { status: 404, client: undefined, errorPointers: ['/it\'s "a", b'] },
    [{ status: 404, errorPointers: ['/it\'s "a", b'] }],
  ],
])(
  'what rolled a canary back is found by its error, place, client and operation: %j',
  (cause, entry, others) => {
    const filter = parseFilter(causeFilter({ ...cause, count: 1 }));
    if (isFilterFault(filter)) throw new Error(filter.message);
    const whole = (part: Partial<Entry>): Entry => ({
      ...sampleEntry(1, 0),
      client: 'abcd',
      operation: 'create_client',
      ...part,
    });
    expect(filter.accepts(whole(entry))).toBe(true);
    expect(others.filter((other) => filter.accepts(whole(other)))).toEqual([]);
  },
);

test('the header says the share of the failure that rolled a canary back, or how slow V2 was', () => {
  const told = (more: Partial<RollbackView>): string | undefined =>
    conditionsOf({ ...QUIET, rollout: { ...ROLLOUT, rollbacks: [{ ...ROLLBACK, ...more }] } })[0]?.sentence;
  const cause = {
    status: '422',
    client: 'abcd',
    name: 'Acme',
    operation: 'create_client',
    pointer: '/name',
    count: 7,
  };
  const failed =
    'The canary of 10 % was rolled back at 2026-11-25T10:00:00.000Z: 9 of 26 compared requests failed on V2, 0 of 12 on V1.';
  const rest = 'V1 responds until an operator chooses a mode.';
  expect(told({ cause })).toBe(
    `${failed} 7 of 9 failures: 422 at /name, from client Acme, in create_client. ${rest}`,
  );
  // Other replicas may have counted more of the same.
  expect(told({ cause, by: 'b' })).toContain(' At least 7 of 9 failures: 422 at /name, ');
  expect(told({ cause: { ...cause, count: 9 } })).toContain(' All 9 failures: 422 at /name, ');
  expect(told({ cause: { status: '500', client: SEVERAL, operation: SEVERAL, count: 9 } })).toContain(
    ' All 9 failures: 500, from several clients, in several operations. ',
  );
  expect(told({})).toBe(`${failed} ${rest}`);
  expect(told({ latency: { quantile: 'median', v1Ms: 12, v2Ms: 40 } })).toBe(
    `The canary of 10 % was rolled back at 2026-11-25T10:00:00.000Z: the median of the time to a response is above 40 ms when migrated, at most 12 ms on V1. ${rest}`,
  );
});

test('only the last two minutes count, by the service that failed, as in every other count of failures', () => {
  const history = new History();
  const judge = new AnswerJudge();
  const sent = (minute: number, facts: Partial<Entry>): void => {
    const entry = { ...sampleEntry(1, 0), ...facts };
    history.add(entry, minute * 60_000 + 1, judge.judge(entry));
  };
  for (let n = 0; n < 9; n += 1) sent(1, { status: 502, failure: 'upstream-unreachable', sent: false });
  sent(2, { status: 503, failure: 'circuit-open', sent: false });
  sent(2, { status: 500, origin: 'v1' });
  // V1 served this client before: a refusal is new to it.
  sent(3, { status: 201, origin: 'v1' });
  sent(3, { status: 422 });
  // This one has always been its own fault.
  sent(3, { status: 404, origin: 'v1', client: 'b'.repeat(16), operation: 'read_client' });
  sent(3, { status: 404, client: 'b'.repeat(16), operation: 'read_client' });
  // Broken off by V2, which had begun to respond.
  sent(3, { status: 200, failure: 'upstream-broken', incomplete: true });
  // None of these says anything about a service.
  sent(3, { status: 503, failure: 'overloaded', sent: false });
  sent(3, { status: 0 });
  expect(history.recentFailures(3 * 60_000 + 2, RECENT_MINUTES)).toEqual({
    v1: {
      requests: 3,
      failed: 1,
      refused: 0,
      kept: 0,
      inARow: { failed: false, requests: 2, since: 180_001, last: 180_001 },
    },
    v2: {
      requests: 4,
      failed: 3,
      refused: 1,
      kept: 1,
      inARow: { failed: true, requests: 1, since: 179_987, last: 180_001 },
      outage: { requests: 11, kept: 1, since: 59_987, last: 180_001, responded: 0 },
    },
  });
  expect(history.recentFailures(60 * 60_000, RECENT_MINUTES).v2.requests).toBe(0);
});

test('each way to exchanges is a filter that the list can read', () => {
  const facts = {
    ...QUIET,
    ...v2(9, 9),
    rollout: {
      ...ROLLOUT,
      brownouts: [{ id: 'a', state: 'on', share: 9, status: 503 }],
      rollbacks: [
        {
          ...ROLLBACK,
          cause: { status: '422', client: 'abcd', operation: 'create_client', pointer: '/a b,"c"', count: 7 },
        },
      ],
    },
  } as const;
  const filters = conditionsOf(facts).flatMap(({ place }) => place?.filter ?? []);
  expect(filters.length).toBe(2);
  expect(filters.filter((filter) => isFilterFault(parseFilter(filter)))).toEqual([]);
});

test('the last two minutes are as long at any second', () => {
  const history = new History();
  for (let second = 1; second <= 300; second += 1) {
    history.add({ ...sampleEntry(1, 0), status: 201, failure: undefined }, second * 1000, 'well');
    if (second <= 120) continue;
    const { requests } = history.recentFailures(second * 1000, RECENT_MINUTES).v2;
    expect(requests).toBeGreaterThan(110);
    expect(requests).toBeLessThanOrEqual(120);
  }
});
