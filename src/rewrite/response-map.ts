import type { NameTable } from '../json/member-name.ts';
import type { ResponseMapRule } from '../rules/rule.ts';
import { type DraftObject, find, markChanged } from './draft.ts';
import { MappedValues } from './mapped-values.ts';
import { memberPlace, type CompiledResponseRule, type ResponseRun } from './response-run.ts';

/** A `map` rule for responses, compiled. */
export interface CompiledResponseMap extends CompiledResponseRule {
  readonly rule: 'map';
  readonly id: number;
  readonly values: MappedValues;
}

/** Compiles a `map` rule for responses. */
export function compileResponseMap(
  rule: ResponseMapRule,
  change: string,
  names: NameTable,
): CompiledResponseMap {
  const { path, name } = memberPlace(rule.path, names);
  const values = new MappedValues(rule.values);
  return { change, rule: 'map', status: rule.status, path, id: names.add(name), values };
}

/** Replaces the value of the member, if the map lists it; of a repeated name, the last counts. */
export function responseMap(rule: CompiledResponseMap, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined) return;
  run.hasReadValues = true;
  const text = rule.values.text(rule.values.find(run.draft, member));
  if (text === undefined) return;
  member.literal = text;
  markChanged(object);
  run.replace(rule, member, member);
}
