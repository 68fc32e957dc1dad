import { expect, test } from 'vitest';
import { rolloutText } from '../../src/cli/rollout.ts';
import { createRolloutAdmin } from '../../src/inspector/rollout-admin.ts';
import {
  bodyCheckLines,
  type BodyChecks,
  bodyCheckWords,
  clientWouldFail,
  outcomesOf,
  outcomeWords,
  type ResponseMember,
  responseWords,
} from '../../src/report/client-report.ts';
import { FieldReader, packClient, readClient } from '../../src/report/fleet/client-shard.ts';
import { digests, guideMarkdown } from '../../src/report/guide/guide-text.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import { makeReport } from '../../src/report/report.ts';
import { Tally, ClientTally } from '../../src/report/tally/tally.ts';
import { Outcomes } from '../../src/report/tally/outcomes.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import type { Comparison } from '../../src/rollout/comparison-tally.ts';
import { BodyCheckTally, wouldFail, wouldFailWords } from '../../src/rollout/body-checks.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';

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
    'client disconnected (sent to V1) 1×, 200 upstream-broken by V1 1×, 502 upstream-closed by the gateway 1×',
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
    'order_floor_plan: none of 1 refused, 2 refused by V1 as well',
    'update_property: 3 not known',
    'create_client, create_contact: none of 3 refused',
  ]);
  expect(bodyCheckLines([])).toEqual([]);
});

const CLIENT = '3fa9000000000000';

function dryRun(would: Entry['would'], status = 201): Entry {
  return {
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
  };
}

/** A read that shadow compared. */
function read(comparison: Partial<Comparison> & Pick<Comparison, 'verdict'>, status = 200): Entry {
  return {
    ...dryRun({ verdict: 'unchanged' }, status),
    method: 'GET',
    mode: 'shadow',
    bytesIn: 0,
    comparison: { differences: [], noise: 0, extra: 0, ...comparison },
  };
}

/** What V1 and V2 make of a request: a dry run is the gateway's, or that of V2's schema. */
const TRUTHS = {
  'both take it': dryRun({ verdict: 'rewritten', v2: 'valid' }),
  'V2 alone refuses it': dryRun({ verdict: 'rewritten', v2: 'invalid', at: '/a' }),
  'the gateway alone refuses it': dryRun({
    verdict: 'refused',
    failure: 'duplicate-member',
    pointer: '/data/a',
  }),
  'V1 and V2 refuse it': dryRun({ verdict: 'rewritten', v2: 'invalid', at: '/b' }, 422),
  'V1 and the gateway refuse it': dryRun({ verdict: 'refused', failure: 'malformed-json' }, 400),
  // V2's schema is not V2, which may refuse it for V1's reason.
  'V1 refuses it, and the schema does not': dryRun({ verdict: 'rewritten', v2: 'valid' }, 422),
  'nobody knows': dryRun({ verdict: 'rewritten', v2: 'unknown', why: 'budget' }),
  'V2 has nothing at a read': read({ verdict: 'different', status: { v1: 200, v2: 404 } }),
  'V2 has other members of a read': read({ verdict: 'different' }),
  'V1 and V2 have nothing at a read': read({ verdict: 'same' }, 404),
  'a read was not compared': read({ verdict: 'unknown', why: 'timeout' }),
  'V1 failed': dryRun({ verdict: 'rewritten', v2: 'invalid', at: '/c' }, 503),
} as const;

// A client whose half the gateway would refuse was "none of 10 refused" in the retirement, and refused in the rollout.
test.each<
  [figure: string, requests: Partial<Record<keyof typeof TRUTHS, number>>, operations?: readonly string[]]
>([
  [
    '5 of 11 checked requests would fail after the migration, apart from 2 that V1 refuses as well',
    {
      'both take it': 4,
      'V2 alone refuses it': 2,
      'the gateway alone refuses it': 3,
      'V1 and V2 refuse it': 1,
      'V1 and the gateway refuse it': 1,
      'V1 refuses it, and the schema does not': 1,
      'nobody knows': 1,
      'V1 failed': 1,
    },
  ],
  [
    '3 of 7 checked requests would fail after the migration',
    { 'both take it': 4, 'V2 alone refuses it': 3 },
    ['create_client', 'create_contact'],
  ],
  [
    '39 of 45 checked requests would fail after the migration, apart from 2 that V1 refuses as well',
    {
      'V2 has nothing at a read': 39,
      'V2 has other members of a read': 4,
      'V1 and V2 have nothing at a read': 2,
      'a read was not compared': 9,
    },
  ],
  ['none of 3 checked requests would fail after the migration', { 'both take it': 3, 'nobody knows': 2 }],
  ['V1 refuses all 2 checked requests as well', { 'V1 and the gateway refuse it': 2 }],
  [
    'V1 refuses all 3 checked requests as well',
    { 'V1 and V2 refuse it': 1, 'V1 and the gateway refuse it': 2 },
  ],
  ['V1 refuses the one checked request as well', { 'V1 and V2 refuse it': 1, 'nobody knows': 1 }],
  ['', { 'V1 refuses it, and the schema does not': 2, 'nobody knows': 1, 'V1 failed': 2 }],
])(
  'retirement, rollout, guide, digest and command line have one figure of requests that would fail: %s',
  (figure, requests, operations = ['create_client']) => {
    const entries = Object.entries(TRUTHS)
      .flatMap(([truth, entry]) =>
        Array.from({ length: requests[truth as keyof typeof TRUTHS] ?? 0 }, () => entry),
      )
      .map((entry, at) => ({ ...entry, operation: operations[at % operations.length] ?? '' }));
    const [tally, rollout, guide] = [new Tally(), new BodyCheckTally(), new Guide('3fa9')];
    // What came to light under the rule book before says nothing about this one.
    const before = [TRUTHS['both take it'], TRUTHS['V2 alone refuses it']].map((entry) => ({
      ...entry,
      ruleBook: 'the one before',
      time: '2026-11-20T00:00:00.000Z',
    }));
    for (const entry of [...before, ...entries]) {
      tally.add(entry);
      rollout.add(entry);
      guide.add(entry);
    }
    const report = makeReport(tally, {
      now: '2026-11-22T00:00:00.000Z',
      ruleBook: TRUTHS['both take it'].ruleBook,
    });
    const [client] = report.clients;
    expect(client && clientWouldFail(client)).toBe(figure);
    const rule = testRuleBook({ hash: TRUTHS['both take it'].ruleBook });
    expect(wouldFailWords(wouldFail(rollout.list(rule.hash)))).toBe(figure);
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    // V1 responds: what is migrated is not listed.
    control.command({ mode: { mode: 'observe' } });
    const admin = createRolloutAdmin({
      control,
      counts: {
        requests: { v1: 0, v2: 0 },
        comparisons: { list: [] },
        bodyChecks: { isOn: true, tally: rollout, warnings: () => [] },
      },
      hasStore: false,
      ruleBook: () => rule,
      v1Origin: 'http://v1.test',
      isSticky: true,
      names: () => new Map(),
    });
    const text = rolloutText(admin.view(), { columns: 200 });
    const places = [
      client === undefined ? '' : bodyCheckWords(client),
      guideMarkdown(guide.document(testRuleBook())),
      digests(report, [])[0]?.sentences.join(' ') ?? '',
    ];
    if (figure === '')
      for (const place of [text, ...places])
        expect(place).not.toMatch(/would fail after the migration|checked request/);
    else {
      // One line says it for all clients, unless requests of one would fail.
      expect(text.replace(`${CLIENT} create_client: `, '1 client: ')).toContain(`1 client: ${figure}`);
      for (const place of places) expect(place).toContain(figure);
    }
    const packed = readClient(new FieldReader(packClient(tally.clients.get(CLIENT) ?? new ClientTally(0))));
    expect(packed.bodyChecks.under()).toEqual(tally.clients.get(CLIENT)?.bodyChecks.under());
    // A rule book in force that no request met yet has no figure.
    const renewed = makeReport(tally, { now: '2026-11-22T00:00:00.000Z', ruleBook: 'a later one' });
    expect(renewed.clients.map((one) => clientWouldFail(one))).toEqual(['']);
  },
);

test('a member of responses that two changes move is named once, and a cell names a few', () => {
  const used = { firstSeen: '', lastSeen: '' };
  const moved = (v1: string, v2: string, count: number): ResponseMember => ({
    change: `c${count}`,
    v1,
    v2,
    count,
    ...used,
  });
  const responses = [
    moved('/a', '/x/a', 18),
    moved('/a', '/x/a', 17),
    moved('/b', '/y', 9),
    moved('/c', '/z', 2),
  ];
  expect(responseWords({ responses })).toBe('/a is /x/a 18×, /b is /y 9×, /c is /z 2×');
  expect(responseWords({ responses }, 2)).toBe('/a is /x/a 18×, /b is /y 9×, and 1 more');
  expect(responseWords({ responses: [moved('', '', 3)] })).toBe('the whole body is made by a program 3×');
  // A map and a rename of one member are one difference.
  const mapped = { ...moved('/a', '/x/a', 19), hasOtherValues: true as const };
  expect(responseWords({ responses: [mapped, ...responses.slice(0, 1), { ...mapped, v2: '/a' }] })).toBe(
    '/a is /x/a with other values 19×, /a has other values 19×',
  );
});

test('a member that is the whole body of V2 has words for its place', () => {
  const used = { count: 2, firstSeen: '', lastSeen: '' };
  expect(responseWords({ responses: [{ change: 'c', v1: '/data', v2: '', ...used }] })).toBe(
    '/data is the whole body 2×',
  );
});
