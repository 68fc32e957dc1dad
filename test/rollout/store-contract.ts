import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Store } from '../../src/rollout/store.ts';
import { until } from '../support/until.ts';

/** Stores under test. */
export interface StoresUnderTest {
  /** Opens one more handle on the same store, as one more replica would. */
  readonly open: () => Promise<Store>;
  /** Makes the given milliseconds pass on the clock of the store. */
  readonly pass: (milliseconds: number) => Promise<void>;
  /** Closes and removes what `open` made. */
  readonly close: () => Promise<void>;
}

/** Tests each promise of `Store` with two replicas on one store; `make` returns an empty store each time. */
export function storeContract(make: () => Promise<StoresUnderTest>): void {
  /** Two replicas on an empty store. */
  async function pair(): Promise<StoresUnderTest & { readonly one: Store; readonly other: Store }> {
    const stores = await make();
    return { ...stores, one: await stores.open(), other: await stores.open() };
  }

  test('a key has no text at first, then the one that a replica set, for every replica', async () => {
    const { one, other, close } = await pair();
    expect(await one.read('state')).toBe(undefined);
    expect(await one.compareAndSet('state', undefined, '{"ü": "\\u0000 🙂"}\n')).toBe(true);
    expect(await other.read('state')).toBe('{"ü": "\\u0000 🙂"}\n');
    expect(await other.read('state-2')).toBe(undefined);
    await close();
  });

  test('a text is only replaced by who knows it', async () => {
    const { one, other, close } = await pair();
    expect(await one.compareAndSet('state', 'never', 'x')).toBe(false);
    expect(await one.read('state')).toBe(undefined);
    expect(await one.compareAndSet('state', undefined, 'a')).toBe(true);
    expect(await other.compareAndSet('state', undefined, 'b')).toBe(false);
    expect(await other.compareAndSet('state', 'a', 'b')).toBe(true);
    expect(await one.compareAndSet('state', 'a', 'c')).toBe(false);
    expect(await one.read('state')).toBe('b');
    await close();
  });

  test('of many that replace the same text at once, one does', async () => {
    const { one, other, close } = await pair();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, k) =>
        (k % 2 === 0 ? one : other).compareAndSet('state', undefined, String(k)),
      ),
    );
    expect(outcomes.filter(Boolean)).toHaveLength(1);
    expect(await one.read('state')).toBe(String(outcomes.indexOf(true)));
    await close();
  });

  test('a large text is kept whole', async () => {
    const { one, other, close } = await pair();
    const text = 'ä'.repeat(50_000);
    expect(await one.compareAndSet('state', undefined, text)).toBe(true);
    expect((await other.read('state')) === text).toBe(true);
    await close();
  });

  test('additions of all replicas are summed, number by number and window by window', async () => {
    const { one, other, close } = await pair();
    const windowMs = 600_000;
    await one.count([{ key: 'canary/1', windowMs, add: [1, 0, 2, 1] }]);
    const [first, second] = await other.count([
      { key: 'canary/1', windowMs, add: [0, 0, 10, 5] },
      { key: 'shield/a', windowMs, add: [7] },
    ]);
    expect(sums(first)).toEqual([1, 0, 12, 6]);
    expect(sums(second)).toEqual([7]);
    const [third] = await one.count([{ key: 'canary/1', windowMs, add: [0, 0, 0, 0] }]);
    expect(sums(third)).toEqual([1, 0, 12, 6]);
    await close();
  });

  test('of two that add at once, one sees the other: they do not both take the last slot', async () => {
    const { one, other, close } = await pair();
    for (let round = 0; round < 20; round += 1) {
      const addition = { key: `shield/${round}`, windowMs: 600_000, add: [0, 1] };
      const both = await Promise.all([one.count([addition]), other.count([addition])]);
      expect(Math.max(...both.map(([counts]) => sums(counts)[1] ?? 0))).toBe(2);
    }
    await close();
  });

  test('no addition is lost among many at once', async () => {
    const { one, other, close } = await pair();
    const windowMs = 600_000;
    await Promise.all(
      Array.from({ length: 40 }, (_, k) =>
        (k % 2 === 0 ? one : other).count([{ key: 'w', windowMs, add: [1] }]),
      ),
    );
    // A store may learn of another replica's addition a moment later.
    await until(async () => sums((await one.count([{ key: 'w', windowMs, add: [0] }]))[0])[0] === 40);
    expect(sums((await other.count([{ key: 'w', windowMs, add: [0] }]))[0])).toEqual([40]);
    await close();
  });

  test('a part of a window goes when it is as old as the window', async () => {
    const { one, other, pass, close } = await pair();
    const windowMs = 1200;
    const [start] = await one.count([{ key: 'w', windowMs, add: [3] }]);
    expect(start?.parts).toEqual([{ part: start?.part, counts: [3] }]);
    await pass(400);
    const [later] = await other.count([{ key: 'w', windowMs, add: [4] }]);
    expect(sums(later)).toEqual([7]);
    expect((later?.part ?? 0) - (start?.part ?? 0)).toBeGreaterThanOrEqual(3);
    await pass(2000);
    const [end] = await one.count([{ key: 'w', windowMs, add: [0] }]);
    expect(end?.parts).toEqual([]);
    await close();
  });

  test('a subscriber is told of a change by any replica, until it ends', async () => {
    const { one, other, close } = await pair();
    let calls = 0;
    const end = one.subscribe('state', () => {
      calls += 1;
    });
    // A subscription may take a moment.
    let text: string | undefined;
    await until(async () => {
      const next = `${text ?? ''}x`;
      await other.compareAndSet('state', text, next);
      text = next;
      return calls > 0;
    });
    await one.compareAndSet('state', text, 'own');
    await until(() => calls > 1);
    end();
    await pause(400);
    const before = calls;
    await other.compareAndSet('state', 'own', 'after');
    await pause(400);
    expect(calls).toBe(before);
    await close();
  });
}

function sums(counts: Awaited<ReturnType<Store['count']>>[number] | undefined): readonly number[] {
  const [first] = counts?.parts ?? [];
  return (first?.counts ?? []).map((_, index) =>
    (counts?.parts ?? []).reduce((sum, part) => sum + (part.counts[index] ?? 0), 0),
  );
}
