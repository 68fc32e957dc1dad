import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endWarning } from '../../src/inspector/end-of-v1.ts';
import {
  bookChangeWords,
  commandTitle,
  defaultTarget,
  dryRunsOnV1,
  hasV1Mode,
  modesOf,
  rolloutEffect,
  type SeenClients,
  stageHeading,
} from '../../src/inspector/rollout-effect.ts';
import { chooseMode } from '../../src/rollout/modes-in-force.ts';
import type { ModeView, RolloutRequest, RolloutView } from '../../src/rollout/rollout-tally.ts';
import { sampleRollout } from '../support/sample-rollout.ts';

const PAST = '2026-11-01T00:00:00.000Z';
const OBSERVE: ModeView = { mode: 'observe', from: 'operator' };

interface Sent {
  readonly client: string;
  readonly name?: string;
  readonly sent: Readonly<Record<string, number>>;
}

function seen(clients: readonly Sent[], rest: Partial<Omit<SeenClients, 'clients'>> = {}): SeenClients {
  return {
    omittedClients: 0,
    ...rest,
    clients: clients.map(({ sent, ...client }) => ({
      ...client,
      operations: Object.entries(sent).map(([operation, count]) => ({ operation, count })),
    })),
  };
}

const [LOW, HIGH] = ['0000000100000000', 'ffffffff00000000'];

test('a canary names the clients in its share, with their part of the traffic', () => {
  const clients = [
    { client: LOW, name: 'acme', sent: { heartbeat: 20, 'GET /x': 10 } },
    { client: HIGH, sent: { heartbeat: 60 } },
    { client: '-', sent: { '(other)': 10 } },
  ];
  const coverage = { sentence: 'Counts of 3 replicas.' };
  const effect = rolloutEffect(
    { mode: 'canary', share: 10 },
    sampleRollout(),
    seen(clients, { omittedClients: 4, coverage }),
  );
  expect(effect).toEqual({
    title: 'Migrate 10 % of the clients',
    sentences: [
      'From V1 to V2: acme (1 of 2 clients seen, with 30 % of all V1 requests).',
      'No change for 1 client and requests without a key on V1.',
      '4 requests of further clients were not counted by client.',
      'Counts of 3 replicas.',
      'New clients: 10 % of all possible hashes are in the share.',
      "The gateway goes back to observe by itself when migrated requests fail more often than V1's by at least 2.5 percentage points, or when their median or 99 % latency is at least 2 times V1's and 50 ms more, with 99 % certainty, from 20 requests on.",
    ],
    warnings: [],
  });
});

test.each<[RolloutRequest, readonly string[]]>([
  [
    { mode: 'canary', share: 10 },
    [
      'No client is migrated: 10 % of all possible hashes include none of those seen (1 client and requests without a key), so there is nothing to watch. A share of 51 % would migrate the first of them.',
    ],
  ],
  [{ mode: 'canary', share: 51 }, []],
  [
    { mode: 'canary', share: 10, operation: 'create_client' },
    [
      'No client is migrated: 10 % of all possible hashes include none of those seen (requests without a key), so there is nothing to watch. Requests without a key are only in a share of 100 %.',
    ],
  ],
  [{ mode: 'shadow' }, ['Only reads are compared: V1 alone gets every other request.']],
  [
    { mode: 'shadow', operation: 'create_client' },
    [
      'Nothing is compared: create_client is a POST, and only reads are sent to both services. Its requests are handled as in observe.',
    ],
  ],
  [{ mode: 'shadow', operation: 'heartbeat' }, []],
  [{ mode: 'verify', share: 5 }, ['Only reads are compared: V2 alone gets every other request.']],
  [
    { mode: 'verify', share: 5, operation: 'create_client' },
    [
      'Nothing is compared: create_client is a POST, and only reads are sent to both services. Its requests are handled as in migrate.',
    ],
  ],
  [{ mode: 'migrate' }, []],
])('%j: what it would not do is said before it is confirmed', (request, told) => {
  const clients = seen([
    { client: '8000000000000000', sent: { heartbeat: 1 } },
    { client: '-', sent: { create_client: 1 } },
  ]);
  const methodOf = (operation: string): string => (operation === 'heartbeat' ? 'GET' : 'POST');
  const { warnings, sentences } = rolloutEffect(request, sampleRollout(), clients, methodOf);
  expect([...warnings, ...sentences.filter((one) => one.includes('compared'))]).toEqual(told);
  // Shadow is the safest mode: what it does not compare is no warning.
  if (request.mode === 'shadow') expect(warnings).toEqual([]);
});

test('operations with their own modes keep them, and a way back is called one', () => {
  const rollout = sampleRollout({
    default: { mode: 'migrate', from: 'default' },
    operations: { create_client: OBSERVE },
    clients: { [HIGH]: { mode: 'migrate', from: 'operator', name: 'globex' } },
  });
  const clients = [
    { client: LOW, sent: { heartbeat: 1 } },
    { client: HIGH, name: 'globex', sent: { heartbeat: 1 } },
  ];
  expect(rolloutEffect({ mode: 'observe' }, rollout, seen(clients)).sentences).toEqual([
    'These keep their own modes: create_client, globex.',
    `From V2 to V1: ${LOW} (1 of 2 clients seen, with 50 % of all V1 requests).`,
    'No change for 1 client on V2.',
  ]);
  expect(rolloutEffect({ mode: 'observe', client: 'globex' }, rollout, seen(clients)).sentences).toEqual([
    'From V2 to V1: globex (1 of 2 clients seen, with 50 % of all V1 requests).',
  ]);
});

test.each([
  [1, 9999, '< 0.1 %'],
  [9999, 1, '> 99.9 %'],
])('a client with %i of 10 000 requests has neither none nor all of them', (sent, others, share) => {
  const clients = seen([
    { client: LOW, name: 'acme', sent: { heartbeat: sent } },
    { client: HIGH, name: 'beta', sent: { heartbeat: others } },
  ]);
  const { sentences } = rolloutEffect({ mode: 'migrate', client: 'acme' }, sampleRollout(), clients);
  expect(sentences).toEqual([`From V1 to V2: acme (1 of 2 clients seen, with ${share} of all V1 requests).`]);
});

test('a command for an operation moves the clients that sent it, with only these requests', () => {
  const clients = seen([
    { client: LOW, name: 'acme', sent: { heartbeat: 1, list_clients: 3 } },
    { client: HIGH, name: 'beta', sent: { list_clients: 4 } },
  ]);
  expect(
    rolloutEffect({ mode: 'migrate', operation: 'heartbeat' }, sampleRollout(), clients).sentences,
  ).toEqual(['From V1 to V2: acme (1 of 2 clients seen, with 12.5 % of all V1 requests).']);
});

const OF_ALL = { default: OBSERVE, operations: {}, clients: {} };

test.each<[name: string, view: Parameters<typeof commandTitle>[1], words: string]>([
  ['nothing has its own mode', OF_ALL, 'everything'],
  ['an operation has', { ...OF_ALL, operations: { heartbeat: OBSERVE } }, 'everything but heartbeat'],
  ['a client has', { ...OF_ALL, clients: { [LOW]: OBSERVE } }, `everything but ${LOW}`],
])('if %s, the default mode applies to: %o', (_, view, words) => {
  expect(defaultTarget(view)).toBe(words);
  expect(commandTitle({ mode: 'observe' }, view)).toBe(`Send ${words} to V1`);
});

test.each<[present: ModeView['mode'], words: string]>([
  ['observe', 'Shadow heartbeat'],
  ['canary', 'Send heartbeat to V1 in shadow'],
  ['migrate', 'Send heartbeat to V1 in shadow'],
])('from %s, to shadow an operation is to %s', (mode, words) => {
  const views = [
    { ...OF_ALL, default: { mode, from: 'default' } },
    { ...OF_ALL, operations: { heartbeat: { mode, from: 'operator' } } },
  ] as const;
  for (const view of views)
    expect(commandTitle({ mode: 'shadow', operation: 'heartbeat' }, view)).toBe(words);
});

test.each<[request: RolloutRequest, title: string, sentences: readonly string[]]>([
  [
    { operation: 'heartbeat' },
    'Clear the mode of heartbeat',
    [
      'The rule book has no mode for heartbeat, so the mode of everything else applies: migrate.',
      'These keep their own modes: globex.',
      `From V1 to V2: ${LOW} (1 of 2 clients seen, with 33.3 % of all V1 requests).`,
    ],
  ],
  [
    { operation: 'create_client' },
    'Clear the mode of create_client',
    [
      'The mode of the rule book applies: shadow.',
      'These keep their own modes: globex.',
      `From V2 to V1: ${LOW} (1 of 2 clients seen, with 33.3 % of all V1 requests).`,
      'No change for 1 client on V1.',
    ],
  ],
  [
    { client: 'globex' },
    'Clear the mode of the client globex',
    [
      'The rule book has no mode for the client globex: its requests have the modes of their operations, or that of everything else.',
      'From V1 to V2: globex (1 of 2 clients seen, with 33.3 % of all V1 requests).',
    ],
  ],
  [
    {},
    'Take the mode of everything but heartbeat, create_client, globex from the rule book',
    [
      'The mode of the rule book applies: observe.',
      'These keep their own modes: heartbeat, create_client, globex.',
      'This affects none of the V1 requests seen, so no client can be named.',
    ],
  ],
])(
  'a mode that is cleared returns to that of the rule book, or of everything else: %j',
  (request, title, sentences) => {
    const rollout = sampleRollout({
      default: { mode: 'migrate', from: 'operator' },
      operations: { heartbeat: OBSERVE, create_client: { mode: 'migrate', from: 'operator' } },
      clients: { [HIGH]: { mode: 'observe', from: 'operator', name: 'globex' } },
      ruleBook: {
        default: { mode: 'observe' },
        operations: { create_client: { mode: 'shadow' } },
        clients: {},
      },
    });
    const clients = seen([
      { client: LOW, sent: { heartbeat: 1, create_client: 1 } },
      { client: HIGH, name: 'globex', sent: { create_client: 1 } },
    ]);
    const effect = rolloutEffect(request, rollout, clients);
    expect([effect.title, effect.sentences]).toEqual([title, sentences]);
  },
);

test.each<[rolledBack: readonly (string | undefined)[], heading: string]>([
  [[], 'Migrate'],
  [['heartbeat'], 'Migrate; heartbeat rolled back'],
  [[undefined], 'Rolled back: V1 responds'],
  [['heartbeat', undefined], 'Rolled back: V1 responds; heartbeat rolled back'],
])('the stage of everything is not that of an operation that was rolled back: %j', (operations, heading) => {
  const counts = { requests: 20, failures: 9 };
  const one = { at: '2026-11-29T08:00:00.000Z', share: 40, migrated: counts, v1: counts };
  const rollbacks = operations.map((operation) => ({
    ...one,
    target: operation ?? 'everything',
    ...(operation === undefined ? {} : { operation }),
  }));
  const over = { ...one, operation: 'create_client', target: 'create_client', resolved: one.at };
  expect(stageHeading({ rollbacks: [...rollbacks, over] }, 'Migrate')).toBe(heading);
});

test('a mode of an operation keeps its requests from a change of everything else', () => {
  const rollout = sampleRollout({ operations: { heartbeat: OBSERVE } });
  const clients = seen([
    { client: LOW, name: 'acme', sent: { list_clients: 1 } },
    { client: HIGH, name: 'beta', sent: { heartbeat: 9 } },
  ]);
  expect(rolloutEffect({ mode: 'migrate' }, rollout, clients).sentences).toEqual([
    'These keep their own modes: heartbeat.',
    'From V1 to V2: acme (1 of 2 clients seen, with 10 % of all V1 requests).',
  ]);
});

test('two clients with one name are listed by hash, and the name chooses neither', () => {
  const clients = seen([
    { client: LOW, name: 'acme', sent: { heartbeat: 1 } },
    { client: HIGH, name: 'acme', sent: { heartbeat: 1 } },
  ]);
  expect(rolloutEffect({ mode: 'migrate' }, sampleRollout(), clients).sentences).toEqual([
    `From V1 to V2: acme (${LOW}), acme (${HIGH}) (2 of 2 clients seen, with 100 % of all V1 requests).`,
  ]);
  expect(rolloutEffect({ mode: 'migrate', client: 'acme' }, sampleRollout(), clients).sentences).toEqual([
    `2 clients are called acme: ${LOW}, ${HIGH}; give the hash of one.`,
  ]);
  expect(rolloutEffect({ mode: 'migrate', client: LOW }, sampleRollout(), clients).sentences).toEqual([
    `From V1 to V2: acme (${LOW}) (1 of 2 clients seen, with 50 % of all V1 requests).`,
  ]);
});

test('a client that no person named has the display name of the rollout', () => {
  const clients = seen([{ client: LOW, sent: { heartbeat: 3 } }]);
  const rollout = sampleRollout({ names: { [LOW]: 'Importer/0.9' } });
  const { title, sentences } = rolloutEffect({ mode: 'migrate', client: LOW }, rollout, clients);
  expect([title, ...sentences]).toEqual([
    'Migrate the client Importer/0.9',
    'From V1 to V2: Importer/0.9 (1 of 1 client seen, with 100 % of all V1 requests).',
  ]);
});

const NOBODY = 'This affects none of the V1 requests seen, so no client can be named.';

test.each<[RolloutRequest, SeenClients, string]>([
  [{ mode: 'observe' }, seen([]), NOBODY],
  [{ mode: 'migrate', client: 'x' }, seen([]), NOBODY],
  [{ mode: 'migrate', operation: 'order_plan' }, seen([{ client: LOW, sent: { heartbeat: 1 } }]), NOBODY],
])('%j: unknown facts are mentioned', (request, clients, sentence) => {
  expect(rolloutEffect(request, sampleRollout(), clients).sentences).toEqual([sentence]);
});

test('hashes that change at each start are mentioned', () => {
  const { sentences } = rolloutEffect(
    { mode: 'canary', share: 1 },
    sampleRollout({ isSticky: false }),
    seen([]),
  );
  expect(sentences.at(-1)).toBe(
    'The gateway makes new client hashes at each start, so other clients will be in the share: set GATEWAY_CLIENT_SECRET.',
  );
});

test('the clients that are named are those whose live requests move', () => {
  const hash = fc.stringMatching(/^[0-9a-f]{16}$/);
  fc.assert(
    fc.property(
      fc.uniqueArray(hash, { minLength: 1, maxLength: 15 }),
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      fc.double({ min: 0.1, max: 100, noNaN: true }),
      (hashes, before, share) => {
        const rollout = sampleRollout({ default: { mode: 'canary', share: before, from: 'operator' } });
        const clients = hashes.map((client) => ({ client, sent: { heartbeat: 1 } }));
        const { sentences } = rolloutEffect({ mode: 'canary', share }, rollout, seen(clients));
        const modes = { default: rollout.default, operations: {}, clients: {}, rollback: rollout.rollback };
        const origin = (client: string, percent: number): string =>
          chooseMode(
            { ...modes, default: { mode: 'canary', share: percent } },
            { client, operation: undefined },
          ).origin;
        for (const to of ['v1', 'v2']) {
          const wanted = hashes.filter((one) => origin(one, share) === to && origin(one, before) !== to);
          const named = sentences.find((sentence) => sentence.includes(` to ${to.toUpperCase()}: `));
          expect(named?.match(/[0-9a-f]{16}/g) ?? []).toEqual(wanted);
        }
      },
    ),
  );
});

type Tried = Parameters<typeof dryRuns>[0][number];

/** Dry runs of clients and operations. */
function dryRuns(
  all: readonly {
    readonly client?: string;
    readonly name?: string;
    readonly operation?: string;
    readonly valid?: number;
    readonly invalid?: Readonly<Record<string, number>>;
    readonly refused?: Readonly<Record<string, number>>;
  }[],
): Pick<RolloutView, 'bodyChecks'> {
  const sum = (counts: Readonly<Record<string, number>>): number =>
    Object.values(counts).reduce((total, times) => total + times, 0);
  return {
    bodyChecks: {
      omitted: 0,
      past: 0,
      counts: all.map(({ valid = 0, invalid = {}, refused = {}, ...subject }) => ({
        ...subject,
        valid,
        invalid: sum(invalid),
        refused: sum(refused),
        refusedByBoth: 0,
        unknown: 0,
        bodies: 0,
        pointers: Object.entries(invalid).map(([at, count]) => ({ at, count })),
        refusals: Object.entries(refused).map(([reason, count]) => ({ reason, count })),
      })),
    },
  };
}

const TRIED: readonly Tried[] = [
  { client: LOW, name: 'acme', operation: 'create_client', valid: 1100, invalid: { '/name': 3, '': 1 } },
  { client: HIGH, operation: 'create_client', valid: 6, invalid: { '/name': 1 } },
  { client: HIGH, operation: 'heartbeat', valid: 20 },
  { valid: 2, refused: { 'nested-twice at /data': 8 } },
];

describe('what a command would let fail at V2', () => {
  const clients = seen([
    { client: LOW, name: 'acme', sent: { create_client: 4 } },
    { client: HIGH, sent: { create_client: 1, heartbeat: 20 } },
    { client: '-', sent: { '(other)': 10 } },
  ]);
  const all = 'error:schema-*,would-*';
  test.each<
    [
      request: RolloutRequest,
      parts: Partial<RolloutView>,
      sentence: string | undefined,
      ...failing: readonly [name: string, words: string, filter: string][],
    ]
  >([
    [
      { mode: 'migrate' },
      {},
      'Of what moves to V2, 13 of 1,141 checked requests would fail after the migration.',
      [
        'other requests',
        '8 checked requests, of requests without a key: nested-twice at /data 8×',
        `op:- ${all}`,
      ],
      [
        'create_client',
        '5 checked requests, of 2 clients: /name 4×, the body itself 1×',
        `op:create_client ${all}`,
      ],
    ],
    [
      { mode: 'migrate', operation: 'heartbeat' },
      {},
      'Of what moves to V2, none of 20 checked requests would fail after the migration.',
    ],
    [
      { mode: 'migrate', client: 'acme' },
      {},
      'Of what moves to V2, 4 of 1,104 checked requests would fail after the migration.',
      [
        'create_client',
        '4 checked requests, of 1 client: /name 3×, the body itself 1×',
        `client:acme op:create_client ${all}`,
      ],
    ],
    // Only the clients in the share.
    [
      { mode: 'canary', share: 10, operation: 'create_client' },
      {},
      'Of what moves to V2, 4 of 1,104 checked requests would fail after the migration.',
      [
        'create_client',
        '4 checked requests, of 1 client: /name 3×, the body itself 1×',
        `op:create_client ${all}`,
      ],
    ],
    // Those with modes of their own stay, and what is at V2 does not move.
    [
      { mode: 'migrate' },
      { operations: { create_client: OBSERVE }, clients: { [HIGH]: { mode: 'migrate', from: 'operator' } } },
      'Of what moves to V2, 8 of 10 checked requests would fail after the migration.',
      [
        'other requests',
        '8 checked requests, of requests without a key: nested-twice at /data 8×',
        `op:- ${all}`,
      ],
    ],
    [
      { mode: 'verify', share: 5, operation: 'heartbeat' },
      {},
      'Of what moves to V2, none of 20 checked requests would fail after the migration.',
    ],
    [{ mode: 'observe' }, {}, undefined],
    [{ mode: 'shadow' }, {}, undefined],
    [{ mode: 'migrate' }, { default: { mode: 'migrate', from: 'operator' } }, undefined],
    [{ mode: 'migrate' }, dryRuns([]), undefined],
  ])('%j with %j: %s', (request, parts, sentence, ...failing) => {
    const rollout = sampleRollout({ ...dryRuns(TRIED), ...parts });
    expect(rolloutEffect(request, rollout, clients).dryRuns).toEqual(
      sentence === undefined
        ? undefined
        : { sentence, failing: failing.map(([name, words, filter]) => ({ name, words, filter })) },
    );
  });
});

test('clients with a name come before those with a hash alone, which are on a line below', () => {
  const many = Array.from({ length: 24 }, (_, at) => ({
    client: `${at.toString(16).padStart(2, '0')}00000000000000`,
    ...(at > 21 ? { name: `client ${at}` } : {}),
    sent: { heartbeat: 1 },
  }));
  const [words = ''] = rolloutEffect({ mode: 'migrate' }, sampleRollout(), seen(many)).sentences;
  expect(words).toMatch(
    /^From V1 to V2: client 22, client 23 and 22 more \(24 of 24 clients seen, .*\nThe others: 0{16}, 010{14}, .*, 150{14}\.$/,
  );
});

test('without any names, the first hashes stand for the others', () => {
  const hashes = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(16));
  const of = (most: number): string | undefined => {
    const clients = hashes.slice(0, most).map((client) => ({ client, sent: { heartbeat: 1 } }));
    return rolloutEffect({ mode: 'migrate' }, sampleRollout(), seen(clients)).sentences[0];
  };
  const [a, b, c, d] = hashes;
  expect(of(3)).toBe(`From V1 to V2: ${a}, ${b}, ${c} (3 of 3 clients seen, with 100 % of all V1 requests).`);
  expect(of(4)).toBe(
    `From V1 to V2: ${a}, ${b}, ${c} and 1 more (4 of 4 clients seen, with 100 % of all V1 requests).\nThe others: ${d}.`,
  );
});

describe('dry runs', () => {
  const of = (parts: Partial<RolloutView>): readonly string[] =>
    dryRunsOnV1(
      dryRuns(TRIED).bodyChecks?.counts ?? [],
      modesOf(sampleRollout(parts)),
      parts,
      Date.now(),
    ).map(({ operation = 'other', client }) => (client === LOW ? `${operation} acme` : operation));
  const at = (mode: ModeView['mode'], share?: number): ModeView => ({
    mode,
    from: 'operator',
    ...(share === undefined ? {} : { share }),
  });
  const past = '2020-01-01T00:00:00.000Z';
  test.each<[when: string, parts: Partial<RolloutView>, left: readonly string[], isToCome: boolean]>([
    [
      'while V1 responds, most failures first',
      {},
      ['other', 'create_client acme', 'create_client', 'heartbeat'],
      true,
    ],
    [
      'in a shadow',
      { default: at('shadow') },
      ['other', 'create_client acme', 'create_client', 'heartbeat'],
      true,
    ],
    [
      'of clients that a canary has not',
      { default: at('canary', 10) },
      ['other', 'create_client', 'heartbeat'],
      true,
    ],
    [
      'of an operation that is migrated',
      { operations: { create_client: at('migrate') } },
      ['other', 'heartbeat'],
      true,
    ],
    [
      'of one that is left behind',
      { default: at('migrate'), operations: { heartbeat: at('observe') } },
      ['heartbeat'],
      true,
    ],
    [
      'of a client that is left behind',
      { default: at('verify', 5), clients: { [LOW]: at('observe') } },
      ['create_client acme'],
      true,
    ],
    ['of nothing once all is migrated', { default: at('migrate') }, [], false],
    ['of nothing in verify', { default: at('verify', 5) }, [], false],
    ['of nothing after the end of V1', { sunset: past, gone: {} }, [], false],
  ])('are shown %s', (_, parts, left, isToCome) => {
    expect(of(parts)).toEqual(left);
    expect(hasV1Mode(sampleRollout(parts), Date.now())).toBe(isToCome);
  });
});

describe('a rule book that replaced another', () => {
  const modes = (parts: Partial<ReturnType<typeof modesOf>>): ReturnType<typeof modesOf> => ({
    ...modesOf(sampleRollout({})),
    default: { mode: 'observe' },
    operations: {},
    clients: {},
    ...parts,
  });
  const shadow = { mode: 'shadow' } as const;

  test.each<
    [
      before: Partial<ReturnType<typeof modesOf>>,
      after: Partial<ReturnType<typeof modesOf>>,
      words: string | undefined,
    ]
  >([
    [{}, {}, undefined],
    [{}, { default: { mode: 'migrate' } }, 'everything observe → migrate'],
    [{}, { default: { mode: 'canary', share: 5 } }, 'everything observe → canary 5 %'],
    [
      { operations: { heartbeat: shadow } },
      { default: { mode: 'migrate' } },
      'everything but heartbeat observe → migrate, heartbeat shadow → migrate',
    ],
    [{ operations: { heartbeat: { mode: 'observe' } } }, {}, undefined],
    [{}, { clients: { [LOW]: shadow } }, 'the client acme as its operations → shadow'],
    [{ clients: { [HIGH]: shadow } }, {}, `the client ${HIGH} shadow → as its operations`],
  ])('names the modes that it changed: %j, then %j', (before, after, words) => {
    expect(bookChangeWords(modes(before), modes(after), new Map([[LOW, 'acme']]))).toBe(
      words === undefined ? '' : `modes: ${words}, by the rule book`,
    );
  });
});

describe('a client that alone has the trouble', () => {
  const clients = [
    { client: LOW, name: 'acme', failed: 9, operations: [{ operation: 'heartbeat', count: 9 }] },
    { client: HIGH, failed: 0, operations: [{ operation: 'heartbeat', count: 90 }] },
  ];
  const effectOf = (
    request: RolloutRequest,
    from: ModeView,
    seenClients: SeenClients['clients'],
  ): ReturnType<typeof rolloutEffect>['instead'] =>
    rolloutEffect(request, sampleRollout({ default: from, operations: {}, clients: {} }), {
      clients: seenClients,
      omittedClients: 0,
    }).instead;
  const migrated: ModeView = { mode: 'migrate', from: 'operator' };

  test('can move alone', () => {
    const instead = {
      sentence: 'Of these clients, only acme has failed: it can go to V1 alone, by its own mode.',
      title: 'Send the client acme to V1',
      request: { mode: 'observe', client: LOW },
    };
    expect(effectOf({ mode: 'observe', operation: 'heartbeat' }, migrated, clients)).toEqual(instead);
    expect(effectOf({ mode: 'observe' }, migrated, clients)).toEqual(instead);
  });

  test.each<[what: string, request: RolloutRequest, seenClients: SeenClients['clients']]>([
    ['is moved alone already', { mode: 'observe', client: 'acme' }, clients],
    ['is not alone', { mode: 'observe' }, clients.map((one) => ({ ...one, failed: 1 }))],
    ['is the only one', { mode: 'observe' }, clients.slice(0, 1)],
    [
      'has no key',
      { mode: 'observe' },
      clients.map((one) => ({ ...one, client: one.failed > 0 ? '-' : one.client })),
    ],
  ])('is not named if it %s', (_, request, seenClients) => {
    expect(effectOf(request, migrated, seenClients)).toBeUndefined();
  });
});

test.each<[string, Partial<RolloutView>, RolloutRequest, readonly string[], readonly string[]]>([
  [
    'V1',
    { sunset: PAST, gone: {} },
    { mode: 'observe' },
    [`V1 ended on ${PAST}: in every mode, V1 requests get 410, on purpose.`],
    ['This affects none of the V1 requests seen, so no client can be named.'],
  ],
  [
    'V1 for all but one client',
    { sunset: PAST, gone: { except: ['acme'], hashes: { except: ['0'.repeat(16)] } } },
    { mode: 'observe' },
    [`V1 ended on ${PAST}: in every mode, V1 requests get 410, on purpose, except those of acme.`],
    ['From V2 to V1: acme (1 of 2 clients seen, with 50 % of all V1 requests).'],
  ],
  [
    'the operation',
    { ends: [{ kind: 'operation', id: 'read_client', sunset: PAST, gone: {} }] },
    { mode: 'observe', operation: 'read_client' },
    [`read_client ended on ${PAST}: in every mode, V1 requests for it get 410, on purpose.`],
    ['This affects none of the V1 requests seen, so no client can be named.'],
  ],
])('says that no mode has an effect after the end: %s', (_, more, request, warned, said) => {
  const rollout = sampleRollout({ default: { mode: 'migrate', from: 'operator' }, ...more });
  const clients = ['acme', 'globex'].map((name, at) => ({
    client: String(at).repeat(16),
    name,
    operations: [{ operation: 'read_client', count: 5 }],
  }));
  const { sentences } = rolloutEffect(request, rollout, { clients, omittedClients: 0 });
  expect([endWarning(rollout, Date.now(), request.operation), sentences]).toEqual([warned, said]);
});

describe('an operation that was rolled back', () => {
  const share = { requests: 24, failures: 24 };
  const back = { at: PAST, share: 50, migrated: share, v1: { requests: 20, failures: 0 } };
  const said = '24 of 24 compared requests failed on V2, 0 of 20 on V1.';

  test.each<[what: string, request: RolloutRequest, resolved: string | undefined, warned: boolean]>([
    ['is to go to V2 with all others', { mode: 'migrate' }, undefined, true],
    ['is to go to V2 again', { mode: 'canary', share: 5, operation: 'read_client' }, undefined, true],
    ['stays on V1', { mode: 'shadow' }, undefined, false],
    ['is not concerned', { mode: 'migrate', operation: 'create_client' }, undefined, false],
    ['has gone to V2 since', { mode: 'migrate' }, PAST, false],
  ])('is named before a change of modes: %s', (_, request, resolved, warned) => {
    const rollback = { ...back, target: 'read_client', operation: 'read_client' };
    const rollbacks = [resolved === undefined ? rollback : { ...rollback, resolved }];
    const rollout = sampleRollout({ default: { mode: 'observe', from: 'operator' }, rollbacks });
    const { warnings } = rolloutEffect(request, rollout, { clients: [], omittedClients: 0 });
    expect(warnings.filter((one) => one.includes('rolled back'))).toEqual(
      warned ? [`The canary of read_client of 50 % was rolled back at ${PAST}: ${said}`] : [],
    );
  });
});
