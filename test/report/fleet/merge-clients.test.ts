import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FieldReader, mergeClient, packClient, readClient } from '../../../src/report/fleet/client-shard.ts';
import { clientReport } from '../../../src/report/client-report.ts';
import { ClientTally } from '../../../src/report/tally/client-tally.ts';
import { Tally } from '../../../src/report/tally/tally.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { inOneOrder } from '../../support/played-replica.ts';
import { arbitraryEntry, ENTRIES_FROM } from '../arbitrary-entry.ts';

const CLOCK = { now: ENTRIES_FROM + 40 * 86_400_000, goneAfterDays: 14, allV1: 100 };

const entries = fc.array(
  arbitraryEntry.map((entry): TallyEntry => ({ ...entry, client: 'aa' })),
  { maxLength: 12 },
);

function tallyOf(list: readonly TallyEntry[]): ClientTally {
  const tally = new Tally();
  for (const entry of list) tally.add(entry);
  return tally.clients.get('aa') ?? new ClientTally(0);
}

function sum(...tallies: readonly ClientTally[]): ClientTally {
  const into = new ClientTally(0);
  for (const tally of tallies) mergeClient(into, tally);
  return into;
}

function shown(tally: ClientTally): unknown {
  return inOneOrder([
    clientReport('aa', tally, CLOCK, undefined),
    [...tally.days.all()],
    [...tally.rewrittenDays.all()],
  ]);
}

test('counts of a client are the same in whatever order and groups they are merged, and those of nothing change nothing', () => {
  fc.assert(
    fc.property(entries, entries, entries, (first, second, third) => {
      const [one, two, three] = [tallyOf(first), tallyOf(second), tallyOf(third)];
      const all = shown(tallyOf([...first, ...second, ...third]));
      expect(shown(sum(one, two, three))).toEqual(all);
      expect(shown(sum(three, one, two))).toEqual(all);
      expect(shown(sum(one, sum(two, three)))).toEqual(all);
      expect(shown(sum(sum(one, two), three, new ClientTally(0)))).toEqual(all);
    }),
  );
});

test('counts of a client come back from a record as they were, also through several records', () => {
  const stored = (tally: ClientTally): ClientTally =>
    readClient(new FieldReader(JSON.parse(JSON.stringify(packClient(tally)))));
  fc.assert(
    fc.property(entries, entries, (first, second) => {
      const both = shown(tallyOf([...first, ...second]));
      expect(shown(stored(sum(stored(tallyOf(first)), tallyOf(second))))).toEqual(both);
    }),
  );
});
