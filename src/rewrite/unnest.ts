import type { NameTable } from '../json/member-name.ts';
import { SCALAR } from '../json/tape.ts';
import type { UnnestRule } from '../rules/rule.ts';
import { type Draft, type DraftMember, DraftObject, find, settle, takeAll } from './draft.ts';
import { memberPlace, type CompiledResponseRule, type ResponseRun } from './response-run.ts';
import { placesOf } from './run.ts';
import { SeenTexts } from './seen-names.ts';

/** An `unnest` rule, compiled. */
export interface CompiledUnnest extends CompiledResponseRule {
  readonly rule: 'unnest';
  readonly id: number;
  /** The position of each member to move, by the id of its name; all members move if undefined. */
  readonly places: readonly number[] | undefined;
}

/** Compiles an `unnest` rule. */
export function compileUnnest(rule: UnnestRule, change: string, names: NameTable): CompiledUnnest {
  const { path, name } = memberPlace(rule.path, names);
  const places = rule.members === undefined ? undefined : placesOf(rule.members, names);
  return { change, rule: 'unnest', status: rule.status, path, id: names.add(name), places };
}

/**
 * Moves the members of the sub-object to its place in `object`. V1 had no such sub-object, so it is dropped once it is empty, or
 * if it is null; what is neither is left alone.
 */
export function unnest(rule: CompiledUnnest, run: ResponseRun, object: DraftObject): void {
  const nested = find(object, rule.id);
  if (nested === undefined) return;
  const value = run.draft.open(nested, nested.node);
  if (value === undefined) run.hasReadValues = true;
  const isVoid = value === undefined && isNull(run.draft, nested);
  if (!isVoid && !(value instanceof DraftObject)) return;
  run.dropNamed(rule, object, rule.id, nested, 'duplicate');
  const moved = value instanceof DraftObject ? movedMembers(rule, run, object, nested, value) : [];
  if (isVoid || (value instanceof DraftObject && value.members.length === moved.length)) {
    dissolve(rule, run, object, nested, moved);
  } else if (value instanceof DraftObject && moved.length > 0) {
    moveBehind(rule, run, object, nested, value, moved);
  }
}

function isNull({ bytes, tape }: Draft, { node, literal }: DraftMember): boolean {
  return (
    node >= 0 && literal === undefined && tape.kind(node) === SCALAR && bytes[tape.start(node)] === LETTER_N
  );
}

const LETTER_N = 0x6e;

/** The members to move, each name once; members of `object` with the same names are dropped. */
function movedMembers(
  rule: CompiledUnnest,
  run: ResponseRun,
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
    if (member === undefined || !isNamed(rule, member)) continue;
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

/** A member with the name of the sub-object cannot stand beside it. */
function isNamed({ id, places }: CompiledUnnest, member: DraftMember): boolean {
  if (member.id === id) return false;
  return places === undefined || (places[member.id] ?? -1) >= 0;
}

/** Puts `moved` in the place of the sub-object, whose other bytes go. */
function dissolve(
  rule: CompiledUnnest,
  run: ResponseRun,
  object: DraftObject,
  nested: DraftMember,
  moved: readonly DraftMember[],
): void {
  const [first] = moved;
  if (first === undefined) {
    run.drop(rule, object, [nested], undefined);
    return;
  }
  first.place = nested.place;
  first.hasDelimiter = nested.hasDelimiter;
  first.hasLead = nested.hasLead;
  const { members } = object;
  const rest = members.splice(members.indexOf(nested));
  for (const member of moved) {
    const before = run.pointerOf(member);
    member.isMoved ||= nested.isMoved;
    member.holder = object;
    members.push(member);
    run.move(rule, member, before);
  }
  for (let k = 1; k < rest.length; k += 1) {
    const member = rest[k];
    if (member !== undefined) members.push(member);
  }
  nested.isRemoved = true;
  settle(object);
  run.remove(object, nested);
}

/** Puts `moved` behind the sub-object, which keeps the members that the rule does not name. */
function moveBehind(
  rule: CompiledUnnest,
  run: ResponseRun,
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
    member.place = nested.place;
    member.hasDelimiter = nested.hasDelimiter;
    member.hasLead = nested.hasLead;
    member.holder = object;
    object.members.push(member);
  }
  for (const member of rest) object.members.push(member);
  settle(object);
  for (const [k, member] of moved.entries()) run.move(rule, member, befores[k] ?? '');
}
