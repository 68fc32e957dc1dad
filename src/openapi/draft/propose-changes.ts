import type { FoundRule, Finding } from './finding.ts';
import { pathText } from './finding.ts';

/** A change of a proposed rule book: one rule, or the attributes that are gone, for the operations that have it. */
export interface ProposedChange {
  readonly id: string;
  readonly summary: string;
  readonly on: 'every' | readonly string[];
  readonly rules: readonly ProposedRule[];
  /** Rules for query parameters; absent without any. */
  readonly query?: readonly ProposedQueryRule[];
  /** True when V1's responses show the change undone. */
  readonly isInverse?: true;
}

/** A rule with its evidence. */
export interface ProposedRule {
  readonly found: FoundRule;
  readonly confidence: number;
  readonly evidence: string;
}

/** A query parameter that V2 calls otherwise, with the evidence. */
export interface ProposedQueryRule {
  readonly rename: string;
  readonly to: string;
  readonly confidence: number;
  readonly evidence: string;
}

/** The findings about an operation, by its id in the rule book. */
export interface OperationFindings {
  readonly id: string;
  readonly findings: readonly Finding[];
}

interface Group {
  readonly on: string[];
  readonly found: FoundRule;
  confidence: number;
  readonly evidence: string;
}

/**
 * Groups findings into changes: the same rule of several operations is one change. `writes` are all operations with a body that
 * both versions describe; a wrapper that all of them have is one of every request.
 */
export function proposeChanges(
  operations: readonly OperationFindings[],
  writes: readonly string[],
): readonly ProposedChange[] {
  const groups = new Map<string, Group>();
  for (const { id, findings } of operations) {
    for (const { found, confidence, evidence } of findings) {
      const key = JSON.stringify(found);
      const group = groups.get(key) ?? { on: [], found, confidence, evidence };
      groups.set(key, group);
      group.on.push(id);
      group.confidence = Math.max(group.confidence, confidence);
    }
  }
  const ordered = [...groups.values()].toSorted((one, other) => rank(one.found) - rank(other.found));
  const changes = new Map<string, { readonly on: ProposedChange['on']; readonly rules: ProposedRule[] }>();
  for (const { on, found, confidence, evidence } of ordered) {
    const isEvery = found.rule === 'unwrap' && writes.length > 1 && writes.every((id) => on.includes(id));
    // Attributes that are gone from the same operations, at the same depth, are one change.
    const part = found.rule === 'strip' ? `strip ${found.in.length}` : JSON.stringify(found);
    const key = JSON.stringify([on, part]);
    const change = changes.get(key) ?? { on: isEvery ? ('every' as const) : on, rules: [] };
    changes.set(key, change);
    change.rules.push({ found, confidence, evidence });
  }
  const ids = new Set<string>();
  return [...changes.values()].map(({ on, rules }) => ({
    id: freeId(idOf(rules), ids),
    summary: summaryOf(rules),
    on,
    rules,
  }));
}

/** Outer objects first; within an object, names before places. */
function rank(found: FoundRule): number {
  const order: readonly FoundRule['rule'][] = ['unwrap', 'rename', 'strip', 'map', 'nest'];
  return (found.rule === 'unwrap' ? -1 : found.in.length) * order.length + order.indexOf(found.rule);
}

function idOf([rule]: readonly ProposedRule[]): string {
  const found = rule?.found;
  switch (found?.rule) {
    case undefined:
    case 'unwrap':
      return 'body-wrapper';
    case 'nest':
      return `nested-${found.under}`;
    case 'rename':
      return `${found.to}-name`;
    case 'strip':
      return 'removed-attributes';
    case 'map':
      return `${found.member}-values`;
  }
}

function freeId(wanted: string, taken: Set<string>): string {
  const plain = wanted
    .replaceAll(/[^\w.-]/g, '-')
    .replaceAll('_', '-')
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 56);
  const base = plain === '' ? 'change' : plain;
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}

function summaryOf(rules: readonly ProposedRule[]): string {
  const [first] = rules;
  const found = first?.found;
  switch (found?.rule) {
    case undefined:
    case 'unwrap':
      return `Parameters are no longer wrapped in a ${found?.member ?? 'data'} object.`;
    case 'nest':
      return `${found.members.join(', ')} of ${placeOf(found)} are nested under ${found.under}.`;
    case 'rename':
      return `${pathText(found.in, found.member)} is called ${found.to}.`;
    case 'strip':
      return rules.length === 1
        ? `${pathText(found.in, found.member)} is gone.`
        : 'Attributes that V1 had are gone.';
    case 'map':
      return `${pathText(found.in, found.member)} has other values.`;
  }
}

function placeOf({ in: path }: { readonly in: readonly string[] }): string {
  return path.length === 0 ? 'the body' : pathText(path);
}
