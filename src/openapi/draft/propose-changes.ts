import { isRewritten } from '../../rules/rule-book.ts';
import { type Finding, type FoundRule, isProposed, pathText, RULE_ORDER } from './compare-shapes.ts';

/** A change of a proposed rule book: one rule, or the attributes that are gone, for the operations that have it. */
export interface ProposedChange {
  readonly id: string;
  readonly summary: string;
  readonly on: 'every' | readonly string[];
  readonly rules: readonly ProposedRule[];
  /** Rules for query parameters; absent without any. */
  readonly query?: readonly (ProposedQueryRule | ProposedText)[];
  /** Rules for header fields; absent without any. */
  readonly headers?: readonly ProposedText[];
  /** Rules for responses, of an operation whose resource nothing writes; absent without any. */
  readonly response?: readonly ProposedResponseRules[];
  /** True when V1's responses show the change undone. */
  readonly isInverse?: true;
}

/** What leads one member of V2's response back to V1's, as a rule book writes it, with the evidence. */
export interface ProposedResponseRules {
  readonly texts: readonly string[];
  readonly confidence: number;
  readonly evidence: string;
  readonly doubt?: string | undefined;
}

/** A rule with its evidence. */
export type ProposedRule = Finding;

/** A rule for query parameters or header fields as a rule book writes it, with the evidence. */
export interface ProposedText {
  readonly text: string;
  readonly confidence: number;
  readonly evidence: string;
  readonly doubt?: string | undefined;
}

/** A query parameter that V2 calls otherwise, with the evidence. */
export interface ProposedQueryRule {
  readonly rename: string;
  readonly to: string;
  readonly confidence: number;
  readonly evidence: string;
  readonly doubt?: string | undefined;
}

/** The findings about an operation, by its id in the rule book. */
export interface OperationFindings {
  readonly id: string;
  readonly findings: readonly Finding[];
}

interface Group {
  readonly on: string[];
  rule: ProposedRule;
}

/**
 * Groups findings into changes: the same rule of several operations is one change, and where it is a question it is another one.
 * `writes` are all operations with a body that a rule book can change; a wrapper that all of them have is one of every request,
 * which does not include PUT.
 */
export function proposeChanges(
  operations: readonly OperationFindings[],
  writes: readonly { readonly id: string; readonly method: string }[],
): readonly ProposedChange[] {
  const groups = new Map<string, Group>();
  for (const { id, findings } of operations) {
    for (const finding of findings) {
      const key = JSON.stringify([finding.found, isProposed(finding)]);
      const group = groups.get(key) ?? { on: [], rule: finding };
      groups.set(key, group);
      group.on.push(id);
      // The best evidence of all operations; a rule that is none stays one.
      if (finding.confidence > group.rule.confidence) group.rule = finding;
    }
  }
  const ordered = [...groups.values()].toSorted(
    (one, other) => rank(one.rule.found) - rank(other.rule.found),
  );
  const changes = new Map<string, { readonly on: ProposedChange['on']; readonly rules: ProposedRule[] }>();
  for (const { on, rule } of ordered) {
    const { found } = rule;
    // Attributes that are gone from the same operations, at the same depth, are one change.
    const part = found.rule === 'strip' ? `strip ${found.in.length}` : JSON.stringify(found);
    for (const some of found.rule === 'unwrap' ? reachOf(on, writes) : [on]) {
      const key = JSON.stringify([some, part, isProposed(rule)]);
      const change = changes.get(key) ?? { on: some, rules: [] };
      changes.set(key, change);
      change.rules.push(rule);
    }
  }
  const ids = new Set<string>();
  // A change that is a question takes no id from one that applies.
  const isQuestion = (rules: readonly ProposedRule[]): number => (rules.every(isProposed) ? 0 : 1);
  const sorted = [...changes.values()].toSorted(
    (one, other) => isQuestion(one.rules) - isQuestion(other.rules),
  );
  return sorted.map(({ on, rules }) => ({
    id: freeId(idOf(rules), ids),
    summary: summaryOf(rules),
    on,
    rules,
  }));
}

/** The operations of a change, or all of them as `every`, and beside it those that `every` does not include. */
function reachOf(
  on: readonly string[],
  writes: readonly { readonly id: string; readonly method: string }[],
): readonly ProposedChange['on'][] {
  const everyWrite = writes.filter(({ method }) => isRewritten(method)).map(({ id }) => id);
  if (everyWrite.length < 2 || !everyWrite.every((id) => on.includes(id))) return [on];
  const others = on.filter((id) => !everyWrite.includes(id));
  return others.length === 0 ? ['every'] : ['every', others];
}

/** Outer objects first; within an object, names before places. */
function rank(found: FoundRule): number {
  return (
    (found.rule === 'unwrap' ? -1 : found.in.length) * RULE_ORDER.length + RULE_ORDER.indexOf(found.rule)
  );
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
      return [...found.in.slice(-1), found.to, ...(/name$/i.test(found.to) ? [] : ['name'])]
        .filter((name) => name !== '*')
        .join('-');
    case 'strip':
      return 'removed-attributes';
    case 'map':
      return `${found.member}-values`;
    case 'convert':
      return `${found.member}-form`;
    case 'default':
      return `${found.member}-default`;
  }
}

/** The id of a change for a name, which may be in camel case: in kebab case, like all others. */
export function changeId(wanted: string): string {
  const plain = wanted
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, '-')
    .replaceAll(/[^\w.-]|_/g, '-')
    .toLowerCase()
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 56);
  return plain === '' ? 'change' : plain;
}

function freeId(wanted: string, taken: Set<string>): string {
  const base = changeId(wanted);
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
      return `Parameters are no longer wrapped in ${withArticle(found?.member ?? 'data')} object.`;
    case 'nest':
      return `${found.members.join(', ')} of ${placeOf(found)} ${found.members.length === 1 ? 'is' : 'are'} nested under ${found.under}.`;
    case 'rename':
      return `${pathText(found.in, found.member)} is called ${found.to}${found.conversions === undefined ? '' : ', and has another form'}.`;
    case 'strip':
      return rules.length === 1
        ? `${pathText(found.in, found.member)} is gone.`
        : 'Attributes that V1 had are gone.';
    case 'map':
      return `${pathText(found.in, found.member)} has other values.`;
    case 'convert':
      return `${pathText(found.in, found.member)} has another form.`;
    case 'default':
      return `${pathText(found.in, found.member)} is required.`;
  }
}

function withArticle(name: string): string {
  return `${/^[aeiou]/i.test(name) ? 'an' : 'a'} ${name}`;
}

function placeOf({ in: path }: { readonly in: readonly string[] }): string {
  return path.length === 0 ? 'the body' : pathText(path);
}
