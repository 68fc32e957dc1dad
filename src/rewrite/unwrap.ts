import type { NameTable } from '../json/member-name.ts';
import { pointerToken } from '../json/json-pointer.ts';
import type { UnwrapRule } from '../rules/rule.ts';
import { type DraftMember, DraftObject, find } from './draft.ts';
import { FLAT, OTHER, PLAIN, refuse, type CompiledRule, type Run, type Stop } from './run.ts';

/** An `unwrap` rule, compiled. */
export interface CompiledUnwrap extends CompiledRule {
  readonly rule: 'unwrap';
  readonly id: number;
}

/** Compiles an `unwrap` rule. */
export function compileUnwrap(rule: UnwrapRule, base: CompiledRule, names: NameTable): CompiledUnwrap {
  return { ...base, rule: 'unwrap', id: names.add(rule.member) };
}

/** Replaces the body by the object in the named member; members beside it were ignored by V1 and are dropped. */
export function unwrap(rule: CompiledUnwrap, run: Run): Stop | undefined {
  const { draft, recorder } = run;
  const wrapper = find(draft.root, rule.id);
  if (wrapper === undefined) return flat(rule, run);
  const stop = run.settleRepeated(rule, rule.id, wrapper);
  if (stop !== undefined) return stop;
  const body = draft.open(wrapper, wrapper.node);
  if (!(body instanceof DraftObject)) {
    if (rule.policies.wrapper === 'forward') return { kind: 'forward', note: 'wrapper-not-object' };
    const detail = `${draft.names.name(rule.id)} must be an object.`;
    return refuse('wrapper-not-object', 422, detail, run, wrapper);
  }
  if (draft.root.members.length > 1) {
    const dropped = dropSiblings(rule, run, wrapper);
    if (dropped !== undefined) return dropped;
  }
  run.codes.push(rule.code + PLAIN);
  recorder?.unwrap(rule, wrapper);
  wrapper.isRemoved = true;
  body.up = undefined;
  draft.root = body;
  return undefined;
}

function dropSiblings(rule: CompiledUnwrap, run: Run, wrapper: DraftMember): Stop | undefined {
  const siblings = run.draft.root.members.filter((member) => member !== wrapper);
  if (rule.policies.siblings === 'forward') return { kind: 'forward', note: 'wrapper-siblings' };
  if (rule.policies.siblings === 'refuse') {
    const detail = `Only the member ${run.draft.names.name(rule.id)} may be at the top level of the body.`;
    return refuse('wrapper-siblings', 422, detail, run, siblings[0] ?? wrapper);
  }
  run.isSingular = run.hasForeignNames = true;
  for (const member of siblings) {
    run.codes.push(rule.code + OTHER);
    run.recorder?.drop({ change: rule.change, rule: 'strip' }, member, 'sibling');
    member.isRemoved = true;
  }
  return undefined;
}

function flat(rule: CompiledUnwrap, run: Run): Stop | undefined {
  if (rule.policies.flat === 'forward') return { kind: 'forward', note: 'already-flat' };
  if (rule.policies.flat === 'refuse') {
    const name = run.draft.names.name(rule.id);
    const pointer = `/${pointerToken(name)}`;
    const refusal = { code: 'not-wrapped', status: 422, detail: `${name} is required.`, pointer };
    return { kind: 'refuse', refusal };
  }
  run.codes.push(rule.code + FLAT);
  run.recorder?.flat(rule);
  return undefined;
}
