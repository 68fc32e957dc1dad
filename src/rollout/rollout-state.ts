import type { Mode } from '../rules/rollout.ts';
import { isSameMode, ownMode } from './modes.ts';

/** Requests through one origin in the observed period. */
export interface OriginCount {
  readonly requests: number;
  readonly failures: number;
}

/** A canary that was rolled back to `observe` automatically. */
export interface Rollback {
  /** RFC 3339. */
  readonly at: string;
  /** Name of the replica that decided it; absent without replicas. */
  readonly by?: string;
  /** Operation of the canary; absent for the default's. */
  readonly operation?: string;
  /** Percent of the clients that were migrated. */
  readonly share: number;
  readonly migrated: OriginCount;
  readonly v1: OriginCount;
  /** RFC 3339: time at which an operator set a mode again; absent while the rollback is in force. */
  readonly resolved?: string;
}

/** Modes that operators and rollbacks set while the gateway runs; each takes precedence over the rule book. */
export interface RolloutState {
  /** Number of changes. */
  readonly revision: number;
  /** RFC 3339: of the last change. */
  readonly changed: string;
  /** Name of the replica that made the last change; absent without replicas. */
  readonly by?: string;
  readonly default?: Mode;
  /** By operation id. */
  readonly operations: Readonly<Record<string, Mode>>;
  /** By client hash. */
  readonly clients: Readonly<Record<string, Mode>>;
  /** Newest first. */
  readonly rollbacks: readonly Rollback[];
  /** The revision that began the stage of an operation, or, by the empty name, of the default; absent before the first choice. */
  readonly stages?: Readonly<Record<string, number>>;
}

/** Target of a command: a client, an operation, or neither for the default. */
export interface RolloutTarget {
  readonly operation?: string | undefined;
  readonly client?: string | undefined;
}

/** Sets a mode; without one, the rule book's applies again. */
export interface RolloutCommand extends RolloutTarget {
  readonly mode?: Mode | undefined;
  /** Name of the replica that took the command. */
  readonly by?: string | undefined;
}

/** Maximum number of rollbacks in the history. */
const MAX_ROLLBACKS = 20;

/** State before any mode is set. */
export const initialRollout: RolloutState = {
  revision: 0,
  changed: '1970-01-01T00:00:00.000Z',
  operations: {},
  clients: {},
  rollbacks: [],
};

/** The stage of an operation, or of the default: another whenever its mode was changed. */
export function stageOf({ stages = {} }: RolloutState, operation = ''): number {
  return Object.hasOwn(stages, operation) ? (stages[operation] ?? 0) : 0;
}

/** Returns the state after a command at `now` (RFC 3339), which resolves the rollbacks of its target. */
export function commanded(
  state: RolloutState,
  { mode, operation, client, by }: RolloutCommand,
  now: string,
): RolloutState {
  const sent = { ...changedBy(state, by), revision: state.revision + 1, changed: now };
  if (client !== undefined) return { ...sent, clients: withMode(state.clients, client, mode) };
  const before = operation === undefined ? state.default : ownMode(state.operations, operation);
  // The same choice again is the same stage.
  const next = isSameMode(before, mode)
    ? sent
    : { ...sent, stages: { ...state.stages, [operation ?? '']: sent.revision } };
  const rollbacks = state.rollbacks.map((rollback) =>
    rollback.operation === operation && rollback.resolved === undefined
      ? { ...rollback, resolved: now }
      : rollback,
  );
  if (operation !== undefined) {
    return { ...next, rollbacks, operations: withMode(state.operations, operation, mode) };
  }
  const { default: _, ...others } = next;
  return { ...others, rollbacks, ...(mode === undefined ? {} : { default: mode }) };
}

/** Returns the state after a rollback: a canary becomes `observe` until an operator acts. */
export function rolledBack(state: RolloutState, rollback: Rollback): RolloutState {
  const { operation, at, by } = rollback;
  const mode: Mode = { mode: 'observe' };
  return {
    ...changedBy(state, by),
    revision: state.revision + 1,
    changed: at,
    rollbacks: [rollback, ...state.rollbacks].slice(0, MAX_ROLLBACKS),
    ...(operation === undefined
      ? { default: mode }
      : { operations: withMode(state.operations, operation, mode) }),
  };
}

function changedBy(state: RolloutState, by: string | undefined): RolloutState {
  const { by: _, ...others } = state;
  return by === undefined ? others : { ...others, by };
}

function withMode(
  modes: RolloutState['clients'],
  name: string,
  mode: Mode | undefined,
): RolloutState['clients'] {
  const others = Object.fromEntries(Object.entries(modes).filter(([other]) => other !== name));
  return mode === undefined ? others : { ...others, [name]: mode };
}
