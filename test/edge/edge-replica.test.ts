import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { CopyNamespace, RemoteStore } from '../../src/edge/bindings.ts';
import { EdgeReplica } from '../../src/edge/replica.ts';
import { MemoryState } from '../../src/rollout/shared-state.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

interface Isolate {
  readonly replica: EdgeReplica;
  readonly calls: string[];
  /** Whether the object responds. */
  readonly object: { responds: boolean };
}

function isolate(copy?: CopyNamespace): Isolate {
  const calls: string[] = [];
  const object = { responds: true };
  const store = new MemoryState(Date.now);
  const through = <Value>(name: string, call: () => Promise<Value>): Promise<Value> => {
    calls.push(name);
    return object.responds ? call() : new Promise(() => {});
  };
  const remote: RemoteStore = {
    read: (key) => through('read', () => store.read(key)),
    compareAndSet: (...given) => through('set', () => store.compareAndSet(...given)),
    exchange: (call) => through('exchange', () => store.exchange(call)),
  };
  const replica = new EdgeReplica({
    control: new RolloutControl({ time: Date.now, onNotice: () => {} }),
    namespace: { idFromName: (name) => name, get: () => remote },
    copy,
    name: 'isolate 1',
    onNotice: () => {},
    later: () => {},
  });
  return { replica, calls, object };
}

test('the first request waits for the object, 250 ms at most; later ones never do', async () => {
  const { replica, object } = isolate();
  object.responds = false;
  let isOver = false;
  void replica.begin()?.then(() => {
    isOver = true;
  });
  await vi.advanceTimersByTimeAsync(240);
  expect(isOver).toBe(false);
  await vi.advanceTimersByTimeAsync(20);
  expect(isOver).toBe(true);
  await vi.advanceTimersByTimeAsync(5000);
  expect(replica.status.aloneSince).toBeDefined();
  expect(replica.begin()).toBeUndefined();
});

test.each<[string, CopyNamespace['get']]>([
  ['hangs as well', () => new Promise(() => {})],
  [
    'throws',
    () => {
      throw new Error('no such binding');
    },
  ],
  ['fails', () => Promise.reject(new Error('down'))],
])('the first request waits 250 ms in all where the copy %s', async (_name, get) => {
  const { replica, object } = isolate({ get, put: async () => {} });
  object.responds = false;
  let outcome = 'waits';
  void replica.begin()?.then(
    () => (outcome = 'begun'),
    () => (outcome = 'failed'),
  );
  await vi.advanceTimersByTimeAsync(240);
  expect(outcome).toBe('waits');
  await vi.advanceTimersByTimeAsync(12);
  expect(outcome).toBe('begun');
});

test('the first request after ten idle seconds waits for the object, as at the start', async () => {
  const { replica } = isolate();
  await Promise.all([replica.begin(), vi.advanceTimersByTimeAsync(100)]);
  await vi.advanceTimersByTimeAsync(9000);
  expect(replica.begin()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(11_000);
  const waiting = replica.begin();
  expect(waiting).toBeInstanceOf(Promise);
  await Promise.all([waiting, vi.advanceTimersByTimeAsync(300)]);
});

test('requests share their counts while they last, and once more after their end', async () => {
  const { replica, calls } = isolate();
  await Promise.all([replica.begin(), vi.advanceTimersByTimeAsync(100)]);
  const before = calls.length;
  for (let request = 0; request < 50; request += 1) {
    expect(replica.begin()).toBeUndefined();
    void replica.accompany(Promise.resolve());
    await vi.advanceTimersByTimeAsync(1);
  }
  expect(calls.length).toBe(before);
  await vi.advanceTimersByTimeAsync(1000);
  expect(calls.slice(before)).toEqual(['read']);
});

test('an exchange that ended with its request is begun again', async () => {
  const { replica, calls, object } = isolate();
  object.responds = false;
  void replica.begin();
  await vi.advanceTimersByTimeAsync(0);
  const before = calls.length;
  const start = Date.now();
  // The platform ended the request: none of its timers runs any more.
  vi.clearAllTimers();
  vi.setSystemTime(start + 14_000);
  void replica.begin();
  await vi.advanceTimersByTimeAsync(0);
  expect(calls.length).toBe(before);
  object.responds = true;
  vi.clearAllTimers();
  vi.setSystemTime(start + 16_000);
  void replica.begin();
  await vi.advanceTimersByTimeAsync(10);
  expect(calls.length).toBeGreaterThan(before);
  expect(replica.isTogether).toBe(true);
});
