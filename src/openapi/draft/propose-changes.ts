import { isRewritten } from '../../rules/rule-book.ts';
import type { Path } from '../../rules/rule.ts';
import type { Direction } from '../shape.ts';
import type { BookRule } from './book-rules.ts';
import { withArticle } from '../../rules/rule-book-fault.ts';
import { conversionWords } from './conversions.ts';
import {
  type Evidence,
  type Finding,
  type FoundRule,
  isProposed,
  localKey,
  pathText,
  ruleKey,
  ruleRank,
} from './found-rules.ts';

/** A change of a proposed rule book: one rule, or the attributes that are gone, for the operations that have it. */
export interface ProposedChange {
  readonly id: string;
  readonly summary: string;
  readonly on: 'every' | readonly string[];
  readonly rules: readonly Finding[];
  /** Rules for query parameters; absent without any. */
  readonly query?: readonly ProposedRules[];
  /** Rules for header fields; absent without any. */
  readonly headers?: readonly ProposedRules[];
  /** Rules for responses that no request rule undoes; absent without any. */
  readonly response?: readonly ProposedRules[];
  /** True when V1's responses show the change undone. */
  readonly isInverse?: true;
  /** True if V1's responses then have null where V2's have it in place of an object. */
  readonly hasNulls?: true;
  /** The id of a change with the same question, for other operations or for objects at another depth. */
  readonly asWith?: string;
  /** What is done with the values of its members, in words, if a question is whether those of all these members are so converted. */
  readonly conversion?: string;
  /** True for a change whose rules conflict with those of other changes: it is shown, but never becomes a rule. */
  readonly isShown?: true;
}

/** Rules as a rule book writes them, with their evidence: for one parameter, one field, or one member of responses. */
export interface ProposedRules extends Evidence {
  readonly rules: readonly BookRule[];
  /** The other answers to the same question, the likeliest first. */
  readonly others?: readonly (readonly BookRule[])[];
  /** The meaning of each answer for a member; undefined for one that keeps V2's name as well. */
  readonly meanings?: readonly (FoundRule | undefined)[];
  /** The rule of responses as sentences name it: with its path from the resource. */
  readonly named?: FoundRule;
  /** True where a person chooses the answer: none is likely enough, and the first could lose or distort a value. */
  readonly isOpen?: true;
  /** True for rules that leave out what V1 never had, after all that take a value of V1 from there. */
  readonly isNew?: true;
  /** The members that have the resource in V2's response and in V1's, for rules that move it; an empty name is the body. */
  readonly place?: ResourceMove;
}

/** Where the resource is in V2's response, and in V1's. */
export interface ResourceMove {
  readonly from: string;
  readonly to: string;
}

/** The findings about an operation, by its id in the rule book. */
export interface OperationFindings {
  readonly id: string;
  readonly findings: readonly Finding[];
  /** The place of the resource in the body, which sentences leave out; the body if absent. */
  readonly base?: Path;
}

/** An operation that has a body, by its id and its method. */
export interface WritingOperation {
  readonly id: string;
  readonly method: string;
}

interface Group {
  readonly on: string[];
  readonly base: Path;
  rule: Finding;
}

/** A change before it has an id: its findings have one question, or none. */
interface Part {
  readonly on: ProposedChange['on'];
  readonly rules: Finding[];
  /** The key of the decision, equal for rules with the same question. */
  readonly decision: string;
}

/**
 * Groups findings into changes: a rule of several operations is one change, and a question has one answer for all places of the rule.
 * `writes` are all operations with a body that a rule book can change; a wrapper that all of them have applies to `every` request, which
 * does not include PUT.
 */
export function proposeChanges(
  operations: readonly OperationFindings[],
  writes: readonly WritingOperation[],
  direction: Direction = 'request',
): readonly (ProposedChange & { readonly rules: readonly Finding[] })[] {
  const groups = new Map<string, Group>();
  for (const { id, findings, base = [] } of operations) {
    for (const finding of findings) {
      const key = `${isProposed(finding)} ${ruleKey(finding.found)}`;
      const group = groups.get(key) ?? { on: [], base, rule: finding };
      groups.set(key, group);
      if (!group.on.includes(id)) group.on.push(id);
      const isAlways = group.rule.isAlways === true && finding.isAlways === true;
      // The best evidence of all operations; a rule without evidence stays without.
      if (finding.confidence > group.rule.confidence) group.rule = finding;
      if (!isAlways) {
        const { isAlways: _, ...rule } = group.rule;
        group.rule = rule;
      }
    }
  }
  const sign = direction === 'request' ? 1 : -1;
  const ordered = [...groups.values()].toSorted(
    (one, other) => sign * (ruleRank(one.rule.found) - ruleRank(other.rule.found)),
  );
  const owners = new Map(
    ordered.toReversed().map(({ on, rule: { found } }) => [localKey(found), on[0] ?? ''] as const),
  );
  const parts = new Map<string, Part>();
  for (const { on, base, rule } of ordered) {
    const { found } = rule;
    const isSure = isProposed(rule);
    const depth = found.rule === 'unwrap' ? 0 : found.in.length;
    const owner = owners.get(localKey(found)) ?? '';
    const decision = isSure ? sureKey(found) : decisionOf(found, direction, owner);
    for (const some of found.rule === 'unwrap' ? reachOf(on, writes) : [on]) {
      const key = JSON.stringify([some, decision, isSure, isSure ? 0 : depth]);
      const part = parts.get(key) ?? { on: some, rules: [], decision: `${isSure} ${decision}` };
      parts.set(key, part);
      part.rules.push(base.length === 0 ? rule : { ...rule, named: below(found, base) });
    }
  }
  const ids = new Set<string>();
  const named = new Map<Part, readonly [id: string, summary: string]>();
  const first = new Map<string, string>();
  // Changes that apply get their ids first.
  for (const isSure of [true, false]) {
    for (const part of parts.values()) {
      if (part.rules.every(isProposed) !== isSure) continue;
      const [id, summary] = namesOf(part.rules.map(ruleNamed), direction);
      const free = freeId(id, ids);
      named.set(part, [free, summary]);
      if (!isSure && !first.has(part.decision)) first.set(part.decision, free);
    }
  }
  return [...parts.values()].map((part) => {
    const [id, summary] = named.get(part) ?? ['', ''];
    const asWith = first.get(part.decision);
    const isAgain = asWith !== undefined && asWith !== id;
    return { id, summary, on: part.on, rules: part.rules, ...(isAgain && { asWith }) };
  });
}

/** A rule with its path from `base`; unchanged if it is elsewhere. */
export function below(found: FoundRule, base: Path): FoundRule {
  if (found.rule === 'unwrap' || !base.every((name, at) => found.in[at] === name)) return found;
  return { ...found, in: found.in.slice(base.length) };
}

/** Attributes that are gone from the same operations, at the same depth, are one change. */
function sureKey(found: FoundRule): string {
  return found.rule === 'strip' ? `strip ${found.in.length}` : ruleKey(found);
}

/** The decision in a question, wherever the member is. `owner` is the first operation with a question about this member. */
function decisionOf(found: FoundRule, direction: Direction, owner: string): string {
  if (found.rule === 'unwrap') return JSON.stringify(found);
  // A person who looks at an operation of V2 sees all of them at once: which are gone, and which have another name.
  if (found.rule === 'strip') return `strip ${owner}`;
  if (found.rule === 'default' && direction === 'response') return found.isRest ? 'rest' : 'new';
  // Members that are now in one object of V2 have one question.
  if (found.rule === 'move' && found.to.length > 1) return `move ${found.to.slice(0, -1).join(' ')}`;
  if (found.rule === 'convert' && found.conversions.every(({ options }) => options.length === 0))
    return `convert ${found.conversions.map(({ word }) => word).join()}`;
  return localKey(found);
}

/** The operations of a change, or all of them as `every`, and beside it those that `every` does not include. */
function reachOf(
  on: readonly string[],
  writes: readonly WritingOperation[],
): readonly ProposedChange['on'][] {
  const everyWrite = writes.filter(({ method }) => isRewritten(method)).map(({ id }) => id);
  if (everyWrite.length < 2 || !everyWrite.every((id) => on.includes(id))) return [on];
  const others = on.filter((id) => !everyWrite.includes(id));
  return others.length === 0 ? ['every'] : ['every', others];
}

/** A finding as sentences name it. */
function ruleNamed({ found, named = found }: Pick<Finding, 'found' | 'named'>): FoundRule {
  return named;
}

/** What the rules of a change do, once a person has chosen them: a sentence for those that are gone, and for each other one. */
export function summaryOf(rules: readonly FoundRule[]): string {
  const gone = rules.filter(({ rule }) => rule === 'strip');
  const each = rules.filter((rule) => !gone.includes(rule)).map((rule) => [rule]);
  return [...each, ...(gone.length === 0 ? [] : [gone])]
    .map((group) => requestNames(group, 'request')[1])
    .join(' ');
}

/** The change with the summary of the rules that it has now. */
export function summarized(change: ProposedChange): ProposedChange {
  const { rules, query = [], response = [] } = change;
  const parameters = query.flatMap((rule) =>
    [...rule.rules, ...(rule.others ?? []).flat()].flatMap(strippedBy),
  );
  const named = [...rules.map(ruleNamed), ...response.flatMap((rule) => rule.named ?? [])];
  const summary =
    parameters.length > 0
      ? undescribed('query parameter', parameters)
      : requestNames(named, rules.length > 0 ? 'request' : 'response')[1];
  return { ...change, summary };
}

/** The sentence about parameters or fields that V2 does not describe. */
export function undescribed(what: 'query parameter' | 'header field', names: readonly string[]): string {
  return `V2 does not describe the ${what}${names.length === 1 ? '' : 's'} ${names.join(', ')}.`;
}

/** The member, parameter or field that a rule leaves out. */
export function strippedBy({ strip }: BookRule): readonly string[] {
  return typeof strip === 'string' ? [strip] : [];
}

/** The id that a change would have, and its summary. */
function namesOf(rules: readonly FoundRule[], direction: Direction): readonly [id: string, summary: string] {
  const [id, summary] = requestNames(rules, direction);
  return direction === 'request' ? [id, summary] : [`${id}-response`, summary];
}

/** Maximum attributes that a sentence names. */
const MAX_NAMED = 3;

/** A list in a sentence, such as `a, b and c`; of many, the first three and how many more. */
export function listOf(names: readonly string[]): string {
  if (names.length < 2) return names.join('');
  const named = names.slice(0, names.length > MAX_NAMED + 1 ? MAX_NAMED : names.length - 1);
  const left = names.length - named.length;
  return `${named.join(', ')} and ${left === 1 ? names.at(-1) : `${left} more`}`;
}

/** The members that rules of a kind are about. */
export function namesIn(rules: readonly FoundRule[], kind: FoundRule['rule']): readonly string[] {
  const all = rules.flatMap((found) =>
    found.rule === kind && 'member' in found && 'in' in found ? [pathText(found.in, found.member)] : [],
  );
  return [...new Set(all)];
}

function requestNames(
  rules: readonly FoundRule[],
  direction: Direction,
): readonly [id: string, summary: string] {
  const [found] = rules;
  if (found === undefined || found.rule === 'unwrap') {
    const name = found?.member ?? 'data';
    return ['body-wrapper', `Parameters are no longer wrapped in ${withArticle(name)} object.`];
  }
  if (found.rule === 'nest') {
    const { members, under } = found;
    const named = listOf(members.map((member) => pathText(found.in, member)));
    const move = members.length === 1 ? 'moves' : 'move';
    return [`nested-${under}`, `${named} ${move} into ${pathText(found.in, under)}.`];
  }
  if (found.rule === 'copy') {
    const [from, to] = [found.from, found.to].map((end) => pathText([...found.in, ...end]));
    return [`${found.to.join('-')}-copy`, `${from} is also in ${to}.`];
  }
  const { member } = found;
  const isAnywhere = found.in[0] === '**';
  const path = isAnywhere ? `${pathText([member])} at any depth` : pathText(found.in, member);
  const each = namesIn(rules, found.rule);
  const isMany = new Set(rules.map((rule) => ('member' in rule ? rule.member : ''))).size > 1;
  switch (found.rule) {
    case 'rename': {
      const names = [
        ...(isAnywhere ? [] : found.in.slice(-1)),
        found.to,
        ...(/name$/i.test(found.to) ? [] : ['name']),
      ];
      const to = isAnywhere ? pathText([found.to]) : pathText(found.in, found.to);
      const { conversions = [] } = found;
      const words = conversionWords(conversions) ?? 'to or from a list';
      const form = conversions.length === 0 ? '' : `, converted ${words}`;
      return [names.filter((name) => name !== '*').join('-'), `${path} becomes ${to}${form}.`];
    }
    case 'strip':
      return ['removed-attributes', rules.length === 1 ? `${path} is gone.` : `${listOf(each)} are gone.`];
    case 'map':
      return [`${member}-values`, `${path} has other values.`];
    case 'convert':
      return isMany
        ? ['forms', 'Values are converted.']
        : [`${member}-form`, `The value of ${path} is converted.`];
    case 'default':
      if (found.isRest) return ['further-attributes', `What else V2 has in ${listOf(each)} is new.`];
      return direction === 'response'
        ? ['new-attributes', `${listOf(each)} ${each.length === 1 ? 'is' : 'are'} new in V2.`]
        : [`${member}-default`, `${path} is required.`];
    case 'move':
      if (isMany) {
        const around = found.to.slice(0, -1);
        return [
          `${around.join('-')}-places`,
          `${listOf(each)} move into ${pathText([...found.in, ...around])}.`,
        ];
      }
      return [`${found.to.join('-')}-place`, `${path} becomes ${pathText([...found.in, ...found.to])}.`];
    case 'unbox':
      return [
        `${found.member}-value`,
        `${path} becomes the value of ${pathText([...found.in, member, found.from])}.`,
      ];
    case 'flatten': {
      const from = listOf(found.moves.map(([inner]) => pathText([...found.in, member, ...inner])));
      const to = listOf(found.moves.map(([, name]) => pathText(found.in, name)));
      return [`flat-${member}`, `${from} become${found.moves.length === 1 ? 's' : ''} ${to}.`];
    }
    case 'split': {
      const around = found.under === undefined ? found.in : [...found.in, found.under];
      return [
        `${found.member}-parts`,
        `${path} becomes ${listOf(found.to.map((name) => pathText(around, name)))}.`,
      ];
    }
    case 'list':
      return [`${found.to}-list`, `${path} becomes the list ${pathText(found.in, found.to)}.`];
    case 'lookup':
      return [
        `${member}-lookup`,
        `${path} is to be looked up: V2 has only ${pathText(found.in, found.key)}.`,
      ];
    case 'first':
      return [`${found.to}-single`, `${path} is no longer a list.`];
  }
}

/** The id of a change for a name, which may be in camel case: in kebab case, like all others. */
export function changeId(wanted: string): string {
  const plain = wanted
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])/g, '-')
    .replaceAll(/[^\w.-]|_/g, '-')
    .toLowerCase()
    .replace(/^[^A-Za-z]+/, '')
    .slice(0, 56);
  return plain === '' ? 'change' : plain;
}

/** An id in this form that none of `taken` is, and which is one of them then. */
export function freeId(wanted: string, taken: Set<string>): string {
  const base = changeId(wanted);
  for (let number = 1; ; number += 1) {
    const id = number === 1 ? base : `${base}-${number}`;
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}

/** Gives each change an id that no other has. */
export function withOwnIds(changes: readonly ProposedChange[]): readonly ProposedChange[] {
  const taken = new Set<string>();
  let now = new Map<string, string>();
  return changes.map((change) => {
    const id = freeId(change.id, taken);
    if (change.asWith === undefined) now = new Map([...now, [change.id, id]]);
    return {
      ...change,
      id,
      ...(change.asWith !== undefined && { asWith: now.get(change.asWith) ?? change.asWith }),
    };
  });
}
