import type { DeclaredChange, DeclaredQueryRule } from './declared-change.ts';
import { operationContexts } from './operation-context.ts';
import type { Operation } from './rule-book.ts';
import type { SourceFault } from './rule-book-fault.ts';
import type { QueryRule } from './rule.ts';

/** Finds query rules that can never take effect, because an earlier one took their parameter or their value away. */
export function staleQueryRules(
  changes: readonly DeclaredChange[],
  operations: readonly Operation[],
): readonly SourceFault[] {
  const faults = new Map<string, SourceFault>();
  for (const context of operationContexts(changes, operations)) {
    const knowledge = new QueryKnowledge();
    for (const { change, query } of context.changes) {
      for (const declared of query) {
        for (const { part, reason } of knowledge.apply(declared.rule, change.id)) {
          // A change on every is stale only in the context where no other changes apply.
          if (change.on === 'every' && context.operations.length > 0) continue;
          const path = pathOf(declared, part);
          const message = `change "${change.id}": ${declared.rule.rule} of ${subject(declared.rule, part)} has no effect: ${reason}`;
          faults.set(`${path.join()} ${reason}`, { path, blame: 'value', message });
        }
      }
    }
  }
  return [...faults.values()];
}

interface StalePart {
  /** The position of a parameter; of a value of a map, from 1 on. */
  readonly part: number;
  readonly reason: string;
}

/** What is certain of any query after some rules, whatever it was before them. */
class QueryKnowledge {
  /** The parameters that are gone: the sentence that says why. */
  private readonly gone = new Map<string, string>();
  /** By parameter: the values that are gone, and the change that replaced them. */
  private readonly replaced = new Map<string, Map<string, string>>();

  /** Returns the stale parts of `rule`, and records its effect. */
  apply(rule: QueryRule, change: string): readonly StalePart[] {
    switch (rule.rule) {
      case 'rename': {
        const stale = this.stale([rule.parameter]);
        this.take(rule.parameter, `change "${change}" renames "${rule.parameter}" to "${rule.to}" already`);
        this.gone.delete(rule.to);
        this.replaced.delete(rule.to);
        return stale;
      }
      case 'strip': {
        const stale = this.stale(rule.parameters);
        for (const name of rule.parameters) this.take(name, `change "${change}" strips "${name}" already`);
        return stale;
      }
      case 'map':
        return [...this.stale([rule.parameter]), ...this.map(rule, change)];
    }
  }

  private stale(parameters: readonly string[]): readonly StalePart[] {
    return parameters.flatMap((name, part) => {
      const reason =
        parameters.indexOf(name) < part ? `"${name}" is in the list already` : this.gone.get(name);
      return reason === undefined ? [] : [{ part, reason: `${reason}; remove one of the two` }];
    });
  }

  private take(parameter: string, reason: string): void {
    if (!this.gone.has(parameter)) this.gone.set(parameter, reason);
    this.replaced.delete(parameter);
  }

  private map(rule: Extract<QueryRule, { rule: 'map' }>, change: string): readonly StalePart[] {
    const known = this.replaced.get(rule.parameter) ?? new Map<string, string>();
    this.replaced.set(rule.parameter, known);
    const stale = rule.values.flatMap(({ from }, index) => {
      const by = known.get(from.text);
      if (by === undefined) return [];
      return [
        { part: index + 1, reason: `change "${by}" replaces that value already; remove one of the two` },
      ];
    });
    for (const { from } of rule.values) known.set(from.text, change);
    for (const { to } of rule.values) known.delete(to.text);
    return stale;
  }
}

function pathOf({ parts }: DeclaredQueryRule, part: number): SourceFault['path'] {
  return parts[part] ?? parts[0] ?? [];
}

function subject(rule: QueryRule, part: number): string {
  if (rule.rule === 'strip') return `the query parameter "${rule.parameters[part] ?? ''}"`;
  const name = `the query parameter "${rule.parameter}"`;
  const value = rule.rule === 'map' && part > 0 ? rule.values[part - 1] : undefined;
  return value === undefined ? name : `${name} from "${value.from.text}"`;
}
