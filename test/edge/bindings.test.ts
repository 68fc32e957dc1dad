import { beforeEach, expect, test } from 'vitest';
import { TotalsTable } from '../../src/edge/bindings.ts';
import type { BodyCheckCount } from '../../src/rollout/body-checks.ts';
import type { RolloutTotals } from '../../src/rollout/rollout-tally.ts';

const NOW = Date.UTC(2026, 0, 1);
const rows = new Map<string, unknown>();
const writes: string[] = [];

beforeEach(() => {
  rows.clear();
  writes.length = 0;
});

function open(): TotalsTable {
  return new TotalsTable({
    get: async (key) => rows.get(key),
    put: async (key, value) => {
      writes.push(key);
      rows.set(key, structuredClone(value));
    },
    list: async ({ prefix }) => new Map([...rows].filter(([key]) => key.startsWith(prefix))),
    delete: async (key) => rows.delete(key),
  });
}

function checksOf(client: string, invalid: number): BodyCheckCount {
  const pointers = [{ at: '/colour', count: invalid }];
  const none = { valid: 0, refusedByBoth: 0, unknown: 0, refused: 0, refusals: [] };
  return { operation: 'create_client', client, invalid, bodies: invalid, pointers, ...none };
}

function totalsOf(different: number, bodyChecks: readonly BodyCheckCount[] = []): RolloutTotals {
  const fields = [{ path: '/data/name', kind: 'value' as const, count: different }];
  return {
    requests: { v1: different, v2: 1 },
    shadows: [{ operation: 'list_clients', same: 0, different, unknown: 0, fields }],
    bodyChecks,
  };
}

test('additions are sums, which outlive the memory', async () => {
  const before = open();
  before.add('book', totalsOf(2, [checksOf('a', 1)]), NOW);
  before.add('book', totalsOf(3, [checksOf('a', 4), checksOf('b', 1)]), NOW + 1000);
  const sums = before.of('book');
  expect(sums).toEqual({
    since: '2026-01-01T00:00:00.000Z',
    ...totalsOf(5, [checksOf('a', 5), checksOf('b', 1)]),
    requests: { v1: 5, v2: 2 },
  });
  await before.keep();
  const after = open();
  await after.restore();
  expect(after.of('book')).toEqual(sums);
  expect(after.of('another')).toBeUndefined();
});

test('only rows that have changed are written', async () => {
  const table = open();
  table.add('book', totalsOf(1, [checksOf('a', 1), checksOf('b', 1)]), NOW);
  await table.keep();
  expect(writes).toHaveLength(4);
  writes.length = 0;
  table.add('book', { ...totalsOf(1, [checksOf('b', 1)]), shadows: [] }, NOW);
  await table.keep();
  await table.keep();
  expect(writes.toSorted()).toEqual(['totals/book body/b/create_client', 'totals/book requests']);
});

test('each rule book has its own, and the one without additions for longest makes room', async () => {
  const table = open();
  for (const [ruleBook, at] of [
    ['old', 0],
    ['next', 1],
    ['old', 2],
    ['last', 3],
  ] as const)
    table.add(ruleBook, totalsOf(1), NOW + at);
  await table.keep();
  expect([table.of('old')?.requests, table.of('next'), table.of('last')?.requests]).toEqual([
    { v1: 2, v2: 2 },
    undefined,
    { v1: 1, v2: 1 },
  ]);
  expect([...rows.keys()].some((key) => key.includes('next'))).toBe(false);
});

test('pairs beyond the limit are counted with those without a key, and are kept with them', async () => {
  const table = open();
  for (let client = 0; client < 1200; client += 1)
    table.add('book', totalsOf(1, [checksOf(`client-${client}`, 1)]), NOW);
  await table.keep();
  const after = open();
  await after.restore();
  const counts = after.of('book')?.bodyChecks ?? [];
  expect(counts.length).toBeLessThanOrEqual(1001);
  expect(counts.reduce((sum, { invalid }) => sum + invalid, 0)).toBe(1200);
});
