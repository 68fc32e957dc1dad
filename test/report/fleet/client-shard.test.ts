import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clientReport } from '../../../src/report/client-report.ts';
import {
  addToShard,
  FieldReader,
  mergeClient,
  packClient,
  readClient,
  readShard,
} from '../../../src/report/fleet/client-shard.ts';
import type { TallyEntry } from '../../../src/report/tally/tally-entry.ts';
import { Tally, ClientTally } from '../../../src/report/tally/tally.ts';
import { inOneOrder } from '../../support/played-replica.ts';
import { v1TallyEntry } from '../../support/v1-tally-entry.ts';
import { arbitraryEntry, ENTRIES_FROM } from '../arbitrary-entry.ts';

const TIME = '2026-11-22T10:00:00.000Z';
const EVER = '2026-01-01T00:00:00.000Z';

function talliesOf(counts: Readonly<Record<string, number>>, over: Partial<TallyEntry> = {}): Tally {
  const tally = new Tally();
  for (const [client, count] of Object.entries(counts))
    for (let k = 0; k < count; k += 1) tally.add(v1TallyEntry(client, TIME, over));
  return tally;
}

test('of more clients than a record holds, those with the most requests stay, and those of the others are counted together', () => {
  const counts = Object.fromEntries(Array.from({ length: 50 }, (_, k) => [`c${k}`, k + 1]));
  const packed = addToShard('[]', talliesOf(counts).clients, EVER);
  const kept = readShard(packed?.text ?? '');
  expect(kept?.size).toBe(40);
  expect(Math.min(...[...(kept?.values() ?? [])].map(({ v1 }) => v1.count))).toBe(11);
  // 1 + 2 + … + 10.
  expect(packed?.omitted).toBe(55);
});

test('no client takes more than its part of a record, with any requests', () => {
  const tally = talliesOf({ steady: 3 });
  for (let k = 0; k < 5000; k += 1)
    tally.add({
      time: TIME,
      client: 'loud',
      route: 'migrate',
      method: 'POST',
      path: `/api/v1/${'x'.repeat(60)}/${String.fromCharCode(97 + (k % 26))}${String.fromCharCode(97 + ((k / 26) % 26))}`,
      verdict: 'rewritten',
      status: 400 + (k % 100),
      edits: [],
      errorPointers: [`/${'y'.repeat(80)}${String.fromCharCode(97 + (k % 26))}`],
    });
  const packed = addToShard('[]', tally.clients, EVER);
  expect(packed?.omitted).toBe(0);
  expect(packed?.text.length).toBeLessThan(32 * 1024);
  expect(readShard(packed?.text ?? '')?.get('loud')?.v1.count).toBe(5000);
});

test('a client that was not seen after a given time is forgotten', () => {
  const { text = '' } = addToShard('[]', talliesOf({ aa: 1 }).clients, EVER) ?? {};
  const later = addToShard(text, talliesOf({ bb: 1 }, { time: '2026-11-23T10:00:00.000Z' }).clients, TIME);
  expect([...(readShard(later?.text ?? '')?.keys() ?? [])].sort()).toEqual(['aa', 'bb']);
  const last = addToShard(text, new Map(), '2026-11-22T10:00:00.001Z');
  expect(last).toEqual({ text: '[]', omitted: 0 });
});

test.each(['', '{}', '[1]', '[["aa"]]', '[["aa",1,2,3,4,5,6,7,8,9,"x"]]', '[[1,2]]'])(
  'a record of %j cannot be read, and is not replaced',
  (text) => {
    const { clients } = talliesOf({ aa: 1 });
    expect([readShard(text), addToShard(text, clients, EVER)]).toEqual([undefined, undefined]);
  },
);

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

test('counts of a client are the same in any order and grouping of merges, and empty counts change nothing', () => {
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
