import { isSameMode, ownMode } from './modes.ts';
import type { Mode } from '../rules/rollout.ts';
import {
  commanded,
  type Rollback,
  type RolloutTarget,
  type RolloutCommand,
  rolledBack,
  type RolloutState,
} from './rollout-state.ts';

/** A change of a rollout that a replica made, and the state that it was made on. */
export type RolloutChange = { readonly base: RolloutState } & (
  | { readonly command: RolloutCommand; readonly at: string }
  | { readonly rollback: Rollback }
);

/**
 * Returns the state after a change, or the same state when the change no longer applies: another replica rolled the same canary
 * back, or set another mode where this replica was alone (`isLate`). A command that was not late always applies, so that of two
 * at once the second holds.
 */
export function applyChange(state: RolloutState, change: RolloutChange, isLate: boolean): RolloutState {
  if ('rollback' in change) {
    const { rollback, base } = change;
    return isRolledBack(state, rollback) || !isSameChoice(state, base, rollback)
      ? state
      : rolledBack(state, rollback);
  }
  const { command, at } = change;
  // A command whose response came too late may have been stored.
  if (isLate && state.changed === at && state.by === command.by) return state;
  return isLate && isOvertaken(state, change) ? state : commanded(state, command, at);
}

/** True when the state has another mode for the target of a command than its base had, and than the command sets. */
export function isOvertaken(state: RolloutState, change: RolloutChange): boolean {
  if (!('command' in change)) return false;
  const { command, base } = change;
  return !isSameChoice(state, base, command) && !isSameMode(chosenMode(state, command), command.mode);
}

/** True when a canary is rolled back, and no operator has set a mode since. */
export function isRolledBack({ rollbacks }: RolloutState, { operation }: RolloutTarget): boolean {
  return rollbacks.some((other) => other.operation === operation && other.resolved === undefined);
}

function isSameChoice(state: RolloutState, base: RolloutState, target: RolloutTarget): boolean {
  return (
    isSameMode(chosenMode(state, target), chosenMode(base, target)) &&
    lastRollback(state, target) === lastRollback(base, target)
  );
}

function lastRollback({ rollbacks }: RolloutState, { operation }: RolloutTarget): string | undefined {
  return rollbacks.find((rollback) => rollback.operation === operation)?.at;
}

function chosenMode(state: RolloutState, { operation, client }: RolloutTarget): Mode | undefined {
  if (client !== undefined) return ownMode(state.clients, client);
  return operation === undefined ? state.default : ownMode(state.operations, operation);
}
