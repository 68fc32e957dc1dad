import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/rewrite-log/answers.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { OperationHealth } from '../../src/rewrite-log/health/operation-health.ts';
import { type OperationTrouble } from '../../src/rewrite-log/health/trouble.ts';
import { randomFrom } from '../support/random-from.ts';
import { sampleEntry } from '../support/sample-entries.ts';

/** An operation that is watched while time passes. */
class Operation {
  readonly harms: OperationTrouble[] = [];
  now = 0;
  /** The entries, in their order. */
  private readonly course: {
    readonly time: number;
    readonly failed: boolean;
    readonly origin: 'v1' | 'v2';
    readonly client: string;
  }[] = [];
  private health = new OperationHealth(undefined, (trouble) => void this.harms.push(trouble));
  private log = '';

  see(requests: number, answer: Answer, origin?: 'v1', failure?: Entry['failure'], client = 'a'): this {
    for (let at = 0; at < requests; at += 1) {
      this.now += 1000;
      const status = answer === 'failed' ? 500 : 200;
      this.health.add(
        {
          ...sampleEntry(1, this.now),
          operation: 'read_bill',
          route: 'migrate',
          status,
          origin,
          failure,
          totalMs: 0,
          client,
        },
        this.now,
        answer,
      );
      // V2 responded to all others.
      if (failure === undefined)
        this.course.push({ time: this.now, failed: answer === 'failed', origin: origin ?? 'v2', client });
    }
    return this;
  }

  /** The gateway stops, and starts again; its log of the time before is not read yet. */
  restart(): this {
    this.log = this.health.text;
    this.health = new OperationHealth(undefined, undefined, () => true);
    return this;
  }

  readLog(): this {
    this.health.learn(this.log);
    return this;
  }

  /** All requests go to V2, or to V1. */
  move(isToV2: boolean): this {
    this.health.move(() => isToV2, this.now);
    return this;
  }

  /** What its entries say of trouble: counts from its first failure to now, or to its last, and those before it. */
  counted({ since, until = this.now, clients }: OperationTrouble): unknown {
    const mine = this.course.filter(({ time, origin }) => origin === 'v2' && time >= since && time <= until);
    const own = mine.filter(({ client }) => clients?.includes(client) ?? true);
    const failed = own.filter((one) => one.failed);
    const earlier = this.course.filter(({ time }) => time < since);
    return {
      since: failed[0]?.time,
      requests: own.length,
      failed: failed.length,
      hit: [...new Set(failed.map(({ client }) => client))].sort(),
      before: { requests: earlier.length, failed: earlier.filter((one) => one.failed).length },
    };
  }

  /** Whether the counts of several clients can be those from a failure of each of them on, the first at `since`. */
  countsEach({ since, requests, failed, clients = [] }: OperationTrouble): boolean {
    const mine = this.course.filter(({ time, origin }) => origin === 'v2' && time >= since);
    let sums = new Set([0]);
    for (const client of clients) {
      const own = mine.filter((one) => one.client === client);
      const spans = own.flatMap((one, at) => (one.failed ? [own.slice(at)] : []));
      const counts = spans.map((all) => all.length * 1000 + all.filter((one) => one.failed).length);
      sums = new Set([...sums].flatMap((sum) => counts.map((count) => sum + count)));
    }
    const first = mine.find((one) => one.failed && clients.includes(one.client));
    return first?.time === since && sums.has(requests * 1000 + failed);
  }

  get wellSince(): number | undefined {
    return this.health.wellSince;
  }

  get troubles(): readonly OperationTrouble[] {
    return this.health.troubles(this.now);
  }
}

test('a call that no operation fits gives its place back after a day', () => {
  const health = new OperationHealth();
  const miss = (path: string, time: number): void => {
    for (let n = 0; n < 9; n += 1)
      health.add(
        { ...sampleEntry(1, time), operation: undefined, route: 'migrate', method: 'GET', path, status: 500 },
        time,
        'failed',
      );
  };
  const letters = 'abcdefghij'.split('');
  for (const one of letters) for (const other of letters) miss(`/api/v1/${one}${other}z`, 1000);
  const calls = (now: number): readonly string[] => health.troubles(now).map(({ operation }) => operation);
  miss('/api/v1/early', 2000);
  expect(calls(2000)).toHaveLength(101);
  expect(calls(2000)).not.toContain('GET /early');
  const later = 86_400_000 + 2000;
  miss('/api/v1/late', later);
  expect(calls(later)).toContain('GET /late');
});

describe('clients that fail among others', () => {
  const fails = (all: Operation, client: string, requests = 1): Operation =>
    all.see(19, 'well').see(requests, 'failed', undefined, undefined, client);
  const failing = ({ troubles }: Operation): readonly unknown[] => troubles.map(({ clients }) => clients);

  test('are found, however many others failed once before', () => {
    const all = new Operation().see(200, 'well');
    for (let other = 0; other < 250; other += 1) fails(all, `other ${other}`);
    for (let round = 0; round < 10; round += 1) fails(all, 'b');
    expect(failing(all)).toEqual([['b']]);
  });

  test('are told for an hour after they were well again', () => {
    const all = new Operation().see(200, 'well');
    for (let round = 0; round < 5; round += 1) fails(all, 'b');
    expect(all.wellSince).toBe(all.now);
    all.see(19, 'well', undefined, undefined, 'b');
    expect(all.troubles).toMatchObject([{ clients: ['b'], requests: 24, failed: 5, until: undefined }]);
    all.see(1, 'well', undefined, undefined, 'b');
    const until = all.now - 20_000;
    expect(all.troubles).toMatchObject([{ clients: ['b'], requests: 5, failed: 5, until }]);
    all.now += 3_600_000;
    expect(all.troubles).toEqual([]);
    expect(all.wellSince).toBe(until);
  });

  test('are well once no larger share of their requests fails than failed for all before', () => {
    const all = new Operation();
    const atTimes = (times: number): void => {
      for (let time = 0; time < times; time += 1)
        all.see(1, 'failed', undefined, undefined, 'b').see(5, 'well', undefined, undefined, 'b');
    };
    atTimes(100);
    for (let round = 0; round < 15; round += 1) fails(all, 'b');
    expect(failing(all)).toEqual([['b']]);
    atTimes(20);
    expect(all.troubles).toMatchObject([{ clients: ['b'], until: expect.any(Number) }]);
  });
});

const saidOf = ({ since, requests, failed, hit, before }: OperationTrouble): unknown => ({
  since,
  requests,
  failed,
  hit: hit.toSorted(),
  before,
});

/** Requests of four clients in turn, of which these fail on V2; `V` stands for one that V1 serves, and does well. */
function play(operation: Operation, answers: string): Operation {
  answers.split('').forEach((answer, at) => {
    const client = 'abcd'[at % 4] ?? 'a';
    operation.see(
      1,
      answer === 'F' ? 'failed' : 'well',
      answer === 'V' ? 'v1' : undefined,
      undefined,
      client,
    );
  });
  return operation;
}

describe('a fault of some requests of several clients', () => {
  const PARTLY = 'FWFFWFFWFWFFFWWFFFFFFWFWFFWF';

  test.each<[string, earlier: (operation: Operation) => Operation, before: number, failedBefore: number]>([
    ['after requests to V2', (one) => one.see(52, 'well'), 52, 0],
    ['in a canary', (one) => play(one, 'V'.repeat(30) + 'VWVV'.repeat(10)), 70, 0],
    [
      'after an earlier fault, of the canary',
      (one) =>
        play(play(one, 'W'.repeat(35)), 'F'.repeat(12))
          .move(false)
          .move(true),
      47,
      12,
    ],
    [
      'after an earlier fault of the same kind',
      (one) => play(play(one, 'W'.repeat(40)), PARTLY).see(25, 'well'),
      93,
      19,
    ],
  ])('is told from its first failure on: %s', (_, earlier, requests, failed) => {
    const operation = earlier(new Operation());
    const since = operation.now + 1000;
    play(operation, PARTLY);
    expect(operation.troubles.at(-1)).toMatchObject({
      kind: 'more',
      since,
      requests: 28,
      failed: 19,
      hit: ['a', 'c', 'd', 'b'],
      before: { requests, failed },
      evidence: { isHarm: true },
    });
  });

  const part = fc.record({
    kind: fc.constantFrom('well', 'fault', 'canary', 'fault in a canary', 'to V1 and back'),
    numbers: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 20, maxLength: 80 }),
    share: fc.constantFrom(0.1, 0.3, 0.6, 0.9, 1),
  });
  const anyCourse = fc.array(part, { minLength: 2, maxLength: 8 });

  /** Plays a course, and looks at the operation after each request. */
  const playCourse = (
    parts: typeof anyCourse extends fc.Arbitrary<infer Course> ? Course : never,
    operation: Operation,
    look: (at: number) => void,
  ): void => {
    let client = 0;
    let at = 0;
    for (const { kind, numbers, share } of parts) {
      if (kind === 'to V1 and back') operation.move(false).see(5, 'well', 'v1').move(true);
      else
        for (const number of numbers) {
          const isOnV1 = kind.includes('canary') && number > 0.7;
          const fails = !isOnV1 && kind.startsWith('fault') && number < share * 0.7;
          client += 1 + Math.floor(number * 3);
          const one = 'abcdef'[client % 6];
          operation.see(1, fails ? 'failed' : 'well', isOnV1 ? 'v1' : undefined, undefined, one);
          look((at += 1));
        }
    }
  };

  test('counts what its entries say, in any course', () => {
    let told = 0;
    fc.assert(
      fc.property(anyCourse, (parts) => {
        const operation = new Operation();
        playCourse(parts, operation, () => {
          for (const trouble of operation.troubles) {
            told += 1;
            if ((trouble.clients?.length ?? 0) < 2)
              expect(saidOf(trouble)).toEqual(operation.counted(trouble));
            else if (trouble.until === undefined) expect(operation.countsEach(trouble)).toBe(true);
          }
        });
      }),
    );
    expect(told).toBeGreaterThan(0);
  });

  test('is told after a restart as if there had been none, in any course', () => {
    let compared = 0;
    const place = fc.double({ min: 0, max: 0.9, noNaN: true });
    fc.assert(
      fc.property(anyCourse, place, fc.nat(50), (parts, cutAt, pause) => {
        const told: (readonly OperationTrouble[])[] = [];
        const uncut = new Operation();
        playCourse(parts, uncut, () => void told.push(uncut.troubles));
        const restart = 1 + Math.floor(cutAt * told.length);
        const cut = new Operation();
        playCourse(parts, cut, (at) => {
          if (at === restart) cut.restart();
          if (at === restart + pause) cut.readLog();
          if (at < restart + pause) return;
          expect(cut.troubles).toEqual(told[at - 1]);
          compared += 1;
        });
        if (told.length >= restart + pause) expect(cut.wellSince).toBe(uncut.wellSince);
      }),
    );
    expect(compared).toBeGreaterThan(0);
  });
});

describe('a fault that goes on', () => {
  const part = fc.record({
    kind: fc.constantFrom('well', 'fault', 'fault of a client', 'outage', 'a client on V1'),
    numbers: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 10, maxLength: 80 }),
    share: fc.constantFrom(0.1, 0.2, 0.5, 0.9, 1),
  });

  test('keeps its beginning, counts no outage, and becomes neither smaller nor milder until it ends, in any course', () => {
    let compared = 0;
    /** The fault must be the same after this look, or part of one that began before it, or over. */
    const look = (fault: OperationTrouble, { troubles }: Operation): void => {
      const known = troubles.filter(({ since, isOutage }) => !isOutage && since <= fault.since);
      const now = known.findLast(({ failed }) => failed >= fault.failed) ?? expect.fail('is gone');
      if (now.until !== undefined) return;
      compared += 1;
      if (fault.isSevere) expect(now.isSevere).toBe(true);
      if (now.since === fault.since) expect(now.before).toEqual(fault.before);
    };
    fc.assert(
      fc.property(fc.array(part, { minLength: 2, maxLength: 8 }), (parts) => {
        const operation = new Operation();
        let faults: readonly OperationTrouble[] = [];
        for (const { kind, numbers, share } of parts)
          for (const number of numbers) {
            const client = 'abc'[Math.floor(number * 1000) % 3] ?? 'a';
            const isFault = kind === 'fault' || (kind === 'fault of a client' && client === 'a');
            if (kind === 'outage') operation.see(1, 'failed', undefined, 'circuit-open', client);
            else if (kind === 'a client on V1' && client === 'c')
              operation.see(1, 'well', 'v1', undefined, client);
            else
              operation.see(1, isFault && number < share ? 'failed' : 'well', undefined, undefined, client);
            for (const fault of faults) look(fault, operation);
            faults = operation.troubles.filter(({ until, isOutage }) => until === undefined && !isOutage);
            for (const fault of faults)
              if ((fault.clients?.length ?? 0) < 2) {
                // `before` lacks what a client failed apart from its operation.
                const { since, requests, failed, hit } = fault;
                const said = { since, requests, failed, hit: hit.toSorted() };
                expect(operation.counted(fault)).toMatchObject(said);
              }
          }
      }),
    );
    expect(compared).toBeGreaterThan(0);
  });
});

describe('after a restart, by the log', () => {
  const down = 'upstream-unreachable';

  test('a client that always failed is told with its own past', () => {
    const operation = new Operation().see(200, 'well');
    for (let round = 0; round < 64; round += 1)
      operation.see(4, 'well').see(1, 'failed', undefined, undefined, 'b');
    operation.restart();
    for (let round = 0; round < 8; round += 1)
      operation.see(4, 'well').see(1, 'failed', undefined, undefined, 'b');
    const before = { requests: 204, failed: 0 };
    expect(operation.readLog().troubles).toMatchObject([
      { clients: ['b'], kind: 'always', requests: 72, failed: 72, since: 205_000, before },
    ]);
  });

  test.each<[string, later: (operation: Operation) => Operation, failed: number, until: number | undefined]>([
    ['is over if V2 responds first', (one) => one.see(1, 'well'), 18, 118_000],
    ['is over while V2 gets no request', (one) => one, 18, 118_000],
    ['goes on if V2 still does not respond', (one) => one.see(3, 'failed', undefined, down), 21, undefined],
  ])('an outage of V2 %s', (_, later, failed, until) => {
    const operation = new Operation().see(100, 'well').see(18, 'failed', undefined, down);
    const [trouble] = later(operation.restart()).readLog().troubles;
    expect(trouble).toMatchObject({ failed, since: 101_000 });
    expect(trouble?.until).toBe(until);
  });

  test('a fault that V1 had taken over stays over, also after a change of modes before the log is read', () => {
    const failing = (): Operation => new Operation().see(100, 'well').see(30, 'failed');
    const over = [{ failed: 30, until: 130_000 }];
    expect(failing().restart().move(false).readLog().troubles).toMatchObject(over);
    expect(failing().move(false).restart().move(true).readLog().troubles).toMatchObject(over);
  });

  test('a fault goes on through a change of other modes, and ends with the one that takes it off V2', () => {
    const operation = new Operation().see(100, 'well').see(30, 'failed').restart();
    operation.move(true).see(5, 'failed').move(false);
    expect(operation.readLog().troubles).toMatchObject([{ failed: 35, since: 101_000, until: 135_000 }]);
  });

  test('the requests of the log are the past of more requests than are kept', () => {
    const operation = new Operation().see(600, 'well').see(30, 'failed').restart();
    operation.see(10_001, 'well').readLog().see(30, 'failed');
    expect(operation.troubles).toMatchObject([{ since: operation.now - 29_000, failed: 30 }]);
  });
});

/** Every failure of these is before so many requests that do well. */
function atTimes(operation: Operation, failures: number, wells: number): Operation {
  for (let time = 0; time < failures; time += 1) operation.see(1, 'failed').see(wells, 'well');
  return operation;
}

describe('an operation that fails', () => {
  test('has the shares before and now, with bounds, as the test of a canary sees them', () => {
    const [trouble] = new Operation().see(200, 'well').see(30, 'failed').troubles;
    expect(trouble?.evidence).toMatchObject({
      before: { requests: 200, failures: 0, low: 0 },
      now: { requests: 30, failures: 30, high: 1 },
      isHarm: true,
    });
    expect(trouble?.evidence.before.high).toBeLessThan(0.06);
    expect(trouble?.evidence.now.low).toBeGreaterThan(0.7);
  });

  test.each<[past: string, (operation: Operation) => Operation, harms: number]>([
    ['always fails, and did not before', (one) => one.see(100, 'well').see(30, 'failed'), 1],
    ['always fails, and has no known past', (one) => one.see(30, 'failed'), 0],
    ['always fails, as on V1', (one) => one.see(100, 'failed', 'v1').see(30, 'failed'), 0],
    ['did well on V1', (one) => one.see(100, 'well', 'v1').see(30, 'failed'), 1],
    [
      'fails for every fifth request since it went from V1 to V2',
      (one) => atTimes(one.see(153, 'well', 'v1'), 8, 4),
      1,
    ],
    [
      'fails for every fifth request since it went to V2 again',
      (one) => atTimes(one.see(153, 'well').move(false).see(20, 'well', 'v1').move(true), 8, 4),
      1,
    ],
    [
      'fails for every fifth request after many that V2 served',
      (one) => atTimes(one.see(153, 'well'), 8, 4),
      0,
    ],
    ['fails once', (one) => one.see(100, 'well').see(1, 'failed').see(100, 'well'), 0],
    [
      'fails again after it was over',
      (one) => one.see(100, 'well').see(30, 'failed').see(60, 'well').see(30, 'failed'),
      2,
    ],
  ])('is reported once, if it %s', (_, play, harms) => {
    const operation = play(new Operation());
    expect(operation.harms).toHaveLength(harms);
    for (const { evidence } of operation.harms) expect(evidence.isHarm).toBe(true);
  });

  test('that always failed at times is not blamed for an outage, and is no longer reported when the outage is over', () => {
    const operation = new Operation();
    atTimes(operation, 40, 5);
    operation.see(18, 'failed', undefined, 'upstream-unreachable');
    expect(operation.troubles).toMatchObject([{ failed: 18, isOutage: true, until: undefined }]);
    atTimes(operation, 20, 5);
    // Its own failures move neither the beginning of the outage nor its end.
    const outage = { failed: 18, isOutage: true, since: 241_000, last: 258_000, until: 258_000 };
    expect(operation.troubles).toMatchObject([outage]);
    operation.see(30, 'failed');
    expect(operation.troubles).toMatchObject([outage, { isOutage: false, until: undefined }]);
  });

  test('is over once no larger share of it fails than before', () => {
    const operation = new Operation();
    for (let time = 0; time < 40; time += 1) operation.see(1, 'failed').see(9, 'well');
    for (let time = 0; time < 40; time += 1) operation.see(5, 'failed').see(5, 'well');
    expect(operation.troubles).toMatchObject([{ kind: 'more', isOutage: false, until: undefined }]);
    for (let time = 0; time < 20; time += 1) operation.see(1, 'failed').see(9, 'well');
    const [trouble] = operation.troubles;
    expect(trouble?.until).toBe(795_000);
  });

  /** Requests at random, one a minute, of which this share fails; looks at the operation after each. */
  const atRandom = (
    operation: Operation,
    random: () => number,
    [requests, share]: readonly [requests: number, share: number],
    look = (_fault: OperationTrouble | undefined, _at: number): void => {},
    origin?: 'v1',
  ): void => {
    for (let at = 1; at <= requests; at += 1) {
      operation.now += 59_000;
      const client = 'abcde'[Math.floor(random() * 5)];
      operation.see(1, random() < share ? 'failed' : 'well', origin, undefined, client);
      const fault = operation.troubles.findLast(({ until }) => until === undefined);
      look(fault, at);
    }
  };

  test.each<[share: number, before: number, named: number, over: number]>([
    [0.1, 0, 180, 200],
    [0.2, 0, 90, 100],
    [0.5, 0, 20, 40],
    [0.2, 0.01, 140, 120],
    [0.5, 0.1, 90, 160],
  ])(
    'at random for a share of %d, and for %d before, is named soon, and until it is over',
    (share, before, named, over) => {
      const seen = { late: 0, toldOver: 0, lasting: 0 };
      for (let seed = 1; seed <= 15; seed += 1) {
        const operation = new Operation();
        const random = randomFrom(seed);
        atRandom(operation, random, [900, before]);
        let [since, isOver, lasts] = [0, false, false];
        atRandom(operation, random, [600, share], (fault, at) => {
          if (fault?.isSevere === true) since ||= at;
          if (since > 0 && fault === undefined) isOver = true;
        });
        atRandom(operation, random, [over, before], (fault) => void (lasts = fault !== undefined));
        if (since === 0 || since > named) seen.late += 1;
        if (isOver) seen.toldOver += 1;
        if (lasts) seen.lasting += 1;
      }
      for (const wrong of Object.values(seen))
        expect.soft(wrong, JSON.stringify(seen)).toBeLessThanOrEqual(2);
    },
  );

  test.each([0.01, 0.1, 0.2, 0.5])(
    'at random for a share of %d on V1 is not new on V2 with the same',
    (share) => {
      let named = 0;
      for (let seed = 1; seed <= 15; seed += 1) {
        const operation = new Operation();
        const random = randomFrom(seed);
        atRandom(operation, random, [600, share], undefined, 'v1');
        let isNamed = false;
        atRandom(operation, random, [1200, share], (fault) => void (isNamed ||= fault !== undefined));
        if (isNamed) named += 1;
      }
      expect(named).toBeLessThanOrEqual(1);
    },
  );

  test('is over once V1 serves it again', () => {
    const operation = new Operation().see(100, 'well').see(30, 'failed').see(25, 'well', 'v1');
    expect(operation.troubles).toMatchObject([{ requests: 30, failed: 30, until: 130_000 }]);
  });

  // The test allows a look at any time: an operation whose share does not change is not harmed.
  test('is not reported while its share stays the same, however often it is tested', () => {
    const operation = new Operation();
    for (let round = 0; round < 400; round += 1) operation.see(9, 'well').see(1, 'failed');
    expect(operation.harms).toEqual([]);
  });

  test('is seldom reported after it went from V1 to V2 with the same share', () => {
    const random = randomFrom(1);
    let harms = 0;
    for (let trial = 0; trial < 200; trial += 1) {
      const operation = new Operation();
      for (const origin of ['v1', undefined] as const)
        for (let at = 0; at < 300; at += 1) operation.see(1, random() < 0.1 ? 'failed' : 'well', origin);
      harms += operation.harms.length;
    }
    expect(harms).toBeLessThanOrEqual(2);
  });
});
