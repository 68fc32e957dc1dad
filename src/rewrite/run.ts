import type { NameTable } from '../json/member-name.ts';
import type { Policies } from '../rules/rule-book.ts';
import type { Path } from '../rules/rule.ts';
import { type Draft, type DraftMember, type DraftObject, find, isRepeated, take, takeAll } from './draft.ts';
import { originPointer } from './pointer.ts';
import type { Lookup } from './lookups.ts';
import type { Recorder, RuleName } from './recorder.ts';
import type { Refusal } from './rewrite.ts';

/** Why the rules stop: the request is refused, or a policy forwards it unchanged. */
export type Stop =
  | { readonly kind: 'refuse'; readonly refusal: Refusal }
  | { readonly kind: 'forward'; readonly note: string };

/** Properties of every compiled rule. */
export interface CompiledRule extends RuleName {
  /** The first step code of the rule. */
  readonly code: number;
  readonly policies: Policies;
}

/** Step codes reserved for each member of a rule: what was done to it, and why. */
export const STEPS = 8;
export const PLAIN = 0;
export const CONFLICT = 1;
export const MADE = 2;
export const FLAT = 3;
export const DUPLICATE = 4;
export const OTHER = 5;

/** The round of the search in which each name was last seen, by id; shared by the runs of a plan, one after the other. */
export interface Marks {
  readonly rounds: number[];
  round: number;
}

/** One run of a plan's rules over one body: the draft and its changes so far. */
export class Run {
  readonly draft: Draft;
  readonly recorder: Recorder | undefined;
  /** The steps so far, as codes in order: equal lists mean equal records, unless `isSingular`. */
  readonly codes: number[] = [];
  /** The values that maps looked up, in order: their positions in the maps determine the steps, in addition to the shape. */
  readonly lookups: Lookup[] = [];
  /** True if the records depend on more than the steps, such as indexes of an array. The shape of the body determines those. */
  isSingular = false;
  /** True if the records contain names that no rule uses: not even the shape of the body determines those. */
  hasForeignNames = false;
  private readonly marks: Marks;

  constructor(draft: Draft, recorder: Recorder | undefined, marks: Marks) {
    this.draft = draft;
    this.recorder = recorder;
    this.marks = marks;
  }

  /** Returns the last of the members of `object` with a repeated name, among names with a position in `places`. */
  findRepeated(object: DraftObject, places: readonly number[]): DraftMember | undefined {
    const marks = this.marks;
    marks.round += 1;
    const { members } = object;
    for (let k = members.length - 1; k >= 0; k -= 1) {
      const id = members[k]?.id ?? 0;
      if ((places[id] ?? -1) < 0) continue;
      if (marks.rounds[id] === marks.round) return find(object, id);
      marks.rounds[id] = marks.round;
    }
    return undefined;
  }

  /** Applies the rule's `duplicate` policy to a repeated member; the policy `last` drops all but the last. */
  settleRepeated(rule: CompiledRule, id: number, last: DraftMember): Stop | undefined {
    const { holder } = last;
    if (holder === undefined || !isRepeated(holder, id, last)) return undefined;
    if (rule.policies.duplicate === 'forward') return { kind: 'forward', note: 'duplicate-member' };
    if (rule.policies.duplicate === 'refuse') {
      return refuse(
        'duplicate-member',
        400,
        'A member that the migration reads occurs twice in one object; send it once.',
        this,
        last,
      );
    }
    this.isSingular = true;
    const dropped = holder.members.filter((other) => other.id === id && other !== last);
    for (const member of dropped) {
      this.codes.push(rule.code + DUPLICATE);
      this.recorder?.drop(rule, member, 'duplicate');
    }
    takeAll(holder, dropped);
    return undefined;
  }

  /** Applies the rule's `conflict` policy: drops `loser`, the V2 spelling of an attribute that the V1 spelling also sets. */
  settleConflict(rule: CompiledRule, code: number, loser: DraftMember): Stop | undefined {
    const { holder } = loser;
    if (holder === undefined) return undefined;
    if (rule.policies.conflict === 'forward') return { kind: 'forward', note: 'conflicting-members' };
    if (rule.policies.conflict === 'refuse') {
      return refuse(
        'conflicting-members',
        422,
        'The V1 and the V2 name of one attribute are both present; send the V1 name only.',
        this,
        loser,
      );
    }
    for (let other: DraftMember | undefined = loser; other !== undefined; other = find(holder, loser.id)) {
      this.codes.push(code + CONFLICT);
      this.recorder?.drop(rule, other, 'conflict');
      take(other);
    }
    return undefined;
  }
}

/** Creates the refusal of a request because of a member of its body. */
export function refuse(code: string, status: number, detail: string, run: Run, member: DraftMember): Stop {
  return {
    kind: 'refuse',
    refusal: { code, status, detail, pointer: originPointer(run.draft, member) ?? '' },
  };
}

/** Compiles names into their positions in a rule, by id; -1 for every other id. */
export function placesOf(members: readonly string[], names: NameTable): readonly number[] {
  const ids = members.map((member) => names.add(member));
  const places = Array.from({ length: Math.max(0, ...ids) + 1 }, () => -1);
  for (const [place, id] of ids.entries()) places[id] = place;
  return places;
}

/** Compiles a path into ids of names; `*` is -1. */
export function pathIds(path: Path, names: NameTable): readonly number[] {
  return path.map((segment) => (segment === '*' ? -1 : names.add(segment)));
}
