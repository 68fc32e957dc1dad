import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EntriesPage, ProblemsScreen, ProblemsView } from '../../src/inspector/api.ts';
import { type Problem, type ProblemsData, ProblemTally } from '../../src/inspector/problems.ts';
import { beganAt, type Entry } from '../../src/rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import type { IsAsked } from '../../src/rewrite-log/history.ts';
import { inspected } from '../support/inspected.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { ACME, OTHER, WATCH_START, WatchedTraffic } from '../support/watched-traffic.ts';

const START = WATCH_START;
const [MINUTE, HOUR] = [60_000, 3_600_000];

/** A gateway whose problems are asked for while time passes. */
class Watched extends WatchedTraffic {
  private readonly tallies: ProblemTally[];
  private message: string | undefined;

  constructor() {
    const tallies = [new ProblemTally()];
    super((entry, time, answer) =>
      tallies.at(-1)?.add(entry, time, answer, () => this.message, beganAt(entry, time)),
    );
    this.tallies = tallies;
  }

  /** So many exchanges, a second apart. */
  override see(requests: number, facts: Partial<Entry> = {}, message?: string): this {
    this.message = message;
    return super.see(requests, facts);
  }

  /** The gateway starts again; it has not read its log. */
  restart(): this {
    this.tallies.push(new ProblemTally());
    return this;
  }

  /** It reads what its log says of the run before. */
  read(): this {
    const [before, now] = this.tallies.splice(-2);
    if (before === undefined || now === undefined) throw new Error('it was not restarted');
    now.learn(JSON.parse(JSON.stringify(before.data)) as ProblemsData);
    this.tallies.push(now);
    return this;
  }

  /** All operations go to V2, or back to V1. */
  move(isToV2: boolean): this {
    this.tallies.at(-1)?.move(() => isToV2, this.now);
    return this;
  }

  get problems(): readonly Problem[] {
    return this.where(() => true);
  }

  /** The problems while services are asked for these calls alone. */
  where(isAsked: IsAsked): readonly Problem[] {
    return this.tallies.at(-1)?.view(this.now, START, new Map(), isAsked).problems ?? [];
  }

  get states(): readonly string[] {
    return this.problems.map(({ state, count, status }) => `${state}: ${count} of ${status}`);
  }
}

const V1 = { origin: 'v1', mode: 'observe' } as const;

test('responses of V1 after a roll-back do not end a problem of V2, and those of V2 do not end one of V1', () => {
  const onV1 = { origin: 'v1', mode: 'observe', verdict: 'passed' } as const;
  const states = (all: Watched, service: 'v1' | 'v2'): readonly string[] =>
    all.where((asked) => asked === service).map(({ state }) => state);
  const all = new Watched().see(20).see(9, { status: 500 }).move(false).see(60, onV1);
  expect(states(all, 'v1')).toEqual(['off-v2']);
  expect(states(all.move(true).see(60), 'v2')).toEqual(['over']);
  const back = new Watched()
    .see(20, onV1)
    .see(9, { ...onV1, status: 500 })
    .see(60);
  expect(states(back, 'v2')).toEqual(['off-v1']);
});

test('problems that go on keep their order, whichever failed last', () => {
  const all = new Watched().see(20).see(1, { status: 500 });
  const codes = (): readonly number[] => all.problems.map(({ status }) => status);
  all.see(1, { status: 502 });
  expect(codes()).toEqual([502, 500]);
  all.see(1, { status: 500 });
  expect(codes()).toEqual([502, 500]);
});

test('failures after a way back to V1 and forward again are another incident, however soon', () => {
  const v1 = { origin: 'v1', mode: 'observe' } as const;
  const all = new Watched().see(9).see(5, { status: 500 }).see(3);
  // V2 was asked all the time.
  const later = all.move(true).see(1, { status: 500 });
  expect(later.states).toEqual(['new: 6 of 500']);
  const [before] = later.problems;
  // It was under way when V1 took over.
  expect(later.move(false).see(1, { status: 500, totalMs: 5000 }).states).toEqual(['new: 7 of 500']);
  const [after, ...others] = later.see(9, v1).move(true).see(4, { status: 500 }).problems;
  expect(others).toEqual([]);
  expect([after?.state, after?.count, after?.firstSeen]).toEqual(['again', 11, before?.firstSeen]);
  expect(Date.parse(after?.since ?? '')).toBeGreaterThan(Date.parse(before?.lastSeen ?? ''));
});

test.each<[what: string, restarted: (all: Watched) => Watched]>([
  ['before the way back', (all) => all.restart().move(false).see(9, V1).move(true)],
  ['on V1', (all) => all.move(false).see(5, V1).restart().see(4, V1).move(true)],
  ['after the way forward', (all) => all.move(false).see(9, V1).move(true).restart()],
])('after a restart %s, failures are another incident as well', (_, restarted) => {
  const before = new Watched().see(9).see(5, { status: 500 });
  const [first] = before.problems;
  for (const read of [
    (all: Watched) => all.read().see(4, { status: 500 }),
    (all: Watched) => all.see(4, { status: 500 }).read(),
  ]) {
    const all = read(restarted(new Watched().see(9).see(5, { status: 500 })));
    const [after, ...others] = all.problems;
    expect(others).toEqual([]);
    expect([after?.state, after?.count, after?.firstSeen]).toEqual(['again', 9, first?.firstSeen]);
    expect(Date.parse(after?.since ?? '')).toBeGreaterThan(Date.parse(first?.lastSeen ?? ''));
  }
});

describe('a problem', () => {
  test('has operation, status, place, message, times, clients and a trend', () => {
    const watched = new Watched()
      .see(2, { status: 422, errorPointers: ['/name', '/zip'] }, 'name 17 is taken')
      .pass(5 * MINUTE)
      .see(1, { status: 422, errorPointers: ['/name'], client: OTHER }, 'name 18 is taken');
    const [problem] = watched.problems;
    expect(watched.problems).toHaveLength(1);
    expect(problem).toMatchObject({
      operation: 'order_floor_plan',
      by: 'v2',
      status: 422,
      pointer: '/name',
      message: 'name # is taken',
      example: 'name 17 is taken',
      severity: 'refusal',
      state: 'new',
      count: 3,
      clients: 2,
      firstSeen: '2026-11-29T08:00:01.000Z',
      since: '2026-11-29T08:00:01.000Z',
      lastSeen: '2026-11-29T08:05:03.000Z',
    });
    expect(problem?.trend.slice(-6)).toEqual([2, 0, 0, 0, 0, 1]);
    expect(problem?.trend).toHaveLength(60);
  });

  test.each<[what: string, facts: Partial<Entry>]>([
    ['a brownout', { status: 503, failure: 'brownout', verdict: 'refused' }],
    ['a client that left', { status: 0 }],
    ['a 404, which may be the client’s own', { status: 404 }],
    ['a failure under neither prefix', { status: 500, route: 'other', operation: undefined }],
  ])('is not: %s', (_, facts) => {
    expect(new Watched().see(9, facts).problems).toEqual([]);
  });

  test('is one for each operation, failing side, status, place and message; severe ones first, then the newest', () => {
    const watched = new Watched()
      .see(1, { status: 422, errorPointers: ['/a'] })
      .see(1, { status: 422, errorPointers: ['/b'] })
      .see(1, { status: 500 }, 'one')
      .see(1, { status: 500 }, 'another')
      .see(1, { status: 502, failure: 'upstream-unreachable', verdict: 'refused' })
      .see(1, { status: 500, operation: 'create_client' })
      .see(1, { status: 400, failure: 'malformed-json', verdict: 'refused' });
    expect(
      watched.problems.map(({ by, status, code, pointer, message }) =>
        [by, status, code, pointer, message].join(' ').trim(),
      ),
    ).toEqual([
      'v2 500',
      'gateway 502 upstream-unreachable',
      'v2 500   another',
      'v2 500   one',
      'gateway 400 malformed-json',
      'v2 422  /b',
      'v2 422  /a',
    ]);
  });

  test.each<[history: string, (watched: Watched) => Watched, states: readonly string[]]>([
    ['just began', (all) => all.see(3, { status: 500 }), ['new: 3 of 500']],
    [
      'goes on for an hour',
      (all) => all.see(1, { status: 500 }).pass(HOUR).see(1, { status: 500 }),
      ['lasting: 2 of 500'],
    ],
    ['stopped, with few responses since', (all) => all.see(3, { status: 500 }).see(5), ['new: 3 of 500']],
    ['stopped', (all) => all.see(3, { status: 500 }).see(20), ['over: 3 of 500']],
    ['stopped an hour ago', (all) => all.see(3, { status: 500 }).see(20).pass(HOUR), []],
    [
      'came back',
      (all) => all.see(3, { status: 500 }).see(20).pass(HOUR).see(1, { status: 500 }),
      ['again: 4 of 500'],
    ],
    ['was not called since', (all) => all.see(3, { status: 500 }).pass(5 * HOUR), ['lasting: 3 of 500']],
    ['was not called for a day', (all) => all.see(3, { status: 500 }).pass(25 * HOUR), []],
    [
      'is of one client among many',
      (all) => {
        for (let round = 0; round < 10; round += 1) all.see(1, { status: 500 }).see(50, { client: OTHER });
        return all;
      },
      ['new: 10 of 500'],
    ],
    [
      'is of another operation than the responses',
      (all) => all.see(3, { status: 500 }).see(50, { operation: 'create_client' }),
      ['new: 3 of 500'],
    ],
    [
      'is over beside one that still lasts',
      (all) => all.see(3, { status: 500 }).see(3, { status: 422, operation: 'create_client' }).see(30),
      ['new: 3 of 422', 'over: 3 of 500'],
    ],
  ])('that %s says so', (_, play, states) => {
    expect(play(new Watched()).states).toEqual(states);
  });

  test('names its only client, and no other', () => {
    const tally = new ProblemTally();
    const names = new Map([[ACME, 'acme']]);
    const failed = (client: string | undefined, n: number): void =>
      tally.add({ ...sampleEntry(1, 0), client, status: 500 }, n, 'failed');
    failed(ACME, 1);
    expect(tally.view(2, 0, names).problems[0]).toMatchObject({ client: ACME, name: 'acme', clients: 1 });
    failed(undefined, 3);
    expect(tally.view(4, 0, names).problems[0]).not.toHaveProperty('client');
  });

  test('of a call that no operation fits has its name and its filter, and says that clients have no key', () => {
    const lots = { operation: undefined, method: 'GET', path: '/api/v1/lots/17?page=…', client: undefined };
    const [problem] = new Watched()
      .see(9, { ...lots, origin: 'v1' })
      .see(3, { ...lots, status: 404 }).problems;
    expect(problem).toMatchObject({ call: 'GET /lots/*', count: 3, clients: 0, isKeyless: true });
    expect(problem?.filter).toBe('error:"v2-404 -" op:- method:GET path:/lots/');
    const down: Partial<Entry> = { status: 502, failure: 'upstream-unreachable', verdict: 'refused' };
    const [outage] = new Watched().see(2, down).see(1, { ...lots, ...down }).problems;
    expect(outage).toMatchObject({ operations: 1, hasOthers: true, clients: 1, isKeyless: true });
  });

  test('of a call that no operation fits gives its name back when it is over', () => {
    const all = new Watched();
    const miss = (path: string): void => {
      all.see(1, { operation: undefined, method: 'GET', path: `/api/v1/${path}`, status: 500 });
    };
    const calls = (): readonly (string | undefined)[] => all.problems.map(({ call }) => call);
    const letters = 'abcdefghij'.split('');
    for (const one of letters.slice(0, 5)) for (const other of letters) miss(`${one}${other}z`);
    miss('lots');
    expect(calls()).toContain('GET /abz');
    expect(calls()).not.toContain('GET /lots');
    // One that is over gives it to a failure alone.
    all.see(60, { operation: undefined, method: 'GET', path: '/api/v1/abz', status: 200 });
    const told = calls();
    all.see(1, { operation: undefined, method: 'GET', path: '/api/v1/well', status: 200 });
    expect(calls()).toEqual(told);
    all.pass(25 * HOUR);
    miss('streets');
    expect(calls()).toEqual(['GET /streets']);
  });

  test('of an unreachable service is one for all operations, says why, and is over once the service responds', () => {
    const away: Partial<Entry> = { status: 503, failure: 'circuit-open', verdict: 'refused', sent: false };
    const watched = new Watched();
    for (const operation of ['a', 'b', 'c'])
      watched.see(2, { ...away, operation, cause: 'ECONNREFUSED' }).see(1, { ...away, operation });
    const told = { service: 'v2', operations: 3, message: 'ECONNREFUSED', count: 9, code: 'circuit-open' };
    expect(watched.problems).toMatchObject([{ ...told, state: 'new' }]);
    const filter = parseFilter(watched.problems[0]?.filter ?? '');
    if (isFilterFault(filter)) throw new Error(JSON.stringify(filter));
    expect(watched.entries.filter((entry) => filter.accepts(entry))).toHaveLength(9);
    watched
      .restart()
      .see(1, { ...away, operation: 'd' })
      .read();
    expect(watched.problems).toMatchObject([{ ...told, operations: 4, count: 10 }]);
    // Responses of V1 say nothing of V2; any operation's of V2 do.
    watched.see(30, { operation: 'a', origin: 'v1' });
    expect(watched.states).toEqual(['new: 10 of 503']);
    watched.see(40, { operation: 'e' });
    expect(watched.states).toEqual(['over: 10 of 503']);
  });

  const open: Partial<Entry> = { status: 503, failure: 'circuit-open', verdict: 'refused', sent: false };
  const unreachable: Partial<Entry> = { status: 502, failure: 'upstream-unreachable', verdict: 'refused' };
  const late: Partial<Entry> = { status: 504, failure: 'upstream-timeout' };
  const closed: Partial<Entry> = { status: 502, failure: 'upstream-closed' };
  test.each<[name: string, play: (watched: Watched) => Watched, problems: readonly string[]]>([
    [
      'refused connections, and the circuit after them',
      (all) => all.see(5, unreachable).see(20, { ...open, operation: 'other' }),
      ['new: 25 of v2 for 2, circuit-open 20, upstream-unreachable 5'],
    ],
    [
      'timeouts before the circuit opens, and those of its probes',
      (all) => all.see(5, late).see(9, open).see(1, late).see(9, open),
      ['new: 24 of v2 for 1, circuit-open 18, upstream-timeout 6'],
    ],
    [
      'connections that were closed, of several operations',
      (all) =>
        all
          .see(2, closed)
          .see(2, { ...closed, operation: 'other' })
          .see(3, unreachable),
      ['new: 7 of v2 for 2, upstream-closed 4, upstream-unreachable 3'],
    ],
    [
      'a problem that is over',
      (all) => all.see(2, late).see(9, open).see(30, { operation: 'other' }),
      ['over: 11 of v2 for 1, circuit-open 9, upstream-timeout 2'],
    ],
    [
      'timeouts that had begun long before',
      (all) =>
        all
          .see(2, late)
          .pass(30 * MINUTE)
          .see(1, late)
          .see(9, { ...open, operation: 'other' }),
      ['new: 9 of v2 for 1, circuit-open 9', 'new: 3 of order_floor_plan upstream-timeout'],
    ],
    [
      'timeouts that go on after the outage',
      (all) =>
        all
          .see(9, open)
          .see(1, late)
          .see(30, { operation: 'other' })
          .pass(5 * MINUTE)
          .see(1, late),
      ['new: 2 of order_floor_plan upstream-timeout', 'over: 9 of v2 for 1, circuit-open 9'],
    ],
    [
      'timeouts alone, which do not show an outage',
      (all) => all.see(3, late).see(3, { ...late, operation: 'other' }),
      ['new: 3 of other upstream-timeout', 'new: 3 of order_floor_plan upstream-timeout'],
    ],
    [
      'the timeouts of the other service',
      (all) => all.see(3, { ...late, origin: 'v1' }).see(9, open),
      ['new: 9 of v2 for 1, circuit-open 9', 'new: 3 of order_floor_plan upstream-timeout'],
    ],
    [
      'both services, each by itself',
      (all) =>
        all
          .see(3, { ...unreachable, origin: 'v1' })
          .see(3, unreachable)
          .see(1, open),
      [
        'new: 4 of v2 for 1, upstream-unreachable 3, circuit-open 1',
        'new: 3 of v1 for 1, upstream-unreachable 3',
      ],
    ],
  ])('of an outage has its parts: %s', (_, play, problems) => {
    const told = play(new Watched()).problems;
    expect(
      told.map(({ state, count, service, operations, operation = '', code = '', parts = [] }) =>
        service === undefined
          ? `${state}: ${count} of ${operation} ${code}`
          : `${state}: ${count} of ${service} for ${operations}, ${parts.map((part) => `${part.code} ${part.count}`).join(', ')}`,
      ),
    ).toEqual(problems);
    for (const { count, parts } of told)
      expect(parts?.reduce((sum, part) => sum + part.count, 0) ?? count).toBe(count);
  });

  test.each<[what: string, play: (watched: Watched) => Watched, asked: readonly string[], told: string[]]>([
    [
      'V2 failed, and still gets requests',
      (all) => all.see(3, { status: 500 }),
      ['v2 order_floor_plan'],
      ['new'],
    ],
    [
      'V2 failed, and V1 serves now',
      (all) => all.see(3, { status: 500 }),
      ['v1 order_floor_plan'],
      ['off-v2'],
    ],
    ['V2 did not respond', (all) => all.see(3, late), [], ['off-v2']],
    ['V1 failed, and V2 serves now', (all) => all.see(3, { status: 500, origin: 'v1' }), [], ['off-v1']],
    [
      'the gateway refused, which it may do for any service',
      (all) => all.see(3, { status: 400, failure: 'malformed-json', verdict: 'refused' }),
      [],
      ['new'],
    ],
    [
      'in an outage, and V2 still gets requests for one of its operations',
      (all) => all.see(3, open).see(1, { ...open, operation: 'other' }),
      ['v2 other'],
      ['new'],
    ],
    ['in an outage', (all) => all.see(3, open).see(1, { ...open, operation: undefined }), [], ['off-v2']],
    [
      'in an outage that V2’s own clients met as well',
      (all) => all.see(3, open).see(1, { ...open, route: 'pass', operation: undefined }),
      [],
      ['new'],
    ],
    ['V2 failed an hour ago', (all) => all.see(3, { status: 500 }).pass(HOUR), ['v1 order_floor_plan'], []],
  ])(
    'has ended, which does not show that it is over, if the service gets no more requests: %s',
    (_, play, asked, states) => {
      const watched = play(new Watched());
      const told = watched.where((service, call) => asked.includes(`${service} ${call}`));
      expect(told.map(({ state }) => state)).toEqual(states);
      for (const { until, lastSeen } of told) if (until !== undefined) expect(until).toBe(lastSeen);
    },
  );

  test('that a roll-back ended is over once its service has responded again', () => {
    const watched = new Watched().see(9, open).pass(MINUTE);
    const forth = watched.now;
    const states = (): readonly string[] =>
      watched.where((_service, _call, at = forth) => at >= forth).map(({ state }) => state);
    expect(states()).toEqual(['off-v2']);
    expect(watched.see(3, { status: 201 }) && states()).toEqual(['off-v2']);
    expect(watched.see(20, { status: 201 }) && states()).toEqual(['over']);
    expect(watched.see(1, open) && states()).toEqual(['new']);
  });

  test('of an outage ended with its last failure, even if the service was asked again much later', () => {
    const [problem] = new Watched()
      .see(9, open)
      .pass(5 * MINUTE)
      .see(30, { status: 201 }).problems;
    expect(problem).toMatchObject({ state: 'over', until: problem?.lastSeen });
  });

  test('of an outage outlives a restart with its parts', () => {
    const [problem] = new Watched().see(3, late).see(5, open).restart().see(2, open).read().problems;
    expect(problem).toMatchObject({ count: 10, parts: [{ code: 'circuit-open', count: 7 }, { count: 3 }] });
  });

  test('says when it was over', () => {
    const [problem] = new Watched().see(1, { status: 500 }).pass(MINUTE).see(30).problems;
    expect(problem?.until).toBe('2026-11-29T08:01:02.000Z');
  });

  test.each<Partial<Entry>>([
    { status: 500 },
    { status: 422, errorPointers: ['/name'] },
    { status: 504, failure: 'upstream-timeout' },
    { status: 400, failure: 'wrapper-not-object', verdict: 'refused', pointer: '/data' },
    { status: 200, failure: 'upstream-broken', incomplete: true },
    { status: 500, operation: undefined },
  ])('finds its exchanges, and no others: %j', (facts) => {
    const watched = new Watched()
      .see(1, facts)
      .see(1)
      .see(1, { ...facts, operation: 'create_client' });
    const filter = parseFilter(
      watched.problems.find(
        ({ operation }) => operation === ('operation' in facts ? facts.operation : 'order_floor_plan'),
      )?.filter ?? '',
    );
    if (isFilterFault(filter)) throw new Error(JSON.stringify(filter));
    expect(watched.entries.map((entry) => filter.accepts(entry))).toEqual([true, false, false]);
  });

  test('counts failures that it has no room for, and drops problems that are over', () => {
    const tally = new ProblemTally();
    const failed = (n: number): void =>
      tally.add({ ...sampleEntry(1, 0), operation: `operation_${n}`, status: 500 }, n, 'failed');
    for (let n = 0; n < 310; n += 1) failed(n);
    expect([tally.view(400, 0).problems.length, tally.view(400, 0).omitted]).toEqual([300, 10]);
    for (let n = 0; n < 20; n += 1)
      tally.add({ ...sampleEntry(1, 0), operation: 'operation_7', status: 201 }, 500, 'well');
    failed(400);
    expect(tally.view(600, 0).omitted).toBe(10);
  });
});

describe('with a filter', () => {
  test('problems and errors are those of the exchanges that match, and say how many each has', async () => {
    const gateway = await inspected(
      {},
      '{"errors":[{"source":{"pointer":"/data/name"}}]}',
      undefined,
      undefined,
      422,
    );
    const send = (key: string, body: string): Promise<number> =>
      gateway.post('/clients', body, { authorization: `Bearer ${key}` });
    for (const key of ['one', 'one', 'two']) await send(key, '{"data":{"name":"A"}}');
    await send('one', '{"data":');
    await gateway.entry(3);
    const { entries } = await gateway.readJson<EntriesPage>('/entries');
    const second = entries.at(-1)?.time.slice(0, 19) ?? '';
    const client = entries.at(-1)?.client ?? '';
    const told = async (filter: string): Promise<readonly (readonly string[])[]> => {
      const query = `filter=${encodeURIComponent(filter)}`;
      const { problems, errorGroups } = await gateway.readJson<ProblemsScreen>(`/problems?${query}`);
      return [
        problems.map(({ code, status, count, matching }) => `${code ?? status}: ${matching} of ${count}`),
        errorGroups.groups.map(({ error, count }) => `${error.code}: ${count}`),
      ];
    };
    expect(await told(`client:${client}`)).toEqual([
      ['malformed-json: 1 of 1', '422: 2 of 3'],
      ['422: 2', 'malformed-json: 1'],
    ]);
    expect(await told(`time:>=${second} status:422`)).toEqual([['422: 3 of 3'], ['422: 3']]);
    expect(await told('has:"/data/name"')).toEqual([['422: 3 of 3'], ['422: 3']]);
    expect(await told('time:<2026-01-01')).toEqual([[], []]);
    expect(await told('op:none')).toEqual([[], []]);
    expect((await fetch(`${gateway.adminOrigin}/problems?filter=nothing:1`)).status).toBe(400);
    expect(await gateway.readJson<object>(`/problems?filter=`)).not.toHaveProperty('errors');
  });
});

test.each<[what: string, messages: readonly string[], told: readonly string[]]>([
  [
    'with messages of their own',
    ['is odd', 'bill 17 is paid', 'bill 18 is paid'],
    ['bill # is paid: 2', 'is odd: 1'],
  ],
  [
    'one of whose messages contains that of another',
    ['is odd', 'the bill is odd'],
    ['is odd: 2 shared', 'the bill is odd: 1'],
  ],
])(
  'problems of one operation, status and place %s open their exchanges without a filter, too',
  async (_, messages, told) => {
    let body = '';
    const gateway = await inspected({ capture: 'bodies' }, () => body, undefined, undefined, 422);
    for (const detail of messages) {
      body = JSON.stringify({ errors: [{ detail }] });
      await gateway.post('/clients', '{"data":{"name":"A"}}');
    }
    await gateway.entry(messages.length - 1);
    const { problems } = await gateway.readJson<ProblemsView>('/problems');
    const opened = problems.map(async ({ message, filter, isShared }) => {
      const { entries } = await gateway.readJson<EntriesPage>(
        `/entries?filter=${encodeURIComponent(filter)}`,
      );
      return `${message}: ${entries.length}${isShared === true ? ' shared' : ''}`;
    });
    expect((await Promise.all(opened)).toSorted()).toEqual(told);
  },
);

describe('problems of one operation and status with a filter', () => {
  type Sent = readonly [detail: string, place?: string];
  test.each<[what: string, sent: readonly Sent[], flags: Readonly<Record<string, string>>, told: string[]]>([
    [
      'have the exchanges with their messages',
      [['is odd'], ['bill 17 is paid'], ['bill 18 is paid'], ['says "no"']],
      { capture: 'bodies' },
      ['bill # is paid: 2 of 2', 'is odd: 1 of 1', 'says "no": 1 of 1'],
    ],
    [
      'have the exchanges at their places',
      [
        ['is odd', '/data/a'],
        ['is odd', '/data/b'],
        ['is odd', '/data/b'],
      ],
      { capture: 'bodies' },
      ['is odd: 1 of 1', 'is odd: 2 of 2'],
    ],
    [
      'say so if a filter by words also finds another problem',
      [['is odd'], ['the bill is odd'], ['the bill is odd']],
      { capture: 'bodies' },
      ['is odd: 3 of 1 alike', 'the bill is odd: 2 of 2'],
    ],
    ['are one problem without messages', [['is odd'], ['is paid']], { capture: 'off' }, ['-: 2 of 2']],
  ])('%s', async (_, sent, flags, told) => {
    let body = '';
    const gateway = await inspected(flags, () => body, undefined, undefined, 422);
    for (const [detail, pointer] of sent) {
      body = JSON.stringify({
        errors: [{ detail, ...(pointer === undefined ? {} : { source: { pointer } }) }],
      });
      await gateway.post('/clients', '{"data":{"name":"A"}}');
    }
    await gateway.entry(sent.length - 1);
    const { problems } = await gateway.readJson<ProblemsView>(
      `/problems?filter=${encodeURIComponent('time:>=2026')}`,
    );
    expect(
      problems
        .map(
          ({ message = '-', matching, count, isShared }) =>
            `${message}: ${matching} of ${count}${isShared === true ? ' alike' : ''}`,
        )
        .toSorted(),
    ).toEqual(told);
    // The link opens the exchanges that were counted.
    for (const { filter, matching } of problems) {
      const { entries } = await gateway.readJson<EntriesPage>(
        `/entries?filter=${encodeURIComponent(filter)}`,
      );
      expect(entries).toHaveLength(matching ?? 0);
    }
  });
});

describe('after a restart', () => {
  const FAILS: Partial<Entry> = { status: 500 };
  test.each<[name: string, play: (watched: Watched) => Watched, problems: readonly string[]]>([
    [
      'a problem goes on',
      (all) => all.see(9, FAILS).restart().see(4, FAILS).read(),
      ['new: 13 since 08:00:01, first 08:00:01'],
    ],
    [
      'a problem is over, as it was before',
      (all) => all.see(9, FAILS).see(25).restart().see(5).read(),
      ['over: 9 since 08:00:01, first 08:00:01'],
    ],
    [
      'a problem is listed for an hour after it was over',
      (all) =>
        all
          .see(9, FAILS)
          .see(25)
          .restart()
          .pass(61 * MINUTE)
          .see(5)
          .read(),
      [],
    ],
    [
      'a problem without a sign of its end in the log ends after the restart',
      (all) => all.see(9, FAILS).restart().read().see(25),
      ['over: 9 since 08:00:01, first 08:00:01'],
    ],
    [
      'a problem is back',
      (all) =>
        all
          .see(9, FAILS)
          .see(25)
          .pass(20 * MINUTE)
          .restart()
          .see(3, FAILS)
          .read(),
      ['again: 12 since 08:20:35, first 08:00:01'],
    ],
    [
      'a problem is back, whenever the log is read',
      (all) =>
        all
          .see(9, FAILS)
          .see(25)
          .pass(20 * MINUTE)
          .restart()
          .read()
          .see(3, FAILS),
      ['again: 12 since 08:20:35, first 08:00:01'],
    ],
    [
      'a problem that was back lasts',
      (all) =>
        all
          .see(9, FAILS)
          .see(25)
          .pass(20 * MINUTE)
          .see(3, FAILS)
          .restart()
          .see(3, FAILS)
          .read(),
      ['again: 15 since 08:20:35, first 08:00:01'],
    ],
    [
      'another one is new',
      (all) => all.see(9, FAILS).restart().see(3, { status: 502 }).read(),
      ['new: 3 since 08:00:10, first 08:00:10', 'new: 9 since 08:00:01, first 08:00:01'],
    ],
    [
      'a problem that has a message now is the one of the log, which has none',
      (all) => all.see(9, FAILS).restart().see(3, FAILS, 'it broke').read(),
      ['new: 12 since 08:00:01, first 08:00:01, it broke'],
    ],
    [
      'a problem that has a message later, too',
      (all) => all.see(9, FAILS).restart().read().see(3, FAILS, 'it broke'),
      ['new: 12 since 08:00:01, first 08:00:01, it broke'],
    ],
  ])('%s', (_, play, problems) => {
    const clock = (time: string): string => time.slice(11, 19);
    expect(
      play(new Watched()).problems.map(
        ({ state, count, since, firstSeen, message }) =>
          `${state}: ${count} since ${clock(since)}, first ${clock(firstSeen)}${message === undefined ? '' : `, ${message}`}`,
      ),
    ).toEqual(problems);
  });

  test('all is as without the restart, if the log is read first', () => {
    const step = fc.record({
      requests: fc.integer({ min: 1, max: 30 }),
      status: fc.constantFrom(201, 201, 500, 502, 422),
      passMs: fc.constantFrom(0, 0, 5 * MINUTE, 20 * MINUTE, 90 * MINUTE),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), fc.array(step, { maxLength: 20 }), (before, after) => {
        const play = (watched: Watched, steps: typeof before): Watched =>
          steps.reduce(
            (all, { requests, status, passMs }) => all.see(requests, { status }).pass(passMs),
            watched,
          );
        const whole = play(play(new Watched(), before), after);
        expect(play(play(new Watched(), before).restart().read(), after).problems).toEqual(whole.problems);
      }),
    );
  });
});
