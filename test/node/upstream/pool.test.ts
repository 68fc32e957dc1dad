import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { UpstreamFault } from '../../../src/gateway/upstream.ts';
import { IdleLimit, PooledCall, WaitingCalls } from '../../../src/node/upstream/pool.ts';
import { inParts } from './upstream-calls.ts';

function limitAfter(...ages: readonly number[]): number {
  const idleLimit = new IdleLimit();
  for (const age of ages) idleLimit.closed(age, 0);
  return idleLimit.ms;
}

test('without a connection that V2 closed there is no limit; with one, it is four fifths of its idle time', () => {
  expect(limitAfter()).toBe(Number.POSITIVE_INFINITY);
  expect(limitAfter(5000)).toBe(4000);
});

test('if V2 closes idle connections after varying times, the shortest counts', () => {
  expect(limitAfter(3000, 2100, 2700)).toBe(1680);
});

test('a restart, which closes connections of any age, does not change the limit', () => {
  expect(limitAfter(5000, 10, 0, 300)).toBe(4000);
});

test('the limit is forgotten after a while, because V2 may keep connections longer by then', () => {
  const idleLimit = new IdleLimit();
  idleLimit.closed(2000, 0);
  idleLimit.update(599_999);
  expect(idleLimit.ms).toBe(1600);
  idleLimit.update(600_000);
  expect(idleLimit.ms).toBe(Number.POSITIVE_INFINITY);
});

const TIMEOUT: UpstreamFault = { kind: 'timeout', mayHaveArrived: false, cause: 'no connection in time' };

const step = fc.oneof(
  fc.record({
    do: fc.constant('add' as const),
    isBackground: fc.boolean(),
    isStreamed: fc.boolean(),
    bytes: fc.nat(9),
  }),
  fc.record({ do: fc.constantFrom('remove' as const, 'removeAgain' as const), at: fc.nat(30) }),
  fc.record({ do: fc.constant('takeFirst' as const) }),
  fc.record({ do: fc.constant('addByAge' as const), at: fc.nat(30) }),
  // What fails removes another one, as an exchange does that ends with its client.
  fc.record({ do: fc.constant('fail' as const), every: fc.integer({ min: 1, max: 4 }), removes: fc.nat(30) }),
);

test('the queue is a list that calls enter in order, those without a client last, and leave from anywhere', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new WaitingCalls();
      const all: PooledCall[] = [];
      let listed: PooledCall[] = [];
      const failed: PooledCall[] = [];
      let onFail = (_call: PooledCall): void => {};
      const drop = (call: PooledCall | undefined): void => {
        if (call !== undefined) queue.remove(call);
        listed = listed.filter((one) => one !== call);
      };
      for (const made of steps) {
        switch (made.do) {
          case 'add': {
            const call = callOf(all.length, made, (one) => onFail(one));
            all.push(call);
            queue.add(call);
            const first = listed.findIndex(({ isBackground }) => isBackground);
            listed.splice(made.isBackground || first === -1 ? listed.length : first, 0, call);
            break;
          }
          case 'remove':
            drop(listed[made.at]);
            break;
          case 'removeAgain':
            drop(all[made.at]);
            break;
          case 'addByAge': {
            const call = all[made.at];
            if (call === undefined || call.queue !== undefined || call.isBackground) break;
            queue.addByAge(call);
            const next = listed.findIndex(({ isBackground, since }) => isBackground || since > call.since);
            listed.splice(next === -1 ? listed.length : next, 0, call);
            break;
          }
          case 'takeFirst':
            expect(queue.removeFirst()).toBe(listed.shift());
            break;
          case 'fail': {
            const due = listed.filter((_call, at) => at % made.every === 0);
            const victim = listed[made.removes];
            failed.length = 0;
            onFail = (call) => {
              failed.push(call);
              drop(victim);
            };
            queue.fail((call) => (due.includes(call) ? TIMEOUT : undefined));
            const expected = due.filter((call) => call !== victim || call === due[0]);
            expect(failed).toEqual(expected);
            listed = listed.filter((call) => !due.includes(call));
            break;
          }
        }
        expect(callsOf(queue)).toEqual(listed);
        expect(queue.count).toBe(listed.length);
        expect(queue.heldBytes).toBe(listed.reduce((sum, { heldBytes }) => sum + heldBytes, 0));
        expect(queue.streamed).toBe(listed.filter(({ parts }) => parts !== undefined).length);
        expect(all.filter((call) => call.queue === queue)).toEqual(
          all.filter((call) => listed.includes(call)),
        );
      }
    }),
  );
});

function callsOf(queue: WaitingCalls): readonly PooledCall[] {
  return Array.from({ length: queue.count + 1 }, (_, at) => queue.at(at)).filter(
    (call) => call !== undefined,
  );
}

/** `id` tells calls apart where a test compares them. */
function callOf(
  id: number,
  made: { readonly isBackground: boolean; readonly isStreamed: boolean; readonly bytes: number },
  onFail: (call: PooledCall) => void,
): PooledCall {
  const { isBackground, isStreamed, bytes } = made;
  const body = isStreamed ? inParts() : null;
  const request = { method: 'POST', target: '/', headers: [], body, length: undefined, isBackground };
  const ignore = (): void => {};
  const receiver = {
    information: ignore,
    head: ignore,
    data: ignore,
    end: ignore,
    fail: () => onFail(call),
  };
  const call = new PooledCall(request, receiver, { since: id, due: 0 });
  call.set('x'.repeat(bytes), request);
  return call;
}
