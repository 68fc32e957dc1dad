import { pointerToken } from '../../json/pointer.ts';
import type { NameTable } from '../../json/names.ts';
import type { NestRule, UnnestRule } from '../../rules/rule.ts';
import {
  currentName,
  type Draft,
  DraftMember,
  DraftObject,
  find,
  layOutLike,
  remove,
  settle,
  takeAll,
} from '../draft.ts';
import {
  type CompiledRule,
  MADE,
  pathIds,
  placesOf,
  PLAIN,
  readsOfObject,
  type RuleBase,
  type Run,
  type SeenNames,
  STEPS,
  type Stop,
} from '../run.ts';
import { isNull } from './values.ts';

/** A `nest` rule while it applies. */
interface Nest extends RuleBase {
  /** The position of each named member in the rule, by the id of its name. */
  readonly places: readonly number[];
  readonly under: number;
}

/** Moves the named members into the sub-object, which is created in place of the first of them if there is none. */
export function compileNest(
  { members, under, ...rule }: NestRule,
  base: RuleBase,
  names: NameTable,
): CompiledRule {
  const nest: Nest = { ...base, places: placesOf(members, names), under: names.add(under) };
  const path = pathIds(rule.in, names);
  return {
    ...base,
    path,
    reach: path.length + 2,
    open: ({ objects }) => {
      objects[nest.under] = true;
    },
    apply: (run, object) => {
      const existing = find(object, nest.under);
      const stop = settleDuplicates(nest, run, object, existing);
      if (stop !== undefined) return stop;
      const first = object.members.find((member) => isNamed(nest, member));
      if (first === undefined) return undefined;
      const value = existing === undefined ? undefined : run.draft.open(existing, existing.node);
      if (value instanceof DraftObject) return add(nest, run, object, value);
      if (existing !== undefined) {
        const conflict = run.settleConflict(nest, nest.code, existing);
        if (conflict !== undefined) return conflict;
      }
      enclose(nest, run, object, first);
      return undefined;
    },
  };
}

/** Applies the `duplicate` policy to repeated members that the rule names. */
function settleDuplicates(
  rule: Nest,
  run: Run,
  object: DraftObject,
  existing: DraftMember | undefined,
): Stop | undefined {
  const stop = existing === undefined ? undefined : run.settleRepeated(rule, rule.under, existing);
  if (stop !== undefined) return stop;
  for (;;) {
    const repeated = run.findRepeated(object, rule.places);
    if (repeated === undefined) return undefined;
    const stop = run.settleRepeated(rule, repeated.id, repeated);
    if (stop !== undefined) return stop;
  }
}

function isNamed(rule: Nest, member: DraftMember): boolean {
  return (rule.places[member.id] ?? -1) >= 0;
}

/** Adds the named members to the existing object; if both have a name, the flat value wins. */
function add(rule: Nest, run: Run, object: DraftObject, target: DraftObject): Stop | undefined {
  for (const member of object.members.filter((other) => isNamed(rule, other))) {
    const other = find(target, member.id);
    if (other !== undefined) {
      const code = rule.code + (rule.places[member.id] ?? 0) * STEPS;
      const stop = run.settleRepeated(rule, member.id, other) ?? run.settleConflict(rule, code, other);
      if (stop !== undefined) return stop;
    }
    const before = run.pointerOf(member);
    remove(object, member);
    member.isMoved = true;
    put(rule, run, target, member, before, other !== undefined);
  }
  settle(target);
  settle(object);
  return undefined;
}

/** Creates the sub-object in place of `first` and moves the named members into it. */
function enclose(rule: Nest, run: Run, object: DraftObject, first: DraftMember): void {
  const holder = new DraftMember(rule.under, -1, first.place, first.hasDelimiter, object);
  const created = new DraftObject(-1, holder);
  holder.hasLead = first.hasLead;
  holder.isMoved = first.isMoved;
  holder.value = created;
  first.hasLead = false;
  run.step(rule.code + MADE);
  run.recorder?.make(object, pointerToken(run.draft.names.name(rule.under)));
  const { members } = object;
  const count = members.length;
  let length = 0;
  let isInPlace = true;
  for (let k = 0; k < count; k += 1) {
    const member = members[k];
    if (member === undefined) continue;
    if (!isNamed(rule, member)) {
      if (created.members.length > 0) isInPlace = false;
      members[length] = member;
      length += 1;
      continue;
    }
    const before = run.pointerOf(member);
    if (member === first) {
      members[length] = holder;
      length += 1;
    }
    // Adjacent members of the new object stay in place: only brackets are inserted around them.
    if (!isInPlace) member.isMoved = true;
    put(rule, run, created, member, before, false);
  }
  // A loop, because setting `length` leaves the optimised code.
  while (members.length > length) members.pop();
  settle(created);
  settle(object);
}

function put(
  rule: Nest,
  run: Run,
  target: DraftObject,
  member: DraftMember,
  before: string,
  isConflict: boolean,
): void {
  target.members.push(member);
  member.holder = target;
  run.step(rule.code + (rule.places[member.id] ?? 0) * STEPS + PLAIN);
  run.recorder?.move(rule, member, before, isConflict ? 'conflict' : undefined);
}

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
export function compileUnnest(rule: UnnestRule, base: RuleBase, names: NameTable): CompiledRule {
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

/** Names of any members, decoded. */
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

/** A member with the name of the sub-object cannot be beside it. */
function isMoved({ id, places }: Unnest, member: DraftMember): boolean {
  if (member.id === id) return false;
  return places === undefined || (places[member.id] ?? -1) >= 0;
}

/** Puts `moved` in the place of the sub-object, whose other bytes go. */
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

/** Puts `moved` behind the sub-object, which keeps the members that the rule does not name. */
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
