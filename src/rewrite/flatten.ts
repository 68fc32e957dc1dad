import type { NameTable } from '../json/member-name.ts';
import type { FlattenRule } from '../rules/rule.ts';
import { copyOf, insertBehind } from './add-member.ts';
import { memberPlace, type ResponseRun, type CompiledResponseRule } from './response-run.ts';
import { DraftObject, find } from './draft.ts';
import { currentName } from './pointer.ts';

/** A `flatten` rule, compiled. */
export interface CompiledFlatten extends CompiledResponseRule {
  readonly rule: 'flatten';
  readonly id: number;
  /** The names of the members to add; all if undefined. */
  readonly members: ReadonlySet<string> | undefined;
}

/** Compiles a `flatten` rule. */
export function compileFlatten(rule: FlattenRule, change: string, names: NameTable): CompiledFlatten {
  const { path, name } = memberPlace(rule.path, names);
  const members = rule.members === undefined ? undefined : new Set(rule.members);
  return { change, rule: 'flatten', status: rule.status, path, id: names.add(name), members };
}

/** Adds each member of the sub-object after it, unless the object around it has that name; the last of a repeated name counts. */
export function flatten(rule: CompiledFlatten, run: ResponseRun, object: DraftObject): void {
  const { draft } = run;
  const nested = find(object, rule.id);
  const value = nested === undefined ? undefined : draft.open(nested, nested.node);
  if (nested === undefined || !(value instanceof DraftObject)) return;
  const existing = new Set(object.members.map((member) => currentName(draft, member)));
  const missing = new Map(
    value.members
      .map((member) => [currentName(draft, member), member] as const)
      .filter(([name]) => !existing.has(name) && rule.members?.has(name) !== false),
  );
  if (missing.size === 0) return;
  const sources = [...missing.values()];
  const copies = sources.map((member) => copyOf(object, member, nested, 0));
  insertBehind(object, nested, copies);
  for (const [k, copy] of copies.entries()) run.copy(rule, copy, sources[k] ?? copy);
}
