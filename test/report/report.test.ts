import { describe, expect, test } from 'vitest';
import { readDestination } from '../../src/rules/move.ts';
import type { Change, Operation } from '../../src/rules/rule-book.ts';
import type { RequestRule } from '../../src/rules/rule.ts';
import { testRuleBook } from '../support/rule-book.ts';
import type { Entry } from '../../src/rewrite-log/entry.ts';
import { Metrics } from '../../src/rewrite-log/metrics.ts';
import { digestMarkdown, digests, guideHtml, guideMarkdown } from '../../src/report/guide/guide-text.ts';
import { guideLetter, guideMail, guideMessage } from '../../src/report/guide/guide-letter.ts';
import { Guide } from '../../src/report/guide/guide.ts';
import {
  endOfV1,
  type GuideBody,
  type GuideCall,
  type GuideDocument,
} from '../../src/report/guide/guide-document.ts';
import { metByBrownouts, noticeSentence } from '../../src/report/endings.ts';
import type { Rollout } from '../../src/rules/rollout.ts';
import { makeReport, makeReportInSteps, type Report, type SwitchOff } from '../../src/report/report.ts';
import {
  CENSUS_LEGEND,
  censusMarkdown,
  reportCsv,
  reportMarkdown,
  reportMarkdownParts,
} from '../../src/report/report-text.ts';
import { censusTerminal, reportTerminal } from '../../src/cli/report/report.ts';
import { PLAIN } from '../../src/cli/terminal.ts';
import { handlersIn } from '../../src/report/census.ts';
import { Tally } from '../../src/report/tally/tally.ts';
import type { EditRecord } from '../../src/rewrite/records.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const DAY = 86_400_000;
const now = Date.UTC(2026, 10, 21, 12);
const UNWRAP: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '/data', path: '' };
const FLAT: EditRecord = { change: 'body-wrapper', rule: 'unwrap', from: '', path: '', note: 'already-flat' };
const SIBLING: EditRecord = { change: 'body-wrapper', rule: 'strip', from: '/source', note: 'sibling' };
const NEST: EditRecord = {
  change: 'property-address',
  rule: 'nest',
  from: '/data/property/suburb',
  path: '/property/address/suburb',
};

function v1(client: string, daysAgo: number, edits: readonly EditRecord[], more: Partial<Entry> = {}): Entry {
  const { attributes: _attributes, ...entry } = sampleEntry(1, now - daysAgo * DAY);
  return {
    ...entry,
    client,
    edits,
    status: 201,
    verdict: edits.length === 0 ? 'unchanged' : 'rewritten',
    ...more,
  };
}

function tallyOf(entries: readonly Entry[]): Tally {
  const tally = new Tally();
  for (const entry of entries) tally.add(entry);
  return tally;
}

const options = { now: new Date(now).toISOString() };
const reportOf = (...entries: readonly Entry[]): Report => makeReport(tallyOf(entries), options);

test('operations that end before V1 are listed with the clients that still use them', () => {
  const bill = { operation: 'create_bill' };
  const tally = tallyOf([
    v1('a', 1, [UNWRAP], bill),
    v1('a', 2, [], bill),
    v1('b', 1, [], { operation: 'read_bill' }),
    v1('c', 60, [UNWRAP], bill),
  ]);
  const ends = {
    operations: {
      create_bill: { sunset: now + DAY, links: [], gone: {} },
      close_bill: { since: now - DAY, sunset: now + DAY, links: [] },
    },
    changes: { 'body-wrapper': { sunset: now - DAY, links: [] } },
  };
  const report = makeReport(tally, { ...options, ends, names: new Map([['a', 'acme']]) });
  expect(report.endings?.map(({ sentence }) => sentence)).toEqual([
    'Operation create_bill ends on 2026-11-22T12:00:00Z; 1 client still uses it: acme.',
    'Operation close_bill has been deprecated since 2026-11-20T12:00:00Z and ends on 2026-11-22T12:00:00Z; no client uses it any more.',
    'The V1 form that change body-wrapper translates ended on 2026-11-20T12:00:00Z; 1 client still uses it: acme.',
  ]);
  expect(report.endings?.[0]).toMatchObject({
    kind: 'operation',
    isRefused: true,
    clients: [{ client: 'a', count: 2 }],
  });
  expect(reportMarkdown(report)).toContain("## Endings before V1's\n\n- Operation create_bill ends");
  expect(makeReport(tally, options)).not.toHaveProperty('endings');
});

test('clients that are new to V1 are listed, with the key that one seems to replace', () => {
  const bill = { operation: 'create_bill' };
  const refused = {
    ...bill,
    verdict: 'refused',
    status: 403,
    failure: 'newcomer',
    newcomer: 'refused',
  } as const;
  const tally = tallyOf([
    ...[30, 20, 10].map((day) => v1('old', day, [], bill)),
    ...[30, 20, 1].map((day) => v1('other', day, [], bill)),
    v1('young', 9, [], refused),
    v1('young', 8, [], refused),
    v1('elsewhere', 9, [], { operation: 'read_bill', newcomer: 'would' }),
  ]);
  const report = makeReport(tally, { ...options, names: new Map([['old', 'acme']]) });
  expect(report.newcomers?.map(({ sentence }) => sentence)).toEqual([
    'young first came at 2026-11-12T12:00:00.000Z: 2 requests refused; its key may be the rotated one of acme: add it under clients, or to except.',
    'elsewhere first came at 2026-11-12T12:00:00.000Z: 1 request served before V1 closed to new clients.',
  ]);
  expect(report.newcomers?.[0]).toMatchObject({ client: 'young', replaces: 'old', refused: 2 });
  expect(report.clients.find(({ client }) => client === 'young')?.mistakes).toEqual([]);
  expect(reportOf(v1('a', 1, []))).not.toHaveProperty('newcomers');
});

function nowhere(status: number, edits: Entry['edits'], more: Partial<Entry> = {}): Entry {
  const would = more.origin === 'v1' ? { would: { verdict: 'rewritten' } as const } : {};
  return { ...v1('c', 1, edits, more), operation: undefined, path: '/api/v1/bill_list', status, ...would };
}

/** V1 served it, and V2 had nothing there in shadow. */
const CHECKED = {
  origin: 'v1',
  comparison: { verdict: 'different', status: { v1: 200, v2: 404 }, differences: [], noise: 0, extra: 0 },
} as const;

test('calls that an operation fits since a new rule are requests for it', () => {
  const book = testRuleBook();
  const operation = book.operations.find(({ template }) => !template.includes('{'));
  if (operation === undefined) throw new Error('the rule book has a path without parameters');
  const before = { ...nowhere(404, []), method: operation.method, path: `/api/v1${operation.template}` };
  const tally = tallyOf([before, v1('c', 1, [], { operation: operation.id, status: 200 })]);
  const [client] = makeReport(tally, { ...options, operations: book }).clients;
  expect(client?.operations).toMatchObject([{ operation: operation.id, count: 2 }]);
  expect(client?.refusals).toEqual([]);
  expect(makeReport(tally, options).clients[0]?.operations).toHaveLength(2);
});

/** The rule book says that V2 does not have the operation any more. */
const GONE = { verdict: 'refused', status: 410, failure: 'operation-gone' } as const;

/** V1 served the request, which the migration would refuse for that reason. */
const GONE_BY_DRY_RUN = {
  verdict: 'passed',
  origin: 'v1',
  status: 200,
  would: { verdict: 'refused', failure: 'operation-gone' },
} as const;

test('a client whose requests only the gateway refused, because V2 has no such operation, reads so', () => {
  expect(reportOf(v1('c', 1, [], GONE)).clients[0]?.refusals).toEqual([
    expect.stringMatching(/^V2 does not have \w+ any more[.]$/),
  ]);
});

/** The rule book has no prefix of the address, so the gateway asked no service. */
const OUTSIDE = {
  route: 'none',
  verdict: 'refused',
  status: 404,
  failure: 'not-found',
  operation: undefined,
  path: '/v1/films',
} as const;

test('a client at an address outside the rule book is listed with it, a crawler is not', () => {
  const { clients } = reportOf(
    v1('c', 1, [], OUTSIDE),
    v1('c', 1, [], { ...OUTSIDE, client: undefined }),
    v1('c', 1, [], { ...OUTSIDE, path: '/api/v1/own-report' }),
  );
  expect(clients).toMatchObject([
    {
      client: 'c',
      v1: 1,
      refusals: [
        expect.stringMatching(
          /^The gateway serves nothing at \w+ \/v1\/films: no prefix of the rule book has it[.]$/,
        ),
      ],
    },
  ]);
});

describe('a client', () => {
  test.each([
    ['blocked', [v1('c', 1, [], OUTSIDE)]],
    ['unknown', [v1('c', 1, [], OUTSIDE), v1('c', 1, [], { operation: 'other' })]],
    ['gone', [v1('c', 60, [UNWRAP, NEST]), v1('c', 40, [NEST])]],
    ['url-only', [v1('c', 1, [FLAT]), v1('c', 2, [])]],
    ['unwrap-only', [v1('c', 1, [SIBLING, UNWRAP]), v1('c', 1, [FLAT])]],
    ['field-work', [v1('c', 1, [UNWRAP, NEST]), v1('c', 0, [UNWRAP])]],
    ['unwrap-only', [v1('c', 15, [UNWRAP, NEST]), v1('c', 1, [UNWRAP])]],
    // No operation fits, and nobody has the address: whatever rules do to such a request, it has no member to change.
    ['unserved', [nowhere(404, [NEST]), nowhere(404, [NEST], { origin: 'v1' })]],
    ['unserved', [nowhere(405, [NEST], { origin: 'v1' })]],
    ['unserved', [v1('c', 40, []), nowhere(404, [])]],
    ['url-only', [nowhere(404, [NEST], { origin: 'v1' }), v1('c', 1, [])]],
    ['url-only', [nowhere(404, [NEST]), v1('c', 1, [])]],
    ['blocked', [nowhere(403, [])]],
    ['blocked', [v1('c', 1, [], GONE)]],
    ['blocked', [v1('c', 1, [], GONE), v1('c', 1, [NEST], { operation: 'other' })]],
    ['blocked', [v1('c', 1, [], GONE_BY_DRY_RUN), v1('c', 1, [NEST], { operation: 'other' })]],
    ['url-only', [v1('c', 2, [], GONE_BY_DRY_RUN), v1('c', 1, [])]],
    // What is refused on purpose says nothing about V2.
    ['blocked', [v1('c', 2, [], GONE_BY_DRY_RUN), v1('c', 1, [], { ...GONE, failure: 'sunset' })]],
    ['blocked', [v1('c', 2, [], GONE), v1('c', 1, [], { ...GONE, failure: 'brownout' })]],
    ['blocked', [v1('c', 1, [], { status: 401 }), v1('c', 1, [], { operation: 'other', status: 401 })]],
    ['blocked', [nowhere(200, [], CHECKED), nowhere(404, [])]],
    ['blocked', [nowhere(200, [], CHECKED)]],
    ['unknown', [nowhere(200, [], CHECKED), v1('c', 1, [])]],
    ['unknown', [nowhere(503, [])]],
    ['field-work', [nowhere(200, [NEST])]],
    ['field-work', [v1('c', 1, [NEST], { status: 404 })]],
  ])('is %s', (expected, entries) => {
    expect(reportOf(...entries).clients[0]?.class).toBe(expected);
  });

  test('that calls only what no service has keeps nobody from switching V1 off', () => {
    const now = '2026-11-21T00:00:00.000Z';
    const lost = ['a', 'b'].map((client) => ({ ...nowhere(404, []), client }));
    const report = makeReport(
      tallyOf([v1('old', 60, []), ...lost, nowhere(404, [], { client: undefined })]),
      {
        now,
        observed: { since: '2026-09-01T00:00:00.000Z', until: now },
        names: new Map([['a', 'Acme']]),
      },
    );
    expect(report.classes).toMatchObject({ unserved: 2, unknown: 0, gone: 1 });
    expect(report.switchOff).toMatchObject({
      verdict: 'yes',
      sentence: 'V1 can be switched off: every client that it served is gone.',
    });
    expect(report.switchOff.conditions[0]?.text).toMatch(
      /^2 clients and requests without a key called V1 in the last 14 days, only at addresses that no service has: /,
    );
    expect(report.remaining[0]).toBe(
      '2 clients call only addresses that no service has; those calls can be removed.',
    );
    const needed = makeReport(tallyOf([v1('c', 1, []), ...lost]), { now }).switchOff;
    expect(needed.verdict).toBe('no');
    expect(needed.conditions[0]?.text).toMatch(
      /^3 clients called V1 in the last 14 days: .*\. Of these, 2 clients called it only at addresses that no service has: [^c]+\.$/,
    );
  });

  test('is counted by operation and change, with first and last time, in any order of the log', () => {
    const entries = [
      v1('c', 3, [UNWRAP]),
      v1('c', 5, [UNWRAP, NEST]),
      v1('c', 1, [], { operation: 'create_client' }),
    ];
    const [client] = makeReport(tallyOf(entries), {
      ...options,
      names: new Map([['c', 'Harcourts']]),
    }).clients;
    expect(client).toMatchObject({
      name: 'Harcourts',
      v1: 3,
      firstSeen: '2026-11-16T12:00:00.000Z',
      lastSeen: '2026-11-20T12:00:00.000Z',
      operations: [
        {
          operation: 'order_floor_plan',
          count: 2,
          firstSeen: '2026-11-16T12:00:00.000Z',
          lastSeen: '2026-11-18T12:00:00.000Z',
        },
        { operation: 'create_client', count: 1 },
      ],
      changes: [
        { change: 'body-wrapper', count: 2 },
        { change: 'property-address', count: 1, rules: ['nest'] },
      ],
    });
  });
});

describe('the report', () => {
  test('leaves out the webhooks of V2, with any outcome', () => {
    const webhooks = [200, 401, 502].map((status): Entry => ({
      ...v1('a', 0, []),
      route: 'webhook',
      status,
    }));
    const [plain, beside] = [[], webhooks].map((more) => reportOf(v1('a', 1, [NEST]), ...more));
    expect(beside).toMatchObject({ v1: 1, v2: 0, classes: plain?.classes, days: plain?.days });
    expect(beside?.clients).toEqual(plain?.clients);
  });

  test('lists the work left before switching off, day by day', () => {
    const native: Entry = { ...v1('n', 0, []), route: 'pass', verdict: 'passed' };
    const { client: _client, ...keyless } = v1('x', 2, [UNWRAP], { verdict: 'refused' });
    const report = makeReport(
      tallyOf([
        v1('a', 0, [NEST]),
        v1('a', 1, [NEST], { apiVersion: { sent: 'x', why: 'invalid' } }),
        keyless,
        v1('z', 90, []),
        native,
      ]),
      options,
    );
    expect(report).toMatchObject({ v1: 4, v2: 1, entries: 5, canSwitchOff: false });
    // How many clients send requests without a key is not known: they are none.
    expect(report.classes).toEqual({
      blocked: 0,
      gone: 1,
      unserved: 0,
      unknown: 0,
      'url-only': 0,
      'unwrap-only': 0,
      'field-work': 1,
    });
    expect(report.switchOff.conditions[0]?.text).toMatch(
      /^1 client and requests without a key called V1 in the last 14 days: /,
    );
    expect(
      report.days.map(({ day, v1: old, clients, rewritten, refused }) => [
        day,
        old,
        clients,
        rewritten,
        refused,
      ]),
    ).toEqual([
      ['2026-08-23', 1, 1, 0, 0],
      ['2026-11-19', 1, 0, 0, 1],
      ['2026-11-20', 1, 1, 1, 0],
      ['2026-11-21', 1, 1, 1, 0],
    ]);
    expect(report.remaining.join(' ')).toMatch(/1 client has fields.*not a date.*no API key/);
    expect(reportOf(v1('z', 90, [])).canSwitchOff).toBe(false);
    expect(makeReport(new Tally(), options).canSwitchOff).toBe(false);
  });

  test('does not break CSV or Markdown, and prints no name as a formula', () => {
    const report = makeReport(tallyOf([v1('c', 0, [UNWRAP])]), {
      ...options,
      names: new Map([['c', '=HYPERLINK("x"),|a|\n']]),
    });
    expect(reportCsv(report)).toContain(String.raw`c,"'=HYPERLINK(""x""),|a|\u000a",unwrap-only`);
    expect(reportMarkdown(report)).toContain(String.raw`\=HYPERLINK\(\"x\"\),\|a\|\\u000a`);
  });

  test('stays bounded for any log', () => {
    const tally = new Tally();
    for (let n = 0; n < 25_000; n += 1) tally.add(v1(`c${n}`, 0, [], { operation: `o${n}` }));
    expect(tally.clients.size).toBeLessThanOrEqual(20_000);
    expect(tally.clients.size + tally.omittedClients).toBe(25_000);
    expect(tally.operations.size).toBe(1000);
  });

  // Attack: keys that an attacker makes up, one a request, so that clients that came later are not counted.
  test('drops the clients with the fewest requests when there are too many', () => {
    const tally = new Tally(100);
    for (let n = 0; n < 5000; n += 1) {
      tally.add(v1(`made-up-${n}`, 0, []));
      if (n > 1000) tally.add(v1('real', 0, []));
    }
    expect(tally.clients.size).toBeLessThanOrEqual(100);
    expect(tally.clients.get('real')?.v1.count).toBe(3999);
    const all = [...tally.clients.values()].reduce((sum, client) => sum + client.v1.count, 0);
    expect(all + tally.omittedClients).toBe(8999);
    expect(new Set([...tally.clients.values()].map(({ index }) => index)).size).toBe(tally.clients.size);
  });

  test('is the same when it is made in steps, and printed line by line', async () => {
    const tally = new Tally();
    for (let n = 0; n < 1800; n += 1) tally.add(v1(`c${n}`, n, [], { attributes: [`/n${n}`, '/a'] }));
    let pauses = 0;
    const made = await makeReportInSteps(tally, options, () => {
      pauses += 1;
      return Promise.resolve();
    });
    expect(made).toEqual(makeReport(tally, options));
    expect(pauses).toBe(38);
    expect([...reportMarkdownParts(made)].every((line) => line.length < 1000)).toBe(true);
    expect(reportMarkdown(made).split('\n')).toContain('## Clients');
  });
});

describe('the census', () => {
  const sent = (status: number, ...names: string[]): Entry =>
    v1('c', 0, [UNWRAP, NEST], { status, attributes: ['/data', ...names.map((name) => `/data${name}`)] });

  test('counts names below the wrapper, and proposes those that were never accepted', () => {
    const report = makeReport(
      tallyOf([
        ...Array.from({ length: 4 }, () => ({
          ...sent(422, '/property', '/property/floor_count', '/legacy', '/property/suburb', '/note'),
          errorPointers: ['/legacy', '/property/floor_count', '/note'],
        })),
        sent(201, '/property', '/property/suburb'),
        { ...sent(201, '/property', '/property/floor_count', '/legacy'), mode: 'observe', origin: 'v1' },
        v1('c', 0, [UNWRAP]),
      ]),
      options,
    );
    const { census } = report;
    expect([census.sampled, census.exchanges]).toEqual([6, 7]);
    expect(census.rows.find(({ pointer }) => pointer === '/property')).toMatchObject({
      count: 6,
      accepted: 1,
      acceptedByV1: 1,
      unprocessable: 4,
    });
    expect(census.rows.find(({ pointer }) => pointer === '/property/suburb')).toMatchObject({
      change: 'property-address',
    });
    expect(census.proposal).toContain('- strip: [legacy]');
    expect(census.proposal).toContain('- strip: [floor_count]\n        in: property');
    expect(census.proposal).not.toContain('suburb');
    // V1 was not seen to accept it: perhaps its value is wrong.
    expect(census.proposal).not.toContain('note');
    expect(census.suspects).toEqual([
      expect.objectContaining({ pointer: '/note', why: expect.stringContaining('may refuse the value') }),
    ]);
    // Its table says of each name what handles it, or that something should.
    const table = [
      ['/property', '–'],
      ['/property/floor_count', 'no rule yet'],
      ['/legacy', 'no rule yet'],
      ['/note', 'not known'],
      ['/property/suburb', 'property-address'],
    ];
    const told = digests(report, [])[0]?.sentences.join(' ');
    expect(told).toContain('property.floor_count in order_floor_plan is not known to V2: leave it out.');
    const handlerOf = handlersIn(census);
    expect(new Set(census.rows.map((row) => [row.pointer, handlerOf(row)]))).toEqual(new Set(table));
    for (const text of [censusMarkdown(census), censusTerminal(census, PLAIN)]) {
      for (const [pointer = '', handler = ''] of table)
        expect(text).toMatch(new RegExp(`${pointer}[\`\\s|\\d]+ ${handler}(?: \\||\n)`));
      expect(text).toContain(CENSUS_LEGEND);
    }
  });
});

const HOME: RequestRule = { rule: 'rename', member: 'property', in: [], to: 'home' };
const FLOORS = { member: 'floor_count', members: ['floor_count'], in: ['property'] };

// The note that no rule handles a member stood until a request came under the rule book that does.
test.each<[name: string, on: Change['on'], rules: readonly RequestRule[], handled: boolean]>([
  ['a strip of it', ['create_client'], [{ ...FLOORS, rule: 'strip' }], true],
  ['a strip of all around it', 'every', [{ rule: 'strip', members: ['property'], in: [] }], true],
  ['a rename', ['create_client'], [{ ...FLOORS, rule: 'rename', to: 'floors' }], true],
  ['a list of members to keep', 'every', [{ rule: 'only', members: ['suburb'], in: ['property'] }], true],
  ['a move', 'every', [{ rule: 'move', in: [], from: ['property', 'floor_count'], to: ['floors'] }], true],
  ['a rule for the new name of a rename', 'every', [HOME, { ...FLOORS, rule: 'strip', in: ['home'] }], true],
  ['a rule for the old name of a rename', 'every', [HOME, { ...FLOORS, rule: 'strip' }], false],
  ['a rule for another operation', ['create_contact'], [{ ...FLOORS, rule: 'strip' }], false],
  ['a rule for another place', 'every', [{ ...FLOORS, rule: 'strip', in: [] }], false],
  ['a default', 'every', [{ ...FLOORS, rule: 'default', json: '1', value: 1 }], false],
])('the census knows the rules of the book in force: %s', (_, on, request, handled) => {
  const sent = (more: Partial<Entry>): Entry => ({
    ...v1('c', 0, [UNWRAP], { attributes: ['/data', '/data/property', '/data/property/floor_count'] }),
    operation: 'create_client',
    ...more,
  });
  const tally = tallyOf([
    sent({ mode: 'observe', origin: 'v1' }),
    ...Array.from({ length: 4 }, () => sent({ status: 422, errorPointers: ['/property/floor_count'] })),
    sent({ attributes: ['/data', '/data/property'], unechoed: [] }),
  ]);
  const proposals = (changes: readonly Change[]): number => {
    const rules = { ...testRuleBook(), changes };
    return makeReport(tally, { ...options, rules }).census.strips.length;
  };
  expect(proposals([])).toBe(1);
  expect(proposals([{ id: 'new', summary: 'New.', on, request } as Change])).toBe(handled ? 0 : 1);
});

test('a change that is no longer in the rule book handles nothing', () => {
  const tally = tallyOf([
    v1('c', 0, [UNWRAP, NEST], { attributes: ['/data', '/data/property', '/data/property/suburb'] }),
  ]);
  const changeOf = (changes?: readonly Change[]): string | undefined =>
    makeReport(tally, { ...options, rules: changes && { ...testRuleBook(), changes } }).census.rows.find(
      ({ pointer }) => pointer === '/property/suburb',
    )?.change;
  expect([changeOf(), changeOf(testRuleBook().changes), changeOf([])]).toEqual([
    NEST.change,
    NEST.change,
    undefined,
  ]);
});

test.each([
  ['V2 was seen to accept no request', [], 'V2 was not seen to accept a request without it'],
  ['only clients that send another value were accepted', [['/name', '/email']], undefined],
  ['V2 accepted a request without it', [['/email']], 'proposed'],
] as const)(
  'a refused member is proposed where the name is refused, not its value: %s',
  (_, taken, expected) => {
    const sent = (names: readonly string[], more: Partial<Entry>): Entry =>
      v1('c', 0, [UNWRAP], { attributes: ['/data', ...names.map((name) => `/data${name}`)], ...more });
    const census = makeReport(
      tallyOf([
        sent(['/name', '/email'], { mode: 'observe', origin: 'v1' }),
        ...Array.from({ length: 4 }, () =>
          sent(['/name', '/email'], { status: 422, errorPointers: ['/name'] }),
        ),
        ...taken.map((names) => sent(names, { unechoed: [] })),
      ]),
      options,
    ).census;
    expect(census.proposal.includes('- strip: [name]')).toBe(expected === 'proposed');
    const why = census.suspects
      .filter(({ pointer }) => pointer === '/name')
      .map(({ why: reason }) => reason.split('; ')[1]);
    expect(why).toEqual(
      expected === undefined || expected === 'proposed'
        ? []
        : [`V2 may refuse the value and not the name: ${expected}`],
    );
    if (expected === 'proposed') expect(census.proposal).toContain('V2 accepted requests without it');
  },
);

/** What dry runs and V2 made of requests with `reference`, and what the census concludes. */
const BY_SCHEMA: readonly (readonly [name: string, requests: readonly Entry[], why: string])[] = (() => {
  const sent = (names: readonly string[], more: Partial<Entry>): Entry =>
    v1('c', 0, [UNWRAP], { attributes: ['/data', ...names.map((name) => `/data${name}`)], ...more });
  const [both, plain] = [['/reference', '/email'], ['/email']];
  const dry = (names: readonly string[], v2: 'valid' | 'invalid', more: Partial<Entry> = {}): Entry =>
    sent(names, {
      origin: 'v1',
      would: { verdict: 'rewritten', v2, ...(v2 === 'invalid' ? { at: '/reference' } : {}) },
      ...more,
    });
  const refused = Array.from({ length: 3 }, () => dry(both, 'invalid'));
  const silent = sent(both, { status: 422 });
  return [
    [
      'the schema refuses it, and accepts bodies without it',
      [...refused, dry(plain, 'valid')],
      "sent 3×, V2's schema refused it 3×, V1 accepted it 3×, V2 or its schema accepted requests without it",
    ],
    [
      'V2 refuses it in silence, and takes bodies without it',
      [...refused, silent, sent(plain, {})],
      "sent 4×, V2 refused requests with it 1×, V2's schema refused it 3×, V1 accepted it 3×, V2 or its schema accepted requests without it",
    ],
    ['the schema accepts other values', [...refused, dry(plain, 'valid'), dry(both, 'valid')], ''],
    ['nobody accepts a body without it', refused, ''],
    ['there are too few requests', [dry(both, 'invalid'), dry(plain, 'valid')], ''],
    [
      'V1 refuses these as well',
      [...refused.map((one) => ({ ...one, status: 422 })), dry(plain, 'valid')],
      '',
    ],
    ['V2 itself accepts it', [...refused, sent(both, {}), sent(plain, {})], ''],
  ];
})();

test.each(BY_SCHEMA)("a strip by the verdicts of V2's schema: %s", (_, requests, why) => {
  const { census } = makeReport(tallyOf([...requests]), options);
  const strips = census.strips.filter(({ member }) => member === 'reference').map((strip) => strip.why);
  expect(strips).toEqual(why === '' ? [] : [why]);
  expect(census.proposal.includes('- strip: [reference]')).toBe(why !== '');
});

// Attack: names that are data, 230,000 of them, after which a report took 1.7 s and 9 MB.
test('the census keeps the names that come again, and counts those it dropped', () => {
  const tally = new Tally();
  for (let n = 0; n < 8000; n += 1) {
    const names = Array.from({ length: 10 }, (_, k) => `/data-${n}-${k}`);
    tally.add(v1('c', 0, [], { operation: `o${n % 40}`, status: 422, attributes: ['/name', ...names] }));
  }
  const census = tally.census.result();
  expect(census.rows.length).toBeLessThanOrEqual(5000);
  expect(JSON.stringify(census).length).toBeLessThan(2_000_000);
  const named = census.rows.filter(({ pointer }) => pointer === '/name');
  expect(named.reduce((sum, { count }) => sum + count, 0)).toBeGreaterThan(6000);
  expect(census.rows.reduce((sum, { count }) => sum + count, 0) + census.omitted).toBe(88_000);
});

describe('the guide', () => {
  const ATTRIBUTES = ['/data', '/data/property', '/data/property/suburb', '/data/note'];
  const CHANGES = [{ id: 'property-address', summary: 'The address is nested.' }];
  const order = (more: Partial<Entry> = {}): Entry =>
    v1('3fa90000', 0, [UNWRAP, NEST], { attributes: ATTRIBUTES, ...more });
  const guideOf = (...entries: readonly Entry[]): GuideDocument => {
    const guide = new Guide('3fa9');
    for (const entry of entries) guide.add(entry);
    return guide.document({ ...testRuleBook(), changes: CHANGES }, 'Harcourts');
  };

  test('shows the calls of one client, before and after, without values', () => {
    const guide = guideOf(order(), v1('ffff', 0, [UNWRAP]));
    const text = guideMarkdown(guide);
    expect(text).toContain('# From V1 to V2: Harcourts');
    expect(text).toContain(
      '**Request**\n\n```diff\n- POST /api/v1/orders/floor_plans\n+ POST /api/v2/orders/floor_plans\n',
    );
    expect(guide.calls[0]?.examples[0]?.after).toBe(
      'POST /api/v2/orders/floor_plans\n\n{\n  "property": {\n    "address": {\n      "suburb": "…"\n    }\n  },\n  "note": "…"\n}',
    );
    expect(text).toContain('\n\nThe address is nested.\n\n');
    expect([guide.client, guide.requests]).toEqual(['3fa90000', 1]);
  });

  test.each([
    [
      'V2 got it there',
      { path: '/api/bills/7/close?x=…', upstreamMethod: 'PATCH', upstreamPath: '/v2/invoices/inv_7?x=…' },
      'PATCH /v2/invoices/inv_7?x=…',
    ],
    [
      'V1 got it',
      {
        origin: 'v1' as const,
        verdict: 'passed' as const,
        would: { verdict: 'rewritten' as const },
        upstreamPath: '/api/bills/7/close',
      },
      'PATCH /v2/invoices/inv_7',
    ],
  ])('says where V2 has a moved operation: %s', (_, more, after) => {
    const close: Operation = {
      id: 'order_floor_plan',
      method: 'POST',
      template: '/bills/{id}/close',
      to: readDestination('PATCH /invoices/inv_{id}'),
      assumed: false,
    };
    const guide = new Guide('3fa9');
    guide.add(order({ method: 'POST', path: '/api/bills/7/close', operation: close.id, ...more }));
    const book = testRuleBook({ from: '/api', to: '/v2', operations: [close] });
    const document = guide.document(book);
    const text = guideMarkdown(document);
    expect(text).toContain('| `POST /bills/{id}/close` | `PATCH /invoices/inv_{id}` | body');
    expect(document.calls[0]?.bodies[0]?.after).toContain(`${after}\n\n{`);
    // The client's ids are values, and say nothing to its owner.
    expect(document.calls[0]?.examples[0]?.after).toContain(after.replace('inv_7', 'inv_{id}'));
    expect(text).not.toMatch(/bills\/7|inv_7/);
    expect(text).toContain('The path begins with `/v2` instead of `/api`.');
  });

  test('says when V1 ends, with the addresses, to those whom it concerns', () => {
    const rollout: Rollout = {
      clients: {},
      pins: [],
      signals: {
        attributes: false,
        since: Date.parse('2026-12-01'),
        sunset: Date.parse('2027-06-30T10:00:00Z'),
        links: [
          ['deprecation', 'https://example.com/a?b=1&c=2'],
          ['sunset', 'javascript:alert(1)'],
        ],
      },
      gone: { except: ['ffff0000'] },
      brownouts: [
        { id: 'mine', from: Date.parse('2027-03-02T09:00:00Z'), share: 20, status: 503 },
        { id: 'other', clients: ['ffff0000'], share: 100, status: 410 },
        // The client calls no such operation.
        { id: 'elsewhere', operations: ['heartbeat'], share: 100, status: 410 },
      ],
      ends: {
        operations: { heartbeat: { sunset: Date.parse('2027-01-01'), links: [] } },
        changes: {},
      },
    };
    const guide = new Guide('3fa9');
    guide.add(order());
    const document = guide.document({ ...testRuleBook({ rollout }), changes: CHANGES });
    const sentences = [
      'V1 is deprecated as of 1 December 2026.',
      'From 2 March 2027, 09:00 (UTC) on: 20 % of the V1 requests get 503 on purpose, as notice of the end of V1.',
      'V1 ends on 30 June 2027, 10:00 (UTC). From then on these requests get 410.',
    ];
    expect(document.end.map(({ text }) => text)).toEqual(sentences);
    expect(endOfV1(rollout, 'ffff0000').map(({ text }) => text)).toContainEqual(
      'V1 ends on 30 June 2027, 10:00 (UTC), but not for your client: these requests are served after that, too.',
    );
    const html = guideHtml(document);
    const levels = [...html.matchAll(/<h([1-6])>/g)].map(([, level]) => Number(level));
    expect(levels.filter((level, at) => level > (levels[at - 1] ?? 0) + 1)).toEqual([]);
    expect(html).toMatch(/<body>\n<main>\n<h1>[^]*<\/main>\n<\/body>/);
    expect(html).toContain('<a href="https://example.com/a?b=1&#38;c=2">');
    expect(html).not.toContain('href="javascript');
    expect(guideMarkdown(document)).toContain(`**Dates**\n\n- V1 is deprecated as of 1 December 2026 `);
    expect(guideMarkdown(document)).toContain(
      'still uses V1 of the API: it sent 1 request on 21 November 2026. V1 ends on 30 June 2027, 10:00',
    );
    const [digest] = digests(reportOf(order()), [], rollout);
    expect(digest?.sentences[0]).toBe(
      'V1 is deprecated as of 1 December 2026 (https://example.com/a?b=1&c=2).',
    );
    expect(digest?.sentences.join(' ')).not.toContain('heartbeat');
  });

  test('shows no example that V2 is known to refuse, and no outage', () => {
    const observed = { origin: 'v1', mode: 'observe', verdict: 'passed' } as const;
    const invalid = order({ ...observed, would: { verdict: 'rewritten', v2: 'invalid', at: '/note' } });
    const outages: readonly Partial<Entry>[] = [
      { status: 502, failure: 'upstream-unreachable' },
      { status: 504, failure: 'upstream-timeout' },
      { status: 503, failure: 'circuit-open', verdict: 'refused', sent: false },
      { status: 503, failure: 'overloaded', verdict: 'refused', sent: false },
      { status: 503, failure: 'buffer-full', verdict: 'refused', sent: false },
    ];
    const entries = [invalid, ...outages.map((outage) => order(outage))];
    const guide = guideOf(...entries);
    for (const text of [guideMarkdown(guide), guideHtml(guide)]) {
      expect(text).not.toMatch(/(?:<h3>|\*\*)After/);
      expect(text).toContain('and V2 does not accept it');
    }
    const texts = [guideMarkdown(guide), guideHtml(guide), guideMail(guide)];
    texts.push(...digests(reportOf(...entries), []).map((one) => one.sentences.join(' ')));
    expect(texts).toHaveLength(4);
    expect(guideMarkdown(guideOf(order({ status: 500 })))).not.toContain('Responses: ');
    for (const text of texts)
      // Only how many requests V2 did not respond to is said.
      expect(text.replace(/V2 did not respond to 3 requests: [^.]*/, '')).not.toMatch(
        /\b50[0-9]\b|upstream-|circuit|overloaded|buffer-full/,
      );
    expect(guideMarkdown(guideOf(order(), invalid))).toContain('**Request**');
  });

  test('calls only bodies verified that V2 accepted', () => {
    const bodyOf = (...entries: readonly Entry[]): GuideBody | undefined =>
      guideOf(...entries).calls[0]?.bodies[0];
    expect(bodyOf(order())?.isVerified).toBe(true);
    const observed = { origin: 'v1', mode: 'observe', would: { verdict: 'rewritten' } } as const;
    expect(bodyOf(order({ ...observed, verdict: 'passed' }))?.isVerified).toBe(false);
    expect(bodyOf(order({ status: 422 }))?.isVerified).toBe(false);
    const { attributes: _attributes, ...unrecorded } = order();
    expect(bodyOf(unrecorded)).toMatchObject({
      isVerified: false,
      evidence: expect.stringContaining('recorded'),
    });
  });

  test("takes V2's schema as evidence only where V2 got no request", () => {
    const checked = (would: Entry['would'], more: Partial<Entry> = {}): Entry =>
      order({ origin: 'v1', mode: 'observe', verdict: 'passed', would, ...more });
    const callOf = (...entries: readonly Entry[]): GuideCall | undefined => guideOf(...entries).calls[0];
    const valid = checked({ verdict: 'rewritten', v2: 'valid' });
    const invalid = checked({ verdict: 'rewritten', v2: 'invalid', at: '/note' });
    const unknown = checked({ verdict: 'rewritten', v2: 'unknown', why: 'budget' });
    expect(callOf(valid, valid, unknown)?.bodies).toEqual([
      expect.objectContaining({
        isVerified: true,
        evidence: "Verified: V2's schema accepts such a body (2 checked). V2 itself was not asked.",
      }),
    ]);
    expect(callOf(valid, invalid)?.bodies).toEqual([
      expect.objectContaining({
        isVerified: false,
        evidence: "Not verified: V2's schema refuses /note 1×.",
      }),
    ]);
    expect(callOf(unknown)?.bodies[0]?.isVerified).toBe(false);
    // What V1 refused as well says nothing about the bodies that work today.
    const both = checked({ verdict: 'rewritten', v2: 'invalid', at: '/note' }, { status: 422 });
    const sentence =
      'Checks before the migration: 1 of 2 refused that V1 accepted (/note 1×), 1 refused by V1 as well, 1 not known.';
    expect(guideMarkdown(guideOf(valid, invalid, both, unknown))).toContain(
      sentence.replaceAll(/[()]/g, String.raw`\$&`),
    );
    expect(guideHtml(guideOf(valid, invalid, both, unknown))).toContain(
      sentence.slice("V2's schema, ".length),
    );
    const [digest] = digests(reportOf(valid, invalid, both, unknown), []);
    expect(digest?.sentences).toContain(
      "V2's schema, for order_floor_plan: 1 of 2 refused that V1 accepted (/note 1×), 1 refused by V1 as well, 1 not known.",
    );
    expect(digests(reportOf(valid), [])[0]?.sentences.join(' ')).not.toContain('schema');
  });

  test('leaves out a refused member only where V2 accepted requests without it, and names its place in V1', () => {
    const refused = order({ status: 422, errorPointers: ['/note'] });
    const [body] = guideOf(refused).calls[0]?.bodies ?? [];
    expect(body?.after).toContain('note');
    expect(body).toMatchObject({ isVerified: false });
    const moves = body?.moves.at(-1);
    expect(moves).toEqual({
      from: '/data/note',
      to: '/note',
      remark: 'V2 refused it 1×; it may be the name or the value',
    });
    const without = order({ attributes: ATTRIBUTES.slice(0, 3) });
    const bodies = guideOf(refused, without).calls[0]?.bodies;
    expect(bodies?.map(({ isVerified }) => isVerified)).toEqual([true, true]);
    expect(bodies?.map(({ moves: all }) => all.at(-1))).toContainEqual({
      from: '/data/note',
      remark: 'V2 refused it 1×, and accepted requests without it',
    });
    for (const { after } of bodies ?? []) expect(after).not.toContain('note');
  });

  test("does not call a body verified by V2's schema if V2 refused a member of it", () => {
    const refused = order({ status: 422, errorPointers: ['/note'] });
    const valid = order({ origin: 'v1', mode: 'observe', would: { verdict: 'rewritten', v2: 'valid' } });
    expect(guideOf(refused, valid).calls[0]?.bodies).toEqual([
      expect.objectContaining({ isVerified: false }),
    ]);
  });

  test.each([
    [201, undefined, 'to V2; only the address changes.'],
    [415, undefined, 'to V2; as far as is known, only the address changes.'],
    [201, { verdict: 'unchanged', v2: 'invalid', at: '/note' }, 'to V2.'],
  ] as const)(
    'says that only the address changes where V2 takes the rest, and none would fail: %i, %j',
    (status, would, sentence) => {
      const sent = order({ edits: [FLAT], status, attributes: ['/note'] });
      const guide = guideOf(would === undefined ? sent : { ...sent, origin: 'v1', would });
      for (const text of [guideMarkdown(guide), guideHtml(guide)])
        expect(text).toContain(`Please move this call ${sentence}`);
    },
  );

  test('says that V2 did not accept a read, not that V2 did not receive it', () => {
    const read = order({ method: 'GET', bytesIn: 0, edits: [], attributes: undefined, status: 404 });
    expect(guideOf(read).calls[0]?.bodies[0]?.evidence).toBe('Not verified: V2 has not accepted it yet.');
  });

  describe('shows no body that no client sent', () => {
    const bodyOf = (more: Partial<Entry>): GuideBody | undefined =>
      guideOf(order({ operation: 'create_client', path: '/api/v1/clients', ...more })).calls[0]?.bodies[0];
    const forwarded = { edits: [], verdict: 'unchanged', attributes: undefined } as const;

    test.each([
      [415, 'The body is not JSON, and is forwarded unchanged. V2 has not accepted it yet.', 'media-type'],
      [201, 'The body is not JSON, and is forwarded unchanged. V2 responded to it 1×.', 'media-type'],
      [
        201,
        'The gateway does not read the coding of the body, and forwards it unchanged. V2 responded to it 1×.',
        'unsupported: forward',
      ],
    ])('a body that was forwarded unread: %i, %s', (status, evidence, note) => {
      const [before, after] = ['POST /api/v1/clients\n\n…', 'POST /api/v2/clients\n\n…'];
      expect(bodyOf({ ...forwarded, status, note })).toMatchObject({
        before,
        after,
        evidence,
        isVerified: status === 201,
      });
      // It does not count as one whose members were not recorded.
      const read = order({ ...forwarded, attributes: ['/name'] });
      expect(guideOf(read, order({ ...forwarded, note, status })).calls[0]?.bodies).toHaveLength(2);
    });

    test('an empty wrapper, and nothing in it that V2 could have accepted', () => {
      expect(bodyOf({ edits: [UNWRAP], attributes: ['/data'] })).toMatchObject({
        before: 'POST /api/v1/clients\n\n{\n  "data": {}\n}',
        after: 'POST /api/v2/clients\n\n{}',
        isVerified: false,
        evidence: 'Not verified: this body has no members.',
      });
      const refused = { attributes: ['/data', '/data/zip'], status: 422, errorPointers: ['/zip'] };
      const bodies = guideOf(
        order({ edits: [UNWRAP], ...refused }),
        order({ edits: [UNWRAP], attributes: ['/data', '/data/city'] }),
      ).calls[0]?.bodies;
      expect(bodies?.map(({ evidence }) => evidence)).toContain(
        'Not verified: V2 refused each member of this body.',
      );
    });

    test('an array, of which the log has no members', () => {
      expect(bodyOf({ ...forwarded, attributes: [] })).toMatchObject({
        before: 'POST /api/v1/clients\n\n…',
        isVerified: false,
        evidence: 'Not verified: this body is an array or a single value, or has no members.',
      });
      expect(bodyOf({ ...forwarded, attributes: ['/*/name'] })?.before).toContain('[{');
    });

    test('a body that was not recorded', () => {
      expect(bodyOf(forwarded)).toMatchObject({
        before: 'POST /api/v1/clients\n\n…',
        evidence: 'Not verified: the members of this body were not recorded.',
      });
      const wrapped = bodyOf({ edits: [UNWRAP], attributes: undefined });
      expect(wrapped?.before).toContain('{\n  "data": {\n    "…": "…"\n  }\n}');
      expect(wrapped?.after).toContain('{\n  "…": "…"\n}');
    });

    test('a byte order mark, which has a name', () => {
      const mark: EditRecord = { change: 'byte-order-mark', rule: 'strip', note: 'byte-order-mark' };
      const text = guideMarkdown(guideOf(order({ edits: [mark, FLAT], attributes: ['/name'] })));
      expect(text).toContain('- `byte order mark`: JSON does not allow it.');
    });
  });

  test('has a mail for its owner, with dates and links, into which no name or date can write a line', () => {
    const guide = {
      ...guideOf(order()),
      name: 'Acme\r\nBcc: all@example.org',
      end: [{ text: 'V1 ends on 2027-01-01.', link: 'https://example.org/sunset' }],
    };
    const lines = guideMail(guide).split('\n');
    expect(lines[0]).toBe('Subject: Acme Bcc: all@example.org: move from V1 to V2 of the API');
    expect(lines).toContain('- V1 ends on 2027-01-01 (https://example.org/sunset).');
    expect(lines.filter((line) => line.startsWith('Bcc'))).toEqual([]);
    expect(guideMail({ ...guide, end: [] })).toContain('V1 has no end date yet.');
  });

  test('is a letter to its owner, with what to do and by when', () => {
    const end = [{ text: 'V1 ends on 1 January 2027.', isEnd: true as const }];
    const letter = guideLetter({ ...guideOf(order()), name: 'Acme & <Sons>', end });
    expect(letter).toContain(
      '<p>Acme &#38; &#60;Sons&#62; still uses V1 of the API: your client sent 1 request on 21 November 2026. V1 ends on 1 January 2027. Please move this call to V2 by then.</p>\n<p>Since 21 November 2026, 12:00 (UTC) V2 has served your requests to V1: 1 of 1 succeeded.</p>',
    );
    expect(letter.match(/V1 ends on 1 January 2027/g)).toHaveLength(1);
    expect(letter).not.toMatch(/<(?:script|img|link|iframe)\b|url\(|@import/i);
    expect(guideLetter({ ...guideOf(order()), end: [] })).toContain('V1 has no end date yet.');
    expect(guideLetter(guideOf())).toContain('No V1 request of this client is among those examined.');
  });

  test.each([
    'Acme',
    'Café Ünïon 東京 '.repeat(9),
    'a'.repeat(300),
    '=?UTF-8?B?QQ==?=',
    'Acme\r\nBcc: all@example.org',
    '🦊'.repeat(40),
  ])('is a whole mail, as HTML and as text, for any name: %j', (name) => {
    const guide = { ...guideOf(order()), name };
    const message = guideMessage(guide);
    const lines = message.split('\r\n');
    // RFC 5322, section 2.1.1; a bare line feed or a byte beyond ASCII would change on the way.
    expect(lines.filter((line) => line.length > 78 || /[^\x20-\x7e]/.test(line))).toEqual([]);
    const [head = '', text = '', html = ''] = message.split(/(?:\r\n)?--=_guide(?:\r\n|--)/);
    const fields = head.replaceAll('\r\n ', ' ').trim().split('\r\n');
    expect(fields.map((field) => field.split(':')[0])).toEqual([
      'MIME-Version',
      'X-Unsent',
      'Subject',
      'Content-Type',
    ]);
    const encoded = (fields[2] ?? '').slice('Subject: '.length);
    const subject = encoded.startsWith('=?')
      ? encoded
          .split(' ')
          .map((word) => Buffer.from(word.slice(10, -2), 'base64').toString())
          .join('')
      : encoded;
    expect(subject).toBe(`${name.replace('\r\n', ' ')}: move from V1 to V2 of the API`);
    const bodyOf = (part: string): string =>
      Buffer.from(part.slice(part.indexOf('\r\n\r\n')), 'base64').toString();
    expect(text).toMatch(/^Content-Type: text\/plain; charset=utf-8\r\n/);
    expect(bodyOf(text)).toContain('Please move this call to V2.');
    expect(bodyOf(text)).toContain(
      '\n  - POST /api/v1/orders/floor_plans\n  + POST /api/v2/orders/floor_plans\n',
    );
    expect(bodyOf(html)).toBe(guideLetter(guide));
  });

  test('lists mistakes apart, and brownouts as neither a call nor a mistake', () => {
    const unread = { verdict: 'refused', edits: [], attributes: [] } as const;
    const mistake = order({ ...unread, failure: 'malformed-json', status: 400 });
    const guide = guideOf(order(), mistake, order({ ...unread, failure: 'brownout', status: 503 }));
    expect(guide.calls.map(({ name, count, bodies }) => [name, count, bodies.length])).toEqual([
      ['order_floor_plan', 2, 1],
    ]);
    expect(guide.mistakes).toEqual([expect.objectContaining({ code: 'malformed-json', count: 1 })]);
    expect(guideMail(guide)).toContain('503 in a brownout 1×. 1 request was refused for a mistake in it');
    // A client whose every request is refused has more to do than change the address.
    expect(guideMail(guideOf(mistake))).toContain('It is unknown what has to change: no accepted request');
    expect(guide.calls[0]?.outcomes.map(({ code }) => code)).toContain('brownout');
  });

  test.each([
    ['client disconnected before its request was sent 1×', { status: 0, upstreamPath: undefined }],
    ['', { origin: 'v1', mode: 'canary' }],
  ] as const)('shows nothing of a request that was not read: %s', (outcome, more) => {
    const guide = guideOf(order({ edits: [], verdict: 'unchanged', attributes: undefined, ...more }));
    expect(guide.calls).toMatchObject([{ count: 1, bodies: [], unread: 1 }]);
    for (const text of [guideMarkdown(guide), guideHtml(guide)]) {
      expect(text).not.toContain('; only the address changes');
      expect(text).toContain('Not shown: 1 request that the gateway did not read in full.');
      expect(text).toContain(outcome);
    }
    expect(guideMail(guide)).toContain('; as far as is known, only the address changes.');
  });

  test('says what a client reads today, and what it will read', () => {
    const alias = { change: 'highlight-type', rule: 'alias', from: '/data/b', path: '/data/a' } as const;
    const text = guideMarkdown(guideOf(order({ responseEdits: [alias] })));
    expect(text).toContain(
      '**Response**\n\n```diff\n  {\n    "data": {\n-     "a": …\n+     "b": …\n    }\n  }\n```',
    );
  });
});

test('a client that only reads, and gets its responses rewritten, has more to change than its address', () => {
  const read = v1('c', 1, [], {
    method: 'GET',
    responseEdits: [{ change: 'highlight-type', rule: 'alias', from: '/data/b', path: '/data/a' }],
  });
  const [client] = reportOf(read).clients;
  expect(client).toMatchObject({
    class: 'field-work',
    responses: [{ v1: '/data/a', v2: '/data/b', count: 1 }],
  });
});

test('ten clients of an attribute are called ten or more', () => {
  const sent = (client: number, status: number, names: readonly string[]): Entry =>
    v1(`c${client}`, 0, [UNWRAP], {
      attributes: ['/data', ...names],
      status,
      errorPointers: status === 422 ? ['/fax'] : undefined,
    });
  const proposalOf = (clients: number): string =>
    makeReport(
      tallyOf([
        sent(0, 201, ['/data/name']),
        { ...sent(0, 201, ['/data/fax']), origin: 'v1' },
        ...Array.from({ length: clients }, (_, client) => sent(client, 422, ['/data/fax'])),
      ]),
      options,
    ).census.proposal;
  expect(proposalOf(25)).toContain('c8, c9 and perhaps more\n');
  expect(proposalOf(9)).toContain('c7, c8\n');
});

test('a client that had long pauses is listed with its own number of days', () => {
  const text = reportMarkdown(reportOf(v1('c', 20, [])));
  expect(text).toContain(
    '2026-11-01T12:00:00.000Z, gone after 42 days only, because it is hardly known or has paused for long |',
  );
  expect(text).toContain(
    '| gone (no call to V1 for 14 days or more; longer for a client that is hardly known or has paused for long) | 0 |',
  );
});

test('a change counts requests and responses that it edits apart, once for each exchange', () => {
  const edits = ['/data/a', '/data/b'].map(
    (path) => ({ change: 'names', rule: 'rename', path, from: `${path}2` }) as const,
  );
  const errors = { change: 'errors', rule: 'errors', path: '/errors', from: '/errors' } as const;
  const tally = tallyOf([
    v1('c', 1, [], { responseEdits: [...edits, errors] }),
    v1('c', 1, [{ ...NEST, change: 'names' }], { responseEdits: edits }),
    v1('c', 1, [], { origin: 'v1', responseWould: edits }),
  ]);
  expect(tally.changes.get('names')?.count).toBe(1);
  expect(tally.editedResponses.get('names')?.count).toBe(2);
});

test.each<
  readonly [title: string, edits: NonNullable<Entry['responseWould'] & Entry['responseEdits']>, v2: string]
>([
  ['', [{ change: 'c', rule: 'map', from: '/data/status', path: '/data/status' }], '/data/status'],
  [
    ' of an earlier release, behind a rename',
    [
      { change: 'c', rule: 'rename', from: '/data/0/state', path: '/data/0/status' },
      { change: 'c', rule: 'rename', from: '/data', path: '/data' },
      { change: 'd', rule: 'map', path: '/data/0/status' },
    ],
    '/data/*/state',
  ],
])('a mapped value in a log%s is shown as a value and not as gone', (_, edits, v2) => {
  for (const entry of [
    v1('c', 1, [], { responseEdits: edits }),
    v1('c', 1, [], { origin: 'v1', responseWould: edits }),
  ]) {
    const report = reportOf(entry);
    expect(report.clients[0]?.responses).toContainEqual(
      expect.objectContaining({ v2, hasOtherValues: true }),
    );
    const told = [JSON.stringify(report), reportCsv(report), digestMarkdown(digests(report, []))].join('');
    expect(told).not.toMatch(/gone (?:in|there)|is gone|have no/);
  }
});

test('a response that a program makes is named as a whole, once', () => {
  const made = ['c', 'd'].map((change) => ({ change, rule: 'transform', path: '' }) as const);
  const report = reportOf(v1('c', 1, [], { responseEdits: made }));
  const told = digestMarkdown(digests(report, []));
  expect(told.match(/A program of the gateway makes responses from V2's today/g)).toHaveLength(1);
  expect(told).not.toContain('instead of  in');
  expect(reportCsv(report)).toContain('the whole body is made by a program 1×');
});

test('an upload that broke off shows no work, and does not count as a response of V2', () => {
  const left = v1('c', 1, [], { status: 0, upstreamPath: undefined, bytesOut: 0 });
  const [client] = reportOf(left).clients;
  expect(client).toMatchObject({ class: 'unknown', outcomes: [{ by: 'gateway', status: 0, count: 1 }] });
  expect(client?.unknown).toEqual(['No request was accepted and read, so none shows the work.']);
  const [sent] = reportOf(v1('c', 1, [], { status: 0 })).clients;
  expect(sent?.outcomes).toMatchObject([{ by: 'v2', status: 0 }]);
  const queued = v1('c', 1, [UNWRAP], { status: 0, sent: false });
  expect(reportOf(queued).clients[0]?.outcomes).toMatchObject([{ by: 'gateway' }]);
});

test('the work of a client whose requests were all refused is unknown', () => {
  const refused = v1('c', 1, [], { verdict: 'refused', failure: 'malformed-json', status: 400 });
  const [client] = reportOf(refused).clients;
  expect(client).toMatchObject({ class: 'unknown', mistakes: [{ code: 'malformed-json', count: 1 }] });
  expect(client?.unknown).not.toEqual([]);
});

test('a digest tells the owner of each client on V1 what to change, and leaves out clients that are gone', () => {
  const report = makeReport(tallyOf([v1('c', 1, [UNWRAP, NEST]), v1('old', 90, [UNWRAP])]), {
    ...options,
    names: new Map([['c', '<b>Acme</b>']]),
  });
  const summary = 'Parameters are no longer wrapped in a data object.';
  const all = digests(report, [{ id: 'body-wrapper', summary }]);
  expect(all.map(({ client }) => client)).toEqual(['c']);
  expect(all[0]?.sentences).toContain(
    'Members of requests or responses have to change before V2 can be used.',
  );
  expect(all[0]?.sentences.filter((sentence) => sentence.includes('This concerns'))).toEqual([
    `${summary} This concerns 1 request, the last at 2026-11-20T12:00:00.000Z.`,
    'The rule book does not have the change property-address. This concerns 1 request, the last at 2026-11-20T12:00:00.000Z.',
  ]);
  const [unended] = digests(report, [{ id: 'body-wrapper', summary: 'data is gone \n' }]);
  expect(unended?.sentences).toContain(
    'data is gone. This concerns 1 request, the last at 2026-11-20T12:00:00.000Z.',
  );
  const mark: EditRecord = { change: 'byte-order-mark', rule: 'strip', note: 'byte-order-mark' };
  const [marked] = digests(reportOf(v1('c', 1, [mark, FLAT])), []);
  expect(marked?.sentences.slice(0, 3)).toEqual([
    "Only the wrapper around the requests' parameters has to go.",
    'Calls: order_floor_plan 1×.',
    'Leave out the byte order mark. This concerns 1 request, the last at 2026-11-20T12:00:00.000Z.',
  ]);
  expect(digestMarkdown(all)).toContain(String.raw`## \<b\>Acme\</b\>`);
  expect(digestMarkdown([])).toBe('No client uses V1.\n');
});

describe('the statement on switching V1 off', () => {
  const at = (time: string, ...entries: readonly Entry[]): SwitchOff =>
    makeReport(tallyOf(entries), { now: time }).switchOff;
  const native = (daysAgo: number): Entry => ({ ...v1('n', daysAgo, []), route: 'pass', verdict: 'passed' });
  const daily = Array.from({ length: 60 }, (_, day) => native(day));
  const left = [v1('c', 60, [UNWRAP]), v1('c', 45, [UNWRAP])];
  const time = options.now;

  test('is made when every condition is met', () => {
    const statement = at(time, ...daily, ...left);
    expect(statement.conditions.map(({ state }) => state)).toEqual(['met', 'met', 'met', 'met']);
    expect(statement.conditions[1]?.text).toBe(
      'Every silent client has been silent for longer than its earlier pauses.',
    );
    expect(statement).toMatchObject({ verdict: 'yes', at: time });
  });

  test('says what verify found in the reads that V2 served', () => {
    const read = (verdict: 'same' | 'different' | 'unknown', more: Partial<Entry> = {}): Entry => {
      const difference = { path: '/total', kind: 'value' } as const;
      const differences = verdict === 'different' ? [difference] : [];
      return v1('c', 45, [UNWRAP], { comparison: { verdict, differences, noise: 0, extra: 0 }, ...more });
    };
    const drift = (...reads: readonly Entry[]): SwitchOff['conditions'] =>
      at(time, ...daily, ...left, ...reads).conditions.filter(({ text }) => /verif|differed/i.test(text));
    expect(drift(read('same'), read('unknown'))).toEqual([
      { state: 'met', text: 'Verify found no difference in 1 read.' },
    ]);
    expect(drift(read('unknown'))).toEqual([
      {
        state: 'unknown',
        text: 'Verify compared none of 1 read: it is unknown whether V2 drifts from V1.',
      },
    ]);
    const operation = read('same').operation ?? 'other calls';
    expect(drift(read('same'), read('different'))).toEqual([
      {
        state: 'not-met',
        text: `V2 and V1 differed in 1 of 2 verified reads: ${operation} at /total (value).`,
      },
    ]);
    expect(drift(...Array.from({ length: 1200 }, () => read('different')))[0]?.text).toContain(
      'differed in 1,200 of 1,200 verified reads',
    );
    // A shadow's reads are of before the migration.
    expect(drift(read('different', { origin: 'v1' }))).toEqual([]);
    const report = makeReport(tallyOf([read('different')]), { now: time });
    expect(report.drift).toMatchObject([{ verified: true, different: 1 }]);
    expect(reportMarkdown(report)).toContain('not met: V2 and V1 differed in 1 of 1 verified read');
  });

  test('says after the end of V1 who has called it since, and no more what V1 is needed for', () => {
    const ofEnd = (sunset: string, gone: Rollout['gone'] = {}): Report =>
      makeReport(tallyOf([...daily, v1('c', 3, [UNWRAP]), v1('d', 1, [])]), {
        now: time,
        end: { signals: { attributes: true, links: [], sunset: Date.parse(sunset) }, gone },
      });
    const late = ofEnd(new Date(Date.parse(time) - 2 * 86_400_000).toISOString());
    expect(late).toMatchObject({
      canSwitchOff: true,
      remaining: [],
      switchOff: { verdict: 'ended', sentence: 'V1 has ended.', conditions: [{ state: 'not-met' }] },
    });
    expect(late.switchOff.conditions[0]?.text).toMatch(/^1 client has called V1 after its end, .*: d/);
    const texts = [reportMarkdown(late), reportTerminal(late, PLAIN)];
    for (const text of texts) expect(text).not.toMatch(/still needed|switched off/);
    expect(ofEnd(time).switchOff).toMatchObject({
      sentence: 'V1 has ended, and no client has called it since.',
      conditions: [],
    });
    // Clients that the sunset spares, and those that only get 410.
    const refusedOnce = v1('d', 1, [], { verdict: 'refused', failure: 'sunset', status: 410 });
    const spared = makeReport(tallyOf([...daily, v1('c', 3, [UNWRAP]), refusedOnce]), {
      now: time,
      end: {
        signals: { attributes: true, links: [], sunset: Date.parse(time) - 2 * 86_400_000 },
        gone: { except: ['c'] },
      },
    });
    expect(spared).toMatchObject({
      canSwitchOff: false,
      remaining: ['1 client only has to drop the wrapper.'],
      switchOff: {
        verdict: 'no',
        sentence: `V1 has ended, but is still needed by clients that the sunset spares.`,
      },
    });
    expect(spared.switchOff.conditions.map(({ text }) => text)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^1 client that the sunset spares called V1 in the last 14 days: c at /),
        expect.stringMatching(/^1 client has called V1 after its end and got 410, the last at .*: d\.$/),
      ]),
    );
    const malformed = v1('e', 1, [], { verdict: 'refused', failure: 'malformed-json', status: 400 });
    const end = {
      signals: { attributes: true, links: [], sunset: Date.parse(time) - 2 * 86_400_000 },
      gone: {},
    };
    expect(
      makeReport(tallyOf([refusedOnce, malformed]), { now: time, end }).switchOff.conditions[0]?.text,
    ).toMatch(/^2 clients have called V1 after its end \(1 of them got 410\), the last at .*: d, e\.$/);
    // An end to come, one that refuses nothing, and one for some clients.
    const next = new Date(Date.parse(time) + 1).toISOString();
    const others = [ofEnd(next), ofEnd(time, { except: ['c'] }), ofEnd(time, { clients: ['c'] })];
    expect(others.map(({ switchOff }) => switchOff.verdict)).toEqual(['no', 'no', 'no']);
    const refusesNothing = makeReport(tallyOf([v1('c', 3, [])]), {
      now: time,
      end: { signals: { attributes: true, links: [], sunset: Date.parse(time) } },
    });
    expect(refusesNothing.switchOff.verdict).toBe('no');
  });

  test('says for an empty log and for native traffic that nothing was seen', () => {
    expect(at(time)).toMatchObject({ verdict: 'nothing-seen', sentence: 'No V1 request was seen yet.' });
    expect(at(time, ...daily).verdict).toBe('nothing-seen');
  });

  test.each([
    ['no', 'a client used V1', [...daily, ...left, v1('d', 3, [])]],
    ['unknown', 'a client was seen only briefly', [...daily, ...left, v1('d', 20, [])]],
    ['unknown', 'a client paused for as long before', [...daily, v1('d', 20, []), v1('d', 50, [])]],
    ['unknown', 'the log ended', [...left, ...daily.slice(5)]],
    ['unknown', 'a day has no entry', [...left, ...daily.filter((_, day) => day !== 6)]],
    ['unknown', 'the log begins too late', [v1('c', 13, [])]],
  ] as const)('is %s when %s', (verdict, _why, entries) => {
    const now = verdict === 'unknown' && entries.length === 1 ? '2027-06-01T00:00:00.000Z' : time;
    expect(at(now, ...entries).verdict).toBe(verdict);
  });

  test.each([
    [3, ''],
    [4, ' and 1 other'],
    [6, ' and 3 others'],
  ])('names three of %i clients, and says how many others there are', (clients, others) => {
    const recent = Array.from({ length: clients }, (_, at) => v1(`d${at}`, 3, []));
    const [text = '', ...rest] = at(time, ...daily, ...recent).conditions.map((one) => one.text);
    // No client is silent, so no sentence mentions silence.
    expect(rest.join(' ')).not.toContain('silent');
    expect(text).toMatch(new RegExp(`^${clients} clients called V1 in the last \\d+ days: .+Z${others}\\.$`));
    expect(text.match(/ at \d{4}-/g)).toHaveLength(3);
  });

  test.each([
    ['bad-target', '/api/v1/..;/clients', 'no'],
    ['upgrade', '/api/v1', 'no'],
    ['no-api-key', '/api/v1/migration', 'yes'],
    ['bad-target', '/api/v2/..;/clients', 'yes'],
    ['bad-target', '/api/v10', 'yes'],
    ['bad-target', '/old/..;/clients', 'no', 'v1'],
    ['bad-target', '/api/v1/..;/clients', 'yes', 'v2'],
    ['bad-target', '/api/v1/..;/clients', 'yes', 'neither'],
  ] as const)(
    'counts a request that was refused before it was routed: %s %s',
    (failure, path, verdict, side?) => {
      const refused = v1('c', 1, [], {
        route: 'none',
        verdict: 'refused',
        failure,
        path,
        side,
        operation: undefined,
      });
      const report = makeReport(tallyOf([...daily, ...left, refused]), { now: time });
      expect(report.switchOff.verdict).toBe(verdict);
      expect(report.v1).toBe(verdict === 'no' ? 3 : 2);
      const metrics = new Metrics();
      metrics.add(refused);
      expect(metrics.v1Requests).toBe(verdict === 'no' ? 1 : 0);
    },
  );

  test('is not known where the gateway counted requests at a time that is still to come', () => {
    const statementOf = (daysAgo: number): SwitchOff =>
      makeReport(tallyOf([...left, native(daysAgo)]), {
        now: time,
        observed: { since: '2026-01-01T00:00:00.000Z', until: time },
      }).switchOff;
    expect(statementOf(0.0001).verdict).toBe('yes');
    expect(statementOf(-0.0005).verdict).toBe('yes');
    expect(statementOf(-40)).toMatchObject({ verdict: 'unknown' });
    expect(statementOf(-40).conditions[2]?.text).toBe(
      'The latest request is dated 2026-12-31T12:00:00.000Z, after the time of the report: a clock was wrong.',
    );
  });

  test('is not known while requests could not be read, which have no client', () => {
    const { client: _client, ...unread } = v1('c', 2, [], {
      route: 'none',
      verdict: 'refused',
      failure: 'headers-too-large',
      method: '',
      path: '',
    });
    const sentence =
      '2 requests could not be read, the last at 2026-11-20T12:00:00.000Z: it is unknown whether V1 clients sent them.';
    const both = [unread, { ...unread, time: '2026-11-20T12:00:00.000Z' }];
    const statement = at(time, ...daily, ...left, ...both);
    expect(statement).toMatchObject({ verdict: 'unknown' });
    expect(statement.conditions.at(-1)).toEqual({ state: 'unknown', text: sentence });
    expect(at(time, ...daily, ...both)).toMatchObject({
      verdict: 'nothing-seen',
      conditions: [{ text: sentence }],
    });
    const [one] = at(time, unread).conditions;
    expect(one?.text).toMatch(
      /^1 request could not be read, .*: it is unknown whether V1 clients sent it\.$/,
    );
    expect(at(time, ...daily, ...left, { ...unread, time: '2026-11-01T12:00:00.000Z' }).verdict).toBe('yes');
  });

  test('is not made while lines could not be read', () => {
    const report = makeReport(tallyOf([...daily, ...left]), { now: time, unreadable: 1 });
    expect(report.switchOff.verdict).toBe('unknown');
    expect(report.switchOff.conditions.map(({ text }) => text)).toContain('1 line could not be read.');
    expect(report.canSwitchOff).toBe(false);
  });

  test('shows renamed parameters of a query in the path, and says where a value changes', () => {
    const guide = new Guide('3fa9');
    const edits = [
      { change: 'c', rule: 'rename', from: '?look', path: '?filter[style]' },
      { change: 'c', rule: 'map', from: '?look', path: '?filter[style]' },
      { change: 'c', rule: 'strip', from: '?old' },
    ] as const;
    const path = '/api/v1/tours?a=…&look=…&old=…';
    guide.add({ ...v1('3fa90000', 0, edits), operation: 'list_tours', method: 'GET', path, bytesIn: 0 });
    const text = guideMarkdown(
      guide.document({ ...testRuleBook(), changes: [{ id: 'c', summary: 'Styles.' }] }),
    );
    expect(text).toContain(
      '```diff\n- GET /api/v1/tours?a=…&look=…&old=…\n+ GET /api/v2/tours?a=…&filter%5Bstyle%5D=…\n```',
    );
    expect(text).toContain('- `filter[style]`: the value changes as well');
  });
});

test("counts the verdicts of V2's schema by client and operation, apart from those that V1 shares", () => {
  const would = (v2: 'valid' | 'invalid' | 'unknown', at?: string): Partial<Entry> => ({
    origin: 'v1',
    verdict: 'passed',
    would: { verdict: 'rewritten', v2, ...(at === undefined ? {} : { at }) },
  });
  const report = makeReport(
    tallyOf([
      v1('c', 3, [UNWRAP], would('invalid', '/property/suburb')),
      v1('c', 1, [UNWRAP], would('invalid', '/property/suburb')),
      v1('c', 1, [UNWRAP], would('valid')),
      v1('c', 1, [UNWRAP], { ...would('invalid', '/x'), status: 422 }),
      v1('c', 1, [UNWRAP], { ...would('invalid', '/x'), status: 503 }),
      v1('c', 1, [UNWRAP], would('unknown')),
      v1('d', 1, [UNWRAP]),
    ]),
    options,
  );
  const operation = sampleEntry(1, now).operation ?? '';
  const of = (hash: string): unknown => report.clients.find(({ client }) => client === hash)?.bodyChecks;
  expect(of('c')).toMatchObject([
    {
      operation,
      valid: 1,
      invalid: 2,
      refusedByBoth: 1,
      unknown: 1,
      pointers: [{ pointer: '/property/suburb', count: 2 }],
    },
  ]);
  expect(of('d')).toEqual([]);
  const words = `${operation}: 2 of 3 refused that V1 accepted (/property/suburb 2×), 1 refused by V1 as well, 1 not known`;
  expect(reportCsv(report)).toContain(words);
  expect(reportMarkdown(report).replaceAll('\\', '')).toContain(words);
});

test('says whom each brownout met, the latest brownout first', () => {
  const tally = new Tally();
  const refused = (client: string, note: string, hour: number): void =>
    tally.add({
      ...sampleEntry(1, Date.UTC(2026, 10, 20, hour)),
      client,
      verdict: 'refused',
      failure: 'brownout',
      note,
    });
  refused('aa', 'first', 9);
  refused('aa', 'first', 10);
  refused('bb', 'first', 9);
  refused('bb', 'second', 15);
  tally.add({ ...sampleEntry(1, Date.UTC(2026, 10, 20, 16)), client: 'cc' });
  const { clients } = makeReport(tally, {
    now: '2026-11-21T00:00:00.000Z',
    names: new Map([['aa', 'acme']]),
  });
  expect(noticeSentence(clients)).toBe(
    'Before V1 ended, 2 clients met a brownout, and 1 client did not: cc.',
  );
  expect(noticeSentence(clients.filter(({ client }) => client === 'cc'))).toBe(
    'No client met a brownout before V1 ended.',
  );
  expect(noticeSentence(clients.filter(({ client }) => client !== 'cc'))).toBe(
    'Before V1 ended, 2 clients met a brownout: each of them.',
  );
  expect(metByBrownouts(clients).map(({ sentence }) => sentence)).toEqual([
    'Brownout second refused 1 request from 1 client, the last one at 2026-11-20T15:00:00.000Z: bb.',
    'Brownout first refused 3 requests from 2 clients, the last one at 2026-11-20T10:00:00.000Z: acme, bb.',
  ]);
  expect(metByBrownouts([])).toEqual([]);
});

test('a body that no rule read shows no work, so that the work is unknown', () => {
  for (const note of ['media-type', 'unnamed-put', 'unnamed-body', 'unsupported: forward']) {
    const [client] = reportOf(v1('c', 1, [], { note })).clients;
    expect([client?.class, client?.unknown]).toEqual([
      'unknown',
      ['No request was accepted and read, so none shows the work.'],
    ]);
    const read = reportOf(v1('c', 1, [], { note }), v1('c', 1, [])).clients;
    expect(read[0]?.class).toBe('url-only');
    const edits: readonly EditRecord[] = [{ change: 'c', rule: 'rename', from: '?a', path: '?b' }];
    expect(reportOf(v1('c', 1, edits, { note })).clients[0]?.class).toBe('field-work');
  }
});

/** What the gateway refused with a status, and whether a report counts it as refused: what the page calls failed is not. */
test.each<[status: number, failure: string, times: number, before?: number]>([
  [503, 'circuit-open', 0],
  [503, 'overloaded', 0],
  [503, 'buffer-full', 0],
  [500, 'internal', 0],
  [503, 'brownout', 1],
  [410, 'sunset', 1],
  [403, 'newcomer', 1],
  [408, 'client-timeout', 1],
  [400, 'malformed-json', 0],
  [422, 'conflicting-members', 0],
  [400, 'malformed-json', 0, 201],
  [400, 'malformed-json', 1, 400],
  [422, 'conflicting-members', 1, 400],
] as const)(
  'a refusal with %i %s is refused %i times, after V1 gave %s',
  (status, failure, times, before) => {
    const onV1 = { origin: 'v1', mode: 'observe', verdict: 'passed', status: before ?? 200 } as const;
    const report = reportOf(
      ...Array.from({ length: before === undefined ? 0 : 9 }, () => v1('a', 1, [], onV1)),
      v1('a', 0, [], { verdict: 'refused', status, failure, sent: false }),
    );
    const ofDays = report.days.reduce((sum, { refused }) => sum + refused, 0);
    expect([report.clients[0]?.refused, ofDays]).toEqual([times, times]);
  },
);

test('a digest mentions a fact that two changes share once', () => {
  const report = reportOf(
    v1('a', 1, [{ change: 'one', rule: 'rename', from: '/a', path: '/b' }]),
    v1('a', 0, [{ change: 'two', rule: 'rename', from: '/a', path: '/b' }]),
    v1('a', 2, [{ change: 'two', rule: 'rename', from: '/a', path: '/b' }]),
  );
  const summary = 'items.*.a is called b.';
  const changes = [
    { id: 'one', summary },
    { id: 'two', summary: 'a is called b.' },
  ];
  const [digest] = digests(report, changes);
  const said = digest?.sentences.filter((sentence) => sentence.includes('is called'));
  expect(said).toEqual([`a is called b. This concerns at least 2 requests, the last at ${options.now}.`]);
});

test('a client without a name is called by its User-Agent, as on the page, wherever that is known', () => {
  const refused = { verdict: 'refused', failure: 'brownout', note: 'first', status: 503 } as const;
  const tally = tallyOf([v1('aaaaaaaaaa', 0, [], refused), v1('bbbbbbbbbb', 0, [], refused), v1('-', 0, [])]);
  const report = makeReport(tally, {
    now: '2026-11-21T12:00:00.000Z',
    names: new Map([['bbbbbbbbbb', 'acme']]),
    agents: new Map([
      ['aaaaaaaaaa', 'okhttp/4.9'],
      ['bbbbbbbbbb', 'curl/8'],
      ['-', 'curl/8'],
    ]),
  });
  const [sentence] = metByBrownouts(report.clients).map((met) => met.sentence);
  expect(sentence).toContain(': okhttp/4.9, ');
  expect(sentence).toContain('acme');
  const text = reportMarkdown(report);
  expect(text).toContain('okhttp/4.9 at ');
  expect(text).toContain('| okhttp/4.9 `aaaaaaaaaa` |');
  expect(text).not.toContain('curl/8');
  expect(reportMarkdown(makeReport(tally, { now: '2026-11-21T12:00:00.000Z' }))).toContain(
    '| `aaaaaaaaaa` |',
  );
});
