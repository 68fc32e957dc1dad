import { describe, expect, test } from 'vitest';
import { causeFilter } from '../../src/inspector/gateway-conditions.ts';
import { isFilterFault, parseFilter } from '../../src/rewrite-log/filter.ts';
import type { CanaryOutcome } from '../../src/rollout/canary-window.ts';
import { type RolloutCommand } from '../../src/rollout/rollout-state.ts';
import { chooseMode, type RoutedMode } from '../../src/rollout/modes-in-force.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import { readRollout, rolloutText } from '../../src/rollout/stored-rollout.ts';
import type { Mode } from '../../src/rules/rollout.ts';
import { testRuleBook } from '../support/rule-book.ts';

/** A request of any client. */
const KEYLESS = { client: undefined, operation: undefined, pointer: undefined };

const OBSERVE: Mode = { mode: 'observe' };
const canary = (share: number): Mode => ({ mode: 'canary', share });
const OTHER = 'create_client';

function bookOf(hash: string): ReturnType<typeof testRuleBook> {
  const modes = {
    default: OBSERVE,
    operations: {},
    clients: {},
    rollback: { window: 60_000, margin: 5, slower: 2, requests: 30, certainty: 99 },
  };
  return testRuleBook({ hash, rollout: { clients: {}, brownouts: [], pins: [], modes } });
}

/** A gateway that serves migrated requests of the default's canary. */
class Stage {
  readonly notices: string[] = [];
  readonly control = new RolloutControl({
    time: () => 1_800_000_000_000,
    onNotice: (sentence) => this.notices.push(sentence),
  });
  book = bookOf('1');

  choose(...commands: readonly RolloutCommand[]): void {
    for (const command of commands) this.control.command(command);
  }

  begin(): RoutedMode {
    return {
      ...chooseMode(this.control.modes(this.book), { client: undefined, operation: undefined }),
      origin: 'v2',
    };
  }

  fail(requests: number): void {
    for (let n = 0; n < requests; n += 1) this.control.count(this.begin(), '5xx', KEYLESS);
  }

  /** Migrated requests in the window of the default's canary. */
  get counted(): number | undefined {
    this.control.modes(this.book);
    return this.control.counts.get(undefined)?.migrated.requests;
  }
}

test('tells each change of modes: a command, another replica, a rule book', () => {
  const stage = new Stage();
  const told: string[] = [];
  stage.begin();
  stage.control.watch((modes) => told.push(modes.default.mode));
  stage.choose({ mode: { mode: 'migrate' } }, { mode: { mode: 'shadow' } });
  const other = new Stage();
  other.choose({ mode: { mode: 'verify' } });
  stage.control.adopt(other.control.state);
  stage.begin();
  expect(told).toEqual(['migrate', 'shadow', 'verify', 'verify']);
  stage.choose({});
  stage.book = testRuleBook({ hash: '2' });
  stage.begin();
  expect(told.slice(4)).toEqual(['observe', 'migrate']);
});

test.each<readonly [name: string, commands: readonly RolloutCommand[], isKept: boolean]>([
  ['a mode for an operation', [{ operation: OTHER, mode: OBSERVE }], true],
  ['another canary', [{ operation: OTHER, mode: canary(5) }], true],
  ['a mode for a client', [{ client: '0123456789abcdef', mode: OBSERVE }], true],
  ['the same choice again', [{ mode: canary(10) }], true],
  ['another share', [{ mode: canary(20) }], false],
  ['the end of the canary, and its share again', [{ mode: OBSERVE }, { mode: canary(10) }], false],
])('after %s the canary counts on only if it is the same stage', (_, commands, isKept) => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  stage.fail(29);
  stage.choose(...commands);
  expect(stage.counted ?? 0).toBe(isKept ? 29 : 0);
  stage.fail(1);
  expect(stage.notices).toEqual(
    isKept
      ? [
          expect.stringMatching(
            /^canary of 10 % rolled back to observe: 30 of 30 compared requests failed on V2/,
          ),
        ]
      : [],
  );
});

test('a canary is rolled back once, also with requests in flight', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  const begun = Array.from({ length: 40 }, () => stage.begin());
  for (const routed of begun) stage.control.count(routed, '5xx', KEYLESS);
  expect(stage.notices).toHaveLength(1);
});

test('requests in flight count for the stage in which they began, even if another mode is chosen', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  const begun = Array.from({ length: 10 }, () => stage.begin());
  stage.choose({ operation: OTHER, mode: OBSERVE });
  for (const routed of begun) stage.control.count(routed, 'success', KEYLESS);
  expect(stage.counted).toBe(10);
  stage.choose({ mode: canary(20) });
  for (const routed of begun) stage.control.count(routed, 'success', KEYLESS);
  expect(stage.counted ?? 0).toBe(0);
});

test('another rule book begins another stage, because it makes other requests', () => {
  const stage = new Stage();
  stage.choose({ mode: canary(10) });
  stage.fail(29);
  stage.book = bookOf('2');
  expect(stage.counted ?? 0).toBe(0);
});

describe('a migrated client is judged against itself on V1 first', () => {
  const MANY = '00000001aaaaaaaa';
  /** Not in the share: V1 responds. */
  const OUTSIDE = 'ffffffffffffffff';
  const OUTSIDE_TOO = 'fffffffffffffffe';
  const FEW = '00000002bbbbbbbb';

  /** What each client was answered, in order. */
  type Answers = Readonly<Record<string, readonly CanaryOutcome[]>>;

  /** What V1 answered each client before, and what V2 answers it now. */
  function play(v1: Answers, v2: Answers): Stage {
    const stage = new Stage();
    const send = (client: string, outcome: CanaryOutcome): void =>
      stage.control.count(
        chooseMode(stage.control.modes(stage.book), { client, operation: 'create' }),
        outcome,
        { client, operation: 'create', pointer: outcome === 'success' ? undefined : '/name' },
      );
    stage.choose({ mode: OBSERVE });
    for (const [client, outcomes] of Object.entries(v1)) for (const one of outcomes) send(client, one);
    stage.choose({ mode: canary(10) });
    for (const [client, outcomes] of Object.entries(v2)) for (const one of outcomes) send(client, one);
    return stage;
  }

  const repeated = (outcome: CanaryOutcome, times: number): readonly CanaryOutcome[] =>
    Array.from({ length: times }, () => outcome);

  const half = (times: number, refused: CanaryOutcome = '422'): readonly CanaryOutcome[] =>
    Array.from({ length: times }, (_, at) => (at % 2 === 0 ? refused : 'success'));
  const refusedBeside = { [MANY]: repeated('success', 40), [FEW]: repeated('422', 9) };

  test.each<[name: string, v1: Answers, v2: Answers]>([
    ['all of its bodies are refused by V1 as well', { [FEW]: repeated('422', 3) }, refusedBeside],
    ['V1 refuses them with another status of the class', { [FEW]: repeated('400', 3) }, refusedBeside],
    [
      'V1 begins to refuse other requests as well',
      { [FEW]: repeated('success', 9), [OUTSIDE]: repeated('success', 9) },
      { [OUTSIDE]: half(300), [FEW]: half(300) },
    ],
    ['half of them', { [FEW]: half(4) }, { [FEW]: half(20) }],
  ])('no roll-back if %s', (_, v1, v2) => {
    expect(play(v1, v2).control.state.rollbacks).toEqual([]);
  });

  const refusedAlone = { [MANY]: repeated('success', 100), [FEW]: repeated('422', 60) };

  test.each<[name: string, v1: Answers, v2: Answers]>([
    ['V1 accepted requests that V2 refuses', { [FEW]: repeated('success', 9) }, refusedAlone],
    [
      'V1 accepted requests that V2 refuses, and still refuses others',
      { [FEW]: repeated('success', 9), [OUTSIDE]: repeated('422', 9) },
      {
        [OUTSIDE]: repeated('422', 120),
        [OUTSIDE_TOO]: repeated('success', 120),
        [MANY]: repeated('success', 100),
        [FEW]: repeated('422', 30),
      },
    ],
    [
      'V1 refused one of ten, and V2 refuses half',
      { [FEW]: ['422', ...repeated('success', 9)] },
      { [FEW]: half(300) },
    ],
    ['V1 refused by a key, and V2 fails', { [FEW]: repeated('401', 9) }, { [FEW]: repeated('500', 30) }],
    ['another client is refused', { [MANY]: repeated('422', 9) }, refusedAlone],
    ['V1 was down while it was observed', { [FEW]: repeated('503', 9) }, { [FEW]: repeated('503', 30) }],
    ['nothing is known of the client on V1', {}, { [FEW]: repeated('422', 30) }],
    [
      'an old key gets more 401, as on V1',
      {},
      {
        [OUTSIDE]: half(90, '401'),
        [FEW]: Array.from({ length: 25 }, () => ['500', '401', '401', 'success'] as const).flat(),
      },
    ],
  ])('a roll-back if %s, which names its cause', (_, v1, v2) => {
    const { control, notices } = play(v1, v2);
    const [rollback, ...others] = control.state.rollbacks;
    expect(others).toEqual([]);
    const status = v2[FEW]?.find((outcome) => outcome !== 'success');
    expect(rollback?.cause).toMatchObject({ status, client: FEW, operation: 'create', pointer: '/name' });
    expect(notices[0]).toContain(
      `All ${rollback?.migrated.failures} failures: ${status} at /name, from client ${FEW}, in create.`,
    );
    expect(readRollout(JSON.parse(rolloutText(control.state)))).toEqual(control.state);
    if (rollback?.cause !== undefined)
      expect(isFilterFault(parseFilter(causeFilter(rollback.cause)))).toBe(false);
  });
});

test('a roll-back says how many of all failures in its window are the most frequent one', () => {
  let time = 1_800_000_000_000;
  const notices: string[] = [];
  const control = new RolloutControl({ time: () => time, onNotice: (sentence) => notices.push(sentence) });
  const book = bookOf('1');
  const [FAILING, OTHER_CLIENT, OUTSIDE] = ['00000001aaaaaaaa', '00000002bbbbbbbb', 'ffffffffffffffff'];
  let failed = 0;
  const send = (client: string, outcome: CanaryOutcome, times: number, more = {}): void => {
    for (let n = 0; n < times && control.state.rollbacks.length === 0; n += 1) {
      control.count(chooseMode(control.modes(book), { client, operation: 'create' }), outcome, {
        client,
        operation: 'create',
        pointer: undefined,
        ...more,
      });
      if (outcome !== 'success') failed += 1;
    }
  };
  control.command({ mode: canary(10) });
  // Long ago a few requests failed otherwise; they are no part of what rolls it back.
  send(OUTSIDE, 'success', 20_000);
  send(OTHER_CLIENT, 'success', 20_000);
  send(OTHER_CLIENT, '503', 15);
  expect(control.state.rollbacks).toEqual([]);
  time += 3_600_000;
  failed = 0;
  send(OUTSIDE, 'success', 2000);
  send(OTHER_CLIENT, 'success', 2000);
  while (control.state.rollbacks.length === 0) {
    send(FAILING, '502', 3, { failure: 'upstream-unreachable' });
    send(OTHER_CLIENT, '422', 1, { pointer: '/name' });
  }
  const count = Math.ceil((failed * 3) / 4);
  expect(control.state.rollbacks).toMatchObject([
    {
      migrated: { requests: 2000 + failed, failures: failed },
      cause: { status: '502 upstream-unreachable', client: FAILING, operation: 'create', count },
    },
  ]);
  expect(notices).toEqual([
    `canary of 10 % rolled back to observe: ${failed} of ${(2000 + failed).toLocaleString('en')} compared requests failed on V2, 0 of 2,000 on V1. ${count} of ${failed} failures: 502 upstream-unreachable, from client ${FAILING}, in create. It stays in observe until an operator sets a mode.`,
  ]);
});

test.each([
  [
    'several clients and operations',
    'A create 1, B create 1, C list 2',
    'from several clients, in several operations.',
  ],
  [
    'one operation of several clients',
    'A create 3, B create 3, C list 1',
    'from several clients, in create.',
  ],
  [
    'one client, in several operations',
    'A create 2, A list 2, C list 1',
    'from client 0000000aaaaaaaaa, in several operations.',
  ],
])('a V2 that fails %s is described as such: %s', (_, failures, told) => {
  const notices: string[] = [];
  const control = new RolloutControl({
    time: () => 1_800_000_000_000,
    onNotice: (sentence) => notices.push(sentence),
  });
  const book = bookOf('1');
  control.command({ mode: canary(10) });
  while (control.state.rollbacks.length === 0)
    for (const [letter = '', operation = '', times] of failures.split(', ').map((one) => one.split(' ')))
      for (let n = 0; n < Number(times); n += 1) {
        const client = `0000000${letter.toLowerCase().repeat(9)}`;
        control.count(chooseMode(control.modes(book), { client, operation }), '500', {
          client,
          operation,
          pointer: undefined,
        });
      }
  expect(notices[0]).toContain(` failures: 500, ${told}`);
});

test('without a V1 service, the modes of the rule book hold instead of stored ones that need it, with one notice', () => {
  const notices: string[] = [];
  const lone = new RolloutControl({
    time: () => 0,
    onNotice: (sentence) => notices.push(sentence),
    hasV1: false,
  });
  const book = testRuleBook({ hash: '1' });
  const together = new RolloutControl({ time: () => 0, onNotice: () => {} });
  const adopted = (command: RolloutCommand): Mode => {
    together.command(command);
    lone.adopt(together.state);
    return lone.modes(book).default;
  };
  expect(adopted({ mode: OBSERVE })).toEqual({ mode: 'migrate' });
  lone.modes(testRuleBook({ hash: '2' }));
  expect(notices).toEqual([expect.stringContaining('no V1 service is configured here')]);
  expect(adopted({ mode: { mode: 'migrate' } })).toEqual({ mode: 'migrate' });
  expect(notices).toHaveLength(1);
});
