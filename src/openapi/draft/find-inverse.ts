import { type Path, templateShape } from '../../rules/rule.ts';
import type { Components } from '../components.ts';
import { type DescribedOperation, templateOf } from '../description.ts';
import { type Shape, shapeAt } from '../shape.ts';
import { exampleShape, type FoundResource, resourceIn } from './bodies.ts';
import { defaultRule, undoingRules } from './book-rules.ts';
import {
  type Finding,
  type FoundRule,
  isProposed,
  localKey,
  movedFinding,
  pathText,
  ruleKey,
} from './found-rules.ts';
import { namesAnywhere } from './places.ts';
import type { MatchedOperation } from './match-operations.ts';
import type { ProposedOperation } from './print-rule-book.ts';
import {
  below,
  type OperationFindings,
  type ProposedChange,
  proposeChanges,
  type ProposedRules,
} from './propose-changes.ts';

/** The resources in the responses of both versions, by the path of their collection. */
export type ResourceShapes = ReadonlyMap<string, readonly { readonly v1: Shape; readonly v2: Shape }[]>;

/** An operation in both versions, and in the rule book. */
export interface NamedOperation {
  readonly pair: MatchedOperation;
  readonly operation: ProposedOperation;
}

/** Both descriptions with resolved references, and the operations in both. */
export interface Versions {
  readonly v1: Components;
  readonly v2: Components;
  readonly named: readonly NamedOperation[];
}

/** True if one version shows the responses of an operation only by an example. */
export function isShownOnly(pair: MatchedOperation, { v1, v2 }: Pick<Versions, 'v1' | 'v2'>): boolean {
  return exampleShape(pair.v1, v1) !== undefined || exampleShape(pair.v2, v2) !== undefined;
}

/** The resources in successful responses, alone or in a list, by their keys. */
export function resourceShapes({ named, v1, v2 }: Versions): ResourceShapes {
  const shapes = new Map<string, { readonly v1: Shape; readonly v2: Shape }[]>();
  for (const { pair } of named) {
    const key = resourceKey(pair.v2);
    const [old, young] = [resourceIn(pair.v1, v1)?.shape, resourceIn(pair.v2, v2)?.shape];
    if (key === undefined || old === undefined || young === undefined) continue;
    // What only an example shows makes no rule certain.
    if (isShownOnly(pair, { v1, v2 })) continue;
    const known = shapes.get(key) ?? [];
    shapes.set(key, known);
    known.push({ v1: old, v2: young });
  }
  return shapes;
}

/** The path of V2's operation without a parameter at its end, the key of its resource. */
export function resourceKey(operation: DescribedOperation): string | undefined {
  const template = templateOf(operation);
  return template === undefined ? undefined : templateShape(template).replace(/\/\{\}$/, '');
}

/** The keys of an operation's resource: V2's, and V1's unless the operation has moved for certain. */
export function resourceKeys({ v1, v2, moved }: MatchedOperation): readonly string[] {
  const all = [resourceKey(v2), moved?.doubt === undefined ? undefined : resourceKey(v1)];
  return all.filter((key) => key !== undefined);
}

/** Adds `inverse` to a change if V1's responses show its V1 names and places where V2's have the new ones. */
export function withInverse(
  change: ProposedChange,
  resources: readonly (string | undefined)[],
  shapes: ResourceShapes,
): ProposedChange {
  const pairs = resources.flatMap((key) => (key === undefined ? [] : (shapes.get(key) ?? [])));
  const isShown = change.rules.some(({ found }) => pairs.some(({ v1, v2 }) => isUndone(found, v1, v2)));
  if (!isShown) return change;
  const hasNulls = change.rules.some(({ found }) => pairs.every(({ v1, v2 }) => isOrNull(found, v1, v2)));
  return { ...change, isInverse: true, ...(hasNulls && { hasNulls }) };
}

/** A finding about a response, with V1's null where V2 has null in place of an object with the member. */
export function withNull(finding: Finding, v1: Shape, v2: Shape): Finding {
  const { found, others } = finding;
  const nullable = (one: FoundRule): FoundRule => {
    const orNull = nullsOf(one, v1, v2);
    return (one.rule === 'move' || one.rule === 'nest') && orNull.length > 0 ? { ...one, orNull } : one;
  };
  return { ...finding, found: nullable(found), ...(others && { others: others.map(nullable) }) };
}

/** The members that may be null in V1, and are in V2 in an object that may be null. */
function nullsOf(found: FoundRule, v1: Shape, v2: Shape): readonly string[] {
  if (found.rule !== 'move' && found.rule !== 'nest') return [];
  const [members, to] =
    found.rule === 'move' ? [[found.member], found.to.slice(0, -1)] : [found.members, [found.under]];
  const around = to.map((_, at) => [...found.in, ...to.slice(0, at + 1)]);
  if (!around.some((path) => shapeAt(v2, path)?.isNullable === true)) return [];
  return members.filter((name) => shapeAt(v1, [...found.in, name])?.isNullable === true);
}

/** True if all members of a rule may be null in V1: `members: null` of an inverse is for all of them. */
function isOrNull(found: FoundRule, v1: Shape, v2: Shape): boolean {
  const nulls = nullsOf(found, v1, v2).length;
  return nulls > 0 && (found.rule !== 'nest' || nulls === found.members.length);
}

function isUndone(found: FoundRule, v1: Shape, v2: Shape): boolean {
  if (found.rule === 'unwrap') return false;
  if (found.in[0] === '**') {
    const [before, now] = [namesAnywhere(v1), namesAnywhere(v2)];
    return found.rule === 'rename' && before.has(found.member) && now.has(found.to) && !before.has(found.to);
  }
  const [old, young] = [shapeAt(v1, found.in)?.members, shapeAt(v2, found.in)?.members];
  if (young === undefined) return false;
  switch (found.rule) {
    case 'strip':
    case 'first':
    case 'lookup':
      return false;
    case 'copy': {
      const [before, now] = [v1, v2].map((shape) => shapeAt(shape, [...found.in, ...found.to]));
      return before === undefined && now !== undefined;
    }
    case 'rename': {
      // For a rename inside a nest, V1 has the member in the outer object.
      const [around, now] = [v1, v2].map((shape) => shapeAt(shape, found.in.slice(0, -1))?.members);
      const isHere = (shape: Shape['members'] | undefined): boolean => shape?.has(found.member) === true;
      const wasHere = isHere(old) || (isHere(around) && !isHere(now));
      // If V1's response has the new name as well, V2's member is that one, and must not get the old name.
      return wasHere && old?.has(found.to) !== true && !young.has(found.member) && young.has(found.to);
    }
    case 'nest':
      if (old === undefined) return false;
      return (
        young.has(found.under) &&
        found.members.some((name) => old.has(name) && (!young.has(name) || !old.has(found.under)))
      );
    case 'unbox': {
      const [before, now] = [old, young].map((members) => members?.get(found.member)?.shape.members.size);
      return before !== undefined && before > 0 && now === 0;
    }
    case 'flatten':
      return old?.has(found.member) === true && found.moves.some(([, to]) => young.has(to) && !old.has(to));
    case 'move':
      return old?.has(found.member) === true && shapeAt(v2, [...found.in, ...found.to]) !== undefined;
    case 'split': {
      const around = found.under === undefined ? young : young.get(found.under)?.shape.members;
      return old?.has(found.member) === true && found.to.every((name) => around?.has(name) === true);
    }
    case 'list':
      return old?.has(found.member) === true && young.get(found.to)?.shape.element !== undefined;
    case 'default':
      return old?.has(found.member) !== true && young.has(found.member);
    case 'map':
      return young.has(found.member);
    case 'convert':
      return old?.has(found.member) === true && young.has(found.member);
  }
}

/** The differences in an operation's responses, with paths from the resource, and its place. */
export interface ResponseFindings {
  readonly operation: NamedOperation;
  readonly resource: FoundResource;
  readonly findings: readonly Finding[];
}

/**
 * The response rules for differences that no request rule undoes: each undoes the rule that a request of V1 would need. A rule for several
 * operations is one change, and members that V2 never returns are one question.
 */
export function responseChanges(
  all: readonly ResponseFindings[],
  changes: readonly ProposedChange[],
  keysOf: ReadonlyMap<string, readonly string[]>,
): readonly ProposedChange[] {
  const undone = changes.filter(({ isInverse }) => isInverse === true);
  const offers = offersOf(changes);
  const found = all.map(({ operation: { operation, pair }, resource, findings }): OperationFindings => {
    const keys = resourceKeys(pair);
    const base = baseOf(resource);
    const inverted = undone.filter(
      ({ on }) =>
        on === 'every' ||
        on.some((id) => id === operation.id || keysOf.get(id)?.some((key) => keys.includes(key)) === true),
    );
    const rules = new Set(inverted.flatMap((change) => change.rules.map(({ found: rule }) => ruleKey(rule))));
    const renames = inverted.flatMap((change) => change.rules.filter(isProposed).map((rule) => rule.found));
    const isLeft = (rule: FoundRule): boolean => !rules.has(ruleKey(below(rule, base)));
    // The question about requests also decides about responses: a second rename of the same member would have no effect.
    const own = findings
      .filter(({ found: rule }) => isLeft(rule))
      .map(({ others, ...finding }) => ({ ...finding, ...(others && { others: others.filter(isLeft) }) }));
    return {
      id: operation.id,
      base,
      findings: own.map((finding) =>
        asQuestion(behindInverse(withOffers(finding, offers, resource), base, renames)),
      ),
    };
  });
  const leaders = new Map<string, string>();
  const proposed = proposeChanges(found, [], 'response').flatMap((change) => {
    const response = change.rules.flatMap((finding) => responseRules(finding) ?? []);
    if (response.length === 0) return [];
    const leader = change.asWith === undefined ? leaderOf(change, changes) : leaders.get(change.asWith);
    if (leader !== undefined) leaders.set(change.id, leader);
    const asWith = leader ?? change.asWith;
    return [{ ...change, rules: [], response, ...(asWith !== undefined && { asWith }) }];
  });
  const isNew = ({ response }: ProposedChange): boolean => response?.some((rule) => rule.isNew) === true;
  return [...proposed.filter((change) => !isNew(change)), ...proposed.filter(isNew)];
}

/** The other names and places in V2 that requests offer for members that may be gone, by the rules that leave them out. */
function offersOf(changes: readonly ProposedChange[]): ReadonlyMap<string, readonly FoundRule[]> {
  return new Map(
    changes.flatMap(({ rules }) =>
      rules.flatMap(({ found, others = [] }) => (found.rule === 'strip' ? [[localKey(found), others]] : [])),
    ),
  );
}

/** A finding about a member that responses lack, with what requests offer for it and V2's response has: one answer is for both. */
function withOffers(
  finding: Finding,
  offers: ReadonlyMap<string, readonly FoundRule[]>,
  { response }: FoundResource,
): Finding {
  const { found, others = [] } = finding;
  if (found.rule !== 'strip') return finding;
  const known = new Set(others.map(localKey));
  const further = (offers.get(localKey(found)) ?? []).flatMap((offer): readonly FoundRule[] => {
    if ((offer.rule !== 'rename' && offer.rule !== 'move') || known.has(localKey(offer))) return [];
    const to = offer.rule === 'rename' ? [offer.to] : offer.to;
    return shapeAt(response, [...found.in, ...to]) === undefined ? [] : [{ ...offer, in: found.in }];
  });
  return further.length === 0 ? finding : { ...finding, others: [...others, ...further] };
}

/** The change of requests with the same question about the same members, if there is one. */
function leaderOf({ rules }: ProposedChange, changes: readonly ProposedChange[]): string | undefined {
  if (rules.some(isProposed)) return undefined;
  const leader = changes.find((change) => {
    const asked = new Set(
      change.rules.filter((rule) => !isProposed(rule)).map(({ found }) => localKey(found)),
    );
    return rules.every(({ found }) => found.rule !== 'strip' && asked.has(localKey(found)));
  });
  return leader?.asWith ?? leader?.id;
}

const NO_VALUE = 'clients get null for it, and no such member without the rule';

/** A finding about a response: a person decides about members that V2 lacks or adds. */
function asQuestion(finding: Finding): Finding {
  const { found, doubt } = finding;
  if (found.rule === 'strip')
    return {
      ...finding,
      doubt: doubt ?? NO_VALUE,
    };
  return found.rule === 'default'
    ? { ...finding, doubt: 'most clients do not look at what they do not know' }
    : finding;
}

function baseOf({ at, response }: FoundResource): Path {
  const names = at === '' ? [] : [at];
  const carrier = at === '' ? response : response.members.get(at)?.shape;
  return carrier?.element === undefined ? names : [...names, '*'];
}

/** The finding with the names that outer objects have after `inverse`. */
function behindInverse(finding: Finding, base: Path, inverted: readonly FoundRule[]): Finding {
  const { found } = finding;
  if (found.rule === 'unwrap') return finding;
  const place = [...found.in];
  for (let at = place.length - 1; at >= base.length; at -= 1) {
    const around = place.slice(base.length, at);
    const rename = inverted.find(
      (rule) => rule.rule === 'rename' && rule.to === place[at] && rule.in.join('\0') === around.join('\0'),
    );
    if (rename?.rule === 'rename') place[at] = rename.member;
  }
  // Another answer may be about an object inside.
  return movedFinding(finding, (path) => [...place, ...path.slice(found.in.length)]);
}

/** A rule of a response with its evidence; undefined if nothing has to be undone. */
function responseRules(finding: Finding): ProposedRules | undefined {
  const { found, named = found, confidence, evidence, doubt, others = [], relation } = finding;
  const rules = undoingRules(found);
  const undone = others
    .map((one) => ({ rules: undoingRules(one), found: one }))
    .filter((one) => one.rules.length > 0);
  const further = undone.map((one) => one.rules);
  if (found.rule === 'default') {
    const why = found.isRest
      ? 'V2 has more in it than other questions are about'
      : "V2's responses have it, and V1's never had it";
    return { rules, confidence, evidence: why, doubt, named, isNew: true };
  }
  if (rules.length > 0) {
    // An answer with an alias, which keeps V2's name as well: for clients of both versions, or if V2 may also have the old name.
    const isPlain = found.rule === 'rename' && found.conversions === undefined && found.in[0] !== '**';
    const aliases =
      isPlain && doubt !== undefined
        ? [[{ alias: pathText(found.in, found.to), as: pathText([found.member]) }]]
        : [];
    const meanings = [found, ...aliases.map(() => undefined), ...undone.map((one) => one.found)];
    return { rules, confidence, evidence, doubt, others: [...aliases, ...further], meanings, named };
  }
  if (found.rule !== 'strip') return undefined;
  return {
    rules: [defaultRule(pathText(found.in, found.member), null)],
    confidence: 0.5,
    // The same sentence for all members: rules with the same evidence are printed with one comment.
    evidence: "V1's responses have it, and V2's do not",
    doubt: relation ?? NO_VALUE,
    others: further,
    meanings: [found, ...undone.map((one) => one.found)],
    named,
  };
}
