import type { NameTable } from '../json/member-name.ts';
import type { AliasRule } from '../rules/rule.ts';
import { copyOf, insertBehind } from './add-member.ts';
import { memberPlace, type ResponseRun, type CompiledResponseRule } from './response-run.ts';
import { find, type DraftObject } from './draft.ts';

/** An `alias` rule, compiled. */
export interface CompiledAlias extends CompiledResponseRule {
  readonly rule: 'alias';
  readonly id: number;
  readonly as: number;
}

/** Compiles an `alias` rule. */
export function compileAlias(rule: AliasRule, change: string, names: NameTable): CompiledAlias {
  const { path, name } = memberPlace(rule.path, names);
  return { change, rule: 'alias', status: rule.status, path, id: names.add(name), as: names.add(rule.as) };
}

/** Adds the V1 name beside the V2 name, unless the response already has it. */
export function alias(rule: CompiledAlias, run: ResponseRun, object: DraftObject): void {
  const member = find(object, rule.id);
  if (member === undefined || find(object, rule.as) !== undefined) return;
  const copy = copyOf(object, member, member, rule.as);
  insertBehind(object, member, [copy]);
  run.copy(rule, copy, member);
}
