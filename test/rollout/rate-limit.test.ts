import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type QueuedRequest,
  RateLimitQueue,
  RateLimitReset,
  shareOfLimit,
} from '../../src/rollout/rate-limit.ts';
import type { Shield } from '../../src/rules/rollout.ts';

/** A clock that tests set: scheduled work runs when its time has come. */
class Clock {
  now = 1000;
  private readonly later: { readonly at: number; readonly run: () => void }[] = [];

  after = (milliseconds: number, run: () => void): void => {
    this.later.push({ at: this.now + milliseconds, run });
  };

  to(time: number): void {
    for (;;) {
      const next = this.later.filter(({ at }) => at <= time).sort((one, other) => one.at - other.at)[0];
      if (next === undefined) break;
      this.later.splice(this.later.indexOf(next), 1);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = time;
  }
}

class Request implements QueuedRequest {
  isSettled = false;
  releasedAt: number | undefined;
  heldMs: number | undefined;
  private readonly clock: Clock;
  constructor(clock: Clock) {
    this.clock = clock;
  }
  release(heldMs: number): void {
    if (this.releasedAt !== undefined) throw new Error('released twice');
    this.releasedAt = this.clock.now;
    this.heldMs = heldMs;
  }
}

const SHIELD: Shield = { requests: 2, per: 100, wait: 250, queue: 10 };

function setUp(): {
  clock: Clock;
  shielded: RateLimitQueue;
  send: (name?: string, over?: Partial<Shield>) => Request;
} {
  const clock = new Clock();
  const shielded = new RateLimitQueue({ now: () => clock.now, after: clock.after, random: Math.random });
  const send = (name = 'a', over: Partial<Shield> = {}): Request => {
    const request = new Request(clock);
    shielded.admit({ ...SHIELD, ...over }, name, request);
    return request;
  };
  return { clock, shielded, send };
}

const times = (requests: readonly Request[]): readonly (number | undefined)[] =>
  requests.map(({ releasedAt }) => (releasedAt === undefined ? undefined : releasedAt - 1000));

test('requests beyond the limit wait for their turn, in order', () => {
  const { clock, send } = setUp();
  const requests = Array.from({ length: 6 }, () => send());
  expect(times(requests)).toEqual([0, 0, undefined, undefined, undefined, undefined]);
  clock.to(1300);
  expect(times(requests)).toEqual([0, 0, 100, 100, 200, 200]);
  expect(requests.map(({ heldMs }) => heldMs)).toEqual([0, 0, 100, 100, 200, 200]);
});

test('a client that keeps to the limit never waits', () => {
  const { clock, send } = setUp();
  const requests: Request[] = [];
  for (let n = 0; n < 20; n += 1) {
    requests.push(send());
    clock.to(clock.now + 51);
  }
  expect(requests.every(({ heldMs }) => heldMs === 0)).toBe(true);
});

test('one client does not hold another back', () => {
  const { send } = setUp();
  for (let n = 0; n < 5; n += 1) send('greedy');
  expect(send('modest').heldMs).toBe(0);
});

test('a request that could not be served in time is refused at once', () => {
  const { send } = setUp();
  const requests = Array.from({ length: 8 }, () => send());
  expect(times(requests).slice(6)).toEqual([0, 0]);
  expect(times(requests).slice(2, 6)).toEqual([undefined, undefined, undefined, undefined]);
});

test('requests beyond the queue are forwarded at once', () => {
  const { send } = setUp();
  const requests = Array.from({ length: 4 }, () => send('a', { queue: 1 }));
  expect(times(requests)).toEqual([0, 0, undefined, 0]);
});

test('a request whose client is gone gives its turn to the next', () => {
  const { clock, shielded, send } = setUp();
  const requests = Array.from({ length: 5 }, () => send());
  const [, , third, fourth, fifth] = requests;
  if (third !== undefined) third.isSettled = true;
  clock.to(1100);
  expect(times([fourth, fifth].filter((request) => request !== undefined))).toEqual([100, 100]);
  expect(third?.releasedAt).toBeUndefined();
  expect(shielded.held).toBe(0);
});

test("the service's rate limit holds the next requests back, and no longer than they may wait", () => {
  const { clock, shielded, send } = setUp();
  send();
  shielded.block('a', 0.2);
  const next = send();
  expect(next.releasedAt).toBeUndefined();
  clock.to(1200);
  expect(times([next])).toEqual([200]);
  shielded.block('a', 3600);
  expect(send().heldMs).toBe(0);
  expect(send('b').heldMs).toBe(0);
});

test("if the service's rate limit sets in while requests are held, they go when they have waited long enough", () => {
  const { clock, shielded, send } = setUp();
  const requests = Array.from({ length: 3 }, () => send());
  shielded.block('a', 60);
  clock.to(2000);
  expect(times(requests)).toEqual([0, 0, 250]);
});

describe('for any sequence of requests', () => {
  test('requests that were not released early keep the limit, order is kept, and none waits too long', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(80), fc.constantFrom('a', 'b'), fc.boolean()), { maxLength: 60 }),
        fc.integer({ min: 1, max: 4 }),
        (steps, limit) => {
          const { clock, shielded, send } = setUp();
          const all: { name: string; request: Request }[] = [];
          for (const [pause, name, leaves] of steps) {
            clock.to(clock.now + pause);
            const request = send(name, { requests: limit });
            all.push({ name, request });
            if (leaves && request.releasedAt === undefined) request.isSettled = true;
          }
          clock.to(clock.now + 1000);
          expect(shielded.held).toBe(0);
          for (const client of ['a', 'b']) {
            const held = all.filter(({ name, request }) => name === client && (request.heldMs ?? 0) > 0);
            const released = held.map(({ request }) => request.releasedAt ?? 0);
            expect(released).toEqual(released.toSorted((one, other) => one - other));
          }
          for (const { request } of all) {
            expect(request.isSettled || request.releasedAt !== undefined).toBe(true);
            expect(request.heldMs ?? 0).toBeLessThanOrEqual(SHIELD.wait + 1);
          }
        },
      ),
    );
  });

  // Attack: ever new keys, so that the state kept per client fills the memory.
  test('ever new keys are forgotten', () => {
    const { clock, shielded, send } = setUp();
    for (let n = 0; n < 25_000; n += 1) send(`key ${n}`);
    clock.to(5000);
    send('last');
    expect(shielded.held).toBe(0);
    expect(send('key 1').heldMs).toBe(0);
  });
});

const encoder = new TextEncoder();

function secondsOf(chunks: readonly string[], headers: readonly string[] = []): number | undefined {
  const reset = new RateLimitReset(headers, Date.UTC(2025, 0, 1));
  for (const chunk of chunks) reset.data(encoder.encode(chunk));
  return reset.seconds;
}

test.each([
  [['{"meta":{"reset":42}}'], [], 42],
  [['{"errors":[],"me', 'ta":{"reset":4', '2}}'], [], 42],
  [['{"meta":{"reset":42}}'], ['Retry-After', '7'], 42],
  [['{"meta":{"reset":-1}}'], ['Retry-After', '7'], 7],
  [[], ['Retry-After', '7'], 7],
  [[], ['Retry-After', 'Wed, 01 Jan 2025 00:00:30 GMT'], 30],
  [['{"reset":42}'], [], undefined],
])('a 429 in the parts %j with %j asks for a wait of so many seconds: %s', (chunks, headers, seconds) => {
  expect(secondsOf(chunks, headers)).toBe(seconds);
});

test('of a 429 that is longer than what is read, only the header fields count', () => {
  const chunks = ['{"a":"', 'x'.repeat(5000), '","meta":{"reset":42}}'];
  expect(secondsOf(chunks, ['Retry-After', '7'])).toBe(7);
});

test.each([
  [60, 1, 60],
  [60, 3, 20],
  [60, 7, 9],
  [2, 3, 1],
  [1, 500, 1],
  [60, 0, 60],
])('a limit of %d over %d processes is %d in each', (requests, processes, each) => {
  expect(shareOfLimit(requests, processes)).toBe(each);
});

test('no process sends more than its share in a period, and held requests go when the share grows', () => {
  const { clock, shielded, send } = setUp();
  const sharing = { processes: 3 };
  shielded.shareWith(sharing);
  const over = { requests: 6, per: 1000, wait: 5000 };
  const requests = Array.from({ length: 8 }, () => send('a', over));
  expect(times(requests).filter((time) => time !== undefined)).toEqual([0, 0]);
  sharing.processes = 1;
  clock.to(2000);
  expect(times(requests).slice(2)).toEqual([1000, 1000, 1000, 1000, 1000, 1000]);
});
