import type { JsonScalar, NameTable } from '../../json/names.ts';
import type { OnlyRule, StripRule } from '../../rules/rule.ts';
import { type DraftMember, find } from '../draft.ts';
import { MappedValues } from '../mapped-values.ts';
import { type CompiledRule, pathIds, placesOf, PLAIN, type RuleBase, STEPS } from '../run.ts';

/** Removes the named members (`strip`), or all but them (`only`). */
export function compileStrip(rule: StripRule | OnlyRule, base: RuleBase, names: NameTable): CompiledRule {
  const places = placesOf(rule.members, names);
  const isStrip = rule.rule === 'strip';
  const apply: CompiledRule['apply'] = (run, object) => {
    let dropped: DraftMember[] | undefined;
    let isAnyNamed = false;
    for (const member of object.members) {
      const isNamed = (places[member.id] ?? -1) >= 0;
      isAnyNamed ||= isNamed;
      if (isNamed === isStrip) (dropped ??= []).push(member);
    }
    // A single member that is dropped by its name cannot be repeated.
    if (isAnyNamed && !(isStrip && dropped?.length === 1)) {
      const repeated = run.findRepeated(object, places);
      if (repeated !== undefined)
        return run.settleRepeated(base, repeated.id, repeated) ?? apply(run, object);
    }
    if (dropped === undefined) return undefined;
    if (!isStrip) run.readsValues();
    // V1's messages about them have the order in which they are listed.
    if (isStrip) dropped.sort((one, other) => (places[one.id] ?? 0) - (places[other.id] ?? 0));
    for (const member of dropped)
      run.step(base.code + (isStrip ? (places[member.id] ?? 0) : 0) * STEPS + PLAIN);
    run.drop(base, object, dropped);
    return undefined;
  };
  return { ...base, path: pathIds(rule.in, names), apply };
}

/** Removes the named member where it has one value: what undoes a `default`. */
export function compileStripValue(
  {
    member,
    in: path,
    only,
  }: Omit<StripRule, 'rule' | 'members'> & { readonly member: string; readonly only: JsonScalar },
  base: RuleBase,
  names: NameTable,
): CompiledRule {
  const id = names.add(member);
  const values = new MappedValues([{ from: only, to: only }]);
  return {
    ...base,
    path: pathIds(path, names),
    apply: (run, object) => {
      const last = find(object, id);
      if (last === undefined) return undefined;
      run.readsValues();
      if (values.find(run.draft, last) === -1) return undefined;
      const stop = run.settleRepeated(base, id, last);
      if (stop !== undefined) return stop;
      run.step(base.code + PLAIN);
      run.drop(base, object, [last]);
      return undefined;
    },
  };
}
