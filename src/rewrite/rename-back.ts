import type { NameTable } from '../json/member-name.ts';
import type { RenameBackRule } from '../rules/rule.ts';
import { type DraftObject, find, markChanged } from './draft.ts';
import { memberPlace, type CompiledResponseRule, type ResponseRun } from './response-run.ts';

/** A `rename` rule for responses, compiled. */
export interface CompiledRenameBack extends CompiledResponseRule {
  readonly rule: 'rename';
  readonly id: number;
  readonly to: number;
}

/** Compiles a `rename` rule for responses. */
export function compileRenameBack(
  rule: RenameBackRule,
  change: string,
  names: NameTable,
): CompiledRenameBack {
  const { path, name } = memberPlace(rule.path, names);
  return { change, rule: 'rename', status: rule.status, path, id: names.add(name), to: names.add(rule.to) };
}

/** Gives the member its V1 name. A member that has this name already is dropped, because V1 had one such attribute. */
export function renameBack(rule: CompiledRenameBack, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined) return;
  run.dropNamed(rule, object, rule.id, member, 'duplicate');
  run.dropNamed(rule, object, rule.to, undefined, 'conflict');
  const before = run.pointerOf(member);
  member.id = rule.to;
  member.isRenamed = true;
  markChanged(object);
  run.move(rule, member, before);
}
