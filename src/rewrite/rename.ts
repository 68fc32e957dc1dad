import type { NameTable } from '../json/member-name.ts';
import type { RenameRule } from '../rules/rule.ts';
import { type DraftObject, find, markChanged } from './draft.ts';
import { currentPointer } from './pointer.ts';
import { pathIds, PLAIN, type CompiledRule, type Run, type Stop } from './run.ts';

/** A `rename` rule, compiled. */
export interface CompiledRename extends CompiledRule {
  readonly rule: 'rename';
  readonly path: readonly number[];
  readonly id: number;
  readonly to: number;
}

/** Compiles a `rename` rule. */
export function compileRename(rule: RenameRule, base: CompiledRule, names: NameTable): CompiledRename {
  return {
    ...base,
    rule: 'rename',
    path: pathIds(rule.in, names),
    id: names.add(rule.member),
    to: names.add(rule.to),
  };
}

/** Renames the named member; an existing member with the new name is dropped. */
export function rename(rule: CompiledRename, run: Run, object: DraftObject): Stop | undefined {
  const member = find(object, rule.id);
  const other = find(object, rule.to);
  if (member !== undefined) {
    const stop = run.settleRepeated(rule, rule.id, member);
    if (stop !== undefined) return stop;
  }
  if (other !== undefined) {
    const stop = run.settleRepeated(rule, rule.to, other);
    if (stop !== undefined) return stop;
  }
  if (member === undefined) return undefined;
  if (other !== undefined) {
    const stop = run.settleConflict(rule, rule.code, other);
    if (stop !== undefined) return stop;
  }
  const before = run.recorder === undefined ? '' : (currentPointer(run.draft, member) ?? '');
  member.id = rule.to;
  member.isRenamed = true;
  markChanged(object);
  run.codes.push(rule.code + PLAIN);
  run.recorder?.move(rule, member, before, other === undefined ? undefined : 'conflict');
  return undefined;
}
