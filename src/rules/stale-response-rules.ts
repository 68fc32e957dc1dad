import type { DeclaredResponseRule, DeclaredChange } from './declared-change.ts';
import { printPath } from './path-text.ts';
import type { Operation } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { ResponseRule, StatusPattern } from './rule.ts';
import { operationContexts } from './operation-context.ts';

/** Finds response rules that can never take effect, because an earlier one does the same to the same responses. */
export function staleResponseRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
): readonly SourceFault[] {
  const faults = new Map<DeclaredResponseRule, SourceFault>();
  for (const context of operationContexts(changes, operations)) {
    const applied = new Map<
      string,
      { readonly change: string; readonly status: readonly StatusPattern[] }[]
    >();
    for (const { change, response } of context.changes) {
      for (const declared of response) {
        const key = effectKey(declared.rule);
        const earlier = applied.get(key) ?? [];
        applied.set(key, earlier);
        const covering = earlier.find(({ status }) =>
          declared.rule.status.every((one) => covers(status, one)),
        );
        earlier.push({ change: change.id, status: declared.rule.status });
        // A change on every is stale only in the context where no other changes apply.
        if (covering === undefined || (change.on === 'every' && context.operations.length > 0)) continue;
        const message = `change "${change.id}": this ${declared.rule.rule} has no effect: change "${covering.change}" ${effectText(declared.rule)} already; remove one of the two`;
        faults.set(declared, { path: declared.path, blame: 'value', message });
      }
    }
  }
  return [...faults.values()];
}

/** A key for the effect of the rule: of two rules with the same effect, the second does nothing. */
function effectKey(rule: ResponseRule): string {
  switch (rule.rule) {
    case 'alias':
      return JSON.stringify([rule.rule, rule.path, rule.as]);
    case 'flatten':
      return JSON.stringify([rule.rule, rule.path, rule.members?.toSorted()]);
    case 'deprecations':
      return JSON.stringify([rule.rule, rule.path]);
    case 'alias-errors':
      return rule.rule;
    case 'map':
      return JSON.stringify([rule.rule, rule.path]);
  }
}

function effectText(rule: ResponseRule): string {
  switch (rule.rule) {
    case 'alias':
      return `adds ${printPath([...rule.path.slice(0, -1), rule.as])}`;
    case 'flatten':
      return `flattens ${printPath(rule.path)}`;
    case 'deprecations':
      return `lists them at ${printPath(rule.path)}`;
    case 'alias-errors':
      return 'converts errors to V1';
    case 'map':
      return `maps ${printPath(rule.path)}`;
  }
}

function covers(patterns: readonly StatusPattern[], one: StatusPattern): boolean {
  return patterns.some((pattern) => pattern === one || pattern === `${String(one).slice(0, 1)}xx`);
}
