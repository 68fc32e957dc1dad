import type { NameTable } from '../json/member-name.ts';
import type { MapRule } from '../rules/rule.ts';
import { type DraftObject, find, markChanged } from './draft.ts';
import { MappedValues } from './mapped-values.ts';
import { pathIds, PLAIN, STEPS, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `map` rule, compiled. */
export interface CompiledMap extends CompiledRule {
  readonly rule: 'map';
  readonly path: readonly number[];
  readonly id: number;
  readonly values: MappedValues;
}

/** Compiles a `map` rule. */
export function compileMap(rule: MapRule, base: CompiledRule, names: NameTable): CompiledMap {
  const values = new MappedValues(rule.values);
  return { ...base, rule: 'map', path: pathIds(rule.in, names), id: names.add(rule.member), values };
}

/** Replaces the value of the named member, if the map lists it. */
export function map(rule: CompiledMap, run: Run, object: DraftObject): Stop | undefined {
  const member = find(object, rule.id);
  if (member === undefined) return undefined;
  const stop = run.settleRepeated(rule, rule.id, member);
  if (stop !== undefined) return stop;
  const position = rule.values.find(run.draft, member);
  run.lookups.push({ values: rule.values, node: member.node });
  if (position < 0) return undefined;
  member.literal = rule.values.text(position);
  markChanged(object);
  run.codes.push(rule.code + position * STEPS + PLAIN);
  run.recorder?.replace(rule, member, rule.values.value(position) ?? null);
  return undefined;
}
