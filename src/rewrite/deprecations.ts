import type { NameTable } from '../json/member-name.ts';
import type { DeprecationsRule } from '../rules/rule.ts';
import { addMade } from './add-member.ts';
import type { ResponseRun, CompiledResponseRule } from './response-run.ts';
import { type DraftMember, DraftObject, find, markChanged } from './draft.ts';
import { pathIds } from './run.ts';

/** A `deprecations` rule, compiled: `path` is the path of the list itself. */
export interface CompiledDeprecations extends CompiledResponseRule {
  readonly rule: 'deprecations';
}

const encoder = new TextEncoder();

/** Compiles a `deprecations` rule. */
export function compileDeprecations(
  rule: DeprecationsRule,
  change: string,
  names: NameTable,
): CompiledDeprecations {
  return { change, rule: 'deprecations', status: rule.status, path: pathIds(rule.path, names) };
}

/**
 * Adds the list of the deprecated attributes that the request used, and the objects around it where they are absent. An existing
 * member in its place is kept.
 */
export function deprecations(rule: CompiledDeprecations, run: ResponseRun): void {
  if (run.context.deprecated.length === 0) return;
  const id = rule.path.at(-1) ?? 0;
  let object = run.draft.root;
  for (const name of rule.path.slice(0, -1)) {
    const member = find(object, name) ?? addObject(run, object, name);
    // A value written by a rule is a list or a text.
    if (member.literal !== undefined) return;
    const value = run.draft.open(member, member.node);
    if (!(value instanceof DraftObject)) return;
    object = value;
  }
  if (find(object, id) !== undefined) return;
  const list = addMade(object, id);
  list.literal = encoder.encode(JSON.stringify(run.context.deprecated));
  markChanged(object);
  run.add(rule, list, run.context.deprecated);
}

function addObject(run: ResponseRun, object: DraftObject, id: number): DraftMember {
  const member = addMade(object, id);
  member.value = new DraftObject(-1, member);
  run.make(member, {});
  return member;
}
