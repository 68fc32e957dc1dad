import { expect, test } from 'vitest';
import { runFleet } from './fleet/run-fleet.ts';

/** `npm run test:long` plays the whole fleet; otherwise a smaller one goes through the same days. */
const isWhole = process.env['FUZZ'] !== undefined;
const fleets = isWhole
  ? (['refuse', 'strip'] as const).map((unknown) => ({ clients: 300, seed: 1, unknown }))
  : [{ clients: 24, seed: 5, unknown: 'refuse' as const }];
const TIMEOUT_MS = isWhole ? 3_600_000 : 120_000;

test.each(fleets)(
  'every statement of the report is true of the clients, or says that it is not known: $clients clients, V2 would $unknown',
  async (fleet) => {
    const { table, rollbacks, restarts, logs, requests, verdicts } = await runFleet(fleet);
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
  },
  TIMEOUT_MS,
);
