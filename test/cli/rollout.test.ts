import { expect, test } from 'vitest';
import type { Condition } from '../../src/inspector/condition.ts';
import { rolloutText } from '../../src/cli/rollout.ts';
import type { ModeView, RolloutView } from '../../src/rollout/rollout-tally.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

const CHECKED = { operation: 'create_client', client: 'acme', bodies: 5, refused: 2, pointers: [] };
const NONE = { valid: 0, invalid: 0, refusedByBoth: 0, unknown: 0 };
const REFUSALS = [{ reason: 'malformed-json', count: 2 }];

function view(counts: NonNullable<RolloutView['bodyChecks']>['counts'], past = 0): RolloutView {
  return sampleRollout({ bodyChecks: { counts, omitted: 0, past }, requests: { v1: 5, v2: 0 } });
}

test('dry runs of migrated requests alone are not shown as missing', () => {
  const shown = (past: number): string => rolloutText(view([], past), { columns: undefined });
  expect(shown(0)).toContain('dry runs    no body was checked yet under this rule book\n');
  expect(shown(2)).toContain('dry runs    none now: V1 no longer serves the requests that were checked\n');
});

test('a body that V2’s schema did not check is not counted as accepted', () => {
  const text = rolloutText(view([{ ...CHECKED, ...NONE, refusals: REFUSALS }]), { columns: undefined });
  expect(text).toContain(
    'would fail  acme create_client: 2 of 2 checked requests would fail after the migration\n              refused by the gateway: malformed-json, 2 times\n',
  );
  expect(text).not.toContain('accepted');
  const unknown = rolloutText(view([{ ...CHECKED, ...NONE, refused: 0, unknown: 5, refusals: [] }]), {
    columns: undefined,
  });
  expect(unknown).toContain('dry runs    5 requests: no body was checked\n');
});

test('what an operator must know of a command comes first', () => {
  const text = rolloutText(sampleRollout({ warnings: ['These calls would always fail.'] }), {
    columns: undefined,
  });
  expect(text).toMatch(/^warning {5}These calls would always fail\.\n/);
});

test('each fault is told once, before the modes', () => {
  const v2 = { about: 'v2', label: 'V2 failed lately' } as const;
  const text = rolloutText(sampleRollout(), { columns: undefined }, [
    { about: 'operation', level: 'note', label: 'a failed', sentence: 'a failed.' },
    { ...v2, level: 'note', sentence: 'V2 failed.', isRepeated: true },
    { ...v2, level: 'good', sentence: 'V2 responds.' },
  ]);
  expect(text).toMatch(/^note {8}a failed\.\nV1 origin/);
});

test('the counts of one replica among several are marked as such', () => {
  const shown = (replica?: RolloutView['replica']): string =>
    rolloutText({ ...view([]), ...(replica && { replica }) }, { columns: undefined });
  const replica = { name: 'a/1', replicas: 2, waiting: 0 };
  expect(shown()).toMatch(/^requests {4}0 migrated, 5 to V1$/m);
  expect(shown(replica)).toMatch(
    /^requests {4}0 migrated, 5 to V1; counts are of this replica, windows of all$/m,
  );
  expect(shown(replica)).toMatch(/^replicas {4}2; this is a\/1$/m);
  expect(shown({ ...replica, aloneSince: '2026-11-22T08:00:00Z' })).toMatch(
    /to V1; counts are of this replica$/m,
  );
});

test('a rate limit that processes divide is shown with the part of each', () => {
  const rateLimit = { requests: 60, per: 60_000, processes: 7, each: 9 };
  const shown = (own?: RolloutView['rateLimit']): string =>
    rolloutText({ ...view([]), ...(own && { rateLimit: own }) }, { columns: undefined });
  expect(shown()).not.toContain('rate limit');
  expect(shown(rateLimit)).toContain(
    "rate limit  Each client's rate limit of 60 requests in 60 s is divided by 7 processes: 9 in each.",
  );
});

test('requests that would not fail are one line, however many clients and operations send them', () => {
  const well = { ...CHECKED, ...NONE, refused: 0, valid: 3, refusals: [] };
  const pairs = ['a', 'b', 'c'].flatMap((client) =>
    ['create_client', 'list_clients'].map((operation) => ({ ...well, client, operation })),
  );
  const lines = (all: Parameters<typeof view>[0]): readonly string[] =>
    rolloutText(view(all), { columns: undefined })
      .split('\n')
      .filter((line) => /dry runs|would fail|refused/.test(line));
  expect(lines(pairs)).toEqual([
    'dry runs    3 clients: none of 18 checked requests would fail after the migration',
  ]);
  const left: Condition = {
    about: 'v2',
    level: 'note',
    label: '',
    sentence: 'V2 failed 9 of 9.',
    left: 'all',
  };
  expect(rolloutText(view(pairs), { columns: undefined }, [left])).toContain(
    'dry runs    3 clients: none of 18 checked requests would fail after the migration; but V2 itself failed lately: see the note above\n',
  );
  const { client: _client, ...keyless } = pairs[0] ?? expect.fail();
  expect(lines([keyless, ...pairs])).toEqual([
    'dry runs    3 clients and requests without a key: none of 21 checked requests would fail after the migration',
  ]);
  const failing = { ...well, client: 'd', invalid: 1, pointers: [{ at: '/zip', count: 1 }] };
  expect(lines([failing, ...pairs])).toEqual([
    'dry runs    4 clients: 1 of 22 checked requests would fail after the migration',
    'would fail  d create_client: 1 of 4 checked requests would fail after the migration',
    '              refused by V2: /zip, 1 time',
  ]);
  const many = Array.from({ length: 12 }, (_, at) => ({ ...failing, client: `c${at}` }));
  expect(lines(many)).toHaveLength(21);
  expect(rolloutText(view(many), { columns: undefined })).toContain(
    'and 2 more pairs of client and operation\n',
  );
});

test.each([
  ['would fail', 1, 'they have fewer failures'],
  ['would not fail', 0, 'no request of theirs would fail'],
])(
  'pairs beyond those that are listed are said to fail less, where the last of these %s',
  (_, invalid, told) => {
    const { counts, ...more } =
      view([{ ...CHECKED, ...NONE, refused: 0, valid: 3, refusals: [], invalid }]).bodyChecks ??
      expect.fail();
    const shown = sampleRollout({ bodyChecks: { ...more, counts, omitted: 2 } });
    expect(rolloutText(shown, { columns: undefined })).toContain(
      `2 more pairs of client and operation are not counted here: ${told}\n`,
    );
  },
);

test('reads without a difference are one line, and each operation with one has its own', () => {
  const well = { same: 3, different: 0, unknown: 0, fields: [] };
  const shadows = [
    { ...well, operation: 'list_clients' },
    { ...well, operation: 'list_contacts', unknown: 2 },
    { ...well, operation: 'get_client', different: 1 },
    { ...well, operation: 'list_clients', verified: true as const },
  ];
  expect(comparedLines(shadows, COMPARING)).toEqual([
    'shadow      2 operations: no read differs, 6 are the same, 2 could not be compared',
    'shadow      get_client: 1 of 4 reads differ',
    'verify      1 operation: no read differs, 3 are the same',
  ]);
});

const COMPARING = {
  operations: {
    list_clients: { mode: 'verify', from: 'operator' },
    get_client: { mode: 'shadow', from: 'operator' },
  },
} as const;

function comparedLines(shadows: RolloutView['shadows'], more: Partial<RolloutView> = {}): readonly string[] {
  return rolloutText(sampleRollout({ shadows, ...more }), { columns: undefined })
    .split('\n')
    .filter((line) => /^(?:shadow|verify)/.test(line));
}

test('a shadow that is over is one line, for an hour', () => {
  const well = { same: 3, different: 0, unknown: 0, fields: [] };
  const lines = (last: string): readonly string[] =>
    comparedLines([
      { ...well, operation: 'list_clients', last },
      { ...well, operation: 'get_client', different: 1, last },
      { ...well, operation: 'get_client', different: 1, verified: true as const },
    ]);
  const now = new Date().toISOString();
  expect(lines(now)).toEqual([`shadow      over, the last read at ${now}: 1 of 7 reads differed`]);
  expect(lines(new Date(Date.now() - 3_600_000).toISOString())).toEqual([]);
});

test('a count of one has a singular', () => {
  const once = { ...CHECKED, ...NONE, invalid: 1, pointers: [{ at: '/zip', count: 1 }], refusals: [] };
  const twice = [{ reason: 'malformed-json', count: 2 }];
  const shadows = [
    {
      same: 0,
      different: 1,
      unknown: 0,
      fields: [{ path: '/data', kind: 'missing' as const, count: 1 }],
    },
  ];
  const text = rolloutText(
    { ...view([once, { ...CHECKED, ...NONE, refusals: twice }]), shadows, ...COMPARING },
    { columns: undefined },
  );
  expect(text).toMatch(/^ +refused by V2: \/zip, 1 time$/m);
  expect(text).toMatch(/^ +\/data: missing, 1 time$/m);
  expect(text).toMatch(/^ +refused by the gateway: malformed-json, 2 times$/m);
});

test('hashes that are new at each start are mentioned', () => {
  expect(rolloutText(sampleRollout({ isSticky: false }), { columns: undefined })).toContain('careful');
  expect(rolloutText(sampleRollout(), { columns: undefined })).not.toContain('careful');
});

test('the sunset says who gets 410', () => {
  const shown = (parts: Partial<RolloutView>): string =>
    rolloutText({ ...view([]), ...parts }, { columns: undefined });
  const sunset = '2026-01-01T00:00:00.000Z';
  expect(shown({ sunset })).toMatch(/^sunset {6}2026-01-01T00:00:00.000Z: no request gets 410 for it$/m);
  expect(shown({ sunset, gone: { except: ['acme'] } })).toMatch(
    /Z: V1 requests get 410, on purpose, except those of acme$/m,
  );
});

test('a choice that keeps requests on V1 is listed with the command that ends it', () => {
  const at = (mode: ModeView['mode'], from: ModeView['from'] = 'operator'): ModeView => ({ mode, from });
  const operations = {
    create_client: at('observe'),
    heartbeat: at('migrate'),
    list: at('observe', 'rule-book'),
  };
  const shown = (most: 'observe' | 'migrate'): string =>
    rolloutText(sampleRollout({ default: at(most), operations }), { columns: undefined });
  expect(shown('migrate').match(/rollout clear .*/g)).toEqual(['rollout clear --operation create_client']);
  expect(shown('observe')).not.toContain('rollout clear');
});

test('a terminal shows the local times of changes, and the whole date of the end of V1', () => {
  const sunset = '2027-03-01T00:00:00.000Z';
  const changes = [{ at: '2020-01-05T12:00:00.123Z', kind: 'command', what: 'Migrate everything' }] as const;
  const text = rolloutText(sampleRollout({ changes, sunset }), { columns: 200 });
  expect(text).toMatch(/^change {6}\d Jan 2020 \d\d:\d\d Migrate everything$/m);
  expect(text).toContain(`sunset      ${sunset}`);
});
