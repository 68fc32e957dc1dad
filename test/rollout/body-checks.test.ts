import { describe, expect, test } from 'vitest';
import {
  type BodyCheck,
  bodyCheckFault,
  BodyCheckTally,
  type DryRunResult,
  faultPlaces,
  wouldFailWords,
} from '../../src/rollout/body-checks.ts';
import type { RolloutCommand } from '../../src/rollout/rollout-state.ts';
import type { Mode, Modes } from '../../src/rules/rollout.ts';

const [ACME, OTHER] = ['aaaaaaaaaaaaaaaa', 'bbbbbbbbbbbbbbbb'];
const VALID: BodyCheck = { v2: 'valid' };
const invalid = (at: string): BodyCheck => ({ v2: 'invalid', at });

/** Adds `times` checks of one client and operation; `status` is V1's. */
type Add = readonly [client: string, operation: string, times: number, check: BodyCheck, status?: number];

function dryRun(
  ruleBook: string,
  client: string,
  operation: string,
  status: number,
  would: NonNullable<DryRunResult['would']>,
): DryRunResult {
  return { ruleBook, client, operation, status, bytesIn: 2, would };
}

function tallyOf(adds: readonly Add[], ruleBook = 'now'): BodyCheckTally {
  const tally = new BodyCheckTally();
  for (const [client, operation, times, check, status = 201] of adds) {
    for (let time = 0; time < times; time += 1)
      tally.add(dryRun(ruleBook, client, operation, status, { verdict: 'rewritten', ...check }));
  }
  return tally;
}

function faultOf(
  adds: readonly Add[],
  target: Partial<RolloutCommand> = {},
  modes: Partial<Modes> = {},
): string | undefined {
  const all: Modes = {
    default: { mode: 'observe' },
    operations: {},
    clients: {},
    rollback: { window: 60_000, margin: 5, slower: 2, requests: 20, certainty: 99 },
    ...modes,
  };
  const { mode = { mode: 'migrate' } } = target;
  return bodyCheckFault(tallyOf(adds).list('now'), { ...target, mode }, all, (hash) =>
    hash === ACME ? 'Acme' : undefined,
  );
}

test('the sentence names clients, counts and pointers', () => {
  expect(
    faultOf([
      [ACME, 'create_client', 3, invalid('/name')],
      [ACME, 'create_client', 1, invalid('')],
      [OTHER, 'create_booking', 2, invalid('/services/0')],
      [OTHER, 'create_booking', 4, VALID],
    ]),
  ).toBe(
    'V2 would refuse 6 of 10 checked requests that would move to V2, although V1 accepted them: more than the 5 % that the rollback rule allows. Change the rules or the clients, or insist.\nBy V2: client Acme, create_client: 4, at /name 3×, the body itself 1×; client bbbbbbbbbbbbbbbb, create_booking: 2, at /services/0 2×.',
  );
});

test('thousands have separators', () => {
  expect(
    faultOf([
      [ACME, 'create_client', 1075, invalid('/name')],
      [OTHER, 'create_client', 1000, VALID],
    ]),
  ).toContain('1,075 of 2,075 checked requests');
  expect(faultOf([[ACME, 'create_client', 1075, invalid('/name')]])).toContain(
    'client Acme, create_client: 1,075, at /name 1,075×.',
  );
});

test.each([
  [{ failing: 0, judged: 1, both: 0 }, 'none of 1 checked request would fail after the migration'],
  [
    { failing: 1075, judged: 12_000, both: 0 },
    '1,075 of 12,000 checked requests would fail after the migration',
  ],
  [
    { failing: 999, judged: 3000, both: 1001 },
    '999 of 3,000 checked requests would fail after the migration, apart from 1,001 that V1 refuses as well',
  ],
  [{ failing: 0, judged: 1000, both: 1000 }, 'V1 refuses all 1,000 checked requests as well'],
])('%j: how many would fail', (sum, words) => {
  expect(wouldFailWords(sum)).toBe(words);
});

test('an operation that is gone is said to be', () => {
  const refusals = [{ reason: 'operation-gone', count: 12 }];
  expect(faultPlaces([{ pointers: [], refusals }])).toEqual([{ place: 'gone in V2 (410)', count: 12 }]);
});

test('a single body is described in the singular', () => {
  expect(faultOf([[ACME, 'create_client', 1, invalid('/name')]])).toMatch(
    /^V2 would refuse 1 of 1 checked request that would move to V2, although V1 accepted it: more/,
  );
});

test.each<[string, readonly Add[], boolean]>([
  ['nothing was checked', [], false],
  ['nothing is known', [[ACME, 'a', 9, { v2: 'unknown', why: 'budget' }]], false],
  [
    'the share is the margin',
    [
      [ACME, 'a', 1, invalid('/x')],
      [ACME, 'a', 19, VALID],
    ],
    false,
  ],
  [
    'the share is above the margin',
    [
      [ACME, 'a', 1, invalid('/x')],
      [ACME, 'a', 18, VALID],
    ],
    true,
  ],
  [
    'unknown ones do not dilute it',
    [
      [ACME, 'a', 1, invalid('/x')],
      [ACME, 'a', 99, { v2: 'unknown' }],
    ],
    true,
  ],
  ['V1 refused them as well', [[ACME, 'a', 9, invalid('/x'), 422]], false],
  ['V1 failed', [[ACME, 'a', 9, invalid('/x'), 503]], false],
  ['the client left', [[ACME, 'a', 9, invalid('/x'), 0]], false],
])('when %s', (_, adds, isFault) => {
  expect(faultOf(adds) !== undefined).toBe(isFault);
});

test('the sentence is only about requests that the command would send to V2', () => {
  const adds: readonly Add[] = [
    [ACME, 'a', 1, invalid('/x')],
    [OTHER, 'b', 9, VALID],
  ];
  const isFault = (target: Partial<RolloutCommand>, modes?: Partial<Modes>): boolean =>
    faultOf(adds, target, modes) !== undefined;
  expect(isFault({})).toBe(true);
  expect(isFault({ operation: 'a' })).toBe(true);
  expect(isFault({ operation: 'b' })).toBe(false);
  expect(isFault({ client: ACME })).toBe(true);
  expect(isFault({ client: OTHER })).toBe(false);
  // They keep their own modes when all others change.
  expect(isFault({}, { operations: { a: { mode: 'observe' } } })).toBe(false);
  expect(isFault({}, { clients: { [ACME]: { mode: 'observe' } } })).toBe(false);
  expect(isFault({ operation: 'a' }, { clients: { [ACME]: { mode: 'observe' } } })).toBe(false);
  // What is on V2 already moves no more, and a canary moves only the clients in its share.
  const canary = (share: number): Mode => ({ mode: 'canary', share });
  expect(isFault({}, { default: { mode: 'migrate' } })).toBe(false);
  expect(isFault({}, { default: canary(70) })).toBe(false);
  expect(isFault({}, { default: canary(50) })).toBe(true);
  expect(isFault({ mode: canary(70) })).toBe(true);
  expect(isFault({ mode: canary(50) })).toBe(false);
  expect(isFault({ mode: canary(70) }, { default: canary(80) })).toBe(false);
});

test('a new rule book begins new counts, because it makes other bodies', () => {
  const tally = tallyOf([[ACME, 'a', 3, invalid('/x')]], 'old');
  expect(tally.list('new')).toEqual([]);
  tally.add(dryRun('new', ACME, 'a', 201, { verdict: 'rewritten', ...VALID }));
  expect(tally.list('new')).toMatchObject([{ valid: 1, invalid: 0, pointers: [] }]);
});

// Attack: a client invents a key, and a name, for each request.
test('invented keys and names take no more memory than the limits', () => {
  const tally = new BodyCheckTally();
  for (let at = 0; at < 3000; at += 1) {
    tally.add(dryRun('now', `key ${at}`, 'a', 201, { verdict: 'rewritten', ...invalid('/x') }));
    tally.add(dryRun('now', ACME, 'a', 201, { verdict: 'rewritten', ...invalid(`/name ${at}`) }));
  }
  const all = tally.list('now');
  expect(all.length).toBeLessThanOrEqual(1001);
  expect(all.reduce((sum, { invalid: count }) => sum + count, 0)).toBe(6000);
  expect(all.find(({ client }) => client === ACME)?.pointers).toHaveLength(20);
});

describe('refusals of the gateway itself', () => {
  const refused = { verdict: 'refused', failure: 'duplicate-member', pointer: '/data/a' } as const;
  const sound = { verdict: 'rewritten' } as const;
  const all: Modes = {
    default: { mode: 'observe' },
    operations: {},
    clients: {},
    rollback: { window: 60_000, margin: 5, slower: 2, requests: 20, certainty: 99 },
  };
  const faultAfter = (
    adds: readonly (readonly [
      times: number,
      status: number,
      would: NonNullable<DryRunResult['would']>,
      operation?: string,
    ])[],
  ): string | undefined => {
    const tally = new BodyCheckTally();
    for (const [times, status, would, operation = 'a'] of adds)
      for (let time = 0; time < times; time += 1) tally.add(dryRun('now', ACME, operation, status, would));
    return bodyCheckFault(tally.list('now'), { mode: { mode: 'migrate' } }, all, () => undefined);
  };

  test('of what V1 accepted count against a canary, with or without V2’s description', () => {
    expect(
      faultAfter([
        [8, 201, sound],
        [2, 201, refused],
      ]),
    ).toBe(
      'The gateway would refuse 2 of 10 requests that would move to V2, although V1 accepted them: more than the 5 % that the rollback rule allows. Change the rules or the clients, or insist.\nBy the gateway: client aaaaaaaaaaaaaaaa, a: 2, duplicate-member at /data/a 2×.',
    );
  });

  test('because the rule book declares the operation gone are named, and are no reason', () => {
    const gone = { verdict: 'refused', failure: 'operation-gone' } as const;
    expect(
      faultAfter([
        [9, 200, gone, 'old'],
        [1, 201, sound],
      ]),
    ).toBeUndefined();
    expect(
      faultAfter([
        [9, 200, gone, 'old'],
        [8, 201, sound],
        [2, 201, refused],
      ]),
    ).toBe(
      'The gateway would refuse 2 of 10 requests that would move to V2, although V1 accepted them: more than the 5 % that the rollback rule allows. Not counted: 9 requests for operations that the rule book declares gone. Change the rules or the clients, or insist.\nBy the gateway: client aaaaaaaaaaaaaaaa, a: 2, duplicate-member at /data/a 2×.',
    );
  });

  test('both faults and the advice are on the first line, the clients of each on its own', () => {
    const text = faultAfter([
      [2, 201, refused],
      [1, 201, { ...sound, ...invalid('/name') }],
    ]);
    expect(text?.split('\n')).toEqual([
      expect.stringMatching(
        /^V2 would refuse 1 of 1 .*\. The gateway would refuse 2 of 3 .*\. Change the rules or the clients, or insist\.$/,
      ),
      'By V2: client aaaaaaaaaaaaaaaa, a: 1, at /name 1×.',
      'By the gateway: client aaaaaaaaaaaaaaaa, a: 2, duplicate-member at /data/a 2×.',
    ]);
  });

  test('a single refusal is described in the singular', () => {
    expect(faultAfter([[1, 201, refused]])).toMatch(
      /^The gateway would refuse 1 of 1 request that would move to V2, although V1 accepted it: more/,
    );
  });

  test.each<[string, Parameters<typeof faultAfter>[0]]>([
    ['V1 refused them as well', [[5, 400, refused]]],
    ['V1 failed', [[5, 502, refused]]],
    [
      'they are as many as a roll-back allows',
      [
        [19, 201, sound],
        [1, 201, refused],
      ],
    ],
  ])('do not if %s', (_name, adds) => {
    expect(faultAfter(adds)).toBeUndefined();
  });
});

test('dry runs count until rules change, not when dates do', () => {
  const tally = new BodyCheckTally();
  const run = (ruleBook: string): void =>
    tally.add({
      ruleBook,
      status: 200,
      bytesIn: 5,
      would: { verdict: 'rewritten', v2: 'invalid', at: '/a' },
    });
  const counted = (ruleBook: string): readonly number[] => tally.list(ruleBook).map(({ invalid }) => invalid);
  run('0123456700000000');
  expect([counted('0123456700000000'), counted('01234567ffffffff')]).toEqual([[1], [1]]);
  run('01234567ffffffff');
  expect(counted('0123456700000000')).toEqual([2]);
  run('7654321000000000');
  expect([counted('01234567ffffffff'), counted('7654321000000000')]).toEqual([[], [1]]);
});
