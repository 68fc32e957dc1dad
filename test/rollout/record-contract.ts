import { expect, test } from 'vitest';
import type { RecordStore } from '../../src/rollout/store.ts';
import { until } from '../support/until.ts';

/** Records under test. */
export interface RecordsUnderTest {
  /** Opens one more handle on the same records, as one more replica would. */
  readonly open: () => Promise<RecordStore>;
  /** Makes the store lose all records. */
  readonly lose: () => Promise<void>;
  /** Closes and removes what `open` made. */
  readonly close: () => Promise<void>;
}

/** Tests each promise of `RecordStore` with two replicas; `make` returns an empty store each time. */
export function recordContract(make: () => Promise<RecordsUnderTest>): void {
  async function pair(): Promise<
    RecordsUnderTest & { readonly one: RecordStore; readonly other: RecordStore }
  > {
    const records = await make();
    return { ...records, one: await records.open(), other: await records.open() };
  }

  test('records that one replica sets are those that every replica reads, in the order of their revisions', async () => {
    const { one, other, close } = await pair();
    expect(await other.changes(0, 10)).toEqual({ life: '', records: [] });
    const first = await one.replace('', [
      { key: 'b', text: '["ü\\u0000 🙂"]', revision: 0 },
      { key: 'a', text: '', revision: 0 },
    ]);
    const { life = '', revision = 0 } = first ?? {};
    expect(life).not.toBe('');
    expect(await other.changes(0, 10)).toEqual({
      life,
      records: [
        { key: 'b', text: '["ü\\u0000 🙂"]', revision: revision - 1 },
        { key: 'a', text: '', revision },
      ],
    });
    const second = await other.replace(life, [{ key: 'b', text: 'x', revision: revision - 1 }]);
    expect(second?.life).toBe(life);
    expect(await one.changes(revision, 10)).toEqual({
      life,
      records: [{ key: 'b', text: 'x', revision: second?.revision }],
    });
    expect(second?.revision).toBeGreaterThan(revision);
    await close();
  });

  test('of several records all are set or none: who does not know one changes nothing', async () => {
    const { one, other, close } = await pair();
    const { life = '', revision = 0 } = (await one.replace('', [{ key: 'a', text: '1', revision: 0 }])) ?? {};
    const stale = [
      { key: 'new', text: '2', revision: 0 },
      { key: 'a', text: '2', revision: 0 },
    ];
    expect(await other.replace(life, stale)).toBe(undefined);
    expect(await other.replace(life, [{ key: 'none', text: '2', revision: 7 }])).toBe(undefined);
    expect(await other.replace('', [{ key: 'new', text: '2', revision: 0 }])).toBe(undefined);
    expect(await other.replace('another life', [{ key: 'a', text: '2', revision }])).toBe(undefined);
    expect((await one.changes(0, 10)).records).toEqual([{ key: 'a', text: '1', revision }]);
    await close();
  });

  test('of many that replace the same record at once, one does', async () => {
    const { one, other, close } = await pair();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, k) =>
        (k % 2 === 0 ? one : other).replace('', [{ key: 'a', text: String(k), revision: 0 }]),
      ),
    );
    expect(outcomes.filter((outcome) => outcome !== undefined)).toHaveLength(1);
    const [record] = (await one.changes(0, 10)).records;
    expect(record?.text).toBe(String(outcomes.findIndex((outcome) => outcome !== undefined)));
    await close();
  });

  test('many large records are read page by page, and only what changed is read again', async () => {
    const { one, other, close } = await pair();
    let life = '';
    for (let at = 0; at < 30; at += 10) {
      const changes = Array.from({ length: 10 }, (_, k) => ({
        key: `r${at + k}`,
        text: 'ä'.repeat(20_000),
        revision: 0,
      }));
      life = (await one.replace(life, changes))?.life ?? '';
    }
    const keys: string[] = [];
    let after = 0;
    for (;;) {
      const { records } = await other.changes(after, 7);
      keys.push(...records.map(({ key }) => key));
      expect(records.every(({ text }) => text.length === 20_000)).toBe(true);
      after = records.at(-1)?.revision ?? after;
      if (records.length < 7) break;
    }
    expect(keys).toEqual(Array.from({ length: 30 }, (_, k) => `r${k}`));
    const last = (await other.changes(0, 1)).records[0]?.revision ?? 0;
    await one.replace(life, [{ key: 'r0', text: 'new', revision: last }]);
    expect((await other.changes(after, 10)).records.map(({ key, text }) => [key, text])).toEqual([
      ['r0', 'new'],
    ]);
    await close();
  });

  test('a store that lost its records begins another life', async () => {
    const { one, other, lose, close } = await pair();
    const first = await one.replace('', [{ key: 'a', text: '1', revision: 0 }]);
    await lose();
    for (const records of [one, other])
      await until(() =>
        records.changes(0, 10).then(
          () => true,
          () => false,
        ),
      );
    expect(await other.changes(first?.revision ?? 0, 10)).toEqual({ life: '', records: [] });
    expect(
      await one.replace(first?.life ?? '', [{ key: 'a', text: '2', revision: first?.revision ?? 0 }]),
    ).toBe(undefined);
    const second = await other.replace('', [{ key: 'a', text: '3', revision: 0 }]);
    expect(second?.life).not.toBe(first?.life);
    await close();
  });
}
