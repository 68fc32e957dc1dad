import { describe, expect, test } from 'vitest';
import { type Problem, ProblemTally } from '../../src/inspector/problems.ts';
import { AnswerJudge } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const START = Date.UTC(2026, 10, 29, 8);
const [MINUTE, HOUR] = [60_000, 3_600_000];
const [ACME, OTHER] = ['a'.repeat(16), 'b'.repeat(16)];

/** A gateway with time that passes. */
class Watched {
  now = START;
  readonly entries: Entry[] = [];
  private readonly judge = new AnswerJudge();
  private readonly tally = new ProblemTally();

  see(requests: number, facts: Partial<Entry> = {}, message?: string): this {
    for (let at = 0; at < requests; at += 1) {
      this.now += 1000;
      const entry: Entry = {
        ...sampleEntry(1, this.now),
        operation: 'order_floor_plan',
        route: 'migrate',
        verdict: 'rewritten',
        client: ACME,
        status: 201,
        ...facts,
      };
      this.entries.push(entry);
      this.tally.add(entry, this.now, this.judge.judge(entry), () => message);
    }
    return this;
  }

  pass(milliseconds: number): this {
    this.now += milliseconds;
    return this;
  }

  get problems(): readonly Problem[] {
    return this.tally.view(this.now, START).problems;
  }

  get states(): readonly string[] {
    return this.problems.map(({ state, count, status }) => `${state}: ${count} of ${status}`);
  }
}

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
    ['what is under neither prefix', { status: 500, route: 'other', operation: undefined }],
  ])('is none: %s', (_, facts) => {
    expect(new Watched().see(9, facts).problems).toEqual([]);
  });

  test('is one for each operation, who failed it, status, place and message; severe ones first, then the newest', () => {
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
    ['stopped, which few responses show', (all) => all.see(3, { status: 500 }).see(5), ['new: 3 of 500']],
    ['stopped', (all) => all.see(3, { status: 500 }).see(20), ['over: 3 of 500']],
    ['stopped an hour ago', (all) => all.see(3, { status: 500 }).see(20).pass(HOUR), []],
    [
      'came again',
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
      'is over beside one that is not',
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

  test('tells when it was over', () => {
    const [problem] = new Watched().see(1, { status: 500 }).pass(MINUTE).see(30).problems;
    expect(problem?.until).toBe('2026-11-29T08:01:02.000Z');
  });

  test.each<Partial<Entry>>([
    { status: 500 },
    { status: 422, errorPointers: ['/name'] },
    { status: 502, failure: 'upstream-unreachable', verdict: 'refused' },
    { status: 400, failure: 'wrapper-not-object', verdict: 'refused', pointer: '/data' },
    { status: 200, failure: 'upstream-broken', incomplete: true },
  ])('finds its exchanges, and no others: %j', (facts) => {
    const watched = new Watched()
      .see(1, facts)
      .see(1)
      .see(1, { ...facts, operation: 'create_client' });
    const filter = parseFilter(
      watched.problems.find(({ operation }) => operation === 'order_floor_plan')?.filter ?? '',
    );
    if (isFilterFault(filter)) throw new Error(JSON.stringify(filter));
    expect(watched.entries.map((entry) => filter.accepts(entry))).toEqual([true, false, false]);
  });

  test('counts what it has no room for, and makes room of what is over', () => {
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
