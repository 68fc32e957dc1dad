import { isRewritten } from '../../rules/rule-book.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import {
  type Evidence,
  type Finding,
  type FoundRule,
  isProposed,
  pathText,
  RULE_ORDER,
} from './compare-shapes.ts';

/** A change of a proposed rule book: one rule, or the attributes that are gone, for the operations that have it. */
export interface ProposedChange {
  readonly id: string;
  readonly summary: string;
  readonly on: 'every' | readonly string[];
  readonly rules: readonly Finding[];
  /** Rules for query parameters; absent without any. */
  readonly query?: readonly ProposedText[];
  /** Rules for header fields; absent without any. */
  readonly headers?: readonly ProposedText[];
  /** Rules for responses, of an operation whose resource nothing writes; absent without any. */
  readonly response?: readonly ProposedText[];
  /** True when V1's responses show the change undone. */
  readonly isInverse?: true;
}

/** Rules as a rule book writes them, with their evidence: for one parameter, one field, or one member of responses. */
export interface ProposedText extends Evidence {
  readonly texts: readonly string[];
}

/** The findings about an operation, by its id in the rule book. */
export interface OperationFindings {
  readonly id: string;
  readonly findings: readonly Finding[];
}

interface Group {
  readonly on: string[];
  rule: Finding;
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
  const changes = new Map<string, { readonly on: ProposedChange['on']; readonly rules: Finding[] }>();
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
  const isQuestion = (rules: readonly Finding[]): number => (rules.every(isProposed) ? 0 : 1);
  const sorted = [...changes.values()].toSorted(
    (one, other) => isQuestion(one.rules) - isQuestion(other.rules),
  );
  return sorted.map(({ on, rules }) => {
    const [id, summary] = namesOf(rules);
    return { id: freeId(id, ids), summary, on, rules };
  });
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

/** The id that a change would have, and its summary. */
function namesOf(rules: readonly Finding[]): readonly [id: string, summary: string] {
  const found = rules[0]?.found;
  if (found === undefined || found.rule === 'unwrap') {
    const name = found?.member ?? 'data';
    return ['body-wrapper', `Parameters are no longer wrapped in ${withArticle(name)} object.`];
  }
  if (found.rule === 'nest') {
    const { members, under } = found;
    const around = found.in.length === 0 ? 'the body' : pathText(found.in);
    const are = members.length === 1 ? 'is' : 'are';
    return [`nested-${under}`, `${members.join(', ')} of ${around} ${are} nested under ${under}.`];
  }
  const { member } = found;
  const path = pathText(found.in, member);
  switch (found.rule) {
    case 'rename': {
      const names = [...found.in.slice(-1), found.to, ...(/name$/i.test(found.to) ? [] : ['name'])];
      const form = found.conversions === undefined ? '' : ', and has another form';
      return [names.filter((name) => name !== '*').join('-'), `${path} is called ${found.to}${form}.`];
    }
    case 'strip':
      return [
        'removed-attributes',
        rules.length === 1 ? `${path} is gone.` : 'Attributes that V1 had are gone.',
      ];
    case 'map':
      return [`${member}-values`, `${path} has other values.`];
    case 'convert':
      return [`${member}-form`, `${path} has another form.`];
    case 'default':
      return [`${member}-default`, `${path} is required.`];
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
