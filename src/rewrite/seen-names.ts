import type { Draft, DraftMember } from './draft.ts';
import { currentName } from './pointer.ts';

/** A set of member names that is filled and read with members, not texts. */
export interface SeenNames {
  /** Adds the name of `member`; false if it was there. */
  add(member: DraftMember): boolean;
  has(member: DraftMember): boolean;
}

/** Names that rules use, by their ids. Emptied in no time, so that one set serves every object of a long list. */
export class SeenIds implements SeenNames {
  private readonly rounds: number[] = [];
  private round = 0;

  /** Removes all names. */
  clear(): void {
    this.round += 1;
  }

  add({ id }: DraftMember): boolean {
    if (this.rounds[id] === this.round) return false;
    this.rounds[id] = this.round;
    return true;
  }

  has({ id }: DraftMember): boolean {
    return id > 0 && this.rounds[id] === this.round;
  }
}

/** Names of any members, decoded. */
export class SeenTexts implements SeenNames {
  private readonly draft: Draft;
  private readonly texts = new Set<string>();

  constructor(draft: Draft) {
    this.draft = draft;
  }

  add(member: DraftMember): boolean {
    const name = currentName(this.draft, member);
    if (this.texts.has(name)) return false;
    this.texts.add(name);
    return true;
  }

  has(member: DraftMember): boolean {
    return this.texts.has(currentName(this.draft, member));
  }
}
