import type { NameTable } from '../json/member-name.ts';
import type { OnlyRule, StripRule } from '../rules/rule.ts';
import { type DraftMember, type DraftObject, takeAll } from './draft.ts';
import { pathIds, placesOf, PLAIN, STEPS, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `strip` or `only` rule, compiled. */
export interface CompiledStrip extends CompiledRule {
  readonly rule: 'strip' | 'only';
  readonly path: readonly number[];
  /** The position of each named member in the rule, by the id of its name. */
  readonly places: readonly number[];
}

/** Compiles a `strip` or `only` rule. */
export function compileStrip(
  rule: StripRule | OnlyRule,
  base: CompiledRule,
  names: NameTable,
): CompiledStrip {
  const places = placesOf(rule.members, names);
  return { ...base, rule: rule.rule, path: pathIds(rule.in, names), places };
}

/** Removes the named members (`strip`), or all but them (`only`). */
export function strip(rule: CompiledStrip, run: Run, object: DraftObject): Stop | undefined {
  const isStrip = rule.rule === 'strip';
  let dropped: DraftMember[] | undefined;
  let isAnyNamed = false;
  for (const member of object.members) {
    const isNamed = (rule.places[member.id] ?? -1) >= 0;
    isAnyNamed ||= isNamed;
    if (isNamed === isStrip) (dropped ??= []).push(member);
  }
  // A single member that is dropped by its name cannot be repeated.
  if (isAnyNamed && !(isStrip && dropped?.length === 1)) {
    const repeated = run.findRepeated(object, rule.places);
    if (repeated !== undefined)
      return run.settleRepeated(rule, repeated.id, repeated) ?? strip(rule, run, object);
  }
  if (dropped === undefined) return undefined;
  if (!isStrip) run.isSingular = run.hasForeignNames = true;
  const { places } = rule;
  // V1's messages about them have the order in which they are listed.
  if (isStrip) dropped.sort((one, other) => (places[one.id] ?? 0) - (places[other.id] ?? 0));
  for (const member of dropped) {
    run.codes.push(rule.code + (isStrip ? (rule.places[member.id] ?? 0) : 0) * STEPS + PLAIN);
    run.recorder?.drop(rule, member);
  }
  takeAll(object, dropped);
  return undefined;
}
