import type { Mode } from '../rules/rollout.ts';

/** What went through one origin in the time that was looked at. */
export interface OriginCount {
  readonly requests: number;
  readonly failures: number;
}

/** A canary that went back to `observe` by itself. */
export interface Rollback {
  /** RFC 3339. */
  readonly at: string;
  /** The operation whose canary it was; absent for the default's. */
  readonly operation?: string;
  /** Percent of the clients that were migrated. */
  readonly share: number;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  /** RFC 3339: when an operator chose a mode again; absent while it stands. */
  readonly resolved?: string;
}

/** What operators and roll-backs chose while the gateway runs; each stands above what the rule book says of the same. */
export interface RolloutState {
  /** Counts the changes. */
  readonly revision: number;
  /** RFC 3339: of the last change. */
  readonly changed: string;
  readonly default?: Mode;
  /** By operation id. */
  readonly operations: Readonly<Record<string, Mode>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, Mode>>;
  /** Newest first. */
  readonly rollbacks: readonly Rollback[];
}

/** What a command is about: a client, an operation, or neither, which is the default. */
export interface RolloutAim {
  readonly operation?: string | undefined;
  readonly client?: string | undefined;
}

/** Chooses a mode; without one, the rule book's holds again. */
export interface RolloutCommand extends RolloutAim {
  readonly mode?: Mode | undefined;
}

/** Roll-backs that are remembered. */
const MOST_ROLLBACKS = 20;

/** The state in which nobody has chosen anything. */
export const initialRollout: RolloutState = {
  revision: 0,
  changed: '1970-01-01T00:00:00.000Z',
  operations: {},
  clients: {},
  rollbacks: [],
};

/** The state after a command at `now` (RFC 3339). Roll-backs of what it is about are resolved by it. */
export function commanded(
  state: RolloutState,
  { mode, operation, client }: RolloutCommand,
  now: string,
): RolloutState {
  const next = { ...state, revision: state.revision + 1, changed: now };
  if (client !== undefined) return { ...next, clients: chosen(state.clients, client, mode) };
  const rollbacks = state.rollbacks.map((rollback) =>
    rollback.operation === operation && rollback.resolved === undefined
      ? { ...rollback, resolved: now }
      : rollback,
  );
  if (operation !== undefined) {
    return { ...next, rollbacks, operations: chosen(state.operations, operation, mode) };
  }
  const { default: _, ...others } = next;
  return { ...others, rollbacks, ...(mode === undefined ? {} : { default: mode }) };
}

/** The state after a roll-back: what was a canary is observed until an operator acts. */
export function rolledBack(state: RolloutState, rollback: Rollback): RolloutState {
  const { operation, at } = rollback;
  const mode: Mode = { mode: 'observe' };
  return {
    ...state,
    revision: state.revision + 1,
    changed: at,
    rollbacks: [rollback, ...state.rollbacks].slice(0, MOST_ROLLBACKS),
    ...(operation === undefined
      ? { default: mode }
      : { operations: chosen(state.operations, operation, mode) }),
  };
}

function chosen(
  modes: RolloutState['clients'],
  name: string,
  mode: Mode | undefined,
): RolloutState['clients'] {
  const others = Object.fromEntries(Object.entries(modes).filter(([other]) => other !== name));
  return mode === undefined ? others : { ...others, [name]: mode };
}
