import { withArticle } from '../../rules/rule-book-fault.ts';
import type { Path } from '../../rules/rule.ts';
import { ANY_SHAPE, isCompatible, type Shape, shapeAt } from '../shape.ts';
import type { FoundNest, FoundRename, NestedMember } from './compared-pairs.ts';
import { addFinding, firstOf, type Objects, type Work } from './comparison.ts';
import type { FoundFlat } from './find-flats.ts';
import { type Evidence, type FoundRule, isSamePath, pathText, renameRule } from './found-rules.ts';
import { haveSameContent, mentionsName, valueDoubt } from './member-links.ts';
import { conversionsOf, lookupRules, openIfUnitsDiffer, otherForms } from './member-rules.ts';
import { isRelatedName, isSameName, plainName } from './names.ts';
import { type Places, placeWords, unknownDoubt } from './places.ts';
import { turned } from './value-maps.ts';

/**
 * Adds the rule for an object of V1 whose members are in the object around it in V2; false if a part of it has to be looked up there, which
 * the question about the object offers.
 */
export function addFlat(flat: FoundFlat, objects: Objects, work: Work): boolean {
  const { member, moves, missing, isPrefixed, rest } = flat;
  const { v1, v2, path } = objects;
  const shape = v1.members.get(member)?.shape ?? ANY_SHAPE;
  if (missing.length > 0 && lookupRules({ name: member, shape }, v2, path, work).length > 0) return false;
  const found: FoundRule = { rule: 'flatten', in: path, member, moves, isWhole: rest === undefined };
  const strip: FoundRule = { rule: 'strip', in: path, member };
  const evidence = `V2 has ${firstOf(moves.map(([, to]) => to))}, which ${moves.length === 1 ? 'has' : 'have'} the ${isPrefixed ? 'words' : 'names'} of ${firstOf(moves.map(([from]) => pathText([member, ...from])))}`;
  const doubt = flatDoubt(flat, shape, objects, work);
  const others = doubt === undefined || rest !== undefined ? [] : [strip];
  const old = [...work.old, member];
  addFinding({ found, confidence: isPrefixed ? 0.95 : 0.8, evidence, doubt, others, old }, work);
  return true;
}

/** The doubt about an object whose members V2 has in the object around it: what could be lost, or be another value. */
function flatDoubt(
  { member, moves, missing, isPrefixed, rest }: FoundFlat,
  shape: Shape,
  { v1, v2, path }: Objects,
  { places, old, pairs }: Work,
): string | undefined {
  const named = (inner: Path): string => pathText([...path, member, ...inner]);
  if (missing.length > 0) return `V2 has no place for ${firstOf(missing.map(named))}`;
  if (shape.isNullable) return `${named([])} may be null, which V2 would not get`;
  if (rest === undefined && (shape.further !== '' || shape.unread.length > 0))
    return `V1 may have more in ${named([])}, which V2 would not get`;
  const gone = [...v1.members.keys()].find((name) => name !== member && !v2.members.has(name));
  if (!isPrefixed && gone !== undefined) return `one of them may be ${pathText(path, gone)}`;
  for (const [from, to] of moves) {
    const [own, young] = [shapeAt(shape, from), v2.members.get(to)?.shape];
    if (own === undefined || young === undefined) continue;
    const name = isPrefixed ? [member, ...from].join('_') : from.join('_');
    const value = valueDoubt({ name, shape: own }, { name: to, shape: young }, pairs);
    if (value !== undefined) return `of ${named(from)}, ${value}`;
    const others = [...v1.members].filter(
      ([other, { shape: around }]) => other !== member && !isPrefixed && shapeAt(around, from) !== undefined,
    );
    if (others.length > 0) return `V1 has ${pathText([...path, others[0]?.[0] ?? '', ...from])} as well`;
  }
  const targets = moves.map(([, to]) => [...path, to]);
  const own = [path, old].flatMap((around) => moves.map(([from]) => [...around, member, ...from]));
  const elsewhere = places
    .of(own, ANY_SHAPE)
    .filter((at) => !targets.some((target) => target.every((name, level) => at[level] === name)));
  return elsewhere.length > 0 ? `V2 has ${placeWords(elsewhere)} as well` : unknownDoubt(v2, places);
}

/** A member that moves into a sub-object, and may get another name there. */
export interface Move extends NestedMember, Evidence {}

/** The members that a nest moves: under the same name, or under another one. */
export function movesOf(
  nest: FoundNest,
  renames: readonly FoundRename[],
  objects: Objects,
  work: Work,
): readonly Move[] {
  const { under, confidence, evidence } = nest;
  const own = nest.members.map((member): Move => {
    const words = `V2 has ${under}.${member.to}, which has the words of ${member.from}`;
    return { ...member, confidence, evidence: member.from === member.to ? evidence : words };
  });
  const further = renames
    .filter((rename) => rename.under === under)
    .map((rename): Move => ({ ...rename, evidence: `${rename.evidence}, in ${under}` }));
  const before = objects.v1.members.get(under)?.shape;
  return [...own, ...further].map((move) => {
    const doubt =
      move.doubt ??
      occupiedDoubt(move.from, under, before) ??
      besideDoubt(move.from, under, objects) ??
      (before !== undefined && move.from === move.to
        ? `V1 has ${pathText([under])} without it, so that what V2 has there may be another one`
        : undefined) ??
      elsewhereDoubt(move.from, [...objects.path, under, move.to], objects, work);
    return { ...move, doubt };
  });
}

/**
 * Why a member may not be the one at `target`: beside it, V2 has a new member with the same words in its name, or with the old name in its
 * text.
 */
function besideDoubt(
  from: string,
  target: string,
  { v1, v2, path }: Objects,
  isOfType = true,
): string | undefined {
  const shape = v1.members.get(from)?.shape ?? ANY_SHAPE;
  const beside = [...v2.members].find(
    ([name, member]) =>
      name !== target &&
      !v1.members.has(name) &&
      (plainName(name) === plainName(from) ||
        ((!isOfType || isCompatible(shape, member.shape)) &&
          (isRelatedName(name, from) || mentionsName(member.shape.text, from)))),
  );
  return beside === undefined ? undefined : `V2 has ${pathText(path, beside[0])} as well`;
}

/** Why a move into a sub-object that V1 already has could replace something there. */
function occupiedDoubt(from: string, under: string, before: Shape | undefined): string | undefined {
  if (before === undefined) return undefined;
  if (before.members.has(from))
    return `V1 has ${withArticle(from)} in ${under} as well, which the move would replace`;
  if (before.further !== '' || before.unread.length > 0 || before.members.size === 0)
    return `V1 may have ${withArticle(from)} in ${under} as well, which the move would replace`;
  return [...before.types].some((type) => type !== 'object')
    ? `V1 may have something else than an object in ${under}, which the move would replace`
    : undefined;
}

/** The reason why V2 may have a member elsewhere than at `target`, or still at its old place. */
function elsewhereDoubt(
  from: string,
  target: Path,
  { v1, v2, path }: Objects,
  { places, old }: Work,
): string | undefined {
  const shape = v1.members.get(from)?.shape;
  const own = [path, old].map((around) => [...around, from]);
  // An object of the same name is the same one, even if other objects have the same members.
  const inside = isSameName(from, target.at(-1) ?? '') ? ANY_SHAPE : shape;
  const isBeside = (at: Path): boolean => isSamePath(at.slice(0, -1), path);
  const others =
    inside === undefined
      ? []
      : places.of(own, inside, target).filter((at) => isBeside(at) || !places.isOwn(at, from));
  if (others.length > 0) return `V2 has ${placeWords(others)} as well`;
  return unknownDoubt(v2, places);
}

/** The reason why a rename could lose a value or change its meaning. */
export function renameDoubt(rename: FoundRename, objects: Objects, work: Work): string | undefined {
  const { from, to, doubt } = rename;
  const { v1, path } = objects;
  if (doubt !== undefined) return doubt;
  if (v1.further !== '' || v1.unread.length > 0)
    return `V1 may have another ${to} there, which the rename would replace`;
  const elsewhere = elsewhereDoubt(from, [...path, to], objects, work);
  if (isSameName(from, to)) return elsewhere;
  return besideDoubt(from, to, objects, false) ?? otherDoubt(rename, objects, work) ?? elsewhere;
}

/** The doubt about a rename to another name, if V1's description names what to use instead, or if V2 still has a member of the old name. */
function otherDoubt({ from, to }: FoundRename, { v1, v2 }: Objects, { places }: Work): string | undefined {
  const [old, young] = [v1.members.get(from)?.shape, v2.members.get(to)?.shape];
  if (old === undefined || young === undefined) return undefined;
  const successor = successorDoubt(old, places, to);
  if (successor !== undefined) return successor;
  // The content shows that it is the same, even if others have the name.
  if ((old.text !== '' && old.text === young.text) || haveSameContent(old, young)) return undefined;
  const still = places.whereIs(from);
  return still && `V2 still has ${pathText(still)}, which may be it`;
}

/** The doubt about the place of a member for which V1's description says to use another one, which V2 has. */
export function successorDoubt(shape: Shape, places: Places, to = ''): string | undefined {
  const successor = shape.successor?.split('.').at(-1);
  return successor === undefined || isSameName(successor, to) || !places.has(successor)
    ? undefined
    : `V1's description says to use ${shape.successor} instead, and V2 has that`;
}

export function addRename(rename: FoundRename, { v1, v2, path }: Objects, work: Work): void {
  const { from, to, confidence, evidence, doubt } = rename;
  const converted = conversionsOf(v1, from, v2, to);
  const shape = v1.members.get(from)?.shape ?? ANY_SHAPE;
  const found = turned(renameRule(path, from, to, converted), shape, v2.members.get(to)?.shape);
  const strip: FoundRule = { rule: 'strip', in: path, member: from };
  const others: readonly FoundRule[] =
    doubt === undefined ? [] : [...otherForms(found, from, shape, { v1, v2, path }, work), strip];
  const open = openIfUnitsDiffer(found, from);
  addFinding({ found, confidence, evidence, doubt, others, old: [...work.old, from], ...open }, work);
}

/**
 * Adds a nest that moves members by V1's names, and renames inside: in the other order, the new name could be that of another member of the
 * outer object. Members in doubt get a separate nest.
 */
export function addNest(
  { under, confidence, evidence }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  for (const isSure of [true, false]) {
    const some = moves.filter(({ doubt }) => (doubt === undefined) === isSure);
    if (some.length === 0) continue;
    const doubt = some.map((move) => move.doubt).find((why) => why !== undefined);
    // Requests that were not recorded may have the other members of the sub-object.
    const rest = isSure && work.isRecorded ? [...(v2.members.get(under)?.shape.members.keys() ?? [])] : [];
    const unseen = rest.filter((name) => {
      const isExpected = moves.some(({ from, to }) => from === name || to === name);
      return !isExpected && !v2.members.has(name) && !v1.members.has(name);
    });
    const members = [...some.map(({ from }) => from), ...unseen];
    const [first] = members;
    const old = first === undefined ? {} : { old: [...work.old, first] };
    addFinding(
      { found: { rule: 'nest', in: path, members, under }, confidence, evidence, doubt, ...old },
      work,
    );
    for (const { from, to, ...why } of some) {
      if (from === to) continue;
      const found = { rule: 'rename', in: [...path, under], member: from, to } as const;
      addFinding({ found, confidence: why.confidence, evidence: why.evidence, doubt: why.doubt }, work);
    }
  }
}

/** Compares the sub-object after the nest has moved members into it. */
export function compareNested(
  { under }: FoundNest,
  moves: readonly Move[],
  { v1, v2, path }: Objects,
  work: Work,
): void {
  const target = v2.members.get(under);
  const existing = v1.members.get(under)?.shape;
  const sure = moves.filter(({ doubt }) => doubt === undefined);
  if (target === undefined || (existing === undefined && sure.length === 0)) return;
  const members = new Map(existing?.members ?? []);
  for (const { from, to } of sure) {
    const member = v1.members.get(from);
    if (member !== undefined) members.set(to, member);
  }
  const shape: Shape = { ...(existing ?? target.shape), members, values: [] };
  const { old, doubt, inner, steps } = work;
  inner.push({ v1: shape, v2: target.shape, path: [...path, under], old: [...old, under], doubt, steps });
}
