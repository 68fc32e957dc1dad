import type { DeclaredResponseRule, DeclaredChange } from './declared-change.ts';
import { InverseIndex, isInverse, type InvertedRule } from './inverse.ts';
import { printPath } from './path-text.ts';
import type { Operation } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { ExplicitResponseRule, Path, StatusPattern } from './rule.ts';
import { operationContexts, type OperationContext } from './operation-context.ts';

/**
 * Finds response rules that can never take effect: an earlier one does the same to the same responses, or `inverse` has taken away
 * the member that they name.
 */
export function staleResponseRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
): readonly SourceFault[] {
  const faults = new Map<DeclaredResponseRule, SourceFault>();
  for (const context of operationContexts(changes, operations)) addRepeated(context, faults);
  const all = changes.map(({ change }) => change);
  if (all.some(isInverse)) {
    const inverse = new InverseIndex(operations, all);
    for (const declared of changes) addUndone(declared, operations, inverse, faults);
  }
  return [...faults.values()];
}

type Faults = Map<DeclaredResponseRule, SourceFault>;

function addRepeated(context: OperationContext<DeclaredChange>, faults: Faults): void {
  const applied = new Map<string, { readonly change: string; readonly status: readonly StatusPattern[] }[]>();
  for (const { change, response } of context.changes) {
    for (const declared of response) {
      const { rule } = declared;
      if (rule.rule === 'inverse') continue;
      const key = effectKey(rule);
      const earlier = applied.get(key) ?? [];
      applied.set(key, earlier);
      const covering = earlier.find(({ status }) => rule.status.every((one) => covers(status, one)));
      earlier.push({ change: change.id, status: rule.status });
      // A change on every is stale only in the context where no other changes apply.
      if (covering === undefined || (change.on === 'every' && context.operations.length > 0)) continue;
      const message = `change "${change.id}": this ${rule.rule} has no effect: change "${covering.change}" ${effectText(rule)} already; remove one of the two`;
      faults.set(declared, { path: declared.path, blame: 'value', message });
    }
  }
}

/** The other rules apply to a response in V1's shape. */
function addUndone(
  { change, response }: DeclaredChange,
  operations: readonly Operation[],
  inverse: InverseIndex,
  faults: Faults,
): void {
  const explicit = response.filter(({ rule }) => rule.rule !== 'inverse' && rule.rule !== 'errors');
  if (explicit.length === 0) return;
  const { on } = change;
  const inverted = inverse.of(
    on === 'every' ? undefined : operations.find((operation) => on.includes(operation.id)),
  );
  for (const declared of explicit) {
    const undone = inverted.find(({ rule }) => isUndone(declared, rule));
    if (undone === undefined) continue;
    const message = `change "${change.id}": this ${declared.rule.rule} has no effect: the inverse of change "${undone.change}" ${effectText(undone.rule)} before it; name the member as V1 did, or remove the rule`;
    faults.set(declared, { path: declared.path, blame: 'value', message });
  }
}

/** True if the rule names a member that is no longer there once `inverted` was applied. */
function isUndone({ rule }: DeclaredResponseRule, inverted: InvertedRule['rule']): boolean {
  if (rule.rule === 'inverse' || rule.rule === 'errors') return false;
  const { path } = rule;
  // A deprecations rule adds the objects that it names.
  if (rule.rule === 'deprecations' || !beginsWith(path, inverted.path)) return false;
  if (inverted.rule === 'map') return false;
  if (inverted.rule === 'rename') return true;
  // Members that the nest does not list stay in the sub-object.
  const member = path[inverted.path.length];
  const members = member === undefined && 'members' in rule ? rule.members : [member];
  return members?.every((name) => name !== undefined && inverted.members?.includes(name) === true) ?? false;
}

function beginsWith(path: Path, start: Path): boolean {
  return start.every((name, at) => path[at] === name);
}

/** A key for the effect of the rule: of two rules with the same effect, the second does nothing. */
function effectKey(rule: ExplicitResponseRule): string {
  switch (rule.rule) {
    case 'rename':
      return JSON.stringify([rule.rule, rule.path]);
    case 'alias':
      return JSON.stringify([rule.rule, rule.path, rule.as]);
    case 'unnest':
    case 'flatten':
      return JSON.stringify([rule.rule, rule.path, rule.members?.toSorted()]);
    case 'deprecations':
      return JSON.stringify([rule.rule, rule.path]);
    case 'errors':
      return rule.rule;
    case 'map':
      return JSON.stringify([rule.rule, rule.path]);
  }
}

function effectText(rule: ExplicitResponseRule): string {
  switch (rule.rule) {
    case 'rename':
      return `renames ${printPath(rule.path)}`;
    case 'unnest':
      return `unnests ${printPath(rule.path)}`;
    case 'alias':
      return `adds ${printPath([...rule.path.slice(0, -1), rule.as])}`;
    case 'flatten':
      return `flattens ${printPath(rule.path)}`;
    case 'deprecations':
      return `lists them at ${printPath(rule.path)}`;
    case 'errors':
      return 'converts errors to V1';
    case 'map':
      return `maps ${printPath(rule.path)}`;
  }
}

function covers(patterns: readonly StatusPattern[], one: StatusPattern): boolean {
  return patterns.some((pattern) => pattern === one || pattern === `${String(one).slice(0, 1)}xx`);
}
