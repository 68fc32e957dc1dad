import { expect, test } from 'vitest';
import { type ConditionFacts, conditionsOf, RECENT_MINUTES } from '../../src/inspector/conditions.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { History, type OriginFailures } from '../../src/rewrite-log/history.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

const ROLLOUT = sampleRollout();
const SERVED = { failed: false, requests: 9 };

const QUIET: ConditionFacts = {
  stats: { breaker: 'closed', v1Breaker: 'closed', droppedLogLines: 0 },
  recent: { v1: { requests: 9, failed: 0, inARow: SERVED }, v2: { requests: 9, failed: 0, inARow: SERVED } },
  ruleBook: '0123456789abcdef',
  refusedFaults: undefined,
  rollout: ROLLOUT,
};

const v2 = (
  requests: number,
  failed: number,
  inARow: OriginFailures['v2']['inARow'] = SERVED,
): Partial<ConditionFacts> => ({ recent: { ...QUIET.recent, v2: { requests, failed, inARow } } });

test('where all is well, every part says so', () => {
  expect(conditionsOf(QUIET).map(({ level, label }) => `${level}: ${label}`)).toEqual([
    'good: V2 responds',
    'good: V1 responds',
    'good: No roll-back',
    'good: Rule book in force',
  ]);
});

test.each<[name: string, facts: Partial<ConditionFacts>, worst: string]>([
  ['an open circuit', { stats: { breaker: 'open', droppedLogLines: 0 } }, 'bad: V2: circuit open'],
  ['a probe', { stats: { breaker: 'probing', droppedLogLines: 0 } }, 'bad: V2: circuit probing'],
  [
    'the circuit to V1',
    { stats: { breaker: 'closed', v1Breaker: 'open', droppedLogLines: 0 } },
    'bad: V1: circuit open',
  ],
  ['V2 that fails half of its requests', v2(10, 5), 'bad: V2 fails'],
  ['V2 that fails one in twenty', v2(100, 5), 'note: V2 fails at times'],
  ['V2 that fails one of two', v2(2, 1), 'note: V2 fails at times'],
  ['V2 that fails one of many', v2(100, 1), 'good: V2 responds'],
  ['V2 that is gone since a moment ago', v2(200, 9, { failed: true, requests: 9 }), 'bad: V2 fails'],
  ['V2 that is back', v2(200, 180, { failed: false, requests: 20 }), 'note: V2 failed lately'],
  ['V2 that nobody asked', v2(0, 0), 'unknown: V2 not asked'],
  ['a refused rule book', { refusedFaults: 2 }, 'bad: Rule book refused'],
  ['lost lines', { stats: { breaker: 'closed', droppedLogLines: 1 } }, 'note: 1 log line dropped'],
  [
    'a roll-back',
    {
      rollout: {
        ...ROLLOUT,
        rollbacks: [
          {
            at: '2026-11-25T10:00:00.000Z',
            share: 10,
            migrated: { requests: 26, failures: 3 },
            v1: { requests: 12, failures: 0 },
          },
        ],
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
    'a store out of reach',
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
    'bad: Store out of reach',
  ],
])('%s is the first thing said', (_, facts, worst) => {
  const [first] = conditionsOf({ ...QUIET, ...facts });
  expect(`${first?.level}: ${first?.label}`).toBe(worst);
  expect(first?.sentence).toMatch(/\.$/);
});

test('only the last two minutes count, by the service that failed', () => {
  const history = new History();
  const sent = (minute: number, entry: Partial<Entry>): void =>
    history.add({ ...sampleEntry(1, 0), ...entry }, minute * 60_000 + 1);
  for (let n = 0; n < 9; n += 1) sent(1, { status: 502, failure: 'upstream-unreachable', sent: false });
  sent(2, { status: 503, failure: 'circuit-open', sent: false });
  sent(2, { status: 500, origin: 'v1' });
  sent(3, { status: 422 });
  // None of these says anything about a service.
  sent(3, { status: 503, failure: 'overloaded', sent: false });
  sent(3, { status: 0 });
  expect(history.recentFailures(3 * 60_000 + 2, RECENT_MINUTES)).toEqual({
    v1: { requests: 1, failed: 1, inARow: { failed: true, requests: 1 } },
    v2: { requests: 2, failed: 1, inARow: { failed: false, requests: 1 } },
  });
  expect(history.recentFailures(60 * 60_000, RECENT_MINUTES).v2.requests).toBe(0);
});

test('each way to exchanges is a filter that the list can read', () => {
  const facts = {
    ...QUIET,
    ...v2(9, 9),
    rollout: { ...ROLLOUT, brownouts: [{ id: 'a', state: 'on', share: 9, status: 503 }] },
  } as const;
  const filters = conditionsOf(facts).flatMap(({ place }) => place?.filter ?? []);
  expect(filters.length).toBe(2);
  expect(filters.filter((filter) => isFilterFault(parseFilter(filter)))).toEqual([]);
});
