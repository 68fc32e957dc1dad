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

/** What keeps a rollout beyond this process, and whom it tells. */
export interface RolloutControlParts {
  /** Milliseconds since 1970. */
  readonly time: () => number;
  /** Carries a change out on what is kept; absent where nothing is. */
  readonly save?: ((change: (state: RolloutState) => RolloutState) => void) | undefined;
  /** Told of a roll-back, in a sentence. */
  readonly onNotice: (sentence: string) => void;
}

/** The modes in force while the gateway runs: the rule book's, what operators chose, and what was rolled back. */
export class RolloutControl {
  state: RolloutState = initialRollout;
  /** V1 requests by the origin that got them, while modes were in force. */
  readonly requests = { v1: 0, v2: 0 };
  private readonly parts: RolloutControlParts;
  private readonly watches = new Map<string | undefined, CanaryWindow>();
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
      this.watches.clear();
    }
    return this.compiledModes;
  }

  /** True when nothing was ever chosen here. */
  get isInitial(): boolean {
    return this.state === initialRollout;
  }

  /** Takes over a state that was kept, or that another replica made. */
  adopt(state: RolloutState): void {
    this.state = state;
    this.compiledModes = undefined;
  }

  /** Carries a command out, here at once. */
  command(command: RolloutCommand): void {
    const now = new Date(this.parts.time()).toISOString();
    this.change((state) => commanded(state, command, now));
  }

  /** Counts a request of a canary; `choice` is what was chosen for it in its time. Rolls back when migrated ones fail. */
  count({ canary, origin, modes }: RoutedMode, failed: boolean): void {
    // A request that began under other modes says nothing of the stage that stands now.
    if (canary === undefined || modes !== this.compiledModes) return;
    const watch = this.watches.get(canary.operation) ?? new CanaryWindow(modes.rollback);
    this.watches.set(canary.operation, watch);
    if (watch.add(origin, failed, this.parts.time())) this.rollBack(canary, watch.count);
  }

  /** What the canaries that stand have counted, by operation; `undefined` is the default's. */
  get counts(): ReadonlyMap<string | undefined, WindowCount> {
    return new Map([...this.watches].map(([operation, watch]) => [operation, watch.count]));
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
      `canary of ${share} % ${operation === undefined ? '' : `of ${operation} `}rolled back to observe: ${migrated.failures} of ${migrated.requests} migrated requests failed, ${v1.failures} of ${v1.requests} on V1. It stays until a mode is chosen.`,
    );
  }

  private change(change: (state: RolloutState) => RolloutState): void {
    this.adopt(change(this.state));
    this.parts.save?.(change);
  }
}

/** Another replica was faster. */
function isRolledBack({ rollbacks }: RolloutState, { operation }: Rollback): boolean {
  return rollbacks.some((other) => other.operation === operation && other.resolved === undefined);
}
