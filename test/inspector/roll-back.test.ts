import { expect, test } from 'vitest';
import { OperationRollBack } from '../../src/inspector/roll-back.ts';
import { OperationHealth } from '../../src/rewrite-log/health/operation-health.ts';
import { RolloutControl } from '../../src/rollout/rollout-control.ts';
import {
  type BookReload,
  commanded,
  earlierModes,
  initialRollout,
  rolledBack,
  type RolloutCommand,
} from '../../src/rollout/rollout-state.ts';
import { DEFAULT_ROLLBACK } from '../../src/rules/declared-rollout.ts';
import type { Mode, Modes } from '../../src/rules/rollout.ts';
import { testRuleBook } from '../support/rule-book.ts';
import { sampleEntry } from '../support/sample-entries.ts';

const MIGRATE: Mode = { mode: 'migrate' };
const OBSERVE: Mode = { mode: 'observe' };
const SHADOW: Mode = { mode: 'shadow' };
const CANARY: Mode = { mode: 'canary', share: 25 };

/** A rollout of operations that the rule book migrates, and what the gateway said that it did by itself. */
function rolledOut({ migrated, hasV1 = true }: { migrated?: 'observe'; hasV1?: boolean } = {}): {
  readonly rollBack: OperationRollBack;
  readonly control: RolloutControl;
  readonly said: readonly string[];
} {
  const said: string[] = [];
  const control = new RolloutControl({ time: Date.now, onNotice: () => {} });
  const rollback = { ...DEFAULT_ROLLBACK, ...(migrated === undefined ? {} : { migrated }) };
  const modes = { default: MIGRATE, operations: {}, clients: {}, rollback };
  const operations = [
    { id: 'list_clients', method: 'GET', template: '/clients', assumed: false },
    { id: 'create_client', method: 'POST', template: '/clients', assumed: false },
  ];
  const rollout = { clients: {}, brownouts: [], pins: [], modes };
  const book = testRuleBook({ operations, rollout });
  const rollBack = new OperationRollBack({
    control,
    ruleBook: () => book,
    hasV1,
    onRollBack: (sentence) => void said.push(sentence),
  });
  return { rollBack, control, said };
}

const ofOperation = (mode: Mode | undefined): RolloutCommand => ({ mode, operation: 'list_clients' });

test.each<[history: string, commands: readonly RolloutCommand[], before: Mode | undefined]>([
  ['nothing was chosen', [], OBSERVE],
  ['everything was in observe before', [{ mode: OBSERVE }, { mode: MIGRATE }], OBSERVE],
  ['everything was in shadow before', [{ mode: SHADOW }, { mode: MIGRATE }], SHADOW],
  ['a canary came before', [{ mode: CANARY }, { mode: MIGRATE }], OBSERVE],
  ['shadow, and then a canary, came before', [{ mode: SHADOW }, { mode: CANARY }, { mode: MIGRATE }], SHADOW],
  [
    'a canary of all clients came before',
    [{ mode: SHADOW }, { mode: { mode: 'canary', share: 100 } }, { mode: MIGRATE }],
    SHADOW,
  ],
  ['the operation had its own modes', [{ mode: OBSERVE }, ofOperation(SHADOW), ofOperation(MIGRATE)], SHADOW],
  ['it got its own mode', [{ mode: SHADOW }, ofOperation(MIGRATE)], SHADOW],
  ['it returned to the rule book', [ofOperation(SHADOW), ofOperation(undefined)], SHADOW],
  [
    'another operation and a client were chosen for since',
    [
      { mode: SHADOW },
      { mode: MIGRATE },
      { mode: OBSERVE, operation: 'order_floor_plan' },
      { mode: OBSERVE, client: 'a'.repeat(16) },
    ],
    SHADOW,
  ],
  [
    'it is verified now',
    [{ mode: SHADOW }, { mode: MIGRATE }, { mode: { mode: 'verify', share: 5 } }],
    SHADOW,
  ],
  ['it is not migrated', [{ mode: MIGRATE }, { mode: OBSERVE }], undefined],
  ['it is in a canary', [{ mode: SHADOW }, { mode: CANARY }], SHADOW],
])('an operation goes back to a mode that sends nothing to V2, where %s', (_, commands, before) => {
  const { rollBack, control } = rolledOut();
  for (const command of commands) control.command(command);
  expect(rollBack.modeOnV1('list_clients')).toEqual(before);
});

test('the mode before is that after a rollback of the canary, which no operator chose', () => {
  const { rollBack, control } = rolledOut();
  control.command({ mode: CANARY });
  const counts = { requests: 20, failures: 9 };
  const at = new Date(Date.now() + 1).toISOString();
  control.adopt(rolledBack(control.state, { at, share: 25, migrated: counts, v1: counts }));
  control.adopt(commanded(control.state, { mode: MIGRATE }, new Date(Date.now() + 2).toISOString()));
  expect(rollBack.modeOnV1('list_clients')).toEqual(OBSERVE);
});

test('a write, which no shadow compares, goes back to observe; what is no operation goes nowhere', () => {
  const { rollBack, control } = rolledOut();
  for (const mode of [SHADOW, MIGRATE]) control.command({ mode });
  expect(rollBack.modeOnV1('create_client')).toEqual(OBSERVE);
  expect(rollBack.modeOnV1('(other)')).toBeUndefined();
});

test('without V1 there is no mode to go back to', () => {
  expect(rolledOut({ hasV1: false }).rollBack.modeOnV1('list_clients')).toBeUndefined();
});

test.each<[rule: 'observe' | undefined, hasV1: boolean, isBack: boolean]>([
  ['observe', true, true],
  ['observe', false, false],
  [undefined, true, false],
])(
  'the gateway rolls a failing operation back by itself only if the rule book says so: %s, with V1: %s',
  (migrated, hasV1, isBack) => {
    const { rollBack, control, said } = rolledOut({
      hasV1,
      ...(migrated === undefined ? {} : { migrated }),
    });
    const health = new OperationHealth(undefined, (trouble) => rollBack.harmed(trouble));
    for (let at = 0; at < 130; at += 1) {
      const [status, answer] = at < 100 ? ([201, 'well'] as const) : ([500, 'failed'] as const);
      const entry = { ...sampleEntry(1, at * 1000), operation: 'create_client', status };
      health.add(entry, at * 1000, answer);
    }
    expect(control.state.operations).toEqual(isBack ? { create_client: OBSERVE } : {});
    expect(rollBack.standing.map(({ operation }) => operation)).toEqual(isBack ? ['create_client'] : []);
    control.command({ mode: MIGRATE, operation: 'create_client' });
    expect(rollBack.standing).toEqual([]);
    expect(said).toEqual(
      isBack
        ? [
            expect.stringMatching(
              /^Send create_client to V1, chosen by the gateway \(\d+ of \d+ migrated requests failed, 0 of 100 before\)\.$/,
            ),
          ]
        : [],
    );
  },
);

test('a rule book that changed the modes is a change among those of operators', () => {
  const modes = (mode: Mode): Modes => ({
    default: mode,
    operations: {},
    clients: {},
    rollback: DEFAULT_ROLLBACK,
  });
  const at = (second: number): string => new Date(second * 1000).toISOString();
  const reload = (second: number, before: Mode): BookReload => ({
    at: at(second),
    modesBefore: modes(before),
  });
  const state = commanded(initialRollout, { ...ofOperation(MIGRATE) }, at(5));
  // The last reload changed no mode.
  const reloads = [reload(9, SHADOW), reload(7, SHADOW), reload(3, OBSERVE), reload(1, MIGRATE)];
  expect(
    earlierModes(state, modes(SHADOW), reloads).map(({ at: time, modes: before, after }) => [
      time / 1000,
      before.default,
      after.default,
      before.operations,
    ]),
  ).toEqual([
    [5, SHADOW, SHADOW, {}],
    [3, OBSERVE, SHADOW, {}],
    [1, MIGRATE, OBSERVE, {}],
  ]);
  // What an operator chose for everything, no rule book changes.
  expect(earlierModes(commanded(state, { mode: CANARY }, at(0)), modes(SHADOW), reloads)).toHaveLength(2);
});
