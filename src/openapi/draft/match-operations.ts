import { templateShape } from '../../rules/rule.ts';
import type { Components } from '../components.ts';
import {
  type DescribedOperation,
  type Description,
  elementsOf,
  followed,
  memberOf,
  objectIn,
  templateOf,
} from '../description.ts';
import type { Shape } from '../shape.ts';
import { bestPairs } from './best-pairs.ts';
import { type FoundResource, isListed, listsIn, requestShape, resourceIn, successShape } from './bodies.ts';
import { namedValues, patternPrefix } from './conversions.ts';
import { areOtherIdentifiers, isRelatedName, isSameName, plainName, singular, wordsOf } from './names.ts';

/** An operation in both versions. */
export interface MatchedOperation {
  readonly v1: DescribedOperation;
  readonly v2: DescribedOperation;
  /** V2's place of a moved operation. */
  readonly moved?: MovedOperation;
  /** The path with the prefixes that V2's ids have there; absent for a moved operation, whose place has them. */
  readonly prefixed?: PrefixedPath;
}

/** A path with the same words in V2, whose ids have a prefix there. */
export interface PrefixedPath {
  /** Such as `GET /routes/rt_{route_id}`. */
  readonly to: string;
  /** The ids that V2 takes, as the start of a sentence. */
  readonly why: string;
}

/** Method and path of an operation in V2, with the parameters of V1. */
export interface MovedOperation {
  /** Such as `GET /lines?invoice={id}`. */
  readonly to: string;
  readonly evidence: string;
  /** Why it may be another operation, as the end of a sentence; a move with a doubt is a question. */
  readonly doubt?: string;
  /** Other possible operations, the likeliest first. */
  readonly others?: readonly OtherPlace[];
  /** True if the evidence is so weak that bodies are compared only after a person has confirmed the move. */
  readonly isGuess?: true;
  /** The word of V1's path that V2 has replaced; absent for any other move. */
  readonly word?: OtherWord;
}

/** Another place in V2 that an operation may have. */
export interface OtherPlace {
  readonly to: string;
  /** The word of V1's path that V2 has replaced, if that is the only difference. */
  readonly word?: OtherWord;
}

/** A word of V1, and the one that V2 has in its place. */
export interface OtherWord {
  readonly from: string;
  readonly to: string;
}

/** An operation that only V1 describes. */
export interface GoneOperation {
  readonly operation: DescribedOperation;
  /** A sentence about it; empty if nothing is known. */
  readonly hint: string;
  /** Method and path of operations of V2 that it may be, the likeliest first. */
  readonly candidates: readonly string[];
  /** Those of the other operations of V2 that are none of V1's. */
  readonly unused?: readonly string[];
}

/** The operations that both versions describe, those that only V1 describes, and sentences about parts that were not read. */
export interface MatchedOperations {
  readonly matched: readonly MatchedOperation[];
  readonly gone: readonly GoneOperation[];
  readonly questions: readonly string[];
}

/** One version: its components, and the operations below its prefix. */
export interface Version {
  readonly components: Components;
  readonly operations: readonly DescribedOperation[];
}

/** Moves in a rule book: method and path in V2 by the key of V1's operation. */
export type GivenMoves = ReadonlyMap<string, string>;

/** Maximum candidates that a question names. */
const MAX_CANDIDATES = 3;

/** Minimum likeness of a candidate. */
const ASKED_FROM = 2;

/**
 * Matches operations by method and path, where names of path parameters do not matter; the rest by operationId, or by a path with the same
 * words (`/floor_plans`, `/floorPlan`) if bodies and responses fit. Everything else is a question: a request to the wrong resource reads,
 * changes or deletes something else.
 */
export function matchOperations(v1: Version, v2: Version, given: GivenMoves = new Map()): MatchedOperations {
  const [old, young] = [v1.operations, v2.operations];
  const byShape = new Map(young.map((operation) => [shapeKey(operation), operation]));
  const found = new Map<DescribedOperation, MatchedOperation>();
  for (const operation of old) {
    const to = given.get(shapeKey(operation));
    const partner = byShape.get(to === undefined ? shapeKey(operation) : destinationShape(to));
    if (partner === undefined) continue;
    const word = to === undefined ? undefined : otherWord(operation, partner);
    const moved = to && { to, evidence: 'the rule book says so', ...(word && { word }) };
    const prefixed = to === undefined ? prefixedPath(operation, partner, { v1, v2 }) : undefined;
    found.set(operation, {
      v1: operation,
      v2: partner,
      ...(moved && { moved }),
      ...(prefixed && { prefixed }),
    });
  }
  for (const { v1: operation, v2: partner } of found.values()) {
    if (given.has(shapeKey(operation))) continue;
    const owner = ownerOf(partner, operation, old, byShape);
    const share = (one: DescribedOperation): number => sharedMembers(one, partner, { v1, v2 });
    if (owner === undefined ? takesOther(operation, partner, { v1, v2 }) : share(owner) > share(operation))
      found.delete(operation);
  }
  const taken = new Set([...found.values()].map((pair) => pair.v2));
  const left = (): readonly DescribedOperation[] =>
    old.filter((one) => !found.has(one) && !given.has(shapeKey(one)));
  const free = (): readonly DescribedOperation[] => young.filter((one) => !taken.has(one));
  const questions: string[] = [];
  for (const prove of [haveSameId, haveSameWords]) {
    const [before, after] = [left(), free()];
    for (const one of before) {
      const partners = after.filter((other) => prove(one, other));
      const [partner] = partners;
      if (partner === undefined || partners.length > 1) continue;
      if (before.some((other) => other !== one && prove(other, partner))) continue;
      const moved = provenMove(one, partner, { v1, v2 }, prove === haveSameWords);
      if (moved === undefined) continue;
      found.set(one, { v1: one, v2: partner, moved });
      taken.add(partner);
    }
  }
  const gone: GoneOperation[] = [];
  // Confirmed moves are evidence for renamed words, as open ones are.
  const worded = [...found.values()].filter(({ moved }) => moved?.word !== undefined);
  const words = renamedWords(
    [...left(), ...worded.map((pair) => pair.v1)],
    [...free(), ...worded.map((pair) => pair.v2)],
    { v1, v2 },
  );
  const candidates = free();
  const owners = Map.groupBy(old, shapeKey);
  const ownersOf = new Map(candidates.map((one) => [one, owners.get(shapeKey(one)) ?? []]));
  /** False if another operation of V1 has the method and the path of V2's, which is more likely that one. */
  const isNewPlace = (place: DescribedOperation, operation: DescribedOperation): boolean =>
    ownersOf.get(place)?.every((one) => one === operation) !== false;
  for (const operation of left()) {
    const unread = unreadItems(v2.components.description).find(({ path }) => path.endsWith(operation.rest));
    if (unread !== undefined) {
      questions.push(`V2's ${unread.path} is ${unread.reference}, which could not be read or compared.`);
      continue;
    }
    const moves = candidates
      .flatMap((other) => likelyMove(operation, other, { v1, v2 }, words) ?? [])
      .toSorted((one, other) => other.likeness - one.likeness);
    const [best, ...others] = moves;
    if (best === undefined || best.isRival === true) {
      const rivals = moves.map(({ to }) => to);
      const others = candidates.filter((one) => isNewPlace(one, operation));
      const possible = possibleMoves(operation, others, { v1, v2 }, words);
      gone.push({
        operation,
        hint: hintOf(operation, candidates, { old, young, byShape }),
        candidates: [...new Set([...possible, ...rivals])].slice(0, MAX_CANDIDATES),
      });
    } else {
      const further = others
        .filter(({ to }) => to !== best.to)
        .slice(0, MAX_CANDIDATES - 1)
        .map((other): OtherPlace => ({ to: other.to, ...(other.word && { word: other.word }) }));
      const { to, evidence, word, v2: partner } = best;
      const doubt = best.doubt ?? 'it may be another operation';
      const guess = best.isGuess && { isGuess: best.isGuess };
      const moved = { to, evidence, doubt, others: further, ...guess, ...(word && { word }) };
      found.set(operation, { v1: operation, v2: partner, moved });
    }
  }
  const settled = new Set(candidates.filter((one) => [...found.values()].some((pair) => pair.v2 === one)));
  const open = gone.filter(({ operation }) => {
    const pair = bySameWord(operation, [...found.values()], candidates, settled, { v1, v2 });
    if (pair === undefined) return true;
    found.set(operation, pair);
    settled.add(pair.v2);
    return false;
  });
  const unread = unreadItems(v1.components.description).map(
    ({ path, reference }) => `V1's ${path} is ${reference}, which could not be read or compared.`,
  );
  const matched = old.flatMap((operation) => found.get(operation) ?? []);
  const used = new Set(matched.map((pair) => pair.v2));
  const unused = candidates.filter((one) => !used.has(one));
  const placed = open.map((one) => {
    const places = unused.filter((other) => isNewPlace(other, one.operation));
    const actions = possibleActions(one.operation, places, { v1, v2 }, words);
    const intoBody = movesIntoBody(one.operation, unused, { v1, v2 });
    const likely = [...new Set([...intoBody, ...one.candidates, ...actions])].slice(0, MAX_CANDIDATES);
    const others = unusedPlaces(one.operation, unused, { v1, v2 }).filter((to) => !likely.includes(to));
    const choice = choiceIn(one.operation, likely, unused, { v1, v2 });
    // Any of them would be wrong for some requests: none is likely.
    if (choice !== undefined)
      return { ...one, hint: choice, candidates: [], unused: [...likely, ...others].slice(0, MAX_UNUSED) };
    return { ...one, candidates: likely, unused: others.slice(0, MAX_UNUSED) };
  });
  return { matched, gone: placed, questions: [...questions, ...unread] };
}

/** V1's operation that has the operationId of V2's, and has it at a path that only V1 has, although `here` is another one at V2's path. */
function ownerOf(
  v2: DescribedOperation,
  here: DescribedOperation,
  old: readonly DescribedOperation[],
  young: ReadonlyMap<string, DescribedOperation>,
): DescribedOperation | undefined {
  if (typeof here.operation['operationId'] !== 'string' || haveSameId(here, v2)) return undefined;
  return old.find((one) => one !== here && haveSameId(one, v2) && !young.has(shapeKey(one)));
}

/** True if V2's operation at the path of V1's has another id, and takes none of the members of V1's body, at any place. */
function takesOther(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): boolean {
  const haveIds = [v1, v2].every(({ operation }) => typeof operation['operationId'] === 'string');
  if (!haveIds || haveIdInOtherCase(v1, v2)) return false;
  const old = requestShape(v1, versions.v1.components);
  const young = requestShape(v2, versions.v2.components);
  if (old === undefined || young === undefined) return false;
  const sent = [...innerShape(old).members.keys()].filter((name) => !ANY_NAMES.has(plainName(name)));
  const taken = namesWithin(young);
  const isTaken = (name: string): boolean => taken.some((other) => isRelatedName(name, other));
  return sent.length > 1 && taken.length > 0 && !sent.some(isTaken);
}

/** The names of the members in a body, down to some levels: schemas may refer to themselves. */
function namesWithin({ members, element }: Shape, levels = 4): readonly string[] {
  if (levels === 0) return [];
  const inner = element === undefined ? [] : namesWithin(element, levels - 1);
  return [...members].flatMap(([name, { shape }]) => [name, ...namesWithin(shape, levels - 1)]).concat(inner);
}

/**
 * The hint for an operation whose body may choose between several of V2: it has a member with a few values, for which none of them has a
 * place. Undefined for any other.
 */
function choiceIn(
  v1: DescribedOperation,
  places: readonly string[],
  all: readonly DescribedOperation[],
  versions: Versions,
): string | undefined {
  const keys = new Set(places.map(destinationShape));
  const partners = all.filter((one) => keys.has(shapeKey(one)));
  if (partners.length < 2 || READS.has(v1.method)) return undefined;
  const takes = (one: DescribedOperation, name: string, { values }: Shape): boolean => {
    const members = requestShape(one, versions.v2.components)?.members ?? [];
    const listed = new Set(values.map((value) => plainName(String(value))));
    return [...members].some(
      ([other, { shape }]) =>
        isRelatedName(name, other) || shape.values.some((value) => listed.has(plainName(String(value)))),
    );
  };
  const members = [...(requestShape(v1, versions.v1.components)?.members ?? [])];
  const found = members.find(
    ([name, { shape }]) => shape.values.length > 1 && !partners.some((one) => takes(one, name, shape)),
  );
  if (found === undefined) return undefined;
  const [name, { shape }] = found;
  return `(${name} in its body, ${namedValues(shape.values)}, may choose between ${places.join(' and ')}, which have no place for it; no rule can choose a path by a body: let V2 take both in one operation)`;
}

/** Maximum operations of V2 without a place in V1 that a question lists. */
const MAX_UNUSED = 12;

/**
 * The unused operations of V2 with the same method and something in common with V1's beside their place, and no parameter which V1 lacks; the
 * likeliest first.
 */
function unusedPlaces(
  v1: DescribedOperation,
  unused: readonly DescribedOperation[],
  versions: Versions,
): readonly string[] {
  const likeliest = unused.toSorted((one, other) => wordShare(v1, other) - wordShare(v1, one));
  return likeliest.flatMap((v2) => {
    const isLike = isSameKind(v1.method, v2.method) && haveOwnInCommon(v1, v2, versions);
    const target = isLike ? withParameters(v2, v1, versions) : undefined;
    return target === undefined || target.left.length > 0 ? [] : [target.text];
  });
}

/** True if two operations have members in common, or a word of paths, names or summaries other than those of the resource around both. */
function haveOwnInCommon(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): boolean {
  if (likeMembers(v1, v2, versions) > 0) return true;
  const [old, young] = [segmentsOf(v1) ?? [], segmentsOf(v2) ?? []];
  const apart = old.findIndex((one, at) => !isParameter(one) && plain(one) !== plain(young[at] ?? ''));
  const around = pathWords(old.slice(0, Math.max(0, apart)));
  const usual = new Set([...around, ...usualWords(versions.v1), ...usualWords(versions.v2)]);
  const [words, others] = [v1, v2].map((one) => [
    ...pathWords(segmentsOf(one) ?? []),
    ...NAMING_KEYS.flatMap((key) => namingWords(one, key, undefined).words),
  ]);
  const isOwn = (word: string): boolean => !usual.has(word) && !VERBS.has(word) && !FILLERS.has(word);
  return words?.some((word) => isOwn(word) && others?.includes(word)) === true;
}

/** The words of the segments that are no parameters, in the singular. */
function pathWords(path: readonly string[]): readonly string[] {
  return path
    .filter((one) => !isParameter(one))
    .flatMap(wordsOf)
    .map(singular);
}

/** Method and path of each operation of V2 that has no parameter which V1's operation lacks, the likeliest first. */
export function possiblePlaces(
  v1: DescribedOperation,
  all: readonly DescribedOperation[],
  versions: Versions,
): readonly string[] {
  const share = (one: DescribedOperation): number =>
    wordShare(v1, one) + (one.method === v1.method ? SAME_METHOD : 0) + (haveSameEnd(v1, one) ? SAME_END : 0);
  const likeliest = all.toSorted((one, other) => share(other) - share(one));
  return likeliest.flatMap((v2) => {
    const { text } = queryMove(v1, v2, versions) ?? withParameters(v2, v1, versions) ?? {};
    return text === undefined ? [] : [text];
  });
}

/** The weights of the same method and of the same last word, beside the share of common words. */
const SAME_METHOD = 0.2;
const SAME_END = 0.4;

function haveSameEnd(v1: DescribedOperation, v2: DescribedOperation): boolean {
  return lastWord(v1) === lastWord(v2);
}

function lastWord(operation: DescribedOperation): string {
  return staticWords(operation).at(-1) ?? '';
}

/** The unused operations of V2 with the same method and last word that have in the body what V1 has in the path: `POST /refunds`. */
function movesIntoBody(
  v1: DescribedOperation,
  unused: readonly DescribedOperation[],
  versions: Versions,
): readonly string[] {
  return unused.flatMap((v2) => {
    if (v1.method !== v2.method || !haveSameEnd(v1, v2)) return [];
    const { text, left = [] } = withParameters(v2, v1, versions) ?? {};
    const isIn = ({ name }: MovedParameter): boolean => left.includes(name);
    const inBody = parametersInBody(v1, v2, versions.v2.components).filter(isIn);
    return text !== undefined && left.length > 0 && inBody.length === left.length ? [text] : [];
  });
}

/** A parameter of V1's path, and the member of V2's body that has its value. */
interface MovedParameter {
  readonly name: string;
  readonly member: string;
}

/** The parameters of V1's path that V2's body has as members, by their names. */
export function parametersInBody(
  v1: DescribedOperation,
  v2: DescribedOperation,
  components: Components,
): readonly MovedParameter[] {
  const members = [...(requestShape(v2, components)?.members.keys() ?? [])];
  return (parametersIn(v1) ?? []).flatMap(({ name, word, behind }) => {
    const names = new Set([word, `${behind}id`, `${behind}${word}`]);
    const member = members.find((one) => names.has(plainName(one)));
    return member === undefined ? [] : [{ name, member }];
  });
}

/** True if a place as a rule book writes it is one of an operation of V2. */
export function isPlaceIn(to: string, all: readonly DescribedOperation[]): boolean {
  const wanted = destinationShape(to);
  return all.some((operation) => shapeKey(operation) === wanted);
}

/** The operation of V2 at the path with the word that V2 has in its place elsewhere: one answer is for all operations under it. */
function bySameWord(
  v1: DescribedOperation,
  found: readonly MatchedOperation[],
  candidates: readonly DescribedOperation[],
  taken: ReadonlySet<DescribedOperation>,
  versions: Versions,
): MatchedOperation | undefined {
  const words = new Set(
    found.flatMap(({ moved }) => (moved?.word === undefined ? [] : [wordKey(moved.word)])),
  );
  for (const v2 of candidates) {
    if (taken.has(v2) || v1.method !== v2.method || differInList(v1, v2, versions)) continue;
    const word = otherWord(v1, v2);
    const target = word && words.has(wordKey(word)) ? withParameters(v2, v1, versions) : undefined;
    if (word === undefined || target === undefined || target.left.length > 0) continue;
    const evidence = `${word.from} may be ${word.to} in other paths`;
    const guess = !bodiesFit(v1, v2, versions, POSSIBLE) && { isGuess: true as const };
    const doubt = target.doubt ?? 'it may be another operation';
    return { v1, v2, moved: { to: target.text, evidence, doubt, word, ...guess } };
  }
  return undefined;
}

/** Minimum likeness of an operation that is offered as an answer. */
const OFFERED_FROM = 1.5;

/**
 * The possible places of an operation with too little evidence for a draft: with a similar resource, and similar members in bodies and
 * queries.
 */
function possibleMoves(
  v1: DescribedOperation,
  candidates: readonly DescribedOperation[],
  versions: Versions,
  { shown }: RenamedWords,
): readonly string[] {
  const found = candidates.flatMap((v2) => {
    if (!isSameKind(v1.method, v2.method) || differInList(v1, v2, versions)) return [];
    const query = queryMove(v1, v2, versions);
    const target = query ?? withParameters(v2, v1, versions);
    if (target === undefined || ('left' in target && target.left.length > 0)) return [];
    const [[from = ''], [to = '']] = [staticWords(v1), staticWords(v2)];
    // Two actions on one resource are no more alike than any two.
    const isSameResource =
      (from === to && !areOtherActions(v1, v2)) ||
      shown.some((word) => plain(word.from) === from && plain(word.to) === to);
    const likeness =
      2 * likeMembers(v1, v2, versions) +
      (isSameResource ? 1 : 0) +
      (v1.method === v2.method ? 0.5 : 0) +
      wordShare(v1, v2);
    return likeness < OFFERED_FROM ? [] : [{ to: target.text, likeness }];
  });
  const sorted = found.toSorted((one, other) => other.likeness - one.likeness);
  return [...new Set(sorted.map(({ to }) => to))].slice(0, MAX_CANDIDATES);
}

/** True if each of the two paths has a word without a related one in the other: `/notes/{id}/rename` and `/notes/{id}/upload`. */
function areOtherActions(v1: DescribedOperation, v2: DescribedOperation): boolean {
  const [one, other] = [v1, v2].map((all) => (segmentsOf(all) ?? []).filter((part) => !isParameter(part)));
  const isAlone = (part: string, all: readonly string[] = []): boolean =>
    !all.some((another) => isRelatedName(part, another));
  return (
    one?.some((part) => isAlone(part, other)) === true && other?.some((part) => isAlone(part, one)) === true
  );
}

/**
 * The unused operations of V2 that may do to one resource what `v1` does, although nothing but their place says so: another action on it,
 * as `POST /bookings/{id}/cancellation` may be what `DELETE /tickets/{id}` was.
 */
function possibleActions(
  v1: DescribedOperation,
  unused: readonly DescribedOperation[],
  versions: Versions,
  { shown }: RenamedWords,
): readonly string[] {
  if (READS.has(v1.method)) return [];
  const [old, wasAction] = actedOn(v1);
  return unused.flatMap((v2) => {
    const [young, isAction] = actedOn(v2);
    if (READS.has(v2.method) || (!wasAction && !isAction) || young.length !== old.length) return [];
    const isSameResource =
      old.length > 0 &&
      old.every((from, at) => {
        const to = young[at] ?? '';
        if (isParameter(from) || isParameter(to)) return isParameter(from) && isParameter(to);
        const [one, other] = [plain(from), plain(to)];
        return (
          isRelatedName(from, to) ||
          shown.some((word) => plain(word.from) === one && plain(word.to) === other)
        );
      });
    const target = isSameResource ? withParameters(v2, v1, versions) : undefined;
    return target === undefined || ('left' in target && target.left.length > 0) ? [] : [target.text];
  });
}

/** The path of the resource that an operation changes, which ends with a parameter, and whether an action follows; no path without one. */
function actedOn(operation: DescribedOperation): readonly [resource: readonly string[], isAction: boolean] {
  const all = segmentsOf(operation) ?? [];
  const isAction = !isParameter(all.at(-1) ?? '{');
  const resource = isAction ? all.slice(0, -1) : all;
  return [isParameter(resource.at(-1) ?? '') ? resource : [], isAction];
}

/** Methods that change nothing. */
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** The share of common names in queries, bodies and responses, of those of the version with fewer names; names in other words count. */
function likeMembers(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): number {
  const [one, other] = [namesOf(v1, versions.v1), namesOf(v2, versions.v2)];
  const fewest = Math.min(one.length, other.length);
  const common = one.filter((name) => other.some((young) => isRelatedName(name, young))).length;
  return fewest === 0 || common < 2 ? 0 : Math.min(1, common / fewest);
}

function namesOf(operation: DescribedOperation, { components }: Version): readonly string[] {
  const shapes = [requestShape(operation, components), successShape(operation, components)];
  const inner = shapes.flatMap((shape) => [...((shape?.element ?? shape)?.members.keys() ?? [])]);
  const all = [...queryNames(operation, components.description, false), ...inner];
  return [...new Set(all)].filter((name) => !ANY_NAMES.has(wordsOf(name).join('')));
}

/** The hint for a gone operation: the operation of V2 with its id, another operation at its path, or the methods that V2 has there. */
function hintOf(
  described: DescribedOperation,
  candidates: readonly DescribedOperation[],
  { old, young, byShape }: OperationLists,
): string {
  const id = described.operation['operationId'];
  const same = id === undefined ? undefined : candidates.find((one) => one.operation['operationId'] === id);
  if (same !== undefined) return `(V2 has ${String(id)} at ${same.method} ${same.rest})`;
  const here = byShape.get(shapeKey(described));
  const owner = here && ownerOf(here, described, old, byShape);
  if (owner !== undefined)
    return `(V2 has ${String(owner.operation['operationId'])} there, which V1 has at ${owner.method} ${owner.rest})`;
  if (here !== undefined)
    return `(V2 has ${String(here.operation['operationId'])} there, whose body has no member of V1's)`;
  const path = plainPath(described);
  const methods = young.filter((one) => plainPath(one) === path).map(({ method }) => method);
  return methods.length === 0 ? '' : `(V2 has ${methods.join(', ')} there)`;
}

/** The operations of both versions, and V2's by method and path. */
interface OperationLists {
  readonly old: readonly DescribedOperation[];
  readonly young: readonly DescribedOperation[];
  readonly byShape: ReadonlyMap<string, DescribedOperation>;
}

/** The key for method and path of V2 as a rule book writes them: with texts around parameters, and with a query. */
function destinationShape(to: string): string {
  const [method = '', target = ''] = to.split(' ');
  const [path = ''] = target.split('?');
  const segments = path.split('/').map((segment) => (segment.includes('{') ? '{}' : segment));
  return `${method} ${segments.join('/')}`;
}

/** The path items that are in another document, or missing. */
function unreadItems(
  description: Description,
): readonly { readonly path: string; readonly reference: string }[] {
  return Object.entries(objectIn(description, 'paths')).flatMap(([path, item]) => {
    const reference = memberOf(followed(description, item), '$ref');
    return typeof reference === 'string' ? [{ path, reference }] : [];
  });
}

function shapeKey(operation: DescribedOperation): string {
  const template = templateOf(operation);
  return `${operation.method} ${template === undefined ? operation.rest : templateShape(template)}`;
}

interface Versions {
  readonly v1: Version;
  readonly v2: Version;
}

/** Words of an operationId that name no resource: two operations may have them by chance. */
const VERBS: ReadonlySet<string> = new Set(
  `get list read find fetch show retrieve search query create add new post make insert update change edit modify put patch save set
  replace upsert delete remove destroy drop cancel do run call handle index all one by id operation api v rest`.split(
    /\s+/,
  ),
);

/** True if both have the same operationId, and it names a resource or the paths have a word in common. */
function haveSameId(one: DescribedOperation, other: DescribedOperation): boolean {
  const [id, same] = [one, other].map(({ operation }) => operation['operationId']);
  if (typeof id !== 'string' || id !== same || one.method !== other.method) return false;
  const names = wordsOf(id).filter((word) => !VERBS.has(word) && !/^\d+$/.test(word));
  return names.length > 0 || staticWords(one).some((word) => staticWords(other).includes(word));
}

/** True if the paths have the same words, apart from plurals, case and separators. */
function haveSameWords(one: DescribedOperation, other: DescribedOperation): boolean {
  if (one.method !== other.method) return false;
  const [old, young] = [one, other].map(segmentsOf);
  return (
    old !== undefined &&
    young !== undefined &&
    old.length === young.length &&
    old.every((segment, at) => {
      const partner = young[at] ?? '';
      if (isParameter(segment) || isParameter(partner)) return isParameter(segment) === isParameter(partner);
      return plain(segment) === plain(partner);
    })
  );
}

/** A segment without case, separators and number. */
function plain(segment: string): string {
  return wordsOf(segment).map(singular).join('');
}

const segments = new WeakMap<DescribedOperation, readonly string[]>();

/** The segments of a path as a rule book writes it; undefined if a rule book cannot write it. */
function segmentsOf(operation: DescribedOperation): readonly string[] | undefined {
  const known = segments.get(operation);
  if (known !== undefined) return known;
  const split = templateOf(operation)
    ?.split('/')
    .filter((segment) => segment !== '');
  if (split !== undefined) segments.set(operation, split);
  return split;
}

function staticWords(operation: DescribedOperation): readonly string[] {
  return (segmentsOf(operation) ?? []).filter((segment) => !isParameter(segment)).map(plain);
}

const isParameter = (segment: string): boolean => segment.startsWith('{');

/** The move to an operation of V2, if each of its parameters certainly has a partner in V1; undefined otherwise. */
function provenMove(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
  isByWords: boolean,
): MovedOperation | undefined {
  const query = isByWords ? undefined : queryMove(v1, v2, versions);
  const to = withParameters(v2, v1, versions);
  const isCertain = to !== undefined && !to.isGuess && to.left.length === 0;
  if (query !== undefined)
    return { to: query.text, evidence: `both have the same operationId, and ${query.evidence}` };
  if (!isCertain) return undefined;
  const word = otherWord(v1, v2);
  const doubt = to.doubt === undefined ? {} : { doubt: to.doubt };
  if (!isByWords)
    return {
      to: to.text,
      evidence: 'both have the same operationId',
      ...doubt,
      ...(word !== undefined && { word }),
    };
  if (!bodiesFit(v1, v2, versions, FITTING)) return undefined;
  return {
    to: to.text,
    evidence: 'the paths say the same in other words, and bodies and responses fit',
    ...doubt,
  };
}

/** Minimum share of common members, of those of the version with fewer, for two objects to be the same. */
const FITTING = 0.5;

/** Minimum share of common members that is worth a question. */
const POSSIBLE = 0.1;

/** False if a body or a response of one version shows that it belongs to another operation. */
function bodiesFit(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
  share: number,
): boolean {
  const [old, young] = [versions.v1.components, versions.v2.components];
  return (
    'requestBody' in v1.operation === 'requestBody' in v2.operation &&
    shapesFit(requestShape(v1, old), requestShape(v2, young), share) &&
    shapesFit(successShape(v1, old), successShape(v2, young), share)
  );
}

/** How much of V2's body and response V1's operation has: the sum of both shares. */
function sharedMembers(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): number {
  const [one, other] = [versions.v1.components, versions.v2.components];
  const share = (old: Shape | undefined, young: Shape | undefined): number => {
    const [before, now] = [old, young].map((shape) => (shape === undefined ? [] : innerNames(shape)));
    const common = now?.filter((name) => before?.includes(name)) ?? [];
    return common.length / Math.max(1, now?.length ?? 0);
  };
  return (
    share(requestShape(v1, one), requestShape(v2, other)) +
    share(successShape(v1, one), successShape(v2, other))
  );
}

function shapesFit(one: Shape | undefined, other: Shape | undefined, share: number): boolean {
  const [old, young] = [one, other].map((shape) => (shape === undefined ? [] : innerNames(shape)));
  if (old === undefined || young === undefined || old.length === 0 || young.length === 0) return true;
  const common = old.filter((name) => young.includes(name)).length;
  return common >= share * Math.min(old.length, young.length);
}

/** The names of the members of the object in a body. */
function innerNames(shape: Shape): readonly string[] {
  return [...innerShape(shape).members.keys()].map(plainName);
}

/** The object in a body: the body itself, its only object, or an element of its only list of objects. */
function innerShape(shape: Shape): Shape {
  let inner = shape.element ?? shape;
  for (let level = 0; level < 3; level += 1) {
    const objects = [...inner.members.values()].flatMap(({ shape: member }) => {
      const one = member.element ?? member;
      return one.members.size > 0 ? [{ one, isList: member.element !== undefined }] : [];
    });
    const lists = objects.filter(({ isList }) => isList);
    const [only, ...others] = lists.length === 1 ? lists : objects;
    if (only === undefined || others.length > 0 || inner.members.size > 4) break;
    inner = only.one;
  }
  return inner;
}

/** V2's method and path with V1's parameters. */
interface Destination {
  readonly text: string;
  /** Parameters of V1's path that it lacks. */
  readonly left: readonly string[];
  /** True if the partner of a parameter is only likely. */
  readonly isGuess: boolean;
  /** Why a parameter may be another value, as a sentence. */
  readonly doubt?: string;
  /** V2's parameters with V1's, by their names. */
  readonly pairs: readonly (readonly [young: string, old: string])[];
}

/** General names, which do not describe the identified object. */
const COMMON_NAMES: ReadonlySet<string> = new Set('id key name no number uuid guid code slug ref'.split(' '));

/**
 * V2's path with V1's names of its parameters, which rule books use, and with the prefix that V2's ids have. Undefined if V2 needs a
 * parameter that V1 does not have.
 */
function withParameters(
  v2: DescribedOperation,
  v1: DescribedOperation,
  versions: Versions,
): Destination | undefined {
  const [old, young] = [parametersIn(v1), parametersIn(v2)];
  if (old === undefined || young === undefined) return undefined;
  const left = new Set(old);
  const partners = new Map<PathParameter, PathParameter>();
  let isGuess = false;
  const take = (isPartner: (one: PathParameter, other: PathParameter) => boolean): void => {
    for (const parameter of young) {
      if (partners.has(parameter)) continue;
      const fitting = [...left].filter((other) => isPartner(parameter, other));
      const [partner] = fitting;
      if (partner === undefined || fitting.length > 1) continue;
      partners.set(parameter, partner);
      left.delete(partner);
    }
  };
  // A name such as `id` belongs to the segment before it.
  take((one, other) => one.behind === other.behind && one.behind !== '');
  take((one, other) => one.word === other.word && !COMMON_NAMES.has(one.word));
  take(
    (one, other) => one.word === `${other.behind}${other.word}` || other.word === `${one.behind}${one.word}`,
  );
  take((one, other) => one.word === `${other.behind}id` || other.word === `${one.behind}id`);
  const open = young.filter((parameter) => !partners.has(parameter));
  if (open.length > left.size) return undefined;
  for (const parameter of open) {
    const [next] = left;
    if (next === undefined) return undefined;
    // A single parameter that is left, with as many others in both paths, is certain.
    isGuess ||= old.length !== young.length || open.length > 1;
    partners.set(parameter, next);
    left.delete(next);
  }
  const other = [...partners].find(([one, partner]) => areOtherIdentifiers(one.name, partner.name));
  const doubt = other && `V2 has {${other[0].name}} in the path where V1 has {${other[1].name}}`;
  const all = [...young];
  const text = (templateOf(v2) ?? v2.rest).replaceAll(/\{[^{}]*\}/g, (own) => {
    const parameter = all.shift();
    const partner = parameter && partners.get(parameter);
    return partner === undefined
      ? own
      : `${idPrefix(v2, own.slice(1, -1), v1, partner.name, versions)}{${partner.name}}`;
  });
  return {
    text: `${v2.method} ${text}`,
    left: [...left].map(({ name }) => name),
    isGuess,
    ...(doubt !== undefined && { doubt }),
    pairs: [...partners].map(([one, partner]) => [one.name, partner.name]),
  };
}

/** The names of V2's parameters of paths, by those of V1, as far as all operations agree: members of bodies may have these names as well. */
export function pathNames(
  matched: readonly MatchedOperation[],
  versions: Versions,
): ReadonlyMap<string, string> {
  const pairs = matched.flatMap(({ v1, v2, moved }) => {
    const to = moved?.doubt === undefined ? withParameters(v2, v1, versions) : undefined;
    return to === undefined || to.isGuess || to.doubt !== undefined ? [] : to.pairs;
  });
  const byOld = Map.groupBy(pairs, ([, old]) => old);
  return new Map(
    [...byOld].flatMap(([old, all]) => {
      const [young, ...others] = new Set(all.map(([name]) => name));
      return young === undefined || young === old || others.length > 0 ? [] : [[old, young] as const];
    }),
  );
}

/** A parameter of a path, and the word before it. */
interface PathParameter {
  readonly name: string;
  readonly word: string;
  readonly behind: string;
}

function parametersIn(operation: DescribedOperation): readonly PathParameter[] | undefined {
  const all = segmentsOf(operation);
  return all?.flatMap((segment, at) => {
    if (!isParameter(segment)) return [];
    const before = all[at - 1] ?? '';
    const name = segment.slice(1, -1);
    return [{ name, word: wordsOf(name).join(''), behind: isParameter(before) ? '' : plain(before) }];
  });
}

/** The prefix of V2's ids that V1's do not have, according to the pattern of the parameter; may be empty. */
function idPrefix(
  v2: DescribedOperation,
  young: string,
  v1: DescribedOperation,
  old: string,
  versions: Versions,
): string {
  const prefix = textPrefix(schemaOf(v2, young, versions.v2.components.description));
  return prefix === textPrefix(schemaOf(v1, old, versions.v1.components.description)) ? '' : prefix;
}

/** V2's path of an operation at the same place, if its ids have a prefix there that V1's do not have. */
function prefixedPath(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
): PrefixedPath | undefined {
  const { text: to } = withParameters(v2, v1, versions) ?? {};
  if (to === undefined) return undefined;
  const ids = to.split('/').flatMap((segment) => {
    const [prefix = '', parameter] = segment.split('{');
    return prefix === '' || parameter === undefined
      ? []
      : [`only ${prefix}… in the path where V1 has {${parameter.split('}')[0]}}`];
  });
  return ids.length === 0 ? undefined : { to, why: `V2 takes ${ids.join(', and ')}` };
}

function schemaOf(described: DescribedOperation, name: string, description: Description): unknown {
  const parameter = parametersOf(described, description).find((one) => memberOf(one, 'name') === name);
  return followed(description, memberOf(parameter, 'schema'));
}

/** The text that a pattern such as `^inv_[0-9]+$` requires at the start; empty for none. */
function textPrefix(schema: unknown): string {
  const pattern = memberOf(schema, 'pattern');
  return typeof pattern === 'string' ? (patternPrefix(pattern) ?? '') : '';
}

/** An operation of V2 that an operation of V1 may have become. */
interface LikelyMove {
  readonly v2: DescribedOperation;
  readonly to: string;
  readonly evidence: string;
  readonly likeness: number;
  readonly doubt?: string;
  readonly isGuess?: true;
  /** True if only a word of the path is evidence, and V2 more likely has another word for it. */
  readonly isRival?: true;
  readonly word?: OtherWord;
}

/** The likeness that a chosen pair of words adds: more than names and methods that any two resources have in common. */
const CHOSEN_WEIGHT = 1;

const SAME_ID = 'both have the same operationId';
const SIMILAR_ID = 'their operationIds differ in case and separators only';

function haveIdInOtherCase(v1: DescribedOperation, v2: DescribedOperation): boolean {
  const [id, other] = [v1, v2].map(({ operation }) => operation['operationId']);
  return typeof id === 'string' && typeof other === 'string' && isSameName(id, other);
}

/** The evidence for an operation of V2 that is not proven to be one of V1; undefined if it is too weak. */
function likelyMove(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
  { byKey, ofOld, ofYoung }: RenamedWords,
): LikelyMove | undefined {
  const reasons: string[] = [];
  let likeness = 0;
  const weigh = (weight: number, reason: string): void => {
    likeness += weight;
    reasons.push(reason);
  };
  const isSameMethod = v1.method === v2.method;
  if (!isSameKind(v1.method, v2.method)) {
    const areWrites = [v1.method, v2.method].every((method) => WRITES.has(method));
    if (!haveIdInOtherCase(v1, v2) && !(areWrites && plainPath(v1) === plainPath(v2))) return undefined;
  }
  const word = otherWord(v1, v2);
  const known = word && byKey.get(wordKey(word));
  const mentioned = [...(ofOld.get(v1) ?? []), ...(ofYoung.get(v2) ?? [])];
  const query = queryMove(v1, v2, versions);
  const isSameId = haveIdInOtherCase(v1, v2);
  if (isSameId) weigh(4, v1.operation['operationId'] === v2.operation['operationId'] ? SAME_ID : SIMILAR_ID);
  else if (areNamedAlike(v1, v2, versions) || mentioned.some((one) => areNamedAlike(v1, v2, versions, one)))
    weigh(2, 'their names or summaries say the same');
  const isNamedAlike = likeness > 0;
  // A single other operation with the same word may be a coincidence, and so may the last word of two paths.
  const isFirm =
    isNamedAlike ||
    plainPath(v1) === plainPath(v2) ||
    (known !== undefined && known.pairs.length > 1) ||
    isInside(v1, v2) ||
    isInside(v2, v1);
  if (plainPath(v1) === plainPath(v2)) weigh(2, 'they have the same path');
  else if (known !== undefined && isShown(known)) {
    const many = known.pairs.length === 1 ? '1 operation has' : `${known.pairs.length} operations have`;
    weigh(2, `${many} the same method and place with ${known.to} instead of ${known.from}`);
  } else if (isInside(v1, v2) || isInside(v2, v1)) weigh(1.5, "one path is the end of the other's");
  else if (haveSameEnd(v1, v2)) weigh(1, 'their paths end with the same word');
  if (query !== undefined) weigh(1, query.evidence);
  if (hasOwnMembers(v1, v2, versions)) weigh(1, 'their bodies have the same members');
  const target = query ?? withParameters(v2, v1, versions);
  if (target === undefined || likeness < ASKED_FROM) return undefined;
  // Even if summaries agree, an operation on a list is not one on an element.
  if (!isSameId && differInList(v1, v2, versions)) return undefined;
  // Where several paths say `orders` for `fulfillmentOrders`, the bodies may be entirely new.
  const isSameNoun = known !== undefined && known.pairs.length > 1 && isRelatedName(known.from, known.to);
  const isUnlike = likeness < 2 * ASKED_FROM && !isSameNoun && !bodiesFit(v1, v2, versions, POSSIBLE);
  if (isUnlike && known?.isWhole !== true) return undefined;
  const [left] = 'left' in target ? target.left : [];
  // V2's path lacks the parameter: it may be the list of all, not that of one resource.
  if (left !== undefined && likeness < 2 * ASKED_FROM) return undefined;
  const doubt = isSameMethod
    ? left !== undefined
      ? `V2 does not have {${left}}`
      : 'doubt' in target
        ? target.doubt
        : undefined
    : otherMethodDoubt(v1.method, v2.method);
  return {
    v2,
    to: target.text,
    evidence: reasons.join('; '),
    // Of several candidates, the one whose names have most words in common comes first.
    likeness:
      likeness -
      (isSameMethod ? 0 : 0.5) +
      (known?.isChosen === true ? CHOSEN_WEIGHT : 0) +
      0.4 * wordShare(v1, v2),
    ...(doubt !== undefined && { doubt }),
    ...((!isFirm || isUnlike) && { isGuess: true as const }),
    ...(known?.isRival === true && reasons.length === 1 && { isRival: true as const }),
    ...(known !== undefined && { word: { from: known.from, to: known.to } }),
    ...(!isSameMethod && plainPath(v1) === plainPath(v2) && { word: { from: v1.method, to: v2.method } }),
  };
}

function otherMethodDoubt(old: string, young: string): string {
  const more = old === 'PUT' && young === 'PATCH' ? ', and keeps what a client leaves out' : '';
  return `${young} is another method than ${old}${more}`;
}

/** True if one version returns a list and the other one object. */
function differInList(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): boolean {
  const [one, other] = [resourceIn(v1, versions.v1.components), resourceIn(v2, versions.v2.components)];
  return one !== undefined && other !== undefined && hasList(one) !== hasList(other);
}

function hasList(found: FoundResource): boolean {
  return isListed(found) || (found.at === '' && listsIn(found.response).length > 0);
}

/** Methods that send a whole resource, or a part of it. */
const WRITES: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** True for the same method, or for two that edit. */
function isSameKind(one: string, other: string): boolean {
  return one === other || [one, other].every((method) => method === 'PUT' || method === 'PATCH');
}

function plainPath(operation: DescribedOperation): string {
  return (segmentsOf(operation) ?? [operation.rest])
    .map((segment) => (isParameter(segment) ? '{}' : plain(segment)))
    .join('/');
}

/** The share of the words in paths and names that two operations have in common. */
function wordShare(v1: DescribedOperation, v2: DescribedOperation): number {
  const [one = new Set<string>(), other = new Set<string>()] = [v1, v2].map((described) => {
    const id = described.operation['operationId'];
    const named = typeof id === 'string' ? wordsOf(id).map(singular) : [];
    return new Set([...pathWords(segmentsOf(described) ?? []), ...named]);
  });
  return [...one].filter((word) => other.has(word)).length / Math.max(1, new Set([...one, ...other]).size);
}

/** True when the path of one is the end of the other's. */
function isInside(one: DescribedOperation, other: DescribedOperation): boolean {
  return plainPath(one) !== '' && `/${plainPath(other)}`.endsWith(`/${plainPath(one)}`);
}

/** A word of V1's paths for which V2 has another one, and the operations that show it. */
interface RenamedWord extends OtherWord {
  /** The words of each of the two, in the singular. */
  readonly words: { readonly from: readonly string[]; readonly to: readonly string[] };
  readonly pairs: (readonly [old: DescribedOperation, young: DescribedOperation])[];
  /** The number of pairs with evidence beyond the path: the words of names and summaries, or members of bodies. */
  agreeing: number;
  /** The number of other words of either version that could be in place of one of the two. */
  rivals: number;
  /** What the operations of a pair have in common, from 0 to 1. */
  likeness: number;
  /** True for a pair that `chooseWords` has chosen. */
  isChosen: boolean;
  /** True if its operations have far more in common than those of its rivals. */
  isClear: boolean;
  /** True if V2 has all operations of V1's word under the other one, and fewer of them under any other word. */
  isWhole: boolean;
  /** True if one of the two words is in a chosen pair, with another word. */
  isRival: boolean;
}

/** Number of rivals from which a word needs other evidence. */
const MANY_RIVALS = 2;

/** True for a word with evidence beyond paths: any two resources have a list and an object that is read by its id. */
function isShown({ from, to, pairs, agreeing, rivals, isClear, isWhole }: RenamedWord): boolean {
  return (
    isWhole ||
    (agreeing > 0 && agreeing * 2 >= pairs.length) ||
    (pairs.length > 1 && (rivals < MANY_RIVALS || isRelatedName(from, to) || isClear))
  );
}

/** Minimum likeness of operations, from 0 to 1, for their words to need no other evidence. */
const LIKE_FROM = 0.4;

/** Minimum ratio of that likeness to the one for rival words. */
const FAR_MORE = 1.5;

/** Finds the words by which paths of the same form differ, where they differ in one word only. */
function renamedWords(
  old: readonly DescribedOperation[],
  young: readonly DescribedOperation[],
  versions: Versions,
): RenamedWords {
  const words = new Map<string, RenamedWord>();
  for (const v1 of old) {
    for (const v2 of young) {
      const word = otherWord(v1, v2);
      if (word === undefined) continue;
      const key = wordKey(word);
      const known = words.get(key) ?? {
        ...word,
        words: wordsIn(word),
        pairs: [],
        agreeing: 0,
        rivals: 0,
        likeness: 0,
        isChosen: false,
        isClear: false,
        isWhole: false,
        isRival: false,
      };
      words.set(key, known);
      if (isSameKind(v1.method, v2.method)) known.pairs.push([v1, v2]);
      if (areNamedAlike(v1, v2, versions, word, staticWords(v1)) || hasOwnMembers(v1, v2, versions))
        known.agreeing += 1;
    }
  }
  const all = [...words.values()].filter(({ pairs }) => pairs.length > 0);
  for (const word of all)
    word.rivals = Math.max(
      ...(['from', 'to'] as const).map(
        (end) => all.filter((other) => other !== word && other[end] === word[end]).length,
      ),
    );
  chooseWords(all, versions);
  for (const word of all) word.isWhole = word.isChosen && isWholeWord(word, all, old);
  const shown = all.filter(isShown);
  return {
    byKey: new Map(all.map((word) => [wordKey(word), word])),
    shown,
    ofOld: wordsByOperation(old, shown, 'from'),
    ofYoung: wordsByOperation(young, shown, 'to'),
  };
}

/** Minimum operations under a word for their methods and places alone to show what it is called in V2. */
const WHOLE_FROM = 3;

function isWholeWord(
  { from, to, pairs }: RenamedWord,
  all: readonly RenamedWord[],
  old: readonly DescribedOperation[],
): boolean {
  const under = old.filter((operation) => segmentsOf(operation)?.includes(from) === true);
  const paired = new Set(pairs.map(([one]) => one));
  return (
    paired.size >= WHOLE_FROM &&
    under.every((one) => paired.has(one)) &&
    all.every(
      (other) =>
        (other.from === from) === (other.to === to) ||
        new Set(other.pairs.map(([one]) => one)).size < paired.size,
    )
  );
}

/** Finds the pairs of words with the most in common as a whole: if each were chosen alone, two resources of V1 could become one of V2. */
function chooseWords(words: readonly RenamedWord[], versions: Versions): void {
  for (const word of words) {
    const { pairs } = word;
    if (word.rivals === 0) continue;
    word.likeness = pairs.reduce((sum, pair) => sum + likenessOf(...pair, versions), 0) / pairs.length;
  }
  // A pair of operations counts even if they have nothing in common.
  const scored = words.map((word) => ({
    from: word.from,
    to: word.to,
    score: word.pairs.length * (1 + 2 * word.likeness) + 2 * word.agreeing,
    word,
  }));
  const chosen = bestPairs(scored);
  for (const { word } of chosen) {
    const rivals = words.filter((one) => one !== word && (one.from === word.from || one.to === word.to));
    word.isChosen = true;
    word.isClear =
      word.likeness >= LIKE_FROM && rivals.every((one) => word.likeness >= FAR_MORE * one.likeness);
  }
  const [froms, tos] = [new Set(chosen.map(({ from }) => from)), new Set(chosen.map(({ to }) => to))];
  for (const word of words) word.isRival = !word.isChosen && (froms.has(word.from) || tos.has(word.to));
}

/** The likeness of two operations, from 0 to 1: the words of members and the query parameters that they have in common. */
function likenessOf(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): number {
  const [one, other] = [vocabularyOf(v1, versions.v1), vocabularyOf(v2, versions.v2)];
  const common = [...one].filter((word) => other.has(word)).length;
  return one.size + other.size === 0 ? 0 : (2 * common) / (one.size + other.size);
}

const vocabularies = new WeakMap<DescribedOperation, ReadonlySet<string>>();

/** The words of the members of bodies, and the names of query parameters. */
function vocabularyOf(operation: DescribedOperation, version: Version): ReadonlySet<string> {
  const { components } = version;
  const common = commonNames(version);
  const known = vocabularies.get(operation);
  if (known !== undefined) return known;
  const members = [requestShape(operation, components), successShape(operation, components)].flatMap(
    (shape) => [...((shape && innerShape(shape))?.members ?? [])],
  );
  const names = members.flatMap(([name, { shape }]) => [name, ...shape.members.keys()]);
  const own = names.filter((name) => {
    const plainText = wordsOf(name).join('');
    return !ANY_NAMES.has(plainText) && !common.has(plainText);
  });
  const words = new Set([
    ...own.flatMap((name) => wordsOf(name).map(singular)),
    ...queryNames(operation, components.description, false).map((name) => `?${name}`),
  ]);
  vocabularies.set(operation, words);
  return words;
}

/** The words by which paths differ, and those with evidence beyond paths (`shown`). */
interface RenamedWords {
  readonly byKey: ReadonlyMap<string, RenamedWord>;
  readonly shown: readonly RenamedWord[];
  /** The shown words that the name or the summary of each operation has. */
  readonly ofOld: ReadonlyMap<DescribedOperation, readonly RenamedWord[]>;
  readonly ofYoung: ReadonlyMap<DescribedOperation, readonly RenamedWord[]>;
}

const wordKey = ({ from, to }: OtherWord): string => JSON.stringify([from, to]);

function wordsIn({ from, to }: OtherWord): RenamedWord['words'] {
  return { from: wordsOf(from).map(singular), to: wordsOf(to).map(singular) };
}

/** Names that members of any resource have. */
const ANY_NAMES: ReadonlySet<string> = new Set(
  `id ids object type name title description status state created createdat updated updatedat created_at deleted metadata url href links
  data items count total hasmore next previous page limit offset success error errors message code key value addtime updatetime active
  activeflag userid ownerid companyid additionaldata self uuid version label labels`.split(/\s+/),
);

/** True when bodies or responses have members in common that only the one resource has. */
function hasOwnMembers(v1: DescribedOperation, v2: DescribedOperation, versions: Versions): boolean {
  if (v1.method !== v2.method) return false;
  const [old, young] = [versions.v1.components, versions.v2.components];
  return [
    [requestShape(v1, old), requestShape(v2, young)],
    [successShape(v1, old), successShape(v2, young)],
  ].some((shapes) => {
    const [first, second] = shapes;
    const one = first === undefined ? [] : ownNames(first, versions.v1);
    const other = second === undefined ? [] : ownNames(second, versions.v2);
    const common = one.filter((name) => other.includes(name)).length;
    return common > 1 && common >= FITTING * Math.min(one.length, other.length);
  });
}

const knownNames = new WeakMap<Shape, readonly string[]>();

function ownNames(shape: Shape, version: Version): readonly string[] {
  const common = commonNames(version);
  const isOwn = (name: string): boolean => !ANY_NAMES.has(name) && !common.has(name);
  const known = knownNames.get(shape) ?? innerNames(shape).filter(isOwn);
  knownNames.set(shape, known);
  return known;
}

const namesOfMost = new WeakMap<Version, ReadonlySet<string>>();

/** Number of resources from which a name that more than half of them have says nothing about a resource. */
const MANY_RESOURCES = 4;

/** The names that most resources of a version have, such as the id of an account: they do not distinguish resources. */
function commonNames(version: Version): ReadonlySet<string> {
  const known = namesOfMost.get(version);
  if (known !== undefined) return known;
  const names = new Map<string, Set<string>>();
  for (const operation of version.operations) {
    const shapes = [requestShape(operation, version.components), successShape(operation, version.components)];
    const resource = lastWord(operation);
    const own = names.get(resource) ?? new Set();
    names.set(resource, own);
    for (const shape of shapes)
      for (const name of shape === undefined ? [] : innerNames(shape)) own.add(name);
  }
  const resources = [...names.values()].filter((own) => own.size > 0);
  const counts = Map.groupBy(
    resources.flatMap((own) => [...own]),
    (name) => name,
  );
  const most = [...counts].filter(([, all]) => all.length * 2 > resources.length);
  const common = new Set(resources.length < MANY_RESOURCES ? [] : most.map(([name]) => name));
  namesOfMost.set(version, common);
  return common;
}

function otherWord(v1: DescribedOperation, v2: DescribedOperation): OtherWord | undefined {
  const [one, other] = [v1, v2].map(segmentsOf);
  if (one === undefined || other === undefined || one.length !== other.length) return undefined;
  let word: OtherWord | undefined;
  for (const [at, from] of one.entries()) {
    const to = other[at] ?? '';
    if (isParameter(from) !== isParameter(to)) return undefined;
    if (isParameter(from) || plain(from) === plain(to)) continue;
    if (word !== undefined && (word.from !== from || word.to !== to)) return undefined;
    word = { from, to };
  }
  return word;
}

/** Words of a name or a summary that do not describe the resource. */
const FILLERS: ReadonlySet<string> = new Set(
  'detail information info list item object resource record entry data existing given specific single multiple of for from to with and in on its their your this that or via using available'.split(
    ' ',
  ),
);

/**
 * True if the names, or the summaries, have the same words, apart from those by which the paths differ. Verbs alone are no evidence, and
 * without those words, neither are the words that most operations of a version have. `left` are words to ignore, such as those that the
 * paths have in common.
 */
function areNamedAlike(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
  word?: OtherWord,
  left: readonly string[] = [],
): boolean {
  const usual = word === undefined ? [] : [...usualWords(versions.v1), ...usualWords(versions.v2)];
  const ignored = new Set([...left, ...usual]);
  const isResource = (name: string): boolean => !VERBS.has(name) && !FILLERS.has(name) && !ignored.has(name);
  return NAMING_KEYS.some((key) => {
    const [first, second] = [namingWords(v1, key, word?.from), namingWords(v2, key, word?.to)];
    return first.text === second.text && first.words.some(isResource);
  });
}

const wordsOfMost = new WeakMap<Version, ReadonlySet<string>>();

/** The words that most names, or most summaries, of a version have: "Syncs … from the device to the server". */
function usualWords(version: Version): ReadonlySet<string> {
  const known = wordsOfMost.get(version);
  if (known !== undefined) return known;
  const { operations } = version;
  const resources = new Set(operations.map((one) => staticWords(one).join('/')));
  const most = NAMING_KEYS.flatMap((key) => {
    const words = operations.flatMap((one) => [...new Set(namingWords(one, key, undefined).words)]);
    return [...Map.groupBy(words, (word) => word)].filter(([, all]) => all.length * 2 > operations.length);
  });
  const usual = new Set(resources.size < MANY_RESOURCES ? [] : most.map(([word]) => word));
  wordsOfMost.set(version, usual);
  return usual;
}

/** The words that names and summaries have, by operations: those of most pairs have none. */
function wordsByOperation(
  operations: readonly DescribedOperation[],
  words: readonly RenamedWord[],
  end: 'from' | 'to',
): ReadonlyMap<DescribedOperation, readonly RenamedWord[]> {
  return new Map(
    operations.map((operation) => {
      const named = new Set(NAMING_KEYS.flatMap((key) => namingWords(operation, key, undefined).words));
      return [operation, words.filter((word) => word.words[end].some((one) => named.has(one)))] as const;
    }),
  );
}

/** The members of an operation that name it. */
const NAMING_KEYS = ['operationId', 'summary'] as const;

/** The words of a name or a summary, in the singular. */
interface NamingWords {
  readonly words: readonly string[];
  readonly text: string;
}

/** Cached, because each operation is compared with all of the other version, for each word that V2 may have replaced. */
const knownWords = new WeakMap<DescribedOperation, Map<string, NamingWords>>();

/** The words of the name or the summary of an operation, without those in `left`. */
function namingWords(
  operation: DescribedOperation,
  key: (typeof NAMING_KEYS)[number],
  left: string | undefined,
): NamingWords {
  const all = knownWords.get(operation) ?? new Map<string, NamingWords>();
  knownWords.set(operation, all);
  const name = `${key} ${left ?? ''}`;
  const known = all.get(name);
  if (known !== undefined) return known;
  const whole = left === undefined ? undefined : namingWords(operation, key, undefined);
  const without = left === undefined ? [] : wordsOf(left).map(singular);
  const words = (whole?.words ?? wordSet(operation.operation[key])).filter((word) => !without.includes(word));
  const found = whole?.words.length === words.length ? whole : { words, text: words.join(' ') };
  all.set(name, found);
  return found;
}

/** The words of a text, in the singular, without articles. */
function wordSet(text: unknown): readonly string[] {
  if (typeof text !== 'string') return [];
  return wordsOf(text)
    .map(singular)
    .filter((word) => !ARTICLES.has(word));
}

/** True if `other` is `name` with V2's word in place of V1's: `invoice_id` for `bill_id`, where `bills` are `invoices`. */
export function hasOtherWord(name: string, other: string, word: OtherWord): boolean {
  const [from, to] = [word.from, word.to].map((text) => wordsOf(text).map(singular).join(' '));
  const spaced = (text: string): string => ` ${wordsOf(text).map(singular).join(' ')} `;
  const before = spaced(name);
  return before.includes(` ${from} `) && before.replace(` ${from} `, ` ${to} `) === spaced(other);
}

const ARTICLES: ReadonlySet<string> = new Set(['a', 'an', 'the']);

/** A path parameter of V1 that is a required query parameter in V2, and no parameter that V1's own queries have. */
function queryMove(
  v1: DescribedOperation,
  v2: DescribedOperation,
  versions: Versions,
): { readonly text: string; readonly evidence: string } | undefined {
  const [old, young] = [parametersIn(v1), parametersIn(v2)];
  if (old === undefined || young === undefined || old.length !== young.length + 1) return undefined;
  const own = ownQueries(versions.v1);
  const [name, ...more] = queryNames(v2, versions.v2.components.description, true);
  const parameter = old.at(young.length);
  if (name === undefined || more.length > 0 || own.has(name) || parameter === undefined) return undefined;
  if (isOfOtherResource(name, parameter, versions.v1)) return undefined;
  const rest = old.filter((one) => one !== parameter);
  let at = 0;
  const path = (templateOf(v2) ?? v2.rest).replaceAll(/\{[^{}]*\}/g, (given) => {
    const partner = rest[at];
    at += 1;
    return partner === undefined ? given : `{${partner.name}}`;
  });
  return {
    text: `${v2.method} ${path}?${name}=${idPrefix(v2, name, v1, parameter.name, versions)}{${parameter.name}}`,
    evidence: `V2 asks for ${name}, where V1 has {${parameter.name}} in the path`,
  };
}

/**
 * True if a query parameter has the name of another resource of V1 than the path parameter: `deal_ids` is not the parameter of
 * `/persons/{id}`.
 */
function isOfOtherResource(name: string, { behind, word }: PathParameter, { operations }: Version): boolean {
  const wanted = wordsOf(name)
    .map(singular)
    .filter((one) => one !== 'id' && one !== 'ids')
    .join('');
  if (wanted === '' || wanted === behind || word.includes(wanted)) return false;
  return operations.some((operation) => staticWords(operation).includes(wanted));
}

const queries = new WeakMap<Version, ReadonlySet<string>>();

/** The query parameters of all operations of a version. */
function ownQueries(version: Version): ReadonlySet<string> {
  const { operations, components } = version;
  const known =
    queries.get(version) ??
    new Set(operations.flatMap((operation) => queryNames(operation, components.description, false)));
  queries.set(version, known);
  return known;
}

function queryNames(
  described: DescribedOperation,
  description: Description,
  isRequired: boolean,
): readonly string[] {
  return parametersOf(described, description).flatMap((parameter) => {
    const name = memberOf(parameter, 'name');
    const isMeant =
      memberOf(parameter, 'in') === 'query' && (!isRequired || memberOf(parameter, 'required') === true);
    return isMeant && typeof name === 'string' ? [name] : [];
  });
}

/** The parameters of an operation, with those of its path item and with references followed. */
export function parametersOf(
  { operation, item }: DescribedOperation,
  description: Description,
): readonly unknown[] {
  return [...elementsOf(item['parameters']), ...elementsOf(operation['parameters'])].map((declared) =>
    followed(description, declared),
  );
}
