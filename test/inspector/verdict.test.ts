import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type ConditionFacts, RECENT_MINUTES } from '../../src/inspector/condition.ts';
import { conditionsOf } from '../../src/inspector/conditions.ts';
import { operationEvents } from '../../src/inspector/operation-conditions.ts';
import { statusText } from '../../src/cli/status.ts';
import type { State } from '../../src/inspector/api.ts';
import { ProblemTally } from '../../src/inspector/problems.ts';
import { askedIn, rolloutEffect } from '../../src/inspector/rollout-effect.ts';
import { type Verdict, Verdicts } from '../../src/inspector/verdict.ts';
import { beganAt, type Entry } from '../../src/rewrite-log/entry.ts';
import { History } from '../../src/rewrite-log/history.ts';
import { OperationHealth } from '../../src/rewrite-log/health/operation-health.ts';
import type { RolloutView } from '../../src/rollout/rollout-tally.ts';
import { modesInForce } from '../../src/rollout/modes-in-force.ts';
import {
  commanded,
  earlierModes,
  initialRollout,
  type RolloutCommand,
} from '../../src/rollout/rollout-state.ts';
import type { Mode } from '../../src/rules/rollout.ts';
import { sampleRollout } from '../support/sample-rollout.ts';
import { ACME, OTHER, WATCH_START, WatchedTraffic } from '../support/watched-traffic.ts';

const START = WATCH_START;
const MINUTE = 60_000;
const DAY = 86_400_000;

/** Display names by client hash. */
const NAMES = new Map([
  [ACME, 'acme'],
  ['c'.repeat(16), 'globex'],
]);

type Facts = Partial<ConditionFacts> & { readonly changedAt?: number };

/** A gateway whose verdict is asked for while time passes. */
class Watched extends WatchedTraffic {
  /** The last verdict. */
  told: Pick<State, 'verdict' | 'conditions'> | undefined;
  private readonly history: History;
  private readonly health: OperationHealth;
  private readonly problems: ProblemTally;
  private readonly verdicts = new Verdicts();

  constructor() {
    const [history, health, problems] = [new History(), new OperationHealth(), new ProblemTally()];
    super((entry, time, answer) => {
      history.add(entry, time, answer);
      health.add(entry, time, answer);
      problems.add(entry, time, answer, undefined, beganAt(entry, time));
    });
    this.history = history;
    this.health = health;
    this.problems = problems;
  }

  /** So many exchanges of two clients, a second apart. */
  override see(requests: number, facts: Partial<Entry> | ((number: number) => Partial<Entry>) = {}): this {
    return super.see(requests, (number) => ({
      client: number % 2 === 0 ? ACME : OTHER,
      ...(typeof facts === 'function' ? facts(number) : facts),
    }));
  }

  /** So many pairs of an exchange that fails, and one that does not. */
  seeBoth(pairs: number, facts: Partial<Entry>, status: number): this {
    for (let at = 0; at < pairs; at += 1) this.see(1, { ...facts, status }).see(1, facts);
    return this;
  }

  /** All operations go to V2, or back to V1. */
  move(isToV2: boolean): this {
    this.health.move(() => isToV2, this.now);
    return this;
  }

  verdict(more: Facts = {}): string {
    const { level, sentence } = this.judged(more);
    return `${level}: ${sentence}`;
  }

  /** The problems of the traffic. */
  get rows(): ReturnType<Watched['rowsWith']> {
    return this.rowsWith({});
  }

  rowsWith(more: Partial<ConditionFacts>): ReturnType<ProblemTally['view']>['problems'] {
    return this.problems.view(this.now, START, NAMES, this.facts(more).isAsked).problems;
  }

  /** The faults of operations, as marks of charts. */
  get events(): readonly string[] {
    return this.eventsWith({});
  }

  eventsWith(more: Partial<ConditionFacts>): readonly string[] {
    const facts = this.facts(more, Number.POSITIVE_INFINITY);
    return operationEvents(facts).map(({ at, what }) => `${at.slice(11, 19)} ${what}`);
  }

  private facts(more: Partial<ConditionFacts>, reportedMs?: number): ConditionFacts {
    const { now } = this;
    const isAsked = more.isAsked ?? (more.rollout && askedIn(more.rollout, [], now));
    return {
      stats: { breaker: 'closed', droppedLogLines: 0 },
      recent: this.history.recentFailures(now, RECENT_MINUTES, isAsked),
      operations: this.health.troubles(now, reportedMs),
      lastResponses: this.history.lastResponses,
      notices: this.history.notices.counts,
      countedFrom: START,
      names: NAMES,
      agents: {},
      now,
      ruleBook: '0123456789abcdef',
      refusal: undefined,
      rollout: undefined,
      isAsked,
      ...more,
    };
  }

  judged({ changedAt, ...more }: Facts = {}): Verdict {
    const { now } = this;
    const facts = this.facts(more);
    const since = this.health.wellSince ?? START;
    const conditions = conditionsOf(facts);
    const verdict = this.verdicts.of(conditions, {
      requests: this.history.sums.all,
      lastHour: this.history.lastHour(now),
      replicas: facts.fleet?.replicas,
      since,
      changedAt,
      brownouts: facts.rollout?.brownouts,
      fresh: this.problems.fresh(now, facts.isAsked, facts.operations),
      now,
    });
    this.told = { verdict, conditions };
    return verdict;
  }
}

const FAILS: Partial<Entry> = { status: 500 };
const REFUSED: Partial<Entry> = { status: 422 };
const UNREACHABLE: Partial<Entry> = { status: 502, failure: 'upstream-unreachable', verdict: 'refused' };
const ON_V1: Partial<Entry> = { origin: 'v1', mode: 'observe' };
const rollout = (more: Partial<RolloutView>): Partial<ConditionFacts> => ({
  rollout: { ...sampleRollout(), ...more },
});

const MIGRATED_ROLLOUT = sampleRollout({ default: { mode: 'migrate', from: 'operator' } });
const MIGRATED: Partial<ConditionFacts> = { rollout: MIGRATED_ROLLOUT };

const OBSERVE: RolloutView['default'] = { mode: 'observe', from: 'operator' };
const OBSERVED = rollout({ default: OBSERVE });
const stage = (mode: RolloutView['default']['mode'], share: number): Partial<ConditionFacts> =>
  rollout({ default: { mode, share, from: 'operator' } });

const { v1Origin: _v1Origin, ...WITHOUT_V1 } = sampleRollout({
  default: { mode: 'migrate', from: 'operator' },
});

const ALONE = {
  name: 'b',
  waiting: 0,
  aloneSince: '2026-11-29T08:00:00.000Z',
  aloneReason: 'ECONNREFUSED',
};

const BROWNOUT = {
  id: 'b1',
  state: 'over',
  from: '2026-11-29T08:01:00.000Z',
  until: '2026-11-29T08:02:00.000Z',
  share: 40,
  status: 503,
} as const;

const SPARED = 'c'.repeat(16);

/** V1 has ended for all but one client, while everything is migrated. */
const endedExcept = (client: string, at: string): Partial<ConditionFacts> => ({
  rollout: {
    ...MIGRATED_ROLLOUT,
    sunset: `2026-11-29T${at}.000Z`,
    // By the name that people read, which may be a `User-Agent`.
    gone: { except: [client], hashes: { except: [client === 'acme' ? ACME : SPARED] } },
  },
});

const CALLERS = Array.from({ length: 14 }, (_, at) => (at % 2 === 0 ? ACME : OTHER));

/** A refusal before the request was routed. */
const UPGRADE: Partial<Entry> = {
  route: 'none',
  verdict: 'refused',
  status: 501,
  failure: 'upgrade-refused',
  operation: undefined,
  client: undefined,
};

const NO_MODES = modesInForce(undefined, undefined);

/** The facts after such commands, at these milliseconds of the traffic; `book` has the modes of the rule book. */
function chosen(
  commands: readonly (readonly [at: number, command: RolloutCommand])[],
  book = NO_MODES,
  now = START + DAY,
): Partial<ConditionFacts> {
  const state = commands.reduce(
    (before, [at, command]) => commanded(before, command, new Date(START + at).toISOString()),
    initialRollout,
  );
  const modes = modesInForce(book, state);
  const from = 'operator';
  const operations = Object.fromEntries(
    Object.entries(modes.operations).map(([id, mode]) => [id, { ...mode, from } as const]),
  );
  const view = sampleRollout({ default: { ...modes.default, from }, operations });
  return { rollout: view, isAsked: askedIn(view, earlierModes(state, book), now) };
}

/** Everything went back to V1 and forward again. */
const backAndForth = (back: number, forth: number): Partial<ConditionFacts> =>
  chosen([
    [back, { mode: BACK }],
    [forth, { mode: MIGRATE }],
  ]);

const MIGRATE: Mode = { mode: 'migrate' };
const BACK: Mode = { mode: 'observe' };
const A = 'a';

/** Everything, or one operation, went back to V1 and forward again at these milliseconds, in several ways. */
const WAYS: readonly (readonly [
  what: string,
  change: (back: number, forth: number) => Partial<ConditionFacts>,
])[] = [
  [
    'everything',
    (back, forth) =>
      chosen([
        [back, { mode: BACK }],
        [forth, { mode: MIGRATE }],
      ]),
  ],
  [
    'everything with shadow, and by a repeated command',
    (back, forth) =>
      chosen([
        [back, { mode: { mode: 'shadow' } }],
        [forth, { mode: MIGRATE }],
        [forth + 100, { mode: MIGRATE }],
      ]),
  ],
  [
    'back everything, forward by operation',
    (back, forth) =>
      chosen([
        [back, { mode: BACK }],
        [forth, { mode: { mode: 'canary', share: 50 }, operation: A }],
        [forth, { mode: MIGRATE, operation: 'b' }],
      ]),
  ],
  [
    'back by operation, forward by the mode of the default',
    (back, forth) =>
      chosen([
        [back, { mode: BACK, operation: A }],
        [back, { mode: BACK, operation: 'b' }],
        [forth, { operation: A }],
        [forth, { operation: 'b' }],
      ]),
  ],
  [
    'back everything, forward by the mode of the rule book',
    (back, forth) =>
      chosen([
        [back, { mode: BACK }],
        [forth, {}],
      ]),
  ],
  [
    'forward by the mode of the rule book for operations',
    (back, forth) =>
      chosen(
        [
          [back, { mode: BACK, operation: A }],
          [back, { mode: BACK, operation: 'b' }],
          [forth, { operation: A }],
          [forth, { operation: 'b' }],
        ],
        { ...NO_MODES, default: BACK, operations: { a: MIGRATE, b: MIGRATE } },
      ),
  ],
];

/** Two operations that V2 serves, and then does not respond to for a minute, from 08:01:41 until 08:02:40. */
function outage(all: Watched): Watched {
  for (const operation of ['a', 'b']) all.see(50, { operation });
  for (const operation of ['a', 'b'])
    all
      .see(10, { ...UNREACHABLE, operation })
      .see(20, { status: 503, failure: 'circuit-open', verdict: 'refused', operation });
  return all;
}

/** Thirty requests of one client among those of others; those with a number that is not well fail. */
function atTimes(all: Watched, isWell: (number: number) => boolean): Watched {
  all.see(200, { client: OTHER });
  for (let number = 0; number < 30; number += 1)
    all.see(19, { client: OTHER }).see(1, { client: ACME, ...(isWell(number) ? {} : FAILS) });
  return all;
}

/** An address that no operation fits. */
const LOTS: Partial<Entry> = {
  operation: undefined,
  method: 'GET',
  path: '/api/v1/lots?page=…',
  client: ACME,
};

/** V2 does not respond to six of those, nor to two operations, and is back for these. */
function lotsOutage(all: Watched): Watched {
  all.see(6, { ...LOTS, ...UNREACHABLE });
  for (const operation of ['order_floor_plan', 'b']) all.see(6, { ...UNREACHABLE, operation });
  for (const operation of ['order_floor_plan', 'b']) all.see(25, { operation });
  return all;
}

/** Requests without a key that V2 refuses, among others that it serves. */
function rounds(all: Watched, times = 8): Watched {
  for (let round = 0; round < times; round += 1) all.see(3).see(1, { status: 401, client: undefined });
  return all;
}

function keyless(all: Watched): Watched {
  return rounds(all.see(60, ON_V1), 6);
}

/** V2 responds to no request for a minute. */
function keylessOutage(all: Watched): Watched {
  for (let round = 0; round < 20; round += 1)
    all.see(2, UNREACHABLE).see(1, { ...UNREACHABLE, client: undefined });
  return all;
}

test('with new failures, the heading of the page says as well what failed before', () => {
  const all = outage(new Watched());
  for (const operation of ['a', 'b']) all.see(70, { operation });
  const { own, sentence } = all.see(2, { ...FAILS, operation: 'a' }).judged();
  expect(own).toMatch(/^2 new failures since .* V2 did not respond to 60 requests/);
  expect(own).toBe(sentence);
});

test('after a roll-back, the heading of the page says as well what V2 failed', () => {
  const { own, sentence } = new Watched().see(100).see(25, FAILS).move(false).see(30, ON_V1).judged(OBSERVED);
  expect(own).toMatch(/^All well for less than a minute\. order_floor_plan failed .* V1 serves it now\.$/);
  expect(own).toBe(sentence);
});

describe('marks of the faults of operations', () => {
  test('stand at the times of the condition, longer than it', () => {
    const all = new Watched().see(100).see(8, FAILS);
    const [fault] = all.judged() && (all.told?.conditions ?? []);
    expect(fault).toMatchObject({ since: '2026-11-29T08:01:41.000Z' });
    expect(all.events).toEqual([
      `08:01:41 order_floor_plan began to fail for acme and ${OTHER}: 8 of 8 requests`,
    ]);
    all.see(60);
    const [over] = all.judged() && (all.told?.conditions ?? []);
    expect(over).toMatchObject({ since: fault?.since, until: '2026-11-29T08:01:48.000Z' });
    all.see(4000);
    all.judged();
    expect(all.told?.conditions.filter(({ about }) => about === 'operation')).toEqual([]);
    expect(all.events).toEqual([
      `08:01:41 order_floor_plan began to fail for acme and ${OTHER}: 8 of 8 requests`,
      `08:01:48 order_floor_plan stopped failing for acme and ${OTHER}`,
    ]);
  });

  test('say nothing of an end where V1 took over, also once V2 serves the operation again', () => {
    const began = [`08:01:41 order_floor_plan began to fail for acme and ${OTHER}: 30 of 30 requests`];
    const all = new Watched().see(100).see(30, FAILS).see(3).move(false).see(40, ON_V1);
    expect(all.events).toEqual(began);
    expect(all.move(true).see(40).events).toEqual(began);
    // One replica's request goes to V1 alone after another: no change of modes is known.
    expect(new Watched().see(100).see(30, FAILS).see(40, ON_V1).events).toEqual(began);
  });

  test('are there as long after an outage of V2 has come, like the condition', () => {
    const all = new Watched().see(100).see(100, { operation: 'b' }).see(8, FAILS).see(60);
    const marks = all.events;
    expect(marks).toHaveLength(2);
    for (const operation of ['order_floor_plan', 'b']) all.see(30, { ...UNREACHABLE, operation });
    const told = (): readonly string[] | undefined =>
      all.judged({ stats: { breaker: 'open', droppedLogLines: 0 } }) &&
      all.told?.conditions.flatMap(({ about, label }) => (about === 'operation' ? [label] : []));
    expect([all.events, told()]).toEqual([marks, [`order_floor_plan failed for acme and ${OTHER}`]]);
    for (const operation of ['order_floor_plan', 'b']) all.see(60, { operation });
    expect([all.events, told()]).toEqual([marks, [`order_floor_plan failed for acme and ${OTHER}`]]);
    all.see(3600);
    expect([all.events, told()]).toEqual([marks, []]);
  });

  test('stay when another operation gets no response later: these are no outage of V2', () => {
    const all = new Watched().see(100).see(100, { operation: 'b' }).see(9, UNREACHABLE).see(60);
    const marks = all.events;
    expect(marks).toHaveLength(2);
    all.see(1200).see(9, { ...UNREACHABLE, operation: 'b' });
    expect(all.events).toEqual([...marks, expect.stringContaining('b began to fail for')]);
    // While V2 responds to neither, it says that V2 does not respond.
    all.see(9, UNREACHABLE);
    expect(all.events).toEqual(marks);
  });

  test('say nothing of an end where V1 has ended, and go on for a client that this excepts', () => {
    const all = new Watched().see(100).see(25, { ...FAILS, client: ACME });
    const began = ['08:01:41 order_floor_plan began to fail for acme: 25 of 25 requests'];
    expect(all.eventsWith(endedExcept('globex', '08:02:05'))).toEqual(began);
    // The page calls it by its `User-Agent`.
    const excepted = endedExcept('acme', '08:02:05');
    const { rollout: view = MIGRATED_ROLLOUT } = excepted;
    const told = { rollout: { ...view, gone: { ...view.gone, except: ['programme/1.9'] } } };
    expect(all.eventsWith(told)).toEqual(began);
    expect(all.verdict(told)).toMatch(/^bad: V1 ended on .* order_floor_plan fails for acme/);
    expect(all.rowsWith(told).map(({ state }) => state)).toEqual(['new']);
    expect(all.rowsWith(endedExcept('globex', '08:02:05')).map(({ state }) => state)).toEqual(['off-v2']);
  });

  test('stay when the same fails again, with the counts that they had: of clients, and of an operation', () => {
    const clients = new Watched().see(60, ON_V1);
    const fails = (all: Watched): Watched => {
      for (let round = 0; round < 6; round += 1)
        all
          .see(9)
          .see(1, { ...FAILS, client: 'c'.repeat(16) })
          .see(1, { ...FAILS, client: 'd'.repeat(16) });
      return all;
    };
    const marks = fails(clients).move(false).see(5, ON_V1).move(true).events;
    expect(marks).toEqual([
      `08:01:10 order_floor_plan began to fail for globex and ${'d'.repeat(16)}: 12 of 12 requests`,
    ]);
    const both = fails(clients).events;
    expect(both).toEqual([...marks, expect.stringMatching(/^08:02:\d\d .* 12 of 12 requests$/)]);
    // One of them is well before the other.
    clients.see(30, { client: 'd'.repeat(16) });
    expect(clients.judged(MIGRATED).label).toBe('order_floor_plan fails for globex');
    expect(clients.events).toEqual(both);
    clients.see(30, { client: 'c'.repeat(16) });
    expect(clients.events).toEqual([...both, expect.stringContaining('stopped failing for globex and')]);

    const operation = new Watched().see(100).see(8, FAILS).see(60);
    const before = operation.events;
    expect(before).toHaveLength(2);
    expect(operation.see(9, FAILS).events).toEqual([
      ...before,
      `08:02:49 order_floor_plan began to fail for acme and ${OTHER}: 9 of 9 requests`,
    ]);
  });

  test('are not those of an outage of V2, which has its own', () => {
    expect(outage(new Watched()).events).toEqual([]);
  });
});

const READ = { differences: [], noise: 0, extra: 0 } as const;

describe('what V2 failed, and nothing shows that it is well', () => {
  const hit = [ACME, OTHER];
  const failed = (): Watched => new Watched().see(100).see(25, FAILS);
  const leftIn = (all: Watched, facts: Partial<ConditionFacts>): readonly unknown[] => {
    all.judged(facts);
    return (all.told?.conditions ?? []).flatMap(({ left }) => (left === undefined ? [] : [left]));
  };

  test.each<[what: string, all: () => Watched, facts: Partial<ConditionFacts>, left: readonly unknown[]]>([
    [
      'an operation that V1 serves now',
      () => failed().move(false).see(30, ON_V1),
      OBSERVED,
      [hit.map((client) => ({ client, operation: 'order_floor_plan' }))],
    ],
    ['one that V2 serves again', () => failed().move(false).see(30, ON_V1).move(true).see(20), MIGRATED, []],
    ['one that still fails', failed, MIGRATED, []],
    [
      'several operations, V2 gone',
      () =>
        outage(new Watched())
          .move(false)
          .see(3, { ...ON_V1, operation: A }),
      OBSERVED,
      ['a', 'b'].flatMap((operation) => hit.map((client) => ({ client, operation }))),
    ],
    [
      'several operations, V2 responding to copied reads since',
      () =>
        outage(new Watched())
          .move(false)
          .see(3, { ...ON_V1, operation: A, comparison: { verdict: 'same', ...READ } }),
      OBSERVED,
      [],
    ],
    [
      'all, V2 not asked with an open circuit',
      () => new Watched().see(50).see(9, UNREACHABLE).see(60, ON_V1),
      { ...OBSERVED, stats: { breaker: 'open', droppedLogLines: 0 } },
      ['all'],
    ],
  ])('%s', (_, all, facts, left) => {
    expect(leftIn(all(), facts).flat()).toEqual(left.flat());
  });
});

describe('one fault of one client', () => {
  const REFUSAL = /: (\d+) of \d+ requests since (\S+); V2 responds 422\. Before that, (.*) failed/;

  test('has one beginning, one past and the count of its problem, through an outage and a brownout', () => {
    const all = new Watched();
    const told: { readonly level: string; readonly since: string; readonly before: string }[] = [];
    const look = (): void => {
      all.judged(MIGRATED);
      const row = all.rows.find(({ status }) => status === 422);
      for (const { level, sentence } of all.told?.conditions ?? []) {
        const [, failed, since = '', before = ''] = REFUSAL.exec(sentence) ?? [];
        if (failed === undefined) continue;
        expect(failed).toBe(String(row?.count));
        told.push({ level, since, before });
      }
    };
    let value = 0;
    const play = (rounds: number, facts?: Partial<Entry>, isHit = (_round: number) => true): void => {
      for (let round = 0; round < rounds; round += 1) {
        const met = isHit(round) ? facts : undefined;
        if (met === undefined) value += 1;
        // V2 refuses one value in five; now and then the client sends it six times in a row.
        const isRefused = value % 5 === 0 || (value > 150 && value < 157);
        all.see(2, { operation: 'b', ...met });
        all.see(1, { operation: 'a', client: ACME, ...(met ?? (isRefused ? REFUSED : {})) });
        look();
      }
    };
    for (let round = 0; round < 200; round += 1)
      all.see(1, { ...ON_V1, operation: 'a', client: ACME }).see(2, { ...ON_V1, operation: 'b' });
    play(100);
    play(40, UNREACHABLE);
    play(60);
    play(50, { status: 503, failure: 'brownout', verdict: 'refused' }, (round) => round % 5 < 2);
    play(100);
    expect(told.length).toBeGreaterThan(300);
    expect(new Set(told.map(({ since, before }) => `${since}, ${before}`))).toEqual(
      new Set(['2026-11-29T08:10:15.000Z, 0 of 204']),
    );
    // Once it is worse than before, it stays so.
    const levels = told.map(({ level }) => level).join(' ');
    expect(levels).toMatch(/^(?:note )*(?:bad ?)+$/);
  });
});

const OUTAGE_WORDS =
  'V2 did not respond to 60 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:40.000Z; 40 of these were not sent, because its circuit was open.';

/** The end of the verdict on a V2 that was gone, and to which no request goes now. */
const CONTACTS: readonly (readonly [
  what: string,
  stats: Pick<ConditionFacts['stats'], 'breaker' | 'v2Contact'>,
  more: Partial<Entry>,
  told: string,
])[] = [
  [
    'does not accept connections yet',
    { breaker: 'open', v2Contact: { isAway: true, since: START + 52_000 } },
    {},
    'so its circuit is still open. No request has gone to it since: V1 serves the clients now. V2 accepts no connection: the gateway keeps trying, and the circuit closes once it succeeds.',
  ],
  [
    'accepts connections again',
    { breaker: 'closed', v2Contact: { isAway: false, since: START + 90_000 } },
    {},
    'V1 serves them now. V2 has accepted connections again since 2026-11-29T08:01:30.000Z; it has had no request since.',
  ],
  [
    'has responded to a copied read since',
    { breaker: 'closed', v2Contact: { isAway: false, since: START + 90_000 } },
    { comparison: { verdict: 'same', ...READ } },
    'V1 serves them now. V2 responded last at 2026-11-29T08:06:11.000Z, less than a minute ago.',
  ],
  [
    'did not respond to a copied read',
    { breaker: 'closed' },
    { comparison: { verdict: 'unknown', ...READ } },
    'V1 serves them now. V2 responded last at 2026-11-29T08:00:50.000Z, 5 minutes ago; no request goes to it now.',
  ],
];

describe('the verdict', () => {
  test('does not say twice when a service was asked last', () => {
    const all = new Watched().see(9).see(3, ON_V1);
    all.verdict(OBSERVED);
    const told = all.told?.conditions.find(({ about }) => about === 'v2')?.sentence;
    expect(told).toBe('The last request went to V2 at 2026-11-29T08:00:09.000Z; V1 has served since.');
  });

  test.each(CONTACTS)('says how V2 does that was gone, while V1 serves: V2 %s', (_, stats, more, told) => {
    const verdict = new Watched()
      .see(50)
      .see(10, UNREACHABLE)
      .see(10, { ...UNREACHABLE, operation: 'create_client' })
      .pass(5 * MINUTE)
      .see(1, { ...ON_V1, ...more })
      .verdict({ ...OBSERVED, stats: { droppedLogLines: 0, ...stats } });
    expect(verdict.slice(-told.length)).toBe(told);
  });

  test('names the client that V2 refuses while V2 does not respond to others', () => {
    const all = outage(new Watched());
    for (let round = 0; round < 6; round += 1)
      all
        .see(3, { ...UNREACHABLE, operation: 'b', client: OTHER })
        .see(9, { operation: 'b', client: OTHER })
        .see(1, { ...REFUSED, operation: 'b', client: ACME });
    all.verdict(MIGRATED);
    const told = all.told?.conditions.map(({ sentence }) => sentence).filter((one) => one.includes('acme'));
    expect(told).toEqual([
      'b is refused for acme: 6 of 6 requests since 2026-11-29T08:02:53.000Z; V2 responds 422. Before that, 0 of 59 requests of all clients failed.',
    ]);
  });

  test('about a client that fails nine of ten requests does not change with the one', () => {
    const all = new Watched();
    const told: string[] = [];
    atTimes(all, (number) => {
      told.push(all.judged(MIGRATED).label);
      return number % 10 === 0;
    });
    const first = told.findIndex((label) => label.includes('acme'));
    expect(new Set(told.slice(first))).toEqual(
      new Set(['order_floor_plan fails for acme', 'order_floor_plan fails at times for acme']),
    );
  });

  test('does not say that V2 has served since, while it fails', () => {
    const all = new Watched().see(30, ON_V1).see(9, UNREACHABLE);
    all.judged(MIGRATED);
    expect(all.told?.conditions.map(({ sentence }) => sentence)).toContain(
      'The last request went to V1 at 2026-11-29T08:00:30.000Z; requests have gone to V2 since.',
    );
  });

  test.each(WAYS)('tells an outage as over after ways back and forward: %s', (_, change) => {
    const all = outage(new Watched()).see(5, { ...ON_V1, operation: A });
    expect(all.verdict(change(160_500, 165_500))).toBe(`note: ${OUTAGE_WORDS}`);
  });

  test('tells trouble from before a way back in one sentence while V2 responds after the way forward', () => {
    const all = new Watched().see(50).see(30, FAILS).move(false).see(10, ON_V1).move(true);
    const change = backAndForth(80_500, 90_500);
    const told = Array.from({ length: 8 }, () => all.see(1).verdict(change));
    expect(new Set(told)).toEqual(
      new Set([
        'note: order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 30 of 30 requests from 2026-11-29T08:00:51.000Z until 2026-11-29T08:01:20.000Z. Before that, 0 of 50 failed.',
      ]),
    );
    all.see(1, FAILS).judged(change);
    expect(all.told?.conditions.map(({ sentence }) => sentence)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('30 of 30 requests from 2026-11-29T08:00:51.000Z until'),
      ]),
    );
    expect(all.see(5, FAILS).verdict(change)).toBe(
      'bad: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 6 of 6 requests since 2026-11-29T08:01:39.000Z. Before that, 30 of 98 failed.',
    );
  });

  test.each<[string, Partial<ConditionFacts>]>([
    [
      'a canary got a larger share',
      chosen([
        [0, { mode: { mode: 'canary', share: 5 } }],
        [160_500, { mode: MIGRATE }],
      ]),
    ],
    [
      'another operation went back and forward',
      chosen([
        [160_500, { mode: BACK, operation: 'c' }],
        [165_500, { operation: 'c' }],
      ]),
    ],
    [
      'a client went back and forward',
      chosen([
        [160_500, { mode: BACK, client: ACME }],
        [165_500, { client: ACME }],
      ]),
    ],
    [
      'a client stayed with V2',
      chosen([
        [0, { mode: MIGRATE, client: ACME }],
        [160_500, { mode: BACK }],
        [165_500, { mode: MIGRATE }],
      ]),
    ],
  ])('tells an outage as present where %s, and V2 was asked all the time', (_, change) => {
    expect(outage(new Watched()).verdict(change)).toMatch(/^bad: /);
  });

  // What is over has its counts and both its ends, whatever comes after it.
  test('does not change what it says of the time before everything went back to V1', () => {
    const outcome = fc.constantFrom<Partial<Entry>>({}, {}, FAILS, REFUSED, UNREACHABLE, {
      client: undefined,
    });
    const episode = fc.array(fc.tuple(fc.integer({ min: 1, max: 12 }), outcome, fc.constantFrom('a', 'b')), {
      minLength: 1,
      maxLength: 8,
    });
    const later = fc.array(fc.tuple(fc.integer({ min: 1, max: 30 }), fc.constantFrom('a', 'b')), {
      minLength: 1,
      maxLength: 6,
    });
    const facts = (all: Watched): readonly string[] => {
      all.judged(OBSERVED);
      return (all.told?.conditions ?? [])
        .flatMap(({ sentence }) => /^[^;]*? from \S+Z until [^Z]+Z/.exec(sentence) ?? [])
        .sort();
    };
    fc.assert(
      fc.property(episode, later, (runs, after) => {
        const all = new Watched().see(40, { ...ON_V1, operation: 'a' }).see(40, { ...ON_V1, operation: 'b' });
        for (const [times, more, operation] of runs) all.see(times, { operation, ...more });
        const told = facts(all.move(false));
        for (const [times, operation] of after) {
          all.see(times, { ...ON_V1, operation });
          // The service is reported for two minutes, and its operations for an hour.
          const now = facts(all);
          expect(told).toEqual(expect.arrayContaining([...now]));
          expect(now.filter((one) => !one.startsWith('V2'))).toEqual(
            told.filter((one) => !one.startsWith('V2')),
          );
        }
      }),
    );
  });

  test('counts the same failures as new, and once they are more than before: none without a response', () => {
    const all = new Watched().see(153, ON_V1).see(40, { operation: 'b' });
    const told: string[] = [];
    const refused: string[] = [];
    for (let round = 1; round <= 14; round += 1) {
      all
        .see(4, { client: ACME })
        .see(1, { ...REFUSED, client: ACME })
        .see(20, { operation: 'b' });
      if (round === 2)
        for (const operation of ['order_floor_plan', 'b']) all.see(6, { ...UNREACHABLE, operation });
      const { sentence } = all.judged(MIGRATED);
      const [, times] =
        /^(\d+) new failure|^order_floor_plan .*?: (\d+) of/.exec(sentence)?.filter(Boolean) ?? [];
      if (times === undefined) continue;
      told.push(times);
      refused.push(String(round));
    }
    expect(told.length).toBeGreaterThan(8);
    expect(told).toEqual(refused);
  });

  test('counts no time as well in which a request failed, or at which it said something else', () => {
    const step = fc.record({
      times: fc.integer({ min: 1, max: 60 }),
      more: fc.constantFrom<Partial<Entry>>({}, {}, {}, FAILS, REFUSED, UNREACHABLE, ON_V1),
      minutes: fc.constantFrom(0, 0, 1, 70),
      facts: fc.constantFrom<Partial<ConditionFacts>>(
        {},
        {},
        { refusal: { faults: 1, at: START } },
        rollout({ brownouts: [{ ...BROWNOUT, state: 'on' }] }),
        { stats: { breaker: 'closed', droppedLogLines: 2, lastDroppedLine: START + MINUTE } },
      ),
      isAsked: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 2, maxLength: 9 }), (steps) => {
        const all = new Watched();
        const others: number[] = [];
        const within: number[] = [];
        for (const { times, more, minutes, facts, isAsked } of steps) {
          all.see(times, more);
          if (more.status !== undefined) others.push(all.now);
          all.pass(minutes * MINUTE).see(1);
          if (!isAsked) continue;
          const { level, sentence, since = '' } = all.judged(facts);
          if (level !== 'good') others.push(all.now);
          else if (sentence.startsWith('All well'))
            within.push(...others.filter((at) => at > Date.parse(since)));
        }
        expect(within).toEqual([]);
      }),
    );
  });

  test.each<[string, (watched: Watched) => string, string]>([
    ['nothing seen yet', (all) => all.verdict(), 'unknown: No request yet, so nothing is known.'],
    [
      'all well',
      (all) =>
        all
          .see(60)
          .pass(3 * DAY)
          .verdict(),
      'good: All well for 3 days.',
    ],
    [
      'a scanner asks for a tunnel',
      (all) =>
        all
          .see(60)
          .see(3, { ...UPGRADE, side: 'neither', path: 'a:1', method: 'CONNECT' })
          .verdict(),
      'good: All well for 1 minute.',
    ],
    [
      'one operation always fails, for one client',
      (all) =>
        all
          .see(200, { operation: 'create_client' })
          .see(25, { ...FAILS, client: ACME })
          .verdict(),
      'bad: order_floor_plan fails for acme: 25 of 25 requests since 2026-11-29T08:03:21.000Z. Too little is known about the time before.',
    ],
    [
      'one operation always fails, for many clients, and did not before',
      (all) =>
        all
          .see(100)
          .see(200, { operation: 'create_client' })
          .see(25, FAILS)
          .see(20, { operation: 'create_client' })
          .verdict(),
      'bad: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests since 2026-11-29T08:05:01.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'one operation is always refused, and was not before',
      (all) => all.see(100, ON_V1).see(10, REFUSED).verdict(),
      'bad: order_floor_plan is refused for acme and bbbbbbbbbbbbbbbb: 10 of 10 requests since 2026-11-29T08:01:41.000Z; V2 responds 422. Before that, 0 of 100 failed.',
    ],
    [
      'one operation is always refused, and its past is not known',
      (all) => all.see(200, { operation: 'create_client' }).see(10, REFUSED).verdict(),
      'note: order_floor_plan is refused for acme and bbbbbbbbbbbbbbbb: 10 of 10 requests since 2026-11-29T08:03:21.000Z; V2 responds 422. Too little is known about the time before.',
    ],
    [
      'an operation fails partly after a roll-back, beside one client with an old address',
      (all) => {
        const old = { operation: undefined, method: 'GET', path: '/v1/parcels/3', client: ACME, status: 404 };
        all
          .see(60)
          .see(12, FAILS)
          .move(false)
          .see(35, ON_V1)
          .see(20, { ...old, ...ON_V1, status: 200 });
        all.move(true).see(10);
        for (let at = 0; at < 20; at += 1)
          all.see(1, { client: CALLERS[at % 3], status: at % 5 < 3 ? 500 : 200 }).see(1, old);
        const { level, sentence, action } = all.judged({
          ...MIGRATED,
          modeOnV1: (operation) => (operation === 'order_floor_plan' ? { mode: 'observe' } : undefined),
        });
        expect(action?.request).toEqual({ mode: 'observe', operation: 'order_floor_plan' });
        return `${level}: ${sentence}`;
      },
      'bad: order_floor_plan fails at times for acme and bbbbbbbbbbbbbbbb: 12 of 20 requests since 2026-11-29T08:02:18.000Z. Before that, 12 of 117 failed. Also: GET /v1/parcels/* fails for acme.',
    ],
    [
      'one operation fails more often than before',
      (all) =>
        all
          .see(500)
          .pass(20 * MINUTE)
          .see(20)
          .see(3, REFUSED)
          .see(20)
          .see(4, REFUSED)
          .see(10)
          .see(4, REFUSED)
          .verdict(),
      'bad: order_floor_plan is refused at times for acme and bbbbbbbbbbbbbbbb: 11 of 41 requests since 2026-11-29T08:28:41.000Z; V2 responds 422. Before that, 0 of 520 failed.',
    ],
    [
      'a share of failures as in its past is not a rise',
      (all) => all.seeBoth(50, ON_V1, 404).seeBoth(20, {}, 404).verdict(),
      'good: All well for 2 minutes.',
    ],
    [
      'V2 is gone',
      (all) =>
        all
          .see(20)
          .see(10, { status: 502, failure: 'upstream-unreachable', verdict: 'refused' })
          .verdict({ stats: { breaker: 'open', droppedLogLines: 0 } }),
      'bad: V2 has failed since 2026-11-29T08:00:21.000Z, so the circuit is open: requests to it get 503 until it responds to a probe. 10 of 30 requests to V2 failed in the last two minutes.',
    ],
    [
      'V2 is gone, and its open circuit keeps requests from it',
      (all) => outage(all).verdict({ ...MIGRATED, stats: { breaker: 'open', droppedLogLines: 0 } }),
      'bad: V2 has failed since 2026-11-29T08:01:41.000Z, so the circuit is open: requests to it get 503 until it responds to a probe. 60 of 111 requests for V2 failed in the last two minutes; 40 of these were not sent, because its circuit was open.',
    ],
    [
      'V2 was gone, and V1 has served all of its operations for a while',
      (all) =>
        outage(all)
          .see(25, { ...ON_V1, operation: 'a' })
          .see(25, { ...ON_V1, operation: 'b' })
          .verdict({
            ...OBSERVED,
            stats: {
              breaker: 'closed',
              droppedLogLines: 0,
              v2Contact: { isAway: false, since: START + 170_000 },
            },
          }),
      `good: All well for less than a minute. ${OUTAGE_WORDS} V1 serves them now. V2 has accepted connections again since 2026-11-29T08:02:50.000Z; it has had no request since.`,
    ],
    [
      'V2 was gone, V1 served for a moment, and everything was migrated again before the first request',
      (all) =>
        outage(all)
          .see(5, { ...ON_V1, operation: 'a' })
          .verdict(backAndForth(160_500, 165_500)),
      `note: ${OUTAGE_WORDS}`,
    ],
    [
      'V2 was gone, V1 served for a moment, and V2 has responded to the first requests since',
      (all) =>
        outage(all)
          .see(5, { ...ON_V1, operation: 'a' })
          .see(3, { operation: 'a' })
          .verdict(backAndForth(160_500, 165_500)),
      `note: ${OUTAGE_WORDS}`,
    ],
    [
      'V2 was gone, and fails again after everything was migrated again',
      (all) =>
        outage(all)
          .move(false)
          .see(5, { ...ON_V1, operation: 'a' })
          .move(true)
          .see(6, { ...FAILS, operation: 'a' })
          .verdict(backAndForth(160_500, 165_500)),
      'bad: a fails for acme and bbbbbbbbbbbbbbbb: 6 of 6 requests since 2026-11-29T08:02:46.000Z. Before that, 0 of 55 failed.',
    ],
    [
      'V2 was gone, and has responded to six requests since',
      (all) => outage(all).see(3, { operation: 'a' }).see(3, { operation: 'b' }).verdict(MIGRATED),
      `note: ${OUTAGE_WORDS.replace('from ', 'since ').replace(' until ', ', the last at ')}`,
    ],
    [
      'V2 was gone and is back, and one client is refused that V1 accepted',
      (all) => {
        for (let round = 0; round < 40; round += 1) all.see(1, { ...ON_V1, operation: 'b' });
        outage(all);
        for (let round = 0; round < 6; round += 1)
          all.see(9, { operation: 'b', client: OTHER }).see(1, { ...REFUSED, operation: 'b', client: ACME });
        return all.verdict(MIGRATED);
      },
      'bad: b is refused for acme: 6 of 6 requests since 2026-11-29T08:03:30.000Z; V2 responds 422. Before that, 0 of 99 requests of all clients failed.',
    ],
    [
      'V2 refuses requests without a key, among others that it serves',
      (all) => keyless(all).verdict(MIGRATED),
      'bad: order_floor_plan is refused for requests without a key: 6 of 6 requests since 2026-11-29T08:01:04.000Z; V2 responds 401. Before that, 0 of 63 requests of all clients failed.',
    ],
    [
      'V2 refuses requests without a key as V1 did, and there are more of them',
      (all) => {
        all.see(190, ON_V1).see(10, { ...ON_V1, status: 401, client: undefined });
        for (let round = 0; round < 20; round += 1) all.see(1).see(1, { status: 401, client: undefined });
        return all.verdict(MIGRATED);
      },
      'good: All well for 4 minutes.',
    ],
    [
      'V2 refuses requests without a key, and was gone for all',
      (all) => rounds(keylessOutage(keyless(all))).verdict(MIGRATED),
      'bad: order_floor_plan is refused for requests without a key: 14 of 14 requests since 2026-11-29T08:01:04.000Z; V2 responds 401. Before that, 0 of 63 requests of all clients failed.',
    ],
    [
      'V2 has refused requests without a key since it is back',
      (all) => rounds(keylessOutage(all.see(60, ON_V1)), 14).verdict(MIGRATED),
      'bad: order_floor_plan is refused for requests without a key: 14 of 14 requests since 2026-11-29T08:02:04.000Z; V2 responds 401. Before that, 0 of 63 requests of all clients failed.',
    ],
    [
      'V2 refuses a client and others at once, until only one is refused',
      (all) => {
        all.see(60, ON_V1);
        for (const client of [OTHER, ACME, OTHER, ACME, OTHER, ACME])
          all.see(1).see(1, { ...REFUSED, client });
        for (let round = 0; round < 6; round += 1)
          all.see(9, { client: OTHER }).see(1, { ...REFUSED, client: ACME });
        return all.verdict(MIGRATED);
      },
      'bad: order_floor_plan is refused at times for bbbbbbbbbbbbbbbb and acme: 12 of 71 requests since 2026-11-29T08:01:02.000Z; V2 responds 422. Before that, 0 of 61 failed.',
    ],
    [
      'an operation fits an address since, and V2 responds',
      (all) => {
        all.see(60, ON_V1).see(30, { ...LOTS, ...ON_V1 });
        return all
          .see(20)
          .see(8, { ...LOTS, status: 404 })
          .see(2, { ...LOTS, operation: 'list_lots', ruleBook: 'fedcba9876543210' })
          .see(20)
          .verdict(MIGRATED);
      },
      'good: All well for less than a minute. GET /lots failed for acme: 8 of 8 requests from 2026-11-29T08:01:51.000Z until 2026-11-29T08:01:58.000Z; V2 responded 404. Before that, 0 of 30 failed.',
    ],
    [
      'one client fails, and then several in another operation',
      (all) => {
        all.see(60, ON_V1).see(30, { ...LOTS, ...ON_V1 });
        all.see(20, { operation: 'get_order' }).see(8, { ...LOTS, status: 404 });
        for (let round = 0; round < 4; round += 1)
          for (const client of [OTHER, ACME])
            all.see(1, { ...REFUSED, status: 500, client }).see(9, { operation: 'get_order' });
        return all.verdict(MIGRATED);
      },
      'bad: order_floor_plan fails for bbbbbbbbbbbbbbbb and acme: 8 of 8 requests since 2026-11-29T08:01:59.000Z. Before that, 0 of 60 failed. Also: GET /lots fails for acme.',
    ],
    [
      'an address that no operation fits, and that V2 does not have',
      (all) => {
        all.see(60, ON_V1).see(30, { ...LOTS, ...ON_V1 });
        return all
          .see(20)
          .see(8, { ...LOTS, status: 404 })
          .see(20)
          .verdict(MIGRATED);
      },
      'bad: GET /lots fails for acme: 8 of 8 requests since 2026-11-29T08:01:51.000Z; V2 responds 404. Before that, 0 of 30 failed. No operation of the rule book fits it: add one that says where V2 has it, or that it is gone.',
    ],
    [
      'an address that no operation fits, with one client, before, during and after an outage',
      (all) => {
        all
          .see(60, ON_V1)
          .see(30, { ...LOTS, ...ON_V1 })
          .see(20, { operation: 'b' });
        return lotsOutage(all.see(9, { ...LOTS, status: 404 }))
          .see(9, { ...LOTS, status: 404 })
          .verdict(MIGRATED);
      },
      'bad: GET /lots fails for acme: 18 of 18 requests since 2026-11-29T08:01:51.000Z; V2 responds 404. Before that, 0 of 30 failed. No operation of the rule book fits it: add one that says where V2 has it, or that it is gone.',
    ],
    [
      'an address that no operation fits, with one client, since an outage',
      (all) => {
        all
          .see(60, ON_V1)
          .see(30, { ...LOTS, ...ON_V1 })
          .see(20, { operation: 'b' });
        return lotsOutage(all)
          .see(9, { ...LOTS, status: 404 })
          .verdict(MIGRATED);
      },
      'bad: GET /lots fails for acme: 9 of 9 requests since 2026-11-29T08:02:59.000Z; V2 responds 404. Before that, 0 of 30 failed. No operation of the rule book fits it: add one that says where V2 has it, or that it is gone.',
    ],
    [
      'all has been well since the modes were changed',
      (all) =>
        all
          .see(60, ON_V1)
          .see(240)
          .verdict({ ...MIGRATED, changedAt: START + 60_000 }),
      'good: All well for 4 minutes, since the modes were changed.',
    ],
    [
      'all has been well since a brownout, which came after a change of the modes',
      (all) => all.see(240).verdict({ ...rollout({ brownouts: [BROWNOUT] }), changedAt: START + 60_000 }),
      'good: All well for 2 minutes.',
    ],
    [
      'two requests failed an hour ago',
      (all) =>
        all
          .see(200)
          .see(2, FAILS)
          .see(60)
          .pass(60 * MINUTE)
          .see(1)
          .verdict(),
      'good: All well for 61 minutes.',
    ],
    [
      'an operation fails in a canary',
      (all) => {
        all.see(100, { ...ON_V1, mode: 'canary' });
        for (let round = 0; round < 7; round += 1)
          all.see(6, { ...ON_V1, mode: 'canary' }).see(1, { ...FAILS, client: ACME, mode: 'canary' });
        return all.verdict(stage('canary', 5));
      },
      'bad: order_floor_plan fails for acme: 7 of 7 requests sent to V2 since 2026-11-29T08:01:47.000Z. Before that, 0 of 106 failed.',
    ],
    [
      'a request failed slowly',
      (all) =>
        all
          .see(60)
          .see(6, { ...FAILS, client: ACME, totalMs: 30_000.4 })
          .verdict(MIGRATED),
      'bad: order_floor_plan fails for acme: 6 of 6 requests since 2026-11-29T08:00:31.000Z. Before that, 0 of 60 failed.',
    ],
    [
      'V2 is gone, and its requests fail slowly',
      (all) =>
        all
          .see(20)
          .see(10, { ...UNREACHABLE, totalMs: 10_000 })
          .verdict({ stats: { breaker: 'open', droppedLogLines: 0 } }),
      'bad: V2 has failed since 2026-11-29T08:00:11.000Z, so the circuit is open: requests to it get 503 until it responds to a probe. 10 of 30 requests to V2 failed in the last two minutes.',
    ],
    [
      'two requests failed slowly',
      (all) =>
        all
          .see(200)
          .see(2, { ...FAILS, totalMs: 30_000 })
          .see(3)
          .verdict(),
      'note: 2 new failures since 2026-11-29T08:02:51.000Z, in order_floor_plan. No operation fails clearly more often than before.',
    ],
    [
      'two requests have failed since everything was migrated a moment ago',
      (all) =>
        all
          .see(60, ON_V1)
          .see(60)
          .see(2, FAILS)
          .see(3)
          .verdict({ ...MIGRATED, changedAt: START + 60_000 }),
      'note: 2 new failures since 2026-11-29T08:02:01.000Z, in order_floor_plan. It is too early to say whether more fail than before.',
    ],
    [
      'every fifth request of a client has failed since everything was migrated a minute ago',
      (all) => {
        all.see(153, ON_V1);
        for (let round = 0; round < 8; round += 1)
          all.see(4, { client: ACME }).see(1, { ...REFUSED, client: ACME });
        return all.verdict({ ...MIGRATED, changedAt: START + 153_000 });
      },
      'bad: order_floor_plan is refused at times for acme: 8 of 36 requests since 2026-11-29T08:02:38.000Z; V2 responds 422. Before that, 0 of 157 failed.',
    ],
    [
      'one client of many always fails',
      (all) => {
        all.see(200);
        for (let round = 0; round < 5; round += 1)
          all.see(19, { client: OTHER }).see(1, { ...FAILS, client: ACME });
        return all.verdict();
      },
      'bad: order_floor_plan fails for acme: 5 of 5 requests since 2026-11-29T08:03:40.000Z. Before that, 0 of 219 requests of all clients failed.',
    ],
    [
      'two clients of many always fail',
      (all) => {
        all.see(200, { client: 'c'.repeat(16) });
        for (let round = 0; round < 5; round += 1)
          all
            .see(58, { client: 'c'.repeat(16) })
            .see(2, (at) => ({ ...FAILS, client: at === 0 ? ACME : OTHER }));
        return all.verdict();
      },
      'bad: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 10 of 10 requests since each began to fail, the first at 2026-11-29T08:04:19.000Z. Before that, 0 of 258 requests of all clients failed.',
    ],
    [
      'two clients of many failed, one after the other',
      (all) => {
        all.see(200, { client: 'c'.repeat(16) });
        for (let round = 0; round < 10; round += 1)
          all.see(59, { client: 'c'.repeat(16) }).see(1, { ...FAILS, client: round < 5 ? ACME : OTHER });
        return all.see(20, { client: ACME }).see(20, { client: OTHER }).see(130).verdict();
      },
      'good: All well for 3 minutes. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 10 of 10 requests from when each began to fail, the first at 2026-11-29T08:04:20.000Z, until each stopped, the last at 2026-11-29T08:13:20.000Z. Before that, 0 of 259 requests of all clients failed.',
    ],
    [
      'one client of many failed, and does not any more',
      (all) => {
        all.see(200);
        for (let round = 0; round < 5; round += 1)
          all.see(19, { client: OTHER }).see(1, { ...FAILS, client: ACME });
        return all.see(1, { client: ACME }).see(130).verdict();
      },
      'good: All well for 2 minutes. order_floor_plan failed for acme: 5 of 5 requests from 2026-11-29T08:03:40.000Z until 2026-11-29T08:05:00.000Z. Before that, 0 of 219 requests of all clients failed.',
    ],
    [
      'one client of many fails nine of ten requests',
      (all) => atTimes(all, (number) => number % 10 === 0).verdict(),
      'bad: order_floor_plan fails at times for acme: 27 of 29 requests since 2026-11-29T08:04:00.000Z. Before that, 0 of 239 requests of all clients failed.',
    ],
    [
      'one client of many fails once, and is well again',
      (all) => atTimes(all, (number) => number !== 3).verdict(),
      'good: For 13 minutes no operation has failed more than before. In the last hour 1 request failed.',
    ],
    [
      'one client fails as all did on V1',
      (all) =>
        atTimes(all.see(500, { ...ON_V1, ...FAILS, client: OTHER }), () => false)
          .pass(3 * MINUTE)
          .see(1, { client: OTHER })
          .verdict(MIGRATED),
      'note: 30 new failures since 2026-11-29T08:12:00.000Z, in order_floor_plan. No operation fails clearly more often than before.',
    ],
    [
      'a client fails, and was moved to V1 alone',
      (all) =>
        atTimes(all, () => false)
          .see(1, ON_V1)
          .verdict(),
      'note: order_floor_plan failed for acme: 30 of 30 requests from 2026-11-29T08:03:40.000Z until 2026-11-29T08:13:20.000Z. Before that, 0 of 219 requests of all clients failed.',
    ],
    [
      'clients failed with all others, and have not called since',
      (all) =>
        all
          .see(100)
          .see(20, FAILS)
          .see(60, { client: 'c'.repeat(16) })
          .verdict(),
      'good: All well for 1 minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 20 of 20 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:00.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'V2 is gone, and V1 has served the clients for a minute',
      (all) =>
        all
          .see(50)
          .see(30, UNREACHABLE)
          .see(60, ON_V1)
          .pass(MINUTE)
          .see(1, ON_V1)
          .verdict({ ...OBSERVED, stats: { breaker: 'open', droppedLogLines: 0 } }),
      'note: V2 failed when it was asked last, at 2026-11-29T08:01:20.000Z, so its circuit is still open. No request has gone to it since: V1 serves the clients now. It is not known whether V2 responds; the circuit closes with the first response.',
    ],
    [
      'an operation that failed, has been on V1 since, and has few requests there',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .see(20, { operation: 'create_client' })
          .verdict(rollout({ rollbacks: [], brownouts: [] })),
      'good: All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed. V1 serves it now.',
    ],
    [
      'V2 failed for all, and V1 has served since a moment ago',
      (all) => {
        for (const operation of ['a', 'b', 'c']) all.see(20, { operation }).see(3, { operation, ...FAILS });
        return all.see(3, { operation: 'a', ...ON_V1 }).verdict(OBSERVED);
      },
      'good: All well for less than a minute. V2 failed 9 of 49 requests from 2026-11-29T08:00:21.000Z until 2026-11-29T08:01:09.000Z; V1 has served since. V2 responded last at 2026-11-29T08:01:09.000Z, less than a minute ago.',
    ],
    [
      'V2 failed, failed once minutes later, and V1 has served since',
      (all) => {
        for (const operation of ['a', 'b', 'c']) all.see(20, { operation }).see(3, { operation, ...FAILS });
        return all
          .see(150, { operation: 'a' })
          .see(1, { operation: 'b', ...FAILS })
          .see(9, { operation: 'a' })
          .see(3, { operation: 'a', ...ON_V1 })
          .verdict(OBSERVED);
      },
      'good: All well for less than a minute. V2 failed 1 of 1 request at 2026-11-29T08:03:40.000Z; V1 has served since. V2 responded last at 2026-11-29T08:03:49.000Z, less than a minute ago.',
    ],
    [
      'a client failed, did well again, and has been on V1 since',
      (all) => {
        all.see(60);
        for (let round = 0; round < 6; round += 1)
          all.see(3, { client: OTHER }).see(1, { ...FAILS, client: ACME });
        return all.see(4, { client: ACME }).move(false).see(1, ON_V1).verdict(OBSERVED);
      },
      'good: All well for less than a minute. order_floor_plan failed for acme: 6 of 6 requests from 2026-11-29T08:01:04.000Z until 2026-11-29T08:01:24.000Z. Before that, 0 of 63 requests of all clients failed. V1 serves it now.',
    ],
    [
      'V2 failed for all requests, which then went to V1, and none has come since',
      (all) => all.see(9, { ...FAILS, operation: undefined }).verdict(OBSERVED),
      'good: All well for less than a minute. POST /orders/floor_plans failed for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests from 2026-11-29T08:00:01.000Z until 2026-11-29T08:00:09.000Z. Too little is known about the time before. V1 serves it now.',
    ],
    [
      'V2 was well, and V1 has served since',
      (all) => all.see(9).see(3, ON_V1).verdict(OBSERVED),
      'good: All well for less than a minute.',
    ],
    [
      'V2 is gone, and V1 has served since a moment ago',
      (all) =>
        all
          .see(50)
          .see(4, UNREACHABLE)
          .see(3, ON_V1)
          .verdict({ ...OBSERVED, stats: { breaker: 'open', droppedLogLines: 0 } }),
      'note: V2 failed when it was asked last, at 2026-11-29T08:00:54.000Z, so its circuit is still open. No request has gone to it since: V1 serves the clients now. It is not known whether V2 responds; the circuit closes with the first response.',
    ],
    [
      'the only operation that V2 failed is on V1, and the others are well',
      (all) =>
        all
          .see(20, { operation: 'create_client' })
          .see(100)
          .see(41, FAILS)
          .see(3, { operation: 'create_client' })
          .see(2, ON_V1)
          .verdict({
            rollout: { ...MIGRATED_ROLLOUT, operations: { order_floor_plan: OBSERVE } },
          }),
      'good: All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 41 of 41 requests from 2026-11-29T08:02:01.000Z until 2026-11-29T08:02:41.000Z. Before that, 0 of 100 failed. V1 serves it now.',
    ],
    [
      'an operation is on V1, and the others still fail',
      (all) =>
        all
          .see(9, { ...FAILS, operation: undefined })
          .see(9, ON_V1)
          .verdict({
            rollout: { ...MIGRATED_ROLLOUT, operations: { order_floor_plan: OBSERVE } },
          }),
      'bad: POST /orders/floor_plans fails for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests since 2026-11-29T08:00:01.000Z. Too little is known about the time before.',
    ],
    [
      'all is on V1, and V2 fails its own clients',
      (all) =>
        all
          .see(20, FAILS)
          .see(9, { ...FAILS, route: 'pass', operation: undefined })
          .verdict(OBSERVED),
      'bad: 9 of 9 requests to V2 failed in the last two minutes (apart from those that no longer go to V2). The last 9 all failed, since 2026-11-29T08:00:21.000Z.',
    ],
    [
      'a canary without a share asks V2 for nothing',
      (all) =>
        all
          .see(9, { ...FAILS, operation: undefined })
          .see(1, ON_V1)
          .verdict(stage('canary', 0)),
      'good: All well for less than a minute. POST /orders/floor_plans failed for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests from 2026-11-29T08:00:01.000Z until 2026-11-29T08:00:09.000Z. Too little is known about the time before. V1 serves it now.',
    ],
    [
      'a canary with a share asks V2 still',
      (all) =>
        all
          .see(9, { ...FAILS, operation: undefined })
          .see(1, ON_V1)
          .verdict(stage('canary', 5)),
      'bad: POST /orders/floor_plans fails for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests since 2026-11-29T08:00:01.000Z. Too little is known about the time before.',
    ],
    [
      'V1 failed, and everything has been migrated since',
      (all) =>
        all
          .see(9, { ...ON_V1, status: 502, failure: 'upstream-unreachable' })
          .see(3)
          .verdict(MIGRATED),
      'good: All well for less than a minute. V1 did not respond to 9 requests from 2026-11-29T08:00:01.000Z until 2026-11-29T08:00:09.000Z; V2 has served since. It is not known whether V1 responds.',
    ],
    [
      'V1 failed, and still gets reads of verify',
      (all) =>
        all
          .see(9, { ...ON_V1, status: 502, failure: 'upstream-unreachable' })
          .see(3)
          .verdict(stage('verify', 5)),
      'bad: 9 of 9 requests to V1 failed in the last two minutes. The last 9 all failed, since 2026-11-29T08:00:01.000Z.',
    ],
    [
      'V2 failed until the end of V1',
      (all) =>
        all
          .see(9, { ...FAILS, operation: undefined })
          .see(9, { status: 410, failure: 'sunset', verdict: 'refused' })
          .verdict(
            rollout({
              default: { mode: 'migrate', from: 'operator' },
              sunset: '2026-11-29T08:00:10.000Z',
              gone: {},
            }),
          ),
      'good: V1 ended on 2026-11-29T08:00:10.000Z: V1 requests get 410, on purpose. The gateway has refused 9 requests of 2 clients since then. All well for less than a minute. POST /orders/floor_plans failed for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests from 2026-11-29T08:00:01.000Z until 2026-11-29T08:00:09.000Z. Too little is known about the time before.',
    ],
    [
      'V2 was gone for several operations that V1 serves now, with few requests since',
      (all) => {
        for (const operation of ['a', 'b']) all.see(30, { operation });
        for (const operation of ['a', 'b']) all.see(6, { ...UNREACHABLE, operation });
        return all
          .pass(5 * MINUTE)
          .see(2, { ...ON_V1, operation: 'a' })
          .verdict(OBSERVED);
      },
      'good: All well for 5 minutes. V2 did not respond to 12 requests from 2026-11-29T08:01:01.000Z until 2026-11-29T08:01:12.000Z. V1 serves them now. V2 responded last at 2026-11-29T08:01:00.000Z, 5 minutes ago; no request goes to it now.',
    ],
    [
      'an operation that failed an hour ago, and has been on V1 since',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .pass(60 * MINUTE)
          .see(1, ON_V1)
          .verdict(OBSERVED),
      'good: All well for 60 minutes.',
    ],
    [
      'refusals of several clients follow an outage',
      (all) => {
        all
          .see(500)
          .pass(20 * MINUTE)
          .see(100)
          .see(4, UNREACHABLE);
        for (const client of CALLERS) all.see(2).see(1, { ...REFUSED, client });
        return all.verdict();
      },
      'bad: order_floor_plan is refused at times for acme and bbbbbbbbbbbbbbbb: 14 of 40 requests since 2026-11-29T08:30:07.000Z; V2 responds 422. Before that, 0 of 602 failed.',
    ],
    [
      'V2 was gone for all, and is back',
      (all) => {
        for (const operation of ['a', 'b', 'c']) all.see(100, { operation });
        for (const operation of ['a', 'b', 'c']) all.see(10, { ...UNREACHABLE, operation });
        for (const operation of ['a', 'b', 'c']) all.see(50, { operation });
        return all.verdict();
      },
      'good: All well for 3 minutes. V2 did not respond to 30 requests from 2026-11-29T08:05:01.000Z until 2026-11-29T08:05:30.000Z.',
    ],
    [
      'V2 was gone, also for an operation that always failed at times',
      (all) => {
        const atTimes = (times: number): void => {
          for (let time = 0; time < times; time += 1)
            all.see(1, { ...FAILS, operation: 'a' }).see(5, { operation: 'a' });
        };
        atTimes(30);
        all.see(100, { operation: 'b' });
        for (const operation of ['a', 'b']) all.see(10, { ...UNREACHABLE, operation });
        atTimes(10);
        return all
          .see(50, { operation: 'b' })
          .pass(3 * MINUTE)
          .see(1, { operation: 'b' })
          .verdict();
      },
      'note: 40 new failures since 2026-11-29T08:00:01.000Z, in a. No operation fails clearly more often than before. V2 did not respond to 20 requests from 2026-11-29T08:04:41.000Z until 2026-11-29T08:05:00.000Z.',
    ],
    [
      'some requests fail as ever',
      (all) =>
        all
          .see(100)
          .see(1, FAILS)
          .see(100)
          .pass(3 * MINUTE)
          .see(1)
          .verdict(),
      'good: For 6 minutes no operation has failed more than before. In the last hour 1 request failed.',
    ],
    [
      'one operation fails now, and another one did before',
      (all) => {
        all.see(100).see(25, FAILS).see(40);
        all.see(500, { operation: 'create_client' }).pass(20 * MINUTE);
        for (const client of CALLERS)
          all
            .see(3, { operation: 'create_client' })
            .see(1, { ...REFUSED, operation: 'create_client', client });
        return all.verdict();
      },
      'bad: create_client is refused at times for acme and bbbbbbbbbbbbbbbb: 14 of 53 requests since 2026-11-29T08:31:09.000Z; V2 responds 422. Before that, 0 of 503 failed.',
    ],
    [
      'V1 is gone in observe',
      (all) =>
        all
          .see(10, ON_V1)
          .see(10, { ...ON_V1, status: 502, failure: 'upstream-unreachable' })
          .verdict({ ...rollout({ rollbacks: [], brownouts: [] }) }),
      'bad: 10 of 20 requests to V1 failed in the last two minutes. The last 10 all failed, since 2026-11-29T08:00:11.000Z.',
    ],
    [
      'a canary that was rolled back',
      (all) =>
        all.see(20).verdict(
          rollout({
            rollbacks: [
              {
                at: '2026-11-29T08:00:10.000Z',
                share: 10,
                operation: 'order_floor_plan',
                target: 'order_floor_plan',
                migrated: { requests: 26, failures: 9 },
                v1: { requests: 12, failures: 0 },
              },
            ],
            brownouts: [],
          }),
        ),
      'bad: The canary of order_floor_plan of 10 % was rolled back at 2026-11-29T08:00:10.000Z: 9 of 26 compared requests failed on V2, 0 of 12 on V1. V1 responds until an operator chooses a mode.',
    ],
    [
      'all well at several replicas',
      (all) =>
        all
          .see(60)
          .pass(3 * DAY)
          .verdict({
            ...rollout({ replica: { name: 'b', waiting: 0, replicas: 3 }, brownouts: [], rollbacks: [] }),
            fleet: {
              replicas: 3,
              broken: { v1: 0, v2: 0 },
              ruleBooks: ['a'],
              ruleBookSince: START,
              silent: [],
            },
          }),
      'good: All well for 3 days at 3 replicas.',
    ],
    [
      'an operation that was rolled back, and has been served by V1 since',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .pass(3 * MINUTE)
          .see(20, ON_V1)
          .verdict(),
      'good: All well for 3 minutes. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation that the gateway rolled back by itself',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .pass(3 * MINUTE)
          .see(20, ON_V1)
          .verdict({
            ...rollout({ rollbacks: [], brownouts: [] }),
            rolledBack: [
              {
                operation: 'order_floor_plan',
                at: '2026-11-29T08:02:00.000Z',
                why: '12 of 12 migrated requests failed, 0 of 100 before',
              },
            ],
          }),
      'bad: order_floor_plan was rolled back to V1 at 2026-11-29T08:02:00.000Z: 12 of 12 migrated requests failed, 0 of 100 before. V1 responds until an operator chooses a mode.',
    ],
    [
      'a brownout under way',
      (all) =>
        all
          .see(20)
          .see(20, { status: 503, failure: 'brownout', verdict: 'refused' })
          .verdict(
            rollout({ brownouts: [{ id: 'first', state: 'on', share: 100, status: 503 }], rollbacks: [] }),
          ),
      'note: The brownout first responds to 100 % of its V1 requests with 503, on purpose.',
    ],
    [
      'an operation fails in a brownout',
      (all) =>
        all
          .see(100)
          .see(20, { status: 503, failure: 'brownout', verdict: 'refused', note: 'first' })
          .see(9, FAILS)
          .verdict(
            rollout({
              ...MIGRATED_ROLLOUT,
              brownouts: [
                { id: 'first', state: 'on', share: 40, status: 503, from: '2026-11-29T08:01:40.000Z' },
              ],
              rollbacks: [],
            }),
          ),
      'bad: The brownout first responds to 40 % of its V1 requests with 503, on purpose. It has refused 20 requests of 2 clients so far. order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests since 2026-11-29T08:02:01.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'after the end of V1',
      (all) =>
        all
          .see(20)
          .see(20, { status: 410, failure: 'sunset', verdict: 'refused' })
          .verdict(rollout({ sunset: '2026-11-01T00:00:00.000Z', gone: {}, brownouts: [], rollbacks: [] })),
      'good: V1 ended on 2026-11-01T00:00:00.000Z: V1 requests get 410, on purpose. The gateway has refused 20 requests of 2 clients since the restart at 2026-11-29T08:00:00.000Z. All well for less than a minute.',
    ],
    [
      'the store is slow for some seconds',
      (all) => all.see(9).verdict(rollout({ replica: ALONE })),
      'note: b has not reached the store since 2026-11-29T08:00:00.000Z (ECONNREFUSED): it does not learn of newer choices, and counts only its own requests.',
    ],
    [
      'the store comes and goes',
      (all) =>
        all.see(9).verdict(
          rollout({
            replica: {
              name: 'b',
              waiting: 0,
              unsteady: { since: '2026-11-29T07:55:00.000Z', times: 3, reason: 'ETIMEDOUT' },
            },
          }),
        ),
      'note: The store comes and goes since 2026-11-29T07:55:00.000Z: b has lost it 3 times (ETIMEDOUT), and learns of newer choices late.',
    ],
    [
      'the store is lost while an operation fails at times',
      (all) =>
        all
          .see(500)
          .pass(20 * MINUTE)
          .see(40)
          .see(6, REFUSED)
          .see(9)
          .verdict(rollout({ default: { mode: 'migrate', from: 'operator' }, replica: ALONE })),
      'bad: order_floor_plan is refused at times for acme and bbbbbbbbbbbbbbbb: 6 of 15 requests since 2026-11-29T08:29:01.000Z; V2 responds 422. Before that, 0 of 540 failed. Also: Store unreachable.',
    ],
    [
      'the store is lost',
      (all) =>
        all.see(60).verdict(
          rollout({
            replica: {
              name: 'b',
              waiting: 0,
              aloneSince: '2026-11-29T08:00:00.000Z',
              aloneReason: 'ECONNREFUSED',
            },
            brownouts: [],
            rollbacks: [],
          }),
        ),
      'bad: b has not reached the store since 2026-11-29T08:00:00.000Z (ECONNREFUSED): it does not learn of newer choices, and counts only its own requests.',
    ],
    [
      'a certificate is about to end',
      (all) =>
        all.see(20).verdict({
          stats: {
            breaker: 'closed',
            droppedLogLines: 0,
            certificates: [{ use: 'clients', notAfter: START + 3 * DAY + MINUTE }],
          },
        }),
      'note: The certificate for clients ends at 2026-12-02T08:01:00.000Z, in 3 days; renew its file, and the running gateway reads it again.',
    ],
    [
      'the rule book was refused',
      (all) => all.see(20).verdict({ refusal: { faults: 2, at: START } }),
      'bad: The rule book on disk has 2 faults and was refused; the one before it, 0123456789abcdef, stays in force.',
    ],
    [
      'a fault that is over',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .see(40)
          .pass(10 * MINUTE)
          .see(5)
          .verdict(),
      'good: All well for 11 minutes. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed, was rolled back to V1, and went forward a moment ago',
      (all) => all.see(100).see(25, FAILS).see(30, ON_V1).see(5).verdict(),
      'note: order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed, was rolled back to V1, and V2 has responded well to it since',
      (all) => all.see(100).see(25, FAILS).see(30, ON_V1).see(20).verdict(),
      'good: All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed, was rolled back to V1, and V2 has responded to the few requests of ten minutes since',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .see(30, ON_V1)
          .see(2)
          .pass(10 * MINUTE)
          .see(1)
          .verdict(),
      'good: All well for 11 minutes. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed until the end of V1',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .verdict({
            ...rollout({ sunset: '2026-11-29T08:02:05.000Z', gone: {}, brownouts: [], rollbacks: [] }),
            isAsked: () => false,
          }),
      'good: V1 ended on 2026-11-29T08:02:05.000Z: V1 requests get 410, on purpose. All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed until the end of V1, which spares another client',
      (all) =>
        all.see(100).see(25, FAILS).see(1, { client: SPARED }).verdict(endedExcept('globex', '08:02:05')),
      'good: V1 ended on 2026-11-29T08:02:05.000Z: V1 requests get 410, on purpose, except those of globex. All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation fails for a client that the end of V1 spares',
      (all) => all.see(100).see(25, FAILS).verdict(endedExcept('acme', '08:02:05')),
      'bad: V1 ended on 2026-11-29T08:02:05.000Z: V1 requests get 410, on purpose, except those of acme. order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests since 2026-11-29T08:01:41.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed until its own end',
      (all) => {
        const sunset = '2026-11-29T08:02:05.000Z';
        const ends = [{ kind: 'operation', id: 'order_floor_plan', sunset, gone: {} }] as const;
        return all
          .see(100)
          .see(25, FAILS)
          .verdict({ rollout: { ...MIGRATED_ROLLOUT, ends } });
      },
      'good: All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'several faults are over, the one with the most failures not the last',
      (all) =>
        all
          .see(100, { operation: 'create_client' })
          .see(100)
          .see(40, { ...FAILS, operation: 'create_client' })
          .see(25, FAILS)
          .pass(3 * MINUTE)
          .see(5, ON_V1)
          .verdict(OBSERVED),
      'good: All well for 3 minutes. create_client failed for acme and bbbbbbbbbbbbbbbb: 40 of 40 requests from 2026-11-29T08:03:21.000Z until 2026-11-29T08:04:00.000Z. Before that, 0 of 100 failed. V1 serves it now.',
    ],
    [
      'an operation failed, went back and forward, and nobody has called it for two minutes',
      (all) =>
        all
          .see(50)
          .see(30, FAILS)
          .move(false)
          .see(10, ON_V1)
          .move(true)
          .see(120, { operation: 'read_client' })
          .verdict(backAndForth(80_500, 90_500)),
      'good: All well for 2 minutes. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 30 of 30 requests from 2026-11-29T08:00:51.000Z until 2026-11-29T08:01:20.000Z. Before that, 0 of 50 failed.',
    ],
    [
      'a fault that is over, after the end of V1',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .see(40)
          .see(2, { status: 410, failure: 'sunset', verdict: 'refused' })
          .verdict(rollout({ sunset: '2026-11-29T08:02:45.000Z', gone: {}, brownouts: [], rollbacks: [] })),
      'good: V1 ended on 2026-11-29T08:02:45.000Z: V1 requests get 410, on purpose. The gateway has refused 2 requests of 2 clients since then. All well for less than a minute. order_floor_plan failed for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests from 2026-11-29T08:01:41.000Z until 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'an operation failed, V1 and V2 have served it well in turns, and an outage of V2 came after that',
      (all) => {
        for (const operation of ['a', 'b']) all.see(100, { operation });
        all.see(25, { ...FAILS, operation: 'a' });
        for (let turn = 0; turn < 11; turn += 1)
          all.see(1, { ...ON_V1, operation: 'a' }).see(1, { operation: 'a' });
        for (const operation of ['a', 'b']) all.see(10, { ...UNREACHABLE, operation });
        for (const operation of ['a', 'b']) all.see(30, { operation });
        return all.verdict();
      },
      `good: All well for 1 minute. a failed for acme and ${OTHER}: 25 of 25 requests from 2026-11-29T08:03:21.000Z until 2026-11-29T08:03:45.000Z. Before that, 0 of 100 failed.`,
    ],
    [
      'a fault that has been over for an hour',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .see(40)
          .pass(61 * MINUTE)
          .see(5)
          .verdict(),
      'good: All well for 62 minutes.',
    ],
    [
      'a fault without a sign of its end, hours later',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .pass(120 * MINUTE)
          .see(5, { operation: 'read_client' })
          .verdict(),
      'note: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 25 of 25 requests since 2026-11-29T08:01:41.000Z, the last failure at 2026-11-29T08:02:05.000Z. Before that, 0 of 100 failed.',
    ],
    [
      'a fault without a sign of its end, days later',
      (all) =>
        all
          .see(100)
          .see(25, FAILS)
          .pass(2 * DAY)
          .see(5, { operation: 'read_client' })
          .verdict(),
      'good: All well for 2 days.',
    ],
    [
      'two conditions of one kind',
      (all) =>
        all
          .see(200, { operation: 'read_client' })
          .see(9, FAILS)
          .see(200, { operation: 'read_client' })
          .see(9, { ...FAILS, operation: 'create_client' })
          .see(60, { operation: 'read_client' })
          .verdict(),
      'bad: order_floor_plan fails for acme and bbbbbbbbbbbbbbbb: 9 of 9 requests since 2026-11-29T08:03:21.000Z. Too little is known about the time before. Also: create_client fails for acme and bbbbbbbbbbbbbbbb.',
    ],
  ])('%s', (_, verdict, expected) => {
    const watched = new Watched();
    expect(verdict(watched)).toBe(expected);
    // The command prints the same sentence first.
    const [level, sentence] = [
      expected.slice(0, expected.indexOf(':')),
      expected.slice(expected.indexOf(':') + 2),
    ];
    expect(watched.told?.verdict).toMatchObject({ level, sentence });
    const told = watched.told ?? expect.fail('told');
    const text = statusText(told, undefined);
    expect(text.split('\n')[0]).toBe(sentence);
    for (const condition of told.conditions) expect(text.split(condition.sentence).length).toBeLessThan(3);
    // A view that shows all conditions says nothing twice: what follows the verdict's own words is of them.
    const { own } = told.verdict;
    const rest = sentence.slice(own.length);
    expect(own + rest).toBe(sentence);
    if (!rest.startsWith(' Also: '))
      expect(['', ...told.conditions.map((one) => ` ${one.sentence}`)]).toContain(rest);
  });

  test.each<[what: string, verdict: (watched: Watched) => Verdict, since: string | undefined]>([
    ['all well', (all) => all.see(9).judged(), '2026-11-29T08:00:00.000Z'],
    [
      'V2 is gone',
      (all) =>
        all
          .see(20)
          .see(10, { status: 502, failure: 'upstream-unreachable', verdict: 'refused' })
          .judged({ stats: { breaker: 'open', droppedLogLines: 0 } }),
      '2026-11-29T08:00:21.000Z',
    ],
    ['an operation fails', (all) => all.see(100).see(9, FAILS).judged(), '2026-11-29T08:01:41.000Z'],
    [
      'the rule book was refused',
      (all) => all.see(9).judged({ refusal: { faults: 1, at: START } }),
      '2026-11-29T08:00:00.000Z',
    ],
    ['nothing was seen', (all) => all.judged(), undefined],
  ])('says since when: %s', (_, verdict, since) => {
    expect(verdict(new Watched()).since).toBe(since);
  });

  // One client among a thousand whose requests always fail is known to V1 in the same way.
  test('ignores refusals of requests that V1 would refuse as well', () => {
    const watched = new Watched();
    for (let round = 0; round < 50; round += 1) watched.see(19).see(1, { status: 404, client: OTHER });
    expect(watched.verdict()).toMatch(/^good/);
  });

  test.each<[what: string, more: Partial<ConditionFacts>, action: string | undefined, target?: string]>([
    ['all is migrated', MIGRATED, 'Send everything to V1'],
    [
      'an operation has its own mode',
      rollout({
        ...MIGRATED.rollout,
        operations: { create_client: { mode: 'migrate', from: 'operator' } },
      }),
      'Send everything but create_client to V1',
    ],
    [
      'an operation alone still goes to V2',
      rollout({ operations: { order_floor_plan: { mode: 'canary', share: 40, from: 'operator' } } }),
      'Send order_floor_plan to V1',
      ' --operation order_floor_plan',
    ],
    [
      'a client alone still goes to V2',
      rollout({ clients: { [OTHER]: { mode: 'migrate', from: 'operator', name: 'globex' } } }),
      `Send the client ${OTHER} to V1`,
      ` --client ${OTHER}`,
    ],
    ['V1 serves all', rollout({ rollbacks: [], brownouts: [] }), undefined],
    ['there is no V1', { rollout: WITHOUT_V1 }, undefined],
  ])('names the remedy while V2 fails: %s', (_, more, title, target = '') => {
    const watched = new Watched().see(20).see(10, UNREACHABLE);
    const { action } = watched.judged({ ...more, stats: { breaker: 'open', droppedLogLines: 0 } });
    expect(action?.title).toBe(title);
    const lines = statusText(watched.told ?? expect.fail('told'), undefined).split('\n');
    if (title !== undefined) expect(lines[1]).toBe(`${title}: capture-gateway rollout observe${target}`);
  });

  test.each<[mode: Mode, title: string]>([
    [{ mode: 'observe' }, 'Send order_floor_plan to V1'],
    [{ mode: 'shadow' }, 'Send order_floor_plan to V1 in shadow'],
  ])(
    'names the remedy for the trouble of an operation, with the title of its confirmation: %j',
    (mode, title) => {
      const watched = new Watched().see(100).see(25, FAILS);
      const { action, since } = watched.judged({ ...MIGRATED, modeOnV1: () => mode });
      expect({ action, since }).toEqual({
        action: { title, request: { ...mode, operation: 'order_floor_plan' } },
        since: '2026-11-29T08:01:41.000Z',
      });
      const { request } = action ?? expect.fail('no action');
      const confirmation = rolloutEffect(request, MIGRATED_ROLLOUT, {
        clients: [],
        omittedClients: 0,
      });
      expect(confirmation.title).toBe(title);
    },
  );

  test.each([
    ['an operation', (all: Watched) => all.see(100).see(25, FAILS), 'closed'],
    ['V2', (all: Watched) => all.see(20).see(10, UNREACHABLE), 'open'],
  ] as const)('names no remedy after the end of V1: %s', (_, see, breaker) => {
    const gone = { sunset: '2026-11-29T08:00:00.000Z', gone: {} };
    const all = see(new Watched());
    const { action } = all.judged({
      rollout: { ...MIGRATED_ROLLOUT, ...gone },
      stats: { breaker, droppedLogLines: 0 },
      modeOnV1: () => BACK,
    });
    expect([action, all.told?.conditions.flatMap((one) => one.action ?? [])]).toEqual([undefined, []]);
  });

  test('names no remedy for an operation that V1 serves, but for the client that fails in its own mode', () => {
    const watched = new Watched().see(100).see(25, { ...FAILS, client: OTHER });
    expect(watched.judged({ ...MIGRATED, modeOnV1: () => undefined }).action).toBeUndefined();
    const clients = { [OTHER]: { mode: 'migrate', from: 'operator' } } as const;
    expect(watched.judged({ ...rollout({ clients }), modeOnV1: () => undefined }).action).toEqual({
      title: `Send the client ${OTHER} to V1`,
      request: { mode: 'observe', client: OTHER },
    });
  });
});
