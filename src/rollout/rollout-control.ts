import type { Modes } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { CanaryWindow, type WindowCount } from './canary-window.ts';
import { type RoutedMode, modesInForce } from './modes.ts';
import {
  commanded,
  initialRollout,
  type Rollback,
  type RolloutCommand,
  rolledBack,
  type RolloutState,
} from './rollout-state.ts';

/** Storage and notifications of a rollout. */
export interface RolloutControlParts {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Applies a change to the stored state; absent without storage. */
  readonly save?: ((change: (state: RolloutState) => RolloutState) => void) | undefined;
  /** Called with a sentence on each rollback. */
  readonly onNotice: (sentence: string) => void;
}

/** The modes in force while the gateway runs: the rule book's, those that operators set, and rollbacks. */
export class RolloutControl {
  state: RolloutState = initialRollout;
  /** V1 requests by the origin that they were sent to. */
  readonly requests = { v1: 0, v2: 0 };
  private readonly parts: RolloutControlParts;
  private readonly windows = new Map<string | undefined, CanaryWindow>();
  private book: Modes | undefined;
  private compiledModes: Modes | undefined;

  constructor(parts: RolloutControlParts) {
    this.parts = parts;
  }

  /** The modes in force with this rule book. */
  modes({ rollout }: RuleBook): Modes {
    if (this.compiledModes === undefined || this.book !== rollout?.modes) {
      this.book = rollout?.modes;
      this.compiledModes = modesInForce(this.book, this.state);
      this.windows.clear();
    }
    return this.compiledModes;
  }

  /** True when no mode was ever set at run time. */
  get isInitial(): boolean {
    return this.state === initialRollout;
  }

  /** Adopts a stored state, or one of another replica. */
  adopt(state: RolloutState): void {
    this.state = state;
    this.compiledModes = undefined;
  }

  /** Applies a command, here at once. */
  command(command: RolloutCommand): void {
    const now = new Date(this.parts.time()).toISOString();
    this.change((state) => commanded(state, command, now));
  }

  /** Counts a request of a canary by the mode that was chosen for it. Rolls back when migrated requests fail too often. */
  count({ canary, origin, modes }: RoutedMode, failed: boolean): void {
    // A request that began under other modes says nothing about the current stage.
    if (canary === undefined || modes !== this.compiledModes) return;
    const window = this.windows.get(canary.operation) ?? new CanaryWindow(modes.rollback);
    this.windows.set(canary.operation, window);
    if (window.add(origin, failed, this.parts.time())) this.rollBack(canary, window.count);
  }

  /** Counts of the active canaries, by operation; `undefined` is the default's. */
  get counts(): ReadonlyMap<string | undefined, WindowCount> {
    return new Map([...this.windows].map(([operation, window]) => [operation, window.count]));
  }

  private rollBack({ operation, share }: NonNullable<RoutedMode['canary']>, count: WindowCount): void {
    const rollback: Rollback = {
      at: new Date(this.parts.time()).toISOString(),
      ...(operation === undefined ? {} : { operation }),
      share,
      ...count,
    };
    this.change((state) => (isRolledBack(state, rollback) ? state : rolledBack(state, rollback)));
    const { migrated, v1 } = count;
    this.parts.onNotice(
      `canary of ${share} % ${operation === undefined ? '' : `of ${operation} `}rolled back to observe: ${migrated.failures} of ${migrated.requests} migrated requests failed, ${v1.failures} of ${v1.requests} on V1. It stays in observe until an operator sets a mode.`,
    );
  }

  private change(change: (state: RolloutState) => RolloutState): void {
    this.adopt(change(this.state));
    this.parts.save?.(change);
  }
}

/** True when another replica has already rolled back. */
function isRolledBack({ rollbacks }: RolloutState, { operation }: Rollback): boolean {
  return rollbacks.some((other) => other.operation === operation && other.resolved === undefined);
}
