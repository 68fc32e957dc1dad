import type { NameTable } from '../json/member-name.ts';
import type { NestRule } from '../rules/rule.ts';
import { DraftMember, DraftObject, find, remove, settle } from './draft.ts';
import { pointerToken } from '../json/json-pointer.ts';
import { currentPointer } from './pointer.ts';
import { MADE, pathIds, placesOf, PLAIN, STEPS, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `nest` rule, compiled. */
export interface CompiledNest extends CompiledRule {
  readonly rule: 'nest';
  readonly path: readonly number[];
  /** The position of each named member in the rule, by the id of its name. */
  readonly places: readonly number[];
  readonly under: number;
}

/** Compiles a `nest` rule. */
export function compileNest(rule: NestRule, base: CompiledRule, names: NameTable): CompiledNest {
  const places = placesOf(rule.members, names);
  return { ...base, rule: 'nest', path: pathIds(rule.in, names), places, under: names.add(rule.under) };
}

/** Moves the named members into the sub-object, which is created in place of the first of them if there is none. */
export function nest(rule: CompiledNest, run: Run, object: DraftObject): Stop | undefined {
  const existing = find(object, rule.under);
  const stop = settleDuplicates(rule, run, object, existing);
  if (stop !== undefined) return stop;
  const first = firstNamed(rule, object);
  if (first === undefined) return undefined;
  const value = existing === undefined ? undefined : run.draft.open(existing, existing.node);
  if (value instanceof DraftObject) return add(rule, run, object, value);
  if (existing !== undefined) {
    const conflict = run.settleConflict(rule, rule.code, existing);
    if (conflict !== undefined) return conflict;
  }
  enclose(rule, run, object, first);
  return undefined;
}

/** Applies the `duplicate` policy to repeated members that the rule names. */
function settleDuplicates(
  rule: CompiledNest,
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

function firstNamed(rule: CompiledNest, object: DraftObject): DraftMember | undefined {
  for (const member of object.members) {
    if (isNamed(rule, member)) return member;
  }
  return undefined;
}

function isNamed(rule: CompiledNest, member: DraftMember): boolean {
  return (rule.places[member.id] ?? -1) >= 0;
}

/** Adds the named members to the existing object; if both have a name, the flat value wins. */
function add(rule: CompiledNest, run: Run, object: DraftObject, target: DraftObject): Stop | undefined {
  for (const member of object.members.filter((other) => isNamed(rule, other))) {
    const other = find(target, member.id);
    if (other !== undefined) {
      const code = rule.code + (rule.places[member.id] ?? 0) * STEPS;
      const stop = run.settleRepeated(rule, member.id, other) ?? run.settleConflict(rule, code, other);
      if (stop !== undefined) return stop;
    }
    const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
    remove(object, member);
    member.isMoved = true;
    put(rule, run, target, member, before, other !== undefined);
  }
  settle(target);
  settle(object);
  return undefined;
}

/** Creates the sub-object in place of `first` and moves the named members into it. */
function enclose(rule: CompiledNest, run: Run, object: DraftObject, first: DraftMember): void {
  const holder = new DraftMember(rule.under, -1, first.place, first.hasDelimiter, object);
  const created = new DraftObject(-1, holder);
  holder.hasLead = first.hasLead;
  holder.isMoved = first.isMoved;
  holder.value = created;
  first.hasLead = false;
  run.codes.push(rule.code + MADE);
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
    const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
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
  rule: CompiledNest,
  run: Run,
  target: DraftObject,
  member: DraftMember,
  before: string,
  isConflict: boolean,
): void {
  target.members.push(member);
  member.holder = target;
  run.codes.push(rule.code + (rule.places[member.id] ?? 0) * STEPS + PLAIN);
  run.recorder?.move(rule, member, before, isConflict ? 'conflict' : undefined);
}
