import { expect, test } from 'vitest';
import { EdgeTotals, TOTALS } from '../../src/edge/totals.ts';
import { parsedJson } from '../../src/rewrite-log/attributes.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { RateLimitQueue } from '../../src/rollout/rate-limit.ts';
import { Replica } from '../../src/rollout/replica.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { FlakyState, FragileState } from '../support/fragile-state.ts';
import { VirtualTime } from '../support/virtual-time.ts';

/** Isolates with one object. */
class Isolates {
  readonly time = new VirtualTime();
  readonly state = new FragileState(() => this.time.now);
  isAnswered = true;

  start(ruleBook = 'book'): {
    readonly totals: EdgeTotals;
    exchange: () => Promise<void>;
    count: () => void;
  } {
    const clock = this.time.clock();
    const requests = { v1: 0, v2: 0 };
    const totals = new EdgeTotals({ ruleBook, requests, v2Schemas: undefined, time: clock.time });
    const replica = new Replica({
      control: new RolloutControl({ time: clock.time, onNotice: () => {} }),
      store: new FlakyState(this.state, this.time, () => (this.isAnswered ? 'sound' : 'unanswered')),
      name: 'isolate',
      clock,
      parse: parsedJson,
      onNotice: () => {},
    });
    const queue = new RateLimitQueue({ ...clock, now: clock.time });
    replica.share({ queue, shieldOf: () => undefined, counts: [totals] });
    return {
      totals,
      exchange: async () => {
        const work = replica.exchange();
        await this.time.pass(1000);
        await work;
      },
      count: () => {
        requests.v1 += 1;
        totals.observe(DIFFERENT);
      },
    };
  }
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the totals read of an entry
const DIFFERENT = {
  time: '2026-11-29T08:00:00.000Z',
  operation: 'list_clients',
  origin: 'v1',
  client: 'ab',
  comparison: { verdict: 'different', differences: [{ path: '/name', kind: 'value' }], noise: 0, extra: 0 },
} as unknown as Entry;

function shown({
  totals,
}: {
  readonly totals: EdgeTotals;
}): readonly [v1: number, different: number | undefined] {
  return [totals.requests.v1, totals.comparisons.list[0]?.different];
}

test('each request counts once, whichever responses of the object are lost', async () => {
  const isolates = new Isolates();
  const [one, other] = [isolates.start(), isolates.start()];
  one.count();
  other.count();
  for (let turn = 0; turn < 3; turn += 1) {
    isolates.isAnswered = turn !== 1;
    one.count();
    for (const isolate of [one, other]) await isolate.exchange();
  }
  for (const isolate of [one, other, one]) await isolate.exchange();
  expect([shown(one), shown(other)]).toEqual([
    [5, 5],
    [5, 5],
  ]);
  expect(one.totals.since).toBe(new Date(1_800_000_000_000).toISOString());
});

test('counts of isolates that ended are taken over, and outlive an object that forgets', async () => {
  const isolates = new Isolates();
  const ended = isolates.start();
  ended.count();
  for (let turn = 0; turn < 2; turn += 1) await ended.exchange();
  const next = isolates.start();
  for (let turn = 0; turn < 120; turn += 1) await next.exchange();
  expect(shown(next)).toEqual([1, 1]);
  isolates.state.lose();
  for (let turn = 0; turn < 3; turn += 1) await next.exchange();
  const last = isolates.start();
  for (let turn = 0; turn < 2; turn += 1) await last.exchange();
  expect(shown(last)).toEqual([1, 1]);
});

test('each rule book has separate totals, and those of an old one are forgotten', async () => {
  const isolates = new Isolates();
  const old = isolates.start('old');
  old.count();
  for (let turn = 0; turn < 2; turn += 1) await old.exchange();
  const next = isolates.start();
  await next.exchange();
  expect(shown(next)).toEqual([0, undefined]);
  const keys = (): readonly string[] =>
    [...isolates.state.stored.values()].flatMap((rows) =>
      rows.after(0).flatMap(({ key, text }) => (key.startsWith(TOTALS) && text !== '' ? [key] : [])),
    );
  for (let turn = 0; turn < 120; turn += 1) await next.exchange();
  expect(keys().toSorted()).toEqual([`${TOTALS}old/requests`, `${TOTALS}old/shadow/list_clients`]);
  isolates.time.now += 31 * 86_400_000;
  const later = isolates.start();
  for (let turn = 0; turn < 240; turn += 1) await later.exchange();
  expect(keys()).toEqual([]);
});
