import { printScalar } from '../json/json-scalar.ts';
import { BodyKnowledge, type StalePart } from './body-knowledge.ts';
import type { DeclaredChange, DeclaredRule } from './declared-change.ts';
import { printPath } from './path-text.ts';
import type { Operation, Policies } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { RequestRule } from './rule.ts';
import { operationContexts, type OperationContext } from './operation-context.ts';
import { unseenParts } from './unseen-parts.ts';

/**
 * Finds request rules that can never take effect because of earlier rules for the same bodies. In a change for listed operations,
 * every rule must take effect for each of them; in one on `every`, for some request.
 */
export function staleRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
  policies: Policies,
): readonly SourceFault[] {
  const findings = new Map<DeclaredRule, Finding>();
  for (const context of operationContexts(changes, operations)) addFindings(context, policies, findings);
  return [...findings].flatMap(([declared, finding]) => faultsOf(declared, finding));
}

interface Finding {
  readonly declared: DeclaredChange;
  /** The number of contexts that the rule applies to. */
  applied: number;
  /** For each reason and part: the number of contexts in which it holds, and their operations. */
  readonly stale: Map<string, { readonly part: StalePart; times: number; readonly operations: string[] }>;
}

function addFindings(
  context: OperationContext<DeclaredChange>,
  policies: Policies,
  findings: Map<DeclaredRule, Finding>,
): void {
  const knowledge = new BodyKnowledge();
  const unseen = unseenParts(context.changes, policies);
  for (const declared of context.changes) {
    const { change } = declared;
    const { flat } = { ...policies, ...change.policies };
    for (const rule of declared.request) {
      const finding = findings.get(rule) ?? { declared, applied: 0, stale: new Map() };
      findings.set(rule, finding);
      finding.applied += 1;
      const parts = knowledge.apply(rule.rule, change.id, flat === 'migrate');
      for (const part of parts.length > 0 ? parts : (unseen.get(rule) ?? [])) {
        const key = `${part.part} ${part.reason}`;
        const entry = finding.stale.get(key) ?? { part, times: 0, operations: [] };
        finding.stale.set(key, entry);
        entry.times += 1;
        entry.operations.push(...context.operations);
      }
    }
  }
}

function faultsOf(rule: DeclaredRule, { declared, applied, stale }: Finding): readonly SourceFault[] {
  const { change } = declared;
  const faults: SourceFault[] = [];
  for (const { part, times, operations } of stale.values()) {
    const all = times === applied;
    if (change.on === 'every' && !all) continue;
    const path = part.part === 'inside' ? rule.inside : (rule.members[part.part] ?? rule.inside);
    const scope = all ? '' : ` for ${listOperations(operations)}`;
    const message = `change "${change.id}": ${subject(rule.rule, part)} has no effect${scope}: ${part.reason}`;
    faults.push({ path, blame: 'value', message });
  }
  return faults;
}

function subject(rule: RequestRule, { part }: StalePart): string {
  if (part === 'inside' || rule.rule === 'unwrap') return `this ${rule.rule}`;
  if (rule.rule === 'map') {
    const value = part === 0 ? undefined : rule.values[part - 1];
    const of = `map of ${printPath([...rule.in, rule.member])}`;
    return value === undefined ? of : `${of} from ${printScalar(value.from)}`;
  }
  const member = rule.rule === 'rename' ? rule.member : (rule.members[part] ?? '');
  return `${rule.rule} of ${printPath([...rule.in, member])}`;
}

function listOperations(operations: readonly string[]): string {
  const more = operations.length > 3 ? ` and ${operations.length - 3} more` : '';
  return operations.slice(0, 3).join(', ') + more;
}
