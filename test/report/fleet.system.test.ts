import { expect, test } from 'vitest';
import { runFleet } from '../../bench/fleet/run-fleet.ts';

// The whole fleet is `npm run fleet`; this is a smaller one through the same days.
test('every statement of the report is true of the clients, or says that it is not known', async () => {
  const { table, rollbacks, restarts, logs, requests, verdicts } = await runFleet({
    clients: 24,
    seed: 5,
    unknown: 'refuse',
  });
  expect(table.faults).toEqual([]);
  expect(table.wrong).toBe(0);
  const judged = new Map(table.all.map((row) => [row.statement, row]));
  for (const statement of [
    'clients',
    'operations',
    'request changes',
    'response changes',
    'refused',
    'mistakes',
    'outcomes',
    'last seen',
    'gone',
    'class',
    'proposed strips',
    'proposed strips with OpenAPI',
    'switching off',
    'guide: after',
    'guide: responses',
    'guide: mistakes',
  ])
    expect(judged.get(statement)?.right).toBeGreaterThan(5);
  expect([requests > 1000, rollbacks > 0, restarts > 5, logs > 10]).toEqual([true, true, true, true]);
  expect(verdicts[0]).toBe('no');
  expect(verdicts.at(-1)).toBe('yes');
});
