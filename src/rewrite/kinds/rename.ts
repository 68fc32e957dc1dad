import type { NameTable } from '../../json/names.ts';
import type { RenameRule } from '../../rules/rule.ts';
import { find, markChanged } from '../draft.ts';
import { type CompiledRule, openLike, pathIds, PLAIN, type RuleBase } from '../run.ts';

/** Renames the named member; an existing member with the new name is dropped, because each side has only one such attribute. */
export function compileRename(rule: RenameRule, base: RuleBase, names: NameTable): CompiledRule {
  const [id, to] = [names.add(rule.member), names.add(rule.to)];
  return {
    ...base,
    path: pathIds(rule.in, names),
    open: (opened) => openLike(opened, id, to),
    apply: (run, object) => {
      const member = find(object, id);
      const other = find(object, to);
      // A request with the new name twice is ambiguous even without the old one.
      if (member === undefined && run.response !== undefined) return undefined;
      const stop =
        (member && run.settleRepeated(base, id, member)) ?? (other && run.settleRepeated(base, to, other));
      if (stop !== undefined || member === undefined) return stop;
      const conflict = other && run.settleConflict(base, base.code, other);
      if (conflict !== undefined) return conflict;
      const before = run.pointerOf(member);
      member.id = to;
      member.isRenamed = true;
      markChanged(object);
      run.step(base.code + PLAIN);
      run.recorder?.move(base, member, before, other === undefined ? undefined : 'conflict');
      return undefined;
    },
  };
}
