import type { NameTable } from '../../json/names.ts';
import type { AliasRule, FlattenRule } from '../../rules/rule.ts';
import { copyOf, currentName, DraftObject, find, insertBehind } from '../draft.ts';
import { type CompiledRule, openLike, pathIds, readsOfObject, type RuleBase } from '../run.ts';

/** Adds the V1 name beside the V2 name, unless the response already has it. */
export function compileAlias(rule: AliasRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, as] = [names.add(rule.path.at(-1) ?? ''), names.add(rule.as)];
  return {
    ...base,
    path: pathIds(rule.path.slice(0, -1), names),
    open: (opened) => openLike(opened, id, as),
    apply: (run, object) => {
      const member = find(object, id);
      if (member === undefined || find(object, as) !== undefined) return undefined;
      const copy = copyOf(object, member, member, as);
      insertBehind(object, member, [copy]);
      run.recorder?.copy(base, copy, member);
      return undefined;
    },
  };
}

/** Adds each member of the sub-object after it, unless the object around it has that name; the last of a repeated name counts. */
export function compileFlatten(rule: FlattenRule, base: RuleBase, names: NameTable): CompiledRule {
  const id = names.add(rule.path.at(-1) ?? '');
  const members = rule.members && new Set(rule.members);
  return {
    ...base,
    ...readsOfObject(pathIds(rule.path.slice(0, -1), names), id),
    readsAnyName: true,
    apply: (run, object) => {
      const { draft } = run;
      const nested = find(object, id);
      const value = nested === undefined ? undefined : draft.open(nested, nested.node);
      if (nested === undefined || !(value instanceof DraftObject)) return undefined;
      const existing = new Set(object.members.map((member) => currentName(draft, member)));
      const missing = new Map(
        value.members
          .map((member) => [currentName(draft, member), member] as const)
          .filter(([name]) => !existing.has(name) && members?.has(name) !== false),
      );
      if (missing.size === 0) return undefined;
      const sources = [...missing.values()];
      const copies = sources.map((member) => copyOf(object, member, nested, 0));
      insertBehind(object, nested, copies);
      for (const [k, copy] of copies.entries()) run.recorder?.copy(base, copy, sources[k] ?? copy);
      return undefined;
    },
  };
}
