import type { NameTable } from '../json/member-name.ts';
import type { NestRule } from '../rules/rule.ts';
import { DraftMember, DraftObject, find, isRepeated, settle } from './draft.ts';
import { currentPointer, pointerToken } from './pointer.ts';
import { MADE, pathIds, PLAIN, STEPS, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `nest` rule, compiled. */
export interface CompiledNest extends CompiledRule {
  readonly rule: 'nest';
  readonly path: readonly number[];
  /** The place of each named member in the rule, by the id of its name. */
  readonly places: ReadonlyMap<number, number>;
  readonly under: number;
}

/** Compiles a `nest` rule. */
export function compileNest(rule: NestRule, base: CompiledRule, names: NameTable): CompiledNest {
  const places = new Map(rule.members.map((member, place) => [names.add(member), place]));
  return { ...base, rule: 'nest', path: pathIds(rule.in, names), places, under: names.add(rule.under) };
}

/** Moves the named members into the sub-object, which is made at the place of the first when there is none. */
export function nest(rule: CompiledNest, run: Run, object: DraftObject): Stop | undefined {
  const existing = find(object, rule.under);
  const stop = settleAllRepeated(rule, run, object, existing);
  if (stop !== undefined) return stop;
  const named = object.members.filter((member) => rule.places.has(member.id));
  const [first] = named;
  if (first === undefined) return undefined;
  const value = existing === undefined ? undefined : run.draft.open(existing, existing.node);
  if (existing !== undefined && !(value instanceof DraftObject)) {
    const conflict = run.settleConflict(rule, rule.code, existing);
    if (conflict !== undefined) return conflict;
  }
  const target = value instanceof DraftObject ? value : make(rule, run, object, first);
  return move(rule, run, object, target, named);
}

function settleAllRepeated(
  rule: CompiledNest,
  run: Run,
  object: DraftObject,
  existing: DraftMember | undefined,
): Stop | undefined {
  if (existing !== undefined) {
    const stop = run.settleRepeated(rule, rule.under, existing);
    if (stop !== undefined) return stop;
  }
  for (let k = object.members.length - 1; k > 0; k -= 1) {
    const member = object.members[k];
    if (member === undefined || !rule.places.has(member.id) || !isRepeated(object, member.id, member))
      continue;
    const stop = run.settleRepeated(rule, member.id, member);
    if (stop !== undefined) return stop;
    k = object.members.length;
  }
  return undefined;
}

function make(rule: CompiledNest, run: Run, object: DraftObject, first: DraftMember): DraftObject {
  const member = new DraftMember(rule.under, -1, first.place, first.hasDelimiter, object);
  member.hasLead = first.hasLead;
  const made = new DraftObject(-1, member);
  member.value = made;
  object.members.splice(object.members.indexOf(first), 0, member);
  first.hasLead = false;
  run.codes.push(rule.code + MADE);
  run.recorder?.make(object, pointerToken(run.draft.names.name(rule.under)));
  return made;
}

function move(
  rule: CompiledNest,
  run: Run,
  object: DraftObject,
  target: DraftObject,
  named: readonly DraftMember[],
): Stop | undefined {
  const at = named[0] === undefined ? 0 : object.members.indexOf(named[0]);
  for (const member of named) {
    const code = rule.code + (rule.places.get(member.id) ?? 0) * STEPS;
    const other = find(target, member.id);
    if (other !== undefined) {
      const stop = run.settleRepeated(rule, member.id, other) ?? run.settleConflict(rule, code, other);
      if (stop !== undefined) return stop;
    }
    // Members that follow each other into the new object stay where they are: brackets are put around them.
    if (target.node >= 0 || object.members[at] !== member) member.isMoved = true;
    const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
    object.members.splice(object.members.indexOf(member), 1);
    target.members.push(member);
    member.holder = target;
    run.codes.push(code + PLAIN);
    run.recorder?.move(rule, member, before, other === undefined ? undefined : 'conflict');
  }
  settle(target);
  settle(object);
  return undefined;
}
