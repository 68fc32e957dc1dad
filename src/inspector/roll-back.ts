import { count } from '../report/text.ts';
import type { OperationTrouble } from '../rewrite-log/operation-health.ts';
import type { RolloutControl } from '../rollout/rollout-control.ts';
import { type CommandRecord, earlierModes } from '../rollout/rollout-state.ts';
import { chooseMode } from '../rollout/modes-in-force.ts';
import type { Mode } from '../rules/rollout.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { StandingRollBack } from './conditions.ts';
import { commandSentence } from './rollout-admin.ts';

/** Parts of the roll-back of one operation that was migrated. */
interface RollBackParts {
  readonly control: RolloutControl;
  readonly ruleBook: () => RuleBook;
  /** Whether there is a V1 service to go back to. */
  readonly hasV1: boolean;
  /** Logs each action of the gateway in a sentence. */
  readonly onRollBack: (sentence: string) => void;
}

/** The author of the gateway's own actions in the list of changes. */
const BY_ITSELF = 'the gateway';

/** Rolls one migrated operation back to V1. */
export class OperationRollBack {
  private readonly parts: RollBackParts;

  constructor(parts: RollBackParts) {
    this.parts = parts;
  }

  /**
   * The last mode of an operation before the present one in which V1 served a part of it; `observe` if none is known. Undefined if the
   * operation is not migrated, or there is no V1.
   */
  modeBefore(operation: string): Mode | undefined {
    const { control, hasV1 } = this.parts;
    const book = this.parts.ruleBook();
    const present = chooseMode(control.modes(book), { client: undefined, operation }).mode;
    if (!hasV1 || !isMigrated(present)) return undefined;
    const earlier = earlierModes(control.state, book.rollout?.modes).map(
      ({ modes }) => chooseMode(modes, { client: undefined, operation }).mode,
    );
    return earlier.find((mode) => !isMigrated(mode)) ?? { mode: 'observe' };
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

  /** Rolls an operation back to `observe`, if the rule book allows the gateway to do so. */
  harmed({ operation, evidence: { before, now } }: OperationTrouble): void {
    const { control, ruleBook, onRollBack } = this.parts;
    const { migrated: mode } = control.modes(ruleBook()).rollback;
    if (mode === undefined || this.modeBefore(operation) === undefined) return;
    const why = `${count(now.failures)} of ${count(now.requests)} migrated requests failed, ${count(before.failures)} of ${count(before.requests)} before`;
    control.command({ operation, mode: { mode }, who: BY_ITSELF, why });
    onRollBack(commandSentence({ operation, mode, who: BY_ITSELF, why }, control.modes(ruleBook())));
  }
}

function isMigrated({ mode, share }: Mode): boolean {
  return (
    mode === 'migrate' || mode === 'verify' || (mode === 'canary' && share !== undefined && share >= 100)
  );
}
