import type { NameTable } from '../../json/names.ts';
import type { MapRule } from '../../rules/rule.ts';
import { markChanged } from '../draft.ts';
import { MappedValues } from '../mapped-values.ts';
import { aboutMember, type CompiledRule, PLAIN, type RuleBase, STEPS } from '../run.ts';

/** Replaces the value of the named member, if the map lists it. */
export function compileMap(rule: MapRule, base: RuleBase, names: NameTable): CompiledRule {
  const values = new MappedValues(rule.values);
  return aboutMember(rule, base, names, (run, object, member) => {
    const position = values.find(run.draft, member);
    run.lookups.push({ values, node: member.node });
    if (position < 0) return undefined;
    member.literal = values.text(position);
    markChanged(object);
    run.step(base.code + position * STEPS + PLAIN);
    run.recorder?.replace(base, member, values.value(position) ?? null);
    return undefined;
  });
}
