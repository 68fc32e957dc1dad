import type { StalePart } from './body-knowledge.ts';
import type { DeclaredChange, DeclaredRule } from './declared-change.ts';
import { printPath } from './path-text.ts';
import type { Policies } from './rule-book.ts';
import type { RequestRule } from './rule.ts';

/**
 * Finds rules before an unwrap that name members outside of the wrapper: V1 never read those, and the unwrap drops them. Such
 * rules belong after the unwrap, or must name the wrapper. Rules that create the wrapper are valid.
 */
export function unseenParts(
  changes: readonly DeclaredChange[],
  policies: Policies,
): ReadonlyMap<DeclaredRule, readonly StalePart[]> {
  const unseen = new Map<DeclaredRule, readonly StalePart[]>();
  /** The next unwrap, and the members of the body that end up in its wrapper. */
  let nextUnwrap:
    | { readonly change: string; readonly wrapper: string; readonly feeding: Set<string> }
    | undefined;
  for (const { change, request } of changes.toReversed()) {
    const { siblings } = { ...policies, ...change.policies };
    for (const declared of request.toReversed()) {
      const { rule } = declared;
      if (rule.rule === 'unwrap') {
        const { member } = rule;
        nextUnwrap =
          siblings === 'drop'
            ? { change: change.id, wrapper: member, feeding: new Set([member]) }
            : undefined;
        continue;
      }
      if (nextUnwrap === undefined || rule.rule === 'only') continue;
      const { wrapper, feeding } = nextUnwrap;
      const parts = outside(rule, feeding).map((part) => {
        const name = printPath([wrapper, ...rule.in, namesOf(rule)[part] ?? '']);
        const reason = `change "${nextUnwrap?.change ?? ''}" unwraps "${wrapper}" after it and drops the members beside it; name ${name}, or put the rule after that one`;
        return { part, reason };
      });
      if (parts.length > 0) unseen.set(declared, parts);
      addFeeding(rule, feeding);
    }
  }
  return unseen;
}

type InObject = Exclude<RequestRule, { rule: 'unwrap' }>;

/** The members of `rule` that are outside of everything in `feeding`, before and after the rule. */
function outside(rule: InObject, feeding: ReadonlySet<string>): readonly number[] {
  const [first] = rule.in;
  const names = namesOf(rule);
  if (first !== undefined) return feeding.has(first) ? [] : [0];
  if (rule.rule === 'rename' && feeding.has(rule.to)) return [];
  if (rule.rule === 'nest' && feeding.has(rule.under)) return [];
  return [...names.keys()].filter((at) => !feeding.has(names[at] ?? ''));
}

function addFeeding(rule: InObject, feeding: Set<string>): void {
  if (rule.in.length > 0) return;
  if (rule.rule === 'rename' && feeding.has(rule.to)) feeding.add(rule.member);
  if (rule.rule === 'nest' && feeding.has(rule.under)) for (const member of rule.members) feeding.add(member);
}

function namesOf(rule: InObject): readonly string[] {
  return rule.rule === 'rename' || rule.rule === 'map' ? [rule.member] : rule.members;
}
