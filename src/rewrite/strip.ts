import type { NameTable } from '../json/member-name.ts';
import type { OnlyRule, StripRule } from '../rules/rule.ts';
import { type DraftMember, type DraftObject, find, take } from './draft.ts';
import { pathIds, PLAIN, STEPS, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `strip` or `only` rule, compiled. */
export interface CompiledStrip extends CompiledRule {
  readonly rule: 'strip' | 'only';
  readonly path: readonly number[];
  /** The place of each named member in the rule, by the id of its name. */
  readonly places: ReadonlyMap<number, number>;
}

/** Compiles a `strip` or `only` rule. */
export function compileStrip(
  rule: StripRule | OnlyRule,
  base: CompiledRule,
  names: NameTable,
): CompiledStrip {
  const places = new Map(rule.members.map((member, place) => [names.add(member), place]));
  return { ...base, rule: rule.rule, path: pathIds(rule.in, names), places };
}

/** Removes the named members (`strip`), or all but them (`only`). */
export function strip(rule: CompiledStrip, run: Run, object: DraftObject): Stop | undefined {
  let dropped: DraftMember[] | undefined;
  for (const member of object.members) {
    const isNamed = rule.places.has(member.id);
    if (isNamed && find(object, member.id) !== member) return repeated(rule, run, object, member.id);
    if (isNamed === (rule.rule === 'strip')) (dropped ??= []).push(member);
  }
  if (dropped === undefined) return undefined;
  if (rule.rule === 'only') run.isSingular = true;
  for (const member of dropped) {
    run.codes.push(rule.code + (rule.places.get(member.id) ?? 0) * STEPS + PLAIN);
    run.recorder?.drop(rule, member);
    take(member);
  }
  return undefined;
}

function repeated(rule: CompiledStrip, run: Run, object: DraftObject, id: number): Stop | undefined {
  const last = find(object, id);
  const stop = last === undefined ? undefined : run.settleRepeated(rule, id, last);
  return stop ?? strip(rule, run, object);
}
