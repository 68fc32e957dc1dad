import { type Book, formOf } from './book.ts';
import { readName, readPath } from './paths.ts';
import type { NameTable } from '../../json/names.ts';
import {
  currentName,
  type Draft,
  type DraftMember,
  DraftObject,
  find,
  layOutLike,
  settle,
  takeAll,
} from '../../edits/draft.ts';
import {
  type CompiledRule,
  type Path,
  pathIds,
  placesOf,
  readsOfObject,
  type RuleBase,
  type Run,
  type SeenNames,
} from '../../edits/run.ts';
import { isNull } from '../../edits/values.ts';
import type { ResponseKind, ResponseWords, StatusPattern } from './kind.ts';

/** Moves the members of the sub-object at `path` to its place in the surrounding object; the sub-object is removed once it is empty. */
export interface UnnestRule {
  readonly rule: 'unnest';
  readonly path: Path;
  /** The members to move; all if undefined. */
  readonly members: readonly string[] | undefined;
  readonly status: readonly StatusPattern[];
}

/** How `unnest` changes the bytes of responses. */
export const kind: ResponseKind<UnnestRule> = { compile };

/** How messages and guides describe `unnest`. */
export const words: ResponseWords<UnnestRule> = {
  of: 'responses',
  say: ({ members }, name) => `unnest ${name}${members === undefined ? '' : `: ${members.join(', ')}`}`,
};

/** How a rule book writes `unnest`. */
export const book: Book<never, UnnestRule> = {
  response: {
    mayBeAnywhere: true,
    form: ({ z, strict, optional, memberPath, name, status }) =>
      formOf(
        strict({
          unnest: memberPath,
          members: optional(z.array(name).min(1), 'The members to move; all when absent.'),
          status,
        }).describe(
          'Moves the members of a sub-object of a response to its place in the surrounding object.',
        ),
        (source, place) => {
          const members = source.members?.map(readName);
          return [{ rule: { rule: 'unnest', path: readPath(source.unnest), members, status: place.status } }];
        },
      ),
    effect: ['unnests '],
    same: ({ members }) => [members?.toSorted()],
    learn: ({ path, members }, facts) => {
      const around = path.slice(0, -1);
      if (members === undefined) facts.forget(around);
      else for (const member of members) facts.add(around, member, true);
    },
    // Members that the nest does not list stay in the sub-object.
    takes: (rule, path, members) => {
      const member = path[rule.path.length];
      const named = member === undefined ? members : [member];
      return named?.every((name) => rule.members?.includes(name) === true) ?? false;
    },
  },
};

/** An `unnest` rule while it applies. */
interface Unnest extends RuleBase {
  readonly id: number;
  /** The position of each member to move, by the id of its name; all members move if undefined. */
  readonly places: readonly number[] | undefined;
}

/**
 * Moves the members of the sub-object to its place in the object. V1 had no such sub-object, so it is dropped once it is empty, or
 * if it is null; any other value stays.
 */
function compile(rule: UnnestRule, base: RuleBase, names: NameTable): CompiledRule {
  const { members } = rule;
  const id = names.add(rule.path.at(-1) ?? '');
  const places = members === undefined ? undefined : placesOf(members, names);
  const unnest: Unnest = { ...base, id, places };
  return {
    ...base,
    ...readsOfObject(pathIds(rule.path.slice(0, -1), names), id),
    readsAnyName: members === undefined,
    apply: (run, object) => {
      const nested = find(object, id);
      if (nested === undefined) return undefined;
      const value = run.draft.open(nested, nested.node);
      if (value === undefined) run.readsValues();
      const isVoid = value === undefined && isNull(run.draft, nested);
      if (!isVoid && !(value instanceof DraftObject)) return undefined;
      const stop = run.settleRepeated(base, id, nested);
      if (stop !== undefined) return stop;
      const moved = value instanceof DraftObject ? movedMembers(unnest, run, object, nested, value) : [];
      if (isVoid || (value instanceof DraftObject && value.members.length === moved.length))
        dissolve(base, run, object, nested, moved);
      else if (value instanceof DraftObject && moved.length > 0)
        moveBehind(base, run, object, nested, value, moved);
      return undefined;
    },
  };
}

/** The members to move, each name once; members of `object` with the same names are dropped. */
function movedMembers(
  rule: Unnest,
  run: Run,
  object: DraftObject,
  nested: DraftMember,
  value: DraftObject,
): readonly DraftMember[] {
  const { places } = rule;
  const seen = places === undefined ? new SeenTexts(run.draft) : run.seenIds();
  const moved: DraftMember[] = [];
  let repeated: DraftMember[] | undefined;
  for (let k = value.members.length - 1; k >= 0; k -= 1) {
    const member = value.members[k];
    if (member === undefined || !isMoved(rule, member)) continue;
    if (seen.add(member)) moved.push(member);
    else (repeated ??= []).push(member);
  }
  if (repeated !== undefined) run.drop(rule, value, repeated.toReversed(), 'duplicate');
  if (moved.length === 0) return moved;
  let taken: DraftMember[] | undefined;
  for (const member of object.members) {
    if (member !== nested && seen.has(member)) (taken ??= []).push(member);
  }
  if (taken !== undefined) run.drop(rule, object, taken, 'conflict');
  return moved.reverse();
}

/** Decoded names of members. */
class SeenTexts implements SeenNames {
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

/** A member with the name of the sub-object cannot move beside it. */
function isMoved({ id, places }: Unnest, member: DraftMember): boolean {
  if (member.id === id) return false;
  return places === undefined || (places[member.id] ?? -1) >= 0;
}

/** Replaces the sub-object with `moved`, and drops its other bytes. */
function dissolve(
  rule: RuleBase,
  run: Run,
  object: DraftObject,
  nested: DraftMember,
  moved: readonly DraftMember[],
): void {
  const [first] = moved;
  if (first === undefined) {
    run.drop(rule, object, [nested]);
    return;
  }
  layOutLike(first, nested);
  const { members } = object;
  const rest = members.splice(members.indexOf(nested));
  for (const member of moved) {
    const before = run.pointerOf(member);
    member.isMoved ||= nested.isMoved;
    member.holder = object;
    members.push(member);
    run.recorder?.move(rule, member, before);
  }
  for (let k = 1; k < rest.length; k += 1) {
    const member = rest[k];
    if (member !== undefined) members.push(member);
  }
  nested.isRemoved = true;
  settle(object);
  run.recorder?.remove(object, nested);
}

/** Puts `moved` after the sub-object, which keeps the members that the rule does not name. */
function moveBehind(
  rule: RuleBase,
  run: Run,
  object: DraftObject,
  nested: DraftMember,
  value: DraftObject,
  moved: readonly DraftMember[],
): void {
  const befores = moved.map((member) => run.pointerOf(member));
  takeAll(value, moved);
  const rest = object.members.splice(object.members.indexOf(nested) + 1);
  for (const member of moved) {
    member.isRemoved = false;
    member.isMoved = true;
    layOutLike(member, nested);
    member.holder = object;
    object.members.push(member);
  }
  for (const member of rest) object.members.push(member);
  settle(object);
  for (const [k, member] of moved.entries()) run.recorder?.move(rule, member, befores[k] ?? '');
}
