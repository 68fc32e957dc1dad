import type { RolloutControl, RolloutSharing } from './rollout-control.ts';
import {
  applyChange,
  initialRollout,
  isOvertaken,
  type Rollback,
  rollbackSentence,
  type RolloutChange,
  type RolloutState,
} from './rollout-state.ts';
import type { SharedState } from './shared-state.ts';
import type { ReplicaClock, StoreContact } from './store-contact.ts';
import { ROLLOUT_KEY, readRollout, rolloutText } from './stored-rollout.ts';

/** A notice about the rollout that a replica shares. */
export interface SharedRolloutNotice {
  readonly kind: 'changed' | 'rolled-back' | 'overtaken' | 'damaged';
  readonly sentence: string;
}

export interface SharedRolloutParts {
  readonly control: RolloutControl;
  readonly store: SharedState;
  readonly contact: StoreContact;
  /** Name of this replica, for people. */
  readonly name: string;
  readonly clock: ReplicaClock;
  /** Parses JSON; undefined for any other text. */
  readonly parse: (text: string) => unknown;
  readonly onNotice: (notice: SharedRolloutNotice) => void;
  /** Called with each state that is known to be stored. */
  readonly onKnown?: ((state: RolloutState) => void) | undefined;
}

interface Pending {
  readonly change: RolloutChange;
  /** True once an attempt to store it failed. */
  isLate: boolean;
}

/** Attempts of a compare-and-set while other replicas change the text, and milliseconds between two. */
const MAX_ATTEMPTS = 50;
const RETRY_MS = 20;

/**
 * Makes one replica's choice apply on all. A change applies here at once, and a compare-and-set writes it to the store, which every
 * replica follows. While the store is unreachable, the last known state applies, and changes wait: a late change is dropped if another
 * replica made a choice in the meantime. If the store has lost the state, the last known one is written again.
 */
export class SharedRollout implements RolloutSharing {
  readonly name: string;
  private readonly parts: SharedRolloutParts;
  /** Last state that was in the store. */
  private known: RolloutState = initialRollout;
  private pending: Pending[] = [];
  private following: Promise<void> | undefined;
  private isAskedAgain = false;
  private hasBegun = false;
  private damagedText: string | undefined;
  private readonly announced = new Set<string>();

  constructor(parts: SharedRolloutParts) {
    this.parts = parts;
    this.name = parts.name;
    parts.control.shareWith(this);
  }

  get isTogether(): boolean {
    return this.parts.contact.hasSums;
  }

  /** True while the stored state cannot be read. */
  get isDamaged(): boolean {
    return this.damagedText !== undefined;
  }

  /** Number of changes that are in force only here. */
  get waiting(): number {
    return this.pending.length;
  }

  /** Begins with a state from before a restart, which needs no notice. */
  begin(state: RolloutState): void {
    this.hasBegun = true;
    this.known = state;
    for (const rollback of state.rollbacks) this.announced.add(nameOf(rollback));
    this.parts.control.adopt(state);
  }

  keep(change: RolloutChange): void {
    this.pending.push({ change, isLate: !this.parts.contact.isTogether });
    void this.follow();
  }

  /** Reads the store and writes waiting changes; resolves when that is done or the store is unreachable. Never rejects. */
  follow(): Promise<void> {
    this.isAskedAgain = true;
    this.following ??= this.run();
    return this.following;
  }

  private async run(): Promise<void> {
    try {
      while (this.isAskedAgain) {
        this.isAskedAgain = false;
        const isReached = await this.parts.contact.attempt('rollout', () => this.synchronize());
        if (!isReached) this.stayAlone();
      }
    } finally {
      // In the step that finds nothing left to do: a later change starts again.
      this.following = undefined;
    }
  }

  private async synchronize(): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      if (await this.tryOnce()) return;
      await this.pause();
    }
    throw new Error('other replicas change the rollout all the time');
  }

  private pause(): Promise<void> {
    const { after, random } = this.parts.clock;
    return new Promise((resolve) => {
      after(RETRY_MS * (1 + random()), resolve);
    });
  }

  /** Returns false when another replica changed the store in between. */
  private async tryOnce(): Promise<boolean> {
    const { contact, store } = this.parts;
    const text = await contact.limited(store.read(ROLLOUT_KEY));
    const stored = this.read(text);
    // A store that was emptied or restored is behind the replicas.
    const base = stored.revision >= this.known.revision ? stored : this.known;
    const taken = [...this.pending];
    const next = taken.reduce((state, { change, isLate }) => applyChange(state, change, isLate), base);
    const isDamaged = text !== undefined && text === this.damagedText;
    if (next !== stored && !(isDamaged && next === this.known)) {
      const isSet = await contact.limited(store.compareAndSet(ROLLOUT_KEY, text, rolloutText(next)));
      if (!isSet) return false;
    }
    this.pending = this.pending.slice(taken.length);
    this.tellOvertaken(base, taken);
    // Rollbacks from before this replica began need no notice.
    if (!this.hasBegun) for (const rollback of stored.rollbacks) this.announced.add(nameOf(rollback));
    this.adopt(next);
    this.hasBegun = true;
    return true;
  }

  private read(text: string | undefined): RolloutState {
    if (text === undefined) {
      this.damagedText = undefined;
      return initialRollout;
    }
    const state = readRollout(this.parts.parse(text));
    if (state !== undefined) {
      this.damagedText = undefined;
      return state;
    }
    if (this.damagedText !== text) {
      this.damagedText = text;
      this.notify(
        'damaged',
        `The stored rollout is damaged; revision ${this.known.revision} stays in force.`,
      );
    }
    return initialRollout;
  }

  /** Applies the waiting changes to the new state as well, so that no change is undone even for a moment. */
  private adopt(state: RolloutState): void {
    const { control, onKnown } = this.parts;
    const before = control.state;
    if (state !== this.known && !isSame(state, this.known)) {
      this.known = state;
      onKnown?.(state);
    }
    const now = this.pending.reduce((so, { change, isLate }) => applyChange(so, change, isLate), this.known);
    if (isSame(now, before)) {
      this.announceRollbacks();
      return;
    }
    control.adopt(now);
    this.announceRollbacks();
    if (!this.hasBegun) return;
    const who = now.by === undefined ? '' : `, set by ${now.by}`;
    this.notify('changed', `Revision ${now.revision} is in force${who}.`);
  }

  private stayAlone(): void {
    for (const pending of this.pending) pending.isLate = true;
    this.announceRollbacks();
  }

  private announceRollbacks(): void {
    for (const rollback of this.parts.control.state.rollbacks) {
      if (this.announced.has(nameOf(rollback))) continue;
      this.announced.add(nameOf(rollback));
      this.notify('rolled-back', rollbackSentence(rollback));
    }
  }

  private tellOvertaken(base: RolloutState, taken: readonly Pending[]): void {
    for (const { change, isLate } of taken) {
      if (!isLate || !isOvertaken(base, change) || !('command' in change)) continue;
      const { operation, client, mode } = change.command;
      const target = operation ?? client ?? 'everything';
      this.notify(
        'overtaken',
        `The mode ${mode?.mode ?? 'of the rule book'} for ${target}, set here at ${change.at} without the store, is dropped: another replica set a different one in the meantime.`,
      );
    }
  }

  private notify(kind: SharedRolloutNotice['kind'], sentence: string): void {
    this.parts.onNotice({ kind, sentence });
  }
}

function nameOf({ at, by, operation }: Rollback): string {
  return `${at} ${by ?? ''} ${operation ?? ''}`;
}

function isSame(one: RolloutState, other: RolloutState): boolean {
  return one === other || rolloutText(one) === rolloutText(other);
}
