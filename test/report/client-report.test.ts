import { expect, test } from 'vitest';
import { rolloutText } from '../../src/cli/rollout.ts';
import {
  bodyCheckLines,
  type BodyChecks,
  bodyCheckWords,
  clientWouldFail,
  outcomesOf,
  outcomeWords,
} from '../../src/report/client-report.ts';
import { FieldReader, packClient, readClient } from '../../src/report/fleet/client-shard.ts';
import { digests, guideMarkdown } from '../../src/report/guide/guide-text.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally, ClientTally } from '../../src/report/tally/tally.ts';
import { Outcomes } from '../../src/report/tally/outcomes.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { BodyCheckTally, wouldFail, wouldFailWords } from '../../src/rollout/body-checks.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

function checksOf(operation: string, counts: Partial<BodyChecks>): BodyChecks {
  return {
    operation,
    valid: 0,
    invalid: 0,
    refusedByBoth: 0,
    unknown: 0,
    refused: 0,
    pointers: [],
    ...counts,
  };
}

test('a client that disconnected and a response that broke off are not responses of another', () => {
  const outcomes = new Outcomes();
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 0 });
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 200, failure: 'upstream-broken' });
  outcomes.add({ ...sampleEntry(0, 0), origin: 'v1', status: 502, failure: 'upstream-closed' });
  expect(outcomeWords(outcomesOf(outcomes))).toBe(
    'client disconnected (V1) 1×, V1 200 upstream-broken 1×, gateway 502 upstream-closed 1×',
  );
});

test('operations whose bodies the schema accepts share a line, each other has its own', () => {
  const accepted = [checksOf('create_client', { valid: 1 }), checksOf('create_contact', { valid: 2 })];
  expect(bodyCheckLines(accepted)).toEqual(['create_client, create_contact: none of 3 refused']);
  expect(
    bodyCheckLines([
      ...accepted,
      checksOf('create_booking', { valid: 1, unknown: 1 }),
      checksOf('order_floor_plan', { valid: 1, refusedByBoth: 2 }),
      checksOf('update_property', { unknown: 3 }),
    ]),
  ).toEqual([
    'create_booking: none of 1 refused, 1 not known',
    'order_floor_plan: 0 of 3 refused that V1 accepted, 2 refused by both',
    'update_property: 3 not known',
    'create_client, create_contact: none of 3 refused',
  ]);
  expect(bodyCheckLines([])).toEqual([]);
});

// A client whose half the gateway would refuse was "none of 10 refused" in the retirement, and refused in the rollout.
test('retirement, rollout, guide, digest and command line have one figure of what would fail', () => {
  const CLIENT = '3fa9000000000000';
  const dryRun = (would: Entry['would'], status = 201): Entry => ({
    ...sampleEntry(0, 0),
    time: '2026-11-21T12:00:00.000Z',
    client: CLIENT,
    operation: 'create_client',
    route: 'migrate',
    verdict: 'passed',
    origin: 'v1',
    mode: 'observe',
    status,
    bytesIn: 20,
    would,
  });
  const entries = [
    dryRun({ verdict: 'rewritten', v2: 'invalid', at: '/b' }, 422),
    ...Array.from({ length: 4 }, () => dryRun({ verdict: 'rewritten', v2: 'valid' })),
    ...Array.from({ length: 3 }, () =>
      dryRun({ verdict: 'refused', failure: 'duplicate-member', pointer: '/data/a' }),
    ),
    ...Array.from({ length: 2 }, () => dryRun({ verdict: 'rewritten', v2: 'invalid', at: '/a' })),
    dryRun({ verdict: 'refused', failure: 'malformed-json' }, 400),
    dryRun({ verdict: 'rewritten', v2: 'unknown', why: 'budget' }),
  ];
  const [tally, rollout, guide] = [new Tally(), new BodyCheckTally(), new Guide('3fa9')];
  // What came to light under the rule book before says nothing about this one.
  const before = entries.map((entry) => ({
    ...entry,
    ruleBook: 'the one before',
    time: '2026-11-20T00:00:00.000Z',
  }));
  for (const entry of [...before, ...entries]) {
    tally.add(entry);
    rollout.add(entry);
    guide.add(entry);
  }
  const report = makeReport(tally, { now: '2026-11-22T00:00:00.000Z' });
  const [client] = report.clients;
  const figure =
    '5 of 10 checked requests would fail after the migration, apart from 1 that V1 refuses as well';
  expect(client && clientWouldFail(client)).toBe(figure);
  expect(client && bodyCheckWords(client)).toContain(figure);
  const counts = rollout.list(entries[0]?.ruleBook ?? '');
  expect(wouldFailWords(wouldFail(counts))).toBe(figure);
  const text = rolloutText(sampleRollout({ bodyChecks: { counts, omitted: 0 } }), { columns: 200 });
  expect(text).toContain(`create_client: ${figure}`);
  expect(guideMarkdown(guide.document(testRuleBook()))).toContain(figure);
  expect(digests(report, [])[0]?.sentences.join(' ')).toContain(figure);
  const packed = readClient(new FieldReader(packClient(tally.clients.get(CLIENT) ?? new ClientTally(0))));
  expect(packed.bodyChecks.under().get('create_client')).toMatchObject({ refused: 3, invalid: 2 });
  // A rule book in force that no request met yet has no figure.
  const renewed = makeReport(tally, { now: '2026-11-22T00:00:00.000Z', ruleBook: 'the one after' });
  expect(renewed.clients.map((one) => clientWouldFail(one))).toEqual(['']);
});
