import { count } from '../rules/words.ts';
import type { OperationTrouble } from '../rewrite-log/health/trouble.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import {
  type BookReload,
  type CommandRecord,
  type EarlierModes,
  earlierModes,
} from '../rollout/rollout-state.ts';
import { isRead } from '../http/request-head.ts';
import { chooseMode, sendsToV2 } from '../rollout/modes-in-force.ts';
import type { Mode } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { StandingRollBack } from './condition.ts';
import { commandSentence } from './rollout-admin.ts';

interface RollBackParts {
  readonly control: RolloutControl;
  readonly ruleBook: () => RuleBook;
  /** Reloads of the rule book; absent where it is never read again. */
  readonly reloads?: () => readonly BookReload[];
  /** Whether there is a V1 service to go back to. */
  readonly hasV1: boolean;
  /** Logs each action of the gateway in a sentence. */
  readonly onRollBack: (sentence: string) => void;
}

/** The author of the gateway's own actions in the list of changes. */
const BY_ITSELF = 'the gateway';

export class OperationRollBack {
  private readonly parts: RollBackParts;

  constructor(parts: RollBackParts) {
    this.parts = parts;
  }

  /**
   * The mode that takes an operation off V2: the last one in which V1 served all its clients, `observe` if none is known, or if a shadow
   * would compare none of its requests. Undefined if it sends nothing to V2 now, or there is no V1.
   */
  modeOnV1(operation: string): Mode | undefined {
    const { ruleBook, hasV1 } = this.parts;
    const named = ruleBook().operations.find(({ id }) => id === operation);
    if (!hasV1 || named === undefined || !sendsToV2(this.presentMode(operation))) return undefined;
    const observe: Mode = { mode: 'observe' };
    if (!isRead(named.method)) return observe;
    const earlier = this.earlier.map(({ modes }) => chooseMode(modes, { client: undefined, operation }).mode);
    return earlier.find((mode) => !sendsToV2(mode)) ?? observe;
  }

  private presentMode(operation: string): Mode {
    const { control, ruleBook } = this.parts;
    return chooseMode(control.modes(ruleBook()), { client: undefined, operation }).mode;
  }

  /** The modes before each change, newest first. */
  get earlier(): readonly EarlierModes[] {
    const { control, ruleBook, reloads } = this.parts;
    return earlierModes(control.state, ruleBook().rollout?.modes, reloads?.());
  }

  /** The operations that the gateway rolled back, and for which no operator has chosen a mode since. */
  get standing(): readonly StandingRollBack[] {
    const { control } = this.parts;
    const latestOf = new Map<string, CommandRecord>();
    for (const command of control.state.history ?? [])
      if (command.operation !== undefined && !latestOf.has(command.operation))
        latestOf.set(command.operation, command);
    return [...latestOf].flatMap(([operation, { who, why = '', at }]) =>
      who === BY_ITSELF ? [{ operation, at, why }] : [],
    );
  }

  /** Rolls a migrated operation back to `observe`, if the rule book allows the gateway to do so. A canary is judged by its own test. */
  harmed({ operation, evidence: { before, now } }: OperationTrouble): void {
    const { control, ruleBook, hasV1, onRollBack } = this.parts;
    const { migrated: mode } = control.modes(ruleBook()).rollback;
    if (mode === undefined || !hasV1 || !isMigrated(this.presentMode(operation))) return;
    const why = `${count(now.failures)} of ${count(now.requests)} migrated requests failed, ${count(before.failures)} of ${count(before.requests)} before`;
    const command = { operation, mode: { mode }, who: BY_ITSELF, why };
    const present = control.modes(ruleBook());
    control.command(command);
    onRollBack(commandSentence(command, present));
  }
}

function isMigrated({ mode, share }: Mode): boolean {
  return (
    mode === 'migrate' || mode === 'verify' || (mode === 'canary' && share !== undefined && share >= 100)
  );
}
