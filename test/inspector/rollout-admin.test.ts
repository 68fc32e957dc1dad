import { describe, expect, test } from 'vitest';
import type { Condition } from '../../src/inspector/condition.ts';
import { createRolloutAdmin, type RolloutAdmin } from '../../src/inspector/rollout-admin.ts';
import { BodyCheckTally } from '../../src/rollout/body-checks.ts';
import { ComparisonTally } from '../../src/rollout/comparison-tally.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { commanded, earlierModes, initialRollout, rolledBack } from '../../src/rollout/rollout-state.ts';
import type { RolloutRequest } from '../../src/rollout/rollout-tally.ts';
import { DEFAULT_ROLLBACK } from '../../src/rules/declared-rollout.ts';
import type { Mode } from '../../src/rules/rollout.ts';
import { testRuleBook } from '../support/rule-book.ts';

const rule = testRuleBook();

function adminOf(
  control: RolloutControl,
  onCommand?: (sentence: string) => void,
  tally = new BodyCheckTally(),
  comparisons = new ComparisonTally(),
  more: Partial<Pick<Parameters<typeof createRolloutAdmin>[0], 'replica' | 'rulesSince' | 'ruleBook'>> = {},
): RolloutAdmin {
  return createRolloutAdmin({
    control,
    counts: {
      requests: { v1: 0, v2: 0 },
      comparisons,
      bodyChecks: { isOn: true, tally, warnings: () => [] },
    },
    hasStore: false,
    ruleBook: () => rule,
    v1Origin: 'http://v1.test',
    isSticky: true,
    names: () => new Map(),
    removedBy: (member) => (member === 'colour' ? 'tool-colour' : undefined),
    earlier: () => earlierModes(control.state, rule.rollout?.modes),
    ...(onCommand === undefined ? {} : { onCommand }),
    ...more,
  });
}

test.each<readonly [request: RolloutRequest, said: readonly string[]]>([
  [
    { mode: 'observe', who: 'anna', why: 'a look first' },
    [expect.stringMatching(/^.+, chosen by anna \(a look first\)\.$/)],
  ],
  [{ mode: 'observe', who: 'anna', why: ' ' }, ['Send everything to V1, chosen by anna.']],
  [{ mode: 'observe' }, [expect.stringContaining('an operator who gave no name')]],
  [{ mode: 'observe', force: true }, [expect.stringContaining('against a warning')]],
  [{ mode: 'observe', check: true }, []],
  [{ mode: 'canary' }, []],
])(
  'the choice of an operator is logged, and not one that was refused or only checked: %j',
  async (request, said) => {
    const sentences: string[] = [];
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const admin = adminOf(control, (sentence) => void sentences.push(sentence));
    await admin.command(request);
    expect(sentences).toEqual(said);
  },
);

test('a canary that was rolled back has the bounds of the failures of both groups', () => {
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const rollback = {
    at: '2026-11-29T08:00:00.000Z',
    share: 25,
    migrated: { requests: 20, failures: 11 },
    v1: { requests: 48, failures: 0 },
  };
  control.adopt({ ...initialRollout, revision: 1, changed: rollback.at, rollbacks: [rollback] });
  const [told] = adminOf(control).view().rollbacks;
  expect(told).toMatchObject({ ...rollback, failed: { migrated: rollback.migrated, v1: { low: 0 } } });
  const { low = 1, high = 0 } = told?.failed?.migrated ?? {};
  // The groups are apart, or it would not have been rolled back.
  expect([low < 11 / 20, high > 11 / 20, low > (told?.failed?.v1.high ?? 1)]).toEqual([true, true, true]);
});

test('a roll-back names its replica only where there are others', () => {
  const count = { requests: 20, failures: 11 };
  const rollback = { at: '2026-11-29T08:00:00.000Z', by: 'gw-1', share: 25, migrated: count, v1: count };
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  control.adopt({ ...initialRollout, revision: 1, changed: rollback.at, rollbacks: [rollback] });
  const namesAmong = (name: string, others?: readonly string[]): readonly unknown[] => {
    const status = { name, waiting: 0, ...(others === undefined ? {} : { others }) };
    const replica = { status, processes: 1, isTogether: true, follow: () => Promise.resolve() };
    const { rollbacks, changes = [] } = adminOf(control, undefined, undefined, undefined, { replica }).view();
    return [...rollbacks, ...changes].map(({ by }) => by);
  };
  expect(namesAmong('gw-1', [])).toEqual([undefined, undefined]);
  expect(namesAmong('gw-1', ['gw-2'])).toEqual(['gw-1', 'gw-1']);
  expect(namesAmong('gw-1')).toEqual(['gw-1', 'gw-1']);
  // It is gone, and was another.
  expect(namesAmong('gw-2', [])).toEqual(['gw-1', 'gw-1']);
});

test('a refusal after a change of the rules says that its count began anew, and how many requests it waits for', async () => {
  const tally = new BodyCheckTally();
  for (let time = 0; time < 19; time += 1) {
    const would = { verdict: 'rewritten', v2: time === 0 ? 'invalid' : 'valid' } as const;
    tally.add({ ruleBook: rule.hash, operation: 'create_client', status: 201, bytesIn: 9, would });
  }
  const refusalSince = async (rulesSince: string | undefined): Promise<unknown> => {
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const more = { rulesSince: () => rulesSince };
    const admin = adminOf(control, undefined, tally, undefined, more);
    await admin.command({ mode: 'observe' });
    return admin.command({ mode: 'canary', share: 100 });
  };
  const anew =
    ' The count began anew with the rules at 2026-11-30T15:15:21.000Z: 1 more request without a refusal would bring it to 5 %.';
  const [from, to] = ['that the rollback rule allows.', ' Change the rules or the clients'];
  expect(await refusalSince(undefined)).toEqual({
    fault: expect.stringContaining(`${from}${to}`),
    canInsist: true,
  });
  expect(await refusalSince('2026-11-30T15:15:21.000Z')).toEqual({
    fault: expect.stringContaining(`${from}${anew}${to}`),
    canInsist: true,
  });
});

test('changes keep the words of their time: everything was not everything else', () => {
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const admin = adminOf(control);
  const counts = { requests: 20, failures: 11 };
  const later = (): string => new Date(Date.parse(control.state.changed) + 1).toISOString();
  control.adopt(commanded(control.state, { mode: { mode: 'shadow' } }, later()));
  control.adopt(commanded(control.state, { mode: { mode: 'canary', share: 5 } }, later()));
  control.adopt(rolledBack(control.state, { at: later(), share: 5, migrated: counts, v1: counts }));
  const observed = { operation: 'create_client', mode: { mode: 'observe' } } as const;
  control.adopt(commanded(control.state, observed, later()));
  control.adopt(commanded(control.state, { mode: { mode: 'canary', share: 25 } }, later()));
  control.adopt(commanded(control.state, { mode: { mode: 'shadow' } }, later()));
  control.adopt(commanded(control.state, { operation: 'create_client' }, later()));
  const { changes = [], rollbacks } = admin.view();
  expect(changes.map(({ what }) => what)).toEqual([
    'Clear the mode of create_client',
    'Send everything but create_client to V1 in shadow',
    'Migrate 25 % of the clients for everything but create_client',
    'Send create_client to V1',
    'Roll back the canary of 5 % of the clients',
    'Migrate 5 % of the clients',
    'Send everything to V1 in shadow',
  ]);
  expect(rollbacks.map(({ target }) => target)).toEqual(['everything']);
});

test('an operation on V1 has the mode that sent it to V2 before', () => {
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const hadAfter = (...modes: readonly (Mode | undefined)[]): Mode | undefined => {
    control.adopt({ ...initialRollout, revision: control.state.revision + 1 });
    for (const [at, mode] of modes.entries()) {
      const time = new Date(Date.parse('2026-11-29T08:00:00Z') + at).toISOString();
      control.adopt(commanded(control.state, { operation: 'create_client', mode }, time));
    }
    return adminOf(control).view().operations['create_client']?.had;
  };
  const [observe, shadow, migrate]: readonly Mode[] = [
    { mode: 'observe' },
    { mode: 'shadow' },
    { mode: 'migrate' },
  ];
  const canary: Mode = { mode: 'canary', share: 25 };
  expect(hadAfter(observe)).toEqual(migrate);
  expect(hadAfter(canary, observe, shadow)).toEqual(canary);
  expect(hadAfter(observe, canary)).toBeUndefined();
});

test('a member that the rule book removes is missing by design', () => {
  const comparisons = new ComparisonTally();
  const missing = ['/data/*/colour', '/data/*/name'].map((path) => ({ path, kind: 'missing' }) as const);
  const value = { path: '/data/*/colour', kind: 'value' } as const;
  const differences = [...missing, value];
  comparisons.add('list_clients', { verdict: 'different', differences, noise: 0, extra: 0 }, false, 0);
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const [shadow] = adminOf(control, undefined, undefined, comparisons).view().shadows;
  expect(shadow?.fields).toEqual([
    { ...missing[0], count: 1, change: 'tool-colour' },
    { ...missing[1], count: 1 },
    { ...value, count: 1 },
  ]);
});

test('dry runs of migrated requests do not take the place of those that V1 still responds to', async () => {
  const tally = new BodyCheckTally();
  const add = (client: string, operation: string, v2: 'valid' | 'invalid'): void =>
    tally.add({
      ruleBook: rule.hash,
      client,
      operation,
      status: 201,
      bytesIn: 9,
      would: { verdict: 'rewritten', v2 },
    });
  const clients = Array.from({ length: 60 }, (_, at) => at.toString(16).padStart(16, '0'));
  for (const client of clients) add(client, 'create_client', 'invalid');
  add('f'.repeat(16), 'heartbeat', 'valid');
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const admin = adminOf(control, undefined, tally);
  await admin.command({ mode: 'observe' });
  const listed = (dryRuns?: 'all'): unknown => {
    const { counts = [], omitted, past } = admin.view(dryRuns).bodyChecks ?? {};
    return [new Set(counts.map(({ operation }) => operation)), counts.length, omitted, past];
  };
  expect([listed(), listed('all')]).toEqual([
    [new Set(['create_client']), 50, 11, 0],
    [new Set(['create_client', 'heartbeat']), 61, 0, 0],
  ]);
  await admin.command({ mode: 'migrate', operation: 'create_client', force: true });
  expect(admin.view().bodyChecks).not.toHaveProperty('fault');
  expect([listed(), listed('all')]).toEqual([
    [new Set(['heartbeat']), 1, 0, 60],
    [new Set(['heartbeat']), 1, 0, 60],
  ]);
});

test('a move that breaks a client for good names it, however small its share of the requests is', async () => {
  const tally = new BodyCheckTally();
  const add = (client: string | undefined, times: number, v2: 'valid' | 'invalid'): void => {
    const would = { verdict: 'rewritten', v2, ...(v2 === 'invalid' && { at: '/zip' }) } as const;
    const run = { ruleBook: rule.hash, client, operation: 'create_client', status: 201, bytesIn: 9, would };
    for (let time = 0; time < times; time += 1) tally.add(run);
  };
  add('a'.repeat(16), 6, 'invalid');
  add('b'.repeat(16), 4, 'invalid');
  add('c'.repeat(16), 900, 'valid');
  add('c'.repeat(16), 9, 'invalid');
  add(undefined, 5, 'invalid');
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const admin = adminOf(control, undefined, tally);
  await admin.command({ mode: 'observe' });
  const sentence =
    'These calls would always fail on V2, although V1 accepts them: client aaaaaaaaaaaaaaaa, create_client: /zip 6×; requests without a known key, create_client: /zip 5×.';
  expect(await admin.command({ mode: 'migrate', check: true })).toEqual({ warnings: [sentence] });
  expect(await admin.command({ mode: 'migrate' })).toEqual({ warnings: [sentence] });
  // What has moved is no news, and what goes back fails no more.
  expect(await admin.command({ mode: 'migrate' })).toEqual({});
  expect(await admin.command({ mode: 'observe' })).toEqual({});
});

describe('before a command an operator learns', () => {
  const compared = { ruleBook: rule.hash, status: 200, bytesIn: 0 } as const;
  const [LOW, HIGH] = ['0'.repeat(16), 'f'.repeat(16)];
  const missing = { path: '/data/fax', kind: 'missing' } as const;

  /** V1 serves all, and shadow has compared reads of two clients in one operation, and of one in another. */
  async function shadowed(rulesSince?: string): Promise<RolloutAdmin> {
    const [tally, comparisons] = [new BodyCheckTally(), new ComparisonTally()];
    const add = (client: string, operation: string, differences: (typeof missing)[], times: number): void => {
      const verdict = differences.length === 0 ? 'same' : 'different';
      const comparison = { verdict, differences, noise: 0, extra: 0 } as const;
      for (let time = 0; time < times; time += 1) {
        tally.add({ ...compared, client, operation, would: { verdict: 'rewritten' }, comparison });
        comparisons.add(operation, comparison, false, Date.parse('2026-11-30T10:00:00Z'));
      }
    };
    add(LOW, 'order_floor_plan', [missing], 28);
    add(HIGH, 'order_floor_plan', [], 12);
    add(HIGH, 'heartbeat', [missing], 3);
    add(LOW, 'create_client', [], 5);
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const admin = adminOf(control, undefined, tally, comparisons, { rulesSince: () => rulesSince });
    await admin.command({ mode: 'shadow' });
    return admin;
  }

  const OF_READ =
    'order_floor_plan 28 of 40, mostly /data/fax (missing); the last at 2026-11-30T10:00:00.000Z.';
  const OF_ALL = OF_READ.replace('; the', '; heartbeat 3 of 3, mostly /data/fax (missing); the');

  test.each<[RolloutRequest, string | undefined]>([
    [
      { mode: 'migrate' },
      `Of 48 reads that both services got in operations that would move, 31 differed: ${OF_ALL}`,
    ],
    [
      { mode: 'canary', share: 5 },
      `Of 45 reads that both services got in operations that would move, 28 differed: ${OF_READ}`,
    ],
    [
      { mode: 'migrate', operation: 'order_floor_plan' },
      `Of 40 reads that both services got in operations that would move, 28 differed: ${OF_READ}`,
    ],
    [{ mode: 'migrate', operation: 'create_client' }, undefined],
    [{ mode: 'observe' }, undefined],
  ])('that reads of what would move differed in shadow: %j', async (request, sentence) => {
    const outcome = await (await shadowed()).command({ ...request, check: true });
    expect(outcome).toEqual(sentence === undefined ? {} : { warnings: [sentence] });
  });

  test('nothing of reads that differed under other rules', async () => {
    const admin = await shadowed('2026-11-30T10:00:00.001Z');
    expect(await admin.command({ mode: 'migrate', check: true })).toEqual({});
  });

  const LEFT: Condition = { about: 'operation', level: 'note', label: '', sentence: 'It failed on V2.' };
  test.each<[what: string, left: Condition['left'], request: RolloutRequest, told: boolean]>([
    ['all of it', 'all', { mode: 'migrate' }, true],
    ['all of it, and nothing moves', 'all', { mode: 'observe' }, false],
    ['an operation', [{ client: LOW, operation: 'heartbeat' }], { mode: 'migrate' }, true],
    [
      'another operation',
      [{ client: LOW, operation: 'heartbeat' }],
      { mode: 'migrate', operation: 'order_floor_plan' },
      false,
    ],
    ['a client of the canary', [{ client: LOW, operation: undefined }], { mode: 'canary', share: 5 }, true],
    ['another client', [{ client: HIGH, operation: undefined }], { mode: 'canary', share: 5 }, false],
    ['nothing that V1 serves', undefined, { mode: 'migrate' }, false],
  ])('what V2 failed, and nothing shows that it is well: %s', async (_, left, request, told) => {
    const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
    const admin = adminOf(control);
    await admin.command({ mode: 'observe' });
    const conditions = [left === undefined ? LEFT : { ...LEFT, left }];
    expect(await admin.command({ ...request, check: true }, conditions)).toEqual(
      told ? { warnings: ['It failed on V2.'] } : {},
    );
  });
});

test('an operation with the name of an inherited member is not chosen by an operator', () => {
  const modes = {
    default: MIGRATED,
    operations: { constructor: MIGRATED },
    clients: {},
    rollback: DEFAULT_ROLLBACK,
  };
  const rollout = { clients: {}, brownouts: [], pins: [], modes };
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const { operations } = adminOf(control, undefined, undefined, undefined, {
    ruleBook: () => ({ ...rule, rollout }),
  }).view();
  expect(operations['constructor']?.from).toBe('rule-book');
});

const MIGRATED: Mode = { mode: 'migrate' };
