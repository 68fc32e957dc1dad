import type { Path } from '../../rules/rule.ts';
import type { Shape } from '../shape.ts';
import type { FoundFlat } from './find-flats.ts';
import type { Evidence } from './found-rules.ts';

/** What a draft finds out about a pair of objects, wherever they are; each part on first use. */
export interface ComparedPair {
  /** True if a rule or a question is about them, or about objects inside. */
  requestsDiffer?: boolean;
  responsesDiffer?: boolean;
  /** True if no value in them could mean something else in V2. */
  isWithoutDoubt?: true;
  moves?: FoundMoves;
  /** The members of V2 that could take the value of a gone one, by its name and the places that others have taken. */
  readonly newMembers: Map<string, NewMembers>;
}

/** The pairs of objects of one draft: many bodies contain the same ones. */
export class ComparedPairs {
  private readonly all = new Map<object, Map<object, ComparedPair>>();

  /** The pair of the members of two shapes: the same one each time. */
  of(v1: Shape, v2: Shape): ComparedPair {
    const others = this.all.get(v1.members) ?? new Map<object, ComparedPair>();
    this.all.set(v1.members, others);
    const pair = others.get(v2.members) ?? { newMembers: new Map() };
    others.set(v2.members, pair);
    return pair;
  }
}

/** The members with other names or places in two objects, which do not depend on their surroundings. */
export interface FoundMoves {
  readonly nests: readonly FoundNest[];
  readonly flats: readonly FoundFlat[];
  readonly renames: Renames;
}

/** Members that V1 has in an object, and V2 in a sub-object of it. */
export interface FoundNest extends Omit<Evidence, 'doubt'> {
  readonly under: string;
  readonly members: readonly NestedMember[];
}

/** The names of a member in V1 and in the sub-object, which are usually equal. */
export interface NestedMember extends Pick<Evidence, 'doubt'> {
  readonly from: string;
  readonly to: string;
}

/** A member of V1 and its name in V2. */
export interface FoundRename extends Evidence {
  readonly from: string;
  readonly to: string;
  /** The sub-object that a nest moves it into; undefined when it stays where it was. */
  readonly under: string | undefined;
}

/** The renames of one object. */
export interface Renames {
  readonly accepted: readonly FoundRename[];
  /** The best candidate for each member without a convincing one, by the name in V1. */
  readonly rejected: ReadonlyMap<string, FoundRename>;
}

/** Members of V2's object that could take a value, by their paths in it. */
export interface NewMembers {
  /**
   * First those whose path has the words of the gone member's name, such as `accountHolder.id` for `accountHolderId`; then those with other
   * links to it.
   */
  readonly alike: readonly Path[];
  readonly others: readonly Path[];
  /** Those of both lists whose name suggests it. */
  readonly likely: readonly Path[];
}
